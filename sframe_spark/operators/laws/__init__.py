"""All laws, and STAGES: the only list of what runs when."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from sframe_spark.errors import PlanInvariantError, listed, near_names
from sframe_spark.operators.laws import (
    appends,
    backwards,
    certain,
    distinct,
    ends,
    expansion,
    few_rows,
    filters,
    fusion,
    joins,
    narrowing,
    nothing,
    promises,
    pruning,
    pushed_filters,
    recorded,
    reductions,
    scans,
    sharing,
    slices,
    sorts,
    streaming,
)
from sframe_spark.planner.installed import load_operators, plugin_laws
from sframe_spark.planner.law import Law, Stage
from sframe_spark.planner.optimizer import Optimizer
from sframe_spark.planner.registry import registered_names

STAGES: tuple[Stage, ...] = (
    Stage("share", "equal subplans become one node first, so that later laws can recognise what is equal by identity"),
    Stage("expand", "operators for readers of plans become the few forms that the other laws know"),
    Stage("fuse", "row-wise regions become one program before anything moves, so that moving it is one step", top_down=True, back_to="fuse"),
    Stage("select", "masks join the rows they filter once equal masks have been recognised", top_down=True, also=("fuse",)),
    Stage("narrow", "columns that nobody reads are dropped in one walk down from the result: a node has what all its readers read"),
    Stage("pushdown", "rows and orders that are not needed are dropped as close to the sources as possible", also=("expand",), back_to="narrow"),
    Stage("merge", "programs that pushdown brought together are fused again", top_down=True, also=("fuse",), back_to="narrow"),
    Stage("order", "sorts that nobody observes are dropped when the final shape of the plan is known", back_to="narrow"),
    Stage("unite", "subplans that have become equal on the way are one node, computed once", also=("share",), back_to="narrow"),
)

MODULES = (
    appends,
    expansion,
    filters,
    fusion,
    narrowing,
    promises,
    pruning,
    recorded,
    sharing,
    ends,
    slices,
    sorts,
    streaming,
    distinct,
    backwards,
    certain,
    few_rows,
    joins,
    nothing,
    pushed_filters,
    reductions,
    scans,
)


def builtin_laws() -> list[Law]:
    """The laws of this package, in order of definition."""
    return [value for module in MODULES for value in vars(module).values() if isinstance(value, Law)]


@lru_cache(maxsize=32)
def builtin_optimizer(disabled: frozenset[str] = frozenset(), check: bool = True) -> Optimizer:
    """The optimizer over the built-in laws and those of installed plugins."""
    load_operators()
    laws = (*builtin_laws(), *plugin_laws())
    require_sound_laws(laws)
    return Optimizer(STAGES, laws, disabled, check)


def require_sound_laws(laws: Sequence[Law]) -> None:
    """Refuse laws of one name, and laws about operators that do not exist: they would never fire.

    Raises
    ------
    PlanInvariantError
        If there is one.
    """
    known, seen = registered_names(), set()
    for rule in laws:
        if unknown := sorted(rule.operators.difference(known)):
            near = near_names(unknown[0], known)
            meant = f": did you mean {listed(near)}?" if near else ": import the module that registers it"
            raise PlanInvariantError(f"the law {rule.equation!r} is about the operator {unknown[0]!r}, which nobody has registered{meant}")
        if rule.equation in seen:
            raise PlanInvariantError(f"two laws are named {rule.equation!r}: a law's equation is its name")
        seen.add(rule.equation)
