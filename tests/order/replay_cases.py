"""Replays tables of order facts against the planner's order reasoning: ``python -m tests.order.replay_cases FILE...``.

Exit code 0: everything agrees; 1: something does not; 2: a file cannot be read.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sframe_spark.order import OrderingProperties
from tests.order.replay_operators import derive_output
from tests.order.replay_partitions import partition_claims

__all__ = ["CaseFileError", "Tally", "main", "properties_of_table", "replay", "replay_file"]

Case = Mapping[str, Any]


class CaseFileError(Exception):
    """A file is not a table of cases."""


class Tally(NamedTuple):
    """What a replay found.

    Parameters
    ----------
    cases
        Number of cases.
    covered
        Number of cases that the package says something about.
    false
        Cases with a promise that does not hold.
    missed
        Cases with a promise that was not found.
    """

    cases: int
    covered: int
    false: tuple[str, ...]
    missed: tuple[str, ...]

    @property
    def agrees(self) -> bool:
        """Whether nothing is wrong and nothing is missing."""
        return not self.false and not self.missed


def replay_file(path: Path) -> Tally:
    """Replay one file.

    Raises
    ------
    CaseFileError
        If the file is not JSON, holds no list of cases, or a case lacks something.
    """
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CaseFileError(f"{path}: {error}") from error
    cases = table.get("cases") if isinstance(table, dict) else None
    if not isinstance(cases, list) or not all(isinstance(case, dict) for case in cases):
        raise CaseFileError(f"{path}: expected an object with a list of objects called 'cases'")
    return replay(cases, str(path))


def replay(cases: Sequence[Case], name: str = "cases") -> Tally:
    """Replay cases.

    Raises
    ------
    CaseFileError
        If a case lacks something.

    Examples
    --------
    >>> replay([{"id": "x", "orderings": [[["a", "asc"]]], "requirement": [["a", "asc"]], "satisfied": True}])
    Tally(cases=1, covered=1, false=(), missed=())
    """
    covered = 0
    wrong: dict[bool, list[str]] = {True: [], False: []}
    for number, case in enumerate(cases):
        identity = str(case.get("id", number))
        try:
            claims = list(_claims(case))
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise CaseFileError(f"{name}, case {identity}: {type(error).__name__}: {error}") from error
        covered += bool(claims)
        for promised, true in claims:
            if promised != true and identity not in wrong[promised]:
                wrong[promised].append(identity)
    return Tally(len(cases), covered, tuple(wrong[True]), tuple(wrong[False]))


def _claims(case: Case) -> Iterator[tuple[bool, bool]]:
    """Pairs of what the package promises and what is true."""
    yield from _reader(case)(case)


def _reader(case: Case) -> Callable[[Case], Iterable[tuple[bool, bool]]]:
    if "operator" in case:
        return _derivation_claims
    if "requirement" in case:
        return _ordering_claims
    if "kind" in case:
        return partition_claims
    raise ValueError("neither an ordering case, nor a derivation case, nor a partition case")


def _truth(case: Case, key: str) -> bool:
    if not isinstance(case[key], bool):
        raise ValueError(f"{key} is {case[key]!r}, not true or false")
    return case[key]


def _ordering_claims(case: Case) -> Iterator[tuple[bool, bool]]:
    with_nulls = "nulls" in case.get("features", ())
    properties = properties_of_table(case, () if with_nulls else _columns(case))
    yield properties.satisfies(case["requirement"]), _truth(case, "satisfied")


def properties_of_table(table: Case, not_null: Iterable[str]) -> OrderingProperties:
    """Read the properties of one table; the further columns hold no null."""
    return OrderingProperties(
        constants=table.get("constants", ()),
        equivalences=table.get("equivalences", ()),
        orderings=table.get("orderings", ()),
        functional_dependencies=table.get("fds", ()),
        keys=table.get("keys", ()),
        monotone=table.get("monotone", ()),
        not_null=[*table.get("not_null", ()), *not_null],
    )


def _derivation_claims(case: Case) -> Iterator[tuple[bool, bool]]:
    inputs = [properties_of_table(table, _columns(table)) for table in case["inputs"]]
    columns = [list(_columns(table)) for table in case["inputs"]]
    derived = derive_output(case["operator"], inputs, columns)
    yield derived.satisfies(case["requirement"]), _truth(case, "satisfied")


def _columns(case: Case) -> dict[str, None]:
    """Every column that a case names, in order of appearance."""
    names: list[str] = [*case.get("columns", ()), *case.get("constants", ())]
    for group in case.get("equivalences", ()):
        names.extend(group)
    for items in (*case.get("orderings", ()), case.get("requirement", ())):
        names.extend(item[0] for item in items)
    for sides in case.get("fds", ()):
        names.extend(column for side in sides for column in side)
    for key in case.get("keys", ()):
        names.extend(key)
    for function in case.get("monotone", ()):
        names.extend([function["col"], *(column for column, _ in function["args"])])
    return dict.fromkeys(names)


def describe(path: Path, tally: Tally) -> str:
    """One line on a file, and one for each kind of disagreement."""
    covered = "" if tally.covered == tally.cases else f" ({tally.covered} covered)"
    lines = [f'{path}: {tally.cases} cases{covered}, {len(tally.false)} false "satisfied", {len(tally.missed)} missed']
    for word, cases in (("false", tally.false), ("missed", tally.missed)):
        if cases:
            lines.append(f"  {word}: {', '.join(cases)}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Replay the files that are named on the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.order.replay_cases", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="tables in the formats of ordering, derivation or partition cases")
    code = 0
    for path in parser.parse_args(arguments).files:
        try:
            tally = replay_file(path)
        except CaseFileError as error:
            sys.stderr.write(f"{error}\n")
            code = 2
            continue
        sys.stdout.write(describe(path, tally) + "\n")
        code = max(code, 0 if tally.agrees else 1)
    return code


if __name__ == "__main__":
    raise SystemExit(main())
