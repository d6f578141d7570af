"""What may be decided otherwise while a section runs, as it depends on what is not known before."""

from __future__ import annotations

from sframe_spark.engine.matches import is_to_be_counted
from sframe_spark.engine.sections import Alternative, Mode, Section, SectionResult
from sframe_spark.operators.grouped.groupby import GroupBy
from sframe_spark.operators.relational.suffix_sort import SuffixSort
from sframe_spark.planner.graph import postorder


def alternatives_of(section: Section) -> list[Alternative]:
    """What is announced of a section."""
    root, mode = section.root, section.mode
    nodes = list(postorder([root]))
    found = []
    if mode is Mode.FIRST_ROWS:
        found.append(Alternative.ALL_ROWS)
    if mode in (Mode.DRIVER, Mode.WHOLE):
        found.append(Alternative.TOO_LARGE)
    # A bound is no number: there may be fewer rows, or shorter ones.
    if mode is not Mode.DONE and any(isinstance(node.operator, SectionResult) for node in nodes):
        found.append(Alternative.FEW_ROWS)
    if any(map(is_to_be_counted, nodes)):
        found.append(Alternative.MATCHES_COUNTED)
    if mode is Mode.QUERY and isinstance(root.operator, GroupBy):
        found.append(Alternative.FEW_GROUPS)
    if any(isinstance(node.operator, SuffixSort) and node.operator.held for node in nodes):
        found.append(Alternative.TOO_MANY_TIES)
    return found
