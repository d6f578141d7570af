"""What tests need of the libraries that are installed: cases of what later versions have are left out with older ones."""

from __future__ import annotations

import functools
import importlib.metadata

import pytest

from sframe_spark.pyarrow_versions import version_numbers


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
