"""Parses plans from the form in which they are printed, so that test cases can be plain text files.

It parses operators (the inverse of ``Operator.describe``), declared tables with their statistics (no data is read), and whole plans.
"""

from __future__ import annotations

import ast
import re
import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import attrs

from sframe_spark.errors import InvalidArgumentError
from sframe_spark.expressions.functions.scalar_function import FUNCTIONS
from sframe_spark.expressions.program import Literal, Operand, Program, Register, Step
from sframe_spark.expressions.python_function import PythonFunction
from sframe_spark.operators.append import Append
from sframe_spark.operators.columns import Arrange, Project, Zip
from sframe_spark.operators.elementwise import BinaryTransform, GeneralizedTransform, LambdaTransform, TernaryTransform, Transform
from sframe_spark.operators.flat_map import FlatMap
from sframe_spark.operators.groupby.aggregation import Aggregation
from sframe_spark.operators.groupby.groupby import GroupBy, Reduce
from sframe_spark.operators.groupby.streaming_groupby import StreamingGroupBy
from sframe_spark.operators.joins.hash_join import HashJoin
from sframe_spark.operators.joins.join import Join
from sframe_spark.operators.joins.key_window import KeyWindow
from sframe_spark.operators.joins.sorted_join import SortedJoin
from sframe_spark.operators.row_selection import Filter, FilterRows, SliceRows
from sframe_spark.operators.sort import AssumeOrder, Reverse, Sort, SuffixSort, TopRows
from sframe_spark.operators.sources.in_memory import ConstantSource
from sframe_spark.operators.sources.segment_subset import SegmentParts
from sframe_spark.operators.sources.source import SegmentSource
from sframe_spark.operators.sources.spark_frame import SparkSource
from sframe_spark.operators.window.cumulative import Cumulative
from sframe_spark.operators.window.rolling import Rolling
from sframe_spark.operators.window.running import Running
from sframe_spark.operators.window.shift import Shift
from sframe_spark.planner.facts import Schema
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import Operator
from sframe_spark.planner.plan_serialization import plan_text
from sframe_spark.planner.registry import planner_node_name_to_type
from sframe_spark.storage.manifest.manifest import Manifest, SegmentEntry
from sframe_spark.storage.manifest.statistics import UNKNOWN_STATISTICS, ColumnStatistics
from sframe_spark.types import FLOAT, TYPES_BY_NAME, ColumnType, type_of_class

OPENING, CLOSING = "([{", ")]}"
# A column as printed in plans: an optional name, then a type.
COLUMN = re.compile(
    r"""(?:(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\W\d]\w*) )?(?P<type>"""
    + "|".join(map(re.escape, sorted(TYPES_BY_NAME, key=len, reverse=True)))
    + r")(?:, |$)"
)
OPERAND_NAME = re.compile(r"v\d+|nan|inf")


@attrs.frozen
class Declared:
    """The declared tables and functions to which printed plans refer."""

    tables: dict[str, Manifest] = attrs.Factory(dict)
    functions: dict[str, PythonFunction] = attrs.Factory(dict)

    def over(self, other: Declared | None) -> Declared:
        """Return the declarations of both; for the same name, this one takes precedence."""
        return self if other is None else Declared({**other.tables, **self.tables}, {**other.functions, **self.functions})


@attrs.frozen
class OperatorText:
    """A printed operator: its name, its parameters, the types of its inputs, and the types of its output if they are stated."""

    name: str
    text: str
    inputs: tuple[Schema, ...]
    types: Schema | None

    @property
    def width(self) -> int:
        """The number of columns of all inputs together."""
        return sum(map(len, self.inputs))

    def stated_types(self) -> Schema:
        """Return the stated output types.

        Raises
        ------
        InvalidArgumentError
            If none are stated.
        """
        if self.types is None:
            raise InvalidArgumentError(f"a {self.name} is read with its types: write them after '#', as in '# (int, str) x ?'")
        return self.types


def split_outside(text: str, separator: str) -> list[str]:
    """Split a string at each separator that is neither in quotes nor in brackets.

    Examples
    --------
    >>> split_outside("f(a, b), 'c, d'", ", ")
    ['f(a, b)', "'c, d'"]
    """
    parts, start, depth, quote, place = [], 0, 0, "", 0
    while place < len(text):
        character = text[place]
        if quote:
            place += character == "\\"
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif depth == 0 and text.startswith(separator, place):
            parts.append(text[start:place])
            place += len(separator) - 1
            start = place + 1
        depth += 0 if quote else (character in OPENING) - (character in CLOSING)
        place += 1
    return [part for part in [*parts, text[start:]] if part]


def read_types(text: str) -> Schema:
    """Return column types from their names, separated by commas; a column name may precede each type.

    Examples
    --------
    >>> [str(column_type) for column_type in read_types("int, 'a, b' str, day int")]
    ['int', 'str', 'int']
    """
    types: list[ColumnType] = []
    rest = text
    while rest:
        match = COLUMN.match(rest)
        if match is None:
            raise InvalidArgumentError(f"{rest!r} does not begin with a column type: use {', '.join(TYPES_BY_NAME)}")
        types.append(TYPES_BY_NAME[match["type"]])
        rest = rest[match.end() :]
    return tuple(types)


def read_operator(described: OperatorText, declared: Declared) -> Operator:
    """Parse a printed operator.

    Operators without a notation of their own are read as ``parameter=value, ...``, which is how they are printed by default.

    Raises
    ------
    InvalidArgumentError
        If it refers to something that is not declared.
    """
    if described.name in WITHOUT_PARAMETERS:
        return WITHOUT_PARAMETERS[described.name]()
    if described.name in NOTATIONS:
        return NOTATIONS[described.name](described, declared)
    operator_class = planner_node_name_to_type(described.name)
    call = ast.parse(f"f({described.text})", mode="eval").body
    assert isinstance(call, ast.Call)
    return operator_class(**{str(item.arg): ast.literal_eval(item.value) for item in call.keywords})


def _project(described: OperatorText, declared: Declared) -> Operator:
    return Project(tuple(int(part) for part in split_outside(described.text, ", ")))


def _arrange(described: OperatorText, declared: Declared) -> Operator:
    columns = [part.split(".") for part in split_outside(described.text, ", ")]
    return Arrange(tuple(int(slot) for slot, _ in columns), tuple(int(position) for _, position in columns))


def _slice(described: OperatorText, declared: Declared) -> Operator:
    start, stop, *step = described.text.split(":")
    return SliceRows(int(start), int(stop) if stop else None, *map(int, step))


def _order(text: str) -> tuple[tuple[int, bool], ...]:
    pairs = [part.split(" ") for part in text.split(", ")]
    return tuple((int(column.removeprefix("c")), direction == "asc") for column, direction in pairs)


def _sort(described: OperatorText, declared: Declared) -> Operator:
    return Sort(_order(described.text))


def _suffix_sort(described: OperatorText, declared: Declared) -> Operator:
    order, held = described.text.split("; ")
    return SuffixSort(_order(order), int(held.removesuffix(" held")))


def _assume_order(described: OperatorText, declared: Declared) -> Operator:
    return AssumeOrder(_order(described.text))


def _top_rows(described: OperatorText, declared: Declared) -> Operator:
    order, rows = described.text.split("; ")
    return TopRows(_order(order), int(rows.removesuffix(" rows")))


def _join(described: OperatorText, declared: Declared) -> Operator:
    how, pairs = described.text.split("; ")
    keys = [[int(side.removeprefix("c")) for side in pair.split(" = ")] for pair in pairs.split(", ")]
    classes: dict[str, type[Join]] = {HashJoin.name: HashJoin}
    return classes.get(described.name, Join)(tuple(a for a, _ in keys), tuple(b for _, b in keys), how)


def _aggregations(text: str) -> tuple[Aggregation, ...]:
    return tuple(_aggregation(part) for part in split_outside(text, ", "))


def _aggregation(text: str) -> Aggregation:
    name, arguments = text.removesuffix(")").split("(", 1)
    parts = split_outside(arguments, ", ")
    positions = tuple(int(part[1:]) for part in parts if re.fullmatch(r"c\d+", part))
    return Aggregation(name, positions, tuple(ast.literal_eval(part) for part in parts[len(positions) :]))


def _sorted_join(described: OperatorText, declared: Declared) -> Operator:
    join = _join(described, declared)
    assert isinstance(join, Join)
    return SortedJoin(join.left_keys[0], join.right_keys[0], join.how)


def _group_by(described: OperatorText, declared: Declared) -> Operator:
    classes: dict[str, type[GroupBy | Running]] = {item.name: item for item in (GroupBy, Running)}
    keys, aggregations = described.text.split("; ", 1)
    names = [name for name in keys.strip("[]").split(", ") if name]
    return classes[described.name](tuple(int(name.removeprefix("c")) for name in names), _aggregations(aggregations))


def _streaming_group_by(described: OperatorText, declared: Declared) -> Operator:
    grouped, aggregations = described.text.rsplit("; ", 1)
    keys, within = ([int(name) for name in re.findall(r"c(\d+)", part)] for part in (f"{grouped}; ").split("; ", 2)[:2])
    return StreamingGroupBy(tuple(keys), _aggregations(aggregations), tuple(within))


def _key_window(described: OperatorText, declared: Declared) -> Operator:
    match = re.fullmatch(r"on c(\d+)(?: by \[(.*?)\])?(?: beside \[(.*?)\])?; -(.*?)\.\.\+(.*?); (.*)", described.text)
    if match is None:
        raise InvalidArgumentError("a key window is written 'on c0 by [1] beside [2]; -before..+after; aggregates'")
    by, kept = (tuple(int(part) for part in (match[group] or "").split(", ") if part) for group in (2, 3))
    return KeyWindow(int(match[1]), by, ast.literal_eval(match[4]), ast.literal_eval(match[5]), _aggregations(match[6]), kept)


def _reduce(described: OperatorText, declared: Declared) -> Operator:
    return Reduce(_aggregations(described.text))


def _cumulative(described: OperatorText, declared: Declared) -> Operator:
    return Cumulative(described.text)


def _shift(described: OperatorText, declared: Declared) -> Operator:
    match = re.fullmatch(r"(-?\d+) rows(?:, fill (.*))?", described.text)
    if match is None:
        raise InvalidArgumentError("a shift is written 'n rows' with an optional ', fill value'")
    fill = None if match[2] is None else _operand(ast.parse(match[2], mode="eval").body)
    assert fill is None or isinstance(fill, Literal)
    return Shift(int(match[1]), fill)


def _rolling(described: OperatorText, declared: Declared) -> Operator:
    match = re.fullmatch(r"(\w+), rows (-?\d+)\.\.(-?\d+)(?:, at least (\d+))?", described.text)
    if match is None:
        raise InvalidArgumentError("a rolling is written 'kind, rows first..last' with an optional ', at least n'")
    return Rolling(match[1], int(match[2]), int(match[3]), None if match[4] is None else int(match[4]))


def _segment_source(described: OperatorText, declared: Declared) -> Operator:
    match = re.fullmatch(r"(\w+), columns \[(.*)\], rows (\d+)\.\.(\d+)", described.text)
    if match is None or match[1] not in declared.tables:
        raise InvalidArgumentError(f"a segment source is written 'table, columns [0], rows 0..9'; tables: {', '.join(declared.tables)}")
    positions = tuple(int(part) for part in match[2].split(", ") if part)
    return SegmentSource(declared.tables[match[1]], positions, int(match[3]), int(match[4]))


def _segment_parts(described: OperatorText, declared: Declared) -> Operator:
    match = re.fullmatch(r"(\w+), columns \[(.*)\], rows (.*)", described.text)
    if match is None or match[1] not in declared.tables:
        raise InvalidArgumentError(f"segment parts are written 'table, columns [0], rows 0..9, 20..30'; tables: {', '.join(declared.tables)}")
    positions = tuple(int(part) for part in match[2].split(", ") if part)
    ranges = [part.split("..") for part in match[3].split(", ")]
    return SegmentParts(declared.tables[match[1]], positions, tuple((int(first), int(last)) for first, last in ranges))


def _memory_source(described: OperatorText, declared: Declared) -> Operator:
    raise InvalidArgumentError("rows in memory are not in the text: declare a table and read it with segment_source")


def _constant_source(described: OperatorText, declared: Declared) -> Operator:
    value, rows = described.text.rsplit(", rows=", 1)
    literal = _operand(ast.parse(value, mode="eval").body)
    assert isinstance(literal, Literal)
    return ConstantSource(literal, int(rows))


def _spark_source(described: OperatorText, declared: Declared) -> Operator:
    frame: Any = object()
    return SparkSource(frame, described.stated_types())


def _operand(expression: ast.expr) -> Operand:
    if isinstance(expression, ast.Name) and re.fullmatch(r"v\d+", expression.id):
        return Register(int(expression.id[1:]))
    if isinstance(expression, ast.Name) and expression.id in ("nan", "inf"):
        return Literal(float(expression.id), FLOAT)
    value = ast.literal_eval(expression)
    return Literal(value, type_of_class(type(value)))


def _function(name: str, count: int, declared: Declared) -> str | PythonFunction:
    if name in FUNCTIONS:
        return name
    if name not in declared.functions:
        raise InvalidArgumentError(f"no function is named {name!r}: declare it as 'function {name} -> type'")
    function = declared.functions[name]
    return function if count == 1 else attrs.evolve(function, names=tuple(f"x{i}" for i in range(count)))


def _step(text: str, declared: Declared) -> Step:
    definition = ast.parse(f"({text})", mode="eval").body
    if not isinstance(definition, ast.NamedExpr) or not isinstance(definition.value, ast.Call) or not isinstance(definition.value.func, ast.Name):
        raise InvalidArgumentError(f"a step is written 'v1 := function(operands)', not {text!r}")
    call = definition.value
    assert isinstance(call.func, ast.Name)
    operands, parameters = _split_arguments(call.args)
    return Step(_function(call.func.id, len(operands), declared), tuple(map(_operand, operands)), parameters)


def _split_arguments(arguments: list[ast.expr]) -> tuple[list[ast.expr], tuple[Any, ...]]:
    """Split arguments into operands and static parameters, which begin at the first column type, as in ``cast(v0, int, False)``."""
    words = [place for place, item in enumerate(arguments) if isinstance(item, ast.Name) and not OPERAND_NAME.fullmatch(item.id)]
    first = words[0] if words else len(arguments)
    return arguments[:first], tuple(_parameter(item) for item in arguments[first:])


def _parameter(expression: ast.expr) -> Any:
    return read_types(expression.id)[0] if isinstance(expression, ast.Name) else ast.literal_eval(expression)


def read_program(text: str, width: int, declared: Declared) -> Program:
    """Parse a printed program over ``width`` columns.

    Examples
    --------
    >>> read_program("v1 := add(v0, 1); [v1, v0]", 1, Declared()).describe()
    'v1 := add(v0, 1); [v1, v0]'
    """
    *steps, outputs = split_outside(text, "; ")
    shown = ast.parse(outputs, mode="eval").body
    if not isinstance(shown, ast.List):
        raise InvalidArgumentError(f"a program ends with its outputs, as in '[v0, v1]', not with {outputs!r}")
    return Program(width, tuple(_step(step, declared) for step in steps), tuple(_operand(output) for output in shown.elts))


def _transform(described: OperatorText, declared: Declared) -> Operator:
    classes: dict[str, type[Transform]] = {item.name: item for item in (Transform, BinaryTransform, TernaryTransform)}
    step = read_program(described.text, described.width, declared).steps[0]
    return classes[described.name](function=step.function, operands=step.operands, parameters=step.parameters)


def _generalized_transform(described: OperatorText, declared: Declared) -> Operator:
    return GeneralizedTransform(read_program(described.text, described.width, declared))


def _lambda_transform(described: OperatorText, declared: Declared) -> Operator:
    function = _function(described.text, described.width, declared)
    assert isinstance(function, PythonFunction)
    return LambdaTransform(function)


def _flat_map(described: OperatorText, declared: Declared) -> Operator:
    function = _function(described.text, described.width, declared)
    assert isinstance(function, PythonFunction)
    return FlatMap(function, described.stated_types())


WITHOUT_PARAMETERS: dict[str, type[Operator]] = {item.name: item for item in (Zip, Filter, FilterRows, Append, Reverse)}

NOTATIONS: dict[str, Callable[[OperatorText, Declared], Operator]] = {
    "project": _project,
    "arrange": _arrange,
    "slice": _slice,
    "sort": _sort,
    "assume_order": _assume_order,
    "suffix_sort": _suffix_sort,
    "top_rows": _top_rows,
    "join": _join,
    "hash_join": _join,
    "sorted_join": _sorted_join,
    "group_by": _group_by,
    "running": _group_by,
    "streaming_group_by": _streaming_group_by,
    "key_window": _key_window,
    "reduce": _reduce,
    "cumulative": _cumulative,
    "rolling": _rolling,
    "shift": _shift,
    "segment_source": _segment_source,
    "segment_parts": _segment_parts,
    "memory_source": _memory_source,
    "constant_source": _constant_source,
    "spark_source": _spark_source,
    "transform": _transform,
    "binary_transform": _transform,
    "ternary_transform": _transform,
    "generalized_transform": _generalized_transform,
    "lambda_transform": _lambda_transform,
    "flat_map": _flat_map,
}


# Recorded statistics of datasets, so that laws that use them can be tested on datasets that are never opened.

FACT = re.compile(r"^c(?P<column>\d+) (?P<strict>strictly )?(?P<order>ascending|descending|constant|within) (?P<low>-?\d+)\.\.(?P<high>-?\d+)$")
SEGMENTS = 3


def read_segments(rows: int, types: Schema, text: str | None) -> tuple[SegmentEntry, ...]:
    """Return the segments of a dataset: one without statistics, or three of equal size with the statistics that a declaration states.

    Parameters
    ----------
    rows
        Rows of the dataset.
    types
        Types of its columns; the columns that facts are about hold numbers.
    text
        Facts with commas between: ``c0 strictly ascending 0..29`` (numbers without missing values whose range is split evenly
        among the segments), ``c1 constant 4..4``, ``c2 within 3..5`` (no order, the same bounds everywhere).

    Raises
    ------
    InvalidArgumentError
        If a fact cannot be read.

    Examples
    --------
    >>> from sframe_spark.types import INT
    >>> [entry.columns[0].first for entry in read_segments(30, (INT,), "c0 strictly ascending 0..29")]
    [0, 10, 20]
    """
    if text is None:
        return (SegmentEntry("segment", 0, rows),)
    columns = [[UNKNOWN_STATISTICS] * len(types) for _ in range(SEGMENTS)]
    for fact in text.split(","):
        match = FACT.match(fact.strip())
        if match is None or int(match["column"]) >= len(types):
            raise InvalidArgumentError(f"{fact.strip()!r} is no fact about a column: write 'c0 ascending 0..9' or 'c1 within 0..9'")
        for number in range(SEGMENTS):
            column = int(match["column"])
            columns[number][column] = part_of_column(match, number, types[column].python_class)
    bounds = [rows * i // SEGMENTS for i in range(SEGMENTS + 1)]
    return tuple(SegmentEntry(f"segment{i}", i, bounds[i + 1] - bounds[i], tuple(columns[i])) for i in range(SEGMENTS))


def part_of_column(fact: re.Match[str], number: int, value: type) -> ColumnStatistics:
    """Derive the statistics of one segment from a statement about a whole column."""
    low, high, order = int(fact["low"]), int(fact["high"]), fact["order"]
    plain = ColumnStatistics(has_missing=False, has_nan=False, bounds_known=True, minimum=value(low), maximum=value(high))
    if order == "within":
        return plain
    place = number if order != "descending" else SEGMENTS - 1 - number
    size = high - low + 1
    first, last = low + size * place // SEGMENTS, low + size * (place + 1) // SEGMENTS - 1
    if order == "constant":
        first = last = low
    first, last = value(first), value(last)
    strict = fact["strict"] is not None
    return ColumnStatistics(
        ascending=order != "descending",
        descending=order != "ascending",
        strictly_ascending=strict and order == "ascending",
        strictly_descending=strict and order == "descending",
        constant=order == "constant",
        has_missing=False,
        has_nan=False,
        edges_known=True,
        first=last if order == "descending" else first,
        last=first if order == "descending" else last,
        bounds_known=True,
        minimum=first,
        maximum=last,
    )


# Whole plans, as :func:`sframe_spark.planner.plan_serialization.plan_text` prints them.

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
    """Return a deterministic function for tests, with the name that plans print;
    its results have the given kind, and mostly differ for different arguments.
    """

    def call(self: object, value: Any) -> Any:
        number = zlib.crc32(repr(value).encode())
        return {"int": number % 1000, "float": number % 1000 / 8}.get(kind, f"{name} {number}")

    function: Callable[[Any], Any] = type(name, (), {"__call__": call})()
    return function


def read_plan(text: str, declared: Declared | None = None) -> PlannerNode:
    """Parse a printed plan; return its root, which is the node of the last line.

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
    """Return a plan exactly as it is printed: with registers numbered in order, and with types and lengths.

    Examples
    --------
    >>> print(canonical_text("r7 := range_source[start=0, rows=3, step=1]()"))
    r0 := range_source[start=0, rows=3, step=1]()  # (int) x 3
    """
    return plan_text(read_plan(text, declared))


def same_text(first: PlannerNode, second: PlannerNode) -> bool:
    """Return whether two plans are printed in the same way."""
    return plan_text(first) == plan_text(second)


__all__: Sequence[str] = ["Declared", "canonical_text", "named_function", "read_declarations", "read_plan", "same_text"]
