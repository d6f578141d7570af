"""Parquet files whose columns are called another type than pyarrow calls them: types of other programs, and types that nobody knows yet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sframe_spark.storage.parquet.thrift import Struct, Value, read_struct, write_struct

TRUE, INT32, BINARY, STRUCT = 1, 5, 8, 12
CONVERTED, SCALE, PRECISION, LOGICAL = 6, 7, 8, 10


def number(value: int) -> Value:
    return Value(INT32, value)


def union(member: int, inner: Struct | None = None) -> Value:
    """A union of Thrift's, of which one member is there."""
    return Value(STRUCT, {member: Value(STRUCT, inner or {})})


def annotate(path: Path, name: str, fields: Struct) -> Path:
    """Call the elements of a name in the schema of a file otherwise."""
    content = path.read_bytes()
    length = int.from_bytes(content[-8:-4], "little")
    footer, _ = read_struct(content[-8 - length : -8])
    for element in footer[2].content[1]:
        if element[4].content == name.encode():
            for field in (CONVERTED, SCALE, PRECISION, LOGICAL):
                element.pop(field, None)
            element.update(fields)
    written = write_struct(footer)
    path.write_bytes(content[: -8 - length] + written + len(written).to_bytes(4, "little") + content[-4:])
    return path


def annotated(path: Path, values: pa.Array, fields: Struct, nested: str = "column") -> Path:
    """A file with a column ``x`` of values that are called another type, or with such a part in a list, a struct or a map."""
    shapes: dict[str, Any] = {
        "column": lambda: values,
        "list": lambda: pa.ListArray.from_arrays(range(len(values) + 1), values),
        "struct": lambda: pa.StructArray.from_arrays([pa.array(range(len(values))), values], ["i", "v"]),
        "map": lambda: pa.MapArray.from_arrays(range(len(values) + 1), pa.array(["k"] * len(values)), values),
        "deep": lambda: pa.StructArray.from_arrays([pa.ListArray.from_arrays(range(len(values) + 1), values)], ["v"]),
    }
    table = pa.table({"before": pa.array([[1]] * len(values)), "x": shapes[nested](), "after": pa.array(range(len(values)))})
    pq.write_table(table, path, store_schema=False)
    names = {"column": "x", "list": "element", "struct": "v", "map": "value", "deep": "element"}
    if nested in ("list", "deep"):
        # The elements of the first column are called the same.
        pq.write_table(table.drop_columns("before"), path, store_schema=False)
    return annotate(path, names[nested], fields)


def element(name: str, repetition: int = 1, *, physical: int | None = None, children: int = 0, converted: int | None = None) -> Struct:
    """An element of a schema; repetition is 0 where it must be there, 1 where it may be missing, 2 where it is repeated."""
    known = {1: physical, 3: repetition, 5: children or None, CONVERTED: converted}
    return {4: Value(BINARY, name.encode()), **{field: number(value) for field, value in known.items() if value is not None}}


def without_rows(path: Path, *elements: Struct) -> Path:
    """A file without rows that has a schema, of one column and its parts."""
    row = element("schema", 0, children=1)
    footer = write_struct({1: number(2), 2: Value(9, (STRUCT, [row, *elements])), 3: Value(6, 0), 4: Value(9, (STRUCT, []))})
    path.write_bytes(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    return path
