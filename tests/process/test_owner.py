"""Unfinished work says by its name whose it is; only what dead processes of this user left is deleted, and nothing of it is opened."""

from __future__ import annotations

import gc
import os
import shutil
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sframe_spark.process import temporary_file_leases
from sframe_spark.process.directory_trees import size_on_disk
from sframe_spark.process.temporary_file_leases import (
    PREFIX,
    SECONDS_WITHOUT_HEARTBEAT,
    ProcessMark,
    is_running,
    mark_of_this_process,
    new_name,
    orphans_in,
    own_directory,
    own_hidden_directory,
    owner_in,
    remove_orphans,
    remove_own,
)
from sframe_spark.storage.filesystem import temporary_datasets
from sframe_spark.storage.filesystem.temporary_datasets import DatasetHandle
from tests.interpreters import run_program

DEAD = 2**22 + 1
pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks at processes as Linux shows them")
as_root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only the administrator can do that")


def name_of(mark: ProcessMark) -> str:
    return f"{PREFIX}{mark}-0a1b"


def here(process: int, started: int) -> ProcessMark:
    return ProcessMark(mark_of_this_process().scope, process, started)


def of_the_dead() -> str:
    return name_of(here(DEAD, 1))


def python(program: str, *before: str) -> subprocess.CompletedProcess[str]:
    """Run a program, behind a command that gives it other rights if there is one."""
    if not before:
        return run_program(program)
    return subprocess.run([*before, sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)


def test_a_name_says_who_made_it(tmp_path: Path) -> None:
    for path in (own_directory(str(tmp_path)), own_hidden_directory(str(tmp_path))):
        assert owner_in(os.path.basename(path)) == mark_of_this_process()
        remove_own(path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "name", ["sframe_spark-x", "frame", f"x{PREFIX}abcdefgh-1-1-0a1b", f"{PREFIX}abcdefgh-1-1-0a1b.old", f"{PREFIX}abcdefgh--1-1-0a1b"]
)
def test_other_names_are_nobodys(name: str) -> None:
    assert owner_in(name) is None


def test_rights_are_those_of_new_directories(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        rights = [stat.S_IMODE(os.stat(make(str(tmp_path))).st_mode) for make in (own_directory, own_hidden_directory)]
    finally:
        os.umask(before)
    assert rights == [0o700, 0o750]


def test_only_what_is_known_to_be_dead_is_deleted(tmp_path: Path) -> None:
    me = mark_of_this_process()
    kept = [name_of(me), name_of(here(os.getppid(), status_of(os.getppid()))), name_of(ProcessMark("elsewhre", DEAD, 1)), "frame", f"{PREFIX}mine"]
    for name in kept:
        (tmp_path / name).mkdir()
    gone = [of_the_dead(), "." + of_the_dead(), name_of(here(me.process, me.started + 1)), name_of(here(os.getppid(), 1))]
    for name in gone:
        (tmp_path / name).mkdir()
        (tmp_path / name / "rows").write_text("x")
    (tmp_path / f".{name_of(here(DEAD, 2))}").write_text("half a CSV file")
    assert len(remove_orphans(str(tmp_path))) == len(gone) + 1
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(kept)


def status_of(process: int) -> int:
    status = temporary_file_leases._status(process)
    assert status is not None
    return status.started


def test_a_process_that_nobody_has_asked_about_has_ended(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        mark = here(child.pid, status_of(child.pid))
        assert is_running(mark)
        assert child.stdin is not None
        child.stdin.close()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert is_running(mark) is False


def test_those_who_cannot_be_seen_are_gone_after_a_day_without_a_heartbeat(tmp_path: Path) -> None:
    for number, age in enumerate([0, SECONDS_WITHOUT_HEARTBEAT - 100, SECONDS_WITHOUT_HEARTBEAT + 100]):
        path = tmp_path / name_of(ProcessMark("elsewhre", 7, number))
        path.mkdir()
        os.utime(path, (time.time() - age,) * 2)
    assert orphans_in(str(tmp_path)) == [str(tmp_path / name_of(ProcessMark("elsewhre", 7, 2)))]


def test_the_heartbeat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = own_directory(str(tmp_path))
    os.utime(path, (1, 1))
    os.utime(path)
    assert os.stat(path).st_mtime > 1
    done = python(f"""
import os, time
from sframe_spark.process import temporary_file_leases as leases
leases.SECONDS_BETWEEN_HEARTBEATS = 0.05
path = leases.own_directory({str(tmp_path)!r})
os.utime(path, (1, 1))
time.sleep(1)
assert os.stat(path).st_mtime > 1
""")
    assert done.returncode == 0, done.stderr
    remove_own(path)


def test_where_processes_cannot_be_told_apart_only_the_heartbeat_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(temporary_file_leases, "_status", lambda *_: None)
    temporary_file_leases._mark.cache_clear()
    try:
        name = new_name()
        assert owner_in(name) == ProcessMark(temporary_file_leases.UNKNOWN_SCOPE, os.getpid(), 0)
        assert is_running(ProcessMark(temporary_file_leases.UNKNOWN_SCOPE, DEAD, 0)) is None
        remove_own(own_directory(str(tmp_path)))
        assert list(tmp_path.iterdir()) == []
    finally:
        temporary_file_leases._mark.cache_clear()


FORKS = """
import os
from sframe_spark.process.temporary_file_leases import own_directory, remove_own, CLAIMS
mine = own_directory(PARENT)
child = os.fork()
if child == 0:
    remove_own(mine)
    CLAIMS.remove()
    other = own_directory(PARENT)
    assert os.listdir(PARENT) and mine != other
    raise SystemExit(0)
assert os.waitpid(child, 0)[1] == 0
assert os.listdir(PARENT) == [os.path.basename(mine)]
"""


def test_a_forked_process_deletes_its_own_and_not_its_parents(tmp_path: Path) -> None:
    done = python(FORKS.replace("PARENT", repr(str(tmp_path))))
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.iterdir()) == []


LIVES = """
import sys, time
from sframe_spark.process.temporary_file_leases import own_directory
print(own_directory(sys.argv[1]), flush=True)
sys.stdin.read()
"""


@as_root
@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare")
@pytest.mark.parametrize("options", [["--mount-proc"], []], ids=["own /proc", "the /proc of the host"])
def test_a_container_with_the_same_host_name_deletes_nothing_of_the_living(tmp_path: Path, options: list[str]) -> None:
    apart = ["unshare", "--pid", "--fork", *options]
    if subprocess.run([*apart, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no namespaces here")
    program = f"from sframe_spark.process.temporary_file_leases import remove_orphans; print(remove_orphans({str(tmp_path)!r}))"
    # Where the numbers of processes of the other side mean nobody.
    mine = own_directory(str(tmp_path))
    with subprocess.Popen([*apart, sys.executable, "-c", LIVES, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        directory = other.stdout.readline().strip()
        assert remove_orphans(str(tmp_path)) == []
        assert python(program, *apart).stdout.strip() == "[]"
        assert os.path.isdir(directory) and os.path.isdir(mine)
    remove_own(mine)


def test_links_are_not_followed(tmp_path: Path) -> None:
    precious, shared = tmp_path / "precious", tmp_path / "shared"
    precious.mkdir()
    shared.mkdir()
    (precious / "rows").write_text("x")
    (shared / of_the_dead()).symlink_to(precious)
    left = shared / name_of(here(DEAD, 2))
    left.mkdir()
    (left / "link").symlink_to(precious)
    assert remove_orphans(str(shared)) == [str(left)]
    assert (precious / "rows").read_text() == "x" and not left.exists()


def fifo(path: Path) -> None:
    os.mkfifo(path)


def listening(path: Path) -> None:
    # The path of a socket must be short.
    before = os.getcwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(path.name)
    finally:
        os.chdir(before)


def huge(path: Path) -> None:
    with open(path, "wb") as stream:
        stream.truncate(1 << 40)


def loop(path: Path) -> None:
    path.symlink_to(path)


def test_nothing_in_a_shared_directory_makes_a_start_hang(tmp_path: Path) -> None:
    for number, make in enumerate((fifo, listening, huge, loop, Path.mkdir)):
        dead = name_of(here(DEAD, number + 1))
        for name in (dead, "." + dead, f"{PREFIX}{number}", name_of(ProcessMark("elsewhre", 1, number))):
            make(tmp_path / name)
        for other, below in enumerate(("_owner.json", "rows")):
            directory = tmp_path / name_of(here(DEAD + other + 1, number + 1))
            directory.mkdir()
            make(directory / below)
    done = python(f"""
from sframe_spark.storage.filesystem.temporary_datasets import TemporaryStore
from sframe_spark.session.worker_sockets import socket_directory
from sframe_spark import SFrame
socket_directory({str(tmp_path)!r})
print(TemporaryStore({str(tmp_path)!r}).new_dataset().directory)
SFrame({{"a": [1]}}).save({str(tmp_path / "frame")!r})
SFrame({{"a": [1]}}).export_csv({str(tmp_path / "frame.csv")!r})
""")
    assert done.returncode == 0 and done.stdout.startswith(str(tmp_path)), done.stderr


@as_root
def test_the_administrator_deletes_nothing_of_others(tmp_path: Path) -> None:
    left = tmp_path / of_the_dead()
    left.mkdir()
    os.chown(left, 65534, 65534)
    assert remove_orphans(str(tmp_path)) == [] and left.is_dir()


@as_root
def test_another_user_makes_nobody_delete_or_wait(tmp_path: Path) -> None:
    shared = Path(subprocess.run(["mktemp", "-d", "/tmp/shared-XXXXXX"], capture_output=True, text=True, check=True).stdout.strip())
    try:
        shared.chmod(0o1777)
        (shared / "mine").mkdir()
        (shared / "mine" / "rows").write_text("x")
        attack = f"cd {shared}; mkdir {of_the_dead()}; mkfifo {of_the_dead()}/_owner.json .{of_the_dead()}; ln -s mine {name_of(here(DEAD, 3))}"
        subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c", attack], check=True)
        before = sorted(os.listdir(shared))
        assert remove_orphans(str(shared)) == []
        assert sorted(os.listdir(shared)) == before and (shared / "mine" / "rows").exists()
    finally:
        shutil.rmtree(shared)


def test_where_anyone_may_rename_directories_nothing_is_deleted(tmp_path: Path) -> None:
    (tmp_path / of_the_dead()).mkdir()
    tmp_path.chmod(0o777)
    assert remove_orphans(str(tmp_path)) == []
    tmp_path.chmod(0o1777)
    assert len(remove_orphans(str(tmp_path))) == 1


def test_a_place_that_cannot_be_listed_has_no_leftovers(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    assert orphans_in(str(tmp_path / "file")) == orphans_in(str(tmp_path / "nothing")) == []


def test_sizes(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "rows").write_bytes(b"x" * 100_000)
    (tmp_path / "a" / "link").symlink_to(tmp_path)
    assert 100_000 <= size_on_disk(str(tmp_path / "a")) < 150_000


def test_what_is_made_is_known_before_it_exists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mkdir = os.mkdir

    def interrupted(path: Any, *rights: int) -> None:
        mkdir(path, *rights)
        raise KeyboardInterrupt

    monkeypatch.setattr(temporary_file_leases.os, "mkdir", interrupted)
    with pytest.raises(KeyboardInterrupt):
        own_directory(str(tmp_path))
    assert list(tmp_path.iterdir()) == []


class Collecting(dict[str, Any]):
    """Paths; a garbage collection happens to run whenever they change, and finds a temporary dataset that nobody refers to."""

    def __init__(self, handles: list[DatasetHandle]) -> None:
        super().__init__()
        self.handles = handles

    def __setitem__(self, path: str, holder: Any) -> None:
        super().__setitem__(path, holder)
        if self.handles:
            self.handles.pop()

    def pop(self, path: str, *default: Any) -> Any:
        found = super().pop(path, *default)
        if self.handles:
            self.handles.pop()
        return found

    def __iter__(self) -> Iterator[str]:
        if self.handles:
            self.handles.pop()
        return super().__iter__()

    def items(self) -> Any:
        for number, pair in enumerate(super().items()):
            if number and self.handles:
                # Pairs are objects, whose making may start a collection.
                self.handles.pop()
            yield pair


@pytest.mark.parametrize("act", ["add", "discard", "remove", "remove_abandoned"])
def test_a_dataset_that_is_let_go_while_claims_change_stops_nothing(act: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = tmp_path / "dataset"
    directory.mkdir()
    claims = temporary_file_leases.Claims()
    monkeypatch.setattr(temporary_file_leases, "CLAIMS", claims)
    monkeypatch.setattr(temporary_datasets, "CLAIMS", claims)
    handle = DatasetHandle(str(directory))
    collecting = Collecting([handle])
    dict.update(collecting, claims._paths)
    monkeypatch.setattr(claims, "_paths", collecting)
    del handle
    monkeypatch.setattr(claims, "_has_heartbeat", True)
    claims._paths.update({str(tmp_path / new_name()): None for _ in range(3)})
    arguments = [] if act.startswith("remove") else [str(tmp_path / new_name())]
    # In a thread of its own: one that waits for itself would hold up all tests.
    thread = threading.Thread(target=getattr(claims, act), args=arguments, daemon=True)
    thread.start()
    thread.join(10)
    assert not thread.is_alive()
    assert not directory.exists()


def test_what_is_taken_over_while_others_are_deleted_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A save gives the old rows to those who read them, while another thread deletes what nobody holds.
    claims = temporary_file_leases.Claims()
    monkeypatch.setattr(temporary_file_leases, "CLAIMS", claims)
    monkeypatch.setattr(temporary_datasets, "CLAIMS", claims)
    first = temporary_file_leases.Holder()
    # The order counts: what is abandoned is looked at first.
    gone = temporary_file_leases.Holder()
    abandoned, saved = own_hidden_directory(str(tmp_path), gone), own_hidden_directory(str(tmp_path), first)
    held, deleted = [first], []

    def delete(path: str) -> None:
        deleted.append(path)
        held.append(DatasetHandle(saved))
        held.pop(0)

    del first, gone
    monkeypatch.setattr(temporary_file_leases, "delete", delete)
    claims.remove_abandoned()
    assert deleted == [abandoned]


def test_a_name_that_is_taken_stays_its_holders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One in 65,536 names is that of something this process has already; it went with the holder of what was made next."""
    held, other = temporary_file_leases.Holder(), temporary_file_leases.Holder()
    names = iter([new_name(), *[new_name() for _ in range(3)]])
    taken = next(names)
    monkeypatch.setattr(temporary_file_leases, "new_name", lambda: taken)
    first = own_hidden_directory(str(tmp_path), held)
    drawn = [taken, *names]
    monkeypatch.setattr(temporary_file_leases, "new_name", lambda: drawn.pop(0))
    second = own_hidden_directory(str(tmp_path), other)
    assert os.path.basename(first) == "." + taken and second != first
    del other
    gc.collect()
    third = own_hidden_directory(str(tmp_path), held)
    assert sorted(os.listdir(tmp_path)) == sorted(map(os.path.basename, (first, third)))
    remove_own(first)
    remove_own(third)
