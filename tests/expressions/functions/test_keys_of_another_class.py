"""Keys of another class than those of a dict: asked for all of them there is an answer, whatever the dicts are stored as; else they are refused."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SArray, config, load_sarray
from tests.examples import by_turns, square

COLUMNS: dict[str, list[Any]] = {
    "texts": [{"a": 1, "b": 2}, {"c": 3}, {}, None],
    "ints": [{1: 1, 2: 2}, {3: 3}, {}, None],
    "floats": [{1.0: 1, 2.5: 2}, {3.0: 3}, {}, None],
    "mixed": [{1: 1, "a": 2}, {"b": 3}, {2.5: 1}, {}, None],
    "times": [{datetime.datetime(2020, 1, 1): 1}, {}, None],
    "nested": [{"a": [1, "x"]}, {"b": {}}, None],
    "none": [{}, None],
}
WANTED: list[Any] = [["a"], [1], [1.0], [2.5], ["a", 1], [None], ["a", None], [True], ["1"], [[1]], [], [datetime.datetime(2020, 1, 1)], [2**70]]


def family(key: Any) -> str:
    return "number" if isinstance(key, (int, float)) else type(key).__name__


def expected(cells: list[Any], wanted: list[Any]) -> list[list[Any] | None]:
    """What Python finds in the same dicts: any of the keys, all of them, the dicts without them, and with them alone; None: refused.

    As in the reference the keys of a dict are compared with each one that is wanted, which fails for those of another class; whether all are there is
    found without such a comparison.
    """
    keys = [key for key in wanted if not isinstance(key, list)]
    there = [None if cell is None else [key for key in keys if key in cell] for cell in cells]
    all_there = [None if found is None else int(len(found) == len(wanted)) for found in there]
    if any(cell and {family(key) for key in wanted} - {family(key) for key in cell} for cell in cells):
        return [None, all_there, None, None]
    return [
        [None if found is None else int(bool(found)) for found in there],
        all_there,
        [None if cell is None else {key: value for key, value in cell.items() if key not in keys} for cell in cells],
        [None if cell is None else {key: value for key, value in cell.items() if key in keys} for cell in cells],
    ]


def found(column: SArray, wanted: list[Any]) -> list[list[Any] | None]:
    results = (
        column.dict_has_any_keys(wanted),
        column.dict_has_all_keys(wanted),
        column.dict_trim_by_keys(wanted),
        column.dict_trim_by_keys(wanted, exclude=False),
    )
    return [values_of(result) for result in results]


def values_of(result: SArray) -> list[Any] | None:
    try:
        return list(result)
    except RuntimeError as error:
        assert "search for keys of their class" in str(error)
        return None


@pytest.mark.parametrize(("name", "is_saved"), square(2, COLUMNS, [False, True]))
def test_keys_of_another_class(name: str, is_saved: bool, tmp_path: Path) -> None:
    column = SArray(COLUMNS[name], dict)
    if is_saved:
        column.save(str(tmp_path / "c"))
        column = load_sarray(str(tmp_path / "c"))
    for wanted in by_turns(WANTED, 2, list(COLUMNS).index(name)):
        assert found(column, wanted) == expected(list(column), wanted), wanted


def test_rows_that_were_left_out_are_not_compared() -> None:
    column = SArray([{1: 1}, {}, None, {2: 2}])
    for some in (column[1:3], column.filter(lambda cell: not cell)):
        assert [value for value in some.dict_has_any_keys(["a"]) if value is not None] == [0]


@pytest.mark.spark
@pytest.mark.parametrize("name", ["texts", "ints", "mixed"])
def test_keys_of_another_class_on_spark(name: str, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "small_rows", 0)
    column = SArray(COLUMNS[name], dict)
    for wanted in WANTED[:6]:
        assert found(column, wanted) == expected(COLUMNS[name], wanted), wanted
