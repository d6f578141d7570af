"""Splits of data about users and items, and how well recommendations match the users' choices."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from sframe_spark.api import aggregate
from sframe_spark.api.column_names import unique_names
from sframe_spark.api.error_hints import add_call_hints
from sframe_spark.api.sarray import SArray
from sframe_spark.api.sframe import SFrame
from sframe_spark.errors import MissingColumnError, SchemaError, UnsupportedOperationError
from sframe_spark.message_text import brief

__all__ = ["precision_recall_by_user", "random_split_by_user"]


def random_split_by_user(
    dataset: SFrame,
    user_id: str = "user_id",
    item_id: str = "item_id",
    max_num_users: int | None = 1000,
    item_test_proportion: float = 0.2,
    random_seed: int = 0,
) -> tuple[SFrame, SFrame]:
    """Return two frames: the second has some rows of some users, chosen at random, for tests, and the first all other rows, in order.

    Parameters
    ----------
    dataset
        A row for each user and item.
    user_id, item_id
        The names of the columns of users and items.
    max_num_users
        Of how many users rows may be in the second frame; None: of all.
    item_test_proportion
        The probability with which a row of such a user is in the second frame, from 0 to 1.
    random_seed
        Other seeds give other splits. The rows chosen are not those that Turi Create chooses.

    Raises
    ------
    KeyError
        If there is no such column.
    RuntimeError
        If ``item_test_proportion`` is not from 0 to 1.

    Examples
    --------
    >>> from sframe_spark import SFrame, recommender
    >>> views = SFrame({"user_id": ["ann", "bob"] * 10, "item_id": range(20)})
    >>> training, test = recommender.util.random_split_by_user(views, item_test_proportion=0.5)
    >>> len(training) + len(test), sorted({*training["item_id"], *test["item_id"]}) == list(range(20))
    (20, True)
    """
    _require_frame(dataset, [user_id, item_id])
    if isinstance(item_test_proportion, bool) or not isinstance(item_test_proportion, (int, float)):
        raise SchemaError(f"item_test_proportion must be a number from 0 to 1, not {brief(item_test_proportion)}")
    if not 0 <= item_test_proportion <= 1:
        raise UnsupportedOperationError(f"item_test_proportion must be a number from 0 to 1, not {item_test_proportion!r}")
    number = unique_names([*dataset.column_names(), "row number"])[-1]
    rows = candidates = dataset.add_row_number(number)
    if max_num_users is not None and max_num_users >= 0:
        users = dataset[[user_id]].unique().sort(user_id)
        if len(users) > max_num_users:
            chosen = random.Random(random_seed).sample(range(len(users)), max_num_users)
            users = users.add_row_number(number).filter_by(sorted(chosen), number)
            candidates = rows.filter_by(users[user_id], user_id)
    test, _ = candidates.random_split(item_test_proportion, seed=random_seed)
    training = rows.filter_by(test[number], number, exclude=True)
    return training.remove_column(number), test.remove_column(number)


def precision_recall_by_user(observed_user_items: SFrame, recommendations: SFrame, cutoffs: Sequence[int] = (10,)) -> SFrame:
    """Return a row for each user and cutoff: the shares of the first recommendations that the user chose, and of what the user chose among them.

    Parameters
    ----------
    observed_user_items
        A row for each user and item that the user chose, in the columns of ``recommendations``.
    recommendations
        The columns ``user_id`` and ``item_id``, or else the first two columns, and ``rank``, from 1.
    cutoffs
        How many recommendations to consider.

    Returns
    -------
    SFrame
        The columns of users, ``cutoff``, ``precision``, ``recall`` and ``count`` (how much the user chose), by user and cutoff.

    Raises
    ------
    KeyError
        If a column is missing.

    Examples
    --------
    >>> from sframe_spark import SFrame, recommender
    >>> chosen = SFrame({"user_id": [1, 1], "item_id": [7, 9]})
    >>> recommended = SFrame({"user_id": [1, 1], "item_id": [7, 8], "rank": [1, 2]})
    >>> print(recommender.util.precision_recall_by_user(chosen, recommended, [1, 2]))
    +---------+--------+-----------+--------+-------+
    | user_id | cutoff | precision | recall | count |
    +---------+--------+-----------+--------+-------+
    |    1    |   1    |    1.0    |  0.5   |   2   |
    |    1    |   2    |    0.5    |  0.5   |   2   |
    +---------+--------+-----------+--------+-------+
    [2 rows x 5 columns]
    """
    if not isinstance(recommendations, SFrame) or recommendations.num_columns() < 2:
        raise SchemaError("recommendations must be an SFrame with columns of users, items and ranks")
    names = recommendations.column_names()
    user, item = ("user_id", "item_id") if {"user_id", "item_id"} <= set(names) else names[:2]
    _require_frame(recommendations, [user, item, "rank"])
    _require_frame(observed_user_items, [user, item])
    chosen = observed_user_items.groupby(user, {"count": aggregate.COUNT()})
    # Of each pair that was chosen, one row, so that the join adds none.
    pairs = observed_user_items[[user, item]].unique()
    pairs["hit"] = 1
    marked = recommendations[[user, item, "rank"]].join(pairs, on=[user, item], how="left").fillna("hit", 0)
    users = observed_user_items[[user]].append(recommendations[[user]]).unique().join(chosen, on=user, how="left").fillna("count", 0)
    result = SFrame()
    for cutoff in sorted(set(cutoffs)):
        seen = marked[marked["rank"] <= cutoff].groupby(user, {"hits": aggregate.SUM("hit"), "shown": aggregate.COUNT()})
        scores = users.join(seen, on=user, how="left").fillna("hits", 0).fillna("shown", 0)
        scores["cutoff"] = cutoff
        scores["precision"] = SArray.where(scores["shown"] > 0, scores["hits"] / scores["shown"], 0.0)
        scores["recall"] = SArray.where(scores["count"] > 0, scores["hits"] / scores["count"], 1.0)
        result = result.append(scores[[user, "cutoff", "precision", "recall", "count"]])
    return result.sort([user, "cutoff"])


def _require_frame(dataset: Any, names: Sequence[str]) -> None:
    if not isinstance(dataset, SFrame):
        raise SchemaError(f"the data must be an SFrame, not a {type(dataset).__name__}")
    for name in names:
        if name not in dataset.column_names():
            raise MissingColumnError(name, dataset.column_names())


add_call_hints(globals(), __name__)
