"""Errors and warnings about values, with their column and row: strings that are not valid Unicode, and numbers that lose digits."""

from __future__ import annotations

import contextlib
import decimal
import warnings
from collections import deque
from collections.abc import Collection, Iterable, Iterator
from contextvars import ContextVar
from typing import Any

from sframe_spark.errors import DateTimeRangeError, InexactDecimalWarning, InexactNumberWarning, InvalidArgumentError, SchemaError, users_level
from sframe_spark.message_text import is_unicode


@contextlib.contextmanager
def naming_broken_string(values: Any) -> Iterator[None]:
    """Replace a Unicode error in the block by an error that names the first invalid string and, if ``values`` is a list, its row.

    Raises
    ------
    InvalidArgumentError
        If a string that the block converts is not valid Unicode.

    Examples
    --------
    >>> with naming_broken_string([b"\\xff"]):
    ...     b"\\xff".decode()
    Traceback (most recent call last):
        ...
    sframe_spark.errors.InvalidArgumentError: row 0: b'\\xff' is not UTF-8: decode it first, with the encoding that it has
    """
    try:
        yield
    except UnicodeError:
        rows = enumerate(values) if isinstance(values, list) else iter(())
        prefix, value = next(((f"row {row}: ", value) for row, value in rows if is_broken(value)), ("", None))
        raise InvalidArgumentError(prefix + invalid_string_message(value)) from None


def require_unicode_values(values: Iterable[Any]) -> None:
    """Raise if there are invalid strings among values, also inside lists, tuples, sets and dicts.

    Raises
    ------
    InvalidArgumentError
        If a string is not valid Unicode, or bytes are not UTF-8.

    Examples
    --------
    >>> require_unicode_values([1, ("a", {"b": ["c"]})])
    """
    # A list may contain itself.
    waiting, seen = deque([values]), set[int]()
    while waiting:
        value = waiting.popleft()
        if value is values or isinstance(value, (tuple, list, set, frozenset, dict)):
            if id(value) not in seen and not _are_whole_texts(value):
                seen.add(id(value))
                waiting.extend(value)
                waiting.extend(value.values() if isinstance(value, dict) else ())
        elif is_broken(value):
            raise InvalidArgumentError(invalid_string_message(value))


def _are_whole_texts(values: Any) -> bool:
    """Return whether values are a list or tuple of only numbers, None and valid strings, which are checked all at once."""
    if not isinstance(values, (list, tuple)):
        return False
    classes = set(map(type, values))
    if not classes <= {str, int, float, bool, type(None)}:
        return False
    # Joining does not hide errors: two lone surrogates that become adjacent are still invalid.
    return str not in classes or is_unicode("".join(values if len(classes) == 1 else [value for value in values if type(value) is str]))


def is_broken(value: Any) -> bool:
    """Return whether a value is a string that is not valid Unicode, or bytes that are not UTF-8, so that no column can hold it."""
    try:
        if isinstance(value, bytes):
            value.decode()
    except UnicodeDecodeError:
        return True
    return isinstance(value, str) and not is_unicode(value)


def invalid_string_message(value: Any) -> str:
    """Return the message for an invalid string or bytes: what is wrong, and how to fix it."""
    if isinstance(value, bytes):
        return f"{value[:40]!r} is not UTF-8: decode it first, with the encoding that it has"
    named = f"the text {value[:40]!r}" if isinstance(value, str) else "a text in it"
    return f"{named} is not Unicode, it has half of a character: replace that first, as text.encode('utf-8', 'replace').decode() does"


@contextlib.contextmanager
def column_named(name: str) -> Iterator[None]:
    """Put the name of a column before the message of errors raised in the block.

    Examples
    --------
    >>> with column_named("price"):
    ...     raise SchemaError("no column holds these")
    Traceback (most recent call last):
        ...
    sframe_spark.errors.SchemaError: column 'price': no column holds these
    """
    try:
        yield
    except (SchemaError, InvalidArgumentError, DateTimeRangeError) as error:
        message, *rest = error.args
        error.args = (f"column {name!r}: {message}", *rest)
        raise


# Numbers that lose digits, such as ints beyond 64 bits and long decimals, become the nearest float, with one warning for each column. Code that
# converts users' values does so inside `rounding_warnings`; the conversions record the numbers that they round. No warning is given if a user
# asked for floats.

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
    >>> str(caught[0].message)[:98]
    "numbers of column 'id' are rounded, as ints have 64 bits and floats hold 15 digits, for one 922337"
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
                    f"{what} are rounded, as ints have 64 bits and floats hold {DIGITS_OF_FLOAT} digits, for one {noted[0]!s:.60}: "
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
