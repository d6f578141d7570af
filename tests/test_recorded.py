"""Plans and pickles that were written before are read, and what follows from the order of definition is as it was: see `tests/recorded.py`."""

from __future__ import annotations

import base64
import pickle
from typing import Any

import pytest

from sframe_spark import SArray, SFrame, errors
from sframe_spark.data_structures.serialization import enable_sframe_serialization
from sframe_spark.planner.plan_json import graph_from_json, graph_to_json
from sframe_spark.planner.registry import BUILTIN_MODULES, planner_node_name_to_type, registered_names
from tests import recorded
from tests.operator_examples import archive as archive_of_columns

PLANS = recorded.read("plans")


def loaded(text: str) -> object:
    """Return what a pickle holds."""
    return pickle.loads(base64.b64decode(text))


@pytest.mark.parametrize("example", PLANS)
def test_a_recorded_plan_is_read_and_written_again_byte_for_byte(example: str) -> None:
    archive: Any = archive_of_columns("int", "float", "text", "mixed").operator if recorded.ARCHIVE in PLANS[example] else None
    text = PLANS[example].replace(recorded.FRAME, str(recorded.recorded_frame()))
    if archive is not None:
        text = text.replace(recorded.ARCHIVE, archive.archive.location)
    assert graph_to_json(graph_from_json(text)) == text


def test_plans_of_all_operators_that_can_be_written_are_recorded() -> None:
    described = {example.split(" -- ")[0] for example in PLANS}
    assert described == BUILTIN_MODULES.keys() - recorded.CALLING_PYTHON - recorded.READING_BY_PLUGINS - {"spark_source"}


@pytest.mark.parametrize("name", ["operators", "laws", "imported"])
def test_what_follows_from_definitions_is_as_recorded(name: str) -> None:
    assert recorded.RECORDED[name]() == recorded.read(name)


def test_recorded_errors_are_unpickled() -> None:
    found = {name: loaded(text) for name, text in recorded.read("errors").items()}
    assert {name: type(error) for name, error in found.items()} == {name: getattr(errors, name) for name in found}
    assert all(str(error) for error in found.values())
    assert found.keys() == recorded.errors().keys()


def test_recorded_frames_are_unpickled() -> None:
    texts = recorded.read("frames")
    enable_sframe_serialization(str(recorded.DIRECTORY / "rows"))
    try:
        frame, column = loaded(texts["SFrame"]), loaded(texts["SArray"])
        assert isinstance(frame, SFrame) and isinstance(column, SArray)
        rows = [{"stars": 5, "text": "a", "list": [1]}, {"stars": None, "text": "é", "list": []}, {"stars": 3, "text": None, "list": [2, "b"]}]
        assert list(frame) == rows and list(column) == [1.5, None]
        assert frame.column_names() == ["list", "stars", "text"] and frame.column_types() == [list, int, str]
    finally:
        enable_sframe_serialization(None)


def test_the_table_of_modules_names_where_each_operator_is_defined(own_registry: None) -> None:
    assert {name: planner_node_name_to_type(name).__module__ for name in BUILTIN_MODULES} == BUILTIN_MODULES
    others = set(registered_names()) - set(BUILTIN_MODULES)
    assert [name for name in others if planner_node_name_to_type(name).__module__.startswith("sframe_spark.")] == []
