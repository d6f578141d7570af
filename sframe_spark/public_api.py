"""Everything that ``import sframe_spark`` offers, loaded on first access."""

from __future__ import annotations

from sframe_spark.api.error_hints import call_hint
from sframe_spark.config import get_runtime_config as get_settings, set_runtime_config as set_setting
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.process.control_groups import fit_arrow

with lazy_imports(globals()):
    from sframe_spark import aggregate, data_structures, functions, toolkits, util, visualization
    from sframe_spark.api.builders import SArrayBuilder, SFrameBuilder
    from sframe_spark.api.sarray import SArray
    from sframe_spark.api.sarray.file_io import load_sarray
    from sframe_spark.api.sarray.sketch import Sketch
    from sframe_spark.api.saved_frame_maintenance import history, optimize, vacuum
    from sframe_spark.api.sframe import SFrame, load_sframe
    from sframe_spark.api.sframe.clock_frames import uniform_clock
    from sframe_spark.api.sql import sql
    from sframe_spark.images import Image
    from sframe_spark.planner import plugin_loading
    from sframe_spark.planner.plugin_loading import Plugin
    from sframe_spark.toolkits import cross_validation, evaluation, image_analysis, recommender, text_analytics
    from sframe_spark.toolkits.image_analysis import load_images
    from sframe_spark.visualization import plot, show

__all__ = [
    "Image", "SArray", "SArrayBuilder", "SFrame", "SFrameBuilder", "Sketch", "aggregate", "cross_validation",
    "data_structures", "evaluation", "functions",
    "get_runtime_config", "history", "image_analysis", "load_images", "load_sarray",
    "load_sframe", "optimize", "plot", "plugins", "recommender",
    "set_runtime_config", "show", "sql", "text_analytics",
    "toolkits", "uniform_clock", "util", "vacuum", "visualization",
]  # fmt: skip


@call_hint
def plugins() -> list[Plugin]:
    """Return the plug-ins of installed packages: what each has registered, from where, and which were left out, and why.

    Plug-ins are loaded with the first plan, or by this function. ``config.disabled_plugins`` switches them off, all or by name.

    Examples
    --------
    >>> from sframe_spark.config import config
    >>> with config.using(disabled_plugins="*"):
    ...     {plugin.status for plugin in plugins()} <= {"switched off"}
    True
    """
    return plugin_loading.plugins()


get_runtime_config, set_runtime_config = call_hint(get_settings), call_hint(set_setting)
fit_arrow()
