"""Materialisation: optimize, execute, splice, under the lock; an action in flight is shared by all who want the same node."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Concatenate, ParamSpec, TypeVar

import attrs

from sframe_spark.config import config
from sframe_spark.engine.execution.actions import ActionPlan, NodeClaim, awaited, run_action
from sframe_spark.engine.execution.direct_execution import direct_source
from sframe_spark.engine.execution.executor import Executor
from sframe_spark.engine.execution.recovery import remember_lineage, restore_lost_rows
from sframe_spark.engine.execution.run_log import RunLog
from sframe_spark.engine.execution.source_validation import require_unchanged_files
from sframe_spark.engine.graph_lock import GRAPH_LOCK
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.memory_budget import fits_driver
from sframe_spark.engine.physical.adaptive import are_few_to_make, base_of_rows, is_much_to_make, may_have_many
from sframe_spark.engine.physical.column_lineage import arranged_columns
from sframe_spark.engine.physical.placement import is_small
from sframe_spark.engine.physical.user_dataframes import keep_frames, remember_rows
from sframe_spark.engine.runtime.result_buffer import has_room
from sframe_spark.errors import PlanInvariantError, StorageError
from sframe_spark.laws import optimize
from sframe_spark.locations import is_remote_location
from sframe_spark.operators.arrange import Arrange
from sframe_spark.operators.groupby.groupby import count_all
from sframe_spark.operators.project import project, zip_columns
from sframe_spark.operators.sources.memory import MemorySource
from sframe_spark.operators.sources.source import SegmentSource, source_of
from sframe_spark.operators.sources.spark_frame import SparkSource
from sframe_spark.operators.udf_calls import functions_of
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.facts import Length, sum_of_bounds
from sframe_spark.planner.graph import postorder
from sframe_spark.planner.inference import known_rows, learn_lengths
from sframe_spark.planner.node import PlannerNode
from sframe_spark.session.deployment import is_spark_requested
from sframe_spark.values.decode import decode
from sframe_spark.values.equality import agree

# New columns beside stored ones: they alone are computed and kept, the stored ones stay where they are.

# Each source is read by itself, batch by batch: where more stand side by side, all columns are made once and are one source again.
MAX_SOURCES = 16

NEW_COLUMNS = "the columns that are not stored yet; the others stay where they are"


@attrs.frozen(eq=False)
class NewColumns:
    """The columns of a frame that are not stored yet.

    Parameters
    ----------
    together
        These columns alone, side by side.
    computed, stored
        The nodes that compute them, in this order, and those that have the other columns.
    shown
        For each column of the frame the node that has it, and its number there.
    """

    together: PlannerNode
    computed: Sequence[PlannerNode]
    stored: Sequence[PlannerNode]
    shown: Sequence[tuple[PlannerNode, int]]

    def names(self, names: Sequence[str]) -> list[str]:
        """The names of the new columns, of those of all columns of the frame."""
        named = {(id(node), column): name for (node, column), name in zip(self.shown, names, strict=True)}
        return [named[id(node), column] for node in self.computed for column in range(node.facts.width)]

    def settle(self, root: PlannerNode) -> None:
        """Let a frame be the stored columns beside those that were made, and what computes these be a view of them."""
        with GRAPH_LOCK:
            everything, numbers, width = list[PlannerNode](), dict[tuple[int, int], int](), 0
            for node in self.stored:
                columns = sorted({column for other, column in self.shown if other is node})
                numbers |= {(id(node), column): width + place for place, column in enumerate(columns)}
                everything.append(project(node, columns))
                width += len(columns)
            first = width
            for node in self.computed:
                numbers |= {(id(node), column): width + column for column in range(node.facts.width)}
                width += node.facts.width
            order = [numbers[id(node), column] for node, column in self.shown]
            root.splice(project(zip_columns(*everything, self.together), order))
            for node in self.computed:
                # What others made meanwhile stays: the columns together are those below then, and no view of them may stand there.
                if node is not self.together and self.together.operator.is_source:
                    place = numbers[id(node), 0] - first
                    node.splice(project(self.together, range(place, place + node.facts.width)))


def new_columns(root: PlannerNode) -> NewColumns | None:
    """The columns of a frame that are computed beside stored ones; None where all columns are to be made.

    That is so where some columns are other rows' than whole nodes', where rows are few, where results are compared, and where a Spark works: its
    queries read one source, so several would be put together for each.
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
        if not computed or not 0 < len(stored) < MAX_SOURCES:
            return None
        whole = len({(id(node), column) for node, column in shown if not node.operator.is_source}) == sum(node.facts.width for node in computed)
        if not whole or not all(map(_may_stay, stored)) or any(node.length.rows != rows for node in nodes):
            return None
        return NewColumns(zip_columns(*computed), computed, stored, shown)


def computed_columns(root: PlannerNode) -> list[tuple[PlannerNode, dict[int, int]]]:
    """What computes columns of a frame and is an input of it, with the place in the frame of each column shown; the caller holds the lock."""
    if not root.operator.arranges_columns:
        return []
    places: dict[int, dict[int, int]] = {}
    for place, ((slot, column), *_) in enumerate(root.operator.column_origins([child.facts for child in root.inputs])):
        places.setdefault(slot, {}).setdefault(column, place)
    found = [(root.inputs[slot], shown) for slot, shown in places.items()]
    return [(node, shown) for node, shown in found if not node.operator.is_source and (node.claim is None or node.claim.done.is_set())]


def show_columns(root: PlannerNode, node: PlannerNode, places: dict[int, int]) -> None:
    """Let what computes columns of a frame be a view of the frame's rows, which are there now; the caller holds the lock.

    Whoever holds one of these columns as an SArray, or a copy of the frame with others beside it, asks for it without the frame. Rows that are
    dear to make, some of whose columns the frame does not show, are made again for those alone.
    """
    width = node.facts.width
    if len(places) == width:
        node.splice(project(root, [places[column] for column in range(width)]))
    elif not node.operator.row_wise and not functions_of(node) and not is_spark_requested():
        again = PlannerNode(node.operator, node.inputs, node.facts)
        shown = [(0, places[column]) if column in places else (1, column) for column in range(width)]
        arrangement = Arrange(tuple(slot for slot, _ in shown), tuple(column for _, column in shown))
        node.splice(PlannerNode(arrangement, (root, again), node.facts))


def _may_stay(node: PlannerNode) -> bool:
    """True for rows of ours in memory or on this machine: others' files may be written anew, and those elsewhere would be fetched at each look."""
    operator = node.operator
    return isinstance(operator, MemorySource) or (isinstance(operator, SegmentSource) and not is_remote_location(operator.manifest.directory))


Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")

# Of more datasets one after the other, each of Spark's queries would open them all.
MAX_UNITED = 8
# Rows of a join that are so many times those that it reads take much longer to make than to count.
MAX_TIMES_READ = 4


def is_materialized(node: PlannerNode) -> bool:
    """True when the node's rows are in a source (or side by side in several, or many rows one after the other in a few, numbered or not)."""
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
        if not operator.arranges_columns and not _is_stored_below(current):
            return False
        # Spark reads the same columns of parts as they are, but puts no columns of several together.
        if is_part and len(current.inputs) > 1 and not operator.unites_rows:
            return False
        seen.add(id(current))
        united += len(current.inputs) * operator.unites_rows
        waiting.extend((child, is_part or operator.unites_rows) for child in current.inputs)
    return united <= MAX_UNITED


def _is_stored_below(node: PlannerNode) -> bool:
    """True for many rows that are those of stored ones below, or their numbers: writing them again would only take time."""
    rows = node.length.rows
    return rows is not None and rows > config.small_rows and (node.operator.numbers_rows or node.operator.unites_rows)


def is_decoded_on_read(node: PlannerNode) -> bool:
    """True for a source whose rows whoever reads them decodes anew, or columns of one."""
    while node.operator.arranges_columns and len(node.inputs) == 1:
        node = node.inputs[0]
    return node.operator.decodes


def materialize(node: PlannerNode, options: MaterializeOptions | None = None, plan: PlannerNode | None = None) -> PlannerNode:
    """Execute a node and splice the result into its place; every graph that holds the node sees a source from then on.

    Of a plan of the node that was run in part already the rest is run, where that goes well.
    """
    chosen = options or MaterializeOptions()
    with GRAPH_LOCK:
        # Whether rows are stored already, and which columns are, may depend on how many there are.
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
                # Once more, as in `run_action`.
                claim.release()
        busy.wait()
    with GRAPH_LOCK:
        # What lies beside materialised rows knows their number from then on, though nothing was spliced into its own place.
        learn_lengths(node)
    if chosen.on_batch is not None:
        for chunk in iterate(node):
            chosen.on_batch(chunk)
    return node


def _materialize_claimed(node: PlannerNode, options: MaterializeOptions, plan: PlannerNode | None = None) -> None:
    """Compute a node on which the caller holds an action."""
    if plan is None and options.measure is None and _may_keep_stored_columns(options):
        few = direct_source(node)
        if few is not None:
            with GRAPH_LOCK:
                keep_frames(node)
                _become(node, few)
            return
    beside = new_columns(node) if plan is None and _may_keep_stored_columns(options) else None
    if beside is not None:
        _materialize_missing(node, beside, options)
        return
    # A function is called once for each row, and a DataFrame evaluated once, so their own nodes are not computed a second time by another plan.
    once = bool(functions_of(node)) or isinstance(node.operator, SparkSource)
    compared = config.check == "result" and not options.naive and not once
    begun = [] if plan is None else [plan]

    def run(chosen: ActionPlan) -> None:
        naive = options.naive and not once
        executor = Executor(attrs.evolve(options, naive=naive), owned=chosen.owned, free=chosen.free, run_log=chosen.run_log)
        run_plan = executor.save if options.converts and is_decoded_on_read(chosen.plan) else executor.execute
        source = run_plan(node if naive else begun.pop() if begun else chosen.plan)
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
    """Let a node be the source of its rows, and what computes its columns views of it; the caller holds the lock."""
    columns = computed_columns(node)
    node.splice(source)
    for column, places in columns:
        show_columns(node, column, places)


def _may_keep_stored_columns(options: MaterializeOptions) -> bool:
    """True where nobody asks for all columns in one place."""
    return options.directory is None and options.segments is None and not options.naive


def _materialize_missing(node: PlannerNode, beside: NewColumns, options: MaterializeOptions) -> None:
    """Compute the columns of a node that are not stored yet; what ran for these ran for the node."""
    materialize(beside.together, attrs.evolve(options, on_batch=None))
    beside.settle(node)
    node.ran = RunLog()
    node.ran.add_run(beside.together.ran or RunLog(), NEW_COLUMNS)


def compare_with_naive(node: PlannerNode, source: PlannerNode) -> None:
    """Run a node once more without laws, sections and kernels, and compare every row (``config.check = "result"``).

    Raises
    ------
    PlanInvariantError
        If the results differ.
    """
    found, expected = source_of(source), source_of(Executor(MaterializeOptions(naive=True)).execute(node))
    if found.row_count != expected.row_count:
        message = f"{node.operator_type} has {found.row_count} rows by the optimized plan, {expected.row_count} by the naive one"
        raise PlanInvariantError(message)
    for start in range(0, found.row_count, config.batch_rows):
        stop = min(start + config.batch_rows, found.row_count)
        compare_rows(node, found.read(start, stop), expected.read(start, stop), start)


def compare_rows(node: PlannerNode, found: Chunk, expected: Chunk, first_row: int) -> None:
    """Compare some rows by what they mean: floats are equal but for rounding, as the number of ranges decides how they are added.

    Raises
    ------
    PlanInvariantError
        If they differ, with the first value that does.
    """
    for position, (a, b) in enumerate(zip(found.columns, expected.columns, strict=True)):
        if a.equals(b):
            continue
        values = [decode(column, node.schema[position]) for column in (a, b)]
        for number, (left, right) in enumerate(zip(*values, strict=True)):
            if not agree(left, right):
                where = f"column {position} of {node.operator_type} differs between the optimized and the naive plan"
                raise PlanInvariantError(f"{where}: in row {first_row + number} it is {left!r:.60} and {right!r:.60}")


def restoring(door: Callable[Concatenate[PlannerNode, Arguments], Result]) -> Callable[Concatenate[PlannerNode, Arguments], Result]:
    """Let a door be tried again where temporary files are lost that can be made again."""

    @functools.wraps(door)
    def tried(node: PlannerNode, *arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        try:
            return door(node, *arguments, **named)
        except StorageError:
            if not restore_lost_rows(node, materialize):
                raise
        return door(node, *arguments, **named)

    return tried


@restoring
def count_rows(node: PlannerNode, keeps: bool = False) -> int | None:
    """The number of rows that are much to make, found without making them and remembered; None where rows must be made to be counted.

    These are those of a join that has many, and part of the rows of a wide frame, of which only what decides is read. Nor are columns computed
    beside them: functions of users' are not called to count.

    Parameters
    ----------
    node
        The node, or columns beside it.
    keeps
        Rows that stay in memory are made of what was read to count them, for what is asked next.
    """
    with GRAPH_LOCK:
        same_rows = base_of_rows(node)
        learn_lengths(same_rows)
        if are_few_to_make(same_rows):
            return None
        plan = optimize(same_rows)
    if not may_have_many(plan):
        return _remembered(int(read_all(count_all(same_rows)).columns[0][0].as_py()), same_rows, node) if is_much_to_make(plan) else None
    options = MaterializeOptions()
    counted = run_action(same_rows, lambda found: Executor(options, owned=found.owned, run_log=found.run_log).counted(found.plan), materialize)
    rows = counted.length.rows
    if rows is None or fits_driver(counted, options.in_memory):
        return None
    if keeps and same_rows is node and _is_soon_made(counted):
        materialize(node, plan=counted)
        return rows
    return _remembered(rows, same_rows, node)


def _remembered(rows: int, *nodes: PlannerNode) -> int:
    """The number of rows of some nodes, which these know from then on."""
    require_unchanged_files(nodes[-1])
    with GRAPH_LOCK:
        for known in nodes:
            known.facts = attrs.evolve(known.facts, length=Length.exactly(rows))
    return rows


def _is_soon_made(counted: PlannerNode) -> bool:
    """True for rows that take not much longer to make than to count, as their inputs have many, and that stay in memory for what is asked next."""
    leaves = [node for node in postorder([counted]) if not node.inputs]
    read = sum_of_bounds(leaf.length for leaf in leaves)
    if read is None or all(map(is_small, leaves)):
        return False
    return counted.length.known_rows <= MAX_TIMES_READ * read and has_room(counted)


def compute(node: PlannerNode, options: MaterializeOptions | None = None) -> PlannerNode:
    """A source with the node's rows; of the graph only what calls users' functions may be materialised."""
    few = direct_source(node) if options is None else None
    if few is not None:
        return few
    chosen = options or MaterializeOptions()
    return run_action(node, lambda found: Executor(chosen, owned=found.owned, run_log=found.run_log).execute(found.plan), materialize)


@restoring
def read_all(node: PlannerNode) -> Chunk:
    """All rows of a node in the driver's memory; the node is not changed."""
    return source_of(compute(node)).read_all()


def stored_batches(node: PlannerNode) -> Iterator[Chunk] | None:
    """All rows in order of what is stored, but in several sources: nothing is written to read them. None for all else."""
    if node.operator.is_source or not is_materialized(node):
        return None
    with GRAPH_LOCK:
        plan = optimize(node)
    return None if plan.operator.is_source or is_small(plan) else _stored_rows(node, config.batch_rows)


def _stored_rows(node: PlannerNode, batch_rows: int) -> Iterator[Chunk]:
    """All rows of a materialised node, batch by batch; it goes on where it was when temporary files are lost that can be made again."""
    rows = 0
    while True:
        with GRAPH_LOCK:
            plan = optimize(node)
        try:
            for chunk in _watched(node, plan, rows, batch_rows):
                rows += chunk.rows
                yield chunk
        except StorageError:
            if not restore_lost_rows(node, materialize):
                raise
        else:
            return


def _watched(node: PlannerNode, plan: PlannerNode, start: int, batch_rows: int) -> Iterator[Chunk]:
    """The rows of a plan over stored ones from one on, batch by batch."""
    from sframe_spark.engine.runtime.pipeline import Pipeline, PipelineRunner, local_threads

    # Nothing looks at its files otherwise.
    require_unchanged_files(node)
    # Nodes built before those below them were materialised do not know their length; the plan does.
    yield from PipelineRunner(Pipeline.of(plan), threads=local_threads()).stream(start, known_rows(plan), batch_rows)
    # Somebody may have written to a file after its footer was compared.
    require_unchanged_files(node)


def stored_chunks(source: PlannerNode) -> Iterator[Chunk]:
    """All rows of a source in order, for who keeps them, but not each column in one array."""
    from sframe_spark.engine.runtime.pipeline import local_threads

    rows = 0
    while True:
        try:
            operator = source_of(source)
            if rows and isinstance(operator, SegmentSource):
                operator = operator.rows_between(rows, operator.row_count)
            for chunk in operator.read_batches(local_threads()):
                rows += chunk.rows
                yield chunk
        except StorageError:
            if not restore_lost_rows(source, materialize):
                raise
        else:
            break
    # Somebody may have written to a file after its footer was compared.
    require_unchanged_files(source)


def iterate(node: PlannerNode, batch_rows: int | None = None) -> Iterator[Chunk]:
    """Batches of rows in order, with bounded memory; the node is materialised first."""
    materialize(node)
    yield from _stored_rows(node, batch_rows or config.batch_rows)


__all__ = ["compare_with_naive", "compute", "is_materialized", "iterate", "materialize", "optimize", "read_all", "stored_batches"]
