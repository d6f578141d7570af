"""Truth: which values count as true, ``& | ^ ~``, and choosing between two columns by a condition.

Numbers are true unless zero, text and containers unless empty. For ``&`` and ``|`` NaN counts as missing, and a missing
operand gives missing unless the other one settles the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.errors import SchemaError
from sframe_spark.expressions.functions.base import Argument, Infer
from sframe_spark.expressions.functions.scalar_function import Compute, always_by_arrow, array_of, define_function, to_ints, unsupported
from sframe_spark.types import (
    DATETIME_KIND,
    DICT_KIND,
    FLOAT_KIND,
    LIST_KIND,
    LOGICAL,
    STR_KIND,
    ColumnType,
    common_encoding,
)
from sframe_spark.values.encode import recode
from sframe_spark.values.tagged_json import encode_value

if TYPE_CHECKING:
    from pyspark.sql import Column

_EMPTY_TEXT = {STR_KIND: "", LIST_KIND: encode_value([]), DICT_KIND: encode_value({})}


def truth_of(values: Argument, column_type: ColumnType) -> Argument:
    """Boolean truth of values, null for missing ones; NaN is true."""
    if column_type.is_numeric:
        return pc.not_equal(values, 0)
    if pa.types.is_string(values.type):
        return pc.not_equal(values, _EMPTY_TEXT[column_type.kind])
    if pa.types.is_map(values.type):
        return pc.greater(map_lengths(values), 0)
    return pc.greater(pc.list_value_length(values), 0)


def map_lengths(values: Argument) -> Argument:
    """Number of items of native dicts, null for missing ones."""
    if isinstance(values, pa.Scalar):
        return pa.scalar(len(values.as_py()) if values.is_valid else None, pa.int32())
    lengths = pc.subtract(values.offsets[1:], values.offsets[:-1])
    return pc.if_else(values.is_valid(), lengths, pa.scalar(None, pa.int32()))


def truth_column(column: Column, column_type: ColumnType) -> Column:
    """Spark column of :func:`truth_of`."""
    from pyspark.sql import functions as F

    if column_type.is_numeric:
        return column != 0
    if pa.types.is_string(column_type.physical):
        return column != _EMPTY_TEXT[column_type.kind]
    return F.when(column.isNotNull(), F.size(column) > 0)


def _has_truth(column_type: ColumnType) -> bool:
    return column_type.kind != DATETIME_KIND


def _infer_truth(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    if _has_truth(types[0]):
        return LOGICAL
    raise unsupported("truth", types)


def _compute_truth(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    return to_ints(truth_of(arguments[0], types[0]))


def _build_truth(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column | None:
    return truth_column(columns[0], types[0]).cast("bigint")


def _known_truth(values: Argument, column_type: ColumnType) -> Argument:
    """Truth with NaN as missing, for ``&`` and ``|``."""
    truth = truth_of(values, column_type)
    if column_type.kind != FLOAT_KIND:
        return truth
    return pc.if_else(pc.is_nan(values), pa.scalar(None, pa.bool_()), truth)


def _known_truth_column(column: Column, column_type: ColumnType) -> Column:
    from pyspark.sql import functions as F

    truth = truth_column(column, column_type)
    return F.when(~F.isnan(column), truth) if column_type.kind == FLOAT_KIND else truth


def _infer_connective(symbol: str) -> Infer:
    def infer(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
        if all(map(_has_truth, types)):
            return LOGICAL
        raise unsupported(symbol, types)

    return infer


def _compute_connective(combine: Callable[[Any, Any], Any]) -> Compute:
    def compute(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
        left, right = (_known_truth(a, t) for a, t in zip(arguments, types, strict=True))
        return to_ints(combine(left, right))

    return compute


def _build_connective(combine: Callable[[Column, Column], Column]) -> Callable[..., Column | None]:
    def build(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column | None:
        left, right = (_known_truth_column(c, t) for c, t in zip(columns, types, strict=True))
        return combine(left, right).cast("bigint")

    return build


def _refuse(symbol: str) -> Infer:
    """The reference has these operators but no type that they take."""

    def infer(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
        raise SchemaError(f"columns have no operator {symbol}: use comparisons with & and |; mask == 0 is true where a mask is not")

    return infer


def _compute_nothing(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    return pa.scalar(None, pa.int64())


def _infer_if_else(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    condition, first, second = types
    if not _has_truth(condition):
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
    return pc.if_else(truth, first, second)


def choose_nested(truth: pa.Array, first: pa.Array, second: pa.Array) -> pa.Array:
    """Pick whole cells, of the second of as many or of its only one: ``if_else`` has no kernel for every nested type, ``take`` has.

    Examples
    --------
    >>> choose_nested(pa.array([True, False]), pa.array([[1], [2]]), pa.array([[3]])).to_pylist()
    [[1], [3]]
    """
    if not pc.any(pc.invert(truth)).as_py():
        return first
    places = np.arange(len(first))
    others = len(first) + (places if len(second) == len(first) else 0)
    return pa.concat_arrays([first, second]).take(pa.array(np.where(truth.to_numpy(zero_copy_only=False), places, others)))


def _build_if_else(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column | None:
    from pyspark.sql import functions as F

    if types[1] != types[2]:
        return None
    return F.when(truth_column(columns[0], types[0]), columns[1]).otherwise(columns[2])


define_function("truth", _infer_truth, _compute_truth, _build_truth, by_arrow=always_by_arrow)
for _name, _symbol, _kernel, _combine in (
    ("and_", "&", pc.and_kleene, lambda a, b: a & b),
    ("or_", "|", pc.or_kleene, lambda a, b: a | b),
):
    define_function(_name, _infer_connective(_symbol), _compute_connective(_kernel), _build_connective(_combine), by_arrow=always_by_arrow)
define_function("xor", _refuse("^"), _compute_nothing)
define_function("invert", _refuse("~"), _compute_nothing)
define_function("if_else", _infer_if_else, _compute_if_else, _build_if_else, by_arrow=always_by_arrow)
