"""Frames and columns in narwhals: as rows of Arrow data, asked for once, and as SFrame and SArray again."""

from __future__ import annotations

import copy
import datetime
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sframe_spark import SArray, SFrame
from sframe_spark.api.interchange import narwhals_frames
from tests.needs import has

nw = pytest.importorskip("narwhals")

ROWS: dict[str, list[Any]] = {
    "day": [datetime.datetime(2024, 2, 29), None, datetime.datetime(2024, 3, 1), datetime.datetime(1999, 1, 1)],
    "n": [3, 1, None, 2],
    "name": ["ann", None, "cy", "ann"],
    "x": [0.5, float("nan"), 2.0, None],
}


@pytest.fixture
def rows_taken(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the columns of which rows were taken."""
    taken: list[str] = []
    of_frame, of_column = SFrame.to_arrow, SArray.to_arrow
    monkeypatch.setattr(SFrame, "to_arrow", lambda frame: [taken.extend(frame.column_names()), of_frame(frame)][1])
    monkeypatch.setattr(SArray, "to_arrow", lambda column: [taken.append("a column"), of_column(column)][1])
    return taken


def test_a_frame_comes_back_as_it_was(rows_taken: list[str]) -> None:
    frame = SFrame(ROWS)
    given = nw.from_native(frame)
    assert isinstance(given, nw.DataFrame) and given.to_native() is frame
    assert given.columns == list(ROWS) and given.shape == (4, 4) and len(given) == 4
    assert nw.to_native(given["n"]).to_numpy().tolist() == [3, 1, None, 2]
    assert isinstance(given.select("n", "x").to_native(), SFrame)
    assert given.head(2).to_native().num_rows() == 2 and given["name"].name == "name"
    assert dict(given.schema) == {"day": nw.Datetime("us"), "n": nw.Int64(), "name": nw.String(), "x": nw.Float64()}
    assert rows_taken == []


def test_rows_are_taken_once_and_of_chosen_columns_only(rows_taken: list[str]) -> None:
    given = nw.from_native(SFrame(ROWS)).select("n", "x")
    assert given["n"].sum() == 6
    assert rows_taken == ["a column"]
    rows_taken.clear()
    assert given.filter(nw.col("n") > 1).to_native()["n"].to_numpy().tolist() == [3, 2]
    assert given.sort("n")["n"].to_list() == [None, 1, 2, 3]
    assert rows_taken == ["n", "x"]


def test_a_column_comes_back_as_it_was() -> None:
    column = SArray([3, None, 1])
    given = nw.from_native(column, series_only=True)
    assert isinstance(given, nw.Series) and given.to_native() is column and len(given) == 3
    doubled = (given * 2).to_native()
    assert isinstance(doubled, SArray) and list(doubled) == [6, None, 2]
    assert list((10 - given).to_native()) == [7, None, 9]
    assert given.to_list() == [3, None, 1] and 3 in given and list(given) == [3, None, 1]
    assert nw.from_native(column, allow_series=True).null_count() == 1
    with pytest.raises(TypeError, match="allow_series"):
        nw.from_native(column)
    with pytest.raises(TypeError, match="series_only"):
        nw.from_native(SFrame(ROWS), series_only=True)


def operations() -> dict[str, Callable[[Any], Any]]:
    """What is compared with the same on Arrow's own table."""
    n, x, name, day = (nw.col(column) for column in ("n", "x", "name", "day"))
    return {
        "filter": lambda frame: frame.filter(n > 1, ~name.is_null()),
        "mask of a series": lambda frame: frame.filter(frame["n"] >= 2),
        "mask of a list": lambda frame: frame.filter([True, False, True, False]),
        "with_columns": lambda frame: frame.with_columns(both=n + x, text=name.str.to_uppercase(), year=day.dt.year()),
        "a series as a column": lambda frame: frame.with_columns((frame["n"] + frame["n"]).alias("twice")),
        "series of series": lambda frame: frame.with_columns(frame["n"].fill_null(frame["n"].max()), frame["x"].is_in([0.5])),
        "select scalars": lambda frame: frame.select(n.sum(), x.min()),
        "groups": lambda frame: frame.group_by("name").agg(n.sum(), nw.len()).sort("name"),
        "parts": lambda frame: nw.concat([part for _, part in frame.group_by("name", drop_null_keys=True)]).sort("name", "n"),
        "join": lambda frame: frame.join(frame.select("name", other=n), on="name", how="left").sort("name", "n", "other"),
        "concat": lambda frame: nw.concat([frame, frame]),
        "sort": lambda frame: frame.sort("n", descending=True, nulls_last=True),
        "unique": lambda frame: frame.unique("name", keep="first", maintain_order=True),
        "rows by number": lambda frame: frame[[2, 0, 2]],
        "rows of a series": lambda frame: frame[nw.new_series("", [1, 3], backend=nw.get_native_namespace(frame))],
        "slices": lambda frame: frame[1:3, ["n", "name"]],
        "last rows": lambda frame: frame.tail(2),
        "but the last row": lambda frame: frame.head(-1),
        "lazy": lambda frame: frame.lazy().filter(n > 1).with_row_index("i", order_by="n").collect(),
        "rename": lambda frame: frame.rename({"n": "m"}).drop("x"),
        "selectors": lambda frame: frame.select(nw.selectors.numeric()),
        "when": lambda frame: frame.select(nw.when(n > 1).then(x).otherwise(nw.lit(0.0)).alias("w")),
        "unpivot": lambda frame: frame.unpivot(["n"], index=["name"]),
        "counts": lambda frame: frame["name"].value_counts(sort=True),
        "of a column": lambda frame: frame["n"].to_frame(),
        "no rows": lambda frame: frame.head(0).with_columns(n + 1),
        "one row": lambda frame: frame[1:2].with_columns(n + 1),
    }


@pytest.mark.parametrize("name", operations())
def test_operations_are_those_on_arrow_data(name: str) -> None:
    operation = operations()[name]
    ours, arrows = operation(nw.from_native(SFrame(ROWS))), operation(nw.from_native(SFrame(ROWS).to_arrow()))
    assert isinstance(ours, nw.DataFrame) and isinstance(ours.to_native(), SFrame)
    assert repr(ours.to_arrow().to_pydict()) == repr(arrows.to_arrow().to_pydict())
    assert ours.schema == arrows.schema
    assert repr(list(SFrame(arrows.to_native()))) == repr(list(ours.to_native()))


def test_results_of_comparisons_are_booleans_as_for_numpy() -> None:
    frame = SFrame({"n": [3, 1, None]})
    frame["big"] = frame["n"] > 2
    given = nw.from_native(frame)
    assert given.schema["big"] == nw.Boolean() and given["big"].to_list() == [True, False, None]
    assert given.filter(nw.col("big")).rows() == [(3, True)]
    assert nw.from_native(frame["n"] > 2, series_only=True).dtype == nw.Boolean()
    other = (frame["n"] > 2).append(SArray([7]))
    assert nw.from_native(other, series_only=True).to_list() == [1, 0, None, 7]


def test_what_comes_back_as_booleans_chooses_rows_of_arrays() -> None:
    given = nw.from_native(SFrame({"n": [3, None, 1]}))
    mask = given["n"].is_null().to_native()
    assert np.array([10, 20, 30])[mask].tolist() == [20] and list(mask) == [0, 1, 0]
    frame = given.with_columns(big=nw.col("n") > 2).to_native()
    assert list(frame["big"]) == [1, None, 0] and np.asarray(frame["big"]).tolist() == [True, False, False]
    assert nw.from_native(frame).schema == {"n": nw.Int64(), "big": nw.Boolean()}


def test_frames_of_other_libraries() -> None:
    given = nw.from_native(SFrame({"a": [1, 2]}))
    assert isinstance(given.lazy().collect().to_native(), SFrame)
    assert isinstance(given.lazy().collect(backend="pyarrow").to_native(), pa.Table)
    assert isinstance(given.to_arrow(), pa.Table)
    with pytest.raises(TypeError, match="Expected str"):
        given.get_column(0)


def test_frames_and_columns_are_told_by_libraries() -> None:
    frame = SFrame(ROWS)
    assert nw.dependencies.is_into_dataframe(frame) and not nw.dependencies.is_into_series(frame)
    assert nw.dependencies.is_into_series(frame["n"]) and not nw.dependencies.is_into_dataframe(frame["n"])
    given = nw.from_native(frame)
    assert not given.implementation.is_pyarrow() and nw.get_native_namespace(given) is narwhals_frames
    made = nw.from_dict({"a": [1, 2]}, backend=nw.get_native_namespace(given))
    assert isinstance(made.to_native(), SFrame) and made.rows() == [(1,), (2,)]


def test_versions_of_narwhals_api() -> None:
    import narwhals.stable.v1
    import narwhals.stable.v2

    for version in (narwhals.stable.v1, narwhals.stable.v2):
        given = version.from_native(SFrame(ROWS))
        assert type(given) is version.DataFrame and isinstance(given.filter(version.col("n") > 1).to_native(), SFrame)
        assert type(given["n"]) is version.Series


def test_without_columns_and_without_rows() -> None:
    assert nw.from_native(SFrame()).shape == (0, 0)
    empty = nw.from_native(SFrame({"a": [1]})[:0])
    assert empty.shape == (0, 1) and empty.schema == {"a": nw.Int64()} and empty["a"].to_list() == []


def test_frames_in_files(tmp_path: Path) -> None:
    SFrame({"a": range(1000)}).save(str(tmp_path / "a.sframe"))
    given = nw.from_native(SFrame(str(tmp_path / "a.sframe")))
    assert given.select(nw.col("a").sum()).item() == 499_500
    assert given.filter(nw.col("a") % 100 == 7).to_native()["a"].to_numpy().tolist() == list(range(7, 1000, 100))


def test_files_are_read_by_this_package_and_lazily(tmp_path: Path, rows_taken: list[str]) -> None:
    pq.write_table(pa.table({"a": [1, 2, 3], "b": ["x", "y", None]}), tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text("a;b\n1;x\n2;y\n")
    scanned = nw.scan_parquet(str(tmp_path / "t.parquet"), backend=narwhals_frames)
    assert isinstance(scanned.to_native(), SFrame) and scanned.collect_schema().names() == ["a", "b"] and rows_taken == []
    assert scanned.filter(nw.col("a") > 1).collect().rows() == [(2, "y"), (3, None)]
    assert nw.read_parquet(str(tmp_path / "t.parquet"), backend=narwhals_frames)["a"].sum() == 6
    assert nw.read_csv(str(tmp_path / "t.csv"), backend=narwhals_frames, separator=";").rows() == [(1, "x"), (2, "y")]
    assert nw.scan_csv(str(tmp_path / "t.csv"), backend=narwhals_frames, separator=";").collect().shape == (2, 2)


def test_frames_of_narwhals_are_copied_and_pickled() -> None:
    given = nw.from_native(SFrame(ROWS)).with_columns(twice=nw.col("n") * 2)
    for other in (copy.copy(given), copy.deepcopy(given), pickle.loads(pickle.dumps(given))):
        assert isinstance(other.to_native(), SFrame) and other["twice"].to_list() == [6, 2, None, 4]


def test_narwhals_own_comparison() -> None:
    from narwhals.testing import assert_frame_equal, assert_series_equal

    given = nw.from_native(SFrame(ROWS))
    assert_frame_equal(given, nw.from_native(SFrame(ROWS)), check_row_order=False)
    with pytest.raises(AssertionError):
        assert_series_equal(given["n"], given["n"] + 1)


PLUGIN = """
import sys
import narwhals as nw
assert not nw.dependencies.is_into_dataframe(object())
assert "sframe_spark.api.interchange.narwhals_plugin" in sys.modules, "the entry point was not found"
assert not {"pyarrow", "numpy", "sframe_spark.public_api"} & sys.modules.keys(), "narwhals imports all of us for any object"
from sframe_spark import SFrame
assert isinstance(nw.from_dict({"a": [1]}, backend="sframe_spark").to_native(), SFrame)
frame = nw.from_native(SFrame({"a": [1, 2]}))
import narwhals.stable.v1 as v1
assert v1.from_native(frame).to_native().num_rows() == 2
"""


def test_the_entry_point(tmp_path: Path) -> None:
    """Told by a program of its own, as entry points are read once; an installed package has them beside it."""
    metadata = tmp_path / "sframe_spark-0.2.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: sframe_spark\nVersion: 0.2.0\n")
    module = "sframe_spark.api.interchange.narwhals_plugin"
    assert f'[project.entry-points."narwhals.plugins"]\nsframe_spark = "{module}"' in Path("pyproject.toml").read_text(encoding="utf-8")
    (metadata / "entry_points.txt").write_text(f"[narwhals.plugins]\nsframe_spark = {module}\n")
    program = f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(Path.cwd())!r}]\n{PLUGIN}"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120)
    assert ended.returncode == 0, ended.stderr


def test_narwhals_is_not_imported_unless_it_asks() -> None:
    program = "import sys; from sframe_spark import SFrame; print(SFrame({'a': [1]})); assert 'narwhals' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, timeout=120)


# Libraries that take frames through narwhals.


@pytest.mark.skipif(not has("scikit-learn>=1.9"), reason="scikit-learn asks narwhals since 1.9")
def test_scikit_learn_knows_names_and_order_of_columns() -> None:
    from sklearn.compose import ColumnTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_score, train_test_split
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    frame = SFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": [4, 3, 2, 1], "k": ["x", "x", "y", "y"]})
    scaler = StandardScaler()
    scaler.fit_transform(frame[["a", "b"]])
    assert scaler.feature_names_in_.tolist() == ["a", "b"]
    model = LogisticRegression().fit(frame[["a", "b"]], frame["k"])
    assert model.predict(frame[["a", "b"]]).tolist() == ["x", "x", "y", "y"]
    with pytest.raises(ValueError, match="same order"):
        model.predict(frame[["b", "a"]])
    by_name = ColumnTransformer([("numbers", StandardScaler(), ["a", "b"]), ("texts", OneHotEncoder(), ["k"])])
    assert by_name.fit_transform(frame).shape == (4, 4)
    train, test = train_test_split(frame, test_size=1, shuffle=False)
    assert isinstance(train, SFrame) and train["b"].to_numpy().tolist() == [4, 3, 2] and test["b"].to_numpy().tolist() == [1]
    assert cross_val_score(LogisticRegression(), frame[["a", "b"]], frame["k"], cv=2).tolist() == [1.0, 1.0]


@pytest.mark.skipif(not has("altair>=6.0"), reason="needs altair")
def test_altair_knows_types_and_rows() -> None:
    import altair

    chart = altair.Chart(SFrame({"a": [1.0, None], "k": ["x", "y"]})).mark_point().encode(x="a", y="k").to_dict()
    assert [chart["encoding"][axis]["type"] for axis in "xy"] == ["quantitative", "nominal"]
    assert list(chart["datasets"].values()) == [[{"a": 1.0, "k": "x"}, {"a": None, "k": "y"}]]


@pytest.mark.skipif(not has("plotly>=6.0"), reason="needs plotly")
def test_plotly_draws_frames() -> None:
    import plotly.express

    frame = SFrame({"a": [1.0, 2.0, 3.0], "k": ["x", "y", "x"]})
    figure = plotly.express.scatter(frame, x="a", y="a", color="k")
    assert [(trace.name, list(trace.x)) for trace in figure.data] == [("x", [1.0, 3.0]), ("y", [2.0])]


@pytest.mark.skipif(not has("bokeh>=3.9"), reason="needs bokeh")
def test_bokeh_takes_frames_as_sources() -> None:
    from bokeh.models import ColumnDataSource

    data = ColumnDataSource(SFrame({"a": [1, 2], "k": ["x", None]})).data
    assert data["a"].tolist() == [1, 2] and data["k"].tolist() == ["x", None]
