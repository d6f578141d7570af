"""All rows in one piece: what that would need is told before anything is computed or read."""

from __future__ import annotations

from sframe_spark.errors import TooLargeError
from sframe_spark.planner.graph import sizes_of
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.sizes import row_bytes
from sframe_spark.session.memory import available_memory
from sframe_spark.values.byte_text import in_words

# A number, text or date-time as a Python object, and its place in a list, beside the bytes of a text itself.
OBJECT_BYTES = 40
# So few rows are not looked at before they are computed.
FEW_ROWS = 4_096
# What needs less is not compared with the memory there is.
LITTLE = 64 << 20

ADVICE = "go through the rows (for row in ...), take some of them (head, a slice, a filter), save() them, or give them to Spark (to_spark)"


def require_room(node: PlannerNode, as_objects: bool = False) -> None:
    """Refuse to bring rows together that need more memory than there is; what is not known before they are computed does not count.

    Parameters
    ----------
    node
        The rows.
    as_objects
        Every value becomes a Python object of its own.

    Raises
    ------
    TooLargeError
        If the rows certainly do not fit.
    """
    rows = node.length.rows
    if rows is None or rows <= FEW_ROWS:
        return
    size = row_bytes(sizes_of(node)[id(node)], 0)
    needed = int(rows * (size + OBJECT_BYTES * node.facts.width * as_objects))
    if needed <= LITTLE:
        return
    available = available_memory()
    if available is None or needed <= available.size:
        return
    what = "as Python objects" if as_objects else "in one piece"
    asked = f"{rows} rows of {node.facts.width} column(s) need about {in_words(needed)} {what}"
    raise TooLargeError(f"{asked}, and {in_words(available.size)} are {available.source}: {ADVICE}")
