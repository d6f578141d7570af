"""Planning knows its surroundings from the site alone, so that plans of one program at one site are equal."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import sframe_spark
from sframe_spark.engine.physical.site import Site
from sframe_spark.engine.shapes.section_planner import SectionPlanner
from sframe_spark.engine.shapes.section_tree import Section, in_order_of_running
from sframe_spark.explain.dry_run import alternatives_of
from sframe_spark.planner.graph_traversal import postorder, private_copy
from sframe_spark.rewrite_laws import optimize
from tests.explain.looked_at import program_of
from tests.parsed import parsed

ENGINE = Path(sframe_spark.__file__).parent / "engine"
# What tells of settings, Spark and memory.
SURROUNDINGS = ("sframe_spark.config", "sframe_spark.session", "sframe_spark.process")
# What sections need while they run.
WHILE_RUNNING = {
    "memory_for_batches",
    "raise_if_cancelled",
    # Rows of users' DataFrames that are fixed already.
    "user_dataframes_to_materialize_first.get_frames",
    # Memory as it is when a partition is to be read.
    "partitioned_operators.work_memory",
    "partitioned_operators.batch_bytes",
    "hash_join_by_messages.batch_bytes",
    "states_of_hash_join.batch_bytes",
    # Whether tasks share a directory with this process, which they are asked.
    "range_shuffle.get_session",
    "range_shuffle.reads_our_files",
}


def test_planning_asks_the_site_alone() -> None:
    asked = set()
    for path in (*(ENGINE / "physical").glob("*.py"), *(ENGINE / "shapes").glob("*.py")):
        for node in ast.walk(parsed(path)):
            if path.stem != "site" and isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(SURROUNDINGS):
                asked |= {f"{path.stem}.{alias.name}" for alias in node.names if alias.name not in WHILE_RUNNING}
    assert asked <= WHILE_RUNNING


def described(last: Section, site: Site) -> list[object]:
    """What a plan says of its sections."""
    return [
        (section.strategy, section.reason, alternatives_of(section, site), [node.operator_type for node in postorder([section.root])])
        for section in in_order_of_running([last])
    ]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(40))
def test_a_plan_made_twice_is_equal(seed: int) -> None:
    for frame in program_of(seed, steps=4).frames:
        site, plan = Site.now(), optimize(frame._node)
        first, second = (described(SectionPlanner(site).plan(private_copy(plan)), site) for _ in range(2))
        assert first == second
