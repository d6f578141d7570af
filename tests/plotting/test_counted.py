"""What charts show is what plain Python counts, however the rows are cut and wherever they are counted."""

from __future__ import annotations

import collections
import datetime
import math
import random
import statistics
from typing import Any

import pyarrow as pa
import pytest

from sframe_spark import SArray, SFrame, visualization
from sframe_spark.config import config
from sframe_spark.expressions.aggregates import histograms_summaries_and_rank_counts as profiling
from sframe_spark.plotting import chart_data, summary
from sframe_spark.testing.function_and_aggregate_contracts import check_aggregate
from sframe_spark.types import STR
from tests.examples import by_turns, part

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


def everything(segments: int, every: int = 1) -> list[Any]:
    """All that pictures tell of the columns, in so many segments; of pairs of columns each of so many."""
    frame = SFrame({name: column(name, segments) for name in VALUES})
    found: list[Any] = [frame.summary_page().get_data()]
    found += [column(name, segments).plot().get_data() for name in VALUES if name != "list"]
    with_charts = [name for name in VALUES if name != "list"]
    pairs = [(x, y) for i, x in enumerate(with_charts) for j, y in enumerate(with_charts) if (i + j) % every == 0]
    found += [visualization.plot(column(x, segments), column(y, segments)).get_data() for x, y in pairs]
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
    monkeypatch.setattr(chart_data, "MAX_POINTS", most_points)
    expected = everything(1)
    for segments in by_turns((2, 7), 2, most_points // 5000):
        assert everything(segments) == expected


@pytest.mark.spark
def test_spark_counts_the_same(spark: Any, everything_on_spark: None) -> None:
    with config.using(small_rows=100_000):
        expected = everything(1, every=2)
    assert everything(3, every=2) == expected


@pytest.mark.spark
@pytest.mark.parametrize("name", part(["float", "int"], 2))
def test_the_aggregates_keep_their_contract(spark: Any, name: str) -> None:
    numbers, texts = VALUES[name][:40], VALUES["text"][:40]
    check_aggregate("label_histograms", texts, numbers, parameters=((None, "word 0"), ((-2, 50, 12), (0, 1, 3))))
    # `tests/expressions/aggregates/test_spark_columns.py` has all of them on Spark.
    check_aggregate("finite_range", numbers, spark=False)
    check_aggregate("histogram", numbers, parameters=(-2, 50, 12), spark=False)
    check_aggregate("label_ranges", texts, numbers, parameters=(None, "word 1", "word 2"), spark=False)
    check_aggregate("bin_ranges", VALUES["int"][:40], numbers, parameters=(-1, 50, 9), spark=False)
    check_aggregate("label_counts", texts, parameters=((None, "word 1", "word 2"),), spark=False)


@pytest.mark.parametrize("name", ["int", "float", "time"])
def test_a_histogram_counts_each_number_once(name: str) -> None:
    bars, extent = chart_data.histogram_of(column(name)._node)
    numbers = seconds = finite(name, VALUES[name])
    assert [bar["count"] for bar in bars] == [sum(bar["left"] <= value < bar["right"] for value in seconds) for bar in bars]
    assert extent.numbers == len(numbers) and (extent.least, extent.largest) == (min(seconds), max(seconds))
    missing, nan = VALUES[name].count(None), sum(isinstance(value, float) and math.isnan(value) for value in VALUES[name])
    assert (extent.missing, extent.nan, extent.infinite) == (missing, nan, ROWS - len(numbers) - missing - nan)
    assert (extent.mean, extent.deviation) == (pytest.approx(statistics.fmean(numbers)), pytest.approx(statistics.pstdev(numbers)))


def test_bars_of_texts_add_up() -> None:
    table, top = chart_data.frequencies_of(column("text")._node)
    expected = collections.Counter(VALUES["text"])
    labels = {None if row.get("missing") else row["label"]: row["count"] for row in table[:-1]}
    assert labels == {value: expected[value] for value in labels} and len(labels) == chart_data.MAX_LABELS
    assert min(labels.values()) >= max(count for value, count in expected.items() if value not in labels)
    assert table[-1]["label"] == f"Other ({len(expected) - 12} values)" and sum(row["count"] for row in table) == ROWS
    assert (top.different, top.is_exact, top.remaining) == (len(expected), True, len(expected) - 12)


def few_values(monkeypatch: pytest.MonkeyPatch, share: int = 16) -> None:
    """As if memory held few values of a column, and values in more than one of so many rows were counted."""
    monkeypatch.setattr(profiling, "MAX_VALUES", share)
    for module in (profiling, chart_data):
        monkeypatch.setattr(module, "FREQUENT_SHARE", share)


@pytest.mark.parametrize("segments", [1, 2, 7])
@pytest.mark.parametrize("long_texts", [False, True])
def test_of_many_values_the_frequent_ones_are_counted(segments: int, long_texts: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a pass forgets, and where it cannot keep enough as texts are long."""
    few_values(monkeypatch)
    if long_texts:
        monkeypatch.setattr(profiling, "MAX_BYTES", 100)
    expected = collections.Counter(VALUES["text"])
    table, top = chart_data.frequencies_of(column("text", segments)._node)
    often = {value: count for value, count in expected.items() if count > ROWS // 16 or value is None}
    wanted = sorted(often.items(), key=lambda pair: (-pair[1], pair[0] is not None, pair[0]))[: chart_data.MAX_LABELS]
    assert top.values == wanted and len(wanted) > 3 and not top.is_exact
    assert table[-1]["other"] and sum(row["count"] for row in table) == ROWS


def test_values_that_are_all_rare_are_told_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    few_values(monkeypatch)
    codes = SArray([f"code {row}" for row in range(ROWS)])
    chart = codes.plot()
    assert chart.get_data()["values"] == [] and "no value is frequent" in str(chart.get_vega()["layer"])
    for pair in (visualization.plot(codes, column("int")), visualization.plot(codes, column("text"))):
        assert pair.get_data()["values"] == [] and "no value is frequent" in str(pair.get_vega()["layer"])
    page = SFrame({"code": codes}).summary_page()
    assert "no frequent value: others in 700 rows (100%)" in page._html() and "vconcat" not in page.get_vega()


@pytest.mark.parametrize("seed", range(20))
def test_a_summary_forgets_no_frequent_value(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut and put together in any way: what is taken off a count is told, and never as much as a frequent value has."""
    few_values(monkeypatch)
    chosen = random.Random(seed)
    values = [f"{int(chosen.expovariate(chosen.choice([0.001, 0.02, 0.1])))}" for _ in range(chosen.randrange(100, 1500))]
    cuts = sorted(chosen.randrange(len(values)) for _ in range(chosen.randrange(12)))
    parts = [
        profiling._part([pa.array(values[start:stop], pa.string())], stop - start, [STR], ())
        for start, stop in zip([0, *cuts], [*cuts, len(values)], strict=True)
    ]
    while len(parts) > 1:
        place = chosen.randrange(len(parts) - 1)
        parts[place : place + 2] = [profiling._merged_summaries(parts[place], parts[place + 1], [STR])]
    told, expected = profiling._as_dict(parts[0], [STR], ()), collections.Counter(values)
    assert told["counted"] is None and told["error"] <= len(values) / 17
    for value, count in expected.items():
        assert told["frequent"].get(value, 0) <= count <= told["frequent"].get(value, 0) + told["error"]


@pytest.mark.parametrize("few", [True, False])
@pytest.mark.parametrize("name", ["float", "int", "time"])
def test_boxes_are_quartiles_of_finite_numbers(name: str, few: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not few:
        monkeypatch.setattr(chart_data, "SORTED_ROWS", 0)
    boxes = {row["x"]: row for row in visualization.box_plot(column("text"), column(name)).get_data()["values"]}
    assert len(boxes) == chart_data.MAX_LABELS
    for label, row in boxes.items():
        numbers = sorted(finite(name, [value for text, value in zip(VALUES["text"], VALUES[name], strict=True) if (text or "(missing)") == label]))
        quartiles = [numbers[min(int(len(numbers) * share), len(numbers) - 1)] for share in (0, 0.25, 0.5, 0.75, 1)]
        told = [row[part] / (1000 if name == "time" else 1) for part in ("min", "lower quartile", "median", "upper quartile", "max")]
        assert told == (quartiles if few or name == "int" else pytest.approx(quartiles, rel=2e-5 if name == "float" else 0, abs=0.02))
        assert row["count"] == len(numbers)


def finite(name: str, values: list[Any]) -> list[float]:
    """The numbers among some values, of times the seconds."""
    numbers = [value for value in values if value is not None and (not isinstance(value, float) or math.isfinite(value))]
    return [(value - datetime.datetime(1970, 1, 1)).total_seconds() for value in numbers] if name == "time" else numbers


def test_cells_of_texts_and_of_numbers_count_rows() -> None:
    pairs = collections.Counter((str(one), other or "(missing)") for one, other in zip(VALUES["int"], VALUES["text"], strict=True))
    chart = visualization.plot(column("int").astype(str), column("text"))
    assert all(row["count"] == pairs[row["x"].replace("(missing)", "None"), row["y"]] for row in chart.get_data()["values"])
    cells = visualization.heatmap(column("int"), column("float")).get_data()["values"]
    rows = zip(VALUES["int"], VALUES["float"], strict=True)
    assert sum(cell["count"] for cell in cells) == sum(one is not None and other is not None and math.isfinite(other) for one, other in rows)


def test_a_line_of_many_rows_tells_means_and_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chart_data, "MAX_POINTS", 10)
    chart = visualization.plot(column("time"), column("int"))
    told = chart.get_data()["values"]
    assert [row["x"] for row in told] == sorted(row["x"] for row in told)
    pairs = [(one, other) for one, other in zip(VALUES["time"], VALUES["int"], strict=True) if one is not None and other is not None]
    assert sum(row["count"] for row in told) == len(pairs)
    assert max(row["largest"] for row in told) == max(other for _, other in pairs)
    assert min(row["least"] for row in told) == min(other for _, other in pairs)


@pytest.mark.parametrize("few", [True, False])
def test_a_summary_tells_what_statistics_tell(few: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not few:
        few_values(monkeypatch)
    facts = dict(zip(VALUES, summary.facts_of(SFrame(VALUES)[list(VALUES)]._node), strict=True))
    assert {name: found.missing for name, found in facts.items()} == {name: values.count(None) for name, values in VALUES.items()}
    for name in ("int", "float", "time"):
        numbers, told = finite(name, VALUES[name]), facts[name]
        assert told.extent is not None and told.is_exact is few
        assert (told.extent.mean, told.extent.deviation) == (pytest.approx(statistics.fmean(numbers)), pytest.approx(statistics.pstdev(numbers)))
        quartiles = [sorted(numbers)[int(len(numbers) * share)] for share in (0.25, 0.5, 0.75)]
        assert list(told.quartiles) == (quartiles if few or name == "int" else pytest.approx(quartiles, rel=1e-5 if name == "float" else 0, abs=0.01))
        assert told.bars == chart_data.histogram_of(column(name)._node)[0]
    if few:
        assert {name: facts[name].distinct for name in ("int", "text", "time")} == {
            name: len(set(VALUES[name]) - {None}) for name in ("int", "text", "time")
        }
    assert sum(row["count"] for row in facts["text"].labels) == ROWS and facts["list"].distinct is None


def numbers_of(name: str) -> list[Any]:
    """Many different numbers of a kind, the same ones whenever it is asked for."""
    random_ = random.Random(name)
    return {
        "skewed": lambda: [math.exp(row / 5000) for row in range(70_000)] + [1e12],
        "few digits": lambda: [random_.randrange(1000) / 20 for _ in range(70_000)] + [row / 70_000 for row in range(70_000)],
        "far from zero": lambda: [1e9 + random_.random() for _ in range(70_000)],
        "around zero": lambda: [random_.gauss(0, 1) ** 3 for _ in range(70_000)],
        "huge": lambda: [random_.choice([1, -1]) * 10 ** random_.uniform(-300, 300) for _ in range(70_000)],
        "large ints": lambda: [random_.randrange(10**14) for _ in range(70_000)],
        "longest ints": lambda: [random_.randrange(-(2**63), 2**63) for _ in range(70_000)],
    }[name]()


NUMBERS = ("skewed", "few digits", "far from zero", "around zero", "huge", "large ints", "longest ints")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", NUMBERS)
def test_quartiles_of_many_different_numbers_are_those_of_sorted_ones(name: str) -> None:
    """As many digits as the page shows."""
    given = numbers_of(name)
    numbers = sorted(given)
    told, whole = summary.facts_of(SArray(given)._node)[0], isinstance(numbers[0], int)
    quartiles = [numbers[int(len(numbers) * share)] for share in (0.25, 0.5, 0.75)]
    assert not told.is_exact and sum(bar["count"] for bar in told.bars) == len(numbers)
    span = float(numbers[-1]) - float(numbers[0])
    for found, expected in zip(told.quartiles, quartiles, strict=True):
        if whole and abs(expected) < 1e15:
            assert found == expected
        else:
            assert abs(found - expected) <= max(abs(expected) * (1e-5 if abs(expected) >= 1e15 else min(1e-5, 0.5 / abs(expected))), span * 1e-10)


def test_labels_are_short_visible_and_different() -> None:
    labels = chart_data.label_texts([None, "(missing)", "a\x1b[2J", "x" * 100, "x" * 101, "\u202e", "", " "])
    assert labels[6:] == ['""', '" "'] and labels[:3] == ["(missing)", "(missing) 2", "a\\x1b[2J"] and len(set(labels)) == 8
    assert max(map(len, labels)) < 70
