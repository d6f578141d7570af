"""The base class of operators that reduce each run of consecutive rows with equal keys, and the partial results of runs that may continue.

A run may extend over several batches and row ranges. Such an operator therefore converts ("lifts") rows to partial results, which can be merged
however rows are divided, and computes the output rows of a run only after its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import attrs
import numpy as np

from sframe_spark.errors import PlanInvariantError
from sframe_spark.planner.chunk import Chunk, from_stream, joined, to_stream
from sframe_spark.planner.node_facts import Facts, Length, Schema
from sframe_spark.planner.operator import TOO_LARGE, SequentialOperator

MAX_CARRIED_BYTES = 2**22
"""Partial results of a run larger than this are not sent to other tasks: aggregates such as concat hold all rows of the run."""


@attrs.frozen(eq=False)
class Stretch:
    """Partial results of the first and the last run of some consecutive rows, as the rows before and after them may continue these runs.

    Parameters
    ----------
    first
        Partial results of the first run; without rows if there is no run.
    last
        Partial results of the last run; None if the last run is also the first.
    schema
        Types of the operator's input, which decide how partial results compare and merge.
    is_prefix
        Whether the rows begin at the first row of all. Then only the last run can continue, and ``first`` is that run.
    """

    first: Chunk
    last: Chunk | None
    schema: Schema
    is_prefix: bool = False

    @property
    def open(self) -> Chunk:
        """Partial results of the run that the next rows may continue."""
        return self.first if self.last is None else self.last

    def __reduce__(self) -> tuple[Any, ...]:
        last = None if self.last is None else bytes(to_stream([self.last]))
        return restored_stretch, (bytes(to_stream([self.first])), last, self.schema, self.is_prefix)


def restored_stretch(first: bytes, last: bytes | None, schema: Schema, is_prefix: bool) -> Stretch:
    """Rebuild a stretch from its pickled form."""
    return Stretch(from_stream(first), None if last is None else from_stream(last), schema, is_prefix)


@attrs.frozen
class RunOperator(SequentialOperator):
    """An operator whose result for a run of consecutive rows with equal keys is a function of that run."""

    keeps_domain: ClassVar[bool] = False

    def lift(self, chunk: Chunk, schema: Schema) -> Chunk:
        """Convert each row to partial results, as :meth:`collapse` takes them; the key columns of runs come first."""
        raise PlanInvariantError(f"operator {self.name!r} does not lift rows")

    def collapse(self, table: Chunk, schema: Schema) -> tuple[Chunk, np.ndarray]:
        """Merge the partial results of the same run (and group); return them, and the run number of each, counting from zero."""
        raise PlanInvariantError(f"operator {self.name!r} does not collapse runs")

    def results(self, table: Chunk, runs: np.ndarray, schema: Schema) -> Chunk:
        """Return the output rows of complete, collapsed runs; ``runs`` has the run number of each row of the table."""
        raise PlanInvariantError(f"operator {self.name!r} gives no results")

    def infer_length(self, inputs: Sequence[Facts]) -> Length:
        """Return an unknown length that is at most the length of the input."""
        return Length.unknown(at_most=inputs[0].length.at_most)

    def initial_state(self, facts: Sequence[Facts]) -> Any:
        """Return the state before the first row: no run is open."""
        schema = facts[0].schema
        return Stretch(self.lift(Chunk.empty(schema), schema), None, schema, is_prefix=True)

    def summarize(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Any:
        """Return the :class:`Stretch` of some rows: partial results of their first and last run."""
        schema = facts[0].schema
        first, last = self._first_and_last(self.lift(inputs[0], schema), schema)
        return Stretch(first, last, schema)

    def ends_suffice(self, state: Any) -> bool:
        """Return whether the first and the last run of a stretch are different runs."""
        return state.last is not None

    def carried(self, state: Any) -> Any:
        """Return the stretch with only the last run, or ``TOO_LARGE`` if its partial results are too large to be sent to other tasks."""
        if state.open.to_table().nbytes > MAX_CARRIED_BYTES:
            return TOO_LARGE
        return state if state.last is None else attrs.evolve(state, first=state.first.slice(0, 0))

    def combine(self, first: Any, second: Any) -> Any:
        """Return two adjacent stretches as one: partial results of the first and the last run of their rows together."""
        head, tail = self._first_and_last(joined(first.open, second.first), first.schema)
        if first.last is not None:
            # The first run is complete; the run where the stretches meet may be the last one.
            head, tail = first.first, head if tail is None else tail
        tail = tail if second.last is None else second.last
        if first.is_prefix:
            return Stretch(head if tail is None else tail, None, first.schema, is_prefix=True)
        return Stretch(head, tail, first.schema)

    def _first_and_last(self, table: Chunk, schema: Schema) -> tuple[Chunk, Chunk | None]:
        collapsed, runs = self.collapse(table, schema)
        if not collapsed.rows:
            return collapsed, None
        second, last = (int(np.searchsorted(runs, number)) for number in (runs[0] + 1, runs[-1]))
        return collapsed.slice(0, second), collapsed.slice(last, collapsed.rows) if last else None

    def advance(self, inputs: Sequence[Chunk], facts: Sequence[Facts], state: Any) -> tuple[Chunk, Any]:
        """Return the output rows of the runs that end in these rows, and the state with the run that the next rows may continue."""
        schema = facts[0].schema
        collapsed, runs = self.collapse(joined(state.first, self.lift(inputs[0], schema)), schema)
        last = int(np.searchsorted(runs, runs[-1])) if collapsed.rows else 0
        still_open = Stretch(collapsed.slice(last, collapsed.rows), None, schema, is_prefix=True)
        return self.results(collapsed.slice(0, last), runs[:last], schema), still_open

    def finish(self, facts: Sequence[Facts], state: Any) -> Chunk | None:
        """Return the output rows of the last run, or None if there were no rows."""
        rows = state.first.rows
        return self.results(state.first, np.zeros(rows, dtype=np.int64), facts[0].schema) if rows else None
