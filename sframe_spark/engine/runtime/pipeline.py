"""Pipelines: a section as a flat, picklable plan, and the runner that computes it batch by batch, in the driver or in a worker."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial, reduce
from itertools import chain
from typing import Any, TypeVar

import attrs
import pyarrow as pa

from sframe_spark.engine.memory_budget import BatchSize, bytes_of_batch
from sframe_spark.engine.task_pickling import SharedValue
from sframe_spark.errors import ConversionError, PlanInvariantError, ResultsTooLongError, SFrameError, TooLargeError
from sframe_spark.expressions.aggregates.aggregate_function import AGGREGATES
from sframe_spark.expressions.functions.scalar_function import FUNCTIONS, FunctionTable
from sframe_spark.expressions.python_function import PythonFunction
from sframe_spark.operators.lookup.cached_reader import Lookup
from sframe_spark.operators.sources.source import Reader, SegmentSource, Source
from sframe_spark.planner.chunk import Chunk, concatenate
from sframe_spark.planner.facts import Facts, Schema
from sframe_spark.planner.graph import postorder, sizes_of
from sframe_spark.planner.node import PlannerNode, is_builtin
from sframe_spark.planner.operator import ALL_ROWS, DecomposableOperator, Need, Operator, SequentialOperator, with_final_rows
from sframe_spark.planner.row_sizes import Sizes, fixed_size, row_bytes
from sframe_spark.process.memory import batch_bytes
from sframe_spark.process.resource_limits import available_cores
from sframe_spark.udf.errors import failure
from sframe_spark.udf.pickling import fresh
from sframe_spark.udf.results import MadeResults

# The flat plan. A position is an index into its lists of operators and inputs.

# Python objects take about this many times the bytes of their Arrow values, so batches are shorter if users' functions are called.
BYTES_OF_OBJECTS = 8


@attrs.frozen(eq=False)
class Pipeline(SharedValue):
    """A plan as lists in postorder, so that it is pickled and run without recursion.

    Parameters
    ----------
    operators
        The operators, each after its inputs; the last one is the root.
    inputs
        The positions of each operator's inputs.
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
        places = {id(node): place for place, node in enumerate(nodes)}
        inputs = tuple(tuple(places[id(child)] for child in node.inputs) for node in nodes)
        sizes = sizes_of(root)
        operators, facts = tuple(node.operator for node in nodes), tuple(node.facts for node in nodes)
        return cls(operators, inputs, facts, tuple(sizes[id(node)] for node in nodes), batch_bytes())

    def places_below(self, place: int) -> list[int]:
        """Return the positions of an operator and of everything below it, inputs first."""
        keep = {place}
        for index in range(place, -1, -1):
            if index in keep:
                keep.update(self.inputs[index])
        return sorted(keep)

    def below(self, place: int) -> Pipeline:
        """Return the plan whose root is the operator at a position."""
        order = self.places_below(place)
        moved = {old: new for new, old in enumerate(order)}
        inputs = tuple(tuple(moved[child] for child in self.inputs[old]) for old in order)
        operators, facts = tuple(self.operators[i] for i in order), tuple(self.facts[i] for i in order)
        return Pipeline(operators, inputs, facts, tuple(self.sizes[i] for i in order), self.batch_bytes)

    def divided_places(self) -> tuple[int, ...]:
        """Return the positions of stored sources that are read by row range, not by lookup."""
        searched = {self.inputs[place][slot] for place, slot in self.lookup_slots()}
        return tuple(place for place, operator in enumerate(self.operators) if isinstance(operator, SegmentSource) and place not in searched)

    def with_sources(self, sources: Mapping[int, Source]) -> Pipeline:
        """Return the plan with some sources replaced, given by their positions."""
        operators = tuple(sources.get(place, operator) for place, operator in enumerate(self.operators))
        return attrs.evolve(self, operators=operators) if sources else self

    def sequential_places(self) -> list[int]:
        """Return the positions of operators with a running state, inputs first."""
        return [place for place, operator in enumerate(self.operators) if isinstance(operator, SequentialOperator)]

    def sequential_levels(self) -> list[list[int]]:
        """Return the positions of operators with a running state, grouped by depth: operators of one group do not depend on each other."""
        depths: list[int] = []
        for place, operator in enumerate(self.operators):
            depths.append(max((depths[child] for child in self.inputs[place]), default=0) + isinstance(operator, SequentialOperator))
        levels: dict[int, list[int]] = {}
        for place in self.sequential_places():
            levels.setdefault(depths[place], []).append(place)
        return [levels[depth] for depth in sorted(levels)]

    def input_facts(self, place: int) -> list[Facts]:
        """Return the facts of the inputs of an operator."""
        return [self.facts[child] for child in self.inputs[place]]

    def is_dense(self, place: int) -> bool:
        """Return whether the rows of an operator are numbered without gaps, as no operator below drops any."""
        waiting, seen = [place], set()
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
        """Return the positions and slots of inputs in which operators look up rows instead of reading batches."""
        slots = [(place, slot) for place, children in enumerate(self.inputs) for slot in range(len(children))]
        return frozenset((place, slot) for place, slot in slots if self.operators[place].requires(slot) is Need.LOOKUP)

    def stages(self) -> list[list[int]]:
        """Return the positions grouped by the number of expanding operators below them; a stage begins with such an operator.

        Operators above an expanding one have as many rows as it has, so they read nothing below it.
        """
        stage_of: list[int] = []
        for operator, children in zip(self.operators, self.inputs, strict=True):
            below = max((stage_of[child] for child in children), default=0)
            stage_of.append(below + operator.expands)
        stages: list[list[int]] = [[] for _ in range(max(stage_of) + 1)]
        for place, stage in enumerate(stage_of):
            stages[stage].append(place)
        return stages

    def calls_functions(self) -> bool:
        """Return whether operators call users' functions, for which values become Python objects."""
        widths = (sum(facts.width for facts in self.input_facts(place)) for place in range(len(self.operators)))
        return any(operator.user_functions(width) for operator, width in zip(self.operators, widths, strict=True))

    def batch_size(self, places: Iterable[int]) -> BatchSize:
        """Return a new batch size for the operators at some positions."""
        sizes = [self.sizes[place] for place in places]
        known = not any(None in found for found in sizes)
        most = bytes_of_batch(max(map(len, sizes), default=0), self.batch_bytes)
        if self.calls_functions():
            most //= BYTES_OF_OBJECTS
        return BatchSize(most, max((row_bytes(found, 0) for found in sizes), default=0.0), known)

    def uneven(self) -> frozenset[int]:
        """Return the positions of operators that have a column with values of variable length."""
        return frozenset(place for place, facts in enumerate(self.facts) if any(fixed_size(kind) is None for kind in facts.schema))


# Measuring the results of users' functions, so that a batch is cut if they get too large.

# A batch is cut only if its results exceed this many times the target size, as batches vary in size.
BATCHES_TO_CUT = 2


@attrs.define(eq=False)
class MeasuredCalls:
    """Measures the results of the users' functions of a plan.

    Parameters
    ----------
    operators
        The plan's operators, whose functions measure their results.
    by_place
        The measured results, by the position of their operator.
    unnumbered
        The positions of operators whose functions get no row numbers.
    reached
        For such positions, the base row up to which earlier batches have read.
    """

    operators: tuple[Operator, ...]
    by_place: dict[int, list[MadeResults]]
    unnumbered: frozenset[int]
    reached: dict[int, int] = attrs.Factory(dict)
    _next: dict[int, int] = attrs.Factory(dict)
    _may_cut: bool = False

    @classmethod
    def of(cls, operators: Sequence[Operator], widths: Sequence[int], batch_bytes: int) -> MeasuredCalls:
        """Return the operators with measuring functions, given their input widths.

        The operators are not changed if no function returns values of variable length.
        """
        by_place: dict[int, list[MadeResults]] = {}
        unnumbered: set[int] = set()
        measured: list[Operator] = []
        for place, (operator, width) in enumerate(zip(operators, widths, strict=True)):
            made: list[MadeResults] = []

            def change(function: PythonFunction, made: list[MadeResults] = made, place: int = place) -> PythonFunction:
                made.append(MadeResults(BATCHES_TO_CUT * batch_bytes))
                if not function.numbered:
                    unnumbered.add(place)
                return attrs.evolve(function, made=made[-1])

            measured.append(operator.with_user_functions(width, change))
            if made:
                by_place[place] = made
        if not any(differ_in_length(operators[place], widths[place]) for place in by_place):
            return cls(tuple(operators), {}, frozenset())
        every = list(chain.from_iterable(by_place.values()))
        for each in every:
            each.alone = len(every) == 1
        return cls(tuple(measured), by_place, frozenset(unnumbered))

    def begin(self, may_cut: bool) -> None:
        """Begin a batch, or begin it again after it was cut."""
        self._may_cut = may_cut

    def expect(self, places: Sequence[int], required: Sequence[Sequence[tuple[int, int]]], above: bool) -> None:
        """Announce the operators that are computed next: for base rows, or with ``above`` for rows of an expanding operator.

        A batch may be cut only if no function would be called twice for a row: the function gets row numbers, or reads rows strictly in order.
        """
        called = [place for place in places if place in self.by_place]
        in_turn = all(self._is_in_turn(required[place], above, place) for place in called if place in self.unnumbered)
        for place in called:
            self._next[place] = required[place][-1][1]
            for made in self.by_place[place]:
                made.begin(self._may_cut and in_turn, in_turn)

    def _is_in_turn(self, intervals: Sequence[tuple[int, int]], above: bool, place: int) -> bool:
        return len(intervals) == 1 and (above or intervals[0][0] == self.reached.get(place, intervals[0][0]))

    def release(self) -> None:
        """End a batch, and release its results."""
        self.reached.update(self._next)
        for made in chain.from_iterable(self.by_place.values()):
            made.release()


def differ_in_length(operator: Operator, width: int) -> bool:
    """Return whether a function of an operator returns values of variable length."""
    return any(fixed_size(kind) is None for kind in operator.types_made(width))


# Validation of the rows that kernels return: values of a wrong type would be misread.


def require_inferred(operator: Operator, inputs: Sequence[Any], chunk: Chunk, schema: Schema) -> Chunk:
    """Return the rows of an operator after checking their columns, types and, for row-wise operators, their number.

    Raises
    ------
    PlanInvariantError
        If they are not as inferred; the message names the operator and the column.
    """
    if not isinstance(chunk, Chunk):
        raise PlanInvariantError(f"the kernel of {operator.called()!r} gave a {type(chunk).__name__}: it gives a Chunk")
    columns = chunk.columns
    if len(columns) != len(schema):
        raise PlanInvariantError(f"the kernel of {operator.called()!r} gave {len(columns)} columns, its infer_type says {len(schema)}")
    for place, (column, column_type) in enumerate(zip(columns, schema, strict=True)):
        found = getattr(column, "type", None)
        if not isinstance(found, pa.DataType):
            raise PlanInvariantError(
                f"the kernel of {operator.called([place])!r} gave a {type(column).__name__} as column {place}: it gives Arrow arrays"
            )
        if len(column) != chunk.rows:
            message = f"{len(column):,} values in column {place} of a Chunk of {chunk.rows:,} rows"
            raise PlanInvariantError(f"the kernel of {operator.called([place])!r} gave {message}: one for each")
        if found is not column_type.physical and not found.equals(column_type.physical):
            said = f"its infer_type says {column_type}, which is {column_type.physical}"
            raise PlanInvariantError(
                f"the kernel of {operator.called([place])!r} gave Arrow's {found} in column {place}, {said}: cast it, or infer another type"
            )
    if operator.row_wise and inputs and chunk.rows != inputs[0].rows:
        raise PlanInvariantError(
            f"the kernel of {operator.called()!r} gave {chunk.rows:,} rows of {inputs[0].rows:,}, and it is row_wise: one for each"
        )
    return chunk


# Calls of plug-in operators: they get copies of states, and errors name the operator.

Result = TypeVar("Result")


def call_operator(operator: Operator, ask: Callable[[], Result]) -> Result:
    """Return the result of a call of an operator's method; unexpected errors of plug-in operators name the operator.

    Raises
    ------
    UserFunctionError
        If a plug-in operator raises an error that is not an SFrameError. The error is also an instance of that error's class.
    """
    try:
        return ask()
    except SFrameError:
        raise
    except Exception as error:
        if is_builtin(type(operator)):
            raise
        raise failure(f"the operator {operator.name!r}", error) from error


def advance(operator: SequentialOperator, inputs: Sequence[Any], facts: Sequence[Facts], state: Any) -> tuple[Chunk, Any]:
    """Advance a sequential operator over a batch; return the rows and the new state. The old state is not changed.

    Raises
    ------
    PlanInvariantError
        If the operator returns something else, or a wrong number of rows.
    """
    if is_builtin(type(operator)):
        return operator.advance(inputs, facts, state)
    found: Any = call_operator(operator, lambda: operator.advance(inputs, facts, fresh(state)))
    if not isinstance(found, tuple) or len(found) != 2 or not isinstance(found[0], Chunk):
        raise PlanInvariantError(
            f"advance() of the operator {operator.name!r} gave a {type(found).__name__}: it gives a Chunk and the state after it"
        )
    if operator.keeps_dense and found[0].rows != inputs[0].rows:
        said = f"{found[0].rows:,} rows for {inputs[0].rows:,}"
        raise PlanInvariantError(f"advance() of the operator {operator.name!r} gave {said}, and it keeps_dense: a row for each")
    return found[0], found[1]


def combine_parts(operator: DecomposableOperator, parts: Sequence[Any], facts: Sequence[Facts]) -> Any:
    """Merge the partial states of consecutive row ranges; the states of a plug-in operator are copied before."""
    if is_builtin(type(operator)):
        return operator.combined_all(parts, facts)
    return call_operator(operator, lambda: operator.combined_all([fresh(part) for part in parts], facts))


def combine_states(operator: Operator, combine: Callable[[Any, Any], Any], parts: Iterable[Any]) -> Any:
    """Combine the states of consecutive row ranges; the states of a plug-in operator are copied before."""
    if is_builtin(type(operator)):
        return reduce(combine, parts)
    return reduce(lambda first, second: call_operator(operator, lambda: combine(fresh(first), fresh(second))), parts)


Value = TypeVar("Value")
Interval = tuple[int, int]
RequiredRows = list[list[Interval]]
ValuesAt = dict[tuple[int, Interval], Chunk]

# With more threads, rows would be decoded faster than they are processed.
MAX_THREADS = 8


class PipelineRunner:
    """Computes the rows of a plan's root for consecutive intervals of the section's base rows.

    Parameters
    ----------
    plan
        The plan.
    states
        The state of each sequential operator before the first interval, by position; a missing one is the initial state.
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
        widths = [sum(facts.width for facts in plan.input_facts(place)) for place in range(len(plan.operators))]
        self.measured = MeasuredCalls.of(plan.operators, widths, plan.batch_bytes)
        self.plan = plan = attrs.evolve(plan, operators=self.measured.operators)
        self.in_one_batch = in_one_batch
        self.threads = threads
        self.coded = coded if len(plan.operators) == 1 else ()
        self.readers: dict[int, Reader] = {}
        self.states = dict(states or {})
        self.lookup_slots = plan.lookup_slots()
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
        """Return the rows for base rows ``start`` (inclusive) to ``stop`` (exclusive) as one chunk; ``final`` means that no base rows follow."""
        return concatenate(list(self.chunks(start, stop, final, ALL_ROWS)), self.plan.facts[-1].schema)

    def chunks(self, start: int, stop: int, final: bool, max_rows: int) -> Iterator[Chunk]:
        """Yield the same rows in chunks, lazily. There is more than one if operators expand rows or a batch is cut."""
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
                made = evaluate(rows)
            except ResultsTooLongError as cut:
                rows = max(1, min(rows - 1, rows * cut.done // cut.requested))
            else:
                self.measured.release()
                return made, rows

    def _stage(self, number: int, required: RequiredRows, base: ValuesAt, final: bool, max_rows: int) -> Iterator[tuple[ValuesAt, bool]]:
        """Yield the values of a stage for each chunk of the stage below, and whether they are the last."""
        if not number:
            yield base, True
            return
        place = self.stages[number][0]
        operator, facts = self.plan.operators[place], self.plan.input_facts(place)
        (interval,) = required[place]
        children = self._children(place, interval)
        batch = self.batches[number]
        for below, is_last_below in self._stage(number - 1, required, base, final, max_rows):
            inputs = self._inputs(place, [below[child] for child in children])
            for chunk, is_last_chunk in with_last(operator.pieces(inputs, facts, lambda: batch.rows(max_rows))):
                yield from self._above(number, required, chunk, final, is_last_below and is_last_chunk)

    def _above(self, number: int, required: RequiredRows, chunk: Chunk, final: bool, is_last: bool) -> Iterator[tuple[ValuesAt, bool]]:
        """Yield the values of a stage for the rows of one chunk of its first operator, and whether they are the last."""
        place = self.stages[number][0]
        key = (place, required[place][0])
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
        """Compute the values of a stage, given those of its first operator.

        Values are dropped after they were read; ``rows`` is the number of input rows.
        """
        remaining = self._reads(number, required)
        self.measured.expect(self.stages[number], required, number > 0)
        largest = 0
        for place in self.stages[number]:
            for interval in required[place]:
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
        """Yield the rows in order, one batch of base rows at a time; ``final`` means that no base rows follow ``stop``."""
        if stop <= start:
            yield from self.chunks(start, start, final, batch_rows)
            return
        first = start
        try:
            while first < stop:
                last = self.end_of_batch(first, stop, batch_rows)
                yield from self.chunks(first, last, final and last == stop, batch_rows)
                first = last
        finally:
            for reader in self.readers.values():
                reader.close()

    def end_of_batch(self, first: int, stop: int, batch_rows: int) -> int:
        """Return where a batch of base rows that begins at ``first`` ends: earlier than requested if rows are long."""
        last = min(first + self.batches[0].rows(batch_rows), stop)
        last = last if last == stop else self.before_read_afresh(first, last)
        known = [place for place in self.stages[0] if place in self.uneven and knows_bytes(self.plan.operators[place])]
        # Rows may be longer in some regions of a source than in others.
        while known and last - first > 1 and self._bytes_between(known, first, last) > 2 * self.plan.batch_bytes:
            last = first + (last - first) // 2
        return last

    def before_read_afresh(self, first: int, last: int) -> int:
        """Return where to end a batch of base rows: at ``last``, or earlier, at a row-group boundary of the only source."""
        sources = [place for place, operator in enumerate(self.plan.operators) if isinstance(operator, Source)]
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

    def _bytes_between(self, places: Sequence[int], start: int, stop: int) -> float:
        """Return the bytes of the rows of some operators that some base rows require."""
        required = self.required(start, stop)
        return sum(self._bytes_of(place, *interval) for place in places for interval in required[place])

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
            if (place, slot) in self.lookup_slots:
                continue
            first, last = operator.input_interval(slot, interval[0], interval[1], facts)
            rows = facts[slot].length.rows
            first = max(first, 0)
            if rows is not None and (first, last) != interval:
                first, last = min(first, rows), min(last, rows)
            result.append((child, (first, max(first, last))))
        return result

    def _inputs(self, place: int, chunks: Sequence[Chunk]) -> list[Any]:
        """Return the inputs for a kernel: chunks, and lookups, which are reused for all batches of a task."""
        remaining = iter(chunks)
        slots = enumerate(self.plan.inputs[place])
        return [self.lookup(place, slot, child) if (place, slot) in self.lookup_slots else next(remaining) for slot, child in slots]

    def lookup(self, place: int, slot: int, child: int) -> Lookup:
        """Return the lookup with which an operator searches the source at a slot."""
        if child not in self.lookups:
            source = self.plan.operators[child]
            assert isinstance(source, Source)
            self.lookups[child] = Lookup.of(source)
        if (place, slot) not in self.read_by:
            self.read_by[place, slot] = self.lookups[child].for_reader()
        return self.read_by[place, slot]

    def required(self, start: int, stop: int) -> RequiredRows:
        """Return for each operator the intervals of its rows that are read for rows ``start`` to ``stop`` of the root."""
        count = len(self.plan.operators)
        required: list[dict[Interval, None]] = [{} for _ in range(count)]
        required[count - 1][(start, stop)] = None
        for place in range(count - 1, -1, -1):
            for interval in required[place]:
                for child, needed in self._children(place, interval):
                    required[child][needed] = None
        return [list(intervals) for intervals in required]

    def _reads(self, number: int, required: RequiredRows) -> dict[tuple[int, Interval], int]:
        reads: dict[tuple[int, Interval], int] = {}
        for place in self.stages[number]:
            for interval in required[place]:
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
                chunk, self.states[place] = advance(operator, inputs, facts, self.states[place])
                return with_final_rows(chunk, operator.finish(facts, self.states[place])) if final else chunk
            return call_operator(operator, lambda: operator.run_interval(inputs, facts, interval[0], interval[1], needed))
        except ConversionError as error:
            if isinstance(operator, SequentialOperator):
                raise
            raise error.counted_from(interval[0] if self.plan.is_dense(place) else None) from None
        except pa.ArrowCapacityError:
            made = f"{operator.called()} makes over 2 GiB of texts or lists from {interval[1] - interval[0]:,} rows at once, more than an array holds"
            raise TooLargeError(f"{made}: set config.batch_rows to fewer rows, or make shorter values") from None


def local_threads() -> int:
    """Return how many threads run a plan in this process."""
    return min(available_cores(), MAX_THREADS)


def knows_bytes(operator: Operator) -> bool:
    """Return whether an operator knows the bytes of its rows before they are computed."""
    return operator.is_source or operator.counts_rows


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
