"""Rows as Python values, how the kit compares them, and how it says that a rule does not hold."""

from __future__ import annotations

import array
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sframe_spark.errors import ContractBroken
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Schema
from sframe_spark.values.arrow_to_python import decode_columns

Rows = list[tuple[Any, ...]]

# Spark adds floats in a different order than Arrow.
RELATIVE_TOLERANCE = 1e-9
ABSOLUTE_TOLERANCE = 1e-12
# More rows of a table, or characters of a value, make a message that nobody reads.
MAX_SHOWN_ROWS = 12
MAX_SHOWN_CHARACTERS = 60


def demand(holds: bool, node: PlannerNode | str, rule: str, found: str, remedy: str = "") -> None:
    """Raise :class:`ContractBroken` unless a rule holds."""
    if not holds:
        raise ContractBroken(node, rule, found, remedy)


def rows_of(chunk: Chunk, schema: Schema) -> Rows:
    """Return the rows of a chunk as tuples of Python values; empty tuples if it has no columns."""
    if not schema:
        return [()] * chunk.rows
    return list(zip(*decode_columns(chunk.columns, schema), strict=True))


def multiset(rows: Rows) -> Rows:
    """Return the rows sorted by their ``repr``, for comparison without regard to order."""
    return sorted(rows, key=repr)


def same_rows(first: Sequence[Any], second: Sequence[Any]) -> bool:
    """Return whether two lists of rows, or two other sequences, are equal item by item, floats up to rounding."""
    return len(first) == len(second) and all(same_value(a, b) for a, b in zip(first, second, strict=True))


def same_value(first: Any, second: Any) -> bool:
    """Return whether two values have the same class and are equal; NaN equals NaN, floats may differ by rounding.

    Examples
    --------
    >>> same_value(0.1 + 0.2, 0.3), same_value(1, 1.0), same_value([None, float("nan")], [None, float("nan")])
    (True, False, True)
    """
    if type(first) is not type(second):
        return False
    if isinstance(first, float):
        if math.isnan(first) or math.isnan(second):
            return math.isnan(first) and math.isnan(second)
        return math.isclose(first, second, rel_tol=RELATIVE_TOLERANCE, abs_tol=ABSOLUTE_TOLERANCE)
    if isinstance(first, (list, tuple, array.array)):
        return same_rows(first, second)
    if isinstance(first, np.ndarray):
        return first.shape == second.shape and same_rows(first.ravel().tolist(), second.ravel().tolist())
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same_value(value, second[key]) for key, value in first.items())
    return bool(first == second)


def difference(first: Rows, second: Rows, first_name: str, second_name: str) -> str:
    """Return the first row that differs between two lists of rows, by the names of the lists; or that their lengths or orders differ.

    Examples
    --------
    >>> difference([(1, "a"), (2, "b")], [(1, "a"), (3, "b")], "the kernel", "Spark")
    'row 1, column 0: the kernel gives 2, Spark gives 3'
    >>> difference([(1,)], [], "the kernel", "Spark")
    'the kernel gives 1 row: [(1,)], Spark gives 0 rows: []'
    """
    if len(first) != len(second):
        given = [f"{name} gives {counted(len(rows), 'row')}: {shown_rows(rows)}" for name, rows in ((first_name, first), (second_name, second))]
        return ", ".join(given)
    if same_rows(multiset(first), multiset(second)):
        return f"the same rows, in another order: {first_name} gives {shown_rows(first)}, {second_name} gives {shown_rows(second)}"
    number = next(index for index, (a, b) in enumerate(zip(first, second, strict=True)) if not same_value(a, b))
    place = next((position for position, (a, b) in enumerate(zip(first[number], second[number], strict=False)) if not same_value(a, b)), None)
    if place is None:
        return f"row {number}: {first_name} gives {shown(first[number])}, {second_name} gives {shown(second[number])}"
    values = f"{first_name} gives {shown(first[number][place])}, {second_name} gives {shown(second[number][place])}"
    return f"row {number}, column {place}: {values}"


def shown(value: Any) -> str:
    """Return a value for a message; the middle of a long one is left out.

    Examples
    --------
    >>> shown(None), shown("x" * 200)
    ('None', "'xxxxxxxxxxxxxxxxxxxxxxxxxxxx... 202 characters")
    """
    text = repr(value)
    return text if len(text) <= MAX_SHOWN_CHARACTERS else f"{text[: MAX_SHOWN_CHARACTERS // 2 - 1]}... {len(text)} characters"


def shown_rows(rows: Sequence[tuple[Any, ...]]) -> str:
    """Return rows for a message: the first of them, and how many there are.

    Examples
    --------
    >>> shown_rows([(1, None)]), shown_rows([(0,)] * 20)[-20:]
    ('[(1, None)]', '(0,), ... 20 in all]')
    """
    texts = [f"({', '.join(map(shown, row))}{',' * (len(row) == 1)})" for row in rows[:MAX_SHOWN_ROWS]]
    more = [] if len(rows) <= MAX_SHOWN_ROWS else [f"... {len(rows)} in all"]
    return f"[{', '.join([*texts, *more])}]"


def counted(number: int, word: str) -> str:
    """Return a number of things, such as ``1 row`` or ``2 rows``.

    Examples
    --------
    >>> counted(1, "row"), counted(0, "row")
    ('1 row', '0 rows')
    """
    return f"{number} {word}{'' if number == 1 else 's'}"
