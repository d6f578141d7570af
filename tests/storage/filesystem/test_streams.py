"""Lines of a stream between places: each is in one part, and whole; files are divided into parts that are all of them."""

from __future__ import annotations

import io
from itertools import pairwise

import pytest
from hypothesis import given, settings, strategies as st

from sframe_spark.storage.filesystem import external_file_streams_and_line_ranges as external_byte_streams
from sframe_spark.storage.filesystem.external_file_streams_and_line_ranges import FileRange, WholeLines, divided
from sframe_spark.storage.filesystem.local_files import FileState
from tests.examples import examples


def read_all(lines: WholeLines, size: int) -> bytes:
    found = b""
    while data := lines.read(size):
        found += data
    return found


@settings(max_examples=examples(500), deadline=None)
@given(st.lists(st.sampled_from([b"\n", b"a", b"bcdefgh", b"\r\n"])).map(b"".join), st.sets(st.integers(1, 60)), st.integers(1, 9), st.integers(1, 9))
def test_each_line_is_in_the_part_in_which_it_starts(content: bytes, cuts: set[int], size: int, behind: int) -> None:
    edges = [0, *sorted(cut for cut in cuts if cut < len(content)), None]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(external_byte_streams, "BEHIND_BYTES", behind)
        for start, stop in pairwise(edges):
            assert start is not None
            found = read_all(WholeLines(io.BytesIO(content[max(0, start - 1) :]), start, stop), size)
            begins = [0, *(place + 1 for place, byte in enumerate(content) if byte == ord("\n"))]
            own = [place for place in begins if start <= place < (len(content) if stop is None else stop)]
            ends = [content.find(b"\n", place) for place in own]
            assert found == b"".join(content[place : len(content) if end < 0 else end + 1] for place, end in zip(own, ends, strict=True))


@given(st.lists(st.tuples(st.integers(0, 100), st.booleans()), max_size=20), st.integers(1, 50))
def test_parts_are_all_bytes_in_order(files: list[tuple[int, bool]], size: int) -> None:
    whole = [FileRange(f"mine://{number}", FileState(length, 0, 0, 0), number) for number, (length, _) in enumerate(files)]
    parts = divided(whole, size, lambda file: files[file.number][1])
    assert all(len(places) == 1 or not any(place.is_part for place in places) for places in parts)
    reached: dict[int, list[tuple[int, int | None]]] = {}
    for places in parts:
        for place in places:
            reached.setdefault(place.number, []).append((place.start, place.stop))
            assert place.is_line == (place.start == 0)
    assert list(reached) == list(range(len(files)))
    for number, ranges in reached.items():
        assert ranges[0][0] == 0 and ranges[-1][1] is None
        assert [stop for _, stop in ranges[:-1]] == [start for start, _ in ranges[1:]]
        assert files[number][1] or len(ranges) == 1
        assert all(0 < (files[number][0] if stop is None else stop) - start <= 2 * size for start, stop in ranges if len(ranges) > 1)
