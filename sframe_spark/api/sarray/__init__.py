"""SArray: mixins by theme, and the class made of them."""

from sframe_spark.api.sarray.file_io import load_sarray
from sframe_spark.api.sarray.sarray import SArray

__all__ = ["SArray", "load_sarray"]
