"""Frames and columns in pickles."""

from sframe_spark.api.io.pickling import enable_sframe_serialization, get_serialization_directory, restored

__all__ = ["enable_sframe_serialization", "get_serialization_directory", "restored"]
