"""Threads that work for a caller have ended when it goes on, however often Ctrl-C is pressed."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
import weakref
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sframe_spark import SFrame, load_sframe
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.runtime.result_storage import write_in_memory
from sframe_spark.errors import CancelledError, StorageError
from sframe_spark.planner.chunk import Chunk
from sframe_spark.process import threads
from sframe_spark.process.temporary_file_leases import CLAIMS
from sframe_spark.process.threads import in_threads, raise_if_cancelled
from sframe_spark.storage.datasets import dataset_verification
from sframe_spark.storage.filesystem.temporary_datasets import temporary_store
from sframe_spark.storage.manifest.recorded_order import NO_RECORDED_ORDER
from sframe_spark.storage.segments.writer import SegmentWriter
from sframe_spark.types import INT
from tests.interpreters import run_program

TIMES = 4


def press() -> None:
    """Ctrl-C, again and again; each is heard before the next comes."""
    for _ in range(TIMES):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.05)


def test_results_in_order_and_the_first_error() -> None:
    assert in_threads(lambda item: item * 2, range(100), 4) == list(range(0, 200, 2))
    done = []

    def work(item: int) -> int:
        if item >= 5:
            time.sleep(0.01)
            raise ValueError(f"item {item}")
        done.append(item)
        return item

    with pytest.raises(ValueError, match="item 5"):
        in_threads(work, range(1000), 3)
    assert done == list(range(5))
    assert not in_threads(work, [], 3)


def test_all_have_ended_and_those_in_line_are_not_begun() -> None:
    begun, ended = [], []

    def work(item: int) -> None:
        begun.append(item)
        press() if item == 0 else time.sleep(0.1)
        ended.append(item)

    with pytest.raises(KeyboardInterrupt):
        in_threads(work, range(50), 2)
    assert sorted(begun) == sorted(ended)
    assert len(begun) < 50
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_work_that_asks_ends_early() -> None:
    told = []
    both = threading.Barrier(2)

    def work(item: int) -> None:
        both.wait(10)
        if item == 0:
            press()
        try:
            while True:
                raise_if_cancelled()
                time.sleep(0.01)
        except CancelledError:
            told.append(item)
            raise

    with pytest.raises(KeyboardInterrupt):
        in_threads(work, range(2), 2)
    assert sorted(told) == [0, 1]


def test_what_does_not_end_is_left_to_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "MAX_SECONDS_TO_END", 0.3)
    stuck = threading.Event()

    def work(item: int) -> None:
        press()
        stuck.wait(60)

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        in_threads(work, range(3), 1)
    assert time.monotonic() - began < 20
    stuck.set()


def test_other_threads_are_not_interrupted() -> None:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(in_threads(abs, [-1, 2], 2)))
    thread.start()
    thread.join()
    assert found == [[1, 2]]


def pressing_once(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> list[str]:
    """Let Ctrl-C be pressed, in another thread than the main one, just before something is done for the first time."""
    before, calls = getattr(owner, name), []

    def pressed(*arguments: Any, **options: Any) -> Any:
        calls.append(name)
        if len(calls) == 1:
            assert threading.current_thread() is not threading.main_thread()
            press()
        return before(*arguments, **options)

    monkeypatch.setattr(owner, name, pressed)
    return calls


@pytest.mark.parametrize("step", ["__init__", "_opened", "close"])
def test_nothing_stays_beside_a_frame(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    SFrame({"a": [1, 2, 3]}).save(tmp_path / "frame")
    with monkeypatch.context() as patch:
        assert not (calls := pressing_once(patch, SegmentWriter, step))
        with pytest.raises(KeyboardInterrupt):
            SFrame({"a": range(1000)}).save(tmp_path / "frame")
        assert calls
        time.sleep(0.3)
    assert os.listdir(tmp_path) == ["frame"]
    assert list(load_sframe(tmp_path / "frame")["a"]) == [1, 2, 3]
    assert not [path for path in CLAIMS._paths if path.startswith(str(tmp_path))]


def test_nothing_stays_of_temporary_data(monkeypatch: pytest.MonkeyPatch) -> None:
    before = set(os.listdir(temporary_store().directory))
    with monkeypatch.context() as patch:
        calls = pressing_once(patch, SegmentWriter, "_opened")
        with pytest.raises(KeyboardInterrupt):
            write_in_memory(Chunk((pa.array(range(1000)),), 1000), (INT,), MaterializeOptions(), NO_RECORDED_ORDER)
        assert calls
        time.sleep(0.3)
    assert set(os.listdir(temporary_store().directory)) <= before


def test_verifying_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    SFrame({"a": range(1000)}).save(tmp_path / "frame")
    calls = pressing_once(monkeypatch, dataset_verification, "check_bytes")
    running = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        load_sframe(tmp_path / "frame", verify=True)
    assert calls
    assert threading.active_count() <= running


def test_a_directory_that_was_given_up_is_not_made_again(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="there is no directory"), SegmentWriter(str(tmp_path / "gone"), 0, [INT]) as writer:
        writer.write([pa.array([1])])
        writer.close()
    assert os.listdir(tmp_path) == []


def test_a_thread_that_outlives_the_main_one_saves(tmp_path: Path) -> None:
    program = (
        "import sys, threading, time\nfrom sframe_spark import SFrame\nsf = SFrame({'a': list(range(500))})\n"
        "def late():\n    time.sleep(0.5)\n    sf.save(sys.argv[1])\nthreading.Thread(target=late).start()"
    )
    place = str(tmp_path / "saved")
    done = run_program(program, place)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(load_sframe(place)) == 500


@pytest.mark.parametrize("items", [1, 2])
def test_an_error_of_another_signals_handler_waits_for_the_threads(items: int) -> None:
    """An alarm of the user's, say; the thread of a single item went on to write, where its caller had begun to delete."""
    wrote = []

    def work(item: int) -> None:
        for _ in range(40):
            time.sleep(0.01)
            raise_if_cancelled()
        wrote.append(item)

    def alarm(*_: Any) -> None:
        raise TimeoutError

    before, running = signal.signal(signal.SIGALRM, alarm), threading.active_count()
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(TimeoutError):
            in_threads(work, range(items), 2)
        assert threading.active_count() == running
    finally:
        signal.signal(signal.SIGALRM, before)
    time.sleep(0.5)
    assert not wrote


class _Held:
    """Something an error refers to."""


def _reference_from_a_failed_run(items: int) -> weakref.ref[_Held]:
    held = _Held()

    def work(item: int) -> int:
        if item == items - 1:
            raise ValueError(held)
        return item

    with pytest.raises(ValueError):
        in_threads(work, range(items), 2)
    return weakref.ref(held)


@pytest.mark.parametrize("items", [1, 2, 5])
def test_what_an_error_refers_to_goes_with_it(items: int) -> None:
    gc.collect()
    gc.disable()
    try:
        assert _reference_from_a_failed_run(items)() is None
    finally:
        gc.enable()
