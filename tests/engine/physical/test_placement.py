"""Many rows that the driver holds anyway are made one row there, and rows that turn out to be few are joined there, without Spark."""

from __future__ import annotations

import numpy as np
import pytest

from sframe_spark import SArray, SFrame, aggregate, config
from sframe_spark.engine import costs
from sframe_spark.engine.physical.placement_and_blocking_inputs import is_at_hand
from sframe_spark.engine.physical.site import Site
from sframe_spark.operators.sources.in_memory import RangeSource

ROWS = 400_000


def test_reductions_of_rows_in_memory_start_no_spark() -> None:
    # No mark `spark`: the test fails if it starts a JVM.
    assert config.small_rows < ROWS
    frame = SFrame({"a": np.arange(ROWS), "b": np.arange(ROWS) * 0.5})
    assert frame["a"].sum() == ROWS * (ROWS - 1) // 2
    assert (frame["a"] - frame["b"] * 2).max() == 0
    assert frame[frame["a"] % 4 == 0]["b"].min() == 0


@pytest.mark.usefixtures("called_functions")
def test_rows_at_hand() -> None:
    column = SArray(np.arange(ROWS))
    assert is_at_hand(column._node, Site.now())
    assert is_at_hand((column + 1)._node, Site.now())
    assert not is_at_hand(column.apply(lambda value: value + 1)._node, Site.now())
    assert not is_at_hand(RangeSource(0, costs.MAX_ROWS_AT_HAND + 1).make_planner_node(), Site.now())
    with config.using(small_rows=0):
        assert not is_at_hand(column._node, Site.now())


@pytest.mark.parametrize("how", ["inner", "left", "right", "outer"])
def test_joins_of_rows_that_turn_out_to_be_few_start_no_spark(how: str) -> None:
    """How many rows a group-by of a join has is not known before; by its bound a join of it and another could be a large one."""
    sold = SFrame({"user": [place % 100 for place in range(1_000)], "item": [place * 7 % 13 for place in range(1_000)]})
    # By what is known before: 10^6 pairs.
    pairs = sold.join(sold.rename({"item": "other"}), on="user").groupby(["item", "other"], {"pairs": aggregate.COUNT()})
    known = SFrame({"item": [*range(5), 99], "name": list("abcdef")})
    assert (pairs._node.length.at_most or 0) > config.small_rows
    joined = pairs.join(known, on="item", how=how).join(known.rename({"item": "other", "name": "other_name"}), on="other", how=how)
    rows = {(row["item"], row["other"]): (row["name"], row["other_name"]) for row in joined}
    names = dict(enumerate("abcde"))
    expected = {(item, other): (names.get(item), names.get(other)) for item in range(13) for other in range(13)}
    if how in ("inner", "right"):
        expected = {pair: both for pair, both in expected.items() if None not in both}
    if how in ("right", "outer"):
        # The first join's row without a match is no match of the second one's.
        expected[(None, 99)] = (None, "f")
        expected.update({(99, None): ("f", None)} if how == "outer" else {})
    assert rows == expected


def test_first_rows_of_rows_that_turn_out_to_be_few_start_no_spark() -> None:
    """How many rows a stack makes is not known before."""
    texts = SFrame({"day": [place % 5 for place in range(60)], "words": [["a", "b"]] * 40 + [["c"]] * 19 + [None]})
    counts = texts.stack("words", "word", drop_na=True).groupby(["word"], {"rows": aggregate.COUNT(), "last": aggregate.MAX("day")})
    assert counts._node.length.at_most is None
    assert list(counts.topk("rows", 2)) == [{"word": "a", "rows": 40, "last": 4}, {"word": "b", "rows": 40, "last": 4}]
    assert list(counts[counts["rows"] < 40].topk("rows", 2)) == [{"word": "c", "rows": 19, "last": 4}]
    assert list(counts[counts["rows"] < 0].topk("rows", 2)) == []
