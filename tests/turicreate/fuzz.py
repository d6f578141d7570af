"""Mutated archives, read in a process of its own: ``python -m tests.turicreate.fuzz ARCHIVES SEED COUNT``.

Each archive is read whole, and some rows of it, or refused by an error of ours. What would be a finding ends the process with status 1 and tells the
seed of it: another error, more than 256 MiB of memory, five seconds, a file outside the archive that is opened.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import resource
import shutil
import signal
import struct
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sframe_spark.errors import BrokenPayload, SFrameError
from sframe_spark.turicreate.archive import open_archive
from sframe_spark.turicreate.archive_files import RECORD, WORD, footer_of, opened, read_bytes, unpacked
from sframe_spark.turicreate.archive_row_reader import ArchiveReader
from sframe_spark.turicreate.block import COLUMN_TYPES, EXTENDED, MIXED, TYPED, Block
from sframe_spark.values.arrow_to_python import decode
from tests.lazy_names import import_lazy_names

MOST_MEMORY = 256 << 20
MOST_SECONDS = 5
EXTREMES = (0, 1, 2, 7, 48, 127, 128, 255, 256, 1 << 16, (1 << 24) + 1, 1 << 31, (1 << 32) - 1, 1 << 40, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)
WORDS = (
    "../one_row/m_1.sidx",
    "/etc/passwd",
    "http://127.0.0.1:9/x",
    "-1",
    "99999999999999999999",
    "1e9",
    "",
    "\0",
    "0000",
    "sarray",
    "[x]",
    "dir_archive.ini",
)


def mutated_bytes(choose: random.Random, content: bytes) -> bytes:
    """A content with one to three things changed: bits, bytes, words, pieces."""
    data = bytearray(content)
    for _ in range(choose.choice((1, 1, 2, 3))):
        # Padding is of no interest.
        places = [match.start() for match in re.finditer(rb"[^\0]", bytes(data))] or [0]
        place = choose.choice(places) if data else 0
        change = choose.randrange(7)
        if not data or change == 0:
            data[place:place] = choose.randbytes(choose.randrange(1, 5))
        elif change == 1:
            data[place] ^= 1 << choose.randrange(8)
        elif change == 2:
            data[place] = choose.randrange(256)
        elif change == 3:
            data[place : place + 8] = struct.pack("<Q", choose.choice(EXTREMES))
        elif change == 4:
            del data[place : place + choose.choice((1, 8, 100, len(data)))]
        elif change == 5:
            other = choose.choice(places)
            data[place:place] = data[other : other + choose.randrange(1, 100)]
        else:
            data[place : place + 4] = choose.randbytes(4)
    return bytes(data)


def mutated_text(choose: random.Random, content: bytes) -> bytes:
    """An index file in which a number, a name or a line is another one."""
    text = content.decode("utf-8", "surrogateescape")
    parts = list(re.finditer(r"[0-9]+|[A-Za-z_.]+", text))
    part = choose.choice(parts)
    change = choose.randrange(4)
    if change == 0:
        text = text[: part.start()] + choose.choice((*WORDS, str(choose.choice(EXTREMES)))) + text[part.end() :]
    elif change == 1:
        lines = text.split("\n")
        lines.insert(choose.randrange(len(lines)), choose.choice(lines))
        text = "\n".join(lines)
    elif change == 2:
        lines = text.split("\n")
        del lines[choose.randrange(len(lines))]
        text = "\n".join(lines)
    else:
        return mutated_bytes(choose, content)
    return text.encode("utf-8", "surrogateescape")


def mutated_footer(choose: random.Random, content: bytes) -> bytes:
    """A segment file in which a number of the footer is another one."""
    length = WORD.unpack(content[-8:])[0]
    if length > len(content) - 8:
        return mutated_bytes(choose, content)
    place = len(content) - 8 - length + 8 * choose.randrange(length // 8 + 1)
    old = WORD.unpack_from(content, place)[0]
    new = choose.choice((*EXTREMES, old + 1, old - 1, old * 2, old ^ 1 << choose.randrange(64))) % (1 << 64)
    return content[:place] + struct.pack("<Q", new) + content[place + 8 :]


def mutate(choose: random.Random, directory: Path) -> None:
    """Change one file of an archive."""
    files = sorted(path for path in directory.iterdir() if path.name != "objects.bin" and path.stat().st_size)
    file = choose.choice(files)
    content = file.read_bytes()
    if file.suffix in (".ini", ".frame_idx", ".sidx"):
        file.write_bytes(mutated_text(choose, content))
    else:
        file.write_bytes(choose.choice((mutated_footer, mutated_bytes, mutated_payload))(choose, content))


def mutated_payload(choose: random.Random, content: bytes) -> bytes:
    """A segment file in which what a block holds is something else: packed or not, it is put where the footer was, with its record mended."""
    length = WORD.unpack(content[-8:])[0]
    start = len(content) - 8 - length
    if start < 0 or length < 8 + 8 + RECORD.itemsize:
        return mutated_bytes(choose, content)
    footer = bytearray(content[start:-8])
    # The first column that has blocks.
    place = 8
    while place + 8 + RECORD.itemsize <= len(footer) and not WORD.unpack_from(footer, place)[0]:
        place += 8
    if place + 8 + RECORD.itemsize > len(footer):
        return mutated_bytes(choose, content)
    offset, size, full, rows, flags = struct.unpack_from("<5Q", footer, place + 8)
    payload = content[offset : offset + size]
    if flags & 1:
        import pyarrow as pa

        with contextlib.suppress(OSError, OverflowError, MemoryError):
            payload = bytes(pa.Codec("lz4_raw").decompress(payload, decompressed_size=min(full, 1 << 20)))
    made = mutated_bytes(choose, payload)
    struct.pack_into("<5Q", footer, place + 8, start, len(made), len(made), rows, flags & ~1)
    return content[:start] + made + bytes(footer) + content[-8:]


@contextlib.contextmanager
def limited() -> Iterator[None]:
    """Let the process have so much more memory than it has, and so many seconds."""
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MOST_MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    signal.setitimer(signal.ITIMER_REAL, MOST_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def read(directory: Path, choose: random.Random) -> None:
    """Read an archive as a user does: some rows, then all, as values."""
    archive = open_archive(str(directory), encoding_errors=choose.choice(("strict", "replace")))
    positions = range(len(archive.contents.columns))
    reader = ArchiveReader(archive)
    first = choose.randrange(archive.rows) if archive.rows else 0
    some = [(first, min(first + 100, archive.rows))]
    for start, stop in [*some, (0, archive.rows)]:
        for _, columns in reader.batches(positions, start, stop, 131_072, 32 << 20):
            for column, described in zip(columns, archive.contents.columns, strict=True):
                column.validate(full=True)
                decode(column.slice(0, 1000), described.column_type)


def blocks_of(directory: Path) -> Iterator[tuple[bytes, Any, Any]]:
    """What the blocks of an archive hold, with their records and what they are read as."""
    archive = open_archive(str(directory))
    for position, column in enumerate(archive.contents.columns):
        for part in column.parts:
            file = archive.contents.files[part.file]
            blocks = footer_of(file).blocks(part.column, part.rows, column.name)
            with opened(file) as descriptor:
                for number in range(min(len(blocks.records), 3)):
                    record = blocks.record(number)
                    yield unpacked(read_bytes(descriptor, file.path, record.offset, record.length), record), record, archive.form(position)


def read_block(choose: random.Random, content: bytes, record: Any, form: Any) -> None:
    """Read a block whose bytes are others."""
    flags = record.flags if choose.random() < 0.9 else choose.choice((TYPED, TYPED | EXTENDED, TYPED | MIXED))
    rows = record.rows if choose.random() < 0.8 else choose.choice((1, 2, 64, 65, 1000, 1 << 18, 1 << 24))
    block = Block(mutated_bytes(choose, content), record.length, rows, flags, form)
    for first, last in ((0, min(rows, 1000)), (max(rows - 1000, 0), rows)):
        if block.bytes_between(first, last) <= 32 << 20 or last - first == 1:
            found = block.values(first, last)
            found.validate(full=True)
            decode(found, form.column_type)


class Watch:
    """Tells of files that are opened outside a directory."""

    def __init__(self) -> None:
        self.allowed: str | None = None
        self.escaped: list[str] = []
        # What Python imports, and what tells how much memory there is.
        self.code = tuple(os.path.realpath(place) + os.sep for place in (*sys.path, sys.prefix, sys.base_prefix, "/proc/self") if place)
        sys.addaudithook(self.hear)

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in ("open", "os.open") and self.allowed is not None and isinstance(arguments[0], (str, bytes)):
            path = os.path.abspath(os.fsdecode(arguments[0]))
            path = os.path.realpath(path)
            # Rules of time zones are read by Python itself.
            if not path.startswith((self.allowed + os.sep, "/usr/share/zoneinfo/", *self.code)):
                self.escaped.append(path)


def run(archives: Path, seed: int, count: int) -> Counter[str]:
    """Read so many archives and blocks, each with a seed of its own."""
    names = [sample["path"] for sample in json.loads((archives / "index.json").read_text()) if not sample.get("external")]
    blocks = [block for name in names if "hostile" not in name and name != "str_not_utf8" for block in blocks_of(archives / name)]
    outcomes: Counter[str] = Counter()
    watch = Watch()
    with tempfile.TemporaryDirectory() as place:
        for number in range(seed, seed + count):
            choose = random.Random(number)
            directory = Path(place, "archive")
            shutil.copytree(archives / choose.choice(names), directory)
            of_block = number % 3 == 0
            if not of_block:
                mutate(choose, directory)
            try:
                with limited():
                    watch.allowed = os.path.realpath(directory)
                    if of_block:
                        read_block(choose, *choose.choice(blocks))
                    else:
                        read(directory, choose)
                outcomes["read"] += 1
            except (SFrameError, BrokenPayload, UnicodeDecodeError) as error:
                # What a block raises is told by who knows its column.
                if isinstance(error, (BrokenPayload, UnicodeDecodeError)) and not of_block:
                    raise
                outcomes[type(error).__name__] += 1
            except OverflowError:
                if not of_block:
                    raise
                outcomes["OverflowError"] += 1
            except BaseException:
                print(f"seed {number}", file=sys.stderr)  # noqa: T201
                raise
            finally:
                watch.allowed = None
                shutil.rmtree(directory)
            if watch.escaped:
                raise AssertionError(f"seed {number} opened {watch.escaped}")
    return outcomes


def timed_out(*_: object) -> None:
    raise TimeoutError(f"more than {MOST_SECONDS} s")


if __name__ == "__main__":
    signal.signal(signal.SIGALRM, timed_out)
    assert COLUMN_TYPES
    # Modules that are imported on first use are no files that an archive opens.
    import_lazy_names()
    print(json.dumps(run(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))  # noqa: T201
