"""The base class of writers of files: of Parquet and ORC files, and of those of plug-ins."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any, BinaryIO, ClassVar

import pyarrow as pa

from sframe_spark.errors import PlanInvariantError
from sframe_spark.types import ColumnType


class FileWriter:
    """Writes rows to one file, for a kind of files that ``SFrame.write()`` finds by its name.

    The file is written in a place that nobody reads, and appears under its name, whole, when all rows are in it. One writer writes all rows or, of a
    directory, one writes each part of the rows, side by side with others.

    Parameters
    ----------
    file
        An empty file on this machine, open for writing bytes. The writer does not close it.
    columns
        Types of the columns by name.
    options
        What the user has given to ``SFrame.write()`` by name. A class that takes options has parameters of these names.

    Class attributes
    ----------------
    name
        The name of the kind of file, for ``SFrame.write(path, format=...)``.
    suffixes
        What the names of such files end in, such as ``(".readings",)``. The first one is that of files in a directory.

    Examples
    --------
    >>> import io
    >>> class Lines(FileWriter):
    ...     name = "lines"
    ...
    ...     def write(self, rows):
    ...         for row in zip(*rows.to_pydict().values()):
    ...             self.file.write(repr(row).encode() + b"\\n")
    >>> file = io.BytesIO()
    >>> with Lines(file, {}) as writer:
    ...     writer.write(pa.table({"a": [1, 2], "b": ["x", None]}))
    >>> file.getvalue()
    b"(1, 'x')\\n(2, None)\\n"
    """

    name: ClassVar[str] = ""
    suffixes: ClassVar[tuple[str, ...]] = ()

    def __init__(self, file: BinaryIO, columns: Mapping[str, ColumnType], **options: Any) -> None:
        self.file, self.columns, self.options = file, columns, options

    @classmethod
    def check(cls, columns: Mapping[str, ColumnType], options: Mapping[str, Any]) -> None:
        """Raise an error if such columns cannot be written, or an option is none; called before rows are computed. By default all can be."""

    @staticmethod
    def prepared(values: pa.Array) -> pa.Array:
        """Return the values of a column in the form in which they are written; errors name the column. By default they are unchanged."""
        return values

    def write(self, rows: pa.Table) -> None:
        """Write the next rows: some hundred thousand at most, in Arrow's types, with the columns in their order. Without rows it is called once."""
        raise PlanInvariantError(f"the writer {type(self).__name__} cannot write rows: define write()")

    def close(self) -> None:
        """Write what comes after the last row; by default nothing."""

    def abandon(self) -> None:
        """Release what the writer holds after an error; the file is removed. By default the same as :meth:`close`, whose errors are ignored."""
        self.close()

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None:
            self.close()
            return
        # The error of the block is raised.
        with contextlib.suppress(Exception):
            self.abandon()
