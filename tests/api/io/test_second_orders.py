"""Frames that are saved in the order of a column too: the same rows, fewer of which are read, and files that are part of the frame."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SFrame, aggregate, config, load_sframe, optimize as optimize_files, vacuum
from sframe_spark.api.io import saved_frames
from sframe_spark.errors import InvalidArgumentError, StorageError
from sframe_spark.operators.sort_top_rows_and_assumed_order import sort_rows
from sframe_spark.operators.sources.segment_row_ranges import STORED_ROWS
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.rewrite_laws import optimize
from sframe_spark.storage.manifest import manifest_json
from sframe_spark.storage.segments import writer

ROWS = 600
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
KEYS: dict[str, Callable[[int], Any]] = {
    "int": lambda n: n % 40,
    "text": lambda n: f"s{n % 40:02d}é",
    "float": lambda n: [0.0, -0.0, float("nan"), 1e300][n % 4] if n % 10 == 0 else n % 40 + 0.5,
    "datetime": lambda n: NOON + timedelta(microseconds=n % 40),
}


@pytest.fixture(autouse=True)
def short_row_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Row groups of few rows, of which plans choose."""
    monkeypatch.setattr(writer, "ROWS_PER_GROUP", 50)


def frame(kind: str, rows: int = ROWS) -> SFrame:
    """Rows whose keys are in no order, some of them missing; the order of ``t`` is recorded."""
    places = list(range(rows))
    random.Random(7).shuffle(places)
    keys = [None if n % 37 == 0 else KEYS[kind](n) for n in places]
    return SFrame({"t": range(rows), "key": keys, "x": [[n] if n % 5 else None for n in places]})


def source_of(found: SFrame) -> list[int | None]:
    """The second orders that the plan of a frame reads."""
    sources = [node.operator for node in postorder([optimize(found._node)])]
    return [source.manifest.ordered_by for source in sources if isinstance(source, STORED_ROWS)]


def rows_of(found: SFrame) -> list[str]:
    return [repr(row) for row in found]


@pytest.mark.parametrize("kind", KEYS)
def test_rows_are_the_same(kind: str, tmp_path: Path) -> None:
    made = frame(kind)
    made.save(str(tmp_path / "f"), also_by="key")
    saved = load_sframe(str(tmp_path / "f"), verify=True)
    assert rows_of(saved) == rows_of(made)
    value = KEYS[kind](3)
    for masks in (
        lambda sf: sf["key"] == value,
        lambda sf: (sf["key"] >= value) & (sf["key"] <= KEYS[kind](5)),
        lambda sf: (sf["key"] == value) & (sf["t"] > 100),
        lambda sf: (sf["key"] == value) | (sf["key"] == KEYS[kind](9)),
    ):
        found = saved[masks(saved)]
        assert source_of(found) == [0]
        assert rows_of(found) == rows_of(made[masks(made)])
        assert rows_of(found[["x"]]) == rows_of(made[masks(made)][["x"]])
        assert len(saved[masks(saved)]) == len(made[masks(made)])
    assert rows_of(saved.filter_by([value, KEYS[kind](9)], "key")) == rows_of(made.filter_by([value, KEYS[kind](9)], "key"))
    for by in ("key", ["key", "t"], [("key", True), ("t", False)]):
        assert source_of(saved.sort(by)) == [0]
        assert rows_of(saved.sort(by)) == rows_of(made.sort(by))
    assert source_of(saved.sort("key", ascending=False)) == [None]
    assert rows_of(saved.sort("key", ascending=False)) == rows_of(made.sort("key", ascending=False))
    assert rows_of(saved.sort("key").head(7)) == rows_of(made.sort("key").head(7))
    assert source_of(saved[saved["key"] != value]) == [None]
    assert set(source_of(saved[10:][saved["key"][10:] == value])) == {None}


@pytest.mark.parametrize("small_rows", [pytest.param(0, marks=pytest.mark.spark), 100_000])
@pytest.mark.parametrize("kind", KEYS)
def test_groups_are_the_same(kind: str, small_rows: int, tmp_path: Path) -> None:
    made = frame(kind)
    made.save(str(tmp_path / "f"), also_by="key")
    saved = load_sframe(str(tmp_path / "f"))
    made["twice"], saved["twice"] = made["t"] * 2, saved["t"] * 2
    asked = {
        "rows": aggregate.COUNT(),
        "last": aggregate.LAST("t"),
        "sum": aggregate.SUM("twice"),
        "all": aggregate.CONCAT("x"),
        "spread": aggregate.STD("t"),
    }
    found = saved.groupby("key", asked)
    # 0.0 and -0.0 are one group, but not one value; date-times with an offset are moments.
    assert source_of(found) == [0 if kind in ("int", "text") else None]
    wanted = rows_of(made.groupby("key", asked))
    if small_rows or kind in ("int", "text"):
        with config.using(small_rows=small_rows):
            assert rows_of(found) == wanted
    assert source_of(saved.groupby(["key", "t"], asked)) == [None] and source_of(saved.groupby("t", asked)) == [None]
    if kind == "int":
        why = saved.groupby("key", asked).explain(why=True)
        assert "rows to be grouped by key are read in its order, in which they were saved too (also_by)" in why
        assert source_of(saved[saved["t"] > 100].groupby("key", asked)) == [None]


@pytest.mark.parametrize("small_rows", [pytest.param(0, marks=pytest.mark.spark), 100_000])
@pytest.mark.parametrize("how", ["inner", "left", "right", "outer"])
def test_matches_of_few_rows_are_the_same(how: str, small_rows: int, tmp_path: Path) -> None:
    made = frame("int", 3000)
    made.save(str(tmp_path / "f"), also_by="key")
    saved = load_sframe(str(tmp_path / "f"))
    few = SFrame({"key": [9, 3, 77, 9], "n": range(4)})
    found = few.join(saved, on="key", how=how)
    assert source_of(found) == [0 if how in ("inner", "left") else None]
    wanted = rows_of(few.join(made, on="key", how=how))
    if small_rows or how in ("inner", "left"):
        with config.using(small_rows=small_rows):
            assert rows_of(found) == wanted
            assert len(few.join(saved, on="key", how=how)) == len(wanted)
    if how == "inner":
        assert "its right side is searched in the order of key, in which it was saved too (also_by)" in few.join(saved, on="key").explain(why=True)
        assert source_of(made.join(saved, on="key")) == [None]


def test_what_is_known_of_the_order_is_known_of_the_rows_that_are_kept(tmp_path: Path) -> None:
    made = frame("int")
    made.save(str(tmp_path / "f"), also_by="key")
    saved = load_sframe(str(tmp_path / "f"))
    few = saved[saved["key"] == 3]
    assert "left out sort by t" in few.sort("t").explain(why=True)
    assert "rows were saved in the order of key too (also_by)" in few.explain(why=True)
    assert "left out the sort of all rows by key: they were saved in that order too (also_by)" in saved.sort("key").explain(why=True)


def test_several_columns(tmp_path: Path) -> None:
    made = frame("text")
    made["other"] = made["t"] % 7
    made.save(str(tmp_path / "f"), also_by=["key", "other", "key"])
    saved = load_sframe(str(tmp_path / "f"))
    assert source_of(saved.sort("other")) == [3] and source_of(saved.sort("key")) == [0]
    assert rows_of(saved.sort("other")) == rows_of(made.sort("other"))
    assert len(list((tmp_path / "f").glob("*.parquet"))) == 3


@pytest.mark.parametrize("rows", [0, 1])
def test_few_rows(rows: int, tmp_path: Path) -> None:
    made = frame("int", rows)
    made["key"] = made["key"].astype(int)
    made.save(str(tmp_path / "f"), also_by="key")
    saved = load_sframe(str(tmp_path / "f"))
    assert rows_of(saved.sort("key")) == rows_of(made) and rows_of(saved[saved["key"] == 0]) == rows_of(made[made["key"] == 0])


def test_what_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    made = frame("int")
    for also_by, kind in (("none", KeyError), ("x", TypeError), (["key", 3], KeyError)):
        with pytest.raises(kind):
            made.save(str(tmp_path / "f"), also_by=also_by)
    with pytest.raises(InvalidArgumentError, match="also_by is for frames that are saved as directories, not for csv files"):
        made.save(str(tmp_path / "f.csv"), also_by="key")
    assert not list(tmp_path.iterdir())


def content_of(place: Path) -> dict[str, Any]:
    return manifest_json.unsealed((place / "_manifest.json").read_text(encoding="utf-8"), str(place))


def test_programs_that_know_no_second_orders_read_the_frame(tmp_path: Path) -> None:
    frame("int").save(str(tmp_path / "f"), also_by="key")
    content = content_of(tmp_path / "f")
    assert json.loads((tmp_path / "f" / "_manifest.json").read_text(encoding="utf-8"))["version"] == 2
    frame("int").save(str(tmp_path / "g"))
    assert content.keys() - content_of(tmp_path / "g").keys() == {"second_orders"}
    # Readers take what they know out of the content.
    del content["second_orders"]
    (tmp_path / "f" / "_manifest.json").write_text(manifest_json.sealed(content), encoding="utf-8")
    assert rows_of(load_sframe(str(tmp_path / "f"))) == rows_of(frame("int"))


def second_file(place: Path) -> Path:
    (second,) = content_of(place)["second_orders"]
    return place / str(second["segments"][0]["file"])


def test_files_are_checked(tmp_path: Path) -> None:
    place = tmp_path / "f"
    frame("int").save(str(place), also_by="key")
    file = second_file(place)
    content = file.read_bytes()
    middle = len(content) // 3
    file.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
    with pytest.raises(StorageError, match=file.name):
        load_sframe(str(place), verify=True)
    file.write_bytes(content[:-1])
    with pytest.raises(StorageError, match="is damaged"):
        load_sframe(str(place))
    file.unlink()
    with pytest.raises(StorageError, match="is missing"):
        load_sframe(str(place))


@pytest.mark.parametrize(
    "change",
    [
        lambda second: second.update(column=9),
        lambda second: second.update(column="key"),
        lambda second: second["segments"][0].update(rows=ROWS - 1),
        lambda second: second.pop("segments"),
    ],
)
def test_a_damaged_manifest_is_told(change: Callable[[dict[str, Any]], Any], tmp_path: Path) -> None:
    place = tmp_path / "f"
    frame("int").save(str(place), also_by="key")
    content = content_of(place)
    change(content["second_orders"][0])
    (place / "_manifest.json").write_text(manifest_json.sealed(content), encoding="utf-8")
    with pytest.raises(StorageError, match="damaged"):
        load_sframe(str(place))


def test_rows_of_another_frame_in_a_second_order_are_found_by_verify(tmp_path: Path) -> None:
    place, other = tmp_path / "f", tmp_path / "g"
    frame("int").save(str(place), also_by="key")
    numbers = frame("int").sort("key")
    # All row numbers are one too large.
    numbers["row"] = numbers["t"] + 1
    numbers.save(str(other))
    content, entries = content_of(place), content_of(other)["segments"]
    for entry in entries:
        os.link(other / entry["file"], place / entry["file"])
    content["second_orders"][0]["segments"] = entries
    (place / "_manifest.json").write_text(manifest_json.sealed(content), encoding="utf-8")
    with pytest.raises(StorageError, match="damaged"):
        load_sframe(str(place), verify=True)


def test_saves_that_replace_it(tmp_path: Path) -> None:
    place = str(tmp_path / "f")
    made = frame("int")
    made.save(place, also_by="key")
    saved = load_sframe(place)
    few = saved[saved["key"] == 3]
    few.materialize()
    lazy = saved.sort("key")
    # Its own rows, and those of a plan that reads the second order, while it is replaced.
    saved.save(place, also_by="t")
    assert rows_of(lazy) == rows_of(made.sort("key"))
    assert source_of(load_sframe(place).sort("t")) == [1]
    load_sframe(place).sort("key").save(place)
    assert "second_orders" not in content_of(tmp_path / "f")
    assert rows_of(load_sframe(place)) == rows_of(made.sort("key"))
    del saved, lazy, few
    named = {entry["file"] for entry in content_of(tmp_path / "f")["segments"]}
    assert {file.name for file in (tmp_path / "f").glob("*.parquet")} == named


def test_object_stores(tmp_path: Path) -> None:
    place = "memory://test_second_orders/frame"
    made = frame("text")
    made.save(place, also_by="key")
    saved = load_sframe(place, verify=True)
    assert source_of(saved.sort("key")) == [0] and rows_of(saved.sort("key")) == rows_of(made.sort("key"))
    found = saved[saved["key"] == KEYS["text"](3)]
    assert source_of(found) == [0] and rows_of(found) == rows_of(made[made["key"] == KEYS["text"](3)])
    made.save(place)
    assert source_of(load_sframe(place).sort("key")) == [None]
    assert rows_of(load_sframe(place, version=1).sort("key")) == rows_of(made.sort("key"))


def test_what_keeps_house_keeps_second_orders(tmp_path: Path) -> None:
    made, place = frame("int"), "memory://test_second_orders/kept"
    made.save(place, also_by="key")
    made.save(place, also_by="key")
    vacuum(place, 0)
    saved = load_sframe(place, verify=True)
    assert source_of(saved.sort("key")) == [0] and rows_of(saved.sort("key")) == rows_of(made.sort("key"))
    # Short files are put together, also those of the second order.
    with config.using(default_segments=4):
        made.append(made).save(str(tmp_path / "f"), also_by="key")
    optimize_files(str(tmp_path / "f"))
    saved = load_sframe(str(tmp_path / "f"), verify=True)
    assert source_of(saved.sort("key")) == [0] and rows_of(saved.sort("key")) == rows_of(made.append(made).sort("key"))


@pytest.mark.parametrize("place", ["memory://test_second_orders/failed", ""])
@pytest.mark.parametrize("step", ["sorted", "copied"])
def test_a_save_that_fails_amid_the_second_order_changes_nothing(place: str, step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = f"{place}-{step}" if place else str(tmp_path / "f")
    made = frame("int")
    made.save(place, also_by="t")
    before = saved_frames.dataset_copies.copied_dataset

    def fail(*arguments: Any, **options: Any) -> Any:
        raise OSError(28, "No space left on device")

    def fail_for_row_numbers(source: Any, *arguments: Any, **options: Any) -> Any:
        return fail() if len(source.types) == 4 else before(source, *arguments, **options)

    if step == "sorted":
        monkeypatch.setattr(saved_frames, "sort_rows", lambda node, by: sort_rows(node, by) if len(node.schema) == 3 else fail())
    else:
        monkeypatch.setattr(saved_frames.dataset_copies, "copied_dataset", fail_for_row_numbers)
    with pytest.raises(OSError, match="No space left"):
        made.sort("key").save(place, also_by="key")
    monkeypatch.undo()
    saved = load_sframe(place, verify=True)
    assert rows_of(saved) == rows_of(made) and source_of(saved.sort("t")) == [1]
    assert not place.startswith("/") or [file.name for file in tmp_path.iterdir()] == ["f"]


STEPS: list[Callable[[SFrame], SFrame]] = [
    lambda sf: sf[sf["key"] == 3],
    lambda sf: sf[(sf["key"] >= 5) & (sf["key"] <= 7)],
    lambda sf: sf[sf["t"] % 3 == 0],
    lambda sf: sf[sf["key"] > 10],
    lambda sf: sf.sort("key"),
    lambda sf: sf.sort(["key", "t"], ascending=False),
    lambda sf: sf.sort([("key", True), ("t", False)]),
    lambda sf: sf.sort("t"),
    lambda sf: sf[5:200],
    lambda sf: sf[::2],
    lambda sf: sf.append(sf.head(3)),
    lambda sf: sf.dropna("key"),
    lambda sf: sf.join(SFrame({"key": [3, 6, 3], "z": [1, 2, 3]}), on="key").remove_column("z"),
    lambda sf: SFrame({"key": sf["key"], "t": sf["t"].cumulative_sum(), "x": sf["x"]}),
    lambda sf: sf.groupby("key", {"t": aggregate.SUM("t"), "x": aggregate.SELECT_ONE("x")}),
]


@pytest.mark.parametrize("seed", range(25))
def test_random_programs(seed: int, tmp_path: Path) -> None:
    """Steps above a saved frame of two orders give the rows that they give above rows in memory, whatever is materialized on the way."""
    choose, made = random.Random(seed), frame("int")
    made.save(str(tmp_path / "f"), also_by=["key", "t"] if seed % 3 == 0 else "key")
    wanted, found = made, load_sframe(str(tmp_path / "f"))
    for _ in range(choose.randint(1, 5)):
        step = choose.choice(STEPS)
        wanted, found = step(wanted), step(found)
        if choose.random() < 0.2:
            found.materialize()
        if choose.random() < 0.2:
            assert len(found) == len(wanted)
    assert rows_of(found) == rows_of(wanted)
    assert rows_of(found[["t"]]) == rows_of(wanted[["t"]])


@pytest.mark.spark
def test_on_spark(spark: Any, tmp_path: Path) -> None:
    made = frame("text")
    with config.using(small_rows=0, memory_budget=20_000, temporary_directory=str(tmp_path)):
        made.save(str(tmp_path / "f"), also_by="key")
        saved = load_sframe(str(tmp_path / "f"), verify=True)
        few = saved[saved["key"] == KEYS["text"](3)]
        # Tasks write row groups of the usual length, of which a filter leaves none out.
        assert source_of(few) == [None] and source_of(saved.sort("key")) == [0]
        assert rows_of(few) == rows_of(made[made["key"] == KEYS["text"](3)])
        assert rows_of(saved.sort(["key", "t"])) == rows_of(made.sort(["key", "t"]))
        assert sorted(row["t"] for row in saved.sort("key").to_spark().collect()) == list(range(ROWS))
