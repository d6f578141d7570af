"""Inference, construction and casts agree with the reference, but for deviations listed with their reasons."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from sframe_spark.types import STANDARD_TYPES, STR, ColumnType
from sframe_spark.values.arrow_to_python import decode
from sframe_spark.values.column_cast import cast_array, cast_type
from sframe_spark.values.python_to_arrow import encode, encoding_for, infer_type
from tests.facts import from_fact, load_facts, same

FACTS = load_facts("value_facts.json")
DEVIATIONS = load_facts("value_deviations.json")


def _infer(fact: Any) -> tuple[pa.Array, ColumnType]:
    values = from_fact(fact)
    column_type = infer_type(values)
    return encode(values, column_type), column_type


def _construct(fact: Any, kind: str) -> tuple[pa.Array, ColumnType]:
    values = [from_fact(fact)]
    column_type = encoding_for(values, STANDARD_TYPES[kind])
    return encode(values, column_type), column_type


def _cast(fact: Any, kind: str, undefined_on_failure: bool) -> tuple[pa.Array, ColumnType]:
    values = [from_fact(fact)]
    source = infer_type(values)
    target = cast_type(source, STANDARD_TYPES[kind])
    return cast_array(encode(values, source), source, target, undefined_on_failure), target


def _parse(text: str, kind: str) -> tuple[pa.Array, ColumnType]:
    target = cast_type(STR, STANDARD_TYPES[kind])
    return cast_array(encode([text], STR), STR, target, undefined_on_failure=True), target


ACTIONS: dict[str, Callable[..., tuple[pa.Array, ColumnType]]] = {
    "infer": _infer,
    "construct": _construct,
    "cast": _cast,
    "parse": _parse,
}
BUILT_IN = {error.__name__: error for error in (TypeError, RuntimeError, UnicodeDecodeError, OverflowError)}


def _disagreement(action: Callable[..., tuple[pa.Array, ColumnType]], arguments: list[Any], expected: Any) -> str:
    """Empty if the action does what is expected of it."""
    try:
        array, column_type = action(*arguments)
    except Exception as error:
        names = [base.__name__ for base in type(error).__mro__]
        return "" if expected.get("raises") in names else f"{json.dumps(arguments)} raises {error!r}"
    array.validate(full=True)
    assert array.type == column_type.physical
    if "raises" in expected:
        return f"{json.dumps(arguments)} does not raise {expected['raises']}"
    values = decode(array, column_type)
    if column_type.kind == expected["dtype"] and same(values, from_fact(expected["value"])):
        return ""
    return f"{json.dumps(arguments)} gives {column_type.kind} {values!r}, not {expected}"


@pytest.mark.parametrize("section", sorted(ACTIONS))
def test_values_agree_with_the_reference(section: str) -> None:
    found = [_disagreement(ACTIONS[section], fact[:-1], fact[-1]) for fact in FACTS[section]]
    assert [text for text in found if text] == []


def test_deviations_are_what_they_are_said_to_be() -> None:
    found = [_disagreement(ACTIONS[d["what"]], d["arguments"], d["ours"]) for d in DEVIATIONS]
    assert [text for text in found if text] == []


def test_deviations_have_reasons() -> None:
    assert all(len(deviation["reason"]) > 10 for deviation in DEVIATIONS)
