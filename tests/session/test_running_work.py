"""Work of the user's own process, functions that it calls above all, shows that it goes on, whatever door asks for it."""

from __future__ import annotations

import io
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SArray, SFrame, config
from sframe_spark.session import progress
from sframe_spark.session.progress import TerminalLine, covering_progress, open_counted, running_work, showing_work

ROWS = 8


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    """Where lines are drawn, soon and often."""
    stream = io.StringIO()
    monkeypatch.setattr(progress, "shows_progress", lambda _: config.progress != "off")
    monkeypatch.setattr(progress, "default_canvas", lambda: TerminalLine(stream))
    monkeypatch.setattr(progress, "DELAY_SECONDS", 0.05)
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_DRAWS", 0.02)
    with config.using(progress="auto"):
        yield stream
    # What was drawn is taken away.
    assert not stream.getvalue() or stream.getvalue().endswith(" \r")
    assert running_work() is None


def slowly(value: Any) -> Any:
    time.sleep(0.04)
    return value


def numbers() -> SArray:
    return SArray(range(ROWS))


def applied() -> SArray:
    return numbers().apply(slowly, int)


DOORS: dict[str, Callable[[Path], object]] = {
    "the first results": lambda _: numbers().apply(slowly),
    "a sum": lambda _: applied().sum(),
    "rows": lambda _: list(SFrame({"a": numbers()}).apply(lambda row: slowly(row["a"]), int)),
    "a filter": lambda _: len(numbers()[applied()]),
    "the first rows of many": lambda _: list(SArray(range(100_000)).apply(slowly, int).head(ROWS)),
    "text": lambda _: str(SArray(range(100_000)).apply(slowly, int)[:ROWS]),
    "flat_map": lambda _: SFrame({"a": numbers()}).flat_map(["n"], lambda row: [[slowly(row["a"])]]),
    "flat_map of known types": lambda _: len(SFrame({"a": numbers()}).flat_map(["n"], lambda row: [[slowly(row["a"])]], column_types=[int])),
    "a saved frame": lambda place: SFrame({"a": applied()}).save(str(place / "frame")),
    "a text file": lambda place: SFrame({"a": applied()}).export_csv(str(place / "file.csv")),
}


@pytest.mark.parametrize("door", DOORS)
def test_functions_in_the_process_of_the_user(door: str, terminal: io.StringIO, tmp_path: Path) -> None:
    DOORS[door](tmp_path)
    drawn = terminal.getvalue()
    assert "computing " in drawn or "computing the first results of " in drawn
    assert "calls of functions" in drawn or door.endswith("known types")


def test_functions_of_a_program_with_its_own_interpreter(terminal: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    with config.using(small_rows=2):
        assert applied().sum() == sum(range(ROWS))
    assert "calls of functions" in terminal.getvalue()


def test_a_single_call_that_takes_long(terminal: io.StringIO) -> None:
    SArray([1]).apply(lambda value: time.sleep(0.3), int).materialize()
    assert "0 s, computing " in terminal.getvalue()


def test_nothing_is_shown_where_it_is_not_wanted(terminal: io.StringIO) -> None:
    with config.using(progress="off"):
        applied().sum()
    assert terminal.getvalue() == ""


def test_short_work_shows_nothing(terminal: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "DELAY_SECONDS", 60.0)
    assert applied().sum() == sum(range(ROWS))
    assert terminal.getvalue() == ""


def test_parts_are_counted_and_others_may_draw_instead(terminal: io.StringIO) -> None:
    with showing_work("outer"), open_counted([None] * 3, "inner") as counted:
        assert counted.run(0, lambda: "result") == "result"
        time.sleep(0.3)
        assert "1/3 tasks, 0 s, outer" in terminal.getvalue()
        with covering_progress():
            drawn = terminal.getvalue()
            time.sleep(0.2)
            assert terminal.getvalue() == drawn
    assert "inner" not in terminal.getvalue()


def test_the_thread_that_draws_ends_when_nothing_runs(terminal: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SECONDS_IDLE", 0.1)
    with showing_work("work"):
        assert any(thread.name == "sframe_spark progress" for thread in threading.enumerate())
    for _ in range(100):
        if not any(thread.name == "sframe_spark progress" for thread in threading.enumerate()):
            break
        time.sleep(0.1)
    else:
        pytest.fail("it goes on")
    applied().sum()
    assert "calls of functions" in terminal.getvalue()


def shares(drawn: str) -> list[tuple[int, int]]:
    """The numbers of rows or calls that were done when a line was drawn, and of how many."""
    return [
        (int(done.replace(",", "")), int(all_.replace(",", ""))) for done, all_ in re.findall(r"([\d,]+)/([\d,]+) (?:rows|calls of functions)", drawn)
    ]


def grows_to(drawn: str, total: int) -> bool:
    """Whether several shares of the same whole were drawn, one after the other, before the end."""
    seen = shares(drawn)
    return len(set(seen)) >= 3 and seen == sorted(seen) and {whole for _, whole in seen} == {total} and all(done <= total for done, _ in seen)


def test_calls_of_few_rows_are_counted_of_all(terminal: io.StringIO) -> None:
    SArray(range(20)).apply(slowly, int).materialize()
    assert grows_to(terminal.getvalue(), 20)


def test_rows_are_counted_in_processes_before_the_first_task_ends(terminal: io.StringIO) -> None:
    """Two processes have a hundred rows each, which take three seconds: a bar of tasks would stand still for all of them."""
    with config.using(small_rows=10, default_segments=2):
        column = SArray(range(200)).apply(lambda value: time.sleep(0.03) or value, int)
        assert column.sum() == sum(range(200))
    assert grows_to(terminal.getvalue(), 200)
    done = [rows for rows, _ in shares(terminal.getvalue())]
    assert any(0 < rows < 100 for rows in done) and max(done) > 100
    assert re.search(r"about \d+ s left", terminal.getvalue())


def test_rows_are_counted_by_batches_where_no_function_is_called(terminal: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    with showing_work("work"), open_counted([1_000, 1_000], "sum") as counted:

        def batches() -> str:
            with progress.counting_batches(1_000) as begin:
                for _ in range(10):
                    begin(100)
                    time.sleep(0.05)
                    # What looks up rows counts none.
                    with progress.counting_batches(5_000) as inner:
                        inner(5_000)
            return "done"

        assert [counted.run(number, batches) for number in (0, 1)] == ["done"] * 2
        assert counted.counts() == (2_000, 2_000)
    assert grows_to(terminal.getvalue(), 2_000)


def test_time_left_is_told_when_enough_is_done() -> None:
    assert progress.time_left(0.5, 1.0) == progress.time_left(0.01, 100.0) == progress.time_left(1.0, 100.0) == ""
    assert progress.time_left(0.5, 10_000.0) == "about 3 h left" and progress.time_left(0.25, 10.0) == "about 30 s left"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_forked_process_draws_for_itself(terminal: io.StringIO) -> None:
    with showing_work("of the parent"):
        read, write = os.pipe()
        child = os.fork()
        if not child:
            own = TerminalLine(io.StringIO())
            progress._WORK.set(None)
            progress.default_canvas = lambda: own  # type: ignore[assignment]
            try:
                with showing_work("of the child"):
                    time.sleep(0.3)
                    os.write(write, own.stream.getvalue().encode())  # type: ignore[attr-defined]
            finally:
                os._exit(0)
        os.close(write)
        os.waitpid(child, 0)
        assert b"of the child" in os.read(read, 1_000)
        os.close(read)


def test_a_system_that_starts_no_thread_shows_nothing(terminal: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_TICKER", progress.Ticker())
    monkeypatch.setattr(progress, "has_memory_for_thread", lambda: False)
    assert applied().sum() == sum(range(ROWS))
    assert terminal.getvalue() == ""
