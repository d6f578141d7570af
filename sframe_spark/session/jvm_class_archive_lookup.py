"""Finds the class archive that fits the JVM of a session. With an archive, the JVM need not parse Spark's classes, and starts in less time.

``python -m sframe_spark prepare`` writes archives. When in doubt, no archive is used. Source: Java's class data sharing,
https://docs.oracle.com/en/java/javase/17/vm/class-data-sharing.html; see ``docs/decisions/043-class-archive.md``.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shlex
from pathlib import Path
from typing import Any

import attrs

from sframe_spark.process.user_cache_directory import cache_path, is_own_file, require_own
from sframe_spark.session.java import JavaRuntime

# Version of the format of the records.
FORMAT = 1
# The environment variable with the user's options for every JVM.
JVM_OPTIONS = "SFRAME_SPARK_JVM_OPTIONS"

# JVM options by which the user chooses archives.
_ABOUT_ARCHIVES = re.compile(r"-Xshare|-XX:[+-]?\w*(?:SharedArchive|SharedClassList|ArchiveClasses|LoadedClassList|DynamicArchive|AOT|CDS)")
# Environment variables that add JVM options or jars; their values may contain secrets.
_VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS", "PYSPARK_SUBMIT_ARGS", "SPARK_TESTING")
# Variables that put directories or other jars on the class path before Spark's: Java writes no archive if it has non-empty directories.
_DIRECTORIES = ("SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_DIST_CLASSPATH", "SPARK_CLASSPATH", "SPARK_PREPEND_CLASSES")
# Files that identify a build of Java; a build may lack some of them.
_OF_JAVA = ("bin/java", "release", "lib/modules", "lib/server/libjvm.so", "lib/server/libjvm.dylib", "lib/server/classes.jsa")
BASE_OF_JAVA = "lib/server/classes.jsa"


@attrs.frozen
class JvmStart:
    """How this process would start a JVM for Spark.

    Parameters
    ----------
    java
        The Java runtime.
    spark_home
        The directory where Spark is installed.
    options
        The value of ``SFRAME_SPARK_JVM_OPTIONS``.
    """

    java: JavaRuntime
    spark_home: Path
    options: str

    @classmethod
    def of_this_process(cls, java: JavaRuntime) -> JvmStart:
        """Return how this process would start the JVM of its own session."""
        from pyspark.find_spark_home import _find_spark_home

        return cls(java, Path(_find_spark_home()).absolute(), os.environ.get(JVM_OPTIONS, ""))

    @property
    def key(self) -> str:
        """The name of the archive's record. An upgraded Spark or Java in the same directory has the same name, so its archive replaces the old."""
        text = json.dumps([str(self.java.home), str(self.java.installation), str(self.spark_home), self.options])
        return _digest(text)[:16]

    def fingerprint(self) -> dict[str, Any]:
        """Return everything that must be equal for an archive to fit, as JSON.

        Raises
        ------
        OSError
            If the files of Java or Spark cannot be read.
        """
        installation = self.java.installation
        jars = self.spark_home / "jars"
        # In the order of the directory, which is that of Java's class path.
        names = [name for name in os.listdir(jars) if name.lower().endswith(".jar")]
        return {
            "format": FORMAT,
            "java": [str(self.java.home), str(installation)],
            "files of java": {name: size_and_time(installation / name) for name in _OF_JAVA if (installation / name).exists()},
            "spark": str(self.spark_home),
            "jars": [[name, *size_and_time(jars / name)] for name in names],
            "options": _digest(self.options),
            "variables": {name: _digest(os.environ[name]) for name in _VARIABLES if name in os.environ},
        }

    def hindrance(self) -> str | None:
        """Return why the JVM cannot use an archive, as a message for the user; None if it can."""
        if os.name != "posix":
            return "archives of classes are supported on Linux and macOS only"
        try:
            options = shlex.split(self.options)
        except ValueError as error:
            return f"SFRAME_SPARK_JVM_OPTIONS cannot be read: {error}"
        if any(_ABOUT_ARCHIVES.match(option) for option in options):
            return "SFRAME_SPARK_JVM_OPTIONS already names an archive"
        for name in _VARIABLES:
            if _ABOUT_ARCHIVES.search(os.environ.get(name, "")):
                return f"{name} already names an archive"
        for name in _DIRECTORIES:
            if os.environ.get(name):
                return f"{name} is set: Java has no archives beside directories of settings"
        if _has_files(self.spark_home / "conf"):
            return f"{str(self.spark_home / 'conf')!r} has files: Java has no archives beside directories of settings"
        return None


def size_and_time(path: Path) -> list[int]:
    """Return the size and the modification time of a file, for detecting changes."""
    status = os.stat(path)
    return [status.st_size, status.st_mtime_ns]


def _digest(text: str) -> str:
    """Return a hash that replaces a string, which may contain secrets."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def _has_files(directory: Path) -> bool:
    try:
        return bool(os.listdir(directory))
    except FileNotFoundError:
        return False
    except OSError:
        return True


# The directory of archives in the user's cache. It contains records (JSON), each of which names the directory next to it that has an archive.
ARCHIVES = "classes"
CLASSES = "classes.jsa"
# The archive of Java's own classes, on which the archive of Spark's classes is built; written if the Java runtime has none.
BASE = "base.jsa"

# Logs to switch off, as an archive that does not fit is no error. Java 17 does not know the "aot" log.
QUIET_LOGS = ("cds*", "class+path")
QUIET_LOGS_OF_LATER_JAVA = ("cds*", "aot*", "class+path")
FIRST_JAVA_WITH_AOT = 24

# Paths that Spark's launcher, a shell and Java all read as a single word if they are in single quotes, as in ``ClassArchive.options``.
_PLAIN_PATH = re.compile(r"/[\w./ +@~=-]*")
_LONGEST_RECORD = 1 << 20


@attrs.frozen
class ClassArchive:
    """A class archive that fits a JVM, as far as can be checked.

    Parameters
    ----------
    file
        The archive.
    record
        The record of the Java, Spark and options that it was written for.
    version
        The feature release of the Java that reads it.
    """

    file: Path
    record: Path
    version: int

    @property
    def options(self) -> str:
        """The JVM options that select the archive, quoted for Spark's launcher."""
        logs = QUIET_LOGS if self.version < FIRST_JAVA_WITH_AOT else QUIET_LOGS_OF_LATER_JAVA
        return " ".join([f"'-XX:SharedArchiveFile={self.file}'", *(f"-Xlog:{log}=off" for log in logs)])

    def forget(self) -> None:
        """Delete the record, so that no later JVM uses the archive."""
        with contextlib.suppress(OSError):
            self.record.unlink()


def find_archive(start: JvmStart) -> ClassArchive | None:
    """Return the archive for a JVM; None if there is none, or if anything about it is in doubt."""
    try:
        if start.hindrance() is not None:
            return None
        archives = (cache_path() / ARCHIVES).resolve(strict=True)
        require_own(archives)
        path = record_path(archives, start)
        record = read_record(path)
        if record is None or record["fingerprint"] != start.fingerprint():
            return None
        directory = recorded_directory(archives, record)
        if directory is None or not _files_are_whole(directory, record["files"]):
            return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RuntimeError):
        return None
    file = directory / CLASSES
    return ClassArchive(file, path, start.java.version) if is_plain_path(file) else None


def record_path(archives: Path, start: JvmStart) -> Path:
    """Return the path of the record for a JVM's archive, given the directory of archives."""
    return archives / f"{start.key}.json"


def read_record(path: Path) -> dict[str, Any] | None:
    """Return a record; None if it is missing, or if another user could have written it."""
    if not is_own_file(path):
        return None
    with open(path, "rb") as stream:
        record = json.loads(stream.read(_LONGEST_RECORD))
    return record if isinstance(record, dict) else None


def recorded_directory(archives: Path, record: dict[str, Any]) -> Path | None:
    """Return the archive's directory that a record names; None if the name is invalid."""
    name = record.get("directory")
    if not isinstance(name, str) or not re.fullmatch(r"[\w-]+", name):
        return None
    directory = archives / name
    require_own(directory)
    return directory


def is_plain_path(path: Path) -> bool:
    """Return whether all programs read a path in single quotes as a single word, without further escapes.

    Examples
    --------
    >>> is_plain_path(Path("/home/ann/.cache/a b")), is_plain_path(Path("/home/o'neil")), is_plain_path(Path("/a:b"))
    (True, False, False)
    """
    return _PLAIN_PATH.fullmatch(str(path)) is not None


def _files_are_whole(directory: Path, files: dict[str, list[int]]) -> bool:
    """Return whether all files of an archive are unchanged since they were written: Java 17 crashes on a truncated one."""
    return CLASSES in files and all(
        os.path.basename(name) == name and is_own_file(directory / name) and size_and_time(directory / name) == written
        for name, written in files.items()
    )
