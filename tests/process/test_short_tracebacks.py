"""Mistakes and interrupts show the user's lines, and at most one of the package."""

from __future__ import annotations

import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

import sframe_spark
from sframe_spark import SArray, SFrame, aggregate, config
from sframe_spark.errors import PlanInvariantError, SFrameError
from sframe_spark.process.short_tracebacks import DOORS, shorten

PACKAGE = str(Path(sframe_spark.__file__).parent)


def fails(value: int) -> float:
    return 1 / (value - 2)


def frame() -> SFrame:
    return SFrame({"a": [1, 2, 3], "t": ["x", "y", "3"]})


MISTAKES: dict[str, Callable[[], object]] = {
    "a column that is missing": lambda: frame()["nope"],
    "a file that is missing": lambda: SFrame.read_csv("/nope/nope.csv"),
    "a function that fails": lambda: frame()["a"].apply(fails, float).sum(),
    "a function that fails, of rows in a loop": lambda: list(frame()["a"].apply(fails, float)),
    "a function that fails, of a row": lambda: frame()["a"].apply(fails, float)[1],
    "a function that fails, printed": lambda: str(frame()["a"].apply(fails, float)),
    "a function that fails, in a notebook": lambda: SFrame({"x": frame()["a"].apply(fails, float)})._repr_html_(),
    "a cast": lambda: frame()["t"].astype(int).sum(),
    "arithmetic": lambda: frame()["a"] + frame()["t"],
    "a comparison": lambda: frame()["a"] < frame()["t"],
    "a group-by": lambda: frame().groupby("nope", {"n": aggregate.COUNT()}),
    "an argument": lambda: frame().head("a lot"),
    "an argument too many": lambda: frame().head(1, 2, 3),
    "a mask": lambda: frame()[SArray([1])],
    "a member": lambda: frame().gruopby("a"),
    "an assignment": lambda: frame().__setitem__("new", SArray([1])),
    "a deletion": lambda: frame().__delitem__("nope"),
}


@pytest.fixture
def short() -> Iterator[None]:
    with config.using(tracebacks="short"):
        yield


def lines_of(error: BaseException | None) -> list[str]:
    """The files of all lines that are shown, those of the errors that led to it too."""
    files: list[str] = []
    while error is not None:
        files += [line.filename for line in traceback.extract_tb(error.__traceback__)]
        error = error.__cause__ if error.__suppress_context__ else error.__context__
    return files


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_shows_the_lines_of_the_user_and_one_of_ours_at_most(name: str, short: None) -> None:
    with pytest.raises(SFrameError) as raised:
        MISTAKES[name]()
    files = [file for file in lines_of(raised.value) if "_pytest" not in file]
    assert __file__ in files and len([file for file in files if file.startswith(PACKAGE)]) <= 1, files
    shown = "".join(traceback.format_exception(raised.value))
    assert "The above exception" not in shown and "During handling" not in shown
    assert ("fails" in shown and "division by zero" in shown) == ("function" in name)


def test_all_lines_are_shown_to_those_who_want_them() -> None:
    with config.using(tracebacks="full"), pytest.raises(SFrameError) as raised:
        MISTAKES["a function that fails"]()
    assert len([file for file in lines_of(raised.value) if file.startswith(PACKAGE)]) > 10


def test_a_notebook_shows_the_lines_of_the_user_alone(short: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """IPython asks an error for its lines; the errors here are raised in members that are no doors, and by way of pandas."""
    table = SimpleNamespace(structured_traceback=lambda kind, error, lines, tb_offset: traceback.format_exception(kind, error, lines))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: SimpleNamespace(InteractiveTB=table)))
    for mistake in (lambda: frame().gruopby("a"), lambda: pd.concat([frame(), frame()]), lambda: setattr(config, "nope", 1)):
        with pytest.raises(SFrameError) as raised:
            mistake()
        shown = "".join(raised.value._render_traceback_())
        assert Path(__file__).name in shown and PACKAGE not in shown and "pandas/core" not in shown and str(raised.value) in shown
        with config.using(tracebacks="full"):
            assert PACKAGE in "".join(raised.value._render_traceback_())


def test_faults_show_all_lines(short: None) -> None:
    try:
        raise PlanInvariantError("a bug")
    except PlanInvariantError as error:
        shorten(error)
        assert error.__traceback__ is not None


def test_an_error_of_the_user_that_led_to_it_keeps_the_lines_of_the_user(short: None) -> None:
    def raised() -> SFrameError:
        try:
            try:
                raise OSError("a disk")
            except OSError as error:
                raise SFrameError("no file") from error
        except SFrameError as error:
            return error

    error = raised()
    shorten(error)
    assert error.__traceback__ is None and isinstance(error.__cause__, OSError) and lines_of(error.__cause__) == [__file__]


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="sends a signal")
def test_an_interrupt_shows_the_line_of_the_user(short: None) -> None:
    started = threading.Event()

    def slow(value: int) -> int:
        started.set()
        return sum(range(200_000)) + value

    def press() -> None:
        started.wait(60)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    threading.Thread(target=press).start()
    with pytest.raises(KeyboardInterrupt) as raised:
        SArray(range(2_000)).apply(slow, int).materialize()
    files = [file for file in lines_of(raised.value) if "_pytest" not in file]
    assert __file__ in files and len([file for file in files if file.startswith(PACKAGE)]) <= 1, files


def test_members_that_python_calls_are_doors() -> None:
    both = ["__len__", "__setitem__", "__delitem__", "__repr__", "__str__", "__contains__", "_repr_html_"]
    assert set(both) <= DOORS
    for kind, names in ((SFrame, both), (SArray, [*both, "__add__", "__lt__", "__eq__", "__and__", "__invert__"])):
        assert [name for name in names if not hasattr(getattr(kind, name), "__wrapped__")] == []
