"""Why each sort, exchange and gather is there, or is not: the property that decides it, in the names that users know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sframe_spark.config import config
from sframe_spark.engine.budgets import fits_driver, weight_of
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.physical.placement import Placement, blocking_inputs, is_at_hand, is_small, place
from sframe_spark.explain.column_names import ColumnNames
from sframe_spark.explain.known_order import origin_of_order
from sframe_spark.explain.reasons_left_out import reasons_of_firing
from sframe_spark.explain.witnesses import not_known
from sframe_spark.laws.algorithm_choice import MOST_ROWS_TO_ROAM, one_value_per_group
from sframe_spark.operators.groupby.groupby import GroupBy, Reduce
from sframe_spark.operators.groupby.streaming_groupby import StreamingGroupBy
from sframe_spark.operators.joins.asof_join import AsofJoin
from sframe_spark.operators.joins.hash_join import HashJoin
from sframe_spark.operators.joins.join import Join
from sframe_spark.operators.joins.key_window import KeyWindow
from sframe_spark.operators.joins.merge_sorted import MergeSorted
from sframe_spark.operators.joins.sorted_join import SortedJoin
from sframe_spark.operators.sort import Sort, SuffixSort, TopRows
from sframe_spark.operators.sources.spark_frame import SparkSource
from sframe_spark.planner.graph import postorder, runs_as_kernels
from sframe_spark.planner.inference import is_in_order, observers, properties_of
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import Need
from sframe_spark.planner.optimizer import Trace
from sframe_spark.types import DATETIME, INT

Order = Sequence[tuple[int, bool]]


def order_reasons(plan: PlannerNode, trace: Trace | None = None, names: ColumnNames | None = None) -> list[str]:
    """One line per node that orders, exchanges or aligns rows, then per sort, exchange and scan that was left out, then for the result.

    Parameters
    ----------
    plan
        The optimized plan.
    trace
        What the optimizer did to get it.
    names
        Names of columns.

    Examples
    --------
    >>> from sframe_spark.operators.sort import sort_rows
    >>> from sframe_spark.operators.sources.generated import range_source
    >>> plan = sort_rows(range_source(0, 3, -1), [(0, True)])
    >>> print(*order_reasons(plan, names=ColumnNames.of_plan(plan, ["day"]))[0].split(": "), sep="\\n")
    r1 sort by day
    an exchange by key range and a sort, as the result shows the order
    nothing known rules out day = 1 before day = 0
    """
    known = names or ColumnNames.of_plan(plan, ())
    observed = observed_by(plan)
    lines, unkeyed = [], []
    first_to_compute = computed_first(plan)
    for number, node in enumerate(postorder([plan])):
        reason = reason_of_node(node, known, observed.get(id(node)))
        if reason is not None:
            blocked = [f"r{n}" for n in first_to_compute.get(id(node), ())]
            before = f"; computed before it, so that its rows can be {how_read(node)}: {', '.join(blocked)}" if blocked else ""
            lines.append(f"r{number} {reason}{before}")
        if id(node) not in observed:
            unkeyed.append(f"r{number}")
    if unkeyed:
        lines.append(f"left out the row key of {', '.join(unkeyed)}: nobody observes the order of these rows")
    left_out = [line for firing in (trace.firings if trace else ()) for line in reasons_of_firing(firing, known)]
    lines += dict.fromkeys(left_out)
    return [*(lines or ["no sort and no exchange: rows stay in their ranges"]), *reason_of_result(plan)]


def observed_by(plan: PlannerNode) -> dict[int, str]:
    """For each node whose row order is observed, by ``id``, what observes it."""
    numbers = {id(node): number for number, node in enumerate(postorder([plan]))}
    return {
        place: "the result shows" if node is None else f"r{numbers[id(node)]} {node.operator_type} depends on"
        for place, node in observers(plan).items()
    }


def reason_of_node(node: PlannerNode, names: ColumnNames, observer: str | None) -> str | None:
    """What a node of the plan does about order and places of rows, and why; None where it does nothing.

    Parameters
    ----------
    node
        The node.
    names
        Names of columns.
    observer
        What observes the order of its rows, in words to which "the order" can be added; None if nobody does.
    """
    operator = node.operator
    match operator:
        case Sort() | TopRows() | SuffixSort():
            return reason_of_sort(node, names, observer)
        case GroupBy():
            return reason_of_group_by(node, operator, names, observer)
        case StreamingGroupBy():
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
        case AsofJoin() | KeyWindow():
            searched = in_order(node, 1, [(operator.on, True)], names)
            return f"{node.operator_type}: no exchange: rows are searched in its second input, block by block, as it is {searched}"
        case MergeSorted():
            return f"merge_sorted: no exchange: each range of the result is found by bisection in both inputs, {both_in_order(node, operator, names)}"
        case SparkSource() if observer:
            return f"spark_source: a snapshot without an exchange: {observer} the order of rows, and a DataFrame has none that stays"
    return reason_of_reader(node)


def reason_of_sort(node: PlannerNode, names: ColumnNames, observer: str | None) -> str:
    """Why rows are sorted, and how."""
    operator, child = node.operator, node.inputs[0]
    assert isinstance(operator, (Sort, TopRows, SuffixSort))
    title = f"{node.operator_type} by {names.order(node, operator.by)}"
    lacking = not_known(child, operator.by, names)
    if isinstance(operator, Sort):
        return f"{title}: an exchange by key range and a sort, {f'as {observer}' if observer else 'though nobody observes'} the order: {lacking}"
    if isinstance(operator, TopRows):
        return f"{title}: no exchange of all rows: each partition gives its first {operator.rows}, and these are compared: {lacking}"
    if not operator.held:
        return f"{title}: no exchange: few rows are sorted in memory: {lacking}"
    held = operator.by[: operator.held]
    return f"{title}: no exchange: rows are {in_order(node, 0, held, names)}, and only ties are sorted, where they are: {lacking}"


def reason_of_group_by(node: PlannerNode, operator: GroupBy, names: ColumnNames, observer: str | None) -> str:
    """Why rows are exchanged to be grouped."""
    child, keys = node.inputs[0], names.listed(node, range(len(operator.keys)))
    if fits_in_memory(child):
        return f"group_by on {keys}: no exchange: few rows ({most_rows(child)}) are grouped in one place"
    if not runs_as_kernels(child):
        why = "its input is the result of a Spark query"
    elif not one_value_per_group(child, operator.keys):
        why = "keys that are equal may be different values (-0.0 and 0.0, or one instant at two offsets), so groups are not runs of one value"
    else:
        why = not_known(child, [(key, True) for key in operator.keys], names)
    sorted_after = f"an exchange by key range and a sort of the groups, as {observer} their order"
    after = sorted_after if observer else "no sort of the groups, as nobody observes their order"
    return f"group_by on {keys}: an exchange of rows by hash of the keys, then {after}: {why}"


def reason_of_streaming(node: PlannerNode, operator: StreamingGroupBy, names: ColumnNames) -> str:
    """Why rows can be grouped where they are."""
    keys = [(key, True) for key in operator.keys]
    title = f"{node.operator_type} on {names.listed(node.inputs[0], operator.grouped)}"
    if is_in_order(node.inputs[0], keys):
        known = f"rows are {in_order(node, 0, keys, names)}, so equal keys are neighbours"
    elif properties_of(node.inputs[0]).order.satisfies_set(operator.keys) is not None:
        known = "rows are in another order of these columns, so equal keys are neighbours"
    else:
        known = "groups are runs of rows with equal keys, wherever these come again"
    return f"{title}: no exchange: {known}; groups that cross row ranges are put together from partial results"


def most_rows(node: PlannerNode) -> str:
    """How many rows there may be in a plan."""
    weight = weight_of(node)
    return "any number" if weight is None else f"at most {weight.rows}"


def fits_in_memory(node: PlannerNode) -> bool:
    """True when a node has few rows and is computed without a Spark query."""
    return runs_as_kernels(node) and is_small(node)


def reason_of_reduce(node: PlannerNode, operator: Reduce) -> str:
    """How a single row is made of all rows."""
    child = node.inputs[0]
    if operator.has_whole_kernel and fits_in_memory(child):
        return f"reduce[{operator.describe()}]: no exchange: few rows ({most_rows(child)}) are read in one place"
    if operator.has_whole_kernel and runs_as_kernels(child) and is_at_hand(child):
        return f"reduce[{operator.describe()}]: no exchange: all rows are in the driver's memory"
    if operator.decomposes([child.facts]) and runs_as_kernels(child):
        return f"reduce[{operator.describe()}]: no exchange: each task sends one partial result"
    gathered = "rows meet in their order" if operator.order_sensitive else "the order of rows does not matter"
    return f"reduce[{operator.describe()}]: an exchange of one partial result per partition: {gathered}"


def reason_of_join(node: PlannerNode, operator: Join, names: ColumnNames) -> str:
    """Why both inputs of a join are exchanged: what is lacking for a search in one of them."""
    why = why_not_searched(node, operator, names)
    if all(map(runs_as_kernels, node.inputs)):
        why += f", and a side may have more than {config.small_rows} rows, or long ones"
    return f"{title_of_join(node, operator, names)}: an exchange of both sides by hash of the keys, or a broadcast of a small side: {why}"


def title_of_join(node: PlannerNode, operator: Join, names: ColumnNames) -> str:
    """The kind of a join and its keys."""
    pairs = zip(operator.left_keys, operator.right_keys, strict=True)
    on = ", ".join(f"{names.name(node.inputs[0], a)} = {names.name(node.inputs[1], b)}" for a, b in pairs)
    return f"{operator.how} join on {on}"


def why_not_searched(node: PlannerNode, operator: Join, names: ColumnNames) -> str:
    """The first condition of a search that a join does not meet."""
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
    other = "left" if side == "right" else "right"
    return f"the {side} side may have more than {MOST_ROWS_TO_ROAM} rows, and of the {other} side, {not_known(left, [(a, True)], names)}"


def in_order(node: PlannerNode, slot: int, by: Order, names: ColumnNames) -> str:
    """That an input is in an order, and where this is known from."""
    child = node.inputs[slot]
    if not by:
        return "in one run"
    if not is_in_order(child, by):
        return f"in order of {names.order(child, by)}"
    return f"in order of {names.order(child, by)} ({origin_of_order(child, by, names)})"


def both_in_order(node: PlannerNode, operator: MergeSorted, names: ColumnNames) -> str:
    """That both inputs of a merge are in its order; where that is not known it is checked as they are read."""
    unknown = [slot for slot, child in enumerate(node.inputs) if not is_in_order(child, operator.by)]
    found = f"in order of {names.order(node, operator.by)}"
    if unknown:
        return f"{found}; not known of {' and '.join(('the first', 'the second')[slot] for slot in unknown)}, so checked as it is read"
    return f"{found} ({'; '.join(dict.fromkeys(origin_of_order(child, operator.by, names) for child in node.inputs))})"


def reason_of_reader(node: PlannerNode) -> str | None:
    """How an operator that depends on the places of rows gets along without gathering them."""
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


def how_read(node: PlannerNode) -> str:
    """What an operator does with the rows of an input that must be computed before it."""
    return "searched" if any(node.operator.requires(slot) is Need.LOOKUP for slot in range(len(node.inputs))) else "counted and read by number"


def computed_first(plan: PlannerNode) -> dict[int, list[int]]:
    """Numbers of the nodes that must be computed before each node can run over row ranges, keyed by ``id(node)``."""
    numbers = {id(node): number for number, node in enumerate(postorder([plan]))}
    placed: dict[int, Placement] = {}
    found: dict[int, list[int]] = {}
    for node in postorder([plan]):
        inputs = [placed[id(child)] for child in node.inputs]
        slots = blocking_inputs(node, inputs) if node.operator.has_kernel else []
        blocked = [slot for slot in slots if not node.inputs[slot].operator.is_source]
        if blocked:
            found[id(node)] = sorted({numbers[id(node.inputs[slot])] for slot in blocked})
        stored = [Placement(True, base_rows=child.length.rows) if slot in slots else inputs[slot] for slot, child in enumerate(node.inputs)]
        placed[id(node)] = place(node, stored) or Placement(True)
    return found


def reason_of_result(plan: PlannerNode) -> Iterator[str]:
    """Where the rows of the result are kept."""
    if not plan.operator.is_source:
        few = fits_driver(plan, MaterializeOptions().in_memory)
        many = "where they are made, not gathered: in memory if this process makes them and finds room, else in segments on disk"
        where = f"in the driver's memory, as they are at most {plan.length.at_most}" if few else many
        yield f"rows of the result are kept {where}"
