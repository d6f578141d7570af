"""sframe_spark: ordered, lazy data frames on Spark, with the SFrame and SArray API."""

from sframe_spark import aggregate
from sframe_spark.api.sarray import SArray
from sframe_spark.api.sframe import SFrame, load_sframe
from sframe_spark.api.sframe.intervals import uniform_clock
from sframe_spark.api.sql import sql
from sframe_spark.config import config

__version__ = "0.1.0"

__all__ = ["SArray", "SFrame", "__version__", "aggregate", "config", "load_sframe", "sql", "uniform_clock"]
