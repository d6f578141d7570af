"""How much memory this process can still have, how it is shared out, and where Arrow takes it from."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import attrs
import pyarrow as pa

from sframe_spark.config import config
from sframe_spark.errors import TooLargeError
from sframe_spark.message_text import in_words
from sframe_spark.process.resource_limits import SECONDS_REMEMBERED, ControlGroups, MemoryFiles

if sys.platform != "win32":
    import resource

MEMORY_INFORMATION = Path("/proc/meminfo")
PROCESS_STATUS = Path("/proc/self/statm")
# Limit and usage of the outermost visible control group, of version 2 and 1: a container's, if the system does not tell the groups of a process.
GROUP_FILES = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes", "/sys/fs/cgroup/memory/memory.stat"),
)
# Memory that the kernel reclaims when it is needed.
RECLAIMABLE = ("inactive_file", "total_inactive_file")
SHARE_FOR_WORK, SHARE_FOR_RESULTS = 4, 8
# Assumed when the memory of the machine is unknown.
SMALL_MACHINE = 1 << 30
# A thread's stack and its arenas in the C library and Arrow's pools; the first thread brings those of Arrow.
BYTES_OF_THREAD, MIN_MEMORY = 128 << 20, 64 << 20
# Each thread holds some batches: those it reads, computes and writes. Shorter batches cost more than they save.
BATCHES_AT_WORK, MIN_BATCH_BYTES = 16, 1 << 20
# The environment variable in which the user selects Arrow's memory pool.
CHOICE_OF_USER = "ARROW_DEFAULT_MEMORY_POOL"
# Allocates pages of 4 KiB, and reuses freed memory, except arrays of 8 MiB and more.
POOL_OF_BATCHES = "jemalloc"


@attrs.frozen
class AvailableMemory:
    """Bytes that can be allocated, and what limits them."""

    size: int
    source: str


def available_memory() -> AvailableMemory | None:
    """Return the minimum of what the machine, the container and the process limit leave; None if nothing is known."""
    found = [memory for memory in (of_machine(), of_group(), of_process()) if memory is not None]
    return min(found, key=lambda memory: memory.size, default=None)


def work_memory() -> int:
    """Return the bytes that rows gathered in this process may take while they are sorted, grouped or joined, copies included."""
    chosen = config.work_memory
    return all_memory() // SHARE_FOR_WORK if chosen is None else chosen


def batch_bytes() -> int:
    """Return the approximate bytes of rows in a batch: less than the default if the user has set little memory for work.

    Examples
    --------
    >>> with config.using(work_memory=1 << 27, batch_bytes=32 << 20):
    ...     batch_bytes() == 8 << 20
    True
    """
    default, chosen = config.batch_bytes, config.work_memory
    return default if chosen is None else min(default, max(MIN_BATCH_BYTES, chosen // BATCHES_AT_WORK))


def kept_memory() -> int:
    """Return the bytes that results may take in this process, besides everything else that Arrow holds; larger results go to disk."""
    chosen = config.kept_memory
    return all_memory() // SHARE_FOR_RESULTS if chosen is None else chosen


def result_memory_left() -> int:
    """Return the bytes left for results, given all that Arrow holds in this process; negative if that is more already."""
    return kept_memory() - arrow_bytes()


def lasting_pool() -> pa.MemoryPool:
    """Return the memory pool for columns that are retained.

    Arrow's default pool asks for pages of 2 MiB, which is fast when they are reused soon; on virtual machines each new one may take 5 ms.
    """
    return pa.system_memory_pool()


def arrow_bytes() -> int:
    """Return the bytes that Arrow holds in this process, from any pool.

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
    """Let Arrow allocate small pages during the block, unless the user has selected a pool; for work on a batch at a time.

    Blocks of several threads may overlap: the first to begin restores the previous pool at its end, and the others go on with that. Memory is always
    freed to the pool it came from, so other threads are not affected.

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
        # A pool that the user has set meanwhile stays.
        if pa.default_memory_pool().backend_name == POOL_OF_BATCHES:
            pa.set_memory_pool(before)


def _is_arrows_choice(pool: pa.MemoryPool) -> bool:
    """Return whether the pool is Arrow's own choice, and another one than that for batches, which must be built in."""
    names = pa.supported_memory_backends()
    if os.environ.get(CHOICE_OF_USER) or POOL_OF_BATCHES not in names or pool.backend_name != names[0] or names[0] == POOL_OF_BATCHES:
        return False
    # A wrapper around it has the same name, but does not count this allocation.
    pa.allocate_buffer(1, memory_pool=_pool_of(names[0]))
    return bool(pool.total_bytes_allocated() == _pool_of(names[0]).total_bytes_allocated())


def _pool_of(name: str) -> pa.MemoryPool:
    pool: pa.MemoryPool = getattr(pa, f"{name}_memory_pool")()
    return pool


def all_memory() -> int:
    """Return the minimum of the memory of the machine, the container's limits and the process limit; a small default if all are unknown."""
    own = of_process()
    known = [*_limits(int(time.monotonic() / SECONDS_REMEMBERED)), *([own.size] if own is not None else [])]
    return min(known, default=SMALL_MACHINE)


@functools.lru_cache(maxsize=1)
def _limits(second: int) -> list[int]:
    """Return the known limits, which change seldom; the argument is the key of the cache."""
    limits = [_number(files.limit) for files in _files_of_groups()]
    limits += [_memory_named("MemTotal"), _pages("SC_PHYS_PAGES")]
    return [limit for limit in limits if limit is not None]


def _files_of_groups() -> list[MemoryFiles]:
    return [*(MemoryFiles(*map(Path, paths)) for paths in GROUP_FILES), *ControlGroups.of_this_process().memory_files()]


def _memory_named(name: str) -> int | None:
    for line in (_text(MEMORY_INFORMATION) or "").splitlines():
        found, _, value = line.partition(":")
        if found == name and value.split()[:1] and value.split()[0].isdecimal():
            return int(value.split()[0]) * 1024
    return None


def _pages(name: str) -> int | None:
    """Return bytes of memory that the system counts in pages; None if it does not."""
    try:
        found = os.sysconf(name) * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return None
    return found if found > 0 else None


def of_machine() -> AvailableMemory | None:
    """Return what the kernel estimates to be available without swapping, or else the free pages."""
    free = _memory_named("MemAvailable") or _pages("SC_AVPHYS_PAGES")
    return None if free is None else AvailableMemory(free, "free on this machine")


def of_group() -> AvailableMemory | None:
    """Return what the control groups of a container leave."""
    left = [room for files in _files_of_groups() if (room := _left_in_group(files)) is not None]
    return AvailableMemory(min(left), "left in this container") if left else None


def _left_in_group(files: MemoryFiles) -> int | None:
    limit, used = _number(files.limit), _number(files.usage)
    if limit is None or used is None:
        return None
    lines = [line.split() for line in (_text(files.statistics) or "").splitlines()]
    reclaimable = max((int(line[1]) for line in lines if len(line) == 2 and line[0] in RECLAIMABLE), default=0)
    return max(0, limit - used + reclaimable)


def of_process() -> AvailableMemory | None:
    """Return what the limits of the process leave (``ulimit -v``, ``ulimit -d``)."""
    if sys.platform == "win32":
        return None
    # Of its address space, and of the writable part of it, with the fields that count them.
    limits = [(resource.getrlimit(kind)[0], field) for kind, field in ((resource.RLIMIT_AS, 0), (resource.RLIMIT_DATA, 5))]
    limits = [(limit, field) for limit, field in limits if limit != resource.RLIM_INFINITY]
    pages = _text(PROCESS_STATUS) if limits else None
    if pages is None:
        return None
    left = min(limit - int(pages.split()[field]) * resource.getpagesize() for limit, field in limits)
    return AvailableMemory(max(0, left), "left to this process by its limit")


def affordable_threads(requested: int) -> int:
    """Return how many of the requested threads this process has memory for; with zero the caller does the work itself.

    A thread without memory does not fail cleanly: its start hangs for ever, or a library ends the process.

    Raises
    ------
    TooLargeError
        If there is too little for any work.
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
    """Raise if there is no memory for a thread that is needed.

    Raises
    ------
    TooLargeError
        If there is none.
    """
    if not affordable_threads(1):
        left = of_process()
        raise TooLargeError("there is no memory for a thread" if left is None else _too_little(left, MIN_MEMORY + BYTES_OF_THREAD))


def _too_little(left: AvailableMemory, needed: int) -> str:
    known = f"{in_words(left.size)} are {left.source}, and this work takes at least {in_words(needed)}"
    return f"{known}: raise the limit (ulimit -v), or free some memory"


def _number(path: Path) -> int | None:
    """Return the number in a file; None if there is no such file, or no limit in it."""
    text = (_text(path) or "").strip()
    return int(text) if text.isdecimal() else None


def _text(path: Path) -> str | None:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError):
        return None
