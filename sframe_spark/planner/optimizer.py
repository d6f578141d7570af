"""The optimizer: laws in stages, each to a fixed point, with checks after every firing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from sframe_spark.errors import NonConvergenceError
from sframe_spark.planner.graph import postorder
from sframe_spark.planner.infer import with_current_lengths
from sframe_spark.planner.law import Law, Stage
from sframe_spark.planner.node import PlannerNode, check_same_rows

FIRINGS_PER_NODE = 60
FIRINGS_BASE = 2_000
# Most plans are settled after one return to an earlier stage; each finds fewer columns and rows to drop.
MOST_RETURNS = 10


@attrs.frozen
class Firing:
    """One application of a law: the stage, the equation, the nodes before and after."""

    stage: str
    equation: str
    before: PlannerNode
    after: PlannerNode


@attrs.define
class Trace:
    """All firings of an optimization, in order, and the plan after each stage."""

    firings: list[Firing] = attrs.Factory(list)
    stages: dict[str, PlannerNode] = attrs.Factory(dict)

    def counts(self) -> dict[str, int]:
        """Number of firings by equation, in order of first firing."""
        result: dict[str, int] = {}
        for firing in self.firings:
            result[firing.equation] = result.get(firing.equation, 0) + 1
        return result


@attrs.frozen
class Optimizer:
    """Runs the laws of each stage to a fixed point.

    Parameters
    ----------
    stages
        Stages in order.
    laws
        All laws; those whose equation is in ``disabled`` are skipped.
    check
        Compare schema and length of both sides at every firing.
    """

    stages: Sequence[Stage]
    laws: Sequence[Law]
    disabled: frozenset[str] = frozenset()
    check: bool = True

    def optimize(self, root: PlannerNode, until: str | None = None, trace: Trace | None = None) -> PlannerNode:
        """Equivalent plan after all stages, or after the stage named ``until``."""
        root = with_current_lengths(root)
        places = {stage.name: place for place, stage in enumerate(self.stages)}
        place = returns = 0
        while place < len(self.stages):
            stage = self.stages[place]
            before, root = root, self._run_stage(root, stage, trace)
            if stage.name == until:
                break
            place += 1
            if stage.back_to is not None and root is not before and returns < MOST_RETURNS:
                place = places[stage.back_to]
                returns += 1
        return root

    def _run_stage(self, root: PlannerNode, stage: Stage, trace: Trace | None) -> PlannerNode:
        taking_part = (stage.name, *stage.also)
        active = [rule for rule in self.laws if rule.stage in taking_part and rule.equation not in self.disabled]
        local = [rule for rule in active if not rule.whole_graph]
        root = _StageRun(stage, local, self.check, trace).run(root)
        root = self._whole_graph(root, [rule for rule in active if rule.whole_graph], stage, trace)
        if trace is not None:
            trace.stages[stage.name] = root
        return root

    def _whole_graph(self, root: PlannerNode, laws: Sequence[Law], stage: Stage, trace: Trace | None) -> PlannerNode:
        for rule in laws:
            result = rule(root)
            if result is None or result is root:
                continue
            if self.check:
                check_same_rows(root.facts, result.facts, f"law {rule.equation!r}")
            if trace is not None:
                trace.firings.append(Firing(stage.name, rule.equation, root, result))
            root = result
        return root


class _StageRun:
    """One stage over one graph: a worklist that never recurses."""

    def __init__(self, stage: Stage, laws: Iterable[Law], check: bool, trace: Trace | None) -> None:
        self.stage = stage
        self.check = check
        self.trace = trace
        self.general = [rule for rule in laws if not rule.operators]
        self.by_operator: dict[str, list[Law]] = {}
        for rule in laws:
            for operator in rule.operators:
                self.by_operator.setdefault(operator, []).append(rule)
        self.done: dict[int, PlannerNode] = {}
        self.forward: dict[int, PlannerNode] = {}
        self.begun: set[int] = set()
        self.kept: list[PlannerNode] = []
        self.recent: list[str] = []
        self.budget = FIRINGS_BASE

    def run(self, root: PlannerNode) -> PlannerNode:
        """The graph rewritten until no law of the stage applies."""
        self.budget += FIRINGS_PER_NODE * sum(1 for _ in postorder([root]))
        stack = [root]
        while stack:
            node = stack[-1]
            if id(node) in self.done:
                stack.pop()
                continue
            target = self.forward.get(id(node))
            if target is None and self.stage.top_down and id(node) not in self.begun:
                target = self._fire(node)
            self.begun.add(id(node))
            if target is not None:
                self._follow(node, target, stack)
                continue
            pending = [child for child in node.inputs if id(child) not in self.done]
            if pending:
                self._refuse_begun(pending)
                stack.extend(reversed(pending))
                continue
            self._finish(node, stack)
        return self.done[id(root)]

    def _follow(self, node: PlannerNode, target: PlannerNode, stack: list[PlannerNode]) -> None:
        if id(target) in self.done:
            self.done[id(node)] = self.done[id(target)]
            stack.pop()
        else:
            self._refuse_begun([target])
            stack.append(target)

    def _refuse_begun(self, nodes: Iterable[PlannerNode]) -> None:
        """Nodes that are begun and not done wait for what is being visited: coming to one of them again would never end."""
        if any(id(node) in self.begun for node in nodes):
            raise NonConvergenceError(self.stage.name, sorted(set(self.recent[-50:])))

    def _finish(self, node: PlannerNode, stack: list[PlannerNode]) -> None:
        rebuilt = node.with_inputs([self.done[id(child)] for child in node.inputs])
        if rebuilt is not node:
            self.kept.append(rebuilt)
        target = None if self.stage.top_down and rebuilt is node else self._fire(rebuilt)
        if target is None:
            self.done[id(rebuilt)] = rebuilt
            self.done[id(node)] = rebuilt
            stack.pop()
        else:
            self.forward[id(node)] = target
            self._follow(node, target, stack)

    def _fire(self, node: PlannerNode) -> PlannerNode | None:
        for rule in (*self.by_operator.get(node.operator.name, ()), *self.general):
            result = rule(node)
            if result is None or result is node:
                continue
            self._record(rule, node, result)
            self.forward[id(node)] = result
            return result
        return None

    def _record(self, rule: Law, before: PlannerNode, after: PlannerNode) -> None:
        # Nodes are keyed by id, so every node seen must stay alive for the length of the run.
        self.kept.extend((before, after))
        if self.check:
            check_same_rows(before.facts, after.facts, f"law {rule.equation!r}")
        if self.trace is not None:
            self.trace.firings.append(Firing(self.stage.name, rule.equation, before, after))
        self.recent.append(rule.equation)
        self.budget -= 1
        if self.budget <= 0:
            raise NonConvergenceError(self.stage.name, sorted(set(self.recent[-50:])))
