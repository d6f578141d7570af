"""What ``python -m sframe_spark prepare`` does: keep an archive of Spark's classes for this user, or delete all there are."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from sframe_spark.errors import SFrameError
from sframe_spark.process.directory_trees import size_on_disk
from sframe_spark.session.class_archives.fingerprints import JvmStart
from sframe_spark.session.class_archives.writing import keep_archive, remove_archives
from sframe_spark.session.java import find_java


def run_prepare(use_spark: Callable[[Path], None], delete: bool, show: Callable[[str], None]) -> int:
    """Write the archive, or delete all, and show what was done; return 1 where it could not be done, otherwise 0."""
    try:
        if delete:
            deleted, busy = remove_archives()
            show(f"deleted {deleted} archives of Spark's classes")
            if busy:
                show(f"{busy} more stay, as other processes write them just now: delete them when these have ended")
            return 0
        start = JvmStart.here(find_java())
        reason = start.hindrance()
        if reason is not None:
            show(f"nothing was written: {reason}")
            return 1
        show("Spark is started, used and stopped, and its classes are written down: half a minute or so")
        begun = time.monotonic()
        directory = keep_archive(start, use_spark)
    except (OSError, SFrameError) as error:
        show(f"nothing was written: {error}")
        return 1
    size = size_on_disk(str(directory)) / (1 << 20)
    show(f"written in {time.monotonic() - begun:.0f} s, {size:.0f} MiB in {directory}: Spark's next sessions start from it")
    return 0
