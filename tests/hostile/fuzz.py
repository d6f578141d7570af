"""Reads mutated texts in a process with limits and writes what was neither right nor refused: ``python -m tests.hostile.fuzz KIND FIRST COUNT``."""

from __future__ import annotations

import contextlib
import json
import random
import resource
import shutil
import signal
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from sframe_spark import SFrame, load_sframe
from sframe_spark.errors import SFrameError
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.plugin import frame_of, graph_from_json, graph_to_json
from sframe_spark.session import session
from sframe_spark.storage.manifest.manifest_json import sealed
from sframe_spark.testing.oracle import Oracle
from sframe_spark.testing.oracle_functions import rows_equal
from sframe_spark.types import FLOAT, ColumnType
from tests.hostile.mutations import mutated
from tests.operator_examples import EXAMPLES

SECONDS_A_CASE = 20
MAX_BYTES = 6 << 30
# Rows of sources beyond this are not computed, only planned.
FEW_ROWS = 2_000
CALLING_PYTHON = {"lambda_transform", "flat_map", "map_cycles"}
READING_SOURCES = {"source_rows", "source_parts", "scan_parts"}


class NeedsSpark(Exception):
    """The case would start Spark."""


class TooSlow(BaseException):
    """The case hangs."""


@contextlib.contextmanager
def limited() -> Iterator[None]:
    """End a case that takes longer than it may."""

    def give_up(*_: Any) -> None:
        raise TooSlow(f"more than {SECONDS_A_CASE} seconds")

    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(SECONDS_A_CASE)
    try:
        yield
    finally:
        signal.alarm(0)


def without_spark(*_: Any, **__: Any) -> Any:
    raise NeedsSpark


class Plans:
    """Texts of plans, one for each example of an operator."""

    def __init__(self, directory: Path) -> None:
        usable = [example for example in EXAMPLES if not example.needs_spark and example.operator not in CALLING_PYTHON | READING_SOURCES]
        self.texts = [graph_to_json(example.node()) for example in usable]

    def check_unchanged(self) -> None:
        """Nothing: more than a few of the mutated texts must come out right, which refusing all of them would not do."""

    def check(self, choose: random.Random) -> str:
        """Read a mutated plan; what comes of it are the oracle's rows or an error of ours."""
        node = graph_from_json(mutated(choose.choice(self.texts), choose))
        if not is_small(node):
            return "planned"
        names = [f"c{i}" for i in range(len(node.schema))]
        found = [tuple(row[name] for name in names) for row in frame_of(node, names)]
        try:
            expected = Oracle().rows(node)
        except Exception:
            # The oracle is for plans that people make.
            return "computed"
        # A changed constant of a column of floats may be written as a whole number, which the oracle shows as it is.
        expected = [tuple(as_typed(value, column) for value, column in zip(row, node.schema, strict=True)) for row in expected]
        assert rows_equal(found, expected), f"{found[:5]} instead of {expected[:5]}"
        return "right"


def as_typed(value: Any, column: ColumnType) -> Any:
    """A value of a column, as a float where the column is of floats."""
    return float(value) if type(value) is int and column == FLOAT else value


def is_small(node: PlannerNode) -> bool:
    """True if computing the rows takes no time."""
    return all(item.length.rows is None or item.length.rows <= FEW_ROWS for item in postorder([node]))


class Manifests:
    """A saved frame whose manifest is mutated."""

    def __init__(self, directory: Path) -> None:
        self.frame = directory / "frame"
        columns = {"a": [3, 1, 2, None], "b": ["x", "y", None, "z"], "c": [1.5, 2.5, float("inf"), None], "d": [[1, "a"], [], None, [None]]}
        SFrame(columns).save(str(self.frame))
        self.text = (self.frame / "_manifest.json").read_text()
        self.rows = repr([list(row) for row in zip(*columns.values(), strict=True)])

    def write(self, text: str) -> SFrame:
        """The frame with another manifest."""
        (self.frame / "_manifest.json").write_text(text, encoding="utf-8", errors="surrogatepass")
        return load_sframe(str(self.frame))

    def check(self, choose: random.Random) -> str:
        """Load the frame; its rows are those that were saved, or there is an error of ours."""
        self.check_rows(self.write(mutated(self.text, choose)))
        return "right"

    def check_unchanged(self) -> None:
        """The manifest as it is, and one whose seal was made anew, are read: what refuses all of them would pass otherwise."""
        for text in (self.text, sealed(json.loads(self.text)["content"])):
            self.check_rows(self.write(text))

    def check_rows(self, loaded: SFrame) -> None:
        """Rows, statistics and filters are those of the frame that was saved."""
        assert values_of(loaded) == self.rows, f"other rows: {list(loaded)!r:.300}"
        look_at(loaded)
        assert (loaded["a"].max(), loaded["a"].min(), len(loaded[loaded["a"] > 2])) == (3, 1, 1)


class SealedManifests(Manifests):
    """The same with a check sum that fits what was changed, as somebody writes it who wants to do harm."""

    def check(self, choose: random.Random) -> str:
        """Load the frame and look at it; what it says of itself may be untrue, but it reads no other files and ends in an error of ours."""
        text = mutated(json.dumps(json.loads(self.text)["content"]), choose)
        try:
            whole = sealed(json.loads(text))
        except (ValueError, RecursionError):
            return "no json"
        look_at(self.write(whole))
        return "read"


def look_at(frame: SFrame) -> None:
    """Rows, statistics, filters and orders of a frame of few rows."""
    if len(frame) > FEW_ROWS:
        frame.head(3)
        return
    list(frame)
    for name in frame.column_names():
        column = frame[name]
        if column.dtype in (int, float, str):
            column.min() if column.dtype is not str else column.unique()
            len(frame[column == column[0]]) if len(frame) else None


def values_of(frame: SFrame) -> str:
    """The rows, whatever their columns are called."""
    return repr([list(row.values()) for row in frame])


KINDS: dict[str, Callable[[Path], Any]] = {"plans": Plans, "manifests": Manifests, "sealed": SealedManifests}


def run(kind: str, first: int, count: int) -> dict[str, Any]:
    """Outcomes of some seeds by kind, and the cases that failed."""
    session.start_spark = without_spark
    outcomes: Counter[str] = Counter()
    failures: list[dict[str, Any]] = []
    directory = Path(tempfile.mkdtemp())
    try:
        cases = KINDS[kind](directory)
        cases.check_unchanged()
        for seed in range(first, first + count):
            try:
                with limited():
                    outcomes[cases.check(random.Random(seed))] += 1
            except SFrameError as error:
                outcomes[type(error).__name__] += 1
            except NeedsSpark:
                outcomes["needs spark"] += 1
            except BaseException as error:
                place = traceback.extract_tb(error.__traceback__)[-1]
                failures.append({"seed": seed, "error": f"{type(error).__name__}: {error}"[:300], "at": f"{place.filename}:{place.lineno}"})
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return {"outcomes": dict(outcomes), "failures": failures}


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (MAX_BYTES, MAX_BYTES))
    asked = zip(sys.argv[1::3], sys.argv[2::3], sys.argv[3::3], strict=True)
    json.dump({kind: run(kind, int(first), int(count)) for kind, first, count in asked}, sys.stdout)
