"""Decimals of databases: those that are declared without digits after the point are ints with all their digits."""

from __future__ import annotations

import types
import warnings
from decimal import Decimal
from typing import Any

import pytest

from sframe_spark import SFrame, errors

LARGE = Decimal("987654321987654321")


def connection(column: tuple[Any, ...], values: list[Any]) -> Any:
    """A connection whose queries give one column of a declared type."""
    rows = [(value,) for value in values]

    def fetchmany(size: int = 128) -> list[Any]:
        batch, rows[:] = rows[:size], rows[size:]
        return batch

    members = {"description": [column], "execute": lambda *_: None, "fetchmany": fetchmany, "close": lambda: None, "arraysize": 128}
    cursor = types.SimpleNamespace(**members)
    # Of another class than its cursors, as a connection of DuckDB is not.
    return type("Connection", (), {"cursor": lambda self: cursor, "commit": lambda self: None, "rollback": lambda self: None})()


def declared(precision: Any, scale: Any) -> tuple[Any, ...]:
    return ("n", 1700, None, None, precision, scale, True)


def test_decimals_without_a_fraction_keep_their_digits() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frame = SFrame.from_sql(connection(declared(18, 0), [None, LARGE, Decimal(-1)]), "select n from t")
    assert frame.column_types() == [int] and list(frame["n"]) == [None, int(LARGE), -1]


@pytest.mark.parametrize("column", [declared(18, 2), declared(None, None), ("n", 1700), ("n", 1700, None)])
def test_other_decimals_are_floats(column: tuple[Any, ...]) -> None:
    assert list(SFrame.from_sql(connection(column, [Decimal("1.50"), None]), "select n from t")["n"]) == [1.5, None]


def test_what_64_bits_do_not_hold_is_refused_and_read_as_text_where_it_is_asked_for() -> None:
    beyond = Decimal("123456789012345678901234567890")
    with pytest.raises(errors.SFrameError, match="column 'n', row 0"):
        SFrame.from_sql(connection(declared(38, 0), [beyond]), "select n from t")
    frame = SFrame.from_sql(connection(declared(38, 0), [beyond]), "select n from t", column_type_hints={"n": str})
    assert list(frame["n"]) == [str(beyond)]
