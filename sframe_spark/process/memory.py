"""How much memory this process can still have, and where Arrow takes it from."""

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
# Limits of the outermost group that can be seen, and what it uses of them, of version 2 and 1: a container's, where the system does not tell which
# groups a process is in.
GROUP_FILES = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes", "/sys/fs/cgroup/memory/memory.stat"),
)
# What the kernel gives back when somebody needs the memory.
RECLAIMABLE = ("inactive_file", "total_inactive_file")
SHARE_FOR_WORK, SHARE_FOR_RESULTS = 4, 8
# Nobody knows what an unknown machine has.
SMALL_MACHINE = 1 << 30
# A thread has a stack, and what the C library and Arrow's pools put aside for each; ones of Arrow's own come with the first.
BYTES_OF_THREAD, MIN_ROOM = 128 << 20, 64 << 20
# Each thread holds some batches: of what it reads, what it makes and what it writes. Shorter ones cost more than they spare.
BATCHES_AT_WORK, MIN_BATCH_BYTES = 16, 1 << 20
# Where the user tells Arrow what to use; an empty text says nothing.
CHOICE_OF_USER = "ARROW_DEFAULT_MEMORY_POOL"
# Takes pages of 4 KiB, and keeps what is let go of for others, arrays of 8 MiB and more excepted.
POOL_OF_BATCHES = "jemalloc"


@attrs.frozen
class AvailableMemory:
    """Bytes that can be had, and what sets the limit."""

    size: int
    source: str


def available_memory() -> AvailableMemory | None:
    """The smallest of what the machine, the container and the process limit leave; None where none of them can be told."""
    found = [memory for memory in (of_machine(), of_group(), of_process()) if memory is not None]
    return min(found, key=lambda memory: memory.size, default=None)


def work_memory() -> int:
    """Bytes that rows gathered in this process may take while they are sorted, grouped or joined, their copies among them."""
    chosen = config.work_memory
    return all_memory() // SHARE_FOR_WORK if chosen is None else chosen


def batch_bytes() -> int:
    """Bytes of rows, about, that a kernel sees at a time: fewer than usual where the user has chosen little memory for work.

    Examples
    --------
    >>> with config.using(work_memory=1 << 27, batch_bytes=32 << 20):
    ...     batch_bytes() == 8 << 20
    True
    """
    usual, chosen = config.batch_bytes, config.work_memory
    return usual if chosen is None else min(usual, max(MIN_BATCH_BYTES, chosen // BATCHES_AT_WORK))


def kept_memory() -> int:
    """Bytes that results may take in this process, beside all else that Arrow holds; more are written to disk."""
    chosen = config.kept_memory
    return all_memory() // SHARE_FOR_RESULTS if chosen is None else chosen


def result_memory_left() -> int:
    """Bytes that are left for results beside all that Arrow holds in this process, whoever asked for it; less than zero where it holds more."""
    return kept_memory() - arrow_bytes()


def lasting_pool() -> pa.MemoryPool:
    """Where memory is taken from for columns that stay.

    Arrow's own pool asks for pages of 2 MiB, which is quick where they come back soon; virtual machines may take 5 ms to find each that is new.
    """
    return pa.system_memory_pool()


def arrow_bytes() -> int:
    """Bytes that Arrow holds in this process, wherever it took them from.

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
    """Have Arrow take memory in small pages during the block, unless the user has said where from; for work on a batch at a time.

    Nothing is remembered here: of several blocks at a time the first to begin puts back what was there before, and others go on with that. Memory
    goes back to where it came from, so other threads do not notice where theirs is from.

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
        # What the user has set meanwhile stays.
        if pa.default_memory_pool().backend_name == POOL_OF_BATCHES:
            pa.set_memory_pool(before)


def _is_arrows_choice(pool: pa.MemoryPool) -> bool:
    """Whether Arrow itself has chosen a pool, which is not the one for batches, where that one is built in."""
    names = pa.supported_memory_backends()
    if os.environ.get(CHOICE_OF_USER) or POOL_OF_BATCHES not in names or pool.backend_name != names[0] or names[0] == POOL_OF_BATCHES:
        return False
    # One that the user has put around it has the same name, and does not count this.
    pa.allocate_buffer(1, memory_pool=_pool_of(names[0]))
    return bool(pool.total_bytes_allocated() == _pool_of(names[0]).total_bytes_allocated())


def _pool_of(name: str) -> pa.MemoryPool:
    pool: pa.MemoryPool = getattr(pa, f"{name}_memory_pool")()
    return pool


def all_memory() -> int:
    """The smallest of the memory of the machine, the limits of the container and that of the process; of an unknown machine, that of a small one."""
    own = of_process()
    known = [*_limits(int(time.monotonic() / SECONDS_REMEMBERED)), *([own.size] if own is not None else [])]
    return min(known, default=SMALL_MACHINE)


@functools.lru_cache(maxsize=1)
def _limits(moment: int) -> list[int]:
    """What is known of the memory that there is, which changes seldom."""
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
    """Bytes of memory that the system counts in pages; None where it does not."""
    try:
        found = os.sysconf(name) * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return None
    return found if found > 0 else None


def of_machine() -> AvailableMemory | None:
    """What the kernel thinks can be had without swapping, or else the pages that are free."""
    free = _memory_named("MemAvailable") or _pages("SC_AVPHYS_PAGES")
    return None if free is None else AvailableMemory(free, "free on this machine")


def of_group() -> AvailableMemory | None:
    """What the control groups of a container leave, the one that leaves least."""
    left = [room for files in _files_of_groups() if (room := _left_in_group(files)) is not None]
    return AvailableMemory(min(left), "left in this container") if left else None


def _left_in_group(files: MemoryFiles) -> int | None:
    most, used = _number(files.limit), _number(files.usage)
    if most is None or used is None:
        return None
    lines = [line.split() for line in (_text(files.statistics) or "").splitlines()]
    given_back = max((int(line[1]) for line in lines if len(line) == 2 and line[0] in RECLAIMABLE), default=0)
    return max(0, most - used + given_back)


def of_process() -> AvailableMemory | None:
    """What the limits of the process leave (``ulimit -v``, ``ulimit -d``)."""
    if sys.platform == "win32":
        return None
    # Of its whole address space, and of the part of it that it can write to.
    limits = [(resource.getrlimit(kind)[0], field) for kind, field in ((resource.RLIMIT_AS, 0), (resource.RLIMIT_DATA, 5))]
    limits = [(most, field) for most, field in limits if most != resource.RLIM_INFINITY]
    pages = _text(PROCESS_STATUS) if limits else None
    if pages is None:
        return None
    left = min(most - int(pages.split()[field]) * resource.getpagesize() for most, field in limits)
    return AvailableMemory(max(0, left), "left to this process by its limit")


def affordable_threads(wanted: int) -> int:
    """How many threads this process may start, where it has a limit of its memory; zero: whoever asks does the work itself.

    A thread for which there is no memory does not fail: its first steps do, and who starts it waits for it for ever, or libraries end the process.

    Raises
    ------
    TooLargeError
        If there is too little for any work.
    """
    left = of_process()
    if left is None:
        return wanted
    if left.size < MIN_ROOM:
        raise TooLargeError(_too_little(left, MIN_ROOM))
    return min(wanted, (left.size - MIN_ROOM) // BYTES_OF_THREAD)


def has_memory_for_thread() -> bool:
    """Whether there is memory for a thread that is of use, and without which work goes on."""
    left = of_process()
    return left is None or left.size >= MIN_ROOM


def require_memory_for_thread() -> None:
    """Let work pass for which there must be a thread.

    Raises
    ------
    TooLargeError
        If there is no memory for one.
    """
    if not affordable_threads(1):
        left = of_process()
        raise TooLargeError("there is no memory for a thread" if left is None else _too_little(left, MIN_ROOM + BYTES_OF_THREAD))


def _too_little(left: AvailableMemory, needed: int) -> str:
    known = f"{in_words(left.size)} are {left.source}, and this work takes at least {in_words(needed)}"
    return f"{known}: raise the limit (ulimit -v), or free some memory"


def _number(path: Path) -> int | None:
    """The number in a file; None where there is no such file, or no limit in it."""
    text = (_text(path) or "").strip()
    return int(text) if text.isdecimal() else None


def _text(path: Path) -> str | None:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError):
        return None
