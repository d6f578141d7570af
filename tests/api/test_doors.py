"""Every door of handles that were taken before the rows below them were computed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SArray, SFrame, load_sframe


def taken_early(look: Callable[[SFrame], Any]) -> tuple[SFrame, SArray, SFrame]:
    """A column and a frame taken from a frame whose number of rows was not known, and which was then looked at."""
    table = SFrame({"a": [3, 1, 2, 5], "b": ["x", "y", "z", "w"]})
    chosen = table[table["a"] > 1]
    column, frame = chosen["a"], chosen[["a"]]
    look(chosen)
    return chosen, column, frame


LOOKS: dict[str, Callable[[SFrame], Any]] = {
    "len": len,
    "materialize": lambda frame: frame.materialize(),
    "list": list,
    "is_sorted": lambda frame: frame.is_sorted("a"),
}

COLUMN_DOORS: dict[str, tuple[Callable[[SArray], Any], Any]] = {
    "list": (list, [3, 2, 5]),
    "half": (lambda column: [value for value, _ in zip(column, range(2), strict=False)], [3, 2]),
    "two at once": (lambda column: list(zip(column, column, strict=True)), [(3, 3), (2, 2), (5, 5)]),
    "len": (len, 3),
    "[-1]": (lambda column: column[-1], 5),
    "[1:]": (lambda column: list(column[1:]), [2, 5]),
    "[::2]": (lambda column: list(column[::2]), [3, 5]),
    "tail": (lambda column: list(column.tail(2)), [2, 5]),
    "sum": (lambda column: column.sum(), 10),
    "in": (lambda column: 5 in column, True),
    "to_numpy": (lambda column: column.to_numpy().tolist(), [3, 2, 5]),
    "repr": (lambda column: "[3, 2, 5]" in repr(column), True),
    "mask": (lambda column: list(column[column > 2]), [3, 5]),
    "append": (lambda column: list(column.append(column)), [3, 2, 5] * 2),
}


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("door", COLUMN_DOORS)
def test_a_column_taken_early_has_its_rows(look: str, door: str) -> None:
    _, column, _ = taken_early(LOOKS[look])
    open_door, expected = COLUMN_DOORS[door]
    assert open_door(column) == expected


@pytest.mark.spark
def test_a_column_taken_early_has_its_rows_on_spark(everything_on_spark: None) -> None:
    _, column, frame = taken_early(len)
    for door in ("list", "two at once", "tail", "sum", "to_numpy"):
        open_door, expected = COLUMN_DOORS[door]
        assert open_door(column) == expected, door
    assert [row["a"] for row in frame.to_spark().collect()] == [3, 2, 5]


@pytest.mark.parametrize("look", LOOKS)
def test_a_frame_taken_early_has_its_rows(look: str, tmp_path: Path) -> None:
    expected = [{"a": 3}, {"a": 2}, {"a": 5}]
    assert list(taken_early(LOOKS[look])[2]) == expected
    taken_early(LOOKS[look])[2].export_csv(str(tmp_path / "rows.csv"))
    assert (tmp_path / "rows.csv").read_text() == "a\n3\n2\n5\n"
    taken_early(LOOKS[look])[2].save(str(tmp_path / "frame"))
    assert list(load_sframe(str(tmp_path / "frame"))) == expected
    batches: list[Any] = []
    taken_early(LOOKS[look])[2].materialize(on_batch=batches.append)
    assert [row for batch in batches for row in batch.to_pylist()] == expected
    frame = taken_early(LOOKS[look])[2]
    assert len(frame) == 3
    assert "[3 rows x 1 columns]" in str(frame)
    assert "3 rows" in frame._repr_html_()


def test_the_order_of_a_column_taken_early_is_looked_at_in_its_rows() -> None:
    """Of no rows anything is in order."""
    _, _, frame = taken_early(len)
    assert not frame.is_sorted("a")


@pytest.mark.parametrize("rows", [[1, 2], []])
def test_rows_of_another_type_are_appended_where_there_are_none_after_all(rows: list[int]) -> None:
    """Whether a side is empty now or turns out to be."""
    numbers, texts = SArray(rows, int), SArray(["a", "b"])
    nothing = texts[texts == "c"]
    assert list(numbers.append(nothing)) == list(numbers.append(SArray([], str))) == rows
    assert list(nothing.append(numbers)) == rows
    if rows:
        with pytest.raises(RuntimeError, match="cannot append rows of type str to rows of type int"):
            numbers.append(texts[texts == "a"])


def test_cells_that_hold_values_are_cells_of_a_numpy_table() -> None:
    frame = SFrame({"a": [1, 2], "b": SArray([["x", "y"], ["z", "w"]], list)})
    assert frame.to_numpy().tolist() == [[1, ["x", "y"]], [2, ["z", "w"]]]
    assert frame[["b"]].to_numpy().shape == (2, 1)
    ragged = SFrame({"a": SArray([["x"], ["y", "z"]], list)})
    assert ragged.to_numpy().tolist() == [[["x"]], [["y", "z"]]]
    with pytest.raises(ValueError, match=r"the values cannot be converted to a numpy array .*use list\(column\)"):
        ragged["a"].to_numpy()


@pytest.mark.parametrize("values", [["a\0", "b"], [["a\0", "b"], ["c", "d"]], [[["a"], ["b\0\0"]], [["c"], ["d"]]], [[1, "a\0"], [2, "b"]]])
def test_numpy_keeps_the_ends_of_texts(values: list[Any]) -> None:
    assert SArray(values).to_numpy().tolist() == values


@pytest.mark.parametrize("start", [1, 2])
def test_a_computed_slice_knows_the_order_of_its_own_rows(start: int) -> None:
    """Not that of the table it is a part of."""
    table = SFrame({"t": [3, 1, 2, 5, 4], "v": [1, 2, 3, 4, 5]})
    part = table[start:4]
    part.materialize()
    assert part.is_sorted("t")
    assert "left out sort by t" in part.sort("t").explain(why=True)
    assert not table[0:3].is_sorted("t")
    assert [row["t"] for row in table[start:].sort("t")] == sorted([3, 1, 2, 5, 4][start:])
    assert (part["t"].min(), part["t"].max()) == (min([3, 1, 2, 5][start:]), 5)


def test_few_rows_are_saved_without_spark(tmp_path: Path) -> None:
    """Wherever they are: this test starts no JVM with the default options."""
    SFrame({"a": [1, 2], "b": ["x", "y"]}).save(str(tmp_path / "first"))
    load_sframe(str(tmp_path / "first"))["b"].save(str(tmp_path / "second"))
    assert list(SArray(str(tmp_path / "second"))) == ["x", "y"]
    SArray.from_sequence(3).save(str(tmp_path / "third"))
    assert list(SArray(str(tmp_path / "third"))) == [0, 1, 2]


def test_threads_that_wait_for_one_look_see_its_rows() -> None:
    table = SFrame({"a": list(range(1000))})
    chosen = table[table["a"] % 2 == 0]
    columns = [chosen["a"] for _ in range(4)]
    found: list[list[int]] = []
    threads = [threading.Thread(target=lambda column=column: found.append(list(column))) for column in [chosen["a"], *columns]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [list(range(0, 1000, 2))] * 5
