"""Finds the column type that fits Python values, and converts the values to Arrow arrays (inverse: :mod:`~sframe_spark.values.arrow_to_python`)."""

from __future__ import annotations

import array
import datetime
import math
import numbers
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from sframe_spark import types
from sframe_spark.errors import MixedTypesError, SchemaError, SFrameError
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.message_text import brief
from sframe_spark.types import ColumnType
from sframe_spark.values.arrays_without_pandas import array_without_pandas
from sframe_spark.values.arrow_layouts import in_one_array, maps_of_dicts, parts_of
from sframe_spark.values.arrow_to_python import decode
from sframe_spark.values.input_copying_simplification_and_validation import simplify
from sframe_spark.values.plain_values import (
    LARGEST_INT,
    MISSING,
    NUMBERS,
    SMALLEST_INT,
    families_of,
    family_of,
    family_of_value,
    float_of_number,
    have_long_doubles,
    plain_array,
    plain_dict,
    plain_list,
    plain_number,
    plain_text,
    require_items,
)
from sframe_spark.values.struct_kinds import STRUCT_KINDS
from sframe_spark.values.tagged_json_display_and_canonical_text import encode_value

with lazy_imports(globals()):
    import pyarrow.compute as pc

    from sframe_spark.values import arrow_to_column_types
    from sframe_spark.values.arrow_to_column_types import arrow_column_type, list_from_lengths, normalize, normalized_parts, zoned_array
    from sframe_spark.values.datetimes import to_datetime, to_microseconds
    from sframe_spark.values.nested.json_item_splitting_and_joining import flat_items, stored_lists
    from sframe_spark.values.nested.python_and_tagged_json import stored_cells
    from sframe_spark.values.single_value_conversion import construct_value

# The column type that fits Python values, or a dtype that a user asked for.

_SEQUENCES = frozenset({types.LIST_KIND, types.ARRAY_KIND})
_NDARRAYS = frozenset({types.ARRAY_KIND, types.NDARRAY_KIND})
# Unsigned ints that fit signed ints have been converted to signed ints before.
_NUMPY_TYPES = {"i": types.INT, "u": types.FLOAT, "f": types.FLOAT, "M": types.ZONED_DATETIME}
_ELEMENT_TYPES = {types.INT_KIND: types.INT, types.FLOAT_KIND: types.FLOAT, types.STR_KIND: types.STR}
_REQUESTED_CLASSES: tuple[tuple[tuple[type, ...], ColumnType], ...] = (
    ((numbers.Integral, np.bool_), types.INT),
    ((numbers.Real,), types.FLOAT),
    ((str, bytes), types.STR),
    ((datetime.date, np.datetime64), types.DATETIME),
    ((set, frozenset, range), types.ENCODED_LIST),
    *(((kind.python_class,), kind.column_type) for kind in STRUCT_KINDS.values()),
)


def column_type_for(dtype: Any) -> ColumnType:
    """Return the column type for a class or dtype that a user asked for.

    Besides the classes of columns, it may be a class of numpy, ``bytes``, ``date``, ``set``, ``frozenset``, ``range``, or a subclass; a dtype of
    numpy, pandas, Polars, Arrow or Spark; or the name of any of these.

    Raises
    ------
    TypeError
        If no column can hold values of the class.

    Examples
    --------
    >>> [str(column_type_for(kind)) for kind in (np.int32, np.dtype("float32"), bytes, np.datetime64, "Int64", pa.float32())]
    ['int', 'float', 'str', 'datetime', 'int', 'float']
    """
    if isinstance(dtype, str):
        return types.type_named(dtype)
    if isinstance(dtype, pa.DataType):
        return types.STANDARD_TYPES[arrow_column_type(dtype).kind]
    if isinstance(dtype, type):
        for classes, column_type in _REQUESTED_CLASSES:
            if issubclass(dtype, classes):
                return column_type
    values = getattr(dtype, "type", None)
    if isinstance(values, type) and (isinstance(dtype, np.dtype) or hasattr(dtype, "construct_from_string")):
        return column_type_for(values)
    return types.type_named(name) if (name := _name_in_library(dtype)) else types.type_of_class(dtype)


def is_type(value: Any) -> bool:
    """Return whether a value can be meant as a type: a class, a name, or a dtype of another library.

    Examples
    --------
    >>> [is_type(value) for value in (int, "float", np.dtype("i4"), pa.string(), None, 5)]
    [True, True, True, True, False, False]
    """
    is_known = isinstance(value, (type, str, np.dtype, pa.DataType)) or hasattr(value, "construct_from_string")
    return is_known or _name_in_library(value) is not None


# Libraries whose types have names that tell what values they have.
_LIBRARIES_WITH_TYPES = ("polars", "narwhals", "torch", "pyspark")


def _name_in_library(dtype: Any) -> str | None:
    """Return the name of a type of Polars, narwhals, torch or Spark, given as a class or an object; None for all else."""
    owner = dtype if isinstance(dtype, type) else type(dtype)
    if owner.__module__.partition(".")[0] not in _LIBRARIES_WITH_TYPES:
        return None
    if owner.__module__.startswith("pyspark"):
        # An array of Spark has items of any type.
        return str(owner.typeName()).replace("array", "list") if hasattr(owner, "typeName") else None
    return str(dtype)


def infer_type(values: Any, of_rows: bool = True) -> ColumnType:
    """Return the column type that fits some values.

    Ints together with floats make a float column; sequences of numbers make an array column, numpy arrays of numbers one of these, and other
    sequences a list column. If all values are
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
        return types.STR
    return _type_of_list(source, of_rows)


def encoding_for(values: Any, column_type: ColumnType) -> ColumnType:
    """Return the column type of the same kind as ``column_type`` that fits some values best.

    For instance ``dtype=list`` only asks for lists: the values decide whether the lists can be native or must be encoded. They also decide whether
    datetimes have an offset.

    Examples
    --------
    >>> str(encoding_for([[1, 2]], types.ENCODED_LIST))
    'list:list<item: int64>'
    """
    source = simplify(values)
    if column_type.kind not in (types.LIST_KIND, types.DICT_KIND, types.DATETIME_KIND):
        return column_type
    if not isinstance(source, list):
        natural = infer_type(source)
        return natural if natural.kind == column_type.kind else column_type
    families = families_of(source)
    if column_type.kind == types.LIST_KIND and families and families <= _SEQUENCES:
        return _list_type(source)
    if families == {column_type.kind}:
        return _type_of_list(source)
    return column_type


def _type_of_list(values: Sequence[Any], of_rows: bool = True) -> ColumnType:
    families = families_of(values)
    if not families:
        return types.FLOAT
    if families == {types.INT_KIND}:
        return types.INT if _fits_int(values) else types.FLOAT
    if families <= NUMBERS:
        return types.FLOAT
    if families == {types.STR_KIND}:
        return types.STR
    if families == {types.DATETIME_KIND}:
        return types.ZONED_DATETIME if any(map(_has_offset, values)) else types.DATETIME
    if families == {types.DICT_KIND}:
        return _dict_type(values)
    if families == {types.IMAGE_KIND}:
        return types.IMAGE
    if families <= _SEQUENCES:
        return _sequence_type(values)
    if families <= _NDARRAYS:
        return types.NDARRAY
    if families <= {types.LIST_KIND, types.NDARRAY_KIND} and all(isinstance(value, np.ndarray) for value in _cells(values)):
        # Some of the arrays hold texts or objects, so all are lists.
        return _sequence_type(values)
    raise MixedTypesError(_mixture_message(values, of_rows))


def _mixture_message(values: Sequence[Any], of_rows: bool) -> str:
    examples: dict[str, str] = {}
    for position, value in enumerate(values):
        family = family_of_value(value)
        if value is not None and family not in examples:
            examples[family] = (f"row {position} holds " if of_rows else "") + f"{brief(value, 40)} ({family})"
    message = f"the values have no common type: {', '.join(examples.values())}"
    # Other libraries use NaN for missing values, so their lists often have NaN among other values.
    has_nan = any(isinstance(value, float) and math.isnan(value) for value in values)
    return f"{message}; NaN is a number, and None is a missing value" if has_nan else message


def _fits_int(values: Iterable[Any]) -> bool:
    """Return whether every int has at most 64 bits; Arrow is tried first, as it is faster than a loop in Python."""
    if isinstance(values, list) and array_without_pandas(values, pa.int64()) is not None:
        return True
    try:
        pa.array(values, pa.int64())
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, TypeError):
        return all(SMALLEST_INT <= int(value) <= LARGEST_INT for value in values if family_of(type(value)) == types.INT_KIND)
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
    if element_classes or any(family_of(type(cell)) == types.ARRAY_KIND for cell in cells):
        return types.ARRAY
    return types.ENCODED_LIST


def _list_type(values: Sequence[Any]) -> ColumnType:
    cells = _cells(values)
    if any(family_of(type(cell)) == types.ARRAY_KIND for cell in cells):
        # The elements of an array cell are floats, whatever its type code.
        are_floats = families_of(chain.from_iterable(cells)) <= {types.FLOAT_KIND} or all(family_of(type(cell)) == types.ARRAY_KIND for cell in cells)
        return types.list_of(types.FLOAT) if are_floats else types.ENCODED_LIST
    element = _element_type(lambda: chain.from_iterable(cells))
    return types.ENCODED_LIST if element is None else types.list_of(element)


def _dict_type(values: Sequence[Any]) -> ColumnType:
    cells = _cells(values)
    # There is no native form for a missing key, nor for dicts without any key.
    if type(None) in set(map(type, chain.from_iterable(cells))):
        return types.ENCODED_DICT
    key = _element_type(lambda: chain.from_iterable(cells))
    items = _element_type(lambda: chain.from_iterable(cell.values() for cell in cells))
    return types.ENCODED_DICT if key is None or items is None else types.dict_of(key, items)


def _element_type(elements: Callable[[], Iterable[Any]]) -> ColumnType | None:
    """Return the native type that all elements have (int, float or str), or None if there is none; each call of ``elements`` yields them all."""
    families = families_of(elements())
    element = _ELEMENT_TYPES.get(families.pop()) if len(families) == 1 else None
    return None if element is types.INT and not _fits_int(list(elements())) else element


# Conversion of Python values to Arrow arrays of a given column type.

_ARROW_ERRORS = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError, TypeError, ValueError)
NATIVE_CLASSES: dict[pa.DataType, type] = {pa.int64(): int, pa.float64(): float, pa.string(): str}
_LISTS = frozenset({list, tuple, type(None)})


def encode(values: Any, column_type: ColumnType, ignore_cast_failure: bool = False) -> pa.Array:
    """Convert values to an array of exactly the physical type of ``column_type``.

    Numbers and datetimes convert into each other, and any value converts to a string, but strings are not parsed (``astype`` does that). The array
    shares no memory with numpy values, which their owner may change; Arrow data never changes and is not copied. With ``ignore_cast_failure``,
    values that cannot be converted are left out, so that the array is shorter.

    Raises
    ------
    SchemaError
        If a value cannot be stored as the type.
    TooLargeError
        If there are more bytes of strings, or items of lists, than one array can hold.

    Examples
    --------
    >>> encode([1, None, 2.5], types.INT).to_pylist()
    [1, None, 2]
    """
    return in_one_array(encode_parts(values, column_type, ignore_cast_failure))


def encode_parts(values: Any, column_type: ColumnType, ignore_cast_failure: bool = False) -> list[pa.Array]:
    """Do the same as :func:`encode`, but return a list of arrays: more than one if the values have more than 2 GiB of strings or lists.

    Raises
    ------
    SchemaError
        If a value cannot be stored as the type.
    TooLargeError
        If a single value has more than an array can hold.
    """
    source = simplify(values)
    if isinstance(source, np.ndarray) and source.dtype.kind == "u":
        if column_type.kind == types.INT_KIND:
            raise SchemaError(arrow_to_column_types.BEYOND_64_BITS)
        source = source.tolist()  # Python's ints keep all digits
    if isinstance(source, list):
        return parts_of(_encode_list(source, column_type, ignore_cast_failure))
    if isinstance(source, np.ndarray):
        array, natural = _from_numpy(source.copy())
        parts = [array]
    else:
        parts, natural = normalized_parts(source)
    if natural == column_type:
        return parts
    return [encoded for part in parts for encoded in parts_of(_encode_list(decode(part, natural), column_type, ignore_cast_failure))]


def _from_numpy(values: np.ndarray) -> tuple[pa.Array, ColumnType]:
    """Convert a numpy array to Arrow, and return it with its column type; numpy datetimes count as UTC."""
    if values.dtype.kind != "M":
        return normalize(pa.array(values))
    utc = pa.array(values).cast(pa.int64())
    zero = pa.array(np.zeros(len(values), dtype=np.int32))
    return zoned_array(utc, zero, utc.is_valid()), types.ZONED_DATETIME


def _encode_list(values: list[Any], column_type: ColumnType, ignore_cast_failure: bool) -> pa.Array | pa.ChunkedArray:
    if column_type.kind in _ELEMENT_TYPES:
        few = array_without_pandas(values, column_type.physical)
        if few is not None:
            return few
        # Arrow converts a list of values of the right class much faster than Python can inspect them.
        try:
            return arrow_floats(values) if column_type.kind == types.FLOAT_KIND else pa.array(values, column_type.physical)
        except _ARROW_ERRORS:
            pass
    stored = stored_cells(values, column_type.kind, are_plain=False) if column_type.is_encoded else None
    if stored is not None:
        return stored
    try:
        natural = infer_type(values)
    except SFrameError:
        return _encode_converted(values, column_type, ignore_cast_failure)
    if natural == column_type:
        return _BUILDERS[natural.kind](values, natural)
    return _encode_converted(values, column_type, ignore_cast_failure)


def arrow_floats(values: Sequence[Any]) -> pa.Array:
    """Convert numbers and None to an array of floats by Arrow, all at once.

    Raises
    ------
    pyarrow.ArrowException, OverflowError, TypeError
        If Arrow does not convert a value to a float, or it may lose digits, as ints beyond 2**53 and long doubles do.

    Examples
    --------
    >>> arrow_floats([1, None, 2.5]).to_pylist()
    [1.0, None, 2.5]
    >>> arrow_floats([np.uint64(2**64 - 1)])
    Traceback (most recent call last):
    pyarrow.lib.ArrowInvalid: an unsigned int beyond 2**53
    """
    if have_long_doubles(values):
        raise pa.ArrowInvalid("a long double")
    floats = pa.array(values, pa.float64())
    # Arrow reads numpy's unsigned ints as signed ones: the largest as -1. Checking all classes first would take as long as Arrow's own work.
    seem_ints = pc.and_(pc.less(floats, 0.0), pc.equal(pc.floor(floats), floats))
    if pc.any(seem_ints).as_py() and any(issubclass(python_class, np.unsignedinteger) for python_class in set(map(type, values))):
        raise pa.ArrowInvalid("an unsigned int beyond 2**53")
    return floats


def _encode_converted(values: Sequence[Any], column_type: ColumnType, ignore_cast_failure: bool) -> pa.Array | pa.ChunkedArray:
    """Convert the values one at a time to the requested kind, and return them as an array."""
    converted = []
    for position, value in enumerate(values):
        family_of(type(value))  # raises for objects that no column holds, even if failures are ignored
        try:
            converted.append(construct_value(value, column_type.kind))
        except SchemaError as error:
            if not ignore_cast_failure:
                raise SchemaError(f"row {position}: {error}") from error
    return _encode_plain(converted, column_type)


def encode_plain(values: list[Any], column_type: ColumnType) -> pa.Array:
    """Convert plain values of the column's kind, as ``decode`` returns them, to an array; nested lists of numbers stay lists.

    Raises
    ------
    SchemaError
        If the column type cannot hold one of the values.

    Examples
    --------
    >>> encode_plain([[[1, 2]]], types.ENCODED_LIST).to_pylist(), encode([[[1, 2]]], types.ENCODED_LIST).to_pylist()
    (['[[1,2]]'], ['[{"$array":[1.0,2.0]}]'])
    """
    return in_one_array(parts_of(_encode_plain(values, column_type)))


def _encode_plain(values: list[Any], column_type: ColumnType) -> pa.Array | pa.ChunkedArray:
    if column_type.is_encoded:
        return _stored_texts(values, column_type)
    if column_type.kind in (types.LIST_KIND, types.DICT_KIND) and not _fits_natively(values, column_type):
        raise SchemaError(f"{column_type} cannot hold every one of these values")
    return _BUILDERS[column_type.kind](values, column_type)


def recode(array: pa.Array, source: ColumnType, target: ColumnType) -> pa.Array:
    """Convert an array to a column type of the same kind, which stores the same values in a different encoding.

    Raises
    ------
    SchemaError
        If the kinds differ, or the target encoding cannot hold one of the values.

    Examples
    --------
    >>> recode(pa.array([[1, None]]), types.list_of(types.INT), types.ENCODED_LIST).to_pylist()
    ['[1,null]']
    """
    if source == target:
        return array
    if source.kind != target.kind:
        raise SchemaError(f"{source.kind} and {target.kind} are different types, not two encodings of one")
    if target.is_encoded:
        stored = stored_lists(array)
        if stored is not None:
            return stored
    elif source.is_encoded:
        items = flat_items(array, source.kind)
        native = None if items is None else items.natively()
        if native is not None and native[1] == target:
            return native[0]
    return encode_plain(decode(array, source), target)


def _fits_natively(values: Sequence[Any], column_type: ColumnType) -> bool:
    """Return whether all keys and elements of dicts or lists have the Python class that the native physical type holds."""
    cells = [value for value in values if value is not None]
    physical = column_type.physical
    if column_type.kind == types.LIST_KIND:
        return _are_of(chain.from_iterable(cells), physical.value_type)
    if not set(map(type, chain.from_iterable(cells))) <= {NATIVE_CLASSES[physical.key_type]}:
        return False
    return _are_of(chain.from_iterable(cell.values() for cell in cells), physical.item_type)


def _are_of(elements: Iterable[Any], data_type: pa.DataType) -> bool:
    return set(map(type, elements)) <= {NATIVE_CLASSES[data_type], type(None)}


def _scalar_builder(convert: Callable[[Any], Any]) -> Callable[[Sequence[Any], ColumnType], pa.Array | pa.ChunkedArray]:
    return lambda values, column_type: pa.array([None if _is_missing(value) else convert(value) for value in values], column_type.physical)


def _is_missing(value: Any) -> bool:
    return family_of(type(value)) == MISSING


def _are_naive_datetimes(values: Sequence[Any]) -> bool:
    return set(map(type, values)) <= {datetime.datetime, type(None)} and all(value is None or value.tzinfo is None for value in values)


def _build_datetimes(values: Sequence[Any], column_type: ColumnType) -> pa.Array:
    if column_type == types.DATETIME and _are_naive_datetimes(values):
        return pa.array(values, types.DATETIME.physical)
    times = [None if _is_missing(value) else to_datetime(value) for value in values]
    split = [(None, None) if time is None else to_microseconds(time) for time in times]
    utc = pa.array([microseconds for microseconds, _ in split], pa.int64())
    if column_type == types.ZONED_DATETIME:
        return zoned_array(utc, pa.array([offset for _, offset in split], pa.int32()), utc.is_valid())
    if any(offset is not None for _, offset in split):
        raise SchemaError("a date-time column without offsets cannot hold a value that has one")
    return utc.cast(types.DATETIME.physical)


def _build_arrays(values: Sequence[Any], column_type: ColumnType) -> pa.Array:
    cells = [None if _is_missing(value) else value for value in values]
    if set(map(type, cells)) <= _LISTS:
        # All elements are converted at once, which fails if an element is not a number.
        try:
            return _join_arrays(cells, list(chain.from_iterable(cell for cell in cells if cell is not None)))
        except _ARROW_ERRORS:
            pass
    return _join_arrays([None if cell is None else plain_array(cell) for cell in cells], None)


def _join_arrays(cells: Sequence[Any], elements: list[Any] | None) -> pa.Array:
    lengths = pa.array([None if cell is None else len(cell) for cell in cells], pa.int32())
    if elements is None:
        numbers = pa.array(np.frombuffer(b"".join(cell.tobytes() for cell in cells if cell is not None), np.float64))
    else:
        numbers = arrow_floats(elements).fill_null(float("nan"))
    return list_from_lengths(lengths, numbers, types.ARRAY.physical)


def _build_structs(values: Sequence[Any], column_type: ColumnType) -> pa.Array | pa.ChunkedArray:
    kind = STRUCT_KINDS[column_type.kind]
    return kind.to_arrow([None if _is_missing(value) else kind.plain(value) for value in values])


def _build_lists(values: Sequence[Any], column_type: ColumnType) -> pa.Array | pa.ChunkedArray:
    if not column_type.is_encoded and set(map(type, values)) <= _LISTS and not have_long_doubles(chain.from_iterable(filter(None, values))):
        try:
            return pa.array(values, column_type.physical)
        except _ARROW_ERRORS:
            pass
    sequences = (plain_array(value) if isinstance(value, array.array) else value for value in values)
    cells = [None if _is_missing(value) else plain_list(value) for value in sequences]
    return _stored_texts(cells, column_type) if column_type.is_encoded else pa.array(cells, column_type.physical)


def _build_dicts(values: Sequence[Any], column_type: ColumnType) -> pa.Array | pa.ChunkedArray:
    if not column_type.is_encoded and set(map(type, values)) <= {dict, type(None)}:
        try:
            if not have_long_doubles(chain.from_iterable(cell.values() for cell in values if cell is not None)):
                return maps_of_dicts(values, column_type.physical)
        except _ARROW_ERRORS:
            pass
    cells = [None if _is_missing(value) else plain_dict(value) for value in values]
    return _stored_texts(cells, column_type) if column_type.is_encoded else maps_of_dicts(cells, column_type.physical)


def _stored_texts(cells: Sequence[Any], column_type: ColumnType) -> pa.Array | pa.ChunkedArray:
    stored = stored_cells(cells, column_type.kind)
    return stored if stored is not None else pa.array([None if cell is None else encode_value(cell) for cell in cells], column_type.physical)


_BUILDERS: dict[str, Callable[[Sequence[Any], ColumnType], pa.Array | pa.ChunkedArray]] = {
    types.INT_KIND: _scalar_builder(lambda value: int(plain_number(value))),
    types.FLOAT_KIND: _scalar_builder(float_of_number),
    types.STR_KIND: _scalar_builder(plain_text),
    types.DATETIME_KIND: _build_datetimes,
    types.ARRAY_KIND: _build_arrays,
    **dict.fromkeys(STRUCT_KINDS, _build_structs),
    types.LIST_KIND: _build_lists,
    types.DICT_KIND: _build_dicts,
}
