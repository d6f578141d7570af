"""Claims of the planner and of manifests about rows, and functions that compare them with the rows, in parallel over row ranges."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, Protocol

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.compute.key_equality_and_codes import comparable
from sframe_spark.compute.key_runs import differs, plain_numbers
from sframe_spark.compute.sorting_and_searching import steps
from sframe_spark.config import config
from sframe_spark.engine.runtime.pipeline import Pipeline, PipelineRunner
from sframe_spark.engine.runtime.task_runners import SparkTaskRunner
from sframe_spark.explain.column_names import ColumnNames
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource, recordable_part
from sframe_spark.operators.sources.in_memory import MemorySource
from sframe_spark.order.properties import RelationProperties
from sframe_spark.planner.chunk import Chunk, concatenate
from sframe_spark.planner.length_and_order_inference import known_rows
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Schema
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.filesystem.path_joining_and_escaping import join
from sframe_spark.storage.manifest.column_statistics import UNKNOWN_STATISTICS, ColumnStatistics
from sframe_spark.storage.manifest.manifest import Manifest, SegmentEntry
from sframe_spark.storage.manifest.physical_types import KEY_NAME, KEY_SHIFT
from sframe_spark.storage.parquet.footer import footer_of
from sframe_spark.storage.parquet.open_file import RequestedChunks, opened
from sframe_spark.storage.segments.column_statistics_collection import StatisticsCollector, compare_scalars
from sframe_spark.storage.segments.reader import read_rows
from sframe_spark.types import ColumnType


class RowClaim(Protocol):
    """A claim about rows that can be checked row by row, where each row is at most compared with the row before it."""

    def first_wrong(self, rows: Chunk, schema: Schema) -> int | None:
        """Return the index of the first row that contradicts the claim, among consecutive rows; None if no row does."""


@attrs.frozen
class InOrder:
    """The claim that rows are in an order; if ``strict``, that no two rows tie.

    Examples
    --------
    >>> from sframe_spark.types import INT
    >>> rows = Chunk.of([pa.array([1, 2, 2, 1])])
    >>> InOrder(((0, True),)).first_wrong(rows, (INT,)), InOrder(((0, True),), strict=True).first_wrong(rows, (INT,))
    (3, 2)
    """

    by: tuple[tuple[int, bool], ...]
    strict: bool = False

    def first_wrong(self, rows: Chunk, schema: Schema) -> int | None:
        """Return the index of the first row that is out of order after the row before it (or ties with it, if strict); None if there is none."""
        comparisons = steps(rows, schema, self.by)
        wrong = comparisons < (1 if self.strict else 0)
        return _first(np.concatenate([[False], wrong])) if rows.rows else None


@attrs.frozen
class OneValue:
    """The claim that a column has the same value in every row."""

    column: int

    def first_wrong(self, rows: Chunk, schema: Schema) -> int | None:
        """Return the index of the first row that differs from the row before it; None if there is none."""
        if not rows.rows:
            return None
        return _first(np.concatenate([[False], differs(comparable(rows.columns[self.column], schema[self.column]))]))


@attrs.frozen
class EqualColumns:
    """The claim that two columns are equal in every row; missing values are equal, and so are NaNs."""

    first: int
    second: int

    def first_wrong(self, rows: Chunk, schema: Schema) -> int | None:
        """Return the index of the first row in which the columns differ; None if there is none."""
        a, b = (comparable(rows.columns[position], schema[position]) for position in (self.first, self.second))
        valid = a.is_valid().to_numpy(zero_copy_only=False)
        other = b.is_valid().to_numpy(zero_copy_only=False)
        if pa.types.is_string(a.type):
            unequal = pc.fill_null(pc.not_equal(a, b), False).to_numpy(zero_copy_only=False)
        else:
            x, y = plain_numbers(a), plain_numbers(b)
            unequal = (x != y) & ~((x != x) & (y != y))
        return _first((valid != other) | (valid & other & unequal))


@attrs.frozen
class NotMissing:
    """The claim that a column has no missing value."""

    column: int

    def first_wrong(self, rows: Chunk, schema: Schema) -> int | None:
        """Return the index of the first row with a missing value; None if there is none."""
        return _first(rows.columns[self.column].is_null().to_numpy(zero_copy_only=False))


@attrs.frozen
class Within:
    """The claim that the values of a column are within bounds and not NaN, except missing ones; bounds of datetimes are in microseconds."""

    column: int
    low: Any
    high: Any

    def first_wrong(self, rows: Chunk, schema: Schema) -> int | None:
        """Return the index of the first row with a value out of bounds; None if there is none."""
        values = comparable(rows.columns[self.column], schema[self.column])
        if pa.types.is_string(values.type):
            inside = pc.and_(pc.greater_equal(values, self.low), pc.less_equal(values, self.high))
            return _first(pc.fill_null(pc.invert(inside), False).to_numpy(zero_copy_only=False))
        numbers = plain_numbers(values)
        outside = ~((numbers >= self.low) & (numbers <= self.high))
        return _first(outside & values.is_valid().to_numpy(zero_copy_only=False))


def _first(wrong: np.ndarray) -> int | None:
    indices = np.flatnonzero(wrong)
    return int(indices[0]) if len(indices) else None


def claim_in_words(claim: RowClaim, node: PlannerNode, names: ColumnNames) -> tuple[str, str]:
    """Return the claim and its subject, in words."""
    match claim:
        case InOrder(by, strict):
            return "rows in order of", names.order(node, by) + (" without ties" if strict else "")
        case OneValue(column):
            return "one value in", names.name(node, column)
        case EqualColumns(first, second):
            return "equal in every row:", names.listed(node, (first, second))
        case NotMissing(column):
            return "no missing value in", names.name(node, column)
        case Within(column, low, high):
            return "values in bounds:", f"{low} <= {names.name(node, column)} <= {high}"
    return type(claim).__name__, repr(claim)


def row_claims(properties: RelationProperties, schema: Schema) -> list[RowClaim]:
    """Return the claims about columns that can be checked row by row, where each row is at most compared with the row before it.

    A key is checked only if the rows are claimed to be sorted by its columns. Functional dependencies are not checked.

    Examples
    --------
    >>> from sframe_spark.order import OrderingProperties
    >>> from sframe_spark.types import INT
    >>> row_claims(RelationProperties(OrderingProperties(orderings=[[(0, "asc")]], keys=[[0]]), bounds={0: (1, 9)}), (INT,))
    [InOrder(by=((0, True),), strict=True), Within(column=0, low=1, high=9)]
    """
    order = properties.order
    claims: list[RowClaim] = []
    for items in order.orderings:
        by = recordable_part(items)
        if by:
            claims.append(_order_and_key(by, order.keys))
    claims += [OneValue(column) for column in order.constants if isinstance(column, int)]
    for group in order.equivalences:
        columns = [column for column in group if isinstance(column, int)]
        claims += [EqualColumns(a, b) for a, b in pairwise(columns) if _same_scale(schema[a], schema[b])]
    claims += [NotMissing(column) for column in order.not_null if isinstance(column, int)]
    claims += [Within(column, low, high) for column, (low, high) in properties.bounds.items()]
    return list(dict.fromkeys(claims))


def _order_and_key(by: tuple[tuple[int, bool], ...], keys: Iterable[Iterable[Hashable]]) -> InOrder:
    """Return the claim of an order; if its first columns contain a key, it is strict and has only these columns."""
    for length in range(1, len(by) + 1):
        if any({position for position, _ in by[:length]}.issuperset(key) for key in keys):
            return InOrder(by[:length], strict=True)
    return InOrder(by)


def _same_scale(first: ColumnType, second: ColumnType) -> bool:
    return first == second or (first.is_numeric and second.is_numeric)


def first_wrong_rows(chunks: Iterable[Chunk], schema: Schema, claims: Sequence[RowClaim]) -> list[int | None]:
    """Return, for each claim, the index of the first row that contradicts it; None if no row does.

    Examples
    --------
    >>> from sframe_spark.types import INT
    >>> chunks = [Chunk.of([pa.array([1, 3])]), Chunk.of([pa.array([2, 4])])]
    >>> first_wrong_rows(chunks, (INT,), [InOrder(((0, True),)), Within(0, 1, 3)])
    [2, 3]
    """
    first: list[int | None] = [None] * len(claims)
    before, seen = Chunk.empty(schema), 0
    for chunk in chunks:
        rows = concatenate([before, chunk], schema)
        for number, claim in enumerate(claims):
            wrong = None if first[number] is not None else claim.first_wrong(rows, schema)
            first[number] = first[number] if wrong is None else seen - before.rows + wrong
        seen += chunk.rows
        before = rows.slice(rows.rows - 1, rows.rows) if rows.rows else before
    return first


ORDER_FACTS = ("ascending", "descending", "strictly_ascending", "strictly_descending", "constant")


@attrs.frozen
class CheckedClaim:
    """A claim, and the index of the first row that contradicts it; None if no row does."""

    claim: RowClaim
    row: int | None


def check_rows(node: PlannerNode, claims: Sequence[RowClaim]) -> list[CheckedClaim]:
    """Check claims about the rows of a materialised node, and return each with the first row that contradicts it.

    Few rows, and rows in memory, are checked on the driver. Otherwise each segment or range is checked by a Spark task of its own, together with the
    row before it.
    """
    if not claims:
        return []
    plan = Pipeline.of(node)
    checks = [partial(wrong_rows, plan, tuple(claims), start, stop, config.batch_rows) for start, stop in row_ranges(node)]
    rows = 0 if isinstance(node.operator, MemorySource) else known_rows(node)
    results = run_checks(checks, rows, "comparing rows with what is known of them")
    firsts = [min((row for row in rows if row is not None), default=None) for rows in zip(*results, strict=True)]
    return [CheckedClaim(claim, row) for claim, row in zip(claims, firsts or [None] * len(claims), strict=True)]


def row_ranges(node: PlannerNode) -> list[tuple[int, int]]:
    """Return the row ranges of a materialised node: those of its segments, if it has segments."""
    rows, source = known_rows(node), node.operator
    if isinstance(source, SegmentSource):
        edges = [min(max(offset - source.start, 0), rows) for offset in source.manifest.offsets]
    else:
        edges = [*range(0, rows, config.segment_rows)]
    return list(pairwise(sorted({0, rows, *edges}))) if rows else []


def run_checks(checks: Sequence[Callable[[], Any]], rows: int, description: str) -> list[Any]:
    """Run checks of ``rows`` rows in total: on the driver if these are few, otherwise as Spark tasks."""
    if rows <= config.small_rows:
        return [check() for check in checks]
    return SparkTaskRunner().run(list(checks), description) if checks else []


def wrong_rows(plan: Pipeline, claims: Sequence[RowClaim], start: int, stop: int, batch_rows: int) -> list[int | None]:
    """Return, for each claim, the first row from ``start`` to ``stop`` that contradicts it; None if no row does.

    The first row is compared with the row before ``start``.
    """
    first = max(start - 1, 0)
    rows = first_wrong_rows(PipelineRunner(plan).stream(first, stop, batch_rows), plan.facts[-1].schema, claims)
    return [None if row is None else first + row for row in rows]


def check_segments(source: SegmentSource) -> list[str]:
    """Return the statements of a manifest that the segments read by a source contradict, each as a sentence."""
    manifest = source.manifest
    segments = [(entry, offset) for entry, offset in zip(manifest.segments, manifest.offsets, strict=True) if offset < source.stop]
    segments = [(entry, offset) for entry, offset in segments if offset + entry.rows > source.start]
    entries = [entry for entry, _ in segments]
    problems = [
        f"{b.file} comes after {a.file}, but its row keys are smaller"
        for a, b in pairwise(entries)
        if manifest.has_key and (a.number, a.first_position) >= (b.number, b.first_position)
    ]
    columns = tuple(sorted(set(source.positions)))
    checks = [partial(check_segment, manifest, entry, offset, columns, config.batch_rows) for entry, offset in segments]
    results = run_checks(checks, sum(entry.rows for entry in entries), "comparing segments with their manifest")
    return [*problems, *(problem for part in results for problem in part)]


def check_segment(manifest: Manifest, entry: SegmentEntry, offset: int, columns: Sequence[int], batch_rows: int) -> list[str]:
    """Return the recorded facts about the segment whose first row is ``offset`` that are wrong, each as a sentence."""
    stored = footer_of(join(manifest.directory, entry.file), entry.size, entry.tail).rows
    if stored != entry.rows:
        return [f"{entry.file} has {stored} rows, not {entry.rows}"]
    problems = []
    if manifest.has_key and not _keys_are_in_place(manifest, entry, batch_rows):
        problems.append(f"{entry.file} has other row keys than its place says")
    collectors = [StatisticsCollector(manifest.types[column]) for column in columns]
    for start in range(offset, offset + entry.rows, batch_rows):
        table = read_rows(manifest, columns, start, min(start + batch_rows, offset + entry.rows))
        for collector, column in zip(collectors, table.columns, strict=True):
            collector.add(column)
    for column, collector in zip(columns, collectors, strict=True):
        recorded = entry.columns[column] if column < len(entry.columns) else UNKNOWN_STATISTICS
        problems += [f"{entry.file}, column {column}: {fact}" for fact in refuted(recorded, collector.result())]
    return problems


def _keys_are_in_place(manifest: Manifest, entry: SegmentEntry, batch_rows: int) -> bool:
    """Return whether the row keys in a file are those that follow from the segment's number and position."""
    location = join(manifest.directory, entry.file)
    first = expected = (entry.number << KEY_SHIFT) + entry.first_position
    footer = footer_of(location, entry.size, entry.tail)
    with (
        translate_os_errors("read", location),
        opened(location, footer, requested=RequestedChunks(range(len(footer.starts) - 1), (KEY_NAME,))) as file,
    ):
        for batch in file.iter_batches(batch_size=batch_rows, columns=[KEY_NAME]):
            keys = batch.column(0).to_numpy()
            if (keys != np.arange(expected, expected + len(keys))).any():
                return False
            expected += len(keys)
    return expected == first + entry.rows


def refuted(claimed: ColumnStatistics, actual: ColumnStatistics) -> list[str]:
    """Return the recorded facts about a column that its values contradict, each as a sentence.

    Examples
    --------
    >>> refuted(ColumnStatistics(ascending=True, bounds_known=True, minimum=0, maximum=3), ColumnStatistics(ascending=False))
    ['recorded as ascending, which it is not']
    >>> found = ColumnStatistics(bounds_known=True, minimum=0, maximum=7)
    >>> refuted(ColumnStatistics(bounds_known=True, minimum=0, maximum=3), found)
    ['recorded to lie in 0..3, but there are values in 0..7']
    """
    problems = [
        f"recorded as {fact.replace('_', ' ')}, which it is not" for fact in ORDER_FACTS if getattr(claimed, fact) and getattr(actual, fact) is False
    ]
    for fact, words in (("has_missing", "missing values"), ("has_nan", "NaN")):
        if getattr(claimed, fact) is False and getattr(actual, fact):
            problems.append(f"recorded without {words}, but there are some")
    if claimed.edges_known and actual.edges_known:
        for edge in ("first", "last"):
            if compare_scalars(getattr(claimed, edge), getattr(actual, edge)):
                problems.append(f"recorded with {getattr(claimed, edge)!r} as its {edge} value, which is {getattr(actual, edge)!r}")
    if claimed.bounds_known and actual.bounds_known and actual.minimum is not None:
        low, high = claimed.minimum, claimed.maximum
        if low is None or compare_scalars(actual.minimum, low) < 0 or compare_scalars(actual.maximum, high) > 0:
            problems.append(f"recorded to lie in {low}..{high}, but there are values in {actual.minimum}..{actual.maximum}")
    return problems
