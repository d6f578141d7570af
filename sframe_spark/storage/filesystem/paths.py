"""Places of files below a dataset's directory, and how Spark is told of them."""

from __future__ import annotations

import os
import re

# Spark takes *, ?, [ab], {a,b} and \ in the paths that it reads for patterns. What we let it read is named file by file. Told by ``__globPaths__`` to
# take nothing for a pattern, it reads each of several such paths as many times as there are paths: twice the rows of two files.
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
    """Return a normalised location in the form in which Spark, whatever its default file system, reads from and writes to exactly this place.

    Spark takes what follows ``file://`` as it is: nothing is escaped. Readers are given what :func:`as_named` makes of it.

    Examples
    --------
    >>> spark_path("/data/run 1 [50%]")
    'file:///data/run 1 [50%]'
    """
    return f"file://{location}"


def as_named(path: str) -> str:
    """Return what a reader of Spark's is given to read exactly a path, or a URI, whatever characters are in it.

    Examples
    --------
    >>> print(as_named("file:///data/run 1 [50%]"))
    file:///data/run 1 \\[50%\\]
    """
    return _OF_PATTERNS.sub(r"\\\1", path)


def of_named(path: str) -> str:
    """Return the path of which :func:`as_named` has made another.

    Examples
    --------
    >>> of_named(as_named("/data/run [1] {a*}/?"))
    '/data/run [1] {a*}/?'
    """
    return _NAMED.sub(r"\1", path)
