"""Temporary datasets, local and remote: deleted with the last reference, with the process, or as orphans by a later process.

Remotely, where nothing can be locked, names say whose they are:
``<root>/sframe_spark-PLACE-PROCESS-START-RANDOM/dataset-000001/segment-....parquet``, with a file ``owner`` that is rewritten as
long as the process lives. See ``docs/decisions/002-leases.md``.
"""

from __future__ import annotations

import contextlib
import datetime
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
from sframe_spark.locations import is_remote_location, normalised
from sframe_spark.process.fork_safety import keep_whole_at_fork
from sframe_spark.process.leases import (
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
from sframe_spark.process.resource_limits import available_cores
from sframe_spark.process.threads import in_threads
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.filesystem.object_store import download, listed, put_bytes, remote_entry, remove, upload
from sframe_spark.storage.filesystem.paths import join

# Handles.


class TemporaryHandle:
    """Keeps a temporary dataset alive: its directory is given up with the last reference to the handle.

    Parameters
    ----------
    directory
        Where the dataset is.
    give_up
        Called then with the directory, ``arguments`` and the id of this process: forked workers inherit handles and must not delete.
    """

    __slots__ = ("__weakref__", "_finalizer", "directory", "lineage")

    def __init__(self, directory: str, give_up: Callable[..., None], *arguments: object) -> None:
        self.directory = directory
        # How the rows were computed, so that lost ones can be computed again (engine.execution.recovery).
        self.lineage: object = None
        self._finalizer = weakref.finalize(self, give_up, directory, *arguments, os.getpid())

    def __getstate__(self) -> tuple[None, dict[str, object]]:
        """Pickled for tasks without the lineage, which only this process can use."""
        return None, {"directory": self.directory, "_finalizer": self._finalizer, "lineage": None}

    def discard(self) -> None:
        """Release the directory now: a pending exception would keep references to it, and the disk may be full."""
        self._finalizer()

    @property
    def is_there(self) -> bool:
        """Whether the directory has not been released yet."""
        return self._finalizer.alive

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.directory!r})"


# Quota of temporary data.


class QuotaUsage:
    """How many bytes the live datasets of a store take."""

    def __init__(self) -> None:
        self._sizes: weakref.WeakKeyDictionary[TemporaryHandle, int] = weakref.WeakKeyDictionary()

    def count(self, handle: TemporaryHandle, size: int) -> None:
        """Record the current total size of a dataset; raises instead if the quota would be exceeded.

        Raises
        ------
        StorageError
            If it takes what is there above ``config.temporary_quota``.
        """
        quota = config.temporary_quota
        if quota is not None and self._used_by_others(handle) + size > quota:
            # Frames in reference cycles live until they are collected.
            gc.collect()
            used = self._used_by_others(handle)
            if used + size > quota:
                raise StorageError(
                    f"{size:,} bytes of rows are too many beside {used:,} bytes of temporary data, with a quota of {quota:,}: save() frames and "
                    "load them, let go of others (del), or raise config.temporary_quota (SFRAME_SPARK_TMP_QUOTA)"
                )
        self._sizes[handle] = size

    def _used_by_others(self, one: TemporaryHandle) -> int:
        """The bytes of all other live datasets."""
        return sum(size for handle, size in list(self._sizes.items()) if handle is not one and handle.is_there)


OWNER = "owner"
# Files that our writers create below a process's directory; anything else is somebody's.
_OUR_FILES = re.compile(rf"{OWNER}|(?:dataset-[0-9]{{6,}}/)?segment-[0-9]{{8,}}-[0-9a-f]{{32}}\.parquet|\.?part-[0-9a-f]{{32}}(?:\.(?:parquet|orc))?")


class RemoteHandle(TemporaryHandle):
    """Keeps a remote temporary dataset alive; its files are removed in the background after the last reference is gone.

    Parameters
    ----------
    directory
        The URI that its files are below.
    removals
        Queue of URIs to remove.
    """

    __slots__ = ()

    def __init__(self, directory: str, removals: queue.SimpleQueue[str | None]) -> None:
        # The garbage collector may run in any thread, even inside a file system call, so this only puts into a queue.
        super().__init__(directory, _give_up, removals)
        self._finalizer.atexit = False


def _give_up(directory: str, removals: queue.SimpleQueue[str | None], owner: int) -> None:
    if os.getpid() == owner:
        removals.put(directory)


class RemoteStore:
    """The remote temporary data of a process, one directory per dataset; all of it is removed when the process ends.

    Starting a store also removes what processes that died have left there.

    Parameters
    ----------
    root
        URI of the directory in which that of the process is.
    """

    def __init__(self, root: str) -> None:
        self._process = os.getpid()
        self._numbers = itertools.count()
        self._kept_alive: list[object] = []
        self.usage = QuotaUsage()
        self._removals: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self.directory = join(root, new_name())
        # A missing or read-only bucket is reported before any work.
        try:
            self._show_in_use()
            remove_orphaned_remote_directories(root, self._now())
        except StorageError as error:
            self._show_no_use()
            other = "config.temporary_directory (SFRAME_SPARK_TMP) names another place"
            raise StorageError(f"temporary data cannot be kept in {root}: {error}; {other}") from error
        # Settings that are in force for a while, such as file system options, apply in the thread too.
        context = copy_context()
        threading.Thread(target=context.run, args=(self._work,), name="sframe_spark removals", daemon=True).start()
        at_end_of_process(self.close)

    def new_dataset(self) -> RemoteHandle:
        """Return a handle on a new, unused directory name."""
        return RemoteHandle(join(self.directory, f"dataset-{next(self._numbers):06d}"), self._removals)

    def keep(self, holder: object) -> None:
        """Keep the datasets that something refers to until the process ends."""
        self._kept_alive.append(holder)

    def close(self) -> None:
        """Remove everything of this process."""
        if os.getpid() == self._process:
            self._removals.put(None)
            remove_below(self.directory)

    def _show_in_use(self) -> None:
        put_bytes(join(self.directory, OWNER), b"")

    def _show_no_use(self) -> None:
        """Remove the ownership file of a store that did not start."""
        with contextlib.suppress(StorageError):
            remove(join(self.directory, OWNER))

    def _now(self) -> datetime.datetime | None:
        """The clock of the remote file system; None where it does not say when files were written."""
        return max((file.written for file in listed(self.directory) if file.written is not None), default=None)

    def _work(self) -> None:
        """Remove released datasets, and rewrite the ownership file as a heartbeat."""
        beat = time.monotonic()
        while True:
            directory = None
            with contextlib.suppress(queue.Empty):
                directory = self._removals.get(timeout=max(0.0, beat + SECONDS_BETWEEN_HEARTBEATS - time.monotonic()))
                if directory is None:
                    return
            # What cannot be removed goes when the process ends, or with the next one.
            with contextlib.suppress(StorageError):
                if directory is not None:
                    remove_below(directory)
                if time.monotonic() - beat >= SECONDS_BETWEEN_HEARTBEATS:
                    beat = time.monotonic()
                    self._show_in_use()


def remove_below(directory: str) -> None:
    """Remove our files below a remote directory as far as possible."""
    with contextlib.suppress(StorageError):
        remove_all_below(directory)


def remove_all_below(directory: str) -> None:
    """Remove what our writers have written below a remote directory.

    Raises
    ------
    StorageError
        If something stays.
    """
    start = join(directory, "")
    our_files = [file.uri for file in listed(directory, below=True) if _OUR_FILES.fullmatch(file.uri.removeprefix(start))]
    in_threads(remove, our_files, available_cores())


def remote_orphans(root: str, now: datetime.datetime | None) -> list[str]:
    """Return the directories of ended processes in a location; ``now`` is the clock there, None if unknown.

    The directory of a process on another machine is orphaned if it had no heartbeat for a day.
    """
    found = []
    for name in remote_entry(root).names:
        owner = owner_in(name)
        running = None if owner is None else is_running(owner)
        directory = join(root, name)
        if owner is not None and (running is False or (running is None and now is not None and _is_abandoned(directory, now))):
            found.append(directory)
    return found


def _is_abandoned(directory: str, now: datetime.datetime) -> bool:
    limit = now - datetime.timedelta(seconds=SECONDS_WITHOUT_HEARTBEAT)
    return all(file.written is not None and file.written < limit for file in listed(directory, below=True))


def remove_orphaned_remote_directories(root: str, now: datetime.datetime | None) -> list[str]:
    """Remove the directories of ended processes and return their URIs."""
    found = remote_orphans(root, now)
    for directory in found:
        remove_below(directory)
    return found


def at_end_of_process(work: Callable[[], None]) -> None:
    """Register a function to be called at the end of the process, while threads can still be started.

    ``atexit`` runs too late: file system libraries resolve host names in threads.
    """
    # The process is ending already: the next one on this machine removes what is left.
    with contextlib.suppress(RuntimeError):
        threading._register_atexit(work)  # type: ignore[attr-defined]


# Local temporary datasets.


class DatasetHandle(TemporaryHandle):
    """Keeps a temporary dataset alive; its directory is deleted with the last reference to the handle.

    Parameters
    ----------
    directory
        The directory to delete.
    """

    __slots__ = ()

    def __init__(self, directory: str) -> None:
        CLAIMS.add(directory, self)
        super().__init__(directory, remove_directory)


class TemporaryStore:
    """The local temporary directory of this process, with one directory per dataset; removed when the process ends.

    Starting a store also removes what processes that died on this machine have left.

    Parameters
    ----------
    root
        Directory that all executors reach, in which the directory of the process is made.
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
        handle = DatasetHandle(directory)
        with translate_os_errors("create temporary directory", directory):
            os.makedirs(directory, exist_ok=True)
        return handle

    def keep(self, holder: object) -> None:
        """Keep the datasets that something refers to until the process ends."""
        self._kept_alive.append(holder)


def remove_directory(directory: str, owner: int) -> None:
    """Delete a directory, but only in the process that created it: forked workers inherit the finalizers.

    A failure is not reported; the start of the next store tries again.
    """
    if os.getpid() == owner:
        delete(directory)


_STORES: dict[tuple[str, int], TemporaryStore | RemoteStore] = {}
_STORES_LOCK = threading.Lock()
keep_whole_at_fork(_STORES_LOCK, "temporary data")


def temporary_root() -> str:
    """Return the root of temporary data: the configured one, local or remote, or the system's temporary directory."""
    return config.temporary_directory or directory_of_system()


def scratch_root() -> str:
    """Return the directory of this machine for files that no one else reads."""
    root = temporary_root()
    return directory_of_system() if is_remote_location(root) else root


def temporary_store() -> TemporaryStore | RemoteStore:
    """Return this process's store in the configured root, for datasets that Spark's tasks read and write; started on first use."""
    root = temporary_root()
    return _store(root)


def scratch_store() -> TemporaryStore:
    """Return this process's local store, for files that no other process reads; started on first use."""
    found = _store(scratch_root())
    assert isinstance(found, TemporaryStore)
    return found


def _store(root: str) -> TemporaryStore | RemoteStore:
    with _STORES_LOCK:
        key = root, os.getpid()
        store = _STORES.get(key)
        if store is None and is_remote_location(root):
            store = _STORES[key] = RemoteStore(root)
        # Someone may have emptied the temporary directory under a process that runs for weeks.
        elif store is None or (isinstance(store, TemporaryStore) and not os.path.isdir(store.directory)):
            store = _STORES[key] = TemporaryStore(root)
        return store


@contextlib.contextmanager
def local_file(location: str) -> Iterator[str]:
    """Yield a local path of a file; a remote file is downloaded for the duration of the block."""
    if not is_remote_location(location):
        yield location
        return
    handle = scratch_store().new_dataset()
    try:
        place = join(handle.directory, location.rpartition("/")[2])
        download(location, place)
        yield place
    finally:
        handle.discard()


@contextlib.contextmanager
def local_directory_for(directory: str) -> Iterator[str]:
    """Yield a local directory whose files are uploaded to the given directory when the block ends without an error; a local one is used itself."""
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
