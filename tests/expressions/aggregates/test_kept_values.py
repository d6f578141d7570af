"""Lists, dicts, distinct values, frequencies, quantiles and runs: one value by every way of their state columns, for any cut of the rows."""

from __future__ import annotations

import array
import datetime
import itertools
import math
import pickle
import random
from collections.abc import Callable, Hashable, Sequence
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

from sframe_spark.compute.row_groups import GroupsOfRows
from sframe_spark.expressions.aggregates import collected_values, distinct_values, quantiles
from sframe_spark.expressions.aggregates.aggregate_function import AGGREGATES, aggregate_of_lists
from sframe_spark.expressions.aggregates.input_rows_and_windows import InputRows, RowWindows
from sframe_spark.expressions.aggregates.state_columns import AggregateSet, ColumnAggregate, joined, take
from sframe_spark.types import ARRAY, DATETIME, ENCODED_DICT, ENCODED_LIST, FLOAT, INT, STR, ZONED_DATETIME, ColumnType, dict_of, list_of
from sframe_spark.values.arrow_to_python import decode
from sframe_spark.values.python_to_arrow import encode_plain
from sframe_spark.values.tagged_json_display_and_canonical_text import canonical_value
from tests.examples import by_turns, examples, square
from tests.expressions.aggregates.drivers import of_all_rows
from tests.expressions.aggregates.every_way import Rows, check_every_way, wire

EAST = datetime.timezone(datetime.timedelta(hours=5))
NOON = datetime.datetime(2020, 1, 1, 12)
MOMENTS = [NOON.replace(tzinfo=datetime.UTC), NOON.replace(hour=17, tzinfo=EAST), NOON, datetime.datetime(1960, 1, 1, tzinfo=EAST)]
VALUES: dict[str, tuple[ColumnType, list[Any]]] = {
    "int": (INT, [0, 1, -1, 2, 2**63 - 1, -(2**63), None]),
    "float": (FLOAT, [0.0, -0.0, 1.5, -2.0, math.inf, -math.inf, math.nan, None]),
    "str": (STR, ["", "b", 'some "longer"\ntext', "ü", None]),
    "datetime": (DATETIME, [NOON, datetime.datetime(1960, 1, 1), None]),
    "zoned": (ZONED_DATETIME, [*MOMENTS, None]),
    "array": (ARRAY, [array.array("d", items) for items in ([], [1.0, -0.0], [1.0, 0.0], [math.nan])] + [None]),
    "list": (list_of(INT), [[], [1, None], [3], None]),
    "encoded list": (ENCODED_LIST, [[], [1, 2], [1.0, 2], ["a", None], [[1], {"a": 1}], None]),
    "dict": (dict_of(STR, INT), [{}, {"a": 1, "b": 2}, {"b": 2, "a": 1}, None]),
    "encoded dict": (ENCODED_DICT, [{}, {"a": 1, 2: None}, {2: None, "a": 1.0}, {"a": [1, 2]}, None]),
}


def token(value: Any) -> Hashable:
    """What is the same for equal values."""
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=None) - (value.utcoffset() or datetime.timedelta()), value.utcoffset()
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value
    return canonical_value(value) if isinstance(value, (list, dict, array.array)) else value


def distinct_of(values: Sequence[Any]) -> list[Any]:
    found: dict[Hashable, Any] = {}
    for value in values:
        found.setdefault(token(value), value)
    return [0.0 if isinstance(value, float) and value == 0 else value for value in found.values()]


def list_of_values(values: Sequence[Any]) -> Any:
    present = [value for value in values if value is not None]
    return array.array("d", present) if present and isinstance(present[0], float) else present


def dict_of_values(keys: Sequence[Any], values: Sequence[Any]) -> dict[Any, Any]:
    found: dict[Hashable, tuple[Any, Any]] = {}
    for key, value in zip(keys, values, strict=True):
        if key is not None:
            found.setdefault(token(key), (key, value))
    return dict(found.values())


def quantile_of(values: Sequence[Any]) -> Any:
    ordered = sorted(
        (float(value) for value in values if value is not None), key=lambda value: (math.isnan(value), 0.0 if math.isnan(value) else value)
    )
    # A zero has no sign.
    return array.array("d", [ordered[min(int(share * len(ordered)), len(ordered) - 1)] + 0.0 if ordered else 0.0 for share in SHARES])


def counts_of(values: Sequence[Any]) -> dict[Any, int]:
    return {value: list(values).count(value) for value in distinct_of(values)}


def runs_of(values: Sequence[Any]) -> int:
    def instant(value: Any) -> Any:
        return token(value)[0] if isinstance(value, datetime.datetime) else token(value)  # type: ignore[index]

    return sum(1 for _ in itertools.groupby(values, instant))


SHARES = (0, 0.29, 0.5, 0.9, 1)
MODELS: dict[str, Callable[..., Any]] = {
    "concat": lambda *columns: dict_of_values(*columns) if len(columns) == 2 else list_of_values(*columns),
    "distinct": distinct_of,
    "count_distinct": lambda values: len(distinct_of(values)),
    "freq_count": counts_of,
    "quantile": quantile_of,
    "count_runs": runs_of,
}
CASES = [
    *((name, (kind,)) for name in ("concat", "distinct", "count_distinct") for kind in VALUES),
    *(("freq_count", (kind,)) for kind in ("int", "str")),
    *(("quantile", (kind,)) for kind in ("int", "float")),
    *(("count_runs", (kind,)) for kind in ("int", "float", "str", "datetime", "zoned")),
]


def random_rows(kinds: Sequence[str], choose: random.Random) -> Rows:
    """Rows of some columns in at least one group, of few values or many."""
    count = choose.choice([1, 2, 9, 40])
    groups = choose.randint(1, min(count, choose.choice([1, 3, 40])))
    codes = [*range(groups), *(choose.randrange(groups) for _ in range(count - groups))]
    choose.shuffle(codes)
    columns = []
    for kind in kinds:
        column_type, values = VALUES[kind]
        some = choose.sample(values, choose.randint(1, len(values)))
        columns.append(column_of([choose.choice(some) for _ in range(count)], column_type))
    return Rows(columns, np.array(codes), groups)


def column_of(values: list[Any], column_type: ColumnType) -> pa.Array:
    return pa.array(values, pa.float64(), from_pandas=False) if column_type == FLOAT else encode_plain(values, column_type)


def places_of(kinds: Sequence[str]) -> int:
    """A number that differs between neighbours among the types of one column, and of two."""
    return sum(map(list(VALUES).index, kinds))


@pytest.mark.parametrize(("key", "value"), square(3, ("int", "float", "str"), VALUES))
def test_dicts_every_way(key: str, value: str) -> None:
    test_every_way("concat", (key, value))


@pytest.mark.parametrize(("name", "kinds"), CASES, ids=str)
def test_every_way(name: str, kinds: tuple[str, ...]) -> None:
    types, parameters = [VALUES[kind][0] for kind in kinds], SHARES if name == "quantile" else ()
    function = AGGREGATES[name]
    result = function.infer(types, parameters)

    def model(columns: list[list[Any]]) -> Any:
        arguments = [
            decode(pa.array(column, column_type.physical, from_pandas=False), column_type) for column, column_type in zip(columns, types, strict=True)
        ]
        value = MODELS[name](*arguments)
        if result == ARRAY:
            return list(value)
        return column_of([value], result)[0].as_py()

    assert function.of_columns is not None
    aggregate = function.of_columns(types, range(len(types)), parameters)
    assert aggregate is not None and pickle.loads(pickle.dumps(aggregate.states)) == aggregate.states
    for seed in by_turns(range(examples(20, every=1)), 10, places_of(kinds)):
        choose = random.Random(seed)
        rows = random_rows(kinds, choose)
        with (
            patch.object(collected_values, "VALUES_PER_BATCH", choose.choice([1, 3, 1 << 18])),
            patch.object(quantiles, "MAX_OVERLAP", choose.choice([0, 4])),
        ):
            check_every_way(aggregate, rows, model, choose)
            check_states_of_rows_and_windows(aggregate, rows, choose)
        assert repr(of_all_rows(name, rows.columns, types, parameters)) == repr(
            decode(pa.array([model([column.to_pylist() for column in rows.columns])], result.physical, from_pandas=False), result)[0]
        )
        check_groups_that_spark_collected(name, rows, types, parameters)


def check_groups_that_spark_collected(name: str, rows: Rows, types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> None:
    """Groups of consecutive rows, one of them empty, have the values that each has by itself."""
    function, count = AGGREGATES[name], len(rows.codes)
    aggregate, result = function.of_columns(types, range(len(types)), parameters), function.infer(types, parameters)
    offsets = [0, count // 3, count // 3, count]
    structs = pa.StructArray.from_arrays(list(rows.columns), [f"v{place}" for place in range(len(types))])
    found = aggregate_of_lists(pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), structs), aggregate, types)
    assert found.type == result.physical
    alone = [of_all_rows(name, [column.slice(a, b - a) for column in rows.columns], types, parameters) for a, b in itertools.pairwise(offsets)]
    assert repr(decode(found, result)) == repr(alone)


def check_states_of_rows_and_windows(aggregate: ColumnAggregate, rows: Rows, choose: random.Random) -> None:
    """States of windows one after the other, and of the last row so far, are merged and sent as those of groups are."""
    states, count = AggregateSet.of([aggregate]), len(rows.codes)
    ends = np.array(sorted({0, count, *(choose.randrange(count + 1) for _ in range(3))}))
    windows, one = InputRows(rows.columns, count), GroupsOfRows(np.zeros(count, dtype=np.int64), 1)
    of_windows = [column.windows(windows, RowWindows(ends[:-1], ends[1:])) for column in states.states]
    of_window = [column.windows(windows, RowWindows(ends[:1], ends[-1:])) for column in states.states]
    so_far = [column.running(windows, np.zeros(1, dtype=np.int64), column.empty(1)) for column in states.states]
    whole, together = states.lift(windows, one), GroupsOfRows(np.zeros(len(ends) - 1, dtype=np.int64), 1)
    last_row = [take(every, np.array([count - 1])) for every, _ in so_far]
    both = GroupsOfRows(np.zeros(len(ends), dtype=np.int64), 1)
    twice = [joined([each, nothing.empty(1)]) for each, nothing in zip(of_windows, states.states, strict=True)]
    for state in (
        of_window,
        last_row,
        states.merge(of_windows, together),
        states.merge(last_row, GroupsOfRows(one.codes[:1], 1)),
        states.merge(twice, both),
    ):
        assert wire(states, state) == wire(states, whole)


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("concat", ("int",)),
        ("concat", ("str",)),
        ("concat", ("datetime",)),
        ("concat", ("int", "str")),
        ("distinct", ("str",)),
        ("freq_count", ("str",)),
    ],
    ids=str,
)
def test_more_than_an_array_holds_is_told_before_anything_is_built(name: str, kinds: tuple[str, ...]) -> None:
    types, of_columns = [VALUES[kind][0] for kind in kinds], AGGREGATES[name].of_columns
    assert of_columns is not None
    aggregate = of_columns(types, range(len(types)), ())
    assert aggregate is not None
    rows = InputRows([column_of([VALUES[kind][1][place % 2 + 1] for place in range(30)], VALUES[kind][0]) for kind in kinds], 30)
    for width, holds in ((2, 5_000), (20, 50)):
        windows = RowWindows.rolling(30, width)
        state = aggregate.states[0].windows(rows, windows)
        with patch.object(collected_values, "MAX_BYTES_OF_ARRAY", holds), patch.object(distinct_values, "MAX_BYTES_OF_ARRAY", holds):
            if width == 2:
                assert len(aggregate.finish(state, last=False)) == len(windows)
                continue
            with patch.object(collected_values, "_lists", None), pytest.raises(pa.ArrowCapacityError):
                aggregate.finish(state, last=False)


def test_what_windows_share_is_counted_once_in_each() -> None:
    """Values that overlapping windows share need not fit into an array as often as windows have them, but as often as they are in results."""
    rows = InputRows([pa.array(["abc"] * 30)], 30)
    aggregate = distinct_values.distinct([STR], [0], ())
    state = aggregate.states[0].windows(rows, RowWindows.rolling(30, 10))
    with patch.object(collected_values, "MAX_BYTES_OF_ARRAY", 100), patch.object(distinct_values, "MAX_BYTES_OF_ARRAY", 100):
        assert aggregate.finish(state, last=False).to_pylist() == [["abc"]] * 21


@pytest.mark.parametrize("is_sorted", [True, False])
def test_distinct_counts_of_ranges(is_sorted: bool) -> None:
    for seed in range(examples(200)):
        generator = np.random.default_rng(seed)
        count = int(generator.integers(1, 40))
        codes = generator.integers(0, generator.integers(1, 20), count)
        starts = generator.integers(0, count + 1, 12)
        stops = np.minimum(starts + generator.integers(0, count + 1, 12), count)
        if is_sorted:
            starts, stops = np.sort(starts), np.sort(stops)
            shuffled = generator.permutation(12)
            starts, stops = starts[shuffled], stops[shuffled]
        found = distinct_values.distinct_counts(distinct_values.previous_equal(codes), starts, stops)
        assert found.tolist() == [len(set(codes[start:stop].tolist())) for start, stop in zip(starts, stops, strict=True)]
