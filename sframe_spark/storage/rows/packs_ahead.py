"""The packs of short segments that come next are read by a thread while somebody works on the rows before them."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from queue import SimpleQueue

from sframe_spark.storage.manifests.manifest import Manifest
from sframe_spark.storage.rows.packs import hold, missing_packs


class PacksAhead:
    """Reads ahead of one who goes through the rows of a dataset in order.

    Parameters
    ----------
    manifest
        The dataset.
    columns
        Positions of the columns that are read.
    stop
        The row behind the last one that is read.

    Examples
    --------
    A dataset of few segments has no packs:

    >>> import tempfile
    >>> import pyarrow as pa
    >>> from sframe_spark.storage.datasets.commit import publish
    >>> from sframe_spark.storage.rows.writer import write_segment
    >>> from sframe_spark.types import INT
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     manifest = publish(directory, [INT], [write_segment(directory, 0, [INT], [[pa.array([10, 11])]])])
    ...     ahead = PacksAhead(manifest, (0,), 2)
    ...     ahead.follow(0, 1)
    ...     manifest.decoded.held
    {}
    """

    def __init__(self, manifest: Manifest, columns: tuple[int, ...], stop: int) -> None:
        self._manifest, self._columns, self._stop = manifest, columns, stop
        self._pool: ThreadPoolExecutor | None = None
        self._ended: SimpleQueue[None] | None = None
        self._process = os.getpid()

    def follow(self, first: int, last: int) -> None:
        """Wait until what was begun is there, and begin with as many rows as there are from ``first`` to ``last``, from there on."""
        if self._process != os.getpid():
            # Threads are not copied with a process.
            self._pool, self._ended, self._process = None, None, os.getpid()
        if self._ended is not None:
            self._ended.get()
            self._ended = None
        if missing_packs(self._manifest, self._columns, last, min(2 * last - first, self._stop)):
            self._begin(last, min(2 * last - first, self._stop))

    def close(self) -> None:
        """Let the thread end with what it is at."""
        if self._pool is not None and self._process == os.getpid():
            self._pool.shutdown(wait=False, cancel_futures=True)
        self._pool = self._ended = None

    def _begin(self, first: int, last: int) -> None:
        ended: SimpleQueue[None] = SimpleQueue()
        try:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(1, thread_name_prefix="sframe_spark packs")
            self._pool.submit(copy_context().run, self._read, first, last, ended)
        except RuntimeError:
            # Python ends, and waits for this thread: it starts no other.
            return
        self._ended = ended

    def _read(self, first: int, last: int, ended: SimpleQueue[None]) -> None:
        try:
            for pack in missing_packs(self._manifest, self._columns, first, last):
                hold(self._manifest, self._columns, pack)
        except Exception:  # noqa: S110
            # Whoever reads these rows is told.
            pass
        finally:
            ended.put(None)
