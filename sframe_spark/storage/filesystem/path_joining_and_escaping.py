"""Joins paths and URIs, and escapes them for Spark, which would otherwise interpret some characters as patterns."""

from __future__ import annotations

import os
import re

# Spark reads *, ?, [ab], {a,b} and \ in input paths as patterns, so we escape them. The option ``__globPaths__`` is no help:
# with several such paths it reads each of them as many times as there are paths.
_OF_PATTERNS = re.compile(r"([\\*?\[\]{}])")
_NAMED = re.compile(r"\\([\\*?\[\]{}])")


def join(location: str, *parts: str) -> str:
    """Return the path or URI of a file below a location.

    Examples
    --------
    >>> join("/data", "a.parquet")
    '/data/a.parquet'
    """
    return os.path.join(location, *parts)


def spark_path(location: str) -> str:
    """Return the URI of a local path for Spark, whose default file system may be another one.

    Spark does not decode escapes in the path of the URI. Paths for Spark's readers must be escaped with :func:`as_named`, too.

    Examples
    --------
    >>> spark_path("/data/run 1 [50%]")
    'file:///data/run 1 [50%]'
    """
    return f"file://{location}"


def as_named(path: str) -> str:
    """Return a path or URI with escapes, so that Spark's readers do not interpret its characters as patterns.

    Examples
    --------
    >>> print(as_named("file:///data/run 1 [50%]"))
    file:///data/run 1 \\[50%\\]
    """
    return _OF_PATTERNS.sub(r"\\\1", path)


def of_named(path: str) -> str:
    """Return a path or URI without the escapes of :func:`as_named`.

    Examples
    --------
    >>> of_named(as_named("/data/run [1] {a*}/?"))
    '/data/run [1] {a*}/?'
    """
    return _NAMED.sub(r"\1", path)
