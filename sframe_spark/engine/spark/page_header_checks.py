"""Checks the page headers of a plan's source files by Spark tasks before Spark reads the files, if the files are large.

Spark verifies no checksums of page headers, so they are compared with those in the manifest. Page headers of smaller files are checked by this
process when it opens the scan.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sframe_spark.engine import costs
from sframe_spark.engine.spark.callables_as_job import run_callables
from sframe_spark.operators.sources.segment_row_ranges import STORED_ROWS, scanned
from sframe_spark.operators.sources.segments_read_in_spark import page_checks
from sframe_spark.paths_and_uris import is_remote_location
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.process.threads import even_ranges
from sframe_spark.storage.parquet.checksums import PageCheck, PageChecks


def require_valid_pages(root: PlannerNode) -> None:
    """Check those page headers of a plan's source files that are not known to be valid, if the files are large.

    Raises
    ------
    StorageError
        If a file is missing, damaged or replaced by another one.
    """
    stored = [scanned(node.operator) for node in postorder([root]) if isinstance(node.operator, STORED_ROWS)]
    # Files in remote locations are read by tasks of this package, which check them as they read.
    checks = [check for source in stored if not is_remote_location(source.manifest.directory) for check in page_checks(source)]
    if not are_much(checks):
        return
    due = [(file, check) for check in checks if (file := check.file()) is not None and check.is_due(file)]
    if not are_much([check for _, check in due]):
        return
    run_callables(check_tasks([check for _, check in due]), "checking page headers")
    for file, check in due:
        check.mark_done(file)


def check_tasks(checks: Sequence[PageCheck]) -> list[Callable[[], None]]:
    """Return functions that run the checks: one for each file, or one for several files where there are very many."""
    ranges = even_ranges(len(checks), min(len(checks), costs.MAX_CHECK_TASKS))
    return [PageChecks(tuple(check.sent() for check in checks[start:stop])).run for start, stop in ranges]


def are_much(checks: list[PageCheck]) -> bool:
    """Return whether the files of some checks are too large to be checked on the driver, or of unknown size."""
    known = [check.entry.size for check in checks if check.entry.size is not None]
    return len(known) < len(checks) or sum(known) > costs.MAX_BYTES_CHECKED_LOCALLY
