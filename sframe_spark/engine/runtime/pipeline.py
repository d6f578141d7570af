"""Runs the kernels of a section over row intervals, on the driver or in a worker."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

import attrs
import pyarrow as pa

from sframe_spark.engine.runtime.flat_plan import FlatPlan
from sframe_spark.engine.runtime.inferred_rows import require_inferred
from sframe_spark.engine.runtime.measured import MeasuredCalls
from sframe_spark.engine.runtime.others import advanced, asked
from sframe_spark.errors import ConversionError, ResultsTooLongError, TooLargeError
from sframe_spark.operators.lookup.source_lookup import Lookup
from sframe_spark.operators.sources.source import Reader, Source
from sframe_spark.planner.chunk import Chunk, concatenate
from sframe_spark.planner.operator import ALL_ROWS, Operator, SequentialOperator, with_rows_held_back
from sframe_spark.process.resource_limits import available_cores

Value = TypeVar("Value")
Interval = tuple[int, int]
Wanted = list[list[Interval]]
ValuesAt = dict[tuple[int, Interval], Chunk]

# More decode rows faster than anybody takes them.
MOST_THREADS = 8


class PlanRunner:
    """Computes the root's rows for consecutive intervals of the section's base rows.

    Parameters
    ----------
    plan
        The plan.
    states
        State of each sequential operator before the first interval; the initial state where none is given.
    in_one_batch
        Rows are read once only if a batch is not cut, whatever users' functions make.
    threads
        How many decode stored rows before they are asked for; tasks of Spark have one core each.
    coded
        Of a plan that is one source: columns of texts that may come as numbers in a dictionary.
    """

    def __init__(
        self, plan: FlatPlan, states: dict[int, Any] | None = None, in_one_batch: bool = False, threads: int = 0, coded: Iterable[int] = ()
    ) -> None:
        widths = [sum(facts.width for facts in plan.input_facts(place)) for place in range(len(plan.operators))]
        self.measured = MeasuredCalls.of(plan.operators, widths, plan.batch_bytes)
        self.plan = plan = attrs.evolve(plan, operators=self.measured.operators)
        self.in_one_batch = in_one_batch
        self.threads = threads
        self.coded = coded if len(plan.operators) == 1 else ()
        self.readers: dict[int, Reader] = {}
        self.states = dict(states or {})
        self.looked_up = plan.looked_up()
        self.stages = plan.stages()
        self.batches = [plan.batch_size(places) for places in self.stages]
        self.uneven = plan.uneven()
        self.lookups: dict[int, Lookup] = {}
        self.read_by: dict[tuple[int, int], Lookup] = {}
        for place in plan.sequential_places():
            if place not in self.states:
                operator = plan.operators[place]
                assert isinstance(operator, SequentialOperator)
                self.states[place] = operator.initial_state(plan.input_facts(place))

    def run(self, start: int, stop: int, final: bool = False) -> Chunk:
        """Rows that derive from base rows ``start`` (inclusive) to ``stop`` (exclusive), all at once; ``final``: no base rows follow."""
        return concatenate(list(self.pieces(start, stop, final, ALL_ROWS)), self.plan.facts[-1].schema)

    def pieces(self, start: int, stop: int, final: bool, most_rows: int) -> Iterator[Chunk]:
        """The same rows in pieces, where operators make many rows of one or too much of some; what somebody does not ask for is not made."""
        first = start
        while True:
            (wanted, base), rows = self._cut(stop - first, partial(self._base, first, stop, final))
            root = (len(self.plan.operators) - 1, (first, first + rows))
            for values, _ in self._stage(len(self.stages) - 1, wanted, base, final and first + rows == stop, most_rows):
                yield values[root]
            first += rows
            if first >= stop:
                return

    def _base(self, first: int, stop: int, final: bool, rows: int) -> tuple[Wanted, ValuesAt]:
        """What is wanted of the places for so many base rows, and the values at those of the first stage."""
        wanted = self.wanted(first, first + rows)
        return wanted, self._evaluated(0, wanted, {}, final and first + rows == stop, rows)

    def _cut(self, rows: int, evaluate: Callable[[int], Value]) -> tuple[Value, int]:
        """What is made of as many of some rows as users' functions allow, and of how many."""
        before = self.states
        while True:
            # An operator gives a new state and leaves the one it had.
            self.states = dict(before)
            self.measured.begin(rows > 1 and not self.in_one_batch)
            try:
                made = evaluate(rows)
            except ResultsTooLongError as cut:
                rows = max(1, min(rows - 1, rows * cut.done // cut.asked))
            else:
                self.measured.release()
                return made, rows

    def _stage(self, number: int, wanted: Wanted, base: ValuesAt, final: bool, most_rows: int) -> Iterator[tuple[ValuesAt, bool]]:
        """Values at the places of a stage, once for each piece of what the stage before it makes, and whether it is the last."""
        if not number:
            yield base, True
            return
        place = self.stages[number][0]
        operator, facts = self.plan.operators[place], self.plan.input_facts(place)
        (interval,) = wanted[place]
        children = self._children(place, interval)
        batch = self.batches[number]
        for below, is_last_below in self._stage(number - 1, wanted, base, final, most_rows):
            inputs = self._inputs(place, [below[child] for child in children])
            for piece, is_last_piece in with_last(operator.pieces(inputs, facts, lambda: batch.rows(most_rows))):
                yield from self._above(number, wanted, piece, final, is_last_below and is_last_piece)

    def _above(self, number: int, wanted: Wanted, piece: Chunk, final: bool, is_last: bool) -> Iterator[tuple[ValuesAt, bool]]:
        """Values at the places of a stage for the rows of a piece, and whether they are the last."""
        place = self.stages[number][0]
        key = (place, wanted[place][0])
        while True:

            def evaluate(rows: int, rest: Chunk = piece) -> ValuesAt:
                is_end = final and is_last and rows == rest.rows
                return self._evaluated(number, wanted, {key: rest.slice(0, rows)}, is_end, rows)

            values, rows = self._cut(piece.rows, evaluate)
            piece = piece.slice(rows, piece.rows)
            yield values, is_last and not piece.rows
            if not piece.rows:
                return

    def _evaluated(self, number: int, wanted: Wanted, values: ValuesAt, final: bool, rows: int) -> ValuesAt:
        """Values at the places of a stage that somebody still reads, given that of the operator it begins with; ``rows``: those it starts from."""
        remaining = self._reads(number, wanted)
        self.measured.expect(self.stages[number], wanted, number > 0)
        largest = 0
        for place in self.stages[number]:
            for interval in wanted[place]:
                if (place, interval) in values:
                    continue
                children = self._children(place, interval)
                inputs = self._inputs(place, [values[child] for child in children])
                values[(place, interval)] = self._compute(place, self.plan.operators[place], inputs, interval, [c[1] for c in children], final)
                if place in self.uneven:
                    largest = max(largest, values[(place, interval)].size)
                for child in children:
                    remaining[child] -= 1
                    if not remaining[child]:
                        del values[child]
        self.batches[number].saw(rows, largest)
        return values

    def stream(self, start: int, stop: int, batch_rows: int, final: bool = True) -> Iterator[Chunk]:
        """Rows in order, a batch of base rows at a time; ``final``: no base rows follow ``stop``."""
        if stop <= start:
            yield from self.pieces(start, start, final, batch_rows)
            return
        first = start
        try:
            while first < stop:
                last = self.end_of_batch(first, stop, batch_rows)
                yield from self.pieces(first, last, final and last == stop, batch_rows)
                first = last
        finally:
            for reader in self.readers.values():
                reader.close()

    def end_of_batch(self, first: int, stop: int, batch_rows: int) -> int:
        """Where a batch of base rows from ``first`` ends: after so many, or sooner where rows are long."""
        last = min(first + self.batches[0].rows(batch_rows), stop)
        last = last if last == stop else self.before_read_afresh(first, last)
        known = [place for place in self.stages[0] if place in self.uneven and knows_bytes(self.plan.operators[place])]
        # Rows in one part of a source may be longer than those in another.
        while known and last - first > 1 and self._bytes_between(known, first, last) > 2 * self.plan.batch_bytes:
            last = first + (last - first) // 2
        return last

    def before_read_afresh(self, first: int, last: int) -> int:
        """Where to end a batch of base rows: at ``last``, or sooner where the only source begins to read afresh."""
        sources = [place for place, operator in enumerate(self.plan.operators) if isinstance(operator, Source)]
        wanted = self.wanted(first, last)[sources[0]] if len(sources) == 1 else []
        # Rows of the source have other numbers than base rows where operators between them shift or skip some.
        low, high = min((start for start, _ in wanted), default=0), max((stop for _, stop in wanted), default=0)
        if low >= high:
            return last
        source = self.plan.operators[sources[0]]
        assert isinstance(source, Source)
        # Rows are not copied then. Where that makes a small batch, a large one follows: what is read afresh there is longer than the rest.
        left = (high - source.batch_end(low, high)) * (last - first) // (high - low)
        return last - left

    def _bytes_between(self, places: Sequence[int], start: int, stop: int) -> float:
        """What rows at some places take, of those that are wanted for some base rows."""
        wanted = self.wanted(start, stop)
        return sum(self._bytes_of(place, *interval) for place in places for interval in wanted[place])

    def _bytes_of(self, place: int, start: int, stop: int) -> float:
        operator = self.plan.operators[place]
        return self._reader(place, operator).bytes_between(start, stop) if isinstance(operator, Source) else operator.bytes_between(start, stop)

    def _reader(self, place: int, source: Source) -> Reader:
        if place not in self.readers:
            self.readers[place] = source.reader(self.threads, self.coded)
        return self.readers[place]

    def _children(self, place: int, interval: Interval) -> list[tuple[int, Interval]]:
        operator = self.plan.operators[place]
        facts = self.plan.input_facts(place)
        result = []
        for slot, child in enumerate(self.plan.inputs[place]):
            if (place, slot) in self.looked_up:
                continue
            first, last = operator.input_interval(slot, interval[0], interval[1], facts)
            rows = facts[slot].length.rows
            first = max(first, 0)
            if rows is not None and (first, last) != interval:
                first, last = min(first, rows), min(last, rows)
            result.append((child, (first, max(first, last))))
        return result

    def _inputs(self, place: int, chunks: Sequence[Chunk]) -> list[Any]:
        """What a kernel gets: chunks, and look-ups (kept for all batches of the task) for the inputs it looks up."""
        remaining = iter(chunks)
        slots = enumerate(self.plan.inputs[place])
        return [self.lookup(place, slot, child) if (place, slot) in self.looked_up else next(remaining) for slot, child in slots]

    def lookup(self, place: int, slot: int, child: int) -> Lookup:
        """The look-up of a place in the source of a slot."""
        if child not in self.lookups:
            source = self.plan.operators[child]
            assert isinstance(source, Source)
            self.lookups[child] = Lookup.of(source)
        if (place, slot) not in self.read_by:
            self.read_by[place, slot] = self.lookups[child].for_reader()
        return self.read_by[place, slot]

    def wanted(self, start: int, stop: int) -> Wanted:
        """Rows of each place that are read for the root's rows ``start`` to ``stop``."""
        count = len(self.plan.operators)
        wanted: list[dict[Interval, None]] = [{} for _ in range(count)]
        wanted[count - 1][(start, stop)] = None
        for place in range(count - 1, -1, -1):
            for interval in wanted[place]:
                for child, needed in self._children(place, interval):
                    wanted[child][needed] = None
        return [list(intervals) for intervals in wanted]

    def _reads(self, number: int, wanted: Wanted) -> dict[tuple[int, Interval], int]:
        reads: dict[tuple[int, Interval], int] = {}
        for place in self.stages[number]:
            for interval in wanted[place]:
                for child in self._children(place, interval):
                    reads[child] = reads.get(child, 0) + 1
        return reads

    def _compute(self, place: int, operator: Operator, inputs: list[Any], interval: Interval, needed: list[Interval], final: bool) -> Chunk:
        if isinstance(operator, Source):
            return self._reader(place, operator).read(*interval)
        chunk = self._computed(place, operator, inputs, interval, needed, final)
        return require_inferred(operator, inputs, chunk, self.plan.facts[place].schema)

    def _computed(self, place: int, operator: Operator, inputs: list[Any], interval: Interval, needed: list[Interval], final: bool) -> Chunk:
        facts = self.plan.input_facts(place)
        try:
            if isinstance(operator, SequentialOperator):
                chunk, self.states[place] = advanced(operator, inputs, facts, self.states[place])
                return with_rows_held_back(chunk, operator.finish(facts, self.states[place])) if final else chunk
            return asked(operator, lambda: operator.run_interval(inputs, facts, interval[0], interval[1], needed))
        except ConversionError as error:
            if isinstance(operator, SequentialOperator):
                raise
            raise error.counted_from(interval[0] if self.plan.is_dense(place) else None) from None
        except pa.ArrowCapacityError:
            made = f"{operator.called()} makes over 2 GiB of texts or lists from {interval[1] - interval[0]:,} rows at once, more than an array holds"
            raise TooLargeError(f"{made}: set config.batch_rows to fewer rows, or make shorter values") from None


def threads_here() -> int:
    """How many threads decode rows for a plan that runs in the process of the user, who waits for it."""
    return min(available_cores(), MOST_THREADS)


def knows_bytes(operator: Operator) -> bool:
    """True for operators that know how long their rows are before these are made."""
    return operator.is_source or operator.counts_rows


def with_last(values: Iterable[Value]) -> Iterator[tuple[Value, bool]]:
    """Each value, and whether it is the last one.

    Examples
    --------
    >>> list(with_last("ab"))
    [('a', False), ('b', True)]
    """
    before: list[Value] = []
    for value in values:
        if before:
            yield before.pop(), False
        before.append(value)
    for value in before:
        yield value, True
