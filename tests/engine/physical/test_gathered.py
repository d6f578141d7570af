"""Kernels of all rows in this process are planned in pieces that have room, on machines of any size."""

from __future__ import annotations

import pytest

from sframe_spark import SFrame, config
from sframe_spark.engine import costs
from sframe_spark.engine.physical import site
from sframe_spark.engine.physical.site import Site
from sframe_spark.engine.shapes import plan_part_and_gathered_rows
from sframe_spark.engine.shapes.plan_part_and_gathered_rows import bytes_gathered, ranges_for
from sframe_spark.engine.shapes.section_planner import SectionPlanner
from sframe_spark.engine.size_estimates_batch_sizes_and_memory_reservations import PlanSize
from sframe_spark.planner.chunk import MAX_BYTES_OF_ARRAY
from sframe_spark.planner.node import PlannerNode
from sframe_spark.rewrite_laws import optimize
from tests.strategies import WHOLE_BY_THREADS

GIB = 1 << 30


@pytest.mark.parametrize("threads", [1, 2, 8])
@pytest.mark.parametrize("work", [1 << 27, GIB, 16 * GIB, 64 * GIB, 4096 * GIB])
@pytest.mark.parametrize("row", [8, 400, 20_000, 3_000_000])
def test_a_range_has_room_for_its_rows_and_copies_in_arrays(row: int, work: int, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "local_threads", lambda: threads)
    with config.using(work_memory=work):
        for size in (work // 100, work // 4, work, 10 * work):
            count = ranges_for(PlanSize(size // row, size), Site.now())
            # More are Spark's.
            if count <= costs.MAX_RANGES:
                assert costs.UNEVENNESS_OF_RANGES * size / count <= min(bytes_gathered(Site.now()) / threads, MAX_BYTES_OF_ARRAY)
                assert count >= costs.UNEVENNESS_OF_RANGES * threads


def test_rows_that_are_many_and_short_are_not_more_ranges_than_there_may_be() -> None:
    with config.using(work_memory=4096 * GIB):
        assert ranges_for(PlanSize(10**12, 8.0 * 10**12), Site.now()) > costs.MAX_RANGES
        assert ranges_for(PlanSize(10**11, 10.0**11), Site.now()) <= costs.MAX_RANGES


def test_how_a_sort_runs_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two shapes ask how large its rows are, and the planner and the section how it runs."""
    asked, plan_size = list[PlannerNode](), plan_part_and_gathered_rows.plan_size_of
    monkeypatch.setattr(plan_part_and_gathered_rows, "plan_size_of", lambda below: asked.append(below) or plan_size(below))
    rows = SFrame({"v": [3, 1, 2] * 100})
    with config.using(small_rows=1):
        section = SectionPlanner(Site.now()).plan(optimize(rows.sort("v")._node))
    assert section.strategy == WHOLE_BY_THREADS and len(asked) == 1
