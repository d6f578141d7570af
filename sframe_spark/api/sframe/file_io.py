"""Members of SFrame that read and write files: saved frames, CSV, JSON, Parquet, ORC and lake tables."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

from sframe_spark.api.class_registry import make_frame
from sframe_spark.api.column_names import require_unicode
from sframe_spark.api.hints import call_example
from sframe_spark.api.io import saved_frames
from sframe_spark.api.io.paths import path_text
from sframe_spark.api.io.saved_frames import checkpoint_node
from sframe_spark.api.sarray import SArray
from sframe_spark.api.sframe import construction
from sframe_spark.api.sframe.columns import Columns
from sframe_spark.engine.execution.export import write_parts
from sframe_spark.errors import InvalidArgumentError, UnsupportedOperationError, listed
from sframe_spark.planner.node import PlannerNode
from sframe_spark.storage.export_directories import exporting
from sframe_spark.storage.export_files import ORC, PARQUET, PartForm

if TYPE_CHECKING:
    from sframe_spark.api.class_registry import SFrame


def write_directory(node: PlannerNode, names: Sequence[str], path: str | os.PathLike[str], ending: str) -> None:
    """Write all rows as a directory of files, which appears when it is complete.

    Raises
    ------
    InvalidArgumentError
        If there are no columns, or one has a name that readers cannot take.
    StorageError
        If there is something at the path that was not written so, or the files cannot be written.
    """
    require_unicode(names)
    if not names:
        raise InvalidArgumentError(f"a frame without columns cannot be written as {ending}: such files have columns, and rows only in them")
    if ending == ORC:
        _require_names_for_orc(names)
    with exporting(path_text(path)) as export:
        form = PartForm(ending, tuple(names), tuple(node.schema))
        export.publish(write_parts(node, export.staging, form), ending)


def _require_names_for_orc(names: Sequence[str]) -> None:
    """Refuse names that ORC readers in Java, such as Spark's, cannot handle: they find no column, or another one.

    Raises
    ------
    InvalidArgumentError
        If there are such.
    """
    refused = [name for name in names if not name or "`" in name]
    if refused:
        raise InvalidArgumentError(
            f"Spark, and others that read ORC as it does, cannot read columns whose names are empty or have a backtick in them: {listed(refused)}; "
            "rename them first, or use write_parquet()"
        )


def require_unquoted_texts(only_raw: Any) -> None:
    """Refuse to distinguish quoted from unquoted texts.

    Raises
    ------
    UnsupportedOperationError
        If that is asked for.
    """
    if only_raw:
        raise UnsupportedOperationError(
            "texts such as na_values are compared with fields without their quotes: leave out _only_raw_string_substitutions, and read the column as"
            " str by column_type_hints to compare its texts yourself"
        )


class FrameFiles(Columns):
    """Reading and writing files."""

    def save(self, filename: str, format: str | None = None) -> None:
        """Save as a directory that ``load_sframe`` opens again, as CSV or as JSON, whole or not at all.

        Parameters
        ----------
        filename
            The directory, or the file.
        format
            ``binary``, ``csv`` or ``json`` (an array of objects). When not given: by the end of the name, ``.csv`` or ``.json``, else a directory.

        Raises
        ------
        ValueError
            If there is no such format.
        OSError
            If it cannot be written.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from sframe_spark import SFrame
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     SFrame({"a": [1, 2]}).save(directory + "/rows.json")
        ...     print(pathlib.Path(directory, "rows.json").read_text(), end="")
        [
        {"a":1}
        ,{"a":2}
        ]
        """
        saved_frames.save_frame(self._node, self._names, filename, format)

    def checkpoint(self, location: str) -> SFrame:
        """Save all rows and go on with what was saved: everything built on this frame reads it there, in the time of reading a saved frame.

        As ``materialize()``, but durable: no temporary file holds these rows any more, and other processes may load them. Long programs
        that are started again after a failure load what they had last.

        Parameters
        ----------
        location
            The directory, or a URI below which the rows become the newest version.

        Returns
        -------
        SFrame
            This frame.

        Raises
        ------
        OSError
            If it cannot be written, or somebody else saved to the same place meanwhile; the frame stays what it was.

        Examples
        --------
        >>> import tempfile
        >>> from sframe_spark import SFrame, load_sframe
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     frame = SFrame({"stars": [5, 3]})
        ...     frame["half"] = frame["stars"] / 2
        ...     print(frame.checkpoint(directory + "/halves").is_materialized(), load_sframe(directory + "/halves")[0])
        True {'stars': 5, 'half': 2.5}
        """
        checkpoint_node(self._node, location, self._names)
        return cast("SFrame", self)

    def _save_reference(self, filename: str) -> None:
        """Save as a directory that ``load_sframe`` opens again and that refers to columns of saved frames; the other columns are written.

        Rows that saved frames have are not copied: loading the directory reads them where they are, and is an error once they are gone or others.
        Rows in memory, in files of other programs and in temporary files are written, as ``save`` does.

        Parameters
        ----------
        filename
            The directory.

        Raises
        ------
        OSError
            If it cannot be written.

        Examples
        --------
        >>> import os, tempfile
        >>> from sframe_spark import SFrame, load_sframe
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     frame, extended = os.path.join(directory, "frame"), os.path.join(directory, "extended")
        ...     SFrame({"stars": [5, 3]}).save(frame)
        ...     rated = load_sframe(frame)
        ...     rated["half"] = rated["stars"] / 2
        ...     rated._save_reference(extended)
        ...     load_sframe(extended)[0]
        {'stars': 5, 'half': 2.5}
        """
        saved_frames.save_reference(self._node, self._names, filename)

    @call_example("sf.export_json('rows.json', orient='lines')")
    def export_json(self, filename: str, orient: Literal["records", "lines"] = "records") -> None:
        """Write all rows as JSON, whole or not at all: one array of objects, or with ``orient="lines"`` an object on each line.

        What is missing is left out of its object, as in the reference. Date-times are ISO texts; NaN and the infinities, which JSON has not, are
        the words ``NaN``, ``Infinity`` and ``-Infinity``, as Python, Spark and DuckDB read them.

        Parameters
        ----------
        filename
            The file; compressed if the name ends in ``.gz``, ``.bz2``, ``.xz``, ``.zst`` or ``.lz4``.
        orient
            ``records`` or ``lines``.

        Raises
        ------
        InvalidArgumentError
            If ``orient`` is something else.
        StorageError
            If the file cannot be written.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from sframe_spark import SFrame
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     SFrame({"a": [1, None], "b": ["x", "y"]}).export_json(directory + "/rows.json", orient="lines")
        ...     print(pathlib.Path(directory, "rows.json").read_text(), end="")
        {"a":1,"b":"x"}
        {"b":"y"}
        """
        from sframe_spark.api.io.json.writer import write_json

        write_json(self._node, self._names, filename, orient)

    @staticmethod
    @call_example("SFrame.read_json('rows.json', orient='lines')")
    def read_json(url: Any, orient: Literal["records", "lines"] = "records", encoding: str = "utf-8") -> SFrame:
        """A frame of the objects in JSON files, each a row, in order; columns are in the order of their names.

        A column has the type that holds all its values as they are: ``int`` (of true and false, too), ``float``, ``str``, ``list`` or ``dict``;
        where values are of several kinds it is ``str``, and what is no text is written as JSON. With ``orient="lines"`` values that are no objects
        are one column ``X1``. Numbers larger than any float are refused.

        Parameters
        ----------
        url
            A path, a directory, a pattern, a URL, or a list of these.
        orient
            ``records``: each file is one array of objects; ``lines``: there is a value on each line.
        encoding
            How characters are written as bytes.

        Raises
        ------
        InvalidArgumentError
            If ``orient`` is something else, or Python knows no such encoding.
        StorageError
            If there is no such file, or it is not JSON of that form; it names the line.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from sframe_spark import SFrame
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     _ = pathlib.Path(directory, "rows.json").write_text('[{"a": 1}, {"a": 2.5, "b": "x"}]')
        ...     list(SFrame.read_json(directory + "/rows.json"))
        [{'a': 1.0, 'b': None}, {'a': 2.5, 'b': 'x'}]
        """
        from sframe_spark.api.io.json.reader import read_json

        return make_frame(*read_json(url, orient, encoding))

    @call_example("sf.write_parquet('rows')")
    def write_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write all rows as a directory of Parquet files, ``part-00000-...parquet`` ..., in row order, whole or not at all.

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
        ...     [name[:11] for name in os.listdir(directory + "/rows")]
        ['part-00000-']
        """
        write_directory(self._node, self._names, path, ORC)

    @staticmethod
    @call_example("SFrame.read_parquet('rows')[['a', 'b']], which reads these columns alone")
    def read_parquet(path: Any) -> SFrame:
        """A frame of the rows of Parquet files, in file-name order, of which only what is needed is read.

        Columns that the directories of a partitioned table name (``year=2024/part-0.parquet``) come last; filters by them leave files out.
        An order that the files seem to be in is compared with their rows the first time that it could be of use, as for a sort by that column.

        Parameters
        ----------
        path
            A path, a directory, a pattern, a URL, or a list of these.

        Raises
        ------
        StorageError
            If there is no such file, one is something else, such as one of a saved frame, or the files do not fit together.
        SchemaError
            If a column is of a type that no column of a frame can have.

        Examples
        --------
        >>> import tempfile
        >>> from sframe_spark import SFrame
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     for year in (2023, 2024):
        ...         SFrame({"n": [year % 10]}).write_parquet(f"{directory}/year={year}")
        ...     list(SFrame.read_parquet(directory))
        [{'n': 3, 'year': 2023}, {'n': 4, 'year': 2024}]
        """
        return make_frame(*construction.frame_from_parquet(path))

    @staticmethod
    def read_orc(path: Any) -> SFrame:
        """A frame of the rows of ORC files, in file-name order; all are read once and kept in our own form.

        Parameters
        ----------
        path
            A path, a directory, a pattern, a URL, or a list of these; see :meth:`read_parquet`.

        Raises
        ------
        StorageError
            If there is no such file, one is something else or damaged, or the files do not fit together.
        SchemaError
            If a column is of a type that no column of a frame can have.

        Examples
        --------
        >>> import tempfile
        >>> from sframe_spark import SFrame
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     SFrame({"a": [1, None]}).write_orc(directory + "/rows")
        ...     list(SFrame.read_orc(directory + "/rows")["a"])
        [1, None]
        """
        return make_frame(*construction.frame_from_orc(path))

    @staticmethod
    def read_delta(path: str | os.PathLike[str], version: int | None = None) -> SFrame:
        """A frame of the rows of a Delta table, file after file: in the order in which its log says that they were written, then by name.

        Nothing is read but the log and the ends of the files; filters leave out files by their statistics. It takes the library ``deltalake``, and
        no Java. Time stamps that files have as INT96 (older Spark) are without a zone, in UTC, as :meth:`read_parquet` has them.

        Parameters
        ----------
        path
            The directory of the table, on this machine.
        version
            Which version of it; None for the newest.

        Raises
        ------
        StorageError
            If there is no such table or version, or its files are not as its log says: missing, of other sizes, outside its directory.
        UnsupportedOperationError
            If the library is missing, or the table has rows that are not those of its files: deletion vectors in use.
        SchemaError
            If a column is of a type that no column can have.

        Examples
        --------
        >>> import tempfile, deltalake, pyarrow
        >>> from sframe_spark import SFrame
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     deltalake.write_deltalake(directory, pyarrow.table({"a": [1, 2]}))
        ...     deltalake.write_deltalake(directory, pyarrow.table({"a": [3]}), mode="append")
        ...     list(SFrame.read_delta(directory)["a"]), list(SFrame.read_delta(directory, version=0)["a"])
        ([1, 2, 3], [1, 2])
        """
        from sframe_spark.storage.external.delta import delta_manifests

        return make_frame(*construction.frame_from_manifests(delta_manifests(path, version)))

    @staticmethod
    def read_iceberg(table: Any, snapshot_id: int | None = None) -> SFrame:
        """A frame of the rows of an Iceberg table, file after file: in the order in which they were added, then by name.

        Nothing is read but metadata and the ends of the files; filters leave out files by their statistics. It takes the library ``pyiceberg``,
        and no Java. Columns are those of the snapshot's schema, found in files by their field numbers.

        Parameters
        ----------
        table
            A table of pyiceberg, or the path of its metadata file (``.../metadata/00001-....metadata.json``), with files on this machine.
        snapshot_id
            Which snapshot; None for the current one.

        Raises
        ------
        StorageError
            If there is no such table or snapshot, or its files are not as its metadata says: missing, of other sizes, outside its directory.
        UnsupportedOperationError
            If the library is missing, or the table has rows that are not those of its files: delete files, files of other formats.
        SchemaError
            If it is neither, or a column is of a type that no column can have.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> SFrame.read_iceberg("/no/such/metadata/v1.metadata.json")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        sframe_spark.errors.StorageError: there is no file /no/such/metadata/v1.metadata.json: check the path; of a table in a catalog give ...
        """
        from sframe_spark.storage.external.iceberg import iceberg_manifests

        return make_frame(*construction.frame_from_manifests(iceberg_manifests(table, snapshot_id)))

    def export_csv(
        self,
        filename: Any,
        delimiter: str = ",",
        line_terminator: str = "\n",
        header: bool = True,
        quote_level: int = 2,
        double_quote: bool = True,
        escape_char: str = "\\",
        quote_char: str = '"',
        na_rep: str = "",
        file_header: str = "",
        file_footer: str = "",
        line_prefix: str = "",
        _no_prefix_on_first_value: bool = False,
        **kwargs: Any,
    ) -> None:
        """Write all rows as a CSV file, a link to one filled, its rights kept.

        ``read_csv`` with the same delimiter, line terminator, quotes and escapes gives the rows back: the text ``NA`` as missing unless
        ``na_values=[]`` is given, and a column of texts that all look like numbers, lists or dicts as such unless ``column_type_hints`` says
        ``str``. A missing text comes back as an empty one. Missing values of an only column are blank lines, which are no rows to ``read_csv``:
        give an ``na_rep``. Other programs take a backslash for itself: ``escape_char=""`` writes for them, and reads what they write.

        Parameters
        ----------
        filename
            The file; compressed if the name ends in ``.gz``, ``.bz2``, ``.xz``, ``.zst`` or ``.lz4``.
        delimiter
            Text between two fields.
        line_terminator
            Text after each line.
        header
            Whether the first line holds the column names.
        quote_level
            1: quotes around every field; 3: around none, so that a field that holds a delimiter is read as two; otherwise around those that need
            them.
        double_quote
            Whether a quote in a field is written twice; otherwise after the escape character.
        escape_char
            Character before a character that would not be itself; empty: none. The quote itself: no more than that quotes are written twice.
        quote_char
            Character around fields that hold anything.
        na_rep
            What is written for a missing value.
        file_header, file_footer
            First and last line of the file, which ``read_csv`` takes for rows unless it is told otherwise; empty: none.
        line_prefix
            What every line with a row starts with, as it is: ``read_csv`` takes it for the start of the first field.
        kwargs
            Other names of arguments: ``sep``, ``quotechar``, ``doublequote``, ``lineterminator``.

        Raises
        ------
        OSError
            If the file cannot be written.
        TypeError
            If there is no such argument.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from sframe_spark import SFrame
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     SFrame({"a": [1, None], "b": ["x", "y, z"]}).export_csv(directory + "/rows.csv")
        ...     print(pathlib.Path(directory, "rows.csv").read_text(), end="")
        a,b
        1,x
        ,"y, z"
        """
        from sframe_spark.api.io.csv.options import WRITE_ALIASES, with_alias_arguments
        from sframe_spark.api.io.csv.writer import CsvFormat, write_csv

        form = CsvFormat(
            delimiter, line_terminator, bool(header), quote_level, bool(double_quote), escape_char, quote_char, na_rep, file_header, file_footer,
            line_prefix, bool(_no_prefix_on_first_value),
        )  # fmt: skip
        write_csv(self._node, self._names, filename, with_alias_arguments(form, kwargs, WRITE_ALIASES, "writing CSV"))

    @staticmethod
    def read_csv(
        url: Any,
        delimiter: str = ",",
        header: bool = True,
        error_bad_lines: bool = False,
        comment_char: str | None = "",
        escape_char: str | None = "\\",
        double_quote: bool = True,
        quote_char: str | None = '"',
        skip_initial_space: bool = True,
        column_type_hints: Any = None,
        na_values: str | Sequence[str] = ("NA",),
        line_terminator: str = "\n",
        usecols: Sequence[str] = (),
        nrows: int | None = None,
        skiprows: int = 0,
        verbose: bool = True,
        nrows_to_infer: int = 100,
        true_values: str | Sequence[str] = (),
        false_values: str | Sequence[str] = (),
        _only_raw_string_substitutions: bool = False,
        *,
        encoding: str = "utf-8",
        **kwargs: Any,
    ) -> SFrame:
        """A frame of the rows of a CSV file, or of all files in a directory or that match a pattern, in name order.

        Each column gets the narrowest type that all its values have. Lines that are no rows are left out and logged.

        Parameters
        ----------
        url
            A path, a directory, a pattern, a URL, or a list of these; files of a directory are read in name order, compressed ones too.
        delimiter
            Text between two fields; a line break makes every line one field.
        header
            Whether the first line holds the column names; no number of a line, as pandas has it: 0 is False.
        error_bad_lines
            Raise at the first line that is no row.
        comment_char
            Where a comment starts, which goes to the end of the line; empty: nowhere.
        escape_char
            Character that, inside quotes, takes away or gives the next one its meaning; empty: none. The quote itself: no more than that two quotes
            inside quotes mean one.
        double_quote
            Whether two quotes inside quotes mean one.
        quote_char
            Character around fields that hold anything; empty: none.
        skip_initial_space
            Whether white space before a field is as if it were not there.
        column_type_hints
            A class for all columns, a list of classes, or a dict from name to class: no inference there, and a line with another value is no row.
        na_values
            Texts that mean a missing value; an empty field is missing in every column but those of text.
        line_terminator
            Text between two lines; each of the usual ones stands for all of them.
        usecols
            Names of the columns to read; empty: all.
        nrows
            How many rows to read at most; None: all.
        skiprows
            Lines to leave out at the start of every file.
        verbose
            Log at level INFO what was read.
        nrows_to_infer
            Taken for compatibility: types are inferred from all rows.
        true_values, false_values
            Texts that mean 1 and 0 in columns of numbers.
        encoding
            How the files' characters are written as bytes: ``utf-8``, ``latin-1``, ``utf-16`` or any other that Python knows.
        kwargs
            Other names of arguments: ``sep``, ``comment``, ``quotechar``, ``doublequote``, ``lineterminator``.

        Raises
        ------
        OSError
            If there is no such file, or it is not text.
        RuntimeError
            If a hint or a chosen name does not fit the file, or a line is no row and ``error_bad_lines`` is set.
        TypeError
            If there is no such argument.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from sframe_spark import SFrame
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     _ = pathlib.Path(directory, "rows.csv").write_text("a;b\\n1;x\\n2;-\\n")
        ...     list(SFrame.read_csv(directory + "/rows.csv", delimiter=";", na_values=["-"]))
        [{'a': 1, 'b': 'x'}, {'a': 2, 'b': None}]
        """
        from sframe_spark.api.io.csv.options import READ_ALIASES, CsvRequest, with_alias_arguments
        from sframe_spark.api.io.csv.reader import read_csv

        require_unquoted_texts(_only_raw_string_substitutions)
        request = CsvRequest(
            url, delimiter, header, error_bad_lines, comment_char, escape_char, double_quote, quote_char, skip_initial_space, column_type_hints,
            na_values, line_terminator, usecols, nrows, skiprows, verbose, nrows_to_infer, true_values, false_values, encoding,
        )  # fmt: skip
        return make_frame(*read_csv(with_alias_arguments(request, kwargs, READ_ALIASES, "reading CSV")))

    @staticmethod
    def read_csv_with_errors(
        url: Any,
        delimiter: str = ",",
        header: bool = True,
        comment_char: str | None = "",
        escape_char: str | None = "\\",
        double_quote: bool = True,
        quote_char: str | None = '"',
        skip_initial_space: bool = True,
        column_type_hints: Any = None,
        na_values: str | Sequence[str] = ("NA",),
        line_terminator: str = "\n",
        usecols: Sequence[str] = (),
        nrows: int | None = None,
        skiprows: int = 0,
        verbose: bool = True,
        nrows_to_infer: int = 100,
        true_values: str | Sequence[str] = (),
        false_values: str | Sequence[str] = (),
        _only_raw_string_substitutions: bool = False,
        *,
        encoding: str = "utf-8",
        **kwargs: Any,
    ) -> tuple[SFrame, dict[str, SArray]]:
        """What :meth:`read_csv` reads, and the lines of each file that fit no row; it takes the same arguments, but ``error_bad_lines``.

        Parameters
        ----------
        url, delimiter, header, comment_char, escape_char, double_quote, quote_char, skip_initial_space, column_type_hints, na_values, line_terminator
            As in :meth:`read_csv`.
        usecols, nrows, skiprows, verbose, nrows_to_infer, true_values, false_values, encoding, **kwargs
            As in :meth:`read_csv`.

        Returns
        -------
        tuple of SFrame and dict
            The rows, and by the path of each file that has some, an SArray of the lines that were left out.

        Raises
        ------
        OSError, RuntimeError, TypeError, ValueError
            As :meth:`read_csv`, but for lines that fit no row.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from sframe_spark import SFrame
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     _ = pathlib.Path(directory, "rows.csv").write_text("a,b\\n1,x\\n2\\n")
        ...     frame, left_out = SFrame.read_csv_with_errors(directory + "/rows.csv")
        ...     print(list(frame), [list(lines) for lines in left_out.values()])
        [{'a': 1, 'b': 'x'}] [['2']]
        """
        from sframe_spark.api.io.csv.options import READ_ALIASES, CsvRequest, with_alias_arguments
        from sframe_spark.api.io.csv.reader import read_csv_with_errors

        require_unquoted_texts(_only_raw_string_substitutions)
        request = CsvRequest(
            url, delimiter, header, False, comment_char, escape_char, double_quote, quote_char, skip_initial_space, column_type_hints,
            na_values, line_terminator, usecols, nrows, skiprows, verbose, nrows_to_infer, true_values, false_values, encoding,
        )  # fmt: skip
        node, names, left_out = read_csv_with_errors(with_alias_arguments(request, kwargs, READ_ALIASES, "reading CSV"))
        return make_frame(*(node, names)), {path: SArray(lines, str) for path, lines in left_out.items()}
