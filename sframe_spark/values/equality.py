"""Equality of values: strings that are the same for equal lists and dicts, and comparison of results up to rounding."""

from __future__ import annotations

import array
import datetime
import math
from typing import Any

import pyarrow as pa

from sframe_spark.types import ARRAY_KIND, DICT_KIND, LIST_KIND, ColumnType
from sframe_spark.values.decode import decode
from sframe_spark.values.nested.text_writer import CANONICAL, written
from sframe_spark.values.tagged_json import canonical_value


def canonical_text(values: pa.Array, column_type: ColumnType) -> pa.Array:
    """Return a string for each value that is the same for equal values, whatever their encoding, the order of dicts, and int or float.

    Examples
    --------
    >>> from sframe_spark.types import ENCODED_LIST, INT, list_of
    >>> native = canonical_text(pa.array([[1, None]]), list_of(INT))
    >>> native == canonical_text(pa.array(["[1.0,null]"]), ENCODED_LIST)
    True
    """
    texts = written(values, column_type, CANONICAL) if column_type.kind in (LIST_KIND, ARRAY_KIND, DICT_KIND) else None
    if texts is not None:
        return texts
    cells = decode(values, column_type)
    return pa.array([None if cell is None else canonical_value(cell) for cell in cells], pa.string())


# Spark adds floats in any order, which changes the last digits of a sum; if terms cancel out, only these digits are left.
TOLERANCE = 1e-9


def agree(found: Any, expected: Any) -> bool:
    """Return whether two values have the same class and are equal.

    Floats may differ by a small tolerance, NaN equals NaN, and datetimes must have the same offset.

    Examples
    --------
    >>> agree(0.1 + 0.2, 0.3), agree(float("nan"), float("nan")), agree(-0.0, 0.0), agree(None, None)
    (True, True, True, True)
    >>> agree(1, 1.0), agree(None, float("nan")), agree([1.0, 2.0], [1.0]), agree(2**60, 2**60 + 1)
    (False, False, False, False)
    """
    if type(found) is not type(expected):
        return False
    if isinstance(found, float):
        if math.isnan(found) or math.isnan(expected):
            return math.isnan(found) and math.isnan(expected)
        return math.isclose(found, expected, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    if isinstance(found, datetime.datetime):
        return found.utcoffset() == expected.utcoffset() and found == expected
    if isinstance(found, (list, tuple, array.array)):
        return len(found) == len(expected) and all(map(agree, found, expected))
    if isinstance(found, dict):
        return found.keys() == expected.keys() and all(agree(value, expected[key]) for key, value in found.items())
    return bool(found == expected)
