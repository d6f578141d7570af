"""What frames know of their order: told with its reason, remembered by results and files, checked where it is promised."""

from __future__ import annotations

import datetime
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sframe_spark as tc
from sframe_spark import aggregate as agg
from sframe_spark.engine import costs
from sframe_spark.errors import InvalidArgumentError

SORTS_LEFT_OUT = frozenset(["sort(x, by) = x where x is in that order", "top_rows(x, by, n) = slice(x, 0, n) where x is in that order"])


def frame(**columns: Any) -> tc.SFrame:
    """A frame of these columns, in this order."""
    return tc.SFrame(columns)[list(columns)]


def rows(sf: tc.SFrame) -> list[tuple[Any, ...]]:
    """All rows as tuples."""
    return [tuple(row[name] for name in sf.column_names()) for row in sf]


def optimized(sf: tc.SFrame) -> str:
    """The optimized plan as text."""
    return sf.explain().split("-- optimized plan\n")[1].split("\n-- physical plan")[0]


def test_a_frame_in_memory_knows_the_order_of_its_columns() -> None:
    sf = frame(day=[None, 1, 1, 4], price=[3.0, 2.0, math.nan, -1.0], name=["b", "a", None, "c"])
    assert sf.is_sorted("day")
    assert not sf.is_sorted("day", ascending=False)
    assert not sf.is_sorted(["day", "price"])
    assert not sf.is_sorted("name")
    assert "but price is not asc" in str(sf.is_sorted(["day", "price"]))


def test_a_sort_is_remembered_by_its_result_and_by_files(tmp_path: Path) -> None:
    sf = frame(a=[2, 1, 2, 1], b=["x", "y", "w", None]).sort([("a", True), ("b", False)])
    assert sf.is_sorted([("a", True), ("b", False)])
    sf.materialize()
    assert sf.is_sorted([("a", True), ("b", False)])
    sf.save(str(tmp_path / "saved"))
    loaded = tc.load_sframe(str(tmp_path / "saved"))
    assert loaded.is_sorted([("a", True), ("b", False)])
    assert "recorded when" in loaded.is_sorted("a").reason
    assert ":= sort" not in optimized(loaded[loaded["a"] > 0].sort("a"))
    assert rows(loaded.sort([("a", True), ("b", False)])) == [(1, "y"), (1, None), (2, "x"), (2, "w")]


def test_ordering_says_what_is_known_and_why() -> None:
    sf = frame(g=[7, 7, 7], t=[1, 2, 3])
    sf["again"] = sf["t"]
    known = sf.ordering()
    assert known.constants == ["g"]
    assert ["t"] in known.keys
    assert known.equal == [["t", "again"]]
    assert [("t", "asc")] in known.orderings
    assert "one value in g" in str(known)
    assert str(frame(x=[1, 0, 2]).ordering()) == "nothing is known of the order of the rows"


def test_groups_numbers_and_running_values_are_in_order() -> None:
    sf = frame(k=[3, 1, 3], v=[1, 2, 3])
    groups = sf.groupby("k", {"n": agg.COUNT()})
    assert groups.is_sorted("k")
    assert groups.ordering().keys == [["k"]]
    assert sf.add_row_number("i").is_sorted("i")
    running = frame(most=[1, 5, 2])
    running["most"] = running["most"].cumulative_max()
    assert running.is_sorted("most")


@pytest.mark.parametrize(
    "make",
    [
        lambda sf: sf.sort("t"),
        lambda sf: sf.sort(["t", "c"]),
        lambda sf: sf.sort([("c", False), ("t", True)]),
        lambda sf: sf[sf["v"] > 3].sort("t"),
        lambda sf: sf[5:].sort("t").head(3),
        lambda sf: sf.head(4).append(sf[4:]).sort("t"),
        lambda sf: sf[sf["u"] == 2].sort(["u", "t"]),
    ],
)
def test_sorts_that_are_satisfied_are_left_out_and_change_nothing(make: Any) -> None:
    sf = frame(t=list(range(12)), c=[1] * 12, v=[i * 5 % 7 for i in range(12)], u=[i % 3 for i in range(12)])
    assert "sort[" not in optimized(make(sf))
    found = rows(make(sf))
    with tc.config.using(disabled_laws=SORTS_LEFT_OUT):
        assert "sort[" in optimized(make(sf))
        assert rows(make(sf)) == found


def test_results_of_monotone_functions_are_in_order() -> None:
    sf = frame(t=[1, 2, 3], x=[0.5, 1.5, 2.5], d=[datetime.datetime(2020, 1, day) for day in (1, 2, 3)])
    sf["later"] = sf["t"] + 5
    sf["half"] = sf["x"] / 2.0
    assert sf.is_sorted("later")
    assert sf.is_sorted("half")
    sf["square"] = sf["t"] * sf["t"]
    assert not sf.is_sorted("square")


def test_a_promise_is_verified() -> None:
    sf = frame(day=[1, 1, 2, 2], id=[4, 7, 1, 5], name=["a", None, "b", "c"])
    assert not sf.is_sorted(["day", "id"])
    promised = sf.assume_sorted(["day", "id"])
    assert promised.is_sorted(["day", "id"])
    assert rows(promised) == rows(sf)
    with pytest.raises(InvalidArgumentError, match="row 2 is out of order by id: 1 comes after 7"):
        sf.assume_sorted("id")
    with pytest.raises(ValueError, match=r"row 1 is out of order by day \(descending\)|row 2 is out of order"):
        sf.assume_sorted("day", ascending=False)


@pytest.mark.parametrize(
    ("values", "ascending", "row"),
    [
        ([None, None, 1.0, math.nan, math.nan], True, None),
        ([1.0, None], True, 1),
        ([math.nan, 1.0], True, 1),
        ([math.nan, math.inf, 0.0, -0.0, None], False, None),
        ([0.0, -0.0, 0.0], True, None),
        ([], True, None),
    ],
)
def test_missing_values_come_first_and_nan_last(values: list[float | None], ascending: bool, row: int | None) -> None:
    sf = frame(key=[1] * len(values), x=tc.SArray(values, dtype=float))
    if row is None:
        assert sf.assume_sorted(["key", "x"] if ascending else [("key", True), ("x", False)]).is_sorted("x", ascending)
    else:
        with pytest.raises(InvalidArgumentError, match=f"row {row} is out of order"):
            sf.assume_sorted([("key", True), ("x", ascending)])


def test_a_promise_without_a_look_is_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    # Few rows are sorted whatever was promised: that is quicker than to plan.
    monkeypatch.setattr(costs, "MAX_ROWS_RUN_DIRECTLY", -1)
    sf = frame(a=[3, 1, 2], b=[1, 2, 3])
    believed = sf[sf["b"] > 0].assume_sorted("a", verify=False)
    assert believed.is_sorted("a")
    assert "not verified" in believed.is_sorted("a").reason
    assert rows(believed.sort("a")) == [(3, 1), (1, 2), (2, 3)]
    assert rows(believed[["b"]]) == [(1,), (2,), (3,)]


def test_breaks_are_found_across_batches_and_ranges() -> None:
    sf = frame(k=np.arange(50) // 45, v=np.array([*range(40), 38, *range(41, 50)]))
    with tc.config.using(batch_rows=7), pytest.raises(InvalidArgumentError, match="row 40 is out of order by v: 38 comes after 39"):
        sf.assume_sorted([("k", True), ("v", True)])


@pytest.mark.spark
def test_breaks_are_found_by_tasks(spark: Any) -> None:
    sf = frame(k=np.arange(50) // 45, v=np.array([*range(40), 38, *range(41, 50)]))
    with tc.config.using(small_rows=0, segment_rows=8), pytest.raises(InvalidArgumentError, match="row 40 is out of order"):
        sf.assume_sorted([("k", True), ("v", True)])


def test_group_by_of_neighbours_needs_no_spark() -> None:
    sf = frame(k=["a", "a", "b", "c", "c"], v=[1, 2, 3, 4, 5])
    groups = sf.groupby("k", {"s": agg.SUM("v"), "n": agg.COUNT()}).sort("k")
    assert optimized(groups).splitlines()[-1].startswith("r1 := streaming_group_by")
    assert "left out the exchange of group_by" in groups.explain(why=True)
    found = {row["k"]: (row["s"], row["n"]) for row in groups}
    assert found == {"a": (3, 2), "b": (3, 1), "c": (9, 2)}


def test_explain_says_why_a_sort_is_needed() -> None:
    sf = frame(t=[2, 1, 3], v=[1, 2, 2])
    text = sf.sort("t").explain(why=True)
    assert "few rows are sorted in memory" in text
    assert "nothing known rules out t = 1, v = 0 before t = 0, v = 1" in text
    with tc.config.using(small_rows=0):
        assert "sort by t: an exchange by key range and a sort" in sf.sort("t").explain(why=True)


def test_wrong_names_are_refused() -> None:
    sf = frame(t=[1])
    for member in (sf.is_sorted, sf.assume_sorted):
        with pytest.raises(ValueError, match="nope"):
            member("nope")
