"""Reads plans from the text that :func:`sframe_spark.planner.plan_serialization.plan_text` prints, so that a test case is text and nothing else.

Leaves are declared first: ``table a(int, str) x 10`` is a dataset that is never opened (``... x 30 with c0 strictly ascending 0..29, c1 within
3..5``: of three segments, with what was recorded about columns; see ``testing.recorded_text``), ``function f -> int`` a user's function. Every
further line is one node. What a line says after ``#`` about types and length is optional; where it is there, it must be what the built node infers.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from sframe_spark.errors import InvalidArgumentError
from sframe_spark.expressions.python_function import PythonFunction
from sframe_spark.planner.facts import Schema
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.plan_serialization import plan_text
from sframe_spark.storage.manifest.manifest import Manifest
from sframe_spark.testing.plan_parser import Declared, OperatorText, read_operator, read_types
from sframe_spark.testing.recorded_text import read_segments

NODE = re.compile(r"^(?P<register>r\d+) := (?P<operator>\w+)\[(?P<parameters>.*)\]\((?P<inputs>[^()]*)\)$")
FACTS = re.compile(r"^\((?P<types>.*)\) x (?P<length>\?|<?=?\d+)$")
TABLE = re.compile(r"^table (?P<name>\w+)\((?P<types>.*)\) x (?P<rows>\d+)(?: with (?P<facts>.+))?$")
FUNCTION = re.compile(r"^function (?P<name>\w+) -> (?P<type>.+)$")


def read_declarations(lines: Iterable[str]) -> Declared:
    """Return the tables and functions that lines declare.

    Raises
    ------
    InvalidArgumentError
        If a line is not a declaration.

    Examples
    --------
    >>> read_declarations(["table a(int, str) x 3", "function f -> float"]).tables["a"].rows
    3
    """
    tables: dict[str, Manifest] = {}
    functions: dict[str, PythonFunction] = {}
    for line in lines:
        if match := TABLE.match(line):
            types = read_types(match["types"])
            segments = read_segments(int(match["rows"]), types, match["facts"])
            tables[match["name"]] = Manifest(types, segments, match["name"])
        elif match := FUNCTION.match(line):
            functions[match["name"]] = PythonFunction(named_function(match["name"], match["type"]), read_types(match["type"])[0])
        else:
            raise InvalidArgumentError(f"{line!r} declares nothing: write 'table name(types) x rows' or 'function name -> type'")
    return Declared(tables, functions)


def named_function(name: str, kind: str) -> Callable[[Any], Any]:
    """Return a deterministic callable that plans show by its name; results are of the kind given and differ for different arguments."""

    def call(self: object, value: Any) -> Any:
        number = zlib.crc32(repr(value).encode())
        return {"int": number % 1000, "float": number % 1000 / 8}.get(kind, f"{name} {number}")

    function: Callable[[Any], Any] = type(name, (), {"__call__": call})()
    return function


def read_plan(text: str, declared: Declared | None = None) -> PlannerNode:
    """Return the root of the plan that a text describes: the node of its last line.

    Parameters
    ----------
    text
        Declarations, then one line per node, inputs before consumers. Empty lines are skipped.
    declared
        Declarations known already.

    Raises
    ------
    InvalidArgumentError
        If a line cannot be read, names something unknown, or states other facts than the node has.

    Examples
    --------
    >>> node = read_plan('''
    ... table a(int, str) x 10
    ... r0 := segment_source[a, columns [0, 1], rows 0..10]()
    ... r1 := slice[2:5](r0)  # (int, str) x 3
    ... ''')
    >>> node.operator_type, node.length.rows
    ('slice', 3)
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    heads = [line for line in lines if not NODE.match(_without_facts(line))]
    declared = read_declarations(heads).over(declared)
    nodes: dict[str, PlannerNode] = {}
    for line in lines:
        if line not in heads:
            register, node = _read_line(line, nodes, declared)
            if register in nodes:
                raise InvalidArgumentError(f"{register} is defined twice in a plan: {line!r}")
            nodes[register] = node
    if not nodes:
        raise InvalidArgumentError("a plan needs at least one node, as in 'r0 := range_source[start=0, rows=3, step=1]()'")
    return next(reversed(nodes.values()))


def _without_facts(line: str) -> str:
    return line.rsplit("  # ", 1)[0].rstrip()


def _read_line(line: str, nodes: dict[str, PlannerNode], declared: Declared) -> tuple[str, PlannerNode]:
    match = NODE.match(_without_facts(line))
    assert match is not None
    names = [name.strip() for name in match["inputs"].split(",") if name.strip()]
    for name in names:
        if name not in nodes:
            raise InvalidArgumentError(f"{name} is used before it is defined: {line!r}")
    inputs = [nodes[name] for name in names]
    facts = FACTS.match(line.rsplit("  # ", 1)[1].strip()) if "  # " in line else None
    types = read_types(facts["types"]) if facts is not None else None
    described = OperatorText(match["operator"], match["parameters"], tuple(node.schema for node in inputs), types)
    try:
        node = PlannerNode(read_operator(described, declared), inputs)
    except (InvalidArgumentError, TypeError, ValueError, KeyError, SyntaxError) as error:
        raise InvalidArgumentError(f"{line!r} cannot be read: {error}") from error
    _check_facts(line, node, types, None if facts is None else facts["length"])
    return match["register"], node


def _check_facts(line: str, node: PlannerNode, types: Schema | None, length: str | None) -> None:
    if types is not None and (types != node.schema or length != str(node.length)):
        found = f"({', '.join(map(str, node.schema))}) x {node.length}"
        raise InvalidArgumentError(f"{line!r} states other facts than the node has: {found}")


def canonical_text(text: str, declared: Declared | None = None) -> str:
    """Return a plan's text as it is printed: registers numbered in order, types and lengths added.

    Examples
    --------
    >>> print(canonical_text("r7 := range_source[start=0, rows=3, step=1]()"))
    r0 := range_source[start=0, rows=3, step=1]()  # (int) x 3
    """
    return plan_text(read_plan(text, declared))


def same_text(first: PlannerNode, second: PlannerNode) -> bool:
    """Return whether two plans print the same."""
    return plan_text(first) == plan_text(second)


__all__: Sequence[str] = ["Declared", "canonical_text", "named_function", "read_declarations", "read_plan", "same_text"]
