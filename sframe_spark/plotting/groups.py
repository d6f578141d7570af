"""What charts of labels need: how often two come together, and how the numbers of each are spread."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sframe_spark.api.node_values import reduce_values, row_tuples
from sframe_spark.engine.runs.materialize import materialize
from sframe_spark.operators.grouped.aggregation import Aggregation
from sframe_spark.operators.grouped.groupby import group_by
from sframe_spark.operators.relational.filter import filter_by_mask
from sframe_spark.operators.rowwise.columns import project, zip_columns
from sframe_spark.operators.rowwise.elementwise import apply_function
from sframe_spark.operators.rowwise.program import Literal
from sframe_spark.planner.node import PlannerNode
from sframe_spark.plotting.bins import Bins
from sframe_spark.plotting.counted import as_numbers, bins_for
from sframe_spark.plotting.extents import Extent
from sframe_spark.plotting.frequent import TopValues, label_texts, top_values
from sframe_spark.plotting.quantiles import QUARTILES, Asked, Quantile, find_quantiles, guarded, place_of
from sframe_spark.types import FLOAT

# Of no more the numbers of a label are sorted.
FEW_ROWS = 100_000
# Of each label's bins, for quartiles.
PARTS_OF_A_BIN = 40


def pairs_of(x: PlannerNode, y: PlannerNode) -> tuple[list[dict[str, Any]], tuple[TopValues, TopValues]]:
    """How often the most frequent values of two columns of texts come together, and these."""
    pair = zip_columns(x, y)
    materialize(pair)
    across, up = top_values(pair)
    if not across.values or not up.values:
        return [], (across, up)
    counts = reduce_values(pair, [Aggregation("label_counts", (0, 1), (across.labels, up.labels))])[0]
    places = ((one, other) for one in label_texts(across.labels) for other in label_texts(up.labels))
    return [{"x": one, "y": other, "count": int(count)} for (one, other), count in zip(places, counts, strict=True)], (across, up)


def spreads_of(labels: PlannerNode, y: PlannerNode) -> tuple[list[dict[str, Any]], TopValues, int]:
    """The spread of the numbers of each of the most frequent values of a column of texts; these values; and how many of their rows have no number."""
    pair = zip_columns(labels, y)
    materialize(pair)
    top = top_values(project(pair, [0]))[0]
    numbers = zip_columns(project(pair, [0]), as_numbers(project(pair, [1])))
    if not top.values:
        return [], top, 0
    ranges = np.reshape(reduce_values(numbers, [Aggregation("label_ranges", (0, 1), top.labels)])[0], (-1, 4))
    some = [place for place, (count, *_) in enumerate(ranges) if count]
    if top.rows <= FEW_ROWS:
        quartiles = _exact_quartiles(numbers, top.labels)
    else:
        searched = [_searched(place, ranges[place], share, y) for place in some for share in QUARTILES]
        find_quantiles(searched, lambda asked: _counts(numbers, top.labels, asked))
        quartiles = {top.labels[place]: [one.number for one in searched if one.owner == place] for place in some}
    texts = label_texts(top.labels)
    rows = [_row(texts[place], ranges[place], quartiles[top.labels[place]]) for place in some]
    return rows, top, sum(count for _, count in top.values) - int(ranges[:, 0].sum())


def _exact_quartiles(numbers: PlannerNode, labels: Sequence[Any]) -> dict[Any, Sequence[float]]:
    """Those of the finite numbers of each label, for so few rows that those of a label have room in one place."""
    label, number = (project(numbers, [place]) for place in (0, 1))
    chosen = apply_function("is_in", label, parameters=(tuple(value for value in labels if value is not None),))
    if None in labels:
        chosen = apply_function("or_", chosen, apply_function("is_missing", label))
    finite = apply_function("less", apply_function("absolute", number), Literal(math.inf, FLOAT))
    kept = filter_by_mask(numbers, apply_function("and_", chosen, finite))
    return dict(row_tuples(group_by(kept, [0], [Aggregation("quantile", (1,), QUARTILES)])))


def _searched(place: int, of_label: Sequence[float], share: float, y: PlannerNode) -> Quantile:
    count, least, largest = int(of_label[0]), float(of_label[1]), float(of_label[2])
    bins = guarded(bins_for(Extent(count, 0, 0, 0, least, largest), y.schema[0]).finer(PARTS_OF_A_BIN))
    return Quantile(place, place_of(count, share), bins, largest - least, y.schema[0].kind)


def _row(label: str, of_label: Sequence[float], quartiles: Sequence[float]) -> dict[str, Any]:
    least, largest = float(of_label[1]), float(of_label[2])
    # A quartile is told as the edge of a narrow bin, which may begin before the least number.
    lower, median, upper = (min(max(float(number), least), largest) for number in quartiles)
    return {
        "x": label,
        "min": least,
        "lower quartile": lower,
        "median": median,
        "upper quartile": upper,
        "max": largest,
        "count": int(of_label[0]),
    }


def _counts(numbers: PlannerNode, labels: Sequence[Any], asked: Sequence[Asked]) -> list[np.ndarray]:
    """Counts in the bins that each label is asked for: the first bins of all labels together, then the second ones."""
    rounds: list[dict[int, Bins]] = []
    for owner, bins in asked:
        free = next((one for one in rounds if owner not in one), None)
        if free is None:
            rounds.append(free := {})
        free[owner] = bins
    aggregations = [
        Aggregation("label_histograms", (0, 1), (tuple(labels[place] for place in one), tuple(bins.parameters for bins in one.values())))
        for one in rounds
    ]
    found: dict[Asked, np.ndarray] = {}
    for one, counts in zip(rounds, reduce_values(numbers, aggregations), strict=True):
        ends = np.cumsum([bins.count for bins in one.values()])
        found.update(zip(one.items(), np.split(np.asarray(counts), ends[:-1]), strict=True))
    return [found[one] for one in asked]
