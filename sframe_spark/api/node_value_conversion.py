"""Converts between plan nodes and values: makes nodes of values or appended rows, reads rows as Python, numpy or Arrow values, and counts rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from sframe_spark.engine import costs
from sframe_spark.engine.execution.direct_execution_of_few_rows import few_rows
from sframe_spark.engine.execution.preview_of_user_dataframes import preview_of
from sframe_spark.errors import DateTimeRangeError, InvalidArgumentError, LengthMismatchError
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.operators.project_zip_arrange import column_of, columns_alongside, replace_column
from sframe_spark.operators.row_selection import slice_rows
from sframe_spark.operators.sources.in_memory import MemorySource, memory_source, memory_source_of_parts
from sframe_spark.planner.chunk import Chunk, aligned_chunks, concatenate
from sframe_spark.planner.handles import Handle
from sframe_spark.planner.length_and_order_inference import infer_planner_node_length, prove_equal_length
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Schema
from sframe_spark.process.memory import memory_budget
from sframe_spark.process.short_tracebacks import shorten
from sframe_spark.types import DATETIME_KIND, FLOAT_KIND, LIST_KIND, STR_KIND, ColumnType
from sframe_spark.values.arrow_to_python import decode
from sframe_spark.values.input_copying_simplification_and_validation import require_valid_arrow, simplify
from sframe_spark.values.invalid_unicode_errors import naming_broken_string, require_unicode_values
from sframe_spark.values.plain_values import one_value, plain
from sframe_spark.values.python_to_arrow import column_type_for, encode_parts, encoding_for, infer_type
from sframe_spark.values.rounding_warnings import rounding_warnings

with lazy_imports(globals()):
    from sframe_spark.engine.execution.changed_file_checks import require_unchanged_files
    from sframe_spark.engine.execution.collect_limits import require_memory, require_memory_in_numpy
    from sframe_spark.engine.execution.materialize_count_and_read_rows import compute, count_rows, iterate, materialize, stored_batches, stored_chunks
    from sframe_spark.engine.runtime.result_storage import write_runs
    from sframe_spark.expressions.scalar_function_program import Literal
    from sframe_spark.operators.append import append
    from sframe_spark.operators.elementwise import apply_function
    from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
    from sframe_spark.operators.groupby.reduce_to_one_row import reduce_columns
    from sframe_spark.values.arrow_to_column_types import warn_of_long_decimals
    from sframe_spark.values.datetimes import warn_of_nanoseconds


def node_from_values(values: Any, dtype: Any = None, ignore_cast_failure: bool = False, name: str | None = None) -> PlannerNode:
    """Return a one-column node of Python, numpy, pandas or Arrow values; their type is inferred unless ``dtype`` is given."""
    parts, column_type = column_from_values(values, dtype, ignore_cast_failure, name)
    return memory_source_of_parts([parts], [column_type])


def column_from_values(
    values: Any, dtype: Any = None, ignore_cast_failure: bool = False, name: str | None = None
) -> tuple[list[pa.Array], ColumnType]:
    """Return values as one or several Arrow arrays, and their type, which is inferred unless ``dtype`` is given."""
    requested = None if dtype is None else column_type_for(dtype)
    with rounding_warnings(name, requested is None or requested.kind != FLOAT_KIND):
        source = simplify(values)
        if isinstance(source, (pa.Array, pa.ChunkedArray)):
            require_valid_arrow(source)
            warn_of_nanoseconds(source, name)
            warn_of_long_decimals([(name, source)])
        with naming_broken_string(source):
            if requested is None:
                is_empty_text = isinstance(values, np.ndarray) and values.dtype.kind in "US" and not len(values)
                column_type = infer_type(values if is_empty_text else source)
            else:
                column_type = encoding_for(source, requested)
            return encode_parts(source, column_type, ignore_cast_failure), column_type


def combine_columns(nodes: list[PlannerNode]) -> PlannerNode:
    """Return one node with the columns of all given one-column nodes; if each is in memory as a single array, one source in memory."""
    in_memory = [node.operator.held for node in nodes if isinstance(node.operator, MemorySource)]
    chunks = [rows for rows in in_memory if isinstance(rows, Chunk)]
    if len(chunks) == len(nodes):
        return memory_source([chunk.columns[0] for chunk in chunks], [node.schema[0] for node in nodes], 0)
    return columns_alongside(*nodes)


def row_count(node: PlannerNode) -> int:
    """Return the number of rows. If it cannot be inferred, large joins count rows without computing them, and other nodes are materialized."""
    rows = infer_planner_node_length(node)
    if rows is not None:
        require_unchanged_files(node)
        return rows
    rows = count_rows(node, keeps=True)
    if rows is None:
        materialize(node)
        rows = infer_planner_node_length(node)
    assert rows is not None
    return rows


def rows_of(node: PlannerNode, start: int = 0, stop: int | None = None, as_objects: bool = False) -> Chunk:
    """Return the rows from ``start`` to ``stop`` in memory; nothing beyond these rows is computed.

    Raises
    ------
    TooLargeError
        If the rows do not fit in memory. With ``as_objects``, the memory of a Python object is counted for each value.
    """
    part = node if start == 0 and stop is None else slice_rows(node, start, stop)
    few = few_rows(part)
    if few is not None and as_objects and few.rows > costs.MAX_ROWS_COLLECTED_UNCHECKED:
        require_memory(memory_source(few.columns, part.schema, few.rows), as_objects)
    return few if few is not None else concatenate(list(collect_chunks(part, as_objects)), part.schema)


def collect_chunks(node: PlannerNode, as_objects: bool = False) -> Iterator[Chunk]:
    """Yield all rows in order as chunks. For callers that keep all rows in memory, but do not need each column as one array.

    Raises
    ------
    TooLargeError
        If the rows do not fit in memory, as in :func:`rows_of`; raised before the first chunk is returned.
    """
    require_memory(node, as_objects)
    stored = stored_batches(node)
    if stored is not None:
        return stored
    source = compute(node)
    require_memory(source, as_objects)
    return stored_chunks(source)


def column_values(node: PlannerNode, start: int = 0, stop: int | None = None) -> list[Any]:
    """Return the Python values of a one-column node."""
    return python_columns(rows_of(node, start, stop, as_objects=True), node.schema, start, None)[0]


def python_columns(chunk: Chunk, schema: Schema, first_row: int, names: Sequence[str] | None) -> list[list[Any]]:
    """Return the values of each column of a chunk as a list of Python objects; ``first_row`` is the number of its first row, for errors.

    Raises
    ------
    DateTimeRangeError
        If a date-time has a year that Python's ``datetime`` cannot hold; the error names the column and the row.
    """
    lists = []
    for position, (column, kind) in enumerate(zip(chunk.columns, schema, strict=True)):
        try:
            lists.append(decode(column, kind))
        except DateTimeRangeError as error:
            raise error.located(names[position] if names else None, first_row) from error.__cause__
    return lists


def row_tuples(node: PlannerNode, start: int = 0, stop: int | None = None, names: Sequence[str] | None = None) -> list[tuple[Any, ...]]:
    """Return the rows from ``start`` to ``stop`` as tuples of Python values; ``names`` are the column names that errors use."""
    return list(zip(*python_columns(rows_of(node, start, stop, as_objects=True), node.schema, start, names), strict=True))


def preview_rows(node: PlannerNode, count: int, names: Sequence[str] | None = None) -> tuple[list[tuple[Any, ...]], bool]:
    """Return at most ``count`` rows, and whether these will remain the first rows.

    The order of rows of a Spark DataFrame is fixed only when they are copied, which a preview avoids. ``names`` are the column names that errors use.
    """
    chunk = preview_of(node, count)
    if chunk is None:
        return row_tuples(node, 0, count, names), True
    return list(zip(*python_columns(chunk, node.schema, 0, names), strict=True)), False


def preview_values(node: PlannerNode, count: int) -> tuple[list[Any], bool]:
    """Return at most ``count`` values of a one-column node, and whether these will remain the first values."""
    rows, fixed = preview_rows(node, count)
    return [value for (value,) in rows], fixed


def whole_cells(rows: Sequence[tuple[Any, ...]], width: int) -> np.ndarray:
    """Return a two-dimensional array of Python objects, in which numpy does not treat lists as further dimensions.

    Examples
    --------
    >>> whole_cells([(1, [2, 3]), (4, [5, 6])], 2).shape
    (2, 2)
    """
    cells = np.empty((len(rows), width), dtype=object)
    for index, row in enumerate(rows):
        for position, value in enumerate(row):
            cells[index, position] = value
    return cells


def rows_in_numpy(rows: Sequence[tuple[Any, ...]], width: int) -> np.ndarray:
    """Return rows as a two-dimensional array of the values' common type; of objects if numpy would drop NUL characters at the end of a string.

    Examples
    --------
    >>> rows_in_numpy([(1, "a")], 2), rows_in_numpy([("a\\0", "b")], 2)
    (array([['1', 'a']], dtype='<U21'), array([['a\\x00', 'b']], dtype=object))
    """
    has_end_nul = any(_ends_with_nul(value) for row in rows for value in row)
    return np.array(rows, dtype=object if has_end_nul else None).reshape(-1, width)


def _ends_with_nul(value: Any) -> bool:
    """Return whether a value is a string that ends with a NUL character, which numpy strips as padding, or a list that contains such a string."""
    if isinstance(value, list):
        return any(map(_ends_with_nul, value))
    return isinstance(value, str) and value.endswith("\0")


def table_of_numbers(columns: Sequence[pa.Array]) -> np.ndarray:
    """Return numeric columns as a two-dimensional array: of ints if all are ints and none is missing, else of floats with NaN."""
    if not columns or not len(columns[0]):
        return np.empty((0, len(columns)))
    are_ints = all(pa.types.is_int64(column.type) and not column.null_count for column in columns)
    table = np.empty((len(columns[0]), len(columns)), dtype=np.int64 if are_ints else np.float64, order="F")
    for position, column in enumerate(columns):
        values = column if are_ints else column.cast(pa.float64(), safe=False)
        table[:, position] = values.to_numpy(zero_copy_only=False)
    return table


def present_numbers(node: PlannerNode) -> np.ndarray | None:
    """Return all numbers of a one-column node as an array; None if there are no rows or a value is missing."""
    require_memory(node)
    materialize(node)
    require_memory(node)
    arrays = [chunk.columns[0] for chunk in iterate(node)] if row_count(node) else []
    if not arrays or any(array.null_count for array in arrays):
        return None
    return np.concatenate([array.to_numpy() for array in arrays])


def flat_column_for_numpy(node: PlannerNode) -> np.ndarray:
    """Return all values of a one-column node of numbers, texts or date-times without offsets as a one-dimensional numpy array.

    Results of comparisons are Booleans, as numpy needs them for masks; a missing one is False, as it selects no row. Missing numbers are NaN, missing
    date-times NaT; texts are objects if one is missing.
    """
    column_type = node.schema[0]
    if column_type.kind == STR_KIND:
        return numpy_column(node) if row_count(node) else np.empty(0, "<U1")
    require_memory(node)
    materialize(node)
    require_memory(node)
    stored = [chunk.columns[0] for chunk in iterate(node)] if row_count(node) else []
    # The empty array is for a column without rows.
    arrays = [pa.array([], column_type.physical), *stored]
    values = np.concatenate([array.to_numpy(zero_copy_only=False) for array in arrays])
    return _truths(values) if column_type.is_logical else values


def _truths(numbers: np.ndarray) -> np.ndarray:
    """Return results of comparisons as Booleans. They stay numbers if rows with other numbers were appended to them."""
    missing = np.isnan(numbers)
    return (numbers == 1) if (missing | (numbers == 0) | (numbers == 1)).all() else numbers


def table_for_numpy(node: PlannerNode, names: Sequence[str]) -> np.ndarray:
    """Return all rows as a two-dimensional numpy array: of numbers with NaN for missing ones, of Booleans, of date-times, or else of objects."""
    kinds = {column_type.kind for column_type in node.schema}
    is_numeric = all(column_type.is_numeric for column_type in node.schema)
    if not is_numeric and (kinds != {DATETIME_KIND} or any(column_type.is_zoned for column_type in node.schema)):
        return whole_cells(list(zip(*python_columns(rows_of(node, as_objects=True), node.schema, 0, names), strict=True)), len(names))
    columns = rows_of(node).columns
    if not is_numeric:
        return np.stack([column.to_numpy(zero_copy_only=False) for column in columns], axis=1)
    table = table_of_numbers(columns)
    return _truths(table) if all(column_type.is_logical for column_type in node.schema) else table


def array_for_numpy(values: np.ndarray, dtype: Any, copy: bool | None) -> np.ndarray:
    """Return an array that was made for the caller as ``__array__`` has to: of another type if one is asked for.

    Raises
    ------
    ValueError
        If ``copy`` is False, as in numpy: rows of a frame are always copied.
    """
    if copy is False:
        raise InvalidArgumentError("copy=False asks for an array without a copy, but rows are always copied: omit copy")
    return values if dtype is None else values.astype(dtype, copy=False)


def numpy_column(node: PlannerNode) -> np.ndarray:
    """Return all values of a one-column node as a numpy array: numeric columns without missing values as numbers, other columns as numpy infers.

    Strings become numpy strings, or objects if one is missing or ends with a NUL character, which numpy would drop. Lists or arrays that all have the
    same length become a two-dimensional array.

    Raises
    ------
    InvalidArgumentError
        If numpy cannot make an array of the lists, for example because their lengths differ.
    """
    if node.schema[0].is_numeric:
        numbers = present_numbers(node)
        if numbers is not None:
            return numbers
    require_memory(node, as_objects=True)
    materialize(node)
    require_memory(node, as_objects=True)
    rows = list(iterate_tuples(node))
    values = [value for (value,) in rows]
    if node.schema[0].kind == STR_KIND:
        require_memory_in_numpy(rows)
    elif node.schema[0].kind == LIST_KIND and None not in values:
        require_memory_in_numpy(values)
    try:
        return np.asarray(values, dtype=object) if any(map(_ends_with_nul, values)) else np.asarray(values)
    except ValueError as error:
        raise InvalidArgumentError(f"the values cannot be converted to a numpy array ({error}): use list(column)") from None


def iterate_tuples(node: PlannerNode, names: Sequence[str] | None = None) -> Iterator[tuple[Any, ...]]:
    """Yield rows as tuples, batch by batch, in bounded memory; ``names`` are the column names that errors use."""
    # The handle exists from now on, and not from the first row on.
    return _tuples_of(Handle(node), names)


def _tuples_of(handle: Handle, names: Sequence[str] | None) -> Iterator[tuple[Any, ...]]:
    node, first_row, chunks = handle._node, 0, iterate(handle._node)
    while True:
        try:
            chunk = next(chunks, None)
            if chunk is None:
                return
            columns = python_columns(chunk, node.schema, first_row, names)
        except (Exception, KeyboardInterrupt) as error:
            shorten(error)
            raise
        yield from zip(*columns, strict=True)
        first_row += chunk.rows


def reduce_values(node: PlannerNode, aggregations: Sequence[Aggregation]) -> tuple[Any, ...]:
    """Return the results of aggregations over all rows as Python values, one for each aggregation."""
    reduced = reduce_columns(node, aggregations)
    return row_tuples(reduced)[0]


def equal_length(a: PlannerNode, b: PlannerNode) -> bool:
    """Return whether two nodes have the same number of rows. Rows are counted only if this cannot be inferred from the plans."""
    proved = prove_equal_length(a, b)
    return row_count(a) == row_count(b) if proved is None else proved


def require_pairs(first: PlannerNode, second: PlannerNode, what: str, other: str) -> None:
    """Raise an error if two nodes have different numbers of rows, so that their rows cannot be paired.

    Raises
    ------
    LengthMismatchError
        If the numbers of rows differ; ``what`` and ``other`` describe the two nodes in its message.
    """
    if not equal_length(first, second):
        rows = f"{what} has {row_count(first):,} rows and {other} {row_count(second):,}"
        raise LengthMismatchError(f"{rows}: of different lengths, their rows cannot be paired")


def literal_of(value: Any) -> Literal:
    """Return a value as a constant operand, whose type is inferred. Sequences of other libraries become lists or arrays."""
    value = one_value(value)
    with rounding_warnings(), naming_broken_string([value]):
        literal = Literal(plain(value), infer_type([value]))
    require_unicode_values([literal.value])
    return literal


def recoded(node: PlannerNode, target: ColumnType) -> PlannerNode:
    """Return a column with the same values in the physical encoding of ``target``, which must be of the same Python class."""
    return node if node.schema[0] == target else apply_function("recode", node, parameters=(target,))


def recoded_column(node: PlannerNode, position: int, target: ColumnType) -> PlannerNode:
    """Return the node with the column at ``position`` in the physical encoding of ``target``."""
    if node.schema[position] == target:
        return node
    return replace_column(node, position, recoded(column_of(node, position), target))


ItemT = TypeVar("ItemT")
# Number of rows that are buffered as Python objects before they are converted to Arrow arrays.
ROWS_PER_BATCH = 8192


class AppendedRows:
    """Rows that are appended one at a time, and spilled to disk when they exceed the memory budget.

    Parameters
    ----------
    types
        Types of the columns.
    """

    def __init__(self, types: Sequence[ColumnType]) -> None:
        self.types = tuple(types)
        self._rows: list[Sequence[Any]] = []
        self._batches: list[Chunk] = []
        self._bytes = 0
        self._written: list[PlannerNode] = []

    def add(self, row: Sequence[Any]) -> None:
        """Append a row of Python values, which must fit the column types."""
        self._rows.append(row)
        if len(self._rows) >= ROWS_PER_BATCH:
            self._make_batch()

    def _make_batch(self) -> None:
        columns = zip(*self._rows, strict=True)
        parts = [encode_parts(list(column), column_type) for column, column_type in zip(columns, self.types, strict=True)]
        self._rows = []
        for batch in aligned_chunks(parts):
            self._batches.append(batch)
            self._bytes += batch.size
        if self._bytes > memory_budget():
            self._written.append(write_runs((batch.columns for batch in self._batches), self.types))
            self._batches, self._bytes = [], 0

    def parts(self) -> list[PlannerNode]:
        """Return the appended rows, in order, as a list of sources: first those written to disk, then those in memory."""
        if self._rows:
            self._make_batch()
        return [*self._written, *([_in_memory(self._batches, self.types)] if self._batches else [])]


def joined_source(batches: Sequence[Sequence[pa.Array]], types: Sequence[ColumnType], rows: int) -> PlannerNode:
    """Return batches of rows as a source in memory, with each column in one array; ``rows`` is their total number of rows."""
    columns = [pa.chunked_array([batch[position] for batch in batches], kind.physical).combine_chunks() for position, kind in enumerate(types)]
    return memory_source(columns, list(types), rows)


def drained(items: list[ItemT]) -> Iterator[ItemT]:
    """Yield the items of a list, and remove each from the list so that its memory can be freed."""
    while items:
        yield items.pop(0)


def node_from_batches(batches: Iterable[Sequence[pa.Array]], types: Sequence[ColumnType]) -> PlannerNode:
    """Return batches of rows as a source: in memory if they fit the memory budget, otherwise in temporary files."""
    remaining = iter(batches)
    buffered: list[Sequence[pa.Array]] = []
    size = 0
    for batch in remaining:
        buffered.append(batch)
        size += sum(column.nbytes for column in batch)
        if size > memory_budget():
            return write_runs(chain(buffered, remaining), tuple(types))
    return _in_memory([Chunk(tuple(batch), len(batch[0])) for batch in buffered], types)


def _in_memory(batches: Sequence[Chunk], types: Sequence[ColumnType]) -> PlannerNode:
    """Return batches as a source in memory. Each column becomes one array, or several if one array cannot hold all its values."""
    columns: list[Sequence[pa.Array]] = list(zip(*(batch.columns for batch in batches), strict=True))
    columns = columns or [[pa.array([], column_type.physical)] for column_type in types]
    return memory_source_of_parts(columns, types)


def appended(segments: Sequence[AppendedRows]) -> PlannerNode:
    """Return the rows of all segments, in order, as one node; all segments must have the same types."""
    parts = [part for segment in segments for part in segment.parts()] or [_in_memory([], segments[0].types)]
    return append(*parts) if len(parts) > 1 else parts[0]
