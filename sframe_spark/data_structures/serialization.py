"""The functions that let frames and columns be pickled, under Turi Create's module name."""

from sframe_spark.api.io.pickling import enable_sframe_serialization, get_serialization_directory, restored, restored_rows

__all__ = ["enable_sframe_serialization", "get_serialization_directory", "restored", "restored_rows"]
