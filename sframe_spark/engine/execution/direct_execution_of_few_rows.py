"""Direct execution of few rows, in memory or saved, without a plan: kernels compute the required columns one after the other.

This saves the time for planning, which is the same for ten rows as for ten million, and as long as running a hundred kernels over ten rows.
See docs/decisions/038-few-rows-without-a-plan.md.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any, ClassVar

import attrs
import pyarrow as pa

from sframe_spark.config import config
from sframe_spark.engine import costs
from sframe_spark.engine.execution.run_log import RunLog, SectionOutcome
from sframe_spark.engine.graph_lock import GRAPH_LOCK
from sframe_spark.engine.physical.placement_and_blocking_inputs import is_thread_safe
from sframe_spark.engine.runtime.checked_kernel_calls import call_operator, require_inferred
from sframe_spark.engine.shapes.section_tree import THE_RESULT, Shape, Strategy, Workers
from sframe_spark.errors import SFrameError
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.operators.project_zip_arrange import arranged_origins
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource, Source, recordable_order
from sframe_spark.operators.sources.in_memory import MemorySource
from sframe_spark.operators.user_function_calls_and_result_memos import complete_source, functions_of, is_of_plugin
from sframe_spark.paths_and_uris import is_remote_location
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Length
from sframe_spark.planner.operator import ExpandingOperator, Need, Operator, SequentialOperator
from sframe_spark.planner.operator_declarations import RowChoice, SourceKind
from sframe_spark.process.memory import memory_budget
from sframe_spark.storage.manifest.recorded_order import NO_RECORDED_ORDER, RecordedOrder

with lazy_imports(globals()):
    from sframe_spark.engine.shapes.plan_part_and_gathered_rows import PlanPart
    from sframe_spark.engine.shapes.section_runner import SectionRunner
    from sframe_spark.engine.shapes.section_tree import ReplanNeeded, Section
    from sframe_spark.operators.lookup.cached_reader import Lookup
    from sframe_spark.order.properties import OrderingProperties, RelationProperties
    from sframe_spark.planner.operator_capabilities import operator_for_few_rows

# After any of these errors the plan is run: it raises the error with the row number, or does not need the value that failed.
FAILURES = (SFrameError, ArithmeticError, LookupError, TypeError, ValueError, MemoryError, pa.ArrowException)


class _NeedsPlanError(Exception):
    """The rows need a plan: they are too many, in other files or in Spark, or call functions of users, or of plug-ins that are not for threads."""


@attrs.frozen
class FewRowsShape(Shape):
    """Few rows, which are computed directly, without a plan: the planner never chooses this shape."""

    name: ClassVar[str] = "few rows"

    def workers_for(self, part: PlanPart) -> Workers | None:
        """Return the driver if the rows can probably be computed without a plan."""
        return Workers.DRIVER if needs_no_plan(part.root) else None

    def run(self, section: Section, runner: SectionRunner) -> PlannerNode | ReplanNeeded:
        """Compute the rows and return a source of them; if they need a plan, return the node to be planned."""
        return direct_source(section.root) or ReplanNeeded(section.root)


DIRECTLY = Strategy(FewRowsShape(), Workers.DRIVER)


def few_rows(root: PlannerNode) -> Chunk | None:
    """Return all rows of a node that has few, or None if they need a plan, or if computing them fails."""
    run = _run_directly(root)
    return None if run is None else run.result


def direct_source(root: PlannerNode) -> PlannerNode | None:
    """Return a source with the rows of a node that has few, or None if they need a plan, or if computing them fails."""
    run = _run_directly(root)
    return None if run is None else PlannerNode(MemorySource.of(run.result, root.schema, run.recorded_row_order()))


def needs_no_plan(root: PlannerNode) -> bool:
    """Return whether the rows of a node can probably be computed without a plan; nothing is computed."""
    if not _may_be_few(root):
        return False
    try:
        with GRAPH_LOCK:
            DirectRun(root, _max_rows(), 0).find()
    except _NeedsPlanError:
        return False
    return True


def _run_directly(root: PlannerNode) -> DirectRun | None:
    """Compute the rows of a node without a plan, and log the run; return None if the rows need a plan."""
    if not _may_be_few(root):
        return None
    began = time.perf_counter()
    try:
        with GRAPH_LOCK:
            run = DirectRun(root, _max_rows(), min(costs.MAX_BYTES_RUN_DIRECTLY, memory_budget()))
            run.find()
            is_built_in = not any(is_of_plugin(step.operator) for step in run.order)
            # The code of a plug-in may wait for threads that compute frames, too.
            is_short = is_built_in and run.is_short()
            if is_short:
                run.compute()
        if not is_short:
            run.compute()
        if is_built_in and len(run.order) > costs.MAX_NODES_RECOMPUTED:
            with GRAPH_LOCK:
                run.keep_columns()
    except _NeedsPlanError:
        return None
    root.ran = RunLog()
    if not root.operator.is_source:
        operators, rows = tuple(step.node.operator_type for step in run.order), run.result
        number = root.ran.next_number("")
        root.ran.outcomes.append(
            SectionOutcome(number, DIRECTLY, operators, (), THE_RESULT, time.perf_counter() - began, rows=rows.rows, size=rows.size)
        )
    return run


def _max_rows() -> int:
    return min(costs.MAX_ROWS_RUN_DIRECTLY, config.small_rows)


def _may_be_few(root: PlannerNode) -> bool:
    """Return whether the first source below a node has few rows, in memory or saved: a cheap test that rules out most nodes that need a plan."""
    node, max_rows = root, _max_rows()
    if config.check == "result" or (root.length.rows is not None and root.length.rows > max_rows):
        return False
    while node.inputs:
        node = node.inputs[0]
    return _is_at_hand(node.operator) and node.length.rows is not None and node.length.rows <= max_rows


def _is_at_hand(operator: Operator) -> bool:
    """Return whether a source is in memory, or in one local file of this package: of several files a plan may leave some out."""
    if operator.source_kind is SourceKind.MEMORY:
        return True
    if not isinstance(operator, SegmentSource):
        return False
    manifest = operator.manifest
    return len(manifest.segments) == 1 and not manifest.watched and not is_remote_location(manifest.directory)


def _leaves_out_many(node: PlannerNode) -> bool:
    """Return whether a plan would leave out most rows below a slice: no operator between it and the rows of a source needs all of them."""
    below = node.inputs[0]
    while below.inputs and (
        below.operator.arranges_columns
        or below.operator.is_program
        or below.operator.row_range is not None
        or below.operator.row_choice in (RowChoice.FILTER, RowChoice.UNITE)
    ):
        below = below.inputs[0]
    return not below.inputs and not _is_short(below)


def _is_short(source: PlannerNode) -> bool:
    """Return whether a source has so few rows, in memory, that computing all of them takes no longer than planning."""
    rows = source.length.rows
    return source.operator.source_kind is SourceKind.MEMORY and rows is not None and rows <= costs.MAX_ROWS_FOR_SLICE_RUN_DIRECTLY


@attrs.define(eq=False)
class DirectStep:
    """How a node is computed directly, and its values once they are computed.

    Parameters
    ----------
    node
        The node.
    operator, inputs
        The operator that computes it, and its inputs.
    required
        The required columns.
    reads
        The columns of its inputs that are read to compute the required columns, by slot; inputs of which no column is read are left out.
    narrowed, columns
        The operator that computes the required columns alone, and which columns it gives; set when the rows are computed.
    values, rows
        The arrays of its columns, by position, and its number of rows.
    """

    node: PlannerNode
    operator: Operator
    inputs: Sequence[PlannerNode]
    required: set[int] = attrs.Factory(set)
    reads: dict[int, set[int]] = attrs.Factory(dict)
    narrowed: Operator | None = None
    columns: Sequence[int] = ()
    values: dict[int, pa.Array] = attrs.Factory(dict)
    rows: int = 0

    def chunk(self, columns: Iterable[int]) -> Chunk:
        """Return some columns of the computed rows."""
        return Chunk(tuple([self.values[column] for column in columns]), self.rows)

    def facts(self, columns: Sequence[int]) -> Facts:
        """Return the facts of some columns of the computed rows."""
        facts = self.node.facts
        if len(columns) == facts.width and facts.length.rows is not None:
            return facts
        return Facts(tuple([facts.schema[column] for column in columns]), Length.exactly(self.rows), facts.domain)


@attrs.define(eq=False)
class DirectRun:
    """One direct execution: required columns are found from the result down to the sources, and computed from the sources up.

    Parameters
    ----------
    root
        The node whose rows are computed.
    max_rows, max_bytes
        Limits for the rows and bytes of each node.
    steps
        The steps by ``id`` of their nodes.
    order
        The steps, each after the steps of its inputs.
    size
        The bytes of all computed columns.
    """

    root: PlannerNode
    max_rows: int
    max_bytes: int
    steps: dict[int, DirectStep] = attrs.Factory(dict)
    order: list[DirectStep] = attrs.Factory(list)
    size: int = 0

    @property
    def result(self) -> Chunk:
        """All computed rows of the root."""
        return self.steps[id(self.root)].chunk(range(self.root.facts.width))

    def is_short(self) -> bool:
        """Return whether the rows take so little time that other threads may wait meanwhile."""
        return all(_is_short(step.node) for step in self.order if step.operator.is_source)

    def compute(self) -> None:
        """Compute all rows of the root, for which :meth:`find` has found the steps. Nodes that are replaced meanwhile make no difference.

        Raises
        ------
        _NeedsPlanError
            If the rows need a plan.
        """
        for step in self.order:
            operator = step.operator
            if isinstance(operator, Source):
                self._read_source(operator, step)
            elif operator.arranges_columns:
                self._arrange(step)
            else:
                self._run_kernel(step)
            if step.rows > self.max_rows or not step.values:
                raise _NeedsPlanError

    def keep_columns(self) -> None:
        """Replace nodes of element-wise programs by sources of their computed values, so that later runs start from these.

        Only nodes that an operator of another kind reads, and whose columns were all computed, are replaced. The caller holds the lock.
        """
        read = [child for step in self.order if not step.node.operator.is_program for child in step.inputs]
        for node in {id(node): node for node in read}.values():
            is_free = node.claim is None or node.claim.done.is_set()
            if node is self.root or not node.operator.is_program or functions_of(node) or not is_free:
                continue
            step, columns = self.steps.get(id(node)), range(node.facts.width)
            if step is not None and len(step.required) == len(columns):
                node.splice(PlannerNode(MemorySource.of(step.chunk(columns), node.schema)))

    def find(self) -> None:
        """Find the required columns of each node, and the order in which to compute nodes.

        Raises
        ------
        _NeedsPlanError
            If a node needs a plan.
        """
        self._find_columns_read()
        self._put_in_order()

    def recorded_row_order(self) -> RecordedOrder:
        """Return the order to record for the computed rows of the result, derived for the required columns of each step alone."""
        width = self.root.facts.width
        if width == 1 or self.steps[id(self.root)].rows <= 1 or not any(map(self._sets_an_order, self.order)):
            return NO_RECORDED_ORDER
        known: dict[int, RelationProperties] = {}
        for step in self.order:
            properties = self._properties_of(step, known)
            if properties.order.facts.cases:
                # What holds in some cases only seldom says anything that is recorded, and takes longer than all else.
                properties = properties.reordered(OrderingProperties.of(properties.order.facts._replace(cases=())))
            if step.rows <= 1 and not properties.order.at_most_one_row:
                properties = properties.reordered(properties.order.add(keys=[()]))
            known[id(step.node)] = properties
        return recordable_order(self._projected(self.root, range(width), known))

    def _properties_of(self, step: DirectStep, known: Mapping[int, RelationProperties]) -> RelationProperties:
        """Return what is known about the rows of a step, in its ``columns``, by what is known about those of its inputs."""
        if isinstance(step.operator, Source):
            narrowed = step.operator.with_columns(step.columns)
            return step.operator.infer_properties((), ()).project(step.columns) if narrowed is None else narrowed.infer_properties((), ())
        if step.operator.arranges_columns:
            origins = list(arranged_origins(step.operator, step.columns, step.inputs))
            slots = dict.fromkeys(slot for slot, _ in origins)
            read = {slot: [position for at, position in origins if at == slot] for slot in slots}
            sides = [self._projected(step.inputs[slot], positions, known) for slot, positions in read.items()]
            starts = dict(zip(slots, accumulate(map(len, read.values()), initial=0), strict=False))
            places = {slot: iter(range(start, start + len(read[slot]))) for slot, start in starts.items()}
            zipped = RelationProperties.side_by_side(sides, [len(positions) for positions in read.values()])
            return zipped.project([next(places[slot]) for slot, _ in origins])
        assert step.narrowed is not None
        read_by = self._read_by(step)
        sides = [self._projected(child, part, known) for child, part in read_by]
        return step.narrowed.infer_properties(sides, [self.steps[id(child)].facts(part) for child, part in read_by])

    def _projected(self, node: PlannerNode, columns: Sequence[int], known: Mapping[int, RelationProperties]) -> RelationProperties:
        """Return what is known about some columns of the computed rows of a node."""
        step = self.steps[id(node)]
        if list(columns) == list(step.columns):
            return known[id(node)]
        places = {column: place for place, column in enumerate(step.columns)}
        return known[id(node)].project([places[column] for column in columns])

    @staticmethod
    def _read_by(step: DirectStep) -> list[tuple[PlannerNode, Sequence[int]]]:
        """Return the inputs of a step that are given to its operator, each with the columns that are read."""
        kept = [(child, sorted(step.reads.get(slot, ()))) for slot, child in enumerate(step.inputs)]
        return [(child, part) for child, part in kept if part or not child.facts.width]

    def _sets_an_order(self, step: DirectStep) -> bool:
        operator = step.operator
        if operator.is_source:
            return isinstance(operator, MemorySource) and operator.order is not NO_RECORDED_ORDER
        passes = (
            operator.arranges_columns
            or operator.is_program
            or operator.row_choice in (RowChoice.FILTER, RowChoice.UNITE)
            or operator.counting is not None
        )
        return not passes and operator.row_range is None

    def _find_columns_read(self) -> None:
        """Collect the required columns of each node; a node with several readers is visited for the columns of each."""
        waiting: list[tuple[PlannerNode, Iterable[int]]] = [(self.root, range(self.root.facts.width))]
        while waiting:
            node, requested = waiting.pop()
            step = self.steps.get(id(node))
            is_first = step is None
            if step is None:
                inputs = united_inputs(node) if node.operator.row_choice is RowChoice.UNITE else node.inputs
                self.steps[id(node)] = step = DirectStep(node, operator_without_plan(node), inputs)
            new = [column for column in requested if column not in step.required]
            if not new and not is_first:
                continue
            step.required.update(new)
            for slot, positions in self._columns_read_for(step, new).items():
                step.reads.setdefault(slot, set()).update(positions)
                waiting.append((step.inputs[slot], positions))

    def _columns_read_for(self, step: DirectStep, columns: Sequence[int]) -> Mapping[int, Sequence[int]]:
        """Return the columns of the inputs, by slot, that are needed to compute some columns of a node."""
        operator, inputs = step.operator, step.inputs
        if operator.is_source:
            return {}
        if operator.arranges_columns:
            origins: dict[int, list[int]] = {}
            for slot, position in arranged_origins(operator, columns, inputs):
                origins.setdefault(slot, []).append(position)
            return origins
        if len(inputs) == 1 and inputs[0].facts.width == 1:
            return {0: (0,)}
        requested = operator.input_columns(columns, [child.facts for child in inputs])
        # An operator that only counts rows asks for the first column, which a frame without columns lacks.
        read = {
            slot: [p for p in positions if 0 <= p < child.facts.width] for slot, (positions, child) in enumerate(zip(requested, inputs, strict=True))
        }
        return {slot: positions for slot, positions in read.items() if positions} or {0: range(min(inputs[0].facts.width, 1))}

    def _put_in_order(self) -> None:
        """Put the steps into ``order``, each after the steps of its inputs."""
        opened: set[int] = set()
        waiting: list[tuple[PlannerNode, bool]] = [(self.root, False)]
        while waiting:
            node, is_opened = waiting.pop()
            step = self.steps[id(node)]
            if is_opened:
                self.order.append(step)
            elif id(node) not in opened:
                opened.add(id(node))
                waiting.append((node, True))
                waiting.extend([(step.inputs[slot], False) for slot in step.reads])

    def _read_source(self, source: Source, step: DirectStep) -> None:
        columns, width = sorted(step.required), step.node.facts.width
        step.columns = columns
        step.rows = rows = source.row_count
        if rows > self.max_rows:
            raise _NeedsPlanError
        if isinstance(source, MemorySource) and isinstance(source.data, Chunk) and rows == source.data.rows:
            arrays = source.data.columns
            step.values = {column: arrays[source.positions[column]] for column in columns}
        else:
            narrowed = source.with_columns(columns) if len(columns) < width else None
            read = narrowed or source
            if isinstance(read, SegmentSource):
                self._require_room(read, rows)
            try:
                found = read.read(0, rows)
            except FAILURES as error:
                # A plan makes lost rows again, or says what is damaged.
                raise _NeedsPlanError from error
            step.values = dict(zip(columns if narrowed else range(width), found.columns, strict=True))
        self._count_bytes(Chunk(tuple(step.values.values()), rows))

    def _require_room(self, source: Source, rows: int) -> None:
        """Require that the rows to read are known to fit in the bytes that a node may have."""
        sizes = source.planned_sizes_between(0, rows)
        if sum(self.max_bytes + 1 if size is None else size for size in sizes) > self.max_bytes:
            raise _NeedsPlanError

    def _arrange(self, step: DirectStep) -> None:
        counts = set()
        step.columns = [*step.required]
        for column, (slot, position) in zip(step.required, arranged_origins(step.operator, [*step.required], step.inputs), strict=True):
            child = self.steps[id(step.inputs[slot])]
            step.values[column] = child.values[position]
            counts.add(child.rows)
        if len(counts) != 1:
            raise _NeedsPlanError
        step.rows = counts.pop()

    def _run_kernel(self, step: DirectStep) -> None:
        operator, schema, width = step.operator, step.node.schema, step.node.facts.width
        outputs: Sequence[int] = range(width)
        columns = sorted(step.required)
        kept = [sorted(step.reads.get(slot, ())) for slot in range(len(step.inputs))]
        is_narrow = any(len(part) < child.facts.width for part, child in zip(kept, step.inputs, strict=True))
        is_whole = len(columns) == width and not is_narrow
        if not is_whole:
            changed = operator.over_columns(columns, kept, [child.facts for child in step.inputs])
            if changed is not None:
                operator, outputs = changed
            elif is_narrow:
                raise _NeedsPlanError
        step.narrowed, step.columns = operator, outputs
        read = [(self.steps[id(child)], part) for child, part in self._read_by(step)]
        chunks, facts = [child.chunk(part) for child, part in read], [child.facts(part) for child, part in read]
        if not is_whole:
            schema = operator.infer_type(facts)
        try:
            rows = require_inferred(operator, chunks, call_operator(operator, lambda: self._rows_of_kernel(operator, chunks, facts)), schema)
        except FAILURES as error:
            raise _NeedsPlanError from error
        self._count_bytes(rows)
        step.rows, step.values = rows.rows, dict(zip(outputs, rows.columns, strict=True))

    def _rows_of_kernel(self, operator: Operator, chunks: Sequence[Chunk], facts: Sequence[Facts]) -> Chunk:
        """Run the kernel of an operator on all rows of its inputs."""
        if operator.counting is not None:
            sides: list[Any] = [Lookup.of_rows(chunk, item.schema) for chunk, item in zip(chunks, facts, strict=True)]
            operator = operator.counting.counted(sides, facts)
            rows = operator.infer_length(facts).known_rows
            if rows > self.max_rows:
                raise _NeedsPlanError
            return operator.run_interval(sides, facts, 0, rows, ())
        takes_all = isinstance(operator, SequentialOperator) or operator.row_choice is RowChoice.UNITE or not operator.has_kernel
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

    def _count_bytes(self, rows: Chunk) -> None:
        self.size += rows.size
        if rows.size > self.max_bytes or self.size > costs.MAX_BYTES_OF_ALL_NODES_RUN_DIRECTLY:
            raise _NeedsPlanError


def united_inputs(node: PlannerNode) -> list[PlannerNode]:
    """Return the inputs of a union; nested unions are replaced by their inputs, so that frames appended one by one are concatenated once."""
    result: list[PlannerNode] = []
    waiting = [*node.inputs[::-1]]
    while waiting:
        child = waiting.pop()
        if child.operator.row_choice is RowChoice.UNITE and child.operator == node.operator:
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
        if not _is_at_hand(operator):
            raise _NeedsPlanError
        return operator
    if operator.row_range is not None and _leaves_out_many(node):
        raise _NeedsPlanError
    if not is_thread_safe(node) or not operator.deterministic or isinstance(operator, ExpandingOperator):
        raise _NeedsPlanError
    if functions_of(node):
        complete = complete_source(node)
        if complete is None:
            raise _NeedsPlanError
        return complete.operator
    if not operator.has_kernel:
        of_few = operator_for_few_rows(operator)
        if of_few is None and operator.whole_kernel is None:
            raise _NeedsPlanError
        operator = of_few or operator
    if operator.counting is None and any(operator.requires(slot) is Need.LOOKUP for slot in range(len(node.inputs))):
        raise _NeedsPlanError
    return operator
