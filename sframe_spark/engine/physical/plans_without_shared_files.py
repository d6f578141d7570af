"""Which plans this process computes alone: those over rows that it has and Spark's machines lack, or whose results have no shared directory.

Nothing is asked here: that a directory is not shared is found when Spark is first to read or write it, and the section is planned again then. See
docs/decisions/054-no-shared-directory.md.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import attrs

from sframe_spark.engine.physical.site import Site
from sframe_spark.engine.size_estimates_batch_sizes_and_memory_reservations import bytes_of_rows
from sframe_spark.engine.spark.shared_file_and_row_count_checks import checked_file
from sframe_spark.operators.sources.segment_row_ranges import STORED_ROWS
from sframe_spark.paths_and_uris import is_remote_location
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator_declarations import SourceKind


def site_of_plan(root: PlannerNode, directory: str | None = None) -> Site:
    """Return the site of a plan whose rows go to a directory of the user's, or to temporary data if that is None."""
    site = Site.now()
    return attrs.evolve(site, is_alone=True) if site.unshared_directories and is_computed_alone(root, site, directory) else site


def is_computed_alone(root: PlannerNode, site: Site, directory: str | None) -> bool:
    """Return whether this process computes a plan alone.

    Rows that only Spark can read are left to Spark. If Spark sees most of the rows, the few that it does not see are sent to it.
    """
    leaves = [node for node in postorder([root]) if not node.inputs]
    here = [leaf for leaf in leaves if is_only_here(leaf, site)]
    if not (here or is_unshared_target(directory, site)) or any(map(is_for_spark, leaves)):
        return False
    seen = [leaf for leaf in leaves if leaf not in here]
    return bytes_of(seen) <= site.memory_budget or bytes_of(here) > site.memory_budget


def bytes_of(leaves: Sequence[PlannerNode]) -> float:
    """Estimate the bytes of the rows of sources; those of unknown length count nothing."""
    return sum(bytes_of_rows(leaf, rows) for leaf in leaves if (rows := leaf.length.rows) is not None)


def is_unshared_target(directory: str | None, site: Site) -> bool:
    """Return whether a directory that rows are to be written to is known not to be shared with Spark's machines."""
    return directory is not None and os.path.dirname(directory) in site.unshared_directories


def is_only_here(leaf: PlannerNode, site: Site) -> bool:
    """Return whether Spark's machines lack the rows of a source: they do not see its files, or rows in memory cannot be handed over in files."""
    if leaf.operator.source_kind is SourceKind.MEMORY:
        return not site.shares_temporary_files
    return is_unseen(leaf, site)


def is_unseen(leaf: PlannerNode, site: Site) -> bool:
    """Return whether a source reads local files that Spark's machines are known not to see."""
    checked = checked_file(leaf.operator) if site.unseen_directories else None
    return checked is not None and checked[1] in site.unseen_directories


def is_for_spark(leaf: PlannerNode) -> bool:
    """Return whether Spark has to read a source: a user's DataFrame, or files on an object store."""
    operator = leaf.operator
    return operator.source_kind is SourceKind.QUERY or (isinstance(operator, STORED_ROWS) and is_remote_location(operator.manifest.directory))
