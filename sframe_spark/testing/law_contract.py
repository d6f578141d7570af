"""The contract kit for laws: rows are the same with a law and without it, of the same types, at every node of plans, whatever is above and below."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import attrs

from sframe_spark.errors import ContractBroken, SFrameError
from sframe_spark.expressions.scalar_function_program import Program, Register, Step
from sframe_spark.message_text import in_full
from sframe_spark.operators.append import append
from sframe_spark.operators.elementwise import apply_program
from sframe_spark.operators.project_zip_arrange import project, zip_columns
from sframe_spark.operators.row_selection import filter_by_mask, reverse, slice_rows
from sframe_spark.operators.sort_top_rows_and_assumed_order import sort_rows
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.law import Law
from sframe_spark.planner.length_and_order_inference import properties_of
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Schema
from sframe_spark.planner.optimizer import Optimizer
from sframe_spark.planner.plugin_loading import active_laws
from sframe_spark.planner.printed_plans import plan_text
from sframe_spark.rewrite_laws import STAGES, builtin_laws
from sframe_spark.testing.generated_inputs import Tables, check_generated, chunk_of, fewest_rows, fixed_tables, tables_text
from sframe_spark.testing.kernel_runs import in_memory, rows_of_plan
from sframe_spark.testing.order_claims import false_claims
from sframe_spark.testing.row_comparison import Rows, difference, same_rows
from sframe_spark.types import ColumnType

# ``build(source, ...)`` returns a plan at which the law applies.
Build = Callable[..., PlannerNode]
Change = Callable[[PlannerNode], PlannerNode]

RANDOM_HISTORIES = 40
"""Random steps below, within and above the plans of a law."""
OTHER_INTS = (0, 1, 2, 3, 7)
"""Values that int parameters of operators are given in turn, besides those of the author."""
MAX_STEPS = 3
REMEDY = "Return None for nodes like this one, or build the plan that the equation means"
REMEDY_OF_TYPES = "A law gives a plan with the columns and types of the node that it is given: return that, or None"


def check_law(rule: Law, builds: Build | Sequence[Build], *inputs: ColumnType | Schema, generated: int = RANDOM_HISTORIES) -> None:
    """Check that plans have the same rows, of the same types, with a law and without it.

    The plans are those of the author, on rows that are made from the types of their inputs; with other values of the int parameters of their
    operators; and with random steps below, between and above these: parts of the rows, filters, sorts, reversed and repeated rows. The law is applied
    by itself at every node, alone to the whole plan, and with all other laws. Nothing is checked against the author's plan after the law: a file of
    golden plans does that.

    Parameters
    ----------
    rule
        The law.
    builds
        One function or several, each from a source for each of the inputs to a plan at which the law applies.
    inputs
        For each input of the plans its column types, or the type of its only column.
    generated
        How many random histories are tried; 0: only the author's plans.

    Raises
    ------
    ContractBroken
        If rows or types differ, or if the law applies nowhere.
    MissingLibraryError
        If Hypothesis is not installed.

    Examples
    --------
    >>> from sframe_spark.plugin import INT, law, reverse
    >>> @law("reverse(reverse(x)) = x", stage="pushdown", on="reverse")
    ... def reversed_twice(node):
    ...     below = node.inputs[0]
    ...     return below.inputs[0] if below.operator_type == "reverse" else None
    >>> check_law(reversed_twice, lambda rows: reverse(reverse(rows)), (INT, INT))
    """
    schemas = [(kinds,) if isinstance(kinds, ColumnType) else tuple(kinds) for kinds in inputs]
    checks = _LawChecks(rule, (builds,) if callable(builds) else tuple(builds), schemas)
    checks.check_plans(generated)
    if not checks.fired:
        remedy = "Let builds make a plan with a node at which the law applies; on= of the law names the operator of that node"
        raise ContractBroken(checks.subject, "it applies to the plans that it is checked on", "it gave None, or the same node, at every node", remedy)


@attrs.define(eq=False)
class _LawChecks:
    """The checks of a law on plans."""

    rule: Law
    builds: Sequence[Build]
    schemas: Sequence[Schema]
    fired: bool = False

    @property
    def subject(self) -> str:
        return f"the law {self.rule.equation!r}"

    def check_plans(self, generated: int) -> None:
        """Check the author's plans on all tables, and their variants and histories on some."""
        others = [law for law in (*builtin_laws(), *active_laws()) if law.equation != self.rule.equation]
        everything = Optimizer(STAGES, [*others, self.rule])
        for build in self.builds:
            check_generated(partial(self.check_all, build, everything), self.schemas, False, max(generated // 2, 1))
        for build in self.builds:
            for variant in self.variants(build, generated):
                for tables in itertools.islice(fixed_tables(self.schemas, False), 3, None):
                    self.check_smallest(variant, tables)

    def check_smallest(self, build: Build, tables: Tables) -> None:
        """Check a plan; a fault is raised with the fewest rows that show it."""
        try:
            self.check_rules(build, tables)
        except ContractBroken as error:
            tables, error = fewest_rows(lambda fewer: self.check_rules(build, fewer), tables, error, False)
            raise error.of(rows=tables_text(tables)) from error.__cause__

    def check_all(self, build: Build, everything: Optimizer, tables: Tables) -> None:
        """Check a plan with the law alone, and with all laws."""
        self.check_rules(build, tables)
        plan = self.plan_over(build, tables)
        self.require_same(plan, lambda: everything.optimize(plan), "all laws together")

    def check_rules(self, build: Build, tables: Tables) -> None:
        """Check the law at every node of a plan by itself, and to the end in its own stage."""
        plan = self.plan_over(build, tables)
        for node in postorder([plan]):
            if self.rule.whole_graph or not self.rule.may_fire({node.operator_type}):
                continue
            self.fired |= self.require_same(node, partial(self.rule, node), "the law at one node")
        alone = Optimizer(STAGES, [self.rule])
        self.fired |= self.require_same(plan, lambda: alone.optimize(plan), "the law, applied until it changes nothing more,")

    def plan_over(self, build: Build, tables: Tables) -> PlannerNode:
        return build(*[in_memory(chunk_of(rows, schema), schema) for rows, schema in zip(tables, self.schemas, strict=True)])

    def require_same(self, plan: PlannerNode, rewrite: Callable[[], PlannerNode | None], what: str) -> bool:
        """Require that a rewritten plan has the rows and types of the plan; return whether it is another plan.

        Raises
        ------
        ContractBroken
            If it has others, or the law fails.
        """
        rule = "rows and types are the same with the law and without it"
        try:
            after = rewrite()
        except Exception as error:
            raise ContractBroken(self.subject, rule, f"{type(error).__name__}: {error}", f"{_text(plan)}\n{REMEDY}") from error
        if after is None or after is plan:
            return False
        plans = f"{_text(plan)}\nbecomes\n{_text(after)}"
        if after.schema != plan.schema:
            found = f"({', '.join(map(str, plan.schema))}) becomes ({', '.join(map(str, after.schema))})"
            raise ContractBroken(self.subject, rule, f"by {what} {found}", f"{plans}\n{REMEDY_OF_TYPES}")
        wanted = self.rows(plan, plans, "without the law")
        rows = self.rows(after, plans, f"by {what}")
        if rows is not None and wanted is not None and not same_rows(rows, wanted):
            raise ContractBroken(self.subject, rule, difference(rows, wanted, f"by {what} the plan", "without it the plan"), f"{plans}\n{REMEDY}")
        wrong = false_claims(properties_of(after), rows) if rows is not None else []
        if wrong:
            raise ContractBroken(self.subject, "what is known of the rewritten plan is true", "; ".join(wrong), f"{plans}\n{REMEDY}")
        return True

    def rows(self, plan: PlannerNode, plans: str, how: str) -> Rows | None:
        """Return the rows of a plan; None if an operator has no kernel."""
        try:
            return rows_of_plan(plan)
        except Exception as error:
            text = f"{how} the plan fails with {type(error).__name__}: {error}"
            raise ContractBroken(self.subject, "plans run with the law and without it", text, f"{plans}\n{REMEDY}") from error

    def variants(self, build: Build, generated: int) -> Iterator[Build]:
        """Yield plans with other int parameters, and with steps below, between and above their operators."""
        places = self.places_of(build)
        if generated:
            yield from (lambda *sources, place=place: _with_ints(build(*sources), *place) for place in self.other_ints(build))
        choose = random.Random(self.rule.equation)
        for _ in range(generated):
            steps = [(choose.randrange(places), choose.choice(CHANGES)) for _ in range(choose.randint(1, MAX_STEPS))]
            yield lambda *sources, steps=steps: _with_steps(build(*sources), steps)

    def places_of(self, build: Build) -> int:
        """Return the number of nodes of a plan."""
        return sum(1 for _ in postorder([self.plan_over(build, [[] for _ in self.schemas])]))

    def other_ints(self, build: Build) -> Iterator[tuple[int, str, int]]:
        """Yield, for each int parameter of a plan's operators, the place of the node, the parameter's name, and another value."""
        plan = self.plan_over(build, [[] for _ in self.schemas])
        for place, node in enumerate(postorder([plan])):
            for field in attrs.fields(type(node.operator)) if node.inputs else ():
                if type(getattr(node.operator, field.name)) is int:
                    yield from ((place, field.name, value) for value in OTHER_INTS)


def _text(plan: PlannerNode) -> str:
    with in_full():
        return plan_text(plan)


def _with_ints(plan: PlannerNode, place: int, name: str, value: int) -> PlannerNode:
    """Return a plan in which one parameter of an operator has another value; the plan itself if the operator refuses it."""

    def changed(number: int, node: PlannerNode) -> PlannerNode:
        if number != place:
            return node
        try:
            return attrs.evolve(node.operator, **{name: value}).make_planner_node(*node.inputs)
        except (SFrameError, TypeError, ValueError, LookupError):
            return node

    return _rebuilt(plan, changed)


def _with_steps(plan: PlannerNode, steps: Sequence[tuple[int, Change]]) -> PlannerNode:
    """Return a plan with steps above some of its nodes."""

    def changed(number: int, node: PlannerNode) -> PlannerNode:
        for place, move in steps:
            if place == number:
                node = move(node)
        return node

    return _rebuilt(plan, changed)


def _rebuilt(plan: PlannerNode, change: Callable[[int, PlannerNode], PlannerNode]) -> PlannerNode:
    """Return a plan whose nodes are changed one after the other, inputs first; a step that an operator above refuses is left out."""
    made: dict[int, PlannerNode] = {}
    for number, node in enumerate(list(postorder([plan]))):
        try:
            above = node.with_inputs([made[id(child)] for child in node.inputs])
        except (SFrameError, TypeError, ValueError, LookupError):
            above = node
        made[id(node)] = change(number, above)
    return made[id(plan)]


def _present(node: PlannerNode) -> PlannerNode:
    """Return the rows whose first column is not missing."""
    mask = apply_program(node, Program(len(node.schema), (Step("is_not_missing", (Register(0),)),), (Register(len(node.schema)),)))
    return filter_by_mask(node, mask)


def _sorted(node: PlannerNode) -> PlannerNode:
    return node if node.schema[0].is_list_or_dict else sort_rows(node, [(0, False)])


# Steps that keep the columns.
CHANGES: Sequence[Change] = (
    lambda node: slice_rows(node, 1, None),
    lambda node: slice_rows(node, 0, 2),
    lambda node: slice_rows(node, 0, None, 2),
    lambda node: slice_rows(node, 0, 0),
    reverse,
    _present,
    _sorted,
    lambda node: append(node, node),
    lambda node: append(slice_rows(node, 2, None), node),
    lambda node: project(zip_columns(node, node), list(range(len(node.schema)))),
)

__all__ = ["check_law"]
