"""Before a Spark has started, Python processes of ours call users' functions: the same rows, errors and prints, and no Spark."""

from __future__ import annotations

import atexit
import functools
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SArray, SFrame, aggregate, config, load_sframe
from sframe_spark.engine import costs
from sframe_spark.engine.execution.materialize_count_and_read_rows import materialize
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.runtime import task_runners
from sframe_spark.errors import ExecutionError, UserFunctionError
from sframe_spark.process import python_worker_pool_and_message_channel as child_processes
from sframe_spark.process.python_worker_pool_and_message_channel import WorkerProcesses
from sframe_spark.session import is_started
from sframe_spark.session.session import get_processes
from tests.examples import square
from tests.interpreters import run_program

ROWS = 3_000
AT = 2_000


@pytest.fixture(autouse=True)
def over_ranges(tmp_path: Path) -> Iterator[None]:
    """Few rows count as many, functions are called, and no Spark is started."""
    here = str(tmp_path / "temporary")
    with config.using(small_rows=100, segment_rows=700, batch_rows=90, progress="off", temporary_directory=here, translate_functions="off"):
        yield
    assert not is_started()


class Adder:
    """A function that is an object."""

    def __init__(self, more: int) -> None:
        self.more = more

    def __call__(self, value: int) -> int:
        return value + self.more


def closure(more: int) -> Callable[[int], int]:
    return lambda value: value + more


def plus(more: int, value: int) -> int:
    return value + more


def ending(how: Callable[[], Any]) -> Callable[[int], int]:
    def function(value: int) -> int:
        if value == AT:
            how()
        return value

    return function


@pytest.mark.parametrize("function", [Adder(3), closure(3), functools.partial(plus, 3), (3).__add__], ids=["object", "closure", "partial", "method"])
def test_every_kind_of_function_is_called(function: Callable[[int], int]) -> None:
    column = SArray(range(ROWS)).apply(function, int)
    assert "Python processes over ranges of rows" in column.explain()
    assert list(column) == [value + 3 for value in range(ROWS)]


def test_functions_of_modules_that_were_found_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert SArray(range(ROWS)).apply(lambda value: value).sum() == sum(range(ROWS))
    (tmp_path / "found_later_by_processes.py").write_text("def thrice(value):\n    return value * 3\n")
    monkeypatch.syspath_prepend(tmp_path)
    import found_later_by_processes  # type: ignore[import-not-found]

    assert SArray(range(ROWS)).apply(found_later_by_processes.thrice).sum() == 3 * sum(range(ROWS))
    del sys.modules["found_later_by_processes"]


def programs(sf: SFrame) -> dict[str, Any]:
    """Rows of programs that call functions in all the places that there are."""
    chosen = sf[sf["t"].apply(lambda text: len(text or "") % 2)]
    chosen["d"] = chosen["i"].apply(lambda number: {"half": number / 2, "all": [number, str(number)]})
    split = chosen.unpack("d")
    last = SFrame({"key": sf["t"].apply(lambda text: text and text[-1:]), "i": sf["i"]})
    joined = chosen[["i"]].join(sf.head(50), on="i", how="left")
    joined["u"] = joined.apply(lambda row: f"{row['i']}/{row['t']}")
    running = sf["i"].apply(lambda number: number % 7, int).cumulative_sum()
    return {
        "filter, dicts": list(split),
        "groups": sorted(last.groupby("key", {"s": aggregate.SUM("i"), "n": aggregate.COUNT()}), key=str),
        "rows": list(sf.apply(lambda row: row["i"] * 2 if row["t"] else None)),
        "pieces": list(sf.flat_map(["n"], lambda row: [[row["i"]]] * (row["i"] % 3))),
        "join": list(joined),
        "running": list(running),
        "sorted": list(sf.sort("t")["i"].apply(lambda number: number + 1)),
        "first": list(sf["i"].apply(lambda number: -number)[:5]),
        "one": sf["i"].apply(lambda number: -number)[ROWS // 2],
        "missing": list(sf["t"].apply(lambda text: text, skip_na=False)),
    }


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("batch_rows", "is_saved"), square(2, [7, 1_000], [False, True]))
def test_rows_are_those_of_few_rows(tmp_path: Path, batch_rows: int, is_saved: bool) -> None:
    sf = SFrame({"i": [row * 7 % ROWS for row in range(ROWS)], "t": [None if row % 11 == 0 else f"{row % 13}é" for row in range(ROWS)]})
    if is_saved:
        sf.save(str(tmp_path / "saved"))
        sf = load_sframe(str(tmp_path / "saved"))
    with config.using(batch_rows=batch_rows):
        found = programs(sf)
    with config.using(small_rows=100 * ROWS):
        assert found == programs(sf)


@pytest.mark.parametrize("segments", [1, 2, 9])
def test_exports_and_saves_are_written_by_processes(tmp_path: Path, segments: int) -> None:
    made = SFrame({"a": SArray(range(ROWS)).apply(lambda value: value * 2)})
    materialize(made._node, MaterializeOptions(segments=segments))
    again = SFrame({"a": SArray(range(ROWS)).apply(lambda value: value * 2)})
    again.save(str(tmp_path / "frame"))
    SFrame({"a": SArray(range(ROWS)).apply(lambda value: value * 2)}).export_csv(str(tmp_path / "file.csv"))
    expected = [value * 2 for value in range(ROWS)]
    assert list(made["a"]) == list(load_sframe(str(tmp_path / "frame"))["a"]) == list(SFrame.read_csv(str(tmp_path / "file.csv"))["a"]) == expected


def test_an_error_is_the_one_that_few_rows_give() -> None:
    def failing(value: int) -> int:
        if value == AT:
            raise ZeroDivisionError("no such number")
        return value

    said = []
    for small_rows in (100, 10 * ROWS):
        with config.using(small_rows=small_rows), pytest.raises(UserFunctionError) as caught:
            SArray(range(ROWS)).apply(failing).sum()
        assert isinstance(caught.value, ZeroDivisionError)
        said.append(str(caught.value))
    assert said[0] == said[1] and 'raise ZeroDivisionError("no such number")' in said[0]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("how", "words"),
    [
        (lambda: sys.exit(4), r"raised SystemExit\(4\): functions must not end their process"),
        (lambda: os._exit(3), "ended with exit code 3"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "was killed: it may have taken more memory than there is"),
        (lambda: os.kill(os.getpid(), signal.SIGABRT), "ended by SIGABRT"),
    ],
    ids=["exit", "_exit", "killed", "aborted"],
)
def test_a_process_that_ends_is_told_and_replaced(how: Callable[[], Any], words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Only one has to be started anew.
    monkeypatch.setattr(task_runners, "local_threads", lambda: 1)
    with pytest.raises(ExecutionError, match=words):
        SArray(range(ROWS)).apply(ending(how)).sum()
    assert SArray(range(ROWS)).apply(Adder(1)).sum() == sum(range(ROWS)) + ROWS


def test_functions_are_where_this_process_is_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        monkeypatch.setenv("FOR_FUNCTIONS", name)
        found = SArray(range(ROWS)).apply(lambda value: f"{os.getcwd()} {os.environ['FOR_FUNCTIONS']}", str)
        assert set(found) == {f"{tmp_path / name} {name}"}


def test_no_more_processes_stay_than_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_processes, "MAX_IDLE", 1)
    get_processes().end()
    assert SArray(range(1_400)).apply(Adder(1)).sum() == sum(range(1_400)) + 1_400
    assert len(get_processes()._idle) == 1


@pytest.fixture
def untried(monkeypatch: pytest.MonkeyPatch) -> Iterator[WorkerProcesses]:
    """Processes of a session in which none has worked yet."""
    get_processes().end()
    processes = WorkerProcesses()
    monkeypatch.setattr(task_runners, "get_processes", lambda: processes)
    monkeypatch.setattr(task_runners, "local_threads", lambda: 2)
    yield processes
    processes.end()
    atexit.unregister(processes.end)


def test_short_works_start_one_process(untried: WorkerProcesses, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_processes, "SECONDS_WORTH_ANOTHER", 1e9)
    assert len(set(SArray(range(ROWS)).apply(lambda value: os.getpid())[200:])) == 1
    assert len(untried._idle) == 1 and untried._seconds_worked > 0
    # What many works took together is worth another one.
    monkeypatch.setattr(child_processes, "SECONDS_WORTH_ANOTHER", untried._seconds_worked)
    assert len(set(SArray(range(ROWS)).apply(lambda value: time.sleep(0.001) or os.getpid())[200:])) > 1


def test_slow_works_start_all_while_the_first_is_at_one(untried: WorkerProcesses, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_processes, "SECONDS_WORTH_ANOTHER", 0.1)
    assert len(set(SArray(range(ROWS)).apply(lambda value: time.sleep(0.002) or os.getpid())[200:])) == 2


def test_many_rows_start_all_at_once(untried: WorkerProcesses, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_processes, "SECONDS_WORTH_ANOTHER", 1e9)
    monkeypatch.setattr(costs, "MAX_ROWS_OF_SHORT_TASKS", ROWS)
    SArray(range(ROWS)).apply(lambda value: time.sleep(0.001)).materialize()
    assert len(untried._idle) == 2


def test_who_waits_for_a_process_that_ends_starts_another(untried: WorkerProcesses, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_processes, "SECONDS_WORTH_ANOTHER", 1e9)
    with pytest.raises(ExecutionError, match="ended with exit code 3"):
        SArray(range(ROWS)).apply(ending(lambda: os._exit(3))).sum()
    assert not untried._busy and not untried._starting
    assert SArray(range(ROWS)).apply(Adder(1)).sum() == sum(range(ROWS)) + ROWS


def test_a_process_that_cannot_start_holds_nobody_up(
    untried: WorkerProcesses, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sys, "executable", "/there/is/no/python")
    assert SArray(range(ROWS)).apply(Adder(1)).sum() == sum(range(ROWS)) + ROWS
    assert not untried._busy and not untried._starting
    assert len(caplog.records) == 1 and "no Python process could be started (FileNotFoundError" in caplog.text and "no/python" in caplog.text


def test_who_finds_no_room_for_a_process_waits_for_those_of_others(untried: WorkerProcesses, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_processes, "SECONDS_WORTH_ANOTHER", 0.0)
    start, started, turn = subprocess.Popen, [], threading.Lock()

    def one_only(*arguments: Any, **options: Any) -> Any:
        with turn:
            if started:
                raise BlockingIOError(11, "Resource temporarily unavailable")
            started.append(start(*arguments, **options))
            return started[0]

    monkeypatch.setattr(child_processes.subprocess, "Popen", one_only)
    assert set(SArray(range(ROWS)).apply(lambda value: os.getpid())[200:]) == {started[0].pid}


def test_processes_have_one_core_each_unless_told_otherwise(untried: WorkerProcesses, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_processes, "SECONDS_WORTH_ANOTHER", 1e9)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)

    def found(value: int) -> str:
        given = Path("/proc/self/environ").read_bytes().split(b"\0")
        return f"{[each for each in given if each.startswith(b'OMP')]} {os.environ.get('OMP_NUM_THREADS')}"

    # Libraries that functions import look at the environment, too.
    assert set(SArray(range(ROWS)).apply(found, str)) == {"[b'OMP_NUM_THREADS=1'] 1"}
    untried.end()
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert set(SArray(range(ROWS)).apply(found, str)) == {"[b'OMP_NUM_THREADS=2'] 2"}


@pytest.mark.parametrize(("program", "is_python"), [("/usr/bin/python3.11", True), ("/usr/bin/uwsgi", False), ("", False), (None, False)])
def test_only_pythons_are_started(monkeypatch: pytest.MonkeyPatch, program: str | None, is_python: bool) -> None:
    monkeypatch.setattr(sys, "executable", program)
    assert child_processes.can_start() == is_python


STARTS_ANOTHER = {
    "Popen that inherits": lambda: subprocess.Popen(["sleep", "60"], close_fds=False),
    "shell": lambda: os.system("sleep 60 &"),
    "fork of a fork": lambda: os.fork() or (os.fork(), time.sleep(60), os._exit(0)),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", STARTS_ANOTHER)
def test_a_process_that_dies_while_one_that_it_started_lives_on(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_runners, "local_threads", lambda: 1)
    start = STARTS_ANOTHER[kind]

    def died(value: int) -> int:
        if value == AT:
            start()
            os.kill(os.getpid(), signal.SIGKILL)
        return value

    assert SArray(range(ROWS)).apply(Adder(1)).sum() == sum(range(ROWS)) + ROWS
    began = time.monotonic()
    with pytest.raises(ExecutionError, match="was killed"):
        SArray(range(ROWS)).apply(died, int).sum()
    assert time.monotonic() - began < 20
    assert SArray(range(ROWS)).apply(Adder(1)).sum() == sum(range(ROWS)) + ROWS


def test_what_functions_fork_answers_nothing_in_place_of_its_parent() -> None:
    def forked(value: int) -> int:
        if value == AT and not os.fork():
            # It returns, as if it were the process that was asked.
            return -1
        return value

    assert SArray(range(ROWS)).apply(forked, int).sum() == sum(range(ROWS))


def test_what_cannot_be_sent_is_told() -> None:
    lock = threading.Lock()

    def locked(value: int) -> int:
        with lock:
            return value

    with pytest.raises(UserFunctionError, match="cannot be sent to other Python processes"):
        SArray(range(ROWS)).apply(locked).sum()


class MadeBy:
    """An object that is pickled as a call."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> Any:
        return self.call


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (MadeBy(__import__, "no_module_of_this_name"), r"ModuleNotFoundError: No module named 'no_module_of_this_name'\. .*sys.path.*addPyFile"),
        (MadeBy(getattr, os, "no_name_of_it"), r"AttributeError: module 'os' has no attribute 'no_name_of_it'\. Its module.*is not found"),
        (MadeBy(int, "x"), r"ValueError: invalid literal.*: 'x'\. An object that it refers to.*let the function create it itself"),
    ],
)
def test_what_a_process_cannot_load_is_told(made: MadeBy, words: str, capfd: pytest.CaptureFixture[str]) -> None:
    """It is the function of the user's that is named, no process ends, and works after that are not answered so."""
    column = SArray(range(ROWS))
    for _ in range(2):
        with pytest.raises(UserFunctionError, match=rf"<lambda> at .*test_processes.py:\d+ cannot be loaded in the Python process.*{words}"):
            column.apply(lambda value: value if made else 0, int).materialize()
    assert column.apply(lambda value: value + 1, int).sum() == ROWS * (ROWS + 1) // 2
    assert "Traceback" not in capfd.readouterr().err


def test_processes_are_used_again_and_print_where_this_one_does(capfd: pytest.CaptureFixture[str]) -> None:
    # Those of other tests write to what was captured then.
    get_processes().end()
    first = set(SArray(range(ROWS)).apply(lambda value: os.getpid())[200:])
    assert set(SArray(range(ROWS)).apply(lambda value: os.getpid())[200:]) <= first | {worker._process.pid for worker in get_processes()._idle}
    assert os.getpid() not in first
    SArray(range(ROWS)).apply(lambda value: sys.stdout.write(f"seen {value}\n") if value == AT else None).materialize()
    assert f"seen {AT}" in capfd.readouterr().out


def test_a_function_that_reads_what_it_is_not_to_read() -> None:
    # Its standard input is empty, and not the user's.
    assert set(SArray(range(ROWS)).apply(lambda value: sys.stdin.read(1), str)) == {""}


SCRIPT = """
import os, signal, sys, threading, time
from sframe_spark import SArray, config
from sframe_spark.session import is_started
from sframe_spark.process import python_worker_pool_and_message_channel as child_processes
from sframe_spark.session.session import get_processes
from sframe_spark.process.python_worker_pool_and_message_channel import WorkerProcesses

config.small_rows, config.segment_rows, config.progress = 100, 700, "off"
config.translate_functions = "off"
print("main runs")
numbers = SArray(range(3000))
assert numbers.apply(lambda value: value + 1).sum() == sum(range(3000)) + 3000
"""


def run_script(text: str) -> subprocess.CompletedProcess[str]:
    return run_program(SCRIPT + textwrap.dedent(text), warnings="error")


def test_ctrl_c_ends_functions_at_once() -> None:
    found = run_script(
        """
        threading.Timer(0.6, os.kill, (os.getpid(), signal.SIGINT)).start()
        began = time.monotonic()
        try:
            numbers.apply(lambda value: time.sleep(0.05)).materialize()
        except KeyboardInterrupt:
            print("interrupted", time.monotonic() - began < 20)
        assert numbers.apply(lambda value: value + 1).sum() == sum(range(3000)) + 3000
        assert not is_started()
        """,
    )
    assert (found.stdout.splitlines(), found.stderr, found.returncode) == (["main runs", "interrupted True"], "", 0)


def test_a_forked_process_has_its_own() -> None:
    found = run_script(
        """
        before = [worker._process.pid for worker in get_processes()._idle]
        child = os.fork()
        if not child:
            own = set(numbers.apply(lambda value: os.getpid())[200:])
            print("child", own.isdisjoint(before), flush=True)
            get_processes().end()
            os._exit(0)
        os.waitpid(child, 0)
        print("parent", not set(numbers.apply(lambda value: os.getpid())[200:]).isdisjoint(before))
        """,
    )
    assert (found.stdout.splitlines(), found.stderr, found.returncode) == (["main runs", "child True", "parent True"], "", 0)


def is_running(process: int) -> bool:
    try:
        return Path("/proc", str(process), "stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.sampled(2)
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize("are_busy", [False, True])
def test_processes_end_with_the_one_that_started_them(are_busy: bool) -> None:
    busy = "numbers.apply(lambda value: time.sleep(1)).materialize()" if are_busy else "time.sleep(100)"
    found = subprocess.Popen(
        [sys.executable, "-c", f"{SCRIPT}\nprint(*[worker._process.pid for worker in get_processes()._idle], flush=True)\n{busy}"],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert found.stdout is not None
    with found.stdout:
        found.stdout.readline()
        workers = list(map(int, found.stdout.readline().split()))
    time.sleep(0.3)
    assert workers and all(map(is_running, workers))
    found.kill()
    found.wait()
    for _ in range(100):
        if not any(map(is_running, workers)):
            break
        time.sleep(0.1)
    assert not any(map(is_running, workers))
