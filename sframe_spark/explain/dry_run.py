"""The physical plan of a node before anything runs: the looks that would be taken, planned with results that are still to come in place of rows."""

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

# What may be decided otherwise while a section runs, as it depends on what is not known before.


def alternatives_of(section: Section) -> list[Alternative]:
    """What is announced of a section."""
    root, mode = section.root, section.mode
    nodes = list(postorder([root]))
    found = []
    if mode.makes_parts:
        found.append(Alternative.LARGE_PARTS)
    if mode is Mode.FIRST_ROWS:
        found.append(Alternative.ALL_ROWS)
    if mode in (Mode.DRIVER, Mode.WHOLE):
        found.append(Alternative.TOO_LARGE)
    if mode is Mode.THREADS and not fits_driver(root, MaterializeOptions().in_memory):
        found.append(Alternative.STAYS_IN_MEMORY)
    if mode is Mode.GATHERED:
        found.append(Alternative.NO_ROOM)
    if mode is Mode.EXCHANGED:
        found.append(Alternative.EXCHANGE)
    if mode is Mode.JOINED:
        found.append(Alternative.HASH_PARTITIONS)
    if mode is Mode.EXCHANGED_BY_TASKS:
        found.append(Alternative.EXCHANGE_OF_TASKS)
    # A bound is no number: there may be fewer rows, or shorter ones.
    if mode is not Mode.DONE and any(isinstance(node.operator, SectionResult) for node in nodes):
        found.append(Alternative.FEW_ROWS)
    if any(map(is_to_be_counted, nodes)):
        found.append(Alternative.MATCHES_COUNTED)
    if mode is Mode.QUERY and root.operator.group_keys is not None:
        found.append(Alternative.FEW_GROUPS)
    if mode is Mode.QUERY and any(map(adds_up_floats, nodes)) and not calls_user_functions(root):
        found.append(Alternative.MORE_DIGITS)
    if any(node.operator.otherwise() is not None and not has_few_rows(node) for node in nodes):
        found.append(Alternative.TOO_MANY_TIES)
    return found


def has_few_rows(node: PlannerNode) -> bool:
    """True for so few rows that they may all tie."""
    return node.length.at_most is not None and node.length.at_most <= MAX_TIES


@attrs.define(eq=False)
class DryRun:
    """What would run.

    Parameters
    ----------
    sections
        Sections in the order in which they would run; none where the rows are there.
    plan, graph
        The plan of the last of the looks, and the graph that it was made of.
    trace
        The laws that fired for it.
    beside
        The columns that are made, where others stay as they are stored; None where all are.
    """

    sections: list[Section] = attrs.Factory(list)
    plan: PlannerNode | None = None
    graph: PlannerNode | None = None
    trace: Trace = attrs.Factory(Trace)
    beside: NewColumns | None = None


def plan_dry_run(node: PlannerNode) -> DryRun:
    """What materialising a node would run; nothing is run, and the graph stays as it is.

    Rows of others' files may be compared with the order that they seem to be in, and matches of joins of few rows be counted, as before a run.
    """
    with GRAPH_LOCK:
        copy, _held = copied(node)
    found = DryRun()
    found.beside = None if is_materialized(copy) else new_columns(copy)
    if found.beside is None:
        _plan_dry_run(copy, found)
    else:
        _plan_dry_run(found.beside.together, found, NEW_COLUMNS)
    for number, section in enumerate(found.sections, 1):
        section.number = str(number)
    return found


def copied(root: PlannerNode) -> tuple[PlannerNode, list[PlannerNode]]:
    """A copy of a graph, and those of its nodes that somebody holds in the original; the caller keeps these, so that they are held too."""
    held = referenced_directly(root)

    def copy(node: PlannerNode, inputs: list[PlannerNode]) -> PlannerNode:
        same = PlannerNode(node.operator, inputs, with_inferred_length(node, [child.facts for child in inputs]))
        same.known, same.names, same.calls = node.known, node.names, node.calls
        return same

    copies = fold([root], copy)
    return copies[id(root)], [copies[key] for key in held]


def _plan_dry_run(root: PlannerNode, found: DryRun, reason: str = THE_RESULT) -> None:
    """Plan the looks at a node, and let it be the result of the last section of the last one."""

    def plan(chosen: ActionPlan) -> Section:
        found.plan, found.graph, found.trace = chosen.plan, chosen.graph, chosen.trace
        # What stands for rows is put into the graph, not into what was planned before.
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
        # How many rows such a join has is not known before it was made, and decides where others are made of them.
        is_later = is_later or section.mode is Mode.JOINED
    found.sections += new
    if last.mode is not Mode.DONE:
        with GRAPH_LOCK:
            root.splice(SectionResult.of(last))


def new_sections(last: Section, found: DryRun) -> list[Section]:
    """The sections that run for one, without those of earlier looks."""
    known = set(map(id, found.sections))
    return [section for section in in_order_of_running([last]) if id(section) not in known and section.mode is not Mode.DONE]
