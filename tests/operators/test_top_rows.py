"""First rows from parts: those of a stable sort of all rows."""

from __future__ import annotations

import math
import pickle
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from sframe_spark.operators.sort_top_rows_and_assumed_order import MAX_ROWS_SENT, SuffixSort, TopRows, first_positions
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node_facts import Facts, Length
from sframe_spark.types import FLOAT, INT, STR
from sframe_spark.values.python_to_arrow import encode

SCHEMA = (INT, FLOAT, STR, INT)
FACTS = [Facts(SCHEMA, Length.unknown())]
ROW = st.tuples(
    st.none() | st.integers(-2, 2) | st.sampled_from([-(2**63), 2**63 - 1]),
    st.none() | st.sampled_from([0.0, -0.0, 1.5, -2.5, math.nan, math.inf, -math.inf]),
    st.none() | st.sampled_from(["", "a", "b", "é"]),
)


def chunk_of(rows: list[tuple[Any, ...]]) -> Chunk:
    """The rows with their numbers beside them."""
    columns = [*([row[place] for row in rows] for place in range(3)), list(range(len(rows)))]
    return Chunk(tuple(encode(values, kind) for values, kind in zip(columns, SCHEMA, strict=True)), len(rows))


@given(
    st.lists(ROW, max_size=30),
    st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=3, unique_by=lambda item: item[0]),
    st.integers(0, 12),
    st.lists(st.integers(0, 30), max_size=4),
)
def test_parts_make_the_first_rows_of_a_sort(rows: list[tuple[Any, ...]], by: list[tuple[int, bool]], count: int, cuts: list[int]) -> None:
    chunk, operator = chunk_of(rows), TopRows(tuple(by), count)
    edges = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    parts = [pickle.loads(pickle.dumps(operator.part_of(chunk.slice(start, stop), FACTS))) for start, stop in pairwise(edges)]
    found = operator.rows_from(reduce(lambda first, second: operator.combined(first, second, FACTS), parts), FACTS)
    expected = SuffixSort(tuple(by), 0).kernel([chunk], FACTS).slice(0, count)
    assert found.columns[3].to_pylist() == expected.columns[3].to_pylist()


@given(st.lists(st.tuples(st.integers(-1, 1), st.integers(-3, 3)), max_size=20), st.integers(0, 25))
def test_no_first_row_is_left_out(pairs: list[tuple[int, int]], count: int) -> None:
    ranks, numbers = (np.array([pair[place] for pair in pairs], dtype=np.int64) for place in (0, 1))
    places = first_positions(ranks, numbers, count)
    assert sorted(set(places.tolist())) == places.tolist()
    assert set(np.lexsort([numbers, ranks])[:count].tolist()) <= set(places.tolist())


def test_many_rows_are_not_sent_to_the_driver() -> None:
    assert TopRows(((0, True),), MAX_ROWS_SENT).decomposes(FACTS) and not TopRows(((0, True),), MAX_ROWS_SENT + 1).decomposes(FACTS)


@pytest.mark.spark
@pytest.mark.parametrize("segments", [1, 7])
def test_the_first_rows_of_a_saved_frame(tmp_path: Any, spark: Any, segments: int) -> None:
    from sframe_spark import SFrame, config, load_sframe
    from sframe_spark.explain.executed_spark_plans import recorded_plans

    values = [None if row % 13 == 0 else row * 7919 % 101 for row in range(700)]
    place = str(tmp_path / "frame")
    with config.using(small_rows=0, single_task_rows=0, default_segments=segments, batch_rows=64):
        SFrame({"v": values, "row": range(700)}).save(place)
        frame = load_sframe(place)
        with recorded_plans() as plans:
            rows = list(frame.sort("v").head(70)["row"])
            top = list(frame.topk("v", 9)["row"])
            far = list((frame["v"] * -1).sort().head(3))
    order = sorted(range(700), key=lambda row: (values[row] is not None, values[row] or 0))
    assert rows == order[:70]
    assert top == sorted((row for row in range(700) if values[row] is not None), key=lambda row: -values[row])[:9]
    assert far == [None] * 3
    assert {plan.root.name for plan in plans} == {"MapPartitions"}
