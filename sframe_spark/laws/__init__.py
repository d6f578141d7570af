"""All laws, and STAGES: the only list of what runs when."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from sframe_spark.errors import PlanInvariantError, listed, near_names
from sframe_spark.laws import (
    aggregation,
    algorithm_choice,
    distinct,
    ends,
    expansion,
    few_rows,
    filter_pushdown,
    filters,
    fusion,
    joins,
    laws_pruning,
    normalization,
    nothing,
    projection_pushdown,
    promises,
    pushed_filters,
    reductions,
    scans,
    sharing,
    slice_pushdown,
    sort_elimination,
    sorts,
)
from sframe_spark.planner.law import Law, Stage
from sframe_spark.planner.optimizer import Optimizer
from sframe_spark.planner.registry import load_operators, plugin_laws, registered_names

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

# In this order a stage tries its laws: the first that applies at a node wins.
LAWS: tuple[Law, ...] = (
    normalization.append_of_appends,
    normalization.empty_append,
    normalization.append_of_neighbours,
    expansion.generalize,
    expansion.arrangement,
    expansion.singleton_zip,
    expansion.zip_of_zips,
    expansion.identity_projection,
    filters.equal_masks,
    filters.mask_as_column,
    filters.filter_below_rowwise,
    filters.filters_merged,
    fusion.fuse_rowwise,
    projection_pushdown.drop_unread_columns,
    projection_pushdown.project_into_source,
    projection_pushdown.merged_projections,
    promises.promise_of_known,
    laws_pruning.filter_by_recorded_bounds,
    aggregation.count_is_length,
    aggregation.reduce_from_statistics,
    aggregation.row_number_of_source,
    sharing.share_equal_subplans,
    ends.last_rows_of_sort,
    slice_pushdown.slice_of_slice,
    slice_pushdown.slice_into_source,
    slice_pushdown.slice_below_rowwise,
    slice_pushdown.head_below_sequential,
    slice_pushdown.slice_across_append,
    slice_pushdown.head_of_sort,
    slice_pushdown.slice_of_all,
    sorts.sort_of_sorted,
    sorts.sort_of_partly_sorted,
    sorts.top_of_sorted,
    sorts.sort_of_sort,
    sorts.sort_below_rowwise,
    sorts.unobserved_order,
    algorithm_choice.group_by_of_sorted,
    algorithm_choice.group_by_of_sort,
    algorithm_choice.group_by_of_all,
    algorithm_choice.join_of_sorted,
    distinct.group_by_of_distinct,
    distinct.streaming_group_by_of_distinct,
    sort_elimination.sort_of_reversed,
    sort_elimination.sort_of_partly_reversed,
    sort_elimination.top_of_reversed,
    sort_elimination.group_by_of_neighbours,
    sort_elimination.reverse_of_reverse,
    sort_elimination.slice_below_reverse,
    filter_pushdown.filter_of_all,
    few_rows.sort_of_few,
    few_rows.top_of_few,
    few_rows.group_by_of_few,
    few_rows.join_with_few,
    joins.right_join,
    joins.join_of_nothing_read,
    joins.join_of_few,
    nothing.no_rows,
    nothing.filter_of_none,
    nothing.join_with_nothing,
    pushed_filters.filter_below,
    pushed_filters.filter_across_append,
    reductions.first_of_first,
    reductions.aggregates_skip_missing,
    scans.maximum_of_ascending,
    scans.minimum_of_descending,
    scans.shift_of_shift,
)


def builtin_laws() -> list[Law]:
    """Return the laws of this package, in the order in which they are tried."""
    return list(LAWS)


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
