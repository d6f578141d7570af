"""Objects of JSON whose members are numbers and texts, by Arrow's own reader as far as it is sure that it finds in them what Python's finds.

Arrow takes two objects on a line for two, NaN for a number, and ends the process at a value that is no object: so the form of lines is looked at
first, and its numbers afterwards. What it refuses, and what is unsure, is read otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pjson

from sframe_spark.api.io.json.object_columns import CLOSING, MANY_COLUMNS, OPENING, JsonColumn
from sframe_spark.types import FLOAT, INT, STR

# Up to it floats hold all ints: of larger numbers it matters how they are written.
EXACT = 2.0**53
# The bits of a negative zero, as an int.
MINUS_ZERO = -(2**63)
TYPES: dict[frozenset[str], pa.DataType] = {
    frozenset(): pa.null(),
    frozenset({"int"}): pa.int64(),
    frozenset({"float"}): pa.float64(),
    frozenset({"int", "float"}): pa.float64(),
    frozenset({"str"}): pa.string(),
}
LINE_FEED = 10
# Of fewer, with many columns, Python reads the values sooner than a column is made of each name.
FEW_ROWS = 16
_COMMA = re.compile(rb"[ \t\r\n]*,[ \t\r\n]*")


@attrs.frozen(eq=False)
class PlainMembers:
    """The members of objects, by name.

    Parameters
    ----------
    counts
        A number for each object.
    names
        The names.
    columns
        The values of each.
    """

    counts: np.ndarray
    names: list[str]
    columns: Mapping[str, JsonColumn]
    objects: None = None
    is_sparse: bool = False

    @property
    def places(self) -> Mapping[str, JsonColumn]:
        """The names, to look one up."""
        return self.columns

    def column(self, name: str) -> JsonColumn:
        """The values of a name in each row."""
        return self.columns[name]


def plain_members(text: str, known: Mapping[str, pa.DataType], on_lines: bool) -> PlainMembers | None:
    """The members of the objects in a text, one on each line or with commas between, of types that are known; None where that is not sure.

    Examples
    --------
    >>> found = plain_members('{"a":1,"b":"x"}\\n{"a":2}\\n', {"a": pa.int64(), "b": pa.string()}, on_lines=True)
    >>> found.column("a").by_type[INT].to_pylist(), found.column("b").by_type[STR].to_pylist()
    ([1, 2], ['x', None])
    >>> plain_members('{"a":1.5}', {"a": pa.int64()}, on_lines=True)
    """
    data = text.rstrip(" \t\r\n").encode()
    between = _between(data, on_lines) if known else None
    rows = None if between is None else _rows_apart(np.frombuffer(data, np.uint8), np.frombuffer(between, np.uint8))
    if rows is None or between is None or (rows < FEW_ROWS and len(known) > MANY_COLUMNS):
        return None
    try:
        table = pjson.read_json(
            pa.BufferReader(data if on_lines else data.replace(b"}" + between + b"{", b"}\n{")),
            pjson.ReadOptions(use_threads=False, block_size=len(data) + 1),
            pjson.ParseOptions(explicit_schema=pa.schema(list(known.items())), unexpected_field_behavior="error"),
        )
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    columns = {name: _column(table[name]) for name in known}
    found = {name: column for name, column in columns.items() if column is not None}
    return PlainMembers(np.zeros(rows, np.int8), list(known), found) if table.num_rows == rows and len(found) == len(columns) else None


def _between(data: bytes, on_lines: bool) -> bytes | None:
    """What is between the first two objects."""
    match = None if on_lines else _COMMA.match(data, data.find(b"}") + 1)
    return b"\n" if on_lines else match.group() if match is not None else None


def _rows_apart(data: np.ndarray, between: np.ndarray) -> int | None:
    """How many objects there are, one at least, if each holds no other one, begins where one ends, and no end of a line is in it; else None.

    Where texts look like that, there are ends of lines in these, which Arrow refuses, or fewer objects.
    """
    opening, closing = np.flatnonzero(data == OPENING), np.flatnonzero(data == CLOSING)
    if not 0 < len(opening) == len(closing) or opening[0] != 0 or closing[-1] != len(data) - 1:
        return None
    behind, rows = closing[:-1] + 1, len(opening)
    if (opening[1:] != behind + len(between)).any() or any((data[behind + place] != byte).any() for place, byte in enumerate(between)):
        return None
    is_end = int(np.count_nonzero(between == LINE_FEED))
    return rows if np.count_nonzero(data == LINE_FEED) == is_end * (rows - 1) else None


def _column(values: pa.ChunkedArray) -> JsonColumn | None:
    """Values with their kinds; None where it matters how a number is written."""
    values = values.combine_chunks()
    if values.null_count == len(values):
        return JsonColumn(frozenset(), frozenset(), {})
    if pa.types.is_string(values.type):
        return JsonColumn(frozenset({"str"}), frozenset(), {STR: values})
    if pa.types.is_integer(values.type):
        limits = pc.min_max(values).as_py()
        if max(-limits["min"], limits["max"]) >= EXACT:
            return None
        return JsonColumn(frozenset({"int"}), frozenset(), {INT: values, FLOAT: values.cast(pa.float64())})
    # Not of NaN either. Python's -0 is an int, which has no sign.
    is_sure = pc.all(pc.less(pc.abs(values), EXACT)).as_py() and not pc.any(pc.equal(values.view(pa.int64()), MINUS_ZERO)).as_py()
    return JsonColumn(frozenset({"float"}), frozenset(), {FLOAT: values}) if is_sure else None
