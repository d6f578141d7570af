"""Calls of members with right and wrong arguments: what the reference gives, or what it raises, by the call or by a look at the rows.

``tests/data/call_facts.jsonl`` holds calls as text and what the reference did with each.
"""

from __future__ import annotations

import array
import contextlib
import datetime
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sframe_spark import SArray, SFrame, aggregate, config
from sframe_spark.errors import SFrameError

FACTS = [json.loads(line) for line in (Path(__file__).parents[1] / "data" / "call_facts.jsonl").read_text().splitlines()]
GROUPS = 20
NOT_DEFINED = "is not defined for int and list; apply() calls your own function for each value, or for each row of a frame"
# A number of numpy on the left of a column asks the column, as numpy's functions do (docs/deviations.md).
OF_NUMPY: dict[str, list[Any]] = {
    "np.float64(1.5) + E": ["ok", ["SArray", "float", [], 0]],
    "np.float32(1.5) + E": ["ok", ["SArray", "float", [], 0]],
    "np.int64(1) / E": ["ok", ["SArray", "float", [], 0]],
    "np.int64(1) / L": ["raise", "call", f"UnsupportedOperationError: / {NOT_DEFINED}"],
    "np.bool_(True) % L": ["raise", "call", f"UnsupportedOperationError: remainder {NOT_DEFINED}"],
    "np.bool_(True) ** L": ["raise", "call", f"UnsupportedOperationError: ** {NOT_DEFINED}"],
}


# Names of types stand for classes, which Turi Create refuses (docs/deviations.md).
TYPE_NAME = re.compile("'int(64)?'")


def columns() -> dict[str, Any]:
    """Columns of every type under the names that the calls use, missing values among theirs."""
    arrays = [array.array("d", [1, 2]), None, array.array("d", [3, 4]), array.array("d", [0, 1])]
    times = [datetime.datetime(2020, 1, 1), None, datetime.datetime(2021, 5, 5, 3, 4, 5), datetime.datetime(1969, 1, 1)]
    return {
        "I": SArray([1, 2, None, 4]), "F": SArray([1.5, None, -2.0, 4.0]), "S": SArray(["a", "b", None, "10"]), "A": SArray(arrays),
        "L": SArray([[1, 2], None, [], ["x", 1]], list), "D": SArray([{"k": 1}, {}, None, {"k": 2.5}]), "T": SArray(times),
        "E": SArray([], int), "N": SArray([None] * 4, int), "I2": SArray([1, 2]),
    }  # fmt: skip


def names_of_calls() -> dict[str, Any]:
    """What the calls name."""
    found = columns()
    sf = SFrame({
        "a": [1, 2, 1, None], "b": [1.5, None, 2.5, 1.0], "s": ["x", "y", None, "x"], "l": [[1], None, [2, 3], []],
        "d": [{"k": 1}, None, {}, {"k": 2}],
    })  # fmt: skip
    wf = SFrame({
        "k": [1, 2, 1, 2], "a": [1, 2, 1, None], "b": [1.5, None, 2.5, 1.0], "s": ["x", "y", None, "x"],
        "l": SArray([[1], None, [2, 3], []], list), "d": [{"k": 1}, None, {}, {"k": 2}], "t": found["T"], "v": found["A"],
        "lf": SArray([[1, 2], [3, 4], [5, 6], [1.0, 2]], list), "mix": SArray([["a"], [1], [None], []], list),
        "vs": SArray([array.array("d", [1]), array.array("d", [1, 2]), None, array.array("d", [])]),
    })  # fmt: skip

    def changed(frame: SFrame, change: Callable[[SFrame], object]) -> SFrame:
        change(frame)
        return frame

    return {
        **found, "SA": SArray, "SF": SFrame, "agg": aggregate, "np": np, "pd": pd, "datetime": datetime, "array": array, "sf": sf, "wf": wf,
        "nan": float("nan"), "inf": float("inf"), "cp": sf.copy, "ef": lambda: sf[0:0],
        "ret": lambda value, change=None: value if change is None else changed(value, change),
        "setit": lambda key, value: changed(sf.copy(), lambda frame: frame.__setitem__(key, value)),
        "delit": lambda key: changed(sf.copy(), lambda frame: frame.__delitem__(key)),
        "efset": lambda key, value: changed(SFrame({"a": SArray([], int)}), lambda frame: frame.__setitem__(key, value)),
        "noset": lambda key, value: changed(SFrame(), lambda frame: frame.__setitem__(key, value)),
    }  # fmt: skip


def plain(value: Any) -> list[Any]:
    """A value as it is recorded, with its class."""
    kind = type(value)
    if kind is float:
        return ["float", repr(float(f"{value:.9g}"))]
    if value is None or kind in (bool, int, str):
        return [kind.__name__, repr(value)]
    if kind in (list, tuple):
        return [kind.__name__, *map(plain, value[:50])]
    if isinstance(value, dict):
        return ["dict", *sorted(([plain(key), plain(item)] for key, item in value.items()), key=repr)]
    if kind is array.array:
        return ["array", *map(plain, value)]
    if isinstance(value, datetime.datetime):
        return ["datetime", value.isoformat()]
    if isinstance(value, np.ndarray):
        return ["ndarray", value.dtype.str, *map(plain, value.tolist())]
    if isinstance(value, np.generic):
        return [kind.__name__, repr(value.item())]
    return ["type", value.__name__] if isinstance(value, type) else ["?", kind.__name__]


def looked_at(value: Any) -> list[Any]:
    """What a look at a result shows."""
    if isinstance(value, SArray):
        return ["SArray", value.dtype.__name__, [plain(item) for item in value.head(30)], len(value)]
    if isinstance(value, SFrame):
        classes = [kind.__name__ for kind in value.column_types()]
        return ["SFrame", value.column_names(), classes, [plain(row) for row in value.head(30)], len(value)]
    return ["tuple", *map(looked_at, value)] if isinstance(value, tuple) else plain(value)


def outcome(call: str, names: dict[str, Any], expected: list[Any]) -> list[Any]:
    """What a call gives; of an error the recorded class if it is of it."""
    when = "call"
    try:
        value = eval(call, names)
        when = "look"
        return ["ok", looked_at(value)]
    except Exception as error:
        classes = [kind.__name__ for kind in type(error).__mro__]
        return ["raise", when, expected[2] if expected[0] == "raise" and expected[2] in classes else f"{classes[0]}: {error}"]


@pytest.mark.parametrize("group", range(GROUPS))
def test_calls_do_what_they_do_in_the_reference(group: int) -> None:
    names, different = names_of_calls(), {}
    with config.using(small_rows=1000), contextlib.redirect_stdout(io.StringIO()):
        for call, expected in FACTS[group::GROUPS]:
            found = outcome(call, names, expected)
            expected = OF_NUMPY.get(call, expected)
            if TYPE_NAME.search(call) and expected[0] == "raise" and found[0] == "ok":
                expected = outcome(TYPE_NAME.sub("int", call), names, expected)
            if found != expected:
                different[call] = (found, expected)
    assert different == {}


def test_the_facts_are_of_all_kinds() -> None:
    kinds = {(fact[0], fact[1] if fact[0] == "raise" else fact[1][0]) for _, fact in FACTS}
    assert {("raise", "call"), ("raise", "look"), ("ok", "SArray"), ("ok", "SFrame"), ("ok", "tuple")} <= kinds
    assert {fact[2] for _, fact in FACTS if fact[0] == "raise"} >= {
        "TypeError",
        "ValueError",
        "RuntimeError",
        "KeyError",
        "OverflowError",
        "IndexError",
    }


def test_wrong_columns_are_refused_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    def none_is_made(*arguments: Any) -> None:
        raise AssertionError("an encoded column was made of values without a common type")

    monkeypatch.setattr("sframe_spark.api.node_value_conversion.encode_parts", none_is_made)
    for values in (["a", 1], [1, "x"], [{}, 1], [1, [1]], [object()], [1, datetime.datetime(2020, 1, 1)]):
        with pytest.raises(TypeError):
            SArray(values)


WRONG_CALLS = [
    "S.astype(int)", "S.astype(dict)", "SA(['a', 'b']).astype(float)", "L.astype(int)", "T.astype(list)", "S.cumulative_sum()", "S.cumulative_std()",
    "D.cumulative_max()", "S.rolling_mean(-1, 1)", "I.rolling_mean('a', 1)", "I.rolling_mean(1, -1)", "L.rolling_sum(0, 1)", "S.sum()", "S.mean()",
    "D.sort()", "S + 1", "S + I", "I['a']", "I[10]", "S.clip(1, 2)", "S.dict_keys()", "I.item_length()", "I.contains('a')", "I.str_to_datetime()",
    "S.datetime_to_str()", "I.unpack()", "I.apply(5)", "I.fillna('a')", "I.append(S)", "I.filter_by(['a'])", "I.is_topk('a')", "I.head('a')",
    "I.sample(2)", "I.vector_slice(0)", "SA.where(1, I, I)", "D.filter_by([{}])", "sf['zz']", "sf.sort('zz')", "sf.groupby('zz', {})", "sf.join(1)",
    "sf.join(sf, on='zz')", "sf.append(SF({'c': [1]}))", "sf.add_column(SA([1]))", "sf.stack('a')", "sf.unpack('a')", "sf.pack_columns(['zz'])",
    "sf == sf", "sf.drop_duplicates(['d'])", "sf.filter_by([{}], 'd')", "SF({'a': 5})",
]  # fmt: skip


@pytest.mark.parametrize("call", WRONG_CALLS)
def test_a_wrong_call_is_refused_by_itself_and_nothing_runs(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    names = names_of_calls()
    monkeypatch.setattr("sframe_spark.engine.execution.plan_executor.Executor.execute", lambda *arguments: pytest.fail("a plan was run"))
    with pytest.raises(SFrameError):
        eval(call, names)


def test_a_cast_of_rows_that_are_not_in_memory_waits_for_a_look() -> None:
    called: list[int] = []
    texts = SArray([1, 2]).apply(lambda value: called.append(value) or "x", dtype=str)
    many = SArray.from_sequence(10**9).astype(str).astype(int)
    cast = texts.astype(int)
    assert called == [] and not cast.is_materialized() and not many.is_materialized()
    with pytest.raises(RuntimeError, match="'x' cannot be cast to int"):
        list(cast)


@pytest.mark.parametrize(
    ("values", "item", "found"),
    [
        ([1, None], 1.0, True), ([1, 2], None, False), ([1, None], None, True), ([1.5], True, False), (["a"], "a", True), (["1"], 1, False),
        ([["a"], [1]], [1], False), ([["a"], ["b", 1]], ["b", 1], True), ([{"k": 1}], {"k": 1}, True), ([float("nan"), 1.0], float("nan"), True),
        ([2**63 - 1], 2**63, False), ([datetime.datetime(2020, 1, 1)], datetime.date(2020, 1, 1), True), ([], 1, False),
    ],
)  # fmt: skip
def test_a_value_is_in_a_column_where_a_row_equals_it(values: list[Any], item: Any, found: bool) -> None:
    column = SArray(values, list) if values and isinstance(values[0], list) else SArray(values)
    assert (item in column) is found
