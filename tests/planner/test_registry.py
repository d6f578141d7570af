"""The registry: names and classes, taken names, unknown names."""

from __future__ import annotations

from typing import ClassVar

import attrs
import pytest

from sframe_spark.errors import PlanInvariantError
from sframe_spark.operators.project_zip_arrange import Project
from sframe_spark.planner.operator import Operator
from sframe_spark.planner.registry import planner_node_name_to_type, planner_node_type_to_name, register, registered_names
from sframe_spark.rewrite_laws import builtin_laws


def test_names_and_classes_are_each_others_inverse() -> None:
    assert "project" in registered_names()
    for name in registered_names():
        assert planner_node_type_to_name(planner_node_name_to_type(name)) == name


def test_a_taken_name_is_refused() -> None:
    @attrs.frozen
    class Impostor(Operator):
        name: ClassVar[str] = "project"

    with pytest.raises(PlanInvariantError, match=r"'project' is taken by sframe_spark\.operators\.project_zip_arrange\.Project"):
        register(Impostor)
    assert planner_node_name_to_type("project") is Project


def test_a_class_of_the_same_name_in_another_module_is_refused(own_registry: None) -> None:
    twin = attrs.frozen(type("Project", (Operator,), {"name": "project", "__module__": "another_package.operators"}))
    with pytest.raises(PlanInvariantError, match="is taken by"):
        register(twin)
    assert planner_node_name_to_type("project") is Project


def test_a_class_without_a_name_is_refused() -> None:
    @attrs.frozen
    class Nameless(Operator):
        pass

    with pytest.raises(PlanInvariantError, match="Nameless needs a class attribute 'name'"):
        register(Nameless)


def test_a_new_operator_is_found_by_name(own_registry: None) -> None:
    @register
    @attrs.frozen
    class Fresh(Operator):
        name: ClassVar[str] = "sample_fresh"

    assert planner_node_name_to_type("sample_fresh") is Fresh
    assert planner_node_type_to_name(Fresh) == "sample_fresh"
    assert registered_names() == sorted(registered_names())


def test_reading_a_module_again_replaces_its_classes(own_registry: None) -> None:
    again = attrs.make_class("Project", ["positions"], bases=(Project,), frozen=True)
    again.__qualname__, again.__module__ = Project.__qualname__, Project.__module__
    assert register(again) is again
    assert planner_node_name_to_type("project") is again


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(PlanInvariantError, match=r"there is no operator 'projekt'; registered: .*project"):
        planner_node_name_to_type("projekt")


def test_an_unregistered_class_has_no_name() -> None:
    @attrs.frozen
    class Stranger(Operator):
        name: ClassVar[str] = "sample_stranger"

    with pytest.raises(PlanInvariantError, match="Stranger is not a registered operator"):
        planner_node_type_to_name(Stranger)


def test_laws_name_registered_operators_only() -> None:
    assert {name for rule in builtin_laws() for name in rule.operators} <= set(registered_names())
