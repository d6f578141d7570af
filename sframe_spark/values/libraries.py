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
