"""Progress of running work: one line on stderr, or a bar in a notebook."""

from __future__ import annotations

import contextlib
import html
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import Context, ContextVar, copy_context
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import attrs

from sframe_spark.config import config
from sframe_spark.message_text import visible
from sframe_spark.process.fork_safety import do_in_child
from sframe_spark.process.memory import has_memory_for_thread
from sframe_spark.session.spark_start_and_settings import is_remote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def notebook_shell() -> Any:
    """Return the shell of a notebook's kernel; None if there is none, as in IPython in a terminal, which shows no pictures. Nothing is imported.

    Examples
    --------
    >>> notebook_shell() is None
    True
    """
    get_ipython = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = get_ipython() if get_ipython is not None else None
    return shell if hasattr(shell, "kernel") else None


Result = TypeVar("Result")
Value = TypeVar("Value")

# Queries that are shorter show no progress: a bar that flashes would distract.
DELAY_SECONDS = 1.0
BAR_WIDTH = 30
# The time between two redraws of running work, and the time after which the drawing thread ends if there is no work.
SECONDS_BETWEEN_DRAWS, SECONDS_IDLE = 0.2, 3.0
# From less of the work, or after less time, the time that is left is not estimated.
MIN_SHARE_OF_ESTIMATE, SECONDS_BEFORE_ESTIMATE = 0.02, 2.0
# A notebook stores every message until the browser has drawn it, so a notebook is updated less often than a terminal.
SECONDS_BETWEEN_MESSAGES = 0.5


# A function that returns the number of finished and the number of known tasks.
TaskCounts = Callable[[], tuple[int, int]]


class ClassicTasks:
    """Counts the tasks of all running stages of the application, through Spark's status tracker."""

    def __init__(self, session: SparkSession) -> None:
        self._tracker = session.sparkContext.statusTracker()
        self._stages: dict[int, tuple[int, int]] = {}

    def counts(self) -> tuple[int, int]:
        """Return the number of finished and the number of known tasks of all stages seen since the start."""
        active = set(self._tracker.getActiveStageIds())
        for stage in active | self._stages.keys():
            information = self._tracker.getStageInfo(stage) if stage in active else None
            # All tasks of a stage that is no longer active have ended.
            total = self._stages.get(stage, (0, 0))[1]
            self._stages[stage] = (total, total) if information is None else (information.numCompletedTasks, information.numTasks)
        return sum(done for done, _ in self._stages.values()), sum(total for _, total in self._stages.values())


class RemoteTasks:
    """Counts the tasks that a Spark Connect server reports to a progress handler."""

    def __init__(self) -> None:
        self._counts = (0, 0)

    def __call__(self, stages: Any, **_: Any) -> None:
        stages = list(stages or ())
        self._counts = sum(stage.num_completed_tasks for stage in stages), sum(stage.num_tasks for stage in stages)

    def counts(self) -> tuple[int, int]:
        """Return the number of finished and the number of known tasks, as last reported."""
        return self._counts


@attrs.define(eq=False)
class TaskRows:
    """Counts the rows of one task that are done: those of the batches before, and those of the current batch for which a function was called.

    Parameters
    ----------
    rows
        The number of rows of the task.
    report
        Called with the number of rows that are done, a few times a second; None if somebody else asks for it.
    """

    rows: int
    report: Callable[[int], None] | None = None
    _before: int = attrs.field(default=0, init=False)
    _batch: int | None = attrs.field(default=None, init=False)
    _calls: int = attrs.field(default=0, init=False)
    _reported_at: float = attrs.field(default=0.0, init=False)

    @property
    def is_counting(self) -> bool:
        """Whether some pipeline counts its batches here: others, whose rows it looks up, do not."""
        return self._batch is not None

    @property
    def done(self) -> int:
        """The number of rows that are done. A batch for which several functions are called is done as far as the first one is, until it ends."""
        return min(self.rows, self._before + min(self._calls, self._batch or self.rows))

    def begin(self, batch: int) -> None:
        """Begin a batch of rows; all of the batches before are done."""
        self._before, self._batch, self._calls = self._before + (self._batch or 0), batch, 0
        self._report_if_due()

    def call(self) -> None:
        """Count a call of a function."""
        self._calls += 1
        self._report_if_due()

    def leave(self) -> None:
        """End the last batch."""
        self.begin(0)
        self._batch = None

    def reach(self, done: int) -> None:
        """Set the number of rows that are done, as the process that runs the task has reported it."""
        self._before, self._calls = done, 0

    def _report_if_due(self) -> None:
        if self.report is not None and (now := time.monotonic()) - self._reported_at >= SECONDS_BETWEEN_DRAWS:
            self._reported_at = now
            self.report(self.done)


@attrs.define(eq=False)
class CountedTasks:
    """Tasks of this process, in threads or in other processes, with the rows of each.

    Parameters
    ----------
    tasks
        The tasks; a task counts as one row if its rows are not known.
    unit
        What is counted, as a plural noun.
    """

    tasks: list[TaskRows]
    unit: str = "rows"

    @classmethod
    def of(cls, rows: Sequence[int | None]) -> CountedTasks:
        """Return tasks of these numbers of rows; if one is not known, tasks are counted instead of rows."""
        if None in rows or not sum(filter(None, rows)):
            return cls([TaskRows(1) for _ in rows], "tasks")
        return cls([TaskRows(number) for number in rows if number is not None])

    def counts(self) -> tuple[int, int]:
        """Return how many rows or tasks are done, and how many there are."""
        return sum(task.done for task in self.tasks), sum(task.rows for task in self.tasks)

    def run(self, number: int, call: Callable[[], Result]) -> Result:
        """Run a task in this thread, and count it as done."""
        task = self.tasks[number]
        token = _TASK.set(task if self.unit == "rows" else None)
        try:
            return call()
        finally:
            _TASK.reset(token)
            task.reach(task.rows)

    def listen(self, number: int) -> Callable[[int], None] | None:
        """Return what to call with the rows of a task that another process has done; None if rows are not counted."""
        return self.tasks[number].reach if self.unit == "rows" else None


class NotShown(CountedTasks):
    """Tasks whose progress nobody sees."""

    def run(self, number: int, call: Callable[[], Result]) -> Result:
        """Run a task."""
        return call()

    def listen(self, number: int) -> Callable[[int], None] | None:
        """Return None."""
        return None


class Canvas:
    """The output on which progress is drawn. This one draws nothing; its subclasses do."""

    def draw(self, line: str, share: float | None) -> None:
        """Draw a line and the completed share of the work, from 0 to 1 (None if unknown), in place of what was drawn before."""

    def clear(self) -> None:
        """Remove what was drawn."""


@attrs.define
class TerminalLine(Canvas):
    """A canvas that is one line of a text stream.

    Parameters
    ----------
    stream
        The stream.
    """

    stream: TextIO
    _line: str = attrs.field(default="", init=False)

    def draw(self, line: str, share: float | None) -> None:
        """Write the line, with a bar before it."""
        shown = with_bar(line, share)
        if shown != self._line:
            # Blanks overwrite the rest of a longer line.
            self._send("\r" + shown.ljust(len(self._line)))
            self._line = shown

    def clear(self) -> None:
        """Overwrite the line with blanks."""
        if self._line:
            self.draw("", None)
            self._send("\r")

    def _send(self, text: str) -> None:
        # The stream may be closed, disconnected, or unable to encode the line, which must not make the query fail.
        with contextlib.suppress(OSError, ValueError):
            self.stream.write(text)
            self.stream.flush()


@attrs.define
class NotebookBar(Canvas):
    """A canvas below the running cell of a notebook, drawn as HTML without scripts.

    Parameters
    ----------
    shell
        The shell of the kernel.
    """

    shell: Any
    _name: str = attrs.field(factory=lambda: uuid.uuid4().hex, init=False)
    _displayed: str = attrs.field(default="", init=False)
    _drawn_at: float = attrs.field(default=-SECONDS_BETWEEN_MESSAGES, init=False)

    def draw(self, line: str, share: float | None) -> None:
        """Display the bar, unless it was displayed shortly before: each update is a message, which is stored until the browser takes it."""
        now = time.monotonic()
        if line == self._displayed or now - self._drawn_at < SECONDS_BETWEEN_MESSAGES:
            return
        # Without a value the browser animates the bar.
        value = "" if share is None else f' value="{share:.4f}" max="1"'
        self._show(f"<div><progress{value}></progress> {html.escape(line)}</div>", with_bar(line, share))
        self._displayed, self._drawn_at = line, now

    def clear(self) -> None:
        """Replace the bar by nothing."""
        if self._displayed:
            self._show("", "")
            self._displayed = ""

    def _show(self, as_html: str, as_text: str) -> None:
        # A bar that cannot be displayed must not make the query fail.
        with contextlib.suppress(Exception):
            forms = {"text/html": as_html, "text/plain": as_text}
            self.shell.display_pub.publish(data=forms, metadata={}, transient={"display_id": self._name}, update=bool(self._displayed))


def with_bar(line: str, share: float | None) -> str:
    """Return a line with a bar before it, if the completed share of the work is known.

    Examples
    --------
    >>> with_bar("3 s, sum", 0.5), with_bar("Spark is starting", None)
    ('[###############---------------] 3 s, sum', 'Spark is starting')
    """
    if share is None:
        return line
    filled = int(BAR_WIDTH * share)
    return f"[{'#' * filled}{'-' * (BAR_WIDTH - filled)}] {line}"


def format_line(done: int, total: int, elapsed: float, description: str, unit: str = "tasks") -> str:
    """Return the line of text next to the bar.

    Examples
    --------
    >>> format_line(1, 2, 1.2, "sum")
    '1/2 tasks, 1 s, sum'
    >>> format_line(50_000, 400_000, 10.0, "computing apply", "rows")
    '50,000/400,000 rows, 10 s, about 70 s left, computing apply'
    """
    left = time_left(done / total, elapsed) if total else ""
    return ", ".join(filter(None, (f"{done:,}/{total:,} {unit}", f"{elapsed:.0f} s", left, visible(description))))


def time_left(share: float, elapsed: float) -> str:
    """Return in words how long the rest of the work takes if it goes on as before; empty if too little is done to tell.

    Examples
    --------
    >>> time_left(0.5, 3.0), time_left(0.1, 60.0), time_left(0.001, 60.0)
    ('about 3 s left', 'about 9 min left', '')
    """
    if elapsed < SECONDS_BEFORE_ESTIMATE or not MIN_SHARE_OF_ESTIMATE <= share < 1:
        return ""
    seconds = elapsed * (1 - share) / share
    if seconds < 120:
        return f"about {max(seconds, 1):.0f} s left"
    return f"about {seconds / 60:.0f} min left" if seconds < 7200 else f"about {seconds / 3600:.0f} h left"


def shows_progress(stream: TextIO | None) -> bool:
    """Return whether to draw progress, by ``config.progress`` and by the output stream; a process may have none (None)."""
    if config.progress == "off":
        return False
    return (stream is not None and (config.progress == "on" or is_terminal(stream))) or notebook_shell() is not None


def is_terminal(stream: TextIO) -> bool:
    """Return whether a stream is a terminal. It may be closed, or any object that a program has installed as its stream.

    Examples
    --------
    >>> import io
    >>> is_terminal(io.StringIO())
    False
    """
    try:
        return bool(stream.isatty())
    except (AttributeError, OSError, ValueError):
        return False


def default_canvas() -> Canvas:
    """Return a canvas below the cell of a notebook, or else a line on stderr; one that draws nothing if progress is disabled."""
    if not shows_progress(sys.stderr):
        return Canvas()
    shell = notebook_shell()
    return TerminalLine(sys.stderr) if shell is None else NotebookBar(shell)


@attrs.define
class ProgressBar:
    """Shows an operation that takes a while: the share of its tasks that have ended, or only how long it has been running.

    Parameters
    ----------
    description
        The operation that runs.
    counts
        Returns the numbers of tasks; None if tasks are not counted.
    canvas
        The canvas to draw on.
    unit
        What is counted, as a plural noun.
    """

    description: str
    counts: TaskCounts | None = None
    canvas: Canvas = attrs.field(factory=default_canvas)
    unit: str = "tasks"
    _started: float = attrs.field(factory=time.monotonic, init=False)

    def update(self) -> None:
        """Redraw the bar, if the operation has been running for a while. Nothing is drawn while tasks are counted and none are known yet."""
        elapsed = time.monotonic() - self._started
        if elapsed < DELAY_SECONDS:
            return
        if self.counts is None:
            self.canvas.draw(f"{self.description}, {elapsed:.0f} s", None)
            return
        done, total = self.counts()
        if total:
            self.canvas.draw(format_line(done, total, elapsed, self.description, self.unit), done / total)

    def close(self) -> None:
        """Remove the bar."""
        self.canvas.clear()


class RunningWork:
    """Work in this process that the user waits for: a line shows how long it has been running, and the completed share if that is known.

    Parameters
    ----------
    description
        The operation that runs.
    canvas
        The canvas to draw on.
    """

    def __init__(self, description: str, canvas: Canvas) -> None:
        self._description, self._canvas = description, canvas
        self._counted: list[CountedTasks] = []
        self._calls = self._expected_calls = 0
        # How many other lines are being drawn in place of this one: the start of Spark, or jobs.
        self._covered = 0
        self._started = time.monotonic()
        self._lock = threading.Lock()

    def draw(self) -> None:
        """Redraw the line, if the work has been running for a while and no other line is drawn in its place."""
        with self._lock:
            elapsed = time.monotonic() - self._started
            if self._covered or elapsed < DELAY_SECONDS:
                return
            counted = self._counted[-1] if self._counted else None
            done, total = counted.counts() if counted else (0, 0)
            unit, calls = counted.unit if counted else "", f"{self._calls:,} calls of functions" if self._calls else ""
            if total <= 1 and self._expected_calls > 1:
                done, total, unit, calls = self._calls, self._expected_calls, "calls of functions", ""
            if total > 1:
                line, share = format_line(done, total, elapsed, self._description, unit), done / total
            else:
                line, share = f"{elapsed:.0f} s, {visible(self._description)}", None
            self._canvas.draw(", ".join(filter(None, (line, calls))), share)

    @contextlib.contextmanager
    def covered(self) -> Iterator[None]:
        """Let another line be drawn in place of this one during the block."""
        with self._lock:
            self._covered += 1
            self._canvas.clear()
        try:
            yield
        finally:
            with self._lock:
                self._covered -= 1

    @contextlib.contextmanager
    def counting(self, counted: CountedTasks) -> Iterator[CountedTasks]:
        """Show in the block how far these tasks are."""
        self._counted.append(counted)
        try:
            yield counted
        finally:
            self._counted.remove(counted)

    def single_task(self) -> TaskRows | None:
        """Return the task that is counted if there is one only; None if there are several, or none."""
        tasks = self._counted[-1].tasks if self._counted else []
        return tasks[0] if len(tasks) == 1 else None

    @property
    def is_counting(self) -> bool:
        """Whether tasks are counted."""
        return bool(self._counted)

    def called_with(self, values: Iterable[Value], task: TaskRows | None, rows: int) -> Iterator[Value]:
        """Yield the values with which a function is called, and count them."""
        self._expected_calls += rows
        for value in values:
            yield value
            self._calls += 1
            if task is not None:
                task.call()

    def close(self) -> None:
        """Remove the line, and draw nothing from then on."""
        with self._lock:
            self._covered += 1
            self._canvas.clear()

    def leave(self) -> None:
        """Draw nothing any more in a forked process: the line is the parent's, and a thread of the parent may have held the lock."""
        self._lock = threading.Lock()
        self._canvas = Canvas()


class Ticker:
    """Redraws running work from a separate thread, as the work may be a single call of a user's function."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running: list[tuple[RunningWork, Context]] = []
        self._has_thread = False

    def add(self, work: RunningWork) -> None:
        """Start drawing some work."""
        with self._changed:
            # The context determines where a notebook draws.
            self._running.append((work, copy_context()))
            if self._has_thread or not has_memory_for_thread():
                return
            # If no thread can be started, nothing is drawn.
            with contextlib.suppress(RuntimeError):
                threading.Thread(target=self._run, name="sframe_spark progress", daemon=True).start()
                self._has_thread = True

    def remove(self, work: RunningWork) -> None:
        """Stop drawing some work."""
        with self._changed:
            self._running = [(other, context) for other, context in self._running if other is not work]

    def start_over(self) -> None:
        """Start without work and thread in a forked process, as those are the parent's."""
        for work, _ in self._running:
            work.leave()
        self.__init__()  # type: ignore[misc]

    def _run(self) -> None:
        idle_since = time.monotonic()
        while True:
            time.sleep(SECONDS_BETWEEN_DRAWS)
            with self._changed:
                running, now = list(self._running), time.monotonic()
                # More work often follows soon; but a thread that is not needed is in the way of forks.
                idle_since = now if running else idle_since
                if now - idle_since > SECONDS_IDLE:
                    self._has_thread = False
                    return
            for work, context in running:
                with contextlib.suppress(Exception):
                    context.run(work.draw)


_TICKER = Ticker()
do_in_child(_TICKER.start_over)
_WORK: ContextVar[RunningWork | None] = ContextVar("sframe_spark_running_work", default=None)
_TASK: ContextVar[TaskRows | None] = ContextVar("sframe_spark_rows_of_task", default=None)


def running_work() -> RunningWork | None:
    """Return the work that is shown for this thread, or for the thread on whose behalf it runs; None if there is none."""
    return _WORK.get()


@contextlib.contextmanager
def showing_work(description: str) -> Iterator[None]:
    """Show the block as running, once it takes a while, if progress is enabled; nested blocks are shown as part of the outermost one."""
    if _WORK.get() is not None or not shows_progress(sys.stderr):
        yield
        return
    work = RunningWork(description, default_canvas())
    token = _WORK.set(work)
    _TICKER.add(work)
    try:
        yield
    finally:
        _WORK.reset(token)
        _TICKER.remove(work)
        work.close()


def counted_calls(values: Iterable[Value], rows: int = 0) -> Iterable[Value]:
    """Return the values with which a function is about to be called; if work is shown, they are counted as they are consumed.

    Parameters
    ----------
    values
        The values.
    rows
        How many there are at most; 0 if that is not known.

    Examples
    --------
    >>> list(counted_calls([1, 2]))
    [1, 2]
    """
    work = running_work()
    task = _TASK.get() or (None if work is None else work.single_task())
    if work is not None:
        return work.called_with(values, task, rows)
    return values if task is None else _reported(values, task)


def _reported(values: Iterable[Value], task: TaskRows) -> Iterator[Value]:
    for value in values:
        yield value
        task.call()


@contextlib.contextmanager
def counting_batches(rows: int) -> Iterator[Callable[[int], None]]:
    """Yield a function to call with the number of rows of each batch when it begins; ``rows`` is the number of all of them.

    The batches are those of the task that runs here. Without one, if work is shown, they are counted as a task of their own; a pipeline that is run
    for another one, which looks up rows, counts nothing.
    """
    work, task = running_work(), _TASK.get()
    if task is None and work is not None and not work.is_counting:
        counted = CountedTasks([TaskRows(rows)])
        with work.counting(counted):
            yield counted.tasks[0].begin
        return
    if task is None or task.is_counting:
        yield lambda batch: None
        return
    try:
        yield task.begin
    finally:
        task.leave()


@contextlib.contextmanager
def reporting_rows(rows: int, report: Callable[[int], None] | None) -> Iterator[None]:
    """Call a function now and then with the number of rows that the block, the only task of this process, has done; None reports nothing."""
    token = _TASK.set(None if report is None else TaskRows(rows, report))
    try:
        yield
    finally:
        _TASK.reset(token)


def covering_progress() -> contextlib.AbstractContextManager[None]:
    """Return a context in which another line may be drawn in place of the running work's."""
    work = running_work()
    return contextlib.nullcontext() if work is None else work.covered()


@contextlib.contextmanager
def open_progress(session: SparkSession, description: str) -> Iterator[ProgressBar]:
    """Yield a progress bar for the block; it draws nothing if progress is disabled."""
    if not shows_progress(sys.stderr):
        yield ProgressBar(description, canvas=Canvas())
        return
    with covering_progress(), _task_counts(session) as counts:
        bar = ProgressBar(description, counts)
        try:
            yield bar
        finally:
            bar.close()


@contextlib.contextmanager
def open_counted(rows: Sequence[int | None], description: str) -> Iterator[CountedTasks]:
    """Yield tasks of these numbers of rows (None: not known), which are shown while they run in the block."""
    with showing_work(description):
        work = running_work()
        if work is None:
            yield NotShown([])
            return
        with work.counting(CountedTasks.of(rows)) as counted:
            yield counted


@contextlib.contextmanager
def _task_counts(session: SparkSession) -> Iterator[TaskCounts]:
    """Yield a function that counts the tasks of a session; the session stops calling it after the block."""
    if not is_remote(session):
        yield ClassicTasks(session).counts
        return
    tasks = RemoteTasks()
    session.registerProgressHandler(tasks)
    try:
        yield tasks.counts
    finally:
        session.removeProgressHandler(tasks)
