"""A manifest is read only as far as memory reaches: a small file on the disk can be of any length."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sframe_spark import SFrame, load_sframe
from sframe_spark.cli.verify import run_verify
from sframe_spark.errors import BrokenPages, StorageError
from sframe_spark.process.memory import AvailableMemory
from sframe_spark.storage.filesystem.format_recognition import MANIFEST_FILE
from sframe_spark.storage.manifest import manifest_json as manifest_length
from sframe_spark.storage.manifest.manifest import Manifest
from sframe_spark.storage.manifest.manifest_json import MEMORY_FOR_LENGTH, SHORT, check_length, read_text, sealed
from sframe_spark.storage.parquet import footer
from sframe_spark.storage.parquet.checksums import LONGEST_HEADER, _header
from sframe_spark.storage.parquet.footer import footer_of
from tests.interpreters import run_program
from tests.peaks import PEAK

GIGABYTE = 1 << 30


@pytest.fixture
def frame(tmp_path: Path) -> Path:
    SFrame({"a": [1, 2, 3]}).save(str(tmp_path / "frame"))
    return tmp_path / "frame"


def lengthened(manifest: Path) -> None:
    os.truncate(manifest, 3 * GIGABYTE)


def far_too_long(manifest: Path) -> None:
    os.truncate(manifest, 1 << 42)


def hollow(manifest: Path) -> None:
    manifest.write_bytes(b"")
    os.truncate(manifest, 3 * GIGABYTE)


def with_a_hole(manifest: Path) -> None:
    with open(manifest, "r+b") as stream:
        stream.seek(GIGABYTE)
        stream.write(b"}")


def of_zeros(manifest: Path) -> None:
    manifest.unlink()
    os.mknod(manifest, 0o600 | 0o020000, os.makedev(1, 5))


def piped(manifest: Path) -> None:
    manifest.unlink()
    os.mkfifo(manifest)


DOORS = (
    PEAK
    + """
import os, stat, sys
from sframe_spark import SArray, SFrame, load_sframe
from sframe_spark.errors import StorageError
from sframe_spark.cli.clean import run_clean
from sframe_spark.cli.verify import run_verify
frame, places = SFrame({"a": [1]}), sys.argv[1:]
used = peak()
for place in places:
    is_file = stat.S_ISREG(os.lstat(place + "/_manifest.json").st_mode)
    for door in (load_sframe, SFrame, SArray, lambda path: load_sframe(path, verify=True)):
        try:
            door(place)
        except StorageError as error:
            assert place in str(error), error
        else:
            raise AssertionError(f"{place} is not refused")
    assert run_verify([place], lambda line: None) == 1, place
    run_clean([place], True, lambda line: None)
    # A damaged frame may be replaced.
    if is_file:
        frame.save(place)
        assert list(load_sframe(place)["a"]) == [1], place
    taken = peak() - used
    # All places together.
    assert taken < 100 << 20, f"{place}: {taken} bytes"
    print(place)
"""
)


def test_what_is_no_text_takes_no_memory(tmp_path: Path) -> None:
    places = []
    for make in (lengthened, far_too_long, hollow, with_a_hole, of_zeros, piped):
        place = tmp_path / make.__name__
        SFrame({"a": [1, 2, 3]}).save(str(place))
        # Not every file system has files of that length, and only the administrator makes devices.
        with contextlib.suppress(OSError):
            make(place / MANIFEST_FILE)
            places.append(str(place))
    assert len(places) >= 4
    # A process of its own, which has taken little memory yet, for all of them: it costs more to start than it does.
    run = run_program(DOORS, *places)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == places


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine on which a few kilobytes are free, and every manifest is long."""
    monkeypatch.setattr(manifest_length, "SHORT", 100)
    monkeypatch.setattr(manifest_length, "available_memory", lambda: AvailableMemory(1000, "free on this machine"))
    yield


@pytest.mark.usefixtures("little_memory")
def test_a_true_text_that_memory_cannot_hold_is_refused(frame: Path) -> None:
    with pytest.raises(
        StorageError, match=r"_manifest\.json has .* may take .* of memory; 1000 bytes are free on this machine: .* restore it"
    ) as caught:
        load_sframe(str(frame))
    assert str(frame) in str(caught.value)
    lines: list[str] = []
    assert run_verify([str(frame)], lines.append) == 1 and len(lines) == 1


def test_the_limit_is_the_memory_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest_length, "available_memory", lambda: AvailableMemory(5 * MEMORY_FOR_LENGTH * GIGABYTE, "left in this container"))
    check_length("/m", 5 * GIGABYTE)
    with pytest.raises(StorageError, match=r"5\.1 GiB, .* 142\.8 GiB of memory; 140\.0 GiB are left in this container"):
        check_length("/m", 5 * GIGABYTE + GIGABYTE // 10)
    monkeypatch.setattr(manifest_length, "available_memory", lambda: None)
    with pytest.raises(StorageError, match="assumed"):
        check_length("/m", GIGABYTE)
    monkeypatch.setattr(manifest_length, "available_memory", lambda: pytest.fail("asked for a short one"))
    check_length("/m", SHORT)


def test_a_file_that_grows_is_not_read_on() -> None:
    assert read_text("/m", io.BytesIO(b"abc"), 3) == b"abc"
    assert read_text("/m", io.BytesIO(b"ab"), 3) == b"ab"
    with pytest.raises(StorageError, match="changed while it was read"):
        read_text("/m", io.BytesIO(b"abcd" * 1_000_000), 3)


def test_what_texts_become_in_memory_is_as_much_as_said(tmp_path: Path) -> None:
    run = (
        PEAK
        + """
import os, sys
from sframe_spark.storage.manifest.manifest import Manifest
from sframe_spark.storage.manifest.manifest_json import MEMORY_FOR_LENGTH

def read(path):
    text = open(path).read()
    used = peak()
    try:
        Manifest.from_json(text, "/m")
    except Exception as error:
        print(repr(error)[:100])
    taken = peak() - used
    assert taken < MEMORY_FOR_LENGTH * len(text), (taken, len(text))

# A process for each, which has nothing of the others.
for path in sys.argv[1:]:
    if not (child := os.fork()):
        read(path)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, path
"""
    )
    items: list[Any] = [[], 0.5, "b", {"": 0}, {}]
    places = [tmp_path / str(number) for number in range(len(items))]
    for place, item in zip(places, items, strict=True):
        place.write_text(sealed({"types": [item] * 300_000}))
    found = run_program(run, *map(str, places))
    assert found.returncode == 0, found.stderr


def test_no_more_of_a_segment_is_copied_than_its_footer(frame: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The manifest says how long the end of a file is that has one check sum, and a footer says how long it is itself."""
    manifest = Manifest.from_json((frame / MANIFEST_FILE).read_text(), str(frame))
    entry = manifest.segments[0]
    file = frame / entry.file
    os.truncate(file, GIGABYTE // 4)
    read: list[int] = []
    open_file = pa.OSFile

    class Told:
        """A file that says how much of it was copied at a time."""

        def __init__(self, path: str) -> None:
            self._file = open_file(path)

        def __enter__(self) -> Told:
            return self

        def __exit__(self, *_: object) -> None:
            self._file.close()

        def __getattr__(self, name: str) -> object:
            return getattr(self._file, name)

        def read_at(self, length: int, offset: int) -> bytes:
            read.append(length)
            found: bytes = self._file.read_at(length, offset)
            return found

        def read(self, length: int) -> bytes:
            read.append(length)
            found: bytes = self._file.read(length)
            return found

    monkeypatch.setattr(footer.pa, "OSFile", Told)
    with pytest.raises(StorageError, match="check sum of its footer"):
        footer_of(str(file), GIGABYTE // 4, (GIGABYTE // 4, 1))
    assert 0 < max(read) <= footer.TAIL_BLOCK


def test_a_foreign_footer_with_a_hole_behind_it_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": [1, 2]}), file)
    content = file.read_bytes()
    length = int.from_bytes(content[-8:-4], "little")
    with open(file, "r+b") as stream:
        stream.seek(len(content) - 8 + 1_000_000)
        stream.write((length + 1_000_000).to_bytes(4, "little") + b"PAR1")
        stream.seek(len(content) - 8)
        stream.write(bytes(8))
    with pytest.raises(StorageError, match="another length than it says"):
        SFrame(str(file))


def test_page_headers_have_an_end() -> None:
    # A field with a text of two gigabytes, of which a few are there.
    start = b"\x18" + b"\xff\xff\xff\xff\x07"

    class Content:
        """As long as a file may be, and never copied in one piece."""

        def __getitem__(self, part: slice) -> bytes:
            assert part.stop - part.start <= LONGEST_HEADER
            return start + bytes(part.stop - part.start - len(start))

    with pytest.raises(BrokenPages, match="no end"):
        _header(Content(), 0, 3 * GIGABYTE)
