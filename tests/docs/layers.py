"""The picture of the layers, as Mermaid, made of the imports that there are; run it to print what belongs into ``docs/design.md``."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import networkx

import sframe_spark
from tests.parsed import statements

ROOT = Path(sframe_spark.__file__).parent


def layer_of(module: str) -> str:
    """The layer of a module: its first name below the package."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def imported(path: Path) -> set[str]:
    """Layers that a file imports from; optional parts, which lie above, are also imported for annotations, and this does not count."""
    found, tree = set(), ast.parse(path.read_text(encoding="utf-8"))
    blocks = [node for node in ast.walk(tree) if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    for_annotations = {id(node) for block in blocks for node in block.body}
    for node in statements(tree):
        if id(node) in for_annotations:
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "sframe_spark":
            found.add(layer_of(node.module or ""))
    return found - {""}


def layers() -> networkx.DiGraph:
    """An edge from each layer to those that it imports from; what follows from others is left out."""
    graph = networkx.DiGraph()
    for path in sorted(ROOT.rglob("*.py")):
        own = path.relative_to(ROOT).parts[0].removesuffix(".py")
        if not own.startswith("__"):
            graph.add_edges_from((own, other) for other in sorted(imported(path)) if other != own)
    return networkx.transitive_reduction(graph)


def diagram() -> str:
    """The layers as a Mermaid flowchart, upper ones first."""
    graph = layers()
    lines = [f"  {first} --> {second}" for first in networkx.lexicographical_topological_sort(graph) for second in sorted(graph[first])]
    return "\n".join(["```mermaid", "flowchart TD", *lines, "```"])


if __name__ == "__main__":
    sys.stdout.write(diagram() + "\n")
