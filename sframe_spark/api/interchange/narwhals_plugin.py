"""The plug-in that narwhals finds by its entry point, so that libraries built on narwhals take frames and columns.

Narwhals imports this module for any object that it does not know, so it imports nothing itself.
"""

from __future__ import annotations

from typing import Any

# Narwhals asks ``is_native`` only about objects of classes of this package.
NATIVE_PACKAGE = "sframe_spark"


def is_native(native_object: object, /) -> bool:
    """Return whether an object is an SFrame or an SArray."""
    from sframe_spark.api.class_registry import ClassRegistry

    # While the classes are not imported, no object is of them.
    return any(isinstance(native_object, getattr(ClassRegistry, kind, ())) for kind in ("frame", "array"))


def __narwhals_namespace__(version: Any) -> Any:
    """Return what makes frames, columns and expressions for one version of narwhals' API."""
    from sframe_spark.api.interchange import narwhals_frames

    return narwhals_frames.__narwhals_namespace__(version)


def for_narwhals(native: Any) -> Any:
    """Return an SFrame or an SArray as narwhals asks for it by a method; narwhals changes the version of its API later."""
    from narwhals.utils import Version

    return __narwhals_namespace__(Version.MAIN).from_native(native)
