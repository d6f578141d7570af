"""Means and spreads of all numbers so far, beside what fractions give."""

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from sframe_spark.compute.exact_sum_and_variance import ExactSum, VarianceState
from sframe_spark.compute.exact_sums_of_groups import Digits
from sframe_spark.expressions.aggregates import float_sums
from sframe_spark.expressions.aggregates.float_sums import FloatSum, mean, sum_of_floats
from sframe_spark.expressions.aggregates.spreads import variance
from sframe_spark.operators.window.running_states import RunningAggregates
from sframe_spark.planner.chunk import Chunk
from sframe_spark.types import FLOAT, INT
from tests.compute.odd_numbers import NUMBERS
from tests.examples import part

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


AGGREGATES = {"sum": sum_of_floats(1), "mean": mean(1), "var": variance(1), "std": variance(1, is_root=True)}


def so_far(kind, values, valid=None, starts=(0,), size=1 << 20):
    """The values of all rows, batch by batch, and the state after them; a group begins at each start."""
    by = np.searchsorted(starts, np.arange(len(values)), "right")
    driver = RunningAggregates.of((INT, FLOAT), [0], [AGGREGATES[kind]], [1])
    rows, state, found = Chunk.of([pa.array(by), pa.array(values, mask=None if valid is None else ~valid, from_pandas=False)]), driver.empty(), []
    for start in range(0, len(values), size):
        (column,), state = driver.advanced(rows.slice(start, min(start + size, len(values))), state)
        found.append(column.to_numpy(zero_copy_only=False))
    return np.concatenate(found), state


@pytest.mark.sampled(3)
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("name", COLUMNS)
def test_running_moments_are_those_of_all_numbers_so_far(name, missing):
    values = COLUMNS[name]
    valid = RANDOM.random(ROWS) < 0.7 if missing else np.ones(ROWS, bool)
    valid[0] = True
    found = {kind: so_far(kind, values, valid, size=5000)[0] for kind in ("mean", "var", "std")}
    for row, wanted, squared in exact(values, valid):
        spread = float(squared) ** 0.5
        assert abs(Fraction(float(found["mean"][row])) - wanted) <= Fraction(2.0**-52) * max(abs(wanted), Fraction(spread))
        assert found["var"][row] == pytest.approx(float(squared), rel=4e-16, abs=0)
        assert found["std"][row] == pytest.approx(spread, rel=4e-16, abs=0)


@st.composite
def groups(draw):
    """Numbers group by group, which of them there are, and where groups begin."""
    sizes = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    values = draw(st.lists(st.one_of(NUMBERS, st.none()), min_size=sum(sizes), max_size=sum(sizes)))
    return values, np.cumsum([0, *sizes[:-1]])


@given(groups(), st.integers(1, 7), st.sampled_from(["sum", "mean", "var", "std"]))
def test_running_sums_of_groups_are_those_of_exact_numbers_whatever_the_blocks(given, size, kind):
    values, starts = given
    numbers, valid = np.array([value or 0.0 for value in values]), np.array([value is not None for value in values])
    found = []
    for block, batch in ((size, 1 << 14), (1 << 14, 1 << 14), (1 << 14, size)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(FloatSum, "rows_per_block", block)
            found.append(so_far(kind, numbers, valid, starts, batch)[0])
    assert np.array_equal(found[0], found[1], equal_nan=True) and np.array_equal(found[0], found[2], equal_nan=True)
    for start, stop in zip(starts, [*starts[1:], len(values)], strict=True):
        for end in range(start, stop):
            known = [value for value in values[start : end + 1] if value is not None]
            if all(map(math.isfinite, known)):
                assert is_value(found[0][end], kind, known)
            elif kind in ("sum", "mean"):
                assert repr(float(found[0][end])) == repr(sum(value for value in known if not math.isfinite(value)))
            else:
                assert np.isnan(found[0][end])


def is_value(found, kind, known):
    """Whether a value is that of exact numbers: sums are rounded once, means and spreads near that."""
    total = sum(map(Fraction, known), Fraction(0))
    if kind == "sum":
        return found == rounded(total)
    middle = total / max(len(known), 1)
    if kind == "mean":
        return math.isclose(found, rounded(middle), rel_tol=3e-16, abs_tol=5e-324)
    expected = rounded(sum(((Fraction(value) - middle) ** 2 for value in known), Fraction(0)) / max(len(known), 1))
    if expected == math.inf or found == math.inf:
        return expected > 1e306 and (kind == "var" or found > 1e153)
    # Squares of the smallest floats have few digits.
    return math.isclose(found, math.sqrt(expected) if kind == "std" else expected, rel_tol=4e-16, abs_tol=1e-161 if kind == "std" else 5e-323)


def rounded(number):
    """The float next to a number."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def is_sum(state, total):
    """Whether a state has one sum, which is sent as an exact sum is."""
    sent, wanted = (FloatSum(0).to_arrow(sums)[0] for sums in (state, Digits.of_sum(total)))
    return sent.equals(wanted)


@given(st.lists(NUMBERS, min_size=1, max_size=40), st.integers(1, 40), st.integers(1, 9))
def test_a_running_sum_goes_on_from_the_exact_sum_before(values, cut, size):
    numbers = np.array([0.1, 1e-30, *values])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FloatSum, "rows_per_block", size)
        found, state = so_far("sum", numbers, size=cut)
    assert is_sum(state.groups.states[0], ExactSum.of(numbers))
    expected = [ExactSum.of(numbers[: end + 1]).value for end in range(len(numbers))]
    assert np.array_equal(found, expected, equal_nan=True)


@pytest.mark.parametrize("name", COLUMNS)
def test_usual_numbers_are_added_up_in_two_ints(name, monkeypatch):
    """Or each row would take several times as long."""
    blocks = []
    real = float_sums.row_digits
    monkeypatch.setattr(float_sums, "row_digits", lambda *given: blocks.append(1) or real(*given))
    so_far("sum", np.tile(COLUMNS[name], 10))
    assert (len(blocks) > 0) == (name == "of all sizes")


@pytest.mark.parametrize("bits", part(range(0, 40, 3), 8))
def test_digits_of_many_blocks_have_room(bits):
    """Numbers of one sign and size: those of one block fill 64 bits where their size is that of a whole digit."""
    numbers = np.full(3 * FloatSum.rows_per_block, math.ldexp(0.99, bits))
    numbers[0] = 1e-300
    for values in (numbers, np.sqrt(numbers)):
        known = VarianceState.of(values)
        for kind, expected in (("sum", known.total.value), ("var", known.squares / known.count)):
            found, state = so_far(kind, values)
            assert found[-1] == pytest.approx(expected, rel=4e-16, abs=0)
            assert is_sum(state.groups.states[-1], known.total)
