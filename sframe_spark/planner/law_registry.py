"""The laws that plug-ins and scripts have registered, and the checks of a law when it is registered."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from types import TracebackType

from sframe_spark.errors import PlanInvariantError, listed, near_names
from sframe_spark.planner.law import Law, Stage
from sframe_spark.planner.registrations import forget, is_loading_plugin, location_of, record
from sframe_spark.planner.registry import registered_names

KIND = "law"


class LawRegistry:
    """The built-in laws and their stages, by which other laws are checked, and the other laws by name, in the order of registration."""

    def __init__(self) -> None:
        self._built_in: frozenset[str] = frozenset()
        self._stages: Sequence[str] = ()
        self._added: dict[str, Law] = {}

    def declare(self, stages: Iterable[Stage], laws: Iterable[Law]) -> None:
        """Set the stages and the built-in laws."""
        self._stages, self._built_in = [stage.name for stage in stages], frozenset(rule.equation for rule in laws)

    def add(self, rule: Law) -> None:
        """Add a law; it replaces an earlier version of itself, as when a notebook cell runs again.

        Raises
        ------
        PlanInvariantError
            If it is not a law, if its name is taken, or if its stage or an operator that it names is unknown.
        """
        if not isinstance(rule, Law):
            raise PlanInvariantError(f"{rule!r:.80} is not a law: @law(equation, stage=..., on=...) makes one of a function from a node to a node")
        if self._stages and rule.stage not in self._stages:
            raise PlanInvariantError(f"the law {rule.equation!r} should run in the stage {rule.stage!r}, which is not one of {listed(self._stages)}")
        before = self._added.get(rule.equation)
        if rule.equation in self._built_in or (before is not None and location_of(before.rewrite) != location_of(rule.rewrite)):
            holder = "a built-in law" if before is None else f"the law of {location_of(before.rewrite)}"
            raise PlanInvariantError(f"the name {rule.equation!r} is taken by {holder}: a law's equation is its name")
        # The operators of a plug-in may be registered after its laws.
        if not is_loading_plugin():
            require_known_operators([rule])
        self._set(rule.equation, rule)
        record(KIND, rule.equation, rule, lambda: self._restore(rule, before))

    def remove(self, rule: Law) -> None:
        """Remove a law, if it has not been removed or replaced."""
        self._restore(rule, None)
        forget(KIND, rule.equation, rule)

    def laws(self) -> tuple[Law, ...]:
        """Return the laws that have been added."""
        return tuple(self._added.values())

    def _restore(self, rule: Law, before: Law | None) -> None:
        if self._added.get(rule.equation) is rule:
            self._set(rule.equation, before)

    def _set(self, equation: str, rule: Law | None) -> None:
        # Another thread may be iterating over the laws, so they are replaced instead of changed.
        others = {name: other for name, other in self._added.items() if name != equation}
        self._added = others if rule is None else {**others, equation: rule}


_LAWS = LawRegistry()
declare_laws: Callable[[Iterable[Stage], Iterable[Law]], None] = _LAWS.declare
registered_laws: Callable[[], tuple[Law, ...]] = _LAWS.laws


class RegisteredLaw:
    """A law that is registered until it is taken back: by :meth:`remove`, or at the end of a ``with`` block."""

    def __init__(self, rule: Law) -> None:
        self.law = rule

    def remove(self) -> None:
        """Take the law back: plans that are made from now on do without it."""
        _LAWS.remove(self.law)

    def __enter__(self) -> Law:
        return self.law

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.remove()

    def __repr__(self) -> str:
        return f"RegisteredLaw({self.law.equation!r})"


def register_law(rule: Law) -> RegisteredLaw:
    """Let the optimizer of this process apply a law, to every plan that is made from now on, and return what takes it back.

    Laws are tried after the built-in ones, in the order in which they are registered.

    Raises
    ------
    PlanInvariantError
        If it is not a law, if its name is taken, or if its stage or an operator that it names is unknown.

    Examples
    --------
    >>> from sframe_spark.planner.law import law
    >>> from sframe_spark.rewrite_laws import STAGES
    >>> rule = law("reverse(twice(x)) = x", stage=STAGES[0].name, on="reverse")(lambda node: None)
    >>> with register_law(rule):
    ...     rule in registered_laws()
    True
    >>> rule in registered_laws()
    False
    """
    _LAWS.add(rule)
    return RegisteredLaw(rule)


def require_known_operators(laws: Iterable[Law], known: Collection[str] | None = None) -> None:
    """Check that each operator that laws name is registered, as a law about another one could never apply.

    Raises
    ------
    PlanInvariantError
        If a law names an unknown operator.
    """
    known = registered_names() if known is None else known
    for rule in laws:
        if unknown := sorted(rule.operators.difference(known)):
            near = near_names(unknown[0], known)
            meant = f": did you mean {listed(near)}?" if near else ": import the module that registers it"
            raise PlanInvariantError(f"the law {rule.equation!r} is about the operator {unknown[0]!r}, which is not registered{meant}")
