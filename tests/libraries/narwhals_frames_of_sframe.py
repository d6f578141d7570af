"""A plug-in of pytest by which narwhals' own tests run with frames of this package; they are in narwhals' source distribution.

``PYTHONPATH=tests/libraries python -m pytest -p narwhals_frames_of_sframe --use-external-constructor -k sframe tests`` in its directory runs the
tests of lazy frames, with ``SFRAME_SPARK_NARWHALS=eager`` those of eager frames and series.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

IS_EAGER = os.environ.get("SFRAME_SPARK_NARWHALS") == "eager"


def sframe(columns: dict[str, list[Any]]) -> Any:
    """Return an SFrame; columns of Booleans are results of comparisons."""
    import pyarrow as pa

    from sframe_spark import SFrame

    frame = SFrame(pa.table(columns))
    for name, values in columns.items():
        known = [value for value in values if value is not None]
        if known and all(isinstance(value, bool) for value in known):
            frame[name] = frame[name] > 0
    return frame


def lazy_sframe(columns: dict[str, list[Any]]) -> Any:
    """Return a lazy frame as narwhals takes it for a native one."""
    import narwhals as nw

    return nw.from_native(sframe(columns)).lazy()._compliant_frame


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give narwhals' tests the frames."""
    if "constructor_eager" in metafunc.fixturenames:
        metafunc.parametrize("constructor_eager", [sframe] if IS_EAGER else [], ids=["sframe"] if IS_EAGER else [])
    elif "constructor" in metafunc.fixturenames:
        metafunc.parametrize("constructor", [sframe if IS_EAGER else lazy_sframe], ids=["sframe"])
    elif "constructor_pandas_like" in metafunc.fixturenames:
        metafunc.parametrize("constructor_pandas_like", [])
