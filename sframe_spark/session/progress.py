"""One line on stderr that shows how far a running query is."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol, TextIO

import attrs

from sframe_spark.config import config
from sframe_spark.session.session import is_remote
from sframe_spark.visible import visible

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A query that is done sooner shows nothing: a bar that flashes is noise.
DELAY_SECONDS = 1.0
BAR_WIDTH = 30


class TaskSource(Protocol):
    """Tells how many tasks are done and how many are known."""

    def counts(self) -> tuple[int, int]:
        """Return the finished and the known tasks."""


class ClassicTasks:
    """Counts tasks through the status tracker: those of all running stages of the application."""

    def __init__(self, session: SparkSession) -> None:
        self._tracker = session.sparkContext.statusTracker()
        self._stages: dict[int, tuple[int, int]] = {}

    def counts(self) -> tuple[int, int]:
        """Return the finished and the known tasks of every stage seen since the start."""
        active = set(self._tracker.getActiveStageIds())
        for stage in active | self._stages.keys():
            information = self._tracker.getStageInfo(stage)
            known = self._stages.get(stage, (0, 0))[1]
            if information is not None and stage in active:
                self._stages[stage] = (information.numCompletedTasks, information.numTasks)
            else:
                self._stages[stage] = (known, known)
        return sum(done for done, _ in self._stages.values()), sum(total for _, total in self._stages.values())


class RemoteTasks:
    """Counts tasks that a Spark Connect server reports through a progress handler."""

    def __init__(self) -> None:
        self._counts = (0, 0)

    def __call__(self, stages: Any, **_: Any) -> None:
        stages = list(stages or ())
        self._counts = (
            sum(stage.num_completed_tasks for stage in stages),
            sum(stage.num_tasks for stage in stages),
        )

    def counts(self) -> tuple[int, int]:
        """Return the finished and the known tasks as last reported."""
        return self._counts


@attrs.define
class ProgressBar:
    """Draws the line; without a task source it draws nothing.

    Parameters
    ----------
    tasks
        Where the counts come from; None when no bar is wanted.
    description
        What is being done.
    unit
        What is counted.
    stream
        Where the line is drawn.
    """

    tasks: TaskSource | None = None
    description: str = ""
    unit: str = "tasks"
    stream: TextIO = attrs.field(factory=lambda: sys.stderr)
    _started: float = attrs.field(factory=time.monotonic, init=False)
    _line: str = attrs.field(default="", init=False)

    def update(self) -> None:
        """Draw the line anew if the query has been running for a while."""
        elapsed = time.monotonic() - self._started
        if self.tasks is None or elapsed < DELAY_SECONDS:
            return
        done, total = self.tasks.counts()
        if total:
            self._draw(format_line(done, total, elapsed, self.description, self.unit))

    def close(self) -> None:
        """Take the line away."""
        if self._line:
            self._draw("")
            self.stream.write("\r")
            self.stream.flush()

    def _draw(self, line: str) -> None:
        if line == self._line:
            return
        # Blanks overwrite what a longer line before it has left.
        self.stream.write("\r" + line.ljust(len(self._line)))
        self.stream.flush()
        self._line = line


def format_line(done: int, total: int, elapsed: float, description: str, unit: str = "tasks") -> str:
    """Return the text of the bar.

    Examples
    --------
    >>> format_line(1, 2, 3.2, "sum")
    '[###############---------------] 1/2 tasks, 3 s, sum'
    """
    filled = BAR_WIDTH * done // max(total, 1)
    bar = "#" * filled + "-" * (BAR_WIDTH - filled)
    suffix = f", {visible(description)}" if description else ""
    return f"[{bar}] {done}/{total} {unit}, {elapsed:.0f} s{suffix}"


def is_wanted(stream: TextIO) -> bool:
    """Say whether a bar should be drawn, by ``config.progress`` and by where the output goes."""
    if config.progress != "auto":
        return config.progress == "on"
    return stream.isatty() or "ipykernel" in sys.modules


@contextlib.contextmanager
def open_progress(session: SparkSession, description: str) -> Iterator[ProgressBar]:
    """Yield a bar for the block; one that draws nothing when none is wanted."""
    if not is_wanted(sys.stderr):
        yield ProgressBar()
        return
    with _task_source(session) as tasks:
        bar = ProgressBar(tasks, description)
        try:
            yield bar
        finally:
            bar.close()


@contextlib.contextmanager
def _task_source(session: SparkSession) -> Iterator[TaskSource]:
    """Yield where task counts come from, and detach from it after the block."""
    if not is_remote(session):
        yield ClassicTasks(session)
        return
    tasks = RemoteTasks()
    session.registerProgressHandler(tasks)
    try:
        yield tasks
    finally:
        session.removeProgressHandler(tasks)
