"""Errors of the system are told as what happened to which path; unrelated errors pass."""

from __future__ import annotations

import errno
from typing import Any

import pyarrow as pa
import pytest

from sframe_spark.errors import StorageError
from sframe_spark.storage.failures import telling


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
    with pytest.raises(StorageError, match=words) as caught, telling("write", str(tmp_path / "new" / "x")):
        raise error
    assert str(caught.value).startswith(f"cannot write {tmp_path}")
    assert caught.value.__cause__ is error


def test_errors_of_ours_and_of_programs_pass_unchanged() -> None:
    for error in (StorageError("told"), KeyError("bug"), KeyboardInterrupt()):
        with pytest.raises(type(error)) as caught, telling("write", "/x"):
            raise error
        assert caught.value is error
