"""Makes Arrow arrays of few plain values without pyarrow's conversion, which imports pandas first.

pyarrow asks of each object that it converts whether it is a Series, and imports pandas for the question, where that is installed. It takes a sixth of
a second, more than all else that a program of few rows needs. A list of ints is none, so the buffers of its array are written here.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence
from itertools import accumulate
from types import NoneType
from typing import Any

import pyarrow as pa

# As many values take Python 0.1 ms.
FEW = 1000
# From here on floats leave out whole numbers.
LARGEST_EXACT = 2**53
_CLASSES: dict[pa.DataType, frozenset[type]] = {
    pa.int64(): frozenset({int, NoneType}),
    pa.float64(): frozenset({float, int, NoneType}),
    pa.string(): frozenset({str, NoneType}),
}


def array_without_pandas(values: Sequence[Any], data_type: pa.DataType) -> pa.Array | None:
    """Return the array of values that pyarrow would make, or None where pyarrow shall make it.

    That is where pandas is imported anyway, where there are many values, where one has another class than the plain one of the type, and where one
    does not fit.

    Examples
    --------
    >>> import subprocess, sys
    >>> program = "import pyarrow as pa; from sframe_spark.values.arrays_without_pandas import array_without_pandas as array; "
    >>> program += "print(array([1, None], pa.int64()).to_pylist(), array([1, 'a'], pa.int64()), 'pandas' in __import__('sys').modules)"
    >>> subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout
    '[1, None] None False\\n'
    """
    if "pandas" in sys.modules or len(values) > FEW:
        return None
    classes = _CLASSES.get(data_type)
    if classes is None or not classes.issuperset(map(type, values)):
        return None
    try:
        buffers = _texts(values) if data_type == pa.string() else [_numbers(values, data_type)]
    except (OverflowError, UnicodeEncodeError):
        return None
    return pa.Array.from_buffers(data_type, len(values), [_validity(values), *map(pa.py_buffer, buffers)])


def _validity(values: Sequence[Any]) -> pa.Buffer | None:
    """Return the bits of values that are there, the first one lowest; None if none is missing."""
    if None not in values:
        return None
    bits = sum(1 << row for row, value in enumerate(values) if value is not None)
    return pa.py_buffer(bits.to_bytes((len(values) + 7) // 8, "little"))


def _numbers(values: Sequence[Any], data_type: pa.DataType) -> bytes:
    """Return numbers as Arrow keeps them.

    Raises
    ------
    OverflowError
        If an int has more than 64 bits, or as a float would lose digits.
    """
    numbers = [0 if value is None else value for value in values]
    if data_type == pa.int64():
        return array("q", numbers).tobytes()
    if any(type(number) is int and abs(number) > LARGEST_EXACT for number in numbers):
        raise OverflowError
    return array("d", numbers).tobytes()


def _texts(values: Sequence[Any]) -> list[bytes]:
    """Return the offsets of texts, and their bytes.

    Raises
    ------
    OverflowError, UnicodeEncodeError
        If there are too many bytes for offsets of 32 bits; if a text is no Unicode.
    """
    texts = [b"" if value is None else value.encode() for value in values]
    return [array("i", [0, *accumulate(map(len, texts))]).tobytes(), b"".join(texts)]
