"""Random programs: graphs of operators over random tables, with shared nodes, for checks of every node's rows.

``programs()`` is a hypothesis strategy; ``random_program(random.Random(seed))`` is the same for loops with fixed seeds.
Rows are computed by the oracle while a program grows, so inputs of a zip really have equal lengths, results stay small
and floats whose last bits depend on the order of adding are never compared, grouped or computed with.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import attrs
from hypothesis import strategies as st

from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.printed_plans import plan_text
from sframe_spark.testing.oracle import Oracle, Rows
from tests.random_programs import lookup_steps, ordered_steps, run_steps, steps
from tests.random_programs.growth import Growth
from tests.random_tables import random_table

DRIVER_STEPS: dict[str, Callable[[Growth], PlannerNode | None]] = {
    "project": steps.project_some,
    "zip": steps.zip_some,
    "arrange": steps.arrange_some,
    "transform": steps.transform_column,
    "binary_transform": steps.transform_two,
    "ternary_transform": steps.choose_between,
    "generalized_transform": steps.run_program,
    "lambda_transform": steps.apply_function,
    "filter": steps.filter_some,
    "filter_rows": steps.filter_by_last,
    "slice": steps.slice_some,
    "reverse": steps.turn_round,
    "append": steps.append_some,
    "row_number": steps.number_rows,
    "cumulative": steps.run_along,
    "rolling": steps.roll_along,
    "reduce": steps.reduce_all,
    "flat_map": steps.flat_map_rows,
    "explode": steps.explode_some,
    "shift": ordered_steps.shift_some,
    "running": ordered_steps.run_by_key,
    "fill_forward": ordered_steps.fill_some,
    "ranks_of_sorted_rows": ordered_steps.rank_some,
    "rolling_rank": ordered_steps.roll_ranks,
    "lagged": ordered_steps.shift_by_key,
    "rolling_by_key": ordered_steps.roll_by_key,
    "exponential_smoothing": ordered_steps.smooth_along,
    "session_numbers": ordered_steps.number_sessions,
    "key_window": lookup_steps.window_some,
    "merge_sorted": lookup_steps.merge_some,
    "interpolation": lookup_steps.interpolate_some,
    "streaming_group_by": run_steps.group_neighbours,
    "map_cycles": run_steps.map_neighbours,
    "assign_intervals": run_steps.put_in_intervals,
}
"""Steps that need no Spark."""

EXCHANGE_STEPS: dict[str, Callable[[Growth], PlannerNode | None]] = {
    "sort": steps.sort_some,
    "assume_order": steps.promise_some,
    "top_rows": steps.top_some,
    "group_by": steps.group_some,
    "join": steps.join_some,
    "fill_intervals": run_steps.fill_between,
    # Its first input may have to be sorted.
    "asof_join": lookup_steps.look_up_some,
    "interval_join": lookup_steps.match_some,
}
"""Steps that only Spark executes."""

ALL_STEPS = {**DRIVER_STEPS, **EXCHANGE_STEPS}

CHAINS: tuple[tuple[str, ...], ...] = (
    ("slice", "slice"),
    ("append", "slice"),
    ("sort", "slice"),
    ("project", "sort", "slice"),
    ("cumulative", "slice"),
    ("filter", "slice"),
    ("slice", "append"),
    ("append", "append"),
    ("filter", "slice", "slice"),
    ("join", "slice", "slice"),
    ("flat_map", "slice", "slice"),
    ("filter", "filter"),
    ("filter", "cumulative"),
    ("cumulative", "filter"),
    ("filter", "shift"),
    ("shift", "running"),
    ("sort", "running", "slice"),
    ("lambda_transform", "zip", "filter"),
    ("lambda_transform", "zip", "sort"),
    ("sort", "sort"),
    ("sort", "zip"),
    ("sort", "filter"),
    ("sort", "append", "top_rows"),
    ("sort", "filter_rows", "slice"),
    ("reverse", "sort"),
    ("reverse", "group_by"),
    ("reverse", "top_rows"),
    ("reverse", "reduce"),
    ("join", "project"),
    ("group_by", "project"),
    ("asof_join", "project"),
    ("interval_join", "project"),
    ("key_window", "project"),
    ("merge_sorted", "project"),
    ("interpolation", "filter"),
    ("lagged", "filter"),
    ("rolling_rank", "slice"),
    ("sort", "ranks_of_sorted_rows", "slice"),
    ("fill_forward", "slice"),
    ("filter", "lagged"),
    ("sort", "lagged", "project"),
    ("rolling_by_key", "slice"),
    ("explode", "filter"),
    ("explode", "slice"),
    ("explode", "explode"),
    ("sort", "reduce"),
    ("streaming_group_by", "slice"),
    ("assign_intervals", "streaming_group_by"),
    ("map_cycles", "filter"),
    ("filter", "map_cycles", "slice"),
    ("sort", "streaming_group_by", "project"),
)
"""Steps on top of each other that laws are about: by chance alone they would seldom meet."""


CHAIN_SHARE = 0.35


@attrs.frozen(eq=False)
class RandomProgram:
    """Nodes in order of creation, inputs before consumers, and the rows each must have.

    Parameters
    ----------
    nodes
        The nodes; every one of them is a result that somebody could look at.
    expected
        Rows of each node, by the oracle.
    """

    nodes: tuple[PlannerNode, ...]
    expected: tuple[Rows, ...]

    def copy(self) -> RandomProgram:
        """The same program in nodes of its own, so that materialising changes nothing here."""
        copies: dict[int, PlannerNode] = {}
        for node in postorder(self.nodes):
            copies[id(node)] = PlannerNode(node.operator, [copies[id(child)] for child in node.inputs])
        return RandomProgram(tuple(copies[id(node)] for node in self.nodes), self.expected)

    def __repr__(self) -> str:
        return "\n".join(["", *[f"-- node {place}:\n{plan_text(node)}" for place, node in enumerate(self.nodes) if node.inputs]])


def random_program(
    choose: random.Random,
    kinds: Sequence[str] = tuple(ALL_STEPS),
    most_steps: int = 10,
    on_disk: bool = True,
) -> RandomProgram:
    """A program of one to three tables and up to ``most_steps`` operators.

    Parameters
    ----------
    choose
        Where all decisions come from.
    kinds
        Names of the operators to choose from, keys of ``ALL_STEPS``.
    most_steps
        How many operators to put on top of the tables, at most.
    on_disk
        Whether some tables are segments on disk.

    Examples
    --------
    >>> program = random_program(random.Random(1), ["project", "append"])
    >>> len(program.nodes) == len(program.expected)
    True
    """
    growth = Growth(choose, Oracle())
    for _ in range(choose.randint(1, 3)):
        growth.add(random_table(choose, on_disk))
    chains = [chain for chain in CHAINS if set(chain) <= set(kinds)]
    for _ in range(choose.randint(1, most_steps)):
        if chains and choose.random() < CHAIN_SHARE:
            grow_chain(growth, choose.choice(chains))
        else:
            ALL_STEPS[choose.choice(kinds)](growth)
    nodes = tuple(growth.nodes)
    return RandomProgram(nodes, tuple(growth.oracle.rows(node) for node in nodes))


def grow_chain(growth: Growth, chain: Sequence[str]) -> None:
    """Take steps each of which goes on with what the one before gave, where that fits."""
    for kind in chain:
        growth.focus = ALL_STEPS[kind](growth) or growth.focus
    growth.focus = None


def programs(kinds: Sequence[str] = tuple(ALL_STEPS), most_steps: int = 10, on_disk: bool = True) -> st.SearchStrategy[RandomProgram]:
    """Strategy of random programs; failing ones shrink.

    Examples
    --------
    >>> programs(["slice"], most_steps=3).validate()
    """

    def grow(choose: Any) -> RandomProgram:
        return random_program(choose, kinds, most_steps, on_disk)

    return st.randoms(use_true_random=False).map(grow)
