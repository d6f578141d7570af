"""An explained plan as plain data: sections, their operators, and what became of them. Text and pictures are made of it."""

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
        Its name in the plan's text.
    operator, parameters
        Name and parameters of the operator.
    inputs
        Registers of the nodes that it reads.
    columns
        Names, as far as they are known, and types of its columns.
    length
        How many rows it has, as far as that is known.
    section
        Number of the section whose rows it stands for; None of an operator.
    """

    register: str
    operator: str
    parameters: str
    inputs: tuple[str, ...]
    columns: str
    length: str
    section: str | None = None

    def line(self) -> str:
        """The node as a line of a plan's text, which :mod:`sframe_spark.testing.plan_parser` reads."""
        return f"{self.register} := {self.operator}[{self.parameters}]({', '.join(self.inputs)})  # ({self.columns}) x {self.length}"


@attrs.frozen
class ExplainedSection:
    """One section of a plan.

    Parameters
    ----------
    number
        Its number.
    where
        Where it runs.
    reason
        Why its rows have to be there.
    reads
        Numbers of the sections whose rows it reads.
    nodes
        Its operators, inputs first.
    rows, size
        How many rows it has, at most, and about how many bytes they take, before it runs; None where nothing is known.
    exchanged
        Of a Spark query that exchanges rows: into how many partitions, and why; None of other sections.
    alternatives
        What may be decided otherwise as it runs.
    outcomes
        What became of it: none before it ran, several where it was tried, or planned again.
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
    """The operators of a plan, inputs first."""
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
    """The sections of a plan, with what became of them if they ran."""
    by_number: dict[str, list[SectionOutcome]] = {}
    for outcome in outcomes:
        by_number.setdefault(outcome.number.partition(".")[0], []).append(outcome)
    return [explained(section, names, by_number) for section in sections]


def explained(section: Section, names: ColumnNames, outcomes: Mapping[str, Sequence[SectionOutcome]]) -> ExplainedSection:
    """One section of a plan."""
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
    """Names of columns of sections: those of the result are known, and what reads a section's rows has names for them."""
    wanted: dict[int, tuple[str | None, ...]] = {id(sections[-1]): tuple(top)} if sections else {}
    for section in reversed(sections):
        names.add(section.root, wanted.get(id(section), ()))
        for node in postorder([section.root]):
            if isinstance(node.operator, SectionResult):
                key, found = id(node.operator.section), names.known.get(id(node), ())
                wanted[key] = tuple(old or new for old, new in zip(wanted.get(key, (None,) * len(found)), found, strict=True))
    # What a section makes of columns that others have names for has names too.
    for section in sections:
        for node in postorder([section.root]):
            if isinstance(node.operator, SectionResult):
                names.add(node, names.known.get(id(node.operator.section.root), ()))
        names.add(section.root, ())
    return names
