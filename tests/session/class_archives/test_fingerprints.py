"""An archive fits the start that it was written for, and no other."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sframe_spark.session.java import JavaRuntime
from sframe_spark.session.jvm_class_archive_lookup import JvmStart
from tests.session.class_archives.made_up import CHANGES, VARIABLES, made_up_start

pytestmark = pytest.mark.skipif(os.name != "posix", reason="no archives elsewhere")


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable that has to do with a start."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_every_change_shows(change: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start = made_up_start(tmp_path)
    before = start.fingerprint()
    assert before == start.fingerprint()
    changed = change(start, monkeypatch)  # type: ignore[operator]
    assert changed.fingerprint() != before


def test_what_may_be_secret_is_not_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Djavax.net.ssl.keyStorePassword=hush")
    assert "hush" not in str(made_up_start(tmp_path).fingerprint())


def test_options_are_part_of_the_name_and_secret_there_too(tmp_path: Path) -> None:
    first, second = made_up_start(tmp_path), made_up_start(tmp_path, options="-Dpassword=hush")
    assert first.key != second.key and "hush" not in str(second.fingerprint()) + second.key


@pytest.mark.parametrize(
    "options",
    ["-Xshare:off", "'-XX:SharedArchiveFile=/a b'", "-XX:ArchiveClassesAtExit=x", "-XX:AOTCache=x", "-XX:+AutoCreateSharedArchive", "-Da='"],
)
def test_options_about_archives_are_the_users_own(options: str, tmp_path: Path) -> None:
    assert "SFRAME_SPARK_JVM_OPTIONS" in (made_up_start(tmp_path, options=options).hindrance() or "")


@pytest.mark.parametrize("name", ["JAVA_TOOL_OPTIONS", "SPARK_SUBMIT_OPTS", "PYSPARK_SUBMIT_ARGS"])
def test_so_are_those_in_variables(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "-Da=1 '-XX:SharedArchiveFile=/a b'")
    assert name in (made_up_start(tmp_path).hindrance() or "")


@pytest.mark.parametrize("name", ["SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_DIST_CLASSPATH"])
def test_directories_of_settings_prevent_it(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start = made_up_start(tmp_path)
    assert start.hindrance() is None
    monkeypatch.setenv(name, str(tmp_path))
    assert name in (start.hindrance() or "")


def test_settings_of_spark_itself_prevent_it(tmp_path: Path) -> None:
    start = made_up_start(tmp_path)
    (start.spark_home / "conf").mkdir()
    assert start.hindrance() is None
    (start.spark_home / "conf" / "spark-defaults.conf").touch()
    assert "has files" in (start.hindrance() or "")


def test_the_start_of_this_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SFRAME_SPARK_JVM_OPTIONS", "-Dmine=1")
    start = JvmStart.of_this_process(JavaRuntime(tmp_path, 17, "made up", tmp_path))
    assert start.options == "-Dmine=1" and any(name.startswith("spark-core") for name in os.listdir(start.spark_home / "jars"))
