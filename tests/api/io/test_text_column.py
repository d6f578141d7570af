"""Columns of text files and JSON arrays."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SArray, SFrame, load_sarray
from sframe_spark.errors import SFrameError


def test_a_value_a_line(tmp_path: Path) -> None:
    path = tmp_path / "values.txt"
    path.write_text('1\n\n3,5\n  x "y\n"q"\nNA\n', encoding="utf-8")
    assert list(SArray(str(path))) == ["1", "", "3,5", 'x "y', "q", "NA"]
    with gzip.open(tmp_path / "values.gz", "wt") as file:
        file.write("1\n\n3\n")
    for dtype, expected in ((int, [1, None, 3]), (float, [1.0, None, 3.0]), (str, ["1", "", "3"])):
        column = SArray(str(tmp_path / "values.gz"), dtype)
        assert list(column) == expected and column.dtype is dtype
    assert list(SArray(str(tmp_path / "*.gz"))) == ["1", "", "3"]
    with pytest.raises(RuntimeError, match=r"a line is not int: omit dtype"):
        SArray(str(path), int)
    with pytest.raises(OSError, match="nope"):
        SArray(str(tmp_path / "nope"))


def test_what_is_saved_is_read_again(tmp_path: Path) -> None:
    values: list[Any] = ["a b", 'q"x', None, "line\nmore", "", "ü"]
    SArray(values).save(str(tmp_path / "column"))
    assert list(load_sarray(str(tmp_path / "column"), verify=True)) == list(SArray(str(tmp_path / "column"))) == values
    SArray([1, None, 3]).save(str(tmp_path / "x.csv"))
    assert (tmp_path / "x.csv").read_text() == "1\n\n3\n" and list(SArray(str(tmp_path / "x.csv"), int)) == [1, None, 3]
    SFrame({"a": [1], "b": [2]}).save(str(tmp_path / "frame"))
    for wrong in (str(tmp_path / "frame"), str(tmp_path / "nope")):
        with pytest.raises(OSError) as told:
            load_sarray(wrong)
        assert isinstance(told.value, SFrameError)


@pytest.mark.parametrize(
    ("text", "dtype", "values"),
    [
        ("[1, null, 3]", int, [1, None, 3]),
        ("[1, 2.5]", float, [1.0, 2.5]),
        ('["a", "b"]', str, ["a", "b"]),
        ('[{"a": 1}, {"b": [1, "x"]}]', dict, [{"a": 1}, {"b": [1, "x"]}]),
        ("[[1], []]", list, [[1], []]),
        ("[]", float, []),
        ("[null]", float, [None]),
    ],
)
def test_elements_of_an_array(tmp_path: Path, text: str, dtype: type, values: list[Any]) -> None:
    (tmp_path / "x.json").write_text(text)
    column = SArray.read_json(str(tmp_path / "x.json"))
    assert column.dtype is dtype and list(column) == values


@pytest.mark.parametrize("text", ['[1, "a"]', "oops", '{"a": 1}', "[1", '["a", {"b": 1}]', "[1] 2"])
def test_what_is_no_array_of_one_type_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(RuntimeError) as told:
        SArray.read_json(str(tmp_path / "x.json"))
    assert isinstance(told.value, SFrameError) and "x.json" in str(told.value)


def test_a_frame_is_saved_as_json(tmp_path: Path) -> None:
    frame = SFrame({"a": [1, None], "v": [[1.0, 2.5], None], "d": [{"k": [1, "x"]}, {}]})
    frame.save(str(tmp_path / "one.json"))
    frame.save(str(tmp_path / "other"), format="json")
    text = '[\n{"a":1,"d":{"k":[1,"x"]},"v":[1,2.5]}\n,{"d":{}}\n]\n'
    assert (tmp_path / "one.json").read_text() == (tmp_path / "other").read_text() == text
    for call in (lambda: frame.save(str(tmp_path / "x"), format="text"), lambda: SArray([1]).save(str(tmp_path / "x"), format="json")):
        with pytest.raises(ValueError, match="format must be"):
            call()
