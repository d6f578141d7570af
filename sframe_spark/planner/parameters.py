"""Domains of operators' parameters, as validators of attrs: an operator outside of them cannot be made, by whoever makes it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

from sframe_spark.errors import InvalidArgumentError, listed, near_names
from sframe_spark.message_text import brief

Validator = Callable[[Any, Any, Any], None]


def told_apart(value: Any) -> str:
    """Return a text that other values of parameters do not have, for comparing and hashing: 1, 1.0 and True are not the same to a kernel.

    Examples
    --------
    >>> told_apart((1, True)) == told_apart((1, 1)), told_apart([10**5000]) == told_apart([10**5000])
    (False, True)
    """
    try:
        return repr(value)
    except ValueError:
        # Python has no text of an int with thousands of digits.
        return pickle.dumps(value).hex()


def one_of(*values: str) -> Validator:
    """One of some texts.

    Raises
    ------
    InvalidArgumentError
        By the validator, for others.

    Examples
    --------
    >>> import attrs
    >>> @attrs.frozen
    ... class Turn:
    ...     name = "turn"
    ...     side: str = attrs.field(validator=one_of("left", "right"))
    >>> Turn("lefft")
    Traceback (most recent call last):
    ...
    sframe_spark.errors.InvalidArgumentError: 'side' of the operator 'turn' is one of 'left', 'right', not 'lefft': did you mean 'left'?
    """

    def check(instance: Any, attribute: Any, value: Any) -> None:
        if value not in values:
            near = near_names(value, values)
            meant = f": did you mean {listed(near)}?" if near else ""
            raise InvalidArgumentError(f"{_told(instance, attribute)} is one of {listed(values)}, not {brief(value, 80)}{meant}")

    return check


def at_least(low: float) -> Validator:
    """A number from ``low`` on, or None where the parameter may be left out.

    Raises
    ------
    InvalidArgumentError
        By the validator, for others.
    """

    def check(instance: Any, attribute: Any, value: Any) -> None:
        if value is not None and not value >= low:
            raise InvalidArgumentError(f"{_told(instance, attribute)} is {low} or more, not {brief(value, 80)}")

    return check


def above_zero(instance: Any, attribute: Any, value: Any) -> None:
    """Refuse numbers that are zero, negative or NaN.

    Raises
    ------
    InvalidArgumentError
        If it is such a number.
    """
    if value is not None and not value > 0:
        raise InvalidArgumentError(f"{_told(instance, attribute)} is above zero, not {brief(value, 80)}")


def column_positions(instance: Any, attribute: Any, value: Any) -> None:
    """Refuse negative positions of columns, one or several: they are counted from 0.

    Raises
    ------
    InvalidArgumentError
        If one is negative.
    """
    smallest = 0 if value is None else value if isinstance(value, int) else min(value, default=0)
    if smallest < 0:
        raise InvalidArgumentError(f"{_told(instance, attribute)} has the column {smallest}: columns are counted from 0")


def _told(instance: Any, attribute: Any) -> str:
    name = getattr(instance, "name", None)
    return f"{attribute.name!r} of the operator {name!r}" if isinstance(name, str) and name else f"{attribute.name!r} of {type(instance).__name__}"
