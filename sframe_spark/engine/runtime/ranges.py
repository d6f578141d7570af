"""Row ranges and the states of sequential operators between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sframe_spark.engine.runtime.others import combined
from sframe_spark.planner.operator import TOO_LARGE, SequentialOperator

Range = tuple[int, int]


def states_between(operator: SequentialOperator, initial: Any, parts: Iterable[Any]) -> list[Any]:
    """State before each range but the first, from what each range but the last carries over; ``TOO_LARGE`` where that is not known.

    Parameters
    ----------
    operator
        The operator.
    initial
        State before the first range.
    parts
        What ``operator.carried`` gives of each range's state.
    """
    running: Any = initial
    found = []
    for part in parts:
        if part is TOO_LARGE or (running is TOO_LARGE and not operator.ends_suffice(part)):
            running = TOO_LARGE
        else:
            running = operator.carried(combined(operator, operator.combine, (initial if running is TOO_LARGE else running, part)))
        found.append(running)
    return found


def joined_ranges(
    ranges: Sequence[Range], states: Sequence[dict[int, Any]], before: Mapping[int, Sequence[Any]]
) -> tuple[list[Range], list[dict[int, Any]]]:
    """Ranges with the states before them, those of some more places added; a range before which one is not known goes to the one before it.

    Examples
    --------
    >>> joined_ranges([(0, 4), (4, 8), (8, 9)], [{7: "a"}, {}, {}], {7: [TOO_LARGE, None]})
    ([(0, 8), (8, 9)], [{7: 'a'}, {7: None}])
    """
    kept, known = [ranges[0]], [states[0]]
    for number, ((start, stop), state) in enumerate(zip(ranges[1:], states[1:], strict=True)):
        found = {place: of_ranges[number] for place, of_ranges in before.items()}
        if any(value is TOO_LARGE for value in found.values()):
            kept[-1] = (kept[-1][0], stop)
        else:
            kept.append((start, stop))
            known.append({**state, **found})
    return kept, known
