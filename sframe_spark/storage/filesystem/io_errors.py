"""Translates errors about files, of the operating system, pyarrow and Spark, into messages that say what happened and what to do."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
from types import TracebackType
from urllib.parse import unquote

from pyarrow import ArrowException, ArrowNotImplementedError

from sframe_spark.errors import BrokenThrift, MissingPathError, NoMemoryError, SFrameError, StorageError
from sframe_spark.paths_and_uris import is_remote_location
from sframe_spark.process.temporary_file_leases import owner_in
from sframe_spark.pyarrow_versions import reason_not_damaged
from sframe_spark.storage.filesystem.files_kept_by_spark import is_kept_by_spark
from sframe_spark.storage.filesystem.path_joining_and_escaping import of_named

# Messages of Spark about a file that it cannot find or read, with the path of the file. Paths that end with .parquet may contain spaces; others end
# at the first space.
_UNREADABLE = re.compile(
    r"(?:(?P<given>Path does not exist: )|(?P<uri>Encountered error while reading file )|FileNotFoundException: File )"
    r"(?P<file>[^\n]+?\.parquet|\S+?)\.?(?:\s|$)"
)
# The beginnings of error conditions and tracebacks. A match after one that is not about files may be part of the user's data.
_ABOUT = re.compile(r"\[[A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)*\] |Traceback \(most recent call last\):")
_ABOUT_FILES = ("[PATH_NOT_FOUND", "[FAILED_READ_FILE", "[TASK_WRITE_FAILED")
# Messages of a process that has not found a file.
_FILE_NOT_FOUND = re.compile(r"\[FAILED_READ_FILE\.FILE_NOT_EXIST\]|FileNotFoundException: ")
NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
_NO_SPACE_WORDS = "|".join(re.escape(os.strerror(number)) for number in NO_SPACE)
_FULL = re.compile(rf"(?:(?P<java>(?:Exception|Error): )|OSError: \[Errno \d+\] )(?:{_NO_SPACE_WORDS})")
# The message of Spark about the last failure of a task, with the host and the executor.
_TASK = re.compile(r"Lost task [\d.]+ in stage [\d.]+ \(TID \d+\) \((?P<host>\S+) executor (?P<executor>\w+)\)")
# Words in errors of pyarrow about files that are not damaged, but have features that pyarrow does not support.
_UNSUPPORTED = re.compile(r"not (?:currently |yet )?(?:supported|implemented)|[Uu]nsupported")
# Arrow's message when the system cannot start a thread, for lack of memory or because of a limit.
NO_THREAD = "Failed to launch worker thread"
READING = ("read", "open", "list")
_CLEARED = "it held rows of a frame that is not saved, and the temporary directory was cleared; make the frame again from its source"

NOT_KEPT = (
    "it held rows of a frame that is not saved, and no executor of Spark has them any more: executors have ended, or the session was stopped; make "
    "the frame again from its source, and save() what took long"
)


def translate_os_errors(action: str, location: str) -> contextlib.AbstractContextManager[None]:
    """Turn errors of the operating system and of pyarrow, and a damaged Parquet footer, in the ``with`` block into a :class:`StorageError`.

    Parameters
    ----------
    action
        What the block does, for the message, such as "write segment".
    location
        The path for the message.

    Examples
    --------
    >>> with translate_os_errors("read", "/no/such/file"):
    ...     _ = open("/no/such/file")
    Traceback (most recent call last):
        ...
    sframe_spark.errors.MissingPathError: cannot read /no/such/file: there is no directory /no/such
    """
    return _TranslateOsErrors(action, location)


class _TranslateOsErrors(contextlib.AbstractContextManager[None]):
    """The context manager of :func:`translate_os_errors`. It is a class, since a generator takes three times as long."""

    __slots__ = ("_action", "_location")

    def __init__(self, action: str, location: str) -> None:
        self._action, self._location = action, location

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if isinstance(error, BrokenThrift) and self._action == "read":
            raise StorageError(f"{self._location} is damaged: {error}; restore it from a copy") from None
        # Errors of this package are not translated, although some are OSErrors, too.
        if isinstance(error, (OSError, ArrowException)) and not isinstance(error, SFrameError):
            reason = explanation(error, self._location, self._action in READING)
            missing = MissingPathError if isinstance(error, FileNotFoundError) else StorageError
            raise (NoMemoryError if is_out_of_memory(error) else missing)(f"cannot {self._action} {self._location}: {reason}") from error


def explanation(error: Exception, location: str, reading: bool) -> str:
    """Return a text that says why an operation on a file failed, and what to do; ``reading`` is whether the operation only reads."""
    number = getattr(error, "errno", None)
    if number in NO_SPACE:
        return full_disk(location)
    if isinstance(error, FileNotFoundError):
        parent = os.path.dirname(location)
        if parent and not os.path.isdir(parent):
            return f"there is no directory {parent}"
        return "it does not exist" if reading else "the system makes nothing there; choose another path"
    if isinstance(error, NotADirectoryError):
        return "a file stands where a directory should be; choose another path"
    link = error.filename if isinstance(error, FileExistsError) else None
    if isinstance(link, str) and os.path.islink(link) and not os.path.exists(link):
        return f"{link} is a link to {os.readlink(link)}, which does not exist: remove the link, or choose another path"
    if isinstance(error, PermissionError) and reading:
        return "permission denied; ask its owner for the permission to read it and to enter its directories"
    if isinstance(error, PermissionError):
        return "permission denied; choose a directory that you may write to, or change its permissions"
    if number == errno.EROFS:
        return "its file system may only be read; choose another path, or have it mounted for writing"
    if number == errno.ENAMETOOLONG:
        return "the name is longer than the file system takes; choose a shorter one"
    if isinstance(error, ArrowNotImplementedError) or (number is None and reading and _UNSUPPORTED.search(str(error))):
        said = (str(error).strip().splitlines() or [""])[0]
        return f"pyarrow does not read what it is made of ({said}); have it written with another compression, encoding or type"
    if cause := reason_not_damaged(error):
        return cause
    said = (message_without_file(error).strip().splitlines() or [""])[0]
    is_there = is_remote_location(location) or os.path.isfile(location)
    if number is None and reading and is_there and not is_out_of_memory(error):
        # An error of pyarrow while an existing file is read, other than lack of memory, means that the file is damaged.
        return f"it is damaged ({said}); restore it from a copy"
    return f"{type(error).__name__}: {said}"


def message_without_file(error: Exception) -> str:
    """Return the message of an error; of the operating system's errors without the name of the file, which the user may not know."""
    return error.strerror if isinstance(error, OSError) and error.filename is not None and error.strerror else str(error)


def is_out_of_memory(error: Exception) -> bool:
    """Return whether an error of Python, the operating system or Arrow means that there is not enough memory."""
    return isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM or NO_THREAD in str(error)


def full_disk(location: str) -> str:
    """Return a message that the disk of a location is full, and what to do.

    Examples
    --------
    >>> full_disk("/data/frame").startswith("the disk is full (")
    True
    """
    return (
        f"the disk is full ({free_space(location)}); nothing was published. Free some space, or keep temporary "
        "data elsewhere: set config.temporary_directory or the environment variable SFRAME_SPARK_TMP"
    )


def is_full_disk_message(text: str) -> bool:
    """Return whether an error message of Spark is about a full disk.

    Examples
    --------
    >>> is_full_disk_message("java.io.IOException: No space left on device")
    True
    >>> is_full_disk_message("[CAST_INVALID_INPUT] The value 'IOException: No space left on device' cannot be cast")
    False
    """
    match = _FULL.search(text)
    return match is not None and (match["java"] is None or _is_about_files(text[: match.start()]))


def full_disk_of_executor(text: str, location: str) -> str | None:
    """Return a message that the disk of an executor is full, from an error message of Spark about a full disk; None if the task ran on the driver.

    Examples
    --------
    >>> text = "Lost task 0.3 in stage 1.0 (TID 7) (10.0.0.5 executor 2): java.io.IOException: No space left on device"
    >>> full_disk_of_executor(text, "/").partition(" (")[0]
    'a disk of the executor on 10.0.0.5 is full'
    """
    task = _TASK.search(text)
    if task is None or task["executor"] == "driver":
        return None
    return (
        f"a disk of the executor on {task['host']} is full ({location} here has {free_space(location)}); nothing was published. Free some space "
        "there, or name other directories: spark.local.dir (SPARK_LOCAL_DIRS) for exchanges, SFRAME_SPARK_TMP for temporary data"
    )


def _is_about_files(before: str) -> bool:
    """Return whether all error conditions in a text are about files; True if there are none."""
    return all(condition.startswith(_ABOUT_FILES) for condition in _ABOUT.findall(before))


def file_damage_in_message(text: str) -> str | None:
    """Return a message that names the missing or damaged file, from an error message of Spark; None if that is about something else.

    Examples
    --------
    >>> file_damage_in_message("[PATH_NOT_FOUND] Path does not exist: file:/no/segment-1.parquet. SQLSTATE: 42K03")
    '/no/segment-1.parquet is missing: the dataset was overwritten, moved or deleted since it was opened; load it again'
    >>> file_damage_in_message("[CAST_INVALID_INPUT] The value 'Path does not exist: file:/etc/passwd' cannot be cast")
    """
    match = _UNREADABLE.search(text)
    if match is None or not _is_about_files(text[: match.start()]):
        return None
    # A file that Spark cannot read is named by its URI, with escapes such as %20; a path that does not exist, with the escapes of patterns.
    file = (unquote(match["file"]) if match["uri"] else of_named(match["file"]) if match["given"] else match["file"]).removeprefix("file:")
    file = "/" + file.lstrip("/") if file.startswith("/") else file
    if not os.path.exists(file):
        return missing(file)
    if not _FILE_NOT_FOUND.search(text[: match.end()]):
        return f"{file} is damaged: Spark cannot read it; restore it from a copy"
    task = _TASK.search(text)
    host = "" if task is None or task["executor"] == "driver" else f" on {task['host']}"
    return (
        f"{file} is here, but a process of Spark's{host} does not find it: keep it where all machines of Spark see it at the same path, such as a "
        "shared directory, or on an object store"
    )


def missing(file: str) -> str:
    """Return a message that a file of an open dataset is missing, and what to do.

    Examples
    --------
    >>> missing("/tmp/sframe_spark-abcdefgh-17-1f-00ff/dataset-000001/segment-1.parquet").partition(": ")[2]
    'it held rows of a frame that is not saved, and the temporary directory was cleared; make the frame again from its source'
    """
    if _is_temporary(file):
        return f"{file} is missing: {_CLEARED}"
    return f"{file} is missing: the dataset was overwritten, moved or deleted since it was opened; load it again"


def why_missing(uri: str) -> str:
    """Return a text that says why a remote file of an open dataset may be missing, and what to do.

    Examples
    --------
    >>> why_missing("s3://bucket/frame/data/0a/segment-1.parquet").partition(": ")[0]
    'somebody has deleted it'
    """
    if is_kept_by_spark(uri):
        return NOT_KEPT
    if _is_temporary(uri):
        return _CLEARED
    return "somebody has deleted it: load the frame again, restore the file from a copy, or make the frame anew from its source and save it"


def _is_temporary(file: str) -> bool:
    return any(map(owner_in, file.split("/" if is_remote_location(file) else os.sep)))


def lost(file: str, reason: str) -> str:
    """Return a message that a file with temporary rows is missing, why the rows cannot be computed again, and what to do.

    Examples
    --------
    >>> lost("/tmp/a.parquet", "nobody knows how they were made").partition(": ")[2][:62]
    'its rows are lost, as somebody has deleted temporary data, and'
    """
    cause = "no executor of Spark has them any more" if is_kept_by_spark(file) else "somebody has deleted temporary data"
    return (
        f"{file} is missing: its rows are lost, as {cause}, and cannot be made again here ({reason}): make the frame "
        "anew from its source; save() keeps rows, and SFRAME_SPARK_TMP names a place for temporary data that nobody clears"
    )


def free_space(location: str) -> str:
    """Return a text with the number of free bytes on the disk of a path, which need not exist; it says if there are no free inodes."""
    while location and not os.path.exists(location) and os.path.dirname(location) != location:
        location = os.path.dirname(location)
    free = f"{shutil.disk_usage(location).free:,} bytes free"
    # File systems without a fixed number of inodes report 0.
    has_no_inodes = hasattr(os, "statvfs") and (status := os.statvfs(location)).f_files and not status.f_favail
    return f"{free}, and no inode for another file: delete files" if has_no_inodes else free
