"""What Spark's own lists of jobs and operations say of ours: the user's file and line, and the operation."""

from __future__ import annotations

import contextlib
import os
import sys
import sysconfig
from collections.abc import Iterator
from contextvars import ContextVar
from functools import lru_cache
from types import FrameType
from typing import TYPE_CHECKING

from sframe_spark.session.build import is_remote
from sframe_spark.session.session import get_base, own_sessions
from sframe_spark.visible import visible

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
LIBRARIES = tuple({os.path.abspath(sysconfig.get_path(name)) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib")})
MOST_CHARACTERS, MOST_OF_NAME = 200, 80
# Properties of a thread from which Spark takes what it lists.
DESCRIPTION, SHORT_SITE, LONG_SITE = "spark.job.description", "callSite.short", "callSite.long"

# The line that started what this thread works on, for threads of ours, in which no line of the user's runs.
_STATEMENT: ContextVar[str] = ContextVar("sframe_spark_statement", default="")


def description_of(operation: str) -> str:
    """Return what is to be listed of an operation that the calling statement started.

    Examples
    --------
    >>> description_of("sort").endswith(" sort")
    True
    """
    statement = statement_of(sys._getframe(1)) or _STATEMENT.get()
    _STATEMENT.set(statement)
    return visible(f"{statement} {operation}".strip())[:MOST_CHARACTERS]


def statement_of(frame: FrameType | None) -> str:
    """File and line of the innermost frame of the user's: neither ours nor, if there are others, of an installed library. Empty if there is none."""
    outside = ""
    while frame is not None:
        kind = _kind(frame.f_code.co_filename)
        if kind != "ours":
            place = _place(frame)
            if kind == "user's":
                return place
            outside = outside or place
        frame = frame.f_back
    return "" if _is_of_thread(outside) else outside


def _is_of_thread(place: str) -> bool:
    """True where a thread of ours began."""
    return place.startswith(("threading.py:", "thread.py:"))


@lru_cache(maxsize=1024)
def _kind(file: str) -> str:
    path = os.path.abspath(file)
    if path.startswith(PACKAGE):
        return "ours"
    if file.startswith("<frozen") or path.startswith(LIBRARIES):
        return "library's"
    return "user's"


def _place(frame: FrameType) -> str:
    return f"{os.path.basename(frame.f_code.co_filename)[-MOST_OF_NAME:]}:{frame.f_lineno}"


@contextlib.contextmanager
def described(session: SparkSession, text: str, *tags: str) -> Iterator[None]:
    """Let jobs and operations that this thread starts in the block carry a text and tags; what the user has set is there again after it."""
    if is_remote(session):
        with _tagged((*tags, *filter(None, [tag_of(text)]))):
            yield
        return
    context = session.sparkContext
    wanted = dict.fromkeys((DESCRIPTION, SHORT_SITE, LONG_SITE), text) if text else {}
    before = {key: context.getLocalProperty(key) for key in wanted}
    for key, value in wanted.items():
        context.setLocalProperty(key, value)
    present = context.getJobTags() if tags else ()
    # Those that are there are taken away by whoever has put them there.
    new = [tag for tag in tags if tag not in present]
    for tag in new:
        context.addJobTag(tag)
    try:
        yield
    finally:
        for tag in new:
            context.removeJobTag(tag)
        for key, old in before.items():
            # Spark takes null for "not set".
            context.setLocalProperty(key, old)


def tag_of(text: str) -> str:
    """A description as a tag of Spark Connect's, which has no commas; empty if there is none.

    Examples
    --------
    >>> tag_of("a,b.py:3 sort")
    'sframe_spark: a;b.py:3 sort'
    """
    return f"sframe_spark: {text.replace(',', ';')}" if text else ""


@contextlib.contextmanager
def _tagged(tags: tuple[str, ...]) -> Iterator[None]:
    """Queries run in sessions of ours of several sizes, and those of users' DataFrames in theirs."""
    sessions = remote_sessions()
    new = [(session, tag) for session in sessions for tag in tags if tag not in session.getTags()]
    for session, tag in new:
        session.addTag(tag)
    try:
        yield
    finally:
        for session, tag in new:
            session.removeTag(tag)


def remote_sessions() -> list[SparkSession]:
    """Sessions on a server in which something of ours may run."""
    return [*own_sessions(), get_base()]
