"""How far a running query is: one line on stderr, or a bar in a notebook."""

from __future__ import annotations

import contextlib
import html
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import Context, ContextVar, copy_context
from typing import TYPE_CHECKING, Any, Protocol, TextIO, TypeVar

import attrs

from sframe_spark.config import config
from sframe_spark.message_text import visible
from sframe_spark.process.fork_safety import do_in_child
from sframe_spark.process.memory import has_memory_for_thread
from sframe_spark.session.launch import is_remote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def notebook_shell() -> Any:
    """The shell of the kernel of a notebook, None elsewhere: IPython in a terminal shows no pictures. Nothing is imported.

    Examples
    --------
    >>> notebook_shell() is None
    True
    """
    get_ipython = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = get_ipython() if get_ipython is not None else None
    return shell if hasattr(shell, "kernel") else None


def show_in_place(shell: Any, display_id: str, forms: Mapping[str, str], is_there: bool) -> None:
    """Show something below the cell that runs, in the forms given by media type, or in the place of what was shown there under the same name."""
    shell.display_pub.publish(data=dict(forms), metadata={}, transient={"display_id": display_id}, update=is_there)


# The bar.

Result = TypeVar("Result")
Value = TypeVar("Value")

# A query that is done sooner shows nothing: a bar that flashes is noise.
DELAY_SECONDS = 1.0
BAR_WIDTH = 30
# How often running work is drawn anew, and how long the thread that does so waits for more.
SECONDS_BETWEEN_DRAWS, SECONDS_IDLE = 0.2, 3.0
# A notebook keeps every message until the browser has drawn it.
SECONDS_BETWEEN_MESSAGES = 0.5


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
class CountedTasks:
    """Works of threads of this process, which say themselves when they are done.

    Parameters
    ----------
    known, done
        How many there are, and how many have ended.
    """

    known: int
    done: int = 0

    def counts(self) -> tuple[int, int]:
        """Return the finished and the known works."""
        return self.done, self.known


class Canvas(Protocol):
    """Where a bar is drawn."""

    def draw(self, line: str, share: float | None) -> None:
        """Draw a line and how much of the work is done, from 0 to 1 (None: nobody knows), in place of what was drawn before."""

    def clear(self) -> None:
        """Take away what was drawn."""


class NoCanvas:
    """Draws nothing."""

    def draw(self, line: str, share: float | None) -> None:
        """Draw nothing."""

    def clear(self) -> None:
        """Nothing was drawn."""


@attrs.define
class TerminalLine:
    """One line of a stream.

    Parameters
    ----------
    stream
        Where it is written.
    """

    stream: TextIO
    _line: str = attrs.field(default="", init=False)

    def draw(self, line: str, share: float | None) -> None:
        """Write the line with a bar before it."""
        self._write(with_bar(line, share))

    def clear(self) -> None:
        """Write blanks."""
        if self._line:
            self._write("")
            self._send("\r")

    def _write(self, line: str) -> None:
        if line == self._line:
            return
        # Blanks overwrite what a longer line before it has left.
        self._send("\r" + line.ljust(len(self._line)))
        self._line = line

    def _send(self, text: str) -> None:
        # Closed, broken off, or without these letters: no reason for the query to fail.
        with contextlib.suppress(OSError, ValueError):
            self.stream.write(text)
            self.stream.flush()


@attrs.define
class NotebookBar:
    """A bar below the cell of a notebook that runs: HTML without scripts.

    Parameters
    ----------
    shell
        That of the kernel.
    """

    shell: Any
    _name: str = attrs.field(factory=lambda: uuid.uuid4().hex, init=False)
    _shown: str = attrs.field(default="", init=False)
    _drawn_at: float = attrs.field(default=-SECONDS_BETWEEN_MESSAGES, init=False)

    def draw(self, line: str, share: float | None) -> None:
        """Show it, unless it was shown a moment ago: each time is a message, and is kept until the browser takes it."""
        now = time.monotonic()
        if line == self._shown or now - self._drawn_at < SECONDS_BETWEEN_MESSAGES:
            return
        # Without a value the browser shows that something goes on.
        value = "" if share is None else f' value="{share:.4f}" max="1"'
        self._show(f"<div><progress{value}></progress> {html.escape(line)}</div>", with_bar(line, share))
        self._shown, self._drawn_at = line, now

    def clear(self) -> None:
        """Show nothing in its place."""
        if self._shown:
            self._show("", "")
            self._shown = ""

    def _show(self, as_html: str, as_text: str) -> None:
        # A bar that cannot be shown is no reason for the query to fail.
        with contextlib.suppress(Exception):
            show_in_place(self.shell, self._name, {"text/html": as_html, "text/plain": as_text}, bool(self._shown))


@attrs.define
class ProgressBar:
    """Draws how far a query is; without a task source it draws nothing.

    Parameters
    ----------
    tasks
        Where the counts come from; None when no bar is wanted.
    description
        What is being done.
    canvas
        Where it is drawn.
    unit
        What is counted.
    """

    tasks: TaskSource | None = None
    description: str = ""
    canvas: Canvas = attrs.field(factory=lambda: TerminalLine(sys.stderr))
    unit: str = "tasks"
    _started: float = attrs.field(factory=time.monotonic, init=False)

    def update(self) -> None:
        """Draw anew if the query has been running for a while."""
        elapsed = time.monotonic() - self._started
        if self.tasks is None or elapsed < DELAY_SECONDS:
            return
        done, total = self.tasks.counts()
        if total:
            self.canvas.draw(format_line(done, total, elapsed, self.description, self.unit), done / total)

    def close(self) -> None:
        """Take the bar away."""
        self.canvas.clear()


def bar_of(share: float) -> str:
    """A bar of characters.

    Examples
    --------
    >>> bar_of(0.5)
    '[###############---------------]'
    """
    filled = int(BAR_WIDTH * share)
    return f"[{'#' * filled}{'-' * (BAR_WIDTH - filled)}]"


def with_bar(line: str, share: float | None) -> str:
    """A line with a bar before it, if it is known how much of the work is done.

    Examples
    --------
    >>> with_bar("3 s, sum", 0.5), with_bar("Spark is starting", None)
    ('[###############---------------] 3 s, sum', 'Spark is starting')
    """
    return line if share is None else f"{bar_of(share)} {line}"


def format_line(done: int, total: int, elapsed: float, description: str, unit: str = "tasks") -> str:
    """Return the text beside the bar.

    Examples
    --------
    >>> format_line(1, 2, 3.2, "sum")
    '1/2 tasks, 3 s, sum'
    """
    suffix = f", {visible(description)}" if description else ""
    return f"{done}/{total} {unit}, {elapsed:.0f} s{suffix}"


def shows_progress(stream: TextIO | None) -> bool:
    """Say whether a bar should be drawn, by ``config.progress`` and by where the output goes; a process may have no output at all."""
    if config.progress == "off":
        return False
    return (stream is not None and (config.progress == "on" or is_terminal(stream))) or notebook_shell() is not None


def is_terminal(stream: TextIO) -> bool:
    """Say whether somebody looks at a stream, which may be closed, or anything that a program has put in place of its own.

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
    """Below the cell of a notebook, elsewhere a line on stderr."""
    shell = notebook_shell()
    return TerminalLine(sys.stderr) if shell is None else NotebookBar(shell)


@attrs.define
class WaitingLine:
    """Says what is waited for, once that takes a while; it draws nothing where no bar is wanted.

    Parameters
    ----------
    words
        What is said, before the seconds.
    """

    words: str
    _canvas: Canvas | None = attrs.field(init=False)
    _started: float = attrs.field(factory=time.monotonic, init=False)

    def __attrs_post_init__(self) -> None:
        self._canvas = default_canvas() if shows_progress(sys.stderr) else None

    def update(self) -> None:
        """Draw anew if the wait is long already."""
        elapsed = time.monotonic() - self._started
        if self._canvas is not None and elapsed >= DELAY_SECONDS:
            self._canvas.draw(f"{self.words}, {elapsed:.0f} s", None)

    def close(self) -> None:
        """Take the line away."""
        if self._canvas is not None:
            self._canvas.clear()


class RunningWork:
    """Work of this process that somebody waits for: a line says for how long, and how much of it is done where that is known.

    Parameters
    ----------
    description
        What is being done.
    canvas
        Where it is drawn.
    """

    def __init__(self, description: str, canvas: Canvas) -> None:
        self._description, self._canvas = description, canvas
        self._counted: list[CountedTasks] = []
        self._calls = 0
        # How many others draw in its place: a start of Spark, jobs.
        self._covered = 0
        self._started = time.monotonic()
        self._lock = threading.Lock()

    def draw(self) -> None:
        """Draw anew if the work has been running for a while, and nobody draws in its place."""
        with self._lock:
            elapsed = time.monotonic() - self._started
            if self._covered or elapsed < DELAY_SECONDS:
                return
            done, total = self._counted[-1].counts() if self._counted else (0, 0)
            calls = f"{self._calls:,} calls of functions" if self._calls else ""
            if total > 1:
                line, share = format_line(done, total, elapsed, self._description), done / total
            else:
                line, share = f"{elapsed:.0f} s, {visible(self._description)}", None
            self._canvas.draw(", ".join(filter(None, (line, calls))), share)

    @contextlib.contextmanager
    def covered(self) -> Iterator[None]:
        """A block in which others draw."""
        with self._lock:
            self._covered += 1
            self._canvas.clear()
        try:
            yield
        finally:
            with self._lock:
                self._covered -= 1

    @contextlib.contextmanager
    def counting(self, works: int) -> Iterator[Callable[[Result], Result]]:
        """Yield what is told the result of each of some works, and gives it back."""
        counted = CountedTasks(works)
        self._counted.append(counted)

        def told(result: Result) -> Result:
            with self._lock:
                counted.done += 1
            self.draw()
            return result

        try:
            yield told
        finally:
            self._counted.remove(counted)

    def called_with(self, values: Iterable[Value]) -> Iterator[Value]:
        """The values that a function is called with, one by one, counted as they are taken."""
        for value in values:
            yield value
            self._calls += 1

    def close(self) -> None:
        """Take the line away, for good."""
        with self._lock:
            self._covered += 1
            self._canvas.clear()

    def leave(self) -> None:
        """In a forked process: the line is the parent's, and a thread of the parent may have held the lock."""
        self._lock = threading.Lock()
        self._canvas = NoCanvas()


class Ticker:
    """Draws what runs while there is anything, in a thread of its own: work may be a single call of a user's function."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._works: list[tuple[RunningWork, Context]] = []
        self._is_running = False

    def add(self, work: RunningWork) -> None:
        """Draw some work from now on."""
        with self._changed:
            # Where a notebook draws is part of the context.
            self._works.append((work, copy_context()))
            if self._is_running or not has_memory_for_thread():
                return
            # Without it nothing is drawn, and all else goes on.
            with contextlib.suppress(RuntimeError):
                threading.Thread(target=self._run, name="sframe_spark progress", daemon=True).start()
                self._is_running = True

    def remove(self, work: RunningWork) -> None:
        """Draw some work no more."""
        with self._changed:
            self._works = [each for each in self._works if each[0] is not work]

    def start_over(self) -> None:
        """In a forked process: the thread, and what it draws, are the parent's."""
        for work, _ in self._works:
            work.leave()
        self.__init__()  # type: ignore[misc]

    def _run(self) -> None:
        idle_since = time.monotonic()
        while True:
            time.sleep(SECONDS_BETWEEN_DRAWS)
            with self._changed:
                works, now = list(self._works), time.monotonic()
                # A next one comes soon, mostly; a thread that nobody needs is in the way of forks.
                idle_since = now if works else idle_since
                if now - idle_since > SECONDS_IDLE:
                    self._is_running = False
                    return
            for work, context in works:
                with contextlib.suppress(Exception):
                    context.run(work.draw)


_TICKER = Ticker()
do_in_child(_TICKER.start_over)
_WORK: ContextVar[RunningWork | None] = ContextVar("sframe_spark_running_work", default=None)


def running_work() -> RunningWork | None:
    """Return the work that this thread, or the one that it works for, is at and that is shown; None: nothing is."""
    return _WORK.get()


@contextlib.contextmanager
def showing_work(description: str) -> Iterator[None]:
    """Show that the block runs, once it takes a while, where progress is wanted; one within another is part of that."""
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


def counted_calls(values: Iterable[Value]) -> Iterable[Value]:
    """The values that a function is about to be called with, one by one; where work is shown, as many are counted as were taken.

    Examples
    --------
    >>> list(counted_calls([1, 2]))
    [1, 2]
    """
    work = running_work()
    return values if work is None else work.called_with(values)


def covering_progress() -> contextlib.AbstractContextManager[None]:
    """A block in which another line than that of the running work is drawn."""
    work = running_work()
    return contextlib.nullcontext() if work is None else work.covered()


@contextlib.contextmanager
def open_progress(session: SparkSession, description: str) -> Iterator[ProgressBar]:
    """Yield a bar for the block; one that draws nothing when none is wanted."""
    if not shows_progress(sys.stderr):
        yield ProgressBar()
        return
    with covering_progress(), _task_source(session) as tasks:
        bar = ProgressBar(tasks, description, default_canvas())
        try:
            yield bar
        finally:
            bar.close()


@contextlib.contextmanager
def open_counted(works: int, description: str) -> Iterator[Callable[[Result], Result]]:
    """Yield what is told the result of each of some works of this process, and gives it back; a bar tells how many there are."""
    with showing_work(description):
        work = running_work()
        if work is None:
            yield lambda result: result
            return
        with work.counting(works) as told:
            yield told


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
