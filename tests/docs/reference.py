"""``docs/laws.md``, ``operators.md``, ``elementwise.md`` and ``internals/members.md``, made of the code and of golden plans; run it to write them."""

from __future__ import annotations

import inspect
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sframe_spark
import sframe_spark.operators
from sframe_spark.planner.law import Law
from sframe_spark.planner.operator import Need, Operator
from sframe_spark.planner.operator_declarations import RowChoice, SparkCost
from sframe_spark.planner.registry import BUILTIN_MODULES, planner_node_name_to_type, registered_names
from sframe_spark.rewrite_laws import STAGES, builtin_laws
from sframe_spark.testing.golden_plans_of_laws import LawCase, read_case_files
from sframe_spark.types import ColumnType
from tests.api.members import MEMBERS, ONE_BY_ONE, OTHERS, planned
from tests.docs.elementwise import elementwise_page
from tests.docs.ordered_operations import operations_page
from tests.expressions.functions.row_by_row import is_row_by_row, kernels
from tests.expressions.functions.test_spark_columns import own_functions
from tests.operator_examples import EXAMPLES

ROOT = Path(__file__).parents[2]
FLAGS = (
    *("row_wise", "is_program", "arranges_columns", "streams", "gathers", "makes_one_row"),
    *("keeps_dense", "keeps_domain", "takes_wider"),
)
CHOSEN = {
    RowChoice.FILTER: "rows of the input, each chosen by its own values",
    RowChoice.REORDER: "all rows of the input in another order",
    RowChoice.UNITE: "all rows of all inputs, one input after the other",
    RowChoice.OTHER: "unchanged rows of the inputs",
}
CAPABILITIES = ("joining", "counting", "whole_kernel")
PUBLIC_CLASSES = (
    *(sframe_spark.SFrame, sframe_spark.SArray, sframe_spark.Sketch, sframe_spark.SFrameBuilder, sframe_spark.SArrayBuilder),
    sframe_spark.visualization.Plot,
)
NO_EDIT = "Made by `python -m tests.docs.reference`: change the code, not this page."


def sentence(thing: Any) -> str:
    """The first line of a docstring."""
    return (inspect.getdoc(thing) or "").splitlines()[0]


def wrapped(text: str) -> str:
    """A paragraph in lines of a page."""
    return textwrap.fill(text, 118, break_long_words=False, break_on_hyphens=False)


def laws_page() -> str:
    """All laws by stage: equation, docstring, and the shortest golden pair where it fires."""
    cases = [case for group in read_case_files(ROOT / "tests" / "golden" / "laws").values() for case in group]
    introduction = (
        "The optimizer runs these stages in order, each until none of its laws applies. [Extending](extending.md#a-law) explains how laws are read, "
        "written and tested."
    )
    parts = ["# Laws", NO_EDIT, wrapped(introduction)]
    for stage in STAGES:
        rules = sorted((rule for rule in builtin_laws() if rule.stage == stage.name), key=lambda rule: rule.equation)
        parts += [f"## {stage.name}", wrapped(f"{stage.reason[0].upper()}{stage.reason[1:]}.")]
        parts += [part for rule in rules for part in law_parts(rule, [case for case in cases if case.equation == rule.equation])]
    return "\n\n".join(parts) + "\n"


def law_parts(rule: Law, cases: list[LawCase]) -> Iterator[str]:
    """A law's paragraphs."""
    yield f"### `{rule.equation}`"
    yield wrapped(sentence(rule.rewrite))
    pairs = [case for case in cases if case.output_text is not None]
    if pairs:
        shown = min(pairs, key=lambda case: len(case.input_text) + len(case.output_text or ""))
        yield f"For example, {shown.title}:\n\n```\n{shown.input_text}\n=>\n{shown.output_text}\n```"


def operators_page() -> str:
    """All operators by room: what they do, what they say about themselves, what they ask of their inputs, the order of their rows."""
    rooms: dict[str, list[type[Operator]]] = {}
    for name in registered_names():
        kind = planner_node_name_to_type(name)
        if name in BUILTIN_MODULES:
            package, *rooms_below, _ = kind.__module__.split(".")[1:]
            room = package if package != "operators" else rooms_below[0] if rooms_below else "relational"
            rooms.setdefault(room, []).append(kind)
    introduction = (
        "This page lists what each operator declares; the engine and the laws know nothing else about it. *Needs* is what it requires of the rows "
        "of its inputs. The words are those of `Need` and `Traits` in `planner/`. *Capabilities* are those of `planner/operator_capabilities.py`. "
        "[Extending](extending.md#an-operator-with-state) explains how to write an operator."
    )
    parts = ["# Operators", NO_EDIT, wrapped(introduction)]
    for room, kinds in sorted(rooms.items()):
        parts.append(f"## {room}")
        parts += [part for kind in kinds for part in operator_parts(kind)]
    return "\n\n".join([*parts, *function_parts(), *member_parts()]) + "\n"


def function_parts() -> Iterator[str]:
    """The scalar functions, and how each is computed."""
    one_by_one: dict[str, dict[str, None]] = {}
    for name, types, cells, parameters in kernels():
        if is_row_by_row(name, types, cells, parameters):
            one_by_one.setdefault(name, {}).update(dict.fromkeys(_told(types)))
    yield "## Scalar functions"
    yield wrapped(
        "A scalar function computes one value from the values of a row; members of frames and columns are made from them. Arrow kernels compute all "
        "rows at once, except for the column types in the last column of this table, whose values are handled one by one in Python. If there is a "
        "Spark expression, queries use it for the types that it supports, and use the kernel, on batches of rows, for the others."
    )
    rows = ["| Function | Spark expression | One by one |", "| --- | --- | --- |"]
    for name, function in sorted(own_functions().items()):
        told = ", ".join(sorted(one_by_one.get(name, ())))
        rows.append(f"| `{name}` | {'yes' if function.expression is not None else ''} | {told} |")
    yield "\n".join(rows)


def member_parts() -> Iterator[str]:
    """The members of columns and frames: what they plan, and where Python looks at values."""
    yield "## Members"
    yield wrapped(
        "These tables show what each public member of columns and frames plans: operators, scalar functions and aggregates, which are described "
        "above. They were found by calling the member on columns of numbers, texts, date-times, arrays, lists of texts and dicts of ints. If the "
        "last column is empty, nothing is done row by row in Python; a test counts the calls that are made for more rows."
    )
    for kind in (sframe_spark.SArray, sframe_spark.SFrame):
        yield f"### {kind.__name__}"
        rows = ["| Member | Operators | Functions and aggregates | One by one |", "| --- | --- | --- | --- |"]
        for name in sorted(name for name in dir(kind) if not name.startswith("_")):
            if (told := OTHERS[kind.__name__].get(name)) is not None:
                rows.append(f"| `{name}` | {told} |  |  |")
                continue
            operators, functions = ([f"`{part}`" for part in parts] for parts in planned(MEMBERS[kind.__name__, name]))
            rows.append(f"| `{name}` | {', '.join(operators)} | {', '.join(functions)} | {ONE_BY_ONE.get((kind.__name__, name), '')} |")
        yield "\n".join(rows)


def _told(types: tuple[ColumnType, ...]) -> list[str]:
    """Kinds of columns that describe themselves, that are of several types, or that are of one."""
    if any(column_type.is_encoded for column_type in types):
        return ["mixed lists and dicts"]
    return ["columns of several types"] if len(set(types)) > 1 else [types[0].kind]


def operator_parts(kind: type[Operator]) -> Iterator[str]:
    """An operator's paragraphs."""
    yield f"### `{kind.name}`"
    yield wrapped(sentence(kind))
    flags = [f"`{flag}`" for flag in FLAGS if getattr(kind, flag) is True]
    lines = [f"declares {', '.join(flags)}"] if flags else []
    if kind.row_choice is not None:
        lines.append(f"rows of the output: {CHOSEN[kind.row_choice]}")
    if capabilities := [f"`{name}`" for name in CAPABILITIES if getattr(kind, name) is not None]:
        lines.append(f"capabilities: {', '.join(capabilities)}")
    lines.append(f"computed by {computed_by(kind)}")
    if isinstance(kind.spark_cost, SparkCost) and kind.spark_cost.is_inlined:
        lines.append("costs Spark no more than reading the rows")
    if needs := needs_of(kind):
        lines.append(f"needs {needs}")
    if kind.infer_properties is not Operator.infer_properties:
        lines.append(f"properties of its rows: {row_properties(kind)}")
    yield "\n".join(textwrap.fill(f"* {line}", 118, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False) for line in lines)


def row_properties(kind: type[Operator]) -> str:
    """What it declares about its rows, as a phrase."""
    text = sentence(kind.infer_properties).removeprefix("Return properties: ").removeprefix("Return ")
    return text[0].lower() + text[1:]


def computed_by(kind: type[Operator]) -> str:
    """Where its rows are made."""
    if kind.is_source:
        return "reading rows by number"
    ways = []
    if kind.has_kernel is not False:
        ways.append("a kernel over any range of rows")
    if kind.whole_kernel is not None:
        ways.append("a kernel over all rows")
    if hasattr(kind, "part_of"):
        ways.append("partial results of ranges of rows")
    return ", ".join([*ways, "Spark"] if kind.plan_to_operator is not Operator.plan_to_operator else ways)


def needs_of(kind: type[Operator]) -> str:
    """What it asks of the rows of each input, from an example that needs no Spark."""
    for example in EXAMPLES:
        if example.operator == kind.name and not example.needs_spark:
            node = example.node()
            needs: list[Need] = [node.operator.requires(slot) for slot in range(len(node.inputs))]
            return " and ".join(f"`{need.name}`" for need in (needs if len(set(needs)) > 1 else needs[:1]))
    return ""


def members_page() -> str:
    """Which file has which public member of the public classes."""
    introduction = (
        "This page shows where to find a public member. The public classes are made of mixins, one theme per file. Each row is a file of "
        "`sframe_spark/`, with the first sentence of its docstring and the members in it."
    )
    parts = ["# Members and their files", NO_EDIT, wrapped(introduction)]
    for kind in PUBLIC_CLASSES:
        parts += [f"## {kind.__name__}", "\n".join(["| File | Theme | Members |", "| --- | --- | --- |", *file_rows(kind)])]
    return "\n\n".join(parts) + "\n"


def file_rows(kind: type) -> Iterator[str]:
    """A row for each file that has public members of a class, by name of the file."""
    # A mixin is a base class only when one of its members was used.
    for name in dir(kind):
        getattr(kind, name, None)
    found: dict[str, list[str]] = {}
    for owner in kind.__mro__[:-1]:
        for name in (name for name in vars(owner) if not name.startswith("_")):
            found.setdefault(owner.__module__, []).append(name)
    assert len(members := [name for names in found.values() for name in names]) == len({*members}), "two mixins have one member"
    for module, names in sorted(found.items()):
        listed = ", ".join(f"`{name}`" for name in sorted(names))
        yield f"| `{module.removeprefix('sframe_spark.').replace('.', '/')}.py` | {sentence(sys.modules[module])} | {listed} |"


PAGES = {
    "laws.md": laws_page,
    "operators.md": operators_page,
    "internals/members.md": members_page,
    "elementwise.md": lambda: elementwise_page(NO_EDIT),
    "ordered-operations.md": lambda: operations_page(NO_EDIT),
}

if __name__ == "__main__":
    assert sframe_spark.operators
    for name, page in PAGES.items():
        (ROOT / "docs" / name).write_text(page(), encoding="utf-8")
        sys.stdout.write(f"docs/{name}\n")
