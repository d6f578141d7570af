"""The contract kit for scalar functions and aggregates: checks on example values that what they declare is true."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from sframe_spark.api.node_value_conversion import literal_of
from sframe_spark.errors import InvalidArgumentError
from sframe_spark.expressions.aggregates.aggregate_function import AGGREGATES
from sframe_spark.expressions.functions.scalar_function import FUNCTIONS
from sframe_spark.expressions.scalar_function_program import Program, Register, Step
from sframe_spark.operators.elementwise import apply_program
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.operators.groupby.groupby import group_by, reduce_columns
from sframe_spark.operators.program_and_filter_properties import monotone_step
from sframe_spark.operators.sources.in_memory import memory_source
from sframe_spark.planner.node import PlannerNode
from sframe_spark.testing.contract import Example, check_lowering, check_operator, demand, kernel_rows, rank, read_all, same_value
from sframe_spark.values.python_to_arrow import encode, infer_type


def check_function(name: str, *arguments: Any, parameters: tuple[Any, ...] = (), spark: bool = True) -> None:
    """Check a scalar function on some values: rows are independent, types are as inferred, Spark agrees, declared monotonicity holds.

    Parameters
    ----------
    name
        Name of the function.
    arguments
        For each argument a list with one value per row, or a value that is the same in every row; at least one list. The values should include
        missing values, NaN, and the smallest and largest values.
    parameters
        Static parameters.
    spark
        Whether to check the function on Spark, too.

    Raises
    ------
    ContractBroken
        If the function does not do what it declares.

    Examples
    --------
    >>> check_function("negate", [3, None, -1, 3], spark=False)
    """
    FUNCTIONS.named(name)
    columns = [argument for argument in arguments if isinstance(argument, list)]
    positions = iter(range(len(columns)))
    operands = tuple(Register(next(positions)) if isinstance(argument, list) else literal_of(argument) for argument in arguments)
    step = Step(name, operands, tuple(parameters))
    outputs = tuple(Register(position) for position in range(len(columns) + 1))

    def build() -> PlannerNode:
        return apply_program(table_of(columns), Program(len(columns), (step,), outputs))

    _check(Example("generalized_transform", name, build), spark)
    _check_monotone(build(), step)


def check_aggregate(name: str, *columns: list[Any], parameters: tuple[Any, ...] = (), spark: bool = True) -> None:
    """Check an aggregate on some values: over all rows, groups and no rows, from partial states of any ranges of rows, and on Spark.

    Parameters
    ----------
    name
        Name of the aggregate.
    columns
        A list of values for each argument column, of at least six values. For the check of groups, the rows are divided into two groups.
    parameters
        Static parameters.
    spark
        Whether to check the aggregate on Spark, too.

    Raises
    ------
    ContractBroken
        If the aggregate does not do what it declares.

    Examples
    --------
    >>> check_aggregate("sum", [3, None, -1, 3, 5, 9], spark=False)
    """
    AGGREGATES.named(name)
    rows = len(columns[0]) if columns else 0
    whole = Aggregation(name, tuple(range(len(columns))), tuple(parameters))
    grouped = Aggregation(name, tuple(range(1, len(columns) + 1)), tuple(parameters))
    keys = [row * row % 3 for row in range(rows)]

    def reduced() -> PlannerNode:
        return reduce_columns(table_of(columns), [whole])

    _check(Example("reduce", name, reduced), spark)
    _check(Example("group_by", name, lambda: group_by(table_of([keys, *columns]), [0], [grouped])), spark)
    _check_parts(name, parameters, reduced())


def table_of(columns: Sequence[list[Any]]) -> PlannerNode:
    """Return a source in memory with some columns, whose types are inferred.

    Raises
    ------
    InvalidArgumentError
        If there are no columns, or they have different lengths.
    """
    if not columns or len(set(map(len, columns))) > 1:
        raise InvalidArgumentError("examples are lists of values, one at least, and all of one length")
    types = [infer_type(values) for values in columns]
    # Values are encoded as those of users are, so that lists of numbers become arrays.
    return memory_source([encode(values, kind) for values, kind in zip(columns, types, strict=True)], types)


def _check(example: Example, spark: bool) -> None:
    check_operator(example)
    if spark:
        check_lowering(example)


def _check_monotone(node: PlannerNode, step: Step) -> None:
    """Check that a function of one column is monotone if it declares so, over all rows; missing values sort first, NaN last."""
    declared = monotone_step(step, node.inputs[0].schema)
    if declared is None or len(node.inputs[0].schema) > 1:
        return
    direction, strict = declared
    rows = sorted({rank(row[0]): (row[0], row[-1]) for row in kernel_rows(node)}.items())
    for (_, (low, below)), (_, (high, above)) in itertools.pairwise(rows):
        first, second = (below, above) if direction == "inc" else (above, below)
        found = f"{low!r} becomes {below!r}, {high!r} becomes {above!r}"
        if low is None or above is None or below is None:
            demand((below is None) == (low is None) and above is not None, node, "missing values stay missing, and no others become so", found)
        else:
            demand(rank(first) <= rank(second), node, f"the function is monotone ({direction})", found)
            demand(not strict or rank(below) != rank(above), node, "the function is strictly monotone", found)


def _check_parts(name: str, parameters: tuple[Any, ...], node: PlannerNode) -> None:
    """Check that partial states of ranges of rows, divided anywhere, combine to the value for all rows."""
    parts, reduce = AGGREGATES.named(name).decomposition, AGGREGATES.named(name).reduce
    if parts is None or reduce is None:
        return
    chunk, types = read_all(node.inputs[0]), node.inputs[0].schema
    rows, whole = chunk.rows, reduce(chunk.columns, types, parameters)

    def lifted(start: int, stop: int) -> Any:
        return parts.lift(chunk.slice(start, stop).columns, stop - start, types, parameters)

    for cut in range(rows + 1):
        for end in range(cut, rows + 1):
            runs = [lifted(0, cut), lifted(cut, end), lifted(end, rows)]
            left = parts.combine(parts.combine(runs[0], runs[1], types), runs[2], types)
            right = parts.combine(runs[0], parts.combine(runs[1], runs[2], types), types)
            for part in (left, right):
                value = parts.finish(part, types, parameters)
                rule = "parts of runs that are combined are the part of all rows, in any grouping, of no rows too"
                demand(same_value(value, whole), node, rule, f"cut at {cut} and {end}: {value!r} and not {whole!r}")
