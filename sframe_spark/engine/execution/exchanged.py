"""Kernels of all rows, made range by range of a column: the ranges are found by a sample, and threads exchange the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.range_partitioning import KeyRanges, RangesOfRows
from sframe_spark.engine.budgets import weight_of
from sframe_spark.engine.memory_budget import Room, SharedRoom
from sframe_spark.engine.physical.local_strategies import COPIES_OF_GATHERED, MOST_RANGES, bytes_gathered, ranges_for
from sframe_spark.engine.physical.placement import placement_of
from sframe_spark.engine.runtime.exchange import Exchange
from sframe_spark.engine.runtime.inferred_rows import require_inferred
from sframe_spark.engine.runtime.pipeline import PlanRunner
from sframe_spark.engine.runtime.range_tasks import range_tasks
from sframe_spark.engine.runtime.result_buffer import BegunRows, begun
from sframe_spark.engine.runtime.scheduler import RangeWorkers, Threads
from sframe_spark.engine.runtime.tasks import RangeTask, chunks_of
from sframe_spark.errors import NoRoomError
from sframe_spark.laws import optimize
from sframe_spark.operators.project import project
from sframe_spark.planner.chunk import MOST_BYTES_OF_ARRAY, Chunk, concatenate
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import Operator
from sframe_spark.planner.row_sizes import value_bytes
from sframe_spark.process.memory import work_memory
from sframe_spark.process.threads import raise_if_cancelled

# The values that tell the ranges: so many, of at least so many places, and of no fewer than there are ranges.
SAMPLED_VALUES, SAMPLED_PLACES = 131_072, 128
# Of long texts fewer do: all together take no more than these.
SAMPLED_BYTES = 16 << 20


def key_ranges_of(node: PlannerNode, most: int = MOST_RANGES, workers: RangeWorkers | None = None) -> KeyRanges:
    """At most so many ranges of the column by which the rows below a kernel are split; about as many rows are in each as in the others."""
    below, split, weight = node.inputs[0], node.operator.split_by, weight_of(node.inputs[0])
    assert split is not None and weight is not None
    position, ascending = split
    keys = project(below, [position])
    narrow = optimize(keys)
    if not placement_of(narrow).segment:
        narrow = keys
    # There may be less room than when this was planned.
    count = most if workers is not None else int(min(most, ranges_for(weight)))
    return KeyRanges.of(sample_of(narrow, max(SAMPLED_PLACES, count), workers or Threads()), below.schema[position], ascending, count)


def sample_of(node: PlannerNode, places: int, workers: RangeWorkers) -> pa.Array:
    """Values of the one column of a section, from so many places that are everywhere in it: rows may be nearly in order."""
    tasks = range_tasks(node, placement_of(node).rows_to_run, places, workers)
    rows = max(1, SAMPLED_VALUES // places)
    works = [partial(first_values_of, task, rows, SAMPLED_BYTES // places) for task in tasks]
    return pa.concat_arrays([chunk.columns[0] for chunk in workers.run(works, "looking at values to sort by", tasks)])


def first_values_of(task: RangeTask, rows: int, most_bytes: int) -> Chunk:
    """What a task makes of the first of its rows, of long ones of fewer; nothing that they were decoded with stays in memory."""
    made = PlanRunner(task.whole, task.states).stream(task.start, min(task.stop, task.start + rows), rows, final=False)
    found = list[Chunk]()
    for chunk in made:
        found.append(Chunk.of([leading(chunk.columns[0], most_bytes)]))
        most_bytes -= found[-1].size
        if most_bytes <= 0 or found[-1].rows < chunk.rows:
            break
    return concatenate(found, task.whole.facts[-1].schema)


def leading(values: pa.Array, most_bytes: int) -> pa.Array:
    """A copy of the first of some values: of those that take no more bytes, and of one at least.

    Examples
    --------
    >>> leading(pa.array(["abc", "de", "f"]), 5).to_pylist(), leading(pa.array([1, 2]), 0).to_pylist()
    (['abc', 'de'], [1])
    """
    count = int(np.searchsorted(value_bytes(values).cumsum(), most_bytes, side="right"))
    # A slice would hold what it is one of.
    return values.take(pa.array(np.arange(min(len(values), max(count, 1)))))


@attrs.frozen(eq=False)
class ExchangedRows:
    """What a kernel makes of rows that were exchanged.

    Parameters
    ----------
    exchange
        The rows.
    kernel
        Makes rows of those of a range.
    passing
        Makes them of some rows of a range of which the kernel would make nothing else.
    room
        What is meant for those of ranges that are worked on at a time.
    passed
        For each range whether the kernel would make nothing else of its rows.
    left
        For each range from the first on how many rows are wanted of it at most; the others are not made.
    have_room
        For each of these whether it takes no more memory than it may.
    """

    exchange: Exchange
    kernel: Callable[[Chunk], Chunk]
    passing: Callable[[Chunk], Chunk]
    room: SharedRoom
    passed: np.ndarray
    left: np.ndarray
    have_room: np.ndarray = attrs.field(init=False)

    @classmethod
    def of(
        cls, exchange: Exchange, kernel: Callable[[Chunk], Chunk], passing: Callable[[Chunk], Chunk], passed: np.ndarray, most: int | None = None
    ) -> ExchangedRows:
        """The same, of an exchange to which all rows were given, where no more than so many of them are the result."""
        # What the exchange holds in memory is there beside them.
        room = SharedRoom(max(0, work_memory() - exchange.held) // COPIES_OF_GATHERED)
        return cls(exchange, kernel, passing, room, passed, rows_left(exchange.rows, most))

    @have_room.default
    def _have_room(self) -> np.ndarray:
        count = len(self.left)
        return self.passed[:count] | (self.exchange.sizes[:count] <= most_at_once())

    def works(self, count: int) -> list[range]:
        """The numbers of the ranges that are made, one after the other, in so many parts of about as many rows, or fewer."""
        return works_of_rows(self.exchange.rows[: len(self.left)], count)

    def made(self, numbers: Sequence[int]) -> Iterator[Chunk]:
        """Rows of some ranges."""
        for number in numbers:
            left = int(self.left[number])
            for chunk in self.of_range(number):
                yield chunk.slice(0, left)
                left -= chunk.rows
                if left <= 0:
                    break

    def begun(self, numbers: Sequence[int], room: Room) -> BegunRows:
        """The same as long as there is room for them."""
        return begun(self.made(numbers), room)

    def of_range(self, number: int) -> Iterator[Chunk]:
        """Rows of a range."""
        raise_if_cancelled()
        if self.passed[number]:
            yield from map(self.passing, self.exchange.passed(number))
            return
        with self.room.taken(int(self.exchange.sizes[number])):
            made = self.kernel(self.exchange.take(number))
        yield made


def most_at_once() -> int:
    """Bytes of the rows that a kernel takes at a time: those of a range, or of both sides of a join."""
    return min(bytes_gathered(), MOST_BYTES_OF_ARRAY)


def rows_by_ranges(node: PlannerNode, exchange: Exchange, ranges: KeyRanges) -> ExchangedRows:
    """What the kernel of a node makes of all rows below it.

    Raises
    ------
    NoRoomError
        If those of a range take more memory than they may.
    """
    operator, facts = node.operator, [child.facts for child in node.inputs]

    def kernel(rows: Chunk) -> Chunk:
        return require_inferred(operator, (), operator.kernel([rows], facts), node.schema)

    found = ExchangedRows.of(exchange, kernel, lambda rows: rows, passed_on(operator, ranges), operator.rows_of_ranges)
    # Nothing was made yet, or written anywhere.
    if not found.have_room.all():
        raise NoRoomError
    return found


def rows_left(rows: np.ndarray, wanted: int | None) -> np.ndarray:
    """For each range that is made how many rows are wanted of it at most, given how many each has, and how many are wanted of all, from the first on.

    Examples
    --------
    >>> rows_left(np.array([2, 0, 5, 1]), 4).tolist(), rows_left(np.array([2, 0]), None).tolist()
    ([4, 2, 2], [2, 0])
    """
    if wanted is None:
        return rows
    left = wanted - (np.cumsum(rows) - rows)
    return left[left > 0]


def passed_on(operator: Operator, ranges: KeyRanges) -> np.ndarray:
    """For each range whether a kernel makes nothing else of its rows: they need no room."""
    return ranges.have_one_value & operator.leaves_equal_rows


def works_of_rows(rows: np.ndarray, count: int) -> list[range]:
    """The numbers of all ranges, of so many rows each, one after the other, in so many parts of about as many rows, or fewer."""
    ends = rows.cumsum()
    edges = [0, *(int(ends.searchsorted(ends[-1] * part // count)) + 1 for part in range(1, count)), len(ends)]
    return [range(start, stop) for start, stop in pairwise(edges) if start < stop]


def exchange_below(node: PlannerNode, ranges: KeyRanges) -> Exchange:
    """An exchange, without rows yet, for those below a kernel, by such ranges."""
    assert node.operator.split_by is not None
    return Exchange(RangesOfRows(node.operator.split_by[0], ranges), node.inputs[0].schema, bytes_gathered())


def give_to(exchange: Exchange, number: int, task: RangeTask) -> None:
    """Let a task give its rows."""
    for chunk in chunks_of(task):
        exchange.add(number, chunk)
