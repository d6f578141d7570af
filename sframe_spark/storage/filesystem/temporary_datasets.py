"""Temporary datasets on a file system elsewhere, where no directory is locked, linked or looked at: names and a file say whose they are.

``<root>/sframe_spark-PLACE-PROCESS-START-RANDOM/dataset-000001/segment-....parquet``, and ``owner`` beside the datasets, which is written anew as
long as the process lives. See ``docs/decisions/002-leases.md``.
"""

from __future__ import annotations

import contextlib
import datetime
import itertools
import os
import queue
import re
import threading
import time
from collections.abc import Callable
from contextvars import copy_context

from sframe_spark.errors import StorageError
from sframe_spark.process.leases import SECONDS_BETWEEN_HEARTBEATS, SECONDS_WITHOUT_HEARTBEAT, is_running, new_name, owner_in
from sframe_spark.process.resource_limits import available_cores
from sframe_spark.process.threads import in_threads
from sframe_spark.storage.filesystem.handles import TemporaryHandle
from sframe_spark.storage.filesystem.object_store import listed, place_at, put_bytes, remove
from sframe_spark.storage.filesystem.paths import join
from sframe_spark.storage.filesystem.quota import TakenBytes

OWNER = "owner"
# What our writers leave below a directory of a process; anything else is somebody's.
_OURS = re.compile(rf"{OWNER}|(?:dataset-[0-9]{{6,}}/)?segment-[0-9]{{8,}}-[0-9a-f]{{32}}\.parquet|\.?part-[0-9a-f]{{32}}(?:\.(?:parquet|orc))?")


class HandleElsewhere(TemporaryHandle):
    """Keeps a temporary dataset elsewhere alive; what it holds is removed, soon after, when nobody refers to the handle any more.

    Parameters
    ----------
    directory
        The URI that its files are below.
    removals
        Takes the URIs of what is to be removed.
    """

    __slots__ = ()

    def __init__(self, directory: str, removals: queue.SimpleQueue[str | None]) -> None:
        # The garbage collector may run anywhere, in a thread that talks to the file system too: this asks nothing of anybody.
        super().__init__(directory, _give_up, removals)
        self._finalizer.atexit = False


def _give_up(directory: str, removals: queue.SimpleQueue[str | None], owner: int) -> None:
    if os.getpid() == owner:
        removals.put(directory)


class StoreElsewhere:
    """What a process has of temporary data elsewhere, with one directory per dataset; all of it is removed when the process ends.

    Starting a store also removes what processes that died have left there.

    Parameters
    ----------
    root
        URI of the directory in which that of the process is.
    """

    def __init__(self, root: str) -> None:
        self._process = os.getpid()
        self._numbers = itertools.count()
        self._kept: list[object] = []
        self.taken = TakenBytes()
        self._removals: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self.directory = join(root, new_name())
        # That there is no bucket, or that it may not be written, is told before there is any work.
        try:
            self._show_in_use()
            remove_leftovers_elsewhere(root, self._now())
        except StorageError as error:
            self._show_no_use()
            other = "config.temporary_directory (SFRAME_SPARK_TMP) names another place"
            raise StorageError(f"temporary data cannot be kept in {root}: {error}; {other}") from error
        # What is set for a while here, such as options of the file system, is so there.
        context = copy_context()
        threading.Thread(target=context.run, args=(self._work,), name="sframe_spark removals", daemon=True).start()
        at_end_of_process(self.close)

    def new_dataset(self) -> HandleElsewhere:
        """Return a handle on a name below which nothing is."""
        return HandleElsewhere(join(self.directory, f"dataset-{next(self._numbers):06d}"), self._removals)

    def keep(self, holder: object) -> None:
        """Keep the datasets that something refers to until the process ends."""
        self._kept.append(holder)

    def close(self) -> None:
        """Remove all that this process has there."""
        if os.getpid() == self._process:
            self._removals.put(None)
            remove_below(self.directory)

    def _show_in_use(self) -> None:
        put_bytes(join(self.directory, OWNER), b"")

    def _show_no_use(self) -> None:
        """Leave nothing of a store that did not start; what may not be listed is named."""
        with contextlib.suppress(StorageError):
            remove(join(self.directory, OWNER))

    def _now(self) -> datetime.datetime | None:
        """The time of the file system, which may be another machine's; None where it does not tell."""
        return max((file.written for file in listed(self.directory) if file.written is not None), default=None)

    def _work(self) -> None:
        """Remove what is given up, and show others, from where the process cannot be seen, that it lives."""
        beat = time.monotonic()
        while True:
            directory = None
            with contextlib.suppress(queue.Empty):
                directory = self._removals.get(timeout=max(0.0, beat + SECONDS_BETWEEN_HEARTBEATS - time.monotonic()))
                if directory is None:
                    return
            # What cannot be removed goes with the process, or with the next one.
            with contextlib.suppress(StorageError):
                if directory is not None:
                    remove_below(directory)
                if time.monotonic() - beat >= SECONDS_BETWEEN_HEARTBEATS:
                    beat = time.monotonic()
                    self._show_in_use()


def remove_below(directory: str) -> None:
    """Remove what our writers have written below a directory elsewhere, as far as that can be done."""
    with contextlib.suppress(StorageError):
        remove_all_below(directory)


def remove_all_below(directory: str) -> None:
    """Remove what our writers have written below a directory elsewhere.

    Raises
    ------
    StorageError
        If something stays.
    """
    start = join(directory, "")
    ours = [file.uri for file in listed(directory, below=True) if _OURS.fullmatch(file.uri.removeprefix(start))]
    in_threads(remove, ours, available_cores())


def leftovers_elsewhere(root: str, now: datetime.datetime | None) -> list[str]:
    """URIs of directories that processes which ended have left in a place; ``now`` is the time there, None if nobody knows.

    Of a process that cannot be seen from here, what nobody has touched for a day.
    """
    found = []
    for name in place_at(root).names:
        owner = owner_in(name)
        running = None if owner is None else is_running(owner)
        directory = join(root, name)
        if owner is not None and (running is False or (running is None and now is not None and _is_abandoned(directory, now))):
            found.append(directory)
    return found


def _is_abandoned(directory: str, now: datetime.datetime) -> bool:
    limit = now - datetime.timedelta(seconds=SECONDS_WITHOUT_HEARTBEAT)
    return all(file.written is not None and file.written < limit for file in listed(directory, below=True))


def remove_leftovers_elsewhere(root: str, now: datetime.datetime | None) -> list[str]:
    """Remove what processes that ended have left in a place, and return the URIs of the directories."""
    found = leftovers_elsewhere(root, now)
    for directory in found:
        remove_below(directory)
    return found


def at_end_of_process(work: Callable[[], None]) -> None:
    """Let something be done at the end of the process, while threads can be started.

    What ``atexit`` calls comes too late: libraries of file systems look up names of hosts in threads.
    """
    # The process ends already: its next one on this machine removes what it leaves.
    with contextlib.suppress(RuntimeError):
        threading._register_atexit(work)  # type: ignore[attr-defined]
