"""Which functions look at values one by one in Python: told by how many calls a kernel makes for few rows and for many."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import pyarrow as pa

from sframe_spark.expressions.functions.scalar_function import evaluate
from sframe_spark.types import FLOAT, INT, STR, ColumnType, list_of
from sframe_spark.values.calendar_intervals import YEAR_0
from sframe_spark.values.datetimes import DAY
from sframe_spark.values.python_to_arrow import encode_plain
from tests.expressions.functions.test_spark_columns import ARITY, BINARY, GRIDS, PARAMETERS, own_functions
from tests.work import calls_of

TRIED, FEW, MANY = 20, 30, 150
NO_CALENDAR = (None, False, 0, 0, None)
# Parameters of functions that have no Spark expression for any type.
MORE_PARAMETERS: dict[str, list[tuple[Any, ...]]] = {
    "element_at": [(0, INT), ("a", INT), (1, FLOAT)],
    "element_slice": [(1, None, 2)],
    "vector_slice": [(0, 1)],
    **{f"str_{name}": [(None,)] for name in ("strip", "lstrip", "rstrip")},
    **{f"str_{name}": [("a",)] for name in ("removeprefix", "removesuffix", "count", "rfind", "match", "fullmatch", "join")},
    "str_zfill": [(5,)],
    "str_extract": [("a(.)", 1)],
    "str_like": [("a_%", False)],
    "str_split": [(None, -1)],
    "str_rsplit": [("a", 1)],
    "hash": [(7,)],
    "drawn": [(7, 0.5)],
    "floor_time": [(7, 0, *NO_CALENDAR), (None, 0, 1, True, YEAR_0, 0, None), (None, 0, DAY, False, 0, 0, "America/New_York")],
    "in_zone": [("America/New_York",)],
    "from_zone": [("America/New_York", "earlier", "forward")],
    "from_zone_or_missing": [("America/New_York", "missing", "missing")],
    "calendar_shift": [(None, 1, None, None, 0, 0, ()), ("America/New_York", 0, 1, 3, 1, 1, (0, 1))],
    "moment_text": [("%a %d.%m.%Y %T%F %ZP",)],
    "moment_of_text": [("%Y-%m-%d %ZP",)],
}
CELLS: dict[str, tuple[ColumnType, list[Any], tuple[Any, ...]]] = {
    "slot": (list_of(INT), [[1, 2], [3, None]], (1, INT, False, None)),
    "moment_of_text": (STR, ["2024-02-29 Z", None], ("%Y-%m-%d %ZP",)),
}
ELSEWHERE = {"add_duration", "calendar_tick", "tick_time"}
"""They take numbers and date-times that the others' grids do not have."""


def columns_of(types: tuple[ColumnType, ...], cells: list[list[Any]], rows: int) -> list[pa.Array]:
    """So many rows of values that come again and again."""
    return [encode_plain([grid[row % len(grid)] for row in range(rows)], kind) for grid, kind in zip(cells, types, strict=True)]


def calls_made(name: str, types: tuple[ColumnType, ...], cells: list[list[Any]], parameters: tuple[Any, ...], rows: int) -> int:
    """How many functions, of Python and of C, a kernel calls for so many rows."""
    columns = columns_of(types, cells, rows)
    evaluate(name, columns, types, parameters, rows)
    return calls_of(lambda: evaluate(name, columns, types, parameters, rows))


def is_row_by_row(name: str, types: tuple[ColumnType, ...], cells: list[list[Any]], parameters: tuple[Any, ...]) -> bool:
    """True where more rows are more calls."""
    few, many = (calls_made(name, types, cells, parameters, rows) for rows in (FEW, MANY))
    return many - few > (MANY - FEW) / 4


@lru_cache
def kernels() -> tuple[tuple[str, tuple[ColumnType, ...], list[list[Any]], tuple[Any, ...]], ...]:
    """What all tests look at, found once: each combination is tried, which takes half a second."""
    return tuple(found_kernels())


def found_kernels() -> Iterator[tuple[str, tuple[ColumnType, ...], list[list[Any]], tuple[Any, ...]]]:
    """Each function with each combination of types that it takes, and values of them."""
    columns = {kind: columns_of((kind,), [grid], TRIED)[0] for kind, grid in GRIDS.items()}
    for name in sorted(own_functions()):
        if name in ELSEWHERE or name == "literal":
            continue
        if name in CELLS:
            kind, values, parameters = CELLS[name]
            yield name, (kind,), [values], parameters
            continue
        arity = ARITY.get(name, 2 if name in BINARY else 1)
        for types in itertools.product(*[(INT,)] * (arity == 3), *[GRIDS] * min(arity, 2)):
            for parameters in (*PARAMETERS.get(name, ()), *MORE_PARAMETERS.get(name, ())) or ((),):
                if takes(name, types, columns, parameters):
                    yield name, types, [GRIDS[kind] for kind in types], parameters
                    break


def takes(name: str, types: tuple[ColumnType, ...], columns: dict[ColumnType, pa.Array], parameters: tuple[Any, ...]) -> bool:
    """Whether a function is computed for columns of such types, of which there is one of each."""
    try:
        evaluate(name, [columns[kind] for kind in types], types, parameters, TRIED)
    except (TypeError, RuntimeError, ValueError, IndexError, KeyError):
        return False
    return True
