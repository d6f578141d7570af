"""Places of files below a dataset's directory, and how Spark is told of them."""

from __future__ import annotations

import os

# Spark takes *, ?, [ab], {a,b} and \ in the paths that it reads for patterns. What we let it read is named file by file.
AS_NAMED = {"__globPaths__": "false"}


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

    Spark takes what follows ``file://`` as it is: nothing is escaped. Readers need the options :data:`AS_NAMED` as well.

    Examples
    --------
    >>> spark_path("/data/run 1 [50%]")
    'file:///data/run 1 [50%]'
    """
    return f"file://{location}"
