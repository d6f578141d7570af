"""SArray: mixins by theme, and the class made of them."""

from sframe_spark.api.sarray.sarray import SArray

__all__ = ["SArray"]
