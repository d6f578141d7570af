"""Which chart is chosen, what wrong calls are told, and what is written where."""

from __future__ import annotations

import builtins
import datetime
import json
import sys
from pathlib import Path
from typing import Any

import pytest

import sframe_spark
from sframe_spark import SArray, SFrame, visualization
from sframe_spark.api.pictures.plot import Plot
from sframe_spark.config import config

COLUMNS = {
    "int": SArray([1, 2, 3, None]),
    "float": SArray([0.5, None, 2.5, 1e9]),
    "text": SArray(["a", "b", "a", None]),
    "time": SArray([datetime.datetime(2024, 1, day) for day in (1, 2, 3, 4)]),
    "list": SArray([[1, "a"]] * 4),
    "dict": SArray([{"a": 1}] * 4),
    "empty": SArray([], int),
}


def mark(chart: Plot) -> str:
    specification = chart.get_vega()
    shown = specification.get("mark") or specification["layer"][-1]["mark"]
    return shown if isinstance(shown, str) else shown["type"]


@pytest.mark.parametrize(("name", "expected"), [("int", "bar"), ("float", "bar"), ("text", "bar"), ("time", "bar")])
def test_a_column_has_bars(name: str, expected: str) -> None:
    assert mark(COLUMNS[name].plot()) == expected


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        ("int", "float", "circle"),
        ("float", "int", "circle"),
        ("int", "time", "circle"),
        ("time", "int", "line"),
        ("int", "text", "tick"),
        ("text", "time", "tick"),
        ("text", "text", "rect"),
    ],
)
def test_two_columns_have_the_chart_of_their_types(x: str, y: str, expected: str) -> None:
    assert mark(visualization.plot(COLUMNS[x], COLUMNS[y])) == expected


def test_more_than_5000_points_are_cells() -> None:
    assert mark(visualization.plot(SArray(range(5000)), SArray(range(5000)))) == "circle"
    assert mark(visualization.plot(SArray(range(5001)), SArray(range(5001)))) == "rect"
    assert mark(visualization.scatter(SArray(range(5001)), SArray(range(5001)))) == "rect"


# What the reference engine raises, recorded from it; lists are drawn by neither, date-times by us alone.
WRONG: list[tuple[Any, type[BaseException]]] = [
    (lambda: COLUMNS["list"].plot(), RuntimeError),
    (lambda: COLUMNS["dict"].show(), RuntimeError),
    (lambda: COLUMNS["empty"].plot(), RuntimeError),
    (lambda: SFrame().plot(), RuntimeError),
    (lambda: SFrame({"a": COLUMNS["empty"]}).show(), RuntimeError),
    (lambda: visualization.plot(COLUMNS["int"], COLUMNS["list"]), RuntimeError),
    (lambda: visualization.plot(COLUMNS["list"], COLUMNS["text"]), RuntimeError),
    (lambda: visualization.plot(COLUMNS["empty"], COLUMNS["empty"]), RuntimeError),
    (lambda: visualization.plot(COLUMNS["int"], SArray([1])), RuntimeError),
    (lambda: visualization.plot(COLUMNS["int"], [1, 2, 3, 4]), ValueError),
    (lambda: visualization.show([1], COLUMNS["int"]), ValueError),
    (lambda: visualization.plot(COLUMNS["int"], COLUMNS["int"], title=3), RuntimeError),
    (lambda: visualization.plot(COLUMNS["int"], COLUMNS["int"], xlabel=None), RuntimeError),
    (lambda: visualization.histogram(COLUMNS["text"]), ValueError),
    (lambda: visualization.item_frequency(COLUMNS["int"]), ValueError),
    (lambda: visualization.scatter(COLUMNS["int"], COLUMNS["text"]), ValueError),
    (lambda: visualization.heatmap(COLUMNS["int"], COLUMNS["text"]), ValueError),
    (lambda: visualization.box_plot(COLUMNS["text"], COLUMNS["text"]), ValueError),
    (lambda: visualization.box_plot(COLUMNS["int"], COLUMNS["text"]), ValueError),
    (lambda: visualization.categorical_heatmap(COLUMNS["int"], COLUMNS["text"]), ValueError),
    (lambda: visualization.columnwise_summary(COLUMNS["int"]), ValueError),
    (lambda: visualization.set_target("window"), ValueError),
    (lambda: COLUMNS["int"].plot().save("chart.txt"), NotImplementedError),
    (lambda: COLUMNS["int"].plot().save("chart"), NotImplementedError),
    (lambda: COLUMNS["int"].plot().save(3), ValueError),
]


@pytest.mark.parametrize("place", range(len(WRONG)))
def test_wrong_calls_raise_what_the_reference_raises(place: int) -> None:
    call, error = WRONG[place]
    with pytest.raises(error) as caught:
        call()
    assert isinstance(caught.value, sframe_spark.errors.SFrameError) and len(str(caught.value)) > 20


def test_titles_and_labels() -> None:
    def told(chart: Plot) -> tuple[Any, ...]:
        specification = chart.get_vega()
        encoding = specification["encoding"]
        return specification.get("title", {}).get("text"), encoding["x"]["title"], encoding["y"]["title"]

    assert told(COLUMNS["int"].plot()) == ("Distribution of values [int]", "Values", "Count")
    assert told(COLUMNS["int"].plot(title=None, xlabel="stars", ylabel="people"))[1:] == ("stars", "people")
    assert "text" not in COLUMNS["time"].plot(title=None).get_vega().get("title", {})
    assert told(visualization.plot(COLUMNS["int"], COLUMNS["int"])) == ("X vs. Y", "X", "Y")
    assert told(visualization.plot(COLUMNS["int"], COLUMNS["int"], "a", "b"))[0] == "a vs. b"
    assert told(COLUMNS["int"].plot(title="\x1b[2J"))[0] == "\\x1b[2J"


def test_what_is_left_out_is_told() -> None:
    chart = SArray([1.0, None, float("nan"), float("inf"), float("inf")]).plot()
    assert chart.get_vega()["title"]["subtitle"] == "1 missing, 1 NaN, 2 infinite"
    chart = visualization.plot(COLUMNS["int"], COLUMNS["float"])
    assert chart.get_vega()["title"]["subtitle"] == "2 rows without two finite values"


def test_nothing_is_counted_before_it_is_asked_for() -> None:
    calls: list[int] = []
    chart = COLUMNS["int"].apply(lambda value: calls.append(value) or value, int).plot()
    assert calls == []
    chart.materialize()
    counted = len(calls)
    chart.get_data()
    chart.get_vega()
    assert counted == len(calls) > 0


def test_what_is_given_away_can_be_changed() -> None:
    chart = COLUMNS["int"].plot()
    chart.get_vega()["data"]["values"].clear()
    chart.get_data()["values"].clear()
    assert len(chart.get_data()["values"]) == 3
    assert "data" not in chart.get_vega(include_data=False)


def test_charts_are_saved_in_four_forms(tmp_path: Path) -> None:
    chart = COLUMNS["text"].plot()
    for name in ("chart.json", "chart.svg", "chart.png", "chart.HTML"):
        chart.save(tmp_path / name)
    assert json.loads((tmp_path / "chart.json").read_text())["data"]["values"][0]["label"] == "a"
    assert (tmp_path / "chart.svg").read_text().startswith("<svg") and "currentColor" not in (tmp_path / "chart.svg").read_text()
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")
    assert "vegaEmbed" in (tmp_path / "chart.HTML").read_text()


def test_a_frame_is_saved_in_four_forms(tmp_path: Path) -> None:
    page = SFrame({name: array for name, array in COLUMNS.items() if name != "empty"}).summary_page()
    for name in ("page.json", "page.svg", "page.png", "page.html"):
        page.save(tmp_path / name)
    assert len(json.loads((tmp_path / "page.json").read_text())["vconcat"]) == 4
    assert "&times; 6 columns" in (tmp_path / "page.html").read_text()


def test_a_file_is_left_alone_where_drawing_fails(tmp_path: Path) -> None:
    (tmp_path / "chart.json").write_text("before")
    with pytest.raises(RuntimeError):
        COLUMNS["int"].apply(lambda value: 1 / 0, int).plot().save(tmp_path / "chart.json")
    assert (tmp_path / "chart.json").read_text() == "before"


def test_without_the_library_it_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name == "vl_convert":
            raise ImportError(name)
        return found(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    chart = COLUMNS["int"].plot()
    with pytest.raises(ImportError, match=r"pip install sframe_spark\[pictures\]"):
        chart.save(tmp_path / "chart.png")
    chart.save(tmp_path / "chart.json")
    assert set(chart._repr_mimebundle_()) == {"application/vnd.vegalite.v5+json", "text/plain"}
    # The page of a frame is made without it.
    SFrame({"a": [1]}).summary_page().save(tmp_path / "page.html")


def test_a_notebook_gets_pictures_without_scripts() -> None:
    bundle = COLUMNS["int"].plot()._repr_mimebundle_()
    assert "<svg" in bundle["text/html"] and "<script" not in bundle["text/html"]
    page = SFrame({"a": [1, 2]}).summary_page()._repr_mimebundle_()["text/html"]
    assert "<table" in page and "<script" not in page and "<html" not in page


def test_names_of_parts_differ_between_the_pictures_of_a_notebook() -> None:
    maps = [visualization.plot(SArray(["a", "b"]), SArray(labels))._html() for labels in (["a", "b"], ["a", "c"])]
    gradients = [{part.split('"')[0] for part in text.split('id="')[1:]} for text in maps]
    assert gradients[0] and not gradients[0] & gradients[1]
    assert all(f"url(#{name})" in text for text, names in zip(maps, gradients, strict=True) for name in names if "gradient" in name)


def test_show_opens_a_page_or_says_where_it_is(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    import tempfile
    import webbrowser

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda address: bool(opened.append(address)) or len(opened) < 2)
    with config.using(picture_target="browser"):
        COLUMNS["int"].show()
        assert opened[0].startswith("file://") and capsys.readouterr().err == ""
        SFrame({"a": [1]}).show()
    assert opened[1] in capsys.readouterr().err
    assert [path.stat().st_mode & 0o777 for path in tmp_path.iterdir()] == [0o600, 0o600]
    with config.using(picture_target="none"):
        COLUMNS["int"].show()
        SFrame({"a": [1]}).explore()
    assert len(opened) == 2


def test_a_notebook_shows_below_its_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    class Display:
        @staticmethod
        def display(shown: Any) -> None:
            displayed.append(shown)

        HTML = staticmethod(lambda text: text)

    class IPython:
        display = Display

        @staticmethod
        def get_ipython() -> Any:
            return type("Shell", (), {"kernel": 1})()

    displayed: list[Any] = []
    monkeypatch.setitem(sys.modules, "IPython", IPython)
    monkeypatch.setitem(sys.modules, "IPython.display", Display)
    COLUMNS["int"].show()
    SFrame({"a": list(range(120))}).explore("rows")
    assert isinstance(displayed[0], Plot)
    assert displayed[1].count("<details") == 3 and "rows 100 to 119" in displayed[1] and "<script" not in displayed[1]


def test_the_summary_tells_what_is_known_of_order() -> None:
    frame = SFrame({"time": range(10), "same": SArray.from_const(1, 10)}).sort("time")
    page = frame.summary_page()._html()
    assert ">ascending<" in page and ">unique<" in page and ">constant<" in page
