"""Short files joined in memory give the rows of the files, and nothing else: whatever is not as it was written is left to who reads file by file."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sframe_spark.errors import BrokenThrift, StorageError
from sframe_spark.session.memory import arrow_bytes
from sframe_spark.storage.datasets.commit import publish
from sframe_spark.storage.datasets.load import load_manifest
from sframe_spark.storage.manifests.manifest import Manifest, SegmentEntry
from sframe_spark.storage.manifests.physical import PHYSICAL_TYPES, file_column
from sframe_spark.storage.parquet import joined_files
from sframe_spark.storage.parquet.checksums import sealed
from sframe_spark.storage.parquet.joined_files import JoinedFile, _Gathered, joined_file, may_join
from sframe_spark.storage.parquet.joined_footer import LARGEST_NUMBER, SharedFooter, numbers
from sframe_spark.storage.parquet.thrift import signed
from sframe_spark.storage.rows.held_rows import HeldRows
from sframe_spark.storage.rows.reader import read_rows
from sframe_spark.storage.rows.writer import write_segment
from sframe_spark.types import INT, STR
from tests.storage.damage import frame_of_every_type, new_identity

LENGTHS = (70, 1, 130, 40)


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


def joined(manifest: Manifest) -> JoinedFile | None:
    return joined_file(manifest.directory, manifest.segments, names_of(manifest))


def required(found: JoinedFile | None) -> JoinedFile:
    assert found is not None
    return found


@pytest.mark.parametrize("seed", range(4))
def test_rows_are_those_of_the_files(tmp_path: Path, seed: int) -> None:
    choose = random.Random(seed)
    manifest = written(tmp_path, tuple(choose.choices((1, 2, 50, 130), k=9)))
    assert {kind.physical for kind in manifest.types} >= {PHYSICAL_TYPES[name] for name in ("int64", "float64", "string", "timestamp")}
    for _ in range(25):
        low = choose.randrange(manifest.rows)
        high = choose.randrange(low + 1, manifest.rows + 1)
        columns = choose.sample(range(len(manifest.types)), choose.randrange(1, len(manifest.types) + 1))
        held = HeldRows.of(manifest, columns, 0, manifest.rows)
        assert isinstance(held.rows, JoinedFile)
        some = choose.sample(columns, choose.randrange(1, len(columns) + 1))
        arrays = held.read(manifest, some, 0, low, high)
        expected = read_rows(manifest, some, low, high)
        assert [array.type for array in arrays] == [manifest.types[column].physical for column in some]
        assert [array.to_pylist() for array in arrays] == [column.to_pylist() for column in expected.columns]


def test_texts_with_and_without_dictionaries_are_joined(tmp_path: Path) -> None:
    parts = [[f"text {row}" for row in range(300)], ["same"] * 300, [None] * 300, [f"text {row % 3}" for row in range(300)]]
    entries = [write_segment(str(tmp_path), number, [STR], [[pa.array(part, pa.string())]]) for number, part in enumerate(parts)]
    manifest = publish(str(tmp_path), [STR], entries, durable=False)
    has_dictionary = [pq.read_metadata(tmp_path / entry.file).row_group(0).column(0).has_dictionary_page for entry in manifest.segments]
    assert set(has_dictionary) == {True, False}
    table = required(joined(manifest)).read(["c0"], 0, manifest.rows)
    assert table is not None and table.column(0).to_pylist() == [text for part in parts for text in part]


def test_no_changed_byte_is_read(tmp_path: Path) -> None:
    manifest = written(tmp_path, (3, 4, 3))
    file = tmp_path / "many" / manifest.segments[1].file
    content = file.read_bytes()
    for place in range(len(content)):
        file.write_bytes(content[:place] + bytes([content[place] ^ (1 << place % 8)]) + content[place + 1 :])
        assert joined(manifest) is None
    file.write_bytes(content)
    assert joined(manifest) is not None


def linked(file: Path) -> None:
    file.rename(file.with_suffix(".moved"))
    file.symlink_to(file.with_suffix(".moved"))


def piped(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def a_directory(file: Path) -> None:
    file.unlink()
    file.mkdir()


CHANGES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "cut": (lambda file: file.write_bytes(file.read_bytes()[:-1]), "is damaged or was replaced: it has"),
    "lengthened": (lambda file: file.write_bytes(file.read_bytes() + b"\0"), "is damaged or was replaced: it has"),
    "emptied": (lambda file: file.write_bytes(b""), "it has 0 bytes"),
    "changed": (lambda file: file.write_bytes(b"PARx" + file.read_bytes()[4:]), "its check sum is another one"),
    "linked": (linked, "is a link"),
    "piped": (piped, "is no regular file"),
    "removed": (lambda file: file.unlink(), "is missing"),
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
        HeldRows.of(manifest, [0, 2], 0, manifest.rows)
    assert str(file) in str(told.value)


def rewritten(entry: SegmentEntry, directory: Path, table: pa.Table, **options: Any) -> SegmentEntry:
    """The entry of another file with its name, whose check sum is right."""
    pq.write_table(table, directory / entry.file, write_page_checksum=True, **options)
    new_identity(directory / entry.file)
    return attrs.evolve(sealed(entry, str(directory / entry.file), table.num_columns - 1), rows=entry.rows)


def numbers_written(tmp_path: Path) -> Manifest:
    entries = [write_segment(str(tmp_path), number, [INT], [[pa.array([number * 10, number * 10 + 1])]]) for number in range(3)]
    return publish(str(tmp_path), [INT], entries, durable=False)


def table_of(values: list[Any], kind: pa.DataType) -> pa.Table:
    keys = pa.array(range(len(values)), pa.int64())
    schema = pa.schema([pa.field("c0", kind), pa.field("_key", pa.int64(), nullable=False)])
    return pa.Table.from_arrays([pa.array(values, kind), keys], schema=schema)


FORMS: dict[str, tuple[pa.Table, dict[str, Any]]] = {
    "more rows": (table_of([1, 2, 3], pa.int64()), {}),
    "fewer rows": (table_of([1], pa.int64()), {}),
    "another type": (table_of(["a", "b"], pa.string()), {}),
    "other metadata": (table_of([1, 2], pa.int64()).replace_schema_metadata({"a": "b"}), {}),
    "two row groups": (table_of([1, 2], pa.int64()), {"row_group_size": 1}),
    "no schema of Arrow's": (table_of([1, 2], pa.int64()), {"store_schema": False}),
}


@pytest.mark.parametrize("name", FORMS)
def test_files_of_another_form_are_not_joined(tmp_path: Path, name: str) -> None:
    manifest = numbers_written(tmp_path)
    table, options = FORMS[name]
    changed = list(manifest.segments)
    changed[1] = rewritten(changed[1], tmp_path, table, **options)
    other = manifest.with_segments(tuple(changed))
    assert all(map(may_join, other.segments)) and joined(other) is None
    if table.num_rows == 2 and table.schema.field(0).type == pa.int64():
        # Who reads file by file has their rows.
        assert HeldRows.of(other, [0], 0, 6).read(other, [0], 0, 0, 6)[0].to_pylist() == [0, 1, 1, 2, 20, 21]
    elif table.num_rows != 2:
        with pytest.raises(StorageError, match=f"has {table.num_rows} rows, its manifest says 2"):
            HeldRows.of(other, [0], 0, 6)


@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "brotli", "zstd", "lz4"])
def test_files_are_joined_however_they_are_compressed(tmp_path: Path, compression: str) -> None:
    manifest = numbers_written(tmp_path)
    changed = [rewritten(entry, tmp_path, table_of([7, entry.number], pa.int64()), compression=compression) for entry in manifest.segments]
    table = required(joined(manifest.with_segments(tuple(changed)))).read(["c0"], 0, 6)
    assert table is not None and table.column("c0").to_pylist() == [7, 0, 7, 1, 7, 2]


def test_what_may_not_be_joined(tmp_path: Path) -> None:
    entry = numbers_written(tmp_path).segments[0]
    assert may_join(entry)
    for changed in ({"whole": None}, {"tail": None}, {"group_bytes": None}, {"size": None}, {"size": 2 << 20}, {"constants": ((0, 1),)}):
        assert not may_join(attrs.evolve(entry, **changed)), changed


def test_files_without_their_check_sum_are_held_as_rows(tmp_path: Path) -> None:
    manifest = written(tmp_path)
    before = manifest.with_segments(tuple(attrs.evolve(entry, whole=None) for entry in manifest.segments))
    held = HeldRows.of(before, [2, 0], 0, before.rows)
    assert isinstance(held.rows, pa.Table)
    assert [array.to_pylist() for array in held.read(before, [0, 2], 0, 60, 90)] == [
        column.to_pylist() for column in read_rows(manifest, [0, 2], 60, 90).columns
    ]


def test_pages_of_other_rows_are_not_passed_on(tmp_path: Path) -> None:
    manifest = numbers_written(tmp_path)
    right = required(joined(manifest))
    assert attrs.evolve(right, starts=(0, 2, 4, 7)).read(["c0"], 0, 7) is None
    assert right.read(["c0", "c1"], 0, 6) is None
    damaged = bytearray(right.content)
    # Two rows of 10 and 11 are no longer told as two.
    damaged[4:40] = bytes(36)
    assert attrs.evolve(right, content=pa.py_buffer(bytes(damaged))).read(["c0"], 0, 6) is None
    held = HeldRows(attrs.evolve(right, content=pa.py_buffer(bytes(damaged))))
    assert held.read(manifest, [0], 0, 1, 5)[0].to_pylist() == [1, 10, 11, 20]


def test_few_wanted_of_many_columns_are_not_joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joined_files, "MOST_UNREAD", 3)
    manifest = written(tmp_path)
    # One of them is the key.
    assert joined_file(manifest.directory, manifest.segments, names_of(manifest)[:3]) is None
    assert joined(manifest) is not None


def test_what_is_joined_is_counted(tmp_path: Path) -> None:
    manifest = written(tmp_path)
    before = arrow_bytes()
    held = required(joined(manifest))
    assert held.content.size <= arrow_bytes() - before < held.content.size + 4096
    del held
    assert arrow_bytes() < before + 4096


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
    gathered = _Gathered.of(str(tmp_path), [entry], frozenset({"c0", "_key"}))
    assert gathered is not None
    codec, _, *rest = gathered.chunks[0]
    content = attrs.evolve(gathered, chunks=[(codec, count, *rest), *gathered.chunks[1:]]).file().to_pybytes()
    (tmp_path / entry.file).write_bytes(content)
    new_identity(tmp_path / entry.file)
    return sealed(entry, str(tmp_path / entry.file), 1)


def test_rows_do_not_go_over_from_a_file_to_the_next(tmp_path: Path) -> None:
    manifest = numbers_written(tmp_path)
    first, second, third = manifest.segments
    same = manifest.with_segments((with_values(tmp_path, first, 2), second, third))
    table = required(joined_file(same.directory, same.segments[:1], ["c0"])).read(["c0"], 0, 2)
    assert table is not None and table.column(0).to_pylist() == [0, 1]
    changed = manifest.with_segments((with_values(tmp_path, same.segments[0], 1), with_values(tmp_path, second, 3), third))
    for entries in (changed.segments[:1], changed.segments[1:2]):
        assert joined_file(changed.directory, entries, ["c0"]) is None
    # Who reads file by file goes by the number of rows.
    held = HeldRows.of(changed, [0], 0, 6)
    assert isinstance(held.rows, pa.Table) and held.read(changed, [0], 0, 1, 6)[0].to_pylist() == [1, 10, 11, 20, 21]
