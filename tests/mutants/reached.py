"""Which tests run the line of which seeded fault: a recorder that stands in a copy of the package before each of these lines.

The copy calls `note` with the fault's name. Processes started by a test note what they run for the test during which they were started.
"""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

DIRECTORY = "SFRAME_SPARK_REACHED"
_NOTED: set[tuple[str, str]] = set()


def note(fault: str) -> None:
    """Write down that the test that runs now, if there is one, runs the line of a fault."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0].partition("[")[0]
    if test and (fault, test) not in _NOTED:
        _NOTED.add((fault, test))
        with (Path(os.environ[DIRECTORY]) / str(os.getpid())).open("a", encoding="utf-8") as file:
            file.write(json.dumps([fault, test]) + "\n")


def noted(directory: Path) -> dict[str, list[str]]:
    """Return the test functions that run the line of each fault, by the fault's name."""
    tests: dict[str, set[str]] = {}
    for path in directory.iterdir():
        for line in path.read_text(encoding="utf-8").splitlines():
            fault, test = json.loads(line)
            tests.setdefault(fault, set()).add(test)
    return {fault: sorted(names) for fault, names in tests.items()}


def with_recorders(text: str, faults: Sequence[tuple[str, int, int]]) -> str:
    """Return the text of a module with a recorder before the statement of each fault, given by its name, first and last line.

    A statement that runs when the module is imported belongs to no test: for these every function of the module records.
    """
    tree, lines = ast.parse(text), text.splitlines(keepends=True)
    places = [(line, fault) for fault, first, last in faults for line in _lines_to_record(tree, lines, first, last)]
    for line, fault in sorted(places, reverse=True):
        indent = lines[line - 1][: len(lines[line - 1]) - len(lines[line - 1].lstrip())]
        lines.insert(line - 1, f'{indent}__import__("tests.mutants.reached", fromlist=["note"]).note({fault!r})\n')
    return "".join(lines)


def _lines_to_record(tree: ast.Module, lines: Sequence[str], first: int, last: int) -> list[int]:
    """Return the lines before which a recorder stands for a fault between two lines."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    inside = [node for node in functions if node.body[0].lineno <= first and last <= (node.end_lineno or 0)]
    if not inside:
        return sorted({_first_statement(node).lineno for node in functions})
    innermost = max(inside, key=lambda node: node.lineno)
    statements = [node for node in _statements(innermost.body) if node.lineno <= first and last <= (node.end_lineno or 0)]
    before = [node for node in statements if not lines[node.lineno - 1].lstrip().startswith("elif")]
    nearest = before[-1] if before else _first_statement(innermost)
    return [min(node.lineno for node in [nearest, *getattr(nearest, "decorator_list", [])])]


def _first_statement(function: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.stmt:
    """Return the first statement of a function after its docstring, or the docstring of one that has nothing else."""
    return function.body[1 if ast.get_docstring(function, clean=False) is not None and len(function.body) > 1 else 0]


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements and those inside them, outer ones first."""
    for node in body:
        yield node
        for name in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(node, name, []))
        for handler in [*getattr(node, "handlers", []), *getattr(node, "cases", [])]:
            yield from _statements(handler.body)
