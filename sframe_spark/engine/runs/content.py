"""Numbers that tell contents of columns apart."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from sframe_spark.engine.planning.column_origins import shown_column
from sframe_spark.engine.runs.materialize import in_pieces, materialize
from sframe_spark.errors import UnsupportedOperationError
from sframe_spark.operators.sources.memory_source import MemorySource
from sframe_spark.operators.sources.source import SegmentSource
from sframe_spark.planner.chunk import to_stream
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import Operator
from sframe_spark.planner.serialize import graph_to_json

BITS = 64


def content_identifier(node: PlannerNode) -> int:
    """A number of 64 bits for the rows of a column: the same for the same rows in the same files, or of the same values in memory, in any process.

    The rows are computed first, unless they are there.

    Examples
    --------
    >>> from sframe_spark.operators.sources.made import range_source
    >>> content_identifier(range_source(0, 3)) == content_identifier(range_source(0, 3)) != content_identifier(range_source(0, 4))
    True
    """
    materialize(node)
    digest = hashlib.blake2b(digest_size=BITS // 8)
    for part in _told(*shown_column(node, 0)):
        digest.update(part)
    return int.from_bytes(digest.digest(), "big")


def _told(node: PlannerNode, position: int) -> Iterator[bytes]:
    """What tells the rows of a materialised column: names of files, which are drawn at random or watched, or the values."""
    source = node.operator
    yield str(node.schema[position]).encode()
    if isinstance(source, SegmentSource):
        manifest = source.manifest
        # Files of ours have names of their own wherever they are, also where two frames share them.
        yield repr(
            (source.positions[position], source.start, source.stop, manifest.version, None if manifest.has_key else manifest.directory)
        ).encode()
        yield from (repr((entry.file, entry.number, entry.rows, entry.size)).encode() for entry in manifest.segments)
    elif (told := None if isinstance(source, MemorySource) else _parameters_of(source)) is not None:
        yield told.encode()
    else:
        for chunk in in_pieces(node):
            # In the form that goes over networks there are no rows beside a slice's.
            yield bytes(to_stream([chunk.select([position])]))


def _parameters_of(source: Operator) -> str | None:
    """What makes up a source, None where that cannot be written."""
    try:
        return graph_to_json(source.make_planner_node())
    except UnsupportedOperationError:
        return None
