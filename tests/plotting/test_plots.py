"""Which chart is chosen, what wrong calls are told, and what is written where."""

from __future__ import annotations

import builtins
import datetime
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

import sframe_spark
from sframe_spark import SArray, SFrame, visualization
from sframe_spark.config import config
from sframe_spark.plotting import chart_data
from sframe_spark.plotting.plot_class_and_chart_choice import Plot

COLUMNS = {
    "int": SArray([1, 2, 3, None]),
    "float": SArray([0.5, None, 2.5, 1e9]),
    "text": SArray(["a", "b", "a", None]),
    "time": SArray([datetime.datetime(2024, 1, day) for day in (1, 2, 3, 4)]),
    "list": SArray([[1, "a"]] * 4),
    "dict": SArray([{"a": 1}] * 4),
    "empty": SArray([], int),
}


def marks(chart: Plot) -> list[str]:
    """What is drawn, layer by layer."""
    specification = chart.get_vega()
    found = [layer["mark"] for layer in specification.get("layer", [specification])]
    return [shown if isinstance(shown, str) else shown["type"] for shown in found]


@pytest.mark.parametrize(("name", "expected"), [("int", "bar"), ("float", "bar"), ("text", "bar"), ("time", "bar")])
def test_a_column_has_bars(name: str, expected: str) -> None:
    assert marks(COLUMNS[name].plot())[0] == expected


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
    assert expected in marks(visualization.plot(COLUMNS[x], COLUMNS[y]))


def test_more_than_5000_points_are_cells() -> None:
    assert marks(visualization.plot(SArray(range(5000)), SArray(range(5000)))) == ["circle"]
    assert marks(visualization.plot(SArray(range(5001)), SArray(range(5001)))) == ["rect"]
    assert marks(visualization.scatter(SArray(range(5001)), SArray(range(5001)))) == ["rect"]


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


def told(chart: Plot) -> tuple[Any, ...]:
    specification = chart.get_vega()
    encoding = specification.get("encoding") or specification["layer"][0]["encoding"]
    return specification.get("title", {}).get("text"), encoding["x"]["title"], encoding["y"]["title"]


def test_titles_and_labels() -> None:
    assert told(COLUMNS["int"].plot()) == ("Distribution of values [int]", "Values", "Count")
    assert told(COLUMNS["int"].plot(title=None, xlabel="stars", ylabel="people"))[1:] == ("stars", "people")
    assert "text" not in COLUMNS["time"].plot(title=None).get_vega().get("title", {})
    assert told(visualization.plot(COLUMNS["int"], COLUMNS["int"])) == ("X vs. Y", "X", "Y")
    assert told(visualization.plot(COLUMNS["int"], COLUMNS["int"], "a", "b"))[0] == "a vs. b"
    assert told(COLUMNS["int"].plot(title="\x1b[2J"))[0] == "\\x1b[2J"


def test_columns_of_a_frame_keep_their_names() -> None:
    sf = SFrame({"price": [1.0, 2.5, 2.0], "size": [1, 2, 3]})
    assert told(sf["size"].plot()) == ("Distribution of size [int]", "size", "Count")
    assert told(visualization.plot(sf["size"], sf["price"])) == ("size vs. price", "size", "price")
    assert told(visualization.plot(sf["size"], sf["price"] + 1, ylabel="next")) == ("size vs. next", "size", "next")
    assert told(visualization.scatter(sf["size"], sf["price"])) == ("size vs. price", "size", "price")
    one = SFrame({"old": [1, 2]}).rename({"old": "new"})
    assert told(one["new"].plot())[1] == "new" and ">new<" in one["new"]._repr_html_() and ">value<" in (one["new"] + 1)._repr_html_()


def note(chart: Plot) -> str:
    """What stands below the title."""
    found: str = chart.get_vega()["title"].get("subtitle", "")
    return found


def test_what_is_left_out_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert note(SArray([1.0, 2.0, None, float("nan"), float("inf"), float("inf")]).plot()) == "1 missing, 1 NaN, 2 infinite"
    assert note(SArray([2.5, None]).plot()) == "one value: 2.5, 1 missing"
    assert note(visualization.plot(COLUMNS["int"], COLUMNS["float"])) == "2 rows without two finite values"
    assert note(visualization.plot(COLUMNS["text"], COLUMNS["float"])) == "1 row without a finite value"
    many = SArray([f"value {row % 20:02d}" for row in range(100)])
    assert note(many.plot()) == "the 12 most frequent of 20 values; the others are in 40 rows (40%)"
    assert note(visualization.plot(many, many)) == "x: the 12 most frequent of 20 values; y: the 12 most frequent of 20 values"
    assert note(visualization.plot(many, SArray(range(100)))) == "the 12 most frequent of 20 values"
    monkeypatch.setattr(chart_data, "MAX_POINTS", 3)
    times = SArray([datetime.datetime(2024, 1, 1, hour) for hour in range(12)] + [None])
    assert note(visualization.plot(times, SArray(range(13)))) == "mean, least and largest value of every 5 minutes; 1 row without two finite values"


NOTHING = {"float": SArray([None, float("nan")], float), "text": SArray(["a", None]), "time": SArray([None, None], datetime.datetime)}


@pytest.mark.parametrize(
    ("chart", "told"),
    [
        (lambda: NOTHING["float"].plot(), "no finite value"),
        (lambda: NOTHING["time"].plot(), "no finite value"),
        (lambda: visualization.plot(NOTHING["float"], NOTHING["float"]), "no row has two finite values"),
        (lambda: visualization.heatmap(NOTHING["float"], NOTHING["time"]), "no row has two finite values"),
        (lambda: visualization.plot(NOTHING["time"], NOTHING["float"]), "no row has two finite values"),
        (lambda: visualization.plot(NOTHING["text"], NOTHING["float"]), "no finite value"),
    ],
)
def test_charts_of_nothing_say_so(chart: Any, told: str, tmp_path: Path) -> None:
    assert chart().get_data()["values"] == []
    assert chart().get_vega()["layer"][0]["mark"]["text"] == told
    chart().save(tmp_path / "chart.svg")
    assert told in (tmp_path / "chart.svg").read_text()


def axis(chart: Plot, name: str = "x") -> dict[str, Any]:
    """The axis of the first layer."""
    specification = chart.get_vega()
    found: dict[str, Any] = (specification.get("layer") or [specification])[0]["encoding"][name]["axis"]
    return found


def test_axes_write_numbers_as_people_do() -> None:
    """Whole numbers whole, counts never in parts, tiny and enormous ones with an exponent, times with what they leave out."""
    assert axis(SArray([1, 2]).plot())["format"] == ",d"
    assert "format" not in axis(SArray([1.5, 2.5]).plot())
    assert axis(SArray([1e-9, 2e-9]).plot())["format"] == axis(SArray([1e20, 2e20]).plot())["format"] == ".12~e"
    assert axis(SArray([1, 1, 2]).plot(), "y")["values"] == [0, 1, 2]
    for days, told in ((0.00001, "%H:%M:%S.%L"), (1, "%Y-%m-%d"), (100, "'%Y'")):
        times = SArray([datetime.datetime(2024, 2, 1), datetime.datetime(2024, 2, 1) + datetime.timedelta(days=days)])
        assert told in axis(times.plot())["labelExpr"]


def test_bins_of_single_numbers_stand_on_them_and_a_bin_alone_leaves_room() -> None:
    def drawn(column: SArray) -> tuple[str, list[str]]:
        chart = column.plot()
        return chart.get_vega()["layer"][0]["transform"][0]["calculate"], marks(chart)

    assert drawn(SArray(range(10))) == ("datum.left - 0.5", ["bar", "rule"])
    assert drawn(SArray(range(100))) == ("datum.left - 0", ["bar", "rule"])
    assert drawn(SArray([7, 7])) == ("datum.left - 0.5", ["bar", "rule", "point"])


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
    assert "4 rows \u00d7 6 columns" in (tmp_path / "page.html").read_text(encoding="utf-8")
    lists = SFrame({"list": COLUMNS["list"]}).summary_page()
    lists.save(tmp_path / "page.svg")
    assert "no column has a chart" in (tmp_path / "page.svg").read_text()


def test_a_file_is_left_alone_where_drawing_fails(tmp_path: Path) -> None:
    (tmp_path / "chart.json").write_text("before")
    with pytest.raises(RuntimeError):
        COLUMNS["int"].apply(lambda value: 1 / 0, int).plot().save(tmp_path / "chart.json")
    assert (tmp_path / "chart.json").read_text() == "before"


def test_places_that_are_none_are_refused(tmp_path: Path) -> None:
    """In our words, and nothing is left; a path is one wherever it comes from."""
    chart = COLUMNS["text"].plot()
    (tmp_path / "directory.svg").mkdir()
    for place in (tmp_path / "no" / "chart.svg", tmp_path / "directory.svg", "s3://bucket/chart.svg", "a\0.svg", "/dev/stdout.svg/x.svg"):
        with pytest.raises((OSError, RuntimeError)) as caught:
            chart.save(place)
        assert isinstance(caught.value, sframe_spark.errors.SFrameError)
    (tmp_path / "link.json").symlink_to(tmp_path / "chart.json")
    chart.save(os.fsencode(tmp_path / "link.json").decode())
    chart.save(f"file://{tmp_path}/uri.json")
    assert (tmp_path / "link.json").is_symlink() and (tmp_path / "chart.json").read_text() == (tmp_path / "uri.json").read_text()
    assert {path.name for path in tmp_path.iterdir()} == {"directory.svg", "link.json", "chart.json", "uri.json"}


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


EAST = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
EXTREMES: dict[str, SArray] = {
    "largest floats": SArray([1.7e308, -1.7e308, 5e-324, 1e308]),
    "longest ints": SArray([2**63 - 1, -(2**63), None, 0]),
    "first and last times": SArray([datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59, 999999), None, None]),
    "times elsewhere": SArray([datetime.datetime(2024, 1, 1, hour, tzinfo=EAST) for hour in range(4)]),
    "texts": SArray(["\u202eabc", "a\0b", "x" * 1000, "\U0001f600"]),
    "close times": SArray([datetime.datetime(2024, 1, 1, microsecond=part) for part in range(4)]),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", EXTREMES)
def test_extremes_are_drawn(name: str, tmp_path: Path) -> None:
    column = EXTREMES[name]
    charts = [column.plot(), *(visualization.plot(column, other) for other in EXTREMES.values()), SFrame({"a": column}).summary_page()]
    for chart in charts:
        chart.save(tmp_path / "chart.svg")
        chart.save(tmp_path / "chart.json")
        json.loads((tmp_path / "chart.json").read_text(), parse_constant=lambda name: pytest.fail(name))


def test_numbers_that_are_too_far_apart_have_no_axis_but_are_told() -> None:
    column = EXTREMES["largest floats"]
    charts = [
        column.plot(),
        visualization.heatmap(column, column),
        *(visualization.plot(EXTREMES[name], column) for name in ("texts", "longest ints", "close times")),
    ]
    for chart in charts:
        assert "too far apart" in str(chart.get_vega()["layer"]) and chart.get_data()["values"]


def test_times_with_offsets_are_told_in_utc() -> None:
    column = EXTREMES["times elsewhere"]
    assert column.plot(xlabel="when").get_vega()["layer"][0]["encoding"]["x"]["title"] == "when (UTC)"
    page = SFrame({"a": column}).summary_page()
    assert ">in UTC<" in page._html() and page.get_data()["values"][0]["num_unique"] == 4
    assert page.get_data()["values"][0]["min"] == datetime.datetime(2024, 1, 1, tzinfo=EAST).timestamp()
