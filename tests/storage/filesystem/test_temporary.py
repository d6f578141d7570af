"""Temporary data goes with the last reference, with the process, and after a crash with the next process."""

from __future__ import annotations

import errno
import gc
import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest

from sframe_spark.cli.doctor import check_temporary_directory
from sframe_spark.config import config
from sframe_spark.errors import StorageError
from sframe_spark.plotting.html_pages import write_page
from sframe_spark.process import temporary_file_leases
from sframe_spark.process.temporary_file_leases import mark_of_this_process, owner_in
from sframe_spark.session.spark_start_and_settings import local_settings
from sframe_spark.storage.filesystem.temporary_datasets import TemporaryStore, scratch_root, scratch_store, temporary_root, temporary_store
from tests.interpreters import run_program


def run(code: str) -> subprocess.CompletedProcess[str]:
    return run_program(code)


def test_the_last_reference_deletes_the_directory(tmp_path: Any) -> None:
    store = TemporaryStore(str(tmp_path))
    handle = store.new_dataset()
    directory = handle.directory
    copies = [handle, handle]
    del handle
    gc.collect()
    assert os.path.isdir(directory)
    copies.clear()
    gc.collect()
    assert not os.path.exists(directory)


def test_what_is_kept_stays_until_the_process_ends(tmp_path: Any) -> None:
    store = TemporaryStore(str(tmp_path))
    handle = store.new_dataset()
    directory = handle.directory
    store.keep([handle])
    del handle
    gc.collect()
    assert os.path.isdir(directory)


def test_what_cancelled_tasks_still_write_keeps_no_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks of Spark may go on for seconds: a file that comes between the last look into a directory and its deletion would keep it alive."""
    handle, remove_tree, late = TemporaryStore(str(tmp_path)).new_dataset(), temporary_file_leases.remove_tree, list[bool]()
    kept = Path(handle.directory)

    def write_late() -> None:
        late.append(kept.is_dir())
        if kept.is_dir():
            (kept / f"late {len(late)}").touch()

    def with_writers(path: str, ignore_errors: bool = False) -> None:
        write_late()
        remove_tree(path, ignore_errors)
        write_late()

    (kept / "rows").touch()
    monkeypatch.setattr(temporary_file_leases, "remove_tree", with_writers)
    handle.discard()
    assert late and not any(late) and list(kept.parent.iterdir()) == []


@pytest.mark.parametrize("step", ["rename", "rmdir", "unlink"])
def test_a_directory_that_cannot_be_deleted_now_is_no_error(step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = TemporaryStore(str(tmp_path))
    handle = store.new_dataset()
    Path(handle.directory, "rows").touch()

    def fails(*_: Any, **__: Any) -> None:
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))

    with monkeypatch.context() as patch:
        patch.setattr(os, step, fails)
        handle.discard()
    assert (os.listdir(store.directory) == []) == (step == "rename")
    assert Path(store.new_dataset().directory).is_dir()


def test_directories_are_new_and_empty(tmp_path: Any) -> None:
    store = TemporaryStore(str(tmp_path))
    handles = [store.new_dataset() for _ in range(5)]
    directories = [handle.directory for handle in handles]
    assert len(set(directories)) == 5 and all(os.listdir(directory) == [] for directory in directories)
    assert owner_in(os.path.basename(store.directory)) == mark_of_this_process()


def test_everything_goes_with_the_process(tmp_path: Any) -> None:
    done = run(f"""
from sframe_spark.storage.filesystem.temporary_datasets import TemporaryStore
store = TemporaryStore({str(tmp_path)!r})
handle = store.new_dataset()
store.keep(store.new_dataset())
open(handle.directory + "/x", "w").close()
""")
    assert done.returncode == 0, done.stderr
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs POSIX signals")
def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path: Any) -> None:
    run(f"""
import os, signal
from sframe_spark.storage.filesystem.temporary_datasets import TemporaryStore
handle = TemporaryStore({str(tmp_path)!r}).new_dataset()
os.kill(os.getpid(), signal.SIGKILL)
""")
    assert len(os.listdir(tmp_path)) == 1
    store = TemporaryStore(str(tmp_path))
    assert os.listdir(tmp_path) == [os.path.basename(store.directory)]


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_forked_worker_deletes_nothing(tmp_path: Any) -> None:
    done = run(f"""
import gc, os
from sframe_spark.storage.filesystem.temporary_datasets import TemporaryStore
store = TemporaryStore({str(tmp_path)!r})
handle = store.new_dataset()
directory = handle.directory
child = os.fork()
if child == 0:
    del handle
    gc.collect()
    raise SystemExit(0)
assert os.waitpid(child, 0)[1] == 0
assert os.path.isdir(directory)
""")
    assert done.returncode == 0, done.stderr


def test_the_configured_directory_is_used(tmp_path: Any) -> None:
    with config.using(temporary_directory=str(tmp_path / "a")):
        store = temporary_store()
        assert store is temporary_store()
        assert os.path.dirname(store.directory) == str(tmp_path / "a")
        # Someone empties the temporary directory under a process that goes on.
        shutil.rmtree(tmp_path / "a")
        handle = temporary_store().new_dataset()
        assert os.path.isdir(handle.directory)


PLACES = {
    "file": "a file has that name",
    "file/below": "a file stands where",
    "/proc/none": "cannot create a directory",
    "locked": "cannot be written",
}


@pytest.mark.parametrize("place", PLACES)
def test_a_place_that_cannot_be_used_is_told_with_what_to_set(tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("x")
    if place == "locked":
        # The administrator, who may run this, writes anywhere.
        monkeypatch.setattr(os, "access", lambda path, mode: False)
    if place.startswith("/proc") and not os.path.isdir("/proc/self"):
        pytest.skip("needs a file system that makes no directories")
    told = []
    with config.using(temporary_directory=str(tmp_path / place)):
        for use in (temporary_store, scratch_store, lambda: TemporaryStore(str(tmp_path / place)), local_settings):
            with pytest.raises(StorageError) as error:
                use()
            told.append(str(error.value))
    advice = r"set config\.temporary_directory \(SFRAME_SPARK_TMP\) to a directory that you may write to"
    assert len(set(told)) == 1 and re.fullmatch(rf"temporary data cannot be kept in {tmp_path / place}: .*{PLACES[place]}.*; {advice}", told[0])


def test_a_system_without_a_temporary_directory_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> str:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']")

    monkeypatch.setattr(tempfile, "gettempdir", none)
    with config.using(temporary_directory=None):
        for use in (temporary_root, scratch_root, lambda: write_page("")):
            with pytest.raises(StorageError, match=r"No usable .*; set config\.temporary_directory \(SFRAME_SPARK_TMP\).* or TMPDIR$"):
                use()
    assert check_temporary_directory().fix is not None
