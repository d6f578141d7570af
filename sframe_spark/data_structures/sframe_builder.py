"""Frames of rows that are appended; see :class:`sframe_spark.SFrameBuilder`."""

from sframe_spark.api.builders import SFrameBuilder

__all__ = ["SFrameBuilder"]
