"""Temporary datasets, local and remote, their quota, and temporary local copies of remote files.

A temporary dataset is deleted when the last reference to it is gone, when the process ends, or by a later process.
On remote file systems, which have no locks, the name of a directory identifies the process that owns it:
``<root>/sframe_spark-PLACE-PROCESS-START-RANDOM/dataset-000001/segment-....parquet``. A file ``owner`` in it is rewritten regularly as long as the
process runs. See ``docs/decisions/002-leases.md``.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import gc
import itertools
import os
import queue
import re
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextvars import copy_context

from sframe_spark.config import config
from sframe_spark.errors import StorageError
from sframe_spark.paths_and_uris import is_remote_location, normalised
from sframe_spark.process.control_groups import available_cores
from sframe_spark.process.fork_safety import keep_whole_at_fork
from sframe_spark.process.interrupt_deferral import interrupts_deferred
from sframe_spark.process.place_of_cluster import PLACE_OF_CLUSTER
from sframe_spark.process.temporary_file_leases import (
    CLAIMS,
    SECONDS_BETWEEN_HEARTBEATS,
    SECONDS_WITHOUT_HEARTBEAT,
    delete,
    directory_of_system,
    is_running,
    new_name,
    own_directory,
    owner_in,
    remove_orphans,
    require_directory,
)
from sframe_spark.process.threads import in_threads
from sframe_spark.storage.filesystem.files_kept_by_spark import KEPT_FILES, SCHEME
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.filesystem.path_joining_and_escaping import join
from sframe_spark.storage.filesystem.remote_operations import download, file_system, listed, put_bytes, remote_entry, remove, upload

# Handles.


class TemporaryHandle:
    """Keeps a temporary dataset: when the last reference to the handle is gone, ``give_up`` is called to delete the directory.

    Parameters
    ----------
    directory
        The directory of the dataset.
    give_up
        Called with the directory, ``arguments``, and the id of the process that created the handle: forked processes, which inherit handles, must
        not delete the directory.
    """

    __slots__ = ("__weakref__", "_finalizer", "directory", "lineage")

    def __init__(self, directory: str, give_up: Callable[..., None], *arguments: object) -> None:
        self.directory = directory
        # How the rows were computed, so that lost rows can be computed again (see engine.execution.lost_row_recovery).
        self.lineage: object = None
        self._finalizer = weakref.finalize(self, give_up, directory, *arguments, os.getpid())

    def __getstate__(self) -> tuple[None, dict[str, object]]:
        """Return the state for pickling, without the lineage, which only this process can use."""
        return None, {"directory": self.directory, "_finalizer": self._finalizer, "lineage": None}

    def discard(self) -> None:
        """Delete the directory now, although there are references to the handle: a pending exception may keep some, and the disk may be full."""
        self._finalizer()

    @property
    def is_there(self) -> bool:
        """Whether the directory was not deleted yet by this handle."""
        return self._finalizer.alive

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.directory!r})"


# Quota of temporary data.


class QuotaUsage:
    """The sizes of the datasets of a store that are in use, compared with ``config.temporary_quota``."""

    def __init__(self) -> None:
        self._sizes: weakref.WeakKeyDictionary[TemporaryHandle, int] = weakref.WeakKeyDictionary()

    def count(self, handle: TemporaryHandle, size: int) -> None:
        """Record the current size of a dataset in bytes.

        Raises
        ------
        StorageError
            If the datasets of the store would exceed ``config.temporary_quota``; the size is not recorded then.
        """
        quota = config.temporary_quota
        if quota is not None and self._used_by_others(handle) + size > quota:
            # Frames in reference cycles keep their datasets until the garbage collector runs.
            gc.collect()
            used = self._used_by_others(handle)
            if used + size > quota:
                raise StorageError(
                    f"{size:,} bytes of rows are too many beside {used:,} bytes of temporary data, with a quota of {quota:,}: save() frames and "
                    "load them, let go of others (del), or raise config.temporary_quota (SFRAME_SPARK_TMP_QUOTA)"
                )
        self._sizes[handle] = size

    def _used_by_others(self, excluded: TemporaryHandle) -> int:
        """Return the bytes of all other datasets that are in use."""
        return sum(size for handle, size in list(self._sizes.items()) if handle is not excluded and handle.is_there)


# Schemes of file systems that Python opens by libhdfs only, which comes with distributions of Hadoop.
HADOOP_SCHEMES = ("hdfs", "viewfs")
OWNER = "owner"
# The end of the name of a directory that is being deleted.
DELETED = "-deleted"
# Names of the files that this package creates in the directory of a process. Files with other names are not removed.
_OUR_FILES = re.compile(rf"{OWNER}|(?:dataset-[0-9]{{6,}}/)?segment-[0-9]{{8,}}-[0-9a-f]{{32}}\.parquet|\.?part-[0-9a-f]{{32}}(?:\.(?:parquet|orc))?")


class RemoteHandle(TemporaryHandle):
    """Keeps a remote temporary dataset; when the last reference is gone, a background thread removes its files.

    Parameters
    ----------
    directory
        The URI of the directory of the dataset.
    removals
        The queue of directories that the background thread removes.
    """

    __slots__ = ()

    def __init__(self, directory: str, removals: queue.SimpleQueue[str | None]) -> None:
        # The finalizer may run in any thread, even within a call of the file system, so it only adds the directory to a queue.
        super().__init__(directory, _give_up, removals)
        self._finalizer.atexit = False


def _give_up(directory: str, removals: queue.SimpleQueue[str | None], owner: int) -> None:
    if os.getpid() == owner:
        removals.put(directory)


class RemoteStore:
    """The remote temporary directory of a process, with one directory per dataset. It is removed when the process ends.

    Creating a store also removes the directories of processes that ended without removing them.

    Parameters
    ----------
    root
        The URI of the directory in which the directory of the process is created.
    """

    def __init__(self, root: str) -> None:
        self._process = os.getpid()
        self._numbers = itertools.count()
        self._kept_alive: list[object] = []
        self.usage = QuotaUsage()
        self._removals: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self.directory = join(root, new_name())
        # Writing a file first shows whether the bucket exists and can be written.
        try:
            self._show_in_use()
            # The current time of the remote file system, from the file just written; None if it has no times of files.
            now = max((file.written for file in listed(self.directory) if file.written is not None), default=None)
            remove_orphaned_remote_directories(root, now)
        except StorageError as error:
            with contextlib.suppress(StorageError):
                remove(join(self.directory, OWNER))
            other = "config.temporary_directory (SFRAME_SPARK_TMP) names another place"
            raise StorageError(f"temporary data cannot be kept in {root}: {error}; {other}") from error
        # The thread gets the options of the current `using` block, such as file system options.
        context = copy_context()
        threading.Thread(target=context.run, args=(self._work,), name="sframe_spark removals", daemon=True).start()
        at_end_of_process(self.close)

    def new_dataset(self) -> RemoteHandle:
        """Return a handle on a new, unused directory name."""
        return RemoteHandle(join(self.directory, f"dataset-{next(self._numbers):06d}"), self._removals)

    def keep(self, holder: object) -> None:
        """Keep an object, and the datasets that it refers to, until the process ends."""
        self._kept_alive.append(holder)

    def close(self) -> None:
        """Remove all files of this process; does nothing in a forked process."""
        if os.getpid() == self._process:
            self._removals.put(None)
            remove_below_ignoring_errors(self.directory)

    def _show_in_use(self) -> None:
        put_bytes(join(self.directory, OWNER), b"")

    def _work(self) -> None:
        """Remove the directories in the queue, and regularly rewrite the ownership file, until None is in the queue."""
        beat = time.monotonic()
        while True:
            directory = None
            with contextlib.suppress(queue.Empty):
                directory = self._removals.get(timeout=max(0.0, beat + SECONDS_BETWEEN_HEARTBEATS - time.monotonic()))
                if directory is None:
                    return
            # Files that cannot be removed are removed when this process ends, or by a later process.
            with contextlib.suppress(StorageError):
                if directory is not None:
                    remove_below_ignoring_errors(directory)
                if time.monotonic() - beat >= SECONDS_BETWEEN_HEARTBEATS:
                    beat = time.monotonic()
                    self._show_in_use()


def remove_below_ignoring_errors(directory: str) -> None:
    """Remove the files that this package has written below a remote directory; errors are ignored."""
    with contextlib.suppress(StorageError):
        remove_below(directory)


def remove_below(directory: str) -> None:
    """Remove the files that this package has written below a remote directory.

    Raises
    ------
    StorageError
        If a file cannot be removed.
    """
    start = join(directory, "")
    our_files = [file.uri for file in listed(directory, below=True) if _OUR_FILES.fullmatch(file.uri.removeprefix(start))]
    in_threads(remove, our_files, available_cores())


def remote_orphans(root: str, now: datetime.datetime | None) -> list[str]:
    """Return the URIs of the directories of ended processes at a location.

    ``now`` is the current time of the remote file system, None if unknown. Whether a process on another machine runs is unknown: its directory is
    returned if none of its files was written within ``SECONDS_WITHOUT_HEARTBEAT``.
    """
    orphans = []
    for name in remote_entry(root).names:
        owner = owner_in(name)
        running = None if owner is None else is_running(owner)
        directory = join(root, name)
        if owner is not None and (running is False or (running is None and now is not None and _is_abandoned(directory, now))):
            orphans.append(directory)
    return orphans


def _is_abandoned(directory: str, now: datetime.datetime) -> bool:
    limit = now - datetime.timedelta(seconds=SECONDS_WITHOUT_HEARTBEAT)
    return all(file.written is not None and file.written < limit for file in listed(directory, below=True))


def remove_orphaned_remote_directories(root: str, now: datetime.datetime | None) -> list[str]:
    """Remove the directories of ended processes (see :func:`remote_orphans`), and return their URIs."""
    orphans = remote_orphans(root, now)
    for directory in orphans:
        remove_below_ignoring_errors(directory)
    return orphans


def at_end_of_process(work: Callable[[], None]) -> None:
    """Register a function to be called at the end of the process, while threads can still be started.

    Functions registered with ``atexit`` are called too late, since file system libraries start threads to resolve host names.
    """
    # If the process is already ending, a later process on this machine removes the files.
    with contextlib.suppress(RuntimeError):
        threading._register_atexit(work)  # type: ignore[attr-defined]


# Temporary datasets whose files Spark keeps.


class KeptStore:
    """The temporary datasets of this process whose files Spark keeps. Its directories are names only."""

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self.usage = QuotaUsage()
        self._removals: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self.name = new_name()
        self.directory = f"{SCHEME}://{self.name}"
        # What Spark keeps goes with the application or the session, so at the end of the process nothing is left to do.
        threading.Thread(target=self._work, name="sframe_spark kept files", daemon=True).start()
        at_end_of_process(lambda: self._removals.put(None))

    def new_dataset(self) -> RemoteHandle:
        """Return a handle on a new, unused directory name."""
        return RemoteHandle(join(self.directory, f"dataset-{next(self._numbers):06d}"), self._removals)

    def _work(self) -> None:
        """Let go of the directories in the queue until None is in it."""
        while (directory := self._removals.get()) is not None:
            if KEPT_FILES.keeper is not None:
                KEPT_FILES.keeper.forget(directory)


# Local temporary datasets.


def remove_directory(directory: str, owner: int) -> None:
    """Delete a directory if this process is its owner; forked processes, which inherit finalizers, do nothing.

    Errors are ignored: when the next store is created, the deletion is tried again.
    """
    if os.getpid() == owner:
        delete(directory)


def remove_directory_of_tasks(directory: str, owner: int) -> None:
    """Delete a temporary directory as :func:`remove_directory` does, though cancelled Spark tasks may still create files in it.

    These would keep it alive, so it is renamed first: under another name they do not find it. The directory of the process, in which it is, goes
    with the process if this one ends in between.
    """
    if os.getpid() == owner:
        renamed = f"{directory}{DELETED}"
        with interrupts_deferred():
            with contextlib.suppress(OSError):
                os.rename(directory, renamed)
            for path in (renamed, directory):
                delete(path)


class DatasetHandle(TemporaryHandle):
    """Keeps a local temporary dataset; when the last reference to the handle is gone, its directory is deleted.

    Parameters
    ----------
    directory
        The directory of the dataset.
    remove
        Deletes the directory.
    """

    __slots__ = ()

    def __init__(self, directory: str, remove: Callable[[str, int], None] = remove_directory) -> None:
        CLAIMS.add(directory, self)
        super().__init__(directory, remove)


class TemporaryStore:
    """The local temporary directory of this process, with one directory per dataset. It is removed when the process ends.

    Creating a store also removes the directories of processes on this machine that ended without removing them.

    Parameters
    ----------
    root
        The directory in which the directory of the process is created. For datasets that Spark tasks read, all executors must be able to read it.
    """

    def __init__(self, root: str) -> None:
        self._owner = os.getpid()
        self._numbers = itertools.count()
        self._kept_alive: list[object] = []
        self.usage = QuotaUsage()
        location = normalised(root)
        require_directory(location)
        with translate_os_errors("create a temporary directory in", location):
            remove_orphans(location)
            self.directory = own_directory(location)

    def new_dataset(self) -> DatasetHandle:
        """Return a handle on a new, empty directory."""
        CLAIMS.remove_abandoned()
        directory = join(self.directory, f"dataset-{next(self._numbers):06d}")
        handle = DatasetHandle(directory, remove_directory_of_tasks)
        with translate_os_errors("create temporary directory", directory):
            os.makedirs(directory, exist_ok=True)
        return handle

    def keep(self, holder: object) -> None:
        """Keep the datasets that something refers to until the process ends."""
        self._kept_alive.append(holder)


_STORES: dict[tuple[str, int], TemporaryStore | RemoteStore] = {}
_KEPT: dict[int, KeptStore] = {}
_STORES_LOCK = threading.Lock()
keep_whole_at_fork(_STORES_LOCK, "temporary data")


def temporary_root() -> str:
    """Return the location for temporary data: ``config.temporary_directory``, the object store of the cluster, or the system's directory."""
    named = config.temporary_directory
    return (None if named is None or is_for_spark_alone(named) else named) or PLACE_OF_CLUSTER.uri or directory_of_system()


@functools.lru_cache(maxsize=8)
def is_for_spark_alone(location: str) -> bool:
    """Return whether a location is on a file system of Hadoop that Python cannot open here, so that only Spark writes there."""
    if location.partition("://")[0] not in HADOOP_SCHEMES:
        return False
    try:
        file_system(location)
    except StorageError:
        return True
    return False


def scratch_root() -> str:
    """Return the local directory for temporary files that no other process reads."""
    root = temporary_root()
    return directory_of_system() if is_remote_location(root) else root


def temporary_store() -> TemporaryStore | RemoteStore:
    """Return the store of this process for datasets that Spark tasks read and write, local or remote; it is created at the first call."""
    return _store(temporary_root())


def temporary_directory_in_use() -> str | None:
    """Return the directory of this process for temporary data, local or remote; None if nothing was stored yet."""
    store = _STORES.get((temporary_root(), os.getpid()))
    return None if store is None else store.directory


def scratch_store() -> TemporaryStore:
    """Return the local store of this process for files that no other process reads; it is created at the first call."""
    store = _store(scratch_root())
    assert isinstance(store, TemporaryStore)
    return store


def kept_store() -> KeptStore:
    """Return the store of this process for datasets whose files Spark keeps; it is created at the first call."""
    with _STORES_LOCK:
        if os.getpid() not in _KEPT:
            _KEPT[os.getpid()] = KeptStore()
        return _KEPT[os.getpid()]


def _store(root: str) -> TemporaryStore | RemoteStore:
    with _STORES_LOCK:
        key = root, os.getpid()
        store = _STORES.get(key)
        if store is None and is_remote_location(root):
            store = _STORES[key] = RemoteStore(root)
        # If the directory of a local store was deleted, for example by a clean-up of the temporary directory, a new store is created.
        elif store is None or (isinstance(store, TemporaryStore) and not os.path.isdir(store.directory)):
            store = _STORES[key] = TemporaryStore(root)
        return store


@contextlib.contextmanager
def local_file(location: str) -> Iterator[str]:
    """Yield the path of a local file, or of a downloaded copy of a remote file, which is deleted after the ``with`` block."""
    if not is_remote_location(location):
        yield location
        return
    handle = scratch_store().new_dataset()
    try:
        path = join(handle.directory, location.rpartition("/")[2])
        download(location, path)
        yield path
    finally:
        handle.discard()


@contextlib.contextmanager
def local_directory_for(directory: str) -> Iterator[str]:
    """Yield a directory if it is local; otherwise a local one, whose files are uploaded to the remote one if the ``with`` block does not raise."""
    if not is_remote_location(directory):
        yield directory
        return
    handle = scratch_store().new_dataset()
    try:
        yield handle.directory
        for name in sorted(os.listdir(handle.directory)):
            upload(join(handle.directory, name), join(directory, name))
    finally:
        handle.discard()
