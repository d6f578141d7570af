"""Into how many partitions exchanges go, by what is known of their bytes; no Spark is started."""

from __future__ import annotations

import math
from pathlib import Path

import attrs
import pytest

from sframe_spark import SFrame, aggregate, load_sframe
from sframe_spark.engine import costs
from sframe_spark.engine.spark.shuffle_partitions import Flow, flow_of, next_power, partitions_for
from sframe_spark.operators.append import append
from sframe_spark.operators.joins.equi_join import Join
from sframe_spark.operators.sort_top_rows_and_assumed_order import TopRows, sort_rows
from sframe_spark.operators.sources.in_memory import range_source
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Length
from sframe_spark.session.spark_start_and_settings import QuerySize

MB, GB, TB = 1 << 20, 1 << 30, 1 << 40
ROW = 8 + costs.BYTES_OF_ROW_KEY_IN_SPARK
MANY = 10**10


def known(size: float) -> Flow:
    return Flow(size, True, size)


@pytest.mark.parametrize(
    ("flow", "usual", "cores", "partitions"),
    [
        # Nothing, little, and just what the usual number of partitions holds.
        (known(0), 200, 1_600, 200),
        (known(1), 1, 1, 1),
        (known(128 * MB), 1, 1, 1),
        (known(128 * MB + 1), 1, 1, 2),
        (known(200 * 128 * MB), 200, 1_600, 200),
        # From there on the next power of two, and one for each core.
        (known(200 * 128 * MB + 1), 200, 4, 256),
        (known(200 * 128 * MB + 1), 200, 1_600, 2_048),
        (known(1 * TB), 200, 1_600, 8_192),
        (known(8 * TB), 200, 1_600, 16_384),
        # A bound, which users may go beyond.
        (known(80 * TB), 200, 1_600, costs.MAX_SHUFFLE_PARTITIONS),
        (known(math.inf), 200, 1_600, costs.MAX_SHUFFLE_PARTITIONS),
        (known(80 * TB), 100_000, 1_600, 100_000),
        # Never fewer than the user has set.
        (known(8 * GB), 4_000, 1_600, 4_000),
        # Unknown: sixteen times as many as usual, and more where what is known needs more.
        (Flow(0, False, None), 200, 1, 4_096),
        (Flow(0, False, None), 2, 2, 32),
        (Flow(0, False, None), 60_000, 2, 60_000),
        (Flow(8 * TB, False, None), 200, 1, 16_384),
        (Flow(40 * GB, False, 40 * GB), 200, 1, 4_096),
        # What a join of little makes is taken for little.
        (Flow(1 * GB, False, 2 * GB), 200, 1, 200),
    ],
)
def test_golden_numbers_of_partitions(flow: Flow, usual: int, cores: int, partitions: int) -> None:
    assert partitions_for(flow, usual, cores) == partitions


def test_partitions_are_half_full_at_least_and_never_too_full() -> None:
    for size in range(129 * MB, 3 * GB, 37 * MB):
        partitions = partitions_for(known(size), 1, 1)
        assert costs.BYTES_OF_SHUFFLE_PARTITION / 2 < size / partitions <= costs.BYTES_OF_SHUFFLE_PARTITION


def test_there_are_few_different_numbers_and_so_few_sessions() -> None:
    sizes = {partitions_for(known(1.1**power), 200, cores) for power in range(500) for cores in (1, 37, 1_600)}
    assert len(sizes) <= 1 + math.log2(costs.MAX_SHUFFLE_PARTITIONS)
    assert QuerySize.large(512) == QuerySize.large(512) != QuerySize.large(1_024)
    assert QuerySize.large(1) != QuerySize.SMALL


def test_rows_flow_with_their_key_into_a_sort() -> None:
    assert flow_of(sort_rows(range_source(0, MANY), [(0, False)])) == known(MANY * ROW)
    assert flow_of(range_source(0, 0)) == known(0)


def test_rows_whose_order_nobody_observes_are_not_exchanged_for_it() -> None:
    assert flow_of(range_source(0, MANY), root_observed=False) == Flow(0, True, MANY * ROW)


def test_fewer_rows_and_columns_flow_where_fewer_are_read() -> None:
    first = TopRows(((0, False),), 1_000).make_planner_node(range_source(0, MANY))
    assert flow_of(sort_rows(first, [(0, False)])) == Flow(1_000 * ROW, True, MANY * ROW)


def test_pairs_of_a_join_are_not_what_it_makes() -> None:
    sides = range_source(0, MANY), range_source(0, MANY // 2)
    joined = Join((0,), (0,), "inner").make_planner_node(*sides)
    assert joined.length.at_most is not None and joined.length.at_most > MANY**2 / 2
    # Both sides by their keys; in the order of the result an unknown number.
    assert flow_of(joined) == Flow(MANY * ROW, False, MANY * ROW * 1.5)
    # What reads it knows no more, whatever it says of it, but for the first rows.
    assert not flow_of(sort_rows(joined, [(0, True)])).is_complete
    assert flow_of(TopRows(((0, False),), 10).make_planner_node(joined)) == Flow(MANY * ROW, True, MANY * ROW * 1.5)


def test_rows_put_one_after_the_other_are_as_many_as_both() -> None:
    both = append(range_source(0, MANY), range_source(0, MANY))
    assert flow_of(both) == known(2 * MANY * ROW)


def uncounted(node: PlannerNode) -> PlannerNode:
    """The same rows, of which nobody knows how many there are."""
    return PlannerNode(node.operator, node.inputs, attrs.evolve(node.facts, length=Length.unknown()))


def test_unknown_is_unknown_and_not_nothing() -> None:
    flow = flow_of(sort_rows(uncounted(range_source(0, MANY)), [(0, False)]))
    assert flow == Flow(0, False, None)
    assert partitions_for(flow, 200, 1) == 4_096
    assert "nobody knows" in str(flow)


def saved_plan(frame: SFrame, place: Path) -> SFrame:
    frame.save(str(place / "frame"))
    return load_sframe(str(place / "frame"))


def test_texts_are_as_long_as_they_are_and_not_as_they_are_stored(tmp_path: Path) -> None:
    # One text of 3,000 letters, which a page stores once.
    frame = saved_plan(SFrame({"n": range(20_000), "text": ["x" * 3_000] * 20_000}), tmp_path)
    stored = sum(file.stat().st_size for file in (tmp_path / "frame").iterdir())
    flow = flow_of(frame.sort("n", ascending=False)._node)
    assert stored < 1 << 20 < 20_000 * 3_000 * 0.9 < flow.most < 20_000 * 3_000 * 1.2
    assert flow.is_complete


def test_one_giant_segment_counts_as_many_small_ones_do(tmp_path: Path) -> None:
    flows = []
    for segments, rows in (("one", 40_000), ("many", 2_000)):
        parts = [SFrame({"n": range(start, start + rows)}) for start in range(0, 40_000, rows)]
        frame = parts[0]
        for part in parts[1:]:
            frame = frame.append(part)
        flows.append(flow_of(saved_plan(frame, tmp_path / segments).sort("n", ascending=False)._node))
    assert flows[0] == flows[1] == known(40_000 * ROW)


def test_a_wrong_length_in_a_plan_is_bounded() -> None:
    assert partitions_for(flow_of(range_source(0, 1 << 62)), 200, 1) == costs.MAX_SHUFFLE_PARTITIONS


def test_lists_that_nobody_can_weigh_leave_it_unknown() -> None:
    frame = SFrame({"k": [1, 2] * 50_000}).groupby("k", {"all": aggregate.CONCAT("k")})
    flow = flow_of(frame._node)
    assert flow.most == 100_000 * ROW and not flow.is_complete
    # All that is read is little, and so there is no reason to take more partitions.
    assert partitions_for(flow, 2, 2) == 2


@pytest.mark.parametrize("number", [0, 1, 2, 3, 4, 5, 1_023, 1_024, 1_025, costs.MAX_SHUFFLE_PARTITIONS])
def test_next_power(number: int) -> None:
    power = next_power(number)
    assert power.bit_count() == 1 and power >= number and (power == 1 or power / 2 < number)


def test_what_is_said_of_a_flow() -> None:
    said = [str(flow) for flow in (known(100), known(8 * TB), Flow(0, False, None), Flow(1 * TB, False, 1 * TB), Flow(0, False, 100))]
    assert said == [
        "at most 100 bytes go into one: spark.sql.shuffle.partitions",
        "at most 8.0 TiB go into one: 16384 partitions, or spark.sql.shuffle.partitions where that is more",
        "nobody knows how many bytes go into one: 16 times spark.sql.shuffle.partitions",
        "nobody knows how many bytes go into one: 16 times spark.sql.shuffle.partitions, and 8192 partitions at least, as 1.0 TiB are known",
        "no more than 100 bytes are read: spark.sql.shuffle.partitions",
    ]
