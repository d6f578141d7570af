"""How often pictures go over the rows: a few times, however many columns there are, and only counts come back."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from sframe_spark import SArray, SFrame, visualization
from sframe_spark.api import node_value_conversion
from sframe_spark.expressions.aggregates import histograms_summaries_and_rank_counts as profiling
from sframe_spark.planner.chunk import Chunk
from sframe_spark.plotting import chart_data, summary
from tests.spark_jobs import last_job

CHOOSE = random.Random(3)
ROWS = 12_000
START = datetime.datetime(2024, 1, 1)
COLUMNS: dict[str, list[Any]] = {
    "number": [CHOOSE.gauss(0, 1) for _ in range(ROWS)],
    "other": [CHOOSE.lognormvariate(0, 3) for _ in range(ROWS)],
    "time": [START + datetime.timedelta(seconds=CHOOSE.randrange(10**7)) for _ in range(ROWS)],
    "few": [CHOOSE.choice("abcdef") for _ in range(ROWS)],
    "many": [f"word {int(CHOOSE.expovariate(0.0003))}" for _ in range(ROWS)],
}
# The first pass sums up, another counts the frequent values of texts, the others divide the bins of quartiles.
MOST = chart_data.MAX_PASSES + 2


@attrs.define
class Looks:
    """What a picture asked for."""

    passes: int = 0
    rows: list[int] = attrs.Factory(list)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Looks:
    """Every pass over rows, and how many rows came to the driver each time; columns have more values than are kept."""
    found = Looks()
    reduce_columns, rows_of = node_value_conversion.reduce_columns, node_value_conversion.rows_of

    def counted(*arguments: Any) -> Any:
        found.passes += 1
        return reduce_columns(*arguments)

    def noted(*arguments: Any, **more: Any) -> Chunk:
        chunk = rows_of(*arguments, **more)
        found.rows.append(chunk.rows)
        return chunk

    monkeypatch.setattr(node_value_conversion, "reduce_columns", counted)
    monkeypatch.setattr(node_value_conversion, "rows_of", noted)
    monkeypatch.setattr(profiling, "MAX_VALUES", 5000)
    monkeypatch.setattr(chart_data, "SORTED_ROWS", 100)
    return found


def column(name: str) -> SArray:
    return SArray(COLUMNS[name])


CHARTS: dict[str, tuple[Callable[[], Any], int]] = {
    "histogram": (lambda: column("number").plot(), 2),
    "histogram of times": (lambda: column("time").plot(), 2),
    "bars of few": (lambda: column("few").plot(), 1),
    "bars of many": (lambda: column("many").plot(), 2),
    "cells": (lambda: visualization.plot(column("number"), column("other")), 2),
    "line": (lambda: visualization.plot(column("time"), column("number")), 2),
    "pairs": (lambda: visualization.plot(column("few"), column("many")), 3),
    "boxes": (lambda: visualization.plot(column("few"), column("number")), MOST),
    "boxes of many": (lambda: visualization.plot(column("many"), column("other")), MOST + 1),
    "summary": (lambda: SFrame(COLUMNS).summary_page(), MOST),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", CHARTS)
def test_charts_go_over_the_rows_a_few_times(name: str, looks: Looks) -> None:
    make, most = CHARTS[name]
    make().get_data()
    assert 1 <= looks.passes <= most and (most >= MOST or looks.passes == most)
    # One row of counts for each pass.
    assert looks.rows == [1] * looks.passes


@pytest.mark.sampled(2)
@pytest.mark.parametrize("width", [30, 60])
def test_more_columns_are_no_more_passes_over_each(width: int, looks: Looks, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = SFrame({f"{name} {number:02d}": COLUMNS[name] for name in ("number", "many") for number in range(width // 2)})
    frame.summary_page().get_data()
    groups_of_columns = -(-width // summary.COLUMNS_AT_ONCE)
    groups_of_bins = -(-3 * (width // 2) // summary.BINS_AT_ONCE)
    assert looks.passes <= groups_of_columns + groups_of_bins * chart_data.MAX_PASSES + 1
    assert looks.rows == [1] * looks.passes


@pytest.mark.spark
@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", CHARTS)
def test_a_pass_is_a_job_of_spark(name: str, looks: Looks, spark: Any, everything_on_spark: None) -> None:
    make, _ = CHARTS[name]
    chart = make()
    before = last_job(spark)
    chart.get_data()
    # What is in the driver's memory is put where tasks read it first.
    assert looks.passes <= last_job(spark) - before <= looks.passes + 2
