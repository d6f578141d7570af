"""Look-ups by value in columns in order: only segments and row groups that can match are read, whatever the type and the form of the condition."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow.parquet as pq
import pytest

import sframe_spark as tc
from sframe_spark.operators.sources import segment_row_ranges
from sframe_spark.planner.node import PlannerNode
from sframe_spark.rewrite_laws.pruning_by_recorded_bounds import filter_by_recorded_bounds
from sframe_spark.storage.segments import writer
from sframe_spark.types import DATETIME, FLOAT, INT, STR, ZONED_DATETIME
from tests.random_tables import segments_source

ROWS, SEGMENTS, ROWS_PER_GROUP = 1_000, 4, 50
START = datetime.datetime(2024, 1, 1)
COLUMNS: dict[str, tuple[Any, Callable[[int], Any]]] = {
    "i": (INT, lambda n: n // 2),
    "f": (FLOAT, lambda n: n * 0.5),
    "s": (STR, lambda n: f"key {n // 2:05d}"),
    "t": (DATETIME, lambda n: START + datetime.timedelta(minutes=n)),
    "z": (ZONED_DATETIME, lambda n: (START + datetime.timedelta(minutes=n)).replace(tzinfo=datetime.UTC)),
    "v": (INT, lambda n: n * 7919 % ROWS),
}


@pytest.fixture(scope="module")
def segments() -> PlannerNode:
    """Four segments of five row groups each, written once."""
    bounds = [ROWS * number // SEGMENTS for number in range(SEGMENTS + 1)]
    columns = [[make(number) for number in range(ROWS)] for _, make in COLUMNS.values()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer, "ROWS_PER_GROUP", ROWS_PER_GROUP)
        return segments_source(columns, [kind for kind, _ in COLUMNS.values()], bounds)


@pytest.fixture
def stored(segments: PlannerNode, monkeypatch: pytest.MonkeyPatch) -> tc.SFrame:
    """A new frame of them, whose results are written in such row groups too."""
    monkeypatch.setattr(writer, "ROWS_PER_GROUP", ROWS_PER_GROUP)
    return tc.SFrame(_node=segments.operator.make_planner_node(), _names=list(COLUMNS))


@pytest.fixture
def groups_read(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Row groups read, each as often as it was."""
    found: list[int] = []
    original = pq.ParquetFile.iter_batches

    def iter_batches(self: Any, *arguments: Any, **options: Any) -> Any:
        found.extend(options["row_groups"])
        return original(self, *arguments, **options)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", iter_batches)
    yield found


def value(name: str, number: int) -> Any:
    """Value of a column in a row."""
    return COLUMNS[name][1](number)


def below(sf: tc.SFrame, name: str) -> tc.SFrame:
    """Rows below a bound."""
    return sf[sf[name] < value(name, 616)]


CONDITIONS: dict[str, Callable[[tc.SFrame, str], Any]] = {
    "equal": lambda sf, name: sf[sf[name] == value(name, 610)],
    "equal, the other way round": lambda sf, name: sf[value(name, 610) == sf[name]],
    "between two bounds": lambda sf, name: sf[(sf[name] >= value(name, 610)) & (sf[name] < value(name, 616))],
    "one bound after the other": lambda sf, name: below(sf[sf[name] >= value(name, 610)], name),
    "one of two": lambda sf, name: sf[(sf[name] == value(name, 610)) | (sf[name] == value(name, 620))],
    "among some": lambda sf, name: sf.filter_by([value(name, 620), value(name, 610)], name),
    "a bound and another column": lambda sf, name: sf[(sf[name] == value(name, 610)) & (sf["v"] >= 0)],
}

# Row groups 0 (rows 0 to 49), 12 (600 to 649) and 19 (950 to 999), each by its place in its segment.
FAR_APART: dict[str, tuple[Callable[[tc.SFrame, str], Any], list[int]]] = {
    "one of two": (lambda sf, name: sf[(sf[name] == value(name, 10)) | (sf[name] == value(name, 990))], [0, 4]),
    "among three": (lambda sf, name: sf[sf[name].is_in([value(name, 990), value(name, 610), value(name, 10)])], [0, 2, 4]),
    "chosen": (lambda sf, name: sf.filter_by([value(name, 990), value(name, 10)], name), [0, 4]),
    "both ends": (lambda sf, name: sf[(sf[name] < value(name, 6)) | (sf[name] > value(name, 990))], [0, 4]),
    "both ends and one value": (
        lambda sf, name: sf[(sf[name] < value(name, 6)) | (sf[name] > value(name, 990)) | (sf[name] == value(name, 610))],
        [0, 2, 4],
    ),
    "both ends, then one of them": (lambda sf, name: below(sf[(sf[name] < value(name, 6)) | (sf[name] > value(name, 990))], name), [0]),
    "two row groups of one segment": (lambda sf, name: sf[sf[name].is_in([value(name, 260), value(name, 490)])], [0, 4]),
    "none": (lambda sf, name: sf[(sf[name] < value(name, 6)) & (sf[name] > value(name, 990))], []),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("name", ["i", "f", "s", "t", "z"])
def test_only_the_row_group_that_can_match_is_read(name: str, condition: str, stored: tc.SFrame, groups_read: list[int]) -> None:
    rows = [row["t"] for row in CONDITIONS[condition](stored, name)]
    # The row group of rows 600 to 649, in the third segment.
    assert set(groups_read) == {2}
    groups_read.clear()
    with tc.config.using(disabled_laws=frozenset([filter_by_recorded_bounds.equation])):
        assert [row["t"] for row in CONDITIONS[condition](stored, name)] == rows
    assert len(groups_read) == ROWS // ROWS_PER_GROUP
    assert rows


@pytest.mark.sampled(2)
@pytest.mark.parametrize("condition", FAR_APART)
@pytest.mark.parametrize("name", ["i", "f", "s", "t", "z"])
def test_only_the_row_groups_that_can_match_are_read(name: str, condition: str, stored: tc.SFrame, groups_read: list[int]) -> None:
    program, groups = FAR_APART[condition]
    rows = [row["t"] for row in program(stored, name)]
    assert groups_read == groups
    with tc.config.using(disabled_laws=frozenset([filter_by_recorded_bounds.equation])):
        assert [row["t"] for row in program(stored, name)] == rows


def test_rows_far_apart_keep_their_order_and_what_is_known_of_it(stored: tc.SFrame, groups_read: list[int]) -> None:
    ends = stored[(stored["i"] < 3) | (stored["i"] > 496)].add_row_number("n")
    assert ends["n"].sum() == sum(range(12))
    assert list(ends.sort("t")["i"]) == [n // 2 for n in (*range(6), *range(994, 1000))]
    assert "sort" not in ends.sort("t").explain().split("-- optimized plan\n")[1]
    assert [row["i"] for row in ends[4:8]] == [2, 2, 497, 497]
    assert ends.groupby("i", {"n": tc.aggregate.COUNT()})["n"].sum() == 12
    assert set(groups_read) == {0, 4}


def test_columns_beside_rows_far_apart_are_read_where_these_are(stored: tc.SFrame, groups_read: list[int]) -> None:
    other = tc.SFrame(_node=segments_source([[-n for n in range(ROWS)]], [INT], [0, 10, ROWS]), _names=["w"])
    wide = stored.add_columns(other).add_row_number("n")
    rows = [(row["n"], row["v"], row["w"]) for row in wide[wide["t"].is_in([value("t", 10), value("t", 990)])]]
    assert rows == [(10, value("v", 10), -10), (990, value("v", 990), -990)]
    # Two row groups of the first frame; of the second those of rows 0 to 9, 10 to 59, 910 to 959 and 960 to 999.
    assert len(groups_read) == 6


COMPUTED: dict[str, tuple[Callable[[tc.SFrame], Any], list[int]]] = {
    "int + 1": (lambda sf: sf[sf["i"] + 1 == 306], [2]),
    "int * 2": (lambda sf: sf[sf["i"] * 2 >= 980], [4]),
    "int * -2": (lambda sf: sf[sf["i"] * -2 > -10], [0]),
    "- int": (lambda sf: sf[-sf["i"] < -490], [4]),
    "1 - int": (lambda sf: sf[1 - sf["i"] == -304], [2]),
    "int / 4": (lambda sf: sf[sf["i"] / 4 == 76.25], [2]),
    "int // 7": (lambda sf: sf[sf["i"] // 7 == 44], [2]),
    "int + a fraction": (lambda sf: sf[sf["i"] + 0.1 < 5.1], [0]),
    "int to float": (lambda sf: sf[sf["i"].astype(float) > 490.0], [4]),
    "no int is half of an odd number": (lambda sf: sf[sf["i"] * 2 == 611], []),
    "float * 2 + 1": (lambda sf: sf[sf["f"] * 2 + 1 <= 8], [0]),
    "float - 0.1": (lambda sf: sf[sf["f"] - 0.1 == 305.4], [2]),
    "- float / -3": (lambda sf: sf[-sf["f"] / -3 > 165], [4]),
    "time since": (lambda sf: sf[sf["t"] - START < 600], [0]),
    "time until": (lambda sf: sf[START - sf["t"] < -990 * 60], [4]),
    "time moved by seconds": (lambda sf: sf[sf["t"] + 60 > value("t", 990)], [4]),
    "zoned time since": (lambda sf: sf[sf["z"] - START.replace(tzinfo=datetime.UTC) > 990 * 60], [4]),
    "shifted time": (lambda sf: sf.shift_time("t", "1h")[sf.shift_time("t", "1h")["t"] < value("t", 80)], [0]),
    "shifted int": (lambda sf: sf.shift_time("i", -5)[sf.shift_time("i", -5)["i"] == 300], [2]),
    "both ends": (lambda sf: sf[(sf["i"] * 2 < 10) | (sf["i"] * 2 > 990)], [0, 4]),
    "one of two": (lambda sf: sf[(sf["i"] + 1).is_in([6, 496])], [0, 4]),
    "compared twice": (lambda sf: sf[(sf["i"] > 490) == 1], [4]),
}


@pytest.mark.parametrize("condition", COMPUTED)
def test_of_what_is_computed_of_a_column_only_the_row_groups_that_can_match_are_read(
    condition: str, stored: tc.SFrame, groups_read: list[int]
) -> None:
    program, groups = COMPUTED[condition]
    rows = [row["v"] for row in program(stored)]
    assert groups_read == groups
    with tc.config.using(disabled_laws=frozenset([filter_by_recorded_bounds.equation])):
        assert [row["v"] for row in program(stored)] == rows


def far(sf: tc.SFrame) -> tc.SFrame:
    """Rows at both ends and one in between."""
    return sf[(sf["i"] < 7) | (sf["i"] > value("i", 960)) | (sf["i"] == value("i", 610))]


# The first column or two of each result tell its rows apart.
PROGRAMS: dict[str, Callable[[tc.SFrame], tc.SFrame]] = {
    "rows": far,
    "row numbers": lambda sf: far(sf).add_row_number("n")[["n", "t"]],
    "row numbers of all rows": lambda sf: far(sf.add_row_number("n"))[["n", "t"]],
    "running sum": lambda sf: tc.SFrame({"c": far(sf)["v"].cumulative_sum()}),
    "sort by another column": lambda sf: far(sf).sort("v")[["v", "t"]],
    "sort by the order": lambda sf: far(sf).sort("t")[["t"]],
    "group-by on the order": lambda sf: far(sf).groupby("i", {"s": tc.aggregate.SUM("v"), "c": tc.aggregate.CONCAT("v")}),
    "group-by on another column": lambda sf: far(assigned(sf, "r", sf["v"] % 7)).groupby("r", {"c": tc.aggregate.CONCAT("v")}),
    "values of groups in the order of a sort": lambda sf: (
        far(assigned(sf, "r", sf["v"] % 7)).sort([("r", True), ("v", False)]).groupby("r", {"c": tc.aggregate.CONCAT("v"), "n": tc.aggregate.COUNT()})
    ),
    "join": lambda sf: far(sf)[["v", "t"]].join(far(sf[sf["v"] > 100])[["v", "i"]], on="v"),
    "tail": lambda sf: far(sf).tail(60)[["t", "z"]],
    "slice, then append": lambda sf: far(sf)[5:40].append(far(sf)[2:4])[["t", "s"]],
    "second filter": lambda sf: below(far(sf), "t")[["t"]],
    "computed": lambda sf: sf[(-sf["i"] * 3 > -21) | (sf["i"] + 1 > value("i", 960))][["t", "i"]],
}


def assigned(sf: tc.SFrame, name: str, column: Any) -> tc.SFrame:
    """The frame with one more column."""
    copy = sf.copy()
    copy[name] = column
    return copy


def rows_of(sf: tc.SFrame) -> list[list[Any]]:
    """All rows of a frame."""
    return [list(row.values()) for row in sf]


@pytest.mark.parametrize("program", PROGRAMS)
def test_rows_far_apart_are_the_same_with_and_without_the_law(program: str, stored: tc.SFrame) -> None:
    found = rows_of(PROGRAMS[program](stored))
    with tc.config.using(disabled_laws=frozenset([filter_by_recorded_bounds.equation])):
        assert rows_of(PROGRAMS[program](stored)) == found
    assert found


@pytest.mark.spark
@pytest.mark.sampled(3)
@pytest.mark.parametrize("program", PROGRAMS)
def test_rows_far_apart_are_the_same_on_spark(program: str, stored: tc.SFrame, spark: Any) -> None:
    wanted = rows_of(PROGRAMS[program](stored))
    with tc.config.using(small_rows=0, single_task_rows=0, default_segments=3):
        assert rows_of(PROGRAMS[program](stored)) == wanted


@pytest.mark.spark
@pytest.mark.parametrize("program", ["sort by another column", "group-by on another column"])
def test_spark_scans_only_the_segments_that_hold_rows_far_apart(program: str, stored: tc.SFrame, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    scans: list[int] = []
    scan = segment_row_ranges.scan_segments
    monkeypatch.setattr(
        segment_row_ranges, "scan_segments", lambda source, context: scans.append(len(source.manifest.segments)) or scan(source, context)
    )
    with tc.config.using(small_rows=0, single_task_rows=0):
        PROGRAMS[program](stored).materialize()
    # Rows of the first segment, of the third and of the last.
    assert scans == [3]


FIRST_ROWS: dict[str, tuple[Callable[[tc.SFrame], Any], list[int]]] = {
    "head": (lambda sf: sf.head(3), [0, 1, 2]),
    "tail": (lambda sf: sf.tail(3), [997, 998, 999]),
    "slice": (lambda sf: sf[610:613], [610, 611, 612]),
    "one row": (lambda sf: [sf[610]], [610]),
    "head of a sort": (lambda sf: sf.sort("i").head(3), [0, 1, 2]),
    "head of a descending sort": (lambda sf: sf.sort("f", ascending=False).head(3), [999, 998, 997]),
    "largest": (lambda sf: sf.topk("t", 3), [999, 998, 997]),
    "smallest": (lambda sf: sf.topk("f", 3, reverse=True), [0, 1, 2]),
    "slice of a descending sort": (lambda sf: sf.sort("t", ascending=False)[389:391], [610, 609]),
}


@pytest.mark.parametrize("form", FIRST_ROWS)
def test_first_and_last_rows_are_read_alone(form: str, stored: tc.SFrame, groups_read: list[int]) -> None:
    program, wanted = FIRST_ROWS[form]
    with tc.config.using(small_rows=500):
        assert [row["t"] for row in program(stored)] == [value("t", number) for number in wanted]
    assert len(set(groups_read)) <= 1


def test_columns_known_to_have_no_missing_values_are_not_tested_for_them(stored: tc.SFrame) -> None:
    assert "filter" not in stored.dropna().explain().split("-- optimized plan\n")[1]
    assert len(stored.dropna()) == ROWS
    holes = tc.SFrame({"i": [1, None], "f": [float("nan"), 1.0]})
    assert [len(holes.dropna(name)) for name in ("i", "f")] == [1, 1]
