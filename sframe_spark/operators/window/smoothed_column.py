"""Plans of exponential smoothing: means, sums and spreads of all values so far, by time or by rows, and means over the time between values.

Spreads, and means whose first value has no weight of its own, are made of several columns that are smoothed after another.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import attrs
import numpy as np

from sframe_spark.expressions.scalar_function_program import Literal
from sframe_spark.operators.elementwise import apply_function
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.operators.project_zip_arrange import column_of, zip_columns
from sframe_spark.operators.row_number import row_number
from sframe_spark.operators.window.running_by_group import running
from sframe_spark.operators.window.smoothing import ExponentialSmoothing
from sframe_spark.operators.window.smoothing_kinds import shares_between
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import FLOAT

ONE, NOTHING, MISSING = Literal(1.0, FLOAT), Literal(0.0, FLOAT), Literal(None, FLOAT)
RESULTS = ("mean", "sum", "std", "var")
CONVENTIONS = ("core", "convolution", "legacy")


@attrs.frozen(eq=False)
class Smoothing:
    """Columns over the same rows that are smoothed with the same times, keys and half-life.

    Parameters
    ----------
    node
        The rows.
    time
        Position of the column of times.
    keys
        Positions of the key columns.
    half_life
        The half-life, in the unit of the times.
    """

    node: PlannerNode
    time: int
    keys: tuple[int, ...]
    half_life: float

    def of(self, column: PlannerNode, kind: str, shorter: float = 1.0) -> PlannerNode:
        """Return a column smoothed; the half-life is divided by ``shorter``."""
        operator = ExponentialSmoothing(len(self.node.schema), self.time, self.keys, self.half_life / shorter, kind)
        return operator.make_planner_node(zip_columns(self.node, column))

    def spread(self, biased: PlannerNode, weights: PlannerNode) -> PlannerNode:
        """Return sample variances from those that weigh squared deviations only, given the weights of the values.

        With weights ``w`` these are too small by the factor ``1 - sum(w ** 2) / sum(w) ** 2``, which is 0 for one value: its result is missing.
        Twice the products of all pairs of weights are what is left of ``sum(w) ** 2``; nothing cancels in their sum.
        """
        total = self.of(weights, "total")
        pairs = apply_function("multiply", apply_function("multiply", weights, self.of(weights, "total_before")), Literal(2.0, FLOAT))
        left = self.of(pairs, "total", 2.0)
        variance = apply_function("divide", apply_function("multiply", biased, apply_function("multiply", total, total)), left)
        return apply_function("if_else", apply_function("greater", left, NOTHING), variance, MISSING)


def exponential_smoothing(
    node: PlannerNode,
    value: int,
    time: int | None,
    keys: Sequence[int],
    half_life: float,
    kind: str = "mean",
    adjust: bool = True,
) -> PlannerNode:
    """Return a node with a smoothed column.

    Parameters
    ----------
    node
        The rows.
    value
        Position of the column with the values.
    time
        Position of the column with the times; None: the number of rows so far within each key serves as the time.
    keys
        Positions of the key columns.
    half_life
        The half-life, in the unit of the times.
    kind
        One of ``RESULTS``.
    adjust
        Whether a value weighs by its age alone. Otherwise each value counts for what has decayed since the one before it (Polars' ``ewm_mean_by``),
        or, by rows, for what decays in one row (``adjust=False`` of pandas and Polars); not for sums.
    """
    by_rows = time is None
    if time is None:
        time = len(node.schema)
        node = zip_columns(node, running(node, keys, [Aggregation("count")]) if keys else row_number(node))
    smoothing = Smoothing(node, time, tuple(keys), float(half_life))
    values = column_of(node, value)
    if adjust:
        if kind in ("mean", "sum"):
            return ExponentialSmoothing(value, time, tuple(keys), smoothing.half_life, kind).make_planner_node(node)
        weights = apply_function("if_else", apply_function("is_missing", values), MISSING, ONE)
        return _deviation(smoothing.spread(smoothing.of(smoothing.of(values, "added_squares"), "mean"), weights), kind)
    gaps = smoothing.of(values, "gap")
    is_first = apply_function("is_missing", gaps)
    if by_rows:
        gaps = apply_function("if_else", is_first, NOTHING, _stretched(gaps, smoothing.half_life))
        times = running(zip_columns(node, gaps), keys, [Aggregation("sum", (len(node.schema),))])
        smoothing = Smoothing(zip_columns(node, times), len(node.schema), tuple(keys), smoothing.half_life)
    decayed = apply_function("exp2", apply_function("divide", gaps, Literal(-smoothing.half_life, FLOAT)))
    shares = apply_function("if_else", is_first, ONE, apply_function("subtract", ONE, decayed))
    # Rows without a value have no share.
    shares = apply_function("if_else", apply_function("is_missing", values), MISSING, shares)
    total = smoothing.of(shares, "total")
    weighted = apply_function("multiply", values, shares)
    if kind == "mean":
        return apply_function("divide", smoothing.of(weighted, "total"), total)
    before = smoothing.of(shares, "total_before")
    deviation = apply_function("subtract", values, apply_function("divide", smoothing.of(weighted, "total_before"), before))
    squares = apply_function("multiply", apply_function("multiply", deviation, deviation), apply_function("multiply", shares, decayed))
    # What nothing is left of has no mean to deviate from.
    added = apply_function("if_else", apply_function("greater", before, NOTHING), squares, apply_function("multiply", shares, NOTHING))
    return _deviation(smoothing.spread(apply_function("divide", smoothing.of(added, "total"), total), shares), kind)


def mean_over_time(
    node: PlannerNode, value: int, time: int, keys: Sequence[int], half_life: float, interpolation: str, convention: str, priming: float
) -> PlannerNode:
    """Return a node with the exponential mean over all time so far of what holds between the values.

    Source: A. Eckner, Algorithms for unevenly spaced time series (2012); the conventions are those of Flint's ``ema_halflife``.

    Parameters
    ----------
    node
        The rows.
    value, time, keys, half_life
        As for :func:`exponential_smoothing`.
    interpolation
        What holds between two values: one of ``INTERPOLATIONS``.
    convention
        One of ``CONVENTIONS``: ``"core"`` divides by the weight of the time, ``"convolution"`` does not, ``"legacy"`` does not and has a value 0 at
        time zero.
    priming
        How long before its first value a key has a value 0, in the unit of the times; not for ``"legacy"``.
    """
    smoothing, values = Smoothing(node, time, tuple(keys), float(half_life)), column_of(node, value)
    if convention == "legacy":
        return smoothing.of(smoothing.of(values, f"added_{interpolation}_from_zero"), "total")
    of_first = float(shares_between(np.array(priming / half_life), interpolation)[1])
    added, share = smoothing.of(values, f"added_{interpolation}"), smoothing.of(values, "share")
    if of_first:
        first, primed = smoothing.of(values, "first"), Literal(of_first, FLOAT)
        added = apply_function("if_else", apply_function("greater", first, NOTHING), apply_function("multiply", values, primed), added)
        share = apply_function("add", share, apply_function("multiply", first, primed))
    mean = smoothing.of(added, "total")
    if convention == "convolution":
        return mean
    weight = smoothing.of(share, "total")
    return apply_function("if_else", apply_function("greater", weight, NOTHING), apply_function("divide", mean, weight), MISSING)


def _deviation(variance: PlannerNode, kind: str) -> PlannerNode:
    return apply_function("sqrt", variance) if kind == "std" else variance


def _stretched(gaps: PlannerNode, half_life: float) -> PlannerNode:
    """Return the times in which as much decays as a value displaces that comes some rows after the one before.

    With ``d`` for what one row leaves, a value that comes ``n`` rows later weighs ``1 - d`` beside ``d ** n`` of what was before: its share is
    ``(1 - d) / (1 - d + d ** n)``, which is ``1 - d`` for the next row. Source: ``ewm(adjust=False, ignore_na=False)`` of pandas.
    """
    left = apply_function("exp2", apply_function("divide", gaps, Literal(-half_life, FLOAT)))
    more = apply_function("log2", apply_function("add", left, Literal(-math.expm1(-math.log(2.0) / half_life), FLOAT)))
    return apply_function(
        "if_else", apply_function("equal", gaps, ONE), ONE, apply_function("add", gaps, apply_function("multiply", more, Literal(half_life, FLOAT)))
    )
