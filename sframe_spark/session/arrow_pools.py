"""Where Arrow takes memory from in this process."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import pyarrow as pa

# Where the user tells Arrow what to use; an empty text says nothing.
CHOICE_OF_USER = "ARROW_DEFAULT_MEMORY_POOL"
# Takes pages of 4 KiB, and keeps what is let go of for others, arrays of 8 MiB and more excepted.
POOL_OF_BATCHES = "jemalloc"


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

    Nothing is counted or remembered here: of several blocks at a time the first to begin is the one that puts back what was there before, and others go on
    with that. Memory goes back to where it came from, so who is meanwhile given memory in small pages does not notice.

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
