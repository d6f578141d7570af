"""Members of SArray that read and write files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from sframe_spark.api.class_registry import make_array
from sframe_spark.api.hints import call_hint
from sframe_spark.api.io import saved_frames
from sframe_spark.api.io.paths import path_text
from sframe_spark.api.io.saved_frames import checkpoint_node
from sframe_spark.api.io.text_files import column_from_path, read_json_column
from sframe_spark.storage.manifest.manifest import SARRAY

if TYPE_CHECKING:
    from sframe_spark.api.class_registry import SArray
    from sframe_spark.planner.node import PlannerNode


class ColumnFiles:
    """Reading and writing files."""

    _node: PlannerNode

    def save(self, filename: str, format: str | None = None) -> None:
        """Save as a directory that :class:`SArray` opens again, or as text, a value on each line, whole or not at all.

        Parameters
        ----------
        filename
            The directory, or the file.
        format
            ``binary``, or ``text`` or ``csv``. When not given: text where the name ends in ``.txt``, ``.csv``, or ``.csv`` and ``.gz`` or
            the like, else a directory.

        Raises
        ------
        ValueError
            If there is no such format.
        OSError
            If it cannot be written.

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
        """Save all values and go on with what was saved: everything built on this column reads it there; see :meth:`SFrame.checkpoint`.

        Parameters
        ----------
        location
            The directory, or a URI below which the values become the newest version.

        Returns
        -------
        SArray
            This column.

        Raises
        ------
        OSError
            If it cannot be written, or somebody else saved to the same place meanwhile; the column stays what it was.

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
        """A column of the elements of the array in a JSON file, which are of one type.

        Parameters
        ----------
        filename
            Path or address of one file.

        Raises
        ------
        RuntimeError
            If the file is no JSON array, or its elements have no common type.
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
    """The column saved under a path, by this package or by Turi Create, or a text from each line of the text files there.

    Parameters
    ----------
    filename
        The path: what ``save`` has written, here or with Turi Create, or a ``.sidx`` file of Turi Create's, of which the first column is taken.
    verify, references, encoding_errors, version
        As of :func:`sframe_spark.load_sframe`.

    Raises
    ------
    OSError
        If nothing complete is saved there, it is damaged, or a frame of several columns.

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
