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
"""A decimal of so many digits is restored exactly from its nearest float, except at the ends of the range of floats."""

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
    >>> str(caught[0].message)[:98]
    "numbers of column 'id' are rounded, as ints have 64 bits and floats hold 15 digits, for one 922337"
    """

    def __init__(self) -> None:
        # The first number of each column, in a list that is empty while there is none.
        self._columns: dict[str | None, list[Any]] = {}

    @property
    def has_any(self) -> bool:
        """Whether any number was rounded."""
        return any(self._columns.values())

    @contextlib.contextmanager
    def of(self, name: str | None) -> Iterator[None]:
        """Record the numbers rounded in the block under a column, whose name may be unknown."""
        token = _NOTED.set(self._columns.setdefault(name, []))
        try:
            yield
        finally:
            _NOTED.reset(token)

    def warn(self, but: Collection[str] = ()) -> None:
        """Warn once for each column with such numbers, except those named."""
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


# The first rounded number of the column that is being converted.
_NOTED: ContextVar[list[Any] | None] = ContextVar("_NOTED", default=None)


@contextlib.contextmanager
def rounding_warnings(name: str | None = None, listens: bool = True) -> Iterator[None]:
    """Warn once, when the block has ended without an error, of the numbers that were rounded in it.

    Parameters
    ----------
    name
        The column's name, if known.
    listens
        False if the user asked for floats.
    """
    rounded = RoundedNumbers()
    if not listens:
        with rounded.of(name):
            yield
        return
    with rounded.of(name):
        yield
    rounded.warn()


def note_rounded(value: Any) -> None:
    """Record that a column does not hold all digits of a number."""
    noted = _NOTED.get()
    if noted is not None and not noted:
        noted.append(value)


def may_be_rounded(value: Any) -> bool:
    """Return False for most values that are never rounded, so that nothing has to be recorded for them.

    Examples
    --------
    >>> may_be_rounded(1.5), may_be_rounded(7), may_be_rounded(2**53 + 1), may_be_rounded([1])
    (False, False, True, True)
    """
    python_class = type(value)
    return not (value is None or python_class is float or python_class is str or (python_class is int and -(2**53) <= value <= 2**53))


def is_rounded(value: decimal.Decimal) -> bool:
    """Return whether a finite decimal has more digits than a float holds (zeros at both ends aside), or is out of the range of floats.

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
