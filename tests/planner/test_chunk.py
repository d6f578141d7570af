"""Chunks: rows as Arrow arrays, with their number kept when there is no column."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from sframe_spark.errors import TooLargeError
from sframe_spark.planner.chunk import Chunk, column_names, combine, concatenate, joined
from sframe_spark.types import INT, STR

TWO = Chunk.of([pa.array([1, 2, 3, 4]), pa.array(["a", None, "c", "d"])])


def rows(chunk: Chunk) -> list[tuple[object, ...]]:
    """The rows of a chunk that has columns."""
    return list(zip(*[column.to_pylist() for column in chunk.columns], strict=True))


def test_a_chunk_has_as_many_rows_as_its_columns() -> None:
    assert TWO.rows == 4
    assert Chunk((), 7).rows == 7


@pytest.mark.parametrize(("start", "stop", "wanted"), [(0, 4, 4), (1, 3, 2), (-2, 9, 4), (3, 1, 0), (9, 12, 0), (4, 4, 0)])
def test_slices_are_clipped_to_the_rows_there_are(start: int, stop: int, wanted: int) -> None:
    part = TWO.slice(start, stop)
    assert part.rows == wanted == len(part.columns[0])
    assert Chunk((), 4).slice(start, stop).rows == wanted


def test_the_slice_of_all_rows_is_the_chunk() -> None:
    assert TWO.slice(0, 4) is TWO


def test_columns_are_selected_by_position_and_may_repeat() -> None:
    assert rows(TWO.select([1, 0, 1]))[0] == ("a", 1, "a")
    assert TWO.select([]).rows == 4


def test_masks_take_rows_that_are_true() -> None:
    mask = pa.array([True, None, False, True])
    assert rows(TWO.take(mask)) == [(1, "a"), (4, "d")]
    assert Chunk((), 4).take(mask).rows == 2


def test_tables_and_back() -> None:
    table = TWO.to_table()
    assert table.column_names == column_names(2) == ["c0", "c1"]
    assert rows(Chunk.from_table(pa.concat_tables([table, table]))) == rows(TWO) * 2


def test_empty_chunks_have_the_physical_types() -> None:
    empty = Chunk.empty((INT, STR))
    assert empty.rows == 0
    assert [column.type for column in empty.columns] == [INT.physical, STR.physical]


def test_chunks_are_concatenated_in_order() -> None:
    assert rows(concatenate([TWO.slice(2, 4), TWO.slice(1, 1), TWO.slice(0, 2)], (INT, STR))) == [*rows(TWO)[2:], *rows(TWO)[:2]]
    assert concatenate([], (INT, STR)).rows == 0
    assert concatenate([Chunk((), 2), Chunk((), 3)], ()).rows == 5
    assert concatenate([TWO, Chunk.empty((INT, STR))], (INT, STR)) is TWO


def test_columns_become_contiguous() -> None:
    array = pa.array([1, 2])
    assert combine(array) is array
    assert combine(pa.chunked_array([[1], [2, 3]])).to_pylist() == [1, 2, 3]
    assert combine(pa.chunked_array([], pa.string())).type == pa.string()


def test_texts_that_no_array_holds_are_told(tmp_path: Path) -> None:
    """Of a file with a hole, so that nobody needs the memory."""
    with (tmp_path / "hole").open("wb") as file:
        file.truncate(3 << 29)
    with pa.memory_map(str(tmp_path / "hole")) as file:
        offsets = pa.py_buffer(np.array([0, 3 << 29], dtype=np.int32).tobytes())
        long = Chunk.of([pa.StringArray.from_buffers(1, offsets, file.read_buffer())])
        for bring in (lambda: concatenate([long, long], (STR,)), lambda: joined(long, long)):
            with pytest.raises(TooLargeError, match=r"3.0 GiB of a column.*2 GiB.*slice"):
                bring()
