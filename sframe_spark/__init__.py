"""sframe_spark: ordered, lazy data frames on Spark, with the SFrame and SArray API.

Examples
--------
>>> import sframe_spark
>>> sframe_spark.SFrame({"user": ["ann", "bob"], "stars": [5, 3]})["stars"].sum()
8
>>> sframe_spark.version_info >= (0, 1), sframe_spark.__version__.count(".")
(True, 2)
"""

from sframe_spark import aggregate, data_structures, util, visualization
from sframe_spark.api.builders import SArrayBuilder, SFrameBuilder
from sframe_spark.api.hints import tell_of_absent_modules
from sframe_spark.api.sarray import SArray, load_sarray
from sframe_spark.api.sarray.sketch import Sketch
from sframe_spark.api.sframe import SFrame, load_sframe
from sframe_spark.api.sframe.intervals import uniform_clock
from sframe_spark.api.sql import sql
from sframe_spark.api.versions import history, optimize, vacuum
from sframe_spark.config import config
from sframe_spark.visualization import plot, show

__version__ = "0.1.0"
version_info = (0, 1, 0)

__all__ = [
    "SArray",
    "SArrayBuilder",
    "SFrame",
    "SFrameBuilder",
    "Sketch",
    "__version__",
    "aggregate",
    "config",
    "data_structures",
    "history",
    "load_sarray",
    "load_sframe",
    "optimize",
    "plot",
    "show",
    "sql",
    "uniform_clock",
    "util",
    "vacuum",
    "version_info",
    "visualization",
]


tell_of_absent_modules()


def __getattr__(name: str) -> object:
    """Tell what to use instead of names that the reference and other libraries have."""
    if name.startswith("__"):
        raise AttributeError(name)
    from sframe_spark.api.hints import no_module_member

    raise no_module_member(name, __all__)
