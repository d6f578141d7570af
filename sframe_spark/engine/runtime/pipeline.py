"""Pipelines: a section of a physical plan as a flat, picklable plan, and the runner that computes it batch by batch, in the driver or in a worker.

The runner measures the results of users' functions in order to cut batches, and checks the rows that kernels return.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, TypeVar

import attrs
import pyarrow as pa

from sframe_spark.engine import costs
from sframe_spark.engine.runtime.checked_kernel_calls import advance, call_operator, require_inferred
from sframe_spark.engine.size_estimates_batch_sizes_and_memory_reservations import BatchSize, bytes_of_batch
from sframe_spark.engine.task_pickling import SharedValue
from sframe_spark.errors import ConversionError, ResultsTooLongError, TooLargeError
from sframe_spark.expressions.aggregates.aggregate_function import AGGREGATES
from sframe_spark.expressions.functions.scalar_function import FUNCTIONS, FunctionTable
from sframe_spark.operators.lookup.cached_reader import Lookup
from sframe_spark.operators.sources.base_and_segment_source import Reader, SegmentSource, Source
from sframe_spark.planner.chunk import Chunk, concatenate
from sframe_spark.planner.graph_traversal import postorder, sizes_of
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts
from sframe_spark.planner.operator import ALL_ROWS, ExpandingOperator, Need, Operator, SequentialOperator, with_final_rows
from sframe_spark.planner.operator_capabilities import RowCounting
from sframe_spark.planner.row_sizes import Sizes, fixed_size, row_bytes
from sframe_spark.process.control_groups import available_cores
from sframe_spark.process.memory import batch_bytes
from sframe_spark.session.progress import counting_batches
from sframe_spark.types import ColumnType
from sframe_spark.udf.result_caching_size_limits_and_storage import MadeResults

# The flat plan. An operator is named by its index in the lists.


@attrs.frozen(eq=False)
class Pipeline(SharedValue):
    """A plan as lists in postorder, so that it is pickled and run without recursion.

    Parameters
    ----------
    operators
        The operators, each after its inputs; the last one is the root.
    inputs
        The indices of each operator's inputs.
    facts
        The facts of each operator's rows.
    sizes
        The estimated bytes of each operator's columns in a row.
    batch_bytes
        The bytes of rows that kernels should process at a time.
    tables
        The tables of functions, pickled with the plan so that functions of plug-ins reach the workers.
    """

    operators: tuple[Operator, ...]
    inputs: tuple[tuple[int, ...], ...]
    facts: tuple[Facts, ...]
    sizes: tuple[Sizes, ...]
    batch_bytes: int
    tables: tuple[FunctionTable[Any], ...] = (FUNCTIONS, AGGREGATES)

    @classmethod
    def of(cls, root: PlannerNode) -> Pipeline:
        """Return the flat plan of a node and everything below it."""
        nodes = list(postorder([root]))
        indices = {id(node): index for index, node in enumerate(nodes)}
        inputs = tuple(tuple(indices[id(child)] for child in node.inputs) for node in nodes)
        sizes = sizes_of(root)
        operators, facts = tuple(node.operator for node in nodes), tuple(node.facts for node in nodes)
        return cls(operators, inputs, facts, tuple(sizes[id(node)] for node in nodes), batch_bytes())

    def indices_below(self, index: int) -> list[int]:
        """Return the indices of an operator and of everything below it, inputs first."""
        keep = {index}
        for current in range(index, -1, -1):
            if current in keep:
                keep.update(self.inputs[current])
        return sorted(keep)

    def below(self, index: int) -> Pipeline:
        """Return the plan whose root is the operator at an index."""
        order = self.indices_below(index)
        moved = {old: new for new, old in enumerate(order)}
        inputs = tuple(tuple(moved[child] for child in self.inputs[old]) for old in order)
        operators, facts = tuple(self.operators[i] for i in order), tuple(self.facts[i] for i in order)
        return Pipeline(operators, inputs, facts, tuple(self.sizes[i] for i in order), self.batch_bytes)

    def divided_sources(self) -> tuple[int, ...]:
        """Return the indices of stored sources that are read by row range, not by lookup."""
        searched = {self.inputs[index][slot] for index, slot in self.lookup_slots()}
        return tuple(index for index, operator in enumerate(self.operators) if isinstance(operator, SegmentSource) and index not in searched)

    def with_sources(self, sources: Mapping[int, Source]) -> Pipeline:
        """Return the plan with some sources replaced, given by their indices."""
        operators = tuple(sources.get(index, operator) for index, operator in enumerate(self.operators))
        return attrs.evolve(self, operators=operators) if sources else self

    def sequential_indices(self) -> list[int]:
        """Return the indices of operators with a running state, inputs first."""
        return [index for index, operator in enumerate(self.operators) if isinstance(operator, SequentialOperator)]

    def sequential_levels(self) -> list[list[int]]:
        """Return the indices of operators with a running state, grouped by depth: operators of one group do not depend on each other."""
        depths: list[int] = []
        for index, operator in enumerate(self.operators):
            depths.append(max((depths[child] for child in self.inputs[index]), default=0) + isinstance(operator, SequentialOperator))
        levels: dict[int, list[int]] = {}
        for index in self.sequential_indices():
            levels.setdefault(depths[index], []).append(index)
        return [levels[depth] for depth in sorted(levels)]

    def input_facts(self, index: int) -> list[Facts]:
        """Return the facts of the inputs of an operator."""
        return [self.facts[child] for child in self.inputs[index]]

    def is_dense(self, index: int) -> bool:
        """Return whether the rows of an operator are numbered without gaps, as no operator below drops any."""
        waiting, seen = [index], set()
        while waiting:
            current = waiting.pop()
            if current in seen:
                continue
            if not self.operators[current].keeps_dense:
                return False
            seen.add(current)
            waiting.extend(self.inputs[current])
        return True

    def lookup_slots(self) -> frozenset[tuple[int, int]]:
        """Return the inputs in which operators look up rows instead of reading batches, as pairs of the operator's index and the slot."""
        slots = [(index, slot) for index, children in enumerate(self.inputs) for slot in range(len(children))]
        return frozenset((index, slot) for index, slot in slots if self.operators[index].requires(slot) is Need.LOOKUP)

    def stages(self) -> list[list[int]]:
        """Return the indices of operators, grouped by the number of expanding operators below; every stage but the first begins with one.

        Operators above an expanding operator have as many rows as it has, so they read nothing below it.
        """
        stage_of: list[int] = []
        for operator, children in zip(self.operators, self.inputs, strict=True):
            below = max((stage_of[child] for child in children), default=0)
            stage_of.append(below + isinstance(operator, ExpandingOperator))
        stages: list[list[int]] = [[] for _ in range(max(stage_of) + 1)]
        for index, stage in enumerate(stage_of):
            stages[stage].append(index)
        return stages

    def calls_functions(self) -> bool:
        """Return whether operators call users' functions, for which values become Python objects."""
        widths = (sum(facts.width for facts in self.input_facts(index)) for index in range(len(self.operators)))
        return any(operator.function_calls(width) is not None for operator, width in zip(self.operators, widths, strict=True))

    def batch_size(self, indices: Iterable[int]) -> BatchSize:
        """Return a new batch size for some operators."""
        sizes = [self.sizes[index] for index in indices]
        is_known = not any(None in columns for columns in sizes)
        most = bytes_of_batch(max(map(len, sizes), default=0), self.batch_bytes)
        if self.calls_functions():
            most //= costs.TIMES_ARROW_BYTES_AS_PYTHON_OBJECTS
        return BatchSize(most, max((row_bytes(columns, 0) for columns in sizes), default=0.0), is_known)

    def uneven(self) -> frozenset[int]:
        """Return the indices of operators that have a column with values of variable length."""
        return frozenset(index for index, facts in enumerate(self.facts) if any(fixed_size(kind) is None for kind in facts.schema))


# The results of users' functions are measured, so that a batch is cut if they get too large.


@attrs.define(eq=False)
class MeasuredCalls:
    """Measures the results of the users' functions of a plan.

    Parameters
    ----------
    operators
        The plan's operators, whose functions measure their results.
    by_index
        The measured results, by the index of their operator.
    unnumbered
        The indices of operators whose functions get no row numbers.
    reached
        For each operator in ``unnumbered``, the base row up to which earlier batches have read.
    """

    operators: tuple[Operator, ...]
    by_index: dict[int, list[MadeResults]]
    unnumbered: frozenset[int]
    reached: dict[int, int] = attrs.Factory(dict)
    _next: dict[int, int] = attrs.Factory(dict)
    _may_cut: bool = False

    @classmethod
    def of(cls, operators: Sequence[Operator], widths: Sequence[int], batch_bytes: int) -> MeasuredCalls:
        """Return the operators with measuring functions, given their input widths.

        The operators are not changed if no function returns values of variable length.
        """
        by_index: dict[int, list[MadeResults]] = {}
        unnumbered: set[int] = set()
        measured: list[Operator] = []
        types: list[ColumnType] = []
        for index, (operator, width) in enumerate(zip(operators, widths, strict=True)):
            calls = operator.function_calls(width)
            if calls is None:
                measured.append(operator)
                continue
            made = [MadeResults(costs.TIMES_BATCH_BYTES_TO_CUT * batch_bytes) for _ in calls.functions]
            measured.append(calls.with_functions([attrs.evolve(f, made=results) for f, results in zip(calls.functions, made, strict=True)]))
            by_index[index] = made
            types.extend(calls.types)
            if not all(function.numbered for function in calls.functions):
                unnumbered.add(index)
        if all(fixed_size(kind) is not None for kind in types):
            return cls(tuple(operators), {}, frozenset())
        results = list(chain.from_iterable(by_index.values()))
        for result in results:
            result.alone = len(results) == 1
        return cls(tuple(measured), by_index, frozenset(unnumbered))

    def begin(self, may_cut: bool) -> None:
        """Begin a batch, or begin it again after it was cut."""
        self._may_cut = may_cut

    def expect(self, indices: Sequence[int], required: Sequence[Sequence[tuple[int, int]]], above: bool) -> None:
        """Announce the operators that are computed next: for base rows, or with ``above`` for rows of an expanding operator.

        A batch may be cut only if no function is then called twice for a row. This is so if each function gets row numbers or reads rows in order.
        """
        called = [index for index in indices if index in self.by_index]
        in_turn = True
        for index in self.unnumbered.intersection(called):
            (start, _), *others = required[index]
            in_turn = in_turn and not others and (above or start == self.reached.get(index, start))
        for index in called:
            self._next[index] = required[index][-1][1]
            for made in self.by_index[index]:
                made.begin(self._may_cut and in_turn, in_turn)

    def release(self) -> None:
        """End a batch, and release its results."""
        self.reached.update(self._next)
        for made in chain.from_iterable(self.by_index.values()):
            made.release()


Value = TypeVar("Value")
Interval = tuple[int, int]
RequiredRows = list[list[Interval]]
ValuesAt = dict[tuple[int, Interval], Chunk]


class PipelineRunner:
    """Computes the rows of a plan's root for consecutive intervals of the section's base rows.

    Parameters
    ----------
    plan
        The plan.
    states
        The state of each sequential operator before the first interval, by index; a missing one is the initial state.
    in_one_batch
        Whether a batch is never cut, whatever users' functions return, as rows may be read only once.
    threads
        How many threads prefetch stored rows; none in Spark tasks, which have one core each.
    coded
        For a plan that is a single source: the string columns that may be dictionary-encoded.
    """

    def __init__(
        self, plan: Pipeline, states: dict[int, Any] | None = None, in_one_batch: bool = False, threads: int = 0, coded: Iterable[int] = ()
    ) -> None:
        widths = [sum(facts.width for facts in plan.input_facts(index)) for index in range(len(plan.operators))]
        self.measured = MeasuredCalls.of(plan.operators, widths, plan.batch_bytes)
        self.plan = plan = attrs.evolve(plan, operators=self.measured.operators)
        self.in_one_batch = in_one_batch
        self.threads = threads
        self.coded = coded if len(plan.operators) == 1 else ()
        self.readers: dict[int, Reader] = {}
        self.states = dict(states or {})
        self.lookup_slots = plan.lookup_slots()
        self.stages = plan.stages()
        self.batches = [plan.batch_size(indices) for indices in self.stages]
        self.uneven = plan.uneven()
        self.lookups: dict[int, Lookup] = {}
        self.read_by: dict[tuple[int, int], Lookup] = {}
        for index in plan.sequential_indices():
            if index not in self.states:
                operator = plan.operators[index]
                assert isinstance(operator, SequentialOperator)
                self.states[index] = operator.initial_state(plan.input_facts(index))

    def run(self, start: int, stop: int, final: bool = False) -> Chunk:
        """Return the rows for base rows ``start`` (inclusive) to ``stop`` (exclusive) as one chunk; ``final`` means that no base rows follow."""
        return concatenate(list(self.chunks(start, stop, final, ALL_ROWS)), self.plan.facts[-1].schema)

    def chunks(self, start: int, stop: int, final: bool, max_rows: int) -> Iterator[Chunk]:
        """Yield the rows that :meth:`run` returns in chunks, lazily. There are several chunks if operators expand rows or a batch is cut."""
        first = start
        while True:
            (required, base), rows = self._cut(stop - first, partial(self._base, first, stop, final))
            root = (len(self.plan.operators) - 1, (first, first + rows))
            for values, _ in self._stage(len(self.stages) - 1, required, base, final and first + rows == stop, max_rows):
                yield values[root]
            first += rows
            if first >= stop:
                return

    def _base(self, first: int, stop: int, final: bool, rows: int) -> tuple[RequiredRows, ValuesAt]:
        """Return the rows required of each operator for some base rows, and the values of the first stage."""
        required = self.required(first, first + rows)
        return required, self._evaluated(0, required, {}, final and first + rows == stop, rows)

    def _cut(self, rows: int, evaluate: Callable[[int], Value]) -> tuple[Value, int]:
        """Evaluate as many rows as the size of users' functions' results allows; return the values and the number of rows."""
        before = self.states
        while True:
            # Operators return new states and leave old ones unchanged.
            self.states = dict(before)
            self.measured.begin(rows > 1 and not self.in_one_batch)
            try:
                values = evaluate(rows)
            except ResultsTooLongError as cut:
                rows = max(1, min(rows - 1, rows * cut.done // cut.requested))
            else:
                self.measured.release()
                return values, rows

    def _stage(self, number: int, required: RequiredRows, base: ValuesAt, final: bool, max_rows: int) -> Iterator[tuple[ValuesAt, bool]]:
        """Yield the values of a stage for each chunk of the stage below, and whether they are the last."""
        if not number:
            yield base, True
            return
        index = self.stages[number][0]
        operator, facts = self.plan.operators[index], self.plan.input_facts(index)
        assert isinstance(operator, ExpandingOperator), "a stage begins with an expanding operator"
        (interval,) = required[index]
        children = self._children(index, interval)
        batch = self.batches[number]
        for below, is_last_below in self._stage(number - 1, required, base, final, max_rows):
            inputs = self._inputs(index, [below[child] for child in children])
            for chunk, is_last_chunk in with_last(operator.chunks(inputs, facts, lambda: batch.rows(max_rows))):
                yield from self._above(number, required, chunk, final, is_last_below and is_last_chunk)

    def _above(self, number: int, required: RequiredRows, chunk: Chunk, final: bool, is_last: bool) -> Iterator[tuple[ValuesAt, bool]]:
        """Yield the values of a stage for the rows of one chunk of its first operator, and whether they are the last."""
        index = self.stages[number][0]
        key = (index, required[index][0])
        while True:

            def evaluate(rows: int, rest: Chunk = chunk) -> ValuesAt:
                is_end = final and is_last and rows == rest.rows
                return self._evaluated(number, required, {key: rest.slice(0, rows)}, is_end, rows)

            values, rows = self._cut(chunk.rows, evaluate)
            chunk = chunk.slice(rows, chunk.rows)
            yield values, is_last and not chunk.rows
            if not chunk.rows:
                return

    def _evaluated(self, number: int, required: RequiredRows, values: ValuesAt, final: bool, rows: int) -> ValuesAt:
        """Compute the values of all operators of a stage, given the values of its first operator.

        Values are dropped after they were read; ``rows`` is the number of input rows.
        """
        remaining = self._reads(number, required)
        self.measured.expect(self.stages[number], required, number > 0)
        largest = 0
        for index in self.stages[number]:
            for interval in required[index]:
                if (index, interval) in values:
                    continue
                children = self._children(index, interval)
                inputs = self._inputs(index, [values[child] for child in children])
                values[(index, interval)] = self._compute(index, self.plan.operators[index], inputs, interval, [c[1] for c in children], final)
                if index in self.uneven:
                    largest = max(largest, values[(index, interval)].size)
                for child in children:
                    remaining[child] -= 1
                    if not remaining[child]:
                        del values[child]
        self.batches[number].saw(rows, largest)
        return values

    def stream(self, start: int, stop: int, batch_rows: int, final: bool = True) -> Iterator[Chunk]:
        """Yield the rows in order, one batch of base rows at a time; ``final`` means that no base rows follow ``stop``."""
        if stop <= start:
            yield from self.chunks(start, start, final, batch_rows)
            return
        first = start
        try:
            with counting_batches(stop - start) as begin:
                while first < stop:
                    last = self.end_of_batch(first, stop, batch_rows)
                    begin(last - first)
                    yield from self.chunks(first, last, final and last == stop, batch_rows)
                    first = last
        finally:
            for reader in self.readers.values():
                reader.close()

    def end_of_batch(self, first: int, stop: int, batch_rows: int) -> int:
        """Return where a batch of base rows that begins at ``first`` ends: earlier than requested if rows are long."""
        last = min(first + self.batches[0].rows(batch_rows), stop)
        last = last if last == stop else self.before_read_afresh(first, last)
        # Operators that know the bytes of their rows before these are computed.
        known = {index: counter for index in self.stages[0] if index in self.uneven and (counter := self._counter(index)) is not None}
        # Rows may be longer in some regions of a source than in others.
        while known and last - first > 1 and self._bytes_between(known, first, last) > 2 * self.plan.batch_bytes:
            last = first + (last - first) // 2
        return last

    def before_read_afresh(self, first: int, last: int) -> int:
        """Return where to end a batch of base rows: at ``last``, or earlier, at a row-group boundary, if there is only one source."""
        sources = [index for index, operator in enumerate(self.plan.operators) if isinstance(operator, Source)]
        required = self.required(first, last)[sources[0]] if len(sources) == 1 else []
        # Operators in between may shift or skip rows, so row numbers of the source differ from base rows.
        low, high = min((start for start, _ in required), default=0), max((stop for _, stop in required), default=0)
        if low >= high:
            return last
        source = self.plan.operators[sources[0]]
        assert isinstance(source, Source)
        # Ending at the boundary avoids copying rows. The batch may be short; the next one is long again.
        left = (high - source.batch_end(low, high)) * (last - first) // (high - low)
        return last - left

    def _bytes_between(self, counters: Mapping[int, Reader | RowCounting], start: int, stop: int) -> float:
        """Return the bytes of the rows of some operators that some base rows require."""
        required, size = self.required(start, stop), 0.0
        for index, counter in counters.items():
            size += sum(counter.bytes_between(*interval) for interval in required[index])
        return size

    def _counter(self, index: int) -> Reader | RowCounting | None:
        """Return what knows the bytes of an operator's rows before these are computed; None if nothing does."""
        operator = self.plan.operators[index]
        return self._reader(index, operator) if isinstance(operator, Source) else operator.counting

    def _reader(self, index: int, source: Source) -> Reader:
        if index not in self.readers:
            self.readers[index] = source.reader(self.threads, self.coded)
        return self.readers[index]

    def _children(self, index: int, interval: Interval) -> list[tuple[int, Interval]]:
        operator = self.plan.operators[index]
        facts = self.plan.input_facts(index)
        result = []
        for slot, child in enumerate(self.plan.inputs[index]):
            if (index, slot) in self.lookup_slots:
                continue
            first, last = operator.input_interval(slot, interval[0], interval[1], facts)
            rows = facts[slot].length.rows
            first = max(first, 0)
            if rows is not None and (first, last) != interval:
                first, last = min(first, rows), min(last, rows)
            result.append((child, (first, max(first, last))))
        return result

    def _inputs(self, index: int, chunks: Sequence[Chunk]) -> list[Any]:
        """Return the inputs for a kernel: chunks, and lookups, which are reused for all batches of a task."""
        remaining = iter(chunks)
        slots = enumerate(self.plan.inputs[index])
        return [self.lookup(index, slot, child) if (index, slot) in self.lookup_slots else next(remaining) for slot, child in slots]

    def lookup(self, index: int, slot: int, child: int) -> Lookup:
        """Return the lookup with which an operator searches the source in one of its slots."""
        if child not in self.lookups:
            source = self.plan.operators[child]
            assert isinstance(source, Source)
            self.lookups[child] = Lookup.of(source)
        if (index, slot) not in self.read_by:
            self.read_by[index, slot] = self.lookups[child].for_reader()
        return self.read_by[index, slot]

    def required(self, start: int, stop: int) -> RequiredRows:
        """Return for each operator the intervals of its rows that are read for rows ``start`` to ``stop`` of the root."""
        count = len(self.plan.operators)
        required: list[dict[Interval, None]] = [{} for _ in range(count)]
        required[count - 1][(start, stop)] = None
        for index in range(count - 1, -1, -1):
            for interval in required[index]:
                for child, needed in self._children(index, interval):
                    required[child][needed] = None
        return [list(intervals) for intervals in required]

    def _reads(self, number: int, required: RequiredRows) -> dict[tuple[int, Interval], int]:
        reads: dict[tuple[int, Interval], int] = {}
        for index in self.stages[number]:
            for interval in required[index]:
                for child in self._children(index, interval):
                    reads[child] = reads.get(child, 0) + 1
        return reads

    def _compute(self, index: int, operator: Operator, inputs: list[Any], interval: Interval, needed: list[Interval], final: bool) -> Chunk:
        if isinstance(operator, Source):
            return self._reader(index, operator).read(*interval)
        chunk = self._computed(index, operator, inputs, interval, needed, final)
        return require_inferred(operator, inputs, chunk, self.plan.facts[index].schema)

    def _computed(self, index: int, operator: Operator, inputs: list[Any], interval: Interval, needed: list[Interval], final: bool) -> Chunk:
        facts = self.plan.input_facts(index)
        try:
            if isinstance(operator, SequentialOperator):
                chunk, self.states[index] = advance(operator, inputs, facts, self.states[index])
                return with_final_rows(chunk, operator.finish(facts, self.states[index])) if final else chunk
            return call_operator(operator, lambda: operator.run_interval(inputs, facts, interval[0], interval[1], needed))
        except ConversionError as error:
            if isinstance(operator, SequentialOperator):
                raise
            raise error.counted_from(interval[0] if self.plan.is_dense(index) else None) from None
        except pa.ArrowCapacityError:
            made = (
                f"{operator.called()} makes over 2 GiB of texts or lists from {interval[1] - interval[0]:,} rows at once, more than an array can hold"
            )
            raise TooLargeError(f"{made}: set config.batch_rows to fewer rows, or make shorter values") from None


def local_threads() -> int:
    """Return how many threads run a plan in this process."""
    return min(available_cores(), costs.MAX_LOCAL_THREADS)


def with_last(values: Iterable[Value]) -> Iterator[tuple[Value, bool]]:
    """Yield each value, and whether it is the last one.

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
