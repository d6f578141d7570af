"""Columns of values that are appended; see :class:`sframe_spark.SArrayBuilder`."""

from sframe_spark.api.builders import SArrayBuilder

__all__ = ["SArrayBuilder"]
