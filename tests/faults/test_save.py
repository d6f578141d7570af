"""A save that is killed, or whose disk fails, at any step leaves the old frame or the new one, whole; and nothing else after the next save."""

from __future__ import annotations

import functools
import gc
import multiprocessing
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SFrame, load_sframe
from sframe_spark.errors import StorageError
from sframe_spark.storage.datasets import atomic_directory_save
from tests.examples import part
from tests.faults.steps import ERRORS, FlushedInOrder, Steps, bytes_below, counted, failing, in_child, kill, names_in

pytestmark = [
    pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning"),
]

OLD, NEW = list(range(5)), [f"row {number}" for number in range(3)]


def new_frame() -> SFrame:
    return SFrame({"b": NEW})


def save_anew(target: str) -> None:
    new_frame().save(target)


def save_over_itself(target: str) -> None:
    frame = load_sframe(target)
    frame["b"] = frame["a"].apply(str)
    frame.save(target)


def save_a_copy(target: str) -> None:
    load_sframe(target + "-other").save(target)


def save_csv(target: str) -> None:
    new_frame().export_csv(target + ".csv")


# What is there before, and what is done.
SAVES: dict[str, tuple[bool, Callable[[str], None]]] = {
    "a new frame": (False, save_anew),
    "over a frame": (True, save_anew),
    "over itself": (True, save_over_itself),
    "a copy, by links": (True, save_a_copy),
    "CSV": (True, save_csv),
}


def cases(*usual: tuple[str, bool]) -> pytest.MarkDecorator:
    """Saves on both kinds of file systems; those that are not named are for the long run."""
    every = [(name, exchange) for name in SAVES for exchange in (True, False) if exchange or name != "CSV"]
    marks = [() if case in usual else pytest.mark.campaign for case in every]
    ids = [name if exchange else f"{name}, no exchange" for name, exchange in every]
    return pytest.mark.parametrize(
        ("name", "exchange"), [pytest.param(*case, id=id, marks=mark) for case, id, mark in zip(every, ids, marks, strict=True)]
    )


@pytest.fixture(autouse=True)
def file_system(exchange: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that lets two directories change names, or one that does not."""
    if not exchange:
        monkeypatch.setattr(atomic_directory_save, "_exchange", lambda *_: atomic_directory_save.NO_EXCHANGE[0])


def prepare(directory: Path, with_old: bool) -> str:
    directory.mkdir()
    target = str(directory / "frame")
    new_frame().save(target + "-other")
    if with_old:
        SFrame({"a": OLD}).save(target)
        (directory / "frame.csv").write_text("old\n")
    return target


def content(target: str) -> Any:
    """All that can be read at the target, or None where nothing is."""
    frame = None
    if os.path.lexists(target):
        loaded = load_sframe(target)
        frame = {column: list(loaded[column]) for column in loaded.column_names()}
    csv = target + ".csv"
    return frame, Path(csv).read_text() if os.path.lexists(csv) else None


def steps_of(work: Callable[[], None]) -> list[str]:
    """Names of the steps of some work."""
    steps = Steps(-1, kill)
    with counted(steps):
        work()
    gc.collect()
    return steps.names


def outcomes(tmp_path: Path, name: str) -> tuple[Any, Any, list[str]]:
    """What is there before and after an undisturbed save, and the steps between."""
    with_old, work = SAVES[name]
    target = prepare(tmp_path / "undisturbed", with_old)
    before = content(target)
    steps = steps_of(lambda: work(target))
    after = content(target)
    assert before != after
    return before, after, steps


def what_is_left(target: str, name: str, after: Any) -> list[str]:
    """What is wrong after the save was done once more, undisturbed."""
    directory = os.path.dirname(target)
    with_old, work = SAVES[name]
    if name == "over itself" and content(target) == after:
        load_sframe(target).save(target)
    else:
        work(target)
    gc.collect()
    wrong = [] if content(target) == after else ["the next save does not work"]
    expected = {"frame-other"} | ({"frame.csv"} if with_old or name == "CSV" else set()) | ({"frame"} if with_old or name != "CSV" else set())
    left = sorted(set(names_in(directory)) - expected)
    return wrong + ([f"left behind: {left}"] if left else [])


# The normal run takes every fourth step; the campaign the others, and the other saves.
@pytest.mark.parametrize("turn", part(range(8), 8))
@cases(("over itself", True), ("CSV", True), ("over a frame", False))
def test_killed_at_each_step(tmp_path: Path, promise: Any, name: str, turn: int) -> None:
    before, after, names = outcomes(tmp_path, name)
    size = bytes_below(str(tmp_path / "undisturbed"))
    broken = []
    tried = list(enumerate(names))[turn::8]
    for number, step in tried:
        target = prepare(tmp_path / str(number), SAVES[name][0])
        ended = in_child(functools.partial(disturbed, name, target, Steps(number, kill)))
        wrong = [] if ended == -signal.SIGKILL else [f"ended with {ended}"]
        try:
            wrong += [] if content(target) in (before, after) else ["neither old nor new"]
            wrong += what_is_left(target, name, after)
        except StorageError as error:
            wrong += [str(error)]
        found = bytes_below(os.path.dirname(target))
        wrong += [] if abs(found - size) < 200 else [f"{found} bytes on the disk instead of {size}"]
        broken += [f"step {number} ({step}): {item}" for item in wrong]
    promise("a killed save leaves the old or the new frame, whole, and nothing else after the next save", "SIGKILL at each step", len(tried), broken)


def disturbed(name: str, target: str, steps: Steps) -> None:
    """A save during which something happens."""
    with counted(steps):
        SAVES[name][1](target)


@cases(*((name, exchange) for name in SAVES for exchange in (True, False)))
def test_flushed_before_and_after_it_gets_its_name(tmp_path: Path, promise: Any, name: str) -> None:
    target = prepare(tmp_path / "frames", SAVES[name][0])
    steps = FlushedInOrder(target)
    with counted(steps):
        SAVES[name][1](target)
    gc.collect()
    promise("bytes are on the disk before they get their name, and the name before the save ends", "looking at each step", steps.count, steps.end())


ALL_ERRORS = [pytest.param(list(ERRORS), id="all errors", marks=pytest.mark.campaign), pytest.param(None, id="one error a step")]


@cases(("over a frame", True), ("CSV", True))
@pytest.mark.parametrize("errors", ALL_ERRORS)
def test_the_disk_fails_at_each_step(tmp_path: Path, promise: Any, name: str, errors: list[str] | None) -> None:
    before, after, names = outcomes(tmp_path, name)
    for error in ERRORS:
        steps = [number for number in range(len(names)) if errors is not None or (number % 6 == list(ERRORS).index(error) + 3 * (name == "CSV"))]
        broken = []
        for number in steps:
            target = prepare(tmp_path / f"{error}-{number}", SAVES[name][0])
            wrong = failed_at(number, name, target, ERRORS[error], before, after)
            gc.collect()
            left = [item for item in names_in(os.path.dirname(target)) if item not in ("frame", "frame-other", "frame.csv")]
            # Nobody can be told that the old frame could not be deleted; it goes when the process ends.
            deleting = names[number] in ("unlink", "rmdir")
            wrong += [f"left behind: {left}"] if left and not deleting else []
            try:
                wrong += what_is_left(target, name, after) if not deleting else []
            except (StorageError, OSError) as raised:
                wrong += [f"the next save fails: {raised}"]
            broken += [f"step {number} ({names[number]}): {item}" for item in wrong]
        promise(
            "when the disk fails an error says so; the old or new frame is whole, nothing is left, trying again works",
            f"{error} at a step",
            len(steps),
            broken,
        )


def failed_at(number: int, name: str, target: str, error: int, before: Any, after: Any) -> list[str]:
    """What is wrong after a save during which the disk failed once."""
    try:
        disturbed(name, target, Steps(number, failing(error)))
    except StorageError:
        # A disk that cannot say that it has the new names may have them all the same.
        return [] if content(target) in (before, after) else ["neither old nor new"]
    except BaseException as raised:
        return [f"a bare {type(raised).__name__}: {raised}"]
    return [] if content(target) == after else ["no error, and not the new frame"]
