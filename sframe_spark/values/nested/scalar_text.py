"""Floats as texts, all of a batch at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.values.nested.repeated import of_different, seem_repeated

# Between these, Arrow writes floats as Python does, with the fewest digits that tell them apart.
LEAST_LIKE_PYTHON, MOST_LIKE_PYTHON = 1e-4, 1e9
# From here on a whole number of few digits is written with an exponent.
LEAST_WITH_EXPONENT = 1e6
# Whole numbers below have no more digits than are shown; all below the other are ints.
SHOWN_WHOLE, LARGEST_WHOLE = 1e6, 2.0**63
_NOT_FINITE, _IN_JSON = pa.array(["nan", "inf", "-inf"]), pa.array(["NaN", "Infinity", "-Infinity"])
Writer = Callable[[list[float]], list[str]]


def shown_floats(values: pa.Array) -> pa.Array:
    """Floats with six significant digits, as casts to str write them; missing ones stay.

    Examples
    --------
    >>> shown_floats(pa.array([1234567.891, 2.0, None])).to_pylist()
    ['1.23457e+06', '2', None]
    """
    return _texts(values, SHOWN_WHOLE, write_shown, keeps_sign=True)


def compared_floats(values: pa.Array) -> pa.Array:
    """Floats as equal values have equal texts: whole ones as ints.

    Examples
    --------
    >>> compared_floats(pa.array([2.0, 0.5, -0.0])).to_pylist()
    ['2', '0.5', '0']
    """
    return _texts(values, LARGEST_WHOLE, write_exact, keeps_sign=False)


def exact_floats(values: pa.Array) -> pa.Array:
    """Floats as Python's ``repr`` writes them, with all their digits; missing ones stay.

    Examples
    --------
    >>> exact_floats(pa.array([0.1, 2.0, 1e16, float("nan"), None])).to_pylist()
    ['0.1', '2.0', '1e+16', 'nan', None]
    """
    size = pc.abs(values)
    alike = pc.and_(pc.greater_equal(size, LEAST_LIKE_PYTHON), pc.less(size, MOST_LIKE_PYTHON))
    texts = values.cast(pa.string())
    other = pc.invert(pc.and_(alike, pc.match_substring(texts, "."))).fill_null(False)
    return texts if not other.true_count else pc.replace_with_mask(texts, other, _distinct(values.filter(other), write_exact))


def brief_floats(values: pa.Array) -> pa.Array:
    """Floats as briefly as they are read as the same ones, as :func:`~sframe_spark.values.tagged_json.exact_float_text` writes each; missing ones stay.

    Examples
    --------
    >>> brief_floats(pa.array([0.1, 2.0, 1e16, float("nan"), None])).to_pylist()
    ['0.1', '2', '1e+16', 'nan', None]
    """
    # As bits: a negative zero is another text than zero.
    bits = values.view(pa.int64())
    return of_different(bits, lambda bits: _brief(bits.view(pa.float64()))) if seem_repeated(bits) else _brief(values)


def _brief(values: pa.Array) -> pa.Array:
    numbers = values.fill_null(0.5).to_numpy(zero_copy_only=False)
    # NaN of some bits is told as invalid.
    with np.errstate(invalid="ignore"):
        size = np.abs(numbers)
        is_other = (numbers == np.floor(numbers)) | ~((size >= LEAST_LIKE_PYTHON) & (size < MOST_LIKE_PYTHON))
    if is_other.all():
        return _brief_others(numbers)
    texts = values.cast(pa.string())
    return pc.replace_with_mask(texts, pa.array(is_other), _brief_others(numbers[is_other])) if is_other.any() else texts


def _brief_others(numbers: np.ndarray) -> pa.Array:
    """Whole numbers, and those that Arrow writes otherwise than Python."""
    with np.errstate(invalid="ignore"):
        size = np.abs(numbers)
        is_int = (numbers == np.floor(numbers)) & (size < MOST_LIKE_PYTHON) & ~((numbers == 0) & np.signbit(numbers))
        is_long = is_int & (size >= LEAST_WITH_EXPONENT)
        # Of six digits no long one ends in another digit than zero.
        is_int &= ~is_long | (numbers != np.floor(numbers / 10) * 10)
    texts = pa.array(np.where(is_int, numbers, 0).astype(np.int64)).cast(pa.string())
    if is_long.any():
        texts = pc.if_else(pa.array(is_long), pc.binary_join_element_wise(texts, ".0", ""), texts)
    return texts if is_int.all() else pc.replace_with_mask(texts, pa.array(~is_int), _distinct(pa.array(numbers[~is_int]), write_brief))


def signed_floats(values: pa.Array) -> pa.Array:
    """The same with a point in a negative zero, which without one would be read as an int, that has no sign.

    Examples
    --------
    >>> signed_floats(pa.array([2.0, -0.0])).to_pylist()
    ['2', '-0.0']
    """
    texts = brief_floats(values)
    return pc.if_else(pc.equal(texts, "-0"), "-0.0", texts)


def json_floats(values: pa.Array) -> pa.Array:
    """The same as :func:`signed_floats`, but for the words that stand in JSON for what it has no number for.

    Examples
    --------
    >>> json_floats(pa.array([2.0, -0.0, float("-inf"), None])).to_pylist()
    ['2', '-0.0', '-Infinity', None]
    """
    texts = signed_floats(values)
    places = pc.index_in(texts, _NOT_FINITE)
    return texts if places.null_count == len(places) else pc.coalesce(_IN_JSON.take(places), texts)


def write_shown(numbers: list[float]) -> list[str]:
    """Each with six digits."""
    return (" ".join(["%g"] * len(numbers)) % tuple(numbers)).split(" ") if numbers else []


def write_exact(numbers: list[float]) -> list[str]:
    """Each with all its digits."""
    return list(map(float.__repr__, numbers))


def write_brief(numbers: list[float]) -> list[str]:
    """Each with as many digits as tell it from others."""
    pairs = zip(write_shown(numbers), numbers, strict=True)
    return [short if float(short) == number or number != number else float.__repr__(number) for short, number in pairs]


def _texts(values: pa.Array, most: float, write: Writer, keeps_sign: bool) -> pa.Array:
    numbers = values.fill_null(0.0).to_numpy(zero_copy_only=False)
    with np.errstate(invalid="ignore"):
        whole = (np.rint(numbers) == numbers) & (np.abs(numbers) < most)
    if keeps_sign:
        whole &= (numbers != 0) | ~np.signbit(numbers)
    texts = pa.array(np.where(whole, numbers, 0.0).astype(np.int64)).cast(pa.string())
    if not whole.all():
        chosen = pa.array(~whole)
        texts = pc.replace_with_mask(texts, chosen, _distinct(pa.array(numbers[~whole]), write))
    return pc.if_else(values.is_valid(), texts, pa.scalar(None, pa.string())) if values.null_count else texts


def _distinct(values: pa.Array, write: Writer) -> pa.Array:
    """The texts of floats, each of which is written once where they repeat."""
    encoded = values.dictionary_encode()
    if 2 * len(encoded.dictionary) <= len(values):
        return pa.array(write(encoded.dictionary.to_pylist()), pa.string()).take(encoded.indices)
    texts = pa.array(write(values.fill_null(0.0).to_numpy(zero_copy_only=False).tolist()), pa.string())
    return pc.if_else(values.is_valid(), texts, pa.scalar(None, pa.string())) if values.null_count else texts
