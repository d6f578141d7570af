"""A pool of deterministic functions for operators that call Python; importable, so that Spark's workers find them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from sframe_spark.types import FLOAT, INT, STR, ColumnType, list_of


@attrs.frozen
class PoolFunction:
    """A function of one value (``kind`` says of which) or of a row as a dict (``kind`` is None), and its result type."""

    function: Callable[[Any], Any]
    result: ColumnType
    kind: str | None = None


def halved(value: int | None) -> int | None:
    """Ints towards zero; missing for ones that are missing."""
    return None if value is None else value // 2


def is_odd(value: int | None) -> int:
    """1 for an odd int."""
    return 0 if value is None else value % 2


def quartered(value: int | None) -> float | None:
    """A float; missing for every third int."""
    return None if value is None or value % 3 == 0 else value * 0.25


def shown(value: Any) -> str:
    """Text of any value."""
    return "-" if value is None else f"<{value}>"


def length(value: str | None) -> int | None:
    """Characters of a text."""
    return None if value is None else len(value)


def parts(value: str | None) -> list[str | None] | None:
    """The first two characters of a text, and a missing one after two."""
    return None if value is None else [*value[:2], *([None] if value[1:] else [])]


def missing_cells(row: dict[str, Any]) -> int:
    """How many cells of a row are missing."""
    return sum(value is None for value in row.values())


def widest(row: dict[str, Any]) -> str | None:
    """Name of the column whose text is longest, missing when no cell has a value."""
    found = [(len(str(value)), name) for name, value in row.items() if value is not None]
    return max(found)[1] if found else None


def labelled(value: str | None) -> str | None:
    """A text by what another one holds."""
    if value is None:
        return "none"
    return value.upper() if "x" in value else value[:1] + "!"


def first_cell(row: dict[str, Any]) -> int:
    """1 for a row whose first cell has a value."""
    return 0 if row["n0"] is None else 1


POOL = (
    PoolFunction(halved, INT, "int"),
    PoolFunction(is_odd, INT, "int"),
    PoolFunction(quartered, FLOAT, "int"),
    PoolFunction(shown, STR, "int"),
    PoolFunction(shown, STR, "str"),
    PoolFunction(length, INT, "str"),
    PoolFunction(parts, list_of(STR), "str"),
    PoolFunction(labelled, STR, "str"),
    PoolFunction(first_cell, INT),
    PoolFunction(missing_cells, INT),
    PoolFunction(widest, STR),
)


def row_twice(row: dict[str, Any]) -> list[list[Any]]:
    """The first cell's text and the number of its copy, twice; nothing for a row that begins with a missing cell."""
    first = next(iter(row.values()))
    return [] if first is None else [[shown(first), 0], [shown(first), 1]]


def row_by_length(row: dict[str, Any]) -> list[list[Any]]:
    """As many rows as the first cell's text is long, modulo 3."""
    text = shown(next(iter(row.values())))
    return [[text, number] for number in range(len(text) % 3)]


FLAT_POOL = (row_twice, row_by_length)
"""Functions of a row to a list of rows of a text and an int."""
