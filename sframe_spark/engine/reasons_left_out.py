"""What the laws left out of a plan, and the property that allows it."""

from __future__ import annotations

from collections.abc import Iterator

from sframe_spark.engine.column_names import ColumnNames
from sframe_spark.engine.known_order import origin_of_order
from sframe_spark.operators.elementwise import GeneralizedTransform
from sframe_spark.operators.groupby import GroupBy
from sframe_spark.operators.join import Join
from sframe_spark.operators.laws.backwards import group_by_of_neighbours
from sframe_spark.operators.laws.few_rows import group_by_of_few, join_with_few, sort_of_few, top_of_few
from sframe_spark.operators.laws.pruning import filter_by_recorded_bounds
from sframe_spark.operators.laws.recorded import count_is_length, reduce_from_statistics
from sframe_spark.operators.laws.slices import head_of_sort
from sframe_spark.operators.laws.sorts import sort_of_sort, sort_of_sorted, top_of_sorted, unobserved_sort
from sframe_spark.operators.laws.streaming import group_by_of_sorted, join_of_sorted
from sframe_spark.operators.mask_ranges import mask_ranges
from sframe_spark.operators.rows import SliceRows
from sframe_spark.operators.segment_scan import segments_in_range
from sframe_spark.operators.sort import Sort, TopRows
from sframe_spark.operators.sources import SegmentSource
from sframe_spark.operators.suffix_sort import SuffixSort
from sframe_spark.planner.graph import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.observe import observed_nodes
from sframe_spark.planner.optimizer import Firing
from sframe_spark.storage.pruning import Bounds


def reasons_of_firing(firing: Firing, names: ColumnNames) -> Iterator[str]:
    """What a law's firing left out, and why that is right."""
    before, operator = firing.before, firing.before.operator
    if firing.equation == unobserved_sort.equation:
        observed = observed_nodes(before)
        for node in postorder([before]):
            if isinstance(node.operator, (Sort, SuffixSort)) and id(node) not in observed:
                yield f"left out sort by {names.order(node, node.operator.by)}: nobody observes the order of its rows"
    elif isinstance(operator, (Sort, TopRows)):
        yield from reasons_of_sort(firing, names)
    elif isinstance(operator, (GroupBy, Join)):
        yield from reasons_of_grouping(firing, names)
    elif firing.equation == head_of_sort.equation:
        yield f"left out the sort of all rows by {sort_below(before, names)}: only the first rows are asked for"
    elif firing.equation == filter_by_recorded_bounds.equation:
        yield pruned(firing, names)
    elif firing.equation in (reduce_from_statistics.equation, count_is_length.equation):
        yield f"left out the scan for reduce[{operator.describe()}]: recorded when the rows were written"


def reasons_of_sort(firing: Firing, names: ColumnNames) -> Iterator[str]:
    """What became of a sort or of the first rows of one."""
    before, after = firing.before, firing.after
    operator, child = before.operator, before.inputs[0]
    assert isinstance(operator, (Sort, TopRows))
    title = f"left out {before.operator_type} by {names.order(before, operator.by)}"
    turned = [(position, not up) for position, up in operator.by]
    if firing.equation in (sort_of_sorted.equation, top_of_sorted.equation):
        yield f"{title}: {origin_of_order(child, operator.by, names)}"
    elif firing.equation == sort_of_sort.equation:
        yield f"left out the first of two sorts, by {sort_below(before, names)}: the second one, by {names.order(before, operator.by)}, takes it in"
    elif firing.equation in (sort_of_few.equation, top_of_few.equation):
        yield f"left out the exchange of {before.operator_type} by {names.order(before, operator.by)}: there are at most {child.length.at_most} rows"
    elif after.operator_type == "reverse" or (after.operator_type == "slice" and after.inputs[0].operator_type == "reverse"):
        yield f"{title}: rows in order of {names.order(child, turned)} ({origin_of_order(child, turned, names)}) are read backwards"


def reasons_of_grouping(firing: Firing, names: ColumnNames) -> Iterator[str]:
    """What became of the exchange of a group-by or of a join."""
    before, operator = firing.before, firing.before.operator
    if isinstance(operator, GroupBy):
        title = f"left out the exchange of group_by on {names.listed(before, range(len(operator.keys)))}"
        child = before.inputs[0]
        if firing.equation == group_by_of_sorted.equation:
            yield f"{title}: {origin_of_order(child, [(key, True) for key in operator.keys], names)}"
        elif firing.equation == group_by_of_few.equation:
            yield f"{title}: there are at most {child.length.at_most} rows, which are sorted in memory"
        elif firing.equation == group_by_of_neighbours.equation:
            yield f"{title}: rows with equal keys are neighbours"
    elif isinstance(operator, Join):
        right, key = before.inputs[1], operator.right_keys[0]
        title = f"left out the exchange of both sides of the join on {names.name(before, operator.left_keys[0])}"
        if firing.equation == join_of_sorted.equation:
            yield f"{title}: its right side is in order of {names.name(right, key)}: {origin_of_order(right, [(key, True)], names)}"
        elif firing.equation == join_with_few.equation:
            yield f"{title}: its right side has at most {right.length.at_most} rows, which are sorted to be searched"


def sort_below(node: PlannerNode, names: ColumnNames) -> str:
    """The order of the sort that is a node's input."""
    child = node.inputs[0]
    return names.order(child, child.operator.by) if isinstance(child.operator, Sort) else "an order"


def pruned(firing: Firing, names: ColumnNames) -> str:
    """Which rows are not read, as recorded bounds show that a filter drops them."""
    transform, rows = firing.before.inputs[0], firing.after.inputs[0].inputs[0].operator
    assert isinstance(transform.operator, GeneralizedTransform)
    below = transform.inputs[0]
    wanted: dict[str, Bounds] = {}
    for column, (low, high) in mask_ranges(transform.operator.computation, below.schema).items():
        before = wanted.get(names.name(below, column), (None, None))
        wanted[names.name(below, column)] = (before[0] if low is None else low, before[1] if high is None else high)
    sources = [node.operator for node in postorder([below]) if isinstance(node.operator, SegmentSource)]
    start, stop = (rows.start, rows.stop) if isinstance(rows, SliceRows) else (0, None)
    opened = [opened_segments(source, start, stop) for source in sources]
    where = f" ({'; '.join(dict.fromkeys(opened))})" if opened else ""
    found = firing.after.inputs[0].inputs[0].length
    conditions = " and ".join(map(in_bounds, wanted, wanted.values()))
    return f"left out the scan of other rows: by recorded bounds only {found} of {below.length} can have {conditions}{where}"


def in_bounds(name: str, bounds: Bounds) -> str:
    """A condition on a column, as it was asked for; the limits themselves are taken to be wanted.

    Examples
    --------
    >>> in_bounds("t", (3, None)), in_bounds("t", (3, 5)), in_bounds("t", (3, 3))
    ('t >= 3', '3 <= t <= 5', 't = 3')
    """
    low, high = bounds
    if low is not None and high is not None:
        return f"{name} = {low}" if low == high else f"{low} <= {name} <= {high}"
    return f"{name} <= {high}" if low is None else f"{name} >= {low}"


def opened_segments(source: SegmentSource, start: int, stop: int | None) -> str:
    """How many segments of a source are opened for some of its rows, and which."""
    part = source.rows_between(start, source.stop - source.start if stop is None else stop)
    chosen = segments_in_range(part)
    places = [place for place, entry in enumerate(source.manifest.segments) if any(entry is other for _, other in chosen)]
    which = "" if not places else f", number {places[0]}" if len(places) == 1 else f", numbers {places[0]} to {places[-1]}"
    return f"opens {len(chosen)} of {len(source.manifest.segments)} segments{which}"
