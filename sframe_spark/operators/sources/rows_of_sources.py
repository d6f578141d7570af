"""The operators over sources of plug-ins: rows that are numbered, parts of sources, and the rows of parts.

A source that knows its number of rows is a :class:`SourceRows`, of which any range is read. Of other sources, and where a predicate is given, only
parts are numbered: :class:`SourceParts` has a row for each part, and :class:`ScanParts` makes of it the rows in the part.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.spark_columns import spark_type
from sframe_spark.config import config
from sframe_spark.errors import ExecutionError
from sframe_spark.message_text import visible
from sframe_spark.operators.sources.base_and_segment_source import Reader, Source, TableSource
from sframe_spark.operators.sources.row_source import RowSource
from sframe_spark.operators.sources.rows_read_by_spark_tasks import carrying_errors, rows_in_ranges
from sframe_spark.operators.sources.source_predicate import Predicate
from sframe_spark.operators.sources.source_table import SourcePart, SourceTable
from sframe_spark.optional_libraries import import_cloudpickle
from sframe_spark.order import OrderingProperties
from sframe_spark.order.properties import RelationProperties, requirement
from sframe_spark.paths_and_uris import is_remote_location
from sframe_spark.planner.chunk import Chunk, column_names, concatenate
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.node import PlannerNode, is_builtin
from sframe_spark.planner.node_facts import Facts, Length, Schema
from sframe_spark.planner.operator import ExpandingOperator, Need, Operator
from sframe_spark.planner.operator_declarations import NO_EXCHANGE, SourceKind, SparkCost
from sframe_spark.planner.operator_parameters import at_least, column_positions
from sframe_spark.planner.registry import register
from sframe_spark.planner.row_sizes import Sizes, fixed_size, row_bytes
from sframe_spark.planner.spark_relation import KeyColumn, LoweringContext, Relation
from sframe_spark.session.worker_sockets import acknowledge_at_once
from sframe_spark.storage.manifest.recorded_order import RecordedOrder, projected_order
from sframe_spark.types import INT
from sframe_spark.values.arrow_to_python import scalar_array

# The assumed number of bytes of a part of unknown size: enough for a separate task.
BYTES_OF_UNKNOWN_PART = 8.0 * (1 << 20)

# Rows that are numbered.


@register
@attrs.frozen(cache_hash=True)
class SourceRows(TableSource):
    """Some columns and a range of rows of sources that know how many rows they have."""

    name: ClassVar[str] = "source_rows"
    source_kind: ClassVar[SourceKind] = SourceKind.ENCODED_FILES
    table: SourceTable = attrs.field(eq=lambda table: table.identity, metadata={"portable": False})
    positions: tuple[int, ...] = attrs.field(validator=column_positions)
    start: int = attrs.field(validator=at_least(0))
    stop: int = attrs.field(validator=at_least(0))
    handle: Any = attrs.field(default=None, eq=False, metadata={"portable": False})

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        return tuple(self.table.types[position] for position in self.positions)

    @property
    def runs_python(self) -> bool:
        return self.table.runs_python

    @property
    def recorded(self) -> RecordedOrder:
        return self.table.recorded

    @property
    def watched(self) -> SourceTable:
        return self.table

    @property
    def stored_names(self) -> Sequence[str]:
        return self.table.names

    @property
    def shared_file(self) -> str | None:
        return local_path_of(self.table)

    def read(self, start: int, stop: int) -> Chunk:
        """Return a range of rows."""
        first = self.start + start
        return self.table.between(first, max(first, min(self.start + stop, self.stop)), self.positions)

    def reader(self, threads: int = 0, coded: Iterable[int] = ()) -> Reader:
        """Return a reader that reads each part only once when rows are read in order."""
        return PartReader(self)

    def read_batches(self, threads: int = 0) -> Iterator[Chunk]:
        """Yield all rows in order, part by part."""
        if self.start == self.stop:
            yield self.read_all()
        for part in self.table.parts_between(self.start, self.stop):
            first = self.table.starts[part.source]
            yield self.table.between(first + part.start, first + part.stop, self.positions)

    def batch_end(self, start: int, stop: int) -> int:
        """Return the last start of a part, so that no part has to be read twice."""
        if len(self.table.part_starts) <= len(self.table.sources) + 1:
            return stop
        starts = self.table.part_starts
        boundary = starts[bisect.bisect_right(starts, self.start + stop) - 1] - self.start
        return boundary if boundary > start else stop

    def sizes_between(self, start: int, stop: int) -> Sizes:
        """Return sizes by type for columns of fixed size; the rest of what the sources say that rows take is divided among the others."""
        types = self.table.types
        fixed = [fixed_size(kind) for kind in types]
        rows, others = self.table.rows, fixed.count(None)
        known = None if self.table.size is None or not rows or not others else max(self.table.size / rows - row_bytes(tuple(fixed), 0), 0.0) / others
        return tuple(
            None if (size := known if fixed[position] is None else fixed[position]) is None else size * (stop - start) for position in self.positions
        )

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return a relation whose tasks read a range of rows each; scans of the same rows share one relation."""
        key = ("source", self.table.identity, self.positions, self.start, self.stop, config.batch_rows)
        return context.open_source(key, lambda: rows_in_ranges(self, context, **options_for(self.table)))

    def describe(self) -> str:
        return f"{called(self.table)}, columns {list(self.positions)}, rows {self.start}..{self.stop}"


class PartReader(Reader):
    """Reads rows of sources; the last part that was read in pieces is kept, so that reads in order read each part once."""

    def __init__(self, source: SourceRows) -> None:
        super().__init__(source)
        self._rows = source
        # The rows of the part that is kept, and their range in the table.
        self._kept: tuple[int, int, Chunk] | None = None
        self._has_parts = len(source.table.part_starts) > len(source.table.sources) + 1

    def read(self, start: int, stop: int) -> Chunk:
        """Return a range of rows."""
        source = self._rows
        if not self._has_parts or not source.positions:
            return source.read(start, stop)
        first = source.start + start
        last, chunks = max(first, min(source.start + stop, source.stop)), list[Chunk]()
        while first < last:
            low, high, part = self._part_of(first, last)
            end = min(high, last)
            chunks.append(part.slice(first - low, end - low))
            first = end
        return concatenate(chunks, source.infer_type(()))

    def _part_of(self, row: int, last: int) -> tuple[int, int, Chunk]:
        """Return a range that begins with or before a row, and its rows: that of several whole parts, or the part that is kept."""
        if self._kept is not None and self._kept[0] <= row < self._kept[1]:
            return self._kept
        starts, table = self._rows.table.part_starts, self._rows.table
        index = bisect.bisect_right(starts, row) - 1
        ends = starts[bisect.bisect_right(starts, last) - 1]
        if starts[index] == row and ends > row:
            return row, ends, table.between(row, ends, self._rows.positions)
        low, high = max(starts[index], self._rows.start), min(starts[index + 1], self._rows.stop)
        self._kept = low, high, table.between(low, high, self._rows.positions)
        return self._kept

    def close(self) -> None:
        """Release the part that is kept."""
        self._kept = None


# Parts of sources, and the rows in them.


@register
@attrs.frozen(cache_hash=True)
class SourceParts(Source):
    """One int column: the numbers of parts of sources. For estimates a part has the bytes of its rows."""

    name: ClassVar[str] = "source_parts"
    source_kind: ClassVar[SourceKind] = SourceKind.ENCODED_FILES
    table: SourceTable = attrs.field(eq=lambda table: table.identity, metadata={"portable": False})
    parts: tuple[SourcePart, ...] = attrs.field(metadata={"portable": False})
    start: int = attrs.field(validator=at_least(0))
    stop: int = attrs.field(validator=at_least(0))
    handle: Any = attrs.field(default=None, eq=False, metadata={"portable": False})

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        return (INT,)

    def infer_length(self, inputs: Sequence[Facts]) -> Length:
        return Length.exactly(self.stop - self.start)

    @property
    def runs_python(self) -> bool:
        return self.table.runs_python

    @property
    def watched(self) -> SourceTable:
        return self.table

    @property
    def shared_file(self) -> str | None:
        return local_path_of(self.table)

    def read(self, start: int, stop: int) -> Chunk:
        """Return the numbers of some parts."""
        first = self.start + start
        return Chunk.of([pa.array(np.arange(first, max(first, min(self.start + stop, self.stop)), dtype=np.int64))])

    def rows_between(self, start: int, stop: int) -> SourceParts:
        return attrs.evolve(self, start=self.start + start, stop=self.start + stop)

    def column_sizes(self, inputs: Sequence[Sizes], facts: Sequence[Facts], schema: Schema) -> Sizes:
        """Return the mean bytes of the rows of a part, by which tasks and batches are made."""
        return (self._part_bytes(),)

    def sizes_between(self, start: int, stop: int) -> Sizes:
        return (self._part_bytes() * (stop - start),)

    def _part_bytes(self) -> float:
        return BYTES_OF_UNKNOWN_PART if self.table.size is None else 8.0 + self.table.size / max(len(self.parts), 1)

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return the numbers from ``spark.range``, a partition for each."""
        from pyspark.sql import functions as F

        count = self.stop - self.start
        df = context.spark.range(self.start, self.stop, 1, max(count, 1)).select(F.col("id").alias("c0"), F.col("id").alias("k0"))
        return Relation(df, (INT,), (KeyColumn("k0"),), not_missing=frozenset([0]))

    def describe(self) -> str:
        return f"{called(self.table)}, parts {self.start}..{self.stop}"


@register
@attrs.frozen(cache_hash=True)
class ScanParts(ExpandingOperator):
    """The rows of parts of sources, given by their numbers: some columns, possibly without rows that do not meet a predicate."""

    name: ClassVar[str] = "scan_parts"
    deterministic: ClassVar[bool] = True
    streams: ClassVar[bool] = True
    spark_cost: ClassVar[SparkCost] = NO_EXCHANGE
    table: SourceTable = attrs.field(eq=lambda table: table.identity, metadata={"portable": False})
    parts: tuple[SourcePart, ...] = attrs.field(metadata={"portable": False})
    positions: tuple[int, ...] = attrs.field(validator=column_positions)
    predicate: Predicate | None = attrs.field(default=None, hash=False, metadata={"portable": False})

    @property
    def runs_python(self) -> bool:
        return self.table.runs_python

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        return tuple(self.table.types[position] for position in self.positions)

    def infer_length(self, inputs: Sequence[Facts]) -> Length:
        """Return an unknown length with a bound, if the sources have one."""
        if inputs[0].length.at_most == 0:
            return Length.exactly(0)
        bounds = [part.stop - part.start for part in self.parts if self.table.lengths[part.source] is not None]
        return Length.unknown(at_most=sum(bounds) if len(bounds) == len(self.parts) else self.table.at_most)

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        """Return the order and the keys that the source claims, which also hold for any subset of its rows."""
        recorded = projected_order(self.table.recorded, self.positions)
        return RelationProperties(OrderingProperties(orderings=list(map(requirement, recorded.orderings)), keys=list(recorded.keys)))

    def column_sizes(self, inputs: Sequence[Sizes], facts: Sequence[Facts], schema: Schema) -> Sizes:
        return tuple(map(fixed_size, schema))

    def input_columns(self, outputs: Sequence[int], inputs: Sequence[Facts]) -> Sequence[Sequence[int]]:
        return [[0]]

    def over_columns(self, outputs: Sequence[int], kept: Sequence[Sequence[int]], inputs: Sequence[Facts]) -> tuple[Operator, Sequence[int]]:
        """Return the scan of fewer columns."""
        return attrs.evolve(self, positions=tuple(self.positions[output] for output in outputs)), outputs

    def requires(self, slot: int) -> Need:
        """Return ``INHERITED``: the order of the parts matters only if the order of their rows is observed."""
        return Need.INHERITED

    def rows_of(self, numbers: Iterable[int]) -> Iterator[Chunk]:
        """Yield the rows in some parts, as their sources yield them."""
        for number in numbers:
            yield from self.table.read(self.parts[number], self.positions, self.predicate)

    def chunks(self, inputs: Sequence[Chunk], facts: Sequence[Facts], max_rows: Callable[[], int]) -> Iterator[Chunk]:
        """Yield the rows of some parts; rows are read only as they are requested."""
        is_empty = True
        for chunk in self.rows_of(inputs[0].columns[0].to_pylist()):
            done = 0
            while done < chunk.rows:
                stop = min(done + max_rows(), chunk.rows)
                yield chunk.slice(done, stop)
                done, is_empty = stop, False
        if is_empty:
            yield Chunk.empty(self.infer_type(()))

    def kernel(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Chunk:
        """Return all rows of some parts."""
        return concatenate(list(self.rows_of(inputs[0].columns[0].to_pylist())), self.infer_type(()))

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return ``mapInArrow`` over the parts; the key of a part and the number of a row in it form the new key."""
        relation, schema = inputs[0], self.infer_type(())
        columns = [f"{name} {spark_type(kind)}" for name, kind in zip(column_names(len(schema)), schema, strict=True)]
        keys = [f"{name} {relation.df.schema[name].dataType.simpleString()}" for name in relation.hidden]
        tasks = PartScan(self, tuple(relation.hidden), options_for(self.table))
        df = relation.df.mapInArrow(carrying_errors(tasks.batches), ", ".join([*columns, *keys, "place bigint"]))
        return Relation(df, schema, (*relation.key, KeyColumn("place")))

    def describe(self) -> str:
        where = "" if self.predicate is None else f", rows that may have {self.predicate.describe()}"
        return f"{called(self.table)}, columns {list(self.positions)}{where}"


@attrs.frozen
class PartScan:
    """The function that Spark's tasks run to read parts.

    Parameters
    ----------
    scan
        The scan.
    hidden
        Names of the columns of the row key of parts.
    options
        Settings with which rows are read.
    """

    scan: ScanParts
    hidden: tuple[str, ...]
    options: dict[str, Any]

    def batches(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the parts whose numbers are in the incoming batches."""
        acknowledge_at_once()
        names = [*column_names(len(self.scan.positions)), *self.hidden, "place"]
        with config.using(**self.options):
            for batch in numbers:
                for row, number in enumerate(batch.column("c0").to_pylist()):
                    keys, before = [batch.column(name)[row] for name in self.hidden], 0
                    for chunk in self.scan.rows_of([number]):
                        carried = [scalar_array(key, chunk.rows) for key in keys]
                        places = pa.array(np.arange(before, before + chunk.rows))
                        yield pa.RecordBatch.from_arrays([*chunk.columns, *carried, places], names=names)
                        before += chunk.rows


def options_for(table: SourceTable) -> dict[str, Any]:
    """Return the settings with which tasks read sources: the options of file systems if a file is remote."""
    return {"storage_options": config.storage_options} if any(map(is_remote, table.sources)) else {}


def is_remote(source: RowSource) -> bool:
    """Return whether a source reads a remote file."""
    return source.location is not None and is_remote_location(source.location)


def local_path_of(table: SourceTable) -> str | None:
    """Return the path of a local file that sources read; None if they read none."""
    return next((source.location for source in table.sources if source.location is not None and not is_remote(source)), None)


def called(table: SourceTable) -> str:
    """Return what plans call some sources."""
    first = visible(table.sources[0].called())
    return first if len(table.sources) == 1 else f"{first} and {len(table.sources) - 1} more"


def source_node(table: SourceTable, handle: Any = None) -> PlannerNode:
    """Return a node of all rows and columns of sources; ``handle`` keeps downloaded files from being deleted."""
    positions = tuple(range(len(table.types)))
    if table.rows is not None:
        return SourceRows(table, positions, 0, table.rows, handle).make_planner_node()
    return scan_of(table, table.all_parts(), positions, None, handle)


def scan_of(table: SourceTable, parts: tuple[SourcePart, ...], positions: tuple[int, ...], predicate: Predicate | None, handle: Any) -> PlannerNode:
    """Return a node of the rows in parts of sources, maybe without rows that do not meet a predicate."""
    numbers = SourceParts(table, parts, 0, len(parts), handle).make_planner_node()
    return ScanParts(table, parts, positions, predicate).make_planner_node(numbers)


def require_sent_sources(root: PlannerNode) -> None:
    """Check, before tasks run, that the sources that a plan reads can be sent to other processes.

    Raises
    ------
    ExecutionError
        If one cannot be pickled; the message names it.
    """
    tables = {id(operator.table): operator.table for node in postorder([root]) if isinstance(operator := node.operator, (SourceRows, SourceParts))}
    for source in (source for table in tables.values() for source in table.sources if not is_builtin(type(source))):
        try:
            import_cloudpickle().dumps(source)
        except Exception as error:
            advice = "open files, locks and connections in read() instead of keeping them in the source"
            raise ExecutionError(
                f"the source {source.called()} cannot be read in other processes: it cannot be pickled ({error}): {advice}"
            ) from error
