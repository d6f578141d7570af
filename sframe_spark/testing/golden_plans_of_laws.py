"""Golden tests of laws, the rewrite rules of the optimizer: each case is an input plan with the output plan that a law must make of it.

No plan is executed by the engine. The rows of both plans are compared on tables that are made for them, one kernel call for each operator, if the
tables have few rows and all operators have kernels.

Each law needs a case where it applies and one where it must not. A fixture file holds declarations (see
:mod:`sframe_spark.testing.plan_parser`), then cases. A case begins with the law's equation after ``##`` and a
title after ``--``; the input plan follows, then ``=>`` and the output plan, or ``unchanged``::

    table a(int, str) x 10

    ## slice(slice(x, a), b) = slice(x, b of a)
    -- the rows that pass through both slices
    r0 := segment_source[a, columns [0, 1], rows 0..10]()  # (int, str) x 10
    r1 := slice[2:8](r0)  # (int, str) x 6
    r2 := slice[1:3](r1)  # (int, str) x 2
    =>
    r0 := segment_source[a, columns [0, 1], rows 0..10]()  # (int, str) x 10
    r1 := slice[3:5](r0)  # (int, str) x 2

``python -m sframe_spark.testing.golden_plans_of_laws DIRECTORY`` lists files whose output plans are not those that the laws give now; ``--update``
rewrites these files, but for those with a case whose rows the law changes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import attrs

from sframe_spark.errors import InvalidArgumentError, PlanInvariantError, SFrameError, listed, near_names
from sframe_spark.message_text import in_full
from sframe_spark.operators.sort_top_rows_and_assumed_order import AssumeOrder
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource
from sframe_spark.planner.graph_traversal import fold, postorder
from sframe_spark.planner.law import Law, Stage
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.optimizer import Optimizer
from sframe_spark.planner.plugin_loading import active_laws, load_plugins
from sframe_spark.planner.printed_plans import plan_text
from sframe_spark.rewrite_laws import STAGES, builtin_laws
from sframe_spark.testing.declared_tables import rows_of_table
from sframe_spark.testing.kernel_runs import in_memory, rows_of_plan
from sframe_spark.testing.plan_parser import Declared, read_declarations, read_plan
from sframe_spark.testing.row_comparison import Rows, difference, same_rows

LAW, TITLE, ARROW, UNCHANGED = "## ", "-- ", "=>", "unchanged"

MAX_COMPARED_ROWS = 2_000
"""Plans over larger tables are compared as text alone."""


def whole_text(root: PlannerNode) -> str:
    """Return a plan as text that leaves nothing out, so that another plan never has the same text."""
    with in_full():
        return plan_text(root)


@attrs.frozen
class LawCase:
    """A test case of a law: an input plan and the output plan that the law gives.

    Parameters
    ----------
    equation
        Name (equation) of the law; only this law is applied.
    title
        What the case demonstrates.
    input_text
        The input plan, as plans are printed.
    output_text
        The output plan, as plans are printed; None if the law must not apply.
    declared
        Tables and functions to which the plans refer.
    """

    equation: str
    title: str
    input_text: str
    output_text: str | None
    declared: Declared

    def __str__(self) -> str:
        return f"{self.equation} -- {self.title}"

    def input_plan(self) -> PlannerNode:
        """Return the input plan."""
        return read_plan(self.input_text, self.declared)


def read_cases(text: str) -> list[LawCase]:
    """Return the cases of a fixture file.

    Raises
    ------
    InvalidArgumentError
        If a case has no law, no title or no outcome.

    Examples
    --------
    >>> case, = read_cases('''
    ... ## slice(x, all) = x
    ... -- a part of the rows stays a slice
    ... r0 := range_source[start=0, rows=3, step=1]()
    ... r1 := slice[0:2](r0)
    ... unchanged
    ... ''')
    >>> case.title, case.output_text is None
    ('a part of the rows stays a slice', True)
    """
    head, *sections = ("\n" + text).split("\n" + LAW)
    declared = read_declarations(line.strip() for line in head.splitlines() if line.strip())
    cases = []
    for section in sections:
        equation, *bodies = section.split("\n" + TITLE)
        if not bodies:
            raise InvalidArgumentError(f"law {equation.strip()!r} has no case: begin one with '{TITLE}title'")
        cases += [_read_case(equation.strip(), body, declared) for body in bodies]
    return cases


def _read_case(equation: str, body: str, declared: Declared) -> LawCase:
    title, *lines = [line.strip() for line in body.splitlines() if line.strip()]
    if ARROW in lines:
        arrow = lines.index(ARROW)
        return LawCase(equation, title, "\n".join(lines[:arrow]), "\n".join(lines[arrow + 1 :]), declared)
    if not lines or lines[-1] != UNCHANGED:
        raise InvalidArgumentError(f"case {title!r} of {equation!r} has no outcome: end it with '{ARROW}' and a plan, or with '{UNCHANGED}'")
    return LawCase(equation, title, "\n".join(lines[:-1]), None, declared)


def input_plan_of(case: LawCase) -> PlannerNode:
    """Return the input plan of a case.

    Raises
    ------
    InvalidArgumentError
        If it is no plan, such as one of a column that a table has not; the message names the case.
    """
    try:
        return case.input_plan()
    except SFrameError as error:
        raise InvalidArgumentError(f"the plan of the case {case.title!r} of the law {case.equation!r} is none: {error}") from error


def apply_law(rule: Law, root: PlannerNode, stages: Sequence[Stage]) -> PlannerNode:
    """Return the plan after a single law has been applied, in each of its stages, until it changes nothing more."""
    return Optimizer(stages, [rule]).optimize(root)


def run_case(case: LawCase, laws: Iterable[Law], stages: Sequence[Stage]) -> str | None:
    """Return what is wrong with a case, or None if it passes.

    The input must be written exactly as plans are printed. The law must give the output plan; if the case has none, it must not change the input.

    Parameters
    ----------
    case
        The case to run.
    laws
        All laws; the case's law is found by its name.
    stages
        Stages of the optimizer.
    """
    rule = next((item for item in laws if item.equation == case.equation), None)
    if rule is None:
        return f"no law is named {case.equation!r}"
    root = case.input_plan()
    if whole_text(root) != case.input_text:
        return f"the input is not written as it is printed:\n{whole_text(root)}"
    result = apply_law(rule, root, stages)
    if case.output_text is None:
        return None if result is root else f"the law fires where it must not:\n{whole_text(result)}"
    if result is root:
        return "the law does not fire"
    if whole_text(result) != case.output_text:
        return f"the law gives another plan:\n{whole_text(result)}\nand the case says:\n{case.output_text}"
    return changed_values(root, result)


def changed_values(before: PlannerNode, after: PlannerNode) -> str | None:
    """Return how the rows of two plans over declared tables differ; None if they are the same, or cannot be computed here."""
    try:
        wanted = rows_here(before)
    except SFrameError:
        # Some operators take only rows in an order, which declared tables need not have.
        return None
    try:
        found = None if wanted is None else rows_here(after)
    except SFrameError as error:
        return f"the plan after it fails: {error}"
    if wanted is None or found is None or same_rows(found, wanted):
        return None
    return f"the law changes values: {difference(found, wanted, 'the plan after it', 'the plan before it')}"


def rows_here(root: PlannerNode) -> Rows | None:
    """Return the rows of a plan over declared tables, which are filled with values; None if these are too many, or an operator has no kernel."""
    nodes = list(postorder([root]))
    sources = [node for node in nodes if not node.inputs]
    if any(isinstance(node.operator, AssumeOrder) for node in nodes):
        # Rows of a declared table are in no order that is only assumed.
        return None
    if any(not isinstance(node.operator, SegmentSource) and node.operator_type not in KNOWN_SOURCES for node in sources):
        return None
    if any(node.length.rows is None or node.length.rows > MAX_COMPARED_ROWS for node in sources):
        return None

    def filled(node: PlannerNode, inputs: Sequence[PlannerNode]) -> PlannerNode:
        operator = node.operator
        if not isinstance(operator, SegmentSource):
            return node.with_inputs(inputs)
        table = rows_of_table(operator.manifest)
        return in_memory(table.select(operator.positions).slice(operator.start, operator.stop), node.schema)

    if any(isinstance(node.operator, SegmentSource) and node.operator.manifest.rows > MAX_COMPARED_ROWS for node in sources):
        return None
    return rows_of_plan(fold([root], filled)[id(root)])


KNOWN_SOURCES = ("range_source", "constant_source", "memory_source", "source_rows", "source_parts")


def laws_without_cases(laws: Iterable[Law], cases: Iterable[LawCase]) -> list[str]:
    """Return a message for each law without a case in which it applies, and for each law without a case in which it must not apply."""
    present = {(case.equation, case.output_text is None) for case in cases}
    lacking = [(rule.equation, unchanged) for rule in laws for unchanged in (False, True) if (rule.equation, unchanged) not in present]
    return [f"{equation}: no case where it {'must not fire' if unchanged else 'fires'}" for equation, unchanged in lacking]


def read_case_files(directory: Path) -> dict[str, list[LawCase]]:
    """Return the cases of all fixture files (``*.txt``) in a directory, by file name without suffix."""
    return {path.stem: read_cases(path.read_text(encoding="utf-8")) for path in sorted(directory.glob("*.txt"))}


def rewritten(text: str, laws: Sequence[Law], stages: Sequence[Stage]) -> str:
    """Return the content of a fixture file with its inputs as plans are printed, and its outputs as the laws give them now.

    A person should review the changes before they are kept.

    Raises
    ------
    PlanInvariantError
        If a law changes the rows of a case.
    InvalidArgumentError
        If a case is of an unknown law, or its plan is none.
    """
    head = ("\n" + text).split("\n" + LAW)[0].strip()
    by_name = {rule.equation: rule for rule in laws}
    sections: dict[str, list[str]] = {}
    for case in read_cases(text):
        if case.equation not in by_name:
            near = near_names(case.equation, by_name)
            meant = f", did you mean {listed(near)}?" if near else ": its module calls register_law()"
            raise InvalidArgumentError(f"no law is named {case.equation!r}{meant}")
        root = input_plan_of(case)
        result = apply_law(by_name[case.equation], root, stages)
        wrong = None if result is root else changed_values(root, result)
        if wrong is not None:
            raise PlanInvariantError(f"the case {case.title!r} of the law {case.equation!r} is not written: {wrong}\n{whole_text(result)}")
        outcome = [UNCHANGED] if result is root else [ARROW, whole_text(result)]
        sections.setdefault(case.equation, []).append("\n".join([TITLE + case.title, whole_text(root), *outcome]))
    parts = [head, *["\n\n".join([LAW + equation + "\n" + cases[0], *cases[1:]]) for equation, cases in sections.items()]]
    return "\n\n".join(part for part in parts if part) + "\n"


def stale_files(directory: Path, laws: Sequence[Law], stages: Sequence[Stage]) -> tuple[dict[Path, str], dict[Path, str]]:
    """Return the fixture files whose content is outdated, with their new content, and those with a case whose rows a law changes, with the reason."""
    stale: dict[Path, str] = {}
    refused: dict[Path, str] = {}
    for path in sorted(directory.glob("*.txt")):
        text = path.read_text(encoding="utf-8")
        try:
            new = rewritten(text, laws, stages)
        except (PlanInvariantError, InvalidArgumentError) as error:
            refused[path] = str(error)
        else:
            if new != text:
                stale[path] = new
    return stale, refused


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line program: list or rewrite outdated fixture files; return how many are left, those that are wrong included."""
    parser = argparse.ArgumentParser(prog="python -m sframe_spark.testing.golden_plans_of_laws", description="Golden pairs of plans.")
    parser.add_argument("directory", type=Path, nargs="?", default=Path("tests/golden/laws"), help="where the fixture files are")
    parser.add_argument("--update", action="store_true", help="rewrite files that differ: read what changed before you keep it")
    chosen = parser.parse_args(arguments)
    if not any(chosen.directory.glob("*.txt")):
        parser.error(f"there is no fixture file (*.txt) in {chosen.directory}")
    load_plugins()
    laws = (*builtin_laws(), *active_laws())
    stale, refused = stale_files(chosen.directory, laws, STAGES)
    for path, text in stale.items():
        sys.stdout.write(f"{path}: {'rewritten' if chosen.update else 'differs; --update rewrites it'}\n")
        for case in read_cases(path.read_text(encoding="utf-8")):
            if (wrong := run_case(case, laws, STAGES)) is not None:
                sys.stdout.write(f"  the case {case.title!r} of the law {case.equation!r}: {wrong}\n")
        if chosen.update:
            path.write_text(text, encoding="utf-8")
    for path, reason in refused.items():
        sys.stdout.write(f"{path}: {reason}\n")
    return len(refused) + (0 if chosen.update else len(stale))


if __name__ == "__main__":
    sys.exit(main())
