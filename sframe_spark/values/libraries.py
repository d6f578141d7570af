"""Which library an object comes from, which need not be imported to tell."""

from __future__ import annotations

from typing import Any


def library_of(value: Any) -> str:
    """The name of the package that an object's class is defined in.

    Examples
    --------
    >>> import pyarrow
    >>> library_of(pyarrow.table({"a": [1]})), library_of([1])
    ('pyarrow', 'builtins')
    """
    return type(value).__module__.split(".")[0]


def is_of_spark(value: Any) -> bool:
    """True for what PySpark has but for its rows, which are tuples of values.

    Examples
    --------
    >>> from pyspark.sql import Row, Window
    >>> is_of_spark(Row(a=1)), is_of_spark((1,)), is_of_spark(Window())
    (False, False, True)
    """
    return library_of(value) == "pyspark" and not isinstance(value, tuple)
