"""Members of SFrame that read and write files: saved frames, JSON, Parquet, ORC, tables of lakes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal, cast

from sframe_spark.api.class_registry import made_frame
from sframe_spark.api.files import persistence
from sframe_spark.api.files.checkpoints import checkpoint_node
from sframe_spark.api.files.file_writers import write_directory
from sframe_spark.api.hints import as_in
from sframe_spark.api.sframe import construction
from sframe_spark.api.sframe.csv_access import CsvAccess
from sframe_spark.api.sframe.database_io import Databases
from sframe_spark.storage.exports.part_files import ORC, PARQUET

if TYPE_CHECKING:
    from sframe_spark.api.sframe import SFrame


class Files(Databases, CsvAccess):
    """Rows from and to files."""

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
        persistence.save_frame(self._node, self._names, filename, format)

    def checkpoint(self, location: str) -> SFrame:
        """Save all rows and go on with what was saved: everything built on this frame reads it there, in the time of reading a saved frame.

        As ``materialize()``, but durable: no temporary file holds these rows any more, and other processes may load them. Long programs
        that are begun anew after a failure load what they had last.

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
        persistence.save_reference(self._node, self._names, filename)

    @as_in("sf.export_json('rows.json', orient='lines')")
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
        from sframe_spark.api.files.json_writer import write_json

        write_json(self._node, self._names, filename, orient)

    @staticmethod
    @as_in("SFrame.read_json('rows.json', orient='lines')")
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
        from sframe_spark.api.files.json_reader import read_json

        return made_frame(*read_json(url, orient, encoding))

    @as_in("sf.write_parquet('rows')")
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
    @as_in("SFrame.read_parquet('rows')[['a', 'b']], which reads these columns alone")
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
        return made_frame(*construction.frame_from_parquet(path))

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
        return made_frame(*construction.frame_from_orc(path))

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
        from sframe_spark.storage.foreign.delta import delta_manifests

        return made_frame(*construction.frame_from_manifests(delta_manifests(path, version)))

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
        from sframe_spark.storage.foreign.iceberg import iceberg_manifests

        return made_frame(*construction.frame_from_manifests(iceberg_manifests(table, snapshot_id)))
