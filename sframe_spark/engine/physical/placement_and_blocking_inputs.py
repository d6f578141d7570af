"""Placement: which nodes run as kernels over row ranges and which as a Spark query, what must be materialised before, and where kernels run.

Kernels run on the driver, in threads, in worker processes or in Spark tasks.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

import attrs

from sframe_spark.engine import costs
from sframe_spark.errors import PlanInvariantError
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.operators.user_function_calls_and_result_memos import calls_plugins_safe_in_threads, functions_of
from sframe_spark.planner.graph_traversal import fold, postorder
from sframe_spark.planner.node import PlannerNode, is_builtin
from sframe_spark.planner.operator import Need, Operator, SequentialOperator, has_lowering
from sframe_spark.planner.operator_declarations import RowChoice, SourceKind
from sframe_spark.types import ColumnType

with lazy_imports(globals()):
    from sframe_spark.engine.physical.site import Site
    from sframe_spark.engine.size_estimates_batch_sizes_and_memory_reservations import plan_size_of
    from sframe_spark.operators.elementwise import calls_python
    from sframe_spark.operators.sources.segment_row_ranges import lacks_key

# Lists and dicts: some operators decode them in Python, others only move them or compute them with Arrow.


def moves_only(node: PlannerNode) -> bool:
    """Return whether an operator decodes no lists or dicts in Python: it only moves them, or Arrow computes them."""
    return not any(kind.is_list_or_dict for kind in _types_in_python(node))


def makes_plainly(node: PlannerNode) -> bool:
    """Return whether an operator computes its results without Python objects of lists or dicts: it reads none, and gives none but those it moves."""
    computed = _computed_by_python(node)
    are_plain = node.operator.makes_one_row or not any(node.schema[position].is_encoded for position in computed)
    return are_plain and not any(kind.is_list_or_dict for kind in _types_read(node, computed))


def _types_in_python(node: PlannerNode) -> Iterator[ColumnType]:
    """Yield the types of columns that an operator may decode or compute in Python; none if no column has lists or dicts."""
    if not any(kind.is_list_or_dict for schema in (node.schema, *(child.schema for child in node.inputs)) for kind in schema):
        return
    if node.inputs:
        computed = _computed_by_python(node)
        yield from (node.schema[position] for position in computed)
        yield from _types_read(node, computed)
    elif node.operator.source_kind is SourceKind.ENCODED_FILES:
        # The node reads an archive of Turi Create.
        yield from node.schema
    elif lacks_key(node.operator):
        # The node reads external files, in which some types have no Arrow type.
        yield from (kind for kind in node.schema if kind.is_encoded)


def _computed_by_python(node: PlannerNode) -> list[int]:
    """Return the positions of output columns that Python may compute: neither moved from an input with the same type, nor computed by Arrow."""
    facts = [child.facts for child in node.inputs]
    by_arrow = frozenset(node.operator.computed_by_arrow(facts))
    moved = {
        position
        for position, (kind, origins) in enumerate(zip(node.schema, node.operator.column_origins(facts), strict=False))
        if origins and all(facts[slot].schema[column] == kind for slot, column in origins)
    }
    return [position for position in range(len(node.schema)) if position not in moved | by_arrow]


def _types_read(node: PlannerNode, outputs: list[int]) -> Iterator[ColumnType]:
    """Yield the types of the columns that some outputs are computed from, and of keys."""
    operator, schemas = node.operator, [child.schema for child in node.inputs]
    if outputs:
        for schema, columns in zip(schemas, operator.input_columns(outputs, [child.facts for child in node.inputs]), strict=True):
            yield from (schema[column] for column in columns if 0 <= column < len(schema))
    yield from (schemas[0][key] for key in operator.group_keys or ())
    if operator.joining is not None:
        yield from (schemas[slot][key] for pair in operator.joining.keys for slot, key in pair)


@attrs.frozen
class Placement:
    """How a node can run, given the placements of its inputs.

    Parameters
    ----------
    segment
        True if it runs as kernels over row ranges, False if it runs as a Spark query.
    coordinate
        An identity of the row numbering. Nodes with equal identities have as many rows as each other in every range of base rows, so that
        their columns can be put side by side; base rows are the rows of the section's first source. ``"dense"`` means that rows are
        numbered from zero, without gaps.
    stateless
        Whether there is no running state below, so that any interval can be computed alone.
    base_rows
        The number of base rows of the section; None for a query, or if it is unknown before another section has run.
    """

    segment: bool
    coordinate: Hashable = "dense"
    stateless: bool = True
    base_rows: int | None = None

    @property
    def rows_to_run(self) -> int:
        """The number of base rows of a section that is about to run.

        Raises
        ------
        PlanInvariantError
            If it is unknown.
        """
        if self.base_rows is None:
            raise PlanInvariantError("a section cannot run over rows that have not been counted: this is a fault of the engine, please report it")
        return self.base_rows

    @property
    def dense(self) -> bool:
        """Whether rows are numbered from zero, without gaps."""
        return self.coordinate == "dense"


def placement_over(node: PlannerNode, inputs: list[Placement]) -> Placement | None:
    """Return the placement of a node over placed inputs; None if an input must be materialised first (see :func:`blocking_inputs`)."""
    operator = node.operator
    if operator.is_source:
        return Placement(True, base_rows=node.length.rows)
    if not operator.has_kernel:
        return Placement(False)
    if blocking_inputs(node, inputs):
        return None
    if any(not item.segment for item in inputs):
        return Placement(False)
    stateless = all(item.stateless for item in inputs) and not isinstance(operator, SequentialOperator)
    coordinate = inputs[0].coordinate
    base_rows = inputs[0].base_rows
    if operator.keeps_dense and coordinate == "dense":
        base_rows = node.length.rows
    elif not (operator.row_wise or operator.keeps_domain):
        coordinate = (coordinate, id(node))
    return Placement(True, coordinate, stateless, base_rows)


def placed_over(node: PlannerNode, inputs: list[Placement]) -> Placement:
    """Return the placement of a node none of whose inputs has to be materialised first.

    Raises
    ------
    PlanInvariantError
        If an input has to be materialised first.
    """
    placement = placement_over(node, inputs)
    if placement is None:
        raise PlanInvariantError(f"{node.operator_type} cannot run over its inputs as they are: this is a fault of the engine, please report it")
    return placement


def placement_of(root: PlannerNode) -> Placement:
    """Return the placement of the last node of a section."""
    return fold([root], placed_over)[id(root)]


def placement_alone(root: PlannerNode) -> Placement | None:
    """Return the placement of the last node of a plan; None if something below it has to be materialised first."""

    def over(node: PlannerNode, inputs: list[Placement | None]) -> Placement | None:
        placed = [item for item in inputs if item is not None]
        return placement_over(node, placed) if len(placed) == len(inputs) else None

    return fold([root], over)[id(root)]


def blocking_inputs(node: PlannerNode, inputs: list[Placement]) -> list[int]:
    """Return the slots whose inputs must be materialised before a node's kernel can run over row ranges.

    A Spark query blocks an operator that depends on row order, and a filtered input blocks one that reads rows by number. Inputs that are not aligned
    with each other block an operator that needs aligned inputs. An input in which an operator looks up rows blocks the operator unless it is a
    source. An operator that no Spark query can contain is blocked by any query.
    """
    operator = node.operator
    needs = [operator.requires(slot) for slot in range(len(inputs))]
    if operator.row_choice is RowChoice.UNITE:
        # Kernels need rows that are numbered without gaps. If an input is a query, the union is a query and nothing blocks.
        return [slot for slot, item in enumerate(inputs) if not (item.dense and item.stateless)] if all(item.segment for item in inputs) else []
    blocked = [
        slot
        for slot, (need, item) in enumerate(zip(needs, inputs, strict=True))
        if (need is Need.DENSE and not (item.segment and item.dense and item.stateless))
        or (need is Need.SEQUENTIAL and not item.segment)
        or (need is Need.LOOKUP and not node.inputs[slot].operator.is_source)
        or (Need.LOOKUP in needs and not item.segment)
        or not (item.segment or has_lowering(operator))
    ]
    if Need.ALIGNED in needs:
        aligned = len({item.coordinate for item in inputs}) == 1 and all(item.segment for item in inputs)
        if not aligned:
            blocked += [s for s, item in enumerate(inputs) if not (item.segment and item.dense) and s not in blocked]
    # A sort in a Spark query computes its rows twice, as Spark samples them first, so the query should not contain expensive expressions or users'
    # functions.
    if operator.row_wise and (too_long_for_spark(node) or calls_python(node)):
        blocked += [s for s, item in enumerate(inputs) if not item.segment and s not in blocked]
    return blocked


def why_blocked(node: PlannerNode, slot: int, placement: Placement) -> str:
    """Return, for explain(), why an input of a node must be materialised first."""
    need = node.operator.requires(slot)
    if need is Need.LOOKUP:
        return f"{node.operator_type} searches its rows"
    if not (placement.segment or has_lowering(node.operator)):
        return f"{node.operator_type} has no Spark lowering, so that kernels read its rows"
    if node.operator.row_wise and not placement.segment and need is not Need.ALIGNED:
        if calls_python(node):
            return f"{node.operator_type} calls a function of the user's, which a Spark query might call twice"
        return f"{node.operator_type} has too many steps for one Spark query"
    if need is Need.SEQUENTIAL:
        return f"{node.operator_type} goes through its rows in order"
    if need is Need.ALIGNED:
        return f"{node.operator_type} reads rows of several inputs by the same numbers"
    return f"{node.operator_type} reads its rows by number"


def runs_whole_here(operator: Operator) -> bool:
    """Return whether only this process can compute an operator, by a kernel of all its rows, as it has no Spark lowering."""
    return not operator.has_kernel and operator.whole_kernel is not None and not has_lowering(operator)


def too_long_for_spark(node: PlannerNode) -> bool:
    """Return whether an expression has too many steps for one Spark query."""
    return node.operator.spark_cost.steps > costs.MAX_STEPS_IN_SPARK


def spark_can_inline(root: PlannerNode) -> bool:
    """Return whether a section can be part of a Spark query: it has only sources with row keys, operators that can be inlined, and few branches."""
    branches = fold([root], lambda node, inputs: sum(inputs) if inputs else 1)
    if branches[id(root)] > costs.MAX_BRANCHES_IN_SPARK:
        return False
    operators = [node.operator for node in postorder([root])]
    if any(lacks_key(operator) for operator in operators):
        return False
    spark_costs = [operator.spark_cost for operator in operators if not operator.is_source]
    return all(cost.is_inlined and cost.steps <= costs.MAX_STEPS_IN_SPARK for cost in spark_costs)


def is_small(root: PlannerNode, site: Site, budgets: int = 1) -> bool:
    """Return whether a section has so few rows, and at most so many memory budgets of bytes, that its kernels run on the driver."""
    plan_size = plan_size_of(root) if site.small_rows else None
    return plan_size is not None and plan_size.rows <= site.small_rows and plan_size.size <= budgets * site.memory_budget


def streams_faster_locally(root: PlannerNode, site: Site) -> bool:
    """Return whether few but long rows stream through the driver in less time than Spark needs to start."""
    return not site.is_spark_started and not any(map(functions_of, postorder([root]))) and is_small(root, site, costs.BUDGETS_STREAMED)


def suits_threads(root: PlannerNode, site: Site) -> bool:
    """Return whether threads run a plan as well as Spark's tasks, which are on this machine or lack its files: it has only built-in kernels.

    Users' functions, and decoding in Python, block other threads, so they are worth a process for each core.
    """
    return (site.is_alone or (bool(site.small_rows) and site.is_spark_local)) and are_for_threads(root)


def runs_on_other_machines(site: Site) -> bool:
    """Return whether Spark uses, or would use, other machines, and these can take part."""
    return not site.is_alone and not site.is_spark_local


def are_for_threads(root: PlannerNode) -> bool:
    """Return whether a plan has only built-in kernels that decode nothing in Python."""
    nodes = list(postorder([root]))
    return all(map(is_for_threads, nodes)) and all(map(moves_only, nodes))


def suits_processes(site: Site) -> bool:
    """Return whether worker processes are used instead of Spark tasks: on this machine, while Spark is neither running nor requested, or useless."""
    is_without_spark = site.is_alone or (bool(site.small_rows) and not site.is_spark_requested and site.is_spark_local)
    return is_without_spark and site.can_start_processes


def needs_this_process(site: Site) -> bool:
    """Return whether users' functions must be called in this process, as no Python interpreter can be started."""
    return (site.is_alone or (bool(site.small_rows) and site.is_spark_local)) and not site.has_interpreter


def is_for_threads(node: PlannerNode) -> bool:
    """Return whether threads may run an operator at the same time: it calls no users' functions, and plug-ins only if they are thread-safe."""
    return not functions_of(node) and is_thread_safe(node)


def is_thread_safe(node: PlannerNode) -> bool:
    """Return whether an operator and all that it calls are built-in, or of a plug-in that lets threads call it; users' functions are allowed."""
    operator = node.operator
    return (is_builtin(type(operator)) or operator.threads) and not operator.runs_python and calls_plugins_safe_in_threads(node)


def is_at_hand(root: PlannerNode, site: Site) -> bool:
    """Return whether all input rows are in the driver's memory, so that processing them there is faster than sending them to Spark.

    False if users' functions are called, as several cores are worth it for these.
    """
    plan_size = plan_size_of(root) if site.small_rows else None
    if plan_size is None or plan_size.rows > costs.MAX_ROWS_AT_HAND or plan_size.size > costs.BUDGETS_AT_HAND * site.memory_budget:
        return False
    nodes = list(postorder([root]))
    return all(bool(node.inputs) or node.operator.source_kind is SourceKind.MEMORY for node in nodes) and not any(
        calls_python(node) for node in nodes
    )
