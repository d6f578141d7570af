"""Checks of what laws do with an operator because of what it declares: filters go below it, columns and rows are left out, rows are computed alone.

Each declaration is tried by itself, so that a message names it. Then small plans above the operator are rewritten by all laws, and the rows are
compared with those of the plan as it was written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import attrs
import pyarrow as pa

from sframe_spark.errors import ContractBroken
from sframe_spark.expressions.scalar_function_program import Literal, Program, Register, Step
from sframe_spark.operators.elementwise import apply_program
from sframe_spark.operators.project_zip_arrange import project
from sframe_spark.operators.row_selection import filter_by_mask, reverse, slice_rows
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import Need
from sframe_spark.planner.operator_declarations import RowChoice
from sframe_spark.planner.optimizer import Trace
from sframe_spark.rewrite_laws import optimize
from sframe_spark.rewrite_laws.group_join_and_sort_algorithms import IDENTICAL_IF_EQUAL
from sframe_spark.rewrite_laws.projection_pushdown import drop_unread_columns
from sframe_spark.testing.kernel_runs import in_memory, kernel_rows, over_rows, read_all, reordered, rows_of_plan
from sframe_spark.testing.order_claims import rank
from sframe_spark.testing.row_comparison import Rows, demand, difference, multiset, rows_of, same_rows, same_value, shown, shown_rows
from sframe_spark.types import FLOAT_KIND, INT_KIND, STR_KIND

MAX_TESTED_VALUES = 4
"""Values of a column that filters leave out, one at a time."""
MAX_TRIED_COLUMNS = 6
# Values of ordinary filters, by kind of column.
ORDINARY_VALUES = {INT_KIND: 2, FLOAT_KIND: 1.0, STR_KIND: "b"}


def check_declared_rewrites(node: PlannerNode, chunk: Chunk, rows: Rows) -> None:
    """Check every rewrite that an operator's declarations allow on the rows of a node over sources.

    Raises
    ------
    ContractBroken
        If a rewrite gives other rows; the message names what is declared.
    """
    if not node.inputs:
        return
    check_copied_columns(node, rows)
    check_counts(node, rows)
    check_row_range(node, rows)
    check_filters_below(node, rows)
    check_columns_left_out(node, rows)
    check_plans_above(node, chunk)


def check_rows_alone(node: PlannerNode, rows: Rows) -> None:
    """Check that each row of a ``row_wise`` operator is made of its row of the inputs alone."""
    operator = node.operator
    if not operator.row_wise:
        return
    searched = {slot for slot in range(len(node.inputs)) if operator.requires(slot) is Need.LOOKUP}
    inputs = [read_all(child) for child in node.inputs]
    rule = "a row is made of its row of the inputs alone, since row_wise is True"
    for number in range(len(rows)):
        alone = [chunk if slot in searched else chunk.slice(number, number + 1) for slot, chunk in enumerate(inputs)]
        found = kernel_rows(over_rows(node, alone))
        text = f"the kernel gives {shown_rows(rows[number : number + 1])} for row {number} among all rows, and {shown_rows(found)} for that row alone"
        demand(same_rows(found, rows[number : number + 1]), node, rule, text, "Leave row_wise out where rows see each other or their numbers")


def check_copied_columns(node: PlannerNode, rows: Rows) -> None:
    """Check that output columns are copies of the input columns that ``column_origins`` says, in place where rows stay in place.

    Where no law moves filters or columns because of them, origins are only names of columns, which intervals keep for their labels.
    """
    operator, facts = node.operator, [child.facts for child in node.inputs]
    if not (operator.filtered_slots or operator.arranges_columns or operator.row_wise or operator.row_choice is not None):
        return
    origins = operator.column_origins(facts)
    remedy = "column_origins() gives, for each output column, the (input, column) that it copies, and nothing where it is computed"
    if operator.arranges_columns:
        without = f"{remedy}; leave arranges_columns out where columns are computed"
        copied = len(origins) == len(node.schema) and all(len(item) == 1 for item in origins)
        demand(copied, node, "each column is a column of an input, since arranges_columns is True", f"column_origins() gives {origins}", without)
    in_place = operator.arranges_columns or operator.row_wise
    given = [rows_of(read_all(child), child.schema) for child in node.inputs]
    for output, sources in enumerate(origins[: len(node.schema)]):
        if not sources:
            continue
        rule = f"column {output} is a copy, since column_origins() says that it is {' or '.join(f'column {c} of input {s}' for s, c in sources)}"
        values = [value for slot, column in sources for value in (row[column] for row in given[slot])]
        for number, row in enumerate(rows):
            expected = [values[number]] if in_place and len(sources) == 1 and len(values) == len(rows) else values
            # An outer join fills rows that have no match, and takes keys from either side.
            found = row[output]
            is_there = any(same_value(found, value) for value in expected)
            is_there = is_there or (
                len(node.inputs) > 1 and not in_place and (found is None or any(found in other for rows in given for other in rows))
            )
            demand(is_there, node, rule, f"row {number} has {shown(row[output])}, and the input has {', '.join(map(shown, expected[:8]))}", remedy)


def check_counts(node: PlannerNode, rows: Rows) -> None:
    """Check that an operator that ``makes_one_row`` makes one, and one with ``group_keys`` a row for each group."""
    operator = node.operator
    if operator.makes_one_row:
        demand(len(rows) == 1, node, "there is one row, since makes_one_row is True", f"{len(rows)} rows")
    keys = operator.group_keys
    if keys is not None:
        groups = {tuple(rank(row[key]) for key in keys) for row in rows_of(read_all(node.inputs[0]), node.inputs[0].schema)}
        found = f"{len(rows)} rows for {len(groups)} groups"
        rule = f"there is a row for each group, since group_keys is {list(keys)}"
        demand(len(rows) == len(groups), node, rule, found)
        check_groups_alone(node, keys, rows)


def check_groups_alone(node: PlannerNode, keys: Sequence[int], rows: Rows) -> None:
    """Check that the rows of one group alone give one row, which is among those of all groups, for a few groups."""
    below = read_all(node.inputs[0])
    of_rows = [tuple(rank(row[key]) for key in keys) for row in rows_of(below, node.inputs[0].schema)]
    for group in list(dict.fromkeys(of_rows))[:MAX_TESTED_VALUES]:
        places = [place for place, other in enumerate(of_rows) if other == group]
        found = kernel_rows(over_rows(node, [below.rows_at(pa.array(places, pa.int64()))]))
        is_one = len(found) == 1 and any(same_rows(found[0], row) for row in rows)
        text = f"the rows {shown_rows([rows_of(below, node.inputs[0].schema)[place] for place in places])} alone give {shown_rows(found)}"
        rule = f"a row is made of the rows of its group alone, since group_keys is {list(keys)}"
        remedy = "Leave group_keys out where other groups change a row"
        demand(is_one, node, rule, f"{text}, and all rows give {shown_rows(rows)}", remedy)


def check_row_range(node: PlannerNode, rows: Rows) -> None:
    """Check that the output is the range of input rows that ``row_range`` says."""
    kept = node.operator.row_range
    if kept is None:
        return
    wanted = rows_of(read_all(node.inputs[0]), node.inputs[0].schema)[kept.start : kept.stop : kept.step]
    rule = f"rows are those of the input that row_range says, {kept.start}:{'' if kept.stop is None else kept.stop}:{kept.step}"
    if not same_rows(rows, wanted):
        demand(
            False,
            node,
            rule,
            difference(rows, wanted, "the kernel", "that range of the input"),
            "row_range gives the slice that the kernel keeps, or None",
        )


# A filter of the output, and the same filter of the input.

Test = tuple[str, Callable[[Any], bool]]


def tests_of(values: Sequence[Any]) -> Iterator[Test]:
    """Yield tests that keep some of some values and not others, each with its description."""
    different: dict[Any, Any] = {}
    for value in values:
        different.setdefault(rank(value), value)
    for key, value in list(different.items())[:MAX_TESTED_VALUES]:
        yield f"is not {shown(value)}", partial(_is_other, key)
    if len(different) > 2:
        middle = sorted(different)[len(different) // 2]
        yield f"is more than {shown(different[middle])}", partial(_is_more, middle)


def _is_other(key: Any, value: Any) -> bool:
    return rank(value) != key


def _is_more(key: Any, value: Any) -> bool:
    return rank(value) > key


def check_filters_below(node: PlannerNode, rows: Rows) -> None:
    """Check that filtering an input gives the rows that filtering the output gives, for the inputs in ``filtered_slots``."""
    for slot in node.operator.filtered_slots:
        demand(0 <= slot < len(node.inputs), node, "filtered_slots are inputs", f"{slot} of {len(node.inputs)}")
        for tried in filters_below(node, rows, slot):
            if not same_rows(tried.found, tried.wanted):
                below = f"input {slot}, filtered by 'column {tried.column} {tried.text}',"
                what = difference(tried.found, tried.wanted, below, f"the output, filtered by 'column {tried.output} {tried.text}',")
                rule = (
                    f"a filter of output column {tried.output} may be made of the input, since filtered_slots has {slot} and column_origins() says "
                    f"that it is column {tried.column} there"
                )
                demand(False, node, rule, what, "Leave filtered_slots out where the rows that a filter drops change other rows")


@attrs.frozen(eq=False)
class FilterTried:
    """A filter of one output column, below an operator and above it: the column, that of the input, the filter as text, and the rows of both."""

    output: int
    column: int
    text: str
    found: Rows
    wanted: Rows


def filters_below(node: PlannerNode, rows: Rows, slot: int) -> Iterator[FilterTried]:
    """Try filters of each output column that is a column of an input, which laws move below an operator if its ``filtered_slots`` has the input."""
    operator, inputs = node.operator, [read_all(child) for child in node.inputs]
    given = rows_of(inputs[slot], node.inputs[slot].schema)
    for output, sources in enumerate(operator.column_origins([child.facts for child in node.inputs])[: len(node.schema)]):
        columns = [column for origin, column in sources if origin == slot]
        if not columns or (operator.group_keys is not None and node.schema[output] not in IDENTICAL_IF_EQUAL):
            continue
        for text, test in tests_of([row[output] for row in rows]):
            kept = [number for number, row in enumerate(given) if test(row[columns[0]])]
            chunk = inputs[slot].rows_at(pa.array(kept, pa.int64()))
            found = kernel_rows(over_rows(node, [chunk if place == slot else other for place, other in enumerate(inputs)]))
            yield FilterTried(output, columns[0], text, found, [row for row in rows if test(row[output])])


# Columns that nobody reads.


def check_columns_left_out(node: PlannerNode, rows: Rows) -> None:
    """Check that some columns alone are what they are among all, as ``input_columns`` and ``over_columns`` say."""
    width = len(node.schema)
    tried = tried_columns(width)
    choices = [[column] for column in tried] + ([[c for c in range(width) if c != column] for column in tried] if width > 2 else [])
    for outputs in choices:
        plan = drop_unread_columns(project(node, outputs))
        wanted = [tuple(row[column] for column in outputs) for row in rows]
        _require_same(node, _columns_alone(node, outputs, plan), wanted, outputs)


def tried_columns(width: int) -> list[int]:
    """Return the columns that are tried one by one: all, or some of many.

    Examples
    --------
    >>> tried_columns(3), tried_columns(40)
    ([0, 1, 2], [0, 1, 13, 26, 38, 39])
    """
    return list(range(width)) if width <= MAX_TRIED_COLUMNS else sorted({0, 1, width // 3, 2 * width // 3, width - 2, width - 1})


def _columns_alone(node: PlannerNode, outputs: Sequence[int], plan: PlannerNode | None) -> Rows | None:
    try:
        return rows_of_plan(plan or project(node, outputs))
    except ContractBroken:
        raise
    except Exception as error:
        rule, remedy = _about_columns(node, outputs)
        raise ContractBroken(node, rule, f"{type(error).__name__}: {error}", remedy) from error


def _require_same(node: PlannerNode, found: Rows | None, wanted: Rows, outputs: Sequence[int]) -> None:
    if found is not None and not same_rows(found, wanted):
        rule, remedy = _about_columns(node, outputs)
        demand(False, node, rule, f"of these columns, {difference(found, wanted, 'alone it', 'among all columns it')}", remedy)


def _about_columns(node: PlannerNode, outputs: Sequence[int]) -> tuple[str, str]:
    """Return the rule for output columns that are computed alone, and what the operator says about them."""
    facts = [child.facts for child in node.inputs]
    read = [sorted(set(columns)) for columns in node.operator.input_columns(outputs, facts)]
    changed = node.operator.over_columns(outputs, read, facts)
    says = "None" if changed is None else f"{changed[0].name}[{changed[0].describe()}] with the columns {list(changed[1])}"
    rule = f"the output columns {list(outputs)} are the same if no others are computed"
    remedy = (
        f"input_columns({list(outputs)}) says that they are made of the columns {read}, a list for each input; over_columns() gives {says}. "
        "Name all columns of which they are made, or leave both methods out: then all columns are read"
    )
    return rule, remedy


# Plans above the operator, which all laws rewrite.


def check_plans_above(node: PlannerNode, chunk: Chunk) -> None:
    """Check that plans above a node, once all laws have rewritten them, have the rows of the same plans above the rows of the kernel."""
    alone = in_memory(chunk, node.schema)
    for (title, plan), (_, naive) in zip(plans_above(node, chunk.rows), plans_above(alone, chunk.rows), strict=True):
        trace = Trace()
        try:
            found = rows_of_plan(optimize(plan, trace=trace))
        except Exception as error:
            remedy = f"Laws believe what the operator declares. Those that fired: {', '.join(trace.counts()) or 'none'}"
            raise ContractBroken(node, f"laws do not change {title}", f"{type(error).__name__}: {error}", remedy) from error
        wanted = rows_of_plan(naive)
        if found is not None and wanted is not None and not same_rows(found, wanted):
            remedy = f"Laws believe what the operator declares. Those that fired: {', '.join(trace.counts()) or 'none'}"
            demand(False, node, f"laws do not change {title}", difference(found, wanted, "the rewritten plan", "the plan as it was written"), remedy)


def plans_above(node: PlannerNode, rows: int) -> Iterator[tuple[str, PlannerNode]]:
    """Yield plans with a node at the bottom, each with what it is: filters, slices, reversed rows, and columns of these."""
    width = len(node.schema)
    for column in tried_columns(width):
        kind, known = node.schema[column], filtered_by(node, column, "is_not_missing")
        yield f"the rows where column {column} is not missing", known
        if width > 1:
            other = (column + 1) % width
            yield f"column {other} of the rows where column {column} is not missing", project(known, [other])
        if kind.kind in ORDINARY_VALUES:
            value = ORDINARY_VALUES[kind.kind]
            for function in ("not_equal", "less"):
                yield f"the rows where column {column} is {function.replace('_', ' ')} {value!r}", filtered_by(node, column, function, value)
    yield f"the rows from 0 to {rows // 3}", slice_rows(node, 0, rows // 3)
    yield f"the rows from {rows // 3} on", slice_rows(node, rows // 3, None)
    yield "every other row", slice_rows(node, 1, None, 2)
    yield "the rows in reverse order", reverse(node)
    for column in tried_columns(width):
        yield f"column {column} of every other row", slice_rows(project(node, [column]), 0, None, 2)


def filtered_by(node: PlannerNode, column: int, function: str, *values: Any) -> PlannerNode:
    """Return the rows for which a scalar function of one column is true."""
    literals = [Literal(value, node.schema[column]) for value in values]
    program = Program(len(node.schema), (Step(function, (Register(column), *literals)),), (Register(len(node.schema)),))
    return filter_by_mask(node, apply_program(node, program))


def check_row_choice(node: PlannerNode, rows: Rows) -> None:
    """Check that output rows are the input rows that ``row_choice`` says.

    Raises
    ------
    ContractBroken
        If a row is none of these, or one of these is missing.
    """
    choice, width = node.operator.row_choice, len(node.schema)
    if choice is None or not width:
        return
    slots = [slot for slot, _ in node.operator.column_origins([child.facts for child in node.inputs])[0]]
    given = [row[:width] for slot in slots for row in rows_of(read_all(node.inputs[slot]), node.inputs[slot].schema)]
    left = list(given)
    text = f"{shown_rows(rows)} of {shown_rows(given)}"
    for row in rows:
        place = next((index for index, other in enumerate(left) if same_rows(other, row)), -1)
        demand(place >= 0, node, f"output rows are input rows, since row_choice says {choice.name}", text)
        # A row is taken once; filters and unions take none from before the last one.
        left = left[place + 1 :] if choice in (RowChoice.FILTER, RowChoice.UNITE) else [*left[:place], *left[place + 1 :]]
    is_complete = len(rows) == len(given) or choice in (RowChoice.FILTER, RowChoice.OTHER)
    demand(is_complete, node, f"all input rows are output rows, since row_choice says {choice.name}", text)


def check_order_needs(node: PlannerNode, rows: Rows, run: Callable[[PlannerNode], Rows]) -> None:
    """Check that the order of input rows does not matter where the operator says so.

    Raises
    ------
    ContractBroken
        If another order gives another result.
    """
    for slot in range(len(node.inputs)):
        need = node.operator.requires(slot)
        if need not in (Need.ANY, Need.INHERITED):
            continue
        for name, order in other_orders(read_all(node.inputs[slot]).rows):
            found = run(reordered(node, slot, order))
            same = same_rows(found, rows) if need is Need.ANY else same_rows(multiset(found), multiset(rows))
            text = f"in their order {shown_rows(rows)}, {name} {shown_rows(found)}"
            remedy = "Say Need.ORDERED where rows depend on the order of the input"
            demand(same, node, f"the rows of input {slot} may come in any order, since requires() says {need.name}", text, remedy)


def other_orders(rows: int) -> list[tuple[str, list[int]]]:
    """Return other orders of some rows, with a name for each.

    Examples
    --------
    >>> other_orders(4)
    [('reversed', [3, 2, 1, 0]), ('every other one first', [0, 2, 1, 3]), ('from the middle on', [2, 3, 0, 1])]
    """
    numbers = list(range(rows))
    return [
        ("reversed", numbers[::-1]),
        ("every other one first", [*numbers[::2], *numbers[1::2]]),
        ("from the middle on", [*numbers[rows // 2 :], *numbers[: rows // 2]]),
    ]
