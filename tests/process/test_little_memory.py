"""Where a process has little memory left by its limit, work ends soon: with its result, or with a MemoryError; no thread is waited for for ever."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from sframe_spark import SFrame
from sframe_spark.errors import CancelledError, NoMemoryError, TooLargeError
from sframe_spark.process import memory
from sframe_spark.process.memory import BYTES_OF_THREAD, MIN_MEMORY, AvailableMemory, affordable_threads, require_memory_for_thread
from sframe_spark.process.threads import ThreadPool, in_threads, in_threads_ahead, raise_if_cancelled
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from tests.examples import part

SCRIPT = """
import faulthandler, os, resource, sys
from sframe_spark import SArray, aggregate, config, load_sframe
config.progress = "off"

class Adder:
    def __call__(self, value):
        return value + 1

where, left, is_first = sys.argv[1], int(sys.argv[2]) << 20, sys.argv[3] == "first"
sf = load_sframe(where)
DOORS = {
    "sum": lambda: sf["a"].sum(),
    "computed sum": lambda: (sf["a"] * 2 + 1).sum(),
    "apply": lambda: sf["a"].apply(Adder(), int).sum(),
    "quick apply": lambda: sf["a"].apply(lambda value: value + 1, int).sum(),
    "groups": lambda: len(sf.groupby("t", {"s": aggregate.SUM("a")})),
    "filter, save": lambda: sf[sf["a"] > 5].save(where + ".out"),
    "sort": lambda: sf.sort("b").materialize(),
}
if not is_first:
    expected = {name: door() for name, door in DOORS.items()}
limits = resource.getrlimit(resource.RLIMIT_AS)
for name, door in DOORS.items():
    faulthandler.dump_traceback_later(60, exit=True)
    taken = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + left, limits[1]))
    try:
        found = door()
        assert is_first or found == expected[name]
    except MemoryError:
        pass
    except BaseException as error:
        # The system's loader says so when there is no memory for a library that is imported for the first time, and pickle for such a module.
        if is_first and isinstance(error, ImportError) and "failed to map segment" in str(error):
            continue
        # Python loses the MemoryError of a module that it reads.
        if is_first and isinstance(error, SystemError) and "without exception set" in str(error):
            continue
        if is_first and "import of module 'pyspark.cloudpickle.cloudpickle' failed" in str(error):
            continue
        print(name, type(error), error)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
        faulthandler.cancel_dump_traceback_later()
print("ended")
sys.stdout.flush()
os._exit(0)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits its address space")
@pytest.mark.parametrize(("left", "when"), part([(1, "first"), (40, "first"), (130, "first"), (40, "again"), (1, "again"), (130, "again")], 6))
def test_work_ends(left: int, when: str, tmp_path: Path) -> None:
    SFrame({"a": range(600_000), "b": [1.5] * 600_000, "t": [str(row % 100) for row in range(600_000)]}).save(str(tmp_path / "rows"))
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "rows"), str(left), when]
    found = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (found.stdout, found.returncode) == ("ended\n", 0), found.stderr[-2000:]


@pytest.fixture(params=[0, 1, 2])
def room(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """How many threads there is room for."""
    left = AvailableMemory(MIN_MEMORY + request.param * BYTES_OF_THREAD, "left to this process by its limit")
    monkeypatch.setattr(memory, "of_process", lambda: left)
    return request.param


def test_threads_are_as_many_as_there_is_room_for(room: int) -> None:
    assert affordable_threads(8) == room
    used = set(in_threads(lambda _: threading.current_thread().name, range(20), 8))
    assert len(used) <= max(room, 1) and (room > 0 or used == {threading.current_thread().name})
    assert list(in_threads_ahead(abs, [-1, 2, -3], 8)) == [1, 2, 3]
    with pytest.raises(ZeroDivisionError):
        in_threads(lambda value: 1 // value, [1, 0], 8)


def test_work_without_threads_can_be_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "of_process", lambda: AvailableMemory(MIN_MEMORY, "left to this process by its limit"))
    import signal

    def work(value: int) -> int:
        if value == 1:
            signal.raise_signal(signal.SIGINT)
        raise_if_cancelled()
        return value

    with pytest.raises((KeyboardInterrupt, CancelledError)):
        in_threads(work, range(3), 2)


def test_what_has_no_room_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "of_process", lambda: AvailableMemory(1 << 20, "left to this process by its limit"))
    for refused in (lambda: affordable_threads(2), require_memory_for_thread, lambda: in_threads(abs, [1], 1)):
        with pytest.raises(MemoryError, match=r"^1\.0 MiB are left to this process by its limit, and this work takes at least .*ulimit -v") as caught:
            refused()
        assert isinstance(caught.value, TooLargeError)


@pytest.mark.parametrize("started", [0, 1, 2])
def test_a_system_that_starts_no_more_threads(started: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit of processes: those that were started do all of it, each item once."""
    start, done = threading.Thread.start, list[int]()

    def limited(thread: threading.Thread) -> None:
        if thread.name.startswith("sframe_spark"):
            if len(names) >= started:
                raise RuntimeError("can't start new thread")
            names.append(thread.name)
        start(thread)

    names: list[str] = []
    monkeypatch.setattr(threading.Thread, "start", limited)
    assert in_threads(lambda item: done.append(item) or 2 * item, range(50), 4) == [2 * item for item in range(50)]
    assert sorted(done) == list(range(50)) and len(names) == started
    names.clear()
    assert list(in_threads_ahead(abs, range(50), 4)) == list(range(50))
    with ThreadPool(2, thread_name_prefix="sframe_spark x") as pool:
        names[:] = ["others"] * started
        with pytest.raises(RuntimeError):
            pool.submit(abs, 1)


NO_THREAD = OSError("Unknown error: Failed to launch worker thread: Resource temporarily unavailable")


@pytest.mark.parametrize("error", [pa.ArrowMemoryError("malloc of 9 bytes failed"), OSError(12, "Cannot allocate memory"), NO_THREAD])
def test_a_file_for_which_there_is_no_memory(error: Exception, tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    with pytest.raises(NoMemoryError, match=r"^cannot read .*x: ") as caught, translate_os_errors("read", str(tmp_path / "x")):
        raise error
    assert isinstance(caught.value, MemoryError) and "damaged" not in str(caught.value)
