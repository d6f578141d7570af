"""Warnings that numbers of a column lose digits as they become floats, and the record of numbers that conversions round.

Ints beyond 64 bits and long decimals become the nearest float, with one warning for each column. Code that converts users' values does so inside
`rounding_warnings`; the conversions record the numbers that they round. No warning is given if a user asked for floats.
"""

from __future__ import annotations

import contextlib
import decimal
import warnings
from collections.abc import Collection, Iterator
from contextvars import ContextVar
from typing import Any

from sframe_spark.errors import InexactDecimalWarning, InexactNumberWarning, users_level

DIGITS_OF_FLOAT = 15
"""A decimal of this many digits is restored exactly from its nearest float, except at the ends of the range of floats."""

LARGEST_EXPONENT = 307
"""Floats whose decimal exponent is at most this, up or down, have full precision."""


class RoundedNumbers:
    """Collects, by column, the first number that was rounded while values were converted.

    Examples
    --------
    >>> rounded = RoundedNumbers()
    >>> with rounded.of("id"):
    ...     note_rounded(2**63 + 1)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     rounded.warn()
    >>> str(caught[0].message)[:102]
    "numbers of column 'id' are rounded, as ints have 64 bits and floats hold 15 digits, for example 922337"
    """

    def __init__(self) -> None:
        # For each column a list with the first number that was rounded, or an empty list.
        self._columns: dict[str | None, list[Any]] = {}

    @property
    def has_any(self) -> bool:
        """Whether any number was rounded."""
        return any(self._columns.values())

    @contextlib.contextmanager
    def of(self, name: str | None) -> Iterator[None]:
        """Record numbers that are rounded in the block for the column ``name``; None if its name is unknown."""
        token = _NOTED.set(self._columns.setdefault(name, []))
        try:
            yield
        finally:
            _NOTED.reset(token)

    def warn(self, but: Collection[str] = ()) -> None:
        """Warn once for each column with rounded numbers, except the columns ``but``; then forget the numbers."""
        for name, noted in self._columns.items():
            if noted and name not in but:
                what = "numbers" if name is None else f"numbers of column {name!r}"
                category = InexactDecimalWarning if isinstance(noted[0], decimal.Decimal) else InexactNumberWarning
                message = (
                    f"{what} are rounded, as ints have 64 bits and floats hold {DIGITS_OF_FLOAT} digits, for example {noted[0]!s:.60}: "
                    "give texts, or SArray(values, dtype=str), to keep all digits"
                )
                warnings.warn(category(message), stacklevel=users_level())
        self._columns.clear()


# The list for the first rounded number of the column that is being converted; None outside of recording blocks.
_NOTED: ContextVar[list[Any] | None] = ContextVar("_NOTED", default=None)


@contextlib.contextmanager
def rounding_warnings(name: str | None = None, listens: bool = True) -> Iterator[None]:
    """Warn once of numbers that were rounded in the block, after it has ended without an error.

    Parameters
    ----------
    name
        The column's name, if known.
    listens
        Whether to warn; False if the user asked for floats.
    """
    rounded = RoundedNumbers()
    with rounded.of(name):
        yield
    if listens:
        rounded.warn()


def note_rounded(value: Any) -> None:
    """Record that a number was rounded, for the column that is being converted."""
    noted = _NOTED.get()
    if noted is not None and not noted:
        noted.append(value)


def may_be_rounded(value: Any) -> bool:
    """Return whether converting a value might round it: a quick test that returns False only for common values that no conversion rounds.

    Examples
    --------
    >>> may_be_rounded(1.5), may_be_rounded(7), may_be_rounded(2**53 + 1), may_be_rounded([1])
    (False, False, True, True)
    """
    python_class = type(value)
    return not (value is None or python_class is float or python_class is str or (python_class is int and -(2**53) <= value <= 2**53))


def is_rounded(value: decimal.Decimal) -> bool:
    """Return whether a finite decimal has more digits than a float holds, not counting zeros at both ends, or is outside the range of floats.

    Examples
    --------
    >>> is_rounded(decimal.Decimal("1.10")), is_rounded(decimal.Decimal("0.1234567890123456")), is_rounded(decimal.Decimal("1e400"))
    (False, True, True)
    """
    if not value:
        return False
    digits = value.as_tuple().digits
    if len(digits) > DIGITS_OF_FLOAT and value.is_finite() and len("".join(map(str, digits)).strip("0")) > DIGITS_OF_FLOAT:
        return True
    # Near the limits of its range a float has fewer digits; beyond them it is infinite, or zero.
    return value.is_finite() and abs(value.adjusted()) > LARGEST_EXPONENT and decimal.Decimal(repr(float(value))) != value
