"""Floats through JSON and CSV: each comes back as it was, negative zeros and the ends of what floats hold among them, at any depth."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SArray, SFrame

FLOATS = [-0.0, 0.5, 1e22, 5e-324, -5e-324, 1.7976931348623157e308, 1e16, 123456789012345680.0, 0.1, 1 / 3, 1e-5, 1e-7, math.inf, -math.inf, math.nan]
SHAPES: dict[str, Callable[[float], Any]] = {
    "alone": lambda number: number,
    "list": lambda number: [number, "s"],
    "dict": lambda number: {"k": number, "s": "t"},
    "array": lambda number: [number, 0.25],
    "deep": lambda number: {"k": [number, {"z": [number]}]},
}


def same(first: Any, second: Any) -> bool:
    """Whether both are the same to the sign of zero and the class of numbers."""
    return repr(first).replace("array('d', ", "").replace(")", "") == repr(second).replace("array('d', ", "").replace(")", "")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("times", [1, 300])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("orient", ["records", "lines"])
def test_json_gives_every_float_back(orient: str, shape: str, times: int, tmp_path: Path) -> None:
    path = str(tmp_path / "x.json")
    frame = SFrame({"x": [SHAPES[shape](number) for number in FLOATS] * times})
    frame.export_json(path, orient=orient)
    found = SFrame.read_json(path, orient=orient)["x"]
    assert all(map(same, frame["x"], found))
    # Others read the same.
    text = (tmp_path / "x.json").read_text()
    rows = json.loads(text) if orient == "records" else list(map(json.loads, text.splitlines()))
    assert all(same(given, row["x"]) for given, row in zip(frame["x"], rows, strict=True))


@pytest.mark.parametrize("shape", SHAPES)
def test_csv_gives_every_float_back(shape: str, tmp_path: Path) -> None:
    path = str(tmp_path / "x.csv")
    frame = SFrame({"n": range(len(FLOATS)), "x": [SHAPES[shape](number) for number in FLOATS]})
    frame.export_csv(path)
    assert all(map(same, frame["x"], SFrame.read_csv(path, verbose=False)["x"]))


@pytest.mark.parametrize("orient", ["records", "lines"])
@pytest.mark.parametrize("count", [1, 2000])
def test_a_negative_zero_without_a_point_is_the_int_that_it_is_for_all(count: int, orient: str, tmp_path: Path) -> None:
    for numbers, expected in (("-0", 0), ("-0.0", -0.0), ("-0e0", -0.0)):
        for other in ("", "0.5", "7"):
            rows = [f'{{"a":{number}}}' for number in ([numbers, other] if other else [numbers])] * count
            (tmp_path / "x.json").write_text("[" + ",\n".join(rows) + "]" if orient == "records" else "\n".join(rows))
            found = SFrame.read_json(str(tmp_path / "x.json"), orient=orient)["a"]
            is_float = isinstance(expected, float) or other == "0.5"
            assert found.dtype is (float if is_float else int)
            assert {math.copysign(1, found[place]) for place in (0, len(found) - (2 if other else 1))} == {math.copysign(1, expected)}


def test_keys_keep_the_sign_of_zero(tmp_path: Path) -> None:
    SFrame({"d": SArray([{-0.0: 1, 2.5: -0.0}], dict)}).export_json(str(tmp_path / "x.json"), orient="lines")
    assert (tmp_path / "x.json").read_text() == '{"d":{"-0.0":1,"2.5":-0.0}}\n'
