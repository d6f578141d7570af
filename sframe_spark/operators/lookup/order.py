"""What is known about the order of a column, for operators that need their input in the order of a key."""

from __future__ import annotations

from itertools import pairwise

from sframe_spark.compute.sorting import first_break
from sframe_spark.operators.lookup.source_lookup import Lookup
from sframe_spark.operators.project import Project, Zip, part_of_zip
from sframe_spark.operators.sort import sort_rows
from sframe_spark.operators.sources.source import Source
from sframe_spark.operators.sources.statistics import source_statistics
from sframe_spark.planner.inference import is_in_order
from sframe_spark.planner.node import PlannerNode


def known_ascending(node: PlannerNode, position: int) -> bool:
    """Return whether a column is known to be in ascending order (missing first, NaN last) without computing anything.

    Examples
    --------
    >>> from sframe_spark.operators.sources.generated import range_source
    >>> known_ascending(range_source(0, 5), 0), known_ascending(range_source(0, 5, -1), 0)
    (True, False)
    """
    return is_in_order(node, [(position, True)])


def ascending_by(node: PlannerNode, position: int) -> PlannerNode:
    """Return the rows in ascending order of a column: the node itself where that is known, otherwise sorted (ties keep their order)."""
    return node if known_ascending(node, position) else sort_rows(node, [(position, True)])


def first_row_out_of_order(node: PlannerNode, position: int, ascending: bool = True) -> int | None:
    """Return the number of the first row whose value comes before the one above it, if the rows are in a source known not to be in order."""
    while isinstance(operator := node.operator, (Project, Zip)):
        if isinstance(operator, Project):
            node, position = node.inputs[0], operator.positions[position]
        else:
            node, position = part_of_zip(node, position)
    if not isinstance(operator, Source):
        return None
    recorded = source_statistics(operator)[position]
    if (recorded.ascending if ascending else recorded.descending) is not False:
        return None
    lookup = Lookup.of(operator)
    blocks = (lookup.read(start, stop, [position]) for start, stop in pairwise(lookup.starts.tolist()))
    found = first_break(blocks, (node.schema[position],), [(0, ascending)])
    return None if found is None else found[0]
