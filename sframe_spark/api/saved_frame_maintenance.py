"""Maintenance of saved frames and columns: ``history`` lists versions, ``vacuum`` removes old ones, ``optimize`` merges short files."""

from __future__ import annotations

import datetime
import os
from functools import partial

from sframe_spark.api.error_hints import call_hint
from sframe_spark.api.io.path_arguments import path_text
from sframe_spark.api.io.saved_frames import compact_dataset
from sframe_spark.api.sarray import SArray
from sframe_spark.api.sframe import SFrame
from sframe_spark.errors import InvalidArgumentError
from sframe_spark.paths_and_uris import is_remote_location, location_of
from sframe_spark.process.control_groups import available_cores
from sframe_spark.process.threads import in_threads
from sframe_spark.storage.datasets.numbered_versions_of_remote_frames import read_version, removable, remove_all, saved_versions

MAX_AGE = 36_500


@call_hint
def history(path: str | os.PathLike[str]) -> SFrame:
    """Return the versions of a frame or column in remote storage, oldest first: number, time of saving, number of rows, and number of columns.

    Parameters
    ----------
    path
        The URI where the frame or column was saved.

    Raises
    ------
    OSError
        If nothing is saved there, or a version is damaged.
    ValueError
        If the location is a local directory, which holds only the version saved last.

    Examples
    --------
    >>> from sframe_spark import SFrame, history
    >>> SFrame({"a": [1, 2]}).save("memory://examples/history")
    >>> SFrame({"a": [1, 2, 3], "b": ["x", "y", "z"]}).save("memory://examples/history")
    >>> list(history("memory://examples/history")[["version", "rows", "columns"]])
    [{'version': 1, 'rows': 2, 'columns': 1}, {'version': 2, 'rows': 3, 'columns': 2}]
    """
    root = versioned(path)
    versions = in_threads(partial(read_version, root), saved_versions(root), available_cores())
    return SFrame(
        {
            "version": [version.number for version in versions],
            "time": [version.saved for version in versions],
            "rows": [version.manifest.rows for version in versions],
            "columns": [len(version.manifest.types) for version in versions],
        }
    )


@call_hint
def vacuum(path: str | os.PathLike[str], older_than: float = 7, dry_run: bool = False) -> SFrame:
    """Remove old versions of a frame or column in remote storage, and files that belong to no version; the newest version is kept.

    A version is removed if the next version was saved more than ``older_than`` days ago. A file is removed if it is that old, and no kept version
    refers to it: an interrupted save has left it. If the process of that save has ended on this machine, a minute suffices instead of days. Files
    that this package has not written are kept. Frames that were loaded from a removed version can no longer be read. A save that is running and takes
    longer than ``older_than`` days will fail.

    Parameters
    ----------
    path
        The URI where the frame or column was saved.
    older_than
        Number of days, from 0 to 36,500.
    dry_run
        Whether to list the files without removing them.

    Returns
    -------
    SFrame
        The removed files (with ``dry_run``, those that would be removed): their names and sizes in bytes.

    Raises
    ------
    OSError
        If nothing is saved at the location, or its files cannot be removed.
    ValueError
        If the location is a local directory, or ``older_than`` is not a number from 0 to 36,500.

    Examples
    --------
    >>> from sframe_spark import SFrame, load_sframe, vacuum
    >>> for rows in ([1], [1, 2]):
    ...     SFrame({"a": rows}).save("memory://examples/vacuum")
    >>> len(vacuum("memory://examples/vacuum")), len(vacuum("memory://examples/vacuum", older_than=0))
    (0, 2)
    >>> len(load_sframe("memory://examples/vacuum"))
    2
    """
    root = versioned(path)
    if isinstance(older_than, bool) or not isinstance(older_than, (int, float)) or not 0 <= older_than <= MAX_AGE:
        raise InvalidArgumentError(f"older_than must be a number of days, not negative, got {older_than!r:.60}")
    removed = removable(root, datetime.timedelta(days=older_than))
    if not dry_run:
        remove_all(removed)
    names = [file.uri.removeprefix(root + "/") for file in removed.files]
    return SFrame({"file": SArray(names, dtype=str), "bytes": SArray([file.size for file in removed.files], dtype=int)})


@call_hint
def optimize(path: str | os.PathLike[str]) -> int:
    """Merge the short files of a saved frame or column into longer ones, and return the number of files; rows, order and types do not change.

    A frame that was appended from many small frames has many short files, and opening each takes time. They are read, and written as files of up to
    ``config.segment_rows`` rows, which replace them atomically, as in a save. Long files are not rewritten. Frames that were loaded before keep
    reading the old files. Saving a frame of very many short files merges them automatically.

    Parameters
    ----------
    path
        The location where it was saved: a directory, or a URI, where the result is a new version.

    Returns
    -------
    int
        The number of files that now hold the rows.

    Raises
    ------
    OSError
        If no complete frame or column is saved at the location, or it refers to columns of other saved frames.

    Examples
    --------
    >>> from sframe_spark import SFrame, config, load_sframe, optimize
    >>> pieces = SFrame({"a": [1]}).append(SFrame({"a": [2]}))
    >>> pieces.save("memory://examples/optimize")
    >>> optimize("memory://examples/optimize"), list(load_sframe("memory://examples/optimize")["a"])
    (1, [1, 2])
    """
    return compact_dataset(path)


def versioned(path: str | os.PathLike[str]) -> str:
    """Return the location of a path in remote storage.

    Raises
    ------
    InvalidArgumentError
        If the path is a local directory, where versions are not kept.
    """
    location = location_of(path_text(path))
    if not is_remote_location(location):
        raise InvalidArgumentError(f"{location} is a local directory, where a frame has only one version, the last that was saved")
    return location
