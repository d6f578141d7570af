"""Ctrl-C at each line of what keeps files whole: frames are whole, and nothing is left after the next save."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import sframe_spark
from sframe_spark import SFrame, config, load_sframe
from sframe_spark.storage.filesystem.temporary_datasets import temporary_store
from tests.faults.steps import in_child, names_in

pytestmark = [
    pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning"),
]

PACKAGE = os.path.dirname(sframe_spark.__file__)
WATCHED = tuple(
    os.path.join(PACKAGE, *file.split("/"))
    for file in (
        "storage/export_files.py",
        "engine/execution/action_planning_and_function_call_claims.py",
        "process/interrupt_deferral.py",
        "process/temporary_file_leases.py",
        "process/threads.py",
        "process/directory_trees.py",
        "storage/datasets/manifest_loading_and_open_dataset_registry.py",
        "storage/datasets/atomic_directory_save.py",
        "storage/filesystem/temporary_datasets.py",
    )
)


class Lines:
    """Counts lines of the watched files as they are reached, and sends this process Ctrl-C at one of them."""

    def __init__(self, chosen: int | None = None) -> None:
        self.count = 0
        self._chosen = chosen

    def trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        # An exception of the tracer's own at the end of a `with` leaves the lock taken, which no signal does.
        if frame.f_code.co_filename not in WATCHED or frame.f_code.co_name == temporary_store.__name__:
            return None
        if event in ("line", "call"):
            self.count += 1
            if self.count == self._chosen:
                signal.raise_signal(signal.SIGINT)
        return self.trace


def lines_of(action: Callable[[], object], chosen: int | None = None) -> int:
    """How many lines of the watched files an action reaches; the chosen one is interrupted."""
    lines = Lines(chosen)
    sys.settrace(lines.trace)
    try:
        action()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(None)
    return lines.count


def frame_of(number: int) -> SFrame:
    return SFrame({"a": [number] * 20, "b": list(range(20))})


def over_an_open_frame(place: str) -> None:
    """The old rows stay for who has them, and go with them."""
    target = os.path.join(place, "frame")
    opened = load_sframe(target)
    frame_of(1).save(target)
    assert len(opened["a"]) == 20
    del opened


def of_a_temporary(place: str) -> None:
    """Rows that are too many for memory are written to the temporary directory."""
    with config.using(memory_budget=20_000, batch_rows=50):
        frame = SFrame({"a": range(300)})
        frame["c"] = frame["a"].apply(lambda value: str(value) * 100, dtype=str)
        frame.materialize()


def of_csv(place: str) -> None:
    frame_of(1).export_csv(os.path.join(place, "lines.csv"))


ACTIONS = (over_an_open_frame, of_a_temporary, of_csv)


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.__name__)
@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.campaign), 61])
def test_interrupts_at_each_line(tmp_path: Path, promise: Any, action: Callable[[str], None], step: int) -> None:
    target = str(tmp_path / "frame")
    frame_of(0).save(target)
    of_csv(str(tmp_path))
    action(str(tmp_path))
    total = lines_of(lambda: action(str(tmp_path)))
    told = tmp_path.parent / f"{tmp_path.name}-broken"

    def work() -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        # That of pytest keeps the traceback, and with it what the frames hold.
        sys.unraisablehook = lambda _: None
        # What other tests have left is not looked through at each line.
        gc.collect()
        gc.freeze()
        with open(told, "w", encoding="utf-8") as stream:
            for chosen in range(1, total + 1, step):
                lines_of(lambda: action(str(tmp_path)), chosen)
                frame = load_sframe(target)
                if len(set(frame["a"])) != 1 or list(frame["b"]) != list(range(20)):
                    print(f"line {chosen}: not whole", file=stream)
                del frame
                action(str(tmp_path))
                frame_of(0).save(target)
                temporary_store().new_dataset()
                gc.collect()
                if names_in(temporary_store().directory):
                    print(f"line {chosen}: left in the temporary directory {names_in(temporary_store().directory)}", file=stream)
                if names_in(str(tmp_path)) != ["frame", "lines.csv"]:
                    print(f"line {chosen}: left behind {names_in(str(tmp_path))}", file=stream)

    ended = in_child(work, 300)
    broken = told.read_text("utf-8").splitlines() + ([f"ended with {ended}"] if ended else [])
    attack = f"Ctrl-C at lines of its code: {action.__name__.replace('_', ' ')}"
    promise("after Ctrl-C frames are whole, nothing is left, and the next query is right", attack, total // step, broken)
