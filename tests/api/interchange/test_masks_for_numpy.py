"""What a comparison gave chooses rows of numpy's arrays, where ints would be the numbers of rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sframe_spark import SArray, SFrame
from sframe_spark.config import config

ROWS = np.arange(12).reshape(4, 3)


def _frame() -> SFrame:
    return SFrame({"label": ["a", "b", "a", "c"], "v": [1, 2, 3, 4], "n": [1, None, 3, 4], "l": [["x"], ["y"], ["x"], []], "d": [{"k": 1}] * 4})


def _stored(frame: SFrame) -> SArray:
    frame["hit"] = frame["label"] == "a"
    frame.materialize()
    return frame["hit"]


def _materialized(frame: SFrame) -> SArray:
    mask = frame["label"] == "a"
    mask.materialize()
    return mask


MASKS: dict[str, tuple[Callable[[SFrame], SArray], list[bool]]] = {
    "equal": (lambda frame: frame["label"] == "a", [True, False, True, False]),
    "not equal": (lambda frame: frame["label"] != "a", [False, True, False, True]),
    "less": (lambda frame: frame["v"] < 3, [True, True, False, False]),
    "columns": (lambda frame: frame["v"] >= frame["v"], [True] * 4),
    "and": (lambda frame: (frame["label"] == "a") & (frame["v"] > 1), [False, False, True, False]),
    "or": (lambda frame: (frame["label"] == "a") | (frame["v"] > 3), [True, False, True, True]),
    "not": (lambda frame: (frame["label"] == "a") == 0, [False, True, False, True]),
    "missing": (lambda frame: frame["n"] == None, [False, True, False, False]),  # noqa: E711
    "filled": (lambda frame: (frame["n"] > 1).fillna(0), [False, False, True, True]),
    "contains": (lambda frame: frame["label"].contains("a"), [True, False, True, False]),
    "lists contain": (lambda frame: frame["l"].contains("x"), [True, False, True, False]),
    "is in": (lambda frame: frame["label"].is_in(["a", "c"]), [True, False, True, True]),
    "part of": (lambda frame: frame["label"].is_in("ab"), [True, True, True, False]),
    "largest": (lambda frame: frame["v"].is_topk(2), [False, False, True, True]),
    "keys": (lambda frame: frame["d"].dict_has_any_keys(["k"]), [True] * 4),
    "function": (lambda frame: frame["label"].apply(lambda label: label == "a"), [True, False, True, False]),
    "function of rows": (lambda frame: frame.apply(lambda row: row["v"] > 2), [False, False, True, True]),
    "materialized": (_materialized, [True, False, True, False]),
    "in a frame": (_stored, [True, False, True, False]),
    "slice": (lambda frame: (frame["label"] == "a")[:], [True, False, True, False]),
    "chosen": (lambda frame: (frame["label"] == "a")[frame["v"] > 0], [True, False, True, False]),
    "appended": (lambda frame: (frame["label"] == "a").head(2).append((frame["label"] == "a").tail(2)), [True, False, True, False]),
}


@pytest.mark.parametrize("name", MASKS)
def test_masks_choose_rows(name: str) -> None:
    make, expected = MASKS[name]
    mask, wanted = make(_frame()), np.array(expected)
    # Once more after its values were computed.
    for _ in range(2):
        found = np.asarray(mask)
        assert found.dtype == bool and found.tolist() == expected
        assert ROWS[mask].tolist() == ROWS[wanted].tolist() and ROWS[mask, 1].tolist() == ROWS[wanted, 1].tolist()
    assert list(np.where(mask, 1, 0)) == wanted.astype(int).tolist() and list(np.logical_not(mask)) == (~wanted).tolist()
    # To SFrame it is a column of ints, as ever.
    assert mask.dtype is int and list(mask) == wanted.astype(int).tolist() and mask.to_numpy().dtype == np.int64


NUMBERS: dict[str, Callable[[SArray], SArray]] = {
    "times one": lambda mask: mask * 1,
    "negative": lambda mask: -mask,
    "cast": lambda mask: mask.astype(int),
    "running sum": lambda mask: mask.cumulative_sum(),
    "rolling sum": lambda mask: mask.rolling_sum(0, 0),
    "other numbers below": lambda mask: mask.append(SArray([5])),
    "filled with another number": lambda mask: SArray([1, None]).fillna(1),
    "chosen by a condition": lambda mask: SArray.where(mask, mask, SArray([0, 1])),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_what_is_computed_of_masks_are_numbers(name: str) -> None:
    assert np.asarray(NUMBERS[name](SArray([5, 3]) > 4)).dtype == np.int64


def test_masks_without_rows_and_with_missing_values(tmp_path: Path) -> None:
    frame = _frame()
    assert ROWS[:0][frame[0:0]["label"] == "a"].shape == (0, 3)
    # As a filter of the frame does, a mask leaves out rows where it is missing.
    assert np.asarray(frame["n"] > 1).tolist() == [value == 1 for value in (frame["n"] > 1)]
    assert len(ROWS[frame["n"] > 1]) == len(frame[frame["n"] > 1])
    frame["hit"] = frame["label"] == "a"
    frame.save(str(tmp_path / "frame"))
    assert np.asarray(SFrame(str(tmp_path / "frame"))["hit"]).dtype == np.int64
    assert np.asarray(SArray([True, False])).dtype == np.int64


@pytest.mark.spark
def test_masks_that_spark_computes(spark: object) -> None:
    with config.using(small_rows=0):
        frame = _frame()
        mask = (frame["label"] == "a") & (frame["v"] > 1)
        assert ROWS[mask].tolist() == [[6, 7, 8]] and np.asarray(mask).dtype == bool


def test_a_column_of_a_frame_is_a_mask_or_ints_as_what_was_assigned_last() -> None:
    frame = SFrame({"a": [3, None, 1], "b": [1, 0, 1]})
    frame["b"] = frame["a"] > 2
    assert np.array([10, 20, 30])[frame["b"]].tolist() == [10]
    frame["b"] = SArray([1, 0, 1])
    assert np.array([10, 20, 30])[frame["b"]].tolist() == [20, 10, 20]
