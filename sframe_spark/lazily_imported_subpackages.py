"""Imports modules of the subpackages `turicreate` and `plotting` when they are first needed; other subpackages refer to them only here.

`sframe_spark.turicreate` reads archives of Turi Create, `sframe_spark.plotting` draws charts. The table in `sframe_spark.planner.registry` has the
operators that these subpackages define.
"""

from __future__ import annotations

import importlib
from typing import Any

ARCHIVE, ARCHIVE_SOURCE = "sframe_spark.turicreate.archive", "sframe_spark.turicreate.source"
PLOT, ROW_BROWSER, SUMMARY = "sframe_spark.plotting.plot_class_and_chart_choice", "sframe_spark.plotting.row_browser", "sframe_spark.plotting.summary"


def optional_part(module: str) -> Any:
    """Import and return a module of these subpackages, given by one of the constants above.

    Examples
    --------
    >>> optional_part(ARCHIVE_SOURCE).ArchiveSource.name
    'archive_source'
    """
    return importlib.import_module(module)
