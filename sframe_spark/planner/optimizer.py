"""The optimizer: applies laws stage by stage, each stage to a fixed point, and checks every rewrite."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set

import attrs

from sframe_spark.errors import InvalidArgumentError, NonConvergenceError, PlanInvariantError, listed, near_names
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.law import Law, Stage
from sframe_spark.planner.length_and_order_inference import with_current_lengths
from sframe_spark.planner.node import PlannerNode, check_same_rows

FIRINGS_PER_NODE = 60
FIRINGS_BASE = 2_000
# Most plans are final after one return to an earlier stage. Each further return finds fewer columns and rows to drop.
MAX_RETURNS = 10


@attrs.frozen
class Firing:
    """One application of a law: stage, equation, and the nodes before and after."""

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
        """Return how often each law was applied, by equation, in order of the first application."""
        return Counter(firing.equation for firing in self.firings)


@attrs.frozen
class StageLaws:
    """The laws of a stage.

    Parameters
    ----------
    stage
        The stage.
    by_operator
        For each operator that a law names, all laws to try at nodes with this operator.
    general
        The laws to try at nodes with any other operator: those that name no operator.
    whole_graph
        The laws that rewrite the whole graph.
    """

    stage: Stage
    by_operator: Mapping[str, tuple[Law, ...]]
    general: tuple[Law, ...]
    whole_graph: tuple[Law, ...]

    @classmethod
    def of(cls, stage: Stage, laws: Iterable[Law]) -> StageLaws:
        """Return the laws of a stage, selected from all laws."""
        active = [rule for rule in laws if rule.stage in (stage.name, *stage.also)]
        local = [rule for rule in active if not rule.whole_graph]
        general = tuple(rule for rule in local if not rule.operators)
        operators = {operator for rule in local for operator in rule.operators}
        by_operator = {operator: (*(rule for rule in local if operator in rule.operators), *general) for operator in operators}
        return cls(stage, by_operator, general, tuple(rule for rule in active if rule.whole_graph))

    def at(self, node: PlannerNode) -> tuple[Law, ...]:
        """Return the laws to try at a node."""
        return self.by_operator.get(node.operator.name, self.general)

    def may_fire(self, operators: Set[str]) -> bool:
        """Return whether some law of the stage (other than those for the whole graph) may apply in a graph with these operators."""
        return bool(self.general) or not operators.isdisjoint(self.by_operator)


@attrs.frozen
class Optimizer:
    """Runs the laws of each stage to a fixed point.

    Parameters
    ----------
    stages
        All stages, in order.
    laws
        All laws; those whose equation is in ``disabled`` are skipped.
    check
        Whether to compare schema and length before and after every application of a law.
    """

    stages: Sequence[Stage]
    laws: Sequence[Law]
    disabled: frozenset[str] = frozenset()
    check: bool = True
    sorted_laws: Sequence[StageLaws] = attrs.field(init=False, eq=False, repr=False)

    @sorted_laws.default
    def _sorted_laws(self) -> Sequence[StageLaws]:
        stages, equations = [stage.name for stage in self.stages], [rule.equation for rule in self.laws]
        for rule in self.laws:
            if rule.stage not in stages:
                raise PlanInvariantError(f"the law {rule.equation!r} should run in the stage {rule.stage!r}, which is not one of {listed(stages)}")
        if unknown := sorted(self.disabled.difference(equations)):
            near = near_names(unknown[0], equations)
            meant = f"; did you mean {listed(near)}?" if near else ";"
            raise InvalidArgumentError(
                f"disabled_laws contains {listed(unknown)}, but there is no such law{meant} explain(trace=True) shows the names"
            )
        enabled = [rule for rule in self.laws if rule.equation not in self.disabled]
        return tuple(StageLaws.of(stage, enabled) for stage in self.stages)

    def optimize(self, root: PlannerNode, until: str | None = None, trace: Trace | None = None) -> PlannerNode:
        """Return an equivalent plan after all stages, or after the stage named ``until``."""
        positions = {stage.name: position for position, stage in enumerate(self.stages)}
        # A stage that runs again remembers the nodes that it has finished, because the result of a law depends only on the graph below a node.
        runs = [_StageRun(laws, self.check, trace) for laws in self.sorted_laws]
        graph = _Graph.of(with_current_lengths(root))
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
    """A root, and what every stage needs of the graph below it: the number of nodes, the names of operators, and the nodes with several readers."""

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
        """Return the graph below another root; the same object if the root is unchanged."""
        return self if root is self.root else _Graph.of(root)


@attrs.define(eq=False)
class _StageRun:
    """Runs one stage over graphs, with an explicit stack instead of recursion. A later run uses what earlier runs have finished.

    Nodes are keyed by ``id``, so ``alive`` keeps every visited node in memory while the optimization lasts.

    Parameters
    ----------
    laws, check, trace
        The laws of the stage; whether to check every rewrite; where to record every rewrite.
    done, forward, started
        The final form of each finished node, the rewritten form of each node at which a law applied, and the nodes that were visited.
    shared, blocked
        The nodes with several readers, and whether such a node prevented a law.
    recent, budget
        The equations of the laws that were applied, and how many more applications are allowed.
    """

    laws: StageLaws
    check: bool
    trace: Trace | None
    done: dict[int, PlannerNode] = attrs.Factory(dict)
    forward: dict[int, PlannerNode] = attrs.Factory(dict)
    started: set[int] = attrs.Factory(set)
    shared: set[int] = attrs.Factory(set)
    blocked: bool = False
    alive: list[PlannerNode] = attrs.Factory(list)
    recent: list[str] = attrs.Factory(list)
    budget: int = 0

    @property
    def stage(self) -> Stage:
        """The stage."""
        return self.laws.stage

    def run(self, graph: _Graph) -> _Graph:
        """Return the graph after rewriting it until no law of the stage applies, and then once by each law for the whole graph."""
        if self.laws.may_fire(graph.operators):
            self.budget = FIRINGS_BASE + FIRINGS_PER_NODE * graph.nodes
            if self.blocked:
                # Other readers of a node prevented a law. These readers may be gone now, so finished nodes are visited again.
                self.done, self.forward, self.started, self.blocked = {}, {}, set(), False
            self.shared = set(graph.shared)
            graph = graph.after(self._rewrite(graph.root))
        for rule in self.laws.whole_graph:
            root = rule(graph.root) if rule.may_fire(graph.operators) else None
            if root is not None and root is not graph.root:
                self._record(rule, graph.root, root)
                graph = graph.after(root)
        if self.trace is not None:
            self.trace.stages[self.stage.name] = graph.root
        return graph

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
        """Raise an error if a node to visit has been started and not finished: it waits for the current node, so the rewriting would never end."""
        if any(id(node) in self.started for node in nodes):
            raise self._endless()

    def _endless(self) -> NonConvergenceError:
        return NonConvergenceError(self.stage.name, sorted(set(self.recent[-50:])))

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
            self.recent.append(rule.equation)
            self.budget -= 1
            if self.budget <= 0:
                raise self._endless()
            self.forward[id(node)] = result
            return result
        return None

    def _has_other_readers(self, node: PlannerNode, levels: int) -> bool:
        """Return whether another node reads one of the nodes that are reached from a node by following its first inputs down ``levels`` times."""
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
