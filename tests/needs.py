"""What tests need of the libraries that are installed: cases of what later versions have are left out with older ones."""

from __future__ import annotations

import functools
import importlib.metadata
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from sframe_spark.pyarrow_versions import version_numbers

# What later versions of Spark have. PySpark 3.5 cannot read the type of an interval of months and days, and its pandas API needs NumPy 1.
TIMES_OF_DAY, CALENDAR_INTERVALS, VARIANTS, PANDAS_API = "pyspark>=4.1", "pyspark>=4.0", "pyspark>=4.0", "pyspark>=4.0"


@functools.cache
def has(requirement: str) -> bool:
    """Whether a library is installed in a version or a later one, such as ``pyarrow>=19``."""
    name, bound = requirement.split(">=")
    try:
        return version_numbers(importlib.metadata.version(name)) >= version_numbers(bound)
    except importlib.metadata.PackageNotFoundError:
        return False


def needs(requirement: str) -> pytest.MarkDecorator:
    """Mark a test, or a case of one, that is left out without a library in a version or a later one."""
    return pytest.mark.skipif(not has(requirement), reason=f"needs {requirement}")


def cases(texts: Iterable[str], needed: Mapping[str, str]) -> list[Any]:
    """Return texts as the cases of a test: those with a word in them are left out without what the word needs."""
    return [pytest.param(text, marks=[needs(needed[word]) for word in needed if word in text]) for text in texts]
