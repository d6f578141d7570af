"""The operators that are measured and modelled, as programs of users."""

from __future__ import annotations

import enum
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs

from benchmarks.scale.shapes import FEW_GROUPS
from sframe_spark import SFrame, aggregate, load_sframe

WINDOW = 10


class Way(enum.Enum):
    """How an operator runs where Spark's tasks do the work."""

    DRIVER = "on the driver"
    RANGES = "tasks over ranges of rows"
    PARTS = "tasks that each make a part"
    QUERY = "a query of Spark"


@attrs.frozen
class Frames:
    """What a program is given: the frame, one of a twentieth of its rows that has its keys, and one of a row for each of a hundred keys."""

    path: str
    frame: SFrame
    quotes: SFrame
    keys: SFrame


@attrs.frozen
class Program:
    """One line of the tables.

    Parameters
    ----------
    name
        What it is called.
    way
        How it runs.
    made
        The lazy result; what is timed is materialising it.
    columns
        How many columns it reads of so many; and how many it makes.
    share
        Rows that it makes for each that it reads.
    """

    name: str
    way: Way
    made: Callable[[Frames], Any]
    columns: Callable[[int], tuple[int, int]]
    share: float = 1.0

    def run(self, frames: Frames) -> None:
        """Make the rows, anew."""
        made = self.made(frames)
        if made is not None:
            made.materialize()


def opened(path: str, quotes: str) -> Frames:
    """Frames that were saved, opened."""
    keys = SFrame({"k": range(FEW_GROUPS), "name": [f"key {key}" for key in range(FEW_GROUPS)]})
    return Frames(path, load_sframe(path), load_sframe(quotes), keys)


def looked_at(frames: Frames) -> None:
    """The number of rows and the first ten of a frame that is open."""
    len(frames.frame), list(frames.frame.head(10))


def reopened(frames: Frames) -> None:
    """The frame, opened from its files."""
    load_sframe(frames.path)


def saved(frames: Frames) -> None:
    """All columns but one, and a new one in its place, saved for good."""
    frame = frames.frame.copy()
    frame["f"] = frame["f"] * 2
    with tempfile.TemporaryDirectory(dir=Path(frames.path).parent) as place:
        frame.save(str(Path(place, "saved")))


def derived(frames: Frames) -> Any:
    """A column computed of two others."""
    return frames.frame["f"] * 2 + frames.frame["i"]


def same(width: int) -> tuple[int, int]:
    """All columns are read, and made again."""
    return width, width


def one_more(width: int) -> tuple[int, int]:
    """All columns are read, and one more is made."""
    return width, width + 1


PROGRAMS = [
    Program("open", Way.DRIVER, reopened, lambda width: (0, 0)),
    Program("len and head", Way.DRIVER, looked_at, same, 0.0),
    Program("append", Way.DRIVER, lambda frames: len(frames.frame.append(frames.frame)) and None, lambda width: (0, 0)),
    Program("filter + materialise", Way.RANGES, lambda frames: frames.frame[frames.frame["f"] > 0.5], same, 0.5),
    Program("derived column", Way.RANGES, derived, lambda width: (2, 1)),
    Program("cumulative sum", Way.RANGES, lambda frames: frames.frame["f"].cumulative_sum(), lambda width: (1, 1)),
    Program("rolling mean", Way.RANGES, lambda frames: frames.frame["f"].rolling_mean(1 - WINDOW, 0), lambda width: (1, 1)),
    Program("as-of join", Way.RANGES, lambda frames: frames.frame.asof_join(frames.quotes[["t", "g"]], on="t"), one_more),
    Program("save", Way.RANGES, saved, same),
    Program("group-by, 100 groups", Way.PARTS, lambda frames: frames.frame.groupby("k", {"mean": aggregate.MEAN("f")}), lambda width: (2, 0)),
    Program("group-by, many groups", Way.QUERY, lambda frames: frames.frame.groupby("g", {"mean": aggregate.MEAN("f")}), lambda width: (2, 2), 0.25),
    Program("unique", Way.QUERY, lambda frames: frames.frame[["g"]].unique(), lambda width: (1, 1), 0.25),
    Program("join, small side", Way.RANGES, lambda frames: frames.frame.join(frames.keys, on="k"), lambda width: (width, width + 1)),
    Program(
        "join, large sides", Way.QUERY, lambda frames: frames.frame.join(frames.quotes[["i", "g"]], on="i"), lambda width: (width, width + 1), 0.05
    ),
    Program("sort", Way.QUERY, lambda frames: frames.frame.sort("i"), same),
]
BY_NAME: Mapping[str, Program] = {program.name: program for program in PROGRAMS}
