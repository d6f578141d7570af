"""The class that builds frames by appending rows, under Turi Create's module name; see :class:`sframe_spark.SFrameBuilder`."""

from sframe_spark.api.builders import SFrameBuilder

__all__ = ["SFrameBuilder"]
