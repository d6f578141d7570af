"""Computes the rows of a node and replaces it in the graph by a source of these rows; threads that need the same node share one run.

Also counts rows without computing them, reads rows as one chunk or in batches, and compares results with those of the naive plan.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Concatenate, ParamSpec, TypeVar

import attrs

from sframe_spark.config import config
from sframe_spark.engine import costs
from sframe_spark.engine.execution.action_planning_and_function_call_claims import ActionPlan, NodeClaim, awaited, run_action
from sframe_spark.engine.execution.changed_file_checks import require_unchanged_files
from sframe_spark.engine.execution.direct_execution_of_few_rows import direct_source
from sframe_spark.engine.execution.lost_row_recovery import remember_lineage, restore_lost_rows
from sframe_spark.engine.execution.plan_executor import Executor
from sframe_spark.engine.execution.run_log import RunLog
from sframe_spark.engine.graph_lock import GRAPH_LOCK
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.physical.column_lineage import arranged_columns
from sframe_spark.engine.physical.placement_and_blocking_inputs import is_small
from sframe_spark.engine.physical.site import Site
from sframe_spark.engine.physical.user_dataframes_to_materialize_first import keep_frames, remember_rows
from sframe_spark.engine.runtime.pipeline import Pipeline, PipelineRunner, local_threads
from sframe_spark.engine.runtime.result_storage import has_room
from sframe_spark.engine.shapes.count_matches import are_few_to_compute, base_of_rows, is_joined_by_partitions, is_much_to_compute, may_have_many
from sframe_spark.engine.size_estimates_batch_sizes_and_memory_reservations import fits_driver
from sframe_spark.errors import PlanInvariantError, StorageError
from sframe_spark.operators.groupby.reduce_to_one_row import count_all
from sframe_spark.operators.project_zip_arrange import Arrange, project, zip_columns
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource, source_of
from sframe_spark.operators.sources.in_memory import MemorySource
from sframe_spark.operators.sources.spark_frame import SparkSource
from sframe_spark.operators.user_function_calls_and_result_memos import functions_of
from sframe_spark.paths_and_uris import is_remote_location
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.handles import Handle
from sframe_spark.planner.length_and_order_inference import known_rows, learn_lengths
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Length, sum_of_bounds
from sframe_spark.planner.operator_declarations import RowChoice, SourceKind
from sframe_spark.planner.optimizer import Trace
from sframe_spark.process.memory import memory_budget
from sframe_spark.rewrite_laws import optimize
from sframe_spark.session.spark_locality import is_spark_requested
from sframe_spark.values.arrow_to_python import decode
from sframe_spark.values.plain_values import agree

# New columns of a frame whose other columns are stored already: only the new columns are computed and stored.


NEW_COLUMNS = "the columns that are not stored yet; the others stay where they are"


@attrs.frozen(eq=False)
class NewColumns:
    """The columns of a frame that are not stored yet, and those that are.

    Parameters
    ----------
    together
        A zip of the nodes that compute the new columns.
    computed, stored
        The nodes that compute the new columns, in the order of ``together``, and the sources of the other columns.
    shown
        For each column of the frame, the node that it comes from and its position in that node.
    handle
        The handle of the frame, kept so that the frame counts as in use until all of its columns are stored.
    """

    together: PlannerNode
    computed: Sequence[PlannerNode]
    stored: Sequence[PlannerNode]
    shown: Sequence[tuple[PlannerNode, int]]
    handle: Handle

    def names(self, names: Sequence[str]) -> list[str]:
        """Return the names of the new columns, given the names of all columns of the frame."""
        named = {(id(node), column): name for (node, column), name in zip(self.shown, names, strict=True)}
        return [named[id(node), column] for node in self.computed for column in range(node.facts.width)]

    def settle(self, root: PlannerNode) -> None:
        """Replace the frame by a zip of its stored and new columns, and the nodes that computed the new columns by projections of them."""
        with GRAPH_LOCK:
            everything, numbers, width = list[PlannerNode](), dict[tuple[int, int], int](), 0
            for node in self.stored:
                columns = sorted({column for other, column in self.shown if other is node})
                numbers |= {(id(node), column): width + index for index, column in enumerate(columns)}
                everything.append(project(node, columns))
                width += len(columns)
            first = width
            for node in self.computed:
                numbers |= {(id(node), column): width + column for column in range(node.facts.width)}
                width += node.facts.width
            order = [numbers[id(node), column] for node, column in self.shown]
            root.splice(project(zip_columns(*everything, self.together), order))
            for node in self.computed:
                # A node that another thread has materialised meanwhile is not replaced.
                if node is not self.together and self.together.operator.is_source:
                    start = numbers[id(node), 0] - first
                    node.splice(project(self.together, range(start, start + node.facts.width)))


def new_columns(root: PlannerNode) -> NewColumns | None:
    """Return the columns of a frame to be computed while the others stay where they are stored; None if all columns are to be written.

    All columns are written if the frame has only some columns of a computed node, if rows are few, if results are compared with the naive plan, and
    while Spark is in use: a Spark query reads one source, so several sources would have to be joined in each query.
    """
    if not root.operator.arranges_columns or config.check == "result" or is_spark_requested():
        return None
    with GRAPH_LOCK:
        rows = root.length.rows
        shown = arranged_columns(root) if rows is not None and rows > config.small_rows else None
        if shown is None:
            return None
        nodes = list({id(node): node for node, _ in shown}.values())
        stored = [node for node in nodes if node.operator.is_source]
        computed = [node for node in nodes if not node.operator.is_source]
        if not computed or not 0 < len(stored) < costs.MAX_SOURCES_OF_FRAME:
            return None
        whole = len({(id(node), column) for node, column in shown if not node.operator.is_source}) == sum(node.facts.width for node in computed)
        if not whole or not all(map(_may_stay, stored)) or any(node.length.rows != rows for node in nodes):
            return None
        return NewColumns(zip_columns(*computed), computed, stored, shown, Handle(root))


def computed_columns(root: PlannerNode) -> list[tuple[PlannerNode, dict[int, int]]]:
    """Return the inputs of a frame that compute columns, each with the frame's positions of its exposed columns; the caller holds the lock."""
    if not root.operator.arranges_columns:
        return []
    positions: dict[int, dict[int, int]] = {}
    for position, ((slot, column), *_) in enumerate(root.operator.column_origins([child.facts for child in root.inputs])):
        positions.setdefault(slot, {}).setdefault(column, position)
    inputs = [(root.inputs[slot], shown) for slot, shown in positions.items()]
    return [(node, shown) for node, shown in inputs if not node.operator.is_source and (node.claim is None or node.claim.done.is_set())]


def show_columns(root: PlannerNode, node: PlannerNode, positions: dict[int, int]) -> None:
    """Replace a node that computed columns of a frame by a projection of the frame; the caller holds the lock.

    ``positions`` has the position in the frame of each exposed column of the node. An SArray of a column, or another frame with it, refers to the
    node and not to the frame. If the frame exposes only some of the node's columns, and the others are expensive to compute, the others are computed
    again when they are needed.
    """
    width = node.facts.width
    if len(positions) == width:
        node.splice(project(root, [positions[column] for column in range(width)]))
    elif not node.operator.row_wise and not functions_of(node) and not is_spark_requested():
        again = PlannerNode(node.operator, node.inputs, node.facts)
        shown = [(0, positions[column]) if column in positions else (1, column) for column in range(width)]
        arrangement = Arrange(tuple(slot for slot, _ in shown), tuple(column for _, column in shown))
        node.splice(PlannerNode(arrangement, (root, again), node.facts))


def _may_stay(node: PlannerNode) -> bool:
    """Return whether stored rows may stay where they are: they are in memory, or in local files of this package, which do not change."""
    operator = node.operator
    return isinstance(operator, MemorySource) or (isinstance(operator, SegmentSource) and not is_remote_location(operator.manifest.directory))


Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")


def is_materialized(node: PlannerNode) -> bool:
    """Return whether the rows are stored: in a source, in several zipped sources, or in a union of a few large sources; row numbers may be added."""
    waiting, seen, united = [(node, False)], set(), 0
    while waiting:
        current, is_part = waiting.pop()
        operator = current.operator
        if operator.is_source:
            if is_part and not isinstance(operator, SegmentSource):
                return False
            continue
        if id(current) in seen:
            continue
        rows, is_union = current.length.rows, operator.row_choice is RowChoice.UNITE
        # A large union, or a large node that adds row numbers, is not written again.
        is_kept = rows is not None and rows > config.small_rows and (operator.numbers_rows or is_union)
        if not operator.arranges_columns and not is_kept:
            return False
        # Spark reads the same columns of all inputs of a union, but cannot zip columns of several sources.
        if is_part and len(current.inputs) > 1 and not is_union:
            return False
        seen.add(id(current))
        united += len(current.inputs) * is_union
        waiting.extend((child, is_part or is_union) for child in current.inputs)
    return united <= costs.MAX_DATASETS_UNITED


def is_decoded_on_read(node: PlannerNode) -> bool:
    """Return whether a node is a source whose rows are decoded at each read, or a projection of one."""
    while node.operator.arranges_columns and len(node.inputs) == 1:
        node = node.inputs[0]
    return node.operator.source_kind is SourceKind.ENCODED_FILES


def materialize(node: PlannerNode, options: MaterializeOptions | None = None, plan: PlannerNode | None = None) -> PlannerNode:
    """Compute a node and replace it by a source of its rows in every graph that refers to it; return the node.

    ``plan`` is a partly executed plan of the node; the rest of it is run.
    """
    chosen = options or MaterializeOptions()
    with GRAPH_LOCK:
        # Whether rows count as stored may depend on how many there are.
        learn_lengths(node)
    while not is_materialized(node) or chosen.directory is not None or (chosen.converts and is_decoded_on_read(node)):
        claim, busy = NodeClaim(), None
        try:
            with GRAPH_LOCK:
                busy = awaited([node])
                if busy is None:
                    claim.acquire([node])
            if busy is None:
                _materialize_claimed(node, chosen, plan)
                break
        finally:
            try:
                claim.release()
            finally:
                # A second call, in case Ctrl-C interrupted the first one at its start: other threads would wait forever.
                claim.release()
        busy.wait()
    with GRAPH_LOCK:
        # Nodes that are zipped with the materialised rows learn their number of rows, though they were not replaced themselves.
        learn_lengths(node)
    if chosen.on_batch is not None:
        for chunk in iterate(node):
            chosen.on_batch(chunk)
    return node


def _materialize_claimed(node: PlannerNode, options: MaterializeOptions, plan: PlannerNode | None = None) -> None:
    """Compute a node that the caller has claimed."""
    if plan is None and options.measure is None and _may_keep_stored_columns(options):
        few = direct_source(node)
        if few is not None:
            with GRAPH_LOCK:
                keep_frames(node)
                _become(node, few)
            return
    alongside = new_columns(node) if plan is None and _may_keep_stored_columns(options) else None
    if alongside is not None:
        materialize(alongside.together, attrs.evolve(options, on_batch=None))
        alongside.settle(node)
        node.ran = RunLog()
        node.ran.add_run(alongside.together.ran or RunLog(), NEW_COLUMNS)
        return
    # A user's function is called once for each row, and a DataFrame is evaluated once, so they may not be computed again for comparison.
    once = bool(functions_of(node)) or isinstance(node.operator, SparkSource)
    compared = config.check == "result" and not options.naive and not once
    started = [] if plan is None else [plan]

    def run(chosen: ActionPlan) -> None:
        naive = options.naive and not once
        executor = Executor(attrs.evolve(options, naive=naive), owned=chosen.owned, free=chosen.free, run_log=chosen.run_log)
        run_plan = executor.save if options.converts and is_decoded_on_read(chosen.plan) else executor.execute
        source = run_plan(node if naive else started.pop() if started else chosen.plan)
        if compared:
            compare_with_naive(node, source)
        with GRAPH_LOCK:
            before = node.operator
            remember_lineage(node, source)
            keep_frames(node)
            _become(node, source)
            if isinstance(before, SparkSource):
                remember_rows(before, node)

    make = partial(materialize, options=MaterializeOptions(measure=options.measure)) if options.measure else materialize
    run_action(node, run, make, becomes=True, first=options.naive or config.check == "result")


def _become(node: PlannerNode, source: PlannerNode) -> None:
    """Replace a node by a source of its rows, and the nodes that computed its columns by projections; the caller holds the lock."""
    columns = computed_columns(node)
    node.splice(source)
    for column, positions in columns:
        show_columns(node, column, positions)


def _may_keep_stored_columns(options: MaterializeOptions) -> bool:
    """Return whether the options allow columns to stay in several sources."""
    return options.directory is None and options.segments is None and not options.naive


def compare_with_naive(node: PlannerNode, source: PlannerNode) -> None:
    """Compute a node again without laws, sections and kernels, and compare every row (``config.check = "result"``).

    Raises
    ------
    PlanInvariantError
        If the results differ.
    """
    found, expected = source_of(source), source_of(Executor(MaterializeOptions(naive=True)).execute(node))
    if found.row_count != expected.row_count:
        message = f"{node.operator.called()} has {found.row_count} rows in the optimized plan, and {expected.row_count} in the naive one"
        raise PlanInvariantError(f"{message}. {_laws_that_fired(node)}")
    for start in range(0, found.row_count, config.batch_rows):
        stop = min(start + config.batch_rows, found.row_count)
        compare_rows(node, found.read(start, stop), expected.read(start, stop), start)


def compare_rows(node: PlannerNode, found: Chunk, expected: Chunk, first_row: int) -> None:
    """Compare rows by value. Floats may differ by rounding, as the division into ranges decides the order of additions.

    Raises
    ------
    PlanInvariantError
        If they differ; the message has the first value that does.
    """
    for position, (a, b) in enumerate(zip(found.columns, expected.columns, strict=True)):
        if a.equals(b):
            continue
        values = [decode(column, node.schema[position]) for column in (a, b)]
        for number, (left, right) in enumerate(zip(*values, strict=True)):
            if not agree(left, right):
                where = f"{_described_column(node, position)} differs between the optimized and the naive plan"
                what = f"in row {first_row + number} it is {left!r:.60} and {right!r:.60}"
                raise PlanInvariantError(f"{where}: {what}. {_laws_that_fired(node)}")


def _described_column(node: PlannerNode, position: int) -> str:
    """Return a column for a message, by its name if it has one, with what computes it."""
    origins = arranged_columns(node)
    below, column = (node, position) if origins is None else origins[position]
    computed = f"column {position}" if node.names is None else f"the column {node.names[position]!r}"
    return f"{computed} of {below.operator.called([column])}"


def _laws_that_fired(node: PlannerNode) -> str:
    """Return the laws that rewrite the plan of a node, and how to find the one that is wrong."""
    trace = Trace()
    optimize(node, trace=trace)
    fired = list(trace.counts())
    if not fired:
        return "No law was applied: the kernel of an operator and its Spark lowering differ"
    advice = "config.disabled_laws switches one off: if the rows then agree, that law is wrong; if not, a kernel or lowering is"
    return f"Laws that were applied: {'; '.join(fired)}. {advice}"


def restoring(function: Callable[Concatenate[PlannerNode, Arguments], Result]) -> Callable[Concatenate[PlannerNode, Arguments], Result]:
    """Return a function that is called once more after lost temporary files have been computed again."""

    @functools.wraps(function)
    def call(node: PlannerNode, *arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        try:
            return function(node, *arguments, **named)
        except StorageError:
            if not restore_lost_rows(node, materialize):
                raise
        return function(node, *arguments, **named)

    return call


@restoring
def count_rows(node: PlannerNode, keeps: bool = False) -> int | None:
    """Count the rows of a node without computing them, and store the number; return None if computing them is as cheap, or is needed to count them.

    This works for joins, whose matches are counted, and for filters, for which only some columns are computed. Users' functions are not called: the
    result is None if the number of rows depends on a user's function.

    Parameters
    ----------
    node
        The node.
    keeps
        Whether to compute the rows, too, for the next action, if they fit in memory and are cheap to compute after counting.
    """
    with GRAPH_LOCK:
        same_rows = base_of_rows(node)
        learn_lengths(same_rows)
        if are_few_to_compute(same_rows, Site.now()):
            return None
        plan = optimize(same_rows)
    rows: int | None
    if is_joined_by_partitions(plan, Site.now()):
        rows = int(read_all(count_all(same_rows)).columns[0][0].as_py())
    elif may_have_many(plan, Site.now()):
        options = MaterializeOptions()
        counted = run_action(
            same_rows, lambda chosen: Executor(options, owned=chosen.owned, run_log=chosen.run_log).counted(chosen.plan), materialize
        )
        rows = counted.length.rows
        if rows is None or fits_driver(counted, options.in_memory, memory_budget()):
            return None
        if keeps and same_rows is node and _is_cheap_to_compute(counted):
            materialize(node, plan=counted)
            return rows
    elif is_much_to_compute(plan, Site.now()):
        rows = int(read_all(count_all(same_rows)).columns[0][0].as_py())
    else:
        return None
    require_unchanged_files(node)
    with GRAPH_LOCK:
        for counted_node in (same_rows, node):
            counted_node.facts = attrs.evolve(counted_node.facts, length=Length.exactly(rows))
    return rows


def _is_cheap_to_compute(counted: PlannerNode) -> bool:
    """Return whether counted rows are about as cheap to compute as to count, and fit in memory."""
    leaves = [node for node in postorder([counted]) if not node.inputs]
    read = sum_of_bounds(leaf.length for leaf in leaves)
    site = Site.now()
    if read is None or all(is_small(leaf, site) for leaf in leaves):
        return False
    return counted.length.known_rows <= costs.MAX_TIMES_INPUT_ROWS_TO_COMPUTE * read and has_room(counted)


def compute(node: PlannerNode, options: MaterializeOptions | None = None) -> PlannerNode:
    """Return a source of a node's rows. The node is not replaced, but nodes below it that call users' functions may be."""
    few = direct_source(node) if options is None else None
    if few is not None:
        return few
    options = options or MaterializeOptions()
    return run_action(node, lambda chosen: Executor(options, owned=chosen.owned, run_log=chosen.run_log).execute(chosen.plan), materialize)


@restoring
def read_all(node: PlannerNode) -> Chunk:
    """Return all rows of a node in the driver's memory; the node is not replaced."""
    return source_of(compute(node)).read_all()


def stored_batches(node: PlannerNode) -> Iterator[Chunk] | None:
    """Return batches of the rows of a node that are stored in several sources; None if they are in one source, are not stored, or are few."""
    if node.operator.is_source or not is_materialized(node):
        return None
    with GRAPH_LOCK:
        plan = optimize(node)
    return None if plan.operator.is_source or is_small(plan, Site.now()) else _batches_of_stored(node, config.batch_rows)


def _batches_of_stored(node: PlannerNode, batch_rows: int) -> Iterator[Chunk]:
    """Yield all rows of a materialised node in batches, checking that their files do not change meanwhile."""

    def chunks_from(start: int) -> Iterator[Chunk]:
        with GRAPH_LOCK:
            plan = optimize(node)
        # While these batches are read, nothing else checks whether the files have changed.
        require_unchanged_files(node)
        # A node that was built before its inputs were materialised does not know its number of rows; the plan does.
        return PipelineRunner(Pipeline.of(plan), threads=local_threads()).stream(start, known_rows(plan), batch_rows)

    return _through_losses(node, chunks_from)


def stored_chunks(source: PlannerNode) -> Iterator[Chunk]:
    """Yield all rows of a source in order, as chunks that the caller may keep."""

    def chunks_from(start: int) -> Iterator[Chunk]:
        operator = source_of(source)
        if start and isinstance(operator, SegmentSource):
            operator = operator.rows_between(start, operator.row_count)
        return operator.read_batches(local_threads())

    return _through_losses(source, chunks_from)


def _through_losses(node: PlannerNode, chunks_from: Callable[[int], Iterator[Chunk]]) -> Iterator[Chunk]:
    """Yield all rows of stored data; after lost temporary files have been computed again, reading continues where it stopped."""
    rows = 0
    while True:
        try:
            for chunk in chunks_from(rows):
                rows += chunk.rows
                yield chunk
            # A file may have been written to after its footer was checked.
            require_unchanged_files(node)
        except StorageError:
            if not restore_lost_rows(node, materialize):
                raise
        else:
            return


def iterate(node: PlannerNode, batch_rows: int | None = None) -> Iterator[Chunk]:
    """Materialise a node and yield its rows in batches, with bounded memory."""
    materialize(node)
    yield from _batches_of_stored(node, batch_rows or config.batch_rows)


__all__ = ["compare_with_naive", "compute", "is_materialized", "iterate", "materialize", "optimize", "read_all", "stored_batches"]
