"""Rows in several pieces are read as if they were in one."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from sframe_spark.operators.sources.in_memory import MemorySource
from sframe_spark.planner import chunk as pieces
from sframe_spark.planner.chunk import MIN_CHUNK_ROWS, Chunk, ChunkedRows, coalesce_chunks, compacted, concatenate
from sframe_spark.types import INT, STR

SCHEMA = (INT, STR)
LENGTHS = st.lists(st.integers(0, 4), max_size=7)


def chunks_of(lengths: list[int]) -> list[Chunk]:
    """Consecutive numbers, and a text beside each, some missing."""
    found, first = [], 0
    for length in lengths:
        numbers = list(range(first, first + length))
        texts = pa.array([None if number % 3 == 1 else "é" * (number % 4) for number in numbers], pa.string())
        found.append(Chunk.of([pa.array(numbers, pa.int64()), texts]))
        first += length
    return found


def rows(chunk: Chunk) -> list[tuple[object, ...]]:
    return list(zip(*[column.to_pylist() for column in chunk.columns], strict=True))


@given(LENGTHS, st.integers(1, 9), st.integers(-2, 30), st.integers(-2, 30))
def test_any_rows_are_those_of_one_chunk(lengths: list[int], few: int, start: int, stop: int) -> None:
    whole = concatenate(chunks_of(lengths), SCHEMA)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "MIN_CHUNK_ROWS", few)
        held = coalesce_chunks(chunks_of(lengths), SCHEMA)
    assert held.rows == whole.rows and held.types == whole.types
    assert rows(held.between(start, stop)) == rows(whole.slice(start, stop))
    assert rows(held.between(start, stop, [1])) == rows(whole.slice(start, stop).select([1]))
    parts = list(held.chunks_between(start, stop, [1, 0]))
    assert [row for part in parts for row in rows(part)] == rows(whole.slice(start, stop).select([1, 0]))
    first, last = max(0, start), max(0, start, min(stop, whole.rows))
    assert held.column(1, first, last).to_pylist() == whole.column(1, first, last).to_pylist()


@given(LENGTHS.filter(lambda lengths: sum(map(bool, lengths)) > 1), st.integers(0, 30), st.integers(1, 30))
def test_a_batch_ends_behind_a_piece_and_is_never_empty(lengths: list[int], start: int, more: int) -> None:
    held = ChunkedRows(tuple(chunk for chunk in chunks_of(lengths) if chunk.rows))
    start = min(start, held.rows - 1)
    stop = min(start + more, held.rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "MIN_CHUNK_ROWS", 2)
        end = held.end_of_chunk(start, stop)
    assert start < end <= stop and (end == stop or end in held.starts)


@given(LENGTHS, st.data())
def test_a_source_of_pieces_tells_what_one_of_a_chunk_does(lengths: list[int], data: st.DataObject) -> None:
    whole = concatenate(chunks_of(lengths), SCHEMA)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "MIN_CHUNK_ROWS", 1)
        held = coalesce_chunks(chunks_of(lengths), SCHEMA)
    first = data.draw(st.integers(0, whole.rows))
    last = data.draw(st.integers(first, whole.rows))
    one, other = (MemorySource.of(rows_held, SCHEMA).rows_between(first, last).with_columns([1, 0]) for rows_held in (whole, held))
    assert one.statistics() == other.statistics()
    assert one.column_sizes((), (), (STR, INT))[1] == other.column_sizes((), (), (STR, INT))[1]
    assert rows(one.read_all()) == rows(other.read_all()) == [row for part in other.read_batches() for row in rows(part)]
    assert rows(one.read(1, 3)) == rows(other.read(1, 3))
    assert rows(concatenate(other.held.chunks_between(0, last, [0, 1]), (STR, INT))) == rows(one.read_all())


def test_rows_without_columns_are_counted() -> None:
    held = coalesce_chunks([Chunk((), MIN_CHUNK_ROWS + 1), Chunk((), MIN_CHUNK_ROWS + 2), Chunk((), 0)], ())
    assert (
        isinstance(held, ChunkedRows) and held.rows == 2 * MIN_CHUNK_ROWS + 3 and held.between(5, 2 * MIN_CHUNK_ROWS).rows == 2 * MIN_CHUNK_ROWS - 5
    )


def test_long_pieces_stay_and_short_ones_are_put_together() -> None:
    lengths = [MIN_CHUNK_ROWS, 5, 0, 7, 2 * MIN_CHUNK_ROWS, 1]
    held = coalesce_chunks([Chunk.of([pa.array(range(length))]) for length in lengths], (INT,))
    assert isinstance(held, ChunkedRows) and [chunk.rows for chunk in held.chunks] == [MIN_CHUNK_ROWS + 12, 2 * MIN_CHUNK_ROWS, 1]


def test_a_piece_lets_go_of_long_arrays_that_it_is_a_part_of() -> None:
    long = pa.array(range(10 * MIN_CHUNK_ROWS))
    few = compacted(Chunk.of([long.slice(10, 20)]))
    assert few.columns[0].get_total_buffer_size() < 1_000 and few.columns[0].to_pylist() == list(range(10, 30))
    most = Chunk.of([long.slice(0, 9 * MIN_CHUNK_ROWS)])
    assert compacted(most) is most
