"""sframe_spark: ordered, lazy data frames on Spark, with the SFrame and SArray API.

Examples
--------
>>> import sframe_spark
>>> sframe_spark.SFrame({"user": ["ann", "bob"], "stars": [5, 3]})["stars"].sum()
8
>>> sframe_spark.version_info >= (0, 2), sframe_spark.__version__.count(".")
(True, 2)
"""

# ruff: noqa: F403, F405

from typing import TYPE_CHECKING

from sframe_spark.api.error_hints import install_module_hints
from sframe_spark.config import config

if TYPE_CHECKING:
    from sframe_spark.public_api import *

__version__ = "0.2.0"
version_info = (0, 2, 0)

__all__ = [
    "SArray", "SArrayBuilder", "SFrame", "SFrameBuilder", "Sketch", "__version__", "aggregate", "config", "cross_validation",
    "data_structures", "evaluation", "functions",
    "get_runtime_config", "history",
    "load_sarray", "load_sframe", "optimize", "plot", "plugins", "recommender",
    "set_runtime_config", "show", "sql", "text_analytics",
    "toolkits", "uniform_clock", "util", "vacuum", "version_info", "visualization",
]  # fmt: skip


install_module_hints()


def __getattr__(name: str) -> object:
    """Load all members when the first of them is read; for names that only other libraries have, raise an error that says what to use instead.

    Worker processes import only parts of this package, and so start in half the time.
    """
    if name.startswith("__"):
        raise AttributeError(name)
    import sframe_spark.public_api as members
    from sframe_spark.api.error_hints import no_module_member

    for member in members.__all__:
        # A member that a program has replaced stays replaced.
        globals().setdefault(member, getattr(members, member))
    if name in globals():
        return globals()[name]
    raise no_module_member(name, __all__)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
