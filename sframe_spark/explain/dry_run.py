"""Dry runs for ``explain()``: the physical plan of an action, with placeholders instead of results, without running anything."""

from __future__ import annotations

import attrs

from sframe_spark.engine.execution.actions import ActionPlan, require_owned, run_action, why_first
from sframe_spark.engine.execution.materialize import NEW_COLUMNS, NewColumns, is_materialized, new_columns
from sframe_spark.engine.graph_lock import GRAPH_LOCK
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.memory_budget import fits_driver
from sframe_spark.engine.physical.adaptive import is_to_be_counted
from sframe_spark.engine.physical.physical_planner import SectionPlanner
from sframe_spark.engine.physical.sections import THE_RESULT, Alternative, Mode, Section, SectionResult, in_order_of_running
from sframe_spark.engine.physical.user_dataframes import referenced_directly
from sframe_spark.operators.groupby.aggregation import adds_up_floats
from sframe_spark.operators.sort import MAX_TIES
from sframe_spark.operators.udf_calls import calls_user_functions
from sframe_spark.planner.graph import fold, postorder, private_copy, with_inferred_length
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.optimizer import Trace


def alternatives_of(section: Section) -> list[Alternative]:
    """What may be decided differently while a section runs, because it depends on what is only known then."""
    root, mode = section.root, section.mode
    nodes = list(postorder([root]))
    alternatives = []
    if mode.makes_parts:
        alternatives.append(Alternative.LARGE_PARTS)
    if mode is Mode.FIRST_ROWS:
        alternatives.append(Alternative.ALL_ROWS)
    if mode in (Mode.DRIVER, Mode.WHOLE):
        alternatives.append(Alternative.TOO_LARGE)
    if mode is Mode.THREADS and not fits_driver(root, MaterializeOptions().in_memory):
        alternatives.append(Alternative.STAYS_IN_MEMORY)
    if mode is Mode.GATHERED:
        alternatives.append(Alternative.NO_ROOM)
    if mode is Mode.EXCHANGED:
        alternatives.append(Alternative.EXCHANGE)
    if mode is Mode.JOINED:
        alternatives.append(Alternative.HASH_PARTITIONS)
    if mode is Mode.EXCHANGED_BY_TASKS:
        alternatives.append(Alternative.EXCHANGE_OF_TASKS)
    # There may be fewer rows than the bound says, or shorter ones.
    if mode is not Mode.DONE and any(isinstance(node.operator, SectionResult) for node in nodes):
        alternatives.append(Alternative.FEW_ROWS)
    if any(map(is_to_be_counted, nodes)):
        alternatives.append(Alternative.MATCHES_COUNTED)
    if mode is Mode.QUERY and root.operator.group_keys is not None:
        alternatives.append(Alternative.FEW_GROUPS)
    if mode is Mode.QUERY and any(map(adds_up_floats, nodes)) and not calls_user_functions(root):
        alternatives.append(Alternative.MORE_DIGITS)
    if any(node.operator.otherwise() is not None and not has_few_rows(node) for node in nodes):
        alternatives.append(Alternative.TOO_MANY_TIES)
    return alternatives


def has_few_rows(node: PlannerNode) -> bool:
    """Return whether there are so few rows that all of them may tie."""
    return node.length.at_most is not None and node.length.at_most <= MAX_TIES


@attrs.define(eq=False)
class DryRun:
    """What an action would run.

    Parameters
    ----------
    sections
        Sections in the order in which they would run; none if the result is already materialised.
    plan, graph
        The plan of the last action, and the graph from which it was made.
    trace
        The laws that were applied for it.
    new_columns
        The columns that are computed if the others stay in their files; None if all are computed.
    """

    sections: list[Section] = attrs.Factory(list)
    plan: PlannerNode | None = None
    graph: PlannerNode | None = None
    trace: Trace = attrs.Factory(Trace)
    new_columns: NewColumns | None = None


def plan_dry_run(node: PlannerNode) -> DryRun:
    """What materialising a node would run; nothing runs, and the graph stays as it is.

    As before a real run, sortedness of external files may be checked, and matches of joins of few rows be counted.
    """
    with GRAPH_LOCK:
        copy, _held = copied(node)
    found = DryRun()
    found.new_columns = None if is_materialized(copy) else new_columns(copy)
    if found.new_columns is None:
        _plan_dry_run(copy, found)
    else:
        _plan_dry_run(found.new_columns.together, found, NEW_COLUMNS)
    for number, section in enumerate(found.sections, 1):
        section.number = str(number)
    return found


def copied(root: PlannerNode) -> tuple[PlannerNode, list[PlannerNode]]:
    """A copy of a graph, and its nodes that are referenced externally in the original, to which the caller must keep references."""
    referenced = referenced_directly(root)

    def copy(node: PlannerNode, inputs: list[PlannerNode]) -> PlannerNode:
        same = PlannerNode(node.operator, inputs, with_inferred_length(node, [child.facts for child in inputs]))
        same.known, same.names, same.calls = node.known, node.names, node.calls
        return same

    copies = fold([root], copy)
    return copies[id(root)], [copies[key] for key in referenced]


def _plan_dry_run(root: PlannerNode, found: DryRun, reason: str = THE_RESULT) -> None:
    """Plan the actions for a node, and replace it with the result of the last section."""

    def plan(chosen: ActionPlan) -> Section:
        found.plan, found.graph, found.trace = chosen.plan, chosen.graph, chosen.trace
        # Placeholders for results are spliced into the graph, not into the plans made before.
        last = SectionPlanner(chosen.free).plan(private_copy(chosen.plan), reason)
        for section in new_sections(last, found):
            if section.mode.is_remote_location:
                require_owned(section.root, chosen.owned)
        return last

    def make(missing: PlannerNode) -> None:
        _plan_dry_run(missing, found, why_first(missing))

    if is_materialized(root):
        return
    before = len(found.sections)
    last = run_action(root, plan, make, becomes=True)
    new, is_later = new_sections(last, found), len(found.sections) > before
    for section in new:
        section.alternatives = (*alternatives_of(section), *([Alternative.MORE_KNOWN] if is_later else []))
        # The size of such a join is only known once it is computed, and decides where later sections run.
        is_later = is_later or section.mode is Mode.JOINED
    found.sections += new
    if last.mode is not Mode.DONE:
        with GRAPH_LOCK:
            root.splice(SectionResult.of(last))


def new_sections(last: Section, found: DryRun) -> list[Section]:
    """The sections that run for a section, without those of earlier actions."""
    known = set(map(id, found.sections))
    return [section for section in in_order_of_running([last]) if id(section) not in known and section.mode is not Mode.DONE]
