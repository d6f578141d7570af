"""Golden tests of laws, the rewrite rules of the optimizer: each case is an input plan with the output plan that a law must make of it.

No plan is executed.

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
rewrites these files.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import attrs

from sframe_spark.errors import InvalidArgumentError
from sframe_spark.planner.law import Law, Stage
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.optimizer import Optimizer
from sframe_spark.planner.plugin_loading import active_laws, load_plugins
from sframe_spark.planner.printed_plans import plan_text
from sframe_spark.rewrite_laws import STAGES, builtin_laws
from sframe_spark.testing.plan_parser import Declared, read_declarations, read_plan

LAW, TITLE, ARROW, UNCHANGED = "## ", "-- ", "=>", "unchanged"


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
    if plan_text(root) != case.input_text:
        return f"the input is not written as it is printed:\n{plan_text(root)}"
    result = apply_law(rule, root, stages)
    if case.output_text is None:
        return None if result is root else f"the law fires where it must not:\n{plan_text(result)}"
    if result is root:
        return "the law does not fire"
    return None if plan_text(result) == case.output_text else f"the law gives another plan:\n{plan_text(result)}"


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
    """
    head = ("\n" + text).split("\n" + LAW)[0].strip()
    by_name = {rule.equation: rule for rule in laws}
    sections: dict[str, list[str]] = {}
    for case in read_cases(text):
        root = case.input_plan()
        result = apply_law(by_name[case.equation], root, stages)
        outcome = [UNCHANGED] if result is root else [ARROW, plan_text(result)]
        sections.setdefault(case.equation, []).append("\n".join([TITLE + case.title, plan_text(root), *outcome]))
    parts = [head, *["\n\n".join([LAW + equation + "\n" + cases[0], *cases[1:]]) for equation, cases in sections.items()]]
    return "\n\n".join(part for part in parts if part) + "\n"


def stale_files(directory: Path, laws: Sequence[Law], stages: Sequence[Stage]) -> dict[Path, str]:
    """Return the fixture files in a directory whose content is outdated, with their new content."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(directory.glob("*.txt"))}
    return {path: new for path, text in texts.items() if (new := rewritten(text, laws, stages)) != text}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line program: list or rewrite outdated fixture files; return how many are outdated (zero after a rewrite)."""
    parser = argparse.ArgumentParser(prog="python -m sframe_spark.testing.golden_plans_of_laws", description="Golden pairs of plans.")
    parser.add_argument("directory", type=Path, nargs="?", default=Path("tests/golden/laws"), help="where the fixture files are")
    parser.add_argument("--update", action="store_true", help="rewrite files that differ: read what changed before you keep it")
    chosen = parser.parse_args(arguments)
    if not any(chosen.directory.glob("*.txt")):
        parser.error(f"there is no fixture file (*.txt) in {chosen.directory}")
    load_plugins()
    stale = stale_files(chosen.directory, (*builtin_laws(), *active_laws()), STAGES)
    for path, text in stale.items():
        sys.stdout.write(f"{path}: {'rewritten' if chosen.update else 'differs; --update rewrites it'}\n")
        if chosen.update:
            path.write_text(text, encoding="utf-8")
    return 0 if chosen.update else len(stale)


if __name__ == "__main__":
    sys.exit(main())
