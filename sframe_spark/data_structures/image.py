"""The class of images under Turi Create's module name; see :class:`sframe_spark.Image`."""

from sframe_spark.images import Image

__all__ = ["Image"]
