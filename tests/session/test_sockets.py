"""Sockets of Spark's Python workers: in a directory of the user's own that does not outlive the process."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from sframe_spark.session import sockets
from sframe_spark.session.sockets import LONGEST_PARENT, remove_own, socket_directory, socket_settings

ENABLED, DIRECTORY = "spark.python.unix.domain.socket.enabled", "spark.python.unix.domain.socket.dir"


def test_the_directory_is_private_and_its_paths_are_short() -> None:
    settings = socket_settings()
    directory = settings[DIRECTORY]
    assert settings[ENABLED] == "true"
    assert stat.S_IMODE(os.stat(directory).st_mode) == 0o700
    assert len(os.fsencode(f"{directory}/.5e1c0b34-58bb-4b52-9f3c-9d6c1f0f6f5a.sock")) <= 103
    remove_own(directory, os.getpid())
    assert not os.path.exists(directory)


def test_a_temporary_directory_with_a_long_name_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", lambda: "/" + "x" * LONGEST_PARENT)
    directory = socket_settings()[DIRECTORY]
    assert directory.startswith("/tmp/sframe_spark-")
    remove_own(directory, os.getpid())


def test_a_system_without_unix_sockets_uses_tcp(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(sockets.socket, "AF_UNIX")
    assert socket_settings() == {}


def test_no_place_for_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert socket_settings() == {}


def test_a_forked_process_does_not_delete_its_parents_directory(tmp_path: Path) -> None:
    directory = socket_directory(str(tmp_path))
    remove_own(directory, os.getpid() + 1)
    assert os.path.isdir(directory)
    remove_own(directory, os.getpid())


def test_the_directory_goes_with_the_process(tmp_path: Path) -> None:
    program = f"from sframe_spark.session.sockets import socket_directory; print(socket_directory({str(tmp_path)!r}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(str(tmp_path)) and list(tmp_path.iterdir()) == []


@pytest.mark.spark
def test_our_own_session_uses_them(spark: Any) -> None:
    settings = spark.sparkContext.getConf()
    assert settings.get(ENABLED) == "true"
    assert Path(settings.get(DIRECTORY)).is_dir()
