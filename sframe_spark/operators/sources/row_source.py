"""The base classes of sources that plug-ins define: rows of any kind, and the rows of one file."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextvars import copy_context
from typing import Any, BinaryIO, ClassVar, Self, TypeAlias

import attrs
import pyarrow as pa

from sframe_spark.errors import PlanInvariantError, StorageError
from sframe_spark.message_text import visible
from sframe_spark.operators.sources.source_predicate import Predicate
from sframe_spark.paths_and_uris import is_remote_location
from sframe_spark.storage.filesystem.external_file_streams_and_line_ranges import open_bytes
from sframe_spark.storage.filesystem.local_files import FileState, unchanged
from sframe_spark.storage.filesystem.remote_input_listing_change_detection_and_download import require_still
from sframe_spark.storage.filesystem.temporary_datasets import local_file
from sframe_spark.types import ColumnType

# What a source yields: rows with the names of their columns.
Rows: TypeAlias = "pa.Table | pa.RecordBatch"


class RowSource:
    """Base class of sources: rows that the code of a plug-in reads, in their order, where and as often as the engine needs them.

    A source is a value. It is pickled to other processes and to Spark's tasks, and several may read it at once, so it keeps nothing between calls of
    :meth:`read`; connections and open files are made there. All methods but :meth:`read` are called once, when a frame is made of the source.

    Class attributes
    ----------------
    threads
        Whether threads may read the source side by side. If not, which is the default, Python processes or Spark's tasks do: code in Python would
        hold the interpreter, and other threads would wait.
    filters
        Whether :meth:`read` makes use of predicates. If not, it is always given None.

    Examples
    --------
    Squares; any range of rows can be computed without the rows before it:

    >>> from sframe_spark import SFrame
    >>> from sframe_spark.plugin import INT, frame_of_source
    >>> class Squares(RowSource):
    ...     def columns(self):
    ...         return {"n": INT, "square": INT}
    ...
    ...     def length(self):
    ...         return 1000
    ...
    ...     def read(self, start, stop, columns, predicate):
    ...         values = {"n": range(start, stop), "square": (n * n for n in range(start, stop))}
    ...         yield pa.table({name: pa.array(values[name], pa.int64()) for name in columns})
    >>> frame_of_source(Squares())[-1]
    {'n': 999, 'square': 998001}
    """

    threads: ClassVar[bool] = False
    filters: ClassVar[bool] = False

    def columns(self) -> Mapping[str, ColumnType]:
        """Return the types of the columns by name, in the order of the columns, such as ``{"time": INT, "value": FLOAT}``."""
        raise PlanInvariantError(f"the source {type(self).__name__} does not define its columns: define columns()")

    def length(self) -> int | None:
        """Return the number of rows; None, which is the default, if it is not known before all rows are read."""
        return None

    def at_most(self) -> int | None:
        """Return an upper bound of the number of rows if :meth:`length` is not known; None, which is the default, if there is none."""
        return self.length()

    def parts(self) -> Sequence[int | None]:
        """Return the number of rows of each part of the source, in order; None for a part whose rows are not known. By default there is one part.

        Parts are what is read at once, such as blocks that are decompressed: tasks share them, and none is read twice by one that reads all rows in
        order. If the length is known, so are the rows of all parts; return a single one if the time to read a range of rows depends on its length
        only.
        """
        return (self.length(),)

    def size(self) -> float | None:
        """Return about how many bytes all rows take in memory; None, which is the default, if that is not known."""
        return None

    def order(self) -> Sequence[tuple[str, bool]]:
        """Return the columns by which the rows are sorted, each with whether it ascends; missing values are the smallest. By default none.

        These declarations are trusted: a sort by these columns is left out. The contract kit compares them with rows.
        """
        return ()

    def unique(self) -> Sequence[Sequence[str]]:
        """Return groups of columns in which no two rows have the same values; by default none. This is believed, too."""
        return ()

    def read(self, start: int, stop: int, columns: Sequence[str], predicate: Predicate | None) -> Iterable[Rows]:
        """Yield the rows ``start`` (inclusive) to ``stop`` (exclusive), or, if the length is not known, those of the parts ``start`` to ``stop``.

        Parameters
        ----------
        start, stop
            Row numbers, or numbers of parts, from 0. Neighbouring ranges add up: the rows of 0 to 3 are those of 0 to 2, and then those of 2 to 3.
        columns
            The names of the columns to yield, at least one, in this order. Others need not be read.
        predicate
            If not None, rows that do not satisfy it may be left out. The engine filters what is yielded, so leaving out none is right, too.

        Returns
        -------
        Iterable
            Arrow tables or record batches, in order, with any number of rows each. What is yielded is used before the next is asked for, and no more
            is asked for when there are enough rows: a generator reads the least.
        """
        raise PlanInvariantError(f"the source {type(self).__name__} cannot read rows: define read()")

    # What FileSource knows of its file.

    @property
    def identity(self) -> Hashable:
        """A value that is equal for sources of the same rows; by default the source itself."""
        return self

    @property
    def location(self) -> str | None:
        """The path or URI of the file that is read; None if there is none."""
        return None

    def require_unchanged(self) -> None:
        """Raise an error if what is read has changed since the source was made; by default nothing is checked."""

    def called(self) -> str:
        """Return what messages and plans call the source."""
        return type(self).__name__


@attrs.frozen
class SourceFile:
    """A file that a source reads: local, or remote and read where it is. Each read checks that the file has not changed since it was found.

    Parameters
    ----------
    location
        The path or URI.
    state
        The state of the file when it was found.
    origin
        The path or URL that the user gave, for messages.
    """

    location: str
    state: FileState
    origin: str

    @property
    def size(self) -> int:
        """The size in bytes."""
        return self.state.size

    @contextlib.contextmanager
    def open(self, buffer_bytes: int = 1 << 20) -> Iterator[BinaryIO]:
        """Open the file for reading at any position, as a binary file of Python, for a ``with`` block.

        Parameters
        ----------
        buffer_bytes
            How many bytes are read at least at a time: each read of a remote file is a request.

        Raises
        ------
        StorageError
            If the file cannot be read, or was changed.
        """
        raw: Any = open_bytes(self.location, self.state, 0)
        with raw, io.BufferedReader(_Readable(raw), buffer_bytes) as stream:
            yield stream

    def read(self, start: int, stop: int) -> bytes:
        """Return the bytes from one position to another, by one request if the file is remote.

        Raises
        ------
        StorageError
            If the file cannot be read, ends before ``stop``, or was changed.
        """
        with contextlib.closing(open_bytes(self.location, self.state, start)) as stream:
            content: bytes = stream.read(max(0, stop - start))
        if len(content) != max(0, stop - start):
            raise StorageError(f"{visible(self.origin)} ends too soon: there are no bytes {start} to {stop} in its {self.size}")
        return content

    @contextlib.contextmanager
    def local(self) -> Iterator[str]:
        """Give the path of the file, or of a copy of it if it is remote, for a ``with`` block: for libraries that want a path."""
        self.require_unchanged()
        with local_file(self.location) as path:
            yield path
        self.require_unchanged()

    def require_unchanged(self) -> None:
        """Raise an error if the file was changed since it was found, or is not there.

        Raises
        ------
        StorageError
            In these cases.
        """
        if is_remote_location(self.location):
            require_still(self.location, self.state)
        else:
            unchanged(self.location, self.state)


class FileSource(RowSource):
    """Base class of sources of the rows of one file, for a kind of files that ``SFrame.read()`` finds.

    The class is registered under a name by ``register_source``. For several files, such as those in a directory, the frame has the rows of all: they
    must have the same columns.

    Parameters
    ----------
    file
        The file.
    options
        What the user has given to ``SFrame.read()`` by name. A class that takes options has parameters of these names.

    Class attributes
    ----------------
    name
        The name of the kind of file, for ``SFrame.read(path, format=...)``.
    suffixes
        What the names of such files end in, such as ``(".readings",)``.
    beginning
        The bytes with which such files begin; empty if there are none. They decide where no kind has the suffix of the name.
    """

    name: ClassVar[str] = ""
    suffixes: ClassVar[tuple[str, ...]] = ()
    beginning: ClassVar[bytes] = b""
    _given: tuple[Hashable, ...]

    def __new__(cls, *arguments: Any, **options: Any) -> Self:
        """Return a source that knows its arguments, whatever its class passes on to this one."""
        source = super().__new__(cls)
        given = sorted((name, repr(value)) for name, value in options.items() if name != "file")
        source._given = tuple(map(repr, arguments[1:])), tuple(given)
        return source

    def __init__(self, file: SourceFile, **options: Any) -> None:
        self.file = file
        self.options = options

    def size(self) -> float | None:
        """Return the size of the file. Where values are packed, say how much more they take in memory."""
        return float(self.file.size)

    @property
    def identity(self) -> Hashable:
        """The kind of file, the file in its state, and with what the source was made, so that a file that is read twice is one source."""
        return type(self), self.file, self._given

    @property
    def location(self) -> str | None:
        """The path or URI of the file."""
        return self.file.location

    def require_unchanged(self) -> None:
        """Raise an error if the file was changed since the source was made."""
        self.file.require_unchanged()

    def called(self) -> str:
        """Return the path or URL that the user gave."""
        return self.file.origin


class _Readable(io.RawIOBase):
    """A file that is read by ``read`` as :class:`io.BufferedReader` wants it, by ``readinto``."""

    def __init__(self, file: Any) -> None:
        self._file = file
        # Libraries read in their own threads, which lack the settings of the thread that has opened the file, such as options of file systems.
        self._context = copy_context()

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the current position."""
        position: int = self._file.tell()
        return position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Change the current position, and return it."""
        self._file.seek(offset, whence)
        return self.tell()

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer with the next bytes, and return how many there were."""
        content = self._context.copy().run(self._file.read, len(buffer))
        buffer[: len(content)] = content
        return len(content)
