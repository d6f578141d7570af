"""Runs a program beside the model: each line on both, each look through a door against the model's rows; and makes a failing program short."""

from __future__ import annotations

import array
import contextvars
import copy
import datetime
import functools
import itertools
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from sframe_spark import SArray, SFrame, aggregate, load_sframe
from sframe_spark.config import config
from tests.model import columns, frames
from tests.model.doors import DOORS, Mismatch, expect
from tests.model.functions import ALL
from tests.model.values import Refused

Program = tuple[str, ...]
MOST_RUNS = 300
COMMON = {"datetime": datetime, "array": array.array, "nan": float("nan"), "inf": float("inf"), "copy": copy, **ALL}


class Failure(AssertionError):
    """A line at which engine and model part; ``line`` is its number."""

    def __init__(self, program: Program, line: int, cause: str) -> None:
        text = "\n".join(program[: line + 1])
        super().__init__(f'{cause}\nafter this program (from tests.model.run import replay; replay("""...""")):\n\n{text}\n')
        self.program, self.line, self.cause = program, line, cause


def reloaded(directory: Path, handle: Any) -> Any:
    """What was saved and loaded again; the directory stays as long as the program runs, since rows are read when they are looked at."""
    path = tempfile.mkdtemp(dir=directory) + "/saved"
    handle.save(path)
    return load_sframe(path) if isinstance(handle, SFrame) else SArray(path)


def model_reloaded(handle: Any) -> Any:
    return handle.copy() if isinstance(handle, frames.Frame) else columns.Column(handle)


def model_names() -> dict[str, Any]:
    """What a program finds in the model's world."""
    return {"SFrame": frames.Frame, "SArray": columns.Column, "aggregate": frames.aggregate, "reloaded": model_reloaded, **COMMON}


def run_in_model(line: str, names: dict[str, Any]) -> None:
    """Run a line in the model's world.

    Raises
    ------
    Refused
        If it says nothing about it.
    """
    try:
        exec(line, names)
    except Exception as error:
        raise Refused(f"{line}: {error!r}") from None


class Run:
    """One program under way: the engine's names and the model's; what it saves goes to `directory`."""

    def __init__(self, directory: Path) -> None:
        saved = functools.partial(reloaded, directory)
        self.engine: dict[str, Any] = {"SFrame": SFrame, "SArray": SArray, "aggregate": aggregate, "reloaded": saved, **COMMON}
        self.model = model_names()
        looks = {"look": self.look, "together": self.together, "take": self.take}
        self.looks: dict[str, Any] = looks

    def step(self, line: str) -> None:
        """One line of a program."""
        if line.split("(", maxsplit=1)[0] in self.looks:
            eval(line, dict(self.looks))
        else:
            run_in_model(line, self.model)
            exec(line, self.engine)

    def look(self, name: str, door: str, first: int, second: int) -> None:
        """Open a door of a handle."""
        if name not in self.model:
            raise Refused(f"no handle {name}")
        DOORS[door](self.engine[name], self.model[name], first, second)

    def take(self, name: str, count: int) -> None:
        """The next values of an iterator that was made some lines before."""
        if name not in self.model:
            raise Refused(f"no iterator {name}")
        expect(list(itertools.islice(self.engine[name], count)), list(itertools.islice(self.model[name], count)))

    def together(self, *looks: tuple[str, str, int, int]) -> None:
        """Several looks at once, each in a thread of its own."""
        errors: list[BaseException] = []
        start = threading.Barrier(len(looks))

        def run_look(arguments: tuple[str, str, int, int]) -> None:
            try:
                start.wait()
                self.look(*arguments)
            except BaseException as error:
                errors.append(error)

        # Options that hold for this thread hold for these.
        threads = [threading.Thread(target=contextvars.copy_context().run, args=(run_look, arguments)) for arguments in looks]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]


def run(program: Program, batch_rows: int | None = None) -> None:
    """Run a program beside the model.

    Raises
    ------
    Failure
        At the first line whose answer is not the model's.
    """
    with tempfile.TemporaryDirectory() as directory, config.using(**({} if batch_rows is None else {"batch_rows": batch_rows})):
        current = Run(Path(directory))
        for number, line in enumerate(program):
            try:
                current.step(line)
            except Refused:
                raise
            except Mismatch as error:
                raise Failure(program, number, str(error)) from None
            except Exception as error:
                raise Failure(program, number, "".join(traceback.format_exception(error)[-3:])) from error


def replay(text: str, batch_rows: int | None = None) -> None:
    """Run a program that a failure printed."""
    run(tuple(line for line in text.strip().splitlines() if line.strip()), batch_rows)


def failure_of(program: Program, batch_rows: int | None = None) -> Failure | None:
    """How a program fails; None where it does not, or is no program any more."""
    try:
        run(program, batch_rows)
    except Failure as failure:
        return failure
    except Refused:
        return None
    return None


def without_parts(program: Program, size: int) -> Iterator[Program]:
    for start in range(len(program) - size, -1, -size):
        yield program[:start] + program[start + size :]


def shrunk(program: Program, fails: Callable[[Program], Failure | None], most_runs: int = MOST_RUNS) -> Failure | None:
    """The failure of a short part of a failing program: lines are left out, many at a time and then one by one, as long as what is left fails."""
    best = fails(program)
    runs, size = 1, max(1, len(program) // 2)
    while best is not None and runs < most_runs:
        program = best.program[: best.line + 1]
        for smaller in itertools.islice(without_parts(program, min(size, len(program))), most_runs - runs):
            runs += 1
            failure = fails(smaller)
            if failure is not None:
                best = failure
                break
        else:
            if size == 1:
                break
            size = max(1, size // 2)
    return best
