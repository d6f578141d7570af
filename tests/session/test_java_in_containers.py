"""A local Spark gets what a container lacks: an address, a home and a name of the user, and a directory from which Java loads libraries."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from unittest.mock import MagicMock, call

import pytest

from sframe_spark import config
from sframe_spark.process.temporary_file_leases import owner_in
from sframe_spark.session import java_in_containers
from sframe_spark.session.java_in_containers import (
    directory_of_exchanges,
    directory_of_programs,
    has_account,
    name_user,
    options_of_java,
    variables_of_spark,
)
from sframe_spark.session.spark_start_and_settings import local_settings

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="about containers of Linux")


@pytest.fixture
def noexec(monkeypatch: pytest.MonkeyPatch, own_options: None) -> set[str]:
    """Directories that are on file systems without programs: at first Java's own temporary directory."""
    directories = {"/tmp"}
    monkeypatch.setattr(java_in_containers, "_holds_libraries", lambda directory: directory not in directories)
    return directories


def test_an_ordinary_machine_needs_nothing(monkeypatch: pytest.MonkeyPatch, own_options: None) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", lambda: "/tmp")
    assert has_account() and options_of_java() == []
    assert directory_of_exchanges() is None and "spark.local.dir" not in local_settings()


@pytest.mark.parametrize(("chosen", "found"), [(None, "127.0.0.1"), ("", "127.0.0.1"), ("10.0.0.7", "10.0.0.7")])
def test_the_address_is_this_machines_unless_the_user_says_another(chosen: str | None, found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_LOCAL_IP", raising=False)
    if chosen is not None:
        monkeypatch.setenv("SPARK_LOCAL_IP", chosen)
    assert variables_of_spark() == {"SPARK_LOCAL_IP": found}


@pytest.mark.parametrize("home", [None, "", "relative", "/no/such/directory"])
def test_a_user_without_an_account_has_a_home(home: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java_in_containers, "has_account", lambda: False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert options_of_java() == [f"'-Duser.home={tmp_path}'"]
    assert f"'-Duser.home={tmp_path}'" in local_settings()["spark.driver.extraJavaOptions"]
    monkeypatch.delenv("HOME")
    if home is not None:
        monkeypatch.setenv("HOME", home)
    assert options_of_java() == [f"'-Duser.home={tempfile.gettempdir()}'"]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="becomes another user")
def test_users_that_the_system_does_not_know() -> None:
    program = """
import os
from sframe_spark.session.java_in_containers import has_account
print(has_account())
os.setuid(1000770000)
print(has_account())
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert found.stdout == "True\nFalse\n", found.stderr


def test_libraries_are_loaded_from_where_programs_run(noexec: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("tmp of mine", "system", "cache"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(java_in_containers, "directory_of_system", lambda: str(tmp_path / "system"))
    monkeypatch.setattr(java_in_containers, "own_cache", lambda: tmp_path / "cache")
    config.temporary_directory = str(tmp_path / "tmp of mine")
    for name in ("tmp of mine", "system", "cache"):
        [option] = options_of_java()
        assert option.startswith(f"'-Djava.io.tmpdir={tmp_path / name}/")
        assert owner_in(os.path.basename(option.rstrip("'"))) is not None, "it is deleted when the process ends"
        assert directory_of_programs() == str(tmp_path / name)
        noexec.add(str(tmp_path / name))
    assert directory_of_programs() is None


def test_a_machine_without_such_a_directory_is_warned(noexec: set[str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def no_cache() -> Path:
        raise OSError("there is no home")

    monkeypatch.setattr(java_in_containers, "own_cache", no_cache)
    monkeypatch.setattr(java_in_containers, "directory_of_system", lambda: "/tmp")
    assert options_of_java() == []
    assert "no libraries from /tmp" in caplog.text and "SFRAME_SPARK_TMP" in caplog.text


def test_exchanges_are_where_python_has_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_options: None) -> None:
    """Spark knows only /tmp, which may be read-only."""
    monkeypatch.setattr(java_in_containers, "directory_of_system", lambda: str(tmp_path))
    assert local_settings()["spark.local.dir"] == str(tmp_path)
    config.temporary_directory = "s3://bucket/place"
    assert local_settings()["spark.local.dir"] == str(tmp_path)
    config.temporary_directory = str(tmp_path / "chosen")
    assert local_settings()["spark.local.dir"] == str(tmp_path / "chosen")


@pytest.mark.parametrize("known", [True, False])
def test_a_user_without_an_account_gets_a_name(known: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark import SparkContext

    monkeypatch.setattr(java_in_containers, "has_account", lambda: known)
    started, java = [], MagicMock()
    monkeypatch.setattr(SparkContext, "_ensure_initialized", lambda conf: started.append(dict(conf.getAll())))
    monkeypatch.setattr(SparkContext, "_jvm", java)
    # Without a JVM, as before the first session, settings are kept in Python.
    monkeypatch.setattr("pyspark.conf.SparkConf.__init__", lambda self: vars(self).update(_jconf=None, _conf={}))
    name_user({"spark.app.name": "mine", "spark.driver.memory": "1g"})
    users = java.org.apache.hadoop.security.UserGroupInformation
    assert started == ([] if known else [{"spark.app.name": "mine", "spark.driver.memory": "1g"}])
    assert users.createRemoteUser.call_args_list == ([] if known else [call(str(os.getuid()))])
    assert users.setLoginUser.call_args_list == ([] if known else [call(users.createRemoteUser.return_value)])
