"""Frames of dask, modin, xarray and their like, records with declared fields, and cells of Python's own classes: right, or refused by name."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import ipaddress
import logging
import pathlib
import uuid
from typing import Any, ClassVar

import attrs
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from sframe_spark import SArray, SFrame, errors
from sframe_spark.values import plain_values

ROWS = [{"a": 1, "b": "x"}, {"a": None, "b": "y"}, {"a": 3, "b": None}]
TABLE = pa.Table.from_pylist(ROWS)
FRAME = pd.DataFrame({"a": pd.array([1, None, 3], "Int64"), "b": ["x", "y", None]})


class Columns:
    """What frames of other libraries are when one goes through them: names."""

    columns: ClassVar[list[str]] = ["a", "b"]

    def __iter__(self) -> Any:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(ROWS)


def of_library(module: str, **members: Any) -> Any:
    """An object of a class as a library would have it, which need not be installed."""
    return type("DataFrame", (Columns,), {"__module__": f"{module}.frame", **members})()


LIBRARIES = {
    "dask": {"compute": lambda self: FRAME},
    "modin": {"_to_pandas": lambda self: FRAME},
    "cudf": {"to_arrow": lambda self: TABLE},
    "datatable": {"to_arrow": lambda self: TABLE},
    "vaex": {"to_arrow_table": lambda self: TABLE},
    "another": {"__dataframe__": lambda self, **options: TABLE.__dataframe__(**options)},
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_frame_of_another_library_has_its_rows(library: str) -> None:
    frame = SFrame(of_library(library, **LIBRARIES[library]))
    assert frame.column_names() == ["a", "b"] and list(frame) == ROWS


@pytest.mark.parametrize(("members", "advice"), [({}, "pass a dict of columns"), ({"to_pandas": lambda self: FRAME}, "its to_pandas()")])
def test_a_frame_of_an_unknown_library_is_refused_by_name(members: dict[str, Any], advice: str) -> None:
    with pytest.raises(errors.InvalidArgumentError) as refusal:
        SFrame(of_library("unheard", **members))
    assert "an SFrame cannot be made of unheard's DataFrame" in str(refusal.value) and advice in str(refusal.value)


def test_frames_of_libraries_that_are_installed() -> None:
    frames = pytest.importorskip("dask.dataframe")
    given = pd.DataFrame({"a": range(7), "b": list("gfedcba")})
    assert list(SFrame(frames.from_pandas(given, npartitions=3))) == given.to_dict("records")


def test_arrays_with_named_dimensions_are_rows_of_their_coordinates() -> None:
    xarray = pytest.importorskip("xarray")
    given = xarray.Dataset({"v": (("x", "y"), np.arange(4.0).reshape(2, 2))}, coords={"x": [1, 2]})
    expected = [{"x": x, "y": y, "v": 2.0 * (x - 1) + y} for x in (1, 2) for y in (0, 1)]
    assert list(SFrame(given)) == expected == list(SFrame(given["v"]))
    assert list(SArray(given["x"])) == [1, 2]


class Lazy:
    """An array that NumPy reads at once, and whose items have no length of their own, as those of dask."""

    def __init__(self, values: Any, dtype: Any = None) -> None:
        self.values, self.dtype = np.asarray(values), dtype or np.asarray(values).dtype
        self.shape = self.values.shape

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.values

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Any:
        return (Lazy(value) for value in self.values)


def test_arrays_of_other_libraries_are_columns() -> None:
    assert list(SArray(Lazy([1, 2]))) == [1, 2]
    assert next(iter(SArray(Lazy([1.5, np.nan], "torch.float32")))) == 1.5
    assert list(SFrame(Lazy([[1.0, 2.0]]))["X1"]) == [SArray([[1.0, 2.0]])[0]]
    assert list(SArray([1, 2, 3])[Lazy([True, False, True], "torch.bool")]) == [1, 3]


def test_whether_pandas_finds_missing_values() -> None:
    assert list(pd.isna(SArray([1, None]))) == [False, True] and list(pd.notna(SArray(["x", None]))) == [True, False]


# Records


@dataclasses.dataclass
class Star:
    name: str
    mass: float | None
    seen: datetime.datetime | None = None


@attrs.define
class Moon:
    of: Star
    radii: list[float]


class Model:
    """A class that declares its fields as those of pydantic do; going through one gives pairs."""

    __pydantic_fields__: ClassVar[dict[str, Any]] = {"b": ..., "a": ...}

    def __init__(self, a: int, b: str) -> None:
        self.a, self.b = a, b

    def __iter__(self) -> Any:
        yield from vars(self).items()


def test_records_are_rows_and_their_fields_columns() -> None:
    day = datetime.datetime(2020, 1, 2)
    frame = SFrame([Star("sun", 1, day), None, Star("sirius", None)])
    assert frame.column_names() == ["name", "mass", "seen"]
    assert list(frame["mass"]) == [1, None, None] and list(frame["seen"]) == [day, None, None]
    assert list(SFrame(iter([Model(1, "x"), Model(2, "y")]))) == [{"b": "x", "a": 1}, {"b": "y", "a": 2}]
    moons = SFrame([Moon(Star("sun", 1.0), [1.0, 2.0])])
    assert list(moons["of"]) == [{"name": "sun", "mass": 1.0, "seen": None}] and list(moons["radii"][0]) == [1.0, 2.0]


def test_models_of_pydantic() -> None:
    pydantic = pytest.importorskip("pydantic")
    model = pydantic.create_model("Shop", a=(int, ...), b=(str, "x"))
    assert list(SFrame([model(a=1), model(a=2, b="y")])) == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]


def test_what_is_no_list_of_one_class_of_records_is_refused() -> None:
    with pytest.raises(errors.InvalidArgumentError, match="cannot be made of a single Model: pass a list"):
        SFrame(Model(1, "x"))
    with pytest.raises(errors.InvalidArgumentError, match="cannot be made of a single Star"):
        SFrame(Star("sun", 1.0))
    with pytest.raises(errors.SchemaError, match=r"row 1 is .*Model.*, the first is a Star"):
        SFrame([Star("sun", 1.0), Model(1, "x")])
    with pytest.raises(errors.SchemaError, match="declares no fields"):
        SFrame([dataclasses.make_dataclass("Nothing", [])()])


# Cells of Python's own classes


class Colour(enum.Enum):
    RED = 1
    BLUE = "b"


class Flag(enum.Flag):
    A = 1


CELLS = {
    "UUID": (uuid.UUID(int=7), "00000000-0000-0000-0000-000000000007"),
    "Enum": (Colour.BLUE, "BLUE"),
    "Flag": (Flag.A, "A"),
    "Path": (pathlib.PurePosixPath("/a/b"), "/a/b"),
    "address": (ipaddress.ip_address("10.0.0.1"), "10.0.0.1"),
    "network": (ipaddress.ip_network("10.0.0.0/8"), "10.0.0.0/8"),
}


@pytest.mark.parametrize("name", CELLS)
def test_cells_that_are_kept_as_texts(name: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    value, text = CELLS[name]
    monkeypatch.setattr(plain_values, "_FAMILY_OF_CLASS", {})
    with caplog.at_level(logging.WARNING, "sframe_spark"):
        assert list(SArray([value, None, value])) == [text, None, text]
        assert list(SArray([value])) == [text]
    assert caplog.text.count(f"values of class {type(value).__name__} are kept as texts") == 1
    assert list(SArray([[value]])) == [[text]] and list(SArray([{"k": value}])) == [{"k": text}]
    assert list(SArray([1]).apply(lambda _: value)) == [text]
    assert list(SArray([text, "x"]) == value) == [1, 0]
    assert list(SFrame(pd.DataFrame({"a": pd.Series([value], dtype=object)}))["a"]) == [text]


def test_times_of_day_are_seconds_as_those_of_arrow() -> None:
    times = [datetime.time(1, 2, 3, 500_000), None]
    assert list(SArray(times)) == [3723.5, None] == list(SArray(pa.array(times)))
    with pytest.raises(errors.SchemaError, match="has an offset"):
        SArray([datetime.time(1, tzinfo=datetime.UTC)])
