"""How well predictions agree with targets: accuracy, confusion matrices, precision and recall, ROC curves, errors.

Targets and predictions are columns of the same length, aligned by position. Only one row for each pair of classes reaches the driver, or one for each
of
a thousand thresholds.

Examples
--------
>>> from sframe_spark import SArray, evaluation
>>> evaluation.accuracy(SArray(["cat", "dog"]), SArray(["cat", "cat"]))
0.5
"""

from __future__ import annotations

import array
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from sframe_spark.api import aggregate
from sframe_spark.api.error_hints import add_call_hints
from sframe_spark.api.sarray import SArray
from sframe_spark.api.sframe import SFrame
from sframe_spark.errors import LengthMismatchError, SchemaError, UnsupportedOperationError
from sframe_spark.message_text import brief

__all__ = ["accuracy", "auc", "confusion_matrix", "f1_score", "fbeta_score", "log_loss", "max_error", "precision", "recall", "rmse", "roc_curve"]

_TARGET, _PREDICTION, _COUNT, _BIN = "target_label", "predicted_label", "count", "bin"
_LABEL_TYPES = (int, str)
THRESHOLDS = 1000
"""Thresholds of ROC curves are the multiples of a thousandth from 0 to 1."""
# Smaller probabilities count as these, so that a sure and wrong prediction has a finite loss: of one probability a row, and of one for each class.
# Source: measured on Turi Create 6.4.1.
_SMALLEST_OF_TWO, _SMALLEST_OF_MANY = 1e-9, 1e-15


def accuracy(targets: SArray, predictions: SArray, average: str | None = "micro") -> float | dict[Any, float | None]:
    """Return the share of rows whose prediction is the target.

    Parameters
    ----------
    targets, predictions
        Classes: both columns of ints, or both of texts. Missing values form a separate class.
    average
        ``"micro"``: the share of all rows. ``"macro"``: the mean over classes of the share of rows whose target and prediction both are of the class,
        or both are not. None: a dict with the precision of each class, as in Turi Create. For two classes it is the share of all rows in each case.

    Raises
    ------
    RuntimeError
        If a column is not an SArray, their lengths differ, or ``average`` is unknown.
    TypeError
        If the columns are of different types, or neither of ints nor of texts.

    Examples
    --------
    >>> from sframe_spark import SArray, evaluation
    >>> evaluation.accuracy(SArray(["cat", "dog", "cat"]), SArray(["cat", "cat", "cat"]))
    0.6666666666666666
    """
    _require_average(average, ("micro", "macro", None))
    counts = ClassCounts.of(targets, predictions)
    if average is None and len(counts.classes) != 2:
        return counts.by_class(counts.precision_of)
    if average == "macro" and len(counts.classes) != 2:
        return _mean([counts.accuracy_of(label) for label in counts.classes])
    return counts.accuracy


def precision(targets: SArray, predictions: SArray, average: str | None = "macro") -> float | dict[Any, float | None] | None:
    """Return the share of rows predicted to be of a class that are of it; None if no row is.

    Parameters
    ----------
    targets, predictions
        As in :func:`accuracy`.
    average
        ``"macro"``: the mean over classes; classes without such rows are left out. ``"micro"``: the share of all rows. None: a dict with the value of
        each class. For two classes it is the value of the larger one in each case.

    Raises
    ------
    RuntimeError, TypeError
        As in :func:`accuracy`.

    Examples
    --------
    >>> from sframe_spark import SArray, evaluation
    >>> evaluation.precision(SArray([1, 0, 1, 0]), SArray([1, 1, 0, 0]))
    0.5
    """
    return _averaged(targets, predictions, average, lambda counts: counts.precision_of)


def recall(targets: SArray, predictions: SArray, average: str | None = "macro") -> float | dict[Any, float | None] | None:
    """Return the share of rows of a class that are predicted to be of it; None if no row is of it.

    Parameters
    ----------
    targets, predictions, average
        As in :func:`precision`.

    Raises
    ------
    RuntimeError, TypeError
        As in :func:`accuracy`.

    Examples
    --------
    >>> from sframe_spark import SArray, evaluation
    >>> evaluation.recall(SArray(["a", "b", "c", "a"]), SArray(["a", "c", "c", "a"]), average=None)
    {'a': 1.0, 'b': 0.0, 'c': 1.0}
    """
    return _averaged(targets, predictions, average, lambda counts: counts.recall_of)


def f1_score(targets: SArray, predictions: SArray, average: str | None = "macro") -> float | dict[Any, float | None] | None:
    """Return the harmonic mean of precision and recall.

    Parameters
    ----------
    targets, predictions, average
        As in :func:`precision`.

    Raises
    ------
    RuntimeError, TypeError
        As in :func:`accuracy`.

    Examples
    --------
    >>> from sframe_spark import SArray, evaluation
    >>> evaluation.f1_score(SArray([1, 0, 1, 1]), SArray([1, 1, 0, 1]))
    0.6666666666666666
    """
    return fbeta_score(targets, predictions, 1.0, average)


def fbeta_score(targets: SArray, predictions: SArray, beta: float = 1.0, average: str | None = "macro") -> float | dict[Any, float | None] | None:
    """Return the weighted harmonic mean of precision and recall.

    Parameters
    ----------
    targets, predictions, average
        As in :func:`precision`.
    beta
        How many times as much recall weighs as precision, above 0.

    Raises
    ------
    RuntimeError
        As in :func:`accuracy`, and if ``beta`` is not above 0.
    TypeError
        As in :func:`accuracy`, and if ``beta`` is not a number.

    Examples
    --------
    >>> from sframe_spark import SArray, evaluation
    >>> evaluation.fbeta_score(SArray([1, 0, 1, 1]), SArray([1, 0, 0, 1]), beta=2.0)
    0.7142857142857142
    """
    if isinstance(beta, bool) or not isinstance(beta, (int, float)):
        raise SchemaError(f"beta must be a number, not {brief(beta)}")
    if not beta > 0:
        raise UnsupportedOperationError(f"beta must be a number above 0, not {beta!r}")
    return _averaged(targets, predictions, average, lambda counts: lambda label: counts.f_score_of(label, beta))


def confusion_matrix(targets: SArray, predictions: SArray) -> SFrame:
    """Return a row for each pair of a target and a prediction that occurs, with how many rows have it, sorted by target and prediction.

    Parameters
    ----------
    targets, predictions
        As in :func:`accuracy`.

    Returns
    -------
    SFrame
        The columns ``target_label``, ``predicted_label`` and ``count``.

    Raises
    ------
    RuntimeError, TypeError
        As in :func:`accuracy`.

    Examples
    --------
    >>> from sframe_spark import SArray, evaluation
    >>> print(evaluation.confusion_matrix(SArray([1, 0, 1]), SArray([1, 1, 1])))
    +--------------+-----------------+-------+
    | target_label | predicted_label | count |
    +--------------+-----------------+-------+
    |      0       |        1        |   1   |
    |      1       |        1        |   2   |
    +--------------+-----------------+-------+
    [2 rows x 3 columns]
    """
    _require_columns(targets, predictions)
    for name, column in (("targets", targets), ("predictions", predictions)):
        if column.dtype not in _LABEL_TYPES and not _is_empty(column):
            raise SchemaError(f"{name} must be classes, ints or texts, not of {column.dtype.__name__}: convert them with astype(int) or astype(str)")
    if targets.dtype is not predictions.dtype:
        kinds = f"{targets.dtype.__name__} and {predictions.dtype.__name__}"
        raise SchemaError(f"targets and predictions must have the same type, not {kinds}: convert one of them with astype()")
    rows = SFrame({_TARGET: targets})
    rows[_PREDICTION] = predictions
    return rows.groupby([_TARGET, _PREDICTION], {_COUNT: aggregate.COUNT()})[[_TARGET, _PREDICTION, _COUNT]]


def rmse(targets: SArray, predictions: SArray) -> float:
    """Return the root of the mean of squared differences; rows where one value is missing are left out.

    Parameters
    ----------
    targets, predictions
        Columns of numbers.

    Raises
    ------
    RuntimeError
        If a column is not an SArray of numbers, or their lengths differ.

    Examples
    --------
    >>> from sframe_spark import SArray, evaluation
    >>> evaluation.rmse(SArray([1.0, 2.0]), SArray([2.0, 4.0]))
    1.5811388300841898
    """
    differences = _differences(targets, predictions)
    mean = (differences * differences).mean()
    return math.nan if mean is None else math.sqrt(mean)


def max_error(targets: SArray, predictions: SArray) -> float:
    """Return the largest absolute difference; rows where one value is missing or NaN are left out. Without rows it is 0.

    Parameters
    ----------
    targets, predictions
        Columns of numbers.

    Raises
    ------
    RuntimeError
        As in :func:`rmse`.

    Examples
    --------
    >>> from sframe_spark import SArray, evaluation
    >>> evaluation.max_error(SArray([1.0, 2.0]), SArray([2.0, 4.0]))
    2.0
    """
    differences = _differences(targets, predictions).dropna()
    extremes = [extreme for extreme in (differences.max(), differences.min()) if extreme is not None]
    return max((abs(extreme) for extreme in extremes), default=0.0)


def log_loss(targets: SArray, predictions: SArray, index_map: Mapping[Any, int] | None = None) -> float:
    """Return the mean of the negative logarithms of the probabilities that were predicted for the targets.

    Parameters
    ----------
    targets
        Classes, ints or texts.
    predictions
        For two classes the probability of the larger one, otherwise an array with a probability for each class.
    index_map
        A dict from classes to their places in the arrays. Without it, places are those of the classes in ascending order, missing values first.

    Raises
    ------
    RuntimeError
        If a column is not an SArray, their lengths differ, a probability is missing or not from 0 to 1, or the numbers of classes and of
        probabilities
        differ.
    TypeError
        If the columns have other types.

    Examples
    --------
    >>> from sframe_spark import SArray, evaluation
    >>> evaluation.log_loss(SArray([0, 1]), SArray([0.25, 0.75]))
    0.2876820724517809
    """
    classes = _probability_classes(targets, predictions, index_map)
    places = {label: place for place, label in enumerate(classes)}
    rows = SFrame({"target": targets, "prediction": predictions})

    def loss(row: dict[str, Any]) -> float:
        place, predicted = places[row["target"]], row["prediction"]
        if isinstance(predicted, (float, int)):
            return -math.log(max(predicted if place == 1 else 1.0 - predicted, _SMALLEST_OF_TWO))
        return -math.log(max(predicted[place], _SMALLEST_OF_MANY))

    mean = rows.apply(loss, float).mean()
    return math.nan if mean is None else float(mean)


def roc_curve(targets: SArray, predictions: SArray, average: None = None, index_map: Mapping[Any, int] | None = None) -> SFrame:
    """Return a row for each threshold, a multiple of 0.001, with the rates of false and of true positives if larger probabilities are positive.

    Parameters
    ----------
    targets, predictions, index_map
        As in :func:`log_loss`. Probabilities are rounded down to thousandths, and 1 to 0.999.
    average
        Must be None.

    Returns
    -------
    SFrame
        The columns ``threshold``, ``fpr``, ``tpr``, and the numbers ``p`` and ``n`` of positive and negative rows. For more than two classes, one
        curve for each class against all others, and the column ``class``.

    Raises
    ------
    RuntimeError, TypeError
        As in :func:`log_loss`, and if ``average`` is not None.

    Examples
    --------
    >>> from sframe_spark import SArray, evaluation
    >>> curve = evaluation.roc_curve(SArray([0, 1, 1, 0]), SArray([0.1, 0.4, 0.8, 0.6]))
    >>> curve[500]
    {'threshold': 0.5, 'fpr': 0.5, 'tpr': 0.5, 'p': 2, 'n': 2}
    """
    _require_average(average, (None,))
    curves = _roc_curves(targets, predictions, index_map)
    frames = []
    for curve in curves:
        frame = SFrame({"threshold": np.arange(THRESHOLDS + 1) / THRESHOLDS})
        frame["fpr"], frame["tpr"] = curve.false_rates, curve.true_rates
        frame["p"], frame["n"] = curve.positives, curve.negatives
        if len(curves) > 1:
            frame["class"] = curve.label
        frames.append(frame)
    result = frames[0]
    for frame in frames[1:]:
        result = result.append(frame)
    return result


def auc(targets: SArray, predictions: SArray, average: str | None = "macro", index_map: Mapping[Any, int] | None = None) -> float | dict[Any, float]:
    """Return the area under the ROC curve.

    Parameters
    ----------
    targets, predictions, index_map
        As in :func:`roc_curve`.
    average
        For more than two classes: ``"macro"``, the mean over classes, or None, a dict with the area of each class against all others.

    Raises
    ------
    RuntimeError, TypeError
        As in :func:`log_loss`, and if ``average`` is unknown.

    Examples
    --------
    >>> from sframe_spark import SArray, evaluation
    >>> evaluation.auc(SArray([0, 1, 1, 0]), SArray([0.1, 0.4, 0.8, 0.6]))
    0.75
    """
    _require_average(average, ("macro", None))
    curves = _roc_curves(targets, predictions, index_map)
    if len(curves) == 1:
        return curves[0].area
    areas = {curve.label: curve.area for curve in curves}
    return areas if average is None else _mean(list(areas.values()))


@attrs.frozen
class ClassCounts:
    """A confusion matrix in memory.

    Parameters
    ----------
    pairs
        How many rows have each pair of a target and a prediction.
    """

    pairs: Mapping[tuple[Any, Any], int]

    @classmethod
    def of(cls, targets: SArray, predictions: SArray) -> ClassCounts:
        """Count the pairs of two columns."""
        rows = confusion_matrix(targets, predictions)
        return cls({(row[_TARGET], row[_PREDICTION]): row[_COUNT] for row in rows})

    @property
    def classes(self) -> list[Any]:
        """All classes among targets and predictions, missing values first, then ascending."""
        return _ascending({label for pair in self.pairs for label in pair})

    @property
    def rows(self) -> int:
        """The number of rows."""
        return sum(self.pairs.values())

    @property
    def accuracy(self) -> float:
        """The share of rows whose prediction is the target; NaN without rows."""
        return sum(count for (target, prediction), count in self.pairs.items() if target == prediction) / self.rows if self.rows else math.nan

    def hits_of(self, label: Any) -> tuple[int, int, int]:
        """Return how many rows have a class as target and as prediction, as prediction, and as target."""
        predicted = sum(count for (_, prediction), count in self.pairs.items() if prediction == label)
        targeted = sum(count for (target, _), count in self.pairs.items() if target == label)
        return self.pairs.get((label, label), 0), predicted, targeted

    def precision_of(self, label: Any) -> float | None:
        """Return the precision of a class; None if it is never predicted."""
        hits, predicted, _ = self.hits_of(label)
        return hits / predicted if predicted else None

    def recall_of(self, label: Any) -> float | None:
        """Return the recall of a class; None if it is never the target."""
        hits, _, targeted = self.hits_of(label)
        return hits / targeted if targeted else None

    def accuracy_of(self, label: Any) -> float:
        """Return the share of rows in which both or neither of target and prediction is a class."""
        hits, predicted, targeted = self.hits_of(label)
        return (self.rows - predicted - targeted + 2 * hits) / self.rows

    def f_score_of(self, label: Any, beta: float) -> float:
        """Return the F score of a class, where what is None counts as 0."""
        share, found = self.precision_of(label) or 0.0, self.recall_of(label) or 0.0
        weighted = beta * beta * share + found
        return (1 + beta * beta) * share * found / weighted if weighted else 0.0

    def by_class(self, score: Callable[[Any], float | None]) -> dict[Any, float | None]:
        """Return the score of each class."""
        return {label: score(label) for label in self.classes}


@attrs.frozen(eq=False)
class RocCurve:
    """The rates of positives for all thresholds, for one class against the others."""

    label: Any
    positives: int
    negatives: int
    true_rates: np.ndarray
    false_rates: np.ndarray

    @property
    def area(self) -> float:
        """The area under the curve, by trapezoids."""
        widths = self.false_rates[:-1] - self.false_rates[1:]
        last = self.false_rates[-1] * self.true_rates[-1] / 2
        return float(np.sum(widths * (self.true_rates[:-1] + self.true_rates[1:]) / 2) + last)


def _averaged(
    targets: SArray, predictions: SArray, average: str | None, score: Callable[[ClassCounts], Callable[[Any], float | None]]
) -> float | dict[Any, float | None] | None:
    _require_average(average, ("micro", "macro", None))
    counts = ClassCounts.of(targets, predictions)
    classes = counts.classes
    if len(classes) == 2:
        return score(counts)(classes[1])
    if not classes:
        return None
    if average == "micro":
        return counts.accuracy
    scores = counts.by_class(score(counts))
    return scores if average is None else _mean([value for value in scores.values() if value is not None])


def _roc_curves(targets: SArray, predictions: SArray, index_map: Mapping[Any, int] | None) -> list[RocCurve]:
    classes = _probability_classes(targets, predictions, index_map)
    if predictions.dtype in (int, float):
        return [_roc_curve(classes[1], targets, predictions)]
    curves = []
    for place, label in enumerate(classes):
        curves.append(_roc_curve(label, targets, predictions.apply(_ItemAt(place), float)))
    return curves


@attrs.frozen
class _ItemAt:
    """A function that gives the item at one place."""

    place: int

    def __call__(self, values: Sequence[float]) -> float:
        return values[self.place]


def _roc_curve(label: Any, targets: SArray, probabilities: SArray) -> RocCurve:
    bins = (probabilities.astype(float) * THRESHOLDS).astype(int)
    is_positive = targets == label if label is not None else targets == None  # noqa: E711
    counts = SFrame({_BIN: bins, "positive": is_positive.fillna(0)}).groupby([_BIN, "positive"], {_COUNT: aggregate.COUNT()})
    at_least = np.zeros((2, THRESHOLDS + 1))
    for row in counts:
        # As in Turi Create a probability of 1 is below the last threshold.
        at_least[row["positive"], min(row[_BIN], THRESHOLDS - 1)] += row[_COUNT]
    at_least = at_least[:, ::-1].cumsum(axis=1)[:, ::-1]
    negatives, positives = at_least[:, 0]
    return RocCurve(label, int(positives), int(negatives), at_least[1] / max(positives, 1), at_least[0] / max(negatives, 1))


def _probability_classes(targets: SArray, predictions: SArray, index_map: Mapping[Any, int] | None) -> list[Any]:
    """Check columns of classes and probabilities, and return the classes in the order of the probabilities."""
    _require_columns(targets, predictions)
    if targets.dtype not in _LABEL_TYPES and not _is_empty(targets):
        raise SchemaError(f"targets must be classes, ints or texts, not of {targets.dtype.__name__}: convert them with astype(int) or astype(str)")
    present = _ascending(set(targets.unique()))
    classes = present if index_map is None else sorted(index_map, key=index_map.__getitem__)
    unknown = [label for label in present if label not in classes]
    if unknown:
        raise UnsupportedOperationError(f"index_map does not contain the class {brief(unknown[0])}")
    single = predictions.dtype in (int, float)
    if not single and predictions.dtype.__name__ not in ("array", "list", "ndarray"):
        raise SchemaError(f"predictions must be probabilities, or arrays of them, not of {predictions.dtype.__name__}")
    if single and len(classes) != 2:
        raise UnsupportedOperationError(
            f"one probability per row is enough for two classes only, but targets have {len(classes):,}: pass arrays with one for each class"
        )
    items = predictions
    if not single:
        vectors = predictions.astype(array.array) if predictions.dtype is np.ndarray else predictions
        sizes = sorted(set(vectors.dropna().item_length().unique()))
        if any(size != len(classes) for size in sizes):
            wrong = next(size for size in sizes if size != len(classes))
            raise UnsupportedOperationError(f"an array has {wrong:,} probabilities for {len(classes):,} classes")
        items = SFrame({"p": vectors}).stack("p", new_column_name="p")["p"]
    if len(items.dropna()) < len(items):
        raise UnsupportedOperationError("a probability is missing or NaN: remove such rows with dropna() on a frame of both columns")
    least, largest = items.min(), items.max()
    if least is not None and not (least >= 0 and largest <= 1):
        raise UnsupportedOperationError(f"probabilities must be from 0 to 1, but these are from {least:g} to {largest:g}: scale them first")
    return classes


def _ascending(labels: set[Any]) -> list[Any]:
    """Return classes in ascending order, a missing one first."""
    return sorted(labels, key=lambda label: (label is not None, label))


def _mean(values: Sequence[float]) -> Any:
    return sum(values) / len(values) if values else None


def _differences(targets: SArray, predictions: SArray) -> SArray:
    _require_columns(targets, predictions)
    for name, column in (("targets", targets), ("predictions", predictions)):
        if column.dtype not in (int, float):
            raise UnsupportedOperationError(f"{name} must be numbers, not of {column.dtype.__name__}: convert them with astype(float)")
    return targets.astype(float) - predictions


def _is_empty(column: SArray) -> bool:
    return column.dtype is float and len(column) == 0


def _require_columns(targets: Any, predictions: Any) -> None:
    for name, column in (("targets", targets), ("predictions", predictions)):
        if not isinstance(column, SArray):
            raise UnsupportedOperationError(f"{name} must be an SArray, not a {type(column).__name__}: SArray(values), or a column of a frame")
    if len(targets) != len(predictions):
        raise LengthMismatchError(f"targets and predictions must have the same length, not {len(targets):,} and {len(predictions):,} rows")


def _require_average(average: Any, known: Sequence[str | None]) -> None:
    if average not in known:
        raise UnsupportedOperationError(f"average must be {' or '.join(map(repr, known))}, not {brief(average)}")


add_call_hints(globals(), __name__)
