"""The picture of the layers, made of the imports that there are: ``python -m tests.docs.layers`` draws ``docs/pictures/layers.svg`` anew."""

from __future__ import annotations

import ast
from pathlib import Path

import networkx

import sframe_spark
from sframe_spark.explain.explanation_text_graph_and_pictures import ordered, with_bends
from tests.parsed import statements

ROOT = Path(sframe_spark.__file__).parent
PICTURE = ROOT.parent / "docs" / "pictures" / "layers.svg"
HEIGHT, GAP, BETWEEN, MARGIN, WAY, LETTER = 30, 16, 34, 12, 10, 7.4
# Read on light pages and on dark ones.
BOX, INK, LINE = "#1f6f86", "#ffffff", "#808890"


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


def drawn() -> str:
    """The layers as SVG, upper ones first, with a line from each to those right below that it imports from."""
    graph = layers()
    levels: dict[object, int] = {}
    for name in reversed(list(networkx.lexicographical_topological_sort(graph))):
        levels[name] = max((levels[other] + 1 for other in graph[name]), default=0)
    # From the lowest layer up, as the helpers draw.
    ways = with_bends(graph.reverse(), levels)
    rows = ordered(ways, levels)
    width_of = {name: WAY if isinstance(name, tuple) else 20 + LETTER * len(name) for row in rows for name in row}
    widths = [sum(width_of[name] + GAP for name in row) - GAP for row in rows]
    width, height = max(widths) + 2 * MARGIN, len(rows) * (HEIGHT + BETWEEN) - BETWEEN + 2 * MARGIN
    middle, top, boxes = {}, {}, []
    for level, (row, taken) in enumerate(zip(rows, widths, strict=True)):
        left, y = (width - taken) / 2, height - MARGIN - HEIGHT - level * (HEIGHT + BETWEEN)
        for name in row:
            middle[name], top[name] = left + width_of[name] / 2, y
            if isinstance(name, str):
                boxes.append(f'<rect x="{left:.1f}" y="{y}" width="{width_of[name]:.1f}" height="{HEIGHT}" rx="6" fill="{BOX}"/>')
                boxes.append(f'<text x="{middle[name]:.1f}" y="{y + 19.5}" text-anchor="middle" fill="{INK}">{name}</text>')
            left += width_of[name] + GAP
    lines = []
    for points in ways.graph["ways"]:
        x, y = middle[points[0]], top[points[0]]
        path = [f"M {x:.1f} {y}"]
        for name in points[1:]:
            low = top[name] + HEIGHT
            path.append(f"C {x:.1f} {(y + low) / 2}, {middle[name]:.1f} {(y + low) / 2}, {middle[name]:.1f} {low}")
            x, y = middle[name], low
            if isinstance(name, tuple):
                path.append(f"L {x:.1f} {top[name]}")
                y = top[name]
        lines.append(f'<path d="{" ".join(path)}" fill="none" stroke="{LINE}" stroke-width="1.3"/>')
    size = f'viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" height="{height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="13">'
    return "\n".join([head, *lines, *boxes, "</svg>"]) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(drawn(), encoding="utf-8")
