"""Padded texts are those of Python's rjust, ljust and center, by characters."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sframe_spark import SArray
from sframe_spark.errors import InvalidArgumentError, SchemaError, TooLargeError
from sframe_spark.expressions.functions.scalar_function import evaluate
from sframe_spark.types import STR

PYTHON = {"left": str.rjust, "right": str.ljust, "both": str.center}
TEXTS = ["", "a", "ab", "abc", "é漢\U0001f601x", "e\u0301", None, "abcdefg"]


@pytest.mark.parametrize("side", PYTHON)
def test_padded_texts_are_those_of_python(side: str) -> None:
    for width, fill in itertools.product((-(2**70), *range(-2, 12)), " é\U0001f601"):
        expected = [None if text is None else PYTHON[side](text, max(width, 0), fill) for text in TEXTS]
        column = pa.array([None, *TEXTS]).slice(1)
        assert evaluate("str_pad", [column], [STR], (width, side, fill), len(TEXTS))[0].to_pylist() == expected, (width, fill)
    assert evaluate("str_pad", [pa.scalar("a")], [STR], (2, side, " "), 3)[0].to_pylist() == [PYTHON[side]("a", 2)] * 3


def test_the_left_side_and_a_space_are_defaults() -> None:
    assert list(SArray(["a", None, "abcd"]).str_pad(np.int16(3))) == ["  a", None, "abcd"]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("3",), InvalidArgumentError),
        ((3.0,), InvalidArgumentError),
        ((True,), InvalidArgumentError),
        ((2**31,), InvalidArgumentError),
        ((3, "start"), InvalidArgumentError),
        ((3, ["left"]), InvalidArgumentError),
        ((3, "left", ""), InvalidArgumentError),
        ((3, "left", "ab"), InvalidArgumentError),
        ((3, "left", 0), InvalidArgumentError),
        ((3, "left", "\ud800"), InvalidArgumentError),
    ],
)
def test_arguments_that_make_no_sense_are_refused(arguments: tuple[Any, ...], error: type[Exception]) -> None:
    with pytest.raises(error):
        SArray(["a"]).str_pad(*arguments)


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(SchemaError, match="astype"):
        SArray([1]).str_pad(3)


def test_more_than_arrow_holds_in_a_batch_is_refused() -> None:
    with pytest.raises(TooLargeError, match="batch_rows"):
        evaluate("str_pad", [pa.array(["a"] * 3)], [STR], (2**30, "left", " "), 3)
