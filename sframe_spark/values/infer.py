"""Finds the column type that fits Python values, or a dtype that a user asked for."""

from __future__ import annotations

import datetime
import math
import numbers
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from sframe_spark.errors import MixedTypesError
from sframe_spark.message_text import brief
from sframe_spark.types import (
    ARRAY,
    ARRAY_KIND,
    DATETIME,
    DATETIME_KIND,
    DICT_KIND,
    ENCODED_DICT,
    ENCODED_LIST,
    FLOAT,
    FLOAT_KIND,
    INT,
    INT_KIND,
    LIST_KIND,
    STR,
    STR_KIND,
    ZONED_DATETIME,
    ColumnType,
    dict_of,
    list_of,
    type_of_class,
)
from sframe_spark.values.from_arrow import arrow_column_type
from sframe_spark.values.input_values import simplify
from sframe_spark.values.value_model import LARGEST_INT, MISSING, NUMBERS, SMALLEST_INT, families_of, family_of, require_items

_SEQUENCES = frozenset({LIST_KIND, ARRAY_KIND})
# Unsigned ints that fit signed ints have been converted to signed ints before.
_NUMPY_TYPES = {"i": INT, "u": FLOAT, "f": FLOAT, "M": ZONED_DATETIME}
_ELEMENT_TYPES = {INT_KIND: INT, FLOAT_KIND: FLOAT, STR_KIND: STR}
_REQUESTED_CLASSES: tuple[tuple[tuple[type, ...], ColumnType], ...] = (
    ((numbers.Integral, np.bool_), INT),
    ((numbers.Real,), FLOAT),
    ((str, bytes), STR),
    ((datetime.date, np.datetime64), DATETIME),
    ((set, frozenset, range), ENCODED_LIST),
    ((np.ndarray,), ARRAY),
)


def column_type_for(dtype: Any) -> ColumnType:
    """Return the column type for a class or dtype that a user asked for.

    Besides the classes of columns, it may be a class of numpy, ``bytes``, ``date``, ``set``, ``frozenset``, ``range``, or a subclass. A dtype of
    numpy or pandas counts as the class of its values.

    Raises
    ------
    TypeError
        If no column can hold values of the class.

    Examples
    --------
    >>> [str(column_type_for(kind)) for kind in (np.int32, np.dtype("float32"), bytes, np.datetime64)]
    ['int', 'float', 'str', 'datetime']
    """
    if isinstance(dtype, type):
        for classes, column_type in _REQUESTED_CLASSES:
            if issubclass(dtype, classes):
                return column_type
    values = getattr(dtype, "type", None)
    if isinstance(values, type) and (isinstance(dtype, np.dtype) or hasattr(dtype, "construct_from_string")):
        return column_type_for(values)
    return type_of_class(dtype)


def infer_type(values: Any, of_rows: bool = True) -> ColumnType:
    """Return the column type that fits some values.

    Ints together with floats make a float column; sequences of numbers make an array column, and other sequences a list column. If all values are
    missing, the column is float. A numpy ``datetime64`` counts as UTC.

    Parameters
    ----------
    values
        The values.
    of_rows
        Whether the index of a value is its row number, so that error messages can name rows.

    Raises
    ------
    MixedTypesError
        If the values have no common type.
    SchemaError
        If no column can hold one of the values.

    Examples
    --------
    >>> str(infer_type([1, None, 2.5])), str(infer_type([["a"], []]))
    ('float', 'list:list<item: string>')
    """
    source = simplify(values)
    if isinstance(source, (pa.Array, pa.ChunkedArray)):
        return arrow_column_type(source.type)
    if isinstance(source, np.ndarray):
        return _NUMPY_TYPES[source.dtype.kind]
    if not source and isinstance(values, np.ndarray) and values.dtype.kind in "US":
        return STR
    return _type_of_list(source, of_rows)


def encoding_for(values: Any, column_type: ColumnType) -> ColumnType:
    """Return the column type of the same kind as ``column_type`` that fits some values best.

    For instance ``dtype=list`` only asks for lists: the values decide whether the lists can be native or must be encoded. They also decide whether
    datetimes have an offset.

    Examples
    --------
    >>> str(encoding_for([[1, 2]], ENCODED_LIST))
    'list:list<item: int64>'
    """
    source = simplify(values)
    if column_type.kind not in (LIST_KIND, DICT_KIND, DATETIME_KIND):
        return column_type
    if not isinstance(source, list):
        natural = infer_type(source)
        return natural if natural.kind == column_type.kind else column_type
    families = families_of(source)
    if column_type.kind == LIST_KIND and families and families <= _SEQUENCES:
        return _list_type(source)
    if families == {column_type.kind}:
        return _type_of_list(source)
    return column_type


def _type_of_list(values: Sequence[Any], of_rows: bool = True) -> ColumnType:
    families = families_of(values)
    if not families:
        return FLOAT
    if families == {INT_KIND}:
        return INT if _fits_int(values) else FLOAT
    if families <= NUMBERS:
        return FLOAT
    if families == {STR_KIND}:
        return STR
    if families == {DATETIME_KIND}:
        return ZONED_DATETIME if any(map(_has_offset, values)) else DATETIME
    if families == {DICT_KIND}:
        return _dict_type(values)
    if families <= _SEQUENCES:
        return _sequence_type(values)
    raise MixedTypesError(_mixture_message(values, of_rows))


def _mixture_message(values: Sequence[Any], of_rows: bool) -> str:
    examples: dict[str, str] = {}
    for position, value in enumerate(values):
        family = family_of(type(value))
        if value is not None and family not in examples:
            examples[family] = (f"row {position} holds " if of_rows else "") + f"{brief(value, 40)} ({family})"
    message = f"the values have no common type: {', '.join(examples.values())}"
    # Other libraries use NaN for missing values, so lists from them often have NaN among other values.
    has_nan = any(isinstance(value, float) and math.isnan(value) for value in values)
    return f"{message}; NaN is a number, None stands for what is missing" if has_nan else message


def _fits_int(values: Iterable[Any]) -> bool:
    """Return whether every int fits in 64 bits; Arrow is tried first, as it is faster than a loop in Python."""
    try:
        pa.array(values, pa.int64())
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, TypeError):
        return all(SMALLEST_INT <= int(value) <= LARGEST_INT for value in values if family_of(type(value)) == INT_KIND)
    return True


def _has_offset(value: Any) -> bool:
    return isinstance(value, np.datetime64) or getattr(value, "tzinfo", None) is not None


def _cells(values: Iterable[Any]) -> list[Any]:
    return [value for value in values if family_of(type(value)) != MISSING]


def _sequence_type(values: Sequence[Any]) -> ColumnType:
    """Return the array type if all elements of all cells are numbers, and there is an element or an array cell; otherwise a list type."""
    cells = _cells(values)
    if np.ndarray in set(map(type, cells)):
        for cell in cells:
            require_items(cell)
    element_classes = set(map(type, chain.from_iterable(cells)))
    if not {family_of(python_class) for python_class in element_classes} <= NUMBERS:
        return _list_type(values)
    if element_classes or any(family_of(type(cell)) == ARRAY_KIND for cell in cells):
        return ARRAY
    return ENCODED_LIST


def _list_type(values: Sequence[Any]) -> ColumnType:
    cells = _cells(values)
    families = families_of(chain.from_iterable(cells))
    if any(family_of(type(cell)) == ARRAY_KIND for cell in cells):
        # The elements of an array cell are floats, whatever its type code.
        if families <= {FLOAT_KIND} or all(family_of(type(cell)) == ARRAY_KIND for cell in cells):
            return list_of(FLOAT)
        return ENCODED_LIST
    element = _element_type(families, lambda: chain.from_iterable(cells))
    return ENCODED_LIST if element is None else list_of(element)


def _dict_type(values: Sequence[Any]) -> ColumnType:
    cells = _cells(values)
    # There is no native form for a missing key, nor for dicts without any key.
    classes = set(map(type, chain.from_iterable(cells)))
    if type(None) in classes:
        return ENCODED_DICT
    key = _element_type(families_of(chain.from_iterable(cells)), lambda: chain.from_iterable(cells))
    items = _element_type(
        families_of(chain.from_iterable(cell.values() for cell in cells)),
        lambda: chain.from_iterable(cell.values() for cell in cells),
    )
    return ENCODED_DICT if key is None or items is None else dict_of(key, items)


def _element_type(families: set[str], elements: Any) -> ColumnType | None:
    """Return the native type that all elements have (int, float or str), or None if there is none."""
    if len(families) != 1:
        return None
    element = _ELEMENT_TYPES.get(next(iter(families)))
    if element is INT and not _fits_int(list(elements())):
        return None
    return element
