"""Laws that turn the vocabulary of plans into the forms that other laws know."""

from __future__ import annotations

from sframe_spark.operators.arrange import Arrange
from sframe_spark.operators.elementwise import GeneralizedTransform, RowWise
from sframe_spark.operators.project import Project, shows_all, zip_columns
from sframe_spark.planner.law import law
from sframe_spark.planner.node import PlannerNode


@law(
    "transform(x.., f) = generalized_transform(zip(x..), f)",
    stage="expand",
    on=("transform", "binary_transform", "ternary_transform", "lambda_transform"),
)
def generalize(node: PlannerNode) -> PlannerNode | None:
    """Every element-wise operator is one program over its inputs side by side."""
    assert isinstance(node.operator, RowWise)
    rows = zip_columns(*node.inputs)
    return GeneralizedTransform(node.operator.program(rows.facts.width)).make_planner_node(rows)


@law("arrange(x.., c) = project(zip(x..), c)", stage="expand", on="arrange")
def arrangement(node: PlannerNode) -> PlannerNode | None:
    """Columns of several inputs are picked from all of them side by side."""
    assert isinstance(node.operator, Arrange)
    rows = zip_columns(*node.inputs)
    return Project(node.operator.columns_of_zip([child.facts.width for child in node.inputs])).make_planner_node(rows)


@law("zip(x) = x", stage="expand", on="zip")
def singleton_zip(node: PlannerNode) -> PlannerNode | None:
    """One input has nothing to stand beside."""
    return node.inputs[0] if len(node.inputs) == 1 else None


@law("zip(zip(x, y), z) = zip(x, y, z)", stage="pushdown", on="zip")
def zip_of_zips(node: PlannerNode) -> PlannerNode | None:
    """Zip is associative. Fusion does this for whole regions: a chain of zips made column by column would be flattened at each of them before."""
    if not any(child.operator_type == "zip" for child in node.inputs):
        return None
    return zip_columns(*[part for child in node.inputs for part in (child.inputs if child.operator_type == "zip" else (child,))])


@law("project(x, all) = x", stage="expand", on="project")
def identity_projection(node: PlannerNode) -> PlannerNode | None:
    """Picking every column in place changes nothing."""
    return node.inputs[0] if shows_all(node.operator_parameters["positions"], node.inputs[0].facts.width) else None
