"""Compares the rows of external files with the orders that their footers claim, before the first plan that could use an order is made.

An order that turns out not to hold is not an error: plans do not use it, and the rows are not compared with it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial, reduce

import attrs

from sframe_spark.config import config
from sframe_spark.engine import costs
from sframe_spark.engine.execution.changed_file_checks import require_unchanged_files
from sframe_spark.engine.graph_lock import GRAPH_LOCK
from sframe_spark.engine.physical.column_lineage import origins_of
from sframe_spark.engine.runtime.task_runners import runner_over
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource, segment_source
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.length_and_order_inference import properties_of
from sframe_spark.planner.node import PlannerNode
from sframe_spark.storage.external.row_order_detection import VerifiedOrder, claimed_orders, parts_of, verified_order
from sframe_spark.storage.manifest.manifest import Manifest
from sframe_spark.storage.manifest.recorded_order import RecordedOrder


def find_claimed_orders(root: PlannerNode, asked: Iterable[int] = ()) -> None:
    """Verify the orders that external files below a graph claim, as far as operators of the graph, or its user, could use them.

    Each order takes one pass over its columns, before planning and without holding the lock of the graph.

    Parameters
    ----------
    root
        The graph; its sources record the verified orders.
    asked
        Positions of those columns of the result whose order the caller asks for.

    Raises
    ------
    StorageError
        If a file has changed since it was opened, or is damaged.
    """
    with GRAPH_LOCK:
        if not may_claim_orders(root):
            return
        sources = sources_by_order(root, asked)
    datasets = columns_of_datasets(sources)
    orders = {key: order for key, (manifest, columns) in datasets.items() if (order := compared_order(manifest, columns)) is not manifest.order}
    if not orders:
        return
    # The rows that were compared are those of the files as they were opened only if the files have not changed since they were opened.
    require_unchanged_files(root)
    with GRAPH_LOCK:
        for node, _ in sources:
            operator = node.operator
            if isinstance(operator, SegmentSource) and operator.manifest.identity in orders:
                _learn(node, operator, orders[operator.manifest.identity])


def assume_claimed_orders(copy: PlannerNode) -> list[AssumedOrder]:
    """Assume, for the sources of a copy of a graph, the orders with which an action would compare their rows, and return these orders.

    No rows are read.
    """
    sources = sources_by_order(copy) if may_claim_orders(copy) else []
    assumed: list[AssumedOrder] = []
    orders: dict[object, RecordedOrder] = {}
    for identity, (manifest, columns) in columns_of_datasets(sources).items():
        claims = [claim for column in uncompared(manifest.order, columns) for claim in claimed_orders(manifest, column)]
        assumed += [AssumedOrder(manifest, claim) for claim in claims]
        orders[identity] = reduce(RecordedOrder.and_assumed, claims, manifest.order)
    for node, _ in sources:
        assert isinstance(node.operator, SegmentSource)
        manifest = node.operator.manifest
        node.operator = attrs.evolve(node.operator, manifest=manifest.with_order(orders[manifest.identity]))
    return assumed


@attrs.frozen
class AssumedOrder:
    """An order with which the rows of external files have not been compared yet.

    Parameters
    ----------
    manifest
        The manifest of the files.
    ordering
        The order, as pairs of column and whether it ascends.
    """

    manifest: Manifest
    ordering: tuple[tuple[int, bool], ...]

    def __str__(self) -> str:
        names = self.manifest.names or [self.manifest.file_name(column) for column in range(len(self.manifest.types))]
        by = ", ".join(f"{names[column]}{'' if up else ' descending'}" for column, up in self.ordering)
        files = f"the files in {self.manifest.directory}"
        return f"first: the rows of {files} are compared with the order by {by}, in which they seem to be; this is the plan if they are in it"


def columns_of_datasets(sources: Iterable[tuple[PlannerNode, Iterable[int]]]) -> dict[object, tuple[Manifest, set[int]]]:
    """Return, by the identity of each dataset that the sources read, its manifest and all columns that are given for these sources."""
    datasets: dict[object, tuple[Manifest, set[int]]] = {}
    for node, columns in sources:
        assert isinstance(node.operator, SegmentSource)
        manifest = node.operator.manifest
        datasets.setdefault(manifest.identity, (manifest, set()))[1].update(columns)
    return datasets


def _learn(node: PlannerNode, operator: SegmentSource, verified: RecordedOrder) -> None:
    """Add verified orders to a source; other threads may have added other orders meanwhile."""
    order = operator.manifest.order
    for ordering in verified.orderings:
        order = order.and_ordering(ordering)
    keys = tuple(dict.fromkeys([*order.keys, *verified.keys]))
    compared = tuple(dict.fromkeys([*order.compared, *verified.compared]))
    node.operator = attrs.evolve(operator, manifest=operator.manifest.with_order(attrs.evolve(order, keys=keys, compared=compared)))


def may_claim_orders(root: PlannerNode) -> bool:
    """Return whether a source of the graph reads all rows of an external dataset."""
    return any(map(_may_claim, postorder([root])))


def _may_claim(node: PlannerNode) -> bool:
    """Return whether a node is a source of all rows of an external dataset.

    For a source of some of the rows, verifying the order of all rows may be more work than it saves.
    """
    operator = node.operator
    return isinstance(operator, SegmentSource) and bool(operator.manifest.watched) and (operator.start, operator.stop) == (0, operator.manifest.rows)


def compared_order(manifest: Manifest, columns: Iterable[int]) -> RecordedOrder:
    """Return what is known of a dataset's order after comparing its rows with the orders that it claims by some columns.

    Parameters
    ----------
    manifest
        The dataset.
    columns
        Positions of the columns. A column is left out if an order by it is known, or was compared with the rows before.
    """
    order = manifest.order
    for column in uncompared(order, columns):
        for claim in claimed_orders(manifest, column):
            verified = _compare(manifest, claim)
            order = order.and_compared(claim, verified.columns, verified.untied)
    return order


def uncompared(order: RecordedOrder, columns: Iterable[int]) -> list[int]:
    """Return the columns that are first in no known order, and in no order that was compared with the rows."""
    known = {ordering[0][0] for ordering in order.orderings if ordering} | {claim[0][0] for claim, _ in order.compared}
    return sorted(set(columns) - known)


def _compare(manifest: Manifest, claim: tuple[tuple[int, bool], ...]) -> VerifiedOrder:
    if manifest.rows <= costs.MAX_ROWS_COMPARED_LOCALLY:
        return verified_order(manifest, claim)
    first = verified_order(manifest, claim, 0, costs.ROWS_COMPARED_FIRST)
    if not first.columns:
        return first
    callables = [partial(verified_order, manifest, claim, start, stop) for start, stop in parts_of(manifest.rows, config.segment_rows)]
    description = "comparing rows with the order of their files"
    return VerifiedOrder.in_all(runner_over(segment_source(manifest)).run(callables, description))


def sources_by_order(root: PlannerNode, asked: Iterable[int] = ()) -> list[tuple[PlannerNode, frozenset[int]]]:
    """Return the sources with useful columns of unknown order, each with the positions of these columns in its dataset.

    Only sources of all rows of an external dataset count. A column is useful if operators above could use an order by it, or if it is asked for.

    Parameters
    ----------
    root
        The graph.
    asked
        Positions of those columns of the result whose order the caller asks for.

    Examples
    --------
    >>> from sframe_spark.operators.sources.in_memory import range_source
    >>> from sframe_spark.operators.sort_top_rows_and_assumed_order import sort_rows
    >>> sources_by_order(sort_rows(range_source(0, 5), [(0, False)]))
    []
    """
    useful: dict[int, set[int]] = {id(root): set(asked)}
    sources = []
    for node in reversed(list(postorder([root]))):
        for slot, column in (*_used_by(node), *_passed_down(node, useful.get(id(node), ()))):
            useful.setdefault(id(node.inputs[slot]), set()).add(column)
        if _may_claim(node) and useful.get(id(node)):
            assert isinstance(node.operator, SegmentSource)
            facts = properties_of(node).order
            unknown = [column for column in useful[id(node)] if not any(facts.satisfies([(column, way)]) for way in ("asc", "desc"))]
            if unknown:
                sources.append((node, frozenset(node.operator.positions[column] for column in unknown)))
    return sources


def _used_by(node: PlannerNode) -> Iterator[tuple[int, int]]:
    """Yield the columns of inputs, as pairs of slot and position, whose order saves an operator work.

    Of an order by several columns, these are the first column, and each column before which all columns are constant.
    """
    for slot, by in node.operator.useful_orders([child.facts for child in node.inputs]):
        known = properties_of(node.inputs[slot]).order if len(by) > 1 else None
        for column in by:
            yield slot, column
            if known is None or not known.is_constant(column):
                break


def _passed_down(node: PlannerNode, columns: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield the columns of inputs, as pairs of slot and position, whose order could determine the order of some columns of a node."""
    useful = sorted(columns)
    if not useful or not node.inputs:
        return
    rows, rows_below = node.length.at_most, node.inputs[0].length.rows
    if node.operator.row_range is not None and rows is not None and rows_below is not None and 2 * rows < rows_below:
        # The slice has so few rows that reading a whole column, to verify its order, would be most of the work.
        return
    origins = origins_of(node)
    for column in useful:
        if origins[column]:
            yield from origins[column]
        elif node.operator.row_wise:
            read = node.operator.input_columns([column], [child.facts for child in node.inputs])
            inputs = [(slot, position) for slot, positions in enumerate(read) for position in positions]
            # A value that is computed from one column may rise with it.
            if len(inputs) == 1:
                yield inputs[0]
