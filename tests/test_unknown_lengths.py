"""What is unknown is None and never a number: no default stands in for a number of rows, a bound, a size or a time that nobody knows."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import sframe_spark

ROOT = Path(sframe_spark.__file__).parent
# What may be unknown, in the names of variables, attributes and functions.
AMOUNTS = re.compile(r"(^|_)(rows?|lengths?|counts?|sizes?|stop|bounds?|most|bytes|width|mtime|ns|number|numbers)($|_)")
# Defaults for what is no amount of data: (file, text) with the reason.
ALLOWED = {
    ("engine/runtime/task_runners.py", "rows[number] or 0"): "tasks of an unknown number of rows report none",
    ("engine/runtime/worker_process_main_loop.py", "rows or 0"): "tasks of an unknown number of rows report none",
    ("explain/column_names.py", "match['number'] or 0"): "what has no number is no column, and keeps its text",
    ("values/ndarrays.py", "0 if cell is None else cell.size"): "a missing array has no numbers",
    ("values/ndarrays.py", "length or 0"): "a missing array has no numbers",
    ("process/control_groups.py", "os.cpu_count() or 1"): "a machine has a core, whatever it says",
    (
        "storage/parquet/unsupported_types_and_spark_type_metadata.py",
        "_number(fields, _CHILDREN) or 0",
    ): "an element that is a column has no parts, and says so by no number",
    ("turicreate/archive_files.py", "number or 0"): "a file that is named without a column stands for its first",
    ("values/duration_parsing.py", "number or 1"): "the text before a unit: 'h' is one hour",
}


def is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool)


def names_in(node: ast.AST) -> set[str]:
    nodes = list(ast.walk(node))
    texts = {item.value for item in nodes if isinstance(item, ast.Constant) and isinstance(item.value, str)}
    return texts | {item.attr for item in nodes if isinstance(item, ast.Attribute)} | {item.id for item in nodes if isinstance(item, ast.Name)}


def asks_for_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Compare) and any(isinstance(item, ast.Constant) and item.value is None for item in node.comparators)


def stands_for_unknown(node: ast.AST) -> bool:
    """True for ``x or 0``, ``0 if x is None else x`` and ``getattr(x, "y", 0)``."""
    if isinstance(node, ast.BoolOp):
        return isinstance(node.op, ast.Or) and is_number(node.values[-1])
    if isinstance(node, ast.IfExp):
        return (is_number(node.body) or is_number(node.orelse)) and asks_for_none(node.test)
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "getattr" and len(node.args) == 3 and is_number(node.args[2])


def numbers_for_unknowns(tree: ast.AST) -> Iterator[ast.AST]:
    """Expressions that are a number where an amount is not known."""
    yield from (node for node in ast.walk(tree) if stands_for_unknown(node) and any(map(AMOUNTS.search, names_in(node))))


def found_in(path: Path) -> set[tuple[str, str]]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {(path.relative_to(ROOT).as_posix(), ast.unparse(node)) for node in numbers_for_unknowns(tree)}


def test_no_number_stands_for_what_is_unknown() -> None:
    found = set().union(*map(found_in, ROOT.rglob("*.py")))
    assert found - set(ALLOWED) == set(), "use Length.known_rows, known_rows(node), Source.row_count or sum_of_bounds; or keep None"
    assert set(ALLOWED) - found == set(), "no longer there: take it off the list"


@pytest.mark.parametrize(
    "text",
    [
        "node.length.rows or 0",
        "(node.length.at_most or 0) * 3",
        "source.infer_length(()).rows or 0",
        "info.mtime_ns or 0",
        "0 if bound is None else bound * weight",
        "rows if rows is not None else 0",
        "getattr(source, 'rows', 0)",
    ],
)
def test_what_was_there_is_found(text: str) -> None:
    assert list(numbers_for_unknowns(ast.parse(text)))


def test_no_row_is_read_past_the_type_checker() -> None:
    """Beside a number for an unknown length stood an attribute that the type checker was told to overlook."""
    pattern = re.compile(r"\.read\(.*# type: ignore")
    assert [str(path) for path in ROOT.rglob("*.py") if pattern.search(path.read_text(encoding="utf-8"))] == []
