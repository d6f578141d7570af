"""Frames and columns in pickles."""

from sframe_spark.api.files.serialization import enable_sframe_serialization, get_serialization_directory, restored

__all__ = ["enable_sframe_serialization", "get_serialization_directory", "restored"]
