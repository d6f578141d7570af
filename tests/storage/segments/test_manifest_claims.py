"""``verify`` compares what a manifest says of rows with the rows: every claim that is untrue is refused, and every true or weaker one passes."""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from sframe_spark import SArray, SFrame, aggregate, load_sframe
from sframe_spark.cli.verify import run_verify
from sframe_spark.config import config
from sframe_spark.errors import StorageError
from sframe_spark.storage.datasets.dataset_verification import damage_in
from sframe_spark.storage.datasets.manifest_loading_and_open_dataset_registry import load_manifest
from sframe_spark.storage.datasets.manifest_publication import publish, write_manifest
from sframe_spark.storage.manifest.column_statistics import UNKNOWN_STATISTICS, ColumnStatistics
from sframe_spark.storage.manifest.manifest import Manifest
from sframe_spark.storage.manifest.recorded_order import RecordedOrder
from sframe_spark.storage.segments import statistics_order_and_key_verification as manifest_verification
from sframe_spark.storage.segments.statistics_order_and_key_verification import check_order, equal_rows
from sframe_spark.storage.segments.writer import write_segment
from sframe_spark.types import ARRAY, DATETIME, FLOAT, INT, STR, ZONED_DATETIME, ColumnType
from tests.examples import examples, square
from tests.storage.segments.test_column_statistics_collection import key

EPOCH = datetime.datetime(1970, 1, 1)
DAYS = [EPOCH + datetime.timedelta(days=number) for number in range(3)]
ZONES = [{"instant": day, "offset": offset} for day in DAYS[:2] for offset in (0, 3600)]
NAN = float("nan")
# Columns of two files: in order and not, with ties, with missing values and NaN, all alike, of types without an order.
COLUMNS: dict[str, tuple[ColumnType, list[list[Any]]]] = {
    "rising": (INT, [[1, 2, 3], [4, 5]]),
    "falling": (FLOAT, [[9.5, 8.0, 2.0], [2.0, -1.5]]),
    "alike": (STR, [["b", "b", "b"], ["b", "b"]]),
    "texts": (STR, [["b", "a", None], ["é", "z" * 20]]),
    "floats": (FLOAT, [[None, -0.0, NAN], [math.inf, -math.inf]]),
    "missing": (INT, [[None, None, None], [None, 7]]),
    "days": (DATETIME, [[DAYS[0], DAYS[1], DAYS[1]], [DAYS[2], None]]),
    "zones": (ZONED_DATETIME, [[ZONES[0], ZONES[1], ZONES[2]], [ZONES[3], None]]),
    "arrays": (ARRAY, [[[1.0], [], None], [[2.0], [3.0]]]),
    "long": (STR, [["a" * 5000, "b", "c"], ["d", "e" * 5000]]),
}
FLAGS = ("ascending", "descending", "strictly_ascending", "strictly_descending", "constant", "has_missing", "has_nan")


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    place = str(tmp_path_factory.mktemp("claims"))
    types = [kind for kind, _ in COLUMNS.values()]
    entries = [
        write_segment(place, number, types, [[pa.array(parts[number], kind.physical) for kind, parts in COLUMNS.values()]]) for number in range(2)
    ]
    return publish(place, types, entries, tuple(COLUMNS))


def claiming(manifest: Manifest, segment: int, column: int, facts: ColumnStatistics) -> Manifest:
    """A manifest that says something else of one column of one file."""
    entry = manifest.segments[segment]
    columns = (*entry.columns[:column], facts, *entry.columns[column + 1 :])
    segments = list(manifest.segments)
    segments[segment] = attrs.evolve(entry, columns=columns)
    return attrs.evolve(manifest, segments=tuple(segments))


def with_fact(facts: ColumnStatistics, name: str, value: Any) -> ColumnStatistics:
    return attrs.evolve(facts, **{name: value})


def others(value: Any, kind: ColumnType) -> list[Any]:
    """Values of a column that are not a given one."""
    values: dict[str, list[Any]] = {"int": [0, 2**63 - 1], "float": [0.25, math.inf, NAN], "str": ["", "zz"], "datetime": [5, -(10**15)]}
    return [other for other in (*values.get(kind.kind, []), None) if key(other) != key(value)]


def test_what_was_recorded_is_true(dataset: Manifest) -> None:
    assert damage_in(dataset) == []


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("name", "segment"), square(2, COLUMNS, [0, 1]))
def test_every_untrue_fact_is_refused_and_every_weaker_one_passes(dataset: Manifest, name: str, segment: int) -> None:
    column, (kind, _) = list(COLUMNS).index(name), COLUMNS[name]
    true = dataset.segments[segment].columns[column]
    weaker = [UNKNOWN_STATISTICS, *(with_fact(true, flag, None) for flag in FLAGS)]
    weaker += [attrs.evolve(true, edges_known=False), attrs.evolve(true, bounds_known=False)]
    for facts in weaker:
        assert damage_in(claiming(dataset, segment, column, facts)) == []
    lies = [with_fact(true, flag, value) for flag in FLAGS for value in (True, False) if getattr(true, flag) is not value]
    if true.edges_known:
        lies += [with_fact(true, edge, value) for edge in ("first", "last") for value in others(getattr(true, edge), kind)]
    if true.bounds_known:
        bounds = [(low, true.maximum) for low in others(true.minimum, kind)] + [(true.minimum, high) for high in others(true.maximum, kind)]
        lies += [
            attrs.evolve(true, minimum=low, maximum=high) for low, high in (*bounds, (None, None)) if (low, high) != (true.minimum, true.maximum)
        ]
    refused = 0
    for facts in lies:
        try:
            manifest = claiming(dataset, segment, column, facts)
        except StorageError:
            # Nobody could mean that.
            continue
        if name == "long" and true.ascending is None and is_so(facts):
            continue
        (error,) = damage_in(manifest)
        assert repr(name) in str(error) and dataset.segments[segment].file in str(error) and dataset.directory in str(error)
        refused += 1
    assert refused >= 5


def is_so(facts: ColumnStatistics) -> bool:
    """Say whether facts about the long texts, of which the writer says nothing, are true: both files ascend."""
    return facts.ascending in (None, True) and facts.strictly_ascending in (None, True) and True not in (
        facts.descending, facts.strictly_descending, facts.constant, facts.has_missing, facts.has_nan,
    )  # fmt: skip


def test_columns_of_another_type_are_refused(dataset: Manifest) -> None:
    for column, (kind, _) in enumerate(COLUMNS.values()):
        for other in (INT, FLOAT, STR, DATETIME, ZONED_DATETIME, ARRAY):
            if other.physical == kind.physical:
                continue
            types = (*dataset.types[:column], other, *dataset.types[column + 1 :])
            silent = tuple(attrs.evolve(entry, columns=()) for entry in dataset.segments)
            assert len(damage_in(attrs.evolve(dataset, types=types, segments=silent))) == 2


DOORS: dict[str, Callable[[str], Any]] = {
    "load_sframe": lambda place: load_sframe(place, verify=True),
    "SFrame": lambda place: SFrame(place, verify=True),
}


@pytest.mark.parametrize("door", DOORS.values(), ids=list(DOORS))
@pytest.mark.parametrize(
    ("order", "words"),
    [
        (RecordedOrder((((1, True),),)), "in order of 'b' ascending, and row 1 is not"),
        (RecordedOrder((((0, True), (1, False)),)), "in order of 'a' ascending, 'b' descending, and row 3 is not"),
        (RecordedOrder((), ((0,),)), "no two rows are said to be equal in 'a', and row 1 is equal to the one before it"),
        (RecordedOrder((), ((2, 1),)), "no two rows are said to be equal in 'b', 'c', and two are 5, 'x'"),
        (RecordedOrder((), ((),)), "one row is said to be all, and there are 4"),
    ],
)
def test_an_order_or_a_key_that_is_not_one_is_refused(tmp_path: Path, door: Callable[[str], Any], order: RecordedOrder, words: str) -> None:
    place = str(tmp_path / "frame")
    SFrame({"a": [1, 1, 2, 2], "b": [7, 5, 5, 6], "c": ["x", "x", "x", "y"]}).save(place)
    assert door(place) is not None
    write_manifest(load_manifest(place).with_order(order), durable=False)
    with pytest.raises(StorageError, match="is damaged: ") as caught:
        door(place)
    assert words in str(caught.value) and place in str(caught.value)
    lines: list[str] = []
    assert run_verify([place], lines.append) == 1 and len(lines) == 1 and words in lines[0]


def test_a_column_that_says_it_ascends_is_refused(tmp_path: Path) -> None:
    SArray([3, 1, 2]).save(str(tmp_path / "column"))
    manifest = load_manifest(tmp_path / "column")
    lie = attrs.evolve(manifest.segments[0].columns[0], ascending=True)
    write_manifest(claiming(manifest, 0, 0, lie), durable=False)
    with pytest.raises(StorageError, match="that it ascends is said to be true, and is not"):
        SArray(str(tmp_path / "column"), verify=True)


VALUES: list[tuple[ColumnType, list[Any]]] = [
    (INT, [None, 0, 1, 2**62]),
    (FLOAT, [None, NAN, -0.0, 0.0, 1.5, -math.inf]),
    (STR, [None, "", "a", "ab", "é"]),
    (DATETIME, [None, *DAYS]),
]
TABLES = st.lists(st.sampled_from(VALUES), min_size=1, max_size=3).flatmap(
    lambda kinds: st.tuples(
        st.just([kind for kind, _ in kinds]),
        st.lists(st.tuples(*(st.sampled_from(values) for _, values in kinds)), min_size=1, max_size=8),
        st.lists(st.tuples(st.integers(0, len(kinds) - 1), st.booleans()), max_size=4),
        st.lists(st.integers(0, len(kinds) - 1), max_size=3, unique=True),
        st.booleans(),
    )
)


def rank(row: Any, ordering: Any) -> Any:
    return [key(plain(row[column])) for column, _ in ordering]


def plain(value: Any) -> Any:
    return (value - EPOCH) // datetime.timedelta(microseconds=1) if isinstance(value, datetime.datetime) else value


def in_order(before: Any, after: Any, ordering: Any) -> bool:
    """Compare two rows in plain Python."""
    for column, up in ordering:
        left, right = key(plain(before[column])), key(plain(after[column]))
        if left != right:
            return (left < right) == up
    return True


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=examples(70))
@given(table=TABLES, size=st.integers(1, 4))
def test_orders_and_keys_are_judged_as_brute_force_does(tmp_path_factory: pytest.TempPathFactory, table: Any, size: int) -> None:
    types, rows, ordering, columns, make_true = table
    if make_true:
        for column, up in reversed(ordering):
            rows = sorted(rows, key=lambda row: key(plain(row[column])), reverse=not up)
    place = str(tmp_path_factory.mktemp("order"))
    parts = [rows[start : start + size] for start in range(0, len(rows), size)]
    entries = [
        write_segment(place, number, types, [[pa.array([row[column] for row in part], kind.physical) for column, kind in enumerate(types)]])
        for number, part in enumerate(parts)
    ]
    manifest = publish(place, types, entries, durable=False)
    ordered = all(in_order(before, after, ordering) for before, after in itertools.pairwise(rows))
    keys = [tuple(key(plain(row[column])) for column in columns) for row in rows]
    distinct_rows = len(set(keys)) == len(keys)
    for order, holds in (
        (RecordedOrder((tuple(ordering),)), ordered),
        (RecordedOrder((), (tuple(columns),)), distinct_rows),
        (RecordedOrder((tuple(ordering),), (tuple(columns),)), ordered and distinct_rows),
    ):
        if holds:
            check_order(manifest.with_order(order))
        else:
            with pytest.raises(StorageError, match="is damaged"):
                check_order(manifest.with_order(order))


def test_verify_tells_where_there_is_no_room_for_hashes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = str(tmp_path / "frame")
    SFrame({"a": [3, 1, 2, 3, 1] * 10, "b": range(50)}).groupby("a", {"n": aggregate.SUM("b")}).sort("n").save(target)
    monkeypatch.setattr(manifest_verification, "ROWS_IN_MEMORY", 1)
    lines: list[str] = []
    # It is made, as for all other temporary data.
    monkeypatch.setattr(config, "temporary_directory", str(tmp_path / "new"))
    assert run_verify([target], lines.append) == 0
    (tmp_path / "none").write_text("a file")
    monkeypatch.setattr(config, "temporary_directory", str(tmp_path / "none"))
    assert run_verify([target], lines.append) == 1
    assert str(tmp_path / "none") in lines[-1]


@pytest.mark.parametrize("in_memory", [1 << 23, 100, 1])
@pytest.mark.parametrize("collide", [False, True])
def test_rows_are_told_apart_exactly_in_bounded_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_memory: int, collide: bool) -> None:
    monkeypatch.setattr(manifest_verification, "ROWS_IN_MEMORY", in_memory)
    # Most of a second of each case would be for making files.
    monkeypatch.setattr(manifest_verification, "MAX_FILES", 16)
    if collide:
        monkeypatch.setattr(manifest_verification, "_mixed", lambda values: values & manifest_verification.np.uint64(7))
    rows = 300
    types = [INT, STR, FLOAT, DATETIME, ZONED_DATETIME, ARRAY]
    columns: list[list[Any]] = [
        [number // 2 for number in range(rows)],
        [None if number == 5 else f"t{number % 147}" for number in range(rows)],
        [NAN if number == 3 else number / 2 for number in range(rows)],
        [EPOCH + datetime.timedelta(seconds=number) for number in range(rows)],
        [{"instant": EPOCH, "offset": number} for number in range(rows)],
        [None if number == 9 else [float(number)] for number in range(rows)],
    ]
    last = [*columns]
    halves = [[[*column[part : part + rows // 2]] for column in last] for part in (0, rows // 2)]
    entries = [
        write_segment(str(tmp_path), number, types, [[pa.array(column, kind.physical) for column, kind in zip(half, types, strict=True)]])
        for number, half in enumerate(halves)
    ]
    manifest = publish(str(tmp_path), types, entries, durable=False)
    assert equal_rows(manifest, [0]) is not None and equal_rows(manifest, [1]) is not None
    for key_columns in ([0, 1], [2], [3], [4], [5], [0, 1, 2, 3, 4, 5], [1, 5]):
        assert equal_rows(manifest, key_columns) is None
    again = write_segment(
        str(tmp_path),
        2,
        types,
        [[pa.array([column[place] for place in (3, 5, 9)], kind.physical) for column, kind in zip(columns, types, strict=True)]],
    )
    twice = publish(str(tmp_path), types, [*entries, again], durable=False)
    for key_columns in ([2], [3], [4], [5], [0, 1, 2, 3, 4, 5]):
        assert equal_rows(twice, key_columns) is not None


def results() -> dict[str, Callable[[], SFrame]]:
    """Frames of which the engine knows an order or keys."""
    size = 60
    rows = SFrame(
        {
            "a": [number * 7 % 5 for number in range(size)],
            "b": [None if number % 11 == 0 else float(number % 3) for number in range(size)],
            "c": [f"t{number % 4}" for number in range(size)],
            "d": [DAYS[number % 3] for number in range(size)],
            "e": [[float(number % 2)] for number in range(size)],
            "f": [[number % 2, "x"] for number in range(size)],
            "z": [
                datetime.datetime(2020, 1, 1 + number % 2, tzinfo=datetime.timezone(datetime.timedelta(hours=number % 3))) for number in range(size)
            ],
        }
    )
    names = rows.column_names()
    groups = [[name] for name in names] + [["a", "c"], ["c", "a"], ["b", "d", "a"], ["z", "a"], ["e", "a"]]
    found: dict[str, Callable[[], SFrame]] = {f"group by {by}": partial(rows.groupby, by, {"n": aggregate.COUNT()}) for by in groups}
    orders = [
        ("a", True),
        ("b", False),
        ("c", True),
        ("d", False),
        ("z", True),
        (["a", "c"], True),
        ([("a", False), ("b", True), ("z", False)], True),
    ]
    found |= {f"sort by {by}": partial(rows.sort, by, ascending=up) for by, up in orders}
    found["unique"] = lambda: rows[["a", "c", "z"]].unique()
    found["number"] = lambda: rows.add_row_number().sort("a")
    found["join"] = lambda: rows.join(rows.groupby("a", {"n": aggregate.COUNT()}), on="a").sort(["a", "c"])
    found["append"] = lambda: rows.sort("a").append(rows.sort("a"))
    found["negated"] = lambda: SFrame({"x": -rows.sort("a")["a"], "y": rows.sort("a")["a"] * 2})
    return found


RESULTS = results()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", RESULTS)
def test_what_the_engine_records_is_found_true(tmp_path: Path, name: str) -> None:
    RESULTS[name]().save(str(tmp_path / "frame"))
    assert damage_in(load_manifest(tmp_path / "frame")) == []


@pytest.mark.spark
def test_what_the_engine_records_on_spark_is_found_true(tmp_path: Path) -> None:
    recorded = 0
    with config.using(small_rows=0):
        for number, name in enumerate(("group by ['a', 'c']", "group by ['z', 'a']", "sort by ['a', 'c']", "unique", "join")):
            RESULTS[name]().save(str(tmp_path / str(number)))
            manifest = load_manifest(tmp_path / str(number))
            recorded += len(manifest.order.orderings) + len(manifest.order.keys)
            assert damage_in(manifest) == []
    assert recorded >= 5
