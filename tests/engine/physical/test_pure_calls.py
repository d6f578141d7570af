"""Functions that only compute are called by threads of this process, where they are through before a process that calls them has started."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SArray, SFrame, aggregate, config
from sframe_spark.engine import costs
from sframe_spark.engine.physical.site import Site
from sframe_spark.engine.runtime import task_runners
from sframe_spark.engine.shapes.repeated_function_calls_and_function_placement import calls_pure_functions
from sframe_spark.errors import UserFunctionError
from sframe_spark.session import is_started
from sframe_spark.udf.pure_functions import steps_of_call

ROWS = 6_000
HERE, IN_PROCESSES = "threads over ranges of rows", "Python processes over ranges of rows"


@pytest.fixture(autouse=True)
def over_ranges(tmp_path: Path) -> Iterator[None]:
    """Few rows count as many, and no Spark is started."""
    with config.using(small_rows=2_500, segment_rows=1_500, batch_rows=170, progress="off", temporary_directory=str(tmp_path / "temporary")):
        yield
    assert not is_started()


@pytest.fixture
def no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asking for a process is an error."""

    def none() -> Any:
        raise AssertionError("a process was asked for")

    monkeypatch.setattr(task_runners, "get_processes", none)


def rows_of_all_kinds() -> SFrame:
    numbers = range(ROWS)
    return SFrame(
        {
            "i": SArray(numbers),
            "t": [None if number % 7 == 0 else f"t{number % 11} und {number}" for number in numbers],
            "f": [None if number % 5 == 0 else number / 8 for number in numbers],
            "l": [[number, number % 3] for number in numbers],
            "d": [{"a": number} if number % 2 else {} for number in numbers],
        }
    )


def looks(frame: SFrame) -> dict[str, Any]:
    """What functions that only compute give, below operators of each kind."""
    sf = SFrame(frame)
    sf["m"] = sf["i"].apply(lambda number: number % 13)
    kept = sf[sf["t"].apply(lambda text: len(text or "") % 2)]
    key = SFrame({"k": sf["t"].apply(lambda text: text and text.split(" ")[0]), "i": sf["i"], "f": sf["f"]})
    counted = key.groupby("k", {"n": aggregate.COUNT(), "s": aggregate.SUM("i"), "m": aggregate.MEAN("f")}).sort("k")
    made = sf.apply(lambda row: {"t": row["t"], "n": [row["i"], row["f"]]}, dict)
    return {
        "column": list(sf["m"]),
        "filtered": list(kept["i"]),
        "groups": [list(counted[name]) for name in counted.column_names()],
        "dicts": list(made),
        "items": list(sf["l"].apply(lambda values: sum(values), int)),
        "found": list(sf["d"].apply(lambda values: values.get("a", -1), int)),
        "sum": sf["f"].apply(lambda number: number * 2, float).sum(),
        "running": list(sf["m"].cumulative_sum()),
        "sorted": list(SFrame({"k": sf["i"].apply(lambda number: number * 7919 % 5003), "i": sf["i"]}).sort("k")["i"]),
        "first": list(sf["i"].apply(lambda number: -number)[5:9]),
        "filter": list(sf["i"].filter(lambda number: number % 3 == 0)),
        "joined": sorted(key.join(SFrame({"k": ["t1", "t2"], "v": [1, 2]}), "k")["i"]),
    }


def test_the_same_rows_from_threads_processes_and_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = rows_of_all_kinds()
    frame.materialize()
    here = looks(frame)
    with config.using(small_rows=10 * ROWS):
        assert looks(frame) == here
    monkeypatch.setattr(costs, "STEPS_OF_SMALL_ROW", 0)
    assert looks(frame) == here


def test_who_calls_functions_is_told() -> None:
    numbers = SArray(range(ROWS))
    assert HERE in numbers.apply(lambda value: value + 1, int).explain()
    assert IN_PROCESSES in numbers.apply(lambda value: value + os.getpid(), int).explain()
    assert HERE in numbers.filter(lambda value: value % 2).explain()
    assert HERE in SFrame({"a": numbers}).apply(lambda row: row["a"], int).explain()


@pytest.mark.usefixtures("called_functions")
def test_how_many_rows_are_few_depends_on_the_steps_of_a_call() -> None:
    def short(value: int) -> int:
        return value + 1

    steps = steps_of_call(short)
    assert steps is not None
    rows = costs.STEPS_OF_SMALL_ROW * config.small_rows // steps
    assert calls_pure_functions(SArray(range(rows)).apply(short, int)._node, Site.now())
    assert not calls_pure_functions(SArray(range(rows + 1)).apply(short, int)._node, Site.now())
    # Two functions take the time of both.
    twice = SFrame({"a": SArray(range(rows)).apply(short, int)})["a"].apply(lambda value: value * 3, int)
    assert not calls_pure_functions(twice._node, Site.now())
    numbers = SArray(range(rows))
    unknown = numbers[numbers % 2 == 0].apply(short, int)
    assert calls_pure_functions(unknown._node, Site.now()), "at most as many rows as before the filter"
    with config.using(small_rows=0):
        assert not calls_pure_functions(numbers.apply(short, int)._node, Site.now())


@pytest.mark.usefixtures("called_functions")
def test_rows_of_many_bytes_are_not_few() -> None:
    texts = SArray(["x" * 1_000] * ROWS)
    assert calls_pure_functions(texts.apply(str.upper, str)._node, Site.now())
    with config.using(memory_budget=ROWS * 900):
        assert not calls_pure_functions(texts.apply(str.upper, str)._node, Site.now())


def test_functions_of_groups_and_of_many_rows_are_not_for_threads() -> None:
    frame = SFrame({"a": range(ROWS)})
    assert not calls_pure_functions(frame.flat_map(["n"], lambda row: [[row["a"]]])._node, Site.now())


@pytest.mark.usefixtures("no_process")
def test_no_process_is_started_for_them() -> None:
    sf = rows_of_all_kinds()[["i", "t", "f"]]
    sf["m"] = sf["i"].apply(lambda number: number % 13)
    assert len(sf[sf["t"].apply(lambda text: len(text or "") % 2)]) == sum(len(text or "") % 2 for text in sf["t"])
    assert sf.groupby("m", {"n": aggregate.COUNT()})["n"].sum() == ROWS
    assert sf["m"].cumulative_sum()[-1] == sum(number % 13 for number in range(ROWS))
    assert list(sf.sort("m")["i"][:2]) == [0, 13]


@pytest.mark.usefixtures("no_process")
@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda value: 1 // (value - 4_321), "division by zero|modulo by zero"),
        (lambda value: value["a"], "not subscriptable"),
        (lambda value: unknown_name, "unknown_name"),  # type: ignore[name-defined]  # noqa: F821
        (lambda value: str(value) if value > 5_000 else value, "does not fit a column"),
    ],
)
def test_errors_are_told_with_the_row_as_ever(function: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(UserFunctionError, match=message) as told:
        SArray(range(ROWS)).apply(function, int).materialize()
    with pytest.raises(UserFunctionError, match=message) as expected, config.using(small_rows=10 * ROWS):
        SArray(range(ROWS)).apply(function, int).materialize()
    assert str(told.value) == str(expected.value)


@pytest.mark.usefixtures("no_process")
def test_ctrl_c_ends_the_calls() -> None:
    """Only functions of few steps are called here, so all of them have ended soon; this one takes long by the texts that it makes."""
    texts = SArray(["word " * 60] * ROWS)
    slow = texts.apply(lambda text: len(sorted(text * 60, key=str.lower)), int)
    assert HERE in slow.explain()
    killer = threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGINT))
    began = time.monotonic()
    killer.start()
    with pytest.raises(KeyboardInterrupt):
        slow.sum()
    killer.join()
    # All of it takes twice as long and more: this is no limit of time, but of what is left undone.
    assert time.monotonic() - began < 8
    assert texts.apply(lambda text: len(text), int).sum() == 300 * ROWS
