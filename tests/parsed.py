"""Modules of the package as Python parses them, each once for all tests of a file, which would parse hundreds of them again and again."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import pytest


@lru_cache(None)
def parsed(path: Path) -> ast.Module:
    """The tree of a module; whoever changes it takes a copy."""
    return ast.parse(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module", autouse=True)
def parsed_once() -> Iterator[None]:
    """Trees go with the last test of a file that imports this: millions of nodes are looked through for garbage as long as they are there."""
    yield
    parsed.cache_clear()
