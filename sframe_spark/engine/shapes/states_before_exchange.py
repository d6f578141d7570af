"""The rows that tasks exchange for a kernel: those of its input, or states of groups of them, computed first if they are far fewer."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.engine import costs
from sframe_spark.engine.runtime.checked_kernel_calls import require_inferred
from sframe_spark.engine.runtime.row_range_tasks_and_sequential_states import RangeTask, chunks_of
from sframe_spark.engine.runtime.shuffle_store import OperatorKernel, PartitionKernel, RowsOfTask, rows_of_task
from sframe_spark.engine.size_estimates_batch_sizes_and_memory_reservations import PlanSize
from sframe_spark.engine.task_pickling import SharedValue
from sframe_spark.errors import PlanInvariantError
from sframe_spark.planner.chunk import Chunk, column_names, concatenate
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Schema
from sframe_spark.planner.operator import Operator
from sframe_spark.planner.operator_capabilities import StateRows, range_split_of
from sframe_spark.process.threads import raise_if_cancelled


@attrs.frozen(eq=False)
class CrossingRows:
    """The rows that tasks exchange for a kernel.

    Parameters
    ----------
    schema
        Types of its columns.
    column
        Position of the column by whose ranges it is divided.
    of_task
        Yields what a task gives.
    kernel
        Computes the result of all that is in a range.
    are_states
        Whether it is states of groups of rows, not the rows themselves.
    """

    schema: Schema
    column: int
    of_task: RowsOfTask
    kernel: PartitionKernel
    are_states: bool = False


def crossing_rows(node: PlannerNode, plan_size: PlanSize, sample: Chunk, tasks: int) -> CrossingRows:
    """Return what is exchanged for a kernel: states of the rows that a task buffers, if these are far fewer by a sample of the keys.

    Parameters
    ----------
    node
        The node of the kernel.
    plan_size
        Rows and bytes of its input.
    sample
        Values of the column by whose ranges rows are divided, and of the other keys if they can be counted together.
    tasks
        How many tasks divide the rows of the input.
    """
    operator, below, room = node.operator, node.inputs[0], costs.BYTES_BUFFERED_BY_SHUFFLE_TASK
    split, whole_kernel = range_split_of(operator), operator.whole_kernel
    assert split is not None and whole_kernel is not None
    states = whole_kernel.states
    # A sample of one of several keys does not show how many groups there are.
    schema = states.schema([below.facts]) if states is not None and len(operator.group_keys or ()) == len(sample.columns) else None
    if states is None or schema is None or not are_far_fewer(schema, plan_size, sample, tasks):
        return CrossingRows(below.schema, split.column, rows_of_task, OperatorKernel(operator, below.facts, node.schema))
    return CrossingRows(schema, 0, StatesOfTask(states, below.facts, room), StatesKernel(operator, states, below.facts, node.schema), True)


def are_far_fewer(schema: Schema, plan_size: PlanSize, sample: Chunk, tasks: int) -> bool:
    """Return whether states of columns of these types take much less than the rows that a task buffers."""
    bytes_of_row = max(1.0, plan_size.size / max(1, plan_size.rows))
    rows = min(plan_size.rows / max(1, tasks), costs.BYTES_BUFFERED_BY_SHUFFLE_TASK / bytes_of_row)
    return expected_distinct(sample, rows) * bytes_of_state(schema) <= costs.MAX_SHARE_OF_STATES * rows * bytes_of_row


def bytes_of_state(schema: Schema) -> int:
    """Estimate the bytes of a state with columns of these types.

    Examples
    --------
    >>> from sframe_spark.types import INT, STR
    >>> bytes_of_state((INT, INT)), bytes_of_state((STR,)) == costs.BYTES_OF_VALUE_OF_UNKNOWN_LENGTH
    (16, True)
    """
    kinds = [column_type.physical for column_type in schema]
    return sum(kind.bit_width // 8 if pa.types.is_primitive(kind) else costs.BYTES_OF_VALUE_OF_UNKNOWN_LENGTH for kind in kinds)


def expected_distinct(sample: Chunk, rows: float) -> float:
    """Estimate how many of a number of rows are distinct, given a sample of them. Missing values count as one value.

    For fewer rows than the sample has this is the mean over all choices of so many of its rows, for more an extrapolation by the numbers of
    rows that the sample has once and twice.

    Source: A. Chao and others, Rarefaction and extrapolation with Hill numbers, Ecological Monographs 84 (2014).

    Examples
    --------
    >>> few, many = Chunk.of([pa.array([1, 1, 2, 2])]), Chunk.of([pa.array(range(10)), pa.array(range(10))])
    >>> round(expected_distinct(few, 1000)), round(expected_distinct(many, 1000)) > 40, round(expected_distinct(few, 1))
    (2, True, 1)
    """
    names = column_names(len(sample.columns))
    counts = pa.table(list(sample.columns), names=names).group_by(names).aggregate([([], "count_all")]).column("count_all").to_numpy()
    seen, size = len(counts), sample.rows
    if rows <= size:
        return float(np.sum(1 - (1 - rows / max(1, size)) ** counts))
    once, twice = int(np.sum(counts == 1)), int(np.sum(counts == 2))
    if not once:
        return float(seen)
    unseen = (size - 1) / size * (once * once / (2 * twice) if twice else once * (once - 1) / 2)
    return seen + (unseen * -np.expm1((rows - size) * np.log1p(-once / (size * unseen + once))) if unseen else 0.0)


@attrs.frozen(eq=False)
class StatesOfTask(SharedValue):
    """Yields the states of the rows of a task, of as many rows at a time as it may buffer.

    Parameters
    ----------
    states
        Makes them.
    facts
        The facts of the input.
    room
        The bytes of rows.
    """

    states: StateRows
    facts: Facts
    room: int

    def __call__(self, number: int, task: RangeTask) -> Iterator[Chunk]:
        """Return an iterator over the states of the rows of a task."""
        buffered, size = list[Chunk](), 0
        for chunk in chunks_of(task):
            buffered.append(chunk)
            size += chunk.size
            if size > self.room:
                yield self._of(buffered)
                buffered, size = [], 0
        if buffered:
            yield self._of(buffered)

    def _of(self, buffered: list[Chunk]) -> Chunk:
        raise_if_cancelled()
        return self.states.of_rows(concatenate(buffered, self.facts.schema), [self.facts])


@attrs.frozen(eq=False)
class StatesKernel(SharedValue):
    """The kernel of an operator whose input crosses as states.

    Parameters
    ----------
    operator, facts, schema
        As of :class:`OperatorKernel`.
    states
        Computes the result.
    """

    operator: Operator
    states: StateRows
    facts: Facts
    schema: Schema

    def of_all(self, rows: Chunk) -> Chunk:
        """See :class:`PartitionKernel`."""
        return require_inferred(self.operator, (), self.states.result(rows, [self.facts]), self.schema)

    def of_batch(self, rows: Chunk) -> Chunk:
        """See :class:`PartitionKernel`: of states nothing is passed on.

        Raises
        ------
        PlanInvariantError
            Always.
        """
        raise PlanInvariantError(f"states of {self.operator.name!r} are passed on, though they are no rows of its result")
