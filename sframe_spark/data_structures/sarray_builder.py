"""The class that builds columns by appending values, under Turi Create's module name; see :class:`sframe_spark.SArrayBuilder`."""

from sframe_spark.api.builders import SArrayBuilder

__all__ = ["SArrayBuilder"]
