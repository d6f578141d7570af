"""Many saves, loads, queries and drops leave a process as it was; threads and Ctrl-C leave frames whole."""

from __future__ import annotations

import gc
import logging
import multiprocessing
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SFrame, aggregate, load_sframe
from sframe_spark.config import config
from sframe_spark.errors import StorageError
from sframe_spark.session import get_session
from sframe_spark.storage.filesystem.temporary_datasets import temporary_store
from tests.faults.steps import in_child, names_in

pytestmark = [
    pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning"),
]
amounts = pytest.mark.parametrize("amount", [1, pytest.param(10, marks=pytest.mark.campaign)])


def frame_of(number: int, rows: int = 50) -> SFrame:
    return SFrame({"a": [number] * rows, "b": list(range(rows))})


def number_of(frame: SFrame, rows: int = 50) -> int:
    """The number that a whole frame was made of."""
    if not is_whole(frame, rows):
        raise AssertionError("not whole")
    return int(frame["a"][0])


def is_whole(frame: SFrame, rows: int = 50) -> bool:
    """Say whether a frame is one that `frame_of` makes."""
    values = list(frame["a"])
    return len(set(values)) == 1 and list(frame["b"]) == list(range(rows)) and len(values) == rows


# A Ctrl-C may come between a file, or an iterator over a directory, and its `with`. Python closes it then; pytest would keep the warning,
# and with it the frames for which old rows stay.
may_be_broken_off = pytest.mark.filterwarnings("ignore:unclosed (file|scandir iterator):ResourceWarning")


def is_interrupted(action: Callable[[], object], seconds: float) -> bool:
    """Whether Ctrl-C after some seconds ended an action; it may come too late."""
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    try:
        try:
            timer.start()
            action()
        finally:
            timer.join()
    except KeyboardInterrupt:
        return True
    return False


@amounts
def test_threads_save_and_read_the_same_targets(tmp_path: Path, promise: Any, amount: int) -> None:
    targets = [str(tmp_path / name) for name in "xy"]
    for target in targets:
        frame_of(0).save(target)
    broken: list[str] = []
    done: list[int] = []
    refused: list[str] = []

    def tried(action: Callable[[], Any], times: int = 5) -> Any:
        # Files that were moved while they were read: that is told, and soon right when tried again, unless they are moved again.
        try:
            return action()
        except StorageError as error:
            if times == 1 or not any(words in str(error) for words in ("missing", "there is no", "does not exist")):
                raise
            refused.append(str(error))
            time.sleep(0.05)
            return tried(action, times - 1)

    def opened(target: str) -> tuple[SFrame, int]:
        frame = load_sframe(target)
        return frame, number_of(frame)

    def turn_of(chosen: random.Random, number: int, held: list[tuple[SFrame, int]]) -> None:
        target = chosen.choice(targets)
        if chosen.random() < 0.4:
            tried(lambda: frame_of(number).save(target))
        else:
            held.append(tried(lambda: opened(target)))
        frame, first = held.pop(chosen.randrange(len(held))) if len(held) > 3 else held[0]
        found = tried(lambda: number_of(frame))
        if found != first:
            broken.append(f"turn {number}: rows of save {first} became those of save {found}")

    def work(thread: int) -> None:
        chosen = random.Random(thread)
        held = [tried(lambda target=target: opened(target)) for target in targets]
        for turn in range(6 * amount):
            try:
                turn_of(chosen, thread * 1000 + turn, held)
            except BaseException as error:
                broken.append(f"thread {thread}, turn {turn}: {type(error).__name__}: {error}")
            done.append(turn)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    broken += [f"{target} is not whole" for target in targets if not is_whole(load_sframe(target))]
    broken += [f"{len(done)} turns instead of {8 * 6 * amount}"] if len(done) != 8 * 6 * amount else []
    broken += [f"{len(refused)} refusals, the first: {refused[0]}"] if len(refused) > len(done) // 3 else []
    del threads
    gc.collect()
    broken += [f"left behind: {names_in(str(tmp_path))}"] if names_in(str(tmp_path)) != ["x", "y"] else []
    promise("frames are whole, old rows stay while a process refers to them", "8 threads that save and read two targets", len(done), broken)


@may_be_broken_off
@amounts
def test_interrupts_on_the_driver(tmp_path: Path, promise: Any, amount: int) -> None:
    target = str(tmp_path / "frame")
    tries = 12 if amount == 1 else 30 * amount
    frame_of(0).save(target)
    broken: list[str] = []
    chosen = random.Random(7)

    def work() -> None:
        # In a process of its own: Ctrl-C goes to all of its threads' work, and what is left is seen after its end.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        # That of pytest keeps the traceback of a finalizer that was interrupted, and with it the datasets of its frames.
        sys.unraisablehook = lambda _: None
        interrupted = 0
        started = time.perf_counter()
        cycle(target, 1)
        usual = time.perf_counter() - started
        for turn in range(tries):
            interrupted += is_interrupted(partial(cycle, target, turn), chosen.random() * usual)
            assert is_whole(load_sframe(target)), "not whole"
            cycle(target, turn)
            gc.collect()
            assert names_in(str(tmp_path)) == ["frame"], names_in(str(tmp_path))
        assert interrupted > tries // 4, interrupted

    ended = in_child(work, 60 * amount)
    broken += [f"ended with {ended}"] if ended else []
    promise(
        "after Ctrl-C frames are whole, nothing is left, and the next query is right", "Ctrl-C at random moments of save and query", tries, broken
    )


def cycle(target: str, number: int) -> None:
    """Save, load, query, drop."""
    frame_of(number).save(target)
    frame = load_sframe(target)
    frame["c"] = frame["a"] + frame["b"]
    assert frame[frame["b"] > 10]["c"].sum() == sum(number + value for value in range(11, 50))
    assert len(frame.groupby("a", {"n": aggregate.COUNT()})) == 1
    assert len(frame.sort("b", ascending=False).head(3)) == 3
    # Over itself, while it is open.
    frame.save(target)


def measure() -> dict[str, int]:
    """What a process holds."""
    gc.collect()
    with open("/proc/self/statm", encoding="ascii") as stream:
        resident = int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return {
        "descriptors": len(os.listdir("/proc/self/fd")),
        "threads": len(os.listdir("/proc/self/task")),
        "resident bytes": resident,
    }


ALLOWED = {"descriptors": 3, "threads": 8, "resident bytes": 48 << 20, "heap bytes": 48 << 20, "entries of jobs": 1200, "temporary datasets": 0}


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks at processes as Linux shows them")
@pytest.mark.parametrize("cycles", [30, pytest.param(200, marks=pytest.mark.campaign)])
def test_cycles_leave_the_process_as_it_was(tmp_path: Path, promise: Any, cycles: int) -> None:
    target = str(tmp_path / "frame")
    for number in range(20):
        cycle(target, number)
    before = measure()
    for number in range(cycles):
        cycle(target, number)
    after = measure()
    broken = [f"{name}: {before[name]} before, {after[name]} after" for name in before if after[name] - before[name] > ALLOWED[name]]
    broken += [f"left behind: {names_in(str(tmp_path))}"] if names_in(str(tmp_path)) != ["frame"] else []
    promise("cycles of save, load, query and drop leave the process as it was", "cycles on the driver", cycles, broken)


@pytest.mark.spark
@pytest.mark.parametrize("cycles", [15, pytest.param(200, marks=pytest.mark.campaign)])
def test_cycles_on_spark_leave_jvm_and_process_as_they_were(tmp_path: Path, promise: Any, spark: Any, cycles: int) -> None:
    target = str(tmp_path / "frame")
    with config.using(small_rows=0, single_task_rows=0):
        for number in range(5):
            cycle(target, number)
        before = {**measure(), **measure_jvm()}
        for number in range(cycles):
            cycle(target, number)
        after = {**measure(), **measure_jvm()}
    broken = [f"{name}: {before[name]} before, {after[name]} after" for name in before if after[name] - before[name] > ALLOWED[name]]
    promise("cycles of save, load, query and drop leave the process as it was", "cycles on Spark", cycles, broken)


def measure_jvm() -> dict[str, int]:
    """What the JVM and the temporary directory hold."""
    session = get_session()
    java = session.sparkContext._jvm
    assert java is not None
    java.System.gc()
    runtime = java.Runtime.getRuntime()
    store = session.sparkContext._jsc.sc().statusStore()
    return {
        "heap bytes": runtime.totalMemory() - runtime.freeMemory(),
        "entries of jobs": store.jobsList(None).size(),
        "temporary datasets": len(os.listdir(temporary_store().directory)),
    }


@pytest.mark.spark
@amounts
def test_workers_that_die(tmp_path: Path, promise: Any, spark: Any, amount: int) -> None:
    tries, broken, rows = 2 * amount, [], 300_000
    expected = list(range(1, rows + 1))
    for turn in range(tries):
        marker = str(tmp_path / f"died-{turn}")

        def dies(value: int, marker: str = marker, driver: int = os.getpid()) -> int:
            # Once, and never the driver, where types are inferred from the first rows.
            if value == 77_777 and os.getpid() != driver and not os.path.exists(marker):
                os.close(os.open(marker, os.O_CREAT))
                os.kill(os.getpid(), signal.SIGKILL)
            return value + 1

        with config.using(small_rows=0, single_task_rows=0):
            try:
                found = list(SFrame({"a": list(range(rows))})["a"].apply(dies))
                broken += [] if found == expected else [f"other rows: {len(found)}"]
            except Exception as error:
                # In local mode Spark tries each task once.
                broken += [] if "SIGKILL" in str(error) or "crashed" in str(error) or "ended" in str(error) else [f"{type(error).__name__}: {error}"]
            broken += [] if os.path.exists(marker) else ["no worker died"]
            again = list(SFrame({"a": list(range(rows))})["a"].apply(dies))
            broken += [] if again == expected else ["the next query has other rows"]
    promise("a query whose worker dies is right or an error, the next one is right", "SIGKILL of a Python worker", tries, broken)


@pytest.fixture
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """pytest keeps what Py4J logs of a Ctrl-C, and a finalizer's error, with tracebacks, and with these frames, for which old rows stay."""
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


@may_be_broken_off
@pytest.mark.spark
@pytest.mark.usefixtures("nothing_kept")
@amounts
def test_interrupts_on_spark(tmp_path: Path, promise: Any, spark: Any, amount: int) -> None:
    target, tries, broken = str(tmp_path / "frame"), 3 * amount, []
    chosen = random.Random(11)
    frame_of(0).save(target)
    with config.using(small_rows=0, single_task_rows=0):
        cycle(target, 1)
        started = time.perf_counter()
        cycle(target, 1)
        usual = time.perf_counter() - started
        landed = turn = 0
        # One that comes too late is no try.
        while landed < tries and turn < 10 * tries:
            turn += 1
            landed += is_interrupted(partial(cycle, target, turn), chosen.random() * usual)
            broken += [] if is_whole(load_sframe(target)) else ["not whole"]
            cycle(target, turn)
            gc.collect()
            broken += [] if names_in(str(tmp_path)) == ["frame"] else [f"left behind: {names_in(str(tmp_path))}"]
    broken += [f"{landed} interrupts landed"] if landed < tries else []
    promise("after Ctrl-C frames are whole, nothing is left, and the next query is right", "Ctrl-C at random moments on Spark", landed, broken)
