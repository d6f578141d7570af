"""Whose code something is: this package's own, or that of a plug-in."""

from __future__ import annotations

from typing import Any

PACKAGE = __name__.partition(".")[0]


def is_ours(code: Any) -> bool:
    """True for a class or a function of this package, which every worker has.

    Examples
    --------
    >>> is_ours(is_ours), is_ours(len)
    (True, False)
    """
    return str(getattr(code, "__module__", None)).partition(".")[0] == PACKAGE
