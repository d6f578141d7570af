"""An exchange between Spark's tasks: each writes its rows, range by range of a key, into a file of a directory that all see.

Rows stay Arrow's columns. Spark's own exchange turns each into a row of the JVM, and back.
"""

from __future__ import annotations

import contextlib
import itertools
import uuid
from collections.abc import Iterator, Sequence
from typing import BinaryIO

import attrs
import numpy as np

from sframe_spark.compute.range_partitioning import KeyRanges, RangesOfRows
from sframe_spark.engine.runtime.exchange import SplitRows, StoredRows, in_order, written_runs
from sframe_spark.engine.runtime.inferred_rows import require_inferred
from sframe_spark.engine.runtime.tasks import RangeTask, chunks_of
from sframe_spark.planner.chunk import Chunk, concatenate
from sframe_spark.planner.facts import Facts, Schema
from sframe_spark.planner.operator import Operator
from sframe_spark.storage.filesystem.io_errors import telling
from sframe_spark.storage.filesystem.paths import join
from sframe_spark.storage.manifest.manifest import SegmentEntry

# What a task holds before it writes: longer runs are fewer pieces to read.
BYTES_OF_RUN = 128 << 20


@attrs.frozen(eq=False)
class GivenRows:
    """What a task has written.

    Parameters
    ----------
    pieces
        The number of a range, and where rows of it are.
    rows, sizes
        How many rows of each range there are, and what they take in memory.
    """

    pieces: list[tuple[int, StoredRows]]
    rows: np.ndarray
    sizes: np.ndarray


@attrs.frozen(eq=False)
class RangeRows:
    """All rows of a range.

    Parameters
    ----------
    pieces
        Where they are.
    rows
        How many there are.
    are_the_result
        Whether a kernel makes nothing else of them.
    """

    pieces: list[StoredRows]
    rows: int
    are_the_result: bool = False

    def passed(self) -> Iterator[Chunk]:
        """The rows, in the order of the tasks that gave them.

        Raises
        ------
        StorageError
            If rows were lost or damaged.
        """
        return in_order(((piece.task, piece.file, piece.read) for piece in self.pieces), self.rows)


def give_rows(task: RangeTask, number: int, position: int, ranges: KeyRanges, directory: str) -> GivenRows:
    """Run a task and write its rows by ranges of a column; a task that Spark starts again writes another file."""
    path = join(directory, f"exchange-{number:06d}-{uuid.uuid4().hex}")
    given = GivenRows([], np.zeros(ranges.count, dtype=np.int64), np.zeros(ranges.count, dtype=np.int64))
    held: list[SplitRows] = []
    schema, runs, size = task.plan.facts[-1].schema, itertools.count(), 0

    def write() -> None:
        with telling("write temporary rows to", path):
            given.pieces.extend(written_runs(held, schema, file, next(runs)))
        held.clear()

    with new_file(path) as file:
        for chunk in chunks_of(task):
            held.append(SplitRows.of(number, chunk, RangesOfRows(position, ranges)))
            given.rows[:] += np.diff(held[-1].edges)
            given.sizes[:] += held[-1].sizes()
            size += held[-1].rows.size
            if size > BYTES_OF_RUN:
                write()
                size = 0
        write()
    return given


@contextlib.contextmanager
def new_file(path: str) -> Iterator[BinaryIO]:
    """A new file that rows are written to; its last bytes are written when it is closed, and a disk that has no room for them is told as before."""
    with telling("write temporary rows to", path):
        file = open(path, "xb")  # noqa: SIM115 - closed below, whatever happens meanwhile
    try:
        yield file
    finally:
        with telling("write temporary rows to", path):
            file.close()


def ranges_given(given: Sequence[GivenRows], are_the_result: np.ndarray) -> list[RangeRows]:
    """All rows of each range, of all tasks; which of them a kernel makes nothing else of."""
    pieces: list[list[StoredRows]] = [[] for _ in given[0].rows]
    for of_task in given:
        for number, piece in of_task.pieces:
            pieces[number].append(piece)
    rows = np.sum([of_task.rows for of_task in given], axis=0)
    return [RangeRows(found, int(count), bool(are)) for found, count, are in zip(pieces, rows, are_the_result, strict=True)]


def write_ranges(operator: Operator, facts: Facts, schema: Schema, ranges: Sequence[RangeRows], directory: str, number: int) -> SegmentEntry:
    """Write what a kernel makes of some ranges, one after the other, as one segment."""
    from sframe_spark.storage.segments.writer import write_segment

    return write_segment(directory, number, schema, (chunk.columns for chunk in made_of(operator, facts, schema, ranges) if chunk.rows))


def made_of(operator: Operator, facts: Facts, schema: Schema, ranges: Sequence[RangeRows]) -> Iterator[Chunk]:
    """What a kernel makes of each of some ranges."""
    for of_range in ranges:
        if of_range.are_the_result:
            yield from of_range.passed()
        else:
            rows = concatenate(of_range.passed(), facts.schema)
            yield require_inferred(operator, (), operator.kernel([rows], [facts]), schema)
