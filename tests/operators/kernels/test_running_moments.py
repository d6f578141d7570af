"""Means and spreads of all numbers so far, beside what fractions give."""

from fractions import Fraction

import numpy as np
import pytest

from sframe_spark.operators.kernels import running_moments as module
from sframe_spark.operators.kernels.moments import Moments

RANDOM = np.random.default_rng(7)
ROWS = 12_000
COLUMNS = {
    "of few digits": (np.arange(ROWS) * 31 % 10007) / 16.0,
    "around zero": RANDOM.normal(size=ROWS),
    "far from zero": 1e9 + RANDOM.normal(size=ROWS),
    "rising": np.arange(ROWS) * 1.0,
    "one value": np.full(ROWS, 0.1),
    "another value from some row on": np.where(np.arange(ROWS) < 5000, 0.0, 7.1),
    "of all sizes": np.exp(RANDOM.normal(size=ROWS) * 5),
}
SEEN = (0, 1, 2, 99, 4095, 4096, 4097, 4159, 4160, 8191, 8192, 9000, ROWS - 1)


def exact(values, valid):
    """Mean and variance of the numbers up to each row that is looked at."""
    total, squares, count = Fraction(0), Fraction(0), 0
    for row, (value, there) in enumerate(zip(values.tolist(), valid.tolist(), strict=True)):
        if there:
            number = Fraction(value)
            total, squares, count = total + number, squares + number * number, count + 1
        if row in SEEN:
            mean = total / count
            yield row, mean, squares / count - mean * mean


def in_batches(values, valid, kind, size=5000):
    """All values, batch by batch."""
    state, found = Moments(), []
    for start in range(0, len(values), size):
        floats, counts, state = module.running_moments(values[start : start + size], valid[start : start + size], state, kind)
        found.append(floats)
    assert counts[-1] == state.count == valid.sum()
    return np.concatenate(found)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("name", COLUMNS)
def test_running_moments_are_those_of_all_numbers_so_far(name, missing):
    values = COLUMNS[name]
    valid = RANDOM.random(ROWS) < 0.7 if missing else np.ones(ROWS, bool)
    valid[0] = True
    found = {kind: in_batches(np.where(valid, values, 1e300), valid, kind) for kind in ("mean", "var", "std")}
    for row, mean, variance in exact(values, valid):
        spread = float(variance) ** 0.5
        assert abs(Fraction(float(found["mean"][row])) - mean) <= Fraction(2.0**-52) * max(abs(mean), Fraction(spread))
        assert found["var"][row] == pytest.approx(float(variance), rel=1e-11 if name == "far from zero" else 1e-15, abs=0)
        assert found["std"][row] == pytest.approx(spread, rel=1e-11 if name == "far from zero" else 1e-15, abs=0)


def test_numbers_that_blocks_have_no_digits_for_are_added_one_by_one(monkeypatch):
    """Infinities, NaN, and numbers whose squares are none."""
    calls = []
    real = module.one_by_one
    monkeypatch.setattr(module, "one_by_one", lambda *given: calls.append(len(given[0])) or real(*given))
    for odd in (np.inf, np.nan, 1e120, -1e301):
        values = np.arange(ROWS) % 7.0
        values[9000] = odd
        found = in_batches(values, np.ones(ROWS, bool), "var", ROWS)
        assert sum(calls) > module.FIRST_ROWS
        assert np.isfinite(found[:9000]).all()
        assert np.isfinite(found[9000:]).all() == (odd == 1e120)
        calls.clear()
    in_batches(np.arange(ROWS) % 7.0, np.ones(ROWS, bool), "var", ROWS)
    assert sum(calls) == module.FIRST_ROWS
