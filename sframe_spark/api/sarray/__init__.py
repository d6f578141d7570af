"""SArray: its members by idea, and the class made of them."""

from sframe_spark.api.sarray.array import SArray
from sframe_spark.api.sarray.files import load_sarray

__all__ = ["SArray", "load_sarray"]
