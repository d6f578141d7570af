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
    "Image", "SArray", "SArrayBuilder", "SFrame", "SFrameBuilder", "Sketch", "__version__", "aggregate", "config", "cross_validation",
    "data_structures", "evaluation", "functions",
    "get_runtime_config", "history", "image_analysis",
    "load_images", "load_sarray", "load_sframe", "optimize", "plot", "plugins", "recommender",
    "set_runtime_config", "show", "sql", "text_analytics",
    "toolkits", "uniform_clock", "util", "vacuum", "version_info", "visualization",
]  # fmt: skip


install_module_hints()


def __getattr__(name: str) -> object:
    """Import the member; for names that only other libraries have, raise an error that says what to use instead."""
    if name.startswith("__"):
        raise AttributeError(name)
    from importlib import import_module
    from importlib.machinery import PathFinder

    import sframe_spark.public_api as members
    from sframe_spark.api.error_hints import no_module_member
    from sframe_spark.lazy_imports import value_of

    if name not in members.__all__:
        if PathFinder.find_spec(f"{__name__}.{name}", __path__) is None:
            raise no_module_member(name, __all__)
        return import_module(f"{__name__}.{name}")
    # A member that a program has replaced stays replaced.
    return globals().setdefault(name, value_of(getattr(members, name)))


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
