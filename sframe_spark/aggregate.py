"""Aggregates for :meth:`SFrame.groupby`, for windows and for runs of rows.

Examples
--------
>>> import sframe_spark.aggregate as agg
>>> from sframe_spark import SFrame
>>> print(SFrame({"k": ["a", "b", "a"], "v": [1, 2, 3]}).groupby("k", {"sum": agg.SUM("v")}))
+---+-----+
| k | sum |
+---+-----+
| a |  4  |
| b |  2  |
+---+-----+
[2 rows x 2 columns]
"""

from typing import Any

from sframe_spark.api import aggregate
from sframe_spark.api.aggregate import *  # noqa: F403 - the module lists them
from sframe_spark.api.error_hints import no_aggregate
from sframe_spark.lazy_imports import lazy_imports

with lazy_imports(globals()):
    from sframe_spark.api.plugin_namespaces import plugin_aggregates

__all__ = []
__all__ += aggregate.__all__


def __getattr__(name: str) -> Any:
    """Return an aggregate of a plug-in; for other names, raise an error with a hint for aggregates of other libraries."""
    if name.startswith("_"):
        raise AttributeError(f"there is no aggregate {name!r}")
    found = plugin_aggregates()
    if name in found:
        return found[name]
    raise no_aggregate(name, [*__all__, *found])


def __dir__() -> list[str]:
    """Return the names of the module, with the aggregates of plug-ins."""
    return sorted({*globals(), *plugin_aggregates()})
