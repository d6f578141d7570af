"""The scalar functions from strings to strings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.compute.spark_columns import Column, F
from sframe_spark.errors import InvalidArgumentError, SchemaError, TooLargeError
from sframe_spark.expressions.functions.scalar_function import Argument, array_of, define_function
from sframe_spark.types import STR, STR_KIND, ColumnType
from sframe_spark.values.invalid_unicode_errors import require_unicode_values

# In Arrow and Spark the number of bytes of a string is a 32-bit int.
MAX_BYTES = 2**31 - 1
_KERNELS = {"left": pc.utf8_lpad, "right": pc.utf8_rpad, "both": pc.utf8_center}


def _infer_pad(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Return the type of the result. Parameters: the width in characters, the side on which fill characters are added, and the fill character."""
    width, side, fill = parameters
    if types[0].kind != STR_KIND:
        raise SchemaError(f"values of {types[0].kind} are not padded: convert them with astype(str) first")
    if type(width) is not int or width > MAX_BYTES:
        raise InvalidArgumentError(f"the width of padded texts is an int up to {MAX_BYTES:,}, not {width!r:.60}")
    if not isinstance(side, str) or side not in _KERNELS:
        raise InvalidArgumentError(f"texts are padded on the side 'left', 'right' or 'both', not {side!r:.60}")
    if not isinstance(fill, str) or len(fill) != 1:
        raise InvalidArgumentError(f"texts are padded with one character, not with {fill!r:.60}")
    require_unicode_values([fill])
    return STR


def _compute_pad(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> pa.Array:
    width, side, fill = max(parameters[0], 0), *parameters[1:]
    values = array_of(arguments[0], rows)
    added = pc.max_element_wise(pc.subtract(width, pc.utf8_length(values).cast(pa.int64())), 0)
    total = pc.sum(added, min_count=0).as_py() * len(fill.encode()) + pc.sum(pc.binary_length(values), min_count=0).as_py()
    if total > MAX_BYTES:
        raise TooLargeError(f"{rows:,} texts of {width:,} characters are too long for one batch: take a smaller width, or lower config.batch_rows")
    # As in str.center, if an odd number of characters is added, the additional one goes to the left if the width is odd.
    options = {"lean_left_on_odd_padding": width % 2 == 0} if side == "both" else {}
    return _KERNELS[side](values, width, fill, **options)


def _build_pad(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column:
    width, side, fill = max(parameters[0], 0), *parameters[1:]
    text = columns[0]
    # Repetition by a negative number gives an empty string. Spark's own lpad and rpad would cut longer strings.
    added = F.lit(width) - F.length(text)
    # As in str.center, if an odd number of characters is added, the additional one goes to the left if the width is odd.
    before = {"left": added, "right": F.lit(0), "both": F.floor((added + width % 2) / 2).cast("int")}[side]
    # By its name: in PySpark 3.5 the function `repeat` takes one number for all rows.
    return F.concat(F.call_function("repeat", F.lit(fill), before), text, F.call_function("repeat", F.lit(fill), added - before))


define_function("str_pad", _infer_pad, _compute_pad, _build_pad)
