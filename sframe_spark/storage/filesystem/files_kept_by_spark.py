"""Files that Spark keeps in blocks where no directory is shared: their file system, in this process and in tasks.

Neither Python here nor Python in tasks can open such a file. Its bytes are rows of a Spark DataFrame (see
``operators.sources.blocks_kept_by_spark``): a job brings them to this process, and to a task before it starts. See
``docs/decisions/056-rows-kept-by-spark.md``.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, Self

import attrs
import pyarrow as pa

# The scheme of the URIs of such files: what follows is the path.
SCHEME = "kept-by-spark"
# Bytes of a block. Few blocks are in the memory of a JVM at a time, and a fetch brings whole blocks.
BYTES_OF_BLOCK = 4 << 20

Range = tuple[int, int]


def is_kept_by_spark(location: str) -> bool:
    """Return whether a location is a file, or a directory of files, that Spark keeps.

    Examples
    --------
    >>> is_kept_by_spark("kept-by-spark://sframe_spark-a/dataset-000001"), is_kept_by_spark("s3://bucket/dataset-000001")
    (True, False)
    """
    return location.startswith(f"{SCHEME}://")


@attrs.frozen(eq=False)
class FileBlock:
    """A part of a file.

    Parameters
    ----------
    file
        The URI of the file.
    start
        The position of the first byte in the file.
    content
        The bytes.
    """

    file: str
    start: int
    content: pa.Buffer


class FileKeeper(Protocol):
    """Reads, writes and lists files by their URIs."""

    def read(self, file: str, ranges: Sequence[Range]) -> list[bytes]:
        """Return some ranges of bytes of a file.

        Raises
        ------
        FileNotFoundError
            If the file is not kept.
        """

    def write(self, local: str, file: str) -> None:
        """Keep a copy of a local file."""

    def sizes_below(self, directory: str) -> Mapping[str, int]:
        """Return the files below a directory whose bytes are there, with their sizes."""

    def forget(self, directory: str) -> None:
        """Let go of the files below a directory."""


class KeptFileSystem:
    """The methods of a file system of fsspec that reading and writing segments takes, over what keeps the files of this process."""

    protocol = SCHEME

    def __init__(self) -> None:
        # Keeps the files of a driver; in a task its own.
        self.keeper: FileKeeper | None = None

    def __reduce__(self) -> str:
        # Functions that are sent to tasks refer to the object of their process.
        return "KEPT_FILES"

    @contextlib.contextmanager
    def kept_by(self, keeper: FileKeeper) -> Iterator[None]:
        """Let a task's files be kept by another keeper during the block."""
        before, self.keeper = self.keeper, keeper
        try:
            yield
        finally:
            self.keeper = before

    def cat_file(self, path: str, start: int, end: int) -> bytes:
        """Return a range of bytes of a file."""
        return self._keeper(path).read(path, [(start, end)])[0]

    def cat_ranges(self, paths: Sequence[str], starts: Sequence[int], ends: Sequence[int], on_error: str) -> list[bytes]:
        """Return several ranges of bytes of one file."""
        return self._keeper(paths[0]).read(paths[0], list(zip(starts, ends, strict=True)))

    def find(self, path: str, detail: bool) -> dict[str, dict[str, Any]]:
        """Return the files below a directory by their names."""
        return {file: {"name": file, "type": "file", "size": size} for file, size in self._keeper(path).sizes_below(path).items()}

    def get_file(self, path: str, local: str) -> None:
        """Copy a file to a local one."""
        size = self._keeper(path).sizes_below(path).get(path)
        if size is None:
            raise FileNotFoundError(path)
        with open(local, "xb") as target:
            for start in range(0, size, BYTES_OF_FETCH):
                target.write(self.cat_file(path, start, min(start + BYTES_OF_FETCH, size)))

    def put_file(self, local: str, path: str) -> None:
        """Keep a copy of a local file."""
        self._keeper(path).write(local, path)

    # Classes of fsspec for object stores have this method: a file is seen when it is complete.
    _put_file = put_file

    def invalidate_cache(self, path: str | None = None) -> None:
        """Do nothing, as nothing is cached that could change."""

    def _keeper(self, path: str) -> FileKeeper:
        if self.keeper is None:
            raise FileNotFoundError(path)
        return self.keeper


# Bytes of a file that are copied at a time.
BYTES_OF_FETCH = 8 * BYTES_OF_BLOCK

KEPT_FILES = KeptFileSystem()


# In tasks.


def directory_of_executor() -> str:
    """Return a directory for temporary files of a task: one of Spark's, which tells its workers, else the system's."""
    return os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0] or tempfile.gettempdir()


class FilesOfTask:
    """The kept files of a task, in a local directory: those that it reads, as blocks of them have come, and those that it has written.

    Examples
    --------
    >>> with FilesOfTask() as files:
    ...     files.add(FileBlock("kept-by-spark://a", 3, pa.py_buffer(b"def")))
    ...     files.add(FileBlock("kept-by-spark://a", 0, pa.py_buffer(b"abc")))
    ...     files.read("kept-by-spark://a", [(1, 5)])
    [b'bcde']
    """

    def __init__(self) -> None:
        self._directory: str | None = None
        self._local: dict[str, str] = {}
        self._written: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)

    def add(self, block: FileBlock) -> None:
        """Add a part of a file; parts come in any order."""
        with open(self._local_of(block.file), "r+b") as file:
            file.seek(block.start)
            file.write(block.content)

    def read(self, file: str, ranges: Sequence[Range]) -> list[bytes]:
        """Return some ranges of bytes of a file that has come."""
        if file not in self._local:
            raise FileNotFoundError(file)
        with open(self._local[file], "rb") as opened:
            return [os.pread(opened.fileno(), stop - start, start) for start, stop in ranges]

    def write(self, local: str, file: str) -> None:
        """Keep a local file until its blocks are taken."""
        copy = self._local_of(file)
        os.unlink(copy)
        try:
            os.link(local, copy)
        except OSError:
            shutil.copyfile(local, copy)
        self._written.append(file)

    def sizes_below(self, directory: str) -> Mapping[str, int]:
        """Return the sizes of the files below a directory."""
        return {file: os.path.getsize(local) for file, local in self._local.items() if is_below(file, directory)}

    def forget(self, directory: str) -> None:
        """Do nothing: the files go with the task."""

    def drained(self) -> Iterator[FileBlock]:
        """Yield the blocks of the files that the task has written, which are removed."""
        while self._written:
            file = self._written.pop()
            local = self._local.pop(file)
            yield from blocks_of(local, file)
            os.unlink(local)

    def _local_of(self, file: str) -> str:
        if file not in self._local:
            if self._directory is None:
                self._directory = tempfile.mkdtemp(prefix="sframe_spark-", dir=directory_of_executor())
            local = os.path.join(self._directory, f"file-{len(self._local)}-{os.path.basename(file)}")
            with open(local, "xb"):
                self._local[file] = local
        return self._local[file]


def is_below(file: str, directory: str) -> bool:
    """Return whether a file is the one of a name, or is below the directory of that name."""
    return file == directory or file.startswith(directory.rstrip("/") + "/")


def blocks_of(local: str, file: str) -> Iterator[FileBlock]:
    """Yield the bytes of a local file as the blocks of a kept one."""
    size = os.path.getsize(local)
    with open(local, "rb") as opened:
        for start in range(0, size, BYTES_OF_BLOCK):
            yield FileBlock(file, start, pa.py_buffer(opened.read(BYTES_OF_BLOCK)))
