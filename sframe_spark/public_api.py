"""Everything that ``import sframe_spark`` offers, loaded on first access."""

import sframe_spark.aggregate as aggregate
import sframe_spark.data_structures as data_structures
import sframe_spark.functions as functions
import sframe_spark.toolkits as toolkits
import sframe_spark.toolkits.cross_validation as cross_validation
import sframe_spark.toolkits.evaluation as evaluation
import sframe_spark.toolkits.recommender as recommender
import sframe_spark.toolkits.text_analytics as text_analytics
import sframe_spark.util as util
import sframe_spark.visualization as visualization
from sframe_spark.api.builders import SArrayBuilder, SFrameBuilder
from sframe_spark.api.error_hints import call_hint
from sframe_spark.api.sarray import SArray, load_sarray
from sframe_spark.api.sarray.sketch import Sketch
from sframe_spark.api.saved_frame_maintenance import history, optimize, vacuum
from sframe_spark.api.sframe import SFrame, load_sframe
from sframe_spark.api.sframe.clock_frames import uniform_clock
from sframe_spark.api.sql import sql
from sframe_spark.config import get_runtime_config as get_settings, set_runtime_config as set_setting
from sframe_spark.planner.plugin_loading import plugins as plugins_without_hint
from sframe_spark.process.control_groups import fit_arrow
from sframe_spark.visualization import plot, show

__all__ = [
    "SArray", "SArrayBuilder", "SFrame", "SFrameBuilder", "Sketch", "aggregate", "cross_validation",
    "data_structures", "evaluation", "functions",
    "get_runtime_config", "history", "load_sarray",
    "load_sframe", "optimize", "plot", "plugins", "recommender",
    "set_runtime_config", "show", "sql", "text_analytics",
    "toolkits", "uniform_clock", "util", "vacuum", "visualization",
]  # fmt: skip

plugins = call_hint(plugins_without_hint)
get_runtime_config, set_runtime_config = call_hint(get_settings), call_hint(set_setting)
fit_arrow()
