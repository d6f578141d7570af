"""Laws: rewrite rules for plans, each named by an equation between the rows before and after."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set

import attrs

from sframe_spark.errors import PlanInvariantError, SFrameError
from sframe_spark.planner.node import PlannerNode, is_builtin

Rewrite = Callable[[PlannerNode], PlannerNode | None]


@attrs.frozen(eq=False)
class Law:
    """A rewrite rule.

    Parameters
    ----------
    equation
        The equation between a node's rows before and after; also the law's name.
    stage
        Name of the stage in which the law runs.
    operators
        Names of the operators at which the law is tried; empty for all operators. A law over the whole graph is tried if the graph contains one of
        them.
    rewrite
        Function of a node that returns the new node, or None if the law does not apply.
    whole_graph
        Whether the law gets the root of the graph and rewrites the graph in one pass, once per stage.
    alone
        How many of the nodes on the path along first inputs, from the node downwards, must have no other reader, because the law computes them in
        another form. 0: no condition; 1: the node's first input; 2: also the first input of that input.
    """

    equation: str
    stage: str
    operators: frozenset[str]
    rewrite: Rewrite
    whole_graph: bool = False
    alone: int = False

    def __call__(self, node: PlannerNode) -> PlannerNode | None:
        """Apply the law at a node.

        Raises
        ------
        PlanInvariantError
            If the law of a plug-in fails, or returns something that is not a node.
        """
        try:
            rewritten = self.rewrite(node)
        except Exception as error:
            if isinstance(error, SFrameError) or is_builtin(self.rewrite):
                raise
            raise PlanInvariantError(f"the law {self.equation!r} failed with {type(error).__name__}: {error}") from error
        if rewritten is not None and not isinstance(rewritten, PlannerNode):
            raise PlanInvariantError(
                f"the law {self.equation!r} returned a {type(rewritten).__name__}: it must return a node, or None where it does not apply"
            )
        return rewritten

    def may_fire(self, operators: Set[str]) -> bool:
        """Return whether a graph with these operators may contain a node to which the law applies."""
        return not self.operators or not self.operators.isdisjoint(operators)


@attrs.frozen
class Stage:
    """A named group of laws that runs to a fixed point, and the reason why it is a separate stage.

    The laws of the stages ``also`` are tried again in this stage. If ``top_down``, consumers are visited before their inputs. If the stage has
    changed the plan, the optimizer continues at the stage ``back_to``, whose laws may apply again.
    """

    name: str
    reason: str
    top_down: bool = False
    also: tuple[str, ...] = ()
    back_to: str | None = None


def law(equation: str, *, stage: str, on: str | Sequence[str] = (), whole_graph: bool = False, alone: int = False) -> Callable[[Rewrite], Law]:
    """Return a decorator that turns a function from a node to a node or None into a :class:`Law`.

    Parameters
    ----------
    equation
        The equation of the law, which is its name.
    stage
        Name of the stage in which the law runs.
    on
        Name or names of the operators at which the law is tried. A law over the whole graph is tried if the graph contains one of them.
    whole_graph, alone
        See :class:`Law`.

    Examples
    --------
    >>> @law("reverse(reverse(x)) = x", stage="pushdown", on="reverse")
    ... def reversed_twice(node):
    ...     below = node.inputs[0]
    ...     return below.inputs[0] if below.operator_type == "reverse" else None
    >>> reversed_twice.stage, reversed_twice.may_fire({"reverse", "sort"})
    ('pushdown', True)
    """
    operators = frozenset((on,) if isinstance(on, str) else on)

    def decorate(rewrite: Rewrite) -> Law:
        return Law(equation, stage, operators, rewrite, whole_graph, alone)

    return decorate
