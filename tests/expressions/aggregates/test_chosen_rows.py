"""First rows and best rows: one value by every way of their state columns, for any cut of the rows."""

from __future__ import annotations

import datetime
import math
import pickle
import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sframe_spark.expressions.aggregates.aggregate_function import AGGREGATES
from sframe_spark.types import DATETIME, FLOAT, INT, STR, ZONED_DATETIME, ColumnType, list_of
from tests.examples import examples
from tests.expressions.aggregates.every_way import Rows, check_every_way

EPOCH = datetime.datetime(1970, 1, 1)
INSTANTS = [EPOCH + datetime.timedelta(hours=hours) for hours in (-5, 0, 3)]
VALUES: dict[str, tuple[ColumnType, list[Any]]] = {
    "int": (INT, [0, 1, -1, 2**63 - 1, -(2**63), None]),
    "float": (FLOAT, [0.0, -0.0, 1.5, -2.0, math.inf, -math.inf, math.nan, None]),
    "datetime": (DATETIME, [*INSTANTS, None]),
    "zoned": (ZONED_DATETIME, [None, *({"instant": instant, "offset": offset} for instant in INSTANTS for offset in (None, -120, 60))]),
    "str": (STR, ["", "b", "some longer text", None]),
    "list": (list_of(INT), [[], [1, None], [3], None]),
}
ORDERED = ("int", "float", "datetime", "zoned")


def random_rows(kinds: list[str], choose: random.Random) -> tuple[Rows, list[ColumnType]]:
    """Rows of some columns in at least one group; few or many of them have a value."""
    count = choose.choice([1, 2, 9, 40])
    groups = choose.randint(1, min(count, choose.choice([1, 3, 40])))
    codes = [*range(groups), *(choose.randrange(groups) for _ in range(count - groups))]
    choose.shuffle(codes)
    columns = []
    for kind in kinds:
        column_type, values = VALUES[kind]
        some = choose.sample(values, choose.randint(1, len(values)))
        columns.append(pa.array([choose.choice(some) for _ in range(count)], column_type.physical, from_pandas=False))
    return Rows(columns, np.array(codes), groups), [VALUES[kind][0] for kind in kinds]


def rank(value: Any) -> Any:
    return value["instant"] if isinstance(value, dict) else value


def best_rows(values: list[Any], largest: bool) -> list[int]:
    """The rows with the best value: NaN only without numbers."""
    present = [row for row, value in enumerate(values) if value is not None]
    numbers = [row for row in present if values[row] == values[row]]
    if not numbers:
        return present
    best = (max if largest else min)(rank(values[row]) for row in numbers)
    return [row for row in numbers if rank(values[row]) == best]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("carried", ["int", "str", "list", "float"])
@pytest.mark.parametrize("kind", ORDERED)
@pytest.mark.parametrize("name", ["argmin", "argmax"])
def test_the_value_in_the_best_row(name: str, kind: str, carried: str) -> None:
    def model(columns: list[list[Any]]) -> Any:
        rows = best_rows(columns[0], name == "argmax")
        return columns[1][rows[0]] if rows else None

    for seed in range(examples(30)):
        choose = random.Random(seed)
        rows, types = random_rows([kind, carried], choose)
        of_columns = AGGREGATES[name].of_columns
        assert of_columns is not None
        aggregate = of_columns(types, (0, 1), ())
        assert aggregate is not None and aggregate.needs_order and pickle.loads(pickle.dumps(aggregate.states)) == aggregate.states
        check_every_way(aggregate, rows, model, choose)


@pytest.mark.parametrize("kind", ORDERED)
@pytest.mark.parametrize("name", ["argmin_row", "argmax_row"])
def test_the_last_of_the_best_rows_by_id(name: str, kind: str) -> None:
    def model(columns: list[list[Any]]) -> Any:
        rows = best_rows(columns[0], name == "argmax_row")
        return max((columns[1][row] for row in rows), default=None)

    for seed in range(examples(30)):
        choose = random.Random(seed)
        rows, types = random_rows([kind], choose)
        ids = choose.sample(range(-50, 1000), len(rows.codes))
        rows = Rows([*rows.columns, pa.array(ids)], rows.codes, rows.groups)
        of_columns = AGGREGATES[name].of_columns
        assert of_columns is not None
        aggregate = of_columns([*types, INT], (0, 1), ())
        assert aggregate is not None and not aggregate.needs_order
        check_every_way(aggregate, rows, model, choose)


@pytest.mark.parametrize("kind", VALUES)
def test_the_value_in_the_first_row(kind: str) -> None:
    for seed in range(examples(30)):
        choose = random.Random(seed)
        rows, types = random_rows([kind], choose)
        of_columns = AGGREGATES["select_one"].of_columns
        assert of_columns is not None
        aggregate = of_columns(types, (0,), ())
        assert aggregate is not None
        check_every_way(aggregate, rows, lambda columns: columns[0][0] if columns[0] else None, choose)
