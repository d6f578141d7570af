"""All rows of an archive are decoded, to know that it is whole: it carries no check sums."""

from __future__ import annotations

from itertools import pairwise

from sframe_spark.config import config
from sframe_spark.session.build import available_cores
from sframe_spark.session.threads import in_threads
from sframe_spark.storage.legacy.archive import Archive
from sframe_spark.storage.legacy.reader import ArchiveReader


def require_readable_rows(archive: Archive) -> None:
    """Decode every block of every column.

    Raises
    ------
    StorageError
        If one is damaged, or holds what no column does; the message names file, column and block.
    """
    count = max(1, -(-archive.rows // config.segment_rows))
    ranges = list(pairwise(archive.rows * number // count for number in range(count + 1)))
    in_threads(lambda bounds: _decode(archive, *bounds), ranges, available_cores())
    archive.require_unchanged()


def _decode(archive: Archive, first: int, last: int) -> None:
    positions = range(len(archive.contents.columns))
    for _ in ArchiveReader(archive).batches(positions, first, last, config.batch_rows, config.batch_bytes):
        pass
