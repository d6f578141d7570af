"""Members of SFrame that read and write files: saved frames, CSV, JSON, Parquet, ORC."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from sframe_spark.api import construction, persistence
from sframe_spark.api.file_writers import write_directory
from sframe_spark.api.sarray import SArray
from sframe_spark.api.sframe_columns import Columns
from sframe_spark.storage.part_files import ORC, PARQUET

if TYPE_CHECKING:
    from sframe_spark.api.sframe import SFrame


def _frame(found: construction.Frame) -> SFrame:
    from sframe_spark.api.sframe import SFrame

    return SFrame(_node=found[0], _names=found[1])


class Files(Columns):
    """Rows from and to files."""

    def save(self, filename: str, format: str | None = None) -> None:
        """Save as a directory that ``load_sframe`` opens again, or as CSV, whole or not at all."""
        persistence.save_frame(self._node, self._names, filename, format)

    def export_csv(self, filename: str, *form: Any, **options: Any) -> None:
        """Write all rows as a CSV file, a link to one filled, its rights kept.

        ``read_csv`` with the same delimiter, line terminator, quotes and escapes gives the rows back: the text ``NA`` as missing unless
        ``na_values=[]`` is given, and a column of texts that all look like numbers, lists or dicts as such unless ``column_type_hints`` says
        ``str``. A missing text comes back as an empty one. Missing values of an only column are blank lines, which are no rows to ``read_csv``:
        give an ``na_rep``. Other programs take a backslash for itself: ``escape_char=""`` writes for them, and reads what they write.

        Parameters
        ----------
        filename
            The file; compressed if the name ends in ``.gz``.
        form, options
            See :class:`~sframe_spark.api.csv_writer.CsvFormat`.
        """
        from sframe_spark.api.csv_writer import CsvFormat, write_csv

        write_csv(self._node, self._names, filename, CsvFormat(*form, **options))

    def write_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write all rows as a directory of Parquet files, ``part-00000.parquet`` ..., in row order, whole or not at all.

        Other programs read them: date-times with an offset are instants (``timestamp`` in UTC), lists and dicts of mixed values JSON texts.
        A directory that was written so is replaced, nothing else.

        Raises
        ------
        StorageError
            If there is something else at the path, or the files cannot be written.
        InvalidArgumentError
            If the frame has no columns.

        Examples
        --------
        >>> import tempfile
        >>> from sframe_spark import SFrame
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     SFrame({"a": [1, None]}).write_parquet(directory + "/rows")
        ...     list(SFrame.read_parquet(directory + "/rows")["a"])
        [1, None]
        """
        write_directory(self._node, self._names, path, PARQUET)

    def write_orc(self, path: str | os.PathLike[str]) -> None:
        """Write all rows as a directory of ORC files, as :meth:`write_parquet` does.

        Raises
        ------
        StorageError
            If there is something else at the path, or the files cannot be written.
        InvalidArgumentError
            If the frame has no columns.

        Examples
        --------
        >>> import tempfile
        >>> from sframe_spark import SFrame
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     SFrame({"a": [1, None]}).write_orc(directory + "/rows")
        ...     sorted(os.listdir(directory + "/rows"))
        ['_written_by_sframe_spark', 'part-00000.orc']
        """
        write_directory(self._node, self._names, path, ORC)

    @staticmethod
    def read_csv(url: Any, delimiter: str = ",", header: bool = True, *dialect: Any, **options: Any) -> SFrame:
        """A frame of the rows of a CSV file, or of all files in a directory or that match a pattern, in name order.

        Parameters
        ----------
        url, delimiter, header, dialect, options
            See :class:`~sframe_spark.api.csv_options.CsvRequest`.
        """
        from sframe_spark.api.csv_reader import read_csv

        return _frame(read_csv(url, delimiter, header, *dialect, **options))

    @staticmethod
    def read_csv_with_errors(url: Any, delimiter: str = ",", header: bool = True, *dialect: Any, **options: Any) -> tuple[SFrame, dict[str, SArray]]:
        """What :meth:`read_csv` reads, and the lines of each file that fit no row."""
        from sframe_spark.api.csv_reader import read_csv_with_errors

        node, names, left_out = read_csv_with_errors(url, delimiter, header, False, *dialect, **options)
        return _frame((node, names)), {path: SArray(lines, str) for path, lines in left_out.items()}

    @staticmethod
    def read_parquet(path: Any) -> SFrame:
        """A frame of the rows of Parquet files, in file-name order."""
        return _frame(construction.frame_from_parquet(path))
