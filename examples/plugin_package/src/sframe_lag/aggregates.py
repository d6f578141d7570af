"""An aggregate of parts, and what requests it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sframe_lag.functions import Types, infer_float
from sframe_spark.plugin import AggregateRequest, Decomposition, ExactSum, aggregate_of, define_aggregate, public_aggregate

Part = tuple[int, ExactSum]


def reciprocals(arrays: Sequence[Any], rows: int, types: Types, parameters: tuple[Any, ...]) -> Part:
    """The part of a run of rows: how many values there are, and the exact sum of one by each of them."""
    values = arrays[0].drop_null().cast(pa.float64(), safe=False)
    return len(values), ExactSum.of(pc.divide(1.0, values).to_numpy())


def both(first: Part, second: Part, types: Types) -> Part:
    """The part of two runs, one after the other."""
    return first[0] + second[0], first[1] + second[1]


def mean_of_part(part: Part, types: Types, parameters: tuple[Any, ...]) -> float | None:
    """The value: missing where there is none."""
    return 1.0 / part[1].mean(part[0]) if part[0] else None


define_aggregate("harmonic_mean", infer_float, parts=Decomposition(reciprocals, both, mean_of_part), order_sensitive=False)


@public_aggregate
def HARMONIC_MEAN(column: str) -> AggregateRequest:
    """The number of values of each group by the sum of one by each of them, for ``groupby`` and its kin.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sf = SFrame({"k": [1, 1], "v": [2.0, 6.0]})
    >>> [round(mean, 9) for mean in sf.groupby("k", {"mean": HARMONIC_MEAN("v")})["mean"]]
    [3.0]
    """
    return aggregate_of("harmonic_mean", column)
