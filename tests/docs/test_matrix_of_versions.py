"""The table of versions that users read has every row of the matrix, and what became of it when it ran."""

from __future__ import annotations

import tomllib

import pytest

from sframe_spark.session.spark_versions import FIRST_WITHOUT_DISTUTILS, NO_CONNECT, RELEASES, missing_in
from tests.versions.matrix import (
    FIRST_JAVA_WITHOUT,
    LOWEST,
    PAGE,
    PARTS,
    PYTHONS,
    ROOT,
    ROWS,
    SHOWN,
    SPARKS,
    Row,
    recorded,
    rows_named,
    table,
    table_in,
)

DEPENDENCIES: list[str] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
RAN = [row for row in ROWS if row.name in recorded()]


def test_the_page_has_the_rows_and_what_became_of_them() -> None:
    assert table_in(PAGE.read_text(encoding="utf-8")) == table(recorded()), "make versions RECORD=record runs the rows and writes the table"


def test_what_ran_is_still_in_the_matrix() -> None:
    assert {row.name: set(recorded()[row.name]) - set(SHOWN) - set(row.parts) for row in RAN} == {name: set() for name in recorded()}


@pytest.mark.parametrize("row", RAN, ids=lambda row: row.name)
def test_what_ran_is_what_the_row_asks_for(row: Row) -> None:
    found = recorded()[row.name]
    pinned = dict(requirement.split("==") for requirement in row.requirements if "==" in requirement)
    asked = {name: pinned[name] for name in SHOWN if name in pinned}
    assert {name: found[name] for name in asked} == asked
    assert (found["pandas"].partition(".")[0] == "3") == (row.libraries == "newest")
    assert all(int(found[part]) > 0 for part in row.parts if part in found)


def test_rows_are_every_spark_with_every_python_and_libraries_old_and_new() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS)
    assert {(row.spark, row.python) for row in ROWS} == {(spark, python) for spark in SPARKS for python in PYTHONS}
    assert {(row.spark, row.libraries) for row in ROWS} == {(spark, libraries) for spark in SPARKS for libraries in PYTHONS.values()}
    for spark in SPARKS:
        assert {part for row in ROWS if row.spark == spark for part in row.parts} == set(PARTS) - (
            {"connect"} if NO_CONNECT in missing_in(spark) else set()
        )


def test_lowest_libraries_are_those_that_pip_may_install() -> None:
    bounds = {dependency.replace(">=", "==") for dependency in DEPENDENCIES if not dependency.startswith("pyspark")}
    assert {next(bound for bound in bounds if library.startswith(bound)) for library in LOWEST} == bounds


def test_rows_are_found_by_parts_of_their_names() -> None:
    assert {row.spark for row in rows_named(["pyspark4.1"])} == {"4.1.4"}
    assert rows_named([]) == list(ROWS) and rows_named(["nothing"]) == []


def test_old_sparks_get_what_they_need() -> None:
    assert {release.version: release.newest_java + 1 for release in RELEASES if release.newest_java is not None} == FIRST_JAVA_WITHOUT
    for row in ROWS:
        line = row.spark.rpartition(".")[0]
        assert (f"<{FIRST_JAVA_WITHOUT.get(line)}" in row.java) == (line in FIRST_JAVA_WITHOUT)
        is_without_distutils = tuple(map(int, line.split("."))) < FIRST_WITHOUT_DISTUTILS and row.python != "3.11"
        assert ("setuptools" in row.requirements) == is_without_distutils
