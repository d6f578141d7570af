"""Computes methods of Python's ``str`` for all texts of a column at once.

Arrow's kernels for upper case and the like give one character for one, by the Unicode of Arrow's version: ``ẞ`` for ``ß``, where Python has ``SS``.
So they compute ASCII only. All other texts of a batch are joined to one, whose method Python calls once, and split again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pyarrow as pa

from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.pyarrow_versions import if_else, replace_with_mask

with lazy_imports(globals()):
    import pyarrow.compute as pc

# Whitespace as `str.isspace` has it: what `str.strip` removes.
WHITESPACE = "".join(chr(code) for code in (*range(9, 14), *range(28, 33), 133, 160, 5760, *range(8192, 8203), 8232, 8233, 8239, 8287, 12288))
# They have no case, end a word, and are in few texts.
_SEPARATORS = ("\x1f", "\x1e", "\0", "\ufdd0", "\ufdd1", "\ufdd2")

Kernel = Callable[[pa.StringArray], pa.Array]


def of_ascii_and_others(of_ascii: Kernel, of_others: Kernel) -> Kernel:
    """Return a kernel that computes texts of ASCII by one kernel and all others by another one."""

    def kernel(values: pa.StringArray) -> pa.Array:
        is_ascii = pc.string_is_ascii(values).fill_null(True)
        if pc.all(is_ascii, min_count=0).as_py():
            return of_ascii(values)
        others = pc.invert(is_ascii)
        return replace_with_mask(of_ascii(values), others, of_others(values.filter(others)))

    return kernel


def in_python(method: Callable[[str], str]) -> Kernel:
    """Return a kernel for a method that treats a character without case as the end of a word, and leaves it as it is.

    Examples
    --------
    >>> in_python(str.upper)(pa.array(["ß", "é"])).to_pylist()
    ['SS', 'É']
    """

    def kernel(values: pa.StringArray) -> pa.Array:
        separator = next((mark for mark in _SEPARATORS if not pc.any(pc.match_substring(values, mark), min_count=0).as_py()), None)
        if separator is None:
            return pa.array([method(text) for text in values.to_pylist()], pa.string())
        whole = pc.binary_join(pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values), separator)[0].as_py()
        return pc.split_pattern(pa.array([method(whole)], pa.string()), separator).flatten()

    return kernel


def capitalized(values: pa.StringArray) -> pa.Array:
    """Return texts with their first character in title case, and all others in lower case.

    Examples
    --------
    >>> capitalized(pa.array(["éCOLE", "ǆ", "İX"])).to_pylist() == [text.capitalize() for text in ("éCOLE", "ǆ", "İX")]
    True
    """
    first = pc.utf8_slice_codeunits(values, 0, 1)
    lowered = in_python(str.lower)(values)
    # The lower case of this letter alone is two characters.
    rest = if_else(pc.equal(first, "\u0130"), pc.utf8_slice_codeunits(lowered, 2), pc.utf8_slice_codeunits(lowered, 1))
    return pc.binary_join_element_wise(in_python(str.title)(first), rest, "")


# Tests of all characters of a text.


@cache
def _has(method: Callable[[str], bool]) -> np.ndarray:
    """Return for each character whether a method of ``str`` holds, by its number."""
    return np.fromiter((method(chr(code)) for code in range(0x110000)), bool, 0x110000)


def characters_of(values: pa.StringArray) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of the characters of all texts, and for each text where its own begin, with one more for the end."""
    lengths = pc.utf8_length(values).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    ends = np.concatenate([[0], np.cumsum(lengths)])
    if not len(values):
        return np.zeros(0, np.uint32), ends
    joined = pc.binary_join(pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values.fill_null("")), "")[0].as_py()
    return np.frombuffer(joined.encode("utf-32-le"), np.uint32), ends


def _counts(marks: np.ndarray, ends: np.ndarray) -> np.ndarray:
    before = np.concatenate([[0], np.cumsum(marks)])
    return before[ends[1:]] - before[ends[:-1]]


def all_characters(method: Callable[[str], bool]) -> Kernel:
    """Return a kernel that tells whether a text is not empty, and a method of ``str`` holds for each of its characters.

    Examples
    --------
    >>> all_characters(str.isalpha)(pa.array(["aé", "a1", "", None])).to_pylist()
    [True, False, False, None]
    """

    def kernel(values: pa.StringArray) -> pa.Array:
        characters, ends = characters_of(values)
        holds = _counts(_has(method)[characters], ends) == np.diff(ends)
        return if_else(values.is_valid(), pa.array(holds & (np.diff(ends) > 0)), pa.scalar(None, pa.bool_()))

    return kernel


def of_one_case(method: Callable[[str], bool], other: Callable[[str], bool]) -> Kernel:
    """Return a kernel that tells whether a text has letters of a case, and none of the other case or in title case.

    Examples
    --------
    >>> of_one_case(str.isupper, str.islower)(pa.array(["A1", "Aa", "1"])).to_pylist()
    [True, False, False]
    """

    def kernel(values: pa.StringArray) -> pa.Array:
        characters, ends = characters_of(values)
        is_title = _has(str.istitle) & ~_has(str.isupper)
        holds = (_counts(_has(method)[characters], ends) > 0) & (_counts((_has(other) | is_title)[characters], ends) == 0)
        return if_else(values.is_valid(), pa.array(holds), pa.scalar(None, pa.bool_()))

    return kernel
