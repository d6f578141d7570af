"""Checks, before rows are collected, that they fit in memory. Nothing is computed or read for a check, but the matches of a join may be counted."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

from sframe_spark.engine import costs
from sframe_spark.engine.execution.materialize_count_and_read_rows import count_rows
from sframe_spark.engine.size_estimates_batch_sizes_and_memory_reservations import bytes_of_rows
from sframe_spark.errors import TooLargeError
from sframe_spark.message_text import in_words
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.process.memory import available_memory

# Bytes of a number, string or datetime as a Python object with its reference in a list, in addition to the bytes of a string's characters.
OBJECT_BYTES = 40
# Bytes of a character in numpy's strings, and the length of a number converted to one.
BYTES_OF_CHARACTER = 4
CHARACTERS_OF_NUMBER = 32

ADVICE = "iterate over the rows (for row in ...), take some of them (head, a slice, a filter), save() them, or pass them to Spark (to_spark)"


def require_memory(node: PlannerNode, as_objects: bool = False) -> None:
    """Raise an error if rows that are to be collected certainly need more memory than is available.

    If a join may have many rows, they are counted first.

    Parameters
    ----------
    node
        The node whose rows are collected.
    as_objects
        Whether every value becomes a separate Python object.

    Raises
    ------
    TooLargeError
        If the rows certainly do not fit.
    """
    rows = node.length.rows if node.length.rows is not None else rows_of_join(node, as_objects)
    if rows is None or rows <= costs.MAX_ROWS_COLLECTED_UNCHECKED:
        return
    require_bytes(needed_bytes(node, rows, as_objects), rows, node.facts.width, "as Python objects" if as_objects else "in one piece")


def needed_bytes(node: PlannerNode, rows: int, as_objects: bool) -> int:
    """Estimate the bytes of ``rows`` collected rows of a node."""
    return int(bytes_of_rows(node, rows, unknown=0)) + rows * OBJECT_BYTES * node.facts.width * as_objects


def rows_of_join(node: PlannerNode, as_objects: bool) -> int | None:
    """Return the number of rows of a join that may have too many; None if it cannot have too many, or if its rows must be computed to be counted."""
    most = node.length.at_most
    if most is None or most <= costs.MAX_ROWS_COLLECTED_UNCHECKED or all(below.operator.joining is None for below in postorder([node])):
        return None
    return count_rows(node) if needed_bytes(node, most, as_objects) > costs.MAX_BYTES_COLLECTED_UNCHECKED else None


def require_bytes(needed: int, rows: int, width: int, what: str) -> None:
    """Raise an error if more memory is needed than is available.

    Raises
    ------
    TooLargeError
        If less memory is available than needed.
    """
    if needed <= costs.MAX_BYTES_COLLECTED_UNCHECKED:
        return
    available = available_memory()
    if available is None or needed <= available.size:
        return
    asked = f"{rows} rows of {width} column(s) need about {in_words(needed)} {what}"
    raise TooLargeError(f"{asked}, and {in_words(available.size)} are {available.source}: {ADVICE}")


def require_memory_in_numpy(rows: Sequence[Sequence[Any]]) -> None:
    """Raise an error if a numpy array of rows with strings would not fit in memory.

    Every cell gets four bytes for each character of the longest string. If some value is missing, or neither a string nor a number, cells are
    references, and nothing is checked.

    Raises
    ------
    TooLargeError
        If less memory is available than the array needs.
    """
    classes = set(map(type, chain.from_iterable(rows)))
    if str not in classes or not classes <= {str, int, float, bool}:
        return
    longest = max(len(value) for value in chain.from_iterable(rows) if type(value) is str)
    characters = longest if classes == {str} else max(longest, CHARACTERS_OF_NUMBER)
    what = f"as a numpy array, each cell of which has room for the longest text ({longest} characters)"
    require_bytes(BYTES_OF_CHARACTER * characters * sum(map(len, rows)), len(rows), len(rows[0]), what)
