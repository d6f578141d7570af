"""Columns of Arrow's newer layouts come in through every door as the values that they are, however many bytes their texts have."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from sframe_spark import SArray, SFrame, SFrameBuilder
from sframe_spark.operators.sources import in_memory
from sframe_spark.planner import chunk
from sframe_spark.values import arrow_layouts

TEXTS = ["a", None, "twelve bytes or more", "b", "", "e" * 20]


class Stream:
    """What has Arrow's stream interface and nothing else."""

    def __init__(self, held: Any) -> None:
        self._held = held

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._held.__arrow_c_stream__(requested_schema)


class Array:
    """What has Arrow's interface of one array and nothing else."""

    def __init__(self, held: Any) -> None:
        self._held = held

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        return self._held.__arrow_c_array__(requested_schema)


def _feather(table: pa.Table) -> pa.Table:
    file = io.BytesIO()
    pa.feather.write_feather(table, file)
    return pa.feather.read_table(io.BytesIO(file.getvalue()))


DOORS: dict[str, Callable[[pa.Array], SArray]] = {
    "table": lambda values: SFrame(pa.table({"x": values}))["x"],
    "batch": lambda values: SFrame(pa.record_batch({"x": values}))["x"],
    "reader": lambda values: SFrame(pa.table({"x": values}).to_reader())["x"],
    "stream": lambda values: SFrame(Stream(pa.table({"x": values})))["x"],
    "array interface": lambda values: SFrame(Array(pa.record_batch({"x": values})))["x"],
    "column": SArray,
    "chunks": lambda values: SArray(pa.chunked_array([values.slice(0, 2), values.slice(0, 0), values.slice(2)])),
    "stream of a column": lambda values: SArray(Stream(pa.chunked_array([values]))),
    "array of a column": lambda values: SArray(Array(values)),
    "dict": lambda values: SFrame({"x": values})["x"],
    "assigned": lambda values: _assigned(values),
    "feather": lambda values: SFrame(_feather(pa.table({"x": values})))["x"],
}


def _assigned(values: pa.Array) -> SArray:
    frame = SFrame({"row": range(len(values))})
    frame["x"] = values
    return frame["x"]


def _list_view(items: pa.Array) -> pa.Array:
    starts, sizes = pa.array([3, 0, 1, 0], pa.int32()), pa.array([2, 3, 0, 1], pa.int32())
    return pa.ListViewArray.from_arrays(starts, sizes, items, mask=pa.array([False, False, False, True]))


def _batches(values: pa.Array) -> pa.Array:
    return pa.RunEndEncodedArray.from_arrays(pa.array(range(2, 2 * len(values) + 2, 2), pa.int16()), values).slice(1)


LAYOUTS: dict[str, pa.Array] = {
    "string view": pa.array(TEXTS, pa.string_view()),
    "binary view": pa.array([text and text.encode() for text in TEXTS], pa.binary_view()),
    "large string": pa.array(TEXTS, pa.large_string()).slice(1),
    "fixed-size binary": pa.array([b"abc", None, b"def"], pa.binary(3)),
    "list view": _list_view(pa.array([1, 2, 3, 4, 5])),
    "list view of views": _list_view(pa.array(["a", "b", "c" * 20, None, "e"], pa.string_view())),
    "large list view": pa.LargeListViewArray.from_arrays(pa.array([2, 0, 1]), pa.array([1, 3, 0]), pa.array([1, 2, 3])),
    "fixed-size list": pa.array([["a", "b"], None, ["c", None]], pa.list_(pa.string_view(), 2)),
    "dictionary": pa.DictionaryArray.from_arrays(pa.array([1, 0, None, 2, 1], pa.uint8()), pa.array(["x", None, "z"], pa.string_view())),
    "run ends": _batches(pa.array(TEXTS, pa.string_view())),
    "run ends of lists": _batches(_list_view(pa.array([1, 2, 3, 4, 5]))),
    "struct": pa.StructArray.from_arrays([pa.array(TEXTS, pa.string_view()), pa.array(TEXTS, pa.large_string())], ["a", "b"]).slice(2),
    "struct of list views": pa.StructArray.from_arrays([_list_view(pa.array(["a", "b", "c", "d", "e"])), pa.array([1, 2, 3, 4])], ["a", "b"]),
    "map": pa.MapArray.from_arrays(pa.array([0, 2, 2, 3], pa.int32()), pa.array(["k", "l", "k"], pa.string_view()), pa.array([1, 2, 3])),
}


def _shown(values: pa.Array) -> list[Any]:
    """The values by Arrow's own scalars, in the classes of columns."""
    cells = values.to_pylist()
    if pa.types.is_map(values.type):
        return [dict(cell) for cell in cells]
    return [cell.decode() if isinstance(cell, bytes) else cell for cell in cells]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_values_are_those_that_arrow_shows(layout: str, door: str) -> None:
    values = LAYOUTS[layout]
    if door == "feather" and "run ends" in layout:
        pytest.skip("Arrow writes none")
    assert list(DOORS[door](values)) == _shown(values)


@pytest.mark.parametrize("layout", ["string view", "list view of views", "large string", "struct"])
def test_layouts_that_parquet_files_remember(layout: str, tmp_path: Any) -> None:
    path = str(tmp_path / "rows.parquet")
    try:
        pq.write_table(pa.table({"x": LAYOUTS[layout]}), path)
    except pa.ArrowNotImplementedError:
        pytest.skip("Arrow writes none")
    assert list(SFrame.read_parquet(path)["x"]) == LAYOUTS[layout].to_pylist()


@pytest.fixture
def small_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if offsets ended at 40 bytes."""
    for module in (arrow_layouts, arrow_layouts):
        monkeypatch.setattr(module, "MAX_BYTES", 40)
    for module in (in_memory, chunk):
        monkeypatch.setattr(module, "MAX_BYTES_OF_ARRAY", 40)


@pytest.mark.usefixtures("small_arrays")
@pytest.mark.parametrize("layout", ["string view", "binary view", "large string", "dictionary", "run ends", "map", "list view of views", "struct"])
def test_more_texts_than_an_array_holds(layout: str) -> None:
    values = LAYOUTS[layout]
    column = pa.chunked_array([values, values, values.slice(1)])
    frame = SFrame(pa.table({"x": column, "row": pa.array(range(len(column)))}))
    cells = _shown(column)
    assert list(SArray(column)) == cells and list(frame) == [{"x": cell, "row": row} for row, cell in enumerate(cells)]
    assert [frame["x"][row] for row in range(len(cells))] == cells
    assert list(frame[frame["row"] > 2]["x"]) == cells[3:] and list(frame["x"][1:9:2]) == cells[1:9:2]


def test_dicts_and_lists_that_one_array_does_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if Arrow made arrays of one text each, as it makes several where texts have more than 2 GiB."""
    made = pa.array
    cells: list[Any] = [{"k": "a", "l": "b"}, None, {"k": "c"}, {}]

    def in_chunks(values: Any, kind: Any = None, **options: Any) -> Any:
        found = made(values, kind, **options)
        is_long = kind == pa.string() and len(found) > 2
        return pa.chunked_array([found.slice(0, 2), found.slice(2)]) if is_long else found

    monkeypatch.setattr(arrow_layouts.pa, "array", in_chunks)
    found = arrow_layouts.maps_of_dicts(cells, pa.map_(pa.string(), pa.string()))
    assert found.to_pylist() == [None if cell is None else list(cell.items()) for cell in cells]
    assert list(SArray(["a", "b", None, "c"])) == ["a", "b", None, "c"]
    assert list(SArray([{"k": "a", "l": [1, "x"]}, {"k": "b"}])) == [{"k": "a", "l": [1, "x"]}, {"k": "b"}]
    builder = SFrameBuilder([str, int], column_names=["t", "n"])
    builder.append_multiple([["a", 1], ["b", 2], ["c", 3]])
    assert list(builder.close()) == [{"t": "a", "n": 1}, {"t": "b", "n": 2}, {"t": "c", "n": 3}]


@pytest.mark.campaign
def test_views_of_more_than_4_gib() -> None:
    """Offsets of 32 bits would wrap around: rows would have the texts of others."""
    rows, size = 4_500, 1 << 20
    texts = [chr(97 + number) * size for number in range(7)]
    coded = pa.DictionaryArray.from_arrays(pa.array([row % 7 for row in range(rows)], pa.int8()), pa.array(texts, pa.string_view()))
    column = SArray(coded)
    assert [column[row][0] for row in range(0, rows, 100)] == [texts[row % 7][0] for row in range(0, rows, 100)]
    assert column.apply(len, int).sum() == rows * size
