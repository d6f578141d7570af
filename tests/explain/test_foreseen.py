"""The printed physical plan is what runs: of random programs and of the shapes where deciding while running was easy to miss."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any

import pytest

from sframe_spark import SFrame, aggregate
from sframe_spark.config import config
from sframe_spark.engine import costs
from sframe_spark.engine.execution.run_log import SectionOutcome
from sframe_spark.engine.physical import site
from sframe_spark.engine.shapes.section_runner import task_runner_for
from sframe_spark.engine.shapes.section_tree import THE_RESULT, Alternative, Strategy, Workers
from sframe_spark.explain.dry_run import plan_dry_run
from sframe_spark.plugin import aggregate as requested, define_aggregate, list_of
from tests.examples import part
from tests.explain.looked_at import program_of
from tests.explain.plans_and_runs import Printed, compared, differences, printed
from tests.random_programs.plans import DRIVER_STEPS, random_program
from tests.strategies import COUNTING, SPARK_QUERY, STREAM_BY_PROCESSES, STREAM_BY_TASKS, STREAM_BY_THREADS, STREAM_ON_DRIVER, WHOLE_BY_THREADS

ROWS = 300


def frame(rows: int = ROWS) -> SFrame:
    """Rows in no order."""
    return SFrame({"k": [number * 7 % 11 for number in range(rows)], "v": [float(number * 31 % rows) for number in range(rows)]})


def filtered_applied_sorted(most: float) -> SFrame:
    """The rows below a value, with a column that a function makes, by that column."""
    rows = frame()
    some = rows[rows["v"] < most]
    # Nobody knows what this one does: it is no function that only computes.
    some["w"] = some["v"].apply(lambda value: -value if os.getpid() else None)
    return some.sort("w")


SHAPES: dict[str, Callable[[], SFrame]] = {
    "few rows after all": lambda: filtered_applied_sorted(3.0),
    "as many as feared": lambda: filtered_applied_sorted(1e9),
    "a sort": lambda: frame().sort("v"),
    "a sort of a filter": lambda: frame()[frame()["v"] > 5].sort("v"),
    "groups": lambda: frame().groupby("k", {"s": aggregate.SUM("v")}).sort("s"),
    "groups of what a function gives": lambda: filtered_applied_sorted(200.0).groupby("k", {"s": aggregate.SUM("w")}),
    "what a function gives that only computes": lambda: SFrame({"w": frame()["v"].apply(lambda value: -value)}).sort("w"),
    "groups of what such a one gives": lambda: SFrame({"w": frame()["v"].apply(lambda v: v % 3)}).groupby("w", {"n": aggregate.COUNT()}),
    "first rows of a filter": lambda: frame()[frame()["v"] > 5].head(3),
    "a running value of a sort": lambda: frame().sort("v").running({"n": aggregate.COUNT()}),
    "a join": lambda: frame().join(frame(), on="k").sort("v"),
    "the middle of a join": lambda: frame().join(frame(20), on="k")[7:9],
    "an append of groups": lambda: frame().append(frame()).groupby("k", {"m": aggregate.MAX("v")}),
    "a query read twice": lambda: twice(frame().sort("v")),
}


def twice(rows: SFrame) -> SFrame:
    """Rows beside their running number, below themselves."""
    return rows.append(rows[rows["k"] > 3])


@pytest.mark.spark
@pytest.mark.sampled(2)
@pytest.mark.parametrize("small_rows", [0, 20, 262_144])
@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_printed_of_a_shape_runs(shape: str, small_rows: int, spark: Any) -> None:
    with config.using(small_rows=small_rows):
        assert compared(SHAPES[shape]()._node) == []


@pytest.mark.parametrize("runs", [False, True])
def test_an_exchange_that_few_rows_may_make_needless_says_so(monkeypatch: pytest.MonkeyPatch, runs: bool) -> None:
    monkeypatch.setattr(site, "is_spark_requested", lambda: runs)
    with config.using(small_rows=100):
        *_, applied, sort = printed(filtered_applied_sorted(3.0)._node)
    assert (applied.strategy, sort.strategy, sort.reads) == (STREAM_BY_TASKS if runs else STREAM_BY_PROCESSES, WHOLE_BY_THREADS, (applied.number,))
    assert {Alternative.FEW_ROWS, Alternative.NO_ROOM} <= set(sort.alternatives)
    with config.using(small_rows=100, work_memory=0):
        assert printed(filtered_applied_sorted(3.0)._node)[-1].strategy == SPARK_QUERY


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(25))
def test_what_is_printed_of_random_programs_runs(seed: int) -> None:
    program = random_program(random.Random(seed), tuple(DRIVER_STEPS), most_steps=5)
    for node in program.copy().nodes:
        assert compared(node) == []


@pytest.mark.spark
@pytest.mark.sampled(3)
@pytest.mark.parametrize("small_rows", [0, 4])
@pytest.mark.parametrize("seed", range(500, 512))
def test_what_is_printed_of_random_programs_runs_on_spark(seed: int, small_rows: int, spark: Any) -> None:
    program = random_program(random.Random(seed), most_steps=4)
    with config.using(small_rows=small_rows, single_task_rows=0):
        for node in program.copy().nodes[-2:]:
            assert compared(node) == []


@pytest.mark.parametrize("how", ["inner", "left"])
def test_each_join_that_may_be_counted_is_printed(how: str) -> None:
    first, second, third = (
        SFrame({"k": [row * 7 % rows for row in range(rows)], name: range(rows)}) for name, rows in (("a", 60), ("b", 300), ("c", 300))
    )
    with config.using(small_rows=100):
        joined = first.join(second, on="k", how=how).join(third, on="k", how=how).groupby("k", {"s": aggregate.SUM("c")})
        counting = [section for section in printed(joined._node) if section.strategy == COUNTING]
        assert [section.number for section in counting] == ["2", "4"]
        assert [Alternative.MATCHES_COUNTED in section.alternatives for section in counting] == [False, True]
        assert compared(joined._node) == []
    ran = [outcome for outcome in joined._node.ran.outcomes if outcome.strategy == COUNTING]
    assert [(outcome.number, outcome.operators.count("sorted_join")) for outcome in ran] == [("2", 1), ("4", 2)]
    assert dict(joined.sort("k")[59]) == {"k": 59, "s": 59 * 43 % 300}


def test_parts_that_may_be_too_large_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MAX_BYTES_OF_PARTIAL_STATES", "MIN_BYTES_OF_PARTIAL_STATE"):
        monkeypatch.setattr(costs, name, 100)
    with config.using(small_rows=20):
        groups = frame().groupby("v", {"s": aggregate.SUM("k")})
        assert Alternative.LARGE_PARTS in printed(groups._node)[-1].alternatives
        assert compared(groups._node) == []
        assert groups._node.ran.outcomes[0].is_given_up


def lists_of(rows: SFrame, name: str, lists: Any) -> SFrame:
    return rows.window("t", lists, before=3) if name == "window" else rows.groupby_intervals("t", every=10, operations=lists)


@pytest.mark.parametrize("name", ["groupby_intervals", "window"])
@pytest.mark.usefixtures("own_registry")
def test_lists_that_arrow_makes_are_work_for_threads(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    # Tests before this one may have started a Spark, whose tasks would make the others.
    monkeypatch.setattr(site, "is_spark_requested", lambda: False)
    define_aggregate("lists_by_python", lambda types, parameters: list_of(types[0]), lambda arrays, types, parameters: arrays[0].to_pylist())
    rows = SFrame({"t": range(ROWS), "s": [str(number) for number in range(ROWS)], "l": [[number] for number in range(ROWS)]})
    requests = [aggregate.CONCAT("s"), aggregate.CONCAT("l"), requested("lists_by_python", "s")]
    with config.using(small_rows=20):
        modes = [printed(lists_of(rows, name, {"c": request})._node)[-1].strategy for request in requests]
    assert modes == [STREAM_BY_THREADS, STREAM_BY_THREADS, STREAM_BY_PROCESSES]


# What is known of rows that somebody has looked at is known to what was made of them before, and of what their functions gave.
@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", part(range(60), 3))
def test_what_is_printed_of_programs_with_looks_before_runs(seed: int) -> None:
    with config.using(small_rows=20, single_task_rows=0):
        program = program_of(seed)
        for frame in program.random.sample(program.frames, len(program.frames)):
            assert compared(frame._node) == [], program.lines


@pytest.mark.spark
@pytest.mark.sampled(2)
@pytest.mark.parametrize("small_rows", [0, 20])
@pytest.mark.parametrize("seed", range(1000, 1006))
def test_what_is_printed_of_programs_with_looks_before_runs_on_spark(seed: int, small_rows: int, spark: Any) -> None:
    with config.using(small_rows=small_rows, single_task_rows=0):
        program = program_of(seed, steps=4)
        for frame in program.frames[-2:]:
            assert compared(frame._node) == [], program.lines


@pytest.mark.parametrize("workers", [each for each in Workers if each not in (Workers.NONE, Workers.DRIVER, Workers.SPARK)])
def test_plans_and_runs_agree_on_who_may_call_no_function_of_others(workers: Workers) -> None:
    assert task_runner_for(workers).is_out_of_process is workers.are_in_other_processes


def test_rows_made_first_keep_their_reason_where_they_are_the_result() -> None:
    applied = SFrame({"w": frame()["v"].apply(lambda value: value if os.getpid() else None)})
    with config.using(small_rows=20):
        first = applied.head(ROWS)
        assert ["kept for all who read it" in section.reason for section in printed(first._node)] == [True]
        assert compared(first._node) == []


def test_foreseeing_changes_nothing() -> None:
    called: list[float] = []
    rows = frame()
    applied = rows["v"].apply(lambda value: called.append(value) or value)
    before, called[:] = applied._node.operator, []
    with config.using(small_rows=10):
        first, again = printed(applied._node), printed(applied._node)
    assert first == again and called == []
    assert applied._node.operator is before


def test_rows_that_are_there_need_no_section() -> None:
    assert plan_dry_run(frame()._node).sections == []


def test_the_comparison_finds_what_was_not_announced() -> None:
    plan = [Printed("1", STREAM_BY_TASKS, ("section", "sort"), (), THE_RESULT, ())]

    def ran(number: str, strategy: Strategy, operator: str, reason: str = THE_RESULT) -> SectionOutcome:
        return SectionOutcome(number, strategy, ("memory_source", operator), (), reason)

    assert differences(plan, [ran("1", STREAM_BY_TASKS, "sort")]) == []
    assert differences(plan, [ran("1", STREAM_ON_DRIVER, "sort")]) != []
    assert differences(plan, [ran("1", STREAM_BY_TASKS, "filter_rows")]) != []
    assert differences(plan, [ran("1", STREAM_BY_TASKS, "sort", "its rows are made all at once")]) != []
    assert differences(plan, []) != []
    assert differences(plan, [ran("1", STREAM_BY_TASKS, "sort"), ran("2", STREAM_ON_DRIVER, "project")]) != []
