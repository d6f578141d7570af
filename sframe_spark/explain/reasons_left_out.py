"""What the laws left out of a plan, and the property that allows it."""

from __future__ import annotations

from collections.abc import Iterator

from sframe_spark.explain.column_names import ColumnNames
from sframe_spark.explain.known_order import origin_of_order
from sframe_spark.laws.aggregation import count_is_length, reduce_from_statistics
from sframe_spark.laws.algorithm_choice import group_by_of_sort, group_by_of_sorted, join_of_sorted
from sframe_spark.laws.few_rows import group_by_of_few, join_with_few, sort_of_few, top_of_few
from sframe_spark.laws.joins import join_of_few, join_of_nothing_read, right_join
from sframe_spark.laws.laws_pruning import filter_by_recorded_bounds, wanted_values
from sframe_spark.laws.slice_pushdown import head_of_sort
from sframe_spark.laws.sort_elimination import group_by_of_neighbours
from sframe_spark.laws.sorts import sort_of_sort, sort_of_sorted, top_of_sorted, unobserved_order
from sframe_spark.laws.value_ranges import ValueRanges, intersection
from sframe_spark.operators.groupby.groupby import GroupBy
from sframe_spark.operators.joins.join import Join
from sframe_spark.operators.slice import SliceRows
from sframe_spark.operators.sort import Sort, SuffixSort, TopRows
from sframe_spark.operators.sources.segment_subset import STORED_ROWS, SegmentParts
from sframe_spark.operators.sources.source import SegmentSource
from sframe_spark.planner.graph import postorder
from sframe_spark.planner.inference import observed_nodes
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.optimizer import Firing
from sframe_spark.storage.segments.pruning import Bounds
from sframe_spark.storage.segments.reader import intersecting

# Of more ranges or segments, not all are named.
MOST_SHOWN = 5


def reasons_of_firing(firing: Firing, names: ColumnNames) -> Iterator[str]:
    """What a law's firing left out, and why that is right."""
    before, operator = firing.before, firing.before.operator
    if firing.equation == unobserved_order.equation:
        observed = observed_nodes(before)
        for node in postorder([before]):
            if node.operator.reorders and id(node) not in observed:
                what = f"sort by {names.order(node, node.operator.by)}" if isinstance(node.operator, (Sort, SuffixSort)) else node.operator_type
                yield f"left out {what}: nobody observes the order of its rows"
    elif firing.equation == join_of_nothing_read.equation:
        keys = names.listed(before.inputs[1], range(before.inputs[1].facts.width))
        yield f"left out a left join: its right side has each {keys} once at most, and nothing of it is read"
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
        if firing.equation in (group_by_of_sorted.equation, group_by_of_sort.equation):
            yield f"{title}: {origin_of_order(child, [(key, True) for key in operator.keys], names)}"
        elif firing.equation == group_by_of_few.equation:
            yield f"{title}: there are at most {child.length.at_most} rows, which are sorted in memory"
        elif firing.equation == group_by_of_neighbours.equation:
            yield f"{title}: rows with equal keys are neighbours"
    elif isinstance(operator, Join):
        right, key = before.inputs[1], operator.right_keys[0]
        title = f"left out the exchange of both sides of the join on {names.listed(before, operator.left_keys)}"
        if firing.equation == join_of_sorted.equation:
            yield f"{title}: its right side is in order of {names.name(right, key)}: {origin_of_order(right, [(key, True)], names)}"
        elif firing.equation == join_with_few.equation:
            yield f"{title}: its right side has at most {right.length.at_most} rows, which are sorted to be searched"
        elif firing.equation == right_join.equation:
            yield f"the right join on {names.name(right, key)} is a left join whose right side is the left one here"
        elif firing.equation == join_of_few.equation:
            most = " and ".join(str(side.length.at_most) for side in before.inputs)
            yield f"{title}: they have at most {most} rows, whose keys are numbered in memory"


def sort_below(node: PlannerNode, names: ColumnNames) -> str:
    """The order of the sort that is a node's input."""
    child = node.inputs[0]
    return names.order(child, child.operator.by) if isinstance(child.operator, Sort) else "an order"


def pruned(firing: Firing, names: ColumnNames) -> str:
    """Which rows are not read, as recorded bounds show that a filter drops them."""
    transform, left = firing.before.inputs[0], firing.after.inputs[0].inputs[0]
    below = transform.inputs[0]
    wanted: dict[str, ValueRanges] = {}
    for column, ranges in wanted_values(transform).items():
        name = names.name(below, column)
        wanted[name] = intersection(wanted[name], ranges) if name in wanted else ranges
    opened = [opened_segments(part) for part in stored_parts(below, left)]
    where = f" ({'; '.join(dict.fromkeys(opened))})" if opened else ""
    conditions = " and ".join(map(in_ranges, wanted, wanted.values()))
    return f"left out the scan of other rows: by recorded bounds only {left.length} of {below.length} can have {conditions}{where}"


def stored_parts(before: PlannerNode, after: PlannerNode) -> Iterator[SegmentSource | SegmentParts]:
    """The stored rows that are left of all that a plan reads."""
    if isinstance(after.operator, SliceRows):
        start, stop = after.operator.start, after.operator.stop
        for source in [node.operator for node in postorder([before]) if isinstance(node.operator, STORED_ROWS)]:
            part = source.rows_between(start, source.row_count if stop is None else stop)
            if isinstance(part, STORED_ROWS):
                yield part
    else:
        yield from (node.operator for node in postorder([after]) if isinstance(node.operator, STORED_ROWS))


def in_ranges(name: str, ranges: ValueRanges) -> str:
    """A condition on a column that says in which ranges its values lie; of many the first and the last.

    Examples
    --------
    >>> in_ranges("t", ((None, 3), (5, 5))), in_ranges("t", ())
    ('(t <= 3 or t = 5)', 'a value of t that is wanted')
    """
    if not ranges:
        return f"a value of {name} that is wanted"
    shown = [in_bounds(name, bounds) for bounds in ranges]
    if len(shown) > MOST_SHOWN:
        shown = [shown[0], "...", shown[-1]]
    return shown[0] if len(shown) == 1 else f"({' or '.join(shown)})"


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


def opened_segments(source: SegmentSource | SegmentParts) -> str:
    """How many segments of a dataset are opened for some of its rows, and which."""
    segments = source.manifest.segments
    ranges = source.ranges if isinstance(source, SegmentParts) else ((source.start, source.stop),)
    opened = {entry.file for first, last in ranges for entry, _, _ in intersecting(source.manifest, first, last)}
    places = [place for place, entry in enumerate(segments) if entry.file in opened]
    if len(places) < 2:
        return f"opens {len(places)} of {len(segments)} segments" + "".join(f", number {place}" for place in places)
    shown = [str(place) for place in places[:MOST_SHOWN]] + ["..."] * (len(places) > MOST_SHOWN)
    neighbours = places[-1] - places[0] < len(places)
    return f"opens {len(places)} of {len(segments)} segments, numbers {f'{places[0]} to {places[-1]}' if neighbours else ', '.join(shown)}"
