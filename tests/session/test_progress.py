"""The progress bar: when it is shown, what it shows, and that it goes away."""

from __future__ import annotations

import io
import sys
import types

import pytest

from sframe_spark.config import config
from sframe_spark.session import progress
from sframe_spark.session.progress import ClassicTasks, ProgressBar, RemoteTasks, format_line, is_wanted, open_progress


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


class Tasks:
    """Counts as told."""

    def __init__(self, done: int, total: int) -> None:
        self.now = (done, total)

    def counts(self) -> tuple[int, int]:
        return self.now


@pytest.fixture(autouse=True)
def outside_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    monkeypatch.delenv("SFRAME_SPARK_PROGRESS", raising=False)


def test_shown_in_a_terminal_or_a_notebook_only(monkeypatch: pytest.MonkeyPatch) -> None:
    with config.using(progress="auto"):
        assert is_wanted(Terminal())
        assert not is_wanted(io.StringIO())
        monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
        assert is_wanted(io.StringIO())


def test_option_wins_over_the_stream() -> None:
    with config.using(progress="off"):
        assert not is_wanted(Terminal())
    with config.using(progress="on"):
        assert is_wanted(io.StringIO())


def test_nothing_is_drawn_or_asked_when_not_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "DELAY_SECONDS", 0.0)
    # A session that would fail at the first question.
    with config.using(progress="off"), open_progress(None, "sum") as bar:  # type: ignore[arg-type]
        bar.update()
    assert stream.getvalue() == ""


def test_short_queries_draw_nothing() -> None:
    stream = io.StringIO()
    ProgressBar(Tasks(1, 2), "sum", stream).update()
    assert stream.getvalue() == ""


def test_line_is_drawn_then_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "DELAY_SECONDS", 0.0)
    stream = io.StringIO()
    tasks = Tasks(0, 0)
    bar = ProgressBar(tasks, "sum", stream)
    bar.update()
    assert stream.getvalue() == ""
    tasks.now = (1, 2)
    bar.update()
    drawn = stream.getvalue()
    assert "1/2 tasks" in drawn
    bar.close()
    assert stream.getvalue()[len(drawn) :].strip() == ""


def test_line_of_no_known_tasks() -> None:
    assert format_line(0, 0, 1.0, "").startswith("[---")


class Tracker:
    """The part of Spark's status tracker that is read."""

    def __init__(self) -> None:
        self.stages: dict[int, tuple[int, int]] = {}

    def getActiveStageIds(self) -> list[int]:
        return list(self.stages)

    def getStageInfo(self, stage: int) -> object:
        if stage not in self.stages:
            return None
        done, total = self.stages[stage]
        return types.SimpleNamespace(numCompletedTasks=done, numTasks=total)


def test_finished_stages_count_as_done() -> None:
    tracker = Tracker()
    tasks = ClassicTasks(types.SimpleNamespace(sparkContext=types.SimpleNamespace(statusTracker=lambda: tracker)))  # type: ignore[arg-type]
    tracker.stages = {1: (2, 4)}
    assert tasks.counts() == (2, 4)
    tracker.stages = {2: (0, 3)}
    assert tasks.counts() == (4, 7)


def test_remote_counts_are_the_sum_of_stages() -> None:
    tasks = RemoteTasks()
    tasks([types.SimpleNamespace(num_completed_tasks=1, num_tasks=2), types.SimpleNamespace(num_completed_tasks=3, num_tasks=5)])
    assert tasks.counts() == (4, 7)
    tasks(None)
    assert tasks.counts() == (0, 0)
