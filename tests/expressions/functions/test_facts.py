"""Operators agree with the reference over all pairs of types, but for deviations listed with their reasons."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

import sframe_spark.expressions.functions  # noqa: F401 - fills the table
from sframe_spark.expressions.functions.scalar_function import FUNCTIONS, evaluate
from sframe_spark.types import INT, ColumnType
from sframe_spark.values.arrow_to_python import decode
from sframe_spark.values.python_to_arrow import encode, infer_type
from tests.facts import from_fact, load_facts, same

RECORDED = load_facts("operator_facts.json")
DEVIATIONS = load_facts("operator_deviations.json")
COLUMNS = {name: from_fact(fact) for name, fact in RECORDED["columns"].items()}


def _argument(place: Any) -> tuple[Any, ColumnType, int | None]:
    """A named column, or a literal."""
    if isinstance(place, str):
        values = COLUMNS[place]
        column_type = infer_type(values) if values else INT
        return encode(values, column_type), column_type, len(values)
    value = from_fact(place["scalar"])
    column_type = infer_type([value])
    return encode([value], column_type)[0], column_type, None


def _disagreement(function: str, places: list[Any], expected: Any) -> str:
    """Empty if the function does what is expected of it."""
    arguments = [_argument(place) for place in places]
    rows = next(rows for _, _, rows in arguments if rows is not None)
    call = f"{function}({json.dumps(places)})"
    try:
        array, column_type = evaluate(function, [a for a, _, _ in arguments], [t for _, t, _ in arguments], (), rows)
    except Exception as error:
        names = [base.__name__ for base in type(error).__mro__]
        return "" if expected.get("raises") in names else f"{call} raises {error!r}"
    array.validate(full=True)
    assert isinstance(array, pa.Array) and len(array) == rows and array.type == column_type.physical
    if "raises" in expected:
        return f"{call} does not raise {expected['raises']}"
    values = decode(array, column_type)
    if column_type.kind == expected["dtype"] and same(values, from_fact(expected["value"])):
        return ""
    return f"{call} gives {column_type.kind} {values!r}, not {expected}"


@pytest.mark.parametrize("function", sorted({fact[0] for fact in RECORDED["facts"]}))
def test_operators_agree_with_the_reference(function: str) -> None:
    facts = [fact for fact in RECORDED["facts"] if fact[0] == function]
    found = [_disagreement(*fact) for fact in facts]
    assert [text for text in found if text] == []


def test_deviations_are_what_they_are_said_to_be() -> None:
    found = [_disagreement(d["function"], d["arguments"], d["ours"]) for d in DEVIATIONS]
    assert [text for text in found if text] == []


def test_every_operator_has_facts() -> None:
    recorded = {fact[0] for fact in RECORDED["facts"]}
    operators = {"add", "subtract", "multiply", "divide", "floor_divide", "modulo", "power", "negate", "absolute"}
    operators |= {"positive", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "and_", "or_"}
    assert operators <= recorded
    assert recorded <= set(FUNCTIONS)
