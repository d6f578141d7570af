"""Random samples, splits and shuffles. They depend only on the seed and the row numbers, not on how rows are divided among tasks."""

from __future__ import annotations

import contextlib
import random
from typing import Any

import numpy as np

from sframe_spark.api.node_value_conversion import row_count
from sframe_spark.errors import BeyondRangeError, InvalidArgumentError, SchemaError, SeedError
from sframe_spark.expressions.scalar_function_program import Literal
from sframe_spark.message_text import brief
from sframe_spark.operators.elementwise import apply_function
from sframe_spark.operators.project_zip_arrange import project, zip_columns
from sframe_spark.operators.row_number import row_number
from sframe_spark.operators.row_selection import filter_by_mask, slice_rows
from sframe_spark.operators.sort_top_rows_and_assumed_order import sort_rows
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import INT
from sframe_spark.values.plain_values import is_number, one_value


def chosen_seed(seed: Any) -> int:
    """Return the seed as an int; for None draw one with Python's ``random``, so that a program which calls ``random.seed()`` is repeatable.

    Raises
    ------
    SeedError
        If the seed is neither None nor a number, nor a string that contains an int.
    BeyondRangeError
        If the seed has more than 32 bits.
    """
    return random.getrandbits(31) if seed is None else require_seed(seed)


def require_seed(seed: Any) -> int:
    """Return the seed as an int; floats are truncated.

    Raises
    ------
    SeedError
        If the seed is not a number, nor a string that contains an int.
    BeyondRangeError
        If the seed has more than 32 bits.
    """
    number = one_value(seed)
    if isinstance(number, str):
        # Command-line arguments are strings; Turi Create accepts them too.
        with contextlib.suppress(ValueError):
            number = int(number)
    if not (is_number(number) or isinstance(number, np.bool_)) or number != number:
        raise SeedError(f"seed must be a whole number or None, not {brief(seed)}")
    if not -(2**31) - 1 < number < 2**31:
        raise BeyondRangeError(f"seed must be an int of 32 bits, from {-(2**31)} to {2**31 - 1}, not {brief(seed)}")
    return int(number)


def require_fraction(fraction: Any) -> float:
    """Return the fraction of rows as a float.

    Raises
    ------
    SchemaError
        If the fraction is not a number.
    InvalidArgumentError
        If the fraction is not between 0 and 1.
    """
    fraction = one_value(fraction)
    if not is_number(fraction):
        raise SchemaError(f"fraction must be a number between 0 and 1, not {brief(fraction)}")
    if not 0 <= fraction <= 1:
        raise InvalidArgumentError(
            f"fraction must be a share of the rows between 0 and 1, not {brief(fraction)}: for n random rows use sf.shuffle(seed=1).head(n)"
        )
    return float(fraction)


def random_ints(node: PlannerNode, seed: int) -> PlannerNode:
    """Return a column of distinct pseudo-random 64-bit ints, one for each row."""
    return apply_function("hash", row_number(node), parameters=(seed,))


def drawn(node: PlannerNode, fraction: float, seed: int) -> tuple[PlannerNode, PlannerNode]:
    """Return two parts of the rows, both in order: those drawn, each with probability ``fraction`` independently of the others, and the rest."""
    if fraction in (0.0, 1.0):
        every, none = slice_rows(node, 0, None), slice_rows(node, 0, 0)
        return (every, none) if fraction else (none, every)
    is_drawn = apply_function("drawn", row_number(node), parameters=(seed, fraction))
    is_left = apply_function("equal", is_drawn, Literal(0, INT))
    return filter_by_mask(node, is_drawn), filter_by_mask(node, is_left)


def split_exactly(node: PlannerNode, fraction: float, seed: int) -> tuple[PlannerNode, PlannerNode]:
    """Return two random parts of the rows, both in order: as many as ``exact_count`` gives for ``fraction``, and the rest."""
    count, width = exact_count(row_count(node), fraction), node.facts.width
    shuffled = sort_rows(zip_columns(node, row_number(node), random_ints(node, seed)), [(width + 1, True)])
    parts = slice_rows(shuffled, 0, count), slice_rows(shuffled, count, None)
    first, second = (project(sort_rows(part, [(width, True)]), list(range(width))) for part in parts)
    return first, second


def exact_count(rows: int, fraction: float) -> int:
    """Return the number of rows that a fraction amounts to, rounded down after multiplication of 32-bit floats as in Turi Create.

    Examples
    --------
    >>> exact_count(10, 0.25), exact_count(100, 0.29), int(100 * 0.29)
    (2, 29, 28)
    """
    return min(rows, int(np.float32(fraction) * np.float32(rows)))


def split(node: PlannerNode, fraction: Any, seed: int, exact: bool) -> tuple[PlannerNode, PlannerNode]:
    """Return two random parts of the rows, both in order; ``exact`` fixes the size of the first, else each row is drawn independently.

    Raises
    ------
    SchemaError, InvalidArgumentError
        If ``fraction`` is not a number between 0 and 1.
    """
    share = require_fraction(fraction)
    return split_exactly(node, share, seed) if exact else drawn(node, share, seed)


def shuffled(node: PlannerNode, seed: int) -> PlannerNode:
    """Return all rows in a random order."""
    width = node.facts.width
    return project(sort_rows(zip_columns(node, random_ints(node, seed)), [(width, True)]), list(range(width)))
