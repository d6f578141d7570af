"""Numbers that no column holds with all their digits: they become the nearest float, and one warning for each column says so.

Ints of a column have 64 bits, and floats hold 15 digits. Code that takes values in opens :func:`rounding_warnings`; the conversions inside it
record what they round. When a user asked for floats, nothing is recorded.
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
"""Every decimal of so many digits is the one that its nearest float shows, unless it is as large or as small as floats can be."""

LARGEST_EXPONENT = 307
"""Floats between 10 to this power and 10 to its opposite have all digits."""


class RoundedNumbers:
    """Which numbers of which columns were rounded while values were converted.

    Examples
    --------
    >>> rounded = RoundedNumbers()
    >>> with rounded.of("id"):
    ...     note_rounded(2**63 + 1)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     rounded.tell()
    >>> str(caught[0].message)[:98]
    "numbers of column 'id' are rounded, as ints have 64 bits and floats hold 15 digits, for one 922337"
    """

    def __init__(self) -> None:
        # The first number of each column, in a list that is empty as long as there is none.
        self._columns: dict[str | None, list[Any]] = {}

    @property
    def found(self) -> bool:
        """Whether there are any."""
        return any(self._columns.values())

    @contextlib.contextmanager
    def of(self, name: str | None) -> Iterator[None]:
        """Note what is rounded in the block as numbers of a column, whose name may not be known."""
        token = _NOTED.set(self._columns.setdefault(name, []))
        try:
            yield
        finally:
            _NOTED.reset(token)

    def tell(self, but: Collection[str] = ()) -> None:
        """Warn once of each column with such numbers, but for some."""
        for name, noted in self._columns.items():
            if noted and name not in but:
                what = "numbers" if name is None else f"numbers of column {name!r}"
                category = InexactDecimalWarning if isinstance(noted[0], decimal.Decimal) else InexactNumberWarning
                message = (
                    f"{what} are rounded, as ints have 64 bits and floats hold {DIGITS_OF_FLOAT} digits, for one {noted[0]!s:.60}: "
                    "give texts, or SArray(values, dtype=str), to keep all digits"
                )
                warnings.warn(category(message), stacklevel=users_level())
        self._columns.clear()


# What is noted for the column whose values are converted: the first number that was rounded.
_NOTED: ContextVar[list[Any] | None] = ContextVar("_NOTED", default=None)


@contextlib.contextmanager
def rounding_warnings(name: str | None = None, listens: bool = True) -> Iterator[None]:
    """Warn once, when the block has ended without an error, of the numbers that were rounded in it.

    Parameters
    ----------
    name
        What the user calls the column, if that is known.
    listens
        False where the user asked for floats.
    """
    rounded = RoundedNumbers()
    if not listens:
        with rounded.of(name):
            yield
        return
    with rounded.of(name):
        yield
    rounded.tell()


def note_rounded(value: Any) -> None:
    """Note that a column does not hold all digits of a number."""
    noted = _NOTED.get()
    if noted is not None and not noted:
        noted.append(value)


def may_be_rounded(value: Any) -> bool:
    """False for most values that no column rounds, so that nobody has to listen while they are converted.

    Examples
    --------
    >>> may_be_rounded(1.5), may_be_rounded(7), may_be_rounded(2**53 + 1), may_be_rounded([1])
    (False, False, True, True)
    """
    python_class = type(value)
    return not (value is None or python_class is float or python_class is str or (python_class is int and -(2**53) <= value <= 2**53))


def is_rounded(value: decimal.Decimal) -> bool:
    """True for a finite decimal with more digits than a float holds, zeros at both ends left out, or beyond the largest or the least float.

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
    # Near its limits a float has fewer digits, then none: it is infinite, or zero.
    return value.is_finite() and abs(value.adjusted()) > LARGEST_EXPONENT and decimal.Decimal(repr(float(value))) != value
