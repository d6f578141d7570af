"""Writes plans as JSON, which another process can read, and reads plans from JSON.

The JSON lists the nodes, inputs before consumers; the last is the root. A node that is read twice is written once::

    {"format": "sframe_spark.plan", "version": 2, "chunks": [],
     "nodes": [{"operator": "range_source", "parameters": {"start": 0, "rows": 9, "step": 1}, "inputs": [], "types": ["int"], ...},
               {"operator": "slice", "parameters": {"start": 2, "stop": null, "step": 3}, "inputs": [0], "types": ["int"], ...}]}

An operator is written as its parameters (see :mod:`sframe_spark.planner.operator_parameters`). Reading trusts nothing that it can check: it
compares every parameter with the annotation of its field, infers types, lengths and row domains again, and refuses a plan that contradicts
them. Rows in memory are embedded, up to ``MAX_EMBEDDED_BYTES`` for the whole graph. A dataset is written as its location, so a temporary
result can be read only while the process that owns it lives, unless it is saved first. Functions and live DataFrames cause an error.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import pyarrow as pa

from sframe_spark.errors import InvalidArgumentError, NotPortable, SFrameError, StorageError, UnsupportedOperationError
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import Need, Operator
from sframe_spark.planner.operator_parameters import check_fields, from_portable, to_portable, value_classes
from sframe_spark.planner.plugin_loading import hint_of_left_out, load_plugins
from sframe_spark.planner.registry import OPERATOR, is_registered, planner_node_name_to_type, planner_node_type_to_name
from sframe_spark.values.arrow_layouts import stream_of, table_of

FORMAT_NAME = "sframe_spark.plan"
FORMAT_VERSION = 2

MAX_ROWS = 2**62
MAX_EMBEDDED_BYTES = 4 * 1024 * 1024
"""Limit of the embedded rows of a graph; frames with more rows in memory should be saved first."""


def graph_to_json(node: PlannerNode) -> str:
    """Return the graph below a node as JSON.

    Raises
    ------
    UnsupportedOperationError
        If an operator holds a value that JSON cannot represent, or too many rows in memory; the message names operator and parameter.

    Examples
    --------
    >>> from sframe_spark.operators.sources.in_memory import range_source
    >>> from sframe_spark.planner.printed_plans import plan_text
    >>> print(plan_text(graph_from_json(graph_to_json(range_source(0, 3)))))
    r0 := range_source[start=0, rows=3, step=1]()  # (int) x 3
    """
    chunks = _ChunkWriter()
    numbers: dict[int, int] = {}
    nodes = []
    for number, current in enumerate(postorder([node])):
        numbers[id(current)] = number
        nodes.append(
            {
                "operator": planner_node_type_to_name(type(current.operator)),
                "parameters": _write_parameters(current.operator, chunks),
                "inputs": [numbers[id(child)] for child in current.inputs],
                "types": [str(column_type) for column_type in current.schema],
                "rows": current.length.rows,
            }
        )
    content = {"format": FORMAT_NAME, "version": FORMAT_VERSION, "chunks": chunks.texts, "nodes": nodes}
    return json.dumps(content, ensure_ascii=False, allow_nan=False)


def graph_from_json(text: str) -> PlannerNode:
    """Return the root of the graph that :func:`graph_to_json` wrote as JSON.

    Raises
    ------
    InvalidArgumentError
        If the JSON is damaged or does not hold a graph, is of a later format version, or names an unknown operator.

    Examples
    --------
    >>> from sframe_spark.operators.sources.in_memory import range_source
    >>> graph_from_json(graph_to_json(range_source(0, 3))).operator_parameters
    {'start': 0, 'rows': 3, 'step': 1}
    """
    content = _checked_content(text)
    try:
        chunks = [_read_chunk(item) for item in _list(content["chunks"])]
        nodes: list[PlannerNode] = []
        for item in _list(content["nodes"]):
            nodes.append(_read_node(len(nodes), item, nodes, chunks))
        return nodes[-1]
    except (InvalidArgumentError, StorageError):
        raise
    except (SFrameError, LookupError, AttributeError, TypeError, ValueError, ArithmeticError, RecursionError, OSError, pa.ArrowException) as error:
        raise InvalidArgumentError(f"the plan's text is damaged: {error!r:.500}; write it again with graph_to_json()") from error


def _checked_content(text: str) -> Mapping[str, Any]:
    """Parse JSON and check that it is a plan in a format version that this package reads."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidArgumentError(f"the plan's text is no JSON: {error}") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT_NAME:
        raise InvalidArgumentError(f"the text is no plan: its 'format' is not {FORMAT_NAME!r}")
    version = content.get("version")
    if type(version) is not int or not 1 <= version <= FORMAT_VERSION:
        raise InvalidArgumentError(f"the plan has format version {version!r:.80}, but this package reads up to {FORMAT_VERSION}: install a newer one")
    return content


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise InvalidArgumentError(f"the plan's text is damaged: {value!r:.80} stands where a list is needed")
    return value


def _write_parameters(operator: Operator, chunks: _ChunkWriter) -> dict[str, Any]:
    """Return the JSON form of an operator's parameters, without parameters that are derived from others."""
    operator_class: Any = type(operator)
    classes = value_classes(operator_class)
    written = {}
    for field in attrs.fields(operator_class):
        value = getattr(operator, field.name)
        is_portable = field.metadata.get("portable", True)
        if not is_portable and field.eq is False and field.default is not attrs.NOTHING:
            continue
        try:
            if isinstance(value, Chunk):
                written[field.alias] = {"$chunk": chunks.number(value, field.name)}
            elif is_portable or value is None:
                written[field.alias] = to_portable(value, field.name, classes)
            else:
                raise NotPortable(field.name, value)
        except NotPortable as error:
            raise UnsupportedOperationError(
                f"operator {operator.name!r} cannot be written as JSON: its parameter {error.path!r} holds {error.found}. "
                "Materialise and save what depends on it, and go on from the saved frame"
            ) from None
    return written


def _read_operator(item: Mapping[str, Any], chunks: list[Chunk]) -> Operator:
    name = item["operator"]
    if not is_registered(name):
        load_plugins()
    if not is_registered(name):
        raise InvalidArgumentError(
            f"the plan uses the operator {name!r}, which is not known here: a plugin may be missing; install the package that provides it"
            + hint_of_left_out(OPERATOR, name)
        )
    operator_class: Any = planner_node_name_to_type(name)
    classes = value_classes(operator_class)
    parameters = {}
    for parameter, value in item["parameters"].items():
        is_chunk = isinstance(value, dict) and "$chunk" in value
        parameters[parameter] = _chunk(chunks, value["$chunk"]) if is_chunk else from_portable(value, classes)
    for field in attrs.fields(operator_class):
        # Parameters that exist only in a process, such as functions and live DataFrames, are not in the JSON.
        if not field.metadata.get("portable", True) and not isinstance(parameters.get(field.alias), (Chunk, type(None))):
            raise InvalidArgumentError(f"the plan's text gives {parameters[field.alias]!r:.80} for {field.name!r}, which no text holds")
    check_fields(operator_class, parameters)
    try:
        operator: Operator = operator_class(**parameters)
    except TypeError as error:
        raise InvalidArgumentError(f"operator {name!r} does not take the plan's parameters ({error}): its package may be another version") from error
    return operator.as_read()


def _chunk(chunks: list[Chunk], number: Any) -> Chunk:
    if type(number) is not int or not 0 <= number < len(chunks):
        raise InvalidArgumentError(f"the plan's text is damaged: it has no rows of the number {number!r:.80}")
    return chunks[number]


def _read_node(number: int, item: Mapping[str, Any], nodes: Sequence[PlannerNode], chunks: list[Chunk]) -> PlannerNode:
    """Return the node that an item of the JSON describes; its inputs are among the nodes before it."""
    inputs = _list(item["inputs"])
    if any(type(child) is not int or not 0 <= child < number for child in inputs):
        raise InvalidArgumentError(f"node {number} of the plan reads {inputs!r:.200}: inputs come before their consumers")
    node = PlannerNode(_read_operator(item, chunks), [nodes[child] for child in inputs])
    types = [str(column_type) for column_type in node.schema]
    if types != item["types"]:
        raise InvalidArgumentError(f"node {number} of the plan, {node.operator_type}, has the types {types}, the text says {item['types']!r:.500}")
    rows, said = node.length.rows, item["rows"]
    if rows is not None and (not 0 <= rows <= MAX_ROWS or said not in (None, rows)):
        raise InvalidArgumentError(f"the plan's text says {said!r:.80} rows of {node.operator_type}, which has {rows}")
    _try_without_rows(node)
    return node


def _try_without_rows(node: PlannerNode) -> None:
    """Run an operator on no rows, so that parameters that its kernel cannot use are refused while the plan is read."""
    operator, facts = node.operator, [child.facts for child in node.inputs]
    for read, fact in zip(operator.input_columns(range(len(node.schema)), facts), facts, strict=True):
        if not all(0 <= position < fact.width for position in read):
            raise InvalidArgumentError(f"{node.operator_type} reads the columns {list(read)!r:.200} of an input that has {fact.width}")
    if facts and operator.has_kernel and all(operator.requires(slot) is not Need.LOOKUP for slot in range(len(facts))):
        operator.kernel([Chunk.empty(fact.schema) for fact in facts], facts)


class _ChunkWriter:
    """Collects chunks as Arrow streams in base64; a chunk to which several operators refer is written once."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.numbers: dict[int, int] = {}
        self.bytes = 0

    def number(self, chunk: Chunk, path: str) -> int:
        """Return the index of a chunk in the JSON, and add the chunk if it is new."""
        if id(chunk) not in self.numbers:
            self.bytes += chunk.size
            if self.bytes > MAX_EMBEDDED_BYTES:
                raise NotPortable(path, chunk, f"more than {MAX_EMBEDDED_BYTES:,} bytes of rows in memory")
            self.numbers[id(chunk)] = len(self.texts)
            # If there are no columns, a column of nulls preserves the number of rows.
            table = chunk.to_table() if chunk.columns else pa.table({"rows": pa.nulls(chunk.rows)})
            self.texts.append(base64.b64encode(stream_of([table])).decode("ascii"))
        return self.numbers[id(chunk)]


def _read_chunk(text: str) -> Chunk:
    table = table_of(base64.b64decode(text, validate=True))
    # Arrow checks here that offsets lie within their buffers, before any code reads values through them.
    table.validate(full=True)
    return Chunk((), table.num_rows) if table.column_names == ["rows"] else Chunk.from_table(table)
