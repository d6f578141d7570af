"""Explained plans as plain data: sections, their operators and how they ran, from which text and pictures are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from sframe_spark.config import config
from sframe_spark.engine.execution.run_log import SectionOutcome
from sframe_spark.engine.physical.sections import Mode, Section, SectionResult
from sframe_spark.engine.spark.query import said_of_exchanges
from sframe_spark.explain.column_names import ColumnNames
from sframe_spark.message_text import visible
from sframe_spark.operators.sort import MAX_TIES
from sframe_spark.planner.graph import postorder, sizes_of
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.plan_serialization import columns_text, registers_of
from sframe_spark.planner.row_sizes import row_bytes


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
        For a placeholder: the number of the section whose result it stands for; None for an operator.
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
    outcomes: tuple[SectionOutcome, ...] = ()


def explained_nodes(root: PlannerNode, names: ColumnNames | None = None) -> list[ExplainedNode]:
    """Return the operators of a plan as plain data, inputs first."""
    registers = registers_of(root)
    name = None if names is None else names.known_name
    return [
        ExplainedNode(
            registers[id(node)],
            node.operator_type,
            visible(node.operator.describe()),
            tuple(registers[id(child)] for child in node.inputs),
            columns_text(node, name),
            str(node.length),
            node.operator.section.number if isinstance(node.operator, SectionResult) else None,
        )
        for node in postorder([root])
    ]


def explained_sections(sections: Sequence[Section], names: ColumnNames, outcomes: Sequence[SectionOutcome] = ()) -> list[ExplainedSection]:
    """Return the sections of a plan as plain data, with their outcomes if they ran."""
    by_number: dict[str, list[SectionOutcome]] = {}
    for outcome in outcomes:
        by_number.setdefault(outcome.number.partition(".")[0], []).append(outcome)
    return [explained(section, names, by_number) for section in sections]


def explained(section: Section, names: ColumnNames, outcomes: Mapping[str, Sequence[SectionOutcome]]) -> ExplainedSection:
    """Return a section of a plan as plain data."""
    rows = section.root.length.at_most
    size = None if rows is None else int(rows * row_bytes(sizes_of(section.root)[id(section.root)], 0))
    return ExplainedSection(
        section.number,
        section.mode.value,
        section.reason,
        tuple(below.number for below in section.inputs),
        tuple(explained_nodes(section.root, names)),
        rows,
        size,
        said_of_exchanges(section.root) if section.mode is Mode.QUERY else None,
        tuple(alternative.text(config.small_rows, MAX_TIES) for alternative in section.alternatives),
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
