"""Which form an aggregate has where it is computed in parts."""

from __future__ import annotations

from sframe_spark.expressions.aggregates.extremes import ORDERED
from sframe_spark.operators.groupby.accumulators import Chosen, Counted, CountedRuns, Extreme, PartialAggregate, Summed
from sframe_spark.operators.groupby.aggregation import TAKEN_FROM_ONE_ROW, Aggregation
from sframe_spark.operators.groupby.exact_aggregates import Averaged, Spread, SummedExactly, SummedVectors
from sframe_spark.operators.groupby.lists_aggregates import Distinct, Frequencies, Gathered, Paired, Ranked
from sframe_spark.planner.facts import Schema
from sframe_spark.types import ARRAY_KIND, FLOAT, FLOAT_KIND, INT, INT_KIND, STR


def partial_aggregate(aggregation: Aggregation, schema: Schema) -> PartialAggregate:
    """The form in which an aggregate over columns of a schema is computed in parts."""
    types = tuple(schema[position] for position in aggregation.positions)
    function = aggregation.function
    if function == "count":
        return Counted(aggregation, types, 1)
    if function == "count_runs":
        return CountedRuns(aggregation, types, 3)
    kind = types[0].kind
    if kind in (INT_KIND, FLOAT_KIND) and function in ("sum", "mean", "var", "std"):
        sums = Summed if kind == INT_KIND else SummedExactly
        form, width = {"sum": (sums, 1 if kind == INT_KIND else 2), "mean": (Averaged, 3)}.get(function, (Spread, 4))
        return form(aggregation, types, width)
    if kind == ARRAY_KIND and function in ("sum", "mean"):
        return SummedVectors(aggregation, types, 1)
    if function in ("min", "max") and kind in ORDERED:
        return Chosen(aggregation, types, 1) if types[0].is_zoned else Extreme(aggregation, types, 1)
    if function in TAKEN_FROM_ONE_ROW:
        return Chosen(aggregation, types, len(types))
    if function == "freq_count":
        return Frequencies(aggregation, types, 2)
    if len(types) == 1 and types[0] in (INT, FLOAT, STR):
        forms = {"concat": Gathered, "distinct": Distinct, "count_distinct": Distinct, "quantile": Ranked}
        return forms.get(function, PartialAggregate)(aggregation, types, 1)
    if function == "concat" and len(types) == 2 and not aggregation.infer(schema).is_encoded:
        return Paired(aggregation, types, 2)
    return PartialAggregate(aggregation, types, len(types))


def is_finished_by_arrow(aggregation: Aggregation, schema: Schema) -> bool:
    """True for an aggregate over columns of a schema that makes no Python object of each value, also where it gives lists or dicts.

    Examples
    --------
    >>> from sframe_spark.types import DATETIME, STR
    >>> is_finished_by_arrow(Aggregation("concat", (0,)), (STR,)), is_finished_by_arrow(Aggregation("concat", (0,)), (DATETIME,))
    (True, False)
    """
    return type(partial_aggregate(aggregation, schema)) is not PartialAggregate
