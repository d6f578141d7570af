"""Texts that are no Unicode are found wherever they stand among values."""

from __future__ import annotations

from typing import Any

import pytest

from sframe_spark.errors import InvalidArgumentError
from sframe_spark.values.invalid_unicode_errors import require_unicode_values

HALF = "\ud83d"
ENDLESS: list[Any] = ["a"]
ENDLESS.append(ENDLESS)
PLACES = [
    [HALF],
    (("a", "b", HALF),),
    [["a"], {"a": HALF}],
    [{HALF: 1}],
    ({"a", HALF},),
    [1, None, [b"\xff"]],
    iter([("a", HALF)]),
    ["\ud83d", "\ude00"],
]


@pytest.mark.parametrize("values", PLACES)
def test_a_text_that_is_none_is_refused_wherever_it_stands(values: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"not (valid Unicode|UTF-8)"):
        require_unicode_values(values)


@pytest.mark.parametrize("values", [[], ["😀", "a"], (("a", "é"), 1, None, {"a": [b"b"]}), iter(["a"]), ENDLESS])
def test_others_are_not(values: Any) -> None:
    require_unicode_values(values)
