"""The functions that let frames and columns be pickled, under Turi Create's module name; pickles call the last two."""

from sframe_spark.api.io.pickling import enable_sframe_serialization, get_serialization_directory, restored, restored_rows  # noqa: F401

__all__ = ["enable_sframe_serialization", "get_serialization_directory", "restored"]
