"""Dry runs for ``explain()``: the physical plan of an action, with placeholders instead of results, made without running the action."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from sframe_spark.engine.execution.action_planning_and_function_call_claims import ActionPlan, run_action, why_first
from sframe_spark.engine.execution.claimed_row_orders import AssumedOrder, assume_claimed_orders, may_claim_orders
from sframe_spark.engine.execution.materialize_count_and_read_rows import NEW_COLUMNS, NewColumns, is_materialized, new_columns
from sframe_spark.engine.graph_lock import GRAPH_LOCK
from sframe_spark.engine.physical.placement_and_blocking_inputs import runs_on_other_machines
from sframe_spark.engine.physical.plans_without_shared_files import is_for_spark, site_of_plan
from sframe_spark.engine.physical.site import Site
from sframe_spark.engine.shapes.count_matches import COUNT_MATCHES, is_to_be_counted
from sframe_spark.engine.shapes.hash_join import HASH_JOIN
from sframe_spark.engine.shapes.repeated_function_calls_and_function_placement import require_owned
from sframe_spark.engine.shapes.section_planner import SectionPlanner
from sframe_spark.engine.shapes.section_tree import THE_RESULT, Alternative, Section, SectionResult, Workers, in_order_of_running
from sframe_spark.engine.shapes.stream import STORED
from sframe_spark.operators.sort_top_rows_and_assumed_order import MAX_TIES
from sframe_spark.planner.graph_traversal import fold, postorder, private_copy, with_inferred_length
from sframe_spark.planner.handles import Handle, reachable_directly
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.optimizer import Trace
from sframe_spark.rewrite_laws.sort_elimination import full_sort


def alternatives_of(section: Section, site: Site) -> list[Alternative]:
    """Return the decisions about a section that are made only while it runs, because they depend on what is unknown before."""
    nodes = list(postorder([section.root]))
    if section.shape == COUNT_MATCHES:
        # What is counted before decides whether this join is counted at all.
        is_first = not any(is_to_be_counted(node, site) for node in nodes[:-1])
        return ([] if is_first else [Alternative.MATCHES_COUNTED]) + ([Alternative.MORE_KNOWN] if section.inputs else [])
    alternatives = list(section.shape.alternatives(section, site))
    if section.workers.are_on_spark and runs_on_other_machines(site):
        leaves = [node for node in nodes if not node.inputs]
        alternatives += [] if any(map(is_for_spark, leaves)) else [Alternative.WITHOUT_SPARK]
        alternatives += [Alternative.BROUGHT_HERE] if section.workers is Workers.SPARK else []
    # The number or the size of the rows may be smaller than its bound.
    if any(isinstance(node.operator, SectionResult) for node in nodes):
        alternatives.append(Alternative.FEW_ROWS)
    if any(is_to_be_counted(node, site) for node in nodes):
        alternatives.append(Alternative.MATCHES_COUNTED)
    # Sorting only ties works for few rows even if all of them tie.
    limited = [node for node in nodes if node.length.at_most is None or node.length.at_most > MAX_TIES]
    if any(full_sort(node) is not None for node in limited):
        alternatives.append(Alternative.TOO_MANY_TIES)
    return sorted(alternatives, key=list(Alternative).index)


@attrs.define(eq=False)
class DryRun:
    """The sections that an action would run, and the plan that they were made from.

    Parameters
    ----------
    sections
        The sections in the order in which they would run; empty if the result is materialised already.
    plan, graph
        The plan of the last action, and the graph that it was made from.
    trace
        The laws that were applied to make the plan.
    new_columns
        The columns that would be computed if the others stay in their files; None if all would be computed.
    """

    sections: list[Section] = attrs.Factory(list)
    plan: PlannerNode | None = None
    graph: PlannerNode | None = None
    trace: Trace = attrs.Factory(Trace)
    new_columns: NewColumns | None = None


def plan_dry_run(node: PlannerNode) -> DryRun:
    """Return what materialising a node would run. Nothing is materialised, and the graph is not changed.

    Nor is anything read: sections that count the matches of joins first are shown, too.
    """
    with GRAPH_LOCK:
        copy, _handles = copied(node)
        assume_claimed_orders(copy)
    dry_run = DryRun(new_columns=None if is_materialized(copy) else new_columns(copy))
    if dry_run.new_columns is None:
        _plan_dry_run(copy, dry_run, THE_RESULT)
    else:
        _plan_dry_run(dry_run.new_columns.together, dry_run, NEW_COLUMNS)
    for number, section in enumerate(dry_run.sections, 1):
        section.number = str(number)
    return dry_run


def copied(root: PlannerNode) -> tuple[PlannerNode, list[Handle]]:
    """Return a copy of a graph, and handles of the copies of its nodes that can be reached other than through the root; the caller keeps these."""
    reachable = reachable_directly(root)

    def copy(node: PlannerNode, inputs: list[PlannerNode]) -> PlannerNode:
        same = PlannerNode(node.operator, inputs, with_inferred_length(node, [child.facts for child in inputs]))
        same.known, same.names, same.calls = node.known, node.names, node.calls
        return same

    copies = fold([root], copy)
    return copies[id(root)], [Handle(copies[key]) for key in reachable]


def with_assumed_orders(root: PlannerNode) -> tuple[PlannerNode, list[AssumedOrder]]:
    """Return a copy of a graph whose external files are in the orders that they claim, and these orders; the graph itself if there are none."""
    with GRAPH_LOCK:
        if not may_claim_orders(root):
            return root, []
        copy, _ = copied(root)
        assumed = assume_claimed_orders(copy)
    return (copy, assumed) if assumed else (root, [])


def _plan_dry_run(root: PlannerNode, dry_run: DryRun, reason: str) -> None:
    """Plan the actions for a node, add their sections, and replace the node with a placeholder for its result."""

    site = Site.now()

    def plan(chosen: ActionPlan) -> Section:
        nonlocal site
        dry_run.plan, dry_run.graph, dry_run.trace = chosen.plan, chosen.graph, chosen.trace
        # The placeholders replace nodes of the graph, not of the plans that were made before.
        site = site_of_plan(chosen.plan)
        planner = SectionPlanner(site, chosen.free)
        last = planner.plan(private_copy(chosen.plan), reason)
        # Nothing reads these sections: the plan is made again when one has run.
        counting[:] = planner.counting
        for section in new_sections([*counting, last], dry_run):
            if section.workers.are_in_other_processes:
                require_owned(section.root, chosen.owned)
        return last

    def make(missing: PlannerNode) -> None:
        _plan_dry_run(missing, dry_run, why_first(missing))

    if is_materialized(root):
        return
    before, counting = len(dry_run.sections), list[Section]()
    last = run_action(root, plan, make, becomes=True, only_plans=True)
    new, is_later = new_sections([*counting, last], dry_run), len(dry_run.sections) > before
    for section in new:
        alternatives = alternatives_of(section, site)
        section.alternatives = (*alternatives, *([Alternative.MORE_KNOWN] if is_later and Alternative.MORE_KNOWN not in alternatives else []))
        # The number of rows of this kind of join is known only after it has run, and decides how later sections run.
        is_later = is_later or section.shape == HASH_JOIN
    dry_run.sections += new
    if last.shape != STORED:
        with GRAPH_LOCK:
            root.splice(SectionResult.of(last))


def new_sections(last: Sequence[Section], dry_run: DryRun) -> list[Section]:
    """Return the sections that have to run for the last sections of an action, without sections that earlier actions have planned.

    A section that takes a sample comes behind the one that reads it.
    """
    known = set(map(id, dry_run.sections))
    sections = [section for section in in_order_of_running(last) if id(section) not in known and section.shape != STORED]
    return [part for section in sections for part in (section.shape.sample(section), section) if part is not None]
