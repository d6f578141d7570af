"""The column class under Turi Create's module name; see :class:`sframe_spark.SArray`."""

from sframe_spark.api.sarray import SArray

__all__ = ["SArray"]
