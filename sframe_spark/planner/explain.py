"""Plans as text, in SSA form: one line per node, inputs before consumers."""

from __future__ import annotations

from sframe_spark.planner.graph import postorder, to_networkx
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.optimizer import Trace
from sframe_spark.visible import visible


def plan_text(root: PlannerNode) -> str:
    """The plan as lines ``r2 := filter_rows[](r1)  # (int, str) x ?``.

    Examples
    --------
    >>> from sframe_spark.operators.sources.made import range_source
    >>> print(plan_text(range_source(0, 3)))
    r0 := range_source[start=0, rows=3, step=1]()  # (int) x 3
    """
    names: dict[int, str] = {}
    lines = []
    for number, node in enumerate(postorder([root])):
        names[id(node)] = f"r{number}"
        inputs = ", ".join(names[id(child)] for child in node.inputs)
        types = ", ".join(map(str, node.schema))
        lines.append(f"r{number} := {node.operator_type}[{visible(node.operator.describe())}]({inputs})  # ({types}) x {node.length}")
    return "\n".join(lines)


def trace_text(trace: Trace) -> str:
    """The laws that fired, with how often."""
    counts = trace.counts()
    return "\n".join(f"{count:4d} x {equation}" for equation, count in counts.items()) or "no law fired"


def plan_svg(root: PlannerNode, title: str = "") -> str:
    """The plan as an SVG picture: sources at the bottom, the result at the top."""
    import html

    import networkx

    graph = to_networkx([root])
    layers: dict[int, list[int]] = {}
    for level, members in enumerate(networkx.topological_generations(graph)):
        layers[level] = sorted(members)
    width, height, gap = 300, 46, 34
    columns = max(len(members) for members in layers.values())
    total_width, total_height = columns * (width + 20) + 20, len(layers) * (height + gap) + 60
    place = {
        node: (20 + index * (width + 20), total_height - (level + 1) * (height + gap))
        for level, members in layers.items()
        for index, node in enumerate(members)
    }
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total_width} {total_height}" font-family="sans-serif" font-size="11">',
        f'<text x="20" y="22" font-size="15">{html.escape(visible(title))}</text>',
    ]
    for first, second in sorted({(a, b) for a, b, _ in graph.edges}):
        (x1, y1), (x2, y2) = place[first], place[second]
        parts.append(f'<line x1="{x1 + width / 2}" y1="{y1}" x2="{x2 + width / 2}" y2="{y2 + height}" stroke="#889"/>')
    for node, (x, y) in place.items():
        data = graph.nodes[node]
        text = visible(data["description"])
        text = text if len(text) <= 46 else text[:43] + "..."
        parts.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6" fill="#eef3fb" stroke="#557"/>')
        parts.append(f'<text x="{x + 10}" y="{y + 18}" font-weight="bold">{html.escape(data["label"])}</text>')
        parts.append(f'<text x="{x + 10}" y="{y + 35}">{html.escape(text)}</text>')
    return "\n".join([*parts, "</svg>"])
