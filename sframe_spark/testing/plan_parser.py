"""Parses plans from the form in which they are printed, so that test cases can be plain text files.

Plans refer to declared tables, which have types, a number of rows and statistics, but no data.
"""

from __future__ import annotations

import ast
import re
import zlib
from collections.abc import Callable, Iterable
from typing import Any

import attrs

from sframe_spark.errors import InvalidArgumentError
from sframe_spark.expressions.functions.scalar_function import FUNCTIONS
from sframe_spark.expressions.python_function import PythonFunction
from sframe_spark.expressions.scalar_function_program import Literal, Operand, Program, Register, Step
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Schema
from sframe_spark.planner.operator import Operator
from sframe_spark.planner.registry import planner_node_name_to_type
from sframe_spark.storage.manifest.column_statistics import UNKNOWN_STATISTICS, ColumnStatistics
from sframe_spark.storage.manifest.manifest import Manifest, SecondOrder, SegmentEntry
from sframe_spark.testing.declared_tables import source_table
from sframe_spark.types import FLOAT, INT, TYPES_BY_NAME, ColumnType, type_of_class

OPENING, CLOSING = "([{", ")]}"
# A column as printed in plans: an optional name, then a type.
COLUMN = re.compile(
    r"""(?:(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\W\d]\w*) )?(?P<type>"""
    + "|".join(map(re.escape, sorted(TYPES_BY_NAME, key=len, reverse=True)))
    + r")(?:, |$)"
)
# A column as parameters of operators name it, outside of texts.
NAMED_COLUMN = re.compile(r"(?<!['\"\w])c(\d+)\b(?!['\"])")
OPERAND_NAME = re.compile(r"v\d+|nan|inf")


@attrs.frozen
class Declared:
    """The declared tables and functions to which printed plans refer."""

    tables: dict[str, Manifest] = attrs.Factory(dict)
    functions: dict[str, PythonFunction] = attrs.Factory(dict)


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
    parts, start, depth, quote, position = [], 0, 0, "", 0
    while position < len(text):
        character = text[position]
        if quote:
            position += character == "\\"
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif depth == 0 and text.startswith(separator, position):
            parts.append(text[start:position])
            position += len(separator) - 1
            start = position + 1
        depth += 0 if quote else (character in OPENING) - (character in CLOSING)
        position += 1
    return [part for part in [*parts, text[start:]] if part]


def read_types(text: str) -> Schema:
    """Return the column types that a list names, separated by commas; a column name may precede each type.

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
    operator_class: Callable[..., Operator] = planner_node_name_to_type(described.name)
    if described.name in ("transform", "binary_transform", "ternary_transform"):
        step = read_program(described.text, described.width, declared).steps[0]
        return operator_class(function=step.function, operands=step.operands, parameters=step.parameters)
    if described.name in NOTATIONS:
        return operator_class(*NOTATIONS[described.name](described, declared))
    call = ast.parse(f"f({described.text})", mode="eval").body
    assert isinstance(call, ast.Call)
    return operator_class(**{str(item.arg): ast.literal_eval(item.value) for item in call.keywords})


# Functions that read the arguments of an operator class from the operator's notation


def _numbers(text: str) -> tuple[int, ...]:
    """Return the column numbers in a list such as ``0, c1``."""
    return tuple(int(part.removeprefix("c")) for part in text.split(", ") if part)


def _arrange(described: OperatorText, declared: Declared) -> tuple[Any, ...]:
    columns = [part.split(".") for part in described.text.split(", ") if part]
    return tuple(int(slot) for slot, _ in columns), tuple(int(position) for _, position in columns)


def _slice(described: OperatorText, declared: Declared) -> tuple[Any, ...]:
    start, stop, *step = described.text.split(":")
    return int(start), int(stop) if stop else None, *map(int, step)


def _order(described: OperatorText, declared: Declared) -> tuple[Any, ...]:
    """Read ``c0 asc, c1 desc``, which a number and a word may follow, as in ``c0 asc; 10 rows``."""
    order, *number = described.text.split("; ")
    pairs = [part.split(" ") for part in order.split(", ")]
    return tuple((int(column.removeprefix("c")), direction == "asc") for column, direction in pairs), *(int(part.split(" ")[0]) for part in number)


def _join(described: OperatorText, declared: Declared) -> tuple[Any, ...]:
    how, pairs = described.text.split("; ")
    left, right = zip(*(_numbers(pair.replace(" = ", ", ")) for pair in pairs.split(", ")), strict=True)
    return left, right, how


def _sorted_join(described: OperatorText, declared: Declared) -> tuple[Any, ...]:
    (left,), (right,), how = _join(described, declared)
    return left, right, how


def _aggregations(text: str) -> tuple[Aggregation, ...]:
    return tuple(_aggregation(part) for part in split_outside(text, ", "))


def _aggregation(text: str) -> Aggregation:
    name, arguments = text.removesuffix(")").split("(", 1)
    parts = split_outside(arguments, ", ")
    positions = tuple(int(part[1:]) for part in parts if re.fullmatch(r"c\d+", part))
    return Aggregation(name, positions, tuple(ast.literal_eval(part) for part in parts[len(positions) :]))


def _group_by(described: OperatorText, declared: Declared) -> tuple[Any, ...]:
    keys, aggregations = described.text.split("; ", 1)
    return _numbers(keys.strip("[]")), _aggregations(aggregations)


def _group_by_of_adjacent_equal_keys(described: OperatorText, declared: Declared) -> tuple[Any, ...]:
    grouped, aggregations = described.text.rsplit("; ", 1)
    keys, within = (tuple(map(int, re.findall(r"c(\d+)", part))) for part in (f"{grouped}; ").split("; ", 2)[:2])
    return keys, _aggregations(aggregations), within


def _matched(pattern: str, described: OperatorText, advice: str) -> re.Match[str]:
    """Return the match of a notation's pattern.

    Raises
    ------
    InvalidArgumentError
        If the text does not match; ``advice`` is the message.
    """
    match = re.fullmatch(pattern, described.text)
    if match is None:
        raise InvalidArgumentError(advice)
    return match


def _key_window(described: OperatorText, declared: Declared) -> tuple[Any, ...]:
    advice = "a key window is written 'on c0 by [1] beside [2]; -before..+after; aggregates'"
    match = _matched(r"on c(\d+)(?: by \[(.*?)\])?(?: beside \[(.*?)\])?; -(.*?)\.\.\+(.*?); (.*)", described, advice)
    by, kept = (_numbers(match[group] or "") for group in (2, 3))
    return int(match[1]), by, ast.literal_eval(match[4]), ast.literal_eval(match[5]), _aggregations(match[6]), kept


def _shift(described: OperatorText, declared: Declared) -> tuple[Any, ...]:
    match = _matched(r"(-?\d+) rows(?:, fill (.*))?", described, "a shift is written 'n rows' with an optional ', fill value'")
    return int(match[1]), None if match[2] is None else _operand(ast.parse(match[2], mode="eval").body)


def _rolling(described: OperatorText, declared: Declared) -> tuple[Any, ...]:
    advice = "a rolling is written 'kind, rows first..last' with an optional ', at least n'"
    match = _matched(r"(\w+), rows (-?\d+)\.\.(-?\d+)(?:, at least (\d+))?", described, advice)
    return match[1], int(match[2]), int(match[3]), None if match[4] is None else int(match[4])


def _segments(described: OperatorText, declared: Declared) -> tuple[Any, ...]:
    """Read the table, the columns and the ranges of rows of a segment source or of segment parts."""
    match = re.fullmatch(r"(\w+)(?: by column (\d+))?, columns \[(.*)\], rows (.*)", described.text)
    if match is None or match[1] not in declared.tables:
        tables = ", ".join(declared.tables)
        raise InvalidArgumentError(f"a {described.name.replace('_', ' ')} is written 'table, columns [0], rows 0..9'; tables: {tables}")
    ranges = tuple(tuple(map(int, part.split(".."))) for part in match[4].split(", "))
    table, positions = declared.tables[match[1]], _numbers(match[3])
    if match[2] is not None:
        second = next((second for second in table.second_orders if second.column == int(match[2])), None)
        if second is None:
            raise InvalidArgumentError(f"the table {match[1]} has no rows in the order of column {match[2]}: declare it 'also by c{match[2]}'")
        table = second.rows
    require_columns(positions, len(table.types), f"the table {match[1]}")
    if any(not 0 <= start <= stop <= table.rows for start, stop in ranges):
        raise InvalidArgumentError(f"the table {match[1]} has the rows 0..{table.rows}, and not {match[4]}")
    return table, positions, ranges


def require_columns(positions: Iterable[int], width: int, what: str) -> None:
    """Require that positions are those of columns.

    Raises
    ------
    InvalidArgumentError
        If there is no such column; the message names it.

    Examples
    --------
    >>> require_columns([0, 5], 2, "r0")
    Traceback (most recent call last):
    ...
    sframe_spark.errors.InvalidArgumentError: r0 has no column 5: it has 2 columns, counted from 0
    """
    wrong = [position for position in positions if not 0 <= position < width]
    if wrong:
        raise InvalidArgumentError(f"{what} has no column {wrong[0]}: it has {width} column{'' if width == 1 else 's'}, counted from 0")


def _segment_source(described: OperatorText, declared: Declared) -> tuple[Any, ...]:
    table, positions, ((start, stop),) = _segments(described, declared)
    return table, positions, start, stop


def _source_rows(described: OperatorText, declared: Declared) -> tuple[Any, ...]:
    table, positions, start, stop = _segment_source(described, declared)
    return source_table(table), positions, start, stop


def _source_parts(described: OperatorText, declared: Declared) -> tuple[Any, ...]:
    name, parts = described.text.split(", parts ")
    table = source_table(declared.tables[name])
    start, stop = map(int, parts.split(".."))
    return table, table.parts_between(0, table.starts[-1]), start, stop


def _scan_parts(described: OperatorText, declared: Declared) -> tuple[Any, ...]:
    name, columns = described.text.split(", columns ")
    table = source_table(declared.tables[name])
    return table, table.parts_between(0, table.starts[-1]), _numbers(columns[1:-1])


def _memory_source(described: OperatorText, declared: Declared) -> tuple[Any, ...]:
    raise InvalidArgumentError("rows in memory are not in the text: declare a table and read it with segment_source")


def _constant_source(described: OperatorText, declared: Declared) -> tuple[Any, ...]:
    value, rows = described.text.rsplit(", rows=", 1)
    return _operand(ast.parse(value, mode="eval").body), int(rows)


def _operand(expression: ast.expr) -> Operand:
    if isinstance(expression, ast.Name) and re.fullmatch(r"v\d+", expression.id):
        return Register(int(expression.id[1:]))
    if isinstance(expression, ast.Name) and expression.id in ("nan", "inf"):
        return Literal(float(expression.id), FLOAT)
    value = ast.literal_eval(expression)
    return Literal(value, type_of_class(type(value)))


def _function(name: str, count: int, declared: Declared) -> str | PythonFunction:
    """Return the name of a built-in function, or the declared function with ``count`` arguments."""
    if name in FUNCTIONS:
        return name
    if name not in declared.functions:
        raise InvalidArgumentError(f"no function is named {name!r}: declare it as 'function {name} -> type'")
    function = declared.functions[name]
    return function if count == 1 else attrs.evolve(function, names=tuple(f"x{i}" for i in range(count)))


def _step(text: str, declared: Declared) -> Step:
    definition = ast.parse(f"({text})", mode="eval").body
    call = definition.value if isinstance(definition, ast.NamedExpr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise InvalidArgumentError(f"a step is written 'v1 := function(operands)', not {text!r}")
    # Static parameters begin at the first column type, as in ``cast(v0, int, False)``.
    types = [position for position, item in enumerate(call.args) if isinstance(item, ast.Name) and not OPERAND_NAME.fullmatch(item.id)]
    first = types[0] if types else len(call.args)
    parameters = (read_types(item.id)[0] if isinstance(item, ast.Name) else ast.literal_eval(item) for item in call.args[first:])
    return Step(_function(call.func.id, first, declared), tuple(map(_operand, call.args[:first])), tuple(parameters))


def read_program(text: str, width: int, declared: Declared) -> Program:
    """Parse a printed program over ``width`` columns.

    Raises
    ------
    InvalidArgumentError
        If a step, or an output, is of a value that no column or earlier step has.

    Examples
    --------
    >>> read_program("v1 := add(v0, 1); [v1, v0]", 1, Declared()).describe()
    'v1 := add(v0, 1); [v1, v0]'
    """
    *steps, outputs = split_outside(text, "; ")
    shown = ast.parse(outputs, mode="eval").body
    if not isinstance(shown, ast.List):
        raise InvalidArgumentError(f"a program ends with its outputs, as in '[v0, v1]', not with {outputs!r}")
    made, given = [_step(step, declared) for step in steps], tuple(_operand(output) for output in shown.elts)
    for number, operands in enumerate([*(step.operands for step in made), given]):
        unknown = [operand.index for operand in operands if isinstance(operand, Register) and operand.index >= width + number]
        if unknown:
            raise InvalidArgumentError(f"there is no v{unknown[0]} yet: v0 to v{width - 1} are the columns, and each step makes one more")
    return Program(width, tuple(made), given)


NOTATIONS: dict[str, Callable[[OperatorText, Declared], tuple[Any, ...]]] = {
    "project": lambda described, declared: (_numbers(described.text),),
    "arrange": _arrange,
    "slice": _slice,
    "sort": _order,
    "assume_order": _order,
    "suffix_sort": _order,
    "top_rows": _order,
    "join": _join,
    "hash_join": _join,
    "sorted_join": _sorted_join,
    "group_by": _group_by,
    "running": _group_by,
    "streaming_group_by": _group_by_of_adjacent_equal_keys,
    "key_window": _key_window,
    "reduce": lambda described, declared: (_aggregations(described.text),),
    "cumulative": lambda described, declared: (described.text,),
    "rolling": _rolling,
    "shift": _shift,
    "segment_source": _segment_source,
    "segment_parts": _segments,
    "source_rows": _source_rows,
    "source_parts": _source_parts,
    "scan_parts": _scan_parts,
    "memory_source": _memory_source,
    "constant_source": _constant_source,
    "spark_source": lambda described, declared: (object(), described.stated_types()),
    "generalized_transform": lambda described, declared: (read_program(described.text, described.width, declared),),
    "lambda_transform": lambda described, declared: (_function(described.text, described.width, declared),),
    "flat_map": lambda described, declared: (_function(described.text, described.width, declared), described.stated_types()),
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
        Types of its columns; columns with stated facts must have numbers.
    text
        Facts, separated by commas: ``c0 strictly ascending 0..29`` (numbers without missing values, whose range is split evenly
        among the segments), ``c1 constant 4..4``, ``c2 within 3..5`` (no order, the same bounds in all segments).

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
    """Return the statistics of one segment, given a stated fact about the whole column."""
    low, high, order = int(fact["low"]), int(fact["high"]), fact["order"]
    plain = ColumnStatistics(has_missing=False, has_nan=False, bounds_known=True, minimum=value(low), maximum=value(high))
    if order == "within":
        return plain
    part = number if order != "descending" else SEGMENTS - 1 - number
    size = high - low + 1
    first, last = low + size * part // SEGMENTS, low + size * (part + 1) // SEGMENTS - 1
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


# Whole plans, as :func:`sframe_spark.planner.printed_plans.plan_text` prints them.

NODE = re.compile(r"^(?P<register>r\d+) := (?P<operator>\w+)\[(?P<parameters>.*)\]\((?P<inputs>[^()]*)\)$")
FACTS = re.compile(r"^\((?P<types>.*)\) x (?P<length>\?|<?=?\d+)$")
TABLE = re.compile(r"^table (?P<name>\w+)\((?P<types>.*)\) x (?P<rows>\d+)(?: with (?P<facts>.+?))?(?: also by c(?P<also>\d+))?$")
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
            table = Manifest(types, segments, match["name"])
            tables[match["name"]] = table if match["also"] is None else also_by(table, int(match["also"]), match["facts"])
        elif match := FUNCTION.match(line):
            functions[match["name"]] = PythonFunction(named_function(match["name"], match["type"]), read_types(match["type"])[0])
        else:
            raise InvalidArgumentError(f"{line!r} declares nothing: write 'table name(types) x rows' or 'function name -> type'")
    return Declared(tables, functions)


def also_by(table: Manifest, column: int, facts: str | None) -> Manifest:
    """Return a table that was saved in the order of a column too, whose values are within the bounds that facts state."""
    within = [fact for fact in map(FACT.match, (facts or "").split(", ")) if fact is not None and int(fact["column"]) == column]
    bounds = f"c{column} ascending {within[0]['low']}..{within[0]['high']}" if within else None
    segments = read_segments(table.rows, (*table.types, INT), bounds)
    # One row group each, whose bounds are those of the segment: no footer is read.
    own = tuple(attrs.evolve(entry, file=f"by-{column}-{entry.file}", group_bytes=1) for entry in segments)
    return table.with_second_orders((SecondOrder.of(column, table, own),))


def named_function(name: str, kind: str) -> Callable[[Any], Any]:
    """Return a deterministic function for tests, which plans print by its name.

    Its results are of the given kind, and mostly differ for different arguments.
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
        Further declarations; those in the text take precedence.

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
    own = read_declarations(heads)
    declared = own if declared is None else Declared(declared.tables | own.tables, declared.functions | own.functions)
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
    widest = max((len(node.schema) for node in inputs), default=0)
    about = " and ".join(names)
    try:
        if inputs:
            require_columns(map(int, NAMED_COLUMN.findall(match["parameters"])), widest, about)
        node = PlannerNode(read_operator(described, declared), inputs)
    except IndexError as error:
        numbers = [number for number in map(int, re.findall(r"\d+", match["parameters"])) if number >= widest]
        which = (
            f"{about} has {widest} columns, counted from 0, and the step names {', '.join(map(str, numbers))}" if inputs and numbers else str(error)
        )
        raise InvalidArgumentError(f"{line!r} cannot be read: {which}") from error
    except (InvalidArgumentError, TypeError, ValueError, KeyError, SyntaxError) as error:
        raise InvalidArgumentError(f"{line!r} cannot be read: {error}") from error
    if facts is not None and (types != node.schema or facts["length"] != str(node.length)):
        found = f"({', '.join(map(str, node.schema))}) x {node.length}"
        raise InvalidArgumentError(f"{line!r} states other facts than the node has: {found}")
    return match["register"], node
