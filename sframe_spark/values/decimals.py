"""Decimals: which are ints, which floats hold, and what is told of those that no float holds exactly."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.errors import MOST_NAMES_SHOWN, InexactDecimalWarning, users_level
from sframe_spark.values.inexact_numbers import DIGITS_OF_FLOAT

# All of these fit 64 bits.
DIGITS_OF_INT = 18


def is_whole_decimal(data_type: pa.DataType) -> bool:
    """Say whether a type holds whole numbers of at most 64 bits.

    Examples
    --------
    >>> is_whole_decimal(pa.decimal128(18, 0)), is_whole_decimal(pa.decimal128(19, 0)), is_whole_decimal(pa.decimal128(3, 2))
    (True, False, False)
    """
    return bool(pa.types.is_decimal(data_type)) and data_type.scale == 0 and data_type.precision <= DIGITS_OF_INT


def floats_of_decimals(values: pa.Array) -> pa.Array:
    """The nearest float of each decimal: Arrow's own cast multiplies by a power of ten, and is off by one in the last place for one in ten."""
    return values.cast(pa.string()).cast(pa.float64())


def tell_of_types(columns: Iterable[tuple[str, pa.DataType]]) -> None:
    """Warn once of columns, of values that nobody has seen yet, whose decimals may have more digits than floats hold."""
    _warn([f"{name!r} ({kind.precision} digits)" for name, data_type in columns if (kind := _long_decimal(data_type)) is not None])


def tell_of_values(columns: Iterable[tuple[str | None, pa.Array | pa.ChunkedArray]]) -> None:
    """Warn once of columns in which there are decimals with more digits than floats hold; of lists, dicts and dictionaries by their types."""
    told = []
    for name, values in columns:
        kind = _long_decimal(values.type)
        if kind is not None and (not pa.types.is_decimal(values.type) or _has_long_ones(values)):
            told.append(f"{'the column' if name is None else repr(name)} ({kind.precision} digits)")
    _warn(told)


def _long_decimal(data_type: pa.DataType) -> pa.DataType | None:
    """The first type of decimals within a type that become floats and may have too many digits."""
    if pa.types.is_decimal(data_type):
        return data_type if data_type.precision > DIGITS_OF_FLOAT and not is_whole_decimal(data_type) else None
    within = [data_type.field(number).type for number in range(data_type.num_fields)]
    if pa.types.is_dictionary(data_type) or pa.types.is_run_end_encoded(data_type):
        within = [data_type.value_type]
    return next((found for found in map(_long_decimal, within) if found is not None), None)


def _has_long_ones(values: pa.Array | pa.ChunkedArray) -> bool:
    """True when a decimal has too many digits, zeros at both ends left out."""
    digits = pc.replace_substring_regex(pc.replace_substring_regex(values.cast(pa.string()), "E.*$", ""), "[-.]", "")
    longest = pc.max(pc.utf8_length(pc.utf8_trim(digits, "0"))).as_py()
    return longest is not None and longest > DIGITS_OF_FLOAT


def _warn(told: list[str]) -> None:
    if told:
        more = f" and {len(told) - MOST_NAMES_SHOWN} more" if len(told) > MOST_NAMES_SHOWN else ""
        names = ", ".join(told[:MOST_NAMES_SHOWN]) + more
        message = (
            f"decimals become floats, which hold {DIGITS_OF_FLOAT} digits: longer values of {names} are rounded; "
            "cast the column to a string first to keep all digits, or to a decimal of 15 digits, or of 18 without a fraction"
        )
        warnings.warn(InexactDecimalWarning(message), stacklevel=users_level())
