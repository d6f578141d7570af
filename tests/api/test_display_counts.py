"""What a table says of the number of rows: it is told where all of them are shown, and nothing is counted for it."""

from __future__ import annotations

import pytest

from sframe_spark import SArray, SFrame, aggregate

FRAME = SFrame({"a": range(30), "b": [number % 3 for number in range(30)]})
FEW = {
    "filter": lambda: FRAME[FRAME["a"] > 26],
    "group": lambda: FRAME.groupby("b", {"n": aggregate.COUNT()}),
    "join": lambda: FRAME.join(SFrame({"a": [5, 6, 7]}), on="a"),
    "unique": lambda: FRAME[["b"]].unique(),
    "unpacked": lambda: SFrame({"a": [[1, 2], [3]]}).stack("a"),
}


@pytest.mark.parametrize("name", FEW)
def test_the_number_of_rows_that_are_all_shown(name: str) -> None:
    frame = FEW[name]()
    columns = frame.num_columns()
    assert str(frame).endswith(f"\n[3 rows x {columns} columns]\n")
    assert "\nRows: 3\n" in repr(FEW[name]()) and repr(FEW[name]()).endswith(f"\n[3 rows x {columns} columns]\n")
    assert "lazily" not in str(FEW[name]()) + repr(FEW[name]())
    assert frame.__is_materialized__() is FEW[name]().__is_materialized__(), "a look keeps nothing more"


def test_the_number_of_values_that_are_all_shown() -> None:
    column = FRAME["a"][FRAME["a"] > 27]
    assert repr(column) == "dtype: int\nRows: 2\n[28, 29]" and str(column) == "[28, 29]"
    many = SArray(range(300))
    assert "\nRows: ?\n" in repr(many[many > 100])


def test_ten_rows_are_all_rows_where_no_eleventh_is_there() -> None:
    frame = FRAME[FRAME["a"] >= 20]
    assert str(frame).endswith("| 29 | 2 |\n+----+---+\n[10 rows x 2 columns]\n") and "\nRows: 10\n" in repr(FRAME[FRAME["a"] >= 20])
    appended = FRAME[FRAME["a"] >= 21].append(FRAME[FRAME["a"] > 28])
    assert str(appended).endswith("\n[10 rows x 2 columns]\n")


@pytest.mark.parametrize("columns", [20, 21, 25, 120])
def test_columns_left_out_are_one_column_of_dots(columns: int) -> None:
    text = str(SFrame({f"c{number:03}": [1, None] for number in range(columns)}))
    assert text.count("| ... |\n") == (3 if columns > 20 else 0) and "c020" not in text
    assert text.endswith(f"\n[2 rows x {columns} columns]\n")


@pytest.mark.parametrize("rows", [11, 12, 26])
def test_rows_that_are_not_all_looked_at_are_not_counted(rows: int) -> None:
    frame = FRAME[FRAME["a"] >= 30 - rows]
    assert "[? rows x 2 columns]\nNote: Only the head" in str(frame) and "Rows: Unknown" in repr(frame)


def test_a_frame_that_turns_out_empty() -> None:
    frame = FRAME[FRAME["a"] > 99]
    assert "[0 rows x 2 columns]" in str(frame) and "Rows: 0" in repr(frame)
