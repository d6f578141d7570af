"""Sketches: the same from ranges of rows as from all at once, on the driver and on Spark; estimates within what is said of them."""

from __future__ import annotations

import datetime
import math
import random
from typing import Any

import pytest

from sframe_spark import SArray, Sketch
from sframe_spark.errors import SchemaError
from sframe_spark.expressions.aggregates import histograms_summaries_and_rank_counts as profiling
from sframe_spark.testing.function_and_aggregate_contracts import check_aggregate
from tests.examples import part

UTC = datetime.UTC
COLUMNS: dict[str, list[Any]] = {
    "ints": [None if row % 9 == 0 else row * 7919 % 31 for row in range(300)],
    "floats": [math.nan if row % 11 == 0 else None if row % 7 == 0 else (row % 13) / 4 - 1 for row in range(300)],
    "texts": [None if row % 5 == 0 else "abc"[row % 3] * (row % 4) for row in range(300)],
    "moments": [None if row % 5 == 0 else datetime.datetime(2024, 1, 1 + row % 9) for row in range(300)],
    "zoned": [datetime.datetime(2024, 1, 1 + row % 9, tzinfo=UTC if row % 2 else None) for row in range(300)],
    "dicts": [None if row % 5 == 0 else {"a": row % 3, "b" * (row % 4): 2.5} for row in range(300)],
    "vectors": [[row % 3, row % 2] if row % 4 else None for row in range(300)],
    "nothing": [None] * 20,
}


def told(sketch: Sketch) -> list[Any]:
    """All that a sketch tells, numbers to 12 digits: sums of parts are rounded in another order."""
    found: list[Any] = [sketch.size(), sketch.num_missing(), sketch.num_unique(), sorted(map(str, sketch.frequent_items().items()))]
    if sketch._source.schema[0].is_numeric:
        found += [f"{number:.12g}" for number in (sketch.min(), sketch.max(), sketch.mean(), sketch.sum(), sketch.var(), sketch.std())]
        found += [sketch.quantile(share / 20) for share in range(21)] if not math.isnan(sketch.min()) else []
    return found


def in_segments(name: str, count: int) -> SArray:
    column = SArray(COLUMNS[name])
    column.materialize(segments=count)
    return column


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("most", [1 << 16, 5])
def test_ranges_of_rows_and_the_number_of_values_make_no_difference(name: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = told(Sketch(SArray(COLUMNS[name])))
    monkeypatch.setattr(profiling, "MAX_VALUES", most)
    for count in (1, 2, 7):
        assert told(in_segments(name, count).summary()) == expected


@pytest.mark.spark
def test_spark_gives_the_same(spark: Any, everything_on_spark: None) -> None:
    from sframe_spark.config import config

    with config.using(small_rows=100_000):
        expected = {name: told(SArray(values).summary()) for name, values in COLUMNS.items()}
    assert {name: told(in_segments(name, 3).summary()) for name in COLUMNS} == expected


@pytest.mark.spark
@pytest.mark.parametrize("name", part(["ints", "floats", "texts"], 2))
def test_parts_combine(spark: Any, name: str) -> None:
    check_aggregate("summary", COLUMNS[name][:40])


@pytest.mark.sampled(2)
@pytest.mark.parametrize("distinct", [10, 1000, 20_000, 70_000, 300_000])
def test_the_estimate_is_within_four_standard_errors(distinct: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiling, "MAX_VALUES", 0)
    numbers = random.Random(distinct).sample(range(10**12), distinct)
    for values in (SArray(numbers), SArray(numbers).astype(str)):
        assert abs(values.summary().num_unique() / distinct - 1) < 4 * 0.0082


def test_many_values_are_exact_but_for_their_number() -> None:
    numbers = SArray([row * 7919 % 100_003 for row in range(100_003)] + [5] * 50)
    sketch = numbers.summary()
    assert sketch.frequent_items() == {5: 51} and sketch.frequency_count(5) == 51 and sketch.frequency_count(6) == 1
    assert [sketch.quantile(share) for share in (0, 0.5, 1)] == [0, 49_976, 100_002]
    assert sketch.max() == 100_002 and abs(sketch.num_unique() / 100_003 - 1) < 0.03


def test_nothing_is_computed_in_the_background_before_it_is_asked_for() -> None:
    sketch = Sketch(SArray([1, 2]).apply(lambda value: value + 1), background=True)
    assert not sketch.sketch_ready() and sketch.num_elements_processed() == 0
    assert sketch.max() == 3 and sketch.sketch_ready() and sketch.num_elements_processed() == 2


def test_a_sketch_as_text() -> None:
    text = str(Sketch(SArray([1, 2, 2, 3, None, 5])))
    assert "|        Mean        |        2.6         |   Yes    |" in text and "|   2   |   2   |" in text
    assert "|  0% |  1% |  5% | 25% | 50% | 75% | 95% | 99% | 100% |" in text
    assert "Dictionary Element Key Summary" in repr(Sketch(SArray([{"a": 1}]))) and "Element Summary" in str(Sketch(SArray([[1.5, 2]])))


def test_values_of_others_are_shown_as_text() -> None:
    assert "\x1b" not in str(Sketch(SArray(["\x1b[2J"]))) and "\x1b" not in str(Sketch(SArray([{"\x1b": "\x1b[31m"}])))


def test_values_of_dicts_are_numbers_where_all_are() -> None:
    made = [
        SArray([{"a": 1.5}, {"b": 2}]),
        SArray([{"a": 1.5, "b": None}, None, {}, {"c": 2}]),
        # A function's dicts do not say what their values are.
        SArray([[1.5], [2.0]]).apply(lambda items: {str(item): item for item in items}),
        SArray(["a", "b b"]).apply(lambda text: {"words": len(text.split()) * 0.5 + 1}, dict),
    ]
    for values in made:
        sketch = values.summary().dict_value_summary()
        assert (sketch.sum(), sketch.mean(), sketch.max(), sketch.num_unique()) == (3.5, 1.75, 2.0, 2)


@pytest.mark.parametrize("wrong", [None, [1, 2], "path", 5])
def test_a_sketch_is_of_a_column(wrong: Any) -> None:
    with pytest.raises(SchemaError, match="made of an SArray"):
        Sketch(wrong)


def test_keys_to_sum_up_are_keys() -> None:
    with pytest.raises(SchemaError, match="values are of int"):
        Sketch(SArray([1]), sub_sketch_keys=["a"])
    with pytest.raises(SchemaError, match="positions in arrays"):
        Sketch(SArray([[1, 2]]), sub_sketch_keys=["a"])


@pytest.mark.parametrize("most", [1 << 16, 2])
def test_the_sum_is_that_of_the_column(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a value as often as it occurs is beyond all floats, or infinities cancel."""
    monkeypatch.setattr(profiling, "MAX_VALUES", most)
    for values in ([1e308] * 3 + [-1e308] * 3 + [2.5], [math.inf, -math.inf, 1.0], [math.inf, 1e308, 1e308], [0.1] * 7 + [1e16, 3.0, -1e16, 5.0], []):
        assert repr(SArray(values, float).summary().sum()) == repr(float(SArray(values, float).sum() or 0.0))
    assert SArray([2**53 + 1, 2**53 + 1, 7, 8]).summary().sum() == 2.0**54 + (18.0 if most > 2 else 16.0)
