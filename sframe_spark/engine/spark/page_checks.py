"""Before Spark reads files of ours: their page headers, which no check sum that Spark knows covers, are compared with those of the manifest.

Of little data the driver does so when a scan is opened. It takes about a second for each gigabyte, so that of much data is done by tasks.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from sframe_spark.engine.spark.jobs import run_tasks
from sframe_spark.locations import is_elsewhere
from sframe_spark.operators.sources.segment_subset import STORED_ROWS, scanned
from sframe_spark.operators.sources.spark_scan import page_checks
from sframe_spark.planner.graph import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.storage.parquet.checksums import PageCheck, PageChecks
from sframe_spark.storage.parquet.footer import Identity

# Files that take more than this are checked by tasks: for fewer, starting these takes longer.
CHECKED_HERE = 128 << 20
# More works than this have no more to share out, and each is sent by itself.
MOST_WORKS = 4_096


def require_sound_pages(root: PlannerNode) -> None:
    """Check what the driver does not know to be sound of the files of all sources of a plan, if that is much.

    Raises
    ------
    StorageError
        If a file is missing, damaged or another one.
    """
    stored = [scanned(node.operator) for node in postorder([root]) if isinstance(node.operator, STORED_ROWS)]
    # What tasks of ours read they check as they read it.
    checks = [check for source in stored if not is_elsewhere(source.manifest.directory) for check in page_checks(source)]
    if not are_much(checks):
        return
    due = due_checks(checks)
    if not are_much([check for _, check in due]):
        return
    run_tasks(works_of([check for _, check in due]), "checking page headers")
    for file, check in due:
        check.done_elsewhere(file)


def works_of(checks: Sequence[PageCheck]) -> list[Callable[[], None]]:
    """Checks as works: one for each file, or for some where there are very many."""
    count = min(len(checks), MOST_WORKS)
    edges = [len(checks) * number // count for number in range(count + 1)]
    return [PageChecks(tuple(check.sent() for check in checks[start:stop])).run for start, stop in itertools.pairwise(edges)]


def are_much(checks: list[PageCheck]) -> bool:
    """True when the files of some checks have more bytes than are checked here, or nobody knows how many."""
    known = [check.entry.size for check in checks if check.entry.size is not None]
    return len(known) < len(checks) or sum(known) > CHECKED_HERE


def due_checks(checks: list[PageCheck]) -> list[tuple[Identity, PageCheck]]:
    """Checks of which the driver does not know that they pass, with the files as they are now."""
    found = [(check.file(), check) for check in checks]
    return [(file, check) for file, check in found if file is not None and check.is_due(file)]
