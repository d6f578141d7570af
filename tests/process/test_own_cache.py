"""Nothing is run or read from a cache directory that others can write to."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest

from sframe_spark.process import user_cache_directory as module
from sframe_spark.process.user_cache_directory import is_own_file, own_cache, require_own
from sframe_spark.session.java import find_java
from tests.session.test_java import make_java

pytestmark = pytest.mark.skipif(os.name != "posix", reason="elsewhere modes say nothing")


@pytest.fixture
def base(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The directory for caches of the user."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "base"))
    return tmp_path / "base"


def test_it_is_made_for_the_user_alone(base: Path) -> None:
    assert own_cache() == base / "sframe_spark"
    assert stat.S_IMODE(own_cache().stat().st_mode) == 0o700


@pytest.mark.parametrize("shared", ["sframe_spark", "."])
def test_where_others_can_write_it_is_not_used(base: Path, shared: str) -> None:
    own_cache()
    (base / shared).chmod(0o775)
    with pytest.raises(PermissionError, match="chmod go-w"):
        own_cache()
    (base / shared).chmod(0o755)
    assert own_cache() == base / "sframe_spark"


def test_beside_a_directory_like_tmp_it_is_safe(base: Path) -> None:
    base.mkdir()
    base.chmod(0o1777)
    assert own_cache() == base / "sframe_spark"


def test_a_directory_of_another_user_is_not_used(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_cache()
    monkeypatch.setattr(module.os, "geteuid", lambda: 4_000_000)
    with pytest.raises(PermissionError, match="belongs to another user"):
        own_cache()


def test_a_link_is_as_safe_as_what_it_leads_to(base: Path, tmp_path: Path) -> None:
    base.mkdir()
    target = tmp_path / "elsewhere"
    target.mkdir()
    (base / "sframe_spark").symlink_to(target)
    assert own_cache() == target
    target.chmod(0o777)
    with pytest.raises(PermissionError):
        own_cache()


def test_without_a_home_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> Path:
        raise RuntimeError("no home")

    monkeypatch.setattr(module, "cache_path", fail)
    with pytest.raises(OSError, match="no home"):
        own_cache()


def test_files(tmp_path: Path) -> None:
    file = tmp_path / "file"
    assert not is_own_file(file)
    file.write_text("x")
    file.chmod(0o644)
    assert is_own_file(file)
    (tmp_path / "link").symlink_to(file)
    assert not is_own_file(tmp_path / "link") and not is_own_file(tmp_path)
    file.chmod(0o664)
    assert not is_own_file(file)
    require_own(tmp_path)


def test_a_shim_that_others_may_have_written_is_not_run(base: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = make_java(tmp_path / "jre", "21.0.1", "java.base", script="echo right")
    monkeypatch.setenv("SFRAME_SPARK_JAVA", str(home))
    kept = find_java()
    assert base in kept.home.parents and kept.installation == home
    for shared in (base / "sframe_spark", kept.home, kept.home / "bin"):
        shared.chmod(0o777)
        other = find_java()
        assert base not in other.home.parents
        assert subprocess.run([str(other.home / "bin" / "java")], capture_output=True, text=True, check=True).stdout == "right\n"
        shared.chmod(0o755)
    # A file that somebody else can change is written anew, whatever it says now.
    (kept.home / "bin" / "java").chmod(0o777)
    assert find_java().home == kept.home
    assert is_own_file(kept.home / "bin" / "java")
