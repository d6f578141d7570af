"""A plug-in of pytest: which lines of the package each test function runs, written to the file that SFRAME_SPARK_COVERAGE names.

It needs the package `coverage`, which nothing else here does.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

_COVERAGE: list[Any] = []


def pytest_configure(config: pytest.Config) -> None:
    """Begin with collection, whose lines belong to no test."""
    import coverage

    import sframe_spark

    package, data = Path(sframe_spark.__file__).parent, os.environ["SFRAME_SPARK_COVERAGE"]
    _COVERAGE.append(coverage.Coverage(data_file=data, source=[str(package)], config_file=False, concurrency=["thread"]))
    _COVERAGE[0].start()
    _COVERAGE[0].switch_context("")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Note what runs from here on for the test's function, whatever its parameters."""
    _COVERAGE[0].switch_context(item.nodeid.partition("[")[0])
    return (yield)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Write all that was noted."""
    _COVERAGE[0].stop()
    _COVERAGE[0].save()
