"""Signatures of the API: names, order and defaults of parameters as in the reference; ours may add some after them or by keyword only.

``tests/data/reference_signatures.json`` holds, for each class, the parameters of each public member: name, and text of the default if there is one.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import pytest

import sframe_spark

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "reference_signatures.json").read_text())
MEMBERS = [(place, name) for place, members in RECORDED.items() for name in members]

# Members that may be absent yet; one that is there is compared.
COMING = {"SFrame": "explore plot show", "SArray": "explore plot show", "module": "plot show"}
NOT_HERE = {("SArray", "pixel_array_to_image"): "images are out of scope"}
# Ours has names for what the reference takes as ``*args``.
DIFFERENT = {("SArray", "from_sequence"): ["*args is missing"]}


def member(place: str, name: str) -> Any:
    """A public member, None where it is absent."""
    owner = sframe_spark if place == "module" else getattr(sframe_spark, place, None)
    return None if owner is None else getattr(owner, name, None)


def default_text(value: Any) -> str:
    """A default as it is recorded; tuples, which nobody can change, stand for lists."""
    if isinstance(value, type):
        return value.__name__
    return repr(list(value)) if isinstance(value, tuple) else repr(value)


def differences(recorded: list[list[str]], function: Any) -> list[str]:
    """What of a recorded signature is otherwise in a function's."""
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
        elif parameter is None or parameter.name != name or parameter.kind is not parameter.POSITIONAL_OR_KEYWORD:
            found.append(f"parameter {place} is {parameter}, not {name}")
        elif [default_text(parameter.default)] != default and (default or parameter.default is not parameter.empty):
            found.append(f"{parameter} has the default {default or 'none'} in the reference")
    more = ours[len(wanted) :]
    return found + [f"{parameter} is needed" for parameter in more if parameter.default is parameter.empty and "*" not in str(parameter)]


@pytest.mark.parametrize(("place", "name"), MEMBERS, ids=[".".join(item) for item in MEMBERS])
def test_signature_is_that_of_the_reference(place: str, name: str) -> None:
    function = member(place, name)
    if (place, name) in NOT_HERE:
        assert function is None
        pytest.skip(NOT_HERE[place, name])
    if function is None and name in COMING.get(place, "").split():
        pytest.skip("not there yet")
    assert function is not None
    assert differences(RECORDED[place][name], function) == DIFFERENT.get((place, name), [])


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


def test_what_may_be_absent_is_recorded_and_not_left_out_for_ever() -> None:
    assert all(set(names.split()) <= set(RECORDED[place]) for place, names in COMING.items())
    assert not any(name in COMING[place].split() for place, name in NOT_HERE)
