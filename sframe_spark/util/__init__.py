"""Frames for experiments, and the type of what is saved under a path.

Examples
--------
>>> from sframe_spark.util import crossproduct
>>> crossproduct({"rate": [0.5, 1.0], "kind": ["a", "b"]}).num_rows()
4
"""

from sframe_spark.api.io.saved_frames import get_archive_type, get_turicreate_object_type, is_directory_archive
from sframe_spark.api.random_frames import generate_random_sframe
from sframe_spark.api.sframe.construction import crossproduct

__all__ = ["crossproduct", "generate_random_sframe", "get_archive_type", "get_turicreate_object_type", "is_directory_archive"]


def __getattr__(name: str) -> object:
    """Raise an error with advice about names that Turi Create has."""
    if name.startswith("__"):
        raise AttributeError(name)
    from sframe_spark.api.error_hints import no_util_member

    raise no_util_member(name)
