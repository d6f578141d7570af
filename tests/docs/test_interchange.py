"""The page about interchange says what happens: its tables are made of what columns become, and its examples run."""

from __future__ import annotations

import pytest

from tests.docs.interchange import DOORS, DOORS_IN, IN_CORNER, ON_SPARK, OUT_CORNER, column_in, column_out, table_of_page
from tests.docs.test_pages import blocks_of


@pytest.mark.parametrize("door", DOORS)
def test_out_and_back(door: str) -> None:
    assert table_of_page(OUT_CORNER)[door] == column_out(door)


@pytest.mark.spark
def test_out_to_spark_and_back() -> None:
    assert table_of_page(OUT_CORNER)["Spark"] == column_out("Spark")


@pytest.mark.parametrize("door", DOORS_IN)
def test_in(door: str) -> None:
    assert table_of_page(IN_CORNER)[door] == column_in(door)


def test_all_doors_are_on_the_page() -> None:
    assert list(table_of_page(OUT_CORNER)) == [*DOORS, *ON_SPARK]
    assert list(table_of_page(IN_CORNER)) == list(DOORS_IN)


@pytest.mark.parametrize(("text", "printed"), blocks_of("interchange.md"))
def test_an_example_runs(text: str, printed: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(text, "interchange.md", "exec"), {})
    assert printed.strip() in capsys.readouterr().out
