"""Keys that are looked for in dicts whose own are of another class are in none of them, whatever the dicts are stored as."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SArray, config, load_sarray

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


def expected(cells: list[Any], wanted: list[Any]) -> list[list[Any]]:
    """What Python finds in the same dicts: any of the keys, all of them, the dicts without them, and with them alone."""
    keys = [key for key in wanted if not isinstance(key, list)]
    there = [None if cell is None else [key for key in keys if key in cell] for cell in cells]
    return [
        [None if found is None else int(bool(found)) for found in there],
        [None if found is None else int(len(found) == len(wanted)) for found in there],
        [None if cell is None else {key: value for key, value in cell.items() if key not in keys} for cell in cells],
        [None if cell is None else {key: value for key, value in cell.items() if key in keys} for cell in cells],
    ]


def found(column: SArray, wanted: list[Any]) -> list[list[Any]]:
    results = (
        column.dict_has_any_keys(wanted),
        column.dict_has_all_keys(wanted),
        column.dict_trim_by_keys(wanted),
        column.dict_trim_by_keys(wanted, exclude=False),
    )
    return [list(result) for result in results]


@pytest.mark.parametrize("is_saved", [False, True])
@pytest.mark.parametrize("name", COLUMNS)
def test_keys_of_another_class_are_in_no_dict(name: str, is_saved: bool, tmp_path: Path) -> None:
    column = SArray(COLUMNS[name], dict)
    if is_saved:
        column.save(str(tmp_path / "c"))
        column = load_sarray(str(tmp_path / "c"))
    for wanted in WANTED:
        assert found(column, wanted) == expected(list(column), wanted), wanted


@pytest.mark.spark
@pytest.mark.parametrize("name", ["texts", "ints", "mixed"])
def test_keys_of_another_class_on_spark(name: str, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "small_rows", 0)
    column = SArray(COLUMNS[name], dict)
    for wanted in WANTED[:6]:
        assert found(column, wanted) == expected(COLUMNS[name], wanted), wanted
