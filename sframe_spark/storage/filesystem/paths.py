"""Paths of files inside a dataset, and how they are passed to Spark without being read as patterns."""

from __future__ import annotations

import os
import re

# Spark reads *, ?, [ab], {a,b} and \ in input paths as patterns, so we escape them. The option ``__globPaths__`` is no help:
# with several such paths it reads each of them as many times as there are paths.
_OF_PATTERNS = re.compile(r"([\\*?\[\]{}])")
_NAMED = re.compile(r"\\([\\*?\[\]{}])")


def join(location: str, *parts: str) -> str:
    """Return a location below another one.

    Examples
    --------
    >>> join("/data", "a.parquet")
    '/data/a.parquet'
    """
    return os.path.join(location, *parts)


def spark_path(location: str) -> str:
    """Return the URI by which Spark reads and writes exactly this local path, whatever its default file system is.

    Spark takes what follows ``file://`` literally; paths for its readers are escaped by :func:`as_named`.

    Examples
    --------
    >>> spark_path("/data/run 1 [50%]")
    'file:///data/run 1 [50%]'
    """
    return f"file://{location}"


def as_named(path: str) -> str:
    """Escape a path or URI so that a Spark reader takes every character literally.

    Examples
    --------
    >>> print(as_named("file:///data/run 1 [50%]"))
    file:///data/run 1 \\[50%\\]
    """
    return _OF_PATTERNS.sub(r"\\\1", path)


def of_named(path: str) -> str:
    """Undo :func:`as_named`.

    Examples
    --------
    >>> of_named(as_named("/data/run [1] {a*}/?"))
    '/data/run [1] {a*}/?'
    """
    return _NAMED.sub(r"\1", path)
