"""SArray: its members by idea, and the class made of them."""

from sframe_spark.api.sarray.array import SArray

__all__ = ["SArray"]
