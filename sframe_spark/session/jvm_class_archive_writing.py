"""Writing class archives: Java writes one when a JVM that has used Spark ends.

No file is renamed, because an archive that is built on another archive contains the path of that archive. A directory with a unique name is filled,
and then the record that names the directory is replaced atomically, so that another process sees a complete archive or none.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sframe_spark.errors import ExecutionError
from sframe_spark.process.temporary_file_leases import CLAIMS, delete, mark_of_this_process, orphans_in, own_directory, owner_in
from sframe_spark.process.user_cache_directory import own_cache, require_own
from sframe_spark.session.jvm_class_archive_lookup import (
    ARCHIVES,
    BASE,
    BASE_OF_JAVA,
    CLASSES,
    JVM_OPTIONS,
    JvmStart,
    is_plain_path,
    read_record,
    record_path,
    size_and_time,
)
from sframe_spark.session.session import get_session, is_started, stop
from sframe_spark.session.spark_start_and_settings import environment_variables

# On a busy machine, writing takes minutes.
SECONDS_TO_WRITE = 600
# Java would log thousands of classes that cannot be archived.
QUIET = "-Xlog:disable"


def archives_directory() -> Path:
    """Return the directory of this user's archives, which is created if it does not exist.

    Raises
    ------
    OSError
        If it cannot be created, or if other users can change it.
    """
    directory = own_cache() / ARCHIVES
    directory.mkdir(mode=0o700, exist_ok=True)
    directory = directory.resolve(strict=True)
    require_own(directory)
    return directory


def keep_archive(start: JvmStart, use_spark: Callable[[Path], None]) -> Path:
    """Write the archive for a JVM, replacing an earlier one, and return its directory.

    Parameters
    ----------
    start
        How the JVM is started.
    use_spark
        Runs queries whose classes are archived. It is called with an empty directory.

    Raises
    ------
    OSError
        If the archive cannot be stored.
    ExecutionError
        If Java writes no archive.
    """
    archives = archives_directory()
    _remove_unrecorded(archives)
    directory = Path(own_directory(str(archives)))
    try:
        if not is_plain_path(directory):
            raise ExecutionError(f"Java cannot read an archive at {str(directory)!r}: let XDG_CACHE_HOME name a path of letters and digits")
        # Computed before writing: if Java or Spark changes meanwhile, the archive must not fit.
        fingerprint = start.fingerprint()
        lower = None if (start.java.installation / BASE_OF_JAVA).exists() else _write_base(start, directory / BASE)
        write_classes(directory / CLASSES, use_spark, lower)
        files = {path.name: size_and_time(path) for path in sorted(directory.iterdir())}
        _replace_record(record_path(archives, start), directory, {"fingerprint": fingerprint, "directory": directory.name, "files": files})
    except BaseException:
        delete(str(directory))
        raise
    # From now on the record keeps the directory, which must outlive this process.
    CLAIMS.discard(str(directory))
    _remove_unrecorded(archives)
    return directory


def write_classes(file: Path, use_spark: Callable[[Path], None], lower: Path | None = None) -> None:
    """Start a session in this process, use Spark and stop it; its JVM writes the archive when it ends.

    Raises
    ------
    ExecutionError
        If Spark is running in this process already, or Java writes no archive.
    """
    from pyspark import SparkContext

    if is_started() or SparkContext._active_spark_context is not None:
        raise ExecutionError("Spark is already running in this process: write the archive in another one")
    base = "" if lower is None else f" '-XX:SharedArchiveFile={lower}'"
    options = f"{os.environ.get(JVM_OPTIONS, '')} '-XX:ArchiveClassesAtExit={file}'{base} {QUIET}".strip()
    with environment_variables({JVM_OPTIONS: options}), tempfile.TemporaryDirectory() as directory:
        get_session()
        gateway = SparkContext._gateway
        try:
            use_spark(Path(directory))
        finally:
            stop()
            written = _has_ended_well(gateway)
    if not written or not file.is_file():
        raise ExecutionError("Java has written no archive of its classes: is there room on the disk?")


def _has_ended_well(gateway: Any) -> bool:
    """End the JVM behind PySpark's gateway, which writes its archive then; return whether it ended without an error."""
    process = getattr(gateway, "proc", None)
    if process is None:
        return False
    # The JVM ends when its standard input is closed.
    process.stdin.close()
    try:
        return process.wait(SECONDS_TO_WRITE) == 0
    except subprocess.TimeoutExpired:
        process.kill()
        return False


def remove_archives() -> tuple[int, int]:
    """Delete all archives of this user; return how many there were, and how many are left because another process is writing them.

    Raises
    ------
    OSError
        If a record cannot be deleted.
    """
    archives = archives_directory()
    records = list(archives.glob("*.json"))
    recorded = {name for record in records if (name := _directory_named_by(record)) is not None}
    for record in records:
        if record.is_dir():
            delete(str(record))
        else:
            record.unlink(missing_ok=True)
    orphans = set(orphans_in(str(archives)))
    paths = list(archives.iterdir())
    unrecorded = [path for path in paths if path.name not in recorded and str(path) not in orphans]
    # Another process is writing these.
    busy = [path for path in unrecorded if owner_in(path.name) not in (None, mark_of_this_process())]
    for path in paths:
        # A record that a writer has added since the listing is not deleted.
        if path not in busy and (path.suffix != ".json" or path in records):
            delete(str(path))
    return len(records), len(busy)


def _directory_named_by(record: Path) -> str | None:
    """Return the name of the directory in a record; None if the record cannot be read."""
    try:
        name = (read_record(record) or {}).get("directory")
    except (OSError, ValueError, RecursionError):
        return None
    return name if isinstance(name, str) else None


def _write_base(start: JvmStart, file: Path) -> Path:
    """Write the archive of Java's own classes, which is missing in this Java runtime, and return its path."""
    command = [str(start.java.installation / "bin" / "java"), "-Xshare:dump", f"-XX:SharedArchiveFile={file}", QUIET]
    try:
        done = subprocess.run(command, capture_output=True, timeout=SECONDS_TO_WRITE, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        done = False
    if not done or not file.is_file():
        raise ExecutionError(f"{command[0]!r} has written no archive of its own classes: is there room on the disk?")
    return file


def _replace_record(record: Path, directory: Path, content: dict[str, object]) -> None:
    """Write a record atomically.

    The temporary file is in the directory that the record names: if this process is killed, it is deleted together with that directory.
    """
    handle, written = tempfile.mkstemp(dir=directory)
    with os.fdopen(handle, "w", encoding="ascii") as stream:
        json.dump(content, stream)
    os.replace(written, record)


def _remove_unrecorded(archives: Path) -> None:
    """Delete directories that no record names and whose writers have ended, and the records of a Java or Spark that is no longer installed."""
    # The orphans are listed before the records are read: if a writer has ended by then, its record is there.
    orphans = orphans_in(str(archives))
    named = set()
    for path in archives.glob("*.json"):
        try:
            record = read_record(path) or {}
            installed = all(map(os.path.exists, (*record["fingerprint"]["java"], record["fingerprint"]["spark"])))
            named |= {record["directory"]} if installed else set()
        except (OSError, ValueError, KeyError, TypeError, RuntimeError):
            installed = False
        if not installed:
            delete(str(path))
    for orphan in orphans:
        if os.path.basename(orphan) not in named:
            delete(orphan)
