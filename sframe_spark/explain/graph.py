"""An explained plan as a graph: for analysis with networkx, and as a Mermaid flowchart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sframe_spark.explain.plan_tree import ExplainedSection

if TYPE_CHECKING:
    import networkx

LONGEST_TEXT = 60
NOTHING_TO_RUN = "nothing to run, the rows are there"


def graph_of(sections: Sequence[ExplainedSection]) -> networkx.DiGraph:
    """A node ``section.register`` for each operator, an edge from each input to what reads it; results of sections are edges between these."""
    import networkx

    graph = networkx.DiGraph()
    last: dict[str, str] = {}
    for section in sections:
        places: dict[str, str] = {}
        for node in section.nodes:
            if node.section is not None and node.section in last:
                places[node.register] = last[node.section]
                continue
            name = places[node.register] = f"{section.number}.{node.register}"
            about = {"parameters": node.parameters, "columns": node.columns, "length": node.length}
            graph.add_node(name, operator=node.operator, section=section.number, where=section.where, **about)
            for register in node.inputs:
                graph.add_edge(places[register], name)
        if section.nodes:
            last[section.number] = places[section.nodes[-1].register]
    return graph


def short(text: str, most: int = LONGEST_TEXT) -> str:
    """A text, cut where it is long.

    Examples
    --------
    >>> short("abcdefgh", 6)
    'abc...'
    """
    return text if len(text) <= most else text[: most - 3] + "..."


def mermaid_of(sections: Sequence[ExplainedSection]) -> str:
    """A Mermaid flowchart with a subgraph for each section."""
    graph = graph_of(sections)
    numbers = {name: f"n{number}" for number, name in enumerate(graph)}
    lines = ["flowchart BT", *([] if sections else [f'  n0["{NOTHING_TO_RUN}"]'])]
    for section in sections:
        lines.append(f'  subgraph s{section.number.replace(".", "_")}["section {section.number}: {escaped(section.where)}"]')
        for name, data in graph.nodes(data=True):
            if data["section"] == section.number:
                what = f"{data['operator']}<br/>{escaped(short(data['parameters']))}<br/>x {escaped(data['length'])}"
                lines.append(f'    {numbers[name]}["{what}"]')
        lines.append("  end")
    lines += [f"  {numbers[first]} --> {numbers[second]}" for first, second in graph.edges]
    return "\n".join(lines)


def escaped(text: str) -> str:
    """A text in quotes of Mermaid: what has a meaning there as a number.

    Examples
    --------
    >>> escaped('a "b" <c> & #')
    'a #34;b#34; #60;c#62; #38; #35;'
    """
    return "".join(f"#{ord(character)};" if character in '"<>&#`[]{}|\\' else character for character in text)
