"""Lists and dicts that operators only pass on, or that kernels of Arrow's compute: nobody decodes these in Python."""

from __future__ import annotations

from collections.abc import Iterator

from sframe_spark.operators.sources.segment_subset import lacks_key
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import ColumnType


def moves_only(node: PlannerNode) -> bool:
    """True for an operator that Python need not decode lists and dicts for: it chooses rows, puts them in order or joins them, or Arrow computes."""
    return not any(kind.is_list_or_dict for kind in _worked_on(node))


def makes_plainly(node: PlannerNode) -> bool:
    """True where the lists and dicts that an operator makes have a form of Arrow's, or are one, and it reads none otherwise than to pass them on."""
    made = _made(node)
    are_plain = node.operator.makes_one_row or not any(node.schema[place].is_encoded for place in made)
    return are_plain and not any(kind.is_list_or_dict for kind in _read(node, made))


def _worked_on(node: PlannerNode) -> Iterator[ColumnType]:
    if not any(kind.is_list_or_dict for schema in (node.schema, *(child.schema for child in node.inputs)) for kind in schema):
        return
    if not node.inputs:
        yield from _decoded(node)
        return
    made = _made(node)
    yield from (node.schema[place] for place in made)
    yield from _read(node, made)


def _decoded(source: PlannerNode) -> list[ColumnType]:
    """What reading makes in Python: all of an archive of the reference, and in files of others what has no form of Arrow's here."""
    operator = source.operator
    if operator.decodes:
        return list(source.schema)
    return [kind for kind in source.schema if kind.is_encoded] if lacks_key(operator) else []


def _made(node: PlannerNode) -> list[int]:
    """Outputs that Python may make: no values of inputs as they are (a list of numbers among lists of anything is another text), nor Arrow's."""
    facts = [child.facts for child in node.inputs]
    by_arrow = frozenset(node.operator.computed_by_arrow(facts))
    origins = node.operator.values_moved(facts)
    given = {
        place
        for place, (kind, places) in enumerate(zip(node.schema, origins, strict=False))
        if places and all(facts[slot].schema[column] == kind for slot, column in places)
    }
    return [place for place in range(len(node.schema)) if place not in given | by_arrow]


def _read(node: PlannerNode, made: list[int]) -> Iterator[ColumnType]:
    """Types of what outputs are computed of, and of keys that are compared."""
    operator, schemas = node.operator, [child.schema for child in node.inputs]
    if made:
        for schema, columns in zip(schemas, operator.input_columns(made, [child.facts for child in node.inputs]), strict=True):
            yield from (schema[column] for column in columns if 0 <= column < len(schema))
    yield from (schemas[0][key] for key in operator.group_keys or ())
    yield from (schemas[slot][key] for pair in operator.matched_keys() for slot, key in pair)
