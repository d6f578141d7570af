"""What ``explain`` gives: a plan as text that is also a picture, a diagram and a graph."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sframe_spark.engine.execution.run_log import Outcome
from sframe_spark.explain.graph import NOTHING_TO_RUN, graph_of, mermaid_of
from sframe_spark.explain.picture import svg_of
from sframe_spark.explain.plan_tree import ExplainedSection
from sframe_spark.message_text import in_words, visible
from sframe_spark.redaction import redacted

if TYPE_CHECKING:
    import networkx


class Explanation(str):
    """A plan as text, by sections as pictures and graphs.

    In a terminal and in ``print`` it is its text; a notebook shows the picture above the text.

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
        """The explanation with a text and the sections of its plan."""
        # What Spark says of a user's DataFrame may quote where it reads.
        made = cls(redacted(text))
        made.sections, made.heading = tuple(sections), heading
        return made

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return str.__str__(self)

    def __reduce__(self) -> tuple[object, ...]:
        return Explanation.of, (str(self), self.sections, self.heading)

    def svg(self, title: str | None = None) -> str:
        """The plan as a picture in SVG: sections as bands, in the order in which they run from the bottom up.

        Parameters
        ----------
        title
            What stands above it; None: the columns of the result.
        """
        return svg_of(self.sections, self.heading if title is None else visible(title))

    def mermaid(self) -> str:
        """The plan as a Mermaid flowchart, for pages that render these."""
        return mermaid_of(self.sections)

    def to_networkx(self) -> networkx.DiGraph:
        """The plan as a graph: a node for each operator, an edge from each to what reads it, with the sections as attributes."""
        return graph_of(self.sections)

    def _repr_html_(self) -> str:
        picture = self.svg() if self.sections else ""
        return f'<div style="overflow-x: auto">{picture}</div><pre style="white-space: pre">{html.escape(str(self))}</pre>'


def physical_lines(sections: Sequence[ExplainedSection]) -> list[str]:
    """The physical plan as text, section by section."""
    lines = [f"-- physical plan: {len(sections)} section{'s' if len(sections) != 1 else ''}"]
    if not sections:
        return [f"-- physical plan: {NOTHING_TO_RUN}"]
    for section in sections:
        reads = f", reads {listed(section.reads)}" if section.reads else ""
        lines.append(f"section {section.number}: {section.where}{reads}: {section.reason}")
        lines += [f"    {node.line()}" for node in section.nodes]
        lines.append(f"  makes {estimate(section)}")
        lines += [f"  exchanges: {section.exchanged}"] if section.exchanged is not None else []
        lines += [f"  or: {alternative}" for alternative in section.alternatives]
        lines += [f"  {what_ran(outcome, section)}" for outcome in section.outcomes]
    return lines


def listed(numbers: Sequence[str]) -> str:
    """Sections by their numbers."""
    return f"section {numbers[0]}" if len(numbers) == 1 else f"sections {', '.join(numbers)}"


def estimate(section: ExplainedSection) -> str:
    """What is known of the rows of a section before it runs."""
    if section.rows is None:
        return "any number of rows"
    size = "" if section.size is None else f", about {in_words(section.size)}"
    exactly = section.nodes[-1].length == str(section.rows)
    return f"{'' if exactly else 'at most '}{section.rows} rows{size if exactly else size.replace('about', 'at most about')}"


def what_ran(outcome: Outcome, section: ExplainedSection | None = None) -> str:
    """What became of a section, in a line."""
    where = outcome.mode.value if section is None or outcome.mode.value != section.where else ""
    number = "" if section is not None and outcome.number == section.number else f"{outcome.number} "
    operators = "" if section is not None and not number else f" ({', '.join(outcome.operators)})"
    if outcome.is_given_up and outcome.rows is None:
        return f"ran {number}{where or outcome.mode.value}{operators}: given up after {outcome.seconds:.3f} s"
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
    given_up = ", thrown away: it ran again otherwise" if outcome.is_given_up else ""
    instead = f", instead of: {outcome.instead_of.value}" if outcome.instead_of and outcome.instead_of is not outcome.mode else ""
    return f"ran {number}{where}{operators}{': ' if where or number else ''}{', '.join(parts)}{instead}{given_up}".replace("ran : ", "ran: ")


def run_lines(outcomes: Sequence[Outcome]) -> list[str]:
    """What ran, section by section, in the order in which they ended."""
    return [f"section {what_ran(outcome).removeprefix('ran ')}: {outcome.reason}" for outcome in outcomes] or ["nothing ran"]
