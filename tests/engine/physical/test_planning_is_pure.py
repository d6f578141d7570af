"""Planning is a function of the plan: it opens no files, runs nothing, starts nothing and changes nothing, and a plan that is made twice is equal."""

from __future__ import annotations

import random
import re
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from sframe_spark import SArray, SFrame, aggregate, config, load_sframe
from sframe_spark.storage.filesystem.format_recognition import MANIFEST_FILE
from sframe_spark.storage.manifest import sidecar_file_of_segment_statistics_and_checksums as sidecar_file
from sframe_spark.storage.manifest.manifest_json import sealed, unsealed
from tests.examples import by_turns
from tests.operator_examples import EXAMPLES
from tests.random_programs.plans import random_program
from tests.watched_planning import impurities, places_of, state_of, watching

ROWS = 600
COLUMNS: Mapping[str, Any] = {
    "k": [row % 7 for row in range(ROWS)],
    "t": [row // 2 for row in range(ROWS)],
    "v": [row * 7919 % 601 / 8 for row in range(ROWS)],
    "s": [f"x{row % 13}" for row in range(ROWS)],
}


def parquet(place: Path, files: int = 1) -> SFrame:
    table, rows = pa.table(COLUMNS), ROWS // files
    place.mkdir()
    for number in range(files):
        pq.write_table(table.slice(number * rows, rows), place / f"{number}.parquet", row_group_size=50)
    return SFrame.read_parquet(str(place))


def saved(place: Path, segment_rows: int = 10_000) -> SFrame:
    with config.using(segment_rows=segment_rows):
        SFrame(COLUMNS).save(str(place))
    return load_sframe(str(place))


def text_file(place: Path, kind: str) -> SFrame:
    if kind == "csv":
        SFrame(COLUMNS).export_csv(f"{place}.csv")
        return SFrame.read_csv(f"{place}.csv", verbose=False)
    SFrame(COLUMNS).export_json(f"{place}.json", orient="lines")
    return SFrame.read_json(f"{place}.json", orient="lines")


def orc_file(place: Path) -> SFrame:
    orc.write_table(pa.table(COLUMNS), f"{place}.orc")
    return SFrame.read_orc(f"{place}.orc")


DOORS: dict[str, Callable[[Path], SFrame]] = {
    "memory": lambda place: SFrame(COLUMNS),
    "own": saved,
    "own in segments": lambda place: saved(place, 100),
    "parquet": parquet,
    "parquet files": lambda place: parquet(place, 3),
    "csv": lambda place: text_file(place, "csv"),
    "json": lambda place: text_file(place, "json"),
    "orc": orc_file,
}


def plus_one(value: Any) -> Any:
    raise AssertionError("called")


def with_column(sf: SFrame, column: SArray) -> SFrame:
    made = SFrame(sf)
    made["made"] = column
    return made


PROGRAMS: dict[str, Callable[[SFrame, SFrame], Any]] = {
    "sort": lambda sf, _: sf.sort("v"),
    "sort by what may be sorted": lambda sf, _: sf.sort("t"),
    "sort by text": lambda sf, _: sf.sort(["s", "v"]),
    "top rows": lambda sf, _: sf.topk("v", 5),
    "filter": lambda sf, _: sf[sf["v"] > 20],
    "filter of a range": lambda sf, _: sf[(sf["t"] > 100) & (sf["t"] < 110)],
    "filter by text": lambda sf, _: sf[sf["s"] == "x3"],
    "first of a filter": lambda sf, _: sf[sf["v"] > 20].head(5),
    "some values": lambda sf, _: sf.filter_by([1, 2], "k"),
    "slice": lambda sf, _: sf[100:300:7],
    "groups": lambda sf, _: sf.groupby("k", {"m": aggregate.MEAN("v"), "n": aggregate.COUNT()}),
    "groups by text": lambda sf, _: sf.groupby("s", {"m": aggregate.COUNT_DISTINCT("t")}),
    "unique": lambda sf, _: sf["s"].unique(),
    "first of each": lambda sf, _: sf.drop_duplicates("k"),
    "join with few": lambda sf, _: sf.join(SFrame({"k": [1, 2, 3, 3], "w": [1, 2, 3, 4]}), on="k"),
    "join": lambda sf, other: sf.join(other, on="k"),
    "outer join": lambda sf, other: sf.join(other, on="k", how="outer"),
    "join by text": lambda sf, other: sf.join(other, on=["s", "t"], how="left"),
    "first of a join": lambda sf, other: sf.join(other, on="k").head(5),
    "as-of join": lambda sf, other: sf.sort("t").asof_join(other.sort("t"), on="t"),
    "window": lambda sf, _: sf.window("t", {"sum": aggregate.SUM("v")}, before=5),
    "running": lambda sf, _: sf["v"].cumulative_sum(),
    "rolling": lambda sf, _: sf["v"].rolling_mean(-3, 0),
    "append": lambda sf, other: sf.append(other),
    "function": lambda sf, _: sf["t"].apply(plus_one, int),
    "sort by a function": lambda sf, _: with_column(sf, sf["t"].apply(plus_one, int)).sort("made"),
    "filter by a function": lambda sf, _: sf[sf["t"].apply(plus_one, int)],
    "one more column": lambda sf, _: with_column(sf, sf["v"] * 2),
    "stacked": lambda sf, _: sf.pack_columns(["k", "t"], dtype=list, new_column_name="p").stack("p", "q"),
}

# Few rows are planned otherwise than many.
SIZES: dict[str, dict[str, Any]] = {"few": {}, "many": {"small_rows": 100, "segment_rows": 150}, "none are few": {"small_rows": 0}}


@pytest.fixture(params=SIZES)
def size(request: pytest.FixtureRequest) -> Iterator[str]:
    with config.using(progress="off", **SIZES[request.param]):
        yield request.param


@pytest.mark.sampled(3)
@pytest.mark.parametrize("door", DOORS)
def test_planning_over_every_door_does_nothing_else(door: str, size: str, tmp_path: Path) -> None:
    found = {}
    for name, program in by_turns(list(PROGRAMS.items()), 4, list(DOORS).index(door)):
        place = tmp_path / name.replace(" ", "_")
        place.mkdir()
        node = program(DOORS[door](place / "one"), DOORS[door](place / "two"))._node
        if done := impurities(node):
            found[name] = done
    assert found == {}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("example", [each for each in EXAMPLES if not each.needs_spark], ids=lambda each: f"{each.operator}: {each.title}")
def test_planning_an_operator_does_nothing_else(example: Any, size: str) -> None:
    node = example.build()
    assert impurities(node) == []


@pytest.mark.sampled(9)
@pytest.mark.parametrize("seed", range(30))
def test_planning_a_random_program_does_nothing_else(seed: int, size: str) -> None:
    nodes = random_program(random.Random(seed)).nodes
    done = {place: impurities(node) for place, node in enumerate(nodes)}
    assert not any(done.values()), done


@pytest.mark.parametrize("beside", [False, True])
def test_manifests_of_before_sizes_were_recorded_are_planned_by_footers(beside: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sidecar_file, "MIN_CELLS", 1 if beside else sidecar_file.MIN_CELLS)
    saved(tmp_path / "frame", 100)
    written = tmp_path / "frame" / MANIFEST_FILE
    content = unsealed(written.read_text(), "here")
    for part in [content["beside"]] if beside else content["segments"]:
        assert len(part.pop("column_bytes")) == len(COLUMNS)
    written.write_text(sealed(content))
    node = load_sframe(str(tmp_path / "frame")).sort("s")._node
    read = impurities(node)
    assert read and all(re.fullmatch(r"open segment-[\w-]+\.parquet", what) for what in read)
    assert impurities(node) == []


def test_joins_are_not_counted_while_they_are_planned() -> None:
    left, right = SFrame({"k": [1, 2, 2, 3]}), SFrame({"k": [2, 3, 3], "w": [1, 2, 3]})
    assert impurities(left.join(right, on="k", how="outer")._node) == []


def test_what_is_watched_is_seen(tmp_path: Path) -> None:
    sf = parquet(tmp_path / "p")
    node = (sf["v"] + 1)._node
    with watching(places_of(node)) as found:
        list(SArray(_node=node))
        list(SArray([1, 2, 3]) + 1)
        threading.Thread(target=len, args=("",)).start()
        subprocess.run(["true"], check=True)
    assert {"open 0.parquet", "thread", "subprocess.Popen"} <= set(found) and any("kernel of" in what for what in found)
    changed = SFrame({"a": [1, 2]})[1:]._node
    before = state_of(changed)
    changed.splice(SFrame({"a": [2]})._node)
    assert state_of(changed) != before
