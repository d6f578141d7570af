"""Splits of frames for cross-validation, as GraphLab Create has them.

Examples
--------
>>> from sframe_spark import SFrame, cross_validation
>>> [list(validation["a"]) for training, validation in cross_validation.KFold(SFrame({"a": [1, 2, 3, 4]}), 2)]
[[1, 2], [3, 4]]
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import attrs

from sframe_spark.api.column_names import unique_names
from sframe_spark.api.sframe import SFrame
from sframe_spark.errors import InvalidArgumentError, SchemaError
from sframe_spark.message_text import brief

__all__ = ["KFold", "shuffle"]


def shuffle(sf: SFrame, random_seed: int | None = None) -> SFrame:
    """Return the rows in a random order that depends only on ``random_seed``; None means 0.

    Raises
    ------
    TypeError
        If ``sf`` is not an SFrame.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> from sframe_spark.toolkits import cross_validation
    >>> sorted(cross_validation.shuffle(SFrame({"a": [1, 2, 3]}), random_seed=1)["a"])
    [1, 2, 3]
    """
    _require_frame(sf)
    name = unique_names([*sf.column_names(), "order"])[-1]
    numbered = sf.add_row_number(name)
    seed = 0 if random_seed is None else random_seed
    numbered[name] = numbered[name].apply(_Draw(seed), float)
    return numbered.sort(name).remove_column(name)


@attrs.frozen
class _Draw:
    """A function that draws a number for a row, by the number of the row and a seed."""

    seed: int

    def __call__(self, number: int) -> float:
        return random.Random(f"{self.seed}:{number}").random()


class KFold:
    """The pairs of training and validation rows for cross-validation with a number of folds: each row is for validation once.

    Rows are not shuffled: a fold is a range of them. Iterate over the pairs, or ask for one by its number.

    Parameters
    ----------
    data
        The rows.
    num_folds
        The number of folds, at least 2.

    Raises
    ------
    TypeError
        If ``data`` is not an SFrame, or ``num_folds`` not an int.
    ValueError
        If there are fewer than two folds, or fewer rows than folds.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> from sframe_spark.toolkits import cross_validation
    >>> for training, validation in cross_validation.KFold(SFrame({"a": [1, 2, 3, 4]}), 2):
    ...     print(list(training["a"]), list(validation["a"]))
    [3, 4] [1, 2]
    [1, 2] [3, 4]
    """

    def __init__(self, data: SFrame, num_folds: int) -> None:
        _require_frame(data)
        if isinstance(num_folds, bool) or not isinstance(num_folds, int):
            raise SchemaError(f"num_folds must be an int, not {brief(num_folds)}")
        if num_folds < 2:
            raise InvalidArgumentError(f"num_folds must be at least two, not {num_folds:,}")
        if len(data) < num_folds:
            raise InvalidArgumentError(f"{len(data):,} rows cannot be divided into {num_folds:,} folds: use fewer")
        self.data, self.num_folds = data, num_folds

    def __len__(self) -> int:
        return self.num_folds

    def __getitem__(self, fold: int) -> tuple[SFrame, SFrame]:
        if not 0 <= fold < self.num_folds:
            raise IndexError(f"folds are numbered from 0 to {self.num_folds - 1}, so there is no fold {fold}")
        rows = len(self.data)
        start, stop = fold * rows // self.num_folds, (fold + 1) * rows // self.num_folds
        return self.data[:start].append(self.data[stop:]), self.data[start:stop]

    def __iter__(self) -> Iterator[tuple[SFrame, SFrame]]:
        return (self[fold] for fold in range(self.num_folds))


def _require_frame(data: Any) -> None:
    if not isinstance(data, SFrame):
        raise SchemaError(f"the rows to split must be an SFrame, not a {type(data).__name__}")
