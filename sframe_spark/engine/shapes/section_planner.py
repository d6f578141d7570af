"""Divides an optimized plan into a tree of sections, and gives each its shape and its workers, before anything runs."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from sframe_spark.engine.physical.placement_and_blocking_inputs import (
    Placement,
    blocking_inputs,
    is_small,
    needs_this_process,
    placed_over,
    placement_of,
    runs_on_other_machines,
    runs_whole_here,
    spark_can_inline,
    suits_processes,
    suits_threads,
    why_blocked,
)
from sframe_spark.engine.physical.site import Site
from sframe_spark.engine.physical.user_dataframes_to_materialize_first import require_fixed
from sframe_spark.engine.shapes.count_matches import COUNT_MATCHES, is_to_be_counted, may_be_counted
from sframe_spark.engine.shapes.first_rows import FIRST_ROWS
from sframe_spark.engine.shapes.hash_join import HASH_JOIN
from sframe_spark.engine.shapes.joins_in_memory import is_searched_cheaply, join_searched_by_tasks, local_join, query_again
from sframe_spark.engine.shapes.partial_states import PARTIAL_STATES
from sframe_spark.engine.shapes.plan_part_and_gathered_rows import PlanPart
from sframe_spark.engine.shapes.range_shuffle import RANGE_SHUFFLE
from sframe_spark.engine.shapes.repeated_function_calls_and_function_placement import called_again, calls_hashing_functions, calls_pure_functions
from sframe_spark.engine.shapes.rows_near_this_process import is_cheaper_locally
from sframe_spark.engine.shapes.section_tree import THE_RESULT, Section, SectionResult, Shape, Strategy, Workers, in_order_of_running, sections_in
from sframe_spark.engine.shapes.spark_query import QUERY
from sframe_spark.engine.shapes.states_of_hash_join import STATES_OF_HASH_JOIN, changes_rows_alone
from sframe_spark.engine.shapes.stream import STORED, STREAM, workers_over_ranges
from sframe_spark.engine.shapes.whole import WHOLE
from sframe_spark.operators import sort_top_rows_and_assumed_order as sort_operators
from sframe_spark.operators.sources.segment_row_ranges import lacks_key
from sframe_spark.operators.user_function_calls_and_result_memos import functions_of
from sframe_spark.planner.graph_traversal import consumers, postorder, rebuild
from sframe_spark.planner.length_and_order_inference import observed_nodes
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import Need, Operator
from sframe_spark.planner.operator_capabilities import match_counting_of, operator_for_few_rows

Placed = tuple[PlannerNode, Placement]
HOW_MANY = "how it is run depends on the number of its rows"
MADE_WITHOUT_SPARK = "its rows are computed without Spark, so that the operator that reads them may need no Spark either"
WITHOUT_KEY = "Spark reads rows in order from segments with row numbers, which files of others lack"
# For a node whose only input is read range by range, while the node may require all its rows at once: the first shape that applies makes a section
# of the node and its input.
SHAPES_OF_ONE_NODE: tuple[Shape, ...] = (WHOLE, PARTIAL_STATES, FIRST_ROWS)
# Shapes of a part of a plan: the first that applies runs it.
SHAPES: tuple[Shape, ...] = (STORED, STREAM, HASH_JOIN, RANGE_SHUFFLE, WHOLE, QUERY)


@attrs.frozen(eq=False)
class SectionOrigin:
    """The node of a plan that is replaced when a section has run.

    Parameters
    ----------
    node
        The node whose rows the section computes; if ``search`` is given, a join whose right input the section sorts.
    search
        The operator that replaces the join and searches the sorted rows; None if the section computes the node's own rows.
    """

    node: PlannerNode
    search: Operator | None = None

    def over(self, inputs: Sequence[PlannerNode], rows: PlannerNode) -> PlannerNode:
        """Return the replacement of the node, given the inputs of the node and the section's rows."""
        return rows if self.search is None else self.search.make_planner_node(inputs[0], rows)


@attrs.define(eq=False)
class SectionPlanner:
    """Divides plans into sections.

    Parameters
    ----------
    site
        The site for which plans are made.
    free
        ``id`` of users' DataFrames that the plan may read as they are (see :mod:`sframe_spark.engine.physical.user_dataframes_to_materialize_first`).
    refused
        Shapes and workers that the root must not get, as it has failed with them.
    waiting
        Filled with the sections whose rows decide how many rows a join has. They have to run before the rest is planned again.
    section_origins
        Filled with the origin of each section of the plan, by ``id`` of the section.
    counting
        Filled with the sections that count the rows of joins, for explain(). No section reads them. The first is in ``waiting`` if the inputs of its
        join are computed. All other sections run once the plan has been made again.
    is_observed
        Whether the order of the rows of the result is observed.
    gathers
        Whether inputs may be gathered in this process, or exchanged by Spark tasks. False if the whole plan is to become a Spark query.
    """

    site: Site
    free: frozenset[int] = frozenset()
    refused: frozenset[Strategy] = frozenset()
    waiting: list[Section] = attrs.Factory(list)
    section_origins: dict[int, SectionOrigin] = attrs.Factory(dict)
    counting: list[Section] = attrs.Factory(list)
    is_observed: bool = True
    gathers: bool = False
    _has_gathered: bool = attrs.field(default=False, init=False)
    _has_exchanged: bool = attrs.field(default=False, init=False)
    _root: PlannerNode | None = None
    _strategy: Strategy | None = attrs.field(default=None, init=False)
    _origins: dict[int, SectionOrigin] = attrs.Factory(dict)
    _readers: dict[int, int] = attrs.Factory(dict)
    _unobserved: set[int] = attrs.Factory(set)

    def plan(self, root: PlannerNode, reason: str = THE_RESULT) -> Section:
        """Return the last section of a plan; the sections that run before it are its inputs.

        Raises
        ------
        RowsNotFixedError
            If the plan observes the order of a user's DataFrame whose rows are not fixed.
        """
        # If another section needs Spark anyway, Spark is to sort rows that this process would gather: the plan is made a second time for that, below.
        inside = attrs.evolve(self, gathers=True, waiting=[], section_origins={}, counting=[], origins={})
        section = inside._planned(root, reason)
        # Sections that depend on the waiting ones are planned again later, so their needs do not matter here.
        decided = in_order_of_running(inside.waiting or [section])
        in_vain = not self.site.is_alone and inside._has_gathered and any(map(needs_spark, decided))
        if not in_vain and not (inside._has_exchanged and any(planned.shape == QUERY for planned in decided)):
            self.waiting, self.section_origins, self.counting = inside.waiting, inside.section_origins, inside.counting
        else:
            section = self._planned(root, reason)
        self._mark([section])
        return section

    def _mark(self, sections: Sequence[Section]) -> None:
        """Note in all sections that were planned whether this process was to compute them alone: they run as they were planned."""
        for section in in_order_of_running([*sections, *self.waiting, *self.counting]):
            section.is_alone = self.site.is_alone

    def _planned(self, root: PlannerNode, reason: str) -> Section:
        self._root = root
        fragment, placement = self.fragment(root)
        if self._strategy is not None:
            return Section(*self._strategy, fragment, reason, placement=placement, is_observed=self._is_observed(root))
        if isinstance(fragment.operator, SectionResult):
            # A section just made of the root gets the reason of this plan; a root that stands for an earlier section leaves that its own.
            if fragment is not root:
                fragment.operator.section.reason = reason
            return fragment.operator.section
        strategy = strategy_for(fragment, placement, self.site, self.refused)
        return Section(*strategy, fragment, reason, placement=placement, is_observed=self._is_observed(root))

    def plan_for_query(self, root: PlannerNode) -> tuple[PlannerNode, Placement]:
        """Return a plan as one Spark query, with its placement; everything that cannot be part of a query becomes a section."""
        self._root = root
        node, placement = self.fragment(root)
        self._origins[id(node)] = SectionOrigin(root)
        node, placement = self._fit_for_query(node, placement)
        self._mark(sections_in(node))
        return node, placement

    def fragment(self, root: PlannerNode) -> Placed:
        """Return the part of a plan that runs last, with its placement; everything that cannot be part of it becomes a section."""
        self._readers = readers = {key: len(nodes) for key, nodes in consumers([root]).items()}
        observed, again = observed_nodes(root, self.is_observed), called_again(root, self.site)
        self._unobserved = set(map(id, postorder([root]))) - observed - ids_below_functions(root)
        placed: dict[int, Placed] = {}
        for node in postorder([root]):
            children = [placed[id(child)] for child in node.inputs]
            new, placement = self._place(node, children)
            if node is root:
                return new, placement
            self._origins[id(new)] = SectionOrigin(node)
            if id(node) in observed:
                require_fixed([node], self.free)
            if not placement.segment and readers[id(node)] > 1:
                why = f"{readers[id(node)]} operators read it, and a Spark query would compute it for each"
                new, placement = self._first(new, placement, why)
            elif id(node) in again:
                new, placement = self._first(new, placement, "it calls a function of the user's, which would be called again")
            placed[id(node)] = (new, placement)
            self._origins[id(new)] = SectionOrigin(node)
            if isinstance(new.operator, SectionResult):
                self.section_origins[id(new.operator.section)] = SectionOrigin(node)
        raise AssertionError("a plan has a root")

    def _is_observed(self, node: PlannerNode) -> bool:
        """Return whether the rows of a node of the plan must be in order, as must those of a node that is not known."""
        return id(node) not in self._unobserved

    def _place(self, node: PlannerNode, children: Sequence[Placed]) -> Placed:
        """Return a node over its inputs with its placement, or the result of a section that computes it; inputs that block it become sections."""
        origin, node = node, query_again(node)
        alone = self._over_partitions_of_join(node, children) or self._as_section(node, children)
        if alone is None and self.gathers and not node.operator.has_kernel:
            apart = [is_made_without_spark(*placed, self.site) for placed in children]
            if any(apart):
                self._has_gathered = True
                children = [
                    self._first(*placed, MADE_WITHOUT_SPARK) if is_apart else placed for placed, is_apart in zip(children, apart, strict=True)
                ]
                alone = self._as_section(node, children)
        if alone is not None:
            return SectionResult.of(alone), Placement(True, base_rows=alone.root.length.rows)
        if runs_whole_here(node.operator):
            return self._gathered_here(node, children)
        children = self._unblocked(node, children) if node.operator.has_kernel else list(children)
        placement = placed_over(node.with_inputs([child for child, _ in children]), [item for _, item in children])
        if not placement.segment:
            current = node.with_inputs([child for child, _ in children])
            if self.gathers:
                is_root, join = node is self._root, local_join(node, children, self.site)
                if join is not None and is_searched_cheaply(join):
                    return self._joined(node, join)
                strategy = strategy_for(current, placement, self.site, self.refused if is_root else frozenset())
                if join is not None and strategy.shape == QUERY:
                    return self._joined(node, join)
                if strategy.workers is not Workers.THREADS:
                    searched = join_searched_by_tasks(node, children, self.site)
                    if searched is not None:
                        return self._joined(node, searched)
                if not is_root and strategy.shape != QUERY:
                    return self._put_in_order(node, current, placement, strategy)
                if strategy.workers is Workers.THREADS:
                    # The section of the root reads its inputs range by range: they are not separate sections.
                    self._has_gathered = self._has_gathered or strategy.shape == HASH_JOIN
                    self._strategy = strategy
                    return current, placement
            children = [self._fit_for_query(child, item) for child, item in children]
            # The inputs may turn out to be few rows only now.
            few = operator_for_few_rows(node.operator)
            if few is not None and all(is_few_at_hand(child, self.site) for child, _ in children):
                node = few.make_planner_node(*(child for child, _ in children))
                placement = placed_over(node, [item for _, item in children])
        return self._counted(origin, node.with_inputs([child for child, _ in children]), placement)

    def _gathered_here(self, node: PlannerNode, children: Sequence[Placed]) -> Placed:
        """Return a node that only this process can compute, from all rows of its input; if other nodes read it, the result of its section."""
        why = f"{node.operator_type} has no Spark lowering: this process reads all its rows at once"
        children = [placed if is_read_by_threads(*placed, self.site) else self._first(*placed, why) for placed in children]
        current, placement = node.with_inputs([child for child, _ in children]), Placement(False)
        if node is self._root:
            return current, placement
        self._origins[id(current)] = SectionOrigin(node)
        return self._first(current, placement, "this process computes it from all rows at once")

    def _put_in_order(self, node: PlannerNode, current: PlannerNode, placement: Placement, strategy: Strategy) -> Placed:
        """Return the result of a section that gathers or exchanges all input rows of a node."""
        self._origins[id(current)] = SectionOrigin(node)
        if strategy.workers is Workers.THREADS:
            # Where a query would run on other machines, joining few bytes with it takes longer than with threads and reading their results.
            is_worth_it = strategy.shape == HASH_JOIN and runs_on_other_machines(self.site)
            self._has_gathered = self._has_gathered or not is_worth_it
            why = "threads of this process put all its rows in order"
            is_left = strategy.shape == HASH_JOIN and not self._is_observed(node)
            return self._first(current, placement, "threads of this process join it, and nobody observes the order of its rows" if is_left else why)
        # Joining with a query takes longer than with tasks and reading their results.
        self._has_exchanged = self._has_exchanged or strategy.shape != HASH_JOIN
        return self._first(current, placement, "Spark's tasks exchange all its rows")

    def _joined(self, node: PlannerNode, join: PlannerNode) -> Placed:
        """Return a join with sides in memory and its placement; these sides become sections that run first, so that its rows can be counted."""
        # The inputs that tasks search are not a reason for a query, which would send both sides.
        self._has_gathered = self._has_gathered or not runs_on_other_machines(self.site)
        search = None if match_counting_of(join.operator) is None else join.operator
        for slot, side in enumerate(join.inputs):
            if join.operator.requires(slot) is Need.LOOKUP:
                # A side that is sorted by its key no longer has the rows in the order that other readers need.
                self._origins[id(side)] = SectionOrigin(node.inputs[slot]) if search is None else SectionOrigin(node, search)
        sides = self._unblocked(join, [(side, placement_of(side)) for side in join.inputs])
        join = join.with_inputs([side for side, _ in sides])
        return self._counted(node, join, placed_over(join, [placement for _, placement in sides]))

    def _counted(self, origin: PlannerNode, node: PlannerNode, placement: Placement) -> Placed:
        """Return a placed node. If it is a join whose rows have to be counted, what decides their number runs first, and the plan is made again."""
        is_next = placement.segment and not self.waiting and is_to_be_counted(node, self.site)
        may_be = placement.segment and may_be_counted(node, self.site)
        if is_next or may_be:
            counting = Section(COUNT_MATCHES, Workers.DRIVER, node, HOW_MANY, placement=placement)
            self.section_origins[id(counting)] = SectionOrigin(origin)
            self.counting += [counting] if may_be else []
            self.waiting = self.waiting or sections_in(node) or [counting]
        return node, placement

    def _as_section(self, node: PlannerNode, children: Sequence[Placed]) -> Section | None:
        """Return a section of a node and its only input, if the node has a way to read it other than range by range; else None."""
        if len(children) != 1:
            return None
        below, placement = children[0]
        if not placement.segment:
            return None
        part = PlanPart(node.with_inputs([below]), None, self.site, placement)
        strategy = first_that_applies(SHAPES_OF_ONE_NODE, part)
        if strategy is None or (node is self._root and strategy in self.refused):
            return None
        return Section(*strategy, part.root, "its rows are made all at once")

    def _over_partitions_of_join(self, node: PlannerNode, children: Sequence[Placed]) -> Section | None:
        """Return a section of a node and of the join below it, if the node's result follows from the joined pieces; else None."""
        if len(children) != 1:
            return None
        original, below, above = node.inputs[0], children[0][0], list[PlannerNode]()
        while not isinstance(below.operator, SectionResult):
            if self._readers[id(original)] > 1 or not changes_rows_alone(below) or not original.inputs:
                return None
            above.append(below)
            original, below = original.inputs[0], below.inputs[0]
        joined = below.operator.section
        if joined.shape != HASH_JOIN or joined.workers is not Workers.THREADS or joined.is_observed or self._readers[id(original)] > 1:
            return None
        plan = joined.root
        for upper in (*reversed(above), node):
            plan = upper.with_inputs([plan])
        strategy = first_that_applies((STATES_OF_HASH_JOIN,), PlanPart(plan, None, self.site, joined.placement))
        if strategy is None or (node is self._root and strategy in self.refused):
            return None
        return Section(*strategy, plan, "its rows follow from each piece of the join below it")

    def _unblocked(self, node: PlannerNode, children: Sequence[Placed]) -> list[Placed]:
        """Return the inputs of a node, with blocking ones replaced by sections; an input that is read in several slots becomes one section."""
        current = node.with_inputs([child for child, _ in children])
        done: dict[int, Placed] = {}
        for slot in blocking_inputs(current, [item for _, item in children]):
            below, placement = children[slot]
            if id(below) not in done:
                done[id(below)] = self._first(below, placement, why_blocked(current, slot, placement))
        return [done.get(id(below), (below, placement)) for below, placement in children]

    def _first(self, node: PlannerNode, placement: Placement, reason: str) -> Placed:
        """Make a part of the plan a section, unless it is a source that can be read directly; return the node of its result."""
        if isinstance(node.operator, SectionResult):
            node.operator.section.reason = reason
            return node, placement
        require_fixed(postorder([node]))
        is_foreign = lacks_key(node.operator)
        if node.operator.is_source and not is_foreign:
            return node, placement
        strategy = Strategy(STREAM, workers_over_ranges(node, self.site)) if is_foreign else strategy_for(node, placement, self.site)
        origin = self._origins[id(node)]
        is_observed = origin.search is not None or self._is_observed(origin.node)
        section = Section(*strategy, node, reason, placement=placement, is_observed=is_observed)
        self.section_origins[id(section)] = origin
        return SectionResult.of(section), Placement(True, base_rows=node.length.rows)

    def _fit_for_query(self, node: PlannerNode, placement: Placement) -> Placed:
        """Return an input as part of a Spark query: unchanged if Spark can compute it within the query, otherwise as the result of a section."""
        if runs_whole_here(node.operator):
            return self._first(node, placement, "Spark cannot compute it, as it has no Spark lowering")
        if not placement.segment:
            return node, placement
        # External files have no stored row key, so they are rewritten as segments before Spark reads them.
        if lacks_key(node.operator):
            return self._first(node, placement, WITHOUT_KEY)
        if node.operator.is_source or (spark_can_inline(node) and not is_small(node, self.site)):
            return node, placement
        why = "few rows are computed sooner without Spark" if is_small(node, self.site) else "kernels compute it, not a Spark query"
        return self._first(node, placement, why)


def ids_below_functions(root: PlannerNode) -> set[int]:
    """Return the ``id`` of all nodes whose rows users' functions get: results are remembered by row, and functions may have effects."""
    below: set[int] = set()
    for node in reversed(list(postorder([root]))):
        if id(node) in below or functions_of(node):
            below.update(id(child) for child in node.inputs)
    return below


def as_one_query(root: PlannerNode, reason: str, site: Site) -> Section:
    """Return a whole plan as one Spark query; external files are rewritten as segments with row keys before."""

    def with_key(node: PlannerNode) -> PlannerNode:
        if not lacks_key(node.operator):
            return node
        return SectionResult.of(Section(STREAM, workers_over_ranges(node, site), node, WITHOUT_KEY, placement=placement_of(node)))

    return Section(QUERY, Workers.SPARK, rebuild(root, with_key), reason)


def strategy_for(root: PlannerNode, placement: Placement, site: Site, refused: frozenset[Strategy] = frozenset()) -> Strategy:
    """Return how a part of a plan runs, over inputs that can be read directly."""
    strategy = first_that_applies(SHAPES, PlanPart(root, placement, site, refused=refused))
    assert strategy is not None, "everything that has no row ranges can be a query"
    return strategy


def first_that_applies(shapes: Sequence[Shape], part: PlanPart) -> Strategy | None:
    """Return the first of some shapes that a part of a plan may have, with its workers; None if it may have none of them."""
    for shape in shapes:
        workers = shape.workers_for(part)
        if workers is not None:
            return Strategy(shape, workers)
    return None


def needs_spark(section: Section) -> bool:
    """Return whether a section certainly runs on Spark. If the number of rows of an input is unknown, it may not: the rows may turn out to be few."""
    return section.workers.are_on_spark and all(below.root.length.rows is not None for below in section.inputs)


def is_made_without_spark(root: PlannerNode, placement: Placement, site: Site) -> bool:
    """Return whether Python processes, or this process, compute many rows by functions of users.

    Then the operator that reads the rows may need no Spark either.
    """
    if not placement.segment or root.operator.is_source or is_small(root, site) or suits_threads(root, site) or is_cheaper_locally(root, site):
        return False
    return suits_processes(site) or needs_this_process(site) or calls_pure_functions(root, site) or calls_hashing_functions(root)


def is_read_by_threads(root: PlannerNode, placement: Placement, site: Site) -> bool:
    """Return whether threads of this process compute the rows of a part of a plan range by range, for what reads them all."""
    return placement.segment and (suits_threads(root, site) or is_cheaper_locally(root, site))


def is_few_at_hand(node: PlannerNode, site: Site) -> bool:
    """Return whether a node is a source of so few rows that they are sorted or joined in memory."""
    most = node.length.at_most
    return node.operator.is_source and is_small(node, site) and most is not None and most <= sort_operators.MAX_TIES
