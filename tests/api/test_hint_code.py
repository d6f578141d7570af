"""The code in hints for names of other libraries runs."""

from __future__ import annotations

import datetime
import json
import math
import re
import sqlite3
import textwrap
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import numpy as np
import polars
import pyarrow
import pyarrow.feather
import pytest

import sframe_spark
from sframe_spark import SArray, SFrame, aggregate, text_analytics
from sframe_spark.api import error_hints, other_library_names
from sframe_spark.api.model_hints import MODEL_HINTS
from tests.examples import in_one_test

TABLES: dict[str, Callable[[], dict[str, str]]] = {
    "frame": lambda: other_library_names.FRAME,
    "column": error_hints.array_hints,
    "module": error_hints.module_hints,
    "aggregate": lambda: other_library_names.AGGREGATE,
    "text": lambda: other_library_names.TEXT,
    "date": lambda: other_library_names.DATE,
    "argument": lambda: other_library_names.ARGUMENT,
    "plot": lambda: other_library_names.METHOD["plot"],
    "write": lambda: other_library_names.METHOD["write"],
}
MARKED = re.compile(r"`([^`]+)`")
# What has the members that a hint of each table names, in the order in which they are tried.
OWNERS = {
    "frame": ["sf"],
    "column": ["sa", "sf['key']", "sf['time']", "zoned", "days"],
    "text": ["sf['key']", "days", "ints", "dicts", "lists"],
    "date": ["sf['time']", "zoned"],
    "argument": ["sf['a']"],
}


def hints() -> Iterator[tuple[str, str]]:
    for table, entries in TABLES.items():
        yield from ((table, hint) for hint in sorted(set(entries().values())))


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.chdir(tmp_path)
    day = datetime.datetime(2024, 3, 4)
    times = [day + datetime.timedelta(hours=hour) for hour in (0, 9, 30)]
    sf = SFrame({"a": [1, 2, 1], "b": [0.5, 1.5, -2.0], "key": ["2024-01-31", "1", "2024-01-31"], "time": times, "start": times})
    sf["end"] = sf["start"] + 3600
    sf["items"], sf["dict"] = SArray([["p"], [], ["q", "r"]], list), SArray([{"x": 1}, {}, {"y": 2.5}], dict)
    other = SFrame({"key": ["1"], "time": times[:1], "a": [7]})
    for name in ("key", "items", "dict", "a", "b", "time", "start", "end"):
        other[name] = sf[name][:1] if name != "key" else other["key"]
    wide = SFrame({"start": times, "end": [time + datetime.timedelta(hours=1) for time in times], "c": [1, 2, 3]})
    small = SFrame({"x": [1]})
    small.export_csv("rows.csv")
    Path("lines.json").write_text('{"x": 1}\n')
    Path("rows.json").write_text(json.dumps([{"x": 1}]))
    small.write("rows.parquet")
    small.write("rows.arrow", format="arrow")
    small.write("rows.orc")
    return {
        "sf": sf,
        "sa": sf["a"],
        "other": other,
        "wide": wide,
        "frame": sf.to_pandas(),
        "connection": sqlite3.connect(":memory:"),
        "more": SFrame({"c": [1, 2, 3]}),
        "zoned": sf["time"].from_zone("UTC"),
        "days": SArray(["2024-01-31"]),
        "ints": SArray(["1"]),
        "dicts": SArray(["{'x': 1}"]),
        "lists": SArray(["[1, 2]"]),
        "data": [1, 2],
        "SFrame": SFrame,
        "SArray": SArray,
        "aggregate": aggregate,
        "text_analytics": text_analytics,
        "sframe_spark": sframe_spark,
        "numpy": numpy,
        "np": np,
        "polars": polars,
        "pyarrow": pyarrow,
        "datetime": datetime,
        "math": math,
        "re": re,
        "textwrap": textwrap,
        "unicodedata": unicodedata,
    }


def run(code: str, table: str, names: dict[str, Any]) -> Any:
    """Evaluate the code of a hint, and what is still lazy in it."""
    # Frames with lists and dicts have no distinct rows.
    plain = {**names, "sf": names["sf"][["a", "b", "key", "time"]]}
    tried = [(owner + code, names) for owner in OWNERS[table]] if code.startswith(".") else [(code, names)]
    for number, (text, known) in enumerate([*tried, (tried[0][0], plain)]):
        try:
            result = eval(text, dict(known))
            if isinstance(result, (SFrame, SArray)):
                result.materialize()
            return result
        except sframe_spark.errors.SFrameError:
            if number == len(tried):
                raise
    raise AssertionError


@pytest.mark.filterwarnings("ignore::sframe_spark.errors.InexactWarning")
@pytest.mark.parametrize("table", TABLES)
def test_code_in_hints_runs(table: str, names: dict[str, Any]) -> None:
    wrong = []
    for hint in sorted(set(TABLES[table]().values())):
        if hint.count("`") % 2:
            wrong.append(f"{hint}: a backtick too many")
        for code in MARKED.findall(hint):
            try:
                run(code, table, names)
            except Exception as error:
                wrong.append(f"{code}: {type(error).__name__}: {error}")
    assert not wrong, "\n".join(wrong)


# Words before parentheses outside of marked code: members of frames, columns and modules, and functions of Python.
CALLED = re.compile(r"(?<![\w.'])(\w+)\(")
OUTSIDE = {"len", "list", "print", "SFrame", "SArray", "sql", "load_sframe", "load_sarray"}


@in_one_test(("table", "hint"), list(hints()))
def test_calls_in_hints_are_of_members(table: str, hint: str) -> None:
    # Names of models are answered with other libraries' code, which has a test of its own.
    for name in () if hint in MODEL_HINTS.values() else CALLED.findall(re.sub(r"'[^']*'", "", MARKED.sub("", hint))):
        assert name in OUTSIDE or any(hasattr(owner, name) for owner in (SFrame, SArray, sframe_spark.visualization, SArray(["x"]).str)), hint


def test_names_of_columns_are_those_of_the_page() -> None:
    """A frame with others could not run the code."""
    told = set(re.findall(r"``(\w+)``", other_library_names.__doc__ or ""))
    assert {"a", "b", "key", "time", "start", "end", "items", "dict"} <= told
