"""Frames on which order goes wrong: rows, where they are cut into segments, and the ways in which they can be stored."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable, Iterable
from itertools import accumulate, pairwise
from typing import Any

import attrs

from sframe_spark import SFrame
from sframe_spark.operators.sources.base_and_segment_source import segment_source
from sframe_spark.planner.node import PlannerNode
from sframe_spark.storage.segments.writer import SegmentWriter
from sframe_spark.testing.oracle_functions import rank
from sframe_spark.types import DATETIME, FLOAT, INT, STR, ColumnType
from tests.random_tables import segments_source, table_source

NAN, INFINITY = float("nan"), float("inf")
FIRST_DAY = datetime.datetime(2024, 3, 1)
NAMES = ("t", "k", "v", "w", "n")
"""Key, group, float, int, number of the row."""

Rows = list[dict[str, Any]]


@attrs.frozen
class Shape:
    """Rows of a frame, and of another one to join it with.

    Parameters
    ----------
    name
        What is special about it.
    key_type
        Type of the column ``t``.
    unit
        One step of ``t``: a number or a ``timedelta``.
    rows, others
        Rows by column name.
    cuts
        Rows of each segment; zeros are segments without rows.
    first
        A key about where the others are; None: the usual one.
    """

    name: str
    key_type: ColumnType
    unit: Any
    rows: Rows
    others: Rows
    cuts: tuple[int, ...]
    first: Any = None

    @property
    def types(self) -> tuple[ColumnType, ...]:
        """Types of the columns."""
        return (self.key_type, STR, FLOAT, INT, INT)


def _rows(keys: Iterable[Any], seed: int, strange: bool) -> Rows:
    """Rows with these keys; quarters are added exactly, in whatever order."""
    choose = random.Random(seed)
    groups = ["a", "b", "c", None] if strange else ["a", "b", "c"]
    floats = [-1.5, -0.0, 0.0, 0.25, 2.0, 3.75, *([None, None, NAN] if strange else [])]
    ints = [-2, 0, 1, 5, *([None, None] if strange else [])]
    return [
        {"t": key, "k": choose.choice(groups), "v": choose.choice(floats), "w": choose.choice(ints), "n": number} for number, key in enumerate(keys)
    ]


def _shape(name: str, keys: list[Any], cuts: Iterable[int], **options: Any) -> Shape:
    """A shape of keys; every second key and its neighbour are keys of the other frame."""
    unit = options.get("unit", 1)
    seed = sum(map(ord, name))
    others = [key if place % 3 else key + unit if key is not None else None for place, key in enumerate(keys[::2])]
    if "others" in options:
        others = options["others"]
    strange = options.get("strange", True)
    return Shape(name, options.get("kind", INT), unit, _rows(keys, seed, strange), _rows(others, seed + 1, strange), tuple(cuts))


def _times(numbers: Iterable[int | None]) -> list[Any]:
    return [None if number is None else FIRST_DAY + datetime.timedelta(hours=number) for number in numbers]


def _long_keys() -> list[Any]:
    choose = random.Random(5)
    return sorted([None] * 5 + [choose.randint(0, 60) for _ in range(145)], key=rank)


def _shuffled(keys: list[Any]) -> list[Any]:
    return random.Random(11).sample(keys, len(keys))


HOUR = datetime.timedelta(hours=1)
FLOATS = [None, None, -INFINITY, -2.5, -0.0, 0.0, -0.0, 0.0, 1.0, 1.0, 2.5, INFINITY, INFINITY, NAN, NAN, NAN]
RUNS = [1, 2, 2, 3, 3, 3, 3, 4, 5, 5, 5, 5, 5, 5, 9, 9, 12]

SHAPES: dict[str, Shape] = {
    shape.name: shape
    for shape in (
        _shape("ascending", list(range(0, 40, 2)), [5, 5, 5, 5], strange=False),
        _shape("missing keys first", [None] * 7 + [1, 2, 2, 4, 7], [3, 3, 3, 3]),
        _shape("nan", FLOATS, [3, 2, 4, 5, 2], kind=FLOAT, unit=0.5),
        _shape("ties across edges", RUNS, [2, 3, 3, 4, 5]),
        _shape("one key", [5] * 9, [2, 3, 4], others=[5, 5, 5]),
        _shape("segments of one row", [None, 1, 1, 2, 4, 4, 4, 8], [1] * 8),
        _shape("empty segments", [None, 0, 0, 1, 3, 3, 6], [0, 2, 0, 0, 3, 2, 0]),
        _shape("descending", [9, 9, 7, 7, 7, 4, 3, 3, 1, None, None], [1, 3, 3, 2, 2]),
        _shape("descending nan", FLOATS[::-1], [4, 4, 4, 4], kind=FLOAT, unit=0.5),
        _shape("no rows", [], [0, 0], others=[1, 2]),
        _shape("one row", [3], [1], others=[]),
        _shape("unordered", _shuffled([None, None, *range(9), 4, 4, 8]), [4, 1, 5, 4]),
        _shape("ordered segments out of order", [4, 5, 6, 1, 2, 3, 3, 4, 9, None, 0, 2], [3, 4, 2, 3]),
        _shape("times", _times([None, 0, 0, 1, 1, 1, 5, 26, 26, 30, 75]), [2, 3, 4, 2], kind=DATETIME, unit=HOUR),
        _shape("times descending", _times([75, 30, 26, 26, 5, 1, 1, 0, None, None]), [3, 3, 2, 2], kind=DATETIME, unit=HOUR),
        _shape("all keys missing", [None] * 6, [2, 2, 2]),
        _shape("beyond 2**53", [2**53 + number for number in (0, 1, 1, 2, 3, 5, 5)], [3, 2, 2]),
        _shape("many rows", _long_keys(), [20, 1, 0, 49, 30, 50]),
    )
}


def source_of(shape: Shape, rows: Rows, cuts: Iterable[int] | None) -> PlannerNode:
    """Rows in memory, or in segments of given sizes."""
    columns = [[row[name] for row in rows] for name in NAMES]
    if cuts is None:
        return table_source(columns, shape.types, len(rows))
    return segments_source(columns, shape.types, [0, *accumulate(cuts)])


def with_empty_segments(shape: Shape) -> PlannerNode:
    """Rows in segments, of which those without rows are in the manifest too, as a later or another writer may leave them."""
    node = source_of(shape, shape.rows, shape.cuts)
    manifest, handle = node.operator.manifest, node.operator.handle  # type: ignore[attr-defined]
    full = iter(manifest.segments)
    entries = []
    for number, rows in enumerate(shape.cuts):
        with SegmentWriter(manifest.directory, number, shape.types) as writer:
            entries.append(next(full) if rows else writer.close())
    return segment_source(attrs.evolve(manifest, segments=tuple(entries)), handle)


def frame_of(node: PlannerNode) -> SFrame:
    """A frame over a node with the columns of a shape."""
    return SFrame(_node=node, _names=list(NAMES))


def in_memory(shape: Shape) -> SFrame:
    """Rows in the driver's memory."""
    return frame_of(source_of(shape, shape.rows, None))


def in_segments(shape: Shape) -> SFrame:
    """Rows in the segments of the shape."""
    return frame_of(with_empty_segments(shape) if 0 in shape.cuts and shape.rows else source_of(shape, shape.rows, shape.cuts or (0,)))


def appended(shape: Shape) -> SFrame:
    """One saved frame per segment, one after the other."""
    bounds = [0, *accumulate(shape.cuts)]
    parts = [frame_of(source_of(shape, shape.rows[start:stop], [stop - start])) for start, stop in pairwise(bounds)]
    frame = parts[0]
    for part in parts[1:]:
        frame = frame.append(part)
    return frame


def filtered(shape: Shape) -> SFrame:
    """A saved frame with rows too many; the filter leaves whole segments without rows."""
    rows: Rows = []
    cuts: list[int] = []
    bounds = [0, *accumulate(shape.cuts)]
    for start, stop in pairwise(bounds):
        part = shape.rows[start:stop]
        extra = [{**row, "n": -1} for row in part[:2]]
        rows += extra + part
        cuts += [len(extra), len(part)]
    frame = frame_of(source_of(shape, rows, cuts))
    return frame[frame["n"] >= 0]


def computed(shape: Shape) -> SFrame:
    """Rows that no node has recorded anything of: keys go through an exact computation and back."""
    frame = in_segments(shape)
    frame["n"] = (frame["n"] + 1) - 1
    frame["w"] = frame["w"].apply(lambda value: value, int)
    return frame


def sorted_before(shape: Shape) -> SFrame:
    """Rows that a sort has brought into their places; the order is one of the row numbers."""
    node = source_of(shape, _shuffled(shape.rows), [len(shape.rows) // 2, len(shape.rows) - len(shape.rows) // 2])
    return frame_of(node).sort("n")


FORMS: dict[str, Callable[[Shape], SFrame]] = {
    "segments": in_segments,
    "memory": in_memory,
    "appended": appended,
    "filtered": filtered,
    "computed": computed,
    "sorted before": sorted_before,
}
"""Ways in which the rows of a shape come to be, by name; each gives the same rows in the same order."""
