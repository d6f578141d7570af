"""The executor: runs an optimized plan section by section until it is one source."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, pairwise
from typing import Any, TypeVar

import attrs

from sframe_spark.config import config
from sframe_spark.engine import query
from sframe_spark.engine.budgets import SENT_BYTES, UNKNOWN_BYTES, fits_driver, rows_fit
from sframe_spark.engine.calls import called_again, needs_one_batch
from sframe_spark.engine.datasets import new_dataset, write_chunk, write_chunks, write_query
from sframe_spark.engine.dispatch import run_tasks
from sframe_spark.engine.frames import require_fixed
from sframe_spark.engine.lock import GRAPH_LOCK
from sframe_spark.engine.looks import require_owned
from sframe_spark.engine.matches import join_below, joined_rows, with_counted_rows, with_known_rows
from sframe_spark.engine.options import MaterializeOptions
from sframe_spark.engine.placement import (
    BUDGETS_AT_HAND,
    Placement,
    blocking_inputs,
    is_at_hand,
    is_small,
    place,
    spark_can_inline,
    streams_sooner,
)
from sframe_spark.engine.probe import asking_again, require_readable, require_writable
from sframe_spark.engine.ranges import joined_ranges, states_between
from sframe_spark.engine.runner import FlatPlan, PlanRunner, threads_here
from sframe_spark.engine.shortcuts import few_groups, first_rows
from sframe_spark.engine.stored_tables import with_stored_tables
from sframe_spark.engine.tasks import RangeTask, collect_rows, combined_parts, part_of_range, read_stream, summarize_range, write_range
from sframe_spark.errors import RunTooLongError
from sframe_spark.operators.grouped.groupby import GroupBy, Reduce
from sframe_spark.operators.joins.sorted_join import SortedJoin
from sframe_spark.operators.relational import suffix_sort
from sframe_spark.operators.relational.rows import SliceRows
from sframe_spark.operators.relational.sort import Sort
from sframe_spark.operators.relational.suffix_sort import SuffixSort
from sframe_spark.operators.relational.top_rows import TopRows
from sframe_spark.operators.sources.segment_parts import lacks_key
from sframe_spark.operators.sources.source import MemorySource, segment_source, source_of
from sframe_spark.operators.sources.statistics import recorded_order
from sframe_spark.planner.chunk import Chunk, concatenate
from sframe_spark.planner.graph import consumers, postorder, private_copy, rebuild, sizes_of
from sframe_spark.planner.infer import known_rows
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.observe import observed_nodes
from sframe_spark.planner.operator import DecomposableOperator, SequentialOperator
from sframe_spark.planner.sizes import row_bytes
from sframe_spark.storage.manifest import SegmentEntry

Result = TypeVar("Result")

# A Spark task costs some ten milliseconds, so a range should be worth it.
LEAST_TASK_ROWS = 65_536
LEAST_TASK_BYTES = 32 << 20
# A segment is read by a task at a time.
LARGEST_TASK_BYTES = 1 << 30
Placed = tuple[PlannerNode, Placement]


@attrs.define(eq=False)
class Executor:
    """Executes one plan.

    Parameters
    ----------
    options
        Options of the materialisation.
    log
        Filled with one line per section that ran: what, where and over how many rows.
    owned
        ``id`` of the memos of those applications of users' functions that may be made in Spark tasks (see :mod:`sframe_spark.engine.looks`).
    free
        Users' DataFrames that the plan may read as they are (see :mod:`sframe_spark.engine.frames`).
    """

    options: MaterializeOptions
    log: list[str] = attrs.Factory(list)
    owned: frozenset[int] = frozenset()
    free: frozenset[int] = frozenset()

    def execute(self, root: PlannerNode) -> PlannerNode:
        """A source node that holds the rows of ``root``."""
        return self.with_full_sorts_if_needed(self._execute, root)

    def _execute(self, root: PlannerNode) -> PlannerNode:
        if self.options.naive:
            return self._keep(query.collect(root), root)
        section, placement = self.section(root)
        return self.run_section(section, placement)

    def save(self, root: PlannerNode) -> PlannerNode:
        """A source over the dataset in ``options.directory``: rows that are only in memory or in other datasets are written too."""
        return self.with_full_sorts_if_needed(self._save, root)

    def _save(self, root: PlannerNode) -> PlannerNode:
        section, placement = self.section(root)
        if not section.operator.is_source:
            return self.run_section(section, placement)
        if isinstance(section.operator, MemorySource) or is_small(section):
            return self._keep(source_of(section).read_all(), section)
        return self._run_on_driver(section, placement) if streams_sooner(section) else self._run_tasks(section, placement)

    def counted(self, root: PlannerNode) -> PlannerNode:
        """The plan as one section that is not run: where joins decide how many rows there are, their matches are counted."""
        return self.with_full_sorts_if_needed(lambda plan: self.section(plan)[0], root)

    def for_query(self, root: PlannerNode) -> tuple[PlannerNode, Placement]:
        """The plan as one Spark query, with what cannot be part of it already executed."""
        node, placement = self.with_full_sorts_if_needed(lambda plan: self._fit_for_query(*self.section(plan)), root)
        require_owned(node, self.owned)
        return with_stored_tables(node), placement

    def with_full_sorts_if_needed(self, run: Callable[[PlannerNode], Result], root: PlannerNode) -> Result:
        """A run of the plan; with all rows sorted by Spark where it turns out that too many rows tie."""
        with GRAPH_LOCK:
            # Nodes of users' graphs that no law has changed are part of the plan, and others may splice them meanwhile.
            plan = private_copy(root)
        with asking_again(plan, self.options.directory):
            try:
                result = run(plan)
            except RunTooLongError as error:
                self.log.append(f"sorted again by Spark: {error}")
                result = run(rebuild(plan, with_full_sort))
        if plan.operator.is_source and root.operator is plan.operator:
            root.known = plan.known
        return result

    def section(self, root: PlannerNode) -> tuple[PlannerNode, Placement]:
        """The plan as one section, with everything below it that cannot be part of it already executed."""
        readers = {key: len(nodes) for key, nodes in consumers([root]).items()}
        observed, again = observed_nodes(root), called_again(root)
        placed: dict[int, tuple[PlannerNode, Placement]] = {}
        for node in postorder([root]):
            children = [placed[id(child)] for child in node.inputs]
            new, placement = self._place(node, children)
            shared_query = not placement.segment and readers[id(node)] > 1
            if node is not root and id(node) in observed:
                require_fixed([node], self.free)
            if shared_query or id(node) in again:
                new = self._executed(new, placement)[0]
                placement = Placement(True, base_rows=known_rows(new))
            placed[id(node)] = (new, placement)
        return placed[id(root)]

    def _place(self, node: PlannerNode, children: list[tuple[PlannerNode, Placement]]) -> tuple[PlannerNode, Placement]:
        """Place a node, executing inputs that stand in its way."""
        if isinstance(node.operator, (GroupBy, Reduce)) and node.operator.has_whole_kernel:
            done, child = self._whole_on_driver(node, children[0])
            if done is not None:
                return done
            children = [child]
        if isinstance(node.operator, DecomposableOperator):
            parts = self._from_parts(node, node.operator, children[0])
            if parts is not None:
                return parts
        if isinstance(node.operator, SliceRows):
            found = self._first_rows(node, node.operator, children[0])
            if found is not None:
                return found
        children = self._unblocked(node, list(children)) if node.operator.has_kernel else list(children)
        placement = place(node.with_inputs([child for child, _ in children]), [item for _, item in children])
        assert placement is not None
        if not placement.segment:
            children = [self._fit_for_query(child, item) for child, item in children]
            if isinstance(node.operator, Sort) and children[0][0].operator.is_source and self._can_be_sorted_in_memory(children[0][0]):
                # How few rows there are was not known before they were computed.
                in_memory = SuffixSort(node.operator.by, 0).make_planner_node(children[0][0])
                return in_memory, place(in_memory, [children[0][1]]) or placement
        placed = node.with_inputs([child for child, _ in children])
        if isinstance(placed.operator, SortedJoin) and placement.segment:
            return with_counted_rows(placed, placement.rows_to_run), placement
        if placed.operator.counts_rows and placement.segment:
            placed = with_known_rows(placed)
            placement = attrs.evolve(placement, base_rows=known_rows(placed))
        return placed, placement

    def _can_be_sorted_in_memory(self, node: PlannerNode) -> bool:
        return is_small(node) and known_rows(node) <= suffix_sort.MOST_TIES

    def _unblocked(self, node: PlannerNode, children: list[tuple[PlannerNode, Placement]]) -> list[tuple[PlannerNode, Placement]]:
        """The inputs of a node, those that stand in its way executed; an input that is read in several slots is executed once."""
        children = list(children)
        current = node.with_inputs([child for child, _ in children])
        done: dict[int, tuple[PlannerNode, Placement]] = {}
        for slot in blocking_inputs(current, [item for _, item in children]):
            below = children[slot][0]
            if id(below) not in done:
                done[id(below)] = self._executed(*children[slot])
        return [done.get(id(below), (below, placement)) for below, placement in children]

    def _executed(self, node: PlannerNode, placement: Placement) -> tuple[PlannerNode, Placement]:
        require_fixed(postorder([node]))
        inner = self._inner()
        source = inner._run_tasks(node, placement) if lacks_key(node.operator) else inner.run_section(node, placement)
        return source, Placement(True, base_rows=known_rows(source))

    def _inner(self) -> Executor:
        """An executor of what lies below the result."""
        return attrs.evolve(self, options=attrs.evolve(self.options, directory=None, names=None))

    def _fit_for_query(self, node: PlannerNode, placement: Placement) -> tuple[PlannerNode, Placement]:
        """An input of a Spark query: a query itself, a section that Spark can inline, or an executed source."""
        if not placement.segment:
            return node, placement
        # Foreign files, whose rows have no stored key, are rewritten as segments before Spark reads them.
        if node.operator.is_source and not lacks_key(node.operator):
            return node, placement
        if spark_can_inline(node) and not is_small(node):
            return node, placement
        return self._executed(node, placement)

    def _whole_on_driver(self, node: PlannerNode, child: Placed) -> tuple[Placed | None, Placed]:
        """A node whose kernel takes all rows of its input at once, where these are few, or in memory to be made one row; and its input.

        An input whose rows turned out to take too much memory has been computed.
        """
        below, placement = child
        if not placement.segment or not (is_small(below) or (isinstance(node.operator, Reduce) and is_at_hand(below))):
            return None, child
        source = below if isinstance(below.operator, MemorySource) else self._inner()._run_on_driver(below, placement, BUDGETS_AT_HAND)
        if not isinstance(source.operator, MemorySource):
            return None, (source, Placement(True, base_rows=source.length.known_rows))
        chunk = node.operator.kernel([source.operator.read_all()], [below.facts])
        result = PlannerNode(MemorySource.of(chunk, node.schema, recorded_order(node)))
        return (result, Placement(True, base_rows=chunk.rows)), child

    def _from_parts(
        self, node: PlannerNode, operator: DecomposableOperator, child: tuple[PlannerNode, Placement]
    ) -> tuple[PlannerNode, Placement] | None:
        """A node whose rows follow from a part that each task makes of its range of the input."""
        below, placement = child
        if not placement.segment or not operator.decomposes([below.facts]) or not parts_are_small(operator, below):
            return None
        tasks = self.range_tasks(with_stored_tables(below), placement)
        self.log.append(f"parts: {node.operator_type} in {len(tasks)} task(s) over {placement.rows_to_run} rows")
        works = [partial(part_of_range, task, operator, [below.facts]) for task in tasks]
        part = combined_parts(operator, run_range_works(works, f"computing {node.operator_type}"), [below.facts])
        rows = operator.rows_from(part, [below.facts])
        return PlannerNode(MemorySource.of(rows, node.schema, recorded_order(node))), Placement(True, base_rows=rows.rows)

    def _first_rows(self, node: PlannerNode, operator: SliceRows, child: tuple[PlannerNode, Placement]) -> tuple[PlannerNode, Placement] | None:
        """The first rows, or few rows of a join, of a section whose rows cannot be addressed by number, without computing the others."""
        below, placement = child
        stop = below.length.rows if operator.stop is None else operator.stop
        if stop is None or not placement.segment or (placement.dense and placement.stateless and join_below(below) is None):
            return None
        chunk = first_rows(below, placement.rows_to_run, stop)
        if chunk is not None:
            self.log.append(f"driver: the first {stop} rows of {below.operator_type}")
            rows = operator.kernel([chunk], [below.facts])
        else:
            chunk = self._joined_rows(below, placement, operator.start, stop)
            if chunk is None:
                return None
            self.log.append(f"driver: the rows {operator.start} to {stop} of {below.operator_type}")
            rows = operator.take_steps(chunk)
        return PlannerNode(MemorySource.of(rows, node.schema)), Placement(True, base_rows=rows.rows)

    def _joined_rows(self, below: PlannerNode, placement: Placement, start: int, stop: int) -> Chunk | None:
        """Rows of a join by number, where they are few."""
        few = stop - start <= config.small_rows and rows_fit(below, max(0, stop - start))
        return joined_rows(below, placement.rows_to_run, start, stop) if few else None

    def run_section(self, node: PlannerNode, placement: Placement) -> PlannerNode:
        """Execute one section into a source."""
        if node.operator.is_source:
            return node
        if not placement.segment:
            return self._run_query(node)
        if is_small(node) or streams_sooner(node):
            self.log.append(f"driver: {node.operator_type} over {placement.rows_to_run} rows")
            return self._run_on_driver(node, placement)
        return self._run_tasks(node, placement)

    def _run_on_driver(self, node: PlannerNode, placement: Placement, budgets: int = 1) -> PlannerNode:
        """A source of the rows of a section: in memory, or on disk where they turn out to be too large for that."""
        alone, rows = needs_one_batch(node), placement.rows_to_run
        runner = PlanRunner(FlatPlan.of(node), in_one_batch=alone, threads=threads_here())
        stream = runner.pieces(0, rows, True, rows) if alone else runner.stream(0, rows, config.batch_rows)
        chunks: list[Chunk] = []
        size = 0
        for chunk in stream:
            chunks.append(chunk)
            size += chunk.size
            if size > budgets * config.memory_budget:
                self.log.append(f"disk: {node.operator_type} has more than {config.memory_budget} bytes")
                return write_chunks(chain(taken(chunks), stream), node.schema, self.options, recorded_order(node))
        return self._keep(concatenate(chunks, node.schema), node)

    def _run_query(self, node: PlannerNode) -> PlannerNode:
        require_owned(node, self.owned)
        self.log.append(f"query: {node.operator_type}")
        node = with_stored_tables(node)
        if self.options.directory is None and fits_driver(node, self.options.in_memory):
            return self._keep(query.collect(node), node)
        if self._may_be_few_groups(node):
            chunk = query.collect_few(node, self.options.in_memory)
            if chunk is not None:
                return self._keep(chunk, node)
        return write_query(node, self.options)

    def _may_be_few_groups(self, node: PlannerNode) -> bool:
        """True for groups that fit the driver's memory if they are few, and probably are."""
        if not isinstance(node.operator, GroupBy) or self.options.directory is not None or not rows_fit(node, self.options.in_memory):
            return False
        return few_groups(node.inputs[0], node.operator.keys)

    def _run_tasks(self, node: PlannerNode, placement: Placement) -> PlannerNode:
        tasks = self.range_tasks(with_stored_tables(node), placement)
        self.log.append(f"segments: {node.operator_type} in {len(tasks)} task(s) over {placement.rows_to_run} rows")
        if self.options.directory is None and fits_driver(node, self.options.in_memory):
            parts = run_range_works([partial(collect_rows, task) for task in tasks], f"computing {node.operator_type}")
            return self._keep(concatenate([read_stream(part) for part in parts], node.schema), node)
        with new_dataset(node.schema, self.options, recorded_order(node)) as dataset:
            require_writable(dataset.directory)
            works = [partial(write_range, task, dataset.directory, number, node.schema) for number, task in enumerate(tasks)]
            entries: list[SegmentEntry] = run_range_works(works, f"materialising {node.operator_type}")
            manifest = dataset.publish(entries)
        return segment_source(manifest, dataset.handle)

    def range_tasks(self, node: PlannerNode, placement: Placement) -> list[RangeTask]:
        require_owned(node, self.owned)
        require_readable(node)
        plan, rows = FlatPlan.of(node), placement.rows_to_run
        made = max((facts.length.rows or rows) * row_bytes(sizes, 0) for facts, sizes in zip(plan.facts, plan.sizes, strict=True))
        return self._with_states(plan, self._ranges(rows, int(made)))

    def _ranges(self, rows: int, size: int) -> list[tuple[int, int]]:
        """Row ranges of tasks, given the bytes of what is made of all rows.

        As many as asked for, else enough for all cores but none too small or too large.
        """
        from sframe_spark.session.session import default_parallelism, get_session

        count = self.options.segments or config.default_segments
        if count is None:
            cores = default_parallelism(get_session())
            worth = max(-(-rows // LEAST_TASK_ROWS), size // LEAST_TASK_BYTES)
            count = max(1, min(rows, cores, worth), -(-rows // config.segment_rows), min(rows, size // LARGEST_TASK_BYTES))
        bounds = [rows * i // count for i in range(count + 1)]
        return list(pairwise(bounds))

    def _with_states(self, plan: FlatPlan, ranges: Sequence[tuple[int, int]]) -> list[RangeTask]:
        """Tasks whose sequential operators know the state before their range: one pass over partial results per level."""
        ranges, states = list(ranges), [dict[int, Any]() for _ in ranges]
        for position in plan.sequential_places():
            operator = plan.operators[position]
            assert isinstance(operator, SequentialOperator)
            initial = operator.initial_state(plan.input_facts(position))
            states[0][position] = initial
            if len(ranges) == 1:
                continue
            tasks = [RangeTask(plan, a, b, config.batch_rows, dict(s)) for (a, b), s in zip(ranges, states, strict=True)]
            works = [partial(summarize_range, task, position) for task in tasks[:-1]]
            before = states_between(operator, initial, run_range_works(works, f"summarising {operator.name}"))
            ranges, states = joined_ranges(ranges, states, position, before)
        last = len(ranges) - 1
        pairs = enumerate(zip(ranges, states, strict=True))
        return [RangeTask(plan, a, b, config.batch_rows, s, final=index == last) for index, ((a, b), s) in pairs]

    def _keep(self, chunk: Chunk, node: PlannerNode) -> PlannerNode:
        if self.options.directory is not None:
            return write_chunk(chunk, node.schema, self.options, recorded_order(node))
        source = MemorySource.of(chunk, node.schema, recorded_order(node))
        return PlannerNode(source)


def with_full_sort(node: PlannerNode) -> PlannerNode:
    """A sort of all rows in place of one that sorts ties."""
    return Sort(node.operator.by).make_planner_node(*node.inputs) if isinstance(node.operator, SuffixSort) else node


def taken(chunks: list[Chunk]) -> Iterator[Chunk]:
    """Chunks, each let go as it is passed on."""
    while chunks:
        yield chunks.pop(0)


def parts_are_small(operator: DecomposableOperator, below: PlannerNode) -> bool:
    """True when the driver can hold what tasks send it: first rows may be long ones."""
    if not isinstance(operator, TopRows):
        return True
    return operator.rows * row_bytes(sizes_of(below)[id(below)], UNKNOWN_BYTES) <= SENT_BYTES


def run_range_works(works: list[Any], description: str) -> list[Any]:
    """Results of task works, with Spark's errors as ours."""
    with query.translated_errors(description):
        return run_tasks(works, description)
