"""Graphs as JSON and back: rows, sharing, domains and lengths survive; what cannot is refused by name."""

from __future__ import annotations

import datetime
import json
import random
from collections.abc import Callable
from typing import Any, ClassVar

import attrs
import pyarrow as pa
import pytest

from sframe_spark.errors import InvalidArgumentError, UnsupportedOperationError
from sframe_spark.expressions.scalar_function_program import Literal, Program, Register, Step
from sframe_spark.operators.elementwise import apply_lambda, apply_program
from sframe_spark.operators.joins.hash_join import HashJoin
from sframe_spark.operators.project_zip_arrange import project, zip_columns
from sframe_spark.operators.sources.in_memory import memory_source, range_source
from sframe_spark.operators.sources.spark_frame import SparkSource
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.length_and_order_inference import prove_equal_length, same_plan
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import Operator
from sframe_spark.planner.operator_parameters import from_portable, to_portable, value_classes
from sframe_spark.planner.plan_json import FORMAT_VERSION, MAX_EMBEDDED_BYTES, graph_from_json, graph_to_json
from sframe_spark.planner.printed_plans import plan_text
from sframe_spark.planner.registry import register
from sframe_spark.testing.contract import Example
from sframe_spark.testing.oracle import Oracle
from sframe_spark.testing.oracle_functions import rows_equal
from sframe_spark.types import ARRAY, DATETIME, ENCODED_DICT, FLOAT, INT, STR, TYPES_BY_NAME
from tests.operator_examples import EXAMPLES, stored, table
from tests.planner.sample import DEEP, Leaf, Pair, Step as SampleStep, chain, lattice, leaf, step
from tests.random_programs.plans import ALL_STEPS, random_program

CALLING_PYTHON = {"lambda_transform", "flat_map", "map_cycles"}
# They read objects of plug-ins, which a plan's text cannot have; pickled plans can.
READING_SOURCES = {"source_rows", "source_parts", "scan_parts"}
PORTABLE_STEPS = sorted(set(ALL_STEPS) - CALLING_PYTHON)


@pytest.fixture(autouse=True)
def samples(own_registry: None) -> None:
    """The sample operators are known for the length of a test."""
    for operator_class in (Leaf, SampleStep, Pair):
        register(operator_class)


def again(node: PlannerNode) -> PlannerNode:
    """The graph, written and read."""
    return graph_from_json(graph_to_json(node))


@pytest.mark.parametrize(
    "example", [item for item in EXAMPLES if not item.needs_spark and item.operator not in CALLING_PYTHON | READING_SOURCES], ids=str
)
def test_operators_come_back(example: Example) -> None:
    node = example.node()
    copy = again(node)
    if isinstance(node.operator, HashJoin):
        # What is few is not for a plan's text to say.
        node = node.operator.as_read().make_planner_node(*node.inputs)
    assert plan_text(copy) == plan_text(node)
    assert graph_to_json(copy) == graph_to_json(node)
    # Rows in memory are compared by identity.
    if not any(isinstance(value, Chunk) for value in node.any_operator_parameters.values()):
        assert copy.operator == node.operator and hash(copy.operator) == hash(node.operator)


@pytest.mark.parametrize("seed", range(15))
def test_random_graphs_come_back_with_their_rows(seed: int) -> None:
    program = random_program(random.Random(seed), PORTABLE_STEPS)
    for node, expected in zip(program.nodes, program.expected, strict=True):
        if any(below.operator.name in READING_SOURCES for below in postorder([node])):
            with pytest.raises(UnsupportedOperationError, match="cannot be written as JSON"):
                again(node)
            continue
        copy = again(node)
        assert plan_text(copy) == plan_text(node)
        assert rows_equal(Oracle().rows(copy), expected)


@pytest.mark.parametrize("seed", range(40))
def test_random_shared_graphs_keep_their_shape(seed: int) -> None:
    choose = random.Random(seed)
    nodes = [leaf(choose.choice((None, 10))) for _ in range(3)]
    for number in range(60):
        first, second = choose.choice(nodes), choose.choice(nodes)
        nodes.append(step(first, f"s{number}") if choose.random() < 0.5 else Pair(f"p{number}").make_planner_node(first, second))
    root = nodes[-1]
    copy = again(root)
    assert same_plan(copy, root)
    before, after = list(postorder([root])), list(postorder([copy]))
    assert plan_text(copy) == plan_text(root)
    shared = [[nodes.index(child) for child in node.inputs] for nodes in (before, after) for node in nodes]
    assert shared[: len(before)] == shared[len(before) :]
    pairs = [(a, b) for a in range(len(before)) for b in range(a)]
    assert all((before[a].facts.domain is before[b].facts.domain) == (after[a].facts.domain is after[b].facts.domain) for a, b in pairs)
    assert all(before[a].length.provably_equals(before[b].length) == after[a].length.provably_equals(after[b].length) for a, b in pairs)


def test_every_node_is_written_once() -> None:
    assert len(json.loads(graph_to_json(lattice(40)))["nodes"]) == 41


def test_authors_of_operators_find_it_at_their_door() -> None:
    from sframe_spark import plugin

    assert (plugin.graph_to_json, plugin.graph_from_json) == (graph_to_json, graph_from_json)
    assert {"graph_to_json", "graph_from_json"} <= set(plugin.__all__)


def test_ten_thousand_nodes_come_back() -> None:
    assert sum(1 for _ in postorder([again(chain(DEEP))])) == DEEP + 1


def test_nodes_that_were_aligned_before_they_were_materialised_are_still() -> None:
    source = leaf(None)
    first, second = step(source, "a"), step(source, "b")
    root = Pair().make_planner_node(first, second)
    first.splice(leaf(5))
    second.splice(leaf(5))
    left, right = again(root).inputs
    assert prove_equal_length(left, right) is True
    assert left.length.rows == 5


def test_what_is_known_of_lengths_comes_back() -> None:
    unknown, other = leaf(None), leaf(None)
    root = Pair().make_planner_node(step(unknown), other)
    left, right = again(root).inputs
    assert prove_equal_length(left, left.inputs[0]) is True
    assert prove_equal_length(left, right) is None


def test_what_a_text_alone_says_about_rows_is_not_believed() -> None:
    content = json.loads(graph_to_json(Pair().make_planner_node(leaf(None), step(leaf(None)))))
    for node in content["nodes"]:
        node.update(rows=7, at_most=7, length=0, domain=0)
    left, right = graph_from_json(json.dumps(content)).inputs
    assert (left.length.rows, left.length.at_most, prove_equal_length(left, right)) == (None, None, None)


def test_rows_in_memory_are_embedded_once() -> None:
    column = table("int", "text")
    root = zip_columns(project(column, [1]), PlannerNode(column.operator.with_columns([0])))  # type: ignore[attr-defined]
    text = graph_to_json(root)
    assert len(json.loads(text)["chunks"]) == 1
    copy = graph_from_json(text)
    first, second = copy.inputs[0].inputs[0].operator, copy.inputs[1].operator
    assert first.data is second.data  # type: ignore[attr-defined]
    assert rows_equal(Oracle().rows(copy), Oracle().rows(root))


def test_rows_without_columns_keep_their_number() -> None:
    node = memory_source([], [], 3)
    copy = again(node)
    assert (copy.length.rows, copy.operator.data.rows) == (3, 3)  # type: ignore[attr-defined]


def test_many_rows_in_memory_are_refused() -> None:
    node = memory_source([pa.nulls(MAX_EMBEDDED_BYTES // 8 + 1, pa.int64())], [INT])
    with pytest.raises(UnsupportedOperationError, match=r"'memory_source' cannot be written .* parameter 'data' holds more than 4,194,304 bytes"):
        graph_to_json(node)


def test_datasets_are_referred_to_by_their_place() -> None:
    node = stored("int", "float", "text")
    text = graph_to_json(node)
    assert json.loads(text)["chunks"] == []
    copy = graph_from_json(text)
    assert copy.operator == node.operator
    assert rows_equal(Oracle().rows(copy), Oracle().rows(node))


LITERALS = [
    (None, INT),
    (2**62 + 1, INT),
    (-0.0, FLOAT),
    (float("inf"), FLOAT),
    ('é\n"', STR),
    (datetime.datetime(2020, 2, 29, 1, 2, 3, 4), DATETIME),
    ({"a": [1, None, {"b": float("nan")}]}, ENCODED_DICT),
    ([1.5, 2.0], ARRAY),
]


@pytest.mark.parametrize(("value", "column_type"), LITERALS, ids=str)
def test_literals_come_back(value: Any, column_type: Any) -> None:
    program = Program(1, (Step("add", (Register(0), Literal(1, INT)), ("x", column_type, 2.5)),), (Register(1), Literal(value, column_type)))
    classes = value_classes(type(apply_program(range_source(0, 1), Program(1, (), ())).operator))
    copy = from_portable(json.loads(json.dumps(to_portable(program, "program", classes))), classes)
    assert copy == program and hash(copy) == hash(program)


@pytest.mark.parametrize(
    ("value", "column_type"),
    [(True, INT), (True, FLOAT), (1.5, INT), ("1", INT), (1, STR), ("a", FLOAT), (1, DATETIME), ([1], ENCODED_DICT), ({}, ARRAY)],
    ids=str,
)
def test_literals_of_another_type_are_refused(value: Any, column_type: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=f"of type {column_type.kind}"):
        from_portable(to_portable(Literal(value, column_type), "here", {"Literal": Literal}), {"Literal": Literal})


def test_nan_comes_back() -> None:
    assert repr(from_portable(to_portable((float("nan"),), "x", {}), {})) == "(nan,)"


@pytest.mark.parametrize("name", TYPES_BY_NAME)
def test_column_types_come_back(name: str) -> None:
    assert from_portable(to_portable(TYPES_BY_NAME[name], "x", {}), {}) == TYPES_BY_NAME[name]


def test_functions_are_refused_by_operator_and_parameter() -> None:
    node = apply_lambda(range_source(0, 3), len, INT)
    with pytest.raises(UnsupportedOperationError, match=r"'lambda_transform' cannot be written .* parameter 'function' holds a PythonFunction"):
        graph_to_json(project(node, [0, 0]))


def test_functions_inside_portable_parameters_are_refused_by_their_place() -> None:
    function = apply_lambda(range_source(0, 3), len, INT).operator.function  # type: ignore[attr-defined]
    node = apply_program(range_source(0, 3), Program(1, (Step("negate", (Register(0),)), Step(function, (Register(1),))), (Register(2),)))
    with pytest.raises(UnsupportedOperationError, match=r"parameter 'computation\.steps\[1\]\.function\.function' holds a builtin_function"):
        graph_to_json(node)


def test_live_data_frames_are_refused() -> None:
    frame: Any = object()
    with pytest.raises(UnsupportedOperationError, match="'spark_source' cannot be written as JSON: its parameter 'df' holds"):
        graph_to_json(SparkSource(frame, (INT,)).make_planner_node())


def test_values_that_no_annotation_names_are_refused() -> None:
    @register
    @attrs.frozen
    class Careless(Leaf):
        name: ClassVar[str] = "sample_careless"
        anything: Any = attrs.field(default=Register(3), kw_only=True)

    with pytest.raises(UnsupportedOperationError, match="'sample_careless' cannot be written as JSON: its parameter 'anything' holds a Register"):
        graph_to_json(Careless().make_planner_node())


def test_an_operator_that_is_not_known_may_be_of_a_plugin() -> None:
    text = graph_to_json(range_source(0, 3)).replace("range_source", "range_of_a_plugin")
    with pytest.raises(InvalidArgumentError, match="the operator 'range_of_a_plugin', which is not known here: a plugin may be missing"):
        graph_from_json(text)


def changed(change: Callable[[dict[str, Any]], Any]) -> str:
    """The text of a plan of three nodes with something changed."""
    content = json.loads(graph_to_json(project(project(table("int", "text"), [1, 0]), [1])))
    change(content)
    return json.dumps(content)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("no json", "is no JSON"),
        ("[]", "its 'format' is not"),
        ('{"format": "other"}', "its 'format' is not"),
        (changed(lambda content: content.update(version=FORMAT_VERSION + 1)), "reads up to 2: install a newer one"),
        (changed(lambda content: content.update(nodes=[])), "damaged"),
        (changed(lambda content: content.pop("nodes")), "damaged"),
        (changed(lambda content: content.update(chunks=["&&"])), "damaged"),
        (changed(lambda content: content.update(chunks=["QUJD"])), "damaged"),
        (changed(lambda content: content.update(chunks=[])), "damaged"),
        (changed(lambda content: content["nodes"][1].update(inputs=[1])), "inputs come before their consumers"),
        (changed(lambda content: content["nodes"][1].update(inputs=[-1])), "inputs come before their consumers"),
        (changed(lambda content: content["nodes"][1].update(types=["int", "int"])), "has the types .*'str', 'int'.*, the text says"),
        (changed(lambda content: content["nodes"][1].update(rows=9)), "says 9 rows of project, which has 13"),
        (changed(lambda content: content["nodes"][1].update(parameters={"places": [1]})), "does not take the plan's parameters"),
        (changed(lambda content: content["nodes"][1].update(parameters={"positions": {"$value": "Popen"}})), "of the class 'Popen', which its"),
        (changed(lambda content: content["nodes"][0]["parameters"].update(types=[{"$type": "complex"}])), "column type 'complex': known are int"),
    ],
)
def test_texts_that_are_no_plans_are_refused(text: str, complaint: str) -> None:
    with pytest.raises(InvalidArgumentError, match=complaint):
        graph_from_json(text)


def registers(value: Any) -> list[dict[str, Any]]:
    """All registers that a plan's content names."""
    if isinstance(value, dict):
        return [value] if value.get("$value") == "Register" else [found for item in value.values() for found in registers(item)]
    return [found for item in value for found in registers(item)] if isinstance(value, list) else []


REGISTERED = [item for item in EXAMPLES if not item.needs_spark and item.operator in ("transform", "binary_transform", "ternary_transform")]
PROGRAM = Program(2, (Step("add", (Register(0), Register(1))), Step("add", (Register(2), Register(0)))), (Register(3), Register(1)))


@pytest.mark.parametrize("index", ["-1", -1, -2, 99, True, None, 0.0])
@pytest.mark.parametrize("node", [lambda: apply_program(table("int", "int"), PROGRAM), *(item.node for item in REGISTERED)])
def test_registers_that_nothing_defines_are_refused(node: Callable[[], PlannerNode], index: Any) -> None:
    text = graph_to_json(node())
    count = len(registers(json.loads(text)))
    assert count
    for place in range(count):
        content = json.loads(text)
        registers(content)[place]["index"] = index
        with pytest.raises(InvalidArgumentError, match="the plan's text"):
            graph_from_json(json.dumps(content))


def test_annotations_that_cannot_be_resolved_lead_nowhere() -> None:
    assert value_classes(SparkSource) == {}
    assert {"Program", "Step", "Register", "Literal"} <= set(value_classes(type(apply_program(range_source(0, 1), Program(1, (), ())).operator)))
    assert value_classes(Operator) == {}
    assert Chunk.__name__ not in value_classes(Leaf)
