"""What modules keep between calls is what ``docs/internals/state.md`` lists, and nothing else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import sframe_spark

ROOT = Path(sframe_spark.__file__).parent
PAGE = Path(__file__).parents[1] / "docs" / "internals" / "state.md"
CHANGING = {"add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "remove", "set", "setdefault", "update"}
KEEPING = ("ContextVar(", "FunctionTable(", "Lock(", "RLock(", "WeakKeyDictionary(", "WeakValueDictionary(", "WeakSet(", "local(", "count(")
# Objects of classes without a state.
VALUES = ("ColumnStatistics()", "KeptLocations()", "NumberColumns()", "RecordedOrder()", "SparkCost()")
VALUES += tuple(
    f"{shape}Shape()"
    for shape in (
        *("PartialStates", "Query", "FirstRows", "Whole", "Stored", "Stream"),
        *("RangeShuffle", "HashJoin", "StatesOfHashJoin", "CountMatches", "Sample"),
    )
)


def assigned(tree: ast.Module) -> dict[str, str]:
    """Names that a module assigns at its top, with the source of their values."""
    found = {}
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        value = getattr(node, "value", None)
        found.update({target.id: "" if value is None else ast.unparse(value) for target in targets if isinstance(target, ast.Name)})
    return found


def states(tree: ast.Module) -> Iterator[str]:
    """Names of a module whose values change, and functions that remember their results."""
    names = assigned(tree)
    yield from (name for name, value in names.items() if any(kind in value for kind in KEEPING))
    yield from (name for name, value in names.items() if re.fullmatch(r"[A-Z]\w*\(\)", value) and value not in VALUES)
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            yield from node.names
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
            if node.func.attr in CHANGING and node.func.value.id in names:
                yield node.func.value.id
        elif isinstance(node, (ast.Assign, ast.AugAssign, ast.Delete)):
            for target in node.targets if not isinstance(node, ast.AugAssign) else [node.target]:
                if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and target.value.id in names:
                    yield target.value.id
        elif isinstance(node, ast.FunctionDef) and any(re.search(r"\bcache\b|lru_cache", ast.unparse(item)) for item in node.decorator_list):
            yield node.name


def test_the_page_lists_all_state_of_modules() -> None:
    found = set()
    for path in sorted(ROOT.rglob("*.py")):
        place = str(path.relative_to(ROOT))
        found |= {f"{place}: {name}" for name in states(ast.parse(path.read_text(encoding="utf-8")))}
    listed = {f"{place}: {name}" for place, name in re.findall(r"^\| `([\w/]+\.py)` \| `(\w+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)}
    assert found == listed


def test_state_is_seen() -> None:
    text = "A = {}\nB = []\nC = 1\nD = threading.Lock()\nE = ()\ndef f():\n    global C\n    A[1] = 2\n    B.append(1)\n@lru_cache\ndef g(): pass"
    assert set(states(ast.parse(text))) == {"A", "B", "C", "D", "g"}
