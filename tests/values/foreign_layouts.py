"""Arrow arrays of every layout, nested in each other, sliced and chunked: built by hand, as Arrow's own builders make the tidy ones only."""

from __future__ import annotations

import uuid
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from tests.needs import has

TEXTS = st.text(max_size=15) | st.sampled_from(["", "inside view?", "longer than twelve bytes: in a buffer"])
LEAVES: dict[str, Any] = {
    "int64": st.integers(-(2**63), 2**63 - 1),
    "double": st.floats(allow_nan=False, width=32),
    "bool": st.booleans(),
}
UUIDS = ["uuid"] if has("pyarrow>=18") else []
TEXT_TYPES = [pa.string(), pa.large_string(), pa.string_view()]
BINARY_TYPES = [pa.binary(), pa.large_binary(), pa.binary_view()]
INDEX_TYPES = [pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32(), pa.int64(), pa.uint64()]
RUN_END_TYPES = [pa.int16(), pa.int32(), pa.int64()]


@st.composite
def leaves(draw: Any) -> pa.Array:
    """An array without parts."""
    rows = draw(st.integers(0, 6))
    kind = draw(st.sampled_from(["text", "binary", "fixed binary", *UUIDS, "null", *LEAVES]))
    if kind == "null":
        return pa.nulls(rows)
    if kind == "text":
        return pa.array(draw(_cells(TEXTS, rows)), draw(st.sampled_from(TEXT_TYPES)))
    if kind == "binary":
        return pa.array([cell and cell.encode() for cell in draw(_cells(TEXTS, rows))], draw(st.sampled_from(BINARY_TYPES)))
    if kind == "fixed binary":
        return pa.array(draw(_cells(st.binary(min_size=3, max_size=3), rows)), pa.binary(3))
    if kind == "uuid":
        return pa.array([cell and cell.bytes for cell in draw(_cells(st.uuids(), rows))], pa.uuid())
    return pa.array(draw(_cells(LEAVES[kind], rows)), getattr(pa, {"int64": "int64", "double": "float64", "bool": "bool_"}[kind])())


def _cells(values: Any, rows: int) -> Any:
    return st.lists(st.none() | values, min_size=rows, max_size=rows)


@st.composite
def _missing(draw: Any, rows: int) -> pa.Array:
    return pa.array(draw(st.lists(st.booleans(), min_size=rows, max_size=rows)), pa.bool_())


@st.composite
def _sliced(draw: Any, arrays: Any) -> pa.Array:
    values = draw(arrays)
    start = draw(st.integers(0, len(values)))
    return values.slice(start, draw(st.integers(0, len(values) - start)))


@st.composite
def _lists(draw: Any, items: Any) -> pa.Array:
    """Lists with offsets; missing ones may have items too."""
    inside = draw(items)
    rows = draw(st.integers(0, 5))
    cuts = sorted(draw(st.lists(st.integers(0, len(inside)), min_size=rows + 1, max_size=rows + 1)))
    mask = draw(_missing(rows))
    make = draw(st.sampled_from([pa.ListArray, pa.LargeListArray]))
    return make.from_arrays(pa.array(cuts, pa.int32() if make is pa.ListArray else pa.int64()), inside, mask=mask if rows else None)


@st.composite
def _list_views(draw: Any, items: Any) -> pa.Array:
    """Lists in any order, which overlap and leave items out."""
    inside = draw(items)
    rows = draw(st.integers(0, 5))
    starts = draw(st.lists(st.integers(0, len(inside)), min_size=rows, max_size=rows))
    sizes = [draw(st.integers(0, len(inside) - start)) for start in starts]
    make, kind = draw(st.sampled_from([(pa.ListViewArray, pa.int32()), (pa.LargeListViewArray, pa.int64())]))
    return make.from_arrays(pa.array(starts, kind), pa.array(sizes, kind), inside, mask=draw(_missing(rows)) if rows else None)


@st.composite
def _fixed_size_lists(draw: Any, items: Any) -> pa.Array:
    inside = draw(items)
    width = draw(st.integers(1, 3))
    rows = len(inside) // width
    return pa.FixedSizeListArray.from_arrays(inside.slice(0, rows * width), width, mask=draw(_missing(rows)) if rows else None)


@st.composite
def _structs(draw: Any, items: Any) -> pa.Array:
    first, second = draw(items), draw(items)
    rows = min(len(first), len(second))
    fields = [first.slice(0, rows), second.slice(len(second) - rows)]
    made = [pa.field("a", fields[0].type), pa.field("b", fields[1].type)]
    return pa.StructArray.from_arrays(fields, fields=made, mask=draw(_missing(rows)) if rows else None)


@st.composite
def _maps(draw: Any, items: Any) -> pa.Array:
    inside = draw(items)
    keys = pa.array([f"key {place}" for place in range(len(inside))], draw(st.sampled_from(TEXT_TYPES)))
    rows = draw(st.integers(0, 4))
    cuts = sorted(draw(st.lists(st.integers(0, len(inside)), min_size=rows + 1, max_size=rows + 1)))
    return pa.MapArray.from_arrays(pa.array(cuts, pa.int32()), keys, inside)


@st.composite
def _dictionaries(draw: Any, items: Any) -> pa.Array:
    """Entries may be missing, unused and repeated."""
    inside = draw(items.filter(lambda found: not _has_extension(found.type)))
    index = st.none() | st.integers(0, len(inside) - 1) if len(inside) else st.none()
    indices = pa.array(draw(st.lists(index, max_size=8)), draw(st.sampled_from(INDEX_TYPES)))
    return pa.DictionaryArray.from_arrays(indices, inside)


def _has_extension(data_type: pa.DataType) -> bool:
    """True for what Arrow itself aborts the process over in a dictionary."""
    parts = [data_type.field(place).type for place in range(data_type.num_fields)]
    if pa.types.is_dictionary(data_type) or pa.types.is_run_end_encoded(data_type):
        parts.append(data_type.value_type)
    return isinstance(data_type, pa.BaseExtensionType) or any(map(_has_extension, parts))


@st.composite
def _runs(draw: Any, items: Any) -> pa.Array:
    inside = draw(items)
    lengths = draw(st.lists(st.integers(1, 3), min_size=len(inside), max_size=len(inside)))
    return pa.RunEndEncodedArray.from_arrays(pa.array(np.cumsum(lengths), draw(st.sampled_from(RUN_END_TYPES))), inside)


def _nested(items: Any) -> Any:
    made = (_lists, _list_views, _fixed_size_lists, _structs, _maps, _dictionaries, _runs)
    return st.one_of(*[_sliced(make(items)) for make in made])


def foreign_arrays() -> Any:
    """Arrays of all layouts, at most a few deep."""
    return st.recursive(_sliced(leaves()), _nested, max_leaves=4)


def expected(values: pa.Array) -> list[Any]:
    """The values by Arrow's own scalars, one by one, and UUIDs as their texts."""
    return [_shown(cell) for cell in values.to_pylist()]


def _shown(cell: Any) -> Any:
    if isinstance(cell, uuid.UUID):
        return str(cell)
    if isinstance(cell, list):
        return [_shown(item) for item in cell]
    if isinstance(cell, tuple):
        return tuple(_shown(item) for item in cell)
    return {key: _shown(item) for key, item in cell.items()} if isinstance(cell, dict) else cell
