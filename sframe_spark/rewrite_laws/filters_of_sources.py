"""The law that passes to the sources of plug-ins which rows a filter above them keeps."""

from __future__ import annotations

from sframe_spark.expressions.scalar_function_program import Program
from sframe_spark.operators.elementwise import GeneralizedTransform
from sframe_spark.operators.sources.rows_of_sources import ScanParts, SourceRows, scan_of
from sframe_spark.operators.sources.source_predicate import Predicate, python_limits
from sframe_spark.planner.law import law
from sframe_spark.planner.node import PlannerNode
from sframe_spark.rewrite_laws.pruning_by_recorded_bounds import mask_ranges


@law("filter_rows(f(source), m) = filter_rows(f(rows of source that may meet m), m)", stage="pushdown", on="filter_rows", alone=True)
def filter_pushed_into_source(node: PlannerNode) -> PlannerNode | None:
    """A source that uses predicates skips rows that cannot match. The filter stays and drops any other rows."""
    child = node.inputs[0]
    if not isinstance(child.operator, GeneralizedTransform):
        return None
    below = child.inputs[0]
    source = below.operator
    if not isinstance(source, (SourceRows, ScanParts)) or not source.table.filters:
        return None
    predicate = predicate_of(child.operator.computation, source)
    if predicate is None:
        return None
    if isinstance(source, SourceRows):
        parts = source.table.parts_between(source.start, source.stop)
        return node.with_inputs([child.with_inputs([scan_of(source.table, parts, source.positions, predicate, source.handle)])])
    if source.predicate == predicate:
        return None
    scan = ScanParts(source.table, source.parts, source.positions, predicate).make_planner_node(*below.inputs)
    return node.with_inputs([child.with_inputs([scan])])


def predicate_of(computation: Program, source: SourceRows | ScanParts) -> Predicate | None:
    """Return what the last output of a program says about the rows of a source for which it is true; None if that is nothing."""
    names, schema = [source.table.names[position] for position in source.positions], source.infer_type(())
    mask = computation.pruned([len(computation.outputs) - 1])
    ranges = mask_ranges(mask, schema)
    limits = {names[column]: python_limits(found, schema[column]) for column, found in sorted(ranges.items(), key=lambda item: names[item[0]])}
    if not limits:
        # The filter above drops rows as fast as the source would: nothing is gained by leaving its rows without numbers.
        return None
    used = mask.used_inputs()
    if mask.calls_python:
        return Predicate(limits)
    # Whether a column is at another position, or at two, makes no other predicate.
    by_name = {names[column]: column for column in used}
    ordered = sorted(by_name)
    whole = mask.with_inputs({column: ordered.index(names[column]) for column in used}, len(ordered))
    return Predicate(limits, whole, tuple(ordered), tuple(schema[by_name[name]] for name in ordered))
