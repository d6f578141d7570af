"""Edges of evaluation: missing values, probabilities, wrong columns."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

from sframe_spark import SArray, evaluation


def test_rows_with_a_missing_number_are_left_out_of_errors() -> None:
    targets, predictions = SArray([1.0, None, 3.0, 4.0]), SArray([2.0, 5.0, None, 4.0])
    assert evaluation.rmse(targets, predictions) == math.sqrt(0.5)
    assert evaluation.max_error(targets, predictions) == 1.0
    assert evaluation.max_error(SArray([math.nan, 1.0]), SArray([1.0, 3])) == 2.0
    assert math.isnan(evaluation.rmse(SArray([], float), SArray([], float))) and evaluation.max_error(SArray([], float), SArray([], float)) == 0.0


def test_the_area_under_the_curve_is_the_share_of_pairs_in_order() -> None:
    draw = random.Random(3)
    targets = [draw.randrange(2) for _ in range(200)]
    # Thousandths: predictions are told apart by no less. Probabilities of 0.999 and 1 are one.
    predictions = [draw.randrange(1000) / 1000 + 0.0005 for _ in targets]
    positive = [value for value, target in zip(predictions, targets, strict=True) if target]
    negative = [value for value, target in zip(predictions, targets, strict=True) if not target]
    pairs = sum((first > second) + (first == second) / 2 for first in positive for second in negative)
    assert evaluation.auc(SArray(targets), SArray(predictions)) == pytest.approx(pairs / len(positive) / len(negative))
    assert evaluation.auc(SArray([0, 1]), SArray([0.999, 1.0])) == 0.5


def test_curves_of_many_classes_count_the_rows_of_their_own_class() -> None:
    targets = SArray(["x", "y", "x", "z"])
    curve = evaluation.roc_curve(targets, SArray([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.2, 0.3, 0.5], [0.1, 0.1, 0.8]]))
    assert len(curve) == 3 * 1001
    assert {(row["class"], row["p"], row["n"]) for row in curve} == {("x", 2, 2), ("y", 1, 3), ("z", 1, 3)}
    assert curve[1000]["tpr"] == curve[1000]["fpr"] == 0.0


def test_classes_have_the_places_of_a_map() -> None:
    targets, predictions = SArray(["a", "b", "a"]), SArray([[0.9, 0.1], [0.3, 0.7], [0.6, 0.4]])
    mapped = evaluation.log_loss(targets, predictions, index_map={"b": 0, "a": 1})
    assert mapped == pytest.approx(-(math.log(0.1) + math.log(0.3) + math.log(0.4)) / 3)
    with pytest.raises(RuntimeError, match="does not contain the class 'b'"):
        evaluation.log_loss(targets, predictions, index_map={"c": 0, "a": 1})


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: evaluation.accuracy([1], SArray([1])), RuntimeError, "targets must be an SArray, not a list"),
        (lambda: evaluation.accuracy(SArray([1]), SArray([1, 2])), RuntimeError, "not 1 and 2 rows"),
        (lambda: evaluation.accuracy(SArray([1]), SArray([0.5])), TypeError, "predictions must be classes"),
        (lambda: evaluation.accuracy(SArray([1]), SArray(["1"])), TypeError, "must have the same type, not int and str"),
        (lambda: evaluation.accuracy(SArray([1]), SArray([1]), average="weighted"), RuntimeError, "'micro' or 'macro' or None, not 'weighted'"),
        (lambda: evaluation.fbeta_score(SArray([1]), SArray([1]), 0), RuntimeError, "above 0"),
        (lambda: evaluation.fbeta_score(SArray([1]), SArray([1]), "1"), TypeError, "beta must be a number"),
        (lambda: evaluation.rmse(SArray(["a"]), SArray(["a"])), RuntimeError, "targets must be numbers, not of str"),
        (lambda: evaluation.log_loss(SArray([0, 0]), SArray([0.1, 0.2])), RuntimeError, "targets have 1"),
        (lambda: evaluation.log_loss(SArray([0, 1]), SArray([0.1, 1.2])), RuntimeError, "from 0 to 1"),
        (lambda: evaluation.log_loss(SArray([0, 1]), SArray([0.1, math.nan])), RuntimeError, "missing or NaN"),
        (lambda: evaluation.log_loss(SArray([0, 1]), SArray([0.1, None])), RuntimeError, "missing or NaN"),
        (lambda: evaluation.log_loss(SArray([0, 1]), SArray([[0.5, 0.5], [0.5]])), RuntimeError, "has 1 probabilities for 2 classes"),
        (lambda: evaluation.log_loss(SArray([0.0, 1.0]), SArray([0.1, 0.2])), TypeError, "targets must be classes"),
        (lambda: evaluation.log_loss(SArray([0, 1]), SArray(["a", "b"])), TypeError, "predictions must be probabilities"),
        (lambda: evaluation.roc_curve(SArray([0, 1]), SArray([0.1, 0.2]), average="macro"), RuntimeError, "average must be None"),
        (lambda: evaluation.auc(SArray([0, 1]), SArray([0.1, 0.2]), average="micro"), RuntimeError, "'macro' or None"),
    ],
)
def test_wrong_columns_are_told(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_probabilities_may_be_arrays_of_numpy() -> None:
    targets, rows = SArray(["a", "b", "a"]), [[0.9, 0.1], [0.2, 0.8], [0.4, 0.6]]
    arrays, vectors = SArray([np.array(row) for row in rows]), SArray(rows)
    assert arrays.dtype is np.ndarray
    assert evaluation.log_loss(targets, arrays) == evaluation.log_loss(targets, vectors)
    assert evaluation.auc(targets, arrays) == evaluation.auc(targets, vectors)
