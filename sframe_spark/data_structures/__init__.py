"""Modules with the names that Turi Create has for the parts of its API, so that its programs find the classes under the same names.

Examples
--------
>>> from sframe_spark.data_structures.sframe import SFrame
>>> SFrame({"stars": [5, 3]}).num_rows()
2
"""

from sframe_spark.data_structures import image, sarray, sarray_builder, serialization, sframe, sframe_builder, sketch

__all__ = ["image", "sarray", "sarray_builder", "serialization", "sframe", "sframe_builder", "sketch"]
