"""Running aggregates of every kind: beside each row is the reduction of the rows of its key so far, bit for bit, however rows are cut."""

from __future__ import annotations

import array
import datetime
import itertools
import math
import pickle
import struct
from collections.abc import Iterable, Sequence
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from sframe_spark.errors import SFrameError
from sframe_spark.expressions.aggregates import collected_values, vectors
from sframe_spark.expressions.aggregates.aggregate_function import AGGREGATES
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.operators.window.running_by_group import Running
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node_facts import Facts, Length
from sframe_spark.types import ARRAY, DATETIME, ENCODED_DICT, ENCODED_LIST, FLOAT, INT, STR, ZONED_DATETIME, ColumnType, dict_of, list_of
from sframe_spark.values.arrow_to_python import decode
from sframe_spark.values.python_to_arrow import encode_plain
from tests.compute.odd_numbers import NUMBERS
from tests.examples import examples, part
from tests.expressions.aggregates.drivers import of_all_rows

OTHER_NAN = struct.unpack("<d", b"\x01\0\0\0\0\0\xf8\xff")[0]
EAST = datetime.timezone(datetime.timedelta(hours=5))
NOON = datetime.datetime(2020, 1, 1, 12)
MOMENTS = [NOON, datetime.datetime(1960, 1, 1), datetime.datetime(2030, 1, 1, 0, 0, 0, 7)]
SAME_MOMENTS = [NOON.replace(tzinfo=datetime.UTC), NOON.replace(hour=17, tzinfo=EAST), NOON]
FEW_FLOATS = st.sampled_from([0.0, -0.0, 1.5, -2.0, math.nan, OTHER_NAN, math.inf, -math.inf])
FLOATS = st.one_of(FEW_FLOATS, NUMBERS)
# Most vectors have one length, which is not that of each frame.
VECTORS = st.sampled_from([0, 1, 2, 2, 2]).flatmap(lambda width: st.lists(st.one_of(FLOATS, st.none()), min_size=width, max_size=width))
VALUES: dict[ColumnType, st.SearchStrategy[Any]] = {
    INT: st.one_of(st.integers(-3, 3), st.sampled_from([2**62, 2**53 + 1, -(2**63)])),
    FLOAT: FLOATS,
    STR: st.sampled_from(["", "a", "b", 'say "a"', "ü\n"]),
    DATETIME: st.sampled_from(MOMENTS),
    ZONED_DATETIME: st.sampled_from(SAME_MOMENTS),
    ARRAY: VECTORS,
    list_of(INT): st.lists(st.integers(0, 1), max_size=2),
    ENCODED_LIST: st.sampled_from([[], [1, 2], [1.0, 2], ["a", None], [[1], {"a": 1}]]),
    dict_of(STR, INT): st.dictionaries(st.sampled_from("ab"), st.integers(0, 1)),
    ENCODED_DICT: st.sampled_from([{}, {"a": 1, 2: None}, {2: None, "a": 1.0}, {"a": [1, 2]}]),
}
PARAMETERS: dict[str, tuple[Any, ...]] = {"quantile": (0, 0.1, 0.5, 0.29, 1)}
# What a sum that is NaN has for a sign depends on the processor; these give values as they are.
KEEP_NAN = ("quantile", "concat", "distinct", "select_one")
SOME: dict[str, tuple[ColumnType, ...]] = {
    "sum": (ARRAY,),
    "mean": (ARRAY,),
    "quantile": (FLOAT,),
    "freq_count": (STR,),
    "distinct": (ZONED_DATETIME,),
    "concat": (FLOAT, INT),
    "count_runs": (STR,),
}
PIECES = st.sampled_from([1, 3, 1 << 18])
Rows = list[tuple[Any, ...]]


def taken(name: str, types: Sequence[ColumnType]) -> bool:
    """Whether an aggregate takes columns of some types."""
    try:
        Aggregation(name, tuple(range(len(types))), PARAMETERS.get(name, ())).infer(tuple(types))
    except SFrameError:
        return False
    return True


def requests() -> list[tuple[str, tuple[ColumnType, ...]]]:
    """Every aggregate that has a running form of its own, of every column type that it takes; pairs by turns."""
    found: list[tuple[str, tuple[ColumnType, ...]]] = []
    # Vectors of different lengths are an error of these, and the second argument must be the numbers of the rows.
    for name in sorted({*AGGREGATES} - {"column_vector_sum", "column_vector_mean", "argmin_row", "argmax_row"}):
        fewest, most = AGGREGATES[name].arguments
        for count in range(fewest, most + 1):
            pairs = [(first, second) for number, first in enumerate(VALUES) for place, second in enumerate(VALUES) if (number + place) % 3 == 0]
            of_count: Iterable[tuple[ColumnType, ...]] = [()] if not count else [(kind,) for kind in VALUES] if count == 1 else pairs
            found += [(name, types) for types in of_count if taken(name, types) and is_built_in(name, types)]
    return found


def is_built_in(name: str, types: tuple[ColumnType, ...]) -> bool:
    """Whether the aggregate neither lifts nor reduces rows."""
    aggregation = Aggregation(name, tuple(range(len(types))), PARAMETERS.get(name, ()))
    return not aggregation.on_columns(types).calls_python


def bits(value: Any, name: str) -> Any:
    """A value as what tells it from all others."""
    if isinstance(value, float):
        return "nan" if value != value and name not in KEEP_NAN else struct.pack("<d", value)
    if isinstance(value, (list, array.array)):
        return [type(value).__name__, *(bits(item, name) for item in value)]
    if isinstance(value, dict):
        return [(bits(key, name), bits(item, name)) for key, item in value.items()]
    return type(value).__name__, str(value)


def column_of(values: Sequence[Any], column_type: ColumnType) -> pa.Array:
    if column_type in (INT, FLOAT, ARRAY):
        return pa.array(values, column_type.physical, from_pandas=False)
    return encode_plain(list(values), column_type)


def reduced(aggregation: Aggregation, columns: Sequence[pa.Array], rows: int, types: tuple[ColumnType, ...]) -> Any:
    """What the aggregate gives for all rows, as a column holds it."""
    return of_all_rows(aggregation.function, columns, types, aggregation.parameters) if columns else rows


def chunk_of(rows: Rows, schema: Sequence[ColumnType]) -> Chunk:
    columns = zip(*rows, strict=True) if rows else [()] * len(schema)
    return Chunk(tuple(column_of(values, kind) for values, kind in zip(columns, schema, strict=True)), len(rows))


def ids(given: Any) -> str:
    return given if isinstance(given, str) else "-".join(map(str, given))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("name", "types"), part([request for request in requests() if request[0] not in SOME], 4), ids=ids)
@given(data=st.data())
def test_aggregates_of_few_numbers(name: str, types: tuple[ColumnType, ...], data: st.DataObject) -> None:
    check_some_rows(name, types, data)


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("name", "types"), [request for request in requests() if request[0] in SOME], ids=ids)
@settings(max_examples=examples(50))
@given(data=st.data())
def test_each_row_has_the_reduction_of_the_rows_so_far(name: str, types: tuple[ColumnType, ...], data: st.DataObject) -> None:
    check_some_rows(name, types, data)


def check_some_rows(name: str, types: tuple[ColumnType, ...], data: st.DataObject) -> None:
    """Rows of up to three keys in up to four runs."""
    values = st.tuples(st.integers(0, 2), *(st.one_of(VALUES[kind], VALUES[kind], VALUES[kind], st.none()) for kind in types))
    rows: Rows = data.draw(st.lists(values, max_size=14))
    edges = sorted([0, *data.draw(st.lists(st.integers(0, len(rows)), max_size=3)), len(rows)])
    runs = [rows[start:stop] for start, stop in itertools.pairwise(edges)]
    aggregation = Aggregation(name, tuple(range(1, len(types) + 1)), PARAMETERS.get(name, ()))
    # Values of long runs are put together in pieces.
    with (
        patch.object(collected_values, "VALUES_PER_BATCH", data.draw(PIECES)),
        patch.object(vectors, "NUMBERS_PER_STEP", data.draw(PIECES)),
    ):
        check(aggregation, (INT, *types), runs, (0,) if data.draw(st.booleans()) else ())


def check(aggregation: Aggregation, schema: tuple[ColumnType, ...], runs: list[Rows], keys: tuple[int, ...]) -> None:
    """Rows run after run, and from the states of the runs before each put together, beside reductions."""
    rows = [row for run in runs for row in run]
    operator, facts, result = Running(keys, (aggregation,)), [Facts(schema, Length.exactly(len(rows)))], aggregation.infer(schema)
    wanted, whole = [], chunk_of(rows, schema)
    for place, row in enumerate(rows):
        seen = pa.array([other for other in range(place + 1) if not keys or rows[other][0] == row[0]], pa.int64())
        columns = [whole.columns[position].take(seen) for position in aggregation.positions]
        types = tuple(schema[position] for position in aggregation.positions)
        moved = Aggregation(aggregation.function, tuple(range(len(types))), aggregation.parameters)
        wanted.append(bits(reduced(moved, columns, len(seen), types), aggregation.function))
    state = together = operator.initial_state(facts)
    found, from_parts = list[Any](), list[Any]()
    for run in runs:
        chunk = chunk_of(run, schema)
        kept = pickle.dumps([state, together])
        done, after = operator.advance([chunk], facts, state)
        found += decode(done.columns[0], result)
        from_parts += decode(operator.advance([chunk], facts, together)[0].columns[0], result)
        part = operator.summarize([chunk], facts)
        sent = pickle.dumps(part)
        combined = operator.combine(together, part)
        assert pickle.dumps([state, together]) == kept
        assert pickle.dumps(part) == sent
        state, together = pickle.loads(pickle.dumps(after)), pickle.loads(pickle.dumps(combined))
    assert [bits(value, aggregation.function) for value in found] == wanted
    assert [bits(value, aggregation.function) for value in from_parts] == wanted


@pytest.mark.parametrize(("name", "types"), SOME.items(), ids=ids)
@settings(max_examples=examples(80))
@given(data=st.data())
def test_parts_may_be_put_together_first(name: str, types: tuple[ColumnType, ...], data: st.DataObject) -> None:
    """Ranges are summed up side by side: what stands between two of them may be put together before what stands before."""
    values = st.tuples(st.integers(0, 2), *(st.one_of(VALUES[kind], VALUES[kind], st.none()) for kind in types))
    first, second, third, rest = (data.draw(st.lists(values, max_size=5)) for _ in range(4))
    schema = (INT, *types)
    operator = Running((0,), (Aggregation(name, tuple(range(1, len(types) + 1)), PARAMETERS.get(name, ())),))
    facts = [Facts(schema, Length.exactly(0))]
    a, b, c = (operator.summarize([chunk_of(rows, schema)], facts) for rows in (first, second, third))
    last, result = chunk_of(rest, schema), operator.infer_type(facts)[0]
    one, other = (
        operator.advance([last], facts, state)[0].columns[0]
        for state in (operator.combine(operator.combine(a, b), c), operator.combine(a, operator.combine(b, c)))
    )
    assert bits(decode(one, result), name) == bits(decode(other, result), name)


def test_no_aggregate_of_ours_reduces_all_rows_for_each() -> None:
    for name in {*AGGREGATES} - {entry.name for entry in AGGREGATES.added()}:
        for types in [(), *itertools.product(VALUES), *itertools.product(VALUES, VALUES)]:
            if AGGREGATES[name].decomposition is None and len(types) in AGGREGATES[name].arguments and taken(name, types):
                assert is_built_in(name, types), (name, types)


ONE, TWO, NO_NUMBER, MISSING = (1, [1.5, -0.0]), (1, [None, 2.0]), (1, []), (1, None)
OTHER = (0, [1.0])


@pytest.mark.parametrize("name", ["sum", "mean"])
@pytest.mark.parametrize("runs", [
    [[MISSING], [MISSING, ONE, MISSING], [MISSING], [TWO]],
    [[ONE], [MISSING], [NO_NUMBER, MISSING, ONE], [MISSING, ONE], [MISSING]],
    [[ONE, OTHER], [], [MISSING, OTHER, MISSING], [TWO, OTHER]],
    [[NO_NUMBER], [MISSING, NO_NUMBER], [ONE], [NO_NUMBER]],
    [[OTHER, NO_NUMBER, OTHER], [OTHER], [ONE, OTHER]],
    [[MISSING], [ONE], [OTHER], [(2, [1.0, 2.0, 3.0]), OTHER, ONE], [(2, [1.0]), OTHER, ONE, (2, None), (3, None)]],
])  # fmt: skip
def test_vectors_of_one_length_and_of_others(name: str, runs: list[Rows]) -> None:
    for keys in ((), (0,)):
        check(Aggregation(name, (1,)), (INT, ARRAY), runs, keys)


@pytest.mark.parametrize(("name", "column_type"), [("quantile", INT), ("concat", INT), ("distinct", INT), ("freq_count", INT), ("count_runs", INT)])
def test_groups_that_come_in_another_order_later(name: str, column_type: ColumnType) -> None:
    runs: list[Rows] = [[(5, 1), (4, None), (3, 2)], [(3, 7), (4, 4), (5, 0)], [(9, 3), (4, 3), (0, 3), (5, 1), (3, 2)]]
    check(Aggregation(name, (1,), PARAMETERS.get(name, ())), (INT, column_type), runs, (0,))
    # No group holds a value at first, so all of them begin at one place.
    check(Aggregation(name, (1,), PARAMETERS.get(name, ())), (INT, column_type), [[(key, None) for key in (7, 5, 6)], runs[0], runs[1]], (0,))
