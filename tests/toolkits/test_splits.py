"""Splits of data: every row is in one part, in order, and the same part for one seed."""

from __future__ import annotations

from typing import Any

import pytest

import sframe_spark
from sframe_spark import SFrame, cross_validation, recommender

VIEWS = SFrame({"user_id": [None if number % 7 == 6 else f"user {number % 7}" for number in range(210)], "item_id": range(210)})


@pytest.mark.parametrize("users", [None, 0, 2, 7, 1000])
def test_test_rows_are_of_so_many_users(users: int | None) -> None:
    training, test = recommender.util.random_split_by_user(VIEWS, max_num_users=users, item_test_proportion=0.4, random_seed=5)
    assert sorted([*training["item_id"], *test["item_id"]]) == list(range(210))
    assert list(training["item_id"]) == sorted(training["item_id"]) and list(test["item_id"]) == sorted(test["item_id"])
    assert len(set(test["user_id"])) == (7 if users is None else min(users, 7))
    again = recommender.util.random_split_by_user(VIEWS, max_num_users=users, item_test_proportion=0.4, random_seed=5)[1]
    assert list(again["item_id"]) == list(test["item_id"])


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"user_id": "who"}, KeyError),
        ({"item_id": "what"}, KeyError),
        ({"item_test_proportion": 1.5}, RuntimeError),
        ({"item_test_proportion": "half"}, TypeError),
    ],
)
def test_wrong_arguments(options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        recommender.util.random_split_by_user(VIEWS, **options)


def test_precision_and_recall_of_recommendations() -> None:
    chosen, recommended = SFrame(), SFrame()
    chosen["user"], chosen["item"] = [1, 1, 2, 4], [1, 3, 9, 1]
    recommended["user"], recommended["item"], recommended["rank"] = [1, 1, 1, 2, 2, 3], [1, 2, 3, 1, 9, 4], [1, 2, 3, 1, 2, 1]
    rows = recommender.util.precision_recall_by_user(chosen, recommended, [3, 1, 2])
    # Source: Turi Create 6.4.1.
    assert [tuple(row.values()) for row in rows] == [
        *((1, 1, 1.0, 0.5, 2), (1, 2, 0.5, 0.5, 2), (1, 3, 2 / 3, 1.0, 2), (2, 1, 0.0, 0.0, 1), (2, 2, 0.5, 1.0, 1), (2, 3, 0.5, 1.0, 1)),
        *((3, 1, 0.0, 1.0, 0), (3, 2, 0.0, 1.0, 0), (3, 3, 0.0, 1.0, 0), (4, 1, 0.0, 0.0, 1), (4, 2, 0.0, 0.0, 1), (4, 3, 0.0, 0.0, 1)),
    ]
    with pytest.raises(KeyError, match="rank"):
        recommender.util.precision_recall_by_user(chosen, recommended[["user", "item"]])


def test_folds_are_all_rows_once() -> None:
    rows = SFrame({"a": range(10)})
    folds = cross_validation.KFold(rows, 3)
    assert len(folds) == 3 and [list(validation["a"]) for _, validation in folds] == [[0, 1, 2], [3, 4, 5], [6, 7, 8, 9]]
    assert all(sorted([*training["a"], *validation["a"]]) == list(range(10)) for training, validation in folds)
    with pytest.raises(ValueError, match="cannot be divided into 11 folds"):
        cross_validation.KFold(rows, 11)
    with pytest.raises(IndexError):
        folds[3]
    shuffled = list(cross_validation.shuffle(rows, 4)["a"])
    assert sorted(shuffled) == list(range(10)) and shuffled != list(range(10)) and shuffled == list(cross_validation.shuffle(rows, 4)["a"])


def test_names_of_models_say_what_to_use() -> None:
    with pytest.raises(AttributeError, match=r"sklearn.linear_model.Ridge\(\).fit\(sf\[features\].to_numpy"):
        _ = sframe_spark.linear_regression
    with pytest.raises(AttributeError, match=r"pyspark.ml.recommendation.ALS"):
        _ = recommender.create
    with pytest.raises(AttributeError, match=r"pyspark.ml.clustering.KMeans\(featuresCol='features'\)"):
        _ = sframe_spark.kmeans
