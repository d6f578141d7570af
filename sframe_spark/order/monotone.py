"""What a monotone function and its arguments say about each other for one pair of rows.

Source: ``docs/order.md`` section 2: a weakly monotone function propagates bounds only; a strict one also tells a
change of an argument from a tie of the value.
"""

from __future__ import annotations

from collections.abc import Sequence

from sframe_spark.order.facts import Effect
from sframe_spark.order.outcomes import (
    BOTH_NULL,
    EQUAL,
    GREATER,
    LESS,
    NO_NULLS,
    NULL_TO_VALUE,
    VALUE_TO_NULL,
    negate,
)

_EARLIER_NULL = NULL_TO_VALUE | BOTH_NULL
_LATER_NULL = VALUE_TO_NULL | BOTH_NULL


def revise(value: int, arguments: Sequence[int], effects: Sequence[Effect], strict: bool) -> tuple[int, list[int]]:
    """Possible outcomes of a function's value and arguments, each narrowed by the others.

    Examples
    --------
    >>> revise(63, [LESS], ["dec"], True)[0] == GREATER
    True
    >>> revise(LESS, [63], ["inc"], False)[1] == [LESS]
    True
    """
    turned = [negate(outcomes) if effect == "dec" else outcomes for outcomes, effect in zip(arguments, effects, strict=True)]
    value &= _value_outcomes(turned, effects, strict)
    turned = _narrow_nulls(value, turned)
    if value & ~NO_NULLS == 0:
        turned = [_narrow_argument(index, value, turned, effects, strict) & outcomes for index, outcomes in enumerate(turned)]
    return value, [negate(outcomes) if effect == "dec" else outcomes for outcomes, effect in zip(turned, effects, strict=True)]


def _value_outcomes(turned: Sequence[int], effects: Sequence[Effect], strict: bool) -> int:
    """Outcomes of the value that some outcomes of the arguments allow; the value is null where an argument is."""
    earlier, later = any(o & _EARLIER_NULL for o in turned), any(o & _LATER_NULL for o in turned)
    earlier_always = any(o & ~_EARLIER_NULL == 0 for o in turned)
    later_always = any(o & ~_LATER_NULL == 0 for o in turned)
    result = 0
    if not earlier_always and not later_always:
        result |= _compared([o & NO_NULLS for o in turned], effects, strict)
    if earlier and not later_always:
        result |= NULL_TO_VALUE
    if later and not earlier_always:
        result |= VALUE_TO_NULL
    if earlier and later:
        result |= BOTH_NULL
    return result


def _compared(turned: Sequence[int], effects: Sequence[Effect], strict: bool) -> int:
    """Outcomes of the value where nothing is null."""
    result, moved = NO_NULLS, {LESS: False, GREATER: False}
    can_fall = can_grow = False
    for outcomes, effect in zip(turned, effects, strict=True):
        if outcomes == EQUAL:
            continue
        if effect == "fixed":
            return result
        can_grow, can_fall = can_grow or bool(outcomes & LESS), can_fall or bool(outcomes & GREATER)
        if outcomes in moved:
            moved[outcomes] = True
    if not can_fall:
        result &= LESS if strict and moved[LESS] else LESS | EQUAL
    if not can_grow:
        result &= GREATER if strict and moved[GREATER] else GREATER | EQUAL
    return result


def _narrow_nulls(value: int, turned: Sequence[int]) -> list[int]:
    """The arguments, given in which rows the value is null."""
    result = list(turned)
    for null in (_EARLIER_NULL, _LATER_NULL):
        if value & null == 0:
            result = [outcomes & ~null for outcomes in result]
        elif value & ~null == 0:
            candidates = [index for index, outcomes in enumerate(result) if outcomes & null]
            if len(candidates) == 1:
                result[candidates[0]] &= null
    return result


def _narrow_argument(index: int, value: int, turned: Sequence[int], effects: Sequence[Effect], strict: bool) -> int:
    """Outcomes of one argument for which the value keeps a possible outcome, where nothing is null."""
    trial = [outcomes & NO_NULLS for outcomes in turned]
    result = 0
    for outcome in (LESS, GREATER, EQUAL):
        trial[index] = outcome
        if _compared(trial, effects, strict) & value:
            result |= outcome
    return result
