"""The former name of :mod:`sframe_spark.testing.missing_declarations`, for plug-ins that import it or run it with ``python -m``."""

from __future__ import annotations

import runpy

from sframe_spark.testing.missing_declarations import unused_opportunities

__all__ = ["unused_opportunities"]

if __name__ == "__main__":
    runpy.run_module("sframe_spark.testing.missing_declarations", run_name="__main__")
