"""Files of others that are written anew under their names after they were opened: nothing is told of rows that are no longer there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sframe_spark import SFrame, aggregate, config, load_sframe
from sframe_spark.api.class_registry import make_frame
from sframe_spark.engine.execution.materialize_count_and_read_rows import stored_chunks
from sframe_spark.errors import StorageError
from sframe_spark.planner.plan_json import graph_from_json, graph_to_json
from sframe_spark.storage.datasets.manifest_loading_and_open_dataset_registry import load_manifest
from sframe_spark.storage.external.changed_files import require_unchanged
from sframe_spark.storage.external.row_order_detection import VerifiedOrder, verified_order
from tests.storage.datasets.test_load import older
from tests.storage.datasets.test_replaced_files import DOORS as DOORS_OF_SAVED

ROWS = 1_000
Change = Callable[[Path], None]

DOORS: dict[str, Callable[[SFrame], Any]] = {
    "len": len,
    "shape": lambda frame: frame.shape,
    "list": list,
    "half an iteration": lambda frame: next(iter(frame)),
    "head": lambda frame: list(frame.head(2)),
    "row": lambda frame: frame[7],
    "max": lambda frame: frame["t"].max(),
    "min": lambda frame: frame["t"].min(),
    "sum": lambda frame: frame["t"].sum(),
    "missing": lambda frame: frame["t"].countna(),
    "filter that nothing matches": lambda frame: len(frame[frame["t"] > 10 * ROWS]),
    "filter that some match": lambda frame: list(frame[frame["t"] < 10]),
    "in order": lambda frame: bool(frame.is_sorted("t")),
    "order": lambda frame: frame.ordering().orderings,
    "sort": lambda frame: list(frame.sort("t", ascending=False).head(1)),
    "group-by": lambda frame: len(frame.groupby("t", {"n": aggregate.COUNT()})),
    "unique": lambda frame: len(frame["t"].unique()),
    "apply": lambda frame: list(frame["t"].apply(lambda value: value + 1)),
    "arrow": lambda frame: frame.to_arrow(),
    "append": lambda frame: frame.append(SFrame({"t": [1]}))["t"].max(),
    "join": lambda frame: len(frame.join(SFrame({"t": [10 * ROWS]}), on="t")),
    "print": repr,
}


def write(file: Path, start: int = 0, rows: int = ROWS) -> None:
    """Rows whose file is as long whatever they are."""
    pq.write_table(pa.table({"t": np.arange(start, start + rows)}), file, compression="NONE", use_dictionary=False)


def written_anew(file: Path) -> None:
    write(file, 10 * ROWS)


def replaced(file: Path) -> None:
    write(file.with_name(".other"), 10 * ROWS)
    os.replace(file.with_name(".other"), file)


def replaced_with_its_time(file: Path) -> None:
    status = file.stat()
    replaced(file)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


def made_longer(file: Path) -> None:
    write(file, 0, ROWS + 1)


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])


def removed(file: Path) -> None:
    file.unlink()


def in_another_order(file: Path) -> None:
    # Footers with the same statistics, so that these are true of both.
    footer = file.read_bytes()[-100:]
    pq.write_table(pa.table({"t": np.arange(ROWS)[::-1]}), file, compression="NONE", use_dictionary=False)
    assert file.read_bytes()[-100:] == footer


CHANGES = [written_anew, replaced, replaced_with_its_time, made_longer, cut, removed, in_another_order]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", DOORS)
def test_every_door_tells_that_a_file_was_changed(tmp_path: Path, change: Change, name: str) -> None:
    first, file = tmp_path / "0.parquet", tmp_path / "1.parquet"
    write(first)
    write(file)
    frame = SFrame.read_parquet(str(tmp_path))
    DOORS[name](frame)
    other = SFrame.read_parquet(str(tmp_path))
    change(file)
    for opened in (frame, other):
        if name == "apply":
            opened["u"] = opened["t"]
        with pytest.raises(StorageError, match=rf"{file} .*(changed|missing).*(read it again|load it again)"):
            DOORS[name](opened)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", DOORS)
def test_a_file_read_again_is_read_as_it_is(tmp_path: Path, name: str) -> None:
    file, same = tmp_path / "a.parquet", tmp_path / "same"
    write(file)
    DOORS[name](SFrame.read_parquet(str(file)))
    written_anew(file)
    same.mkdir()
    shutil.copy(file, same / "a.parquet")
    assert repr(DOORS[name](SFrame.read_parquet(str(file)))) == repr(DOORS[name](SFrame.read_parquet(str(same))))


def moved_to_another_name(file: Path) -> None:
    os.link(file, file.with_name("_link"))


def others_may_not_read_it(file: Path) -> None:
    file.chmod(0o600)


def restored_from_a_copy_with_its_time(file: Path) -> None:
    shutil.copy2(file, file.with_name("_copy"))
    os.replace(file.with_name("_copy"), file)


@pytest.mark.parametrize("change", [moved_to_another_name, others_may_not_read_it, restored_from_a_copy_with_its_time])
def test_what_is_no_change_of_the_content_is_no_error(tmp_path: Path, change: Change) -> None:
    file = tmp_path / "a.parquet"
    write(file)
    right = {name: repr(door(SFrame.read_parquet(str(file)))) for name, door in DOORS.items()}
    frame = SFrame.read_parquet(str(file))
    change(file)
    assert {name: repr(door(frame)) for name, door in DOORS.items()} == right


def rows_with_a_claim(file: Path, rows: list[int]) -> None:
    claim = [pq.SortingColumn(0)]
    pq.write_table(pa.table({"t": rows}), file, compression="NONE", use_dictionary=False, sorting_columns=claim)


@pytest.mark.parametrize("rows", [[4, 3, 2, 1], [1, 3, 2, 4], [1, 2, 2, 4]])
@pytest.mark.parametrize("in_place", [True, False])
def test_an_order_found_in_rows_is_not_believed_of_others_with_the_same_footer_and_time(tmp_path: Path, rows: list[int], in_place: bool) -> None:
    file, other = tmp_path / "a.parquet", tmp_path / "other"
    rows_with_a_claim(file, [1, 2, 3, 4])
    rows_with_a_claim(other, rows)
    status, footer = file.stat(), file.read_bytes()[-100:]
    frame = SFrame.read_parquet(str(file))
    assert frame.is_sorted("t") and frame.ordering().orderings == [[("t", "asc")]]
    if in_place:
        file.write_bytes(other.read_bytes())
    else:
        os.replace(other, file)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert file.read_bytes()[-100:] == footer and file.stat().st_size == status.st_size
    for door in (lambda: list(frame.sort("t")), lambda: frame.is_sorted("t"), lambda: len(frame["t"].unique()), frame.ordering):
        with pytest.raises(StorageError, match=rf"{file} was changed since it was opened.*read it again"):
            door()
    again = SFrame.read_parquet(str(file))
    assert list(again.sort("t")["t"]) == sorted(rows)


def test_rows_of_a_file_that_was_touched_are_compared_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, asked = tmp_path / "a.parquet", []
    rows_with_a_claim(file, [1, 2, 3, 4])
    frame = SFrame.read_parquet(str(file))
    assert frame.is_sorted("t")

    def counting(*wanted: Any) -> VerifiedOrder:
        asked.append(wanted[1:])
        return verified_order(*wanted)

    monkeypatch.setattr("sframe_spark.storage.external.changed_files.verified_order", counting)
    assert frame["t"].max() == 4 and asked == []
    others_may_not_read_it(file)
    assert frame["t"].max() == 4 and list(frame.sort("t")["t"]) == [1, 2, 3, 4] and frame.is_sorted("t")
    assert asked == [(((0, True),),)]


READERS: dict[str, Callable[[SFrame], Any]] = {
    "rows": iter,
    "values": lambda frame: iter(frame["t"]),
    "batches": lambda frame: pa.RecordBatchReader.from_stream(frame),
    "pieces": lambda frame: stored_chunks(frame._node),
}


@pytest.mark.parametrize("name", READERS)
def test_a_file_that_is_written_to_while_it_is_read_is_told_at_the_end(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.parquet"
    values = np.arange(200_000)
    pq.write_table(pa.table({"t": values}), path, compression="none", use_dictionary=False, row_group_size=50_000)
    os.utime(path, ns=(10**18, 10**18))
    with config.using(batch_rows=1_000):
        reader = READERS[name](SFrame.read_parquet(path))
        assert next(reader) is not None
        with open(path, "r+b") as file:
            # A value of the last row group, whose pages carry no check sum.
            place = path.read_bytes().index(np.int64(199_990).tobytes())
            file.seek(place)
            file.write(np.int64(7).tobytes())
        with pytest.raises((StorageError, OSError), match="was changed since it was opened"):
            list(reader)


def test_links_to_files_are_followed_to_what_they_lead_to(tmp_path: Path) -> None:
    for name, start in (("one", 0), ("other", 10 * ROWS)):
        write(tmp_path / name, start)
    link = tmp_path / "a.parquet"
    link.symlink_to(tmp_path / "one")
    frame = SFrame.read_parquet(str(link))
    assert frame["t"].max() == ROWS - 1
    link.unlink()
    link.symlink_to(tmp_path / "other")
    with pytest.raises(StorageError, match=f"{link} was changed"):
        frame["t"].max()


def test_what_was_computed_before_stays(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    write(file)
    column = SFrame.read_parquet(str(file))["t"]
    column.materialize()
    doubled = column * 2
    doubled.materialize()
    written_anew(file)
    assert list(doubled) == [2 * value for value in range(ROWS)]


def test_two_readings_of_a_directory_are_two_sources(tmp_path: Path) -> None:
    for number in range(3):
        write(tmp_path / f"{number}.parquet", ROWS * number)
    before = SFrame.read_parquet(str(tmp_path))
    write(tmp_path / "1.parquet", 10 * ROWS)
    after = SFrame.read_parquet(str(tmp_path))
    for both in (lambda: after.append(before), lambda: before.append(after)):
        with pytest.raises(StorageError, match=r"1\.parquet was changed"):
            list(both())
    assert after["t"].max() == 11 * ROWS - 1


def test_plans_that_left_the_process_watch_their_files(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    write(file)
    text = graph_to_json(SFrame.read_parquet(str(file))._node)
    read = make_frame(graph_from_json(text), ["t"])
    assert read["t"].max() == ROWS - 1
    written_anew(file)
    with pytest.raises(StorageError, match=f"{file} was changed"):
        read["t"].max()


def rows_of(seed: int) -> dict[str, list[Any]]:
    """Nothing that compresses, so that lengths of files are often equal."""
    drawn = np.random.default_rng(seed)
    return {"a": drawn.integers(1 << 61, 1 << 62, 100).tolist(), "b": drawn.random(100).tolist()}


def saved_rows(place: Path, seed: int) -> Path:
    """The file of a saved frame."""
    SFrame(rows_of(seed)).save(str(place))
    (file,) = place.glob("*.parquet")
    return file


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", DOORS_OF_SAVED)
def test_frames_without_check_sums_watch_their_files(tmp_path: Path, name: str) -> None:
    file, *others = (saved_rows(tmp_path / f"{seed}", seed) for seed in range(12))
    other = next(other for other in others if other.stat().st_size == file.stat().st_size)
    older(file.parent)
    right = repr(DOORS_OF_SAVED[name](SFrame(rows_of(0))))
    assert repr(DOORS_OF_SAVED[name](load_sframe(str(file.parent)))) == right
    frame = load_sframe(str(file.parent))
    shutil.copyfile(other, file)
    with pytest.raises(StorageError, match=f"{file} was changed"):
        DOORS_OF_SAVED[name](frame)


@pytest.mark.parametrize("name", DOORS_OF_SAVED)
def test_what_is_told_of_a_saved_frame_is_true_of_the_one_that_was_loaded(tmp_path: Path, name: str) -> None:
    """Another process saves another frame at the place: nobody gets a mixture of both."""
    for place, start in (("frame", 0), ("other", 5_000)):
        SFrame({"a": list(range(start, start + ROWS)), "b": [row / ROWS for row in range(start, start + ROWS)]}).save(str(tmp_path / place))
    right = repr(DOORS_OF_SAVED[name](load_sframe(str(tmp_path / "frame"))))
    frame = load_sframe(str(tmp_path / "frame"))
    assert load_manifest(tmp_path / "frame").watched == ()
    # As another process does it; this one would keep the old files.
    os.rename(tmp_path / "frame", tmp_path / "old")
    os.rename(tmp_path / "other", tmp_path / "frame")
    try:
        found = repr(DOORS_OF_SAVED[name](frame))
    except StorageError as error:
        assert "missing: the dataset was overwritten, moved or deleted since it was opened" in str(error)
        found = right
    assert found == right
    assert repr(DOORS_OF_SAVED[name](load_sframe(str(tmp_path / "frame")))) != right or name == "len"


def test_a_look_asks_once_for_each_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        write(tmp_path / f"{number}.parquet", ROWS * number)
    frame = SFrame.read_parquet(str(tmp_path))
    asked: list[int] = []

    def counting(manifest: Any) -> None:
        asked.append(len(manifest.watched))
        require_unchanged(manifest)

    monkeypatch.setattr("sframe_spark.engine.execution.changed_file_checks.require_unchanged", counting)
    assert (frame["t"] + frame["t"]).max() == 2 * (3 * ROWS - 1)
    assert asked == [3]
