"""New columns beside stored ones: they alone are computed and kept, the stored ones stay where they are."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from sframe_spark.config import config
from sframe_spark.engine.graph_lock import GRAPH_LOCK
from sframe_spark.engine.physical.column_lineage import shown_columns
from sframe_spark.locations import is_elsewhere
from sframe_spark.operators.arrange import Arrange
from sframe_spark.operators.project import project, zip_columns
from sframe_spark.operators.sources.memory import MemorySource
from sframe_spark.operators.sources.source import SegmentSource
from sframe_spark.operators.udf_calls import functions_of
from sframe_spark.planner.node import PlannerNode
from sframe_spark.session.deployment import is_spark_wanted

# Each source is read by itself, batch by batch: where more stand side by side, all columns are made once and are one source again.
MOST_SOURCES = 16

NEW_COLUMNS = "the columns that are not stored yet; the others stay where they are"


@attrs.frozen(eq=False)
class NewColumns:
    """The columns of a frame that are not stored yet.

    Parameters
    ----------
    together
        These columns alone, side by side.
    computed, stored
        The nodes that compute them, in this order, and those that have the other columns.
    shown
        For each column of the frame the node that has it, and its number there.
    """

    together: PlannerNode
    computed: Sequence[PlannerNode]
    stored: Sequence[PlannerNode]
    shown: Sequence[tuple[PlannerNode, int]]

    def names(self, names: Sequence[str]) -> list[str]:
        """The names of the new columns, of those of all columns of the frame."""
        named = {(id(node), column): name for (node, column), name in zip(self.shown, names, strict=True)}
        return [named[id(node), column] for node in self.computed for column in range(node.facts.width)]

    def settle(self, root: PlannerNode) -> None:
        """Let a frame be the stored columns beside those that were made, and what computes these be a view of them."""
        with GRAPH_LOCK:
            everything, numbers, width = list[PlannerNode](), dict[tuple[int, int], int](), 0
            for node in self.stored:
                columns = sorted({column for other, column in self.shown if other is node})
                numbers |= {(id(node), column): width + place for place, column in enumerate(columns)}
                everything.append(project(node, columns))
                width += len(columns)
            first = width
            for node in self.computed:
                numbers |= {(id(node), column): width + column for column in range(node.facts.width)}
                width += node.facts.width
            order = [numbers[id(node), column] for node, column in self.shown]
            root.splice(project(zip_columns(*everything, self.together), order))
            for node in self.computed:
                # What others made meanwhile stays: the columns together are those below then, and no view of them may stand there.
                if node is not self.together and self.together.operator.is_source:
                    place = numbers[id(node), 0] - first
                    node.splice(project(self.together, range(place, place + node.facts.width)))


def new_columns(root: PlannerNode) -> NewColumns | None:
    """The columns of a frame that are computed beside stored ones; None where all columns are to be made.

    That is so where some columns are other rows' than whole nodes', where rows are few, where results are compared, and where a Spark works: its
    queries read one source, so several would be put together for each.
    """
    if not root.operator.arranges_columns or config.check == "result" or is_spark_wanted():
        return None
    with GRAPH_LOCK:
        rows = root.length.rows
        shown = shown_columns(root) if rows is not None and rows > config.small_rows else None
        if shown is None:
            return None
        nodes = list({id(node): node for node, _ in shown}.values())
        stored = [node for node in nodes if node.operator.is_source]
        computed = [node for node in nodes if not node.operator.is_source]
        if not computed or not 0 < len(stored) < MOST_SOURCES:
            return None
        whole = len({(id(node), column) for node, column in shown if not node.operator.is_source}) == sum(node.facts.width for node in computed)
        if not whole or not all(map(_may_stay, stored)) or any(node.length.rows != rows for node in nodes):
            return None
        return NewColumns(zip_columns(*computed), computed, stored, shown)


def computed_columns(root: PlannerNode) -> list[tuple[PlannerNode, dict[int, int]]]:
    """What computes columns of a frame and is an input of it, with the place in the frame of each column shown; the caller holds the lock."""
    if not root.operator.arranges_columns:
        return []
    places: dict[int, dict[int, int]] = {}
    for place, ((slot, column), *_) in enumerate(root.operator.column_origins([child.facts for child in root.inputs])):
        places.setdefault(slot, {}).setdefault(column, place)
    found = [(root.inputs[slot], shown) for slot, shown in places.items()]
    return [(node, shown) for node, shown in found if not node.operator.is_source and (node.action is None or node.action.done.is_set())]


def show_columns(root: PlannerNode, node: PlannerNode, places: dict[int, int]) -> None:
    """Let what computes columns of a frame be a view of the frame's rows, which are there now; the caller holds the lock.

    Whoever holds one of these columns as an SArray, or a copy of the frame with others beside it, asks for it without the frame. Rows that are
    dear to make, some of whose columns the frame does not show, are made again for those alone.
    """
    width = node.facts.width
    if len(places) == width:
        node.splice(project(root, [places[column] for column in range(width)]))
    elif not node.operator.row_wise and not functions_of(node) and not is_spark_wanted():
        again = PlannerNode(node.operator, node.inputs, node.facts)
        shown = [(0, places[column]) if column in places else (1, column) for column in range(width)]
        arrangement = Arrange(tuple(slot for slot, _ in shown), tuple(column for _, column in shown))
        node.splice(PlannerNode(arrangement, (root, again), node.facts))


def _may_stay(node: PlannerNode) -> bool:
    """True for rows of ours in memory or on this machine: others' files may be written anew, and those elsewhere would be fetched at each look."""
    operator = node.operator
    return isinstance(operator, MemorySource) or (isinstance(operator, SegmentSource) and not is_elsewhere(operator.manifest.directory))
