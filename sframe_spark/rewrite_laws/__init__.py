"""The list of all laws in the order in which they are tried, the stages in which they run, and ``optimize``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from sframe_spark.config import config
from sframe_spark.errors import PlanInvariantError
from sframe_spark.operators.user_function_calls_and_result_memos import require_types_as_made
from sframe_spark.planner.law import Law, Stage
from sframe_spark.planner.law_registry import declare_laws, require_known_operators
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.optimizer import Optimizer, Trace
from sframe_spark.planner.plugin_loading import active_laws, are_all_loaded, load_plugins
from sframe_spark.rewrite_laws import (
    aggregation,
    filter_pushdown,
    filters_of_sources,
    fusion,
    group_join_and_sort_algorithms as algorithm_choice,
    normalization,
    projection_pushdown,
    pruning_by_recorded_bounds,
    second_orders,
    slice_pushdown,
    sort_elimination,
)

STAGES: tuple[Stage, ...] = (
    Stage("share", "equal subplans become one node first, so that later laws can recognize equal subplans by identity"),
    Stage("expand", "operators that exist for readability become the few forms that the other laws handle"),
    Stage("fuse", "row-wise regions become one program before anything moves, so that moving it is one step", top_down=True, back_to="fuse"),
    Stage("select", "masks become columns of the rows that they filter, after equal masks have been recognized", top_down=True, also=("fuse",)),
    Stage("narrow", "columns that nobody reads are dropped in one walk down from the result; a node keeps the columns of all its readers"),
    Stage("pushdown", "rows and orders that are not needed are dropped as close to the sources as possible", also=("expand",), back_to="narrow"),
    Stage("merge", "programs that pushdown brought together are fused again", top_down=True, also=("fuse",), back_to="narrow"),
    Stage("order", "sorts that nobody observes are dropped when the final shape of the plan is known", back_to="narrow"),
    Stage("unite", "subplans that have become equal meanwhile become one node, which is computed once", also=("share",), back_to="narrow"),
)

# A stage tries its laws in this order: at each node the first law that applies wins.
LAWS: tuple[Law, ...] = (
    normalization.append_of_appends,
    normalization.empty_append,
    normalization.append_of_neighbours,
    normalization.generalize,
    normalization.arrangement,
    normalization.singleton_zip,
    normalization.zip_of_zips,
    normalization.identity_projection,
    filter_pushdown.equal_masks,
    filter_pushdown.mask_as_column,
    filter_pushdown.filter_below_rowwise,
    filter_pushdown.filters_merged,
    fusion.fuse_rowwise,
    projection_pushdown.drop_unread_columns,
    projection_pushdown.project_into_source,
    projection_pushdown.merged_projections,
    sort_elimination.promise_of_known,
    second_orders.filter_of_second_order,
    pruning_by_recorded_bounds.filter_by_recorded_bounds,
    filters_of_sources.filter_pushed_into_source,
    aggregation.count_is_length,
    aggregation.reduce_from_statistics,
    aggregation.row_number_of_source,
    normalization.share_equal_subplans,
    slice_pushdown.last_rows_of_sort,
    slice_pushdown.slice_of_slice,
    slice_pushdown.slice_into_source,
    slice_pushdown.slice_below_rowwise,
    slice_pushdown.head_below_sequential,
    slice_pushdown.slice_across_append,
    slice_pushdown.head_of_sort,
    slice_pushdown.slice_of_all,
    second_orders.sort_of_second_order,
    second_orders.group_by_of_second_order,
    second_orders.join_with_second_order,
    sort_elimination.sort_of_sorted,
    sort_elimination.sort_of_partly_sorted,
    sort_elimination.top_of_sorted,
    sort_elimination.sort_of_sort,
    sort_elimination.sort_below_rowwise,
    sort_elimination.unobserved_order,
    algorithm_choice.group_by_of_sorted,
    algorithm_choice.group_by_of_sort,
    algorithm_choice.group_by_of_all,
    algorithm_choice.join_of_sorted,
    aggregation.group_by_of_distinct,
    aggregation.group_of_distinct_adjacent_keys,
    sort_elimination.sort_of_reversed,
    sort_elimination.sort_of_partly_reversed,
    sort_elimination.top_of_reversed,
    sort_elimination.group_by_of_neighbours,
    sort_elimination.reverse_of_reverse,
    sort_elimination.slice_below_reverse,
    filter_pushdown.filter_of_all,
    algorithm_choice.sort_of_few,
    algorithm_choice.top_of_few,
    algorithm_choice.group_by_of_few,
    algorithm_choice.join_with_few,
    algorithm_choice.right_join,
    algorithm_choice.join_of_nothing_read,
    algorithm_choice.join_of_few,
    filter_pushdown.no_rows,
    filter_pushdown.filter_of_none,
    filter_pushdown.join_with_nothing,
    filter_pushdown.filter_below,
    filter_pushdown.filter_across_append,
    aggregation.first_of_first,
    aggregation.aggregates_skip_missing,
    sort_elimination.maximum_of_ascending,
    sort_elimination.minimum_of_descending,
    sort_elimination.shift_of_shift,
)

declare_laws(STAGES, LAWS)


def builtin_laws() -> list[Law]:
    """Return the laws of this package, in the order in which they are tried."""
    return list(LAWS)


@lru_cache(maxsize=32)
def _optimizer(added: tuple[Law, ...], disabled: frozenset[str], check: bool) -> Optimizer:
    laws = (*builtin_laws(), *added)
    require_sound_laws(laws)
    return Optimizer(STAGES, laws, disabled, check)


def builtin_optimizer(disabled: frozenset[str] = frozenset(), check: bool = True) -> Optimizer:
    """Return the optimizer with the built-in laws and those of plug-ins and scripts."""
    load_plugins()
    added = active_laws()
    if disabled and not are_all_loaded():
        # A law that is disabled by name may be of a plug-in that is not loaded.
        disabled &= {rule.equation for rule in (*LAWS, *added)}
    return _optimizer(added, disabled, check)


def require_sound_laws(laws: Sequence[Law]) -> None:
    """Check that laws have different names, and that each operator that they name is registered (otherwise the law could never apply).

    Raises
    ------
    PlanInvariantError
        If two laws have the same name, or a law names an unknown operator.
    """
    require_known_operators(laws)
    seen = set()
    for rule in laws:
        if rule.equation in seen:
            raise PlanInvariantError(f"two laws are named {rule.equation!r}: a law's equation is its name")
        seen.add(rule.equation)


def optimize(node: PlannerNode, until: str | None = None, trace: Trace | None = None) -> PlannerNode:
    """Return an equivalent plan after all laws that the configuration has not disabled; the given graph is unchanged."""
    require_types_as_made(node)
    return builtin_optimizer(config.disabled_laws, config.check != "off").optimize(node, until, trace)
