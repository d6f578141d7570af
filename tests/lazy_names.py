"""Imports all that the package imports lazily."""

from __future__ import annotations

import sys


def import_lazy_names() -> None:
    """Import all modules of which a name is used lazily, and the members of SFrame and SArray."""
    # As late as tests do, so that collecting tests of other things imports nothing.
    import sframe_spark
    from sframe_spark.lazy_imports import LazyName

    for kind in (sframe_spark.SFrame, sframe_spark.SArray):
        for name in dir(kind):
            getattr(kind, name, None)
    modules = list(sys.modules.items())
    while names := [
        value for name, module in modules if name.startswith("sframe_spark") for value in list(vars(module).values()) if type(value) is LazyName
    ]:
        for value in names:
            value.value()
        modules = list(sys.modules.items())
