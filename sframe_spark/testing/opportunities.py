"""The former name of :mod:`sframe_spark.testing.missing_declarations`, for tests of plug-ins that import it."""

from __future__ import annotations

from sframe_spark.testing.missing_declarations import unused_opportunities

__all__ = ["unused_opportunities"]
