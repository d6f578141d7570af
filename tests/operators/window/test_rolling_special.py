"""NaN and infinities in rolling windows: against the reference, and no trace of them in windows that do not hold them."""

from __future__ import annotations

import math
from typing import Any

import pytest

from sframe_spark import SArray
from sframe_spark.operators.window.rolling import KINDS
from tests.facts import from_fact, load_facts, same

# Recorded from turicreate 6.4.1: rolling_*(before, after, min_observations=minimum); counts take no minimum.
FACTS = from_fact(load_facts("rolling_special_values.json"))


def rolled(fact: dict[str, Any], kind: str) -> list[Any]:
    """Our values of a recorded program."""
    roll = getattr(SArray(fact["values"], float), f"rolling_{kind}")
    return list(roll(fact["before"], fact["after"]) if kind == "count" else roll(fact["before"], fact["after"], fact["minimum"]))


def held(fact: dict[str, Any], row: int) -> list[float]:
    """Values in the window of a row that are there."""
    first, last = max(row + fact["before"], 0), row + fact["after"] + 1
    return [value for value in fact["values"][first:last] if value is not None]


def reason_to_differ(kind: str, window: list[float], reference: Any, ours: Any) -> str | None:
    """Why a value of ours is another one than the reference's, if it may be."""
    infinite = {value for value in window if math.isinf(value)}
    if kind == "mean" and len(infinite) == 1 and not any(map(math.isnan, window)):
        # The reference adds differences one by one: NaN wherever a value comes after the infinite one. The sum is infinite there too.
        return "the mean is the sum by the count" if math.isnan(reference) and ours in infinite else None
    if kind in ("stdv", "var") and len(window) == 1 and not math.isfinite(window[0]):
        return "nothing has no distance from itself" if reference == 0.0 and math.isnan(ours) else None
    return None


@pytest.mark.parametrize("kind", KINDS)
def test_windows_are_as_recorded(kind: str) -> None:
    compared, differing = 0, set()
    for fact in FACTS:
        for row, (reference, ours) in enumerate(zip(fact["results"][kind], rolled(fact, kind), strict=True)):
            reason = reason_to_differ(kind, held(fact, row), reference, ours) if not same(reference, ours) else None
            assert same(reference, ours) or reason, (fact, row, reference, ours)
            compared += 1
            differing |= {reason} - {None}
    assert compared == sum(len(fact["values"]) for fact in FACTS) > 200
    assert len(differing) == (kind in ("mean", "stdv", "var"))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", ["sum", "mean", "min", "max", "stdv", "var"])
@pytest.mark.parametrize("special", [math.inf, -math.inf, math.nan])
@pytest.mark.parametrize(("before", "after"), [(-1, 0), (-3, 1), (0, 2), (2, 4), (-5, -3)])
def test_windows_without_it_do_not_know_it(kind: str, special: float, before: int, after: int) -> None:
    values = [0.1 * (i * i % 11) for i in range(40)]
    place = 17
    plain, spoilt = (
        rolled({"values": cells, "before": before, "after": after, "minimum": 1}, kind)
        for cells in (values, [*values[:place], special, *values[place + 1 :]])
    )
    holding = {row for row in range(40) if row + before <= place <= row + after}
    assert len(holding) == after - before + 1
    assert [spoilt[row] for row in range(40) if row not in holding] == [plain[row] for row in range(40) if row not in holding]
    if kind in ("sum", "mean"):
        assert all(same(spoilt[row], special) for row in holding)
