"""Compares the sections that were foreseen of a node with those that ran for it."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from sframe_spark.engine.execution.direct_execution_of_few_rows import DIRECTLY, needs_no_plan
from sframe_spark.engine.execution.materialize_count_and_read_rows import materialize
from sframe_spark.engine.execution.run_log import SectionOutcome
from sframe_spark.engine.shapes.section_tree import Alternative, Strategy
from sframe_spark.explain.dry_run import plan_dry_run
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.node import PlannerNode

SOURCES = frozenset({"section", "memory_source", "segment_source", "segment_parts", "range_source", "constant_source"})
# What may change all sections that follow, not only the one that announces it.
CHANGES_THE_REST = {Alternative.MORE_KNOWN, Alternative.MATCHES_COUNTED, Alternative.TOO_MANY_TIES}


@attrs.frozen
class Printed:
    """A section as ``explain`` prints it."""

    number: str
    strategy: Strategy
    operators: tuple[str, ...]
    reads: tuple[str, ...]
    reason: str
    alternatives: tuple[Alternative, ...]

    def ran_as(self, outcome: SectionOutcome) -> bool:
        """Whether a section that ran is this one."""
        same = without_sources(outcome.operators) == without_sources(self.operators) and outcome.reads == self.reads
        return same and outcome.strategy == self.strategy and outcome.reason == self.reason


def printed(node: PlannerNode) -> list[Printed]:
    """The sections that are foreseen of a node."""
    return [
        Printed(
            section.number,
            section.strategy,
            tuple(below.operator_type for below in postorder([section.root])),
            tuple(below.number for below in section.inputs),
            section.reason,
            section.alternatives,
        )
        for section in plan_dry_run(node).sections
    ]


def without_sources(operators: Sequence[str]) -> list[str]:
    """Names of operators that compute something."""
    return [name for name in operators if name not in SOURCES]


def differences(plan: Sequence[Printed], ran: Sequence[SectionOutcome]) -> list[str]:
    """What ran otherwise than printed, and was not announced."""
    used = {outcome.number: outcome for outcome in ran if not outcome.is_given_up}
    found = []
    for section in plan:
        outcome = used.pop(section.number, None)
        if outcome is not None and section.ran_as(outcome):
            continue
        if not section.alternatives:
            found.append(f"{section} was printed, {outcome} ran")
        if CHANGES_THE_REST & set(section.alternatives):
            return found
    # What a section needed that was planned again is part of it.
    found += [f"{outcome} ran, and was not printed" for number, outcome in used.items() if "." not in number]
    return found


def compared(node: PlannerNode) -> list[str]:
    """Foresee a node, materialise it, and say what was otherwise."""
    plan, is_few = printed(node), needs_no_plan(node)
    node.ran = None
    materialize(node)
    if node.ran is not None and [outcome.strategy for outcome in node.ran.outcomes] == [DIRECTLY]:
        # The sections would have run otherwise.
        return [] if is_few else ["few rows were computed without a plan, which was not printed"]
    return differences(plan, [] if node.ran is None else node.ran.outcomes)
