"""A function that refuses some values says so: no filter that comes before it is then left to be asked together with it."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sframe_spark import SArray, SFrame, load_sframe
from sframe_spark.errors import SFrameError
from sframe_spark.expressions.functions.scalar_function import FUNCTIONS
from sframe_spark.types import ARRAY, DATETIME, ENCODED_DICT, ENCODED_LIST, FLOAT, INT, STR, ColumnType, dict_of, list_of
from sframe_spark.values.python_to_arrow import encode
from tests.expressions.functions.test_spark_columns import own_functions

# No missing values, which every function takes.
GRIDS: dict[ColumnType, list[Any]] = {
    INT: [0, 1, -(2**63), 2**63 - 1],
    FLOAT: [0.0, -0.5, float("nan"), float("inf"), 1e300],
    STR: ["", "x", "1", "nan"],
    DATETIME: [datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31)],
    ARRAY: [[1.0, float("nan")], []],
    list_of(INT): [[1, None], []],
    list_of(STR): [["a", None], []],
    ENCODED_LIST: [[1, "a"], [[1], {"a": 1}], []],
    dict_of(STR, INT): [{"a": 1}, {}],
    dict_of(INT, FLOAT): [{1: 0.5}, {}],
    ENCODED_DICT: [{"a": 1}, {1: "x"}, {"b": [1]}, {}],
}
KEYS: list[Any] = [("a",), (1,), ("a", "b"), (), ("a", 1)]
PARAMETERS: list[tuple[Any, ...]] = [
    (),
    *((keys, flag) for keys in KEYS for flag in (True, False)),
    *((keys,) for keys in [*KEYS, (0,), (0, 5)]),
    (0, 1),
    (None, None, -1),
    (1, None),
    ("a",),
    (1,),
    ((), None),
    (INT, False),
    (STR, False),
    (ENCODED_DICT,),
]


def refuses_some(name: str, columns: list[pa.Array], column_type: ColumnType, parameters: tuple[Any, ...]) -> bool:
    """Whether a function of one column takes some values of a type and refuses others; parameters that are another's it refuses with all."""
    function = FUNCTIONS.named(name)
    outcomes = set()
    try:
        function.infer([column_type], parameters)
    except Exception:
        return False
    for column in columns:
        try:
            function.kernel([column], [column_type], parameters, 1)
            outcomes.add("taken")
        except SFrameError:
            outcomes.add("refused")
        except Exception:
            return False
    return len(outcomes) == 2


def test_functions_that_refuse_values_say_so() -> None:
    grids = {kind: [encode([value], kind) for value in values] for kind, values in GRIDS.items()}
    found = {
        name
        for name in own_functions()
        for kind, columns in grids.items()
        for parameters in PARAMETERS
        if refuses_some(name, columns, kind, parameters)
    }
    assert {"dict_has_keys", "dict_trim_keys", "slots", "cast"} <= found
    assert {name for name in found if not FUNCTIONS.named(name).may_fail} == set()


MASKS: dict[str, Callable[[SArray], SArray]] = {
    "has a key": lambda dicts: dicts.dict_has_any_keys(["a"]),
    "trimmed": lambda dicts: dicts.dict_trim_by_keys(["a"], exclude=False).item_length(),
    "unpacked": lambda dicts: dicts.unpack(limit=["a"], column_types=[int])["X.a"] == 1,
}


@pytest.mark.parametrize("is_saved", [False, True])
@pytest.mark.parametrize("name", MASKS)
def test_rows_that_a_filter_has_left_out_are_not_refused(name: str, is_saved: bool, tmp_path: Path) -> None:
    frame = SFrame({"n": range(6), "d": SArray([{"a": 1}, {1: 2}, {"b": "x"}, {2: 1}, {}, None], dict)})
    if is_saved:
        frame.save(str(tmp_path / "f"))
        frame = load_sframe(str(tmp_path / "f"))
    even = frame[frame["n"] % 2 == 0]
    assert list(even[MASKS[name](even["d"])]["n"]) == [0]
    with pytest.raises(RuntimeError, match="search for keys of their class"):
        list(MASKS[name](frame["d"]))


@pytest.mark.parametrize("others", [{"b": 1}, {"b": "x"}, {"b": [1, "x"]}])
def test_unpack_refuses_keys_of_another_class_however_dicts_are_stored(others: dict[str, Any]) -> None:
    column = SArray([None, {}, {"a": 1}, others], dict)
    with pytest.raises(RuntimeError, match="search for keys of their class"):
        list(column.unpack(limit=[0], column_types=[str]))
    with pytest.raises(RuntimeError, match="search for keys of their class"):
        # The first rows have no keys, and so no form of Arrow's.
        list(column[:2].append(column[2:]).unpack(limit=[0], column_types=[str]))
    assert list(SArray([None, {}], dict).unpack(limit=[0], column_types=[str])["X.0"]) == [None, None]


def test_unpack_of_all_keys_takes_rows_of_several_classes() -> None:
    frame = SArray([{"a": 1}, {1: 2}, {"a": [1, "x"], 2: 3}, None], dict).unpack()
    assert [repr(row) for row in frame["X.1"]] == ["None", "2", "None", "None"]
    assert sorted(frame.column_names()) == ["X.1", "X.2", "X.a"]
