"""An archive is used when it is there and right; whatever is in doubt, there is none. No JVM is started here: Java is made up."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sframe_spark.cli import prepare
from sframe_spark.errors import ExecutionError
from sframe_spark.process import directory_trees
from sframe_spark.process.temporary_file_leases import delete
from sframe_spark.session import jvm_class_archive_writing
from sframe_spark.session.jvm_class_archive_lookup import BASE, CLASSES, ClassArchive, JvmStart, find_archive
from sframe_spark.session.jvm_class_archive_writing import archives_directory, keep_archive, remove_archives
from sframe_spark.session.spark_start_and_settings import local_settings
from tests.session.class_archives.made_up import CHANGES, VARIABLES, made_up_start
from tests.session.test_java import make_java

pytestmark = pytest.mark.skipif(os.name != "posix", reason="no archives elsewhere")


@pytest.fixture(autouse=True)
def java_writes_texts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What Java would write is a text, below a cache directory of this test."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(jvm_class_archive_writing, "write_classes", lambda file, use_spark, lower: file.write_text("classes"))


@pytest.fixture
def start(tmp_path: Path) -> JvmStart:
    """A start of what is made up."""
    return made_up_start(tmp_path)


def keep(start: JvmStart) -> Path:
    """Keep an archive for a start, and return its file."""
    return keep_archive(start, lambda place: None) / CLASSES


def record_of(start: JvmStart) -> Path:
    """The file that says what the archive is for."""
    return archives_directory() / f"{start.key}.json"


def test_it_is_found_as_it_was_kept(start: JvmStart) -> None:
    assert find_archive(start) is None
    file = keep(start)
    found = find_archive(start)
    assert found == ClassArchive(file, record_of(start), 17)
    options = local_settings(found)["spark.driver.extraJavaOptions"]
    assert f"'-XX:SharedArchiveFile={file}' -Xlog:cds*=off" in options and "aot" not in options
    assert str(file) not in local_settings()["spark.driver.extraJavaOptions"]
    found.forget()
    assert find_archive(start) is None


def test_options_of_the_user_come_last(start: JvmStart, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFRAME_SPARK_JVM_OPTIONS", "-Dmine=1")
    keep(start)
    assert local_settings(find_archive(start))["spark.driver.extraJavaOptions"].endswith(" -Dmine=1")


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_it_is_not_used_for_another_start(change: Any, start: JvmStart, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(start)
    assert find_archive(change(start, monkeypatch)) is None


def cut(file: Path, _: Path) -> None:
    """A disk was full, or a copy was broken off."""
    status = file.stat()
    file.write_text("cla")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


def written_over(file: Path, _: Path) -> None:
    """As many bytes, others."""
    os.utime(file, ns=(1, 1))


def gone(file: Path, _: Path) -> None:
    """Somebody has cleaned up."""
    file.unlink()


def link(file: Path, _: Path) -> None:
    """What it leads to may be anybody's."""
    file.rename(file.with_name("other"))
    file.symlink_to(file.with_name("other"))


def others_may_write(file: Path, _: Path) -> None:
    """To the file."""
    file.chmod(0o666)


def others_may_write_beside(file: Path, _: Path) -> None:
    """To its directory."""
    file.parent.chmod(0o777)


def others_may_write_all(file: Path, _: Path) -> None:
    """To all archives."""
    file.parents[1].chmod(0o777)


def others_may_write_record(_: Path, record: Path) -> None:
    """What it is compared with."""
    record.chmod(0o666)


def linked_record(_: Path, record: Path) -> None:
    """A record elsewhere."""
    record.rename(record.with_name("other"))
    record.symlink_to(record.with_name("other"))


def no_record(_: Path, record: Path) -> None:
    """Written by half."""
    record.write_text(record.read_text()[:100])


def deep_record(_: Path, record: Path) -> None:
    """No text that was written here."""
    record.write_text("[" * 100_000)


def other_record(_: Path, record: Path) -> None:
    """JSON, of nothing that is known."""
    record.write_text('{"fingerprint": []}')


def directory_of_no_name(_: Path, record: Path) -> None:
    """JSON of all that is known, but for one name."""
    record.write_text(json.dumps({**json.loads(record.read_text()), "directory": []}))


def no_file(_: Path, record: Path) -> None:
    """A directory by the name of the record."""
    record.unlink()
    (record / "inside").mkdir(parents=True)


def directory_above(file: Path, record: Path) -> None:
    """Files elsewhere."""
    record.write_text(json.dumps({**json.loads(record.read_text()), "directory": f"../classes/{file.parent.name}"}))


DAMAGES: tuple[Callable[[Path, Path], None], ...] = (
    cut,
    written_over,
    gone,
    link,
    others_may_write,
    others_may_write_beside,
    others_may_write_all,
    others_may_write_record,
    linked_record,
    no_record,
    deep_record,
    other_record,
    directory_of_no_name,
    no_file,
    directory_above,
)


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_whatever_is_in_doubt_there_is_none(damage: Callable[[Path, Path], None], start: JvmStart) -> None:
    file = keep(start)
    damage(file, record_of(start))
    assert find_archive(start) is None
    for path in (file.parents[1], file.parent):
        path.chmod(0o700)
    # Kept again, it is used again.
    keep(start)
    assert find_archive(start) is not None


def test_that_of_another_user_is_not_used(start: JvmStart, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(start)
    monkeypatch.setattr(directory_trees.os, "geteuid", lambda: 4_000_000)
    assert find_archive(start) is None
    assert prepare.run_prepare(lambda place: None, True, [].append) == 1


def test_a_path_that_java_would_read_otherwise_is_refused(start: JvmStart, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a:b"))
    with pytest.raises(ExecutionError, match="XDG_CACHE_HOME"):
        keep(start)
    assert list(archives_directory().iterdir()) == []


def test_what_fails_leaves_the_one_before(start: JvmStart, monkeypatch: pytest.MonkeyPatch) -> None:
    file = keep(start)

    def fail(*_: object) -> None:
        raise ExecutionError("no room")

    monkeypatch.setattr(jvm_class_archive_writing, "write_classes", fail)
    with pytest.raises(ExecutionError):
        keep(start)
    found = find_archive(start)
    assert found is not None and found.file == file
    assert sorted(path.name for path in archives_directory().iterdir()) == sorted([file.parent.name, record_of(start).name])


def test_writers_at_one_time_leave_a_whole_one(start: JvmStart) -> None:
    keep(start)
    found: list[ClassArchive | None] = []
    writers = [threading.Thread(target=keep, args=(start,)) for _ in range(8)]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        found.append(find_archive(start))
    assert found and None not in [*found, find_archive(start)]


def test_a_java_without_archive_of_its_own_gets_one_below(start: JvmStart, monkeypatch: pytest.MonkeyPatch) -> None:
    (start.java.installation / "lib" / "server" / "classes.jsa").unlink()
    java = start.java.installation / "bin" / "java"
    java.write_text('#!/bin/sh\nfor a do case "$a" in -XX:SharedArchiveFile=*) echo base > "${a#*=}";; esac; done\n')
    java.chmod(0o755)
    file = keep(start)
    assert find_archive(start) is not None
    (file.parent / BASE).write_text("cut")
    assert find_archive(start) is None


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_all_are_deleted_whatever_they_are(damage: Callable[[Path, Path], None], start: JvmStart) -> None:
    file = keep(start)
    damage(file, record_of(start))
    for path in (file.parents[1], file.parent):
        path.chmod(0o700)
    assert prepare.run_prepare(lambda place: None, True, [].append) == 0
    assert list(archives_directory().iterdir()) == []


def test_what_another_process_writes_while_all_are_deleted_is_no_error(start: JvmStart, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(start)
    record = record_of(start)
    text = record.read_text()
    monkeypatch.setattr(jvm_class_archive_writing, "delete", lambda path: (delete(path), record.write_text(text)))
    told: list[str] = []
    assert prepare.run_prepare(lambda place: None, True, told.append) == 0 and told == ["deleted 1 archives of Spark's classes"]
    assert find_archive(start) is None


WRITER = """
import os, sys
from pathlib import Path
from sframe_spark.session import jvm_class_archive_writing as class_archive_writing
from tests.session.class_archives.made_up import made_up_start
class_archive_writing.write_classes = lambda file, use_spark, lower: file.write_text("classes")
replace = os.replace
os.replace = lambda *given: (replace(*given) if sys.argv[2] == "after" else None, os._exit(9))
class_archive_writing.keep_archive(made_up_start(Path(sys.argv[1])), None)
"""


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_writer_that_is_killed_leaves_nothing_for_good(start: JvmStart, tmp_path: Path, when: str) -> None:
    """Beside the record that names it, before it has one or after."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", WRITER, str(tmp_path), when], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 9, done.stderr
    file = keep(start)
    assert sorted(path.name for path in archives_directory().iterdir()) == sorted([file.parent.name, record_of(start).name])


SLOW_WRITER = """
import sys
from pathlib import Path
from sframe_spark.session import jvm_class_archive_writing as class_archive_writing
from tests.session.class_archives.made_up import made_up_start
def write(file, use_spark, lower):
    file.write_text("half")
    print("begun", flush=True)
    sys.stdin.read()
    file.write_text("classes")
class_archive_writing.write_classes = write
class_archive_writing.keep_archive(made_up_start(Path(sys.argv[1])), None)
"""


@pytest.mark.parametrize("ends", [True, False])
def test_what_another_process_writes_just_now_is_not_taken_from_it(start: JvmStart, tmp_path: Path, ends: bool) -> None:
    keep(made_up_start(tmp_path, options="-Dmine=1"))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command_line = [sys.executable, "-c", SLOW_WRITER, str(tmp_path)]
    told: list[str] = []
    with subprocess.Popen(command_line, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdin is not None and writer.stdout is not None and writer.stdout.readline() == "begun\n"
        assert prepare.run_prepare(lambda place: None, True, told.append) == 0
        assert told[0] == "deleted 1 archives of Spark's classes" and told[1].startswith("1 more are being written") and len(told) == 2
        if not ends:
            writer.kill()
    assert (find_archive(start) is not None) is ends
    assert remove_archives() == (int(ends), 0) and list(archives_directory().iterdir()) == []


def test_all_are_deleted(start: JvmStart, tmp_path: Path) -> None:
    keep(start)
    keep(made_up_start(tmp_path, options="-Dmine=1"))
    assert remove_archives() == (2, 0)
    assert list(archives_directory().iterdir()) == []


def test_what_is_no_longer_installed_goes_with_the_next(start: JvmStart, tmp_path: Path) -> None:
    other = made_up_start(tmp_path / "other")
    keep(other)
    (other.spark_home).rename(tmp_path / "gone")
    keep(start)
    assert not record_of(other).exists() and record_of(start).exists()


def test_the_command_says_why_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setenv("SFRAME_SPARK_JVM_OPTIONS", "-Xshare:off")
    assert prepare.run_prepare(lambda place: None, False, shown.append) == 1
    assert shown == ["nothing was written: SFRAME_SPARK_JVM_OPTIONS already names an archive"]
    assert prepare.run_prepare(lambda place: None, True, shown.append) == 0


START = """
import sys
from sframe_spark.session.spark_start_and_settings import start_spark
from sframe_spark.session import jvm_class_archive_writing as class_archive_writing
from sframe_spark.session import jvm_class_archive_lookup as class_archive_search
from sframe_spark.session.jvm_class_archive_lookup import JvmStart
from sframe_spark.session.java import find_java
class_archive_writing.write_classes = lambda file, use_spark, lower: file.write_text("classes")
here = JvmStart.of_this_process(find_java())
class_archive_writing.keep_archive(here, None)
assert class_archive_search.find_archive(here) is not None
try:
    start_spark()
except Exception as error:
    print(type(error).__name__, class_archive_search.find_archive(here))
"""


def test_a_java_that_ends_with_it_is_started_without_and_for_good(tmp_path: Path) -> None:
    home = make_java(tmp_path / "java", "17.0.1", script=f'printf "%s\\n" "$*" >> {tmp_path}/started; exit 1')
    (home / "lib" / "server").mkdir(parents=True)
    (home / "lib" / "server" / "classes.jsa").touch()
    environment = {**os.environ, "SFRAME_SPARK_JAVA": str(home), "SFRAME_SPARK_JVM_OPTIONS": "-Dmine=1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", START], capture_output=True, text=True, env=environment, check=False)
    assert done.stdout == "PySparkRuntimeError None\n", done.stderr
    # Spark's launcher is what is started first, and gets the options of the JVM.
    assert ["SharedArchiveFile" in line for line in (tmp_path / "started").read_text().splitlines()] == [True, False]
    assert all("-Dmine=1" in line for line in (tmp_path / "started").read_text().splitlines())
