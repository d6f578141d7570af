"""Imports libraries that only some members need, when one of these is called, and says how to install what is missing.

attrs, NumPy and pyarrow are enough for what runs in this process; ``docs/install.md`` says how to install no more.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from sframe_spark.errors import MissingLibraryError

REMEDIES = {
    "pyspark": "queries and DataFrames of Spark need PySpark: pip install 'sframe_spark[java]'",
    "pandas": "tables of pandas need pandas: pip install pandas",
    "networkx": "pictures and graphs of plans need networkx (print(frame.explain()) does not): pip install networkx",
    "hypothesis": "the contract kit generates rows with Hypothesis: pip install 'sframe_spark[testing]', or set generated=0",
    "sqlalchemy": "addresses of databases need SQLAlchemy: pip install 'sframe_spark[sql]', or connect with the library of the database",
    "PIL": "decoding pixels of PNG and JPEG images needs Pillow: pip install 'sframe_spark[images]'",
    "cloudpickle": "sending functions to other processes needs cloudpickle: pip install cloudpickle (PySpark contains it, too)",
}


def import_library(name: str) -> Any:
    """Import a library that may be missing, or a module of one.

    Raises
    ------
    MissingLibraryError
        If it is not installed; the message says what needs it, and what to install.

    Examples
    --------
    >>> import_library("pandas").__name__
    'pandas'
    """
    library = name.partition(".")[0]
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        # A library that lacks something itself says so.
        if (error.name or "").partition(".")[0] != library:
            raise
        raise MissingLibraryError(REMEDIES[library]) from None


def import_cloudpickle() -> Any:
    """Import PySpark's copy of cloudpickle, which Spark's workers have, or else the package.

    Raises
    ------
    MissingLibraryError
        If there is neither.
    """
    try:
        return import_module("pyspark.cloudpickle")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "pyspark":
            raise
        return import_library("cloudpickle")
