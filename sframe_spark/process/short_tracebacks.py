"""Tracebacks of mistakes and of interrupts: the user's lines and at most one of this package, instead of all that were running."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Collection
from pathlib import Path
from traceback import format_exception
from types import TracebackType
from typing import ParamSpec, TypeVar

from sframe_spark.config import config
from sframe_spark.errors import ExecutionError, NonConvergenceError, PlanInvariantError, SFrameError

P = ParamSpec("P")
R = TypeVar("R")

# Lines of this package, and of Python and of libraries, are not the user's.
LIBRARIES = (str(Path(__file__).parents[1]) + os.sep, str(Path(os.__file__).parent) + os.sep)
# What calls a user's lines in a notebook, and what calls this package in them. Others' packages may have lines that the user wants to see.
CALLERS_AND_CALLED = ("IPython", "ipykernel", "pandas", "numpy")
# Faults of the package, or of what it runs on: whoever looks for the reason needs all lines.
FAULTS = (PlanInvariantError, NonConvergenceError)
# This attribute marks functions whose tracebacks are short.
IS_DOOR = "_has_short_tracebacks"
# Members without a public name that users call all the same.
_NAMES = (
    "setitem delitem len contains str repr bool array arrow_c_stream copy deepcopy add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv "
    "mod rmod pow rpow eq ne lt le gt ge and or xor rand ror neg pos abs invert"
)
DOORS = frozenset(f"__{name}__" for name in _NAMES.split()) | {"_repr_html_"}


def is_mistake(error: BaseException) -> bool:
    """Return whether an error is the user's, and so is explained by its message; an interrupt is the user's, too."""
    if isinstance(error, KeyboardInterrupt):
        return True
    return isinstance(error, SFrameError) and not isinstance(error, FAULTS) and type(error) is not ExecutionError


def shorten(error: BaseException) -> None:
    """Take the lines of this package out of the traceback of a mistake that is about to be raised again, and of the errors that led to it.

    ``config.tracebacks = "full"`` keeps all lines.
    """
    if config.tracebacks == "full" or not is_mistake(error):
        return
    error.__traceback__ = None
    seen = {id(error)}
    while (earlier := error.__cause__ if error.__suppress_context__ else error.__context__) is not None and id(earlier) not in seen:
        seen.add(id(earlier))
        earlier.__traceback__ = users_lines(earlier.__traceback__)
        if earlier.__traceback__ is None and error.__cause__ is None:
            # It says nothing but where this package was.
            error.__suppress_context__ = True
        error = earlier


def users_lines(traceback: TracebackType | None, others: Collection[str] = ()) -> TracebackType | None:
    """Return the lines of a traceback that are not of this package, of Python, or of other packages that are named; None if there are none."""
    lines: list[TracebackType] = []
    while traceback is not None:
        frame = traceback.tb_frame
        if not frame.f_code.co_filename.startswith(LIBRARIES) and str(frame.f_globals.get("__name__")).partition(".")[0] not in others:
            lines.append(traceback)
        traceback = traceback.tb_next
    shorter: TracebackType | None = None
    for line in reversed(lines):
        shorter = TracebackType(shorter, line.tb_frame, line.tb_lasti, line.tb_lineno)
    return shorter


def lines_in_notebook(error: BaseException) -> list[str]:
    """Return what IPython shows of an error, for which it asks by the method ``_render_traceback_``: of a mistake, only the user's lines."""
    traceback = error.__traceback__
    if config.tracebacks != "full" and is_mistake(error):
        traceback = users_lines(traceback, CALLERS_AND_CALLED)
    shell = sys.modules["IPython"].get_ipython()
    if shell is None:
        return format_exception(type(error), error, traceback)
    lines: list[str] = shell.InteractiveTB.structured_traceback(type(error), error, traceback, tb_offset=0)
    return lines


SFrameError._render_traceback_ = lines_in_notebook  # type: ignore[attr-defined]


def door(function: Callable[P, R]) -> Callable[P, R]:
    """Decorator: mistakes and interrupts are raised as if the function itself had found them.

    Examples
    --------
    >>> import traceback
    >>> from sframe_spark import SArray
    >>> @door
    ... def total():
    ...     return SArray(["1", "x"]).astype(int).sum()
    >>> with config.using(tracebacks="short"):
    ...     try:
    ...         total()
    ...     except RuntimeError as error:
    ...         print(len(traceback.extract_tb(error.__traceback__)), error)
    1 row 1: 'x' cannot be cast to int; undefined_on_failure=True makes it missing
    """

    @functools.wraps(function)
    def called(*args: P.args, **options: P.kwargs) -> R:
        # IPython and pytest leave this frame out.
        __tracebackhide__ = True
        try:
            return function(*args, **options)
        except (Exception, KeyboardInterrupt) as error:
            shorten(error)
            raise

    setattr(called, IS_DOOR, True)
    return called
