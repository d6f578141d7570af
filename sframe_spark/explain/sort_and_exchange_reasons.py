"""Explanations of why each sort, exchange and gather is in a plan, or is not, with users' column names; and the row orders that a plan relies on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sframe_spark.config import config
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.physical.column_lineage import origins_of
from sframe_spark.engine.physical.placement_and_blocking_inputs import Placement, blocking_inputs, is_at_hand, is_small, placement_over
from sframe_spark.engine.physical.site import Site
from sframe_spark.engine.size_estimates_batch_sizes_and_memory_reservations import fits_driver, plan_size_of
from sframe_spark.explain.column_names import ColumnNames
from sframe_spark.message_text import visible
from sframe_spark.operators.elementwise import RowWise
from sframe_spark.operators.groupby.groupby import GroupBy
from sframe_spark.operators.groupby.groupby_of_adjacent_equal_keys import GroupByOfAdjacentEqualKeys
from sframe_spark.operators.groupby.reduce_to_one_row import Reduce
from sframe_spark.operators.joins.asof_join import AsofJoin
from sframe_spark.operators.joins.equi_join import Join
from sframe_spark.operators.joins.hash_join import HashJoin
from sframe_spark.operators.joins.interpolation import Interpolation
from sframe_spark.operators.joins.interval_join import IntervalJoin
from sframe_spark.operators.joins.key_window_aggregates import KeyWindow
from sframe_spark.operators.joins.sorted_join import SortedJoin
from sframe_spark.operators.joins.union_of_sorted_inputs import MergeSorted
from sframe_spark.operators.row_selection import SliceRows
from sframe_spark.operators.sort_top_rows_and_assumed_order import Sort, SuffixSort, TopRows
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource
from sframe_spark.operators.sources.segment_row_ranges import STORED_ROWS, SegmentParts
from sframe_spark.operators.sources.spark_frame import SparkSource
from sframe_spark.order.order_facts import Column
from sframe_spark.order.properties import requirement
from sframe_spark.planner.graph_traversal import postorder, runs_as_kernels
from sframe_spark.planner.length_and_order_inference import is_in_order, observed_nodes, observers, properties_of
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import Need
from sframe_spark.planner.operator_declarations import RowChoice
from sframe_spark.planner.optimizer import Firing, Trace
from sframe_spark.process.memory import memory_budget
from sframe_spark.rewrite_laws import (
    aggregation,
    group_join_and_sort_algorithms as algorithm_choice,
    pruning_by_recorded_bounds,
    second_orders,
    slice_pushdown,
    sort_elimination,
)
from sframe_spark.storage.segments.pruning import Bounds
from sframe_spark.storage.segments.reader import intersecting
from sframe_spark.types import DATETIME, INT

MAX_NAMED_COLUMNS = 4


def not_known(node: PlannerNode, by: Sequence[tuple[int, bool]], names: ColumnNames) -> str:
    """Return a sentence which says that rows are not known to be sorted, with two example rows that known properties allow in the wrong order.

    If there are many columns, only some are shown.

    Examples
    --------
    >>> from sframe_spark.operators.sources.in_memory import range_source
    >>> print(not_known(range_source(3, 4, -1), [(0, True)], ColumnNames()))
    nothing known rules out column 0 of the range_source = 1 before column 0 of the range_source = 0
    """
    order = properties_of(node).order
    witness = order.witness(requirement(by))
    if witness is None:
        return "rows are in that order, but something before takes it from them"
    relevant = [position for position, _ in by]
    ordered = [item.column for items in order.orderings for item in items if isinstance(item.column, int)]
    relevant += [column for column in ordered if names.known_name(node, column) is not None]
    named = [column for column in dict.fromkeys(relevant) if column in witness.columns][:MAX_NAMED_COLUMNS]
    earlier, later = (dict(zip(witness.columns, row, strict=True)) for row in (witness.earlier, witness.later))

    def text(row: Mapping[Column, int | None]) -> str:
        return ", ".join(names.name(node, column) + (" missing" if row[column] is None else f" = {row[column]}") for column in named)

    return f"nothing known rules out {text(earlier)} before {text(later)}"


Order = Sequence[tuple[int, bool]]

# Operators that keep the rows of an input in order, for the columns that come from that input.
KEEPS_ORDER = frozenset(
    {
        *("project", "zip", "arrange", "filter", "filter_rows", "slice", "assign_intervals", "map_cycles", "streaming_group_by"),
        *("join", "hash_join", "sorted_join", "asof_join", "key_window", "interpolation", "interval_join"),
    }
)
# Why the output of an operator is in an order that the operator establishes.
SOURCES_OF_ORDER = {
    "sort": "the rows are sorted so",
    "top_rows": "the rows are sorted so",
    "suffix_sort": "the rows are sorted so",
    "group_by": "groups come in the order of their keys",
    "streaming_group_by": "groups come in the order of the rows that they are made of",
    "row_number": "row numbers grow",
    "cumulative": "running values of this kind only grow or fall",
    "range_source": "the numbers are consecutive",
    "constant_source": "it is one value",
    "memory_source": "found in the rows in memory, or proved before they were computed",
    "append": "the ranges of values of the parts follow each other",
    "join": "a join keeps the order of its first side",
    "hash_join": "a join keeps the order of its first side",
    "assume_order": "assume_sorted() says so, and it was not verified",
    "generalized_transform": "it follows from constants and from monotone functions of columns in order",
}


def origin_of_order(node: PlannerNode, by: Order, names: ColumnNames | None = None) -> str:
    """Return, in one line, why a node's rows are in an order. It must be known that they are.

    Parameters
    ----------
    node
        The node.
    by
        Pairs of a column position and whether it ascends.
    names
        The names of columns; None if no names are known.

    Examples
    --------
    >>> from sframe_spark.operators.row_selection import slice_rows
    >>> from sframe_spark.operators.sources.in_memory import range_source
    >>> origin_of_order(slice_rows(range_source(0, 9), 2, 5), [(0, True)])
    'the numbers are consecutive; kept by slice'
    """
    order = properties_of(node).order
    constant = [position for position, _ in by if order.is_constant(position)]
    by = [item for item in by if item[0] not in constant]
    parts = [_start_of_order(node, by)] if by else []
    if constant:
        parts.append(f"{(names or ColumnNames()).listed(node, constant)} {'has' if len(constant) == 1 else 'have'} one value")
    return "; ".join(parts)


def _start_of_order(node: PlannerNode, by: Order) -> str:
    """Return why an order holds at the node that establishes it, and the operators above that keep it."""
    keeping: list[str] = []
    while below := order_below(node, by):
        keeping.append(node.operator_type)
        node, by = below
    if isinstance(node.operator, STORED_ROWS):
        reason = _of_files(node.operator, by)
    else:
        reason = SOURCES_OF_ORDER.get(node.operator_type, f"{node.operator_type} gives this order")
    above = list(dict.fromkeys(reversed(keeping)))
    return reason + (f"; kept by {', '.join(above)}" if above else "")


def _of_files(operator: SegmentSource | SegmentParts, by: Order) -> str:
    """Return why the rows of a dataset are in an order of its columns."""
    manifest = operator.manifest
    wanted = tuple((operator.positions[position], up) for position, up in by)
    if any(held and claim[:held][: len(wanted)] == wanted[:held] for claim, held in manifest.order.compared):
        return f"the files in {visible(manifest.directory)} seem to be in this order, and comparing their rows confirmed it"
    if any(claim[: len(wanted)] == wanted for claim in manifest.order.assumed):
        return f"the files in {visible(manifest.directory)} seem to be in this order, and an action compares their rows before it plans"
    if manifest.watched:
        return f"proved or promised of the files in {visible(manifest.directory)}"
    return f"recorded when {manifest.directory} was written"


def order_below(node: PlannerNode, by: Order) -> tuple[PlannerNode, Order] | None:
    """Return the input whose order an operator keeps, and the order of the input's columns; None if the operator establishes the order."""
    if node.operator_type == "reverse":
        return node.inputs[0], [(position, not up) for position, up in by]
    if node.operator_type not in KEEPS_ORDER and not isinstance(node.operator, RowWise):
        return None
    origins = origins_of(node)
    for slot, child in enumerate(node.inputs):
        below = [(column, up) for position, up in by for origin_slot, column in origins[position] if origin_slot == slot]
        if len(below) == len(by) and is_in_order(child, below):
            return child, below
    return None


# More ranges or segments than this are abbreviated.
MAX_LISTED = 5


def reasons_of_firing(firing: Firing, names: ColumnNames) -> Iterator[str]:
    """Yield what an application of a law removed from the plan, and why that is correct."""
    before, operator = firing.before, firing.before.operator
    if firing.equation == sort_elimination.unobserved_order.equation:
        observed = observed_nodes(before)
        for node in postorder([before]):
            if node.operator.row_choice is RowChoice.REORDER and id(node) not in observed:
                title = f"sort by {names.order(node, node.operator.by)}" if isinstance(node.operator, (Sort, SuffixSort)) else node.operator_type
                yield f"left out {title}: nobody observes the order of its rows"
    elif firing.equation == algorithm_choice.join_of_nothing_read.equation:
        keys = names.listed(before.inputs[1], range(before.inputs[1].facts.width))
        yield f"left out a left join: its right side has each {keys} once at most, and nothing of it is read"
    elif isinstance(operator, Sort) and firing.equation == second_orders.sort_of_second_order.equation:
        title = names.order(before, operator.by[:1])
        yield f"left out the sort of all rows by {title}: they were saved in that order too (also_by)"
    elif firing.equation == second_orders.filter_of_second_order.equation:
        yield f"left out most rows of the scan, and sorted those that are kept by their numbers: {order_of_few(firing, names)}"
    elif isinstance(operator, (Sort, TopRows)):
        yield from reasons_of_sort(firing, names)
    elif isinstance(operator, (GroupBy, Join)):
        yield from reasons_of_grouping(firing, names)
    elif firing.equation == slice_pushdown.head_of_sort.equation:
        yield f"left out the sort of all rows by {sort_below(before, names)}: only the first rows are asked for"
    elif firing.equation == pruning_by_recorded_bounds.filter_by_recorded_bounds.equation:
        yield pruned(firing, names)
    elif firing.equation in (aggregation.reduce_from_statistics.equation, aggregation.count_is_length.equation):
        yield f"left out the scan for reduce[{operator.describe()}]: recorded when the rows were written"


def reasons_of_sort(firing: Firing, names: ColumnNames) -> Iterator[str]:
    """Yield why a sort, or a selection of top rows, was removed."""
    before, after = firing.before, firing.after
    operator, child = before.operator, before.inputs[0]
    assert isinstance(operator, (Sort, TopRows))
    title = f"left out {before.operator_type} by {names.order(before, operator.by)}"
    turned = [(position, not up) for position, up in operator.by]
    if firing.equation in (sort_elimination.sort_of_sorted.equation, sort_elimination.top_of_sorted.equation):
        yield f"{title}: {origin_of_order(child, operator.by, names)}"
    elif firing.equation == sort_elimination.sort_of_sort.equation:
        yield f"left out the first of two sorts, by {sort_below(before, names)}: the second one, by {names.order(before, operator.by)}, takes it in"
    elif firing.equation in (algorithm_choice.sort_of_few.equation, algorithm_choice.top_of_few.equation):
        yield f"left out the exchange of {before.operator_type} by {names.order(before, operator.by)}: there are at most {child.length.at_most} rows"
    elif after.operator_type == "reverse" or (after.operator_type == "slice" and after.inputs[0].operator_type == "reverse"):
        yield f"{title}: rows in order of {names.order(child, turned)} ({origin_of_order(child, turned, names)}) are read backwards"


def reasons_of_grouping(firing: Firing, names: ColumnNames) -> Iterator[str]:
    """Yield why the exchange of a group-by or of a join was removed."""
    before, operator = firing.before, firing.before.operator
    if isinstance(operator, GroupBy):
        title = f"left out the exchange of group_by on {names.listed(before, range(len(operator.keys)))}"
        child = before.inputs[0]
        if firing.equation == second_orders.group_by_of_second_order.equation:
            yield f"rows to be grouped by {names.name(child, operator.keys[0])} are read in its order, in which they were saved too (also_by)"
        elif firing.equation in (algorithm_choice.group_by_of_sorted.equation, algorithm_choice.group_by_of_sort.equation):
            yield f"{title}: {origin_of_order(child, [(key, True) for key in operator.keys], names)}"
        elif firing.equation == algorithm_choice.group_by_of_few.equation:
            yield f"{title}: there are at most {child.length.at_most} rows, which are sorted in memory"
        elif firing.equation == sort_elimination.group_by_of_neighbours.equation:
            yield f"{title}: rows with equal keys are neighbours"
    elif isinstance(operator, Join):
        right, key = before.inputs[1], operator.right_keys[0]
        title = f"left out the exchange of both sides of the join on {names.listed(before, operator.left_keys)}"
        if firing.equation == algorithm_choice.join_of_sorted.equation:
            yield f"{title}: its right side is in order of {names.name(right, key)}: {origin_of_order(right, [(key, True)], names)}"
        elif firing.equation == second_orders.join_with_second_order.equation:
            yield f"{title}: its right side is searched in the order of {names.name(right, key)}, in which it was saved too (also_by)"
        elif firing.equation == algorithm_choice.join_with_few.equation:
            yield f"{title}: its right side has at most {right.length.at_most} rows, which are sorted to be searched"
        elif firing.equation == algorithm_choice.right_join.equation:
            yield f"the right join on {names.name(right, key)} is a left join whose right side is the left one here"
        elif firing.equation == algorithm_choice.join_of_few.equation:
            bounds = " and ".join(str(side.length.at_most) for side in before.inputs)
            yield f"{title}: they have at most {bounds} rows, whose keys are numbered in memory"


def order_of_few(firing: Firing, names: ColumnNames) -> str:
    """Return in which second order a filter reads a saved frame, in words."""
    rows = second_orders.MaskedRows.of(firing.before).rows
    source = second_orders.whole(rows)
    read = [node.operator.manifest for node in postorder([firing.after]) if isinstance(node.operator, SegmentSource)]
    for second in source.manifest.second_orders if source is not None else ():
        if source is not None and second.rows in read and second.column in source.positions:
            return f"rows were saved in the order of {names.name(rows, source.positions.index(second.column))} too (also_by)"
    return "rows were saved in another order too (also_by)"


def sort_below(node: PlannerNode, names: ColumnNames) -> str:
    """Return the order of the sort that is the input of a node, in words."""
    child = node.inputs[0]
    return names.order(child, child.operator.by) if isinstance(child.operator, Sort) else "an order"


def pruned(firing: Firing, names: ColumnNames) -> str:
    """Return which rows a filter drops by recorded bounds, so that they are not read."""
    transform, left = firing.before.inputs[0], firing.after.inputs[0].inputs[0]
    below = transform.inputs[0]
    required: dict[str, pruning_by_recorded_bounds.ValueRanges] = {}
    for column, ranges in pruning_by_recorded_bounds.required_ranges(transform).items():
        name = names.name(below, column)
        required[name] = pruning_by_recorded_bounds.intersection(required[name], ranges) if name in required else ranges
    opened = [opened_segments(part) for part in stored_parts(below, left)]
    where = f" ({'; '.join(dict.fromkeys(opened))})" if opened else ""
    conditions = " and ".join(map(in_ranges, required, required.values()))
    return f"left out the scan of other rows: by recorded bounds only {left.length} of {below.length} can have {conditions}{where}"


def stored_parts(before: PlannerNode, after: PlannerNode) -> Iterator[SegmentSource | SegmentParts]:
    """Yield the sources of the stored rows that remain after pruning."""
    if isinstance(after.operator, SliceRows):
        start, stop = after.operator.start, after.operator.stop
        for source in [node.operator for node in postorder([before]) if isinstance(node.operator, STORED_ROWS)]:
            part = source.rows_between(start, source.row_count if stop is None else stop)
            if isinstance(part, STORED_ROWS):
                yield part
    else:
        yield from (node.operator for node in postorder([after]) if isinstance(node.operator, STORED_ROWS))


def in_ranges(name: str, ranges: pruning_by_recorded_bounds.ValueRanges) -> str:
    """Return ranges of a column's values as a condition in words; if there are many, only the first and the last.

    Examples
    --------
    >>> in_ranges("t", ((None, 3), (5, 5))), in_ranges("t", ())
    ('(t <= 3 or t = 5)', 'a value of t that is wanted')
    """
    if not ranges:
        return f"a value of {name} that is wanted"
    conditions = [in_bounds(name, bounds) for bounds in ranges]
    if len(conditions) > MAX_LISTED:
        conditions = [conditions[0], "...", conditions[-1]]
    return conditions[0] if len(conditions) == 1 else f"({' or '.join(conditions)})"


def in_bounds(name: str, bounds: Bounds) -> str:
    """Return bounds of a column's values as a condition in words; the bounds are inclusive.

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
    """Return how many of a dataset's segments are opened to read some of its rows, and which, in words."""
    segments = source.manifest.segments
    ranges = source.ranges if isinstance(source, SegmentParts) else ((source.start, source.stop),)
    opened = {entry.file for first, last in ranges for entry, _, _ in intersecting(source.manifest, first, last)}
    numbers = [number for number, entry in enumerate(segments) if entry.file in opened]
    if len(numbers) < 2:
        return f"opens {len(numbers)} of {len(segments)} segments" + "".join(f", number {number}" for number in numbers)
    listed = [str(number) for number in numbers[:MAX_LISTED]] + ["..."] * (len(numbers) > MAX_LISTED)
    adjacent = numbers[-1] - numbers[0] < len(numbers)
    return f"opens {len(numbers)} of {len(segments)} segments, numbers {f'{numbers[0]} to {numbers[-1]}' if adjacent else ', '.join(listed)}"


def order_reasons(plan: PlannerNode, trace: Trace | None = None, names: ColumnNames | None = None) -> list[str]:
    """Return one line for each node that sorts, exchanges or aligns rows, for each sort, exchange and scan that was removed, and for the result.

    Parameters
    ----------
    plan
        The optimized plan.
    trace
        The optimizer's trace.
    names
        The names of columns.

    Examples
    --------
    >>> from sframe_spark.operators.sort_top_rows_and_assumed_order import sort_rows
    >>> from sframe_spark.operators.sources.in_memory import range_source
    >>> plan = sort_rows(range_source(0, 3, -1), [(0, True)])
    >>> print(*order_reasons(plan, names=ColumnNames.of_plan(plan, ["day"]))[0].split(": "), sep="\\n")
    r1 sort by day
    an exchange by key range and a sort, as the result shows the order
    nothing known rules out day = 1 before day = 0
    """
    names = names or ColumnNames.of_plan(plan, ())
    observed = observed_by(plan)
    lines, unkeyed = [], []
    first_to_compute = computed_first(plan)
    for number, node in enumerate(postorder([plan])):
        reason = reason_of_node(node, names, observed.get(id(node)))
        if reason is not None:
            blocked = [f"r{n}" for n in first_to_compute.get(id(node), ())]
            is_searched = any(node.operator.requires(slot) is Need.LOOKUP for slot in range(len(node.inputs)))
            access = "searched" if is_searched else "counted and read by number"
            before = f"; computed before it, so that its rows can be {access}: {', '.join(blocked)}" if blocked else ""
            lines.append(f"r{number} {reason}{before}")
        if id(node) not in observed:
            unkeyed.append(f"r{number}")
    if unkeyed:
        lines.append(f"left out the row key of {', '.join(unkeyed)}: nobody observes the order of these rows")
    left_out = [line for firing in (trace.firings if trace else ()) for line in reasons_of_firing(firing, names)]
    lines += dict.fromkeys(left_out)
    return [*(lines or ["no sort and no exchange: rows stay in their ranges"]), *reason_of_result(plan)]


def observed_by(plan: PlannerNode) -> dict[int, str]:
    """Return, by ``id`` of each node whose row order is observed, what observes it, in words to which " the order" is appended."""
    numbers = {id(node): number for number, node in enumerate(postorder([plan]))}
    return {
        key: "the result shows" if node is None else f"r{numbers[id(node)]} {node.operator_type} depends on" for key, node in observers(plan).items()
    }


def reason_of_node(node: PlannerNode, names: ColumnNames, observer: str | None) -> str | None:
    """Return how a node orders and partitions rows, and why; None if it does neither.

    Parameters
    ----------
    node
        The node.
    names
        The names of columns.
    observer
        What observes the order of the node's rows, in words to which " the order" is appended; None if nothing does.
    """
    operator = node.operator
    match operator:
        case Sort() | TopRows() | SuffixSort():
            return reason_of_sort(node, names, observer)
        case GroupBy():
            return reason_of_group_by(node, operator, names, observer)
        case GroupByOfAdjacentEqualKeys():
            return reason_of_streaming(node, operator, names)
        case Reduce():
            return reason_of_reduce(node, operator)
        case HashJoin():
            return f"{title_of_join(node, operator, names)}: no exchange: keys of few rows are numbered in memory, and pairs found by number"
        case Join():
            return reason_of_join(node, operator, names)
        case SortedJoin():
            searched = in_order(node, 1, [(operator.right_key, True)], names)
            return f"sorted_join: no exchange: matches are searched in its second input, which is {searched}"
        case IntervalJoin():
            searched = in_order(node, 1, [(operator.right_ends[0], True)], names)
            return f"interval_join: no exchange: intervals are searched in its second input, block by block, as it is {searched}"
        case KeyWindow():
            searched = in_order(node, 1, operator.order, names)
            return f"key_window: no exchange: rows are searched in its second input, block by block, as it is {searched}"
        case AsofJoin() | Interpolation():
            searched = in_order(node, 1, [(operator.on, True)], names)
            return f"{node.operator_type}: no exchange: rows are searched in its second input, block by block, as it is {searched}"
        case MergeSorted():
            return f"merge_sorted: no exchange: each range of the result is found by bisection in both inputs, {both_in_order(node, operator, names)}"
        case SparkSource() if observer:
            return f"spark_source: a snapshot without an exchange: {observer} the order of rows, and a DataFrame has none that stays"
    return reason_of_reader(node)


def reason_of_sort(node: PlannerNode, names: ColumnNames, observer: str | None) -> str:
    """Return how a node sorts its rows, and why."""
    operator, child = node.operator, node.inputs[0]
    assert isinstance(operator, (Sort, TopRows, SuffixSort))
    title = f"{node.operator_type} by {names.order(node, operator.by)}"
    reason = not_known(child, operator.by, names)
    if isinstance(operator, Sort):
        return f"{title}: an exchange by key range and a sort, {f'as {observer}' if observer else 'though nobody observes'} the order: {reason}"
    if isinstance(operator, TopRows):
        return f"{title}: no exchange of all rows: each partition gives its first {operator.rows}, and these are compared: {reason}"
    if not operator.held:
        return f"{title}: no exchange: few rows are sorted in memory: {reason}"
    prefix = operator.by[: operator.held]
    return f"{title}: no exchange: rows are {in_order(node, 0, prefix, names)}, and only ties are sorted, where they are: {reason}"


def reason_of_group_by(node: PlannerNode, operator: GroupBy, names: ColumnNames, observer: str | None) -> str:
    """Return why a group-by exchanges rows, or does not."""
    child, keys = node.inputs[0], names.listed(node, range(len(operator.keys)))
    if fits_in_memory(child):
        return f"group_by on {keys}: no exchange: few rows ({max_rows(child)}) are grouped in one place"
    if not runs_as_kernels(child):
        why = "its input is the result of a Spark query"
    elif not algorithm_choice.one_value_per_group(child, operator.keys):
        why = "keys that are equal may be different values (-0.0 and 0.0, or one instant at two offsets), so groups are not runs of one value"
    else:
        why = not_known(child, [(key, True) for key in operator.keys], names)
    sorted_after = f"an exchange by key range and a sort of the groups, as {observer} their order"
    after = sorted_after if observer else "no sort of the groups, as nobody observes their order"
    return f"group_by on {keys}: an exchange of rows by hash of the keys, then {after}: {why}"


def reason_of_streaming(node: PlannerNode, operator: GroupByOfAdjacentEqualKeys, names: ColumnNames) -> str:
    """Return why a streaming group-by needs no exchange."""
    keys = [(key, True) for key in operator.keys]
    title = f"{node.operator_type} on {names.listed(node.inputs[0], operator.grouped)}"
    if is_in_order(node.inputs[0], keys):
        reason = f"rows are {in_order(node, 0, keys, names)}, so equal keys are neighbours"
    elif properties_of(node.inputs[0]).order.satisfies_set(operator.keys) is not None:
        reason = "rows are in another order of these columns, so equal keys are neighbours"
    else:
        reason = "groups are runs of rows with equal keys, wherever these come again"
    return f"{title}: no exchange: {reason}; groups that cross row ranges are put together from partial results"


def max_rows(node: PlannerNode) -> str:
    """Return the upper bound of the rows of a plan, in words."""
    weight = plan_size_of(node)
    return "any number" if weight is None else f"at most {weight.rows}"


def fits_in_memory(node: PlannerNode) -> bool:
    """Return whether a node has few rows and is computed without a Spark query."""
    return runs_as_kernels(node) and is_small(node, Site.now())


def reason_of_reduce(node: PlannerNode, operator: Reduce) -> str:
    """Return how a node reduces all rows to one."""
    child, title = node.inputs[0], f"reduce[{operator.describe()}]"
    if fits_in_memory(child):
        return f"{title}: no exchange: few rows ({max_rows(child)}) are read in one place"
    if runs_as_kernels(child) and is_at_hand(child, Site.now()):
        return f"{title}: no exchange: all rows are in the driver's memory"
    if operator.decomposes([child.facts]) and runs_as_kernels(child):
        return f"{title}: no exchange: each task sends one partial result"
    gathered = "rows meet in their order" if operator.order_sensitive else "the order of rows does not matter"
    return f"{title}: an exchange of one partial result per partition: {gathered}"


def reason_of_join(node: PlannerNode, operator: Join, names: ColumnNames) -> str:
    """Return why both inputs of a join are exchanged: the reason that rules out a search in one of them."""
    why = why_not_searched(node, operator, names)
    if all(map(runs_as_kernels, node.inputs)):
        why += f", and a side may have more than {config.small_rows} rows, or long ones"
    return f"{title_of_join(node, operator, names)}: an exchange of both sides by hash of the keys, or a broadcast of a small side: {why}"


def title_of_join(node: PlannerNode, operator: Join, names: ColumnNames) -> str:
    """Return the type and keys of a join, in words."""
    pairs = zip(operator.left_keys, operator.right_keys, strict=True)
    on = ", ".join(f"{names.name(node.inputs[0], a)} = {names.name(node.inputs[1], b)}" for a, b in pairs)
    return f"{operator.how} join on {on}"


def why_not_searched(node: PlannerNode, operator: Join, names: ColumnNames) -> str:
    """Return, in words, the first condition for searching one side of a join that the join does not satisfy."""
    left, right = node.inputs
    if len(operator.left_keys) != 1:
        return "a search takes one key"
    a, b, side = operator.left_keys[0], operator.right_keys[0], "right"
    if left.schema[a] not in (INT, DATETIME):
        return f"a search takes whole numbers or date-times as keys, not {left.schema[a]}"
    if not (runs_as_kernels(left) and runs_as_kernels(right)):
        return "an input is the result of a Spark query"
    if not (properties_of(left).order.is_not_null(a) or properties_of(right).order.is_not_null(b)):
        return "keys may be missing on both sides, and missing keys match each other"
    if operator.how == "outer":
        return "rows of both sides are kept"
    if operator.how == "right":
        left, right, a, b, side = right, left, b, a, "left"
    if not is_in_order(right, [(b, True)]):
        return f"of the {side} side, {not_known(right, [(b, True)], names)}"
    other, max_rows = "left" if side == "right" else "right", algorithm_choice.MAX_RANDOM_ACCESS_ROWS
    return f"the {side} side may have more than {max_rows} rows, and of the {other} side, {not_known(left, [(a, True)], names)}"


def in_order(node: PlannerNode, slot: int, by: Order, names: ColumnNames) -> str:
    """Return the order of an input, and why it is known, in words."""
    child = node.inputs[slot]
    if not by:
        return "in one run"
    origin = f" ({origin_of_order(child, by, names)})" if is_in_order(child, by) else ""
    return f"in order of {names.order(child, by)}{origin}"


def both_in_order(node: PlannerNode, operator: MergeSorted, names: ColumnNames) -> str:
    """Return the order of both inputs of a merge, in words. An order that is not known is checked while the rows are read."""
    unknown = [slot for slot, child in enumerate(node.inputs) if not is_in_order(child, operator.by)]
    order = f"in order of {names.order(node, operator.by)}"
    if unknown:
        return f"{order}; not known of {' and '.join(('the first', 'the second')[slot] for slot in unknown)}, so checked as it is read"
    return f"{order} ({'; '.join(dict.fromkeys(origin_of_order(child, operator.by, names) for child in node.inputs))})"


def reason_of_reader(node: PlannerNode) -> str | None:
    """Return why an operator that depends on row positions needs no gather, in words; None if it does not depend on them."""
    needs = [node.operator.requires(slot) for slot in range(len(node.inputs))]
    title = f"{node.operator_type}: no exchange and no gather: "
    if Need.ALIGNED in needs:
        return title + "its inputs are co-partitioned: ranges of the same rows are read by row number"
    if Need.SEQUENTIAL in needs:
        return title + "each range starts from partial results of the ranges before it"
    if Need.LOOKUP in needs:
        return title + "rows are searched in a stored input, of which each range reads only the part that can match"
    if node.operator_type == "reverse":
        return title + "ranges of rows are read backwards, the last one first"
    if Need.DENSE in needs:
        return title + "rows are read by number, with those of neighbouring ranges where needed"
    return None


def computed_first(plan: PlannerNode) -> dict[int, list[int]]:
    """Return, by ``id`` of each node, the numbers of the nodes that must be computed before it can run over row ranges."""
    numbers = {id(node): number for number, node in enumerate(postorder([plan]))}
    placed: dict[int, Placement] = {}
    blocking: dict[int, list[int]] = {}
    for node in postorder([plan]):
        inputs = [placed[id(child)] for child in node.inputs]
        slots = blocking_inputs(node, inputs) if node.operator.has_kernel else []
        blocked = [slot for slot in slots if not node.inputs[slot].operator.is_source]
        if blocked:
            blocking[id(node)] = sorted({numbers[id(node.inputs[slot])] for slot in blocked})
        stored = [Placement(True, base_rows=child.length.rows) if slot in slots else inputs[slot] for slot, child in enumerate(node.inputs)]
        placed[id(node)] = placement_over(node, stored) or Placement(True)
    return blocking


def reason_of_result(plan: PlannerNode) -> Iterator[str]:
    """Yield where the rows of the result are kept."""
    if not plan.operator.is_source:
        few = fits_driver(plan, MaterializeOptions().in_memory, memory_budget())
        many = "where they are made, not gathered: in memory if this process makes them and finds room, else in segments on disk"
        where = f"in the driver's memory, as they are at most {plan.length.at_most}" if few else many
        yield f"rows of the result are kept {where}"


ReliedOrder = tuple[tuple[int, bool], ...]
# Operators that establish an order themselves.
MAKES_ORDER = ("sort", "suffix_sort", "top_rows")


def relied_orders(plan: PlannerNode, trace: Trace, names: ColumnNames) -> list[tuple[str, PlannerNode, ReliedOrder]]:
    """Return, for each order that a plan relies on without sorting, what relies on it, the node whose rows must be in the order, and the order.

    Parameters
    ----------
    plan
        The optimized plan.
    trace
        The optimizer's trace. Each sort that a law removed because the rows are in its order relies on that order.
    names
        The names of columns.
    """
    orders: dict[tuple[int, ReliedOrder], tuple[str, PlannerNode, ReliedOrder]] = {}
    for firing in trace.firings:
        relied = left_out_sort(firing)
        if relied is not None:
            child, by = relied
            orders.setdefault((id(child), by), (f"{firing.before.operator_type} by {names.order(firing.before, by)} left out", child, by))
    for node, slot, by in needed_orders(plan):
        child = node.inputs[slot]
        orders.setdefault((id(child), by), (f"{node.operator_type} needs no exchange", child, by))
    return [item for item in orders.values() if item[1].operator_type not in MAKES_ORDER]


def left_out_sort(firing: Firing) -> tuple[PlannerNode, ReliedOrder] | None:
    """Return the node whose rows a law no longer sorts, and their order; None if the law did not remove a sort because of
    the order that the rows have already."""
    operator = firing.before.operator
    if not isinstance(operator, (Sort, TopRows)):
        return None
    child = firing.before.inputs[0]
    if firing.equation in (sort_elimination.sort_of_sorted.equation, sort_elimination.top_of_sorted.equation):
        return child, operator.by
    if firing.after.operator_type == "reverse":
        return child, tuple((position, not up) for position, up in operator.by)
    return None


def needed_orders(plan: PlannerNode) -> Iterator[tuple[PlannerNode, int, ReliedOrder]]:
    """Yield each node that requires an order of an input, the slot of that input, and the order."""
    for node in postorder([plan]):
        operator = node.operator
        match operator:
            case SuffixSort() if operator.held:
                yield node, 0, operator.by[: operator.held]
            case GroupByOfAdjacentEqualKeys():
                by = tuple((key, True) for key in operator.keys)
                if by and is_in_order(node.inputs[0], by):
                    yield node, 0, by
            case SortedJoin():
                yield node, 1, ((operator.right_key, True),)
            case IntervalJoin():
                yield node, 1, ((operator.right_ends[0], True),)
            case KeyWindow():
                yield node, 1, operator.order
            case AsofJoin() | Interpolation():
                yield node, 1, ((operator.on, True),)
