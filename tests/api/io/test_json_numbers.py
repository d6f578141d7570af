"""Numbers of JSON files: none loses digits, whatever they stand in, and those that no column holds are told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sframe_spark.api.io.json import block_reader
from sframe_spark.errors import StorageError
from tests.api.io.test_json import ORIENTS, read, values


@pytest.mark.parametrize("orient", ORIENTS)
def test_ints_that_no_float_holds_beside_floats_are_texts(orient: str, tmp_path: Path) -> None:
    large = 2**53 + 1
    for given, expected in (([large, 0.5], [str(large), "0.5"]), ([large, 1], [large, 1]), ([2**53, 0.5], [2.0**53, 0.5])):
        rows = [json.dumps({"a": value}) for value in given]
        found = read(f"[{','.join(rows)}]" if orient == "records" else "\n".join(rows), orient, tmp_path)["a"]
        assert repr(list(found)) == repr(expected)
    row = json.dumps({"a": [large, 2]})
    assert list(read(f"[{row}]" if orient == "records" else row, orient, tmp_path)["a"]) == [[large, 2]]


MANY = "1" * 400


@pytest.mark.parametrize("orient", ORIENTS)
@pytest.mark.parametrize("number", [str(2**63), str(-(2**63) - 1), MANY])
@pytest.mark.parametrize("around", ["{}", "[{}]", "[[{}]]", '[{{"k":{}}}]', '{{"k":[{}]}}', "[1,{}]", "[2.5,{}]", '["x",{}]'])
def test_whole_numbers_beyond_64_bits_keep_their_digits_at_any_level(number: str, around: str, orient: str, tmp_path: Path) -> None:
    value = around.format(number)
    text = f'{{"a":{value}}}' if orient == "lines" else f'[{{"a":{value}}}]'
    expected = json.loads(around.format(f'"{number}"'))
    assert values(read(text, orient, tmp_path)) == {"a": [expected]}


@pytest.mark.parametrize("orient", ORIENTS)
@pytest.mark.parametrize(
    ("number", "told"),
    [
        ("1e400", r"line 3: the number 1e400 is larger than any float"),
        ("[[-1E+0400]]", r"line 3: the number -1E\+0400 is larger than any float"),
        (MANY + ".5", r"line 3: the number 1{64}\.\.\. is larger than any float"),
        ("9" * 5_000, r"line 3: a whole number has thousands of digits"),
    ],
)
def test_numbers_beyond_floats_are_told(number: str, told: str, orient: str, tmp_path: Path) -> None:
    text = f'\n{{"b": 1}}\n{{"a": {number}}}' if orient == "lines" else f'[\n{{"b": 1}},\n{{"a": {number}}}\n]'
    with pytest.raises(StorageError, match=told + ": write it as a text"):
        read(text, orient, tmp_path)


def test_numbers_that_only_look_large_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_reader, "BLOCK_BYTES", 410)
    for spaces in range(0, 30, 3):
        # The block ends amid the number, before its exponent.
        text = '[{"a":' + " " * spaces + MANY + ".0e-300}]"
        assert values(read(text, "records", tmp_path)) == {"a": [float(MANY + "e-300")]}
    assert str(values(read('[{"a":Infinity},{"a":1e-400},{"a":1e308}]', "records", tmp_path))["a"]) == "[inf, 0.0, 1e+308]"
