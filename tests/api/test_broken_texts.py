"""Texts that no file holds are refused with their row, and arguments that are none with those that there are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sframe_spark import SArray, SFrame, sql
from sframe_spark.api.interchange.to_spark import to_spark_within
from sframe_spark.errors import InvalidArgumentError, SchemaError

HALF = "a\ud800"

REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "a column": (lambda: SArray(["x", None, HALF]), r"row 2: the text 'a\\ud800' is not valid Unicode.*half of a character"),
    "a column of numpy": (lambda: SArray(np.array(["x", HALF])), "row 1: .*half of a character"),
    "a frame": (lambda: SFrame({"t": [HALF]}), "row 0: .*half of a character"),
    "in a list": (lambda: SArray([[HALF]]), "half of a character"),
    "in a dict": (lambda: SArray([{"k": HALF}]), "half of a character"),
    "a constant": (lambda: SArray.from_const(HALF, 3), "half of a character"),
    "compared": (lambda: SArray(["x"]) == HALF, r"the text 'a\\ud800' is not valid Unicode"),
    "added": (lambda: SArray(["x"]) + HALF, r"the text 'a\\ud800' is not valid Unicode"),
    "looked for": (lambda: SFrame({"t": ["x"]}).filter_by([HALF], "t"), "half of a character"),
    "looked for in lists": (lambda: SArray([["x"], None], list).is_in([[HALF]]), "half of a character"),
    "looked for in dicts": (lambda: SArray([{"k": 1}], dict).is_in([{HALF: 1}]), "half of a character"),
    "an item": (lambda: SArray([["x"]], list).contains(HALF), "half of a character"),
    "a list compared": (lambda: SArray([["x"]], list) == [HALF], "half of a character"),
    "a list that fills": (lambda: SArray([["x"], None], list).fillna([HALF]), "half of a character"),
    "a dict that fills": (lambda: SArray([{"k": 1}, None], dict).fillna({"k": [HALF]}), "half of a character"),
    "a key": (lambda: SArray([{"k": 1}], dict).dict_has_any_keys([HALF]), "half of a character"),
    "an unpacked key": (lambda: SArray([{"k": 1}], dict).unpack(limit=[HALF], column_types=[str]), "half of a character"),
    "a value that is missing": (lambda: SArray([{"k": 1}], dict).unpack(na_value=HALF), "half of a character"),
    "a value that fills lists": (lambda: SFrame({"a": ["x", None], "b": [1, 2]}).pack_columns(["a", "b"], fill_na=[HALF]), "half of a character"),
    "a value that fills dicts": (lambda: SFrame({"a": ["x"], "b": ["y"]}).pack_columns(["a", "b"], dtype=dict, fill_na=HALF), "half of a character"),
    "halves looked for": (lambda: SFrame({"t": ["x"]}).filter_by(["\ud83d", "\ude00"], "t"), "half of a character"),
    "bytes": (lambda: SArray([b"x", b"\xff"]), r"row 1: b'\\xff' is not UTF-8: decode it first"),
}


@pytest.mark.parametrize(("make", "words"), REFUSED.values(), ids=REFUSED)
def test_texts_that_are_none_are_refused(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(InvalidArgumentError, match=words):
        make()


def test_lists_that_hold_themselves_are_refused_as_such() -> None:
    endless: list[Any] = ["x"]
    endless.append(endless)
    with pytest.raises(SchemaError, match="inside each other"):
        SArray([["x"], None], list).fillna(endless)


def test_bytes_that_are_text_are_taken() -> None:
    assert list(SArray([b"x", "ü".encode()])) == ["x", "ü"]


def test_separators_have_two_names(tmp_path: Path) -> None:
    place = tmp_path / "a.csv"
    place.write_text("a;b\n1;x\n")
    assert list(SFrame.read_csv(str(place), sep=";")) == list(SFrame.read_csv(str(place), delimiter=";")) == [{"a": 1, "b": "x"}]
    with pytest.raises(SchemaError, match=r"takes no argument 'foo', 'bar': it takes delimiter, header"):
        SFrame.read_csv(str(place), foo=1, bar=2)


@pytest.mark.parametrize("name", ["num_rows", "num_columns", "max_column_width", "max_row_width"])
def test_sizes_of_tables_are_whole_numbers(name: str) -> None:
    with pytest.raises(TypeError, match=f"{name} must be a whole number, got 'x'"):
        SFrame({"a": [1]}).print_rows(**{name: "x"})


READ = ["delimiter", "sep", "line_terminator", "quote_char", "escape_char", "comment_char", "na_values", "true_values", "false_values", "usecols"]
WRITTEN = ["delimiter", "line_terminator", "quote_char", "escape_char", "na_rep", "file_header", "file_footer", "line_prefix"]


@pytest.mark.parametrize("name", READ)
def test_texts_that_no_csv_file_holds_are_refused_by_the_name_of_the_argument(name: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    told = "delimiter" if name == "sep" else name
    with pytest.raises(InvalidArgumentError, match=rf"{told} '\\ud800' is not valid Unicode text .it contains half of a character"):
        SFrame.read_csv(str(tmp_path / "a.csv"), **{name: "\ud800"})


@pytest.mark.parametrize("name", WRITTEN)
def test_texts_that_cannot_be_written_are_refused_by_the_name_of_the_argument(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=rf"{name} '\\ud800' is not valid Unicode text .it contains half of a character"):
        SFrame({"a": [1]}).export_csv(str(tmp_path / "a.csv"), **{name: "\ud800"})
    assert list(tmp_path.iterdir()) == []


def test_names_of_columns_that_only_python_has_stay_within_it(tmp_path: Path) -> None:
    import polars

    frame = SFrame({HALF: [1], "b": [2]})
    assert list(frame[HALF]) == [1] and list(frame.to_pandas().columns) == [HALF, "b"]
    place = str(tmp_path / "x")
    doors: list[Callable[[], Any]] = [
        frame.to_arrow, lambda: pa.table(frame), frame.__arrow_c_schema__, lambda: frame.to_pandas(arrow=True), lambda: polars.DataFrame(frame),
        lambda: to_spark_within(frame._node, frame._names, None), lambda: frame.save(place), lambda: frame.write_parquet(place),
        lambda: frame.write_orc(place), lambda: frame.export_csv(place), lambda: frame.export_json(place),
    ]  # fmt: skip
    for door in doors:
        with pytest.raises(InvalidArgumentError, match=r"the names of columns 'a\\ud800' are not valid Unicode text .*rename them"):
            door()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InvalidArgumentError, match="half of a character"):
        sql("select '\ud800'")
