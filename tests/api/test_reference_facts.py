"""Small programs over SArray and SFrame whose results, or classes of errors, were recorded from the reference.

``tests/data/api_facts*.jsonl``: one program a line; its last line is an expression, and ``result`` is what ``plain`` makes of its value.
``tests/data/api_deviations*.jsonl``: programs that have another outcome here, with the reason.
"""

from __future__ import annotations

import array
import datetime
import json
import math
import operator
import os
import warnings
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pandas as pd
import pytest

from sframe_spark import Image, SArray, SArrayBuilder, SFrame, SFrameBuilder, Sketch, aggregate, image_analysis, load_sarray, load_sframe
from sframe_spark.errors import InexactNumberWarning, SetOrderWarning
from tests.plain_values import plain

DATA = Path(__file__).parents[1] / "data"
FACTS, DEVIATIONS = (
    [json.loads(line) for path in sorted(DATA.glob(f"{name}*.jsonl")) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]
    for name in ("api_facts", "api_deviations")
)
PARTS = 8
# With every query on Spark a program takes tens of milliseconds: of these each so many is run.
STRIDE_ON_SPARK = 50


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
        "Image": Image, "ia": image_analysis,
        "Sketch": Sketch, "SArrayBuilder": SArrayBuilder, "SFrameBuilder": SFrameBuilder, "load_sarray": load_sarray, "load_sframe": load_sframe,
    }  # fmt: skip
    *statements, expression = program.split("\n")
    with warnings.catch_warnings():
        # The reference rounds, and gives sets any order, without a word.
        warnings.simplefilter("ignore", InexactNumberWarning)
        warnings.simplefilter("ignore", SetOrderWarning)
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
