"""The API for authors of functions, aggregates, operators, laws, sources and writers of files: everything that they need, under stable names.

Most additions are a **scalar function**, from the values of one row to a value (:func:`define_function`), or an **aggregate**, from the values of
many rows to a value (:func:`define_aggregate`). The built-in functions and aggregates are defined in the same way. A scalar function is fused with
other row-wise operators; an aggregate works in ``groupby``, ``window``, ``running`` and over whole columns.

An operator is one frozen class. It says which types and how many rows it returns, what it requires of its input's rows, and how it is computed:
as Spark columns (:meth:`Operator.plan_to_operator`) and, if it works on ranges of rows, also as an Arrow kernel. A law is a function from a node
to a node, or to None if it does not apply, named by its equation.
A source is a class that reads rows, and a writer one that writes them to files: :class:`RowSource`, :class:`FileSource`, :class:`FileWriter`.
``docs/extending.md`` leads from an empty file to each of these, and ``examples/plugin_package`` is a package with one of each.

A package announces the module that registers what is in it in its ``pyproject.toml``; it is imported with the first plan, or when one of its
names is first used. The name is the namespace of its functions, ``sframe_spark.functions.lag``::

    [project.entry-points."sframe_spark.plugins"]
    lag = "sframe_lag"

Examples
--------
An operator that changes signs. In a package the class also has ``@register`` above ``@attrs.frozen``, so that it is known by its name.

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

A scalar function and an aggregate:

>>> def percent(arguments, types, parameters, rows):
...     return pc.divide(pc.multiply(arguments[0], 100.0), arguments[1])
>>> _ = define_function("example_percent", lambda types, parameters: FLOAT, percent)
>>> list(call("example_percent", SArray([1.0, None]), 4.0))
[25.0, None]
>>> def spread(arrays, types, parameters):
...     bounds = pc.min_max(arrays[0]).as_py()
...     return None if bounds["max"] is None else bounds["max"] - bounds["min"]
>>> _ = define_aggregate("example_spread", lambda types, parameters: types[0], spread, order_sensitive=False)
>>> reduce("example_spread", SArray([3, None, 8]))
5
>>> sf = SFrame({"k": [1, 2, 1], "v": [3, 4, 8]})
>>> sf.groupby("k", {"spread": aggregate_of("example_spread", "v")}).sort("k")["spread"].to_numpy().tolist()
[5, 0]

Plans are converted to JSON by :func:`graph_to_json`, and back by :func:`graph_from_json`, if the parameters of their operators are plain values
and the classes of their operators are registered:

>>> list(column_of(graph_from_json(graph_to_json(node_of(SArray([1, 2]) * 10)))))
[10, 20]
"""

from __future__ import annotations

from collections.abc import Sequence

# Members of SFrame import it when files are first read or written, so a plug-in could take the names and suffixes of Arrow's files before.
import sframe_spark.operators.sources.arrow_files  # noqa: F401
from sframe_spark import errors
from sframe_spark.api.aggregates.requests import AggregateRequest
from sframe_spark.api.column_names import require_distinct
from sframe_spark.api.plugin_calls import aggregate_of, call, reduce
from sframe_spark.api.plugin_namespaces import public_aggregate, public_function
from sframe_spark.api.sarray import SArray
from sframe_spark.api.sframe import SFrame
from sframe_spark.compute.exact_sum_and_variance import ExactSum
from sframe_spark.compute.key_equality_and_codes import key_codes
from sframe_spark.compute.row_groups import GroupsOfRows
from sframe_spark.errors import InvalidArgumentError, LengthMismatchError, SchemaError, UnsupportedOperationError
from sframe_spark.expressions.aggregates.aggregate_function import UNRECORDED, AggregateFunction, define_aggregate
from sframe_spark.expressions.aggregates.collected_values import CollectedValues
from sframe_spark.expressions.aggregates.counts import Count, CountMissing, HasValue, WrappedSum
from sframe_spark.expressions.aggregates.float_sums import FloatSum
from sframe_spark.expressions.aggregates.input_rows_and_windows import InputRows, RowWindows
from sframe_spark.expressions.aggregates.product_sums import ProductSum
from sframe_spark.expressions.aggregates.python_aggregates import Decomposition
from sframe_spark.expressions.aggregates.state_columns import ColumnAggregate, Growth, RunningOrder, StateColumn
from sframe_spark.expressions.functions.scalar_function import ScalarFunction, define_function
from sframe_spark.expressions.scalar_function_program import Literal, Program, Register, Step
from sframe_spark.operators.append import append
from sframe_spark.operators.elementwise import RowWise, apply_program
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.operators.groupby.groupby import group_by
from sframe_spark.operators.groupby.reduce_to_one_row import reduce_columns
from sframe_spark.operators.lookup.cached_reader import Lookup, as_lookup
from sframe_spark.operators.lookup.key_numbers_and_group_codes import GroupCodes
from sframe_spark.operators.project_zip_arrange import project, zip_columns
from sframe_spark.operators.row_selection import filter_by_mask, reverse, slice_rows
from sframe_spark.operators.sort_top_rows_and_assumed_order import sort_rows
from sframe_spark.operators.sources.file_kinds import register_source, register_writer
from sframe_spark.operators.sources.row_source import FileSource, RowSource, SourceFile
from sframe_spark.operators.sources.rows_of_sources import source_node
from sframe_spark.operators.sources.source_predicate import Predicate
from sframe_spark.operators.sources.source_table import table_of_sources
from sframe_spark.order import derive
from sframe_spark.order.order_facts import FunctionalDependency, Monotone, OrderingItem
from sframe_spark.order.properties import OrderingProperties, RelationProperties
from sframe_spark.planner.chunk import Chunk, column_names, concatenate
from sframe_spark.planner.law import Law, Stage, law
from sframe_spark.planner.law_registry import RegisteredLaw, register_law
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Length, RowDomain, Schema
from sframe_spark.planner.operator import (
    TOO_LARGE,
    DecomposableOperator,
    ExpandingOperator,
    Need,
    Operator,
    Origin,
    SequentialOperator,
    Traits,
    any_parameter,
)
from sframe_spark.planner.operator_capabilities import (
    Joining,
    MatchCounting,
    PartitionJoining,
    PartitionPairRows,
    RangeSplit,
    RowCounting,
    WholeKernel,
)
from sframe_spark.planner.operator_declarations import FunctionCalls, QueryWork, RowChoice, RowSlice, SourceKind, SparkCost
from sframe_spark.planner.plan_json import graph_from_json, graph_to_json
from sframe_spark.planner.registry import planner_node_name_to_type, register, registered_names
from sframe_spark.planner.spark_relation import KeyColumn, LoweringContext, Relation
from sframe_spark.rewrite_laws import STAGES
from sframe_spark.storage.file_writer import FileWriter
from sframe_spark.storage.manifest.column_statistics import ColumnStatistics
from sframe_spark.types import ARRAY, DATETIME, FLOAT, INT, STR, ColumnType, dict_of, list_of
from sframe_spark.values.arrow_to_python import decode
from sframe_spark.values.python_to_arrow import encode

__all__ = [
    "ARRAY", "DATETIME", "FLOAT", "INT", "STAGES", "STR", "TOO_LARGE", "UNRECORDED", "AggregateFunction", "AggregateRequest", "Aggregation", "Chunk",
    "CollectedValues", "ColumnAggregate", "ColumnStatistics", "ColumnType", "Count", "CountMissing", "DecomposableOperator", "Decomposition",
    "ExactSum", "ExpandingOperator", "Facts", "FileSource", "FileWriter", "FloatSum", "FunctionCalls", "FunctionalDependency", "GroupCodes",
    "GroupsOfRows", "Growth", "HasValue", "InputRows", "InvalidArgumentError", "Joining", "KeyColumn", "Law", "Length", "LengthMismatchError",
    "Literal", "Lookup", "LoweringContext", "MatchCounting", "Monotone", "Need", "Operator", "OrderingItem", "OrderingProperties", "Origin",
    "PartitionJoining", "PartitionPairRows", "PlannerNode", "Predicate", "ProductSum", "Program", "QueryWork", "RangeSplit", "Register",
    "RegisteredLaw", "Relation", "RelationProperties", "RowChoice", "RowCounting", "RowDomain", "RowSlice", "RowSource", "RowWindows", "RowWise",
    "RunningOrder", "SArray", "SFrame", "ScalarFunction", "Schema", "SchemaError", "SequentialOperator", "SourceFile", "SourceKind", "SparkCost",
    "Stage", "StateColumn", "Step", "Traits", "UnsupportedOperationError", "WholeKernel", "WrappedSum", "aggregate_of", "any_parameter", "append",
    "apply_program", "as_lookup", "call", "column_names", "column_of", "concatenate", "decode", "define_aggregate", "define_function", "derive",
    "dict_of", "encode", "errors", "filter_by_mask", "frame_of", "frame_of_source", "graph_from_json", "graph_to_json", "group_by", "key_codes",
    "law", "list_of", "node_of", "planner_node_name_to_type", "project", "public_aggregate", "public_function", "reduce", "reduce_columns",
    "register", "register_law", "register_source", "register_writer", "registered_names", "reverse", "slice_rows", "sort_rows", "zip_columns",
]  # fmt: skip

# The former name, which packages import; it is not in ``__all__``, as it would hide the module ``sframe_spark.aggregate``.
aggregate = aggregate_of


def node_of(data: SArray | SFrame) -> PlannerNode:
    """Return the plan node of a column or a frame, to which operators can be applied.

    If you keep a node for later, keep a column or a frame of it, too. Otherwise, rows that are needed later may not be kept, and functions of users
    be called again.

    Raises
    ------
    TypeError
        If ``data`` is neither an SArray nor an SFrame.

    Examples
    --------
    >>> node_of(SFrame({"a": [1, 2], "b": ["x", "y"]})).operator_type
    'memory_source'
    """
    if not isinstance(data, (SArray, SFrame)):
        raise SchemaError(f"only an SArray or an SFrame has a plan, not a {type(data).__name__}: SArray(values) makes an SArray")
    return data._node


def column_of(node: PlannerNode) -> SArray:
    """Return a plan of one column as an SArray.

    Raises
    ------
    TypeError
        If the plan does not have exactly one column.

    Examples
    --------
    >>> list(column_of(node_of(SArray([1, 2]))))
    [1, 2]
    """
    if node.facts.width != 1:
        raise SchemaError(f"the plan has {node.facts.width} columns, but an SArray is one column: use frame_of(node, names), or project(node, [0])")
    return SArray(_node=node)


def frame_of(node: PlannerNode, names: Sequence[str]) -> SFrame:
    """Return a plan as an SFrame whose columns have the given names.

    Raises
    ------
    TypeError
        If there is not one name for each column.
    ValueError
        If two names are equal.

    Examples
    --------
    >>> frame_of(node_of(SFrame({"a": [1, 2], "b": ["x", "y"]})), ["number", "text"])[1]
    {'number': 2, 'text': 'y'}
    """
    if isinstance(names, str) or len(names) != node.facts.width or not all(isinstance(name, str) for name in names):
        raise SchemaError(f"the plan has {node.facts.width} column(s) and needs a name for each, not {names!r:.80}")
    require_distinct(names)
    return SFrame(_node=node, _names=names)


def frame_of_source(*sources: RowSource) -> SFrame:
    """Return a frame of the rows of a source; of several sources with the same columns, their rows one after the other.

    Sources of files are found by ``SFrame.read()``; this is for other sources.

    Raises
    ------
    SFrameError
        If what a source says about its rows contradicts itself, or the sources have different columns.

    Examples
    --------
    See :class:`RowSource`.
    """
    if not sources or not all(isinstance(source, RowSource) for source in sources):
        raise SchemaError(f"a frame must be made of sources, objects of subclasses of RowSource, not of {sources!r:.80}")
    table = table_of_sources(sources)
    return frame_of(source_node(table), table.names)
