"""Names of other files in an archive: they lead to files of its own directory, or of directories that the caller allows, and nowhere else."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

import attrs

from sframe_spark.errors import StorageError
from sframe_spark.locations import normalised
from sframe_spark.storage.files.failures import telling
from sframe_spark.storage.files.file_state import FileState
from sframe_spark.visible import visible

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_COLUMN = re.compile(r"(.*):([0-9]{1,9})", re.DOTALL)
ALLOWING = "references=[directories] (--references) allows what an archive names elsewhere"


@attrs.frozen
class ArchiveFile:
    """A file of an archive, as it was when the archive was opened.

    Parameters
    ----------
    path
        Where it is; no part of it is a link.
    state
        What the file system said of it.
    """

    path: str
    state: FileState


@attrs.frozen
class NamedFile:
    """A file that an archive names.

    Parameters
    ----------
    name
        How it is called: other names in it are relative to the directory of this one.
    path
        Where that leads; no part of it is a link.
    """

    name: str
    path: str


@attrs.frozen
class Allowed:
    """Where files of an archive may be.

    Parameters
    ----------
    directories
        Paths without links: the archive's own directory, and those that the caller allows.
    """

    directories: tuple[str, ...]

    @classmethod
    def of(cls, directory: str, references: Sequence[str]) -> Allowed:
        """Return what may be read of the archive in a directory, and of these directories."""
        return cls(tuple(os.path.realpath(normalised(place)) for place in (directory, *references)))

    def file(self, name: bytes | str, holder: str) -> NamedFile:
        """Return a file that another one names.

        Parameters
        ----------
        name
            What it is called.
        holder
            The index file that names it.

        Raises
        ------
        StorageError
            If it is elsewhere, or no name.
        """
        text = os.fsdecode(name)
        if not text or "\0" in text or not _has_bytes(text):
            raise StorageError(f"{visible(holder)} is damaged: it names a file without a name; restore the archive from a copy")
        if _URL.match(text):
            raise StorageError(f"{visible(holder)} names {visible(text)!r:.200}, which is not on a disk of this machine: copy it into the archive")
        with telling("read", holder):
            place = os.path.join(os.path.dirname(holder), text)
            path = os.path.realpath(place)
        if not any(is_below(path, directory) for directory in self.directories):
            raise StorageError(f"{visible(holder)} names {visible(text)!r:.200}, which is outside the archive: {ALLOWING}")
        return NamedFile(place, path)


def _has_bytes(name: str) -> bool:
    """Say whether a file can have a name: half of a character is none, but for what stands for a byte that is no text."""
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        return False
    return True


def is_below(path: str, directory: str) -> bool:
    """Say whether a path is one of something in a directory, or below it.

    Examples
    --------
    >>> is_below("/data/old/m_1.0000", "/data/old"), is_below("/data/older/m_1.0000", "/data/old")
    (True, False)
    """
    return path.startswith(directory.rstrip(os.sep) + os.sep)


def with_column(name: str) -> tuple[str, int | None]:
    """Part the number of a column from the name of the file that holds it; None where there is none.

    Examples
    --------
    >>> with_column("m_1.sidx:3"), with_column("a:b"), with_column("m_1.0000")
    (('m_1.sidx', 3), ('a:b', None), ('m_1.0000', None))
    """
    found = _COLUMN.fullmatch(name)
    return (found[1], int(found[2])) if found else (name, None)
