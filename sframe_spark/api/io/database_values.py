"""Values from databases as columns, whether a library gives rows of Python values or Arrow batches; and what kinds of columns tables get."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from itertools import chain
from types import ModuleType
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.api import node_value_conversion
from sframe_spark.api.column_names import require_distinct, require_unicode, with_automatic_names
from sframe_spark.api.io.database_tables import MYSQL, ZONED, dialect_of
from sframe_spark.api.node_value_conversion import node_from_batches
from sframe_spark.engine.execution.materialize_count_and_read_rows import iterate, materialize
from sframe_spark.errors import ColumnNotFoundError, InvalidArgumentError, SchemaError, SFrameError
from sframe_spark.message_text import brief, visible
from sframe_spark.operators.project_zip_arrange import column_of
from sframe_spark.planner.chunk import aligned_chunks
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import ARRAY, DATETIME, DATETIME_KIND, ENCODED_LIST, FLOAT, INT, INT_KIND, LIST_KIND, STR, STR_KIND, ColumnType, of_any_offset
from sframe_spark.values.arrow_to_column_types import arrow_column_type, normalized_parts, warn_of_long_decimals
from sframe_spark.values.datetimes import warn_of_nanoseconds
from sframe_spark.values.input_copying_simplification_and_validation import require_valid_arrow
from sframe_spark.values.invalid_unicode_errors import column_named
from sframe_spark.values.python_to_arrow import column_type_for, encode_parts, infer_type
from sframe_spark.values.rounding_warnings import RoundedNumbers, may_be_rounded
from sframe_spark.values.single_value_conversion import construct_value


@attrs.frozen
class QueryRequest:
    """A query, and how its rows are read; the parameters are those of ``SFrame.from_sql``."""

    statement: Any
    params: Any
    inference_rows: Any
    module: Any
    hints: Any
    rows_at_once: Any

    def require_valid(self) -> None:
        """Raise an error if the given number of rows is not an int above zero.

        Raises
        ------
        SchemaError
            If it is not an int, or negative.
        """
        for name, value in (("type_inference_rows", self.inference_rows), ("cursor_arraysize", self.rows_at_once)):
            if not isinstance(value, int) or value < 0:
                raise SchemaError(f"{name} must be a number of rows, not {value!r:.60}")

    @property
    def batch_size(self) -> int:
        """How many rows are fetched at a time."""
        return max(self.rows_at_once, 1)


def column_names(names: Iterable[Any]) -> list[str]:
    """Return the names of a query's columns, which must be distinct; columns without a name get one."""
    result = with_automatic_names(map(str, names))
    require_distinct(result)
    require_unicode(result)
    return result


def no_rows_error(statement: Any) -> InvalidArgumentError:
    """Return the error for a statement that is not a query."""
    return InvalidArgumentError(f"the statement {visible(brief(statement))} returns no rows: from_sql() takes a query")


def hinted_types(hints: Any, names: Sequence[str]) -> dict[str, ColumnType]:
    """Return the types that the user requests, by column name; ``hints`` is a class, a list of classes, or a dict of them.

    Raises
    ------
    ColumnNotFoundError
        If a dict has a name that is not in ``names``.
    SchemaError
        If ``hints`` is something else, or a list is longer than ``names``.
    """
    if isinstance(hints, Mapping):
        for name in hints:
            if name not in names:
                raise ColumnNotFoundError(name, names)
    elif isinstance(hints, type):
        hints = dict.fromkeys(names, hints)
    elif hints is not None and (not isinstance(hints, (list, tuple)) or len(hints) > len(names)):
        raise SchemaError(f"column_type_hints must be a class, a list of classes, at most one for each column, or a dict of them, not {hints!r:.60}")
    else:
        hints = dict(zip(names, hints or (), strict=False))
    return {name: of_any_offset(column_type_for(hint)) for name, hint in hints.items()}


def _no_type_error(name: str, error: SFrameError) -> SchemaError:
    return SchemaError(f"column {name!r}: {error}; convert it in the query, to text for example")


# Rows of Python values


def node_of_rows(
    batches: Iterator[Sequence[Sequence[Any]]],
    description: Sequence[Sequence[Any]],
    names: Sequence[str],
    request: QueryRequest,
    module: ModuleType | None,
) -> PlannerNode:
    """Return rows of Python values as a source, in batches.

    Parameters
    ----------
    batches
        The rows as they are fetched, a few at a time: Python looks through all its objects again and again where many rows are kept.
    description
        The description of the DB-API cursor.
    names
        The column names.
    request
        The query.
    module
        The DB-API module, whose type objects give the types of columns without a value in the first rows; None if it is unknown.

    Raises
    ------
    SchemaError
        If a value does not fit the type of its column.
    """
    times = [index for index, column in enumerate(description) if _is_mysql(module) and column[1] == _TIME_OF_MYSQL]
    if times:
        batches = ([[_as_clock(value) if index in times else value for index, value in enumerate(row)] for row in batch] for batch in batches)
    fetched: list[Sequence[Sequence[Any]]] = []
    # Turi Create infers from one row at least.
    inference_rows = max(request.inference_rows, 1)
    while sum(map(len, fetched)) < inference_rows and (batch := next(batches, None)) is not None:
        fetched.append(batch)
    first = [row for batch in fetched for row in batch][:inference_rows]
    hinted = hinted_types(request.hints, names)
    types = _types(first, description, names, hinted, module)
    rounded = RoundedNumbers()
    node = node_from_batches(_columns(chain(fetched, batches), names, types, rounded), types)
    rounded.warn(but={name for name, kind in hinted.items() if kind == FLOAT})
    return node


def _columns(
    batches: Iterable[Sequence[Sequence[Any]]], names: Sequence[str], types: Sequence[ColumnType], rounded: RoundedNumbers
) -> Iterator[list[pa.Array]]:
    """Yield columns of many rows; numbers that are rounded are recorded in ``rounded``."""
    columns: list[list[Any]] = [[] for _ in types]
    first = count = 0
    for batch in chain(batches, [()]):
        if count and (not batch or count >= node_value_conversion.ROWS_PER_BATCH):
            parts = [
                encode_parts(_fitting_values(column, kind, name, first, rounded), kind)
                for column, kind, name in zip(columns, types, names, strict=True)
            ]
            yield from (list(run.columns) for run in aligned_chunks(parts))
            columns, first, count = [[] for _ in types], first + count, 0
        if set(map(len, batch)) - {len(types)}:
            number, row = next((number, row) for number, row in enumerate(batch, first + count) if len(row) != len(types))
            raise SchemaError(f"row {number} has {len(row)} values for {len(types)} columns: this is a fault of the library that made the connection")
        for index, values in enumerate(zip(*batch, strict=True)):
            columns[index].extend(values)
        count += len(batch)


def _types(
    first: Sequence[Sequence[Any]],
    description: Sequence[Sequence[Any]],
    names: Sequence[str],
    hinted: Mapping[str, ColumnType],
    module: ModuleType | None,
) -> list[ColumnType]:
    """Return the column types: the requested type, else that of the column's first value, else that of its type code, else string.

    A column of decimals that the database declares to have no digits after the point, as ``NUMERIC(18, 0)``, is one of ints: all digits are kept.
    Times of day are strings.
    """
    types = []
    is_mysql = _is_mysql(module)
    for index, name in enumerate(names):
        value = next((row[index] for row in first if row[index] is not None), None)
        if name in hinted:
            types.append(hinted[name])
        elif value is None:
            types.append(of_any_offset(_type_of_code(module, *description[index][1:2]) or STR))
        elif isinstance(value, (datetime.time, memoryview)):
            types.append(STR)
        elif isinstance(value, decimal.Decimal) and _scale(description[index], value if is_mysql else None) == 0:
            types.append(INT)
        else:
            try:
                natural = of_any_offset(infer_type([value]))
                # Other rows may have items of other types.
                types.append(ENCODED_LIST if isinstance(value, (list, tuple)) else natural)
            except SFrameError as error:
                raise _no_type_error(name, error) from error
    return types


def _type_of_code(module: ModuleType | None, code: Any = None) -> ColumnType | None:
    """Return the column type of a type code, by the type objects of a DB-API module; None if it has none for the code."""
    if module is None or code is None:
        return None
    return next((kind for name, kind in _TYPE_OBJECTS.items() if code == getattr(module, name, None)), None)


def _scale(column: Sequence[Any], value: decimal.Decimal | None) -> int | None:
    """Return how many digits a column of a cursor's description has after the point; None if the library does not report it.

    In databases that write all decimals of a column with as many digits after the point, ``value``, one of them, tells it too.
    """
    scale = column[5] if len(column) > 5 else None
    return scale if scale is not None or value is None else -int(value.as_tuple().exponent)


def _is_mysql(module: ModuleType | None) -> bool:
    return module is not None and dialect_of(module) is MYSQL


def _as_clock(value: Any) -> Any:
    """Return a duration as MySQL writes a TIME, which may be negative, or more than a day; other values unchanged.

    Examples
    --------
    >>> _as_clock(datetime.timedelta(hours=26, microseconds=5)), _as_clock(-datetime.timedelta(minutes=1))
    ('26:00:00.000005', '-00:01:00')
    """
    if not isinstance(value, datetime.timedelta):
        return value
    sign, length = ("-", -value) if value < datetime.timedelta(0) else ("", value)
    minutes, seconds = divmod(length.days * 86_400 + length.seconds, 60)
    fraction = f".{length.microseconds:06}" if length.microseconds else ""
    return f"{sign}{minutes // 60:02}:{minutes % 60:02}:{seconds:02}{fraction}"


# Type objects of DB-API modules, which are equal to type codes, and the types of columns without values.
_TYPE_OBJECTS = {"NUMBER": FLOAT, "DATETIME": DATETIME, "ROWID": INT}
# The type code of TIME in the protocol of MySQL, whose libraries give durations.
_TIME_OF_MYSQL = 11
# Classes whose values need no conversion, by kind of column; ints that are too large are found when they are encoded.
_EXACT = {INT_KIND: {int, type(None)}, STR_KIND: {str, type(None)}, "float": {float, type(None)}}


def _fitting_values(values: Sequence[Any], kind: ColumnType, name: str, first: int, rounded: RoundedNumbers) -> Sequence[Any]:
    """Return values as plain values of a column type; ``first`` is the number of the first one's row."""
    exact = _EXACT.get(kind.kind)
    if exact is not None and set(map(type, values)) <= exact and not (kind == INT and _is_any_too_large(values)):
        return values
    return [_fitting(value, kind, name, number, rounded) for number, value in enumerate(values, first)]


def _is_any_too_large(values: Sequence[Any]) -> bool:
    present = [value for value in values if value is not None]
    return bool(present) and not (min(present) >= -(2**63) and max(present) < 2**63)


def _fitting(value: Any, kind: ColumnType, name: str, number: int, rounded: RoundedNumbers) -> Any:
    try:
        if isinstance(value, datetime.time) and kind == STR:
            return value.isoformat()
        with rounded.of(name) if may_be_rounded(value) else nullcontext():
            converted = construct_value(bytes(value) if isinstance(value, memoryview) else value, kind.kind)
        if kind.kind == INT_KIND and converted is not None and not isinstance(value, datetime.datetime) and converted != value:
            raise SchemaError(f"converted to int it would be {converted}")
        return converted
    except (SFrameError, UnicodeDecodeError) as error:
        problem = f"column {name!r}, row {number}: {visible(brief(value))} ({type(value).__name__}) is not {kind.kind}"
        hint = f"{{{name!r}: {'float' if isinstance(value, float) else 'str'}}}"
        raise SchemaError(f"{problem}: give column_type_hints={hint}, or convert it in the query") from error


# Arrow batches


def node_of_arrow(batches: Iterable[pa.RecordBatch], schema: pa.Schema, request: QueryRequest) -> tuple[PlannerNode, list[str]]:
    """Return Arrow batches as a source, and the column names; types are those of the schema, unless the user requests other types.

    Raises
    ------
    SchemaError
        If no column can hold the type of a column, or a value does not fit the type that the user requests.
    """
    names = column_names(schema.names)
    hinted = hinted_types(request.hints, names)
    types = []
    for name, field in zip(names, schema, strict=True):
        try:
            types.append(_type_of_field(field, hinted.get(name)))
        except SFrameError as error:
            raise _no_type_error(name, error) from error
    rounded = RoundedNumbers()
    node = node_from_batches(_batches_of_arrow(batches, names, types, rounded), types)
    rounded.warn(but={name for name, kind in hinted.items() if kind == FLOAT})
    return node, names


def _type_of_field(field: pa.Field, hinted: ColumnType | None) -> ColumnType:
    """Return the requested type, or the type that fits: ints for all decimals without a fraction, and strings for times of day."""
    data_type = field.type
    if pa.types.is_decimal(data_type) and data_type.scale == 0:
        return hinted or INT
    if is_numeric_of_postgresql(data_type):
        return hinted or (INT if _scale_in_postgresql(field) == 0 else FLOAT)
    if pa.types.is_time(data_type) or pa.types.is_null(data_type):
        return hinted or STR
    if hinted is not None and hinted.kind != DATETIME_KIND:
        return hinted
    natural = _list_type(arrow_column_type(data_type))
    return natural if hinted in (None, of_any_offset(natural)) else hinted


def _list_type(natural: ColumnType) -> ColumnType:
    """Return the type of lists of floats for the type of arrays, which has the same values in Arrow; other types unchanged."""
    return ColumnType(LIST_KIND, natural.physical) if natural == ARRAY else natural


def is_numeric_of_postgresql(data_type: pa.DataType) -> bool:
    """Return whether values are the texts that ADBC gives for PostgreSQL's NUMERIC, whatever its precision and scale."""
    return isinstance(data_type, pa.BaseExtensionType) and data_type.extension_name == "arrow.opaque" and "type_name=numeric" in str(data_type)


def _scale_in_postgresql(field: pa.Field) -> int | None:
    """Return the scale that PostgreSQL stores together with the precision of a NUMERIC in its modifier; None if the column has none."""
    modifier = (field.metadata or {}).get(b"POSTGRESQL:typmod", b"-1")
    return (int(modifier) - 4) & 0xFFFF if modifier.isdigit() and int(modifier) >= 4 else None


def _batches_of_arrow(
    batches: Iterable[pa.RecordBatch], names: Sequence[str], types: Sequence[ColumnType], rounded: RoundedNumbers
) -> Iterator[list[pa.Array]]:
    first = 0
    for batch in batches:
        if batch.num_rows:
            parts = []
            for values, kind, name in zip(batch.columns, types, names, strict=True):
                parts.append(_parts_of_arrow(values, kind, name, first, rounded))
            yield from (list(run.columns) for run in aligned_chunks(parts))
        first += batch.num_rows


def _parts_of_arrow(values: pa.Array, kind: ColumnType, name: str, first: int, rounded: RoundedNumbers) -> list[pa.Array]:
    with column_named(name):
        require_valid_arrow(values)
    if pa.types.is_time(values.type) and kind == STR:
        # As Python writes them, without a fraction that is zero; the end of a day, which Python and Arrow do not have, as databases write it.
        texts = pc.replace_substring_regex(values.cast(pa.string()), r"\.0+$", "")
        return [pc.replace_substring_regex(texts, "^<value out of range: 86400(0{6}|0{9})?>$", "24:00:00")]
    if pa.types.is_decimal(values.type) and kind == INT:
        try:
            return [values.cast(pa.int64())]
        except pa.ArrowInvalid:
            # Some value has a fraction, or is beyond 64 bits: the conversion of single values names it.
            return list(encode_parts(_fitting_values(values.to_pylist(), kind, name, first, rounded), kind))
    if is_numeric_of_postgresql(values.type):
        numbers = [None if text is None else decimal.Decimal(text) for text in values.cast(pa.string()).to_pylist()]
        return list(encode_parts(_fitting_values(numbers, kind, name, first, rounded), kind))
    if _list_type(arrow_column_type(values.type)) != kind:
        return list(encode_parts(_fitting_values(values.to_pylist(), kind, name, first, rounded), kind))
    warn_of_nanoseconds(values, name)
    warn_of_long_decimals([(name, values)])
    with column_named(name):
        return normalized_parts(values)[0]


# Columns of tables


def columns_of_table(node: PlannerNode, names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the name and the kind of each column, for making a table; the kind of date-times is ``ZONED`` if their values have offsets.

    Raises
    ------
    SchemaError
        If only some date-times of a column have an offset.
    """
    columns = enumerate(zip(names, node.schema, strict=True))
    return [(name, _kind_of_datetimes(node, index, name) if kind.is_zoned else kind.kind) for index, (name, kind) in columns]


def require_no_offsets(database: str, node: PlannerNode, names: Sequence[str]) -> None:
    """Raise an error if date-times have an offset, which a database does not keep.

    Raises
    ------
    SchemaError
        If date-times of a column have an offset.
    """
    for index, (name, kind) in enumerate(zip(names, node.schema, strict=True)):
        if kind.is_zoned and _has_offsets(node, index)[0]:
            raise SchemaError(f"column {name!r} has date-times with an offset, which {database} does not keep: convert them with astype(str)")


def _kind_of_datetimes(node: PlannerNode, index: int, name: str) -> str:
    some_with, some_without = _has_offsets(node, index)
    if some_with and some_without:
        raise SchemaError(
            f"column {name!r} has date-times with and without an offset, but a column of a table cannot have both: convert them with astype(str)"
        )
    return ZONED if some_with else DATETIME_KIND


def _has_offsets(node: PlannerNode, index: int) -> tuple[bool, bool]:
    """Return whether some date-times of a column have an offset, and whether some have none."""
    materialize(node)
    some_with = some_without = False
    for chunk in iterate(column_of(node, index)):
        (values,) = chunk.columns
        offsets = values.field("offset").filter(values.is_valid())
        some_with = some_with or offsets.null_count < len(offsets)
        some_without = some_without or offsets.null_count > 0
    return some_with, some_without
