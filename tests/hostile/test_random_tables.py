"""Any table through any door: rows come in and can be looked at, or an error of ours names the user's column."""

from __future__ import annotations

import tempfile
import warnings
from typing import Any

import pyarrow as pa
import pytest

from sframe_spark import SFrame
from sframe_spark.errors import SFrameError
from tests.docs.interchange import DOORS_IN
from tests.examples import examples
from tests.hostile.random_tables import random_table

TABLES = examples(120)
CAMPAIGN = 2_000
ENGINE_NAMES = ("c0", "c1", "c2", "c3")


def given_to(door: str, table: pa.Table, directory: str) -> Any:
    """What the other library makes of a table; None where it makes nothing."""
    make, _ = DOORS_IN[door]
    try:
        return make(table, directory)
    except BaseException as error:
        assert not isinstance(error, (SFrameError, KeyboardInterrupt))
        return None


def check(door: str, seed: int) -> None:
    table = random_table(seed)
    with tempfile.TemporaryDirectory() as directory, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = given_to(door, table, directory)
        if given is None:
            return
        try:
            frame = DOORS_IN[door][1](given)
            rows = list(frame)
            str(frame), repr(frame)
        except SFrameError as error:
            require_told(str(error), table)
        else:
            require_same(frame, rows, table)


def require_told(message: str, table: pa.Table) -> None:
    """The message has the name of one of the columns as the user wrote it, of several where rows are not told apart, and no name of the engine's."""
    named = [name for name in table.column_names if repr(name) in message or name in message]
    assert named, message
    assert "\x1b" not in message and "\u202e" not in message, message
    assert not any(f"column '{name}'" in message for name in ENGINE_NAMES if name not in table.column_names), message


def require_same(frame: SFrame, rows: list[dict[str, Any]], table: pa.Table) -> None:
    """As many rows, the names of the columns, and what goes out to Arrow comes back as it was."""
    assert len(rows) == len(frame) == table.num_rows
    # Polars and DuckDB give a column without a name one.
    assert all(ours == theirs or not theirs for ours, theirs in zip(frame.column_names(), table.column_names, strict=True))
    again = SFrame(frame.to_arrow())
    assert again.column_types() == frame.column_types()
    assert repr(list(again)) == repr(rows)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("door", DOORS_IN)
def test_random_tables(door: str) -> None:
    for seed in range(TABLES):
        check(door, seed)


@pytest.mark.campaign
@pytest.mark.parametrize("door", DOORS_IN)
def test_many_random_tables(door: str) -> None:
    for seed in range(CAMPAIGN):
        check(door, seed)
