"""The page of aggregates has all of them, and says rightly what each gives of no value."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import sframe_spark.aggregate as agg
from sframe_spark import SFrame

PAGE = (Path(__file__).parents[2] / "docs" / "aggregates.md").read_text(encoding="utf-8")
ROWS = [line.strip("| \n").split(" | ") for line in PAGE.splitlines() if line.startswith("| `")]
ALIASES = {"AVG": "MEAN", "VARIANCE": "VAR", "STDV": "STD"}
NOTHING: dict[str, Any] = {"0": 0, "1": 1, "missing": None, "zeros": [0.0], "empty": []}


def test_every_aggregate_is_on_the_page() -> None:
    assert {name for row in ROWS for name in re.findall(r"`([A-Z_]+)", row[0])} == set(agg.__all__)


@pytest.mark.parametrize("name", sorted(set(agg.__all__) - {*ALIASES, "COUNT_DISTINCT", "DISTINCT", "FREQ_COUNT", "QUANTILE"}))
def test_what_there_is_of_no_value(name: str) -> None:
    (row,) = (row for row in ROWS if re.search(rf"`{name}\b", row[0]))
    sf = SFrame({"k": [1, 1], "x": [None, None], "y": [None, None]})
    sf["x"], sf["y"] = sf["x"].astype(float), sf["y"].astype(float)
    arguments = {"MOMENT": ("x", 2)} | dict.fromkeys(("WEIGHTED_COVARIANCE", "WEIGHTED_CORRELATION"), ("x", "y", "x"))
    of_two = ("DOT_PRODUCT", "WEIGHTED_MEAN", "COVARIANCE", "CORRELATION", "LINEAR_REGRESSION", "ARGMIN", "ARGMAX")
    found = sf.groupby("k", {"v": getattr(agg, name)(*arguments.get(name, ("x", "y") if name in of_two else ("x",)))})["v"][0]
    wanted = NOTHING[row[2].split(";")[0]]
    assert (list(found) if wanted == [] else found) == wanted
