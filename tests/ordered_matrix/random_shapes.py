"""Random shapes: keys with ties, missing values, NaN of several bits, both zeros, one instant at several offsets, ints beyond floats."""

from __future__ import annotations

import datetime
import math
import random
import struct
from typing import Any

from sframe_spark.testing.oracle_functions import rank
from sframe_spark.types import DATETIME, FLOAT, INT, ZONED_DATETIME, ColumnType
from tests.ordered_matrix.shapes import FIRST_DAY, HOUR, Rows, Shape

OTHER_NAN = struct.unpack("d", struct.pack("Q", 0xFFF8000000000001))[0]
GROUPS = ["a", "\u00e9", "e\u0301", "", " ", None]
FLOATS = [-1.5, -0.0, 0.0, 0.25, 2.0, None, math.nan, OTHER_NAN]
INTS = [-2, 0, 1, 5, None, 2**31]
FIRSTS: dict[ColumnType, list[Any]] = {
    INT: [0, -5, 2**53, -(2**53) - 3, 2**62],
    FLOAT: [0.0, -2.0],
    DATETIME: [FIRST_DAY, datetime.datetime(1, 1, 3), datetime.datetime(1969, 12, 31, 20)],
    ZONED_DATETIME: [FIRST_DAY.replace(tzinfo=datetime.UTC), datetime.datetime(1969, 12, 31, 20, tzinfo=datetime.UTC)],
}
UNITS: dict[ColumnType, Any] = {INT: 1, FLOAT: 0.5, DATETIME: HOUR, ZONED_DATETIME: HOUR}


def random_keys(choose: random.Random, kind: ColumnType, first: Any) -> list[Any]:
    """Keys of one kind in one of several orders."""
    reach, count = choose.choice([1, 4, 12, 40]), choose.choice([0, 1, 2, 5, 9, 16, 24])
    keys = [first + choose.randint(0, reach) * UNITS[kind] for _ in range(count)]
    if kind == ZONED_DATETIME:
        keys = [key.astimezone(datetime.timezone(datetime.timedelta(hours=choose.choice([-9, 0, 2, 5])))) for key in keys]
    strange = [None, *([math.nan, OTHER_NAN, math.inf, -math.inf, -0.0, 0.0] if kind == FLOAT else [])]
    keys = [choose.choice(strange) if choose.random() < choose.choice([0.0, 0.2]) else key for key in keys]
    order = choose.choice(["none", "up", "down", "nearly"])
    if order != "none":
        keys.sort(key=rank, reverse=order == "down")
    if order == "nearly" and len(keys) > 2:
        keys[0], keys[-1] = keys[-1], keys[0]
    return keys


def random_rows(choose: random.Random, keys: list[Any]) -> Rows:
    """Rows with these keys."""
    groups = choose.sample(GROUPS, choose.randint(1, 4))
    return [{"t": key, "k": choose.choice(groups), "v": choose.choice(FLOATS), "w": choose.choice(INTS), "n": n} for n, key in enumerate(keys)]


def random_shape(choose: random.Random, name: str) -> Shape:
    """A shape in up to five segments."""
    kind = choose.choice([INT, INT, FLOAT, DATETIME, ZONED_DATETIME])
    first = choose.choice(FIRSTS[kind])
    rows, others = (random_rows(choose, random_keys(choose, kind, first)) for _ in range(2))
    bounds = sorted(choose.randint(0, len(rows)) for _ in range(choose.randint(0, 4)))
    cuts = tuple(stop - start for start, stop in zip([0, *bounds], [*bounds, len(rows)], strict=True))
    return Shape(name, kind, UNITS[kind], rows, others, cuts, first)
