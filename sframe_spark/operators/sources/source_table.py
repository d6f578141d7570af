"""Sources of plug-ins with the same columns as one table: what they declare, checked, and their rows, which are checked when they are read."""

from __future__ import annotations

import bisect
import contextlib
import math
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

import attrs
import pyarrow as pa

from sframe_spark.cached_property_without_lock import cached_property
from sframe_spark.config import config
from sframe_spark.errors import PlanInvariantError, SchemaError, SFrameError, listed
from sframe_spark.message_text import visible
from sframe_spark.operators.sources.row_source import FileSource, Rows, RowSource
from sframe_spark.operators.sources.source_predicate import Predicate
from sframe_spark.planner.chunk import Chunk, combine, concatenate
from sframe_spark.planner.node_facts import Schema
from sframe_spark.planner.row_sizes import fixed_size
from sframe_spark.storage.manifest.physical_types import convert_foreign
from sframe_spark.storage.manifest.recorded_order import NO_RECORDED_ORDER, RecordedOrder
from sframe_spark.types import ColumnType, type_of_class
from sframe_spark.udf.function_errors import failure_without_input
from sframe_spark.values.arrow_to_column_types import arrow_column_type
from sframe_spark.values.invalid_unicode_errors import column_named


@attrs.frozen
class SourcePart:
    """Rows of a source that are read at once.

    Parameters
    ----------
    source
        Index of the source.
    start, stop
        What the source is asked for: rows if it knows its length, otherwise parts.
    """

    source: int
    start: int
    stop: int


@attrs.frozen(eq=False)
class SourceTable:
    """One or several sources with the same columns, one after the other.

    Parameters
    ----------
    sources
        The sources.
    names, types
        Names and types of the columns.
    lengths
        The number of rows of each source; None where it is not known.
    at_most
        An upper bound of the number of all rows; None if there is none.
    parts
        The number of rows of each part of each source.
    size
        About how many bytes all rows take; None if that is not known.
    recorded
        The order and the keys that the only source claims.
    """

    sources: tuple[RowSource, ...]
    names: tuple[str, ...]
    types: Schema
    lengths: tuple[int | None, ...]
    at_most: int | None
    parts: tuple[tuple[int | None, ...], ...]
    size: float | None
    recorded: RecordedOrder = NO_RECORDED_ORDER

    @property
    def identity(self) -> Hashable:
        """A value that is equal for tables of the same rows."""
        return tuple(source.identity for source in self.sources)

    @property
    def rows(self) -> int | None:
        """The number of rows; None if it is not known."""
        known = [length for length in self.lengths if length is not None]
        return sum(known) if len(known) == len(self.lengths) else None

    @cached_property
    def starts(self) -> list[int]:
        """The number of the first row of each source, and that of all rows, if they are known."""
        return list(accumulate(known(self.lengths), initial=0))

    @cached_property
    def part_starts(self) -> list[int]:
        """The number of the first row of each part of a table of known length, and the number of all rows."""
        return list(accumulate((rows for parts in self.parts for rows in known(parts)), initial=0))

    @property
    def runs_python(self) -> bool:
        """Whether threads would wait for each other, or may not read the sources side by side."""
        return not all(source.threads for source in self.sources)

    @property
    def filters(self) -> bool:
        """Whether a source makes use of predicates."""
        return any(source.filters for source in self.sources)

    def require_unchanged(self) -> None:
        """Raise an error if a source has changed since the table was made."""
        for source in self.sources:
            source.require_unchanged()

    def all_parts(self) -> tuple[SourcePart, ...]:
        """Return all parts, for a table whose length is not known."""
        parts = []
        for index, (length, of_source) in enumerate(zip(self.lengths, self.parts, strict=True)):
            bounds = range(len(of_source) + 1) if length is None else list(accumulate(known(of_source), initial=0))
            parts += [SourcePart(index, start, stop) for start, stop in pairwise(bounds)]
        return tuple(parts)

    def parts_between(self, start: int, stop: int) -> tuple[SourcePart, ...]:
        """Return the parts of a range of rows of a table of known length; a source without parts is cut into batches."""
        parts = []
        for index, length in enumerate(known(self.lengths)):
            low, high = max(start - self.starts[index], 0), min(stop - self.starts[index], length)
            if low >= high:
                continue
            declared = self.parts[index]
            bounds = list(accumulate(known(declared), initial=0)) if len(declared) > 1 else range(low, high, config.batch_rows)
            cuts = [low, *(bound for bound in bounds if low < bound < high), high]
            parts += [SourcePart(index, first, last) for first, last in pairwise(cuts)]
        return tuple(parts)

    def read(self, part: SourcePart, positions: Sequence[int], predicate: Predicate | None = None) -> Iterator[Chunk]:
        """Yield the rows of a part, as its source yields them, after checking that they have the columns and types that the source declares.

        Raises
        ------
        PlanInvariantError
            If rows lack a column.
        SchemaError
            If values of a column do not fit its type.
        UserFunctionError
            If the source raises an error of another class.
        """
        source = self.sources[part.source]
        # Without a column Arrow's tables do not know how many rows they have.
        asked = list(positions) or [self._cheapest()]
        names = [self.names[position] for position in asked]
        batches = batches_of(source, lambda: source.read(part.start, part.stop, names, predicate if source.filters else None))
        with contextlib.closing(batches):
            for rows in batches:
                yield self.checked_batch(rows, source, asked[: len(positions)])

    def _cheapest(self) -> int:
        sizes = [math.inf if (size := fixed_size(kind)) is None else size for kind in self.types]
        return sizes.index(min(sizes))

    def checked_batch(self, rows: Any, source: RowSource, asked: Sequence[int]) -> Chunk:
        """Return some columns of what a source has yielded, in the types of the table.

        Raises
        ------
        PlanInvariantError
            If it is not a table, or lacks a column.
        SchemaError
            If values do not fit the type of their column.
        """
        if not isinstance(rows, (pa.Table, pa.RecordBatch)):
            raise PlanInvariantError(f"read() of the source {source.called()} yields {rows!r:.80}: it yields Arrow tables or record batches")
        columns = []
        for position in asked:
            name, kind = self.names[position], self.types[position]
            index = rows.schema.get_field_index(name)
            if index < 0:
                raise PlanInvariantError(
                    f"read() of the source {source.called()} gave the columns {listed(rows.schema.names)}: it was asked for {visible(name)!r}, once"
                )
            values = combine(rows.column(index))
            with column_named(name):
                # Lists and dicts of any values are texts here, which only this package writes.
                columns.append(values if values.type == kind.physical and not kind.is_encoded else converted(values, kind))
        return Chunk(tuple(columns), rows.num_rows)

    def between(self, first: int, last: int, positions: Sequence[int]) -> Chunk:
        """Return a range of rows of a table of known length.

        Raises
        ------
        PlanInvariantError
            If a source gives another number of rows.
        """
        chunks = []
        index = bisect.bisect_right(self.starts, first) - 1
        while first < last:
            start, stop = self.starts[index], min(last, self.starts[index + 1])
            if first < stop:
                chunks.append(self._exactly(SourcePart(index, first - start, stop - start), positions))
                first = stop
            index += 1
        return concatenate(chunks, tuple(self.types[position] for position in positions))

    def _exactly(self, part: SourcePart, positions: Sequence[int]) -> Chunk:
        expected, chunks, rows = part.stop - part.start, list[Chunk](), 0
        for chunk in self.read(part, positions):
            chunks.append(chunk)
            rows += chunk.rows
            if rows > expected:
                break
        if rows != expected:
            more = f"more than the {expected:,}" if rows > expected else f"{rows:,} of the {expected:,}"
            raise PlanInvariantError(
                f"read({part.start}, {part.stop}, ...) of the source {self.sources[part.source].called()} gave {more} rows in this range, "
                f"of {self.lengths[part.source]:,} that length() says"
            )
        return concatenate(chunks, tuple(self.types[position] for position in positions))


def known(lengths: Sequence[int | None]) -> list[int]:
    """Return lengths that are known, without those that are not."""
    return [length for length in lengths if length is not None]


def converted(values: pa.Array, kind: Any) -> pa.Array:
    """Return values in the physical type of a column.

    Raises
    ------
    SchemaError
        If they are of another kind.
    """
    try:
        return convert_foreign(values, kind)
    except SchemaError as error:
        given = arrow_column_type(values.type)
        if given.kind == kind.kind:
            raise
        raise SchemaError(f"columns() says {kind}, and read() yields {given}: cast the values, or declare their type") from error
    except SFrameError:
        raise
    except pa.ArrowException as error:
        raise SchemaError(f"values of Arrow's type {values.type} are not {kind}: {error}") from error


def batches_of(source: RowSource, read: Callable[[], Iterable[Rows]]) -> Generator[Rows, None, None]:
    """Yield what a source yields; an unexpected error names the source.

    Raises
    ------
    PlanInvariantError
        If the source gives something else than rows.
    UserFunctionError
        If it raises an error that is not of this package.
    """
    try:
        given: Any = read()
        if isinstance(given, (pa.Table, pa.RecordBatch)):
            given = [given]
        if not isinstance(given, Iterable):
            raise PlanInvariantError(f"read() of the source {source.called()} gave {given!r:.80}: it yields Arrow tables or record batches")
        yield from given
    except (SFrameError, MemoryError, GeneratorExit):
        raise
    except Exception as error:
        raise failure_without_input(f"the source {source.called()}", error) from error


# What sources declare.


def table_of_sources(sources: Sequence[RowSource]) -> SourceTable:
    """Return the table of some sources, after asking each what it declares about its rows.

    Raises
    ------
    PlanInvariantError
        If what a source declares contradicts itself, or a source of a file has none.
    SchemaError
        If the sources have no columns, or different ones.
    """
    for source in sources:
        if isinstance(source, FileSource) and not hasattr(source, "file"):
            raise PlanInvariantError(f"the source {type(source).__name__} has no file: its __init__() is to call super().__init__(file)")
    columns = [declared_columns(source) for source in sources]
    for source, other in zip(sources, columns, strict=True):
        if list(other.items()) != list(columns[0].items()):
            raise SchemaError(
                f"{visible(source.called())} has the columns {shown(other)}, and {visible(sources[0].called())} has {shown(columns[0])}: "
                "rows of several sources follow one another if their columns are the same; read them one by one"
            )
    declared = [declared_length(source) for source in sources]
    bounds = [at_most for _, at_most, _ in declared]
    known = [bound for bound in bounds if bound is not None]
    sizes = [declared_size(source) for source in sources]
    return SourceTable(
        sources=tuple(sources),
        names=tuple(columns[0]),
        types=tuple(columns[0].values()),
        lengths=tuple(length for length, _, _ in declared),
        at_most=sum(known) if len(known) == len(bounds) else None,
        parts=tuple(parts for _, _, parts in declared),
        size=None if None in sizes else sum(size for size in sizes if size is not None),
        recorded=declared_order(sources[0], list(columns[0])) if len(sources) == 1 else NO_RECORDED_ORDER,
    )


def declared_columns(source: RowSource) -> dict[str, ColumnType]:
    """Return the columns of a source; classes of Python stand for their types.

    Raises
    ------
    SchemaError
        If there are none, or a name or a type is none.
    """
    columns = asked(source, "columns", source.columns)
    if not isinstance(columns, Mapping) or not columns:
        raise SchemaError(f"columns() of the source {source.called()} gave {columns!r:.80}: it gives types by name, at least one")
    result = {}
    for name, kind in columns.items():
        if not isinstance(name, str):
            raise SchemaError(f"columns() of the source {source.called()} has the name {name!r:.80}: names are texts")
        result[name] = kind if isinstance(kind, ColumnType) else type_of_class(kind)
    return result


def declared_length(source: RowSource) -> tuple[int | None, int | None, tuple[int | None, ...]]:
    """Return the number of rows of a source, an upper bound of it, and the rows of its parts.

    Raises
    ------
    PlanInvariantError
        If they contradict each other.
    """
    length, at_most = (asked(source, name, call) for name, call in (("length", source.length), ("at_most", source.at_most)))
    parts = asked(source, "parts", lambda: tuple(source.parts()))
    for name, value in [("length", length), ("at_most", at_most), *(("parts", rows) for rows in parts)]:
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
            raise PlanInvariantError(f"{name}() of the source {source.called()} gave {value!r:.80}: numbers of rows are ints from 0, or None")
    known = [rows for rows in parts if rows is not None]
    if length is not None and (len(known) < len(parts) or sum(known) != length):
        raise PlanInvariantError(
            f"the source {source.called()} has {length:,} rows, as length() says, and parts() says {listed(parts, str)}: the rows of the parts "
            "add up to it"
        )
    if length is None and (at_most is not None and sum(known) > at_most):
        raise PlanInvariantError(f"the source {source.called()} has at most {at_most:,} rows, as at_most() says, and parts() says {sum(known):,}")
    return length, length if length is not None else at_most, parts


def declared_size(source: RowSource) -> float | None:
    """Return about how many bytes the rows of a source take; None if that is not known."""
    size = asked(source, "size", source.size)
    if size is not None and (not isinstance(size, (int, float)) or not 0 <= size < float("inf")):
        raise PlanInvariantError(f"size() of the source {source.called()} gave {size!r:.80}: it gives bytes, or None")
    return None if size is None else float(size)


def declared_order(source: RowSource, names: list[str]) -> RecordedOrder:
    """Return the order and the keys that a source claims.

    Raises
    ------
    PlanInvariantError
        If they name a column that it does not have.
    """
    given, groups = asked(source, "order", lambda: tuple(source.order())), asked(source, "unique", lambda: tuple(source.unique()))
    for item in given:
        if not isinstance(item, (tuple, list)) or len(item) != 2 or not isinstance(item[1], (bool, int)):
            raise PlanInvariantError(
                f"order() of the source {source.called()} gave {item!r:.80}: it gives pairs of a name and whether it ascends, such as ('time', True)"
            )
    for group in groups:
        if not isinstance(group, (tuple, list)):
            raise PlanInvariantError(f"unique() of the source {source.called()} gave {group!r:.80}: it gives lists of names, such as [['id']]")
    order, keys = tuple((name, bool(ascending)) for name, ascending in given), tuple(map(tuple, groups))
    for call, name in [*(("order", name) for name, _ in order), *(("unique", name) for key in keys for name in key)]:
        if name not in names:
            raise PlanInvariantError(f"{call}() of the source {source.called()} names {name!r:.80}, which is none of its columns {listed(names)}")
    positions = {name: position for position, name in enumerate(names)}
    orderings = (tuple((positions[name], ascending) for name, ascending in order),) if order else ()
    return RecordedOrder(orderings, tuple(tuple(positions[name] for name in key) for key in keys))


def asked(source: RowSource, name: str, call: Any) -> Any:
    """Return what a method of a source gives; an unexpected error names the source and the method."""
    try:
        return call()
    except (SFrameError, MemoryError):
        raise
    except Exception as error:
        raise failure_without_input(f"{name}() of the source {source.called()}", error) from error


def shown(columns: Mapping[str, ColumnType]) -> str:
    """Return columns with their types, for messages."""
    return listed([f"{name} ({kind.kind})" for name, kind in columns.items()], str)
