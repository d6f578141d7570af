"""A query that left out numbers is made anew with all of them; of the first nothing is seen, whatever becomes of the second."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SFrame, aggregate, config
from sframe_spark.engine.spark import query
from sframe_spark.errors import ExecutionError, NumbersLeftOutError
from sframe_spark.planner.spark_relation import SummedFloats

LEFT_OUT = NumbersLeftOutError("left out")
USUAL, MORE, EVERY = SummedFloats


@pytest.fixture
def lowered(monkeypatch: pytest.MonkeyPatch) -> list[SummedFloats]:
    """Which numbers each query that is made adds up: that stands for the query itself."""
    found: list[SummedFloats] = []

    def lower(root: Any, summed: SummedFloats = EVERY) -> SummedFloats:
        found.append(summed)
        return summed

    monkeypatch.setattr(query, "lower", lower)
    return found


def made(outcomes: dict[SummedFloats, Any]) -> Any:
    """What is made of a plan, where a query of some numbers gives or raises something."""

    def action(summed: Any) -> Any:
        outcome = outcomes[summed]
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    return query.computed(SFrame({"a": [1]})._node, action)


def test_only_numbers_that_were_left_out_ask_for_another_query(lowered: list[SummedFloats]) -> None:
    assert (made({USUAL: 1}), lowered) == (1, [USUAL])
    lowered.clear()
    assert (made({USUAL: LEFT_OUT, MORE: 2}), lowered) == (2, [USUAL, MORE])
    lowered.clear()
    assert (made({USUAL: LEFT_OUT, MORE: LEFT_OUT, EVERY: 3}), lowered) == (3, [USUAL, MORE, EVERY])
    for error in (ExecutionError("no"), KeyboardInterrupt()):
        lowered.clear()
        with pytest.raises(type(error)):
            made({USUAL: error})
        assert lowered == [USUAL]


def test_how_many_queries_were_made_is_told(lowered: list[SummedFloats]) -> None:
    for outcomes, queries in (({USUAL: 1}, 1), ({USUAL: LEFT_OUT, MORE: 2}, 2), ({USUAL: LEFT_OUT, MORE: LEFT_OUT, EVERY: 3}, 3)):
        with query.counting_queries() as counted:
            assert made(outcomes) == queries
        assert counted.queries == queries
    with query.counting_queries() as counted:
        pass
    assert counted.queries == 0


@pytest.mark.parametrize("last", [MORE, EVERY])
@pytest.mark.parametrize("error", [ExecutionError("no"), KeyboardInterrupt(), MemoryError()])
def test_errors_of_a_query_made_anew_show_nothing_of_those_before(error: BaseException, last: SummedFloats, lowered: list[SummedFloats]) -> None:
    with pytest.raises(type(error)) as told:
        made({USUAL: LEFT_OUT, MORE: LEFT_OUT, last: error})
    assert lowered == list(SummedFloats)[: lowered.index(last) + 1]
    assert "NumbersLeftOutError" not in "".join(traceback.format_exception(told.value))


@pytest.mark.usefixtures("called_functions")
def test_a_query_that_calls_functions_is_not_made_anew(lowered: list[SummedFloats]) -> None:
    frame = SFrame({"a": [1.0, 2.0]})
    root = frame[frame["a"].apply(float, float) > 1].groupby("a", {"total": aggregate.SUM("a")})._node
    assert (query.computed(root, lambda summed: summed), lowered) == (EVERY, [EVERY])


@pytest.mark.spark
def test_functions_below_sums_of_unusual_numbers_are_called_once(spark: Any, tmp_path: Path) -> None:
    """Of frames that nobody else can reach, whose functions are called within the query."""
    told = str(tmp_path / "calls")

    def called(value: float) -> float:
        with open(told, "a") as file:
            file.write("x")
        return value

    numbers = [1e300, 1e-300, 1.5, 0.1] * 50
    with config.using(work_memory=0, small_rows=0):
        frame = SFrame({"key": [0, 1] * 100, "a": numbers})
        frame["b"] = frame["a"].apply(called, float)
        totals = frame.groupby("key", {"total": aggregate.SUM("b")})
        del frame
        assert {row["key"]: row["total"] for row in totals} == {0: 5e301 + 75.0, 1: 5.0}
    assert Path(told).stat().st_size == len(numbers)


@pytest.mark.spark
@pytest.mark.parametrize(("least", "queries"), [(0.5, 1), (1e-30, 2), (1e-300, 3)])
def test_what_ran_tells_of_queries_made_anew(least: float, queries: int, spark: Any) -> None:
    """It was announced, too, but not of sums that have all digits from the start: of whole numbers, and of what functions give."""
    frame = SFrame(spark.createDataFrame([(1, 2.0), (2, least)], "k long, x double"))
    totals = frame.groupby("k", {"total": aggregate.SUM("x")})
    assert "or: made anew with more digits if floats below 1e-19" in str(totals.explain())
    told = str(totals.explain(analyze=True))
    assert totals.sort("k")["total"].to_numpy().tolist() == [2.0, least]
    assert (f"{queries} queries, as the first had not all digits of its sums" in told) == (queries > 1), told
    for others in (frame.groupby("k", {"total": aggregate.SUM("k"), "most": aggregate.MAX("x")}), frame.groupby("k", {"n": aggregate.COUNT()})):
        assert "made anew" not in str(others.explain())
