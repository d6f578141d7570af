"""Laws that drop columns nobody reads, as close to the sources as possible."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from sframe_spark.operators.asof_join import AsofJoin
from sframe_spark.operators.assumed_order import AssumeOrder
from sframe_spark.operators.columns import Zip, project, zip_columns
from sframe_spark.operators.elementwise import GeneralizedTransform
from sframe_spark.operators.groupby import Aggregation, GroupBy, Reduce
from sframe_spark.operators.join import Join
from sframe_spark.operators.key_window import KeyWindow
from sframe_spark.operators.merge_sorted import MergeSorted
from sframe_spark.operators.rows import Append, FilterRows
from sframe_spark.operators.running import Running
from sframe_spark.operators.sort import Sort, TopRows
from sframe_spark.operators.sources import Source
from sframe_spark.operators.streaming_groupby import StreamingGroupBy
from sframe_spark.operators.suffix_sort import SuffixSort
from sframe_spark.planner.law import law
from sframe_spark.planner.node import PlannerNode

# Operators below which a projection can go; a projection is only put above one of these.
NARROWABLE = (
    *(Source, FilterRows, Append, AssumeOrder, Sort, SuffixSort, TopRows, Join, GroupBy, StreamingGroupBy),
    *(GeneralizedTransform, AsofJoin, KeyWindow, MergeSorted, Running),
)


def used_of_inputs(node: PlannerNode, used: Sequence[int]) -> list[tuple[PlannerNode, list[int]]]:
    """For each input of a zip the positions that are used of it, ascending."""
    result = []
    offset = 0
    for item in node.inputs:
        result.append((item, sorted({position - offset for position in used if offset <= position < offset + item.facts.width})))
        offset += item.facts.width
    return result


def can_narrow(node: PlannerNode, used: Sequence[int]) -> bool:
    """True when some column of the node is not used and a projection would go further down."""
    pending = [(node, list(used))]
    while pending:
        current, positions = pending.pop()
        if isinstance(current.operator, Zip):
            parts = used_of_inputs(current, positions)
            if any(not part for _, part in parts):
                return bool(positions)
            pending += parts
        elif takes_projection(current, positions):
            return True
    return False


def takes_projection(node: PlannerNode, used: Sequence[int]) -> bool:
    """True when some column of the node, which is no zip, is not used and a projection would go further down."""
    if not 0 < len(used) < node.facts.width or not isinstance(node.operator, NARROWABLE):
        return False
    if isinstance(node.operator, Source):
        return node.operator.with_columns(used) is not None
    if isinstance(node.operator, (Sort, SuffixSort, TopRows)):
        return len({*used, *(position for position, _ in node.operator.by)}) < node.facts.width
    if isinstance(node.operator, (GroupBy, StreamingGroupBy)):
        return any(position not in used for position in range(len(group_columns(node.operator)), node.facts.width))
    if isinstance(node.operator, MergeSorted):
        return len({*used, *node.operator.positions}) < node.facts.width
    if isinstance(node.operator, Join):
        return len({*used, *node.operator.left_keys}) < node.facts.width
    return True


@law("generalized_transform(x) = generalized_transform(project(x, used))", stage="pushdown", on="generalized_transform")
def narrow_program(node: PlannerNode) -> PlannerNode | None:
    """A program asks only for the columns it reads."""
    assert isinstance(node.operator, GeneralizedTransform)
    program = node.operator.computation.without_dead_steps()
    used = program.used_inputs()
    child = node.inputs[0]
    if not can_narrow(child, used):
        return None
    renamed = program.with_inputs({old: new for new, old in enumerate(used)} | _unused(program.width, used), len(used))
    return GeneralizedTransform(renamed).make_planner_node(project(child, used))


def _unused(width: int, used: Sequence[int]) -> dict[int, int]:
    return {position: 0 for position in range(width) if position not in set(used)}


@law("project(source, c) = source of c", stage="pushdown", on="project")
def project_into_source(node: PlannerNode) -> PlannerNode | None:
    """A source reads only the columns asked for."""
    source = node.inputs[0].operator
    narrowed = source.with_columns(node.operator_parameters["positions"]) if isinstance(source, Source) else None
    return None if narrowed is None else narrowed.make_planner_node()


@law("project(generalized_transform(x), c) = generalized_transform of c (x)", stage="pushdown", on="project")
def project_into_program(node: PlannerNode) -> PlannerNode | None:
    """Steps that nobody reads are not computed."""
    child = node.inputs[0]
    if not isinstance(child.operator, GeneralizedTransform):
        return None
    program = child.operator.computation.pruned(node.operator_parameters["positions"])
    return GeneralizedTransform(program).make_planner_node(child.inputs[0])


@law("project(zip(x, y), c) = zip(project(x, c), project(y, c))", stage="pushdown", on="project")
def project_below_zip(node: PlannerNode) -> PlannerNode | None:
    """Inputs give only the columns asked for; one that gives none is left out."""
    child = node.inputs[0]
    positions = node.operator_parameters["positions"]
    if not isinstance(child.operator, Zip) or not can_narrow(child, positions):
        return None
    parts: list[PlannerNode] = []
    places: dict[int, int] = {}
    offset = 0
    for item, used in used_of_inputs(child, positions):
        places.update({position + offset: len(places) + i for i, position in enumerate(used)})
        parts += [project(item, used)] if used else []
        offset += item.facts.width
    return project(zip_columns(*parts), [places[position] for position in positions])


@law("project(append(x, y), c) = append(project(x, c), project(y, c))", stage="pushdown", on="project")
def project_below_append(node: PlannerNode) -> PlannerNode | None:
    """Each input gives only the columns asked for."""
    child = node.inputs[0]
    if not isinstance(child.operator, Append):
        return None
    positions = node.operator_parameters["positions"]
    # One projection per distinct input, so that a frame appended to itself stays one node.
    projected = {id(item): project(item, positions) for item in child.inputs}
    return Append().make_planner_node(*[projected[id(item)] for item in child.inputs])


@law("project(sort(x, by), c) = project(sort(project(x, c and by), by), c)", stage="pushdown", on="project")
def project_below_sort(node: PlannerNode) -> PlannerNode | None:
    """Columns that are neither read nor sorted by are not sorted."""
    child = node.inputs[0]
    positions = node.operator_parameters["positions"]
    if not isinstance(child.operator, (Sort, SuffixSort, TopRows)) or not can_narrow(child, positions):
        return None
    kept = sorted({*positions, *(position for position, _ in child.operator.by)})
    places = {old: new for new, old in enumerate(kept)}
    by = tuple((places[position], ascending) for position, ascending in child.operator.by)
    rows = attrs.evolve(child.operator, by=by).make_planner_node(project(child.inputs[0], kept))
    return project(rows, [places[position] for position in positions])


@law("project(group_by(x), c) = project(group_by of c (x), c)", stage="pushdown", on="project")
def project_into_group_by(node: PlannerNode) -> PlannerNode | None:
    """Aggregates that nobody reads are not computed."""
    child = node.inputs[0]
    positions = node.operator_parameters["positions"]
    if not isinstance(child.operator, (GroupBy, StreamingGroupBy)) or not can_narrow(child, positions):
        return None
    width = len(group_columns(child.operator))
    kept = sorted({position for position in positions if position >= width})
    places = {position: position for position in range(width)} | {old: width + new for new, old in enumerate(kept)}
    aggregations = tuple(child.operator.aggregations[position - width] for position in kept)
    grouped = attrs.evolve(child.operator, aggregations=aggregations).make_planner_node(*child.inputs)
    return project(grouped, [places[position] for position in positions])


@law("group_by(x) = group_by(project(x, used))", stage="pushdown", on=("group_by", "streaming_group_by", "reduce"))
def narrow_aggregation(node: PlannerNode) -> PlannerNode | None:
    """Grouping reads only keys and aggregated columns."""
    operator = node.operator
    assert isinstance(operator, (GroupBy, StreamingGroupBy, Reduce))
    used = sorted({*group_columns(operator), *(position for a in operator.aggregations for position in a.positions)})
    used = used or [0]
    if not can_narrow(node.inputs[0], used):
        return None
    places = {old: new for new, old in enumerate(used)}
    aggregations = tuple(moved(aggregation, places) for aggregation in operator.aggregations)
    rows = project(node.inputs[0], used)
    if isinstance(operator, Reduce):
        return Reduce(aggregations).make_planner_node(rows)
    keys = tuple(places[key] for key in operator.keys)
    if isinstance(operator, GroupBy):
        return GroupBy(keys, aggregations).make_planner_node(rows)
    return StreamingGroupBy(keys, aggregations, tuple(places[key] for key in operator.within)).make_planner_node(rows)


def group_columns(operator: GroupBy | StreamingGroupBy | Reduce) -> tuple[int, ...]:
    """Input columns that tell output rows apart; they come first in the output."""
    if isinstance(operator, Reduce):
        return ()
    return operator.keys if isinstance(operator, GroupBy) else operator.grouped


def moved(aggregation: Aggregation, places: dict[int, int]) -> Aggregation:
    """The aggregation over columns that have other positions now."""
    return attrs.evolve(aggregation, positions=tuple(places[position] for position in aggregation.positions))


@law("project(join(x, y), c) = project(join(project(x, c and keys), project(y, c and keys)), c)", stage="pushdown", on="project")
def project_below_join(node: PlannerNode) -> PlannerNode | None:
    """Each side gives its keys and the columns asked for."""
    child = node.inputs[0]
    positions = node.operator_parameters["positions"]
    if not isinstance(child.operator, Join):
        return None
    operator = child.operator
    left, right = child.inputs
    values = operator.right_values(right.facts.width)
    kept_left = sorted({p for p in positions if p < left.facts.width} | set(operator.left_keys))
    wanted = [values[p - left.facts.width] for p in sorted(set(positions)) if p >= left.facts.width]
    kept_right = sorted({*wanted, *operator.right_keys})
    if len(kept_left) == left.facts.width and len(kept_right) == right.facts.width:
        return None
    a, b = {old: new for new, old in enumerate(kept_left)}, {old: new for new, old in enumerate(kept_right)}
    joined = Join(tuple(a[k] for k in operator.left_keys), tuple(b[k] for k in operator.right_keys), operator.how).make_planner_node(
        project(left, kept_left), project(right, kept_right)
    )
    places = {old: a[old] for old in kept_left}
    places.update({left.facts.width + values.index(p): len(kept_left) + i for i, p in enumerate(sorted(wanted))})
    return project(joined, [places[position] for position in positions])


@law("project(project(x, a), b) = project(x, b of a)", stage="pushdown", on="project")
def merged_projections(node: PlannerNode) -> PlannerNode | None:
    """Picking from picked columns is one pick; picking all is none."""
    child = node.inputs[0]
    positions = node.operator_parameters["positions"]
    if positions == tuple(range(child.facts.width)):
        return child
    if child.operator_type != "project":
        return None
    return project(child.inputs[0], [child.operator_parameters["positions"][position] for position in positions])
