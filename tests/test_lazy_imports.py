"""Imports that take place when their names are first used: the uses that a stand-in allows, and what it becomes."""

from __future__ import annotations

import ast
import builtins
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sframe_spark
from sframe_spark.lazy_imports import LazyName, lazy_imports
from tests.parsed import parsed

ROOT = Path(sframe_spark.__file__).parent
# Functions that take a name that may not be imported yet; `cast` ignores its first argument.
TAKERS = {"isinstance", "is_imported", "value_of", "cast"}


def lazy_blocks(tree: ast.Module) -> list[ast.With]:
    """Blocks of a module whose imports are lazy."""
    return [node for node in tree.body if isinstance(node, ast.With) and ast.unparse(node.items[0].context_expr) == "lazy_imports(globals())"]


def lazy_names(tree: ast.Module) -> set[str]:
    """Names that a module imports lazily."""
    imports = [node for block in lazy_blocks(tree) for node in block.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    return {alias.asname or alias.name for node in imports for alias in node.names}


def wrong_uses(tree: ast.Module) -> Iterator[str]:
    """Uses of lazily imported names that would see the stand-in."""
    names = lazy_names(tree)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in names and not (isinstance(node.ctx, ast.Load) and is_allowed(node, parents)):
            yield f"line {node.lineno}: {node.id}"


def is_allowed(name: ast.Name, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether a use of a name is a call, an attribute, an annotation, a class of `isinstance`, or a base class."""
    child: ast.AST = name
    while child in parents:
        node = parents[child]
        if isinstance(node, (ast.arg, ast.AnnAssign)) and node.annotation is child:
            return True
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.returns is child:
            return True
        child = node
    user, used = parents[name], name
    if isinstance(user, ast.ClassDef):
        return used in user.bases
    if not is_in_function(name, parents):
        return False
    if isinstance(user, ast.Attribute) or (isinstance(user, ast.Call) and user.func is name):
        return True
    outer: ast.AST = name
    while isinstance(parents[outer], (ast.Tuple, ast.BinOp)):
        outer = parents[outer]
    call = parents[outer]
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in TAKERS and outer in call.args


def is_in_function(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether a node is in the body of a function, which runs after the module."""
    while node in parents:
        parent = parents[node]
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)) and node in parent.body:
            return True
        if isinstance(parent, ast.Lambda) and node is parent.body:
            return True
        node = parent
    return False


def test_blocks_hold_imports_that_can_be_lazy() -> None:
    """Of names, or of a module in a package: `import a` and a star have nothing that a stand-in could replace."""
    wrong = []
    for path in sorted(ROOT.rglob("*.py")):
        for statement in [statement for block in lazy_blocks(parsed(path)) for statement in block.body]:
            if isinstance(statement, ast.ImportFrom):
                can_be = not statement.level and all(alias.name != "*" for alias in statement.names)
            else:
                can_be = isinstance(statement, ast.Import) and all(alias.name.count(".") == 1 and alias.asname for alias in statement.names)
            wrong += [] if can_be else [f"{path.relative_to(ROOT)}: {ast.unparse(statement)}"]
    assert wrong == []


def test_stand_ins_are_used_as_they_may_be() -> None:
    wrong, found = {}, 0
    for path in sorted(ROOT.rglob("*.py")):
        tree = parsed(path)
        found += len(lazy_blocks(tree))
        if uses := list(wrong_uses(tree)):
            wrong[str(path.relative_to(ROOT))] = uses
    assert wrong == {}
    assert found > 20


def test_base_classes_that_are_stand_ins_are_of_frames_and_columns() -> None:
    for path in sorted(ROOT.rglob("*.py")):
        tree = parsed(path)
        names = lazy_names(tree)
        classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
        heirs = {node.name for node in classes if any(isinstance(base, ast.Name) and base.id in names for base in node.bases)}
        assert heirs <= {"SFrame", "SArray"}


@pytest.mark.parametrize(
    "use",
    [
        "def f(): return name is None",
        "def f(): return [name]",
        "def f(): return sorted([], key=name)",
        "name()",
        "kinds = {1: name}",
        "@name\ndef f(): pass",
        "def f(x=name()): pass",
        "def f():\n    try:\n        pass\n    except name:\n        pass",
        "def f():\n    global name\n    name = 3",
        "def f(x):\n    match x:\n        case name():\n            pass",
    ],
)
def test_other_uses_are_found(use: str) -> None:
    assert list(wrong_uses(ast.parse("with lazy_imports(globals()):\n    from a import name\n" + use)))


@pytest.mark.parametrize("use", ["def f(x: name) -> name: ...", "def f(): return name(1) + name.x", "def f(x): return isinstance(x, (int, name))"])
def test_allowed_uses_are_none(use: str) -> None:
    assert not list(wrong_uses(ast.parse("with lazy_imports(globals()):\n    from a import name\n" + use)))


def run(program: str, namespace: dict[str, Any] | None = None) -> dict[str, Any]:
    """The namespace of a program that imports lazily."""
    namespace = {"lazy_imports": lazy_imports} if namespace is None else namespace
    exec(program, namespace)
    return namespace


@pytest.fixture
def unloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a package that is not imported, with a module, a class and a function."""
    package = tmp_path / "made_for_lazy_imports"
    package.mkdir()
    (package / "__init__.py").write_text("def __getattr__(name):\n    if name == 'made':\n        return 5\n    raise AttributeError(name)\n")
    (package / "kinds.py").write_text("NOTHING = None\nclass Kind:\n    size = 3\ndef call(x): return x + 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield package.name
    for name in [name for name in sys.modules if name.startswith(package.name)]:
        del sys.modules[name]


def test_a_name_is_imported_when_it_is_called(unloaded: str) -> None:
    found = run(f"with lazy_imports(globals()):\n    from {unloaded}.kinds import Kind as K, call\n")
    assert unloaded not in sys.modules and type(found["call"]) is LazyName
    assert not isinstance(3, found["K"]) and unloaded not in sys.modules
    assert found["call"](1) == 2
    kinds = sys.modules[f"{unloaded}.kinds"]
    assert found["call"] is kinds.call and type(found["K"]) is LazyName
    assert isinstance(kinds.Kind(), found["K"]) and found["K"] is kinds.Kind


def test_modules_and_made_attributes_of_packages(unloaded: str) -> None:
    found = run(f"with lazy_imports(globals()):\n    from {unloaded} import kinds, made\n    import {unloaded}.kinds as k\n")
    assert found["kinds"].Kind.size == 3 and found["k"].NOTHING is None and found["k"] is found["kinds"]
    assert found["made"].value() == 5
    loaded = run(f"with lazy_imports(globals()):\n    from {unloaded}.kinds import NOTHING, call\n")
    assert loaded["NOTHING"] is None and loaded["call"] is found["kinds"].call


def test_a_name_that_is_missing_raises_the_usual_error(unloaded: str) -> None:
    found = run(f"with lazy_imports(globals()):\n    from {unloaded}.kinds import absent\n    from {unloaded}.none import one\n")
    with pytest.raises(AttributeError, match="absent"):
        found["absent"]()
    with pytest.raises(ModuleNotFoundError, match="none"):
        found["one"]()


def test_imports_elsewhere_are_as_ever() -> None:
    before, inside, after = builtins.__import__, threading.Event(), threading.Event()

    def other() -> None:
        inside.wait(10)
        run("import this_is_no_module as x" if False else "import colorsys", {})
        run("with lazy_imports(globals()):\n    from fractions import Fraction\n")
        after.set()

    thread = threading.Thread(target=other)
    thread.start()
    with lazy_imports({}):
        inside.set()
        assert after.wait(10)
        run("from colorsys import rgb_to_hsv; assert rgb_to_hsv(0, 0, 0)", {})
    thread.join(10)
    assert builtins.__import__ is before


def test_an_error_in_a_block_ends_it() -> None:
    before = builtins.__import__
    with pytest.raises(ZeroDivisionError):
        run("with lazy_imports(globals()):\n    1 / 0\n")
    assert builtins.__import__ is before


def test_threads_that_use_a_name_first_at_the_same_time_get_the_same() -> None:
    program = """
import threading
from sframe_spark import SArray, SFrame
frame, column, start, found = SFrame({"a": [2, 1]}), SArray([1, 2]), threading.Barrier(16), []
def use(number):
    start.wait()
    found.append(list(frame.sort("a")["a"]) if number % 2 else list(column + column))
threads = [threading.Thread(target=use, args=(number,)) for number in range(16)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(sorted(map(str, found)) == ["[1, 2]"] * 8 + ["[2, 4]"] * 8)
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False, timeout=100)
    assert (done.stderr, done.stdout) == ("", "True\n")
