"""What a column holds; see :class:`sframe_spark.Sketch`."""

from sframe_spark.api.sarray.sketch import Sketch

__all__ = ["Sketch"]
