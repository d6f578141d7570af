"""Memory: how much this process can still allocate, how it is divided, which files take it, and from which pool Arrow allocates it."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import attrs
import pyarrow as pa

from sframe_spark.config import DEFAULT_MEMORY_BUDGET, config
from sframe_spark.errors import NoMemoryError, TooLargeError
from sframe_spark.message_text import in_words, visible
from sframe_spark.process.control_groups import SECONDS_REMEMBERED, ControlGroups, MemoryFiles, text_of

if sys.platform != "win32":
    import resource

MEMORY_INFORMATION = Path("/proc/meminfo")
PROCESS_STATUS = Path("/proc/self/statm")
MOUNTS = Path("/proc/self/mountinfo")
# The types of file systems whose files are in memory only.
IN_MEMORY = ("tmpfs", "ramfs")
# Limit, usage and statistics of the outermost visible control group, of versions 2 and 1. It is the container's, if the system does not show the
# groups of a process.
GROUP_FILES = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes", "/sys/fs/cgroup/memory/memory.stat"),
)
# Fields of the statistics for the cached contents of files, which the kernel gives up when memory is needed; of a group, and in version 1 of a group
# with those within it.
RECLAIMABLE = (("inactive_file", "active_file"), ("total_inactive_file", "total_active_file"))
# The field of the statistics of version 1 for the lowest limit of a group and of those around it, which a container may not see.
LIMIT_OF_HIERARCHY = "hierarchical_memory_limit"
SHARE_FOR_WORK, SHARE_FOR_RESULTS, SHARE_FOR_ONE_RESULT = 4, 8, 16
# The memory that is assumed if the memory of the machine is unknown.
SMALL_MACHINE = 1 << 30
# Memory for a thread: its stack and its arenas in the C library and in Arrow's pools, which the first thread creates. And the memory below which no
# work is started.
BYTES_OF_THREAD, MIN_MEMORY = 128 << 20, 64 << 20
# Each thread has some batches in memory: those that it reads, computes and writes. Batches shorter than the minimum cost more time than they save
# memory.
BATCHES_AT_WORK, MIN_BATCH_BYTES = 16, 1 << 20
# The environment variable with which the user selects Arrow's memory pool.
CHOICE_OF_USER = "ARROW_DEFAULT_MEMORY_POOL"
# This pool allocates pages of 4 KiB, and reuses freed memory, except arrays of 8 MiB and more.
POOL_OF_BATCHES = "jemalloc"


@attrs.frozen
class AvailableMemory:
    """The bytes that can be allocated, and what limits them."""

    size: int
    source: str


def available_memory() -> AvailableMemory | None:
    """Return the minimum of what the machine, the container and the process limit leave; None if all are unknown."""
    limits = [memory for memory in (of_machine(), of_group(), of_process()) if memory is not None]
    return min(limits, key=lambda memory: memory.size, default=None)


def work_memory() -> int:
    """Return the bytes that rows gathered in this process may take while they are sorted, grouped or joined, including copies."""
    chosen = config.work_memory
    return all_memory() // SHARE_FOR_WORK if chosen is None else chosen


def batch_bytes() -> int:
    """Return the target size of a batch in bytes: less than the configured size if there is little memory for work.

    Examples
    --------
    >>> with config.using(work_memory=1 << 27, batch_bytes=32 << 20):
    ...     batch_bytes() == 8 << 20
    True
    """
    return min(config.batch_bytes, max(MIN_BATCH_BYTES, work_memory() // BATCHES_AT_WORK))


def memory_budget() -> int:
    """Return the bytes that the driver works on, gathers and keeps for one result: the configured budget, but by default only a part of the memory.

    Examples
    --------
    >>> with config.using(memory_budget=1 << 40):
    ...     memory_budget() == 1 << 40
    True
    """
    chosen = config.memory_budget
    return chosen if chosen != DEFAULT_MEMORY_BUDGET else min(chosen, _lowest_limit() // SHARE_FOR_ONE_RESULT)


def kept_memory() -> int:
    """Return the limit in bytes for what Arrow has allocated in this process, beyond which results are written to disk."""
    chosen = config.kept_memory
    return all_memory() // SHARE_FOR_RESULTS if chosen is None else chosen


def result_memory_left() -> int:
    """Return the bytes left for results, after everything that Arrow has allocated in this process; negative if that exceeds the limit."""
    return kept_memory() - arrow_bytes()


def lasting_pool() -> pa.MemoryPool:
    """Return the memory pool for columns that are kept for long.

    Arrow's default pool allocates pages of 2 MiB, which is fast if they are soon reused; on virtual machines a new page may take 5 ms.
    """
    return pa.system_memory_pool()


def arrow_bytes() -> int:
    """Return the bytes that Arrow has allocated in this process, from all pools.

    Examples
    --------
    >>> before = arrow_bytes()
    >>> held = pa.allocate_buffer(1 << 20), pa.allocate_buffer(1 << 20, memory_pool=lasting_pool())
    >>> arrow_bytes() - before >= 2 << 20
    True
    """
    return sum(_pool_of(name).bytes_allocated() for name in pa.supported_memory_backends())


@contextlib.contextmanager
def memory_for_batches() -> Iterator[None]:
    """Let Arrow allocate small pages during the block, unless the user has selected a pool; for work that processes one batch at a time.

    Blocks of several threads may overlap: the first one to begin restores the previous pool at its end, and the others continue with that. Memory is
    always freed to the pool from which it was allocated, so other threads are not affected.

    Examples
    --------
    >>> before = pa.default_memory_pool().backend_name
    >>> with memory_for_batches():
    ...     held = pa.array([1, 2]).cast(pa.float64())
    >>> held.to_pylist(), pa.default_memory_pool().backend_name == before
    ([1.0, 2.0], True)
    """
    before = pa.default_memory_pool()
    if not _is_arrows_choice(before):
        yield
        return
    try:
        pa.set_memory_pool(_pool_of(POOL_OF_BATCHES))
        yield
    finally:
        # A pool that the user has set meanwhile is kept.
        if pa.default_memory_pool().backend_name == POOL_OF_BATCHES:
            pa.set_memory_pool(before)


def _is_arrows_choice(pool: pa.MemoryPool) -> bool:
    """Return whether a pool is the one that Arrow chose itself, and is not the pool for batches, which must be available."""
    names = pa.supported_memory_backends()
    if os.environ.get(CHOICE_OF_USER) or POOL_OF_BATCHES not in names or pool.backend_name != names[0] or names[0] == POOL_OF_BATCHES:
        return False
    # A wrapper around the pool has the same name, but does not count this allocation.
    held = pa.allocate_buffer(1, memory_pool=_pool_of(names[0]))
    is_same = pool.bytes_allocated() == _pool_of(names[0]).bytes_allocated()
    del held
    return bool(is_same)


def _pool_of(name: str) -> pa.MemoryPool:
    pool: pa.MemoryPool = getattr(pa, f"{name}_memory_pool")()
    return pool


def all_memory() -> int:
    """Return the minimum of the machine's memory, the container's limits and the process limit; a small default if all are unknown."""
    own = of_process()
    return _lowest_limit() if own is None else min([own.size, *_limits(_seconds())])


def _lowest_limit() -> int:
    """Return the minimum of the machine's memory and the container's limits; a small default if all are unknown."""
    return min(_limits(_seconds()), default=SMALL_MACHINE)


def _seconds() -> int:
    """Return the time, as a key of caches of what may change while this process runs."""
    return int(time.monotonic() / SECONDS_REMEMBERED)


@functools.lru_cache(maxsize=1)
def _limits(second: int) -> list[int]:
    """Return the known limits, which rarely change; the argument is the key of the cache."""
    limits = [_limit_of(files, _statistics(files)) for files in _files_of_groups()]
    limits += [_memory_named("MemTotal"), _pages("SC_PHYS_PAGES")]
    return [limit for limit in limits if limit is not None]


def _files_of_groups() -> list[MemoryFiles]:
    return [*(MemoryFiles(*map(Path, paths)) for paths in GROUP_FILES), *ControlGroups.of_this_process().memory_files()]


def _memory_named(name: str) -> int | None:
    """Return the bytes of an entry of the kernel's memory information; None if there is no such entry."""
    match = re.search(rf"^{name}:[ \t]*([0-9]+)\b", text_of(MEMORY_INFORMATION), re.MULTILINE)
    return int(match[1]) * 1024 if match else None


def _pages(name: str) -> int | None:
    """Return the bytes of memory that the system counts in pages; None if it does not."""
    try:
        size = os.sysconf(name) * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return None
    return size if size > 0 else None


def of_machine() -> AvailableMemory | None:
    """Return what the kernel estimates to be available without swapping, or else the free pages; None if both are unknown."""
    free = _memory_named("MemAvailable") or _pages("SC_AVPHYS_PAGES")
    return None if free is None else AvailableMemory(free, "free on this machine")


def of_group() -> AvailableMemory | None:
    """Return what the limits of control groups leave; None if there are none."""
    left = [room for files in _files_of_groups() if (room := _left_in_group(files)) is not None]
    return AvailableMemory(min(left), "left in this container") if left else None


def _left_in_group(files: MemoryFiles) -> int | None:
    statistics = _statistics(files)
    limit, used = _limit_of(files, statistics), _number(files.usage)
    if limit is None or used is None:
        return None
    reclaimable = max(sum(statistics.get(field, 0) for field in fields) for fields in RECLAIMABLE)
    return max(0, limit - max(0, used - reclaimable))


def _statistics(files: MemoryFiles) -> dict[str, int]:
    """Return the statistics of a group by the names of their fields."""
    lines = (line.split() for line in text_of(files.statistics).splitlines())
    return {line[0]: int(line[1]) for line in lines if len(line) == 2 and line[1].isdecimal()}


def _limit_of(files: MemoryFiles, statistics: dict[str, int]) -> int | None:
    """Return the limit of a group, or a lower one of a group around it; None if there is none."""
    limits = (_number(files.limit), statistics.get(LIMIT_OF_HIERARCHY))
    return min((limit for limit in limits if limit is not None), default=None)


def of_process() -> AvailableMemory | None:
    """Return what the limits of the process leave (``ulimit -v``, ``ulimit -d``); None if there are none."""
    if sys.platform == "win32":
        return None
    # The limits of the address space and of its writable part, with the fields that have their usage.
    limits = [(resource.getrlimit(kind)[0], field) for kind, field in ((resource.RLIMIT_AS, 0), (resource.RLIMIT_DATA, 5))]
    limits = [(limit, field) for limit, field in limits if limit != resource.RLIM_INFINITY]
    pages = text_of(PROCESS_STATUS).split() if limits else []
    if not pages:
        return None
    left = min(limit - int(pages[field]) * resource.getpagesize() for limit, field in limits)
    return AvailableMemory(max(0, left), "left to this process by its limit")


def affordable_threads(requested: int) -> int:
    """Return for how many of the requested threads this process has memory; with zero, the caller does the work itself.

    A thread without memory does not fail cleanly: its start never returns, or a library ends the process.

    Raises
    ------
    TooLargeError
        If there is too little memory for any work.
    """
    left = of_process()
    if left is None:
        return requested
    if left.size < MIN_MEMORY:
        raise TooLargeError(_too_little(left, MIN_MEMORY))
    return min(requested, (left.size - MIN_MEMORY) // BYTES_OF_THREAD)


def has_memory_for_thread() -> bool:
    """Return whether there is memory for an optional thread."""
    left = of_process()
    return left is None or left.size >= MIN_MEMORY


def require_memory_for_thread() -> None:
    """Raise an error if there is not enough memory for a thread that is needed.

    Raises
    ------
    TooLargeError
        If there is too little memory.
    """
    if not affordable_threads(1):
        left = of_process()
        raise TooLargeError("there is not enough memory for a thread" if left is None else _too_little(left, MIN_MEMORY + BYTES_OF_THREAD))


def _too_little(left: AvailableMemory, needed: int) -> str:
    known = f"{in_words(left.size)} are {left.source}, and this work takes at least {in_words(needed)}"
    return f"{known}: raise the limit (ulimit -v), or free some memory"


def is_in_memory(directory: str) -> bool:
    """Return whether the files of a directory take memory instead of room on a disk, as those of ``tmpfs`` do; false if it does not exist."""
    try:
        device = os.stat(directory).st_dev
    except OSError:
        return False
    return _is_in_memory(device, _seconds())


@functools.lru_cache(maxsize=8)
def _is_in_memory(device: int, second: int) -> bool:
    """Return whether a device is a file system in memory; the time is only a part of the key of the cache, as devices change."""
    if sys.platform == "win32":
        return False
    number = f"{os.major(device)}:{os.minor(device)}"
    for line in text_of(MOUNTS).splitlines():
        described, dash, kind = line.partition(" - ")
        if dash and described.split(" ")[2:3] == [number]:
            return kind.split(" ")[0] in IN_MEMORY
    return False


def require_memory_for_file(path: str, size: int) -> None:
    """Raise an error if a file takes memory, and the container has too little left for this many more bytes of it.

    The kernel kills a process that exceeds the limit of its container. Nothing is checked where no container limits memory: there is swap space, or
    the file system is full before.

    Raises
    ------
    NoMemoryError
        If the container has too little memory.
    """
    directory = os.path.dirname(path)
    if not is_in_memory(directory):
        return
    left = of_group()
    if left is None:
        return
    space = os.statvfs(directory)
    taken = (space.f_blocks - space.f_bfree) * space.f_frsize
    # To work on the rows of many files takes more memory; that of few files matters little.
    if left.size < size + min(taken, work_memory() // 2):
        raise NoMemoryError(
            f"cannot write {visible(path)}: its file system is in memory and holds {in_words(taken)}, and {in_words(left.size)} are {left.source}: "
            "keep data on a disk, temporary data by config.temporary_directory (SFRAME_SPARK_TMP), or raise the container's limit"
        )


def _number(path: Path) -> int | None:
    """Return the number in a file; None if there is no such file, or if it contains no number, as for "no limit"."""
    text = text_of(path).strip()
    return int(text) if text.isdecimal() else None
