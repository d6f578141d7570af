"""Exponential means over the time between values: beside Flint's recurrence, in ranges and batches of any size, and what is refused."""

from __future__ import annotations

import datetime
import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from sframe_spark import SFrame, config
from sframe_spark.engine.execution.materialize_count_and_read_rows import compute
from sframe_spark.errors import InvalidArgumentError, SchemaError
from sframe_spark.operators.window.smoothed_column import mean_over_time
from sframe_spark.operators.window.smoothing_kinds import shares_between
from tests.examples import examples
from tests.operators.ranges import random_cuts, run_in_ranges
from tests.operators.window.test_smoothing import uneven_rows

CASES = [
    (interpolation, convention, priming)
    for interpolation in ("previous", "linear", "current")
    for convention, priming in (("core", 0.0), ("core", 3.0), ("convolution", 0.0), ("convolution", 3.0), ("legacy", 0.0))
]
CASE = ("interpolation", "convention", "priming")


def added(interpolation: str, before: float, after: float, periods: float) -> float:
    """What Flint's recurrence adds over some half-lives."""
    if periods == 0.0:
        return 0.0
    decay = math.exp(periods * math.log(0.5))
    if interpolation == "previous":
        return (1 - decay) * before
    if interpolation == "current":
        return (1 - decay) * after
    mean_decay = (decay - 1) / (periods * math.log(0.5))
    return (mean_decay - decay) * before + (1 - mean_decay) * after


def by_recurrence(
    times: Sequence[float | None], values: Sequence[float | None], half_life: float, interpolation: str, convention: str, priming: float
) -> list[float | None]:
    """Row by row; as Flint, which leaves out rows without a value, and has NaN where nothing weighs (here missing)."""
    result: list[float | None] = []
    last: tuple[float, float] | None = None
    mean, weight, shown = 0.0, 0.0, None
    for time, value in zip(times, values, strict=True):
        if time is None:
            result.append(None)
            continue
        if value is not None:
            earlier = (time - (max(time, 0.0) if convention == "legacy" else priming), 0.0) if last is None else last
            periods = (time - earlier[0]) / half_life
            mean = mean * 0.5**periods + added(interpolation, earlier[1], value, periods)
            weight = weight * 0.5**periods + added(interpolation, 0.0 if last is None else 1.0, 1.0, periods)
            last = (time, value)
            shown = mean if convention != "core" else mean / weight if weight > 0 else None
        result.append(shown)
    return result


def numbers(found: Sequence[float | None]) -> list[float]:
    return [math.inf if value is None else value for value in found]


@pytest.mark.parametrize(CASE, CASES)
def test_as_the_recurrence_of_flint(interpolation: str, convention: str, priming: float) -> None:
    for seed in range(examples(25)):
        choose = random.Random(seed)
        now, times, values = choose.choice([-4, 0, 7]), [], []
        for _ in range(choose.randrange(30)):
            now += choose.choice([0, 1, 2, 9])
            times.append(None if choose.random() < 0.1 else float(now))
            values.append(None if choose.random() < 0.3 else choose.gauss(10, 3))
        sf = SFrame({"v": [*values, 1.0], "t": [*times, 1e9]})[: len(values)]
        given: dict[str, Any] = {"interpolation": interpolation, "convention": convention, "priming": priming or None}
        found = list(sf.exponential_smoothing("v", on="t", half_life=2.5, **given))
        wanted = by_recurrence(times, values, 2.5, interpolation, convention, priming)
        assert np.allclose(numbers(found), numbers(wanted), rtol=1e-10, atol=1e-13), seed


@pytest.mark.parametrize(CASE, CASES)
def test_no_digit_depends_on_ranges_or_batches(interpolation: str, convention: str, priming: float) -> None:
    for seed in range(examples(8)):
        choose = random.Random(seed)
        rows = uneven_rows(choose)
        columns = zip(*[*rows, (1.0, 1e9, "a")], strict=True)
        sf = SFrame(dict(zip(["a", "b", "c"], map(list, columns), strict=True)))[: len(rows)]
        keys, half_life = [2] if choose.random() < 0.7 else [], choose.choice([0.5, 2.0, 7.3, 1000.0])
        node = mean_over_time(compute(sf._node), 0, 1, keys, half_life, interpolation, convention, priming)
        whole = run_in_ranges(node, [0, len(rows)], max(1, len(rows)))
        for _ in range(2):
            cuts, batch = random_cuts(choose, len(rows)), choose.choice([1, 7, 64])
            assert repr(run_in_ranges(node, cuts, batch)) == repr(whole), (seed, cuts, batch)


def test_date_times_of_a_key_in_segments_with_little_memory() -> None:
    choose, noon = random.Random(1), datetime.datetime(2024, 1, 1, 12)
    minutes = sorted(choose.randrange(300) for _ in range(400))
    values, keys = [choose.gauss(0, 1) for _ in minutes], [choose.choice("abc") for _ in minutes]
    columns = {"k": keys, "v": values, "t": [noon + datetime.timedelta(minutes=minute) for minute in minutes]}
    given: dict[str, Any] = {"on": "t", "half_life": "10min", "by": "k", "interpolation": "linear", "convention": "legacy"}
    whole = list(SFrame(columns).exponential_smoothing("v", **given))
    since = (noon - datetime.datetime(1970, 1, 1)).total_seconds() / 60
    for key in "abc":
        rows = [row for row in range(400) if keys[row] == key]
        wanted = by_recurrence([since + minutes[row] for row in rows], [values[row] for row in rows], 10.0, "linear", "legacy", 0.0)
        assert np.allclose([whole[row] for row in rows], numbers(wanted), rtol=1e-7, atol=1e-9)
    with config.using(segment_rows=50, batch_rows=16, work_memory=20_000):
        assert repr(list(SFrame(columns).exponential_smoothing("v", **given))) == repr(whole)


def test_shares_of_hardly_any_time_do_not_cancel() -> None:
    for passed in (1e-12, 1e-7, 1e-4, 1.4e-3, 1.5e-3, 0.1):
        exponent = passed * math.log(2)
        earlier, later = shares_between(np.array(passed), "linear")
        series = sum((-1) ** n * exponent ** (n - 1) / math.factorial(n) for n in range(2, 25))
        assert later == pytest.approx(series, rel=1e-11) and earlier + later == pytest.approx(-math.expm1(-exponent), rel=1e-14)


def test_what_has_no_share_is_not_in_the_mean() -> None:
    sf = SFrame({"t": [0, 0, 10], "v": [math.inf, 1.0, 3.0]})
    assert list(sf.exponential_smoothing("v", on="t", half_life=10, interpolation="previous")) == [None, None, 1.0]
    assert list(sf.exponential_smoothing("v", on="t", half_life=10, interpolation="previous", convention="convolution")) == [0.0, 0.0, 0.5]
    sf = SFrame({"t": [0, 10, 20], "v": [1.0, math.nan, 3.0]})
    found = list(sf.exponential_smoothing("v", on="t", half_life=10, interpolation="previous"))
    assert found[:2] == [None, 1.0] and math.isnan(found[2])
    found = list(sf[1:].exponential_smoothing("v", on="t", half_life=10, interpolation="current", priming=5))
    assert all(map(math.isnan, found))


def test_what_is_refused() -> None:
    sf = SFrame({"t": [0, 1], "v": [1.0, 2.0]})

    def smoothed(**given: Any) -> None:
        sf.exponential_smoothing("v", **{"on": "t", "half_life": 1, **given})

    with pytest.raises(InvalidArgumentError, match="interpolation is one of 'previous', 'linear', 'current', got 'next'"):
        smoothed(interpolation="next")
    with pytest.raises(InvalidArgumentError, match="convention is one of 'core', 'convolution', 'legacy'"):
        smoothed(interpolation="linear", convention="old")
    with pytest.raises(InvalidArgumentError, match="give on="):
        sf.exponential_smoothing("v", half_life=1, interpolation="linear")
    with pytest.raises(InvalidArgumentError, match="is for means"):
        smoothed(interpolation="linear", kind="sum")
    with pytest.raises(InvalidArgumentError, match="is for means"):
        smoothed(interpolation="linear", adjust=False)
    with pytest.raises(InvalidArgumentError, match="takes no priming"):
        smoothed(interpolation="linear", convention="legacy", priming=1)
    for given in ({"convention": "legacy"}, {"priming": 1}):
        with pytest.raises(InvalidArgumentError, match="give interpolation='previous', too"):
            smoothed(**given)
    with pytest.raises(SchemaError, match="priming"):
        smoothed(interpolation="linear", priming="1h")
