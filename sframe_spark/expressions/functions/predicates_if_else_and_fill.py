"""Predicates, whose results are the ints 0 and 1: comparison, truth, ``&`` and ``|``, and tests for missing values; and the functions that choose
between values: ``if_else`` by a condition, and filling missing values by a constant or another column.

In ``==`` and ``!=`` a missing value equals missing values only, and NaN equals NaN. ``< <= > >=`` yield missing if a side is missing, and NaN is
neither below nor above any number; ``NaN <= NaN`` and ``NaN >= NaN`` are true. Date-times are compared with numbers as seconds since 1970.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.errors import FillValueError, SchemaError, SFrameError
from sframe_spark.expressions.functions.datetimes import microseconds_column
from sframe_spark.expressions.functions.scalar_function import (
    INCREASING,
    Argument,
    Compute,
    Infer,
    MonotonyOf,
    always_by_arrow,
    array_of,
    define_function,
    float_of,
    is_finite,
    to_ints,
    unsupported,
)
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.message_text import brief
from sframe_spark.pyarrow_versions import if_else, replace_with_mask
from sframe_spark.types import (
    ARRAY_KIND,
    DATETIME_KIND,
    DICT_KIND,
    FLOAT_KIND,
    IMAGE,
    INT,
    INT_KIND,
    LIST_KIND,
    LOGICAL,
    NDARRAY,
    NDARRAY_KIND,
    STR_KIND,
    ColumnType,
    common_encoding,
)
from sframe_spark.values.column_cast import microseconds_of
from sframe_spark.values.datetimes import SECOND
from sframe_spark.values.image_columns import SIZES, bytes_of
from sframe_spark.values.ndarrays import numbers_of, shapes_of
from sframe_spark.values.plain_values import plain
from sframe_spark.values.python_to_arrow import encode, encoding_for, recode
from sframe_spark.values.tagged_json_display_and_canonical_text import encode_value

with lazy_imports(globals()):
    from sframe_spark.compute.spark_columns import Column, F, literal_column
    from sframe_spark.values.column_cast import canonical_text
    from sframe_spark.values.single_value_conversion import construct_value

_SYMBOLS = {"less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">="}
_KERNELS = {"less": pc.less, "less_equal": pc.less_equal, "greater": pc.greater, "greater_equal": pc.greater_equal}


def _are_on_one_scale(types: Sequence[ColumnType]) -> bool:
    """Return whether values of the types have a common order: all are strings, or all are numbers or date-times."""
    if all(column_type.kind == STR_KIND for column_type in types):
        return True
    return all(column_type.is_number_or_datetime for column_type in types)


Conversion = Callable[[Any, ColumnType], Any]


def _comparable(values: Sequence[Any], types: Sequence[ColumnType], microseconds: Conversion, seconds: Conversion) -> Sequence[Any]:
    """Convert two comparable arguments, or Spark columns, to one type.

    Two date-times are converted by ``microseconds``, which is exact, and arguments of two kinds by ``seconds``. Two ints, two floats or two strings
    are returned unchanged.
    """
    kinds = {column_type.kind for column_type in types}
    if len(kinds) == 1 and DATETIME_KIND not in kinds:
        return values
    convert = microseconds if len(kinds) == 1 else seconds
    return [convert(value, column_type) for value, column_type in zip(values, types, strict=True)]


def _seconds(argument: Argument, column_type: ColumnType) -> Argument:
    if column_type.kind != DATETIME_KIND:
        return float_of(argument)
    return pc.divide(microseconds_of(argument, column_type).cast(pa.float64(), safe=False), float(SECOND))


def _infer_logical(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    return LOGICAL


def _compute_equal(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    left, right = arguments
    both_missing = pc.and_(pc.is_null(left), pc.is_null(right))
    if _are_on_one_scale(types):
        first, second = _comparable(arguments, types, microseconds_of, _seconds)
        same = pc.equal(first, second)
        if pa.types.is_float64(first.type):
            same = pc.or_(same, pc.and_(pc.is_nan(first), pc.is_nan(second)))
    elif types[0].kind != types[1].kind:
        return to_ints(both_missing)
    else:
        same = _equal_nested(arguments, types, rows)
    return to_ints(if_else(pc.is_null(same), both_missing, same))


def _equal_nested(arguments: Sequence[Argument], types: Sequence[ColumnType], rows: int) -> pa.Array:
    """Return, for each row, whether two lists, dicts, arrays or images are equal.

    If both columns have the same native type, their items are compared, otherwise their canonical strings. In arrays NaN does not equal NaN.
    """
    columns = [array_of(argument, rows) for argument in arguments]
    if types[0] == NDARRAY:
        first, second = columns
        return pc.and_(*(_equal_items(part_of(first), part_of(second), True) for part_of in (shapes_of, numbers_of)))
    if types[0] == IMAGE:
        same = pc.equal(*map(bytes_of, columns))
        for name in ("format", *SIZES):
            same = pc.and_(same, pc.equal(*(pc.struct_field(column, name) for column in columns)))
        return same
    if types[0] == types[1] and not types[0].is_encoded:
        same = _equal_items(columns[0], columns[1], types[0].kind == ARRAY_KIND)
        if types[0].kind != DICT_KIND:
            return same
        # Dicts that differ item by item may have the same items in a different order.
        unequal = pc.equal(same, False).fill_null(False)
        texts = [canonical_text(column.filter(unequal), types[0]) for column in columns]
        return replace_with_mask(same, unequal, pc.equal(*texts))
    texts = [canonical_text(column, t) for column, t in zip(columns, types, strict=True)]
    return pc.equal(*texts)


def _equal_items(left: pa.Array, right: pa.Array, is_array: bool) -> pa.Array:
    """Return, for each row, whether two lists, arrays or dicts have equal items in the same order; missing if one of the two is missing."""
    offsets = [column.offsets.to_numpy(zero_copy_only=False).astype(np.int64) for column in (left, right)]
    lengths = [np.diff(bounds) for bounds in offsets]
    valid = pc.and_(left.is_valid(), right.is_valid()).to_numpy(zero_copy_only=False)
    alike = valid & (lengths[0] == lengths[1])
    counts = np.where(alike, lengths[0], 0)
    ends = np.cumsum(counts)
    within = np.arange(counts.sum()) - np.repeat(ends - counts, counts)
    indices = [pa.array(np.repeat(bounds[:-1], counts) + within) for bounds in offsets]
    is_map = pa.types.is_map(left.type)
    sides = [(left.keys, right.keys), (left.items, right.items)] if is_map else [(left.values, right.values)]
    differ = np.zeros(len(within), dtype=bool)
    for first, second in sides:
        first, second = first.take(indices[0]), second.take(indices[1])
        same = pc.equal(first, second).fill_null(False)
        if not is_array:
            same = pc.or_(same, pc.and_(pc.is_null(first), pc.is_null(second)))
            if pa.types.is_float64(first.type):
                same = pc.or_(same, pc.and_(pc.is_nan(first), pc.is_nan(second)).fill_null(False))
        differ |= ~same.to_numpy(zero_copy_only=False)
    before = np.concatenate([[0], np.cumsum(differ)])
    return pa.array(alike & (before[ends] == before[ends - counts]), mask=~valid)


def _compute_not_equal(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    return pc.subtract(1, _compute_equal(arguments, types, parameters, rows))


def _infer_ordering(name: str) -> Infer:
    def infer(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
        if _are_on_one_scale(types):
            return LOGICAL
        raise unsupported(_SYMBOLS[name], types)

    return infer


def _compute_ordering(name: str) -> Compute:
    def compute(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
        first, second = _comparable(arguments, types, microseconds_of, _seconds)
        result = _KERNELS[name](first, second)
        if name.endswith("equal") and pa.types.is_float64(first.type):
            result = pc.or_(result, pc.and_(pc.is_nan(first), pc.is_nan(second)))
        return to_ints(result)

    return compute


def _seconds_column(column: Column, column_type: ColumnType) -> Column:
    if column_type.kind != DATETIME_KIND:
        return column.cast("double")
    return microseconds_column(column, column_type).cast("double") / float(SECOND)


def _build_equality(is_equal: bool) -> Callable[..., Column | None]:
    def build(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column | None:
        if _are_on_one_scale(types):
            first, second = _comparable(columns, types, microseconds_column, _seconds_column)
            same = first.eqNullSafe(second)  # in Spark NaN equals NaN for doubles, as here
        elif types[0].kind != types[1].kind:
            same = columns[0].isNull() & columns[1].isNull()
        else:
            return None
        return (same if is_equal else ~same).cast("bigint")

    return build


def _build_ordering(name: str) -> Callable[..., Column | None]:
    def build(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column | None:
        first, second = _comparable(columns, types, microseconds_column, _seconds_column)
        if name.startswith("greater"):
            first, second = second, first
        result = first <= second if name.endswith("equal") else first < second
        if any(t.kind == FLOAT_KIND for t in types):
            # In Spark NaN is larger than every number; here it is neither larger nor smaller.
            is_above_nothing = F.isnan(second.cast("double"))
            if name.endswith("equal"):
                is_above_nothing = is_above_nothing & ~F.isnan(first.cast("double"))
            result = F.when(first.isNotNull() & second.isNotNull(), result & ~is_above_nothing)
        return result.cast("bigint")

    return build


def _monotone_ordering(name: str) -> MonotonyOf:
    """Return the ``monotone`` of a comparison of a column with a literal.

    It is increasing if the column has ints or strings, and larger values can only make the comparison true (``column > literal``,
    ``literal < column``). Float columns are left out: NaN sorts last in them, but is not larger than any number.
    """

    def monotone(types: Sequence[ColumnType], literals: Sequence[Any]) -> str | None:
        side = 1 if name.startswith("greater") else 0
        constant = literals[side]
        kinds = {column_type.kind for column_type in types}
        if kinds == {STR_KIND}:
            return None if constant is None else INCREASING
        compares_ints = types[1 - side].kind == INT_KIND and kinds <= {INT_KIND, FLOAT_KIND} and is_finite(constant)
        return INCREASING if compares_ints else None

    return monotone


define_function("equal", _infer_logical, _compute_equal, _build_equality(True), by_arrow=always_by_arrow)
define_function("not_equal", _infer_logical, _compute_not_equal, _build_equality(False), by_arrow=always_by_arrow)
for _name in _SYMBOLS:
    define_function(
        _name,
        _infer_ordering(_name),
        _compute_ordering(_name),
        _build_ordering(_name),
        _monotone_ordering(_name),
    )


# Truth: which values count as true, ``& | ^ ~``, and choosing between two columns by a condition.

_EMPTY_TEXT = {STR_KIND: "", LIST_KIND: encode_value([]), DICT_KIND: encode_value({})}


def truth_of(values: Argument, column_type: ColumnType) -> Argument:
    """Return the truth of values as booleans, null for missing values; NaN is true, and so are images with any bytes."""
    if column_type.is_numeric:
        return pc.not_equal(values, 0)
    if column_type == IMAGE:
        return pc.greater(pc.binary_length(bytes_of(values)), 0)
    if pa.types.is_string(values.type):
        return pc.not_equal(values, _EMPTY_TEXT[column_type.kind])
    if pa.types.is_map(values.type):
        return pc.greater(map_lengths(values), 0)
    return pc.greater(pc.list_value_length(values), 0)


def map_lengths(values: Argument) -> Argument:
    """Return the number of items of native dicts, null for missing dicts."""
    if isinstance(values, pa.Scalar):
        return pa.scalar(len(values.as_py()) if values.is_valid else None, pa.int32())
    lengths = pc.subtract(values.offsets[1:], values.offsets[:-1])
    return if_else(values.is_valid(), lengths, pa.scalar(None, pa.int32()))


def truth_column(column: Column, column_type: ColumnType) -> Column:
    """Return a Spark column that does the same as :func:`truth_of`."""
    if column_type.is_numeric:
        return column != 0
    if column_type == IMAGE:
        return F.length(column["bytes"]) > 0
    if pa.types.is_string(column_type.physical):
        return column != _EMPTY_TEXT[column_type.kind]
    return F.when(column.isNotNull(), F.size(column) > 0)


def _infer_truth(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    if not types[0].has_truth:
        raise unsupported("truth", types)
    return LOGICAL


def _compute_truth(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    return to_ints(truth_of(arguments[0], types[0]))


def _build_truth(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column | None:
    return truth_column(columns[0], types[0]).cast("bigint")


def _truth_without_nan(values: Argument, column_type: ColumnType) -> Argument:
    """Return the truth of values for ``&`` and ``|``, which count NaN as missing."""
    truth = truth_of(values, column_type)
    return if_else(pc.is_nan(values), pa.scalar(None, pa.bool_()), truth) if column_type.kind == FLOAT_KIND else truth


def _truth_column_without_nan(column: Column, column_type: ColumnType) -> Column:
    truth = truth_column(column, column_type)
    return F.when(~F.isnan(column), truth) if column_type.kind == FLOAT_KIND else truth


def _infer_connective(symbol: str) -> Infer:
    def infer(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
        if not all(column_type.has_truth for column_type in types):
            raise unsupported(symbol, types)
        return LOGICAL

    return infer


def _compute_connective(combine: Callable[[Any, Any], Any]) -> Compute:
    def compute(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
        left, right = (_truth_without_nan(a, t) for a, t in zip(arguments, types, strict=True))
        return to_ints(combine(left, right))

    return compute


def _build_connective(combine: Callable[[Column, Column], Column]) -> Callable[..., Column | None]:
    def build(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column | None:
        left, right = (_truth_column_without_nan(c, t) for c, t in zip(columns, types, strict=True))
        return combine(left, right).cast("bigint")

    return build


def _refuse(symbol: str) -> Infer:
    """Return an ``infer`` that always raises: Turi Create's SArray has these operators, but supports them for no type."""

    def infer(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
        raise SchemaError(f"columns have no operator {symbol}: use comparisons with & and |; mask == 0 is true where a mask is not")

    return infer


def _compute_nothing(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    return pa.scalar(None, pa.int64())


def _infer_if_else(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    condition, first, second = types
    if not condition.has_truth:
        raise unsupported("a condition", [condition])
    if first.kind != second.kind:
        raise unsupported("a choice", [first, second])
    return common_encoding(first, second)


def _compute_if_else(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    result = _infer_if_else(types, parameters)
    truth = truth_of(array_of(arguments[0], rows), types[0]).fill_null(False)
    first, second = (recode(array_of(a, rows), t, result) for a, t in zip(arguments[1:], types[1:], strict=True))
    if pa.types.is_nested(result.physical):
        return choose_nested(truth, first, second)
    return if_else(truth, first, second)


def choose_nested(truth: pa.Array, first: pa.Array, second: pa.Array) -> pa.Array:
    """Return, for each row, the nested value of ``first`` if ``truth`` is true, otherwise of ``second``, which may have one value for all rows.

    ``if_else`` of Arrow lacks kernels for some nested types.

    Examples
    --------
    >>> choose_nested(pa.array([True, False]), pa.array([[1], [2]]), pa.array([[3]])).to_pylist()
    [[1], [3]]
    """
    if not pc.any(pc.invert(truth)).as_py():
        return first
    rows = np.arange(len(first))
    from_second = len(first) + (rows if len(second) == len(first) else 0)
    return pa.concat_arrays([first, second]).take(pa.array(np.where(truth.to_numpy(zero_copy_only=False), rows, from_second)))


def _build_if_else(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column | None:
    if types[1] != types[2]:
        return None
    return F.when(truth_column(columns[0], types[0]), columns[1]).otherwise(columns[2])


define_function("truth", _infer_truth, _compute_truth, _build_truth, by_arrow=always_by_arrow)
for _logic_name, _symbol, _kernel, _combine in (
    ("and_", "&", pc.and_kleene, lambda a, b: a & b),
    ("or_", "|", pc.or_kleene, lambda a, b: a | b),
):
    define_function(_logic_name, _infer_connective(_symbol), _compute_connective(_kernel), _build_connective(_combine), by_arrow=always_by_arrow)
define_function("xor", _refuse("^"), _compute_nothing)
define_function("invert", _refuse("~"), _compute_nothing)
define_function("if_else", _infer_if_else, _compute_if_else, _build_if_else, by_arrow=always_by_arrow)


# Missing values: None in every type, and NaN in float columns.


def _is_missing(values: Argument, column_type: ColumnType) -> Argument:
    return pc.is_null(values, nan_is_null=column_type.kind == FLOAT_KIND)


def is_missing_column(column: Column, column_type: ColumnType) -> Column:
    """Return the Spark condition for a missing value: null, or NaN in a float column."""
    return column.isNull() | F.isnan(column) if column_type.kind == FLOAT_KIND else column.isNull()


def _compute_is_missing(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    return to_ints(_is_missing(arguments[0], types[0]))


def _compute_is_not_missing(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    return to_ints(pc.invert(_is_missing(arguments[0], types[0])))


def _build_is_missing(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column | None:
    return is_missing_column(columns[0], types[0]).cast("bigint")


def _build_is_not_missing(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column | None:
    return (~is_missing_column(columns[0], types[0])).cast("bigint")


def _fill_value(column_type: ColumnType, value: Any) -> Any:
    """Convert the fill value to the column's kind: numbers and datetimes convert into each other, and any value to a string."""
    try:
        # plain() would make a float of an int beyond 64 bits.
        value = value if column_type == INT and isinstance(value, int) else plain(value)
        if value is None and column_type.kind != STR_KIND:
            raise SchemaError("the fill value must not be None: pass a value")
        if isinstance(value, list) and column_type.kind in (ARRAY_KIND, NDARRAY_KIND):
            raise SchemaError("the numbers of an empty array have no type: pass an array.array")
        return construct_value(value, column_type.kind)
    except SFrameError as error:
        raise FillValueError(f"missing values of a column of {column_type.kind} cannot be filled with {brief(value)}: {error}") from error


def _fill_type(column_type: ColumnType, value: Any) -> ColumnType:
    """Return the type of the fill value; for None, and for an empty value in a list or array column, the column's own type."""
    if value is None or (column_type.kind in (LIST_KIND, ARRAY_KIND) and not value):
        return column_type
    return encoding_for([value], column_type)


def _infer_fill(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    value = _fill_value(types[0], parameters[0])
    result = common_encoding(types[0], _fill_type(types[0], value))
    return result if isinstance(value, int) and value in (0, 1) else result.of_values


def _compute_fill(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    result = _infer_fill(types, parameters)
    values = recode(array_of(arguments[0], rows), types[0], result)
    fill = encode([_fill_value(types[0], parameters[0])], result)
    return _pick(values, fill, types[0])


def _pick(values: pa.Array, fill: pa.Array, column_type: ColumnType) -> pa.Array:
    """Return the values, but in rows where they are missing the value of ``fill``, which has one value for each row, or one for all rows."""
    present = pc.invert(_is_missing(values, column_type))
    if pa.types.is_nested(values.type):
        return choose_nested(present, values, fill)
    return if_else(present, values, fill if len(fill) == len(values) else fill[0])


def _build_fill(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column | None:
    if _infer_fill(types, parameters) != types[0] or pa.types.is_map(types[0].physical):
        return None
    fill = literal_column(_fill_value(types[0], parameters[0]), types[0])
    return F.when(is_missing_column(columns[0], types[0]), fill).otherwise(columns[0])


def _infer_coalesce(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    if types[0].kind != types[1].kind:
        raise unsupported("a choice", types)
    return common_encoding(types[0], types[1])


def _compute_coalesce(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    result = _infer_coalesce(types, parameters)
    first, second = (recode(array_of(a, rows), t, result) for a, t in zip(arguments, types, strict=True))
    return _pick(first, second, types[0])


def _build_coalesce(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column | None:
    if types[0] != types[1]:
        return None
    return F.when(is_missing_column(columns[0], types[0]), columns[1]).otherwise(columns[0])


define_function("is_missing", _infer_logical, _compute_is_missing, _build_is_missing, by_arrow=always_by_arrow)
define_function("is_not_missing", _infer_logical, _compute_is_not_missing, _build_is_not_missing, by_arrow=always_by_arrow)
define_function("fill_missing", _infer_fill, _compute_fill, _build_fill, by_arrow=always_by_arrow)
define_function("coalesce", _infer_coalesce, _compute_coalesce, _build_coalesce, by_arrow=always_by_arrow)
