"""Watches what planning does besides planning: files that it opens, kernels that it runs, threads, processes and Spark jobs that it starts."""

from __future__ import annotations

import ctypes
import os
import struct
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest

from sframe_spark.config import config
from sframe_spark.engine.graph_lock import GRAPH_LOCK
from sframe_spark.engine.spark import callables_as_job, query
from sframe_spark.explain.dry_run import DryRun, plan_dry_run
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import Operator
from sframe_spark.planner.operator_capabilities import MatchCounting, PartitionJoining, RowCounting
from sframe_spark.planner.printed_plans import plan_text, trace_text
from sframe_spark.rewrite_laws import optimize
from sframe_spark.session import is_started, progress
from sframe_spark.udf.bound_function import FunctionAsNow

# Methods of operators and of their capabilities that read rows, or that make queries of Spark.
KERNELS = (
    "kernel", "run_interval", "chunks", "pairs", "counted", "count", "part_of", "combined", "rows_from", "summarize", "advance",
    "finish", "plan_to_operator", "read", "read_all", "read_batches", "reader",
)  # fmt: skip
STARTS = {"subprocess.Popen", "os.posix_spawn", "os.fork", "os.forkpty", "os.exec", "os.system", "socket.connect"}
# What says how much memory there is and how many processors, and the interpreter's own files.
OF_THE_SYSTEM = ("/proc/", "/sys/", "/etc/", sys.prefix, sys.base_prefix, str(Path(pytest.__file__).parents[1]), str(Path(__file__).parents[1]))

_WATCHING: list[list[str]] = []
_OPEN, _OF_DIRECTORY = 0x20, 0x40000000


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if not _WATCHING:
        return
    if event in STARTS:
        _WATCHING[-1].append(event)
    elif event == "open" and isinstance(arguments[0], (str, bytes)):
        path = os.fsdecode(arguments[0])
        if not path.startswith(OF_THE_SYSTEM):
            _WATCHING[-1].append(f"open {os.path.basename(path)}")


sys.addaudithook(_note)


class OpenedFiles:
    """The files below some directories that are opened, in whatever language; none are found where there is no inotify."""

    def __init__(self, directories: Iterable[Path]) -> None:
        self._library = ctypes.CDLL(None)
        self._queue = self._library.inotify_init1(os.O_NONBLOCK) if hasattr(self._library, "inotify_init1") else -1
        for top in directories if self._queue >= 0 else ():
            for directory, _, _ in os.walk(top):
                self._library.inotify_add_watch(self._queue, os.fsencode(directory), _OPEN)
        self.read()

    def read(self) -> list[str]:
        """Return the names of the files that were opened since the last call."""
        found: list[str] = []
        while self._queue >= 0:
            try:
                events, start = os.read(self._queue, 1 << 16), 0
            except BlockingIOError:
                break
            while start < len(events):
                _, mask, _, length = struct.unpack_from("iIII", events, start)
                name = events[start + 16 : start + 16 + length].rstrip(b"\0")
                start += 16 + length
                if not mask & _OF_DIRECTORY:
                    found.append(f"open {os.fsdecode(name)}")
        return found

    def close(self) -> None:
        if self._queue >= 0:
            os.close(self._queue)


def _subclasses(of: type) -> Iterator[type]:
    for below in of.__subclasses__():
        yield below
        yield from _subclasses(below)


@contextmanager
def watching(directories: Iterable[Path] = ()) -> Iterator[list[str]]:
    """What is done in a block that is more than planning: one line each."""
    found: list[str] = []

    def noting(what: str, call: Any) -> Any:
        def noted(*arguments: Any, **named: Any) -> Any:
            found.append(what)
            return call(*arguments, **named)

        return noted

    # Progress would be drawn if an action ran.
    with pytest.MonkeyPatch.context() as patch, config.using(progress="on"):
        for kind in dict.fromkeys(kind for base in (Operator, PartitionJoining, MatchCounting, RowCounting) for kind in (base, *_subclasses(base))):
            for name in KERNELS:
                if callable(method := vars(kind).get(name)):
                    patch.setattr(kind, name, noting(f"{name} of {kind.__name__}", method))
        patch.setattr(threading.Thread, "start", noting("thread", threading.Thread.start))
        patch.setattr(callables_as_job, "run_callables", noting("Spark job", callables_as_job.run_callables))
        for name in ("write_parquet", "collect"):
            patch.setattr(query, name, noting(f"Spark {name}", getattr(query, name)))
        # It compares variables that a function reads with what they were, and keeps what it finds.
        patch.setattr(FunctionAsNow, "during_action", noting("function prepared for calls", FunctionAsNow.during_action))
        patch.setattr(progress.RunningWork, "__init__", noting("progress", progress.RunningWork.__init__))
        before, files = is_started(), OpenedFiles(directories)
        _WATCHING.append(found)
        try:
            yield found
        finally:
            _WATCHING.pop()
            found += files.read()
            files.close()
    if is_started() and not before:
        found.append("Spark")


@attrs.frozen
class Plan:
    """All that a plan says, as text, and all that can be asked of the graph that it was made of."""

    sections: tuple[Any, ...]
    optimized: str
    laws: str

    @classmethod
    def of(cls, node: PlannerNode) -> Plan:
        dry_run: DryRun = plan_dry_run(node)
        sections = tuple(
            (each.number, each.shape, each.workers, each.reason, tuple(each.alternatives), plan_text(each.root), facts_of(each.root))
            for each in dry_run.sections
        )
        with GRAPH_LOCK:
            text = plan_text(optimize(node))
        return cls(sections, text, trace_text(dry_run.trace))


def facts_of(root: PlannerNode) -> tuple[Any, ...]:
    """Types, lengths and domains of all nodes of a graph; identities are numbered, as each plan has its own."""
    numbers: dict[int, int] = {}
    kept: list[Any] = []

    def number(token: Any) -> int:
        kept.append(token)
        return numbers.setdefault(id(token), len(numbers))

    facts = [node.facts for node in postorder([root])]
    return tuple((each.schema, each.length.rows, each.length.at_most, number(each.length.token), number(each.domain)) for each in facts)


def state_of(root: PlannerNode) -> list[Any]:
    """All that a graph is, by identity: planning leaves it as it is."""
    return [(id(node), id(node.operator), tuple(map(id, node.inputs)), node.length, node.claim, id(node.calls)) for node in postorder([root])]


def places_of(root: PlannerNode) -> list[Path]:
    """The directories of the files that a graph reads."""
    operators = [node.operator for node in postorder([root]) if not node.inputs]
    found = [getattr(getattr(operator, name, None), "directory", None) for operator in operators for name in ("manifest", "handle")]
    return [Path(place) for place in dict.fromkeys(found) if place is not None]


def impurities(node: PlannerNode) -> list[str]:
    """Plan a graph twice; return what that did besides planning, and whether the plans differ or the graph was changed."""
    before, directories = state_of(node), places_of(node)
    with watching(directories) as found:
        first = Plan.of(node)
    done = sorted(set(found))
    if state_of(node) != before:
        done.append("the graph was changed")
    with watching(directories) as again:
        second = Plan.of(node)
    if first != second:
        done.append("the second plan is another one")
    return done + [f"again: {what}" for what in sorted(set(again) - set(found))]
