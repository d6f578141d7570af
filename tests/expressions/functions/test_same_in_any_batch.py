"""What a function gives for a list or dict does not depend on the rows beside it: they choose between a kernel of Arrow's and Python."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from sframe_spark.expressions.functions.scalar_function import FUNCTIONS
from sframe_spark.types import ARRAY, DICT_KIND, ENCODED_DICT, ENCODED_LIST, FLOAT, INT, STR, ColumnType
from sframe_spark.values.arrow_to_python import decode
from sframe_spark.values.python_to_arrow import encode
from tests.examples import examples, part

# Items that are alike in many lists, and some that are at the edges of what a form of Arrow's holds.
NUMBERS: list[Any] = [0, 1, -1, 7, 2**53 + 1, -(2**63), 2**63 - 1, 10**17, 0.5, -0.0, 1e20, 1e300, 5e-324, 0.1]
ODD: list[Any] = [float("nan"), float("inf"), -float("inf"), "", 'say "x"', "a\\b", "a,b", "]", "null", "1", "\n", "é", "\x7f", "\0", "\U0001f600"]
POOLS: list[list[Any]] = [[0, 1, 2], [0.5, -0.0], ["a", "b", "é"], [2**53 + 1, None], [2**53 + 1, 0.5], NUMBERS, [*ODD, None], [*NUMBERS, *ODD, None]]
KEYS: list[list[Any]] = [["a", "b", ""], [0, 1, -1, 2**53 + 1], ['say "x"', "a,b", "]", "\\", "é"], ["a", "b"]]
# A row with one of these is read by Python, and so are those beside it.
DEEP: dict[str, Any] = {"list": [[["x"]]], "dict": {"a": [["x"]]}}
Call = tuple[str, tuple[Any, ...]]


def calls(choose: random.Random, kind: str, item: Any, keys: list[Any]) -> list[Call]:
    """Functions with parameters, of which some are about values that are there."""
    some = tuple(choose.sample(keys, choose.randrange(1, len(keys))))
    shared: list[Call] = [
        *((name, ()) for name in ("is_missing", "is_not_missing", "truth", "item_length")),
        ("cast", (STR, False)),
        ("hash", (7,)),
        ("contains", (item,)),
    ]
    if kind == DICT_KIND:
        bounds = choose.choice([(1, None), (None, 0.5), (-1, 2**53 + 1), (0.5, float("inf")), (float("nan"), None), (None, None)])
        return [
            *shared,
            *((name, ()) for name in ("dict_keys", "dict_values")),
            *((name, (some, flag)) for name in ("dict_has_keys", "dict_trim_keys") for flag in (True, False)),
            ("dict_trim_values", bounds),
            ("slots", (some,)),
            ("contains", (some[0],)),
            ("is_in", (({some[0]: item}, None),)),
            ("fill_missing", ({some[0]: 1},)),
        ]
    start, stop, step = (choose.choice([None, -2, -1, 0, 1, 2, 5]) for _ in range(3))
    return [
        *shared,
        ("vector_slice", (choose.randrange(3), choose.choice([None, 3, 4]))),
        ("element_slice", (start, stop, step or None)),
        ("slots", ((0, 2, 5),)),
        ("is_in", (([item], [1, item], None),)),
        ("fill_missing", ([],)),
        ("cast", (ARRAY, True)),
    ]


def cells_of(choose: random.Random, kind: str, pool: list[Any], keys: list[Any]) -> list[Any]:
    """Lists or dicts of a few items."""

    def cell() -> Any:
        if choose.random() < 0.2:
            return None
        items = [choose.choice(pool) for _ in range(choose.choice([0, 1, 1, 2, 3]))]
        return items if kind != DICT_KIND else dict(zip(choose.sample(keys, len(items) if len(items) < len(keys) else 0), items, strict=False))

    return [cell() for _ in range(choose.randrange(1, 7))]


def outcome(compute: Callable[[], pa.Array], column_type: ColumnType) -> Any:
    """The values as text, NaN and zeros told apart; the class of the error where there is one."""
    try:
        return [*map(repr, decode(compute(), column_type))]
    except (RuntimeError, TypeError, ValueError) as error:
        return type(error)


def check_items(cells: list[Any], column_type: ColumnType, wanted: tuple[Any, ...]) -> None:
    """The first items as ``unpack`` makes columns of them, beside an int that is too long for Arrow's form, and not."""
    slots, slot = FUNCTIONS.named("slots"), FUNCTIONS.named("slot")
    result = slots.infer([column_type], (wanted,))
    long = {wanted[0]: 10**18} if column_type.kind == DICT_KIND else [10**18]
    for kind in (INT, FLOAT, STR):

        def items(rows: list[Any], kind: ColumnType = kind) -> pa.Array:
            texts = slots.kernel([encode(rows, column_type)], [column_type], (wanted,), len(rows))
            return slot.kernel([texts], [result], (0, kind, True, None), len(rows))

        together = outcome(lambda items=items: items(cells), kind)
        assert outcome(lambda items=items: items([*cells, long])[:-1], kind) == together, ("slot", kind, wanted, cells)


def check(choose: random.Random) -> None:
    """Each call alone, beside others, and beside one that Python reads."""
    column_type = choose.choice([ENCODED_LIST, ENCODED_DICT])
    pool, keys = choose.choice(POOLS), choose.choice(KEYS)
    cells = cells_of(choose, column_type.kind, pool, keys)
    deep = {keys[0]: DEEP["dict"]} if column_type.kind == DICT_KIND else DEEP["list"]
    for name, parameters in calls(choose, column_type.kind, choose.choice(pool), keys):
        function = FUNCTIONS.named(name)
        result = function.infer([column_type], parameters)

        def of(rows: list[Any], function: Any = function, parameters: tuple[Any, ...] = parameters) -> pa.Array:
            return function.kernel([encode(rows, column_type)], [column_type], parameters, len(rows))

        together = outcome(lambda of=of: of(cells), result)
        assert outcome(lambda of=of: of([*cells, deep])[:-1], result) == together, (name, parameters, cells)
        alone = [outcome(lambda of=of, cell=cell: of([cell]), result) for cell in cells]
        joined = next((found for found in alone if isinstance(found, type)), None) or [text for texts in alone for text in texts]
        assert joined == together, (name, parameters, cells)
        if name == "slots" and not isinstance(together, type):
            check_items(cells, column_type, parameters[0])


@pytest.mark.parametrize("seed", part(range(examples(60, every=1)), 15))
def test_rows_beside_change_nothing(seed: int) -> None:
    check(random.Random(seed))
