"""The frame class under Turi Create's module name; see :class:`sframe_spark.SFrame`."""

from sframe_spark.api.sframe import SFrame

__all__ = ["SFrame"]
