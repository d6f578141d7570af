"""Errors about the values of a column, with its name."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from sframe_spark.errors import DateTimeRangeError, InvalidArgumentError, SchemaError


@contextlib.contextmanager
def column_named(name: str) -> Iterator[None]:
    """Say in errors of the block which column they are about.

    Examples
    --------
    >>> with column_named("price"):
    ...     raise SchemaError("no column holds these")
    Traceback (most recent call last):
        ...
    sframe_spark.errors.SchemaError: column 'price': no column holds these
    """
    try:
        yield
    except (SchemaError, InvalidArgumentError, DateTimeRangeError) as error:
        told, *rest = error.args
        error.args = (f"column {name!r}: {told}", *rest)
        raise
