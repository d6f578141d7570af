"""All laws, and STAGES: the only list of what runs when."""

from __future__ import annotations

from functools import lru_cache

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
    lookups,
    narrowing,
    promises,
    pruning,
    recorded,
    running,
    sharing,
    slices,
    sorts,
    streaming,
)
from sframe_spark.planner.law import Law, Stage
from sframe_spark.planner.optimizer import Optimizer
from sframe_spark.planner.plugins import load_operators, plugin_laws

STAGES: tuple[Stage, ...] = (
    Stage("share", "equal subplans become one node first, so that later laws can recognise what is equal by identity"),
    Stage("expand", "operators for readers of plans become the few forms that the other laws know"),
    Stage("fuse", "row-wise regions become one program before anything moves, so that moving it is one step", top_down=True),
    Stage("select", "masks join the rows they filter once equal masks have been recognised", top_down=True, also=("fuse",)),
    Stage("pushdown", "columns, rows and orders that are not needed are dropped as close to the sources as possible", also=("expand",)),
    Stage("merge", "programs that pushdown brought together are fused again", top_down=True, also=("fuse",), back_to="pushdown"),
    Stage("order", "sorts that nobody observes are dropped when the final shape of the plan is known", back_to="pushdown"),
    Stage("unite", "subplans that have become equal on the way are one node, computed once", also=("share",), back_to="pushdown"),
)

MODULES = (
    appends,
    expansion,
    filters,
    fusion,
    lookups,
    narrowing,
    promises,
    pruning,
    recorded,
    running,
    sharing,
    ends,
    slices,
    sorts,
    streaming,
    distinct,
    backwards,
    certain,
    few_rows,
)


def builtin_laws() -> list[Law]:
    """The laws of this package, in order of definition."""
    return [value for module in MODULES for value in vars(module).values() if isinstance(value, Law)]


@lru_cache(maxsize=32)
def builtin_optimizer(disabled: frozenset[str] = frozenset(), check: bool = True) -> Optimizer:
    """The optimizer over the built-in laws and those of installed plugins."""
    load_operators()
    return Optimizer(STAGES, (*builtin_laws(), *plugin_laws()), disabled, check)
