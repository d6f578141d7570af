"""Maintenance of saved frames: the history and removal of versions, and compaction of short files."""

from __future__ import annotations

import datetime
import os
from functools import partial

from sframe_spark.api.hints import call_hint
from sframe_spark.api.io.paths import path_text
from sframe_spark.api.io.saved_frames import compact_dataset
from sframe_spark.api.sarray import SArray
from sframe_spark.api.sframe import SFrame
from sframe_spark.errors import InvalidArgumentError
from sframe_spark.locations import is_remote_location, location_of
from sframe_spark.process.resource_limits import available_cores
from sframe_spark.process.threads import in_threads
from sframe_spark.storage.datasets.versioned_datasets import read_version, removable, remove_all, saved_versions

LONGEST_AGE = 36_500


@call_hint
def history(path: str | os.PathLike[str]) -> SFrame:
    """The versions of a frame or column in remote storage, the oldest first: their numbers, when each was saved, its rows and columns.

    Parameters
    ----------
    path
        The URI that it was saved to.

    Raises
    ------
    OSError
        If nothing is saved there, or a version is damaged.
    ValueError
        If it is a directory of this machine: what is saved there replaces what was there.

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
    """Remove versions of a frame or column in remote storage, and files that no version names; the newest version stays.

    A version goes when the one after it is older than so many days, and a file when it is as old and no version that stays names it: a save that
    did not come to its end has left it. What this package has not written stays. Frames that were loaded from a version that goes cannot be read
    any more, nor can a save that takes longer come to its end.

    Parameters
    ----------
    path
        The URI that it was saved to.
    older_than
        Days.
    dry_run
        Whether only to list what would be removed.

    Returns
    -------
    SFrame
        The files that were removed, with their bytes.

    Raises
    ------
    OSError
        If nothing is saved there, or it cannot be changed.
    ValueError
        If it is a directory of this machine, or the days are no number from 0.

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
    if isinstance(older_than, bool) or not isinstance(older_than, (int, float)) or not 0 <= older_than <= LONGEST_AGE:
        raise InvalidArgumentError(f"older_than is a number of days from 0, got {older_than!r:.60}")
    removed = removable(root, datetime.timedelta(days=older_than))
    if not dry_run:
        remove_all(removed)
    names = [file.uri.removeprefix(root + "/") for file in removed.files]
    return SFrame({"file": SArray(names, dtype=str), "bytes": SArray([file.size for file in removed.files], dtype=int)})


@call_hint
def optimize(path: str | os.PathLike[str]) -> int:
    """Put the short files of a saved frame or column together; its rows, their order and their types stay.

    Frames that were made of many small frames have many short files, each of which takes time to open. They are read, written as files of up to
    ``config.segment_rows`` rows, and replaced atomically, as by a save; long files stay as they are. Whoever has the frame open keeps
    the old ones. Saving a frame of very many short files does the same by itself.

    Parameters
    ----------
    path
        What it was saved to: a directory, or a URI, where it becomes a new version.

    Returns
    -------
    int
        How many files of rows it has now.

    Raises
    ------
    OSError
        If nothing complete is saved there, or it refers to columns of other frames.

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
    """Return the location of a versioned frame.

    Raises
    ------
    InvalidArgumentError
        If it is a local directory.
    """
    place = location_of(path_text(path))
    if not is_remote_location(place):
        raise InvalidArgumentError(f"{place} is a directory of this machine, where a frame has one version: the last that was saved")
    return place
