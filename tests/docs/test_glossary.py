"""Names follow the glossary: its retired words do not come back."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import sframe_spark
from tests.parsed import parsed, parsed_once

__all__ = ["parsed_once"]
ROOT = Path(sframe_spark.__file__).parent
PAGE = ROOT.parent / "docs" / "glossary.md"
# Members of the operator contract that plug-ins override, classes and fields of saved manifests, a method of Python's files, and plain English.
PUBLIC = {"tell", "most_frequent"}
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def words_of(name: str) -> list[str]:
    """Words of a name in snake case or camel case."""
    return [word.lower() for word in WORD.findall(name)]


def table_of(heading: str) -> list[list[str]]:
    """Rows of the first table of a section of the page, without its head."""
    section = PAGE.read_text(encoding="utf-8").split(f"\n{heading}\n", 1)[1]
    section = section.split("\n## ", 1)[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line.startswith("|")]
    return rows[2:]


def retired() -> tuple[set[str], set[str]]:
    """Words that are retired anywhere in a name, and those that are retired as its first word only."""
    anywhere, as_prefix = set(), set()
    for words, _ in table_of("## Retired words"):
        (as_prefix if "(as a prefix)" in words else anywhere).update(words.replace("(as a prefix)", "").replace(",", " ").split())
    return anywhere, as_prefix


def names_in(path: Path) -> Iterator[tuple[int, str]]:
    """Names that a module gives: to itself, classes, functions, parameters, attributes and variables."""
    yield 0, path.stem
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr


def is_retired(name: str, anywhere: set[str], as_prefix: set[str]) -> bool:
    """Return whether a name has a retired word."""
    words = words_of(name)
    is_prefixed = len(words) > 1 and words[0] in as_prefix
    return name not in PUBLIC and (is_prefixed or not anywhere.isdisjoint(words))


def test_retired_words_are_no_names() -> None:
    words = retired()
    found = {
        f"{path.relative_to(ROOT)}:{line}: {name}" for path in sorted(ROOT.rglob("*.py")) for line, name in names_in(path) if is_retired(name, *words)
    }
    assert found == set()


def test_a_retired_word_is_found_in_any_spelling() -> None:
    words = retired()
    assert is_retired("looks_at", *words) and is_retired("PlanLook", *words) and is_retired("MOST_ROWS", *words)
    assert not is_retired("lookup", *words) and not is_retired("at_most", *words)


def test_words_of_the_glossary_are_in_order_and_not_retired() -> None:
    tables = words_for_users(), [row[0] for row in table_of("## Words of the engine")]
    for words in tables:
        assert words == sorted(words) and retired()[0].isdisjoint(words)
    assert set(tables[0]).isdisjoint(tables[1])


def words_for_users() -> list[str]:
    """Words of the first table of the page."""
    lines = PAGE.read_text(encoding="utf-8").split("\n## ", 1)[0].splitlines()
    return [line.strip("|").split("|")[0].strip() for line in lines if line.startswith("|")][2:]
