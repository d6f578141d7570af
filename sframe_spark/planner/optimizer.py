"""The optimizer: applies laws stage by stage, each stage to a fixed point, and checks every rewrite."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set

import attrs

from sframe_spark.errors import InvalidArgumentError, NonConvergenceError, PlanInvariantError, listed, near_names
from sframe_spark.planner.graph import postorder
from sframe_spark.planner.inference import with_current_lengths
from sframe_spark.planner.law import Law, Stage
from sframe_spark.planner.node import PlannerNode, check_same_rows

FIRINGS_PER_NODE = 60
FIRINGS_BASE = 2_000
# Most plans are final after one return to an earlier stage; each return finds fewer columns and rows to drop.
MAX_RETURNS = 10


@attrs.frozen
class Firing:
    """One application of a law: its stage and equation, the nodes before and after."""

    stage: str
    equation: str
    before: PlannerNode
    after: PlannerNode


@attrs.define
class Trace:
    """All applications of laws during an optimization, in order, and the plan after each stage."""

    firings: list[Firing] = attrs.Factory(list)
    stages: dict[str, PlannerNode] = attrs.Factory(dict)

    def counts(self) -> dict[str, int]:
        """Number of applications by equation, in order of the first."""
        result: dict[str, int] = {}
        for firing in self.firings:
            result[firing.equation] = result.get(firing.equation, 0) + 1
        return result


@attrs.frozen
class StageLaws:
    """The laws of a stage, indexed by the operator at which they are tried; laws over the whole graph apart."""

    stage: Stage
    by_operator: Mapping[str, tuple[Law, ...]]
    general: tuple[Law, ...]
    whole_graph: tuple[Law, ...]

    @classmethod
    def of(cls, stage: Stage, laws: Iterable[Law]) -> StageLaws:
        """Select the laws that take part in a stage."""
        active = [rule for rule in laws if rule.stage in (stage.name, *stage.also)]
        local = [rule for rule in active if not rule.whole_graph]
        general = tuple(rule for rule in local if not rule.operators)
        operators = {operator for rule in local for operator in rule.operators}
        by_operator = {operator: (*(rule for rule in local if operator in rule.operators), *general) for operator in operators}
        return cls(stage, by_operator, general, tuple(rule for rule in active if rule.whole_graph))

    def at(self, node: PlannerNode) -> tuple[Law, ...]:
        """Laws to try at a node."""
        return self.by_operator.get(node.operator.name, self.general)

    def may_fire(self, operators: Set[str]) -> bool:
        """Return whether some law may apply in a graph of these operators."""
        return bool(self.general) or not operators.isdisjoint(self.by_operator)


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
        Compare schema and length before and after every application.
    """

    stages: Sequence[Stage]
    laws: Sequence[Law]
    disabled: frozenset[str] = frozenset()
    check: bool = True
    sorted_laws: Sequence[StageLaws] = attrs.field(init=False, eq=False, repr=False)

    @sorted_laws.default
    def _sorted_laws(self) -> Sequence[StageLaws]:
        stages = [stage.name for stage in self.stages]
        for rule in self.laws:
            if rule.stage not in stages:
                raise PlanInvariantError(f"the law {rule.equation!r} is to run in the stage {rule.stage!r}, which is none of {listed(stages)}")
        if unknown := sorted(self.disabled.difference(rule.equation for rule in self.laws)):
            near = near_names(unknown[0], [rule.equation for rule in self.laws])
            meant = f"; did you mean {listed(near)}?" if near else ""
            raise InvalidArgumentError(f"disabled_laws has {listed(unknown)}, which no law is named{meant} explain(trace=True) shows the names")
        enabled = [rule for rule in self.laws if rule.equation not in self.disabled]
        return tuple(StageLaws.of(stage, enabled) for stage in self.stages)

    def optimize(self, root: PlannerNode, until: str | None = None, trace: Trace | None = None) -> PlannerNode:
        """An equivalent plan after all stages, or after the stage named ``until``."""
        root = with_current_lengths(root)
        positions = {stage.name: position for position, stage in enumerate(self.stages)}
        # A stage that runs again remembers the nodes that it has finished: what a law does depends only on what is below a node.
        runs = [_StageRun(laws, self.check, trace) for laws in self.sorted_laws]
        graph = _Graph.of(root)
        position = 0
        returns = dict.fromkeys(positions, 0)
        while position < len(self.stages):
            stage, before = self.stages[position], graph
            graph = runs[position].run(graph)
            if stage.name == until:
                break
            position += 1
            if stage.back_to is not None and graph is not before and returns[stage.name] < MAX_RETURNS:
                position = positions[stage.back_to]
                returns[stage.name] += 1
        return graph.root


@attrs.frozen(eq=False)
class _Graph:
    """A root with what every stage needs to know of the graph below it: its size, its operators, and nodes with several readers."""

    root: PlannerNode
    nodes: int
    operators: frozenset[str]
    shared: frozenset[int]

    @classmethod
    def of(cls, root: PlannerNode) -> _Graph:
        nodes = list(postorder([root]))
        readers: dict[int, int] = {}
        shared = {id(child) for node in nodes for child in node.inputs if readers.setdefault(id(child), id(node)) != id(node)}
        return cls(root, len(nodes), frozenset(node.operator.name for node in nodes), frozenset(shared))

    def after(self, root: PlannerNode) -> _Graph:
        """The graph below another root; the same object if the root is unchanged."""
        return self if root is self.root else _Graph.of(root)


class _StageRun:
    """One stage applied to the graph, with a worklist instead of recursion.

    Nodes are keyed by ``id``, so ``alive`` refers to every node seen as long as the optimization lasts.
    """

    def __init__(self, laws: StageLaws, check: bool, trace: Trace | None) -> None:
        self.laws = laws
        self.stage = laws.stage
        self.check = check
        self.trace = trace
        self.done: dict[int, PlannerNode] = {}
        self.forward: dict[int, PlannerNode] = {}
        self.started: set[int] = set()
        self.shared: set[int] = set()
        self.blocked = False
        self.alive: list[PlannerNode] = []
        self.recent: list[str] = []
        self.budget = 0

    def run(self, graph: _Graph) -> _Graph:
        """The graph rewritten until no law of the stage applies, then once by each law over the whole graph."""
        if self.laws.may_fire(graph.operators):
            self.budget = FIRINGS_BASE + FIRINGS_PER_NODE * graph.nodes
            self._reset_if_blocked(graph)
            graph = graph.after(self._rewrite(graph.root))
        for rule in self.laws.whole_graph:
            root = rule(graph.root) if rule.may_fire(graph.operators) else None
            if root is not None and root is not graph.root:
                self._record(rule, graph.root, root)
                graph = graph.after(root)
        if self.trace is not None:
            self.trace.stages[self.stage.name] = graph.root
        return graph

    def _reset_if_blocked(self, graph: _Graph) -> None:
        """Start over if other readers of a node prevented a law: those readers may be gone."""
        if self.blocked:
            self.done, self.forward, self.started, self.blocked = {}, {}, set(), False
        self.shared = set(graph.shared)

    def _rewrite(self, root: PlannerNode) -> PlannerNode:
        self.alive.append(root)
        stack = [root]
        while stack:
            node = stack[-1]
            if id(node) in self.done:
                stack.pop()
                continue
            target = self.forward.get(id(node))
            if target is None and self.stage.top_down and id(node) not in self.started:
                target = self._fire(node)
            self.started.add(id(node))
            if target is not None:
                self._follow(node, target, stack)
                continue
            pending = [child for child in node.inputs if id(child) not in self.done]
            if pending:
                self._refuse_cycle(pending)
                stack.extend(reversed(pending))
                continue
            self._finish(node, stack)
        return self.done[id(root)]

    def _follow(self, node: PlannerNode, target: PlannerNode, stack: list[PlannerNode]) -> None:
        self._inherit_sharing(node, target)
        if id(target) in self.done:
            self.done[id(node)] = self.done[id(target)]
            stack.pop()
        else:
            self._refuse_cycle([target])
            stack.append(target)

    def _refuse_cycle(self, nodes: Iterable[PlannerNode]) -> None:
        """Refuse to visit a node that is started and not finished: it waits for the node being visited, so this would never end."""
        if any(id(node) in self.started for node in nodes):
            raise NonConvergenceError(self.stage.name, sorted(set(self.recent[-50:])))

    def _finish(self, node: PlannerNode, stack: list[PlannerNode]) -> None:
        rebuilt = node.with_inputs([self.done[id(child)] for child in node.inputs])
        if rebuilt is not node:
            self.alive.append(rebuilt)
        target = None if self.stage.top_down and rebuilt is node else self._fire(rebuilt)
        if target is None:
            self._inherit_sharing(node, rebuilt)
            self.done[id(rebuilt)] = rebuilt
            self.done[id(node)] = rebuilt
            stack.pop()
        else:
            self.forward[id(node)] = target
            self._follow(node, target, stack)

    def _inherit_sharing(self, node: PlannerNode, successor: PlannerNode) -> None:
        if id(node) in self.shared:
            self.shared.add(id(successor))

    def _fire(self, node: PlannerNode) -> PlannerNode | None:
        for rule in self.laws.at(node):
            result = rule(node)
            if result is None or result is node:
                continue
            if rule.alone and self._has_other_readers(node, rule.alone):
                self.blocked = True
                continue
            self._record(rule, node, result)
            self._spend(rule)
            self.forward[id(node)] = result
            return result
        return None

    def _has_other_readers(self, node: PlannerNode, levels: int) -> bool:
        """Return whether one of the first inputs below a node, down to some level, has other readers."""
        for _ in range(levels):
            if not node.inputs:
                return False
            node = node.inputs[0]
            if id(node) in self.shared:
                return True
        return False

    def _record(self, rule: Law, before: PlannerNode, after: PlannerNode) -> None:
        self.alive.extend((before, after))
        if self.check:
            check_same_rows(before.facts, after.facts, f"law {rule.equation!r}")
        if self.trace is not None:
            self.trace.firings.append(Firing(self.stage.name, rule.equation, before, after))

    def _spend(self, rule: Law) -> None:
        self.recent.append(rule.equation)
        self.budget -= 1
        if self.budget <= 0:
            raise NonConvergenceError(self.stage.name, sorted(set(self.recent[-50:])))
