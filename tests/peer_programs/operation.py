"""What an operation of random programs is: how it is drawn, and how it is written for three libraries."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import attrs
import polars as pl

from sframe_spark import SFrame
from sframe_spark.types import DATETIME, ZONED_DATETIME, ColumnType
from tests.peer_programs.differences import differs
from tests.peer_programs.tables import Table, other_table

FOREVER = 10**9
ROW, OTHER_ROW = "row of the frame", "row of the other"
Parameters = dict[str, Any]


@attrs.define
class Draw:
    """What an operation may be drawn from: the columns that the frame has by now.

    Parameters
    ----------
    choose
        Randomness.
    table
        The rows at the start.
    peer
        For whom the program is written.
    numbers
        Names of columns with numbers.
    timed
        Whether the rows are in the order of a column ``time``.
    result
        The name of the column that the operation may add.
    """

    choose: random.Random
    table: Table
    peer: str
    numbers: Sequence[str]
    timed: bool
    keyed: bool
    result: str

    @property
    def kind(self) -> ColumnType:
        """The type of the times."""
        return self.table.kinds["time"]

    @property
    def dated(self) -> bool:
        """Whether times are date-times."""
        return self.kind in (DATETIME, ZONED_DATETIME)

    def one(self, *values: Any) -> Any:
        """One of some values."""
        return self.choose.choice(values)

    def number(self) -> str:
        """A column of numbers."""
        return self.choose.choice(list(self.numbers))

    def exact(self) -> str:
        """A column of numbers that no library has rounded, for what depends on whether values are equal."""
        return self.choose.choice([name for name in ("x", "n", "w") if name in self.numbers] or list(self.numbers))

    def by(self) -> str | None:
        """The key, or none."""
        return self.one("key", "key", None) if self.keyed else None

    def other(self) -> Table:
        """Another table, for a join."""
        return other_table(self.choose, self.table, self.peer)


class Operation:
    """An operation and its programs: `draw` gives parameters or None, the others take a frame and these and give a frame."""

    def draw(self, d: Draw) -> Parameters | None:
        """Random parameters, or None if the frame has not what is needed."""
        raise NotImplementedError

    def here(self, sf: SFrame, p: Parameters) -> SFrame:
        """The program of this library."""
        raise NotImplementedError

    def polars(self, df: Any, p: Parameters) -> Any:
        """The same in Polars."""
        raise NotImplementedError

    def pandas(self, df: Any, p: Parameters) -> Any:
        """The same in pandas."""
        raise NotImplementedError


def over(expression: Any, by: str | None) -> Any:
    """An expression of Polars by key."""
    return expression if by is None else expression.over(by)


def without_sign(expression: Any) -> Any:
    """An expression of Polars with zero for -0.0."""
    differs("zero has no sign")
    return pl.when(expression == 0).then(0.0).otherwise(expression)


def by_key(df: Any, column: str, by: str | None, function: Any) -> Any:
    """A function of pandas of a column, or of the rows of each key; missing keys are one key."""
    return function(df[column]) if by is None else df.groupby(by, dropna=False, sort=False, group_keys=False)[column].transform(function)


def parts_of(df: Any, by: str | None) -> list[Any]:
    """The rows of each key, in Polars or pandas."""
    if by is None:
        return [df]
    if isinstance(df, pl.DataFrame):
        return df.partition_by(by, maintain_order=True) or [df]
    return [part for _, part in df.groupby(by, dropna=False, sort=False)] or [df]


def beside(df: Any, by: str | None, of_part: Any) -> Any:
    """A frame of Polars with what a function makes of the rows of each key beside them."""
    numbered = df.with_row_index(ROW)
    found = [pl.concat([part, of_part(part)], how="horizontal") for part in parts_of(numbered, by)]
    return pl.concat(found, how="vertical_relaxed").sort(ROW).drop(ROW)
