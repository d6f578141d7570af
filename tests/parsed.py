"""Modules of the package as Python parses them, each once for all tests of a file, which would parse hundreds of them again and again."""

from __future__ import annotations

import ast
import gc
import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

import pytest


@lru_cache(None)
def parsed(path: Path) -> ast.Module:
    """The tree of a module; whoever changes it takes a copy."""
    return ast.parse(path.read_text(encoding="utf-8"))


def statements(tree: ast.Module) -> Iterator[ast.AST]:
    """All statements of a module, those within functions too: of nodes, most are expressions, which hold no statement."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(statements_in(node))


def statements_in(node: ast.AST) -> list[ast.AST]:
    """What stands in a statement, one level down."""
    return [inner for part in ("body", "orelse", "finalbody", "handlers", "cases") for inner in getattr(node, part, ())]


def naming(root: Path, names: Iterable[str]) -> list[Path]:
    """Modules below a folder whose texts have one of some names in them, as Python compares names: the trees of others cannot."""
    word = re.compile(rf"\b(?:{'|'.join(names)})\b")
    return [path for path in sorted(root.rglob("*.py")) if word.search(unicodedata.normalize("NFKC", path.read_text(encoding="utf-8")))]


@pytest.fixture(scope="module", autouse=True)
def parsed_once() -> Iterator[None]:
    """Trees go with the last test of a file that imports this; as long as they are there nobody looks for garbage among their millions of nodes."""
    gc.disable()
    yield
    parsed.cache_clear()
    gc.enable()
