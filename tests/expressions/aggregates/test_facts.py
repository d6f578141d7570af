"""Aggregates agree with the reference over types and awkward groups, but for deviations listed with their reasons."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import pytest

import sframe_spark.expressions.aggregates  # noqa: F401 - fills the table
from sframe_spark.api import aggregate
from sframe_spark.expressions.aggregates.aggregate_function import AGGREGATES
from sframe_spark.types import INT, STANDARD_TYPES, ColumnType
from sframe_spark.values.arrow_to_python import decode
from sframe_spark.values.python_to_arrow import encode, infer_type
from sframe_spark.values.tagged_json_display_and_canonical_text import canonical_value
from tests.expressions.aggregates.drivers import of_all_rows
from tests.facts import from_fact, load_facts, same

GROUPS = load_facts("aggregates/groups.json")
COLUMNS = load_facts("aggregates/columns.json")
NAMES = load_facts("aggregates/names.json")
SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
REDUCTIONS = {
    "sum": "sum",
    "mean": "mean",
    "min": "column_min",
    "max": "column_max",
    "var": "column_var",
    "std": "column_std",
    "countna": "count_missing",
}


def type_of(kind: str, values: list[Any]) -> ColumnType:
    """The type that the values are stored in: the natural one if it is of the kind."""
    natural = infer_type(values)
    return natural if natural.kind == kind else STANDARD_TYPES[kind]


def has_nan(values: list[Any]) -> bool:
    return any(isinstance(value, float) and math.isnan(value) for value in values)


def is_finite(value: Any) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def outcome(name: str, arrays: list[Any], types: list[ColumnType], parameters: tuple[Any, ...]) -> tuple[Any, Any]:
    """Kind and value of a reduction; for an error "raises" and the error."""
    try:
        return AGGREGATES[name].infer(types, parameters).kind, of_all_rows(name, arrays, types, parameters)
    except Exception as error:
        return "raises", error


def agrees(fact: dict[str, Any], kind: str, value: Any, is_same: Callable[[Any, Any], bool] = same) -> bool:
    if "raises" in fact:
        return kind == "raises" and fact["raises"] in [base.__name__ for base in type(value).__mro__]
    return kind != "raises" and fact.get("type", kind) == kind and is_same(value, from_fact(fact["result"]))


def close(first: Any, second: Any) -> bool:
    return same(first, second, 1e-9)


def same_in_any_order(first: Any, second: Any) -> bool:
    return sorted(map(canonical_value, first)) == sorted(map(canonical_value, second))


def group_deviation(name: str, kind: str, values: list[Any]) -> tuple[str, Any] | None:
    """Why the result differs from the reference's, and what it is."""
    if name in ("MIN", "MAX") and has_nan(values):
        return "there, whether a NaN survives depends on where threads cut the rows; here NaN always does", math.nan
    if name in ("VAR", "STD") and any(isinstance(value, float) and not math.isfinite(value) for value in values):
        return "there, the spread of one NaN or infinity is zero; here NaN, as of several", math.nan
    if name == "SELECT_ONE":
        column_type = type_of(kind, values)
        first = decode(encode(values[:1], column_type), column_type)[0]
        return "there, any row's value, by thread; here the first row's", first
    if name == "QUANTILE" and has_nan(values):
        present = sorted((value for value in values if value is not None), key=lambda value: (value != value, value))
        wanted = [present[min(len(present) - 1, int(share * len(present)))] for share in SHARES]
        return "there, NaN sorts anywhere; here above all numbers", encode([wanted], STANDARD_TYPES["array"])
    return None


def check_group(fact: dict[str, Any]) -> str:
    name, kind, values = fact["aggregate"], fact["kind"], from_fact(fact["values"])
    column_type = type_of(kind, values)
    arrays, types = [encode(values, column_type)], [column_type]
    if name.startswith("ARG"):
        arrays.append(encode(list(range(len(values))), INT))
        types.append(INT)
    found, value = outcome(name.lower(), arrays, types, SHARES if name == "QUANTILE" else ())
    deviation = None if "raises" in fact else group_deviation(name, kind, values)
    if deviation is not None:
        wanted = deviation[1]
        if hasattr(wanted, "type"):
            wanted = decode(wanted, STANDARD_TYPES["array"])[0]
        good = same(value, wanted)
    elif name in ("CONCAT", "DISTINCT") and "raises" not in fact:
        good = agrees(fact, found, value, same_in_any_order)
    elif name.startswith("ARG") and "raises" not in fact and fact["result"] is not None:
        # Ties and NaN: the reference takes any row; ours holds an equal value, unless theirs is NaN.
        theirs = values[fact["result"]]
        good = theirs != theirs or values[value] == theirs
    else:
        good = agrees(fact, found, value, close)
    return "" if good else f"{name} of {values!r}: {found} {value!r}, not {json.dumps(fact)}"


def check_column(fact: dict[str, Any]) -> str:
    values = from_fact(fact["values"])
    column_type = type_of(fact["kind"], values) if values else STANDARD_TYPES[fact["kind"]]
    parameters = (fact["ddof"],) if "ddof" in fact else ()
    name = REDUCTIONS[fact["reduction"]]
    if fact["kind"] == "array" and name in ("sum", "mean"):
        name = f"column_vector_{name}"
    found, value = outcome(name, [encode(values, column_type)], [column_type], parameters)
    if fact["reduction"] in ("min", "max") and len(set(map(str, values))) == 1 and not is_finite(values[0]):
        good = same(value, from_fact(fact["values"])[0])  # the reference gives the largest float there is
    elif fact["reduction"] in ("var", "std") and not column_type.is_numeric:
        good = isinstance(value, RuntimeError)  # the reference lets a column without rows pass
    else:
        good = agrees(fact, found, value, close)
    return "" if good else f"{fact['reduction']}{parameters} of {values!r}: {found} {value!r}, not {json.dumps(fact)}"


@pytest.mark.parametrize("name", sorted({fact["aggregate"] for fact in GROUPS}))
def test_groups_agree_with_the_reference(name: str) -> None:
    found = [check_group(fact) for fact in GROUPS if fact["aggregate"] == name]
    assert [text for text in found if text] == []


@pytest.mark.parametrize("name", sorted(REDUCTIONS))
def test_columns_agree_with_the_reference(name: str) -> None:
    found = [check_column(fact) for fact in COLUMNS if fact["reduction"] == name]
    assert [text for text in found if text] == []


@pytest.mark.parametrize("fact", NAMES, ids=lambda fact: fact["name"])
def test_default_output_names(fact: dict[str, Any]) -> None:
    assert getattr(aggregate, fact["aggregate"])(*fact["arguments"]).label == fact["name"]


def test_no_result_is_of_another_type_than_inferred() -> None:
    for fact in GROUPS:
        if "raises" not in fact and fact["aggregate"] not in ("ARGMIN", "ARGMAX"):
            values = from_fact(fact["values"])
            parameters = SHARES if fact["aggregate"] == "QUANTILE" else ()
            inferred = AGGREGATES[fact["aggregate"].lower()].infer([type_of(fact["kind"], values)], parameters)
            assert inferred.kind == fact["type"], fact
