"""Texts that no file holds are refused with their row, and arguments that are none with those that there are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sframe_spark import SArray, SFrame
from sframe_spark.errors import InvalidArgumentError, SchemaError

HALF = "a\ud800"

REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "a column": (lambda: SArray(["x", None, HALF]), r"row 2: the text 'a\\ud800' is not Unicode.*half of a character"),
    "a column of numpy": (lambda: SArray(np.array(["x", HALF])), "row 1: .*half of a character"),
    "a frame": (lambda: SFrame({"t": [HALF]}), "row 0: .*half of a character"),
    "in a list": (lambda: SArray([[HALF]]), "half of a character"),
    "in a dict": (lambda: SArray([{"k": HALF}]), "half of a character"),
    "a constant": (lambda: SArray.from_const(HALF, 3), "half of a character"),
    "compared": (lambda: SArray(["x"]) == HALF, r"the text 'a\\ud800' is not Unicode"),
    "added": (lambda: SArray(["x"]) + HALF, r"the text 'a\\ud800' is not Unicode"),
    "looked for": (lambda: SFrame({"t": ["x"]}).filter_by([HALF], "t"), "half of a character"),
    "bytes": (lambda: SArray([b"x", b"\xff"]), r"row 1: b'\\xff' is not UTF-8: decode it first"),
}


@pytest.mark.parametrize(("make", "words"), REFUSED.values(), ids=REFUSED)
def test_texts_that_are_none_are_refused(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(InvalidArgumentError, match=words):
        make()


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
    with pytest.raises(TypeError, match=f"{name} is a whole number, got 'x'"):
        SFrame({"a": [1]}).print_rows(**{name: "x"})
