"""Preparing columns one by one costs as much as each: calls are counted for two widths, with a plan for each action and without one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sframe_spark import SArray, SFrame
from sframe_spark.engine import costs
from sframe_spark.engine.execution import action_planning_and_function_call_claims as actions, direct_execution_of_few_rows as execution_without_plan
from sframe_spark.engine.execution.materialize_count_and_read_rows import read_all
from sframe_spark.errors import LengthMismatchError
from sframe_spark.operators.project_zip_arrange import zip_columns
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.rewrite_laws import optimize
from tests.work import calls_of

FEW, MANY, ROWS = 8, 32, 20


def frame_of(columns: int) -> SFrame:
    """Floats, every fifth of them missing."""
    values = {f"c{c}": [None if (row + c) % 5 == 0 else float((row * 7 + c) % ROWS) for row in range(ROWS)] for c in range(columns)}
    return SFrame(values)


def each(change: Callable[[SFrame, str], Any]) -> Callable[[SFrame], SFrame]:
    """A program that goes through the columns."""

    def loop(frame: SFrame) -> SFrame:
        for name in frame.column_names():
            change(frame, name)
        return frame

    return loop


def assign(value: Callable[[SFrame, str], Any], suffix: str = "") -> Callable[[SFrame], SFrame]:
    """A program that assigns to each column, or to one beside it."""
    return each(lambda frame, name: frame.__setitem__(name + suffix, value(frame, name)))


def standardized(frame: SFrame, name: str) -> SArray:
    """A column with mean 0 and deviation 1."""
    return (frame[name] - frame[name].mean()) / frame[name].std()


def prepared(frame: SFrame, name: str) -> None:
    """Several assignments to a column, each after a look at it."""
    frame[name] = frame[name].astype(float)
    if frame[name].countna():
        frame[name] = frame[name].fillna(frame[name].mean())
    frame[name] = (frame[name] - frame[name].min()) / (frame[name].max() - frame[name].min())


def renamed(frame: SFrame) -> SFrame:
    """Each column renamed alone."""
    for name in frame.column_names():
        frame = frame.rename({name: name + "x"})
    return frame


def removed(frame: SFrame) -> SFrame:
    """All columns but one removed, each alone."""
    for name in frame.column_names()[1:]:
        frame = frame.remove_column(name)
    return frame


def moved(frame: SFrame) -> SFrame:
    """Columns in another order, and sums of them."""
    names = frame.column_names()
    for first, second in zip(names, names[::-1], strict=True):
        frame = frame.swap_columns(first, second)
        frame[first].sum()
    return frame


def appended(frame: SFrame) -> SFrame:
    """As many small frames one after the other."""
    rows = SFrame({"n": [0], "s": ["x"]})
    for number in range(frame.num_columns()):
        rows = rows.append(SFrame({"n": [number], "s": [str(number)]}))
    return rows


def chain_of(step: Callable[[SArray], SArray]) -> Callable[[SFrame], SFrame]:
    """A column changed as often as there are columns."""

    def chain(frame: SFrame) -> SFrame:
        column = SArray([1, 2, 3])
        for _ in range(frame.num_columns()):
            column = step(column)
        return SFrame({"x": column})

    return chain


PROGRAMS: dict[str, Callable[[SFrame], SFrame]] = {
    "cast": assign(lambda frame, name: frame[name].astype(str)),
    "apply": assign(lambda frame, name: frame[name].apply(lambda value: value * 2)),
    "fill by the mean": assign(lambda frame, name: frame[name].fillna(frame[name].mean())),
    "standardize": assign(standardized),
    "flags": assign(lambda frame, name: frame[name] == None, "_isna"),  # noqa: E711
    "products": assign(lambda frame, name: frame[name] * frame["c1"], "_c1"),
    "lengths": assign(lambda frame, name: frame[name] + len(frame[name]) + len(frame)),
    "several": each(prepared),
    "mean": each(lambda frame, name: frame[name].mean()),
    "max": each(lambda frame, name: frame[name].max()),
    "countna": each(lambda frame, name: frame[name].countna()),
    "unique": each(lambda frame, name: list(frame[name].unique())),
    "one column of a filter": each(lambda frame, name: frame[frame[name] > 3][name].sum()),
    "rename": renamed,
    "remove": removed,
    "swap": moved,
    "append": appended,
    "chain of casts": chain_of(lambda column: column.astype(float if column.dtype is int else int)),
    "chain of where": chain_of(lambda column: SArray.where(column > 2, column, column + 1)),
    "chain of filters": chain_of(lambda column: column[column > 0]),
}


def work(program: Callable[[SFrame], SFrame], columns: int) -> int:
    """Calls that a program makes, its rows computed at the end."""
    frame = frame_of(columns)
    return calls_of(lambda: program(frame).materialize())


@pytest.mark.sampled(8)
@pytest.mark.parametrize("by_plans", [False, True], ids=["few rows", "planned"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_work_grows_as_the_columns_do(name: str, by_plans: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if by_plans:
        monkeypatch.setattr(costs, "MAX_ROWS_RUN_DIRECTLY", -1)
    program = PROGRAMS[name]
    program(frame_of(3)).materialize()
    few, many = work(program, FEW), work(program, MANY)
    # The square would be 16.
    assert 0 < many < 6 * few, (few, many)


@pytest.mark.parametrize("name", PROGRAMS)
def test_few_rows_need_no_plan(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def planned(*_: Any) -> None:
        raise AssertionError("a plan was made")

    monkeypatch.setattr(actions, "plan_action", planned)
    PROGRAMS[name](frame_of(5)).materialize()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_are_those_of_plans(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    without = PROGRAMS[name](frame_of(6)).to_arrow()
    monkeypatch.setattr(costs, "MAX_ROWS_RUN_DIRECTLY", -1)
    assert without.equals(PROGRAMS[name](frame_of(6)).to_arrow())


def test_a_column_that_somebody_holds_is_computed_with_its_frame() -> None:
    frame = frame_of(3)
    frame["d"] = frame["c0"] + 1
    held, other = frame["d"], frame.copy()
    other["e"] = other["d"] * 2
    frame.materialize()
    assert held.is_materialized() and list(held) == list(frame["d"])
    assert list(other["e"]) == [None if value is None else value * 2 for value in held]


def test_rows_that_some_columns_were_taken_of_are_not_made_again() -> None:
    rows = frame_of(4).sort("c1")
    first = rows.remove_column("c2")
    second = first.remove_column("c3")
    first.materialize()
    assert "sort" not in {node.operator_type for node in postorder([optimize(second._node)])}
    assert list(rows["c2"]) == list(frame_of(4).sort("c1")["c2"]) and list(second) == list(first.remove_column("c3"))
    rows.materialize()
    assert list(rows) == list(frame_of(4).sort("c1"))


def test_columns_that_nobody_reads_are_not_computed() -> None:
    calls: list[int] = []
    frame = SFrame({"n": [1, 2, 3]})
    frame["called"] = frame["n"].apply(lambda value: calls.append(value) or -value, dtype=int)
    assert frame["n"].sum() == 6 and list(frame[["n"]])[1] == {"n": 2} and frame[frame["n"] > 1]["n"].sum() == 5
    assert not calls
    assert list(frame["called"]) == [-1, -2, -3] and frame["called"].sum() == -6 and calls == [1, 2, 3]


def test_columns_that_are_changed_and_looked_at_in_turn_are_not_made_from_their_beginning() -> None:
    def looked_at(steps: int) -> None:
        frame = SFrame({"a": [1, 2, 3]})
        for step in range(steps):
            frame["a"] = frame["a"] + 1
            assert frame[0]["a"] == step + 2 and str(frame) and frame["a"].sum() == 3 * step + 9

    few, many = (calls_of(lambda steps=steps: looked_at(steps)) for steps in (25, 100))
    assert 0 < many < 6 * few, (few, many)


def test_what_fails_is_told_as_a_plan_tells_it() -> None:
    dates = SArray(["2020-01-01"] * 3 + ["no date"])
    with pytest.raises(RuntimeError, match="no date"):
        list(dates.str_to_datetime("%Y-%m-%d"))
    vectors = SArray([[1.0, 2.0], [3.0]])
    with pytest.raises(RuntimeError):
        vectors.sum()


def test_joins_of_many_matches_are_left_to_a_plan() -> None:
    ones = SFrame({"k": [1] * 260, "v": list(range(260))})
    joined = ones.join(ones, on="k")
    assert len(joined) == 67_600 and execution_without_plan.few_rows(joined._node) is None and joined["v.1"].sum() == 260 * sum(range(260))


def test_thousands_of_names_are_unpacked() -> None:
    rows = SFrame({"d": [{f"k{number}": number for number in range(row, row + 5)} for row in range(20)]})
    wide = rows.unpack("d", limit=[f"k{number}" for number in range(3_000)])
    assert wide.num_columns() == 3_000 and wide["d.k3"].sum() == 12 and wide["d.k2999"].countna() == 20


def test_few_rows_of_different_numbers_do_not_stand_side_by_side() -> None:
    column = SArray([1, 2, 3, 4])
    node = zip_columns(column[column > 1]._node, column[column > 2]._node)
    with pytest.raises(LengthMismatchError, match="columns of 2 and 3 rows"):
        read_all(node)
