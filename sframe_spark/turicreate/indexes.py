"""What the index files of an archive say: which columns there are, and in which segment files their rows are."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, BinaryIO

import attrs

from sframe_spark.errors import StorageError
from sframe_spark.storage.files.file_state import FileState
from sframe_spark.storage.manifests.length import check_length, read_text
from sframe_spark.storage.manifests.manifest import SARRAY, SFRAME
from sframe_spark.turicreate.ini import damaged, number_of, parse_ini, sequence
from sframe_spark.turicreate.names import Allowed, NamedFile, with_column
from sframe_spark.turicreate.segments import opened_anew
from sframe_spark.turicreate.tagged import MISSING, TENSOR
from sframe_spark.visible import visible

VERSION, ARRAY_VERSION = 1, 2
# Which of its names is that of the frame or the array.
CONTENT_PREFIX = 2


@attrs.frozen
class IndexedColumn:
    """A column, as an index of arrays describes it.

    Parameters
    ----------
    kind
        Number of its type; that of missing values where it is not told.
    parts
        For each segment the path of its file, the number of the column in it, and how many rows it has there.
    """

    kind: int
    parts: tuple[tuple[str, int, int], ...]

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return sum(rows for _, _, rows in self.parts)


@attrs.frozen
class IndexedFrame:
    """A frame, as its index describes it.

    Parameters
    ----------
    names
        Names of the columns as they stand, with the blanks around them.
    columns
        The columns.
    rows
        How many rows each has.
    """

    names: tuple[bytes, ...]
    columns: tuple[IndexedColumn, ...]
    rows: int


@attrs.define
class IndexReader:
    """Reads the index files of one archive, of one frame at most, each once.

    Parameters
    ----------
    allowed
        Where they, and what they name, may be.
    read
        Filled with what the file system said of each, by its path.
    """

    allowed: Allowed
    read: dict[str, FileState] = attrs.Factory(dict)
    _arrays: dict[str, tuple[IndexedColumn, ...]] = attrs.Factory(dict)
    _named: dict[str, NamedFile] = attrs.Factory(dict)

    def content(self, file: NamedFile) -> bytes:
        """Return the bytes of an index file.

        Raises
        ------
        StorageError
            If there is none, or it is no regular file, no text, or too long.
        """
        with opened_anew(file.path) as (stream, status):
            found = _text(file.path, stream, status.st_size)
        self.read[file.path] = FileState.of(status)
        return found

    def frame(self, file: NamedFile) -> IndexedFrame:
        """Return what the index of a frame says.

        Raises
        ------
        StorageError
            If it is damaged, or names what may not be read.
        """
        path = file.name
        sections = parse_ini(self.content(file), path)
        about = sections.get(b"sframe", {})
        count, rows = (number_of(about.get(key, b""), path, key.decode()) for key in (b"num_columns", b"nrows"))
        names = sequence(sections.get(b"column_names", {}), path, "column_names")
        files = sequence(sections.get(b"column_files", {}), path, "column_files")
        if not len(names) == len(files) == count:
            raise damaged(path, f"it says that there are {count} columns, and has {len(names)} names and {len(files)} places of columns")
        columns = tuple(self._column(file.strip(), path) for file in files)
        for column in columns:
            if column.rows != rows:
                raise damaged(path, f"it says that there are {rows} rows, and a column has {column.rows}")
        if rows and not columns:
            raise damaged(path, f"it says that there are {rows} rows without a column")
        return IndexedFrame(tuple(names), columns, rows)

    def _column(self, file: bytes, holder: str) -> IndexedColumn:
        name, number = with_column(file.decode("utf-8", "surrogateescape"))
        if name not in self._named:
            # Most columns name one file.
            self._named[name] = self.allowed.file(name, holder)
        return self.column(self._named[name], number or 0)

    def column(self, file: NamedFile, number: int) -> IndexedColumn:
        """Return a column of an index of arrays.

        Raises
        ------
        StorageError
            If there is none, or the index is damaged.
        """
        if file.name not in self._arrays:
            self._arrays[file.name] = tuple(self._array_index(file))
        columns = self._arrays[file.name]
        if number >= len(columns):
            raise damaged(file.name, f"it has {len(columns)} columns, and number {number} is asked for")
        return columns[number]

    def _array_index(self, file: NamedFile) -> Iterable[IndexedColumn]:
        path = file.name
        tree = _json(self.content(file), path)
        about, columns = _object(tree.get("sarray"), path, "sarray"), tree.get("columns")
        version = number_of(about.get("version", ""), path, "version")
        if version != ARRAY_VERSION:
            raise _old_version(path, str(version))
        segments = number_of(about.get("num_segments", ""), path, "num_segments")
        files = [text for text in _entries(tree.get("segment_files"), segments, path, "segment_files") if isinstance(text, str)]
        if len(files) != segments or not isinstance(columns, list):
            raise damaged(path, "segment_files are no names, or columns no list")
        named = [with_column(file) for file in files]
        places = [(self.allowed.file(name, path).path, number) for name, number in named]
        for place, column in enumerate(columns):
            found = _object(column, path, "a column")
            metadata = _object(found.get("metadata", {}), path, "metadata")
            kind = number_of(metadata.get("__type__", MISSING), path, "__type__")
            if kind > TENSOR:
                raise damaged(path, f"column {place} is of the unknown type {kind}")
            sizes = [number_of(size, path, "segment_sizes") for size in _entries(found.get("segment_sizes"), segments, path, "segment_sizes")]
            files_of = ((where, place if number is None else number, size) for (where, number), size in zip(places, sizes, strict=True))
            yield IndexedColumn(kind, tuple(part for part in files_of if part[2]))


def _text(path: str, stream: BinaryIO, size: int) -> bytes:
    check_length(path, size)
    return read_text(path, stream, size)


def _json(content: bytes, path: str) -> dict[str, Any]:
    if content.lstrip().startswith(b"["):
        raise _old_version(path, "0 or 1")
    try:
        tree = json.loads(content, object_pairs_hook=lambda pairs: _once(pairs, path))
    except (ValueError, RecursionError) as error:
        raise damaged(path, f"it is no JSON ({type(error).__name__})") from None
    return _object(tree, path, "it")


def _once(pairs: list[tuple[str, Any]], path: str) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise damaged(path, "a key is there twice")
    return found


def _object(value: Any, path: str, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise damaged(path, f"{what} is no JSON object")
    return value


def _entries(value: Any, count: int, path: str, what: str) -> list[Any]:
    """Entries of a sequence, which is a list, or an object whose keys are numbers."""
    found = value if isinstance(value, list) else sequence(_object({} if value is None else value, path, what), path, what)
    if len(found) != count:
        raise damaged(path, f"{what} has {len(found)} entries for {count} segments")
    return found


def _old_version(path: str, version: str) -> StorageError:
    return StorageError(
        f"{visible(path)} is an index of arrays of version {version}, which Turi Create 6 does not read either, but version {ARRAY_VERSION}: "
        "load it with an older version of Turi Create, and save it again"
    )


def archive_index(content: bytes, path: str) -> tuple[str, bytes]:
    """Return what an archive holds, and what the names of its files begin with.

    Raises
    ------
    StorageError
        If the index is damaged, or the archive holds neither a frame nor a column.
    """
    sections = parse_ini(content, path)
    about, metadata = sections.get(b"archive", {}), sections.get(b"metadata", {})
    if number_of(about.get(b"version", b""), path, "version") != VERSION:
        raise StorageError(f"{visible(path)} is of an unknown version, {VERSION} is read here: load and save it again with Turi Create 6")
    contents = metadata.get(b"contents", b"").strip().decode("ascii", "replace")
    if contents not in (SFRAME, SARRAY):
        raise _other_contents(path, contents)
    prefixes = sequence(sections.get(b"prefixes", {}), path, "prefixes")
    if number_of(about.get(b"num_prefixes", b""), path, "num_prefixes") != len(prefixes) or len(prefixes) <= CONTENT_PREFIX:
        raise damaged(path, f"it names {len(prefixes)} prefixes")
    return contents, prefixes[CONTENT_PREFIX].strip()


def _other_contents(path: str, contents: str) -> StorageError:
    advice = {
        "graph": "load it with Turi Create, and save its vertices and edges, which are SFrames",
        "model": "load it with Turi Create, and save the SFrames that it holds, or export it; models are not read",
    }
    what = f"{visible(path)} is of an archive of {visible(contents)[:40]!r}"
    return StorageError(f"{what}, and frames and columns are read here: {advice.get(contents, 'it is none of both')}")
