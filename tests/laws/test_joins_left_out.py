"""A left join of which only left columns are read reads nothing of its right side, where that has each key once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sframe_spark import SFrame, aggregate, load_sframe
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.rewrite_laws import optimize

ROWS = 40


@pytest.fixture
def left() -> SFrame:
    """Keys that repeat, of which some are missing or have no match."""
    return SFrame({"k": [None if row % 7 == 3 else row * 5 % 13 for row in range(ROWS)], "v": [row * 3 % 17 for row in range(ROWS)]})


def saved(frame: SFrame, place: Path) -> SFrame:
    """A frame as it is read again, of which more is known."""
    frame.save(str(place))
    return load_sframe(str(place))


def of_file(left: SFrame, place: Path) -> SFrame:
    """Ascending keys, which their file records."""
    return saved(SFrame({"k": range(2, 10), "w": [f"w{number}" for number in range(8)]}), place)


def of_groups(left: SFrame, place: Path) -> SFrame:
    """Each key once, also the missing one."""
    return left.groupby("k", {"n": aggregate.COUNT()})


def of_repeated(left: SFrame, place: Path) -> SFrame:
    """Keys that repeat."""
    return saved(left.sort("k").rename({"v": "w"}), place)


@pytest.mark.parametrize("right", [of_file, of_groups, of_repeated])
def test_rows_are_those_of_the_join(right: Callable[[SFrame, Path], SFrame], left: SFrame, tmp_path: Path) -> None:
    other = right(left, tmp_path / "right")
    nodes = postorder([optimize(left.join(other, on="k", how="left")["v"]._node)])
    assert any("join" in node.operator_type for node in nodes) == (right is of_repeated)
    rows = list(left.join(other, on="k", how="left"))
    assert len(left.join(other, on="k", how="left")) == len(rows)
    assert list(left.join(other, on="k", how="left")["v"]) == [row["v"] for row in rows]
    by_value = left.join(other, on="k", how="left").sort("v")["k"]
    assert list(by_value) == [row["k"] for row in sorted(rows, key=lambda row: row["v"])]


def test_it_is_told(left: SFrame, tmp_path: Path) -> None:
    joined = left.join(of_file(left, tmp_path / "right"), on="k", how="left")
    assert "left out a left join: its right side has each k once at most, and nothing of it is read" in str(joined["v"].explain(why=True))
