"""Where programs written for the reference engine find the parts of its API by their modules.

Examples
--------
>>> from sframe_spark.data_structures.sframe import SFrame
>>> SFrame({"stars": [5, 3]}).num_rows()
2
"""

from sframe_spark.data_structures import sarray, sarray_builder, serialization, sframe, sframe_builder, sketch

__all__ = ["sarray", "sarray_builder", "serialization", "sframe", "sframe_builder", "sketch"]
