"""The door for authors of operators and laws: everything that they need, under names that stay.

An operator is one frozen class: what it gives (types, length), what it asks of its input's rows, and how it is
computed, once as Spark columns (:meth:`Operator.plan_to_operator`) and, if it works row range by row range, once as an
Arrow kernel. A law is a function from node to node, or to None where it does not apply, named by its equation.
``examples/plugin_package`` is a package with one of each.

A package announces its modules of operators and its laws in its ``pyproject.toml``; both are loaded when the first plan
is optimized::

    [project.entry-points."sframe_spark.operators"]
    lag = "sframe_lag.operators"

    [project.entry-points."sframe_spark.laws"]
    lag = "sframe_lag.laws:LAWS"

Examples
--------
An operator that turns signs around. In a package the class also has ``@register`` above ``@attrs.frozen``, so that it
is known by its name.

>>> import attrs, pyarrow.compute as pc
>>> from typing import ClassVar
>>> from sframe_spark import SArray
>>> @attrs.frozen
... class Negated(Operator):
...     name: ClassVar[str] = "example_negated"
...     row_wise: ClassVar[bool] = True
...     deterministic: ClassVar[bool] = True
...     has_kernel: ClassVar[bool] = True
...
...     def infer_type(self, inputs):
...         return inputs[0].schema
...
...     def plan_to_operator(self, inputs, context):
...         return inputs[0].with_columns([-inputs[0].df["c0"]], inputs[0].schema)
...
...     def kernel(self, inputs, facts):
...         return Chunk.of([pc.negate(inputs[0].columns[0])])
>>> x = node_of(SArray([1, None, 3]))
>>> list(column_of(Negated().make_planner_node(x)))
[-1, None, -3]

A law about it:

>>> @law("negated(negated(x)) = x", stage="pushdown", on="example_negated")
... def negated_twice(node):
...     child = node.inputs[0]
...     return child.inputs[0] if isinstance(child.operator, Negated) else None
>>> negated_twice(Negated().make_planner_node(Negated().make_planner_node(x))) is x
True

Plans leave the process as JSON text, :func:`graph_to_json`, and come back, :func:`graph_from_json`, as long as the parameters of their operators
are plain values and the classes of their operators are registered:

>>> list(column_of(graph_from_json(graph_to_json(node_of(SArray([1, 2]) * 10)))))
[10, 20]
"""

from __future__ import annotations

from collections.abc import Sequence

from sframe_spark.api.sarray import SArray
from sframe_spark.api.sframe import SFrame
from sframe_spark.operators.laws import STAGES
from sframe_spark.operators.rowwise.columns import project, zip_columns
from sframe_spark.planner.chunk import Chunk, column_names, concatenate
from sframe_spark.planner.facts import Facts, Length, RowDomain, Schema
from sframe_spark.planner.law import Law, Stage, law
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import DecomposableOperator, Need, Operator, SequentialOperator, any_parameter
from sframe_spark.planner.registry import planner_node_name_to_type, register, registered_names
from sframe_spark.planner.relation import KeyColumn, LoweringContext, Relation
from sframe_spark.planner.serialize import graph_from_json, graph_to_json

__all__ = [
    "STAGES",
    "Chunk",
    "DecomposableOperator",
    "Facts",
    "KeyColumn",
    "Law",
    "Length",
    "LoweringContext",
    "Need",
    "Operator",
    "PlannerNode",
    "Relation",
    "RowDomain",
    "Schema",
    "SequentialOperator",
    "Stage",
    "any_parameter",
    "column_names",
    "column_of",
    "concatenate",
    "frame_of",
    "graph_from_json",
    "graph_to_json",
    "law",
    "node_of",
    "planner_node_name_to_type",
    "project",
    "register",
    "registered_names",
    "zip_columns",
]


def node_of(data: SArray | SFrame) -> PlannerNode:
    """The plan of a column or a frame, to put an operator on."""
    return data._node


def column_of(node: PlannerNode) -> SArray:
    """A one-column plan as an SArray."""
    return SArray(_node=node)


def frame_of(node: PlannerNode, names: Sequence[str]) -> SFrame:
    """A plan as an SFrame with names for its columns."""
    return SFrame(_node=node, _names=names)
