"""Members of SFrame that read and write saved frames, CSV, JSON, Parquet and ORC files, and Delta and Iceberg tables in directories."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

from sframe_spark.api.aggregates.argument_types import Path
from sframe_spark.api.class_registry import SFrame, make_frame
from sframe_spark.api.column_names import require_unicode
from sframe_spark.api.error_hints import call_example
from sframe_spark.api.io import saved_frames
from sframe_spark.api.io.csv.options import READ_ALIASES, WRITE_ALIASES, CsvRequest, with_alias_arguments
from sframe_spark.api.io.csv.reader import read_csv, read_csv_with_errors
from sframe_spark.api.io.csv.writer import CsvFormat, write_csv
from sframe_spark.api.io.json.reader import read_json
from sframe_spark.api.io.json.writer import write_json
from sframe_spark.api.io.open_files import is_open_to_write, path_to_write
from sframe_spark.api.io.path_arguments import path_text
from sframe_spark.api.io.saved_frames import checkpoint_node
from sframe_spark.api.sarray import SArray
from sframe_spark.api.sframe import construction
from sframe_spark.api.sframe.columns import Columns
from sframe_spark.engine.execution.export import write_parts, write_whole
from sframe_spark.engine.runtime.external_file_import import orc_rows
from sframe_spark.errors import InvalidArgumentError, UnsupportedOperationError
from sframe_spark.operators.sources.file_kinds import made, require_options
from sframe_spark.planner.node import PlannerNode
from sframe_spark.storage.export_directories import exporting
from sframe_spark.storage.export_files import OrcWriter, ParquetWriter, PartForm
from sframe_spark.storage.external.orc_reader import orc_table
from sframe_spark.storage.external.parquet_footers_to_manifest import natural_sort_key
from sframe_spark.storage.file_writer import FileWriter
from sframe_spark.storage.filesystem.input_files import resolve


def write_directory(node: PlannerNode, names: Sequence[str], path: str | os.PathLike[str], writer: type[FileWriter], **options: Any) -> None:
    """Write all rows as a directory of files, which appears only when it is complete, or as one file to an open file.

    Raises
    ------
    InvalidArgumentError
        If there are no columns, or readers of the format cannot handle a column name.
    StorageError
        If the path exists and is not a directory written by this function, or the files cannot be written.
    """
    form = form_of_files(node, names, writer, options)
    if is_open_to_write(path):
        with path_to_write(path, f".{form.ending}") as place:
            write_whole(node, place, form)
        return
    with exporting(path_text(path)) as export:
        export.publish(write_parts(node, export.staging, form), form.ending)


def form_of_files(node: PlannerNode, names: Sequence[str], writer: type[FileWriter], options: Mapping[str, Any]) -> PartForm:
    """Return what writes a frame's rows to files, after checking that it can write the columns.

    Raises
    ------
    InvalidArgumentError
        If there are no columns, the writer refuses a column, or does not have an option.
    """
    require_unicode(names)
    if not names:
        raise InvalidArgumentError(f"a frame without columns cannot be written as {writer.name}")
    require_options(writer, options)
    form = PartForm(writer, tuple(names), tuple(node.schema), dict(options))
    made(writer, f"check() of the writer {writer.name}", lambda: writer.check(form.columns, form.options))
    return form


def require_unquoted_texts(only_raw: Any) -> None:
    """Raise an error if ``_only_raw_string_substitutions`` is set: strings such as ``na_values`` are always compared with unquoted fields.

    Raises
    ------
    UnsupportedOperationError
        If the option is set.
    """
    if only_raw:
        raise UnsupportedOperationError(
            "texts such as na_values are compared with fields without their quotes: leave out _only_raw_string_substitutions, and read the column as"
            " str by column_type_hints to compare its texts yourself"
        )


class FrameFiles(Columns):
    """Mixin of SFrame: reading and writing files."""

    def save(self, filename: str, format: str | None = None, also_by: str | Sequence[str] | None = None) -> None:
        """Save as a directory that ``load_sframe`` can load, or as a CSV or JSON file. The target appears only when it is complete.

        Parameters
        ----------
        filename
            Path of the directory or the file.
        format
            ``binary`` (a directory), ``csv`` or ``json`` (one array of objects). If not given, the extension ``.csv`` or ``.json`` decides; else a
            directory.
        also_by
            The name of a column, or several: the directory then has all rows once more in the order of each, which takes as much space again. Of the
            loaded frame, filters that keep few values of the column read few rows, and a sort by it, ascending, reads the rows as they are saved.

        Raises
        ------
        KeyError
            If there is no column of a name in ``also_by``.
        TypeError
            If rows cannot be sorted by it, as by lists and dicts.
        ValueError
            If the format is unknown, or is that of a file and ``also_by`` is given.
        OSError
            If the files cannot be written.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from sframe_spark import SFrame, load_sframe
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     SFrame({"a": [1, 2]}).save(directory + "/rows.json")
        ...     print(pathlib.Path(directory, "rows.json").read_text(), end="")
        [
        {"a":1}
        ,{"a":2}
        ]
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     SFrame({"symbol": ["b", "a", "b"], "lots": [1, 2, 3]}).save(directory + "/lots", also_by="symbol")
        ...     print(list(load_sframe(directory + "/lots").sort("symbol")["lots"]))
        [2, 1, 3]
        """
        names = [] if also_by is None else [also_by] if isinstance(also_by, str) else list(also_by)
        positions = list(dict.fromkeys(self._position(name) for name in names))
        saved_frames.save_frame(self._node, self._names, filename, format, positions)

    def checkpoint(self, location: str) -> SFrame:
        """Save all rows, and from now on read the saved rows wherever this frame is used.

        Unlike after ``materialize()``, the rows are durable: they are not in temporary files, and other processes can load them. A long program that
        is restarted after a failure can continue with them.

        Parameters
        ----------
        location
            Path of a directory, or a URI where the rows become the newest version.

        Returns
        -------
        SFrame
            This frame.

        Raises
        ------
        OSError
            If the files cannot be written, or another program has saved to the same location in the meantime; then the frame does not change.

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
        """Save as a directory that ``load_sframe`` can load, but refer to unchanged columns of saved frames instead of copying them.

        Loading the directory reads these columns from the other saved frames; it raises an error if they were removed or changed. Columns that are in
        memory, in files of other programs or in temporary files are written, as by ``save``.

        Parameters
        ----------
        filename
            Path of the directory.

        Raises
        ------
        OSError
            If the files cannot be written.

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
        """Write all rows to a JSON file, which appears only when it is complete: one array of objects, or one object per line.

        Missing values are left out of their objects, as in Turi Create. Date-times are written as ISO strings. NaN and infinite numbers, which JSON
        does not have, are written as ``NaN``, ``Infinity`` and ``-Infinity``, which Python, Spark and DuckDB can read.

        Parameters
        ----------
        filename
            Path of the file; compressed if its extension is ``.gz``, ``.bz2``, ``.xz``, ``.zst`` or ``.lz4``. Or an open file or another object with
            ``write()``, for bytes or for text.
        orient
            ``records``: one array of objects; ``lines``: one object per line.

        Raises
        ------
        InvalidArgumentError
            If ``orient`` is neither.
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
        write_json(self._node, self._names, filename, orient)

    @staticmethod
    @call_example("SFrame.read_json('rows.json', orient='lines')")
    def read_json(url: Path | Sequence[Path], orient: Literal["records", "lines"] = "records", encoding: str = "utf-8") -> SFrame:
        """Return a frame of the objects in JSON files, each of which is a row. Columns are sorted by name.

        Each column gets the class that holds all its values unchanged: ``int`` (also for true and false), ``float``, ``str``, ``list`` or ``dict``.
        If its values differ in kind, it is ``str``, and values that are not strings are written as JSON. With ``orient="lines"``, values that are not
        objects become one column ``X1``. A number that is too large for a float raises an error.

        Parameters
        ----------
        url
            A path, a directory, a pattern, a URL, an open file or another object with ``read()``, or a list of these.
        orient
            ``records``: each file is one array of objects; ``lines``: each line is a value.
        encoding
            Encoding of the files.

        Raises
        ------
        InvalidArgumentError
            If ``orient`` is neither, or Python does not know the encoding.
        StorageError
            If there is no such file, or a file is not JSON in this form; the message names the line.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from sframe_spark import SFrame
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     _ = pathlib.Path(directory, "rows.json").write_text('[{"a": 1}, {"a": 2.5, "b": "x"}]')
        ...     list(SFrame.read_json(directory + "/rows.json"))
        [{'a': 1.0, 'b': None}, {'a': 2.5, 'b': 'x'}]
        """
        return make_frame(*read_json(url, orient, encoding))

    @call_example("sf.write_parquet('rows')")
    def write_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write all rows, in order, as a directory of Parquet files ``part-00000-...parquet`` and so on. It appears only when it is complete.

        Other programs can read the files: date-times with an offset are written as instants (``timestamp`` in UTC), lists and dicts of mixed values
        as JSON strings. An existing directory is replaced only if this method has written it.

        Parameters
        ----------
        path
            Path of the directory; or an open file or another object with ``write()``, which gets one file.

        Raises
        ------
        StorageError
            If something else exists at the path, or the files cannot be written.
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
        write_directory(self._node, self._names, path, ParquetWriter)

    def write_orc(self, path: str | os.PathLike[str]) -> None:
        """Write all rows as a directory of ORC files; otherwise as :meth:`write_parquet`.

        Parameters
        ----------
        path
            Path of the directory.

        Raises
        ------
        StorageError
            If something else exists at the path, or the files cannot be written.
        InvalidArgumentError
            If the frame has no columns, or a column name is empty or contains a backtick.

        Examples
        --------
        >>> import tempfile
        >>> from sframe_spark import SFrame
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     SFrame({"a": [1, None]}).write_orc(directory + "/rows")
        ...     [name[:11] for name in os.listdir(directory + "/rows")]
        ['part-00000-']
        """
        write_directory(self._node, self._names, path, OrcWriter)

    @staticmethod
    @call_example("SFrame.read_parquet('rows')[['a', 'b']], which reads these columns alone")
    def read_parquet(path: Path | Sequence[Path]) -> SFrame:
        """Return a frame of the rows of Parquet files, in order of file names. Only the columns and files that are needed are read.

        For a partitioned table, whose directories are named as in ``year=2024/part-0.parquet``, the columns in directory names come last; filters on
        them skip files. If the files' statistics suggest that rows are sorted, this is verified when it can first save work, such as a sort.

        Parameters
        ----------
        path
            A path, a directory, a pattern, a URL, an open file or another object with ``read()``, or a list of these.

        Raises
        ------
        StorageError
            If there is no such file, a file is not a Parquet file or belongs to a saved frame, or the files have different columns.
        SchemaError
            If a frame cannot have columns of a type in the files.

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
    def read_orc(path: Path | Sequence[Path]) -> SFrame:
        """Return a frame of the rows of ORC files, in order of file names. All rows are read now and stored in this package's own format.

        Parameters
        ----------
        path
            A path, a directory, a pattern, a URL, an open file or another object with ``read()``, or a list of these; see :meth:`read_parquet`.

        Raises
        ------
        StorageError
            If there is no such file, a file is damaged or not an ORC file, or the files have different columns.
        SchemaError
            If a frame cannot have columns of a type in the files.

        Examples
        --------
        >>> import tempfile
        >>> from sframe_spark import SFrame
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     SFrame({"a": [1, None]}).write_orc(directory + "/rows")
        ...     list(SFrame.read_orc(directory + "/rows")["a"])
        [1, None]
        """
        files = resolve(path, natural_sort_key, "ORC file")
        with files.named_in_errors():
            table = orc_table(files)
            return make_frame(orc_rows(table), table.names)

    @staticmethod
    def read_delta(path: str | os.PathLike[str], version: int | None = None) -> SFrame:
        """Return a frame of the rows of a Delta table, file by file in the order in which the table's log says they were written, then by name.

        Only the log and the files' footers are read now; filters skip files by their statistics. This requires the library ``deltalake``, but no
        Java. INT96 timestamps, which old versions of Spark wrote, become date-times without an offset, in UTC, as in :meth:`read_parquet`.

        Parameters
        ----------
        path
            Directory of the table, on this machine.
        version
            Number of the version; None: the newest.

        Raises
        ------
        StorageError
            If there is no such table or version, or its files differ from what the log says: missing, of another size, or outside of the directory.
        UnsupportedOperationError
            If the library is missing, or the table uses deletion vectors, so that not all rows in the files are rows of the table.
        SchemaError
            If a frame cannot have columns of a type in the table.

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
        """Return a frame of the rows of an Iceberg table, file by file in the order in which they were added, then by name.

        Only metadata and the files' footers are read now; filters skip files by their statistics. This requires the library ``pyiceberg``, but no
        Java. The columns are those of the snapshot's schema; they are found in the files by field ID.

        Parameters
        ----------
        table
            A pyiceberg table, or the path of its metadata file (``.../metadata/00001-....metadata.json``); its files must be on this machine.
        snapshot_id
            ID of the snapshot; None: the current one.

        Raises
        ------
        StorageError
            If there is no such table or snapshot, or its files differ from what the metadata says: missing, of another size, or outside of the
            directory.
        UnsupportedOperationError
            If the library is missing, or the table has delete files or files that are not Parquet.
        SchemaError
            If ``table`` is neither, or a frame cannot have columns of a type in the table.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> SFrame.read_iceberg("/no/such/metadata/v1.metadata.json")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        sframe_spark.errors.MissingPathError: there is no file /no/such/metadata/v1.metadata.json: check the path; for a table in a catalog pass ...
        """
        from sframe_spark.storage.external.iceberg import iceberg_manifests

        return make_frame(*construction.frame_from_manifests(iceberg_manifests(table, snapshot_id)))

    def export_csv(
        self,
        filename: Path,
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
        """Write all rows to a CSV file. If the path is a link, the file that it points to is replaced; permissions are kept.

        ``read_csv`` with the same delimiter, line terminator, quotes and escapes returns the same rows, except: The string ``NA`` becomes missing,
        unless ``na_values=[]`` is given. A column of strings that all look like numbers, lists or dicts gets that class, unless ``column_type_hints``
        says ``str``. A missing string becomes an empty string. In a frame with one column, missing values are blank lines, which ``read_csv`` skips;
        use ``na_rep``. Many other programs do not treat a backslash as an escape: write and read their files with ``escape_char=""``.

        Parameters
        ----------
        filename
            Path of the file; compressed if its extension is ``.gz``, ``.bz2``, ``.xz``, ``.zst`` or ``.lz4``. Or an open file or another object with
            ``write()``, for bytes or for text.
        delimiter
            String between two fields.
        line_terminator
            String after each line.
        header
            Whether the first line contains the column names.
        quote_level
            1: all fields are quoted; 3: no field is quoted, so that a field with a delimiter is read as two; any other number: fields are quoted if
            necessary.
        double_quote
            Whether a quote in a field is written twice; otherwise it is written after the escape character.
        escape_char
            Character that is written before special characters in a field; empty: none. If it is the same as ``quote_char``, quotes are doubled, and
            nothing else is escaped.
        quote_char
            Character before and after a quoted field.
        na_rep
            What is written for a missing value.
        file_header, file_footer
            First and last line of the file, which ``read_csv`` reads as rows unless they are skipped; empty: none.
        line_prefix
            Written as it is at the start of every row; ``read_csv`` reads it as the beginning of the first field.
        kwargs
            Alternative names of arguments: ``sep``, ``quotechar``, ``doublequote``, ``lineterminator``.

        Raises
        ------
        OSError
            If the file cannot be written.
        TypeError
            If an argument is unknown.

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
        form = CsvFormat(
            delimiter, line_terminator, bool(header), quote_level, bool(double_quote), escape_char, quote_char, na_rep, file_header, file_footer,
            line_prefix, bool(_no_prefix_on_first_value),
        )  # fmt: skip
        write_csv(self._node, self._names, filename, with_alias_arguments(form, kwargs, WRITE_ALIASES, "writing CSV"))

    @staticmethod
    def read_csv(
        url: Path | Sequence[Path],
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
        quoted_empty: str = "missing",
        **kwargs: Any,
    ) -> SFrame:
        """Return a frame of the rows of CSV files.

        Each column gets the narrowest class that holds all its values. Lines that do not fit the columns are left out, and a warning is logged.

        Parameters
        ----------
        url
            A path, a directory, a pattern, a URL, an open file or another object with ``read()`` (text of one is taken as UTF-8), or a list of these.
            The files of a directory are read in order of their names. Files may be
            compressed.
        delimiter
            String between two fields; a line break makes every line one field.
        header
            Whether the first line contains the column names. Not a line number as in pandas: 0 means False.
        error_bad_lines
            Whether to raise an error at the first line that does not fit the columns; otherwise such lines are left out.
        comment_char
            Character that starts a comment, which ends with the line; empty: there are no comments.
        escape_char
            Inside quotes, the character that gives the next character another meaning; empty: none. If it is the same as ``quote_char``, doubled
            quotes are the only escape.
        double_quote
            Whether two quotes inside quotes stand for one.
        quote_char
            Character before and after a field that may contain delimiters and line ends; empty: none.
        skip_initial_space
            Whether white space before a field is ignored.
        column_type_hints
            A class for all columns, a list of classes, or a dict from column name to class. These classes are not inferred, and a line with a value
            of another class does not fit the columns.
        na_values
            Strings that stand for a missing value; in columns of other classes than ``str``, empty fields do too.
        line_terminator
            String between two lines; each of the usual ones (line feed, carriage return, both) stands for all of them.
        usecols
            Names of the columns to read; empty: all columns.
        nrows
            Maximum number of rows to read; None: all rows.
        skiprows
            Number of lines to skip at the start of every file.
        verbose
            Whether to log, at level INFO, what was read.
        nrows_to_infer
            If ``nrows`` is smaller, classes are inferred from this number of rows; otherwise from all rows that are read.
        true_values, false_values
            Strings that stand for 1 and 0 in columns of numbers.
        encoding
            Encoding of the files: ``utf-8``, ``latin-1``, ``utf-16`` or any other that Python knows.
        quoted_empty
            What an empty field in quotes (``""``) is among numbers, lists or dicts. ``"missing"``: a missing value, and a warning names the column if
            such a field is among the first rows. ``"text"``: its column is one of texts, as in Turi Create, unless ``na_values`` has the empty text.
        kwargs
            Alternative names of arguments: ``sep``, ``comment``, ``quotechar``, ``doublequote``, ``lineterminator``.

        Raises
        ------
        OSError
            If there is no such file, or it is not text.
        RuntimeError
            If a type hint or a name in ``usecols`` does not fit the file, or a line does not fit the columns and ``error_bad_lines`` is set.
        TypeError
            If an argument is unknown.
        ValueError
            If ``quoted_empty`` is neither ``"missing"`` nor ``"text"``.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from sframe_spark import SFrame
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     _ = pathlib.Path(directory, "rows.csv").write_text("a;b\\n1;x\\n2;-\\n")
        ...     list(SFrame.read_csv(directory + "/rows.csv", delimiter=";", na_values=["-"]))
        [{'a': 1, 'b': 'x'}, {'a': 2, 'b': None}]
        """
        require_unquoted_texts(_only_raw_string_substitutions)
        request = CsvRequest(
            url, delimiter, header, error_bad_lines, comment_char, escape_char, double_quote, quote_char, skip_initial_space, column_type_hints,
            na_values, line_terminator, usecols, nrows, skiprows, verbose, nrows_to_infer, true_values, false_values, encoding,
            quoted_empty,
        )  # fmt: skip
        return make_frame(*read_csv(with_alias_arguments(request, kwargs, READ_ALIASES, "reading CSV")))

    @staticmethod
    def read_csv_with_errors(
        url: Path | Sequence[Path],
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
        quoted_empty: str = "missing",
        **kwargs: Any,
    ) -> tuple[SFrame, dict[str, SArray]]:
        """Return the rows that :meth:`read_csv` reads, and the lines of each file that do not fit the columns.

        Parameters
        ----------
        url, delimiter, header, comment_char, escape_char, double_quote, quote_char, skip_initial_space, column_type_hints, na_values, line_terminator
            As in :meth:`read_csv`.
        usecols, nrows, skiprows, verbose, nrows_to_infer, true_values, false_values, encoding, quoted_empty, **kwargs
            As in :meth:`read_csv`.

        Returns
        -------
        tuple of SFrame and dict
            The rows, and a dict from the path of each file with such lines to an SArray of them (as many as ``config.memory_budget`` allows).

        Raises
        ------
        OSError, RuntimeError, TypeError, ValueError
            As in :meth:`read_csv`, but not for lines that do not fit the columns.

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
        require_unquoted_texts(_only_raw_string_substitutions)
        request = CsvRequest(
            url, delimiter, header, False, comment_char, escape_char, double_quote, quote_char, skip_initial_space, column_type_hints,
            na_values, line_terminator, usecols, nrows, skiprows, verbose, nrows_to_infer, true_values, false_values, encoding,
            quoted_empty,
        )  # fmt: skip
        node, names, left_out = read_csv_with_errors(with_alias_arguments(request, kwargs, READ_ALIASES, "reading CSV"))
        return make_frame(node, names), {path: SArray(lines, str) for path, lines in left_out.items()}
