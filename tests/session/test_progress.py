"""The progress bar: when it is shown, what it shows, and that it goes away."""

from __future__ import annotations

import io
import os
import sys
import threading
import types

import pytest

from sframe_spark.config import config
from sframe_spark.session import progress, session
from sframe_spark.session.progress import (
    Canvas,
    ClassicTasks,
    NotebookBar,
    ProgressBar,
    RemoteTasks,
    TerminalLine,
    default_canvas,
    format_line,
    notebook_shell,
    open_counted,
    open_progress,
    running_work,
    shows_progress,
    with_bar,
)
from tests.interpreters import run_program


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


class Shell:
    """The part of a notebook's shell that is used: it keeps what it is to publish."""

    kernel = object()

    def __init__(self, fails: bool = False) -> None:
        self.display_pub, self.messages, self.fails = self, list[tuple[str, str, bool]](), fails
        self.names, self.asked = set[str](), 0

    def publish(self, data: dict[str, str], metadata: dict[str, str], *, transient: dict[str, str], update: bool) -> None:
        self.asked += 1
        if self.fails:
            raise OSError("the socket is closed")
        assert set(data) == {"text/html", "text/plain"} and metadata == {}
        self.names.add(transient["display_id"])
        self.messages.append((data["text/html"], data["text/plain"], update))


def in_ipython(monkeypatch: pytest.MonkeyPatch, shell: object) -> None:
    module = types.ModuleType("IPython")
    module.get_ipython = lambda: shell  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", module)


class Tasks:
    """Counts as told."""

    def __init__(self, done: int, total: int) -> None:
        self.now = (done, total)

    def counts(self) -> tuple[int, int]:
        return self.now


@pytest.fixture(autouse=True)
def outside_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    monkeypatch.delenv("SFRAME_SPARK_PROGRESS", raising=False)


def test_shown_in_a_terminal_or_a_notebook_only(monkeypatch: pytest.MonkeyPatch) -> None:
    with config.using(progress="auto"):
        assert shows_progress(Terminal())
        assert not shows_progress(io.StringIO())
        in_ipython(monkeypatch, object())
        assert not shows_progress(io.StringIO()), "IPython in a terminal, whose stderr goes elsewhere"
        in_ipython(monkeypatch, Shell())
        assert shows_progress(io.StringIO())


def test_option_wins_over_the_stream() -> None:
    with config.using(progress="off"):
        assert not shows_progress(Terminal())
    with config.using(progress="on"):
        assert shows_progress(io.StringIO())


def closed() -> io.StringIO:
    stream = io.StringIO()
    stream.close()
    return stream


OUTPUTS = {
    "none, as a service or pythonw has it": lambda: None,
    "closed": closed,
    "a program's own, without isatty": lambda: types.SimpleNamespace(write=lambda text: None, flush=lambda: None),
    "without these letters": lambda: io.TextIOWrapper(io.BytesIO(), "ascii"),
}


@pytest.mark.parametrize("option", ["auto", "on"])
@pytest.mark.parametrize("name", OUTPUTS)
def test_an_output_that_takes_no_bar_is_no_reason_to_fail(monkeypatch: pytest.MonkeyPatch, name: str, option: str) -> None:
    monkeypatch.setattr(progress, "DELAY_SECONDS", 0.0)
    monkeypatch.setattr(sys, "stderr", OUTPUTS[name]())
    with config.using(progress=option):
        with open_counted([1, 1], "größe") as counted:
            assert [counted.run(number, lambda: "result") for number in (0, 1)] == ["result"] * 2
            if (work := running_work()) is not None:
                work.draw()
        line = ProgressBar("Größe")
        line.update()
        line.close()


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
    ProgressBar("sum", Tasks(1, 2).counts, TerminalLine(stream)).update()
    assert stream.getvalue() == ""


def test_line_is_drawn_then_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "DELAY_SECONDS", 0.0)
    stream = io.StringIO()
    tasks = Tasks(0, 0)
    bar = ProgressBar("sum", tasks.counts, TerminalLine(stream))
    bar.update()
    assert stream.getvalue() == ""
    tasks.now = (1, 2)
    bar.update()
    drawn = stream.getvalue()
    assert "1/2 tasks" in drawn
    bar.close()
    assert stream.getvalue()[len(drawn) :].strip() == ""


def test_line_of_no_known_tasks() -> None:
    assert (format_line(0, 0, 1.0, ""), with_bar("", 0.0), with_bar("", 1.0)) == ("0/0 tasks, 1 s", f"[{'-' * 30}] ", f"[{'#' * 30}] ")


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


def test_a_notebook_gets_a_bar_and_others_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    assert type(default_canvas()) is Canvas, "nothing is drawn where nobody looks"
    monkeypatch.setattr(progress, "shows_progress", lambda _: True)
    assert isinstance(default_canvas(), TerminalLine)
    in_ipython(monkeypatch, object())
    assert isinstance(default_canvas(), TerminalLine)
    in_ipython(monkeypatch, None)
    assert isinstance(default_canvas(), TerminalLine) and notebook_shell() is None
    shell = Shell()
    in_ipython(monkeypatch, shell)
    canvas = default_canvas()
    assert isinstance(canvas, NotebookBar) and canvas.shell is shell
    # While IPython is being imported.
    monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
    assert notebook_shell() is None


def test_a_bar_in_a_notebook_is_drawn_in_one_place_and_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "DELAY_SECONDS", 0.0)
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_MESSAGES", 0.0)
    shell, tasks = Shell(), Tasks(1, 4)
    bar = ProgressBar("sum of <b>\x1b[2J", tasks.counts, NotebookBar(shell))
    bar.update()
    tasks.now = (4, 4)
    bar.update()
    bar.close()
    (first, text, is_update), (second, _, _), last = shell.messages
    assert first == '<div><progress value="0.2500" max="1"></progress> 1/4 tasks, 0 s, sum of &lt;b&gt;\\x1b[2J</div>'
    assert text == with_bar("1/4 tasks, 0 s, sum of <b>\\x1b[2J", 0.25) and not is_update
    assert 'value="1.0000"' in second and last == ("", "", True)
    assert len(shell.names) == 1 and [update for _, _, update in shell.messages] == [False, True, True]
    assert "<script" not in first


def test_what_is_waited_for_is_told_after_a_while_and_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with config.using(progress="auto"):
        line = ProgressBar("Spark is starting")
        line.update()
        assert stream.getvalue() == "", "a short wait is not worth a word"
        monkeypatch.setattr(progress, "DELAY_SECONDS", 0.0)
        line.update()
        assert stream.getvalue() == "\rSpark is starting, 0 s"
        line.close()
    assert stream.getvalue().endswith("\r" + " " * len("Spark is starting, 0 s") + "\r")
    with config.using(progress="off"):
        ProgressBar("Spark is starting").update()
    assert stream.getvalue().count("Spark") == 1


def test_a_notebook_shows_that_something_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "DELAY_SECONDS", 0.0)
    shell = Shell()
    in_ipython(monkeypatch, shell)
    line = ProgressBar("Spark is starting")
    line.update()
    line.close()
    assert [text for _, text, _ in shell.messages] == ["Spark is starting, 0 s", ""]
    assert shell.messages[0][0] == "<div><progress></progress> Spark is starting, 0 s</div>"


def test_a_start_of_spark_is_told_while_it_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    stream, ready = Terminal(), threading.Event()

    class Line(ProgressBar):
        def update(self) -> None:
            super().update()
            ready.set()

    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "DELAY_SECONDS", 0.0)
    monkeypatch.setattr(session, "ProgressBar", Line)
    monkeypatch.setattr(session, "start_spark", lambda: ready.wait(60) and ("the session", True))
    with config.using(progress="auto"):
        assert session.SparkStart().wait() == "the session"
    assert "\rSpark is starting, " in stream.getvalue() and stream.getvalue().endswith(" \r")


def test_messages_to_a_notebook_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    shell, now = Shell(), 100.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    bar = NotebookBar(shell)
    for step in range(100):
        now = 100.0 + step / 10
        bar.draw(f"{step} tasks", step / 100)
    assert len(shell.messages) == 20
    now += 1
    bar.draw("90 tasks", 0.9)
    bar.draw("90 tasks", 0.9)
    assert len(shell.messages) == 21, "what is shown already is not sent again"


def test_nothing_is_shown_of_short_queries_in_a_notebook() -> None:
    shell = Shell()
    bar = ProgressBar("sum", Tasks(1, 2).counts, NotebookBar(shell))
    bar.update()
    bar.close()
    assert shell.messages == []


def test_a_notebook_that_is_gone_ends_no_query() -> None:
    shell = Shell(fails=True)
    bar = NotebookBar(shell)
    bar.draw("1 task", 0.5)
    bar.clear()
    assert shell.asked == 2 and shell.messages == []


FORKED_WHILE_A_LINE_IS_DRAWN = """
import os, signal, threading
from sframe_spark.config import config
from sframe_spark.session import progress

drawing, is_forked = threading.Event(), threading.Event()

def draw():
    with progress._TICKER._changed, work._lock:
        drawing.set()
        is_forked.wait(60)

with config.using(progress="on"):
    with progress.showing_work("work"):
        work = progress.running_work()
        thread = threading.Thread(target=draw)
        thread.start()
        drawing.wait(60)
        child = os.fork()
        if not child:
            signal.alarm(20)
            with progress.open_counted([None, None], "part of it") as counted:
                counted.run(0, lambda: "a result")
                progress.running_work().draw()
        is_forked.set()
    with progress.showing_work("more"):
        pass
if not child:
    os._exit(0)
thread.join()
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_that_is_forked_while_a_line_is_drawn_waits_for_nobody() -> None:
    found = run_program(FORKED_WHILE_A_LINE_IS_DRAWN)
    assert (found.stdout, found.returncode) == ("0\n", 0), found.stderr
