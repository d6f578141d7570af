"""Errors of the system are told as what happened to which path; unrelated errors pass."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from sframe_spark.errors import StorageError
from sframe_spark.storage.filesystem.io_errors import READING, file_damage_in_message, is_full_disk_message, translate_os_errors
from sframe_spark.storage.filesystem.path_joining_and_escaping import as_named


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "full"), "disk is full"),
        (OSError(errno.EDQUOT, "quota"), "disk is full"),
        (PermissionError("no"), "permission denied"),
        (FileNotFoundError("no"), "there is no directory .*new"),
        (pa.ArrowInvalid("bad"), "ArrowInvalid: bad"),
    ],
)
def test_system_errors_name_the_path_and_what_to_do(tmp_path: Any, error: Exception, words: str) -> None:
    with pytest.raises(StorageError, match=words) as caught, translate_os_errors("write", str(tmp_path / "new" / "x")):
        raise error
    assert str(caught.value).startswith(f"cannot write {tmp_path}")
    assert caught.value.__cause__ is error


@pytest.mark.parametrize(("action", "error"), [("write", pa.ArrowInvalid("bad")), ("read", pa.ArrowMemoryError("malloc of 9 bytes failed"))])
def test_only_a_file_that_is_read_and_makes_no_sense_is_called_damaged(tmp_path: Any, action: str, error: Exception) -> None:
    (tmp_path / "x").touch()
    with pytest.raises(StorageError, match=f"{type(error).__name__}: {error}$"), translate_os_errors(action, str(tmp_path / "x")):
        raise error


def test_errors_of_ours_and_of_programs_pass_unchanged() -> None:
    for error in (StorageError("told"), KeyError("bug"), KeyboardInterrupt()):
        with pytest.raises(type(error)) as caught, translate_os_errors("write", "/x"):
            raise error
        assert caught.value is error


@pytest.mark.parametrize("action", READING)
def test_what_is_only_read_is_not_told_to_be_written(action: str) -> None:
    with pytest.raises(StorageError, match="permission to read") as caught, translate_os_errors(action, "/x"):
        raise PermissionError("no")
    assert "write" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "[CAST_INVALID_INPUT] The value '\\nCaused by: [PATH_NOT_FOUND] Path does not exist: /etc/x' cannot be cast",
        "[USER_RAISED_EXCEPTION] Encountered error while reading file /etc/passwd",
        "Job aborted: Lost task 0.0: x: [CAST_INVALID_INPUT] The value 'java.io.IOException: No space left on device'",
        "Traceback (most recent call last):\nValueError: FileNotFoundException: File /etc/x",
    ],
)
def test_quoted_data_tells_nothing_about_files(text: str) -> None:
    assert file_damage_in_message(text) is None
    assert not is_full_disk_message(text)


def test_a_disk_that_takes_no_more_files_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for total, free, expected in ((5, 0, True), (0, 0, False), (5, 1, False)):
        counts = SimpleNamespace(f_files=total, f_favail=free, f_frsize=1, f_blocks=9, f_bfree=9, f_bavail=9)
        monkeypatch.setattr(os, "statvfs", lambda _, counts=counts: counts)
        with pytest.raises(StorageError, match="the disk is full") as caught, translate_os_errors("write", str(tmp_path / "none" / "x")):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        assert ("no inode for another file" in str(caught.value)) == expected


def test_full_disks_of_workers_are_told() -> None:
    assert is_full_disk_message("Traceback (most recent call last):\nOSError: [Errno 28] No space left on device")
    assert is_full_disk_message("Job aborted: [TASK_WRITE_FAILED] Task failed\nCaused by: java.io.IOException: No space left on device")


def about(message: str, file: str) -> str:
    """A message of Spark about a file, which names it as it is, as it was given or by its URI."""
    return message.replace("{}", file).replace("{given}", as_named(file)).replace("{uri}", "file://" + file.replace("%", "%25").replace(" ", "%20"))


@pytest.mark.parametrize(
    "place", ["/no/run 1", "/no/run 1. b", "/no/ends. in dots.", "/no/plain", "/no/run*1", "/no/{x} [50%]", "/no/größe 日本", "/no/a\\b"]
)
@pytest.mark.parametrize(
    "message",
    [
        "[PATH_NOT_FOUND] Path does not exist: file:{given}. SQLSTATE: 42K03",
        "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file {uri}.  SQLSTATE: KD001",
        "[FAILED_READ_FILE.FILE_NOT_EXIST] Encountered error while reading file {uri}. File does not exist. It is possible that SQLSTATE: KD001",
        "java.io.FileNotFoundException: File file:{} does not exist\n\tat x",
    ],
)
def test_a_file_is_named_in_whole(message: str, place: str) -> None:
    file = f"{place}/segment-1.parquet"
    assert (file_damage_in_message(about(message, file)) or "").startswith(f"{file} is missing: ")


TASK = "Job aborted due to stage failure: Task 0 failed 4 times, most recent failure: Lost task 0.3 in stage 1.0 (TID 7) (10.0.0.5 executor 2): "


@pytest.mark.parametrize(
    ("message", "told"),
    [
        (
            TASK + "[FAILED_READ_FILE.FILE_NOT_EXIST] Encountered error while reading file {uri}. File does not exist",
            " on 10.0.0.5 does not find",
        ),
        ("[FAILED_READ_FILE.FILE_NOT_EXIST] Encountered error while reading file {uri}. File does not exist.", "Spark's does not find"),
        (TASK + "java.io.FileNotFoundException: File file:{} does not exist\n\tat x", " on 10.0.0.5 does not find"),
        (TASK + "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file {uri}.  SQLSTATE: KD001", "is damaged"),
    ],
)
def test_a_file_that_only_this_machine_sees_is_not_called_damaged(tmp_path: Any, message: str, told: str) -> None:
    file = tmp_path / "a b%41é" / "here.parquet"
    file.parent.mkdir()
    file.touch()
    said = file_damage_in_message(about(message, str(file))) or ""
    assert said.startswith(f"{file} is ") and told in said
    assert ("restore it from a copy" in said) == (told == "is damaged") and ("all machines" in said) == (told != "is damaged")
