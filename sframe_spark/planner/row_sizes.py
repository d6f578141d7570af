"""Estimates of the bytes per row of each column of a node, on which memory limits are based."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from sframe_spark.planner.node_facts import Schema
from sframe_spark.types import ColumnType

# Estimated bytes per row of each column; None if unknown before the rows are computed.
Sizes = tuple[float | None, ...]
# Estimated bytes of a string that is computed from values of fixed width, such as a number converted to a string.
BYTES_OF_SHORT_TEXT = 32.0


def fixed_size(column_type: ColumnType) -> float | None:
    """Return the bytes of a value of a type; None if values of the type differ in length.

    Examples
    --------
    >>> from sframe_spark.types import INT, STR, ZONED_DATETIME
    >>> fixed_size(INT), fixed_size(ZONED_DATETIME), fixed_size(STR)
    (8.0, 12.0, None)
    """
    if column_type.is_zoned:
        return 12.0
    return 8.0 if pa.types.is_primitive(column_type.physical) else None


def copied_sizes(schema: Schema, inputs: Sequence[Sizes], schemas: Sequence[Schema]) -> Sizes:
    """Estimate the sizes of output columns from their types, and from the types and sizes of the inputs' columns.

    If the output and the first input have the same types up to the end of the shorter one, these columns count as copies, with the sizes of the first
    input's columns. If several inputs all have the same types, a copy has the size of the widest of the inputs' columns at its position.

    All other columns count as computed. The size of a column of fixed-size values follows from the type. A string is assumed to be as large as the
    widest column, of any input, whose values differ in length, and to have at least ``BYTES_OF_SHORT_TEXT``. The size of other values is unknown.

    Examples
    --------
    >>> from sframe_spark.types import INT, STR
    >>> copied_sizes((INT, STR, STR), [(8.0, 20.0), (8.0, 90.0)], [(INT, STR), (INT, STR)])
    (8.0, 90.0, 90.0)
    """
    first = schemas[0] if schemas else ()
    common = min(len(first), len(schema))
    copied = list(inputs[0][:common]) if first[:common] == schema[:common] else []
    if len(inputs) > 1 and all(other == first for other in schemas):
        copied = [widest(column) for column in zip(*inputs, strict=True)][:common] if copied else []
    text_sizes = [
        size for sizes, types in zip(inputs, schemas, strict=True) for size, type_ in zip(sizes, types, strict=True) if fixed_size(type_) is None
    ]
    other = widest([*text_sizes, BYTES_OF_SHORT_TEXT])
    rest = (fixed_size(type_) or (other if pa.types.is_string(type_.physical) and not type_.is_encoded else None) for type_ in schema[len(copied) :])
    return (*copied, *rest)


def widest(sizes: Sequence[float | None]) -> float | None:
    """Return the largest of some sizes; None if one of them is unknown."""
    known = [size for size in sizes if size is not None]
    return max(known) if len(known) == len(sizes) else None


def row_bytes(sizes: Sizes, unknown: float) -> float:
    """Return the bytes of a row; ``unknown`` is the estimate for each column of unknown size.

    Examples
    --------
    >>> row_bytes((8.0, None, 20.0), 100.0)
    128.0
    """
    return sum(unknown if size is None else size for size in sizes)
