"""Answers of queries in one form, however a library gives them."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from typing import Any


def plain_rows(rows: Iterable[Sequence[Any]]) -> list[list[Any]]:
    """Rows whose values JSON can hold; days and the beginnings of days are the same texts.

    Parameters
    ----------
    rows
        Values of each row, in the order of the query's columns.
    """
    return [[_plain(value) for value in row] for row in rows]


def _plain(value: Any) -> Any:
    return value.strftime("%Y-%m-%d") if isinstance(value, datetime.date) else value
