"""Members of SArray that read and write files, and the function ``load_sarray``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import cast

from sframe_spark.api.class_registry import SArray, make_array
from sframe_spark.api.error_hints import call_hint
from sframe_spark.api.io import saved_frames
from sframe_spark.api.io.column_from_text_or_json_files import column_from_path, read_json_column
from sframe_spark.api.io.path_arguments import path_text
from sframe_spark.api.io.saved_frames import checkpoint_node
from sframe_spark.planner.node import PlannerNode
from sframe_spark.storage.manifest.manifest import SARRAY


class ColumnFiles:
    """Mixin of SArray: reading and writing files."""

    _node: PlannerNode

    def save(self, filename: str, format: str | None = None) -> None:
        """Save as a directory that :class:`SArray` can load, or as a text file with one value per line. The target appears only when it is complete.

        Parameters
        ----------
        filename
            Path of the directory or the file.
        format
            ``binary`` (a directory), or ``text`` or ``csv`` (a text file). If not given, a text file for the extensions ``.txt`` and ``.csv`` (also
            compressed, such as ``.csv.gz``), else a directory.

        Raises
        ------
        ValueError
            If the format is unknown.
        OSError
            If the files cannot be written.

        Examples
        --------
        >>> import tempfile
        >>> from sframe_spark import SArray
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     SArray([1, None, 3]).save(directory + "/values.txt", format="text")
        ...     list(SArray(directory + "/values.txt", dtype=int))
        [1, None, 3]
        """
        saved_frames.save_column(self._node, filename, format)

    def checkpoint(self, location: str) -> SArray:
        """Save all values, and from now on read the saved values wherever this column is used; see :meth:`SFrame.checkpoint`.

        Parameters
        ----------
        location
            Path of a directory, or a URI where the values become the newest version.

        Returns
        -------
        SArray
            This column.

        Raises
        ------
        OSError
            If the files cannot be written, or another program has saved to the same location in the meantime; then the column does not change.

        Examples
        --------
        >>> import tempfile
        >>> from sframe_spark import SArray
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     print(list((SArray([5, 3]) * 2).checkpoint(directory + "/doubles")), list(SArray(directory + "/doubles")))
        [10, 6] [10, 6]
        """
        checkpoint_node(self._node, location, [saved_frames.COLUMN_NAME], SARRAY)
        return cast("SArray", self)

    @staticmethod
    def read_json(filename: str) -> SArray:
        """Return the elements of the array in a JSON file as a column.

        Parameters
        ----------
        filename
            Path or URL of the file.

        Raises
        ------
        RuntimeError
            If the file does not contain a JSON array, or its elements have no common type.
        OSError
            If there is no such file.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from sframe_spark import SArray
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     _ = pathlib.Path(directory, "values.json").write_text("[1, null, 2.5]")
        ...     list(SArray.read_json(directory + "/values.json"))
        [1.0, None, 2.5]
        """
        return make_array(read_json_column(filename))


@call_hint
def load_sarray(
    filename: str,
    *,
    verify: bool = False,
    references: Sequence[str | os.PathLike[str]] = (),
    encoding_errors: str = "strict",
    version: int | None = None,
) -> SArray:
    """Return the column that was saved at a path, by this package or by Turi Create, or the lines of text files as strings.

    Parameters
    ----------
    filename
        Path of the saved column, of a ``.sidx`` file of Turi Create (its first column is loaded), or of text files.
    verify, references, encoding_errors, version
        As for :func:`sframe_spark.load_sframe`.

    Raises
    ------
    OSError
        If there is neither a complete saved column nor a text file, the column is damaged, or a frame with several columns is saved there.

    Examples
    --------
    >>> import os, tempfile
    >>> from sframe_spark import SArray
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     SArray([1, 2]).save(os.path.join(directory, "column"))
    ...     len(load_sarray(os.path.join(directory, "column")))
    2
    """
    return make_array(column_from_path(path_text(filename), None, verify, references, encoding_errors, version))
