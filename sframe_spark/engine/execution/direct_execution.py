"""Direct execution of few rows in memory: kernels compute the required columns one after the other, without a plan.

Planning takes as long for ten rows as for ten million, and as long as running a hundred kernels over ten rows.
See docs/decisions/038-few-rows-without-a-plan.md.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs
import pyarrow as pa

from sframe_spark.config import config
from sframe_spark.engine.execution.run_log import RunLog, SectionOutcome
from sframe_spark.engine.graph_lock import GRAPH_LOCK
from sframe_spark.engine.physical.sections import THE_RESULT, Mode
from sframe_spark.engine.runtime.pipeline import require_inferred
from sframe_spark.errors import SFrameError
from sframe_spark.operators.lookup.cached_reader import Lookup
from sframe_spark.operators.sources.in_memory import MemorySource
from sframe_spark.operators.sources.source import Source, recorded_order
from sframe_spark.operators.udf_calls import calls_plugins, complete_source, functions_of
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.facts import Facts, Length
from sframe_spark.planner.node import PlannerNode, is_builtin
from sframe_spark.planner.operator import Need, Operator, SequentialOperator
from sframe_spark.storage.manifest.statistics import NO_RECORDED_ORDER, RecordedOrder

# Limits of direct execution for each node. For more rows or bytes, laws and batches save more time than they cost.
MAX_ROWS = 4_096
MAX_BYTES = 8 << 20
# Limit in bytes for the columns of all nodes together.
MAX_TOTAL_BYTES = 64 << 20

# Limits for finding the order of the result, which looks at all columns of all nodes' inputs: so many columns, and so many for each required one.
MAX_COLUMNS_PASSED, MAX_COLUMNS_PASSED_FOR_EACH = 1_000, 4

# After running a graph of more nodes than this, computed columns are stored in it for the next action: otherwise a column that is changed and
# displayed in turn would be recomputed from the start each time.
MAX_NODES_RECOMPUTED = 32

# After one of these errors the plan is run. It raises the error with the number of its row, or does not compute the value at all.
FAILURES = (SFrameError, ArithmeticError, LookupError, TypeError, ValueError, MemoryError, pa.ArrowException)


class _NeedsPlanError(Exception):
    """The rows need a plan: they come from files or Spark, call users' functions or plug-ins, or are too many."""


def few_rows(root: PlannerNode) -> Chunk | None:
    """Return all rows of a node that has few, computed from rows in memory; None if they need a plan, or if computing them fails."""
    result = _run_directly(root)
    return None if result is None else result.rows


def direct_source(root: PlannerNode) -> PlannerNode | None:
    """Return a source with the rows of a node that has few, computed from rows in memory; None if they need a plan, or if computing them fails."""
    result = _run_directly(root)
    return None if result is None else PlannerNode(MemorySource.of(result.rows, root.schema, result.order))


def needs_no_plan(root: PlannerNode) -> bool:
    """Return whether the rows of a node can probably be computed without a plan; nothing is computed."""
    if not _may_be_few(root):
        return False
    try:
        with GRAPH_LOCK:
            DirectRun(_max_rows(), 0).find(root)
    except _NeedsPlanError:
        return False
    return True


@attrs.frozen(eq=False)
class DirectResult:
    """The computed rows of a node, and the order that is recorded for them."""

    rows: Chunk
    order: RecordedOrder


def _run_directly(root: PlannerNode) -> DirectResult | None:
    if not _may_be_few(root):
        return None
    began = time.perf_counter()
    try:
        with GRAPH_LOCK:
            run = DirectRun(_max_rows(), min(MAX_BYTES, config.memory_budget))
            rows, order = run.rows(root), run.recorded_row_order
            if len(run.order) > MAX_NODES_RECOMPUTED:
                run.keep_columns(root)
    except _NeedsPlanError:
        return None
    root.ran = RunLog()
    if not root.operator.is_source:
        operators = tuple(node.operator_type for node in run.order)
        number = root.ran.next_number("")
        root.ran.outcomes.append(
            SectionOutcome(number, Mode.FEW, operators, (), THE_RESULT, time.perf_counter() - began, rows=rows.rows, size=rows.size)
        )
    return DirectResult(rows, order)


def _max_rows() -> int:
    return min(MAX_ROWS, config.small_rows)


def _may_be_few(root: PlannerNode) -> bool:
    """Return whether the first source below a node has few rows in memory: a cheap test that rules out most nodes that need a plan."""
    node, max_rows = root, _max_rows()
    if config.check == "result" or (root.length.rows is not None and root.length.rows > max_rows):
        return False
    while node.inputs:
        node = node.inputs[0]
    return node.operator.is_in_memory and node.length.rows is not None and node.length.rows <= max_rows


@attrs.define(eq=False)
class DirectRun:
    """One direct execution: required columns are found from the result down to the sources, and computed from the sources up.

    Parameters
    ----------
    max_rows, max_bytes
        Limits for the rows and bytes of each node.
    required
        The required columns of each node, by its ``id``.
    reads
        For each node the columns of its inputs that are read to compute these, by slot; inputs of which no column is read are left out.
    operators, inputs
        The operator that computes each node, and its inputs.
    order
        The nodes, each after its inputs.
    values, counts
        The arrays of each node by column, and its number of rows.
    """

    max_rows: int
    max_bytes: int
    required: dict[int, set[int]] = attrs.Factory(dict)
    reads: dict[int, dict[int, set[int]]] = attrs.Factory(dict)
    operators: dict[int, Operator] = attrs.Factory(dict)
    inputs: dict[int, Sequence[PlannerNode]] = attrs.Factory(dict)
    order: list[PlannerNode] = attrs.Factory(list)
    values: dict[int, dict[int, pa.Array]] = attrs.Factory(dict)
    counts: dict[int, int] = attrs.Factory(dict)
    size: int = 0
    recorded_row_order: RecordedOrder = NO_RECORDED_ORDER

    def rows(self, root: PlannerNode) -> Chunk:
        """Return all rows of a node.

        Raises
        ------
        _NeedsPlanError
            If the rows need a plan.
        """
        self.find(root)
        width = root.facts.width
        for node in self.order:
            self._compute(node)
        values = self.values[id(root)]
        return Chunk(tuple([values[column] for column in range(width)]), self.counts[id(root)])

    def keep_columns(self, root: PlannerNode) -> None:
        """Replace nodes of programs that other operators read by their computed values, if all their columns were computed.

        The caller holds the lock.
        """
        read = [child for node in self.order if not node.operator.is_program for child in self.inputs[id(node)]]
        for node in {id(node): node for node in read}.values():
            is_free = node.claim is None or node.claim.done.is_set()
            if node is root or not node.operator.is_program or functions_of(node) or not is_free:
                continue
            if len(self.required.get(id(node), ())) == node.facts.width:
                rows = self._chunk(node, range(node.facts.width))
                node.splice(PlannerNode(MemorySource.of(rows, node.schema)))

    def find(self, root: PlannerNode) -> None:
        """Find the required columns of each node, the order in which to compute nodes, and the recorded order of the result.

        Raises
        ------
        _NeedsPlanError
            If a node needs a plan.
        """
        self._find_columns_read(root, range(root.facts.width))
        self._put_in_order(root)
        self.recorded_row_order = self.known_order(root)

    def known_order(self, root: PlannerNode) -> RecordedOrder:
        """Return the known order of the rows, apart from what the statistics of single columns say.

        Raises
        ------
        _NeedsPlanError
            If finding it would take longer than planning.
        """
        if root.facts.width == 1 or not any(map(self._sets_an_order, self.order)):
            return NO_RECORDED_ORDER
        passed = sum(child.facts.width for node in self.order for child in node.inputs)
        if passed > MAX_COLUMNS_PASSED + MAX_COLUMNS_PASSED_FOR_EACH * sum(map(len, self.required.values())):
            raise _NeedsPlanError
        return recorded_order(root)

    def _sets_an_order(self, node: PlannerNode) -> bool:
        operator = self.operators[id(node)]
        if operator.is_source:
            return isinstance(operator, MemorySource) and operator.order is not NO_RECORDED_ORDER
        passes = operator.arranges_columns or operator.is_program or operator.filters or operator.unites_rows or operator.counts_rows
        return not passes and operator.row_range is None

    def _find_columns_read(self, root: PlannerNode, columns: Iterable[int]) -> None:
        """Collect the required columns of each node; a node with several readers is visited for the columns of each."""
        waiting = [(root, columns)]
        while waiting:
            node, requested = waiting.pop()
            known = self.required.get(id(node))
            if known is None:
                self.required[id(node)] = known = set()
                self.reads[id(node)] = {}
                self.operators[id(node)] = operator_without_plan(node)
                self.inputs[id(node)] = united_inputs(node) if node.operator.unites_rows else node.inputs
                new = [*requested]
            else:
                new = [column for column in requested if column not in known]
                if not new:
                    continue
            known.update(new)
            for slot, positions in self._read_for(node, new).items():
                self.reads[id(node)].setdefault(slot, set()).update(positions)
                waiting.append((self.inputs[id(node)][slot], positions))

    def _read_for(self, node: PlannerNode, columns: Sequence[int]) -> Mapping[int, Sequence[int]]:
        """Return the columns of the inputs, by slot, that are needed to compute some columns of a node."""
        operator, inputs = self.operators[id(node)], self.inputs[id(node)]
        if operator.is_source:
            return {}
        if operator.arranges_columns:
            result: dict[int, list[int]] = {}
            for slot, position in operator.origins_of(columns, inputs):
                result.setdefault(slot, []).append(position)
            return result
        if len(inputs) == 1 and inputs[0].facts.width == 1:
            return {0: (0,)}
        requested = operator.input_columns(columns, [child.facts for child in inputs])
        # An operator that only counts rows asks for the first column, which a frame without columns lacks.
        read = {
            slot: [p for p in positions if 0 <= p < child.facts.width] for slot, (positions, child) in enumerate(zip(requested, inputs, strict=True))
        }
        return {slot: positions for slot, positions in read.items() if positions} or {0: range(min(inputs[0].facts.width, 1))}

    def _put_in_order(self, root: PlannerNode) -> None:
        """Put the nodes with required columns into ``order``, each after its inputs."""
        opened: set[int] = set()
        waiting: list[tuple[PlannerNode, bool]] = [(root, False)]
        while waiting:
            node, is_opened = waiting.pop()
            if is_opened:
                self.order.append(node)
            elif id(node) not in opened:
                opened.add(id(node))
                waiting.append((node, True))
                inputs = self.inputs[id(node)]
                waiting.extend([(inputs[slot], False) for slot in self.reads[id(node)]])

    def _compute(self, node: PlannerNode) -> None:
        operator, required = self.operators[id(node)], self.required[id(node)]
        if isinstance(operator, Source):
            values = self._of_source(operator, node, sorted(required))
        elif operator.arranges_columns:
            values = self._arranged(operator, node, required)
        else:
            values = self._of_kernel(operator, node)
        if self.counts[id(node)] > self.max_rows or not values:
            raise _NeedsPlanError
        self.values[id(node)] = values

    def _of_source(self, source: Source, node: PlannerNode, columns: list[int]) -> dict[int, pa.Array]:
        self.counts[id(node)] = rows = source.row_count
        if rows > self.max_rows:
            raise _NeedsPlanError
        if isinstance(source, MemorySource) and isinstance(source.data, Chunk) and rows == source.data.rows:
            arrays = source.data.columns
            values = {column: arrays[source.positions[column]] for column in columns}
            self._count_bytes(Chunk(tuple(values.values()), rows))
            return values
        narrowed = None if len(columns) == node.facts.width else source.with_columns(columns)
        result = (narrowed or source).read(0, rows)
        self._count_bytes(result)
        return dict(zip(columns if narrowed else range(node.facts.width), result.columns, strict=True))

    def _arranged(self, operator: Operator, node: PlannerNode, columns: set[int]) -> dict[int, pa.Array]:
        inputs, values, counts = node.inputs, {}, set()
        for column, (slot, position) in zip(columns, operator.origins_of([*columns], inputs), strict=True):
            values[column] = self.values[id(inputs[slot])][position]
            counts.add(self.counts[id(inputs[slot])])
        if len(counts) != 1:
            raise _NeedsPlanError
        self.counts[id(node)] = counts.pop()
        return values

    def _of_kernel(self, operator: Operator, node: PlannerNode) -> dict[int, pa.Array]:
        inputs, schema = self.inputs[id(node)], node.schema
        outputs: Sequence[int] = range(node.facts.width)
        columns, kept, left = self._columns_read(node)
        is_whole = len(columns) == len(outputs) and all(len(part) == child.facts.width for part, child in zip(kept, inputs, strict=True))
        if not is_whole:
            changed = operator.over_columns(columns, kept, [child.facts for child in inputs])
            if changed is not None:
                operator, outputs = changed
            elif any(len(part) < child.facts.width for part, child in zip(kept, inputs, strict=True)):
                raise _NeedsPlanError
        chunks = [self._chunk(child, part) for child, part in left]
        facts = [self._facts(child, part) for child, part in left]
        if not is_whole:
            schema = operator.infer_type(facts)
        try:
            made = require_inferred(operator, chunks, self._made(operator, chunks, facts), schema)
        except FAILURES as error:
            raise _NeedsPlanError from error
        self._count_bytes(made)
        self.counts[id(node)] = made.rows
        return dict(zip(outputs, made.columns, strict=True))

    def _columns_read(self, node: PlannerNode) -> tuple[list[int], list[list[int]], list[tuple[PlannerNode, list[int]]]]:
        """Return the required columns of a node, the columns read of each input, and the inputs to read with these columns."""
        reads, inputs = self.reads[id(node)], self.inputs[id(node)]
        kept = [sorted(reads.get(slot, ())) for slot in range(len(inputs))]
        left = [(child, part) for child, part in zip(inputs, kept, strict=True) if part or not child.facts.width]
        return sorted(self.required[id(node)]), kept, left

    def _made(self, operator: Operator, chunks: Sequence[Chunk], facts: Sequence[Facts]) -> Chunk:
        """Run the kernel of an operator on all rows of its inputs."""
        if operator.counts_rows:
            sides: list[Any] = [Lookup.of_rows(chunk, item.schema) for chunk, item in zip(chunks, facts, strict=True)]
            operator = operator.counted(sides, facts)
            rows = operator.infer_length(facts).known_rows
            if rows > self.max_rows:
                raise _NeedsPlanError
            return operator.run_interval(sides, facts, 0, rows, ())
        takes_all = isinstance(operator, SequentialOperator) or operator.unites_rows or not operator.has_kernel
        if takes_all or type(operator).run_interval is Operator.run_interval:
            return operator.kernel(chunks, facts)
        rows = operator.infer_length(facts).known_rows
        if rows > self.max_rows:
            raise _NeedsPlanError
        intervals, parts = [], []
        for slot, chunk in enumerate(chunks):
            start, stop = operator.input_interval(slot, 0, rows, facts)
            start = max(start, 0)
            if (start, stop) != (0, rows):
                start, stop = min(start, chunk.rows), min(stop, chunk.rows)
            intervals.append((start, max(start, stop)))
            parts.append(chunk.slice(*intervals[-1]))
        return operator.run_interval(parts, facts, 0, rows, intervals)

    def _chunk(self, node: PlannerNode, columns: Sequence[int]) -> Chunk:
        values = self.values[id(node)]
        return Chunk(tuple([values[column] for column in columns]), self.counts[id(node)])

    def _facts(self, node: PlannerNode, columns: Sequence[int]) -> Facts:
        facts = node.facts
        if len(columns) == facts.width and facts.length.rows is not None:
            return facts
        return Facts(tuple([facts.schema[column] for column in columns]), Length.exactly(self.counts[id(node)]), facts.domain)

    def _count_bytes(self, rows: Chunk) -> None:
        size = rows.size
        self.size += size
        if size > self.max_bytes or self.size > MAX_TOTAL_BYTES:
            raise _NeedsPlanError


def united_inputs(node: PlannerNode) -> list[PlannerNode]:
    """Return the inputs of a union, with those of nested unions in place of these, so that frames appended one by one are concatenated once."""
    result: list[PlannerNode] = []
    waiting = [*node.inputs[::-1]]
    while waiting:
        child = waiting.pop()
        if child.operator.unites_rows and child.operator == node.operator:
            waiting.extend(child.inputs[::-1])
        else:
            result.append(child)
    return result


def operator_without_plan(node: PlannerNode) -> Operator:
    """Return the operator that computes a node of few rows directly.

    Raises
    ------
    _NeedsPlanError
        If the node needs a plan.
    """
    operator = node.operator
    if operator.arranges_columns:
        return operator
    if operator.is_source:
        if not operator.is_in_memory:
            raise _NeedsPlanError
        return operator
    if not is_builtin(type(operator)) or not operator.deterministic or operator.expands or calls_plugins(operator):
        raise _NeedsPlanError
    if functions_of(node):
        complete = complete_source(node)
        if complete is None:
            raise _NeedsPlanError
        return complete.operator
    if not operator.has_kernel and not operator.has_whole_kernel:
        of_few = operator.in_memory()
        if of_few is None:
            raise _NeedsPlanError
        operator = of_few
    if not operator.counts_rows and any(operator.requires(slot) is Need.LOOKUP for slot in range(len(node.inputs))):
        raise _NeedsPlanError
    return operator
