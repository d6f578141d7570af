"""Small programs over SArray and SFrame whose results, or classes of errors, were recorded from the reference.

``tests/data/api_facts.jsonl``: one program a line; its last line is an expression, and ``result`` is what :func:`plain` makes of its value.
``tests/data/api_deviations.jsonl``: programs that have another outcome here, with the reason.
"""

from __future__ import annotations

import array
import datetime
import json
import math
import operator
import os
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pandas as pd
import pytest

from sframe_spark import SArray, SFrame, aggregate

DATA = Path(__file__).parents[1] / "data"
FACTS = [json.loads(line) for line in (DATA / "api_facts.jsonl").read_text().splitlines()]
DEVIATIONS = [json.loads(line) for line in (DATA / "api_deviations.jsonl").read_text().splitlines()]
PARTS = 8
# With every query on Spark a program takes tens of milliseconds: of these each so many is run.
STRIDE_ON_SPARK = 50


def plain(value: Any) -> Any:
    """A value as JSON that tells types apart."""
    name = type(value).__name__
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return ["bool", value]
    if isinstance(value, np.generic):
        return [f"np.{name}", plain(value.item())]
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return ["f", "nan" if math.isnan(value) else repr(float(f"{value:.10g}"))]
    if isinstance(value, type):
        return ["type", name if name == "array" else value.__name__]
    return plain_container(value)


def plain_container(value: Any) -> Any:
    """The same of values that hold others."""
    if isinstance(value, SArray):
        return ["SArray", plain(value.dtype), [plain(item) for item in value]]
    if isinstance(value, SFrame):
        names = value.column_names()
        return ["SFrame", names, [plain(kind) for kind in value.column_types()], [[plain(item) for item in value[name]] for name in names]]
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *map(plain, value)]
    if isinstance(value, dict):
        return ["dict", *sorted(([plain(key), plain(item)] for key, item in value.items()), key=json.dumps)]
    if isinstance(value, array.array):
        return ["array", value.typecode, *map(plain, value)]
    if isinstance(value, datetime.datetime):
        offset = value.utcoffset()
        return ["dt", value.replace(tzinfo=None).isoformat(), None if offset is None else offset.total_seconds()]
    if isinstance(value, np.ndarray):
        return ["ndarray", str(value.dtype), list(value.shape), plain(value.tolist())]
    raise TypeError(f"no plain form of a {type(value).__name__}")


@attrs.frozen
class BriefFile:
    """What ``open`` gives to the programs: a file that is closed after it is written or read.

    Parameters
    ----------
    path, mode, newline
        As of the built-in function.
    """

    path: str
    mode: str = "r"
    newline: str | None = None

    def write(self, text: str) -> int:
        """Write a text."""
        with open(self.path, self.mode, newline=self.newline) as file:
            return file.write(text)

    def read(self) -> str:
        """All text."""
        with open(self.path, self.mode, newline=self.newline) as file:
            return file.read()


def outcome(program: str, directory: Path) -> dict[str, Any]:
    """What a program results in: a result, or the names of the error's classes. Its files are in ``TMP``."""
    names = {
        "SF": SFrame, "SA": SArray, "agg": aggregate, "np": np, "pd": pd, "dt": datetime, "array": array.array, "math": math,
        "nan": math.nan, "inf": math.inf, "os": os, "TMP": str(directory), "open": BriefFile,
    }  # fmt: skip
    *statements, expression = program.split("\n")
    try:
        exec("\n".join(statements), names)
        return {"result": plain(eval(expression, names))}
    except Exception as error:
        return {"raises": [cls.__name__ for cls in type(error).__mro__]}


def disagreement(fact: dict[str, Any], directory: Path) -> str:
    """How a program differs from what was recorded; empty if it does not."""
    found = outcome(fact["program"], directory)
    good = fact["raises"] in found.get("raises", ()) if "raises" in fact else found == {"result": fact["result"]}
    return "" if good else f"{fact['program']}\n  found {found}\n  not {fact}"


def disagreements(facts: list[dict[str, Any]], directory: Path) -> list[str]:
    """How programs differ from what was recorded, each run in a directory of its own."""
    found = []
    for number, fact in enumerate(facts):
        place = directory / str(number)
        place.mkdir(parents=True)
        found.append(disagreement(fact, place))
    return [text for text in found if text]


@pytest.mark.spark
@pytest.mark.parametrize("part", range(PARTS))
def test_program_does_what_was_recorded(part: int, spark: Any, tmp_path: Path) -> None:
    assert disagreements(FACTS[part::PARTS], tmp_path) == []


@pytest.mark.spark
def test_program_does_what_was_recorded_on_spark(everything_on_spark: None, tmp_path: Path) -> None:
    assert disagreements(FACTS[::STRIDE_ON_SPARK], tmp_path) == []


def test_facts_are_many_and_different() -> None:
    programs = list(map(operator.itemgetter("program"), FACTS))
    assert len(programs) > 1000
    assert len(set(programs)) == len(programs)


@pytest.mark.spark
def test_deviations_are_what_they_are_said_to_be(spark: Any, tmp_path: Path) -> None:
    ours = [{"program": deviation["program"], **deviation["ours"]} for deviation in DEVIATIONS]
    assert disagreements(ours, tmp_path / "ours") == []
    theirs = [{"program": deviation["program"], **deviation["reference"]} for deviation in DEVIATIONS]
    assert len(disagreements(theirs, tmp_path / "theirs")) == len(DEVIATIONS)
    assert all(len(deviation["reason"]) > 10 for deviation in DEVIATIONS)
