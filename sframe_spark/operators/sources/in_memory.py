"""Sources in the memory of this process: rows held as Arrow arrays, arithmetic progressions and constants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.errors import InvalidArgumentError, PlanInvariantError
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource, Source, TableSource, check_range, source_statistics
from sframe_spark.planner.chunk import MAX_BYTES_OF_ARRAY, Chunk, ChunkedRows, aligned, column_names
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Length, Schema
from sframe_spark.planner.operator_declarations import SourceKind
from sframe_spark.planner.operator_parameters import at_least, column_positions
from sframe_spark.planner.registry import register
from sframe_spark.storage.manifest.column_statistics import UNKNOWN_STATISTICS, ColumnStatistics
from sframe_spark.storage.manifest.recorded_order import NO_RECORDED_ORDER, RecordedOrder
from sframe_spark.types import INT, ColumnType
from sframe_spark.values.arrow_layouts import in_one_array

with lazy_imports(globals()):
    from sframe_spark.compute.spark_columns import literal_column, spark_type
    from sframe_spark.expressions.scalar_function_program import Literal, constant_array, describe_operand
    from sframe_spark.planner.row_sizes import Sizes, fixed_size, row_bytes
    from sframe_spark.planner.spark_relation import KeyColumn, LoweringContext, Relation
    from sframe_spark.session.spark_versions import dataframe_of
    from sframe_spark.storage.segments.column_statistics_collection import column_statistics, of_some_rows

# Relations of tables up to this size are cached for reuse; their rows stay in the JVM.
MAX_CACHED_ROWS = 20_000
MAX_CACHED_BYTES = 4 << 20
# Statistics are computed only if at most this many cells must be scanned, at about 10 ns per float or string and 1 ns per int.
MAX_CELLS_SCANNED = 20_000_000
# The number of row ranges of a table whose statistics are cached; the least recently used are evicted.
MAX_RANGES = 16
# The key in the facts that a table remembers, for a dataset that has its columns.
STORED = "stored columns"


@register
@attrs.frozen(cache_hash=True)
class MemorySource(TableSource):
    """Rows held as Arrow arrays in memory: some columns and a range of rows of a table."""

    name: ClassVar[str] = "memory_source"
    source_kind: ClassVar[SourceKind] = SourceKind.MEMORY
    data: Chunk | ChunkedRows = attrs.field(metadata={"portable": False}, eq=id)
    # Left out of the hash: each column of a wide table may be a separate source, and each would hash the types of all columns.
    types: Schema = attrs.field(hash=False)
    positions: tuple[int, ...] = attrs.field(validator=column_positions)
    start: int = attrs.field(validator=at_least(0))
    stop: int = attrs.field(validator=at_least(0))
    order: RecordedOrder = attrs.field(default=NO_RECORDED_ORDER, eq=False, metadata={"portable": False})

    @classmethod
    def of(cls, data: Chunk | ChunkedRows, types: Schema, order: RecordedOrder = NO_RECORDED_ORDER) -> MemorySource:
        """Return a source of all rows and columns of a table."""
        return cls(data, tuple(types), tuple(range(len(types))), 0, data.rows, order)

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        return tuple(self.types[position] for position in self.positions)

    def read(self, start: int, stop: int) -> Chunk:
        """Return rows as slices of the arrays, which are copied only if the rows span several chunks."""
        return self.data.between(self.start + start, min(self.start + stop, self.stop), self.positions)

    def read_batches(self, threads: int = 0) -> Iterator[Chunk]:
        """Return all rows in the chunks in which they are held."""
        return self.data.chunks_between(self.start, self.stop, self.positions)

    @property
    def held(self) -> Chunk | ChunkedRows:
        """All rows, in the chunks in which they are held."""
        parts = tuple(self.read_batches())
        return ChunkedRows(parts) if len(parts) > 1 else self.read_all()

    def batch_end(self, start: int, stop: int) -> int:
        """Return the end of a chunk, so that batches do not span several chunks, which would be copied."""
        return self.data.end_of_chunk(self.start + start, self.start + stop) - self.start

    def statistics(self) -> Sequence[ColumnStatistics]:
        """Return statistics of the columns: computed once, or recorded when the column was written for Spark."""
        if (self.start, self.stop) == (0, self.data.rows):
            known = self._table_statistics()
            return [known.get(position, UNKNOWN_STATISTICS) for position in self.positions]
        ranges: dict[tuple[int, int], dict[int, ColumnStatistics]] = self.data.remembered.setdefault("statistics of parts", {})
        known = ranges.pop((self.start, self.stop), {})
        unknown = set(self.positions) - known.keys()
        if (self.stop - self.start) * len(unknown) > MAX_CELLS_SCANNED:
            # Only what holds for any subset of the table is known.
            table = self._table_statistics()
            return [of_some_rows(table.get(position, UNKNOWN_STATISTICS)) for position in self.positions]
        known |= {position: self._computed_statistics(position, self.start, self.stop) for position in unknown}
        for oldest in list(ranges)[: max(0, len(ranges) + 1 - MAX_RANGES)]:
            ranges.pop(oldest, None)
        ranges[self.start, self.stop] = known
        return [known[position] for position in self.positions]

    def _table_statistics(self) -> dict[int, ColumnStatistics]:
        """Return statistics of whole columns of the table, by position; columns that are too long to scan are left out."""
        known: dict[int, ColumnStatistics] = self.data.remembered.setdefault("statistics", {})
        if self.stored is not None and not known.keys() >= set(self.positions):
            positions, segments = self.stored
            known |= {position: column for position, column in zip(positions, source_statistics(segments), strict=True) if position not in known}
        unknown = set(self.positions) - known.keys()
        if self.data.rows * len(unknown) <= MAX_CELLS_SCANNED:
            known |= {position: self._computed_statistics(position, 0, self.data.rows) for position in unknown}
        return known

    def _computed_statistics(self, position: int, start: int, stop: int) -> ColumnStatistics:
        return column_statistics(self.data.column(position, start, stop), self.types[position])

    @property
    def recorded(self) -> RecordedOrder:
        """The order that was known when the source was made."""
        return self.order

    def sizes_between(self, start: int, stop: int) -> Sizes:
        """Return the exact sizes of the arrays."""
        first, last = self.start + start, min(self.start + stop, self.stop)
        return tuple(
            float(self.data.column(position, first, last).nbytes) if (size := fixed_size(self.types[position])) is None else size * (last - first)
            for position in self.positions
        )

    def as_read(self) -> MemorySource:
        """Check that the table has the columns and rows."""
        types = self.data.types
        if types != [column_type.physical for column_type in self.types] or not all(0 <= position < len(types) for position in self.positions):
            raise InvalidArgumentError(f"the plan's text names columns that its rows do not have: {list(self.positions)!r:.200} of {len(types)}")
        check_range(self.start, self.stop, self.data.rows)
        return self

    @property
    def stored(self) -> tuple[tuple[int, ...], SegmentSource] | None:
        """A dataset with the rows of the table, and the positions of its columns in the table; None if none was written."""
        result: tuple[tuple[int, ...], SegmentSource] | None = self.data.remembered.get(STORED)
        return result

    def store(self, positions: tuple[int, ...], segments: SegmentSource) -> None:
        """Remember a dataset with the table's rows, for all sources of the table."""
        self.data.remembered[STORED] = positions, segments

    def with_ordering(self, ordering: tuple[tuple[int, bool], ...]) -> MemorySource:
        """Return a source of the same rows, which are known to be in one more order of the table's columns."""
        return attrs.evolve(self, order=self.order.and_ordering(ordering))

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return a Spark relation of the rows with the row number as key."""
        rows = self.stop - self.start
        if rows > MAX_CACHED_ROWS or row_bytes(self.sizes_between(0, rows), 0) > MAX_CACHED_BYTES:
            return self._local_relation(context)
        # The key holds a reference to the data, so no other table can get its ``id`` while the relation is cached.
        key = ("memory", self.data, self.positions, self.start, self.stop)
        return context.open_source(key, lambda: self._local_relation(context))

    def _local_relation(self, context: LoweringContext) -> Relation:
        chunk = self.read(0, self.stop - self.start)
        schema = self.infer_type(())
        names = [*column_names(len(schema)), "k0"]
        table = pa.Table.from_arrays([*chunk.columns, pa.array(np.arange(chunk.rows))], names=names)
        ddl = "".join(f"{name} {spark_type(column_type)}, " for name, column_type in zip(names, schema, strict=False))
        df = dataframe_of(context.spark, table, f"{ddl}k0 bigint")
        not_missing = frozenset(position for position, column in enumerate(chunk.columns) if not column.null_count)
        return Relation(df, schema, (KeyColumn("k0"),), "k0", not_missing)

    def describe(self) -> str:
        return f"{len(self.positions)} columns, rows {self.start}..{self.stop}"


def memory_source(columns: Sequence[pa.Array], types: Sequence[ColumnType], rows: int | None = None) -> PlannerNode:
    """Return a source node with Arrow arrays, which must have the physical types of ``types``."""
    count = len(columns[0]) if columns else rows
    if count is None:
        raise PlanInvariantError("a table without columns has as many rows as it is told, and it was told none")
    chunk = Chunk(tuple(columns), count)
    return MemorySource.of(chunk, tuple(types)).make_planner_node()


def memory_source_of_parts(columns: Sequence[Sequence[pa.Array]], types: Sequence[ColumnType], rows: int | None = None) -> PlannerNode:
    """Return a source node with columns of one or more arrays each; the arrays of a column become one if it is not too large."""
    if all(len(parts) == 1 or sum(part.nbytes for part in parts) <= MAX_BYTES_OF_ARRAY for parts in columns):
        return memory_source([in_one_array(parts) for parts in columns], types, rows)
    return MemorySource.of(aligned(columns, tuple(types)), tuple(types)).make_planner_node()


# Sources whose rows are computed: arithmetic progressions and constants.


@register
@attrs.frozen
class RangeSource(Source):
    """One int column of ``rows`` values: ``start, start + step, ...``."""

    name: ClassVar[str] = "range_source"
    source_kind: ClassVar[SourceKind] = SourceKind.MEMORY
    start: int
    rows: int = attrs.field(validator=at_least(0))
    step: int = 1

    def as_read(self) -> RangeSource:
        """Check that the numbers fit into 64 bits."""
        last = self.start + self.step * max(self.rows - 1, 0)
        if self.rows < 0 or not -(2**63) <= last < 2**63:
            raise InvalidArgumentError(f"the plan's text has a range of {self.rows} numbers up to {last}, which 64 bits do not hold")
        return self

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        return (INT,)

    def infer_length(self, inputs: Sequence[Facts]) -> Length:
        return Length.exactly(self.rows)

    def read(self, start: int, stop: int) -> Chunk:
        stop = min(stop, self.rows)
        numbers = self.start + self.step * np.arange(start, max(start, stop), dtype=np.int64)
        return Chunk.of([pa.array(numbers)])

    def statistics(self) -> Sequence[ColumnStatistics]:
        """Return the statistics of the numbers, which are known without computing them."""
        if not self.rows:
            return ()
        last = self.start + self.step * (self.rows - 1)
        numbers = ColumnStatistics(
            ascending=self.step >= 0,
            descending=self.step <= 0,
            strictly_ascending=self.step > 0,
            strictly_descending=self.step < 0,
            constant=self.step == 0,
            has_missing=False,
            has_nan=False,
            edges_known=True,
            first=self.start,
            last=last,
            bounds_known=True,
            minimum=min(self.start, last),
            maximum=max(self.start, last),
        )
        return (numbers,)

    def rows_between(self, start: int, stop: int) -> RangeSource:
        return RangeSource(self.start + self.step * start, stop - start, self.step)

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return the numbers from ``spark.range``, with the row number as key."""
        from pyspark.sql import functions as F

        df = context.spark.range(self.rows).select((F.col("id") * self.step + self.start).alias("c0"), F.col("id").alias("k0"))
        return Relation(df, (INT,), (KeyColumn("k0"),), "k0", frozenset([0]))


@register
@attrs.frozen
class ConstantSource(Source):
    """One column with the same value in every row."""

    name: ClassVar[str] = "constant_source"
    source_kind: ClassVar[SourceKind] = SourceKind.MEMORY
    literal: Literal
    rows: int = attrs.field(validator=at_least(0))

    def as_read(self) -> ConstantSource:
        """Check that the number of rows is not negative."""
        check_range(0, self.rows, self.rows)
        return self

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        return (self.literal.type,)

    def infer_length(self, inputs: Sequence[Facts]) -> Length:
        return Length.exactly(self.rows)

    def read(self, start: int, stop: int) -> Chunk:
        return Chunk.of([constant_array(self.literal, max(0, min(stop, self.rows) - start))])

    def statistics(self) -> Sequence[ColumnStatistics]:
        """Return statistics that say that the column is constant, and so in every order."""
        return (ColumnStatistics(ascending=True, descending=True, constant=True),)

    def rows_between(self, start: int, stop: int) -> ConstantSource:
        return ConstantSource(self.literal, stop - start)

    def sizes_between(self, start: int, stop: int) -> Sizes:
        """Return the size of the value times the number of rows."""
        return (float(constant_array(self.literal, 1).nbytes * max(0, stop - start)),)

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return the value as a literal over ``spark.range``."""
        from pyspark.sql import functions as F

        value = literal_column(self.literal.value, self.literal.type)
        df = context.spark.range(self.rows).select(value.alias("c0"), F.col("id").alias("k0"))
        return Relation(df, (self.literal.type,), (KeyColumn("k0"),), "k0")

    def describe(self) -> str:
        return f"{describe_operand(self.literal)}, rows={self.rows}"


def range_source(start: int, rows: int, step: int = 1) -> PlannerNode:
    """Return a source node of ints that start at ``start`` and differ by ``step``."""
    return RangeSource(start, rows, step).make_planner_node()


def constant_source(value: Any, column_type: ColumnType, rows: int) -> PlannerNode:
    """Return a source node that repeats one value."""
    return ConstantSource(Literal(value, column_type), rows).make_planner_node()
