"""What may be decided otherwise while a section runs, as it depends on what is not known before."""

from __future__ import annotations

from sframe_spark.engine.budgets import fits_driver
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.physical.adaptive import is_to_be_counted
from sframe_spark.engine.physical.sections import Alternative, Mode, Section, SectionResult
from sframe_spark.operators.groupby.aggregation import adds_up_floats
from sframe_spark.operators.sort import MOST_TIES
from sframe_spark.operators.udf_calls import calls_users
from sframe_spark.planner.graph import postorder
from sframe_spark.planner.node import PlannerNode


def alternatives_of(section: Section) -> list[Alternative]:
    """What is announced of a section."""
    root, mode = section.root, section.mode
    nodes = list(postorder([root]))
    found = []
    if mode.makes_parts:
        found.append(Alternative.LARGE_PARTS)
    if mode is Mode.FIRST_ROWS:
        found.append(Alternative.ALL_ROWS)
    if mode in (Mode.DRIVER, Mode.WHOLE):
        found.append(Alternative.TOO_LARGE)
    if mode is Mode.THREADS and not fits_driver(root, MaterializeOptions().in_memory):
        found.append(Alternative.KEPT)
    if mode is Mode.GATHERED:
        found.append(Alternative.NO_ROOM)
    if mode is Mode.EXCHANGED:
        found.append(Alternative.EXCHANGE)
    if mode is Mode.JOINED:
        found.append(Alternative.PIECES)
    if mode is Mode.EXCHANGED_BY_TASKS:
        found.append(Alternative.EXCHANGE_OF_TASKS)
    # A bound is no number: there may be fewer rows, or shorter ones.
    if mode is not Mode.DONE and any(isinstance(node.operator, SectionResult) for node in nodes):
        found.append(Alternative.FEW_ROWS)
    if any(map(is_to_be_counted, nodes)):
        found.append(Alternative.MATCHES_COUNTED)
    if mode is Mode.QUERY and root.operator.group_keys is not None:
        found.append(Alternative.FEW_GROUPS)
    if mode is Mode.QUERY and any(map(adds_up_floats, nodes)) and not calls_users(root):
        found.append(Alternative.MORE_DIGITS)
    if any(node.operator.otherwise() is not None and not has_few_rows(node) for node in nodes):
        found.append(Alternative.TOO_MANY_TIES)
    return found


def has_few_rows(node: PlannerNode) -> bool:
    """True for so few rows that they may all tie."""
    return node.length.at_most is not None and node.length.at_most <= MOST_TIES
