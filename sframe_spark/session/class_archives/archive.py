"""The archive that fits a start: whatever is in doubt, there is none, and Spark starts without."""

from __future__ import annotations

import contextlib
import json
import os
import re
from pathlib import Path
from typing import Any

import attrs

from sframe_spark.process.own_cache import cache_path, is_own_file, require_own
from sframe_spark.session.class_archives.fingerprints import JvmStart, size_and_time

# The directory of archives within the user's cache. A record there names a directory beside it, in which the files are.
PLACE = "classes"
CLASSES = "classes.jsa"
# For a Java that has no archive of its own classes, on which another one can be built.
BASE = "base.jsa"

# Of what Java says of archives that do not fit, nothing: the start is right without. Java 17 does not know the second word.
QUIET_LOGS = ("cds*", "class+path")
QUIET_LOGS_OF_LATER_JAVA = ("cds*", "aot*", "class+path")
FIRST_JAVA_WITH_AOT = 24

# Of names and options that go through Spark's launcher, a shell and Java, none may read a part as something else.
_PLAIN_PATH = re.compile(r"/[\w./ +@~=-]*")
_LONGEST_RECORD = 1 << 20


@attrs.frozen
class ClassArchive:
    """An archive that fits a start, as far as can be told.

    Parameters
    ----------
    file
        What Java reads.
    record
        The file that says what it was written for.
    version
        Feature release of the Java that reads it.
    """

    file: Path
    record: Path
    version: int

    @property
    def options(self) -> str:
        """What a JVM is told, for Spark's launcher."""
        logs = QUIET_LOGS if self.version < FIRST_JAVA_WITH_AOT else QUIET_LOGS_OF_LATER_JAVA
        return " ".join([f"'-XX:SharedArchiveFile={self.file}'", *(f"-Xlog:{log}=off" for log in logs)])

    def forget(self) -> None:
        """Let no later start use it."""
        with contextlib.suppress(OSError):
            self.record.unlink()


def find_archive(start: JvmStart) -> ClassArchive | None:
    """Return the archive that was kept for such a start, or None where there is none, or anything about it is in doubt."""
    try:
        if start.hindrance() is not None:
            return None
        place = (cache_path() / PLACE).resolve(strict=True)
        require_own(place)
        record = record_path(place, start)
        found = read_record(record)
        if found is None or found["fingerprint"] != start.fingerprint():
            return None
        directory = recorded_directory(place, found)
        if directory is None or not _files_are_whole(directory, found["files"]):
            return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RuntimeError):
        return None
    file = directory / CLASSES
    return ClassArchive(file, record, start.java.version) if is_plain_path(file) else None


def record_path(place: Path, start: JvmStart) -> Path:
    """Where the record of a start's archive is."""
    return place / f"{start.key}.json"


def read_record(path: Path) -> dict[str, Any] | None:
    """What a record says, or None where there is none that only this user has written."""
    if not is_own_file(path):
        return None
    with open(path, "rb") as stream:
        text = stream.read(_LONGEST_RECORD)
    found = json.loads(text)
    return found if isinstance(found, dict) else None


def recorded_directory(place: Path, record: dict[str, Any]) -> Path | None:
    """The directory that a record names, which is beside it, or None."""
    name = record.get("directory")
    if not isinstance(name, str) or not re.fullmatch(r"[\w-]+", name):
        return None
    directory = place / name
    require_own(directory)
    return directory


def is_plain_path(path: Path) -> bool:
    """Say whether nothing that reads a path takes a part of it for something else.

    Examples
    --------
    >>> is_plain_path(Path("/home/ann/.cache/a b")), is_plain_path(Path("/home/o'neil")), is_plain_path(Path("/a:b"))
    (True, False, False)
    """
    return _PLAIN_PATH.fullmatch(str(path)) is not None


def _files_are_whole(directory: Path, files: dict[str, list[int]]) -> bool:
    """Say whether all files are there as they were written: Java 17 crashes on one that was cut short."""
    return CLASSES in files and all(
        os.path.basename(name) == name and is_own_file(directory / name) and size_and_time(directory / name) == written
        for name, written in files.items()
    )
