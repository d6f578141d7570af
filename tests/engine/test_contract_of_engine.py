"""The engine asks operators through their contract: it knows no class of them but the sources that it makes itself, and no name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import sframe_spark
from sframe_spark.planner.registry import planner_node_name_to_type, registered_names

ENGINE = Path(sframe_spark.__file__).parent / "engine"

# Where rows are: what the engine stores, keeps in memory, or has to fix before it reads them. Groups of these go by names of their own.
SOURCES = {"Source", "MemorySource", "SegmentSource", "SparkSource", "SectionResult", "STORED_ROWS", "READ_AS_THEY_ARE"}
# The contract's own kinds, and what is no operator.
CONTRACT = {"SequentialOperator", "DecomposableOperator", "ExpandingOperator"}


def operator_classes() -> set[str]:
    """Names of all classes of operators, and of those that they inherit from."""
    found: set[type] = set()
    for name in registered_names():
        found.update(planner_node_name_to_type(name).__mro__)
    return {kind.__name__ for kind in found if kind.__module__.startswith("sframe_spark.operators.")}


def asked_classes(tree: ast.AST) -> Iterator[str]:
    """Names that a module asks for with ``isinstance``, ``issubclass``, ``type`` comparisons or patterns."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "issubclass"):
            yield from (item.id for item in ast.walk(node.args[1]) if isinstance(item, ast.Name))
        elif isinstance(node, ast.MatchClass):
            yield from (item.id for item in ast.walk(node.cls) if isinstance(item, ast.Name))


def asked_names(tree: ast.AST) -> Iterator[str]:
    """Comparisons of operators' names, and look-ups of them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(isinstance(side, ast.Attribute) and is_name_of_operator(side) for side in sides):
                yield ast.unparse(node)
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Attribute) and is_name_of_operator(node.slice):
            yield ast.unparse(node)
        elif isinstance(node, ast.Match) and isinstance(node.subject, ast.Attribute) and is_name_of_operator(node.subject):
            yield ast.unparse(node.subject)


def is_name_of_operator(attribute: ast.Attribute) -> bool:
    """Whether an attribute is the registered name of an operator."""
    owner = attribute.value.attr if isinstance(attribute.value, ast.Attribute) else getattr(attribute.value, "id", "")
    return attribute.attr == "operator_type" or (attribute.attr == "name" and owner == "operator")


def test_the_engine_asks_for_no_class_of_operators_but_its_sources() -> None:
    classes, wrong = operator_classes(), []
    for path in sorted(ENGINE.rglob("*.py")):
        asked = set(asked_classes(ast.parse(path.read_text(encoding="utf-8"))))
        wrong += [f"{path.relative_to(ENGINE)}: {name}" for name in sorted(asked & classes - SOURCES - CONTRACT)]
    assert wrong == []


def test_the_engine_knows_no_name_of_an_operator() -> None:
    wrong = [
        f"{path.relative_to(ENGINE)}: {text}"
        for path in sorted(ENGINE.rglob("*.py"))
        for text in asked_names(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert wrong == []


def test_the_search_finds_what_is_forbidden() -> None:
    lines = (
        "isinstance(node.operator, (Sort, TopRows))",
        "node.operator_type == 'append'",
        "operator.name in NAMES",
        "TABLE[node.operator_type]",
        "match operator:\n    case GroupBy():\n        pass",
    )
    classes = {name for line in lines for name in asked_classes(ast.parse(line))}
    assert classes == {"Sort", "TopRows", "GroupBy"} <= operator_classes()
    assert len([text for line in lines for text in asked_names(ast.parse(line))]) == 3
