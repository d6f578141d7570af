"""Formats Arrow arrays of floats and datetimes as strings, and parses datetimes in tagged JSON."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.pyarrow_versions import if_else, replace_with_mask
from sframe_spark.values.datetimes import MAX_OFFSET, MINUTE, SECOND, all_in_years_of_python, format_datetimes, to_microseconds
from sframe_spark.values.nested.conversion_of_repeated_values import map_distinct, seem_repeated
from sframe_spark.values.nested.tagged_json_patterns_and_splitting import BEFORE_DATETIME

# Arrow writes floats between these two numbers as Python does, with the fewest digits that read back the same.
MIN_LIKE_PYTHON, MAX_LIKE_PYTHON = 1e-4, 1e9
# From here on a whole number with few significant digits is written with an exponent.
MIN_WITH_EXPONENT = 1e6
# Whole numbers below `SIX_DIGIT_LIMIT` have at most six digits; whole numbers below `LARGEST_WHOLE` fit a 64-bit int.
SIX_DIGIT_LIMIT, LARGEST_WHOLE = 1e6, 2.0**63
NOT_FINITE, IN_JSON = ["nan", "inf", "-inf"], ["NaN", "Infinity", "-Infinity"]
Writer = Callable[[list[float]], list[str]]


def display_floats(values: pa.Array) -> pa.Array:
    """Write floats with six significant digits, as casts to str do; missing floats stay missing.

    Examples
    --------
    >>> display_floats(pa.array([1234567.891, 2.0, None])).to_pylist()
    ['1.23457e+06', '2', None]
    """
    return _texts(values, SIX_DIGIT_LIMIT, write_six_digits, keeps_sign=True)


def compared_floats(values: pa.Array) -> pa.Array:
    """Write floats so that equal numbers give equal strings: a float without a fraction is written as an int.

    Examples
    --------
    >>> compared_floats(pa.array([2.0, 0.5, -0.0])).to_pylist()
    ['2', '0.5', '0']
    """
    return _texts(values, LARGEST_WHOLE, write_exact, keeps_sign=False)


def exact_floats(values: pa.Array) -> pa.Array:
    """Write floats as Python's ``repr`` does, with all their digits; missing floats stay missing.

    Examples
    --------
    >>> exact_floats(pa.array([0.1, 2.0, 1e16, float("nan"), None])).to_pylist()
    ['0.1', '2.0', '1e+16', 'nan', None]
    """
    size = pc.abs(values)
    is_like_python = pc.and_(pc.greater_equal(size, MIN_LIKE_PYTHON), pc.less(size, MAX_LIKE_PYTHON))
    texts = values.cast(pa.string())
    is_other = pc.invert(pc.and_(is_like_python, pc.match_substring(texts, "."))).fill_null(False)
    return texts if not is_other.true_count else replace_with_mask(texts, is_other, _distinct(values.filter(is_other), write_exact))


def brief_floats(values: pa.Array) -> pa.Array:
    """Write floats with the fewest digits that read back the same, as ``exact_float_text`` does.

    Missing values stay missing.

    Examples
    --------
    >>> brief_floats(pa.array([0.1, 2.0, 1e16, float("nan"), None])).to_pylist()
    ['0.1', '2', '1e+16', 'nan', None]
    """
    # Floats are compared by their bits, as -0.0 and 0.0 are written differently.
    bits = values.view(pa.int64())
    return map_distinct(bits, lambda bits: _brief(bits.view(pa.float64()))) if seem_repeated(bits) else _brief(values)


def _brief(values: pa.Array) -> pa.Array:
    numbers = values.fill_null(0.5).to_numpy(zero_copy_only=False)
    # Some NaNs make numpy warn of an invalid value.
    with np.errstate(invalid="ignore"):
        size = np.abs(numbers)
        is_other = (numbers == np.floor(numbers)) | ~((size >= MIN_LIKE_PYTHON) & (size < MAX_LIKE_PYTHON))
    if is_other.all():
        return _brief_irregular(numbers)
    texts = values.cast(pa.string())
    return replace_with_mask(texts, pa.array(is_other), _brief_irregular(numbers[is_other])) if is_other.any() else texts


def _brief_irregular(numbers: np.ndarray) -> pa.Array:
    """Write numbers without a fraction, and numbers that Arrow writes differently from Python."""
    with np.errstate(invalid="ignore"):
        size = np.abs(numbers)
        is_int = (numbers == np.floor(numbers)) & (size < MAX_LIKE_PYTHON) & ~((numbers == 0) & np.signbit(numbers))
        is_long = is_int & (size >= MIN_WITH_EXPONENT)
        # A long number that ends in zero may have only six significant digits; then it is written with an exponent.
        is_int &= ~is_long | (numbers != np.floor(numbers / 10) * 10)
    texts = pa.array(np.where(is_int, numbers, 0).astype(np.int64)).cast(pa.string())
    if is_long.any():
        texts = if_else(pa.array(is_long), pc.binary_join_element_wise(texts, ".0", ""), texts)
    return texts if is_int.all() else replace_with_mask(texts, pa.array(~is_int), _distinct(pa.array(numbers[~is_int]), write_brief))


def signed_floats(values: pa.Array) -> pa.Array:
    """Write floats as :func:`brief_floats` does, but a negative zero with a point, as ``-0`` would be read as an int without a sign.

    Examples
    --------
    >>> signed_floats(pa.array([2.0, -0.0])).to_pylist()
    ['2', '-0.0']
    """
    texts = brief_floats(values)
    return if_else(pc.equal(texts, "-0"), "-0.0", texts)


def json_floats(values: pa.Array) -> pa.Array:
    """Write floats as :func:`signed_floats` does, but with JSON's words for infinities and NaN.

    Examples
    --------
    >>> json_floats(pa.array([2.0, -0.0, float("-inf"), None])).to_pylist()
    ['2', '-0.0', '-Infinity', None]
    """
    texts = signed_floats(values)
    indices = pc.index_in(texts, pa.array(NOT_FINITE))
    return texts if indices.null_count == len(indices) else pc.coalesce(pa.array(IN_JSON).take(indices), texts)


def write_six_digits(numbers: list[float]) -> list[str]:
    return (" ".join(["%g"] * len(numbers)) % tuple(numbers)).split(" ") if numbers else []


def write_exact(numbers: list[float]) -> list[str]:
    return list(map(float.__repr__, numbers))


def write_brief(numbers: list[float]) -> list[str]:
    pairs = zip(write_six_digits(numbers), numbers, strict=True)
    return [short if float(short) == number or number != number else float.__repr__(number) for short, number in pairs]


def _texts(values: pa.Array, limit: float, write: Writer, keeps_sign: bool) -> pa.Array:
    numbers = values.fill_null(0.0).to_numpy(zero_copy_only=False)
    with np.errstate(invalid="ignore"):
        whole = (np.rint(numbers) == numbers) & (np.abs(numbers) < limit)
    if keeps_sign:
        whole &= (numbers != 0) | ~np.signbit(numbers)
    texts = pa.array(np.where(whole, numbers, 0.0).astype(np.int64)).cast(pa.string())
    if not whole.all():
        chosen = pa.array(~whole)
        texts = replace_with_mask(texts, chosen, _distinct(pa.array(numbers[~whole]), write))
    return if_else(values.is_valid(), texts, pa.scalar(None, pa.string())) if values.null_count else texts


def _distinct(values: pa.Array, write: Writer) -> pa.Array:
    """Write floats; if many are repeated, each distinct float is written once."""
    encoded = values.dictionary_encode()
    if 2 * len(encoded.dictionary) <= len(values):
        return pa.array(write(encoded.dictionary.to_pylist()), pa.string()).take(encoded.indices)
    texts = pa.array(write(values.fill_null(0.0).to_numpy(zero_copy_only=False).tolist()), pa.string())
    return if_else(values.is_valid(), texts, pa.scalar(None, pa.string())) if values.null_count else texts


# Datetimes inside stored lists and dicts.

_PARTS = r'^\{"\$datetime":(?P<instant>-?[0-9]+),"offset":(?P<offset>-?[0-9]+|null)\}$'


def instants_and_offsets(texts: pa.Array) -> tuple[pa.Array, pa.Array] | None:
    """Parse datetimes in tagged JSON to microseconds in UTC and minutes east of UTC; no datetime may be missing.

    The result is None if a datetime is outside the years of Python's ``datetime``.

    Examples
    --------
    >>> [part.to_pylist() for part in instants_and_offsets(pa.array(['{"$datetime":5,"offset":null}', '{"$datetime":-1,"offset":60}']))]
    [[5, -1], [None, 60]]
    """
    parts = pc.extract_regex(texts, _PARTS)
    offset = parts.field("offset")
    instants = parts.field("instant").cast(pa.int64())
    offsets = if_else(pc.equal(offset, "null"), pa.scalar(None, pa.string()), offset).cast(pa.int32())
    is_near = pc.all(pc.less_equal(pc.abs(offsets), MAX_OFFSET)).as_py() is not False
    return (instants, offsets) if is_near and all_in_years_of_python(_wall(instants, offsets)) else None


def format_stored_datetimes(texts: pa.Array, form: str, offset_form: str) -> pa.Array | None:
    """Format datetimes in tagged JSON, followed by their offset if they have one; None if one is outside the years of Python's ``datetime``.

    Examples
    --------
    >>> format_stored_datetimes(pa.array(['{"$datetime":5,"offset":null}', '{"$datetime":0,"offset":60}']), "%H:%M:%S%F", "%z").to_pylist()
    ['00:00:00.000005', '01:00:00+0100']
    """
    parsed = instants_and_offsets(texts)
    if parsed is None:
        return None
    wall, offsets = _wall(*parsed), parsed[1]
    cells = format_datetimes(wall, offsets, form)
    return if_else(offsets.is_valid(), format_datetimes(wall, offsets, form + offset_form), cells) if offset_form else cells


def stored_datetimes(values: Sequence[datetime.datetime]) -> pa.Array:
    """Return datetimes as tagged JSON.

    Examples
    --------
    >>> stored_datetimes([datetime.datetime(1970, 1, 1, 0, 0, 1)]).to_pylist()
    ['{"$datetime":1000000,"offset":null}']
    """
    if all(value.tzinfo is None for value in values):
        instants, offset = pa.array(values, pa.timestamp("us")).cast(pa.int64()), pa.scalar("null")
    else:
        split = [to_microseconds(value) for value in values]
        instants = pa.array([instant for instant, _ in split], pa.int64())
        offset = pa.array([minutes for _, minutes in split], pa.int32()).cast(pa.string()).fill_null("null")
    return pc.binary_join_element_wise(BEFORE_DATETIME, instants.cast(pa.string()), ',"offset":', offset, "}", "")


def _wall(instants: pa.Array, offsets: pa.Array) -> pa.Array:
    """Return the local times of instants with offsets."""
    return pc.add(instants, pc.multiply(offsets.fill_null(0).cast(pa.int64()), MINUTE)).cast(pa.timestamp("us"))


# Datetimes without an offset as compact strings.

# The layouts of `2011-01-02 03:04:05.000006`, as Arrow writes it, and of `20110102T030405.000006`: their widths, and the start of each part.
_ARROW_WIDTH, _WIDTH, _WHOLE_WIDTH = 26, 22, 15
_DIGITS = {"year": 4, "month": 2, "day": 2, "hour": 2, "minute": 2, "second": 2, "point": 1, "micros": 6}
_ARROW_STARTS, _STARTS = (0, 5, 8, 11, 14, 17, 19, 20), (0, 4, 6, 9, 11, 13, 15, 16)


def compact_datetimes(values: pa.Array, start: str = "", end: str = "") -> pa.Array:
    """Write datetimes of the years 1 to 9999, with microseconds only where there are any, between two ASCII strings.

    Examples
    --------
    >>> compact_datetimes(pa.array([0, 1, None], pa.timestamp("us"))).to_pylist()
    ['19700101T000000', '19700101T000000.000001', None]
    """
    filled = values.fill_null(0)
    micros = filled.cast(pa.int64()).to_numpy()
    is_whole = micros - micros // SECOND * SECOND == 0
    cells = filled.cast(pa.string())
    cells = np.frombuffer(cells.buffers()[2], _parts(_ARROW_STARTS, _ARROW_WIDTH), len(cells), int(cells.offset) * _ARROW_WIDTH)
    texts = _compact_strings(cells, _WHOLE_WIDTH if is_whole.all() else _WIDTH, start, end)
    if is_whole.any() and not is_whole.all():
        texts = replace_with_mask(texts, pa.array(is_whole), _compact_strings(cells[is_whole], _WHOLE_WIDTH, start, end))
    return if_else(values.is_valid(), texts, pa.scalar(None, pa.string())) if values.null_count else texts


def _compact_strings(cells: np.ndarray, width: int, start: str, end: str) -> pa.Array:
    """Return strings of the same width, each between ``start`` and ``end``."""
    template = f"{start}{'T':>9}{'':{width - 9}}{end}".encode()
    lines = np.full(len(cells), template, f"V{len(template)}")
    starts = [position for position in _STARTS if position < width]
    parts = lines.view(_parts([len(start) + position for position in starts], len(template)))
    for name in list(_DIGITS)[: len(starts)]:
        parts[name] = cells[name]
    offsets = np.arange(len(cells) + 1, dtype=np.int32) * np.int32(len(template))
    return pa.StringArray.from_buffers(len(cells), pa.py_buffer(offsets), pa.py_buffer(lines))


def _parts(starts: Sequence[int], width: int) -> np.dtype:
    names = list(_DIGITS)[: len(starts)]
    return np.dtype({"names": names, "formats": [f"V{_DIGITS[name]}" for name in names], "offsets": list(starts), "itemsize": width})
