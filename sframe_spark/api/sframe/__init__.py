"""SFrame: mixins by theme, and the class made of them."""

from sframe_spark.api.sframe.sframe import SFrame, load_sframe

__all__ = ["SFrame", "load_sframe"]
