"""The tables of the porting guides hold: both sides run, and give the same rows where the tables say nothing else."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

import sframe_spark
from sframe_spark import SArray, SFrame
from sframe_spark.api import error_hints
from sframe_spark.session.users_own_spark_session import user_session
from tests.docs import porting
from tests.docs.porting import PORTING, Row
from tests.examples import by_turns

# What is not installed here: their columns have names, not code.
NAMES_ALONE = {"turi-create", "flint", "tempo", "kdb"}
# What tables say of these concerns frames: columns of pandas have them because of their index.
ON_THE_WAY = {("column", "reset_index"), ("column", "sort_index")}
OWNERS = {
    "frame": (SFrame, lambda name: error_hints.no_frame_member(name, ["price"])),
    "column": (SArray, error_hints.no_array_member),
    "module": (sframe_spark, error_hints.no_module_member),
}


def check_row(row: Row, names: dict[str, Any], one_missing: bool, theirs_run: bool = True) -> tuple[list[str], set[tuple[str, str]]]:
    """What is wrong with a row, and which members of the other library it lists, whose code runs unless told otherwise."""
    found, problems, members = [], [], set()
    for code, frame in [*((code, "df") for code in row.theirs), *((code, "sf") for code in row.ours)]:
        try:
            if frame == "df" and not theirs_run:
                members |= set(porting.members_of(code, names, porting.kind_of))
                continue
            value, _ = porting.run(code, names, frame)
            found.append((code, porting.plain(value, one_missing)))
        except Exception as error:
            problems.append(f"{code}: {type(error).__name__}: {error}")
        if frame == "df":
            members |= set(porting.members_of(code, names, porting.kind_of))
    if row.theirs and not row.remark and not problems:
        first = found[-1][1]
        problems += [f"{code}: {value} and {found[-1][0]}: {first}" for code, value in found if value != first]
    return problems, members


def hint_problems(counterparts: dict[tuple[str, str], list[set[str]]]) -> list[str]:
    """Names of the other library that this one lacks, and whose hint is absent or names something else than the tables."""
    problems = []
    for (kind, name), rows in sorted(counterparts.items()):
        words = set().union(*rows)
        owner, error_about = OWNERS[kind]
        if name.startswith("_") or hasattr(owner, name) or (kind, name) in ON_THE_WAY:
            continue
        _, told, hint = str(error_about(name)).partition(": ")
        if not told:
            problems.append(f"{kind} {name}: no hint; the table has {sorted(words)}")
        elif all(rows) and words.isdisjoint(porting.WORDS.findall(hint)):
            problems.append(f"{kind} {name}: the hint says {hint!r}, the table has {sorted(words)}")
    return problems


def walk(page: str, one_missing: bool) -> None:
    """Run a page's blocks and tables in their order."""
    names: dict[str, Any] = {"__name__": "page"}
    problems: list[str] = []
    counterparts: dict[tuple[str, str], list[set[str]]] = {}
    count = itertools.count()
    for piece in porting.pieces_of(PORTING / f"{page}.md"):
        with contextlib.redirect_stdout(io.StringIO()):
            if isinstance(piece, str):
                exec(compile(piece, page, "exec"), names)
                continue
            for row in piece:
                row = attrs.evolve(row, theirs=()) if page in NAMES_ALONE else row
                # Each row of Spark's is a query or two: the normal run has every third.
                theirs_run = page != "pyspark" or bool(by_turns([row], 3, next(count)))
                wrong, members = check_row(row, names, one_missing, theirs_run)
                problems += wrong
                words = set().union(*map(porting.words_of_ours, row.ours))
                for member in members:
                    counterparts.setdefault(member, []).append(words)
    problems += hint_problems(counterparts)
    assert not problems, "\n".join(problems)


@pytest.fixture
def few_tasks(spark: Any) -> Iterator[None]:
    """The session of the process is there before the page asks for one, and runs queries over some rows as one task each."""
    settings = {"spark.sql.shuffle.partitions": "1", "spark.sql.adaptive.enabled": "false"}
    session = user_session()
    before = {name: session.conf.get(name) for name in settings}
    for name, value in settings.items():
        session.conf.set(name, value)
    yield
    for name, value in before.items():
        session.conf.set(name, value)


ON_SPARK = pytest.param("pyspark", False, marks=pytest.mark.spark)


@pytest.mark.usefixtures("own_options")
@pytest.mark.parametrize(
    ("page", "one_missing"),
    [("turi-create", False), ("flint", False), ("tempo", False), ("kdb", False), ("pandas", True), ("polars", False), ON_SPARK],
)
def test_counterparts_give_the_same(
    page: str, one_missing: bool, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if page == "pyspark":
        request.getfixturevalue("few_tasks")
    walk(page, one_missing)


RECORDED = json.loads((Path(__file__).parents[1] / "data" / "porting_names.json").read_text(encoding="utf-8"))


def listed(page: str) -> set[str]:
    """Names of the other library that the tables of a page list, whole and by their last part."""
    tables = [piece for piece in porting.pieces_of(PORTING / f"{page}.md") if not isinstance(piece, str)]
    names = {name for rows in tables for row in rows for name in row.theirs}
    return names | {name.rpartition(".")[2] for name in names}


def test_every_name_of_turi_create_is_here_or_listed() -> None:
    found = listed("turi-create")
    assert [name for name in RECORDED["turi-create"] if name not in found and not is_here(name)] == []


def is_here(name: str) -> bool:
    """Whether the package has a dotted name."""
    owner: Any = sframe_spark
    for part in name.split("."):
        owner = getattr(owner, part, None)
    return owner is not None


@pytest.mark.parametrize("owner", RECORDED["flint"])
def test_every_name_of_flint_is_listed(owner: str) -> None:
    assert [name for name in RECORDED["flint"][owner] if name not in listed("flint")] == []


def test_members_of_flint_are_answered() -> None:
    absent = [name for name in RECORDED["flint"]["TimeSeriesDataFrame"] if not hasattr(SFrame, name) and not name.isupper()]
    assert [name for name in absent if ": " not in str(error_hints.no_frame_member(name, []))] == []
