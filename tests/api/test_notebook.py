"""Frames and columns in notebooks: what is shown, what is told of rows, and that nothing of data is taken for HTML."""

from __future__ import annotations

import math
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, strategies as st

from sframe_spark import SArray, SFrame
from sframe_spark.api.display import short_floats


class Parsed(HTMLParser):
    """Tags that are opened and not closed, texts, and classes of cells."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.tags: list[tuple[str, dict[str, Any]]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_a_frame_shows_names_types_and_values() -> None:
    parsed = Parsed(SFrame({"n": [1, None], "text": ["a", "b" * 50], "d": [{"k": 1}, {}]})._repr_html_())
    assert parsed.open == []
    for text in ("n", "text", "int", "str", "dict", "1", "None", "b" * 50, "{'k': 1}", "2 rows \u00d7 3 columns"):
        assert text in parsed.texts
    assert [attrs.get("class") for tag, attrs in parsed.tags if tag == "td"][:3] == [None, "sf-number", None]
    assert ("span", {"class": "sf-missing"}) in parsed.tags


@pytest.mark.parametrize(
    ("frame", "told"),
    [
        (SFrame(), "0 rows \u00d7 0 columns"),
        (SFrame({"a": []}), "0 rows \u00d7 1 column"),
        (SFrame({"a": [1]}), "1 row \u00d7 1 column"),
        (SFrame({"a": range(10)}), "10 rows \u00d7 1 column"),
        (SFrame({"a": range(5000)}), "5,000 rows \u00d7 1 column; the first 10 are shown"),
        (SFrame({"a": range(30)})[SArray(range(30)) > 27], "2 rows \u00d7 1 column"),
        (SFrame({"a": range(30)})[SArray(range(30)) > 2], "1 column; the first 10 rows; how many there are is not computed yet"),
    ],
)
def test_rows_are_told_where_they_are_known(frame: SFrame, told: str) -> None:
    parsed = Parsed(frame._repr_html_())
    assert told in parsed.texts and parsed.open == []
    assert sum(tag == "tr" for tag, _ in parsed.tags) <= 1 + 10


def test_a_column_is_a_table_too() -> None:
    parsed = Parsed(SArray([1.5, None, float("nan")])._repr_html_())
    assert "float" in parsed.texts and "1.5" in parsed.texts and "nan" in parsed.texts and "3 rows" in parsed.texts
    assert "no rows" in Parsed(SArray([])._repr_html_()).texts


def test_floats_are_short_and_told_whole() -> None:
    """Decimals stand below each other; the number itself is under the mouse."""
    values = [181.59366277839916, 3.25, None, math.inf]
    parsed = Parsed(SArray(values)._repr_html_())
    assert [text for text in parsed.texts if text[0].isdigit()][:2] == ["181.5937", "3.2500"]
    assert [attrs["title"] for tag, attrs in parsed.tags if "title" in attrs] == ["181.59366277839916", "3.25"]
    assert "0.1" in Parsed(SArray([0.1, 0.2])._repr_html_()).texts
    arrays = Parsed(SArray([[0.123456789, 2.0]])._repr_html_())
    assert "[0.1235, 2]" in arrays.texts and {"title": "[0.123456789, 2.0]"} in [attrs for _, attrs in arrays.tags]


@given(st.lists(st.one_of(st.none(), st.floats()), max_size=10))
def test_short_floats_are_near_the_floats(values: list[float | None]) -> None:
    for value, text in zip(values, short_floats(values), strict=True):
        if value is None or not math.isfinite(value):
            assert text == ("" if value is None else repr(value))
        else:
            most = max(abs(one) for one in values if one is not None and math.isfinite(one))
            assert abs(float(text) - value) <= max(1e-5 * abs(value), most * 1e-6) and len(text) <= 13
            assert (float(text) == 0) == (value == 0)


def test_long_texts_are_told_under_the_mouse() -> None:
    parsed = Parsed(SArray(["word " * 100, "\u0633" * 3])._repr_html_())
    assert any(attrs.get("title") == "word " * 100 for _, attrs in parsed.tags)
    # What is written from right to left does not turn round what stands beside it.
    assert ("bdi", {}) in parsed.tags


def test_heads_and_rows_are_named_for_who_listens() -> None:
    parsed = Parsed(SFrame({"a": [1]})._repr_html_())
    assert [attrs["scope"] for tag, attrs in parsed.tags if tag == "th"] == ["col"]


def test_wide_frames_are_folded() -> None:
    parsed = Parsed(SFrame({f"c{number}": [number] for number in range(300)})._repr_html_())
    assert "280 more columns" in parsed.texts and sum(tag == "td" for tag, _ in parsed.tags) == 20
    assert any("c299" in text for text in parsed.texts) and "1 row \u00d7 300 columns" in parsed.texts


def test_nothing_of_data_is_html() -> None:
    wicked = "</td><script>alert(1)</script>&lt;\x1b[2J"
    for text in (SFrame({wicked: [wicked], "l": [[wicked]]})._repr_html_(), SArray([{wicked: wicked}])._repr_html_()):
        assert "script" not in {tag for tag, _ in Parsed(text).tags} and "\x1b" not in text
    assert "http" not in SFrame({"a": [1]})._repr_html_()


def test_notebooks_complete_names_of_columns() -> None:
    assert SFrame({"a": [1], "b c": [2]})._ipython_key_completions_() == ["a", "b c"]


def test_completion_computes_nothing_and_offers_members_that_are_there() -> None:
    frame = SFrame({"a": [2, 1], "b c": [2, 3]}).sort("a")
    column = frame["a"].apply(lambda value: value / 0, dtype=float)
    assert frame._ipython_key_completions_() == ["a", "b c"]
    for value, some in ((frame, {"sort", "groupby", "head"}), (column, {"mean", "cumulative_sum", "apply"})):
        offered = {name for name in dir(value) if not name.startswith("_")}
        assert some <= offered and all(hasattr(type(value), name) for name in offered)
        assert not {"a", "b c", "columns", "describe"} & offered
        assert not value.is_materialized()
