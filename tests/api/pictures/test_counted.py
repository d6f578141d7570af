"""What charts show is what plain Python counts, however the rows are cut and wherever they are counted."""

from __future__ import annotations

import collections
import datetime
import math
import random
import statistics
from typing import Any

import pytest

from sframe_spark import SArray, SFrame, visualization
from sframe_spark.api.pictures import counted, summary
from sframe_spark.config import config
from sframe_spark.testing.functions import check_aggregate

RANDOM = random.Random(7)
ROWS = 700
START = datetime.datetime(2024, 2, 27)
VALUES: dict[str, list[Any]] = {
    "int": [None if row % 9 == 0 else RANDOM.randrange(-50, 400) for row in range(ROWS)],
    "float": [[None, math.nan, math.inf, -math.inf][row % 4] if row % 8 == 0 else RANDOM.lognormvariate(0, 2) for row in range(ROWS)],
    "text": [None if row % 11 == 0 else f"word {int(RANDOM.expovariate(0.2))}" for row in range(ROWS)],
    "time": [None if row % 10 == 0 else START + datetime.timedelta(minutes=RANDOM.randrange(10**5)) for row in range(ROWS)],
    "list": [[1, "a"] if row % 3 else None for row in range(ROWS)],
}


def column(name: str, segments: int = 1) -> SArray:
    array = SArray(VALUES[name])
    array.materialize(segments=segments)
    return array


def everything(segments: int) -> list[Any]:
    """All that pictures tell of the columns, in so many segments."""
    frame = SFrame({name: column(name, segments) for name in VALUES})
    found: list[Any] = [frame.summary_page().get_data()]
    found += [column(name, segments).plot().get_data() for name in VALUES if name != "list"]
    with_charts = [name for name in VALUES if name != "list"]
    found += [visualization.plot(column(x, segments), column(y, segments)).get_data() for x in with_charts for y in with_charts]
    found.append(visualization.heatmap(column("float", segments), column("time", segments)).get_data())
    return rounded(found)


def rounded(value: Any) -> Any:
    """Sums of parts are rounded in another order."""
    if isinstance(value, float):
        return float(f"{value:.10g}")
    if isinstance(value, dict):
        return {name: rounded(part) for name, part in value.items()}
    return [rounded(part) for part in value] if isinstance(value, list) else value


@pytest.mark.parametrize("most_points", [5000, 10])
def test_segments_make_no_difference(most_points: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from sframe_spark.api.pictures import choosing

    monkeypatch.setattr(choosing, "MOST_POINTS", most_points)
    expected = everything(1)
    assert everything(2) == expected and everything(7) == expected


@pytest.mark.spark
def test_spark_counts_the_same(spark: Any, everything_on_spark: None) -> None:
    with config.using(small_rows=100_000):
        expected = everything(1)
    assert everything(3) == expected


@pytest.mark.spark
@pytest.mark.parametrize("name", ["int", "float"])
def test_the_aggregates_keep_their_contract(spark: Any, name: str) -> None:
    check_aggregate("finite_range", VALUES[name][:40])
    check_aggregate("histogram", VALUES[name][:40], parameters=(-2, 50, 12))


@pytest.mark.parametrize("name", ["int", "float", "time"])
def test_a_histogram_counts_each_number_once(name: str) -> None:
    bars, extent = counted.histogram_of(column(name)._node)
    numbers = [value for value in VALUES[name] if value is not None and (not isinstance(value, float) or math.isfinite(value))]
    seconds = [(value - datetime.datetime(1970, 1, 1)).total_seconds() if name == "time" else value for value in numbers]
    assert [bar["count"] for bar in bars] == [sum(bar["left"] <= value < bar["right"] for value in seconds) for bar in bars]
    assert extent.numbers == len(numbers) and (extent.least, extent.largest) == (min(seconds), max(seconds))
    missing, nan = VALUES[name].count(None), sum(isinstance(value, float) and math.isnan(value) for value in VALUES[name])
    assert (extent.missing, extent.nan, extent.infinite) == (missing, nan, ROWS - len(numbers) - missing - nan)


def test_bars_of_texts_add_up() -> None:
    table = counted.frequencies_of(column("text")._node)
    expected = collections.Counter(VALUES["text"])
    labels = {None if row.get("missing") else row["label"]: row["count"] for row in table[:-1]}
    assert labels == {value: expected[value] for value in labels} and len(labels) == counted.MOST_LABELS
    assert min(labels.values()) >= max(count for value, count in expected.items() if value not in labels)
    assert table[-1]["label"] == f"Other ({len(expected) - 12} values)" and sum(row["count"] for row in table) == ROWS


def test_boxes_are_quartiles_of_finite_numbers() -> None:
    boxes = {row["x"]: row for row in visualization.box_plot(column("text"), column("float")).get_data()["values"]}
    for label, row in boxes.items():
        pairs = zip(VALUES["text"], VALUES["float"], strict=True)
        numbers = sorted(value for text, value in pairs if (text or "(missing)") == label and value is not None and math.isfinite(value))
        quartiles = [numbers[min(int(len(numbers) * share), len(numbers) - 1)] for share in (0, 0.25, 0.5, 0.75, 1)]
        assert [row[name] for name in ("min", "lower quartile", "median", "upper quartile", "max")] == quartiles
        assert row["count"] == len(numbers)


def test_cells_of_texts_and_of_numbers_count_rows() -> None:
    pairs = collections.Counter((str(one), other or "(missing)") for one, other in zip(VALUES["int"], VALUES["text"], strict=True))
    chart = visualization.plot(column("int").astype(str), column("text"))
    assert all(row["count"] == pairs[row["x"].replace("(missing)", "None"), row["y"]] for row in chart.get_data()["values"])
    cells = visualization.heatmap(column("int"), column("float")).get_data()["values"]
    rows = zip(VALUES["int"], VALUES["float"], strict=True)
    assert sum(cell["count"] for cell in cells) == sum(one is not None and other is not None and math.isfinite(other) for one, other in rows)


def test_a_line_of_many_rows_tells_means_and_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    from sframe_spark.api.pictures import choosing

    monkeypatch.setattr(choosing, "MOST_POINTS", 10)
    chart = visualization.plot(column("time"), column("int"))
    told = chart.get_data()["values"]
    assert [row["x"] for row in told] == sorted(row["x"] for row in told)
    pairs = [(one, other) for one, other in zip(VALUES["time"], VALUES["int"], strict=True) if one is not None and other is not None]
    assert sum(row["count"] for row in told) == len(pairs)
    assert max(row["largest"] for row in told) == max(other for _, other in pairs)
    assert min(row["least"] for row in told) == min(other for _, other in pairs)


@pytest.mark.parametrize("few", [True, False])
def test_a_summary_tells_what_statistics_tell(few: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    from sframe_spark.operators.aggregates import summaries

    if not few:
        monkeypatch.setattr(summaries, "MOST_VALUES", 3)
    facts = dict(zip(VALUES, summary.facts_of(SFrame(VALUES)[list(VALUES)]._node), strict=True))
    assert {name: found.missing for name, found in facts.items()} == {name: values.count(None) for name, values in VALUES.items()}
    numbers = [value for value in VALUES["int"] if value is not None]
    told = facts["int"].numbers
    assert told is not None
    assert (told.mean, told.deviation) == (pytest.approx(statistics.fmean(numbers)), pytest.approx(statistics.pstdev(numbers)))
    assert list(told.quartiles) == [sorted(numbers)[int(len(numbers) * share)] for share in (0.25, 0.5, 0.75)]
    finite = sorted(value for value in VALUES["float"] if value is not None and math.isfinite(value))
    told = facts["float"].numbers
    assert told is not None
    assert list(told.quartiles) == pytest.approx([finite[int(len(finite) * share)] for share in (0.25, 0.5, 0.75)], rel=2e-4)
    if few:
        assert {name: facts[name].distinct for name in ("int", "text", "time")} == {
            name: len(set(VALUES[name]) - {None}) for name in ("int", "text", "time")
        }
    assert sum(row["count"] for row in facts["text"].labels) == ROWS and facts["list"].distinct is None


def test_quartiles_of_skewed_numbers_are_exact_to_four_digits() -> None:
    numbers = [math.exp(row / 5000) for row in range(70_000)] + [1e12]
    told = summary.facts_of(SArray(numbers)._node)[0].numbers
    assert told is not None
    assert list(told.quartiles) == pytest.approx([sorted(numbers)[int(len(numbers) * share)] for share in (0.25, 0.5, 0.75)], rel=2e-4)


def test_labels_are_short_visible_and_different() -> None:
    labels = counted.label_texts([None, "(missing)", "a\x1b[2J", "x" * 100, "x" * 101, "\u202e"])
    assert labels[:3] == ["(missing)", "(missing) 2", "a\\x1b[2J"] and len(set(labels)) == 6
    assert max(map(len, labels)) < 70
