"""An aggregate of parts, and what requests it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sframe_lag.functions import Types, infer_float
from sframe_spark.plugin import AggregateRequest, Decomposition, ExactSum, aggregate_of, define_aggregate, public_aggregate

Part = tuple[int, ExactSum]


def logarithms(arrays: Sequence[Any], rows: int, types: Types, parameters: tuple[Any, ...]) -> Part:
    """The part of a run of rows: how many values there are, and the exact sum of their logarithms."""
    values = arrays[0].drop_null().cast(pa.float64(), safe=False)
    return len(values), ExactSum.of(pc.ln(values).to_numpy())


def both(first: Part, second: Part, types: Types) -> Part:
    """The part of two runs, one after the other."""
    return first[0] + second[0], first[1] + second[1]


def mean_of_part(part: Part, types: Types, parameters: tuple[Any, ...]) -> float | None:
    """The value: missing where there is none."""
    return math.exp(part[1].mean(part[0])) if part[0] else None


define_aggregate("geometric_mean", infer_float, parts=Decomposition(logarithms, both, mean_of_part), order_sensitive=False)


@public_aggregate
def GEOMETRIC_MEAN(column: str) -> AggregateRequest:
    """The n-th root of the product of the n values of each group, for ``groupby`` and its kin.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sf = SFrame({"k": [1, 1], "v": [2.0, 8.0]})
    >>> [round(mean, 9) for mean in sf.groupby("k", {"mean": GEOMETRIC_MEAN("v")})["mean"]]
    [4.0]
    """
    return aggregate_of("geometric_mean", column)
