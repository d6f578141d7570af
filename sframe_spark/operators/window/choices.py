"""Which running aggregate computes an aggregate of columns of some types."""

from __future__ import annotations

from collections.abc import Callable

from sframe_spark.errors import UnsupportedOperationError
from sframe_spark.operators.groupby.aggregation import Aggregation
from sframe_spark.operators.window.distinct import DistinctAggregate
from sframe_spark.operators.window.exact_states import ExactAggregate
from sframe_spark.operators.window.frequencies import FrequencyAggregate
from sframe_spark.operators.window.growing import GrowingAggregate
from sframe_spark.operators.window.run_counts import RunCountAggregate
from sframe_spark.operators.window.running import CollectedAggregate, PartsAggregate, RunningAggregate, ScanAggregate
from sframe_spark.operators.window.running_quantiles import QuantileAggregate
from sframe_spark.operators.window.running_vectors import VectorAggregate
from sframe_spark.operators.window.segmented_scan import scan_of
from sframe_spark.planner.facts import Schema
from sframe_spark.types import ColumnType

OF_VALUES: dict[str, Callable[[ColumnType], RunningAggregate]] = {
    "count_distinct": DistinctAggregate,
    "freq_count": FrequencyAggregate,
    "count_runs": RunCountAggregate,
}


def running_aggregate(aggregation: Aggregation, schema: Schema) -> RunningAggregate:
    """The running form of an aggregate; of those of plug-ins that do not follow from parts it keeps all rows.

    Raises
    ------
    UnsupportedOperationError
        If the aggregate does not take its columns' types, or can only be computed on Spark.
    """
    types = tuple(schema[position] for position in aggregation.positions)
    result = aggregation.infer(schema)
    found = built_in(aggregation, types, result)
    if found is not None:
        return found
    implementation = aggregation.implementation()
    if implementation.decomposition is not None and implementation.decomposes(types):
        return PartsAggregate(implementation.decomposition, types, aggregation.parameters, result)
    reduce = implementation.reduce
    if reduce is None:
        raise UnsupportedOperationError(f"the aggregate {aggregation.function!r} has no running form: it is computed on Spark only")
    return CollectedAggregate(reduce, types, aggregation.parameters, result)


def built_in(aggregation: Aggregation, types: tuple[ColumnType, ...], result: ColumnType) -> RunningAggregate | None:
    """The running form of an aggregate that has one of its own."""
    function = aggregation.function
    scan = scan_of(function, types)
    if scan is not None:
        return ScanAggregate(scan, types)
    if function in ("sum", "mean", "var", "std"):
        return ExactAggregate(function) if types[0].is_numeric else VectorAggregate(function)
    if function in ("concat", "distinct"):
        return GrowingAggregate(function, types, result)
    if function == "quantile":
        return QuantileAggregate(aggregation.parameters)
    return OF_VALUES[function](types[0]) if function in OF_VALUES else None
