"""States of ranges of rows are those of all their rows, whichever of these are read."""

from __future__ import annotations

import random

import attrs
import pyarrow as pa
import pytest

from sframe_spark.compute.interval_grid import Grid
from sframe_spark.engine.runtime.pipeline import Pipeline, PipelineRunner
from sframe_spark.engine.runtime.row_range_tasks_and_sequential_states import summarize
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.operators.groupby.groupby_of_adjacent_equal_keys import group_adjacent_equal_keys
from sframe_spark.operators.groupby.resampling import AssignIntervals, FillIntervals, resample
from sframe_spark.operators.project_zip_arrange import project
from sframe_spark.operators.sources.in_memory import MemorySource
from sframe_spark.operators.window.cumulative import cumulative
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import FLOAT, INT
from tests.examples import examples
from tests.operators.ranges import random_cuts, run_in_ranges

READ: list[tuple[int, int]] = []
FIRST, LAST = 100, 2_000


@attrs.frozen
class Watched(MemorySource):
    """A source that notes what is read of it."""

    name = "watched_source"

    def read(self, start: int, stop: int) -> Chunk:
        """Rows, which are noted."""
        READ.append((start, stop))
        return super().read(start, stop)


def source_of(times: list[int]) -> PlannerNode:
    """Times, and a value for each."""
    values = [0.1 * number for number in range(len(times))]
    return Watched.of(Chunk.of([pa.array(times, pa.int64()), pa.array(values, pa.float64())]), (INT, FLOAT)).make_planner_node()


def resampled(times: list[int]) -> PlannerNode:
    """Sums of intervals of ten, and rows for those that have none."""
    return resample(source_of(times), AssignIntervals(0, Grid(10)), [], [Aggregation("sum", (1,))], True)


def rows_read(times: list[int]) -> int:
    """How many rows of a range are read for the state of what fills intervals."""
    plan = Pipeline.of(resampled(times))
    group, fill = plan.sequential_indices()
    before = {group: summarize(plan, group, {}, 0, FIRST, 20)}
    READ.clear()
    found = summarize(plan, fill, before, FIRST, LAST, 20)
    read = sum(stop - start for start, stop in READ)
    whole = plan.operators[fill].summarize([PipelineRunner(plan.below(plan.inputs[fill][0]), before).run(FIRST, LAST)], plan.input_facts(fill))  # type: ignore[attr-defined]
    assert found.row.to_table() == whole.row.to_table()
    return read


@pytest.mark.parametrize(("rows_of_each", "most"), [(3, 80), (15, 80), (30, 160), (50, 300), (100, 600), (900, 4_000), (5_000, 4_000)])
def test_only_the_ends_of_a_range_are_read_where_running_values_are_read(rows_of_each: int, most: int) -> None:
    """Groups that end in the last rows, and the rows before these tell where the first of them begins."""
    assert rows_read([number // rows_of_each * 10 for number in range(2_500)]) <= most


def test_nothing_is_tried_over_values_that_remember_all_rows() -> None:
    source = source_of([number // 30 for number in range(2_500)])
    plan = Pipeline.of(group_adjacent_equal_keys(cumulative(project(source, [0]), "max"), [0], [Aggregation("count")]))
    _, group = plan.sequential_indices()
    READ.clear()
    summarize(plan, group, {}, 0, LAST, 20)
    assert [(start, start + 20) for start in range(0, LAST, 20)] == READ


def test_filled_intervals_do_not_depend_on_ranges_or_batches() -> None:
    for seed in range(examples(40)):
        choose = random.Random(seed)
        steps, now, times = choose.choice([[0, 1], [0, 0, 0, 0, 7], [3, 40], [0, 0, 0, 0, 0, 0, 0, 0, 0, 25]]), 0, []
        for _ in range(choose.randrange(200)):
            now += choose.choice(steps)
            times.append(now)
        node = resampled(times)
        whole = run_in_ranges(node, [0, len(times)], max(1, len(times)))
        for _ in range(3):
            cuts, batch = random_cuts(choose, len(times)), choose.choice([1, 3, 10])
            assert run_in_ranges(node, cuts, batch) == whole, (seed, cuts, batch)
        assert isinstance(node.operator, FillIntervals)


def test_running_values_over_running_values_do_not_depend_on_ranges_or_batches() -> None:
    """What settles of the upper ones settles only where the lower ones do."""
    for seed in range(examples(20)):
        choose = random.Random(seed)
        times = sorted(choose.randrange(choose.choice([40, 4_000])) for _ in range(choose.randrange(200)))
        lower = group_adjacent_equal_keys(source_of(times), [0], [Aggregation("count")])
        coarser = resample(lower, AssignIntervals(0, Grid(choose.choice([5, 50]))), [], [Aggregation("sum", (1,))], choose.random() < 0.5)
        node = resample(coarser, AssignIntervals(0, Grid(100)), [], [Aggregation("sum", (1,))], True)
        whole = run_in_ranges(node, [0, len(times)], max(1, len(times)))
        for batch in (2, 10):
            cuts = random_cuts(choose, len(times))
            assert run_in_ranges(node, cuts, batch) == whole, (seed, cuts, batch)
