"""Comparison: ``== != < <= > >=``, yielding the ints 0 and 1.

Equality knows missing values: missing equals missing and nothing else, and NaN equals NaN. The orderings yield missing
if a side is missing, and NaN is neither below nor above anything. Date-times compare with numbers as seconds from 1970.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.expressions.functions.base import Argument, Infer
from sframe_spark.expressions.functions.datetimes import microseconds_column
from sframe_spark.expressions.functions.scalar_function import (
    INCREASING,
    Compute,
    MonotonyOf,
    always_by_arrow,
    array_of,
    define_function,
    float_of,
    is_finite,
    to_ints,
    unsupported,
)
from sframe_spark.types import (
    ARRAY_KIND,
    DATETIME_KIND,
    DICT_KIND,
    FLOAT_KIND,
    INT_KIND,
    LOGICAL,
    STR_KIND,
    ColumnType,
)
from sframe_spark.values.cast import microseconds_of
from sframe_spark.values.datetimes import SECOND
from sframe_spark.values.equality import canonical_text

if TYPE_CHECKING:
    from pyspark.sql import Column

_SYMBOLS = {"less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">="}
_KERNELS = {"less": pc.less, "less_equal": pc.less_equal, "greater": pc.greater, "greater_equal": pc.greater_equal}


def _are_on_one_scale(types: Sequence[ColumnType]) -> bool:
    """True if the kinds have values in common: both text, or both numbers or date-times."""
    if all(column_type.kind == STR_KIND for column_type in types):
        return True
    return all(column_type.is_numeric or column_type.kind == DATETIME_KIND for column_type in types)


def _comparable(arguments: Sequence[Argument], types: Sequence[ColumnType]) -> list[Argument]:
    """Bring two arguments of one scale to one Arrow type, exact if both are of one kind."""
    kinds = {column_type.kind for column_type in types}
    if kinds == {DATETIME_KIND}:
        return [microseconds_of(a, t) for a, t in zip(arguments, types, strict=True)]
    if len(kinds) == 1:
        return list(arguments)
    return [_seconds(a, t) for a, t in zip(arguments, types, strict=True)]


def _seconds(argument: Argument, column_type: ColumnType) -> Argument:
    if column_type.kind != DATETIME_KIND:
        return float_of(argument)
    return pc.divide(microseconds_of(argument, column_type).cast(pa.float64(), safe=False), float(SECOND))


def _infer_equality(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    return LOGICAL


def _compute_equal(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    left, right = arguments
    both_missing = pc.and_(pc.is_null(left), pc.is_null(right))
    if _are_on_one_scale(types):
        first, second = _comparable(arguments, types)
        same = pc.equal(first, second)
        if pa.types.is_float64(first.type):
            same = pc.or_(same, pc.and_(pc.is_nan(first), pc.is_nan(second)))
    elif types[0].kind != types[1].kind:
        return to_ints(both_missing)
    else:
        same = _equal_nested(arguments, types, rows)
    return to_ints(pc.if_else(pc.is_null(same), both_missing, same))


def _equal_nested(arguments: Sequence[Argument], types: Sequence[ColumnType], rows: int) -> pa.Array:
    """Compare lists and dicts by their canonical text, or item by item where they have one type; in arrays NaN equals nothing."""
    columns = [array_of(argument, rows) for argument in arguments]
    if types[0] == types[1] and not types[0].is_encoded:
        same = _equal_items(columns[0], columns[1], types[0].kind == ARRAY_KIND)
        if types[0].kind != DICT_KIND:
            return same
        # Other items at the same places may be the same ones in another order.
        others = pc.equal(same, False).fill_null(False)
        texts = [canonical_text(column.filter(others), types[0]) for column in columns]
        return pc.replace_with_mask(same, others, pc.equal(*texts))
    texts = [canonical_text(column, t) for column, t in zip(columns, types, strict=True)]
    return pc.equal(*texts)


def _equal_items(left: pa.Array, right: pa.Array, is_array: bool) -> pa.Array:
    """Whether two columns of lists, or of dicts, hold equal items in the same order; missing where a row is missing."""
    offsets = [column.offsets.to_numpy(zero_copy_only=False).astype(np.int64) for column in (left, right)]
    lengths = [np.diff(places) for places in offsets]
    valid = pc.and_(left.is_valid(), right.is_valid()).to_numpy(zero_copy_only=False)
    alike = valid & (lengths[0] == lengths[1])
    counts = np.where(alike, lengths[0], 0)
    ends = np.cumsum(counts)
    within = np.arange(counts.sum()) - np.repeat(ends - counts, counts)
    places = [pa.array(np.repeat(starts[:-1], counts) + within) for starts in offsets]
    is_map = pa.types.is_map(left.type)
    sides = [(left.keys, right.keys), (left.items, right.items)] if is_map else [(left.values, right.values)]
    other = np.zeros(len(within), dtype=bool)
    for first, second in sides:
        first, second = first.take(places[0]), second.take(places[1])
        same = pc.equal(first, second).fill_null(False)
        if not is_array:
            same = pc.or_(same, pc.and_(pc.is_null(first), pc.is_null(second)))
            if pa.types.is_float64(first.type):
                same = pc.or_(same, pc.and_(pc.is_nan(first), pc.is_nan(second)).fill_null(False))
        other |= ~same.to_numpy(zero_copy_only=False)
    before = np.concatenate([[0], np.cumsum(other)])
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
        first, second = _comparable(arguments, types)
        result = _KERNELS[name](first, second)
        if name.endswith("equal") and pa.types.is_float64(first.type):
            result = pc.or_(result, pc.and_(pc.is_nan(first), pc.is_nan(second)))
        return to_ints(result)

    return compute


def _comparable_columns(columns: Sequence[Column], types: Sequence[ColumnType]) -> list[Column]:
    kinds = {column_type.kind for column_type in types}
    if kinds == {DATETIME_KIND}:
        return [microseconds_column(c, t) for c, t in zip(columns, types, strict=True)]
    if len(kinds) == 1:
        return list(columns)
    return [_seconds_column(c, t) for c, t in zip(columns, types, strict=True)]


def _seconds_column(column: Column, column_type: ColumnType) -> Column:
    if column_type.kind != DATETIME_KIND:
        return column.cast("double")
    return microseconds_column(column, column_type).cast("double") / float(SECOND)


def _build_equality(wanted: bool) -> Callable[..., Column | None]:
    def build(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column | None:
        if _are_on_one_scale(types):
            first, second = _comparable_columns(columns, types)
            same = first.eqNullSafe(second)  # for doubles, Spark's equality has NaN equal to NaN, as wanted
        elif types[0].kind != types[1].kind:
            same = columns[0].isNull() & columns[1].isNull()
        else:
            return None
        return (same if wanted else ~same).cast("bigint")

    return build


def _build_ordering(name: str) -> Callable[..., Column | None]:
    def build(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column | None:
        from pyspark.sql import functions as F

        first, second = _comparable_columns(columns, types)
        if name.startswith("greater"):
            first, second = second, first
        result = first <= second if name.endswith("equal") else first < second
        if any(t.kind == FLOAT_KIND for t in types):
            # Spark has NaN above every number; here it is neither above nor below.
            strange = F.isnan(second.cast("double"))
            if name.endswith("equal"):
                strange = strange & ~F.isnan(first.cast("double"))
            result = F.when(first.isNotNull() & second.isNotNull(), result & ~strange)
        return result.cast("bigint")

    return build


def _monotone_ordering(name: str) -> MonotonyOf:
    """A column is above a literal from some place on; of floats NaN, the last of all, is above nothing."""

    def monotone(types: Sequence[ColumnType], literals: Sequence[Any]) -> str | None:
        place = 1 if name.startswith("greater") else 0
        constant = literals[place]
        kinds = {column_type.kind for column_type in types}
        if kinds == {STR_KIND} and constant is not None:
            return INCREASING
        if types[1 - place].kind == INT_KIND and kinds <= {INT_KIND, FLOAT_KIND} and is_finite(constant):
            return INCREASING
        return None

    return monotone


define_function("equal", _infer_equality, _compute_equal, _build_equality(True), by_arrow=always_by_arrow)
define_function("not_equal", _infer_equality, _compute_not_equal, _build_equality(False), by_arrow=always_by_arrow)
for _name in _SYMBOLS:
    define_function(
        _name,
        _infer_ordering(_name),
        _compute_ordering(_name),
        _build_ordering(_name),
        _monotone_ordering(_name),
    )
