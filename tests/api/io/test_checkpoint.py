"""Rows that are saved while the program goes on are read where they are saved by all that was built on them; an error loses nothing."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SArray, SFrame, config, load_sframe
from sframe_spark.api.io import saved_frames
from sframe_spark.errors import ConcurrentSaveError, StorageError
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource
from sframe_spark.storage.filesystem.temporary_datasets import temporary_store
from tests.examples import square

ROWS = [{"n": number, "half": number / 2} for number in range(1_000)]


def halves() -> SFrame:
    frame = SFrame({"n": range(len(ROWS))})
    frame["half"] = frame["n"] / 2
    return frame


def directory_of(frame: SFrame | SArray) -> str:
    operator = frame._node.operator
    assert isinstance(operator, SegmentSource)
    return operator.manifest.directory


def test_what_was_built_before_and_after_reads_what_was_saved(tmp_path: Path) -> None:
    frame, place = halves(), str(tmp_path / "rows")
    before, shared = frame[frame["n"] > 997], frame.copy()
    assert frame.checkpoint(place) is frame
    assert directory_of(frame) == directory_of(shared) == place and frame.is_materialized()
    assert list(before) == ROWS[998:] and list(frame["half"].head(3)) == [0.0, 0.5, 1.0]
    assert list(frame) == list(load_sframe(place)) == ROWS


def test_no_temporary_rows_are_kept(tmp_path: Path, own_options: None) -> None:
    config.temporary_directory, config.memory_budget, config.kept_memory = str(tmp_path / "tmp"), 0, 0
    frame = halves()[::2]
    frame.materialize()
    assert list(Path(temporary_store().directory).glob("dataset-*"))
    frame.checkpoint(str(tmp_path / "rows"))
    assert not list(Path(temporary_store().directory).glob("dataset-*"))
    assert list(frame) == ROWS[::2]


def test_functions_are_called_once_for_each_row(tmp_path: Path) -> None:
    calls = tmp_path / "calls"

    def noted(value: int) -> int:
        with calls.open("a") as file:
            file.write(f"{value}\n")
        return value + 1

    column = SArray([5, 3, None]).apply(noted, dtype=int)
    column.checkpoint(str(tmp_path / "column"))
    assert list(column) == list(SArray(str(tmp_path / "column"))) == [6, 4, None]
    assert list(column + 1) == [7, 5, None] and sorted(calls.read_text().split()) == ["3", "5"]


def test_a_place_may_be_that_of_the_rows_themselves(tmp_path: Path) -> None:
    place = str(tmp_path / "rows")
    halves().save(place)
    frame = load_sframe(place)
    old = frame["half"]
    frame["half"] = frame["half"] * 2
    frame.checkpoint(place).checkpoint(place)
    assert list(frame["half"].head(3)) == [0.0, 1.0, 2.0] and list(old.head(3)) == [0.0, 0.5, 1.0]
    assert list(load_sframe(place)["half"].tail(1)) == [999.0]


@pytest.mark.parametrize("rows", [[], [{"n": None, "half": None}]], ids=["none", "missing"])
def test_few_rows(rows: list[Any], tmp_path: Path) -> None:
    frame = halves().head(len(rows))
    frame["half"] = SArray([row["half"] for row in rows], dtype=float)
    frame.checkpoint(str(tmp_path / "rows"))
    assert [len(frame), frame.column_types(), list(frame["half"])] == [len(rows), [int, float], [None] * len(rows)]


OTHERS = {"as many": {"n": range(len(ROWS)), "half": [0.0] * len(ROWS)}, "none": {"n": [], "half": []}, "of other types": {"n": ["a"]}}


@pytest.mark.parametrize(("rows", "other"), square(2, [len(ROWS), 0], OTHERS))
def test_rows_of_another_save_are_not_taken(rows: int, other: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame, place = halves().head(rows), str(tmp_path / "rows")
    save = saved_frames.save_node

    def overtaken(*given: Any) -> Any:
        monkeypatch.setattr(saved_frames, "save_node", save)
        made = save(*given)
        # The other save below is an ordinary one.
        monkeypatch.setattr(saved_frames, "save_node", save)
        columns = {name: SArray(values, dtype=str if other == "of other types" else float) for name, values in OTHERS[other].items()}
        SFrame(columns)[:0].save(place) if not rows else SFrame(columns).save(place)
        return made

    monkeypatch.setattr(saved_frames, "save_node", overtaken)
    with pytest.raises(ConcurrentSaveError, match=r"another program has saved to .*rows in the meantime"):
        frame.checkpoint(place)
    assert list(frame) == ROWS[:rows]


def test_a_failed_one_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("somebody's")
    frame = halves()
    with pytest.raises(StorageError):
        frame.checkpoint(str(tmp_path / "file"))
    assert not frame.is_materialized() and list(frame) == ROWS and (tmp_path / "file").read_text() == "somebody's"


def test_several_threads(tmp_path: Path) -> None:
    frame = halves()
    places = [str(tmp_path / f"rows-{number}") for number in range(6)]
    threads = [threading.Thread(target=frame.checkpoint, args=(place,)) for place in places]
    for thread in threads:
        thread.start()
    assert list(frame) == ROWS
    for thread in threads:
        thread.join()
    assert directory_of(frame) in places and [list(load_sframe(place)) for place in places] == [ROWS] * len(places)


def test_elsewhere_it_is_a_version(tmp_path: Path) -> None:
    import sframe_spark

    frame, place = halves(), f"memory://checkpoints/{tmp_path.name}"
    frame.checkpoint(place)
    frame["half"] = frame["half"] * 2
    frame.checkpoint(place)
    assert len(sframe_spark.history(place)) == 2 and list(frame["half"].tail(1)) == [999.0]
    assert list(load_sframe(place, version=1)) == ROWS and list(load_sframe(place)) == list(frame)
