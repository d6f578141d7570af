"""JSON of very many names: the time follows the number of values, in one row or in several."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SArray, SFrame
from tests.examples import square

FORMS: dict[str, Callable[[int], list[dict[str, Any]]]] = {
    "one row": lambda count: [{f"k{place}": place for place in range(count)}],
    "three rows": lambda count: [{f"k{place}": place for place in range(count)}] * 3,
    "texts": lambda count: [{f"k{place}": f"t{place}" for place in range(count)}],
    "others in each row": lambda count: [{f"k{row * count // 40 + place}": place for place in range(count // 40)} for row in range(40)],
}


def seconds(path: Path, orient: str) -> float:
    start = time.process_time()
    SFrame.read_json(str(path), orient=orient)
    return time.process_time() - start


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("form", "orient"), square(2, FORMS, ["records", "lines"]))
def test_time_follows_the_number_of_values(form: str, orient: str, tmp_path: Path) -> None:
    found = []
    for count in (2_000, 8_000):
        rows = FORMS[form](count)
        path = tmp_path / f"{count}.json"
        path.write_text(json.dumps(rows) if orient == "records" else "\n".join(map(json.dumps, rows)))
        found.append(min(seconds(path, orient) for _ in range(2)))
    # The square would be 16 times as long.
    assert found[1] < 7 * found[0] + 0.15


@pytest.mark.parametrize("orient", ["records", "lines"])
def test_what_is_read_is_the_same_however_many_names_there_are(orient: str, tmp_path: Path) -> None:
    for names in (60, 70):
        rows = [{f"k{place}": [1, 0.5, "x", None, {"a": 1}, [2]][(place + row) % 6] for place in range(names)} for row in range(40)]
        rows[3].pop("k5")
        expected: dict[str, Any] = {}
        for count in (1, 31, 40):
            path = tmp_path / "x.json"
            path.write_text(json.dumps(rows[:count]) if orient == "records" else "\n".join(map(json.dumps, rows[:count])))
            found = SFrame.read_json(str(path), orient=orient)
            assert found.num_rows() == count and found.num_columns() == names
            expected[count] = {name: found[name].dtype for name in found.column_names()}
            assert found["k3"][0] is None and found["k0"].dtype is (int if count == 1 else str)


def test_a_column_of_one_object_with_many_names(tmp_path: Path) -> None:
    row = {f"k{place}": place for place in range(20_000)}
    (tmp_path / "x.json").write_text(json.dumps([row]))
    assert SArray.read_json(str(tmp_path / "x.json"))[0] == row
