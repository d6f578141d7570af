"""Files of archives that are none, lead elsewhere, claim too much, or change while somebody reads them."""

from __future__ import annotations

import itertools
import os
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sframe_spark import SArray, SFrame, load_sarray, load_sframe
from sframe_spark.errors import StorageError
from sframe_spark.turicreate import archive_files
from sframe_spark.turicreate.archive_files import MAX_FOOTER_BYTES
from sframe_spark.turicreate.string_and_object_decoding import INTEGER, LIST, TEXT
from tests.random_tables import MadeBlock, MadeColumn, made_block, made_column, run_bytes, segment_bytes, write_archive

FILES = ("dir_archive.ini", "m_1.frame_idx", "m_1.sidx", "m_1.0000")


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """A frame of two columns and six rows."""
    columns = {"a": made_column(INTEGER, [1, 2, 3, 4, 5, 6], [[2, 2, 2]]), "b": made_column(TEXT, list("uvwxyz"), [[3, 3]])}
    write_archive(str(tmp_path / "old"), columns)
    return tmp_path / "old"


@pytest.mark.parametrize("file", FILES)
def test_a_link_to_outside_is_refused_and_one_within_is_not(archive: Path, file: str, tmp_path: Path) -> None:
    (archive / file).rename(tmp_path / "elsewhere")
    (archive / file).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageError, match="outside the archive"):
        load_sframe(str(archive))
    assert len(list(load_sframe(str(archive), references=[tmp_path]))) == 6
    (archive / file).unlink()
    (tmp_path / "elsewhere").rename(archive / "within")
    (archive / file).symlink_to("within")
    assert len(list(load_sframe(str(archive)))) == 6


@pytest.mark.parametrize("file", FILES)
def test_what_is_no_file_is_not_opened(archive: Path, file: str) -> None:
    (archive / file).unlink()
    os.mkfifo(archive / file)
    with pytest.raises(StorageError, match="not a regular file"):
        load_sframe(str(archive))
    (archive / file).unlink()
    (archive / file).mkdir()
    with pytest.raises(StorageError, match=r"not a regular file|is a directory|IsADirectory"):
        load_sframe(str(archive))
    (archive / file).rmdir()
    (archive / file).symlink_to("/dev/zero")
    with pytest.raises(StorageError, match="outside the archive"):
        load_sframe(str(archive))
    with pytest.raises(StorageError, match="not a regular file"):
        load_sframe(str(archive), references=["/dev"])
    (archive / file).unlink()
    (archive / file).symlink_to(file)
    with pytest.raises(StorageError):
        load_sframe(str(archive))


def test_a_directory_that_is_a_link_to_outside_is_seen_through(archive: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (archive / "m_1.0000").rename(tmp_path / "other" / "m_1.0000")
    (archive / "sub").symlink_to(tmp_path / "other")
    index = (archive / "m_1.sidx").read_text().replace('"m_1.0000"', '"sub/m_1.0000"')
    (archive / "m_1.sidx").write_text(index)
    with pytest.raises(StorageError, match="outside the archive"):
        load_sframe(str(archive))


def replaced_by_link(file: Path) -> None:
    file.rename(file.with_name("away"))
    file.symlink_to("away")


def rewritten(file: Path) -> None:
    content = file.read_bytes()
    file.unlink()
    file.write_bytes(content)


def touched(file: Path) -> None:
    os.utime(file, ns=(0, 1))


def cut(file: Path) -> None:
    os.truncate(file, 100)


@pytest.mark.parametrize("change", [replaced_by_link, rewritten, touched, cut, Path.unlink])
def test_files_that_change_after_an_archive_was_opened_are_told(archive: Path, change: Callable[[Path], None]) -> None:
    frame = load_sframe(str(archive))
    column = frame["a"] + 1
    assert list(column) == [2, 3, 4, 5, 6, 7]
    other = frame["b"]
    change(archive / "m_1.0000")
    for look in (lambda: list(frame), lambda: other[0], lambda: list(frame["a"] * 2), lambda: frame.save(str(archive.parent / "new"))):
        with pytest.raises(StorageError, match=r"m_1\.0000 (was changed since the archive was opened|is missing)"):
            look()
    # What is computed already stays.
    assert list(column) == [2, 3, 4, 5, 6, 7]
    assert not (archive.parent / "new").exists()


def test_a_file_that_changes_while_it_is_read_is_told(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = load_sframe(str(archive))
    read_bytes = archive_files.read_bytes

    def slow(*arguments: object) -> bytes:
        found = read_bytes(*arguments)  # type: ignore[arg-type]
        touched(archive / "m_1.0000")
        return found

    monkeypatch.setattr("sframe_spark.turicreate.archive_files.read_bytes", slow)
    with pytest.raises(StorageError, match="was changed since"):
        list(frame)


def test_an_archive_that_was_written_anew_is_another_one(archive: Path) -> None:
    before = load_sframe(str(archive))
    for file in archive.iterdir():
        file.unlink()
    write_archive(str(archive), {"a": made_column(INTEGER, [7, 8], [[2]])})
    after = load_sframe(str(archive))
    assert list(after["a"]) == [7, 8]
    with pytest.raises(StorageError):
        list(before)
    assert before._node.operator != after._node.operator


def wrong_footer(change: Callable[[bytearray], None]) -> Callable[[Path], None]:
    def damage(file: Path) -> None:
        content = bytearray(file.read_bytes())
        change(content)
        file.write_bytes(bytes(content))

    return damage


def put(place: int, value: int) -> Callable[[bytearray], None]:
    def change(content: bytearray) -> None:
        length = struct.unpack("<Q", content[-8:])[0]
        struct.pack_into("<Q", content, len(content) - 8 - length + place, value)

    return change


def length(value: int) -> Callable[[bytearray], None]:
    def change(content: bytearray) -> None:
        content[-8:] = struct.pack("<Q", value)

    return change


FOOTERS = [
    (length(0), "its footer has 0 bytes"),
    (length(1 << 63), "its footer has 9223372036854775808 bytes"),
    (length(50), "footer"),
    (put(0, 3), "footer (ends before|says that)"),
    (put(0, 1), "longer than what it says"),
    (put(0, 1 << 61), "says that it has 2305843009213693952 columns"),
    (put(8, 1 << 60), "column 0 has 1152921504606846976 blocks"),
    (put(16, (1 << 64) - 1), r"block 0 \(rows 0 to 2\): its record says that it has \d+ bytes from byte 18446744073709551615"),
    (put(24, (1 << 64) - 4), "which cannot be"),
    (put(24, 1 << 31), "which cannot be"),
    (put(32, 1), "is not packed, and its record says"),
    (put(40, 1), "the blocks of column 'a' have 5 rows, and the index of the archive says 6"),
    (put(40, 1 << 25), r"column 'a', block 0: it has 33554432 rows, and no more than 16777216"),
    (put(48, 0), "unknown flags 0x0"),
    (put(48, 16 | 2), "unknown flags 0x12"),
    (put(48, 3), "no LZ4|packed bytes"),
]


@pytest.mark.parametrize(("change", "message"), FOOTERS)
def test_footers_that_cannot_be_are_told(archive: Path, change: Callable[[bytearray], None], message: str) -> None:
    wrong_footer(change)(archive / "m_1.0000")
    frame = load_sframe(str(archive))
    assert len(frame) == 6
    with pytest.raises(StorageError, match=message) as caught:
        list(frame["a"])
    assert "m_1.0000" in str(caught.value)


def test_a_footer_that_is_longer_than_any_takes_no_memory(archive: Path) -> None:
    with open(archive / "m_1.0000", "r+b") as stream:
        stream.truncate(MAX_FOOTER_BYTES * 4)
        stream.seek(MAX_FOOTER_BYTES * 4 - 8)
        stream.write(struct.pack("<Q", MAX_FOOTER_BYTES * 2))
    with pytest.raises(StorageError, match="more than is read"):
        list(load_sframe(str(archive))["a"])


def test_a_damaged_block_shifts_no_other(archive: Path) -> None:
    """Each block stands alone: rows of the others are read, and the error names column, block and rows."""
    content = bytearray((archive / "m_1.0000").read_bytes())
    length = struct.unpack("<Q", content[-8:])[0]
    # The second block of the first column.
    offset = struct.unpack_from("<Q", content, len(content) - 8 - length + 16 + 48)[0]
    content[offset] = 9
    (archive / "m_1.0000").write_bytes(bytes(content))
    frame = load_sframe(str(archive))
    assert list(frame["b"]) == list("uvwxyz")
    assert list(frame[4:]["a"]) == [5, 6]
    assert frame["a"].head(2).to_numpy().tolist() == [1, 2]
    with pytest.raises(StorageError, match=r"m_1\.0000 is damaged: column 'a', block 1 \(rows 2 to 4\), at byte 1 of what it holds"):
        list(frame["a"])
    with pytest.raises(StorageError, match=r"column 'a', block 1"):
        load_sframe(str(archive), verify=True)


def packed(payload: bytes, rows: int, flags: int = 3) -> MadeColumn:
    return MadeColumn(LIST, [[MadeBlock(payload, rows, flags, packed=True)]])


def test_bombs_are_refused_before_they_take_memory(tmp_path: Path) -> None:
    bombs = {
        # A list of 40 million missing values in 160 KB.
        "list": packed(b"\x01\x04" + struct.pack("<Q", 40_000_000) + b"\x87" * 40_000_000, 1),
        # A vector of 2**31 zeros: a run of them takes two bytes for 128.
        "vector": packed(b"\x01\x04" + struct.pack("<Q", 1) + b"\x83" + struct.pack("<Q", 5_000_000) + bytes(40_000_000), 1),
    }
    for name, column in bombs.items():
        write_archive(str(tmp_path / name), {"a": column})
        assert (tmp_path / name / "m_1.0000").stat().st_size < 200_000
        with pytest.raises(StorageError, match="more than a block of its length is given"):
            list(load_sarray(str(tmp_path / name)))


def test_a_vector_of_very_many_zeros_in_few_bytes_is_refused(tmp_path: Path) -> None:
    floats = 1 << 30
    run = b"\x00\x00" * (floats // 128)
    payload = b"\x01\x03\x00" + run_bytes([floats]) + b"\x01" + run
    write_archive(str(tmp_path / "old"), {"a": MadeColumn(3, [[MadeBlock(payload, 1, 11, packed=True)]])})
    with pytest.raises(StorageError, match="more than a block of its length is given"):
        list(load_sarray(str(tmp_path / "old")))


def test_long_texts_that_repeat_are_read_a_few_rows_at_a_time(tmp_path: Path) -> None:
    """A block of few bytes may hold rows of many: the engine writes such ones."""
    entry, rows = b"x" * 100_000, 1 << 18
    payload = b"\x01\x02\x01\x02" + b"\x7f" + struct.pack("<Q", len(entry)) + entry + b"\x00\x00" * (rows // 128)
    write_archive(str(tmp_path / "old"), {"a": MadeColumn(TEXT, [[MadeBlock(payload, rows, 3, packed=True)]])})
    column = SArray(str(tmp_path / "old"))
    assert len(column) == rows
    assert column.head(2).to_numpy().tolist() == [entry.decode()] * 2
    assert all(len(value) == 100_000 for value in itertools.islice(column, 2_000))


HEAVY = """
import sys
from pathlib import Path
from sframe_spark.config import config
from sframe_spark.errors import StorageError
from sframe_spark.turicreate.archive import open_archive
from sframe_spark.turicreate.archive_row_reader import ArchiveReader
from tests.turicreate import fuzz
fuzz.timed_out, fuzz.MOST_SECONDS = fuzz.timed_out, 60
with fuzz.limited():
    for name in sys.argv[1:]:
        archive = open_archive(name)
        positions = range(len(archive.contents.columns))
        try:
            for rows, _ in ArchiveReader(archive).batches(positions, 0, min(archive.rows, 200_000), config.batch_rows, config.batch_bytes):
                pass
            print(Path(name).name, "read")
        except StorageError as error:
            print(Path(name).name, "refused")
"""


def test_small_files_never_take_much_memory(tmp_path: Path) -> None:
    """Each of some 100 KB, read in a process that may take 256 MiB."""
    rows = 1 << 21
    # As many empty texts as a block has rows: where each begins takes more than a thousand times the bytes of the block.
    empty = MadeBlock(b"\x01\x02\x00" + b"\x00\x00" * (rows // 128), rows, 3, packed=True)
    write_archive(str(tmp_path / "empty texts"), {f"c{number}": MadeColumn(TEXT, [[empty]]) for number in range(12)})
    ones = MadeBlock(b"\x01\x03\x00" + b"\x00\x02" * (rows // 128) + b"\x01" + b"\x00\x00" * (rows // 128), rows, 11, packed=True)
    write_archive(str(tmp_path / "vectors"), {f"c{number}": MadeColumn(3, [[ones]]) for number in range(8)})
    missing = b"\x01\x04" + struct.pack("<Q", 500_000) + b"\x87" * 500_000
    write_archive(str(tmp_path / "lists"), {f"c{number}": MadeColumn(LIST, [[MadeBlock(missing, 1, 3, packed=True)]]) for number in range(5)})
    groups = MadeBlock(b"\x01\x00" + b"\x00\x00" * (1 << 17), 1 << 24, 3, packed=True)
    write_archive(str(tmp_path / "ints"), {f"c{number}": MadeColumn(INTEGER, [[groups]]) for number in range(5)})
    entries = b"".join([b"\x01\x02\x01\x7f", struct.pack("<Q", 1_000_000), b"\x00" * 1_000_000, b"\x00\x00"])
    write_archive(str(tmp_path / "entries"), {f"c{number}": MadeColumn(TEXT, [[MadeBlock(entries, 100, 3, packed=True)]]) for number in range(5)})
    names = ["empty texts", "vectors", "lists", "ints", "entries"]
    assert max((tmp_path / name / "m_1.0000").stat().st_size for name in names) < 200_000
    command = [sys.executable, "-c", HEAVY, *(str(tmp_path / name) for name in names)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=500, cwd=Path(__file__).parents[2])
    assert done.stdout.splitlines() == ["empty texts read", "vectors read", "lists read", "ints read", "entries refused"], done.stderr[-3_000:]


def test_rows_that_no_file_of_such_a_length_holds_are_refused_when_it_is_opened(tmp_path: Path) -> None:
    write_archive(str(tmp_path / "old"), {"a": MadeColumn(INTEGER, [[MadeBlock(b"\x01\x07", 1 << 40, 2)]])})
    with pytest.raises(StorageError, match="has 1099511627776 rows, and no more than"):
        load_sframe(str(tmp_path / "old"))


def test_many_missing_rows_take_as_many_bytes_as_are_asked_for(tmp_path: Path) -> None:
    blocks = [MadeBlock(b"\x01\x07", 1 << 24, 2)] * 1000
    write_archive(str(tmp_path / "old"), {"a": MadeColumn(TEXT, [blocks])})
    column = SArray(str(tmp_path / "old"))
    assert len(column) == 1000 << 24
    assert list(column[(1 << 33) : (1 << 33) + 3]) == [None] * 3


def test_packed_bytes_that_are_fewer_than_they_say_are_refused(archive: Path) -> None:
    """Arrow would hand on whatever was in memory."""
    made = made_block(TEXT, ["a"] * 50)
    content = segment_bytes([[MadeBlock(made.payload, 50, 3, packed=True)]])
    size = len(made.payload)
    wrong = bytearray(content)
    place = wrong.rindex(struct.pack("<QQ", size, 50))
    for other in (size - 1, size + 1, size + 10):
        struct.pack_into("<Q", wrong, place, other)
        write_archive(str(archive.parent / "one"), {"a": MadeColumn(TEXT, [[made]])})
        (archive.parent / "one" / "m_1.0000").write_bytes(bytes(wrong))
        with pytest.raises(StorageError, match="packed bytes are"):
            list(SArray(str(archive.parent / "one")))


def test_saving_over_an_archive_is_refused(archive: Path) -> None:
    frame = load_sframe(str(archive))
    with pytest.raises(StorageError, match="is not a saved frame: choose another path"):
        frame.save(str(archive))
    with pytest.raises(StorageError, match="is not a saved frame: choose another path"):
        SFrame({"a": [1]}).save(str(archive))
    assert len(list(frame)) == 6
