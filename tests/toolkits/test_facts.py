"""What text_analytics and evaluation answer is what Turi Create answers (recorded), wherever the rows are."""

from __future__ import annotations

import json
import math
from array import array
from pathlib import Path
from typing import Any

import pytest

import sframe_spark
from sframe_spark import SArray, SFrame, config, load_sarray

FACTS = json.loads((Path(__file__).parents[1] / "data" / "toolkits_facts.json").read_text())
TYPES: dict[str, Any] = {"str": str, "list": list, "dict": dict, "int": int, "float": float, "array": array}


def plain(value: Any) -> Any:
    """Return a result in the form in which it was recorded."""
    if isinstance(value, SArray):
        return [str(value.dtype), [plain(item) for item in value]]
    if isinstance(value, SFrame):
        return [sorted(value.column_names()), sorted(map(plain, value), key=repr)]
    if isinstance(value, dict):
        return sorted([repr(key), plain(item)] for key, item in value.items())
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return "nan" if math.isnan(value) else float(f"{value:.9g}")
    return value


def answer(fact: dict[str, Any], columns: list[SArray]) -> Any:
    module, name = fact["function"].split(".")
    return plain(getattr(getattr(sframe_spark, module), name)(*columns, **fact["options"]))


@pytest.mark.parametrize("number", range(len(FACTS)))
def test_answers_are_those_of_turi_create(number: int) -> None:
    fact = FACTS[number]
    assert answer(fact, [SArray(values, TYPES[kind]) for kind, values in fact["columns"]]) == fact["result"]


def test_answers_over_saved_rows_in_several_ranges_are_the_same(tmp_path: Path) -> None:
    names = {fact["function"] for fact in FACTS}
    assert len(names) == 15
    for name in sorted(names):
        fact = max((fact for fact in FACTS if fact["function"] == name), key=lambda fact: len(fact["columns"][0][1]))
        columns = []
        for position, (kind, values) in enumerate(fact["columns"]):
            path = str(tmp_path / f"{name} {position}")
            SArray(values[:2], TYPES[kind]).append(SArray(values[2:], TYPES[kind])).save(path)
            columns.append(load_sarray(path))
        with config.using(batch_rows=2):
            assert answer(fact, columns) == fact["result"], name


@pytest.mark.spark
def test_answers_on_spark_are_the_same(spark: Any) -> None:
    for name in sorted({fact["function"] for fact in FACTS}):
        fact = max((fact for fact in FACTS if fact["function"] == name), key=lambda fact: len(fact["columns"][0][1]))
        rows = SFrame()
        for position, (kind, values) in enumerate(fact["columns"]):
            rows[f"X{position}"] = SArray(values, TYPES[kind])
        on_spark = SFrame(rows.to_spark())
        assert answer(fact, [on_spark[f"X{position}"] for position in range(len(fact["columns"]))]) == fact["result"], name
