"""Explanation, the result of ``explain()``: a plan as text, SVG picture, Mermaid flowchart or networkx graph, and the plain data behind them."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from sframe_spark.config import config
from sframe_spark.engine import costs
from sframe_spark.engine.execution.run_log import SectionOutcome
from sframe_spark.engine.shapes.sample import SAMPLE
from sframe_spark.engine.shapes.section_tree import Section, SectionResult, Workers
from sframe_spark.engine.spark.shuffle_partitions import explanation_of_exchanges
from sframe_spark.errors import MissingLibraryError
from sframe_spark.explain.column_names import ColumnNames
from sframe_spark.message_text import in_words, visible
from sframe_spark.operators.sort_top_rows_and_assumed_order import MAX_TIES
from sframe_spark.optional_libraries import import_library
from sframe_spark.planner.graph_traversal import postorder, sizes_of
from sframe_spark.planner.printed_plans import columns_text, registers_of
from sframe_spark.planner.row_sizes import row_bytes
from sframe_spark.redaction import redacted

if TYPE_CHECKING:
    import networkx


# Explained plans as plain data: sections, their operators and how they ran. Text and pictures are made of these.


@attrs.frozen
class ExplainedNode:
    """One operator of a section.

    Parameters
    ----------
    register
        The name of its register in the text of the plan.
    operator, parameters
        The name and the parameters of the operator.
    inputs
        The registers of its inputs.
    columns
        The types of its columns, with their names as far as they are known.
    length
        Its number of rows, as far as it is known.
    section
        For a placeholder, the number of the section whose result it stands for; None for an operator.
    """

    register: str
    operator: str
    parameters: str
    inputs: tuple[str, ...]
    columns: str
    length: str
    section: str | None = None

    def line(self) -> str:
        """Return the node as a line of a plan's text, which :mod:`sframe_spark.testing.plan_parser` can parse."""
        return f"{self.register} := {self.operator}[{self.parameters}]({', '.join(self.inputs)})  # ({self.columns}) x {self.length}"


@attrs.frozen
class ExplainedSection:
    """One section of a plan.

    Parameters
    ----------
    number
        Its number.
    where
        How it runs, and where.
    reason
        Why it runs before the sections that read it.
    reads
        The numbers of the sections whose rows it reads.
    nodes
        Its operators, inputs first.
    rows, size
        Upper bounds of its number of rows and its bytes before it runs; None if unknown.
    exchanged
        For a Spark query that exchanges rows: the number of partitions and the reason for it; None for other sections.
    alternatives
        What may be decided differently while it runs.
    is_alone
        Whether Spark cannot take part.
    outcomes
        How it ran: empty before it ran, several outcomes if it was tried again or planned again.
    """

    number: str
    where: str
    reason: str
    reads: tuple[str, ...]
    nodes: tuple[ExplainedNode, ...]
    rows: int | None
    size: int | None
    exchanged: str | None
    alternatives: tuple[str, ...]
    is_alone: bool
    outcomes: tuple[SectionOutcome, ...] = ()


def explained_sections(sections: Sequence[Section], names: ColumnNames, outcomes: Sequence[SectionOutcome] = ()) -> list[ExplainedSection]:
    """Return the sections of a plan as plain data, with their outcomes if they ran."""
    by_number: dict[str, list[SectionOutcome]] = {}
    for outcome in outcomes:
        by_number.setdefault(outcome.number.partition(".")[0], []).append(outcome)
    return [explained(section, names, by_number) for section in sections]


def explained(section: Section, names: ColumnNames, outcomes: Mapping[str, Sequence[SectionOutcome]]) -> ExplainedSection:
    """Return a section of a plan as plain data."""
    root, registers = section.root, registers_of(section.root)
    nodes = [
        ExplainedNode(
            registers[id(node)],
            node.operator_type,
            visible(names.in_parameters(node, node.operator.describe())),
            tuple(registers[id(child)] for child in node.inputs),
            columns_text(node, names.known_name),
            str(node.length),
            node.operator.section.number if isinstance(node.operator, SectionResult) else None,
        )
        for node in postorder([root])
    ]
    rows = root.length.at_most
    if section.shape == SAMPLE and rows is not None:
        rows = min(rows, costs.VALUES_OF_RANGE_SAMPLE)
    return ExplainedSection(
        section.number,
        section.strategy.text,
        section.reason,
        tuple(below.number for below in section.inputs),
        tuple(nodes),
        rows,
        None if rows is None else int(rows * row_bytes(sizes_of(root)[id(root)], 0)),
        explanation_of_exchanges(root) if section.workers is Workers.SPARK else None,
        tuple(alternative.text(config.small_rows, MAX_TIES) for alternative in section.alternatives),
        section.is_alone,
        tuple(outcomes.get(section.number, ())),
    )


def names_of_sections(sections: Sequence[Section], top: Sequence[str], names: ColumnNames) -> ColumnNames:
    """Add names of the columns of sections.

    The names of the result are given; other sections' columns are named after the columns of their readers.
    """
    names_of: dict[int, tuple[str | None, ...]] = {id(sections[-1]): tuple(top)} if sections else {}
    for section in reversed(sections):
        names.add(section.root, names_of.get(id(section), ()))
        for node in postorder([section.root]):
            if isinstance(node.operator, SectionResult):
                key, known = id(node.operator.section), names.known.get(id(node), ())
                names_of[key] = tuple(old or new for old, new in zip(names_of.get(key, (None,) * len(known)), known, strict=True))
    # Columns of a section that come from named columns of other sections get names, too.
    for section in sections:
        for node in postorder([section.root]):
            if isinstance(node.operator, SectionResult):
                names.add(node, names.known.get(id(node.operator.section.root), ()))
        names.add(section.root, ())
    return names


# The plan as a graph.

MAX_TEXT = 60
NOTHING_TO_RUN = "nothing to run, the rows are there"


def graph_of(sections: Sequence[ExplainedSection]) -> networkx.DiGraph:
    """Return a graph with a node ``section.register`` for each operator, and an edge from each input to its reader.

    If a section reads the result of another section, there is an edge from the last operator of that section.
    """
    graph: networkx.DiGraph = import_library("networkx").DiGraph()
    last: dict[str, str] = {}
    for section in sections:
        names: dict[str, str] = {}
        for node in section.nodes:
            if node.section is not None and node.section in last:
                names[node.register] = last[node.section]
                continue
            name = names[node.register] = f"{section.number}.{node.register}"
            about = {"parameters": node.parameters, "columns": node.columns, "length": node.length}
            graph.add_node(name, operator=node.operator, section=section.number, where=section.where, **about)
            for register in node.inputs:
                graph.add_edge(names[register], name)
        if section.nodes:
            last[section.number] = names[section.nodes[-1].register]
    return graph


def short(text: str, max_length: int = MAX_TEXT) -> str:
    """Return a string, truncated if it is longer than ``max_length``.

    Examples
    --------
    >>> short("abcdefgh", 6)
    'abc...'
    """
    return text if len(text) <= max_length else text[: max_length - 3] + "..."


def mermaid_of(sections: Sequence[ExplainedSection]) -> str:
    """Return a Mermaid flowchart with a subgraph for each section."""
    graph = graph_of(sections)
    numbers = {name: f"n{number}" for number, name in enumerate(graph)}
    lines = ["flowchart BT", *([] if sections else [f'  n0["{NOTHING_TO_RUN}"]'])]
    for section in sections:
        lines.append(f'  subgraph s{section.number.replace(".", "_")}["section {section.number}: {escaped(section.where)}"]')
        for name, data in graph.nodes(data=True):
            if data["section"] == section.number:
                label = f"{data['operator']}<br/>{escaped(short(data['parameters']))}<br/>x {escaped(data['length'])}"
                lines.append(f'    {numbers[name]}["{label}"]')
        lines.append("  end")
    lines += [f"  {numbers[first]} --> {numbers[second]}" for first, second in graph.edges]
    return "\n".join(lines)


def escaped(text: str) -> str:
    """Return a string escaped for use between quotes in Mermaid: special characters become numbers.

    Examples
    --------
    >>> escaped('a "b" <c> & #')
    'a #34;b#34; #60;c#62; #38; #35;'
    """
    return "".join(f"#{ord(character)};" if character in '"<>&#`[]{}|\\' else character for character in text)


# The plan as a picture. Sections are bands, in the order of execution from the bottom up; operators are in layers, and edges are routed between
# boxes.

BOX_WIDTH, BOX_HEIGHT, WAY_WIDTH = 300, 58, 24
GAP_ACROSS, GAP_UP, MARGIN, TITLE = 22, 34, 20, 26
MAX_LINE = 46
# With more boxes than this the picture would be unreadable, so each section becomes one box.
MAX_BOXES = 250
SWEEPS = 6
COLOURS = {"driver": "#eef6ee", "Spark tasks": "#eef3fb", "Spark query": "#fbf3e6"}


@attrs.frozen
class Position:
    """The position of a box or of a bend of an edge: its layer, counted from the bottom, its left edge and its width."""

    layer: int
    left: float
    width: float

    @property
    def middle(self) -> float:
        """The horizontal middle of the box."""
        return self.left + self.width / 2


def svg_of(sections: Sequence[ExplainedSection], title: str = "") -> str:
    """Return an SVG picture of the plan."""
    graph = graph_of(sections)
    if len(graph) > MAX_BOXES:
        graph = graph_of_sections(sections)
    bands = bands_of(graph, sections)
    layers = {name: layer for _, _, layer_of in bands for name, layer in layer_of.items()}
    ways = with_bends(graph, layers)
    rows = ordered(ways, layers)
    positions = placed(rows, layers)
    height_of = heights(bands, len(rows))
    width = max([position.left + position.width for position in positions.values()], default=BOX_WIDTH) + MARGIN
    total = height_of[-1] + MARGIN + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {total:g}" width="{width:g}" height="{total:g}" '
        'font-family="sans-serif" font-size="11" fill="#1f2328">',
        # Paper of its own, as the page around it may be dark.
        f'<rect width="{width:g}" height="{total:g}" rx="8" fill="#fcfdfe"/>',
        f'<text x="{MARGIN}" y="22" font-size="15">{html.escape(title)}</text>',
        *([] if sections else [f'<text x="{MARGIN}" y="42">{NOTHING_TO_RUN}</text>']),
        *(band(section, first, count, height_of, total, width) for section, (first, count, _) in zip(sections, bands, strict=True)),
        *(edge(way, positions, height_of, total) for way in ways.graph["ways"]),
        *(box(graph.nodes[name], positions[name], total - height_of[positions[name].layer]) for name in graph),
    ]
    return "\n".join([*parts, "</svg>"])


def graph_of_sections(sections: Sequence[ExplainedSection]) -> networkx.DiGraph:
    """Return a graph with a node for each section, for plans with very many operators."""
    graph: networkx.DiGraph = import_library("networkx").DiGraph()
    for section in sections:
        last = section.nodes[-1]
        operators = f"{len(section.nodes)} operators, the last {last.operator}"
        graph.add_node(section.number, operator=operators, parameters="", columns=last.columns, length=last.length, section=section.number)
        graph.add_edges_from((number, section.number) for number in section.reads if number in graph)
    return graph


def bands_of(graph: networkx.DiGraph, sections: Sequence[ExplainedSection]) -> list[tuple[int, int, dict[Any, int]]]:
    """Return for each section its lowest layer, its number of layers, and the layer of each of its operators."""
    networkx = import_library("networkx")
    bands: list[tuple[int, int, dict[Any, int]]] = []
    first = 0
    for section in sections:
        own = graph.subgraph([name for name, data in graph.nodes(data=True) if data["section"] == section.number])
        layers = list(networkx.topological_generations(own)) or [[]]
        bands.append((first, len(layers), {name: first + level for level, names in enumerate(layers) for name in names}))
        first += len(layers)
    return bands


def with_bends(graph: networkx.DiGraph, layers: dict[Any, int]) -> networkx.DiGraph:
    """Return the graph with a bend in every layer that an edge crosses; ``graph["ways"]`` has the points of each edge.

    The layers of bends are added to ``layers``.
    """
    networkx = import_library("networkx")
    ways = networkx.DiGraph()
    ways.add_nodes_from(graph)
    ways.graph["ways"] = []
    for number, (first, second) in enumerate(graph.edges):
        points = [first]
        for layer in range(layers[first] + 1, layers[second]):
            points.append((number, layer))
            layers[(number, layer)] = layer
        points.append(second)
        networkx.add_path(ways, points)
        ways.graph["ways"].append(points)
    return ways


def ordered(ways: networkx.DiGraph, layers: dict[Any, int]) -> list[list[Any]]:
    """Return the boxes and bends of each layer from left to right, each placed near the middle of its neighbours in the adjacent layers."""
    rows: list[list[Any]] = [[] for _ in range(max(layers.values(), default=-1) + 1)]
    for name in ways:
        rows[layers[name]].append(name)
    for sweep in range(SWEEPS):
        neighbours = ways.predecessors if sweep % 2 == 0 else ways.successors
        middle = {name: (index + 0.5) / len(row) for row in rows for index, name in enumerate(row)}
        for row in rows if sweep % 2 == 0 else reversed(rows):
            wanted = {}
            for name in row:
                near = [middle[other] for other in neighbours(name)]
                wanted[name] = sum(near) / len(near) if near else middle[name]
            row.sort(key=wanted.__getitem__)
            middle.update({name: (index + 0.5) / len(row) for index, name in enumerate(row)})
    return rows


def placed(rows: Sequence[Sequence[Any]], layers: dict[Any, int]) -> dict[Any, Position]:
    """Return the positions of boxes and bends; each layer is centred."""
    widths = [sum(width_of(name) + GAP_ACROSS for name in row) - GAP_ACROSS for row in rows]
    widest = max(widths, default=0)
    positions = {}
    for row, width in zip(rows, widths, strict=True):
        left = MARGIN * 2 + (widest - width) / 2
        for name in row:
            positions[name] = Position(layers[name], left, width_of(name))
            left += width_of(name) + GAP_ACROSS
    return positions


def width_of(name: Any) -> float:
    """Return the width of a box, or of the channel in which an edge passes between boxes."""
    return WAY_WIDTH if isinstance(name, tuple) else BOX_WIDTH


def heights(bands: Sequence[tuple[int, int, dict[Any, int]]], layers: int) -> list[float]:
    """Return the height of the upper edge of each layer's boxes, and as last item the total height; bands have space for their titles."""
    tops, height = [], float(MARGIN)
    starts = {first for first, _, _ in bands}
    for layer in range(layers):
        height += GAP_UP if layer not in starts else GAP_UP / 2
        height += BOX_HEIGHT
        tops.append(height)
        if layer + 1 in starts or layer + 1 == layers:
            height += TITLE + 8
    return [*tops, height]


def band(section: ExplainedSection, first: int, count: int, height_of: Sequence[float], total: float, width: float) -> str:
    """Return the SVG of a section's band, with its title."""
    colour = next((colour for start, colour in COLOURS.items() if section.where.startswith(start)), "#f4f4f4")
    bottom, top = height_of[first] - BOX_HEIGHT - 10, height_of[first + count - 1] + TITLE
    text = short(f"section {section.number}: {section.where}: {section.reason}", max(40, int(width / 6.2)))
    return (
        f'<rect x="{MARGIN / 2:g}" y="{total - top:g}" width="{width - MARGIN:g}" height="{top - bottom:g}" rx="10" fill="{colour}" stroke="#ccd"/>'
        f'<text x="{MARGIN}" y="{total - top + 17:g}" font-style="italic" fill="#446">{html.escape(text)}</text>'
    )


def edge(points: Sequence[Any], positions: dict[Any, Position], height_of: Sequence[float], total: float) -> str:
    """Return the SVG of an edge: from the top of a box, through channels between boxes, to the bottom of another box."""
    first = positions[points[0]]
    x, y = first.middle, total - height_of[first.layer]
    path = [f"M {x:g} {y:g}"]
    for name in points[1:]:
        position = positions[name]
        low, high = total - height_of[position.layer] + BOX_HEIGHT, total - height_of[position.layer]
        path.append(f"C {x:g} {(y + low) / 2:g}, {position.middle:g} {(y + low) / 2:g}, {position.middle:g} {low:g}")
        x, y = position.middle, low
        if isinstance(name, tuple):
            path.append(f"L {x:g} {high:g}")
            y = high
    return f'<path d="{" ".join(path)}" fill="none" stroke="#889"/>'


def box(data: dict[str, Any], position: Position, top: float) -> str:
    """Return the SVG of an operator's box, with its name, parameters, length and columns."""
    rows = f"{data['length']} rows of ({data['columns']})"
    lines = [
        f'<rect x="{position.left:g}" y="{top:g}" width="{position.width:g}" height="{BOX_HEIGHT}" rx="6" fill="#ffffff" stroke="#557"/>',
        f'<text x="{position.left + 10:g}" y="{top + 17:g}" font-weight="bold">{html.escape(short(data["operator"], MAX_LINE))}</text>',
        f'<text x="{position.left + 10:g}" y="{top + 33:g}">{html.escape(short(data["parameters"], MAX_LINE))}</text>',
        f'<text x="{position.left + 10:g}" y="{top + 49:g}" fill="#667">{html.escape(short(rows, MAX_LINE))}</text>',
    ]
    return "".join(lines)


class Explanation(str):
    """A plan as text, which can also be drawn as a picture, a diagram or a graph.

    In a terminal and in ``print`` it is text; a notebook shows the picture above the text.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> plan = (SFrame({"day": [1, 2, 2]})["day"] + 1).explain()
    >>> [section.where for section in plan.sections]
    ['driver']
    >>> plan.mermaid().splitlines()[0]
    'flowchart BT'
    >>> sorted(data["operator"] for _, data in plan.to_networkx().nodes(data=True))
    ['generalized_transform', 'memory_source']
    """

    __slots__ = ("heading", "sections")
    sections: tuple[ExplainedSection, ...]
    heading: str

    @classmethod
    def of(cls, text: str, sections: Sequence[ExplainedSection], heading: str = "") -> Explanation:
        """Return an explanation made of a text and the sections of its plan."""
        # Spark's description of a user's DataFrame may contain addresses with credentials.
        explanation = cls(redacted(text))
        explanation.sections, explanation.heading = tuple(sections), heading
        return explanation

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return str.__str__(self)

    def __reduce__(self) -> tuple[object, ...]:
        return Explanation.of, (str(self), self.sections, self.heading)

    def svg(self, title: str | None = None) -> str:
        """Return the plan as an SVG picture: sections are bands, in the order in which they run, from the bottom up.

        Parameters
        ----------
        title
            The title above the picture; None shows the columns of the result.
        """
        return svg_of(self.sections, self.heading if title is None else visible(title))

    def mermaid(self) -> str:
        """Return the plan as a Mermaid flowchart, for pages that can render one."""
        return mermaid_of(self.sections)

    def to_networkx(self) -> networkx.DiGraph:
        """Return the plan as a graph: a node for each operator, an edge from each to its reader; the section is an attribute of the node."""
        return graph_of(self.sections)

    def _repr_html_(self) -> str:
        try:
            picture = self.svg() if self.sections else ""
        except MissingLibraryError as error:
            picture = html.escape(str(error))
        return f'<div style="overflow-x: auto">{picture}</div><pre style="white-space: pre">{html.escape(str(self))}</pre>'


WITHOUT_SPARK = "its machines do not see files that the plan reads, or share no directory for its rows"


def physical_lines(sections: Sequence[ExplainedSection]) -> list[str]:
    """Return the physical plan as lines, section by section."""
    if not sections:
        return [f"-- physical plan: {NOTHING_TO_RUN}"]
    lines = [f"-- physical plan: {len(sections)} section{'s' if len(sections) > 1 else ''}"]
    for section in sections:
        plural = "s" if len(section.reads) > 1 else ""
        reads = f", reads section{plural} {', '.join(section.reads)}" if section.reads else ""
        lines.append(f"section {section.number}: {section.where}{reads}: {section.reason}")
        lines += [f"    {node.line()}" for node in section.nodes]
        lines.append(f"  makes {estimate(section)}")
        lines += [f"  exchanges: {section.exchanged}"] if section.exchanged is not None else []
        lines += [f"  without Spark: {WITHOUT_SPARK}"] if section.is_alone else []
        lines += [f"  or: {alternative}" for alternative in section.alternatives]
        lines += [f"  {what_ran(outcome, section)}" for outcome in section.outcomes]
    return lines


def estimate(section: ExplainedSection) -> str:
    """Return, in words, what is known about the number and size of a section's rows before it runs."""
    if section.rows is None:
        return "any number of rows"
    size = "" if section.size is None else f", about {in_words(section.size)}"
    exactly = section.nodes[-1].length == str(section.rows)
    return f"{'' if exactly else 'at most '}{section.rows} rows{size if exactly else size.replace('about', 'at most about')}"


def what_ran(outcome: SectionOutcome, section: ExplainedSection | None = None) -> str:
    """Return how a section ran, in one line."""
    how = outcome.strategy.text
    where = how if section is None or how != section.where else ""
    number = "" if section is not None and outcome.number == section.number else f"{outcome.number} "
    operators = "" if section is not None and not number else f" ({', '.join(outcome.operators)})"
    if outcome.is_given_up and outcome.rows is None:
        return f"ran {number}{how}{operators}: given up after {outcome.seconds:.3f} s"
    parts = [f"{outcome.rows} rows"]
    if outcome.size is not None:
        parts[0] += f" ({in_words(outcome.size)}{' on disk' if outcome.is_on_disk else ' in memory'})"
    parts.append(f"{outcome.seconds:.3f} s")
    if outcome.tasks:
        parts.append(f"{outcome.tasks} task{'s' if outcome.tasks != 1 else ''}")
    if outcome.tasks and outcome.spilled is not None:
        parts.append(f"{in_words(outcome.spilled)} spilled")
    if outcome.queries is not None and outcome.queries > 1:
        parts.append(f"{outcome.queries} queries, as the first had not all digits of its sums")
    discarded = ", thrown away: it ran again otherwise" if outcome.is_given_up else ""
    instead = f", instead of: {outcome.instead_of.text}" if outcome.instead_of and outcome.instead_of != outcome.strategy else ""
    return f"ran {number}{where}{operators}{': ' if where or number else ''}{', '.join(parts)}{instead}{discarded}".replace("ran : ", "ran: ")


def run_lines(outcomes: Sequence[SectionOutcome]) -> list[str]:
    """Return how all sections ran, one line for each, in the order in which they ended."""
    return [f"section {what_ran(outcome).removeprefix('ran ')}: {outcome.reason}" for outcome in outcomes] or ["nothing ran"]
