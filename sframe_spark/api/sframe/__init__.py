"""The class SFrame, and the mixins by topic from which it is composed."""

from sframe_spark.api.sframe.sframe import SFrame, load_sframe

__all__ = ["SFrame", "load_sframe"]
