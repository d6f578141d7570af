"""Random programs of one to four operations, run here and in Polars or pandas, and compared value by value."""

from __future__ import annotations

import datetime
import math
import random
from array import array
from collections.abc import Sequence
from typing import Any

import attrs
import pandas as pd
import polars as pl

from sframe_spark import SFrame
from sframe_spark.config import config
from tests.peer_programs.differences import differs
from tests.peer_programs.frame_operations import FRAME_OPERATIONS, Groups, Intervals
from tests.peer_programs.join_operations import JOIN_OPERATIONS
from tests.peer_programs.operation import Draw, Operation, Parameters
from tests.peer_programs.row_operations import ROW_OPERATIONS
from tests.peer_programs.tables import EPOCH, MICROSECOND, Table, random_table

OPERATIONS = (*ROW_OPERATIONS, *FRAME_OPERATIONS, *JOIN_OPERATIONS)
SEGMENTS = (None, 1, 2, 7)


@attrs.frozen
class Program:
    """A table and what is done with it."""

    seed: int
    peer: str
    table: Table
    steps: list[tuple[Operation, Parameters]]

    def __str__(self) -> str:
        lines = [f"program {self.seed} of {self.peer}, zone {self.table.zone}"]
        lines += [f"  {name}: {values}" for name, values in self.table.columns.items()]
        return "\n".join([*lines, *(f"  {type(operation).__name__} {parameters}" for operation, parameters in self.steps)])

    def here(self, segments: int | None) -> SFrame:
        """The program over the rows in memory, or in segments."""
        sf = self.table.here(segments, random.Random(self.seed))
        for operation, parameters in self.steps:
            sf = operation.here(sf, parameters)
        return sf

    def there(self) -> Any:
        """The program of the other library."""
        frame = self.table.polars() if self.peer == "polars" else self.table.pandas()
        for operation, parameters in self.steps:
            frame = (operation.polars if self.peer == "polars" else operation.pandas)(frame, parameters)
        return frame


def random_peer_program(seed: int, peer: str) -> Program:
    """A program for Polars or pandas."""
    choose = random.Random(f"{peer} {seed}")
    table = random_table(choose, peer)
    steps: list[tuple[Operation, Parameters]] = []
    sf, nans = table.here(None, choose), set[str]()
    for _ in range(choose.choice((1, 1, 2, 3, 4))):
        names = [
            name
            for name, kind in zip(sf.column_names(), sf.column_types(), strict=True)
            if kind in (int, float) and name != "time" and name not in nans
        ]
        last = steps[-1][0] if steps else None
        timed = "time" in sf.column_names() and not (isinstance(last, Intervals) and steps[-1][1]["by"])
        if not names:
            break
        d = Draw(choose, table, peer, names, timed, "key" in sf.column_names(), f"s{len(steps)}")
        operation = choose.choice(OPERATIONS)
        parameters = operation.draw(d)
        if parameters is not None:
            steps.append((operation, parameters))
            sf = operation.here(sf.copy(), parameters)
            nans |= columns_with_nan(sf) if peer == "pandas" else set()
        if isinstance(operation, (Groups, Intervals)) and parameters is not None:
            break
    return Program(seed, peer, table, steps)


def columns_with_nan(sf: SFrame) -> set[str]:
    """Names of columns that hold a NaN, which pandas takes for missing: no later operation of a program of pandas reads them."""
    return {name for name, values in columns_here(sf).items() if any(isinstance(value, float) and math.isnan(value) for value in values)}


def plain(value: Any) -> Any:
    """A value of any of the libraries: None, a float, a text, microseconds since 1970, or a list."""
    if value is None or value is pd.NaT or value is pd.NA:
        return None
    if isinstance(value, (list, array)) or type(value).__name__ in ("ndarray", "Series"):
        return [plain(item) for item in value]
    if isinstance(value, datetime.datetime):
        at = value.to_pydatetime() if isinstance(value, pd.Timestamp) else value
        return (at.replace(tzinfo=at.tzinfo or datetime.UTC) - EPOCH) // MICROSECOND
    return value if isinstance(value, str) else float(value)


def columns_here(sf: SFrame) -> dict[str, list[Any]]:
    """The values of a frame of this library."""
    rows = list(sf)
    return {name: [plain(row[name]) for row in rows] for name in sf.column_names()}


def columns_there(frame: Any) -> dict[str, list[Any]]:
    """The values of a frame of Polars, or of pandas, where NaN is missing."""
    if isinstance(frame, pl.DataFrame):
        return {name: [plain(value) for value in frame[name].to_list()] for name in frame.columns}
    return without_nan({name: [plain(value) for value in frame[name].tolist()] for name in frame.columns})


def without_nan(columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Columns with None for NaN, which are one in pandas."""
    return {name: [None if isinstance(value, float) and math.isnan(value) else value for value in values] for name, values in columns.items()}


def same(first: Any, second: Any) -> bool:
    """Return whether two plain values are equal but for last digits."""
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(same, first, second))
    if isinstance(first, (int, float)) and isinstance(second, (int, float)):
        return (math.isnan(first) and math.isnan(second)) or math.isclose(first, second, rel_tol=1e-8, abs_tol=1e-7)
    return bool(first == second)


def differences(found: dict[str, list[Any]], wanted: dict[str, list[Any]]) -> Sequence[str]:
    """Lines that tell which columns, and where, differ."""
    if sorted(found) != sorted(wanted):
        return [f"columns {sorted(found)} here, {sorted(wanted)} there"]
    lines = []
    for name, values in found.items():
        if len(values) != len(wanted[name]):
            lines.append(f"{name}: {len(values)} rows here, {len(wanted[name])} there: {values} {wanted[name]}")
        else:
            places = [place for place, pair in enumerate(zip(values, wanted[name], strict=True)) if not same(*pair)]
            lines += [f"{name}: {values[place]} here, {wanted[name][place]} there, in row {place}" for place in places[:3]]
    return lines


def check_program(program: Program, ways: Sequence[int | None] = SEGMENTS, little: bool = True) -> None:
    """Compare the rows of a program with those of the other library, from memory and segments, with room and with little."""
    wanted = columns_there(program.there())
    for segments in ways:
        with config.using(work_memory=300 if little and segments == 2 else None, batch_rows=3 if segments == 7 else config.batch_rows):
            found = columns_here(program.here(segments))
        if program.peer == "pandas":
            differs("NaN in pandas")
            found = without_nan(found)
        lines = differences(found, wanted)
        assert not lines, "\n".join([str(program), f"segments: {segments}", *lines])
