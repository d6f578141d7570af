"""Signatures of the API: names, order and defaults of parameters as in the reference; ours may add some after them or by keyword only.

``tests/data/reference_signatures.json`` holds, for each module and class, the parameters of each public member and of each method that Python or the
reference names with underscores: name, and text of the default if there is one; null for what is no function. What is not here has a hint.
"""

from __future__ import annotations

import importlib
import inspect
import json
from pathlib import Path
from typing import Any

import pytest

import sframe_spark
from sframe_spark.api import other_library_names
from tests.examples import in_one_test

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "reference_signatures.json").read_text())
MEMBERS = [(place, name) for place, members in RECORDED.items() for name in members]

PLACES = {
    "module": "sframe_spark",
    "aggregate": "sframe_spark.aggregate",
    # The package has the options under the name of their module.
    "config": "sframe_spark.config",
    "util": "sframe_spark.util",
    "visualization": "sframe_spark.visualization",
    "serialization": "sframe_spark.data_structures.serialization",
}
_PYTHON_2 = "a name of Python 2"
_PRINTING = "how tables are printed is no part of the API: str(sf) and print_rows()"
NOT_HERE = {
    ("SArray", "__div__"): _PYTHON_2,
    ("SArray", "__rdiv__"): _PYTHON_2,
    ("SArray", "__nonzero__"): _PYTHON_2,
    ("SFrame", "__nonzero__"): _PYTHON_2,
    ("SFrame", "__get_column_description__"): _PRINTING,
    ("SFrame", "__get_pretty_tables__"): _PRINTING,
    ("SFrame", "__str_impl__"): _PRINTING,
    ("SFrame", "__query_plan_str__"): "the plan is explain()'s",
}
DIFFERENT = {
    # Ours has names for what the reference takes as ``*args``.
    ("SArray", "from_sequence"): ["*args is missing"],
    # Nothing is drawn of nothing.
    ("Plot", "__init__"): ["vega_spec: 'dict[str, Any] | Callable[[], dict[str, Any]]' has the default ['None'] in the reference"],
}


# So many members the reference has.
COUNTS = {
    "module": 70,
    "aggregate": 18,
    "config": 8,
    "util": 7,
    "visualization": 12,
    "serialization": 2,
    "SFrame": 77,
    "SArray": 122,
    "Sketch": 23,
    "SArrayBuilder": 6,
    "SFrameBuilder": 7,
    "Plot": 7,
}


def owner_of(place: str) -> Any:
    """The module or class that a place of the record stands for."""
    if place in PLACES:
        return importlib.import_module(PLACES[place])
    return sframe_spark.visualization.Plot if place == "Plot" else getattr(sframe_spark, place)


def hints_about(place: str) -> set[str]:
    """Names of a module that are answered with what to use instead."""
    options = importlib.import_module("sframe_spark.config")._HINTS
    return set({"module": other_library_names.MODULE, "util": other_library_names.UTIL, "config": options}.get(place, ()))


def default_text(value: Any) -> str:
    """A default as it is recorded; tuples, which nobody can change, stand for lists."""
    if isinstance(value, type):
        return value.__name__
    return repr(list(value)) if isinstance(value, tuple) else repr(value)


def differences(recorded: list[list[str]], function: Any, called: bool = True) -> list[str]:
    """What of a recorded signature is otherwise in a function's; names of parameters matter where it is ``called`` by its name."""
    ours = list(inspect.signature(function).parameters.values())
    wanted = [parameter for parameter in recorded if parameter[0] != "_proxy"]
    found: list[str] = []
    for place, (name, *default) in enumerate(wanted):
        if name.startswith("**"):
            found += [] if any(parameter.kind is parameter.VAR_KEYWORD for parameter in ours) else [f"{name} is missing"]
            continue
        parameter = ours[place] if place < len(ours) else None
        if name.startswith("*"):
            found += [] if parameter is not None and parameter.kind is parameter.VAR_POSITIONAL else [f"{name} is missing"]
        elif parameter is None or (called and (parameter.name != name or parameter.kind is not parameter.POSITIONAL_OR_KEYWORD)):
            found.append(f"parameter {place} is {parameter}, not {name}")
        elif [default_text(parameter.default)] != default and (default or parameter.default is not parameter.empty):
            found.append(f"{parameter} has the default {default or 'none'} in the reference")
    more = ours[len(wanted) :]
    return found + [f"{parameter} is needed" for parameter in more if parameter.default is parameter.empty and "*" not in str(parameter)]


@in_one_test(("place", "name"), MEMBERS)
def test_signature_is_that_of_the_reference(place: str, name: str) -> None:
    owner, recorded = owner_of(place), RECORDED[place][name]
    if (place, name) in NOT_HERE or name in hints_about(place):
        assert name not in dir(owner), "it is here: leave it out of what is not"
        return
    assert name in dir(owner), "it is neither here, nor is there a hint"
    function = getattr(owner, name)
    assert callable(function) or recorded is None
    if recorded is not None:
        found = differences(recorded, function, called=not name.startswith("__") or name == "__init__")
        assert found == DIFFERENT.get((place, name), [])


@pytest.mark.parametrize(
    ("function", "found"),
    [
        (lambda self, a, b=1: 0, []),
        (lambda self, a, b=1, *, c=2: 0, []),
        (lambda self, a, b=1, c=2, **kwargs: 0, []),
        (lambda self, b, a=1: 0, ["parameter 1 is b, not a", "parameter 2 is a=1, not b"]),
        (lambda self, a, b=2: 0, ["b=2 has the default ['1'] in the reference"]),
        (lambda self, a=0, b=1: 0, ["a=0 has the default none in the reference"]),
        (lambda self, a, *, b=1: 0, ["parameter 2 is b=1, not b"]),
        (lambda self, a, b=1, *, c: 0, ["c is needed"]),
        (lambda self, *a, **b: 0, ["parameter 1 is *a, not a", "parameter 2 is **b, not b"]),
    ],
)
def test_differences_are_found(function: Any, found: list[str]) -> None:
    assert differences([["self"], ["a"], ["b", "1"], ["_proxy", "None"]], function) == found


def test_what_differs_is_recorded() -> None:
    assert {*NOT_HERE, *DIFFERENT} <= set(MEMBERS)


def test_the_record_has_all_places() -> None:
    assert {place: len(members) for place, members in RECORDED.items()} == COUNTS
