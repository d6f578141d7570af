"""Short files joined in memory give the rows of the files, and nothing else: whatever is not as it was written is left to who reads file by file."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sframe_spark.errors import BrokenThrift, StorageError
from sframe_spark.storage.datasets.commit import publish, write_manifest
from sframe_spark.storage.datasets.content import damage_in
from sframe_spark.storage.datasets.load import load_manifest
from sframe_spark.storage.files.saved_places import MANIFEST_FILE
from sframe_spark.storage.manifests import stored_segments
from sframe_spark.storage.manifests.manifest import Manifest, SegmentEntry
from sframe_spark.storage.manifests.physical import PHYSICAL_TYPES, file_column
from sframe_spark.storage.manifests.stored_segments import is_file_of_segments
from sframe_spark.storage.parquet import joined_files
from sframe_spark.storage.parquet.checksums import sealed
from sframe_spark.storage.parquet.joined_files import joined_columns, may_join
from sframe_spark.storage.parquet.joined_footer import LARGEST_NUMBER, NUMBERS_OF_CHUNK, SharedFooter, numbers, numbers_of_chunks
from sframe_spark.storage.parquet.thrift import signed
from sframe_spark.storage.rows import joined_rows, writer
from sframe_spark.storage.rows.reader import intersecting, iterate_rows, read_rows, segment_batches
from sframe_spark.storage.rows.writer import write_segment
from sframe_spark.types import INT, STR
from tests.storage.damage import a_directory, cut, emptied, frame_of_every_type, lengthened, linked, new_identity, piped, removed

LENGTHS = (70, 1, 130, 40)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether files could be joined, each time that somebody tried."""
    found: list[bool] = []

    def counting(*arguments: Any) -> pa.Table | None:
        table = joined_columns(*arguments)
        found.append(table is not None)
        return table

    monkeypatch.setattr(joined_rows, "joined_columns", counting)
    monkeypatch.setattr(joined_rows, "LEAST_FILES", 2)
    return found


def written(directory: Path, lengths: tuple[int, ...] = LENGTHS) -> Manifest:
    """A dataset of columns of every type, of segments of so many rows each."""
    frame_of_every_type(sum(lengths)).save(str(directory / "one"))
    whole = load_manifest(directory / "one")
    table = read_rows(whole, range(len(whole.types)))
    (directory / "many").mkdir()
    entries, first = [], 0
    for number, rows in enumerate(lengths):
        columns = [column.combine_chunks() for column in table.slice(first, rows).columns]
        entries.append(write_segment(str(directory / "many"), number, whole.types, [columns]))
        first += rows
    return publish(str(directory / "many"), whole.types, entries, names=whole.names, durable=False)


def names_of(manifest: Manifest) -> list[str]:
    return list(map(file_column, range(len(manifest.types))))


def joined(manifest: Manifest) -> pa.Table | None:
    return joined_columns(manifest, manifest.segments, names_of(manifest))


def one_by_one(manifest: Manifest, columns: Sequence[int], low: int = 0, high: int | None = None) -> list[list[Any]]:
    """Rows as who reads file by file has them."""
    parts = [list(segment_batches(manifest, entry, tuple(columns), first, last, None)) for entry, first, last in intersecting(manifest, low, high)]
    return [[value for batches in parts for batch in batches for value in batch[place].to_pylist()] for place in range(len(columns))]


def loaded(manifest: Manifest) -> Manifest:
    """The same from its directory, where the segments are in a file beside the manifest."""
    with mock.patch.object(stored_segments, "LEAST_CELLS", 1):
        write_manifest(manifest, durable=False)
    found = load_manifest(manifest.directory)
    assert found.stored is not None
    return found


def without_chunks(manifest: Manifest) -> Manifest:
    """The same as a manifest's text tells it, or one of before: nobody knows where chunks are."""
    return manifest.with_segments(tuple(attrs.evolve(entry, chunks=None) for entry in manifest.segments))


def some_without_chunks(manifest: Manifest) -> Manifest:
    """The same where segments of before stand beside new ones."""
    return loaded(manifest.with_segments(tuple(attrs.evolve(entry, chunks=None) if entry.number % 2 else entry for entry in manifest.segments)))


FROM: dict[str, Callable[[Manifest], Manifest]] = {
    "written": lambda manifest: manifest,
    "loaded": loaded,
    "footers": without_chunks,
    "mixed": some_without_chunks,
}


@pytest.mark.parametrize("form", FROM)
@pytest.mark.parametrize("seed", range(3))
def test_rows_are_those_of_the_files(tmp_path: Path, seed: int, form: str, counted: list[bool]) -> None:
    choose = random.Random(f"{seed} {form}")
    manifest = FROM[form](written(tmp_path, tuple(choose.choices((1, 2, 50, 130), k=9))))
    assert {kind.physical for kind in manifest.types} >= {PHYSICAL_TYPES[name] for name in ("int64", "float64", "string", "timestamp")}
    for _ in range(12):
        low = choose.randrange(manifest.rows)
        high = choose.randrange(low + 1, manifest.rows + 1)
        columns = choose.choices(range(len(manifest.types)), k=choose.randrange(1, len(manifest.types) + 1))
        table = read_rows(manifest, columns, low, high)
        assert table.column_names == list(map(file_column, columns))
        assert [array.type for array in table.columns] == [manifest.types[column].physical for column in columns]
        expected = one_by_one(manifest, columns, low, high)
        assert [column.to_pylist() for column in table.columns] == expected
        step = choose.choice((1, 7, 1000))
        batches = list(iterate_rows(manifest, columns, low, high, batch_rows=step))
        assert max(len(batch[0]) for batch in batches) <= step
        assert [[value for batch in batches for value in batch[place].to_pylist()] for place in range(len(columns))] == expected
    assert any(counted) and all(counted)


@pytest.mark.parametrize("form", FROM)
def test_footers_are_parsed_only_where_nobody_tells_where_chunks_are(tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest, parsed = FROM[form](written(tmp_path)), list[Any]()

    def counting(*arguments: Any) -> list[int] | None:
        parsed.append(arguments)
        return numbers_of_chunks(*arguments)

    monkeypatch.setattr(joined_files, "numbers_of_chunks", counting)
    assert joined(manifest) is not None
    assert len(parsed) == (0 if form in ("written", "loaded") else len(LENGTHS))


def wrong_numbers(choose: random.Random, chunks: Sequence[int]) -> tuple[int, ...]:
    """Numbers of which one is another."""
    found = list(chunks)
    place = choose.randrange(len(found))
    found[place] = choose.choice((0, 1, found[place] + 1, max(found[place] - 1, 0), 1 << 31, choose.randrange(1 << 16)))
    return tuple(found)


def test_no_wrong_place_of_a_chunk_ends_the_process(tmp_path: Path) -> None:
    manifest, choose = written(tmp_path), random.Random(5)
    for _ in range(400):
        entries = list(manifest.segments)
        place = choose.randrange(len(entries))
        entries[place] = attrs.evolve(entries[place], chunks=wrong_numbers(choose, entries[place].chunks or ()))
        table = joined(manifest.with_segments(tuple(entries)))
        assert table is None or table.num_rows == manifest.rows


def test_damage_of_what_is_told_of_chunks_changes_no_rows(tmp_path: Path, counted: list[bool]) -> None:
    manifest = loaded(written(tmp_path))
    right = one_by_one(manifest, range(len(manifest.types)))
    (file,) = [file for file in (tmp_path / "many").iterdir() if is_file_of_segments(file.name)]
    content = file.read_bytes()
    choose = random.Random(11)
    for place in choose.sample(range(len(content)), 60):
        file.write_bytes(content[:place] + bytes([content[place] ^ 16]) + content[place + 1 :])
        try:
            again = load_manifest(manifest.directory)
        except StorageError:
            continue
        assert [column.to_pylist() for column in read_rows(again, range(len(again.types))).columns] == right
    assert True in counted and False in counted


def test_verifying_compares_where_chunks_are(tmp_path: Path) -> None:
    manifest = written(tmp_path)
    assert not damage_in(manifest) and not damage_in(some_without_chunks(manifest))
    wrong = tuple(attrs.evolve(entry, chunks=wrong_numbers(random.Random(entry.number), entry.chunks or ())) for entry in manifest.segments)
    assert "has its columns at other places than its manifest says" in str(damage_in(manifest.with_segments(wrong))[0])


def test_few_short_files_tell_nothing_of_chunks_in_the_text(tmp_path: Path) -> None:
    manifest = written(tmp_path)
    assert "chunks" not in (tmp_path / "many" / MANIFEST_FILE).read_text()
    assert all(entry.chunks is None for entry in load_manifest(manifest.directory).segments)
    assert all(len(entry.chunks or ()) % NUMBERS_OF_CHUNK == 0 for entry in manifest.segments)


def test_texts_with_and_without_dictionaries_are_joined(tmp_path: Path) -> None:
    parts = [[f"text {row}" for row in range(300)], ["same"] * 300, [None] * 300, [f"text {row % 3}" for row in range(300)]]
    entries = [write_segment(str(tmp_path), number, [STR], [[pa.array(part, pa.string())]]) for number, part in enumerate(parts)]
    manifest = publish(str(tmp_path), [STR], entries, durable=False)
    has_dictionary = [pq.read_metadata(tmp_path / entry.file).row_group(0).column(0).has_dictionary_page for entry in manifest.segments]
    assert set(has_dictionary) == {True, False}
    table = joined(manifest)
    assert table is not None and table.column(0).to_pylist() == [text for part in parts for text in part]


def another_way(choose: random.Random, options: dict[str, Any]) -> dict[str, Any]:
    """Options of the Parquet writer as a package of another time may have them."""
    texts = [path for path in options["compression"] if path not in options["column_encoding"]]
    other: list[dict[str, Any]] = [
        {},
        {"use_dictionary": []},
        {"use_dictionary": list(options["compression"]), "column_encoding": {}},
        {"use_dictionary": texts, "dictionary_pagesize_limit": 16, "write_batch_size": 2},
        {"data_page_size": 64, "write_batch_size": 3},
        {"data_page_version": "2.0"},
        {"compression": choose.choice(["NONE", "SNAPPY", "GZIP", "BROTLI", "ZSTD", "LZ4"])},
        {"write_statistics": False},
    ]
    return {**options, **choose.choice(other)}


@pytest.mark.parametrize("seed", range(4))
def test_files_of_one_form_are_joined_however_each_was_written(tmp_path: Path, seed: int, counted: list[bool]) -> None:
    choose, usual = random.Random(seed), writer.encodings
    with mock.patch.object(writer, "encodings", lambda types, sample: another_way(choose, usual(types, sample))):
        manifest = written(tmp_path, tuple(choose.choices((1, 3, 60), k=12)))
    columns = range(len(manifest.types))
    for found in (manifest, without_chunks(manifest)):
        for _ in range(3):
            low = choose.randrange(manifest.rows)
            assert [column.to_pylist() for column in read_rows(found, columns, low).columns] == one_by_one(manifest, columns, low)
    assert True in counted


def test_no_changed_byte_is_read(tmp_path: Path) -> None:
    manifest = written(tmp_path, (3, 4, 3))
    file = tmp_path / "many" / manifest.segments[1].file
    content = file.read_bytes()
    for place in range(len(content)):
        file.write_bytes(content[:place] + bytes([content[place] ^ (1 << place % 8)]) + content[place + 1 :])
        assert joined(manifest) is None
    file.write_bytes(content)
    assert joined(manifest) is not None


CHANGES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "cut": (cut, "is damaged or was replaced: it has"),
    "lengthened": (lengthened, "is damaged or was replaced: it has"),
    "emptied": (emptied, "it has 0 bytes"),
    "changed": (lambda file: file.write_bytes(b"PARx" + file.read_bytes()[4:]), "its check sum is another one"),
    "linked": (linked, "is a link"),
    "piped": (piped, "is no regular file"),
    "removed": (removed, "is missing"),
    "a directory": (a_directory, "is no regular file"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_stands_where_a_file_was_is_told(tmp_path: Path, name: str) -> None:
    change, said = CHANGES[name]
    manifest = written(tmp_path)
    file = tmp_path / "many" / manifest.segments[2].file
    change(file)
    assert joined(manifest) is None
    with pytest.raises(StorageError, match=said) as told:
        read_rows(manifest, [0, 2])
    assert str(file) in str(told.value)


def numbers_written(tmp_path: Path) -> Manifest:
    entries = [write_segment(str(tmp_path), number, [INT], [[pa.array([number * 10, number * 10 + 1])]]) for number in range(3)]
    return publish(str(tmp_path), [INT], entries, durable=False)


def test_what_may_not_be_joined(tmp_path: Path) -> None:
    entry = numbers_written(tmp_path).segments[0]
    assert may_join(entry)
    for changed in ({"whole": None}, {"tail": None}, {"group_bytes": None}, {"size": None}, {"size": 2 << 20}, {"constants": ((0, 1),)}):
        assert not may_join(attrs.evolve(entry, **changed)), changed


def test_files_without_their_check_sum_are_read_one_by_one(tmp_path: Path, counted: list[bool]) -> None:
    manifest = written(tmp_path)
    before = manifest.with_segments(tuple(attrs.evolve(entry, whole=None) for entry in manifest.segments))
    assert [column.to_pylist() for column in read_rows(before, [2, 0]).columns] == one_by_one(manifest, [2, 0]) and not counted


def footers() -> Iterator[bytes]:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"a": [1, 2], "b": ["x", None]}), sink)
    content = sink.getvalue().to_pybytes()
    footer = content[-8 - int.from_bytes(content[-8:-4], "little") : -8]
    for end in range(len(footer)):
        yield footer[:end]
    chosen = random.Random(3)
    for _ in range(2000):
        place = chosen.randrange(len(footer))
        yield footer[:place] + bytes([chosen.randrange(256)]) + footer[place + 1 :]


def test_frames_of_nonsense_are_none_or_parts_of_it() -> None:
    found = 0
    for footer in footers():
        try:
            frame = SharedFooter.of(footer)
        except (BrokenThrift, IndexError):
            continue
        found += frame is not None
        assert frame is None or (footer.startswith(frame.before) and footer.endswith(frame.after))
    assert found


def test_numbers_are_those_of_thrift() -> None:
    values = np.array([[0, 1, 63, 64], [8191, 8192, 1 << 33, LARGEST_NUMBER - 1]])
    assert [[signed(number.tobytes(), 0) for number in row] for row in numbers(values)] == [[(int(value), 5) for value in row] for row in values]


def with_values(tmp_path: Path, entry: SegmentEntry, count: int) -> SegmentEntry:
    """The entry of the same rows, of which a footer says that there are so many values of a column, and check sums that all is well."""
    file = tmp_path / entry.file
    content = file.read_bytes()
    at = content.rindex(b"\x16\x04", 0, content.rindex(b"_key"))
    while pq.read_metadata(pa.BufferReader(content[:at] + bytes([0x16, count << 1]) + content[at + 2 :])).row_group(0).column(0).num_values != count:
        at = content.rindex(b"\x16\x04", 0, at)
    file.write_bytes(content[:at] + bytes([0x16, count << 1]) + content[at + 2 :])
    new_identity(file)
    return sealed(entry, str(file), 1)


def test_rows_do_not_go_over_from_a_file_to_the_next(tmp_path: Path) -> None:
    manifest = numbers_written(tmp_path)
    first, second, third = manifest.segments
    changed = manifest.with_segments((with_values(tmp_path, first, 1), with_values(tmp_path, second, 3), third))
    for entries in (changed.segments[:1], changed.segments[1:2], changed.segments):
        assert joined_columns(changed, entries, ["c0"]) is None
    assert joined_columns(changed, changed.segments[2:], ["c0"]) is not None


@pytest.mark.parametrize("place", range(NUMBERS_OF_CHUNK))
def test_numbers_that_are_too_large_to_be_written_are_not(tmp_path: Path, place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = numbers_written(tmp_path)
    first, *others = manifest.segments
    assert first.chunks is not None
    told = (*first.chunks[:place], LARGEST_NUMBER, *first.chunks[place + 1 :])
    written: list[int] = []
    footer = joined_files.joined_footer
    monkeypatch.setattr(joined_files, "joined_footer", lambda *given: written.append(int(given[-1].max())) or footer(*given))
    table = joined(manifest.with_segments((attrs.evolve(first, chunks=told), *others)))
    # The footers of the files tell what the manifest does not.
    assert table is not None and table.column("c0").to_pylist() == [0, 1, 10, 11, 20, 21]
    assert len(written) == 1 and written[0] < LARGEST_NUMBER
