"""The drivers of aggregates, without Spark, over rows in several cuts: whole columns, groups, runs, running values, windows of keys."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from functools import reduce
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest

from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.operators.groupby.groupby import GroupBy, GroupsAsRows
from sframe_spark.operators.groupby.groupby_of_adjacent_equal_keys import GroupByOfAdjacentEqualKeys
from sframe_spark.operators.groupby.reduce_to_one_row import Reduce
from sframe_spark.operators.joins.key_window_aggregates import KeyWindow
from sframe_spark.operators.lookup import cached_reader
from sframe_spark.operators.lookup.cached_reader import Lookup
from sframe_spark.operators.window.cumulative import Cumulative
from sframe_spark.operators.window.rolling import Rolling
from sframe_spark.operators.window.running_by_group import Running
from sframe_spark.planner.chunk import Chunk, concatenate
from sframe_spark.planner.node_facts import Facts, Length, Schema
from sframe_spark.planner.operator import SequentialOperator
from sframe_spark.types import ColumnType
from sframe_spark.values.arrow_to_python import decode
from sframe_spark.values.python_to_arrow import encode

CUTS = ("all rows at once", "1 row", "3 rows", "2 rows, empty batches between")
# The cut whose batches are ranges too, from the states of those before; and the cuts where each costs much.
RANGES, FEW_CUTS = CUTS[1], (CUTS[0], CUTS[2], CUTS[3])
# Tables of more rows than these are cut by turns of their groups, of which there are at most so many.
FEW_ROWS, TURNS = 24, 5
# Windows from so far before to so far after the key of a row.
WINDOWS = ((1, 1), (9, 9))

Table = tuple[Chunk, Schema]
# By cut, the rows of columns of results: results of one aggregate after the other.
Found = dict[str, list[list[Any]]]


def bounds(rows: int, cut: str, of_each: int = 1) -> list[tuple[int, int]]:
    """The batches of some rows; ``of_each``: how many stand in the place of one, as rows of that many groups by turns."""
    if cut == CUTS[0]:
        return [(0, rows)]
    size = int(cut[0]) * of_each
    batches = list(pairwise([*range(0, rows, size), rows])) or [(0, 0)]
    if cut == CUTS[-1]:
        batches = [(0, 0), *(each for start, stop in batches for each in ((start, stop), (stop, stop)))]
    return batches


def batches(chunk: Chunk, cut: str, of_each: int = 1) -> list[Chunk]:
    return [chunk.slice(*each) for each in bounds(chunk.rows, cut, of_each)]


def by_turns(data: Table) -> int:
    """How many rows of groups that take turns make up one of each, so that a batch gives each group one more row; 1 if rows are few."""
    chunk, _ = data
    return 1 if chunk.rows <= FEW_ROWS else -(-chunk.rows // TURNS)


def facts_of(schema: Schema) -> list[Facts]:
    return [Facts(schema, Length.unknown())]


def sent(value: Any) -> Any:
    """What arrives in another process."""
    return pickle.loads(pickle.dumps(value))


def lists(chunk: Chunk, schema: Schema, first: int = 0) -> list[list[Any]]:
    """Columns as Python values, from the ``first`` on."""
    return [decode(column, kind) for column, kind in zip(chunk.columns[first:], schema[first:], strict=True)]


def table(columns: Sequence[tuple[Sequence[Any], ColumnType]]) -> Table:
    arrays = [encode(list(values), kind) for values, kind in columns]
    return Chunk(tuple(arrays), len(arrays[0])), tuple(kind for _, kind in columns)


def from_parts(data: Table, aggregation: Aggregation, cut: str, from_right: bool = False) -> Chunk:
    """The aggregate of all rows from parts of batches, put together from the left or from the right."""
    chunk, schema = data
    operator, facts = Reduce((aggregation,)), facts_of(schema)
    parts = [sent(operator.part_of(batch, facts)) for batch in batches(chunk, cut)]
    if from_right:
        return operator.rows_from(reduce(lambda second, first: operator.combined(first, second, facts), parts[::-1]), facts)
    return operator.rows_from(reduce(lambda first, second: operator.combined(first, second, facts), parts), facts)


def of_all_rows(name: str, columns: Sequence[pa.Array], types: Sequence[ColumnType], parameters: tuple[Any, ...] = ()) -> Any:
    """The value of an aggregate of one column or more, of all rows at once."""
    operator, facts = Reduce((Aggregation(name, tuple(range(len(types))), parameters),)), facts_of(tuple(types))
    found = operator.kernel([Chunk(tuple(columns), len(columns[0]))], facts)
    assert found.types == [kind.physical for kind in operator.infer_type(facts)]
    return lists(found, operator.infer_type(facts))[0][0]


def whole(data: Table, aggregations: Sequence[Aggregation], cuts: Sequence[str] = CUTS) -> Found:
    """One row: the aggregates of all rows at once, and from parts of ranges in some cuts, put together from the left and from the right."""
    chunk, schema = data
    facts, found = facts_of(schema), {}
    for number, aggregation in enumerate(aggregations):
        operator = Reduce((aggregation,))
        result = operator.infer_type(facts)
        ways = {"at once": operator.kernel([chunk], facts)}
        if operator.decomposes(facts):
            ways |= {cut: from_parts(data, aggregation, cut) for cut in cuts}
            if RANGES in cuts:
                ways[RANGES + ", from the right"] = from_parts(data, aggregation, RANGES, from_right=True)
        for way, value in ways.items():
            found.setdefault(way, [[] for _ in aggregations])[number] = lists(value, result)[0]
    return found


def groups(data: Table, aggregations: Sequence[Aggregation], cuts: Sequence[str] = CUTS) -> Found:
    """One row for each key of the first column: of all rows at once, and merged from parts, all together, two by two, and as rows that are sent."""
    chunk, schema = data
    operator, facts = GroupBy((0,), tuple(aggregations)), facts_of(schema)
    result = operator.infer_type(facts)
    found = {"at once": lists(operator.kernel([chunk], facts), result, 1)}
    for cut in cuts:
        parts = [sent(operator.part_of(batch, facts)) for batch in batches(chunk, cut, by_turns(data))]
        found[cut] = lists(operator.rows_from(operator.combined_all(parts, facts), facts), result, 1)
        both = reduce(lambda a, b: operator.combined(a, b, facts), parts)
        found[cut + ", one by one"] = lists(operator.rows_from(both, facts), result, 1)
        states = GroupsAsRows(operator)
        sent_types = states.schema(facts)
        if sent_types is not None:
            rows = [states.of_rows(batch, facts) for batch in batches(chunk, cut, by_turns(data))]
            assert [each.types for each in rows] == [[kind.physical for kind in sent_types]] * len(rows)
            found[cut + ", as rows"] = lists(states.result(concatenate(rows, sent_types), facts), result, 1)
    return found


def in_order(operator: SequentialOperator, data: Table, first: int = 0, of_each: int = 1, ranges: str = RANGES, cuts: Sequence[str] = CUTS) -> Found:
    """The rows of an operator that goes on from batch to batch; of one cut in ranges too, each from the states of those before it."""
    chunk, schema = data
    facts = facts_of(schema)
    result, found = operator.infer_type(facts), {}

    def finished(rows: list[Chunk], state: Any) -> list[list[Any]]:
        last = operator.finish(facts, state)
        return lists(concatenate([*rows, *([] if last is None else [last])], result), result, first)

    for cut in cuts:
        rows, state = [], operator.initial_state(facts)
        for batch in batches(chunk, cut, of_each):
            more, state = operator.advance([batch], facts, state)
            rows.append(more)
        found[cut] = finished(rows, state)
    rows, before = [], operator.initial_state(facts)
    for batch in batches(chunk, ranges, of_each):
        more, after = operator.advance([batch], facts, sent(before))
        rows.append(more)
        before = operator.combine(before, sent(operator.summarize([batch], facts)))
    found[ranges + ", in ranges"] = finished(rows, after)
    return found


def runs(data: Table, aggregations: Sequence[Aggregation], cuts: Sequence[str] = CUTS) -> Found:
    """One row for each run of equal keys in the first column, which are neighbours; with few and with many runs in a batch."""
    operator = GroupByOfAdjacentEqualKeys((0,), tuple(aggregations))
    found = in_order(operator, data, 1, 1, CUTS[2], cuts)
    return found | {way + ", whole runs": rows for way, rows in in_order(operator, data, 1, 8, CUTS[2], cuts).items()}


def running(data: Table, aggregations: Sequence[Aggregation], cuts: Sequence[str] = CUTS) -> Found:
    """One row for each row: the aggregates of all rows with its key up to it."""
    return in_order(Running((0,), tuple(aggregations)), data, 0, by_turns(data), RANGES, cuts)


def windows(data: Table, aggregations: Sequence[Aggregation], before: int, after: int, cuts: Sequence[str] = CUTS) -> Found:
    """One row for each row: the aggregates of rows with its key whose second column, by which rows ascend, is near its own."""
    chunk, schema = data
    operator = KeyWindow(1, (0,), before, after, tuple(aggregations))
    facts, found = facts_of(schema) * 2, {}
    result = operator.infer_type(facts)
    for number, cut in enumerate(FEW_CUTS):
        if cut not in cuts:
            continue
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(cached_reader, "BLOCK_ROWS", (1_000, 2)[number % 2])
            lookup = Lookup.of_rows(chunk, schema)
        rows = [operator.kernel([batch, lookup], facts) for batch in batches(chunk, cut, by_turns(data))]
        found[cut] = lists(concatenate(rows, result), result)
    return found


def nothing(schema: Schema, aggregations: Sequence[Aggregation]) -> list[Any]:
    """The aggregates of a window without rows."""
    operator, facts = KeyWindow(1, (0,), 0, 0, tuple(aggregations)), facts_of(schema) * 2
    place = Chunk(tuple(pa.nulls(1, kind.physical) for kind in schema), 1)
    found = operator.kernel([place, Lookup.of_rows(Chunk.empty(schema), schema)], facts)
    return [column[0] for column in lists(found, operator.infer_type(facts))]


def cumulative(values: Sequence[Any], kind: ColumnType, what: str) -> Found:
    return {way: rows for way, (rows,) in in_order(Cumulative(what), table([(values, kind)])).items()}


def rolling(
    values: Sequence[Any], kind: ColumnType, what: str, first: int, last: int, least: int | None, cuts: Sequence[str] = CUTS
) -> dict[str, list[Any]]:
    """The rows of rolling windows, by cut."""
    chunk, schema = table([(values, kind)])
    operator, facts, found = Rolling(what, first, last, least), [Facts(schema, Length.exactly(len(values)))], {}
    for cut in cuts:
        rows = []
        for start, stop in bounds(len(values), cut):
            low, high = operator.input_interval(0, start, stop, facts)
            low, high = min(max(low, 0), len(values)), max(min(high, len(values)), min(max(low, 0), len(values)))
            rows.append(operator.run_interval([chunk.slice(low, high)], facts, start, stop, [(low, high)]))
        result = operator.infer_type(facts)
        found[cut] = lists(concatenate(rows, result), result)[0]
    return found
