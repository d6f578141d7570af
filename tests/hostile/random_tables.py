"""Random Arrow tables: any type that Arrow has, nested, with missing values, edges and odd names."""

from __future__ import annotations

import datetime
import decimal
import math
import random
from typing import Any

import pyarrow as pa

from tests.needs import has

MOMENT = datetime.datetime(2024, 2, 29, 12)
EDGES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "bool": (pa.bool_(), [True, False]),
    **{f"int{bits}": (getattr(pa, f"int{bits}")(), [0, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1]) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": (getattr(pa, f"uint{bits}")(), [0, 2**bits - 1]) for bits in (8, 16, 32, 64)},
    **{name: (kind, [0.5, math.nan, -math.inf]) for name, kind in (("half", pa.float16()), ("single", pa.float32()), ("double", pa.float64()))},
    "decimal": (pa.decimal128(38, 10), [decimal.Decimal("1.5"), decimal.Decimal(-1)]),
    "whole": (pa.decimal128(18, 0), [decimal.Decimal(10**17)]),
    "huge": (pa.decimal256(70, 0), [decimal.Decimal(10**60)]),
    "string": (pa.string(), ["", "ü\0", "a" * 50]),
    "large_string": (pa.large_string(), ["x"]),
    "view": (pa.string_view(), ["", "longer than twelve bytes"]),
    "binary": (pa.binary(), [b"", b"\xff\xfe", b"abc"]),
    "fixed": (pa.binary(3), [b"abc", b"\xff\0\0"]),
    "date32": (pa.date32(), [datetime.date(1, 1, 1), datetime.date(9999, 12, 31)]),
    "date64": (pa.date64(), [datetime.date(2024, 2, 29)]),
    "time32": (pa.time32("ms"), [datetime.time(23, 59, 59)]),
    "time64": (pa.time64("ns"), [datetime.time(0, 0, 0, 1)]),
    **{f"moment_{unit}": (pa.timestamp(unit), [MOMENT, datetime.datetime(1700, 1, 1)]) for unit in ("s", "ms", "us", "ns")},
    "far": (pa.timestamp("s"), [2**62, -(2**62)]),
    "zoned": (pa.timestamp("us", "Europe/Berlin"), [MOMENT]),
    "odd zone": (pa.timestamp("us", "+05:30"), [MOMENT]),
    "duration": (pa.duration("us"), [datetime.timedelta(days=1, microseconds=1)]),
    "interval": (pa.month_day_nano_interval(), [(1, 2, 3)]),
    "null": (pa.null(), [None]),
    "category": (pa.dictionary(pa.int8(), pa.string()), ["a", "b"]),
    **({"uuid": (pa.uuid(), [b"0123456789abcdef"])} if has("pyarrow>=18") else {}),
    **({"json": (pa.json_(), ['{"a": 1}', "[1]", "no json", "1"])} if has("pyarrow>=19") else {}),
}
NAMES = [
    "a",
    "b c",
    "",
    "X1",
    "c0",
    "_key",
    "ü",
    "a.b",
    "`a`",
    'quote"',
    "drop table",
    "\x1b[2J",
    "\u202e",
    "A",
    "row\n2",
    "%s",
    "{0}",
    "*",
    "n" * 300,
]


def random_type(pick: random.Random, levels: int = 3) -> pa.DataType:
    """A type with at most so many levels of lists, structs and maps."""
    choice = pick.random()
    if levels and choice < 0.3:
        return pick.choice([pa.list_, pa.large_list, lambda item: pa.list_(item, 2)])(random_type(pick, levels - 1))
    if levels and choice < 0.45:
        names = pick.sample(NAMES, pick.randint(0, 3))
        return pa.struct([pa.field(name, random_type(pick, levels - 1)) for name in names])
    if levels and choice < 0.55:
        return pa.map_(EDGES[pick.choice(["string", "int64", "double", "bool", "date32"])][0], random_type(pick, levels - 1))
    return EDGES[pick.choice(list(EDGES))][0]


def random_value(pick: random.Random, data_type: pa.DataType) -> Any:
    """A value of a type, or None."""
    if pick.random() < 0.25:
        return None
    if pa.types.is_struct(data_type):
        return {field.name: random_value(pick, field.type) for field in data_type}
    if pa.types.is_map(data_type):
        keys = {key: None for _ in range(pick.randint(0, 2)) if (key := random_value(pick, data_type.key_type)) is not None}
        return [(key, random_value(pick, data_type.item_type)) for key in keys]
    if pa.types.is_fixed_size_list(data_type):
        return [random_value(pick, data_type.value_type) for _ in range(data_type.list_size)]
    if pa.types.is_list(data_type) or pa.types.is_large_list(data_type):
        return [random_value(pick, data_type.value_type) for _ in range(pick.randint(0, 3))]
    return pick.choice(next(values for kind, values in EDGES.values() if kind == data_type))


def random_table(seed: int) -> pa.Table:
    """A table of one to four columns and zero to five rows; what pyarrow itself does not make is made again."""
    pick = random.Random(seed)
    while True:
        names = pick.sample(NAMES, pick.randint(1, 4))
        rows = pick.choice([0, 1, 3, 5])
        types = [random_type(pick) for _ in names]
        try:
            columns = [column_of([random_value(pick, data_type) for _ in range(rows)], data_type) for data_type in types]
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            continue
        return pa.table(columns, names=names)


def column_of(values: list[Any], data_type: pa.DataType) -> pa.Array:
    """The values as an array; of extensions only whole columns are made."""
    if isinstance(data_type, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(data_type, pa.array(values, data_type.storage_type))
    return pa.array(values, data_type)
