"""The class of column summaries under Turi Create's module name; see :class:`sframe_spark.Sketch`."""

from sframe_spark.api.sarray.sketch import Sketch

__all__ = ["Sketch"]
