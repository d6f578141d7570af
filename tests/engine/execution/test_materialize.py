"""``config.check = "result"``: results are compared with those of the naive plan."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SArray, SFrame, load_sframe
from sframe_spark.config import config
from sframe_spark.engine.execution.materialize_count_and_read_rows import compare_rows, compare_with_naive
from sframe_spark.errors import PlanInvariantError
from sframe_spark.operators.row_selection import reverse
from sframe_spark.planner.chunk import Chunk
from sframe_spark.types import ARRAY, FLOAT, INT, STR, ColumnType
from tests.examples import part
from tests.random_tables import column_array, table_source


@pytest.mark.spark
def test_rows_without_columns_are_counted(spark: Any) -> None:
    compare_with_naive(table_source([], [], 2), table_source([], [], 2))
    with pytest.raises(PlanInvariantError, match="memory_source has 3 rows in the optimized plan, and 2 in the naive one"):
        compare_with_naive(table_source([], [], 2), table_source([], [], 3))


@pytest.mark.spark
def test_values_are_compared(spark: Any) -> None:
    node = table_source([[3, None], [5, 6]], [INT, INT], 2)
    compare_with_naive(node, table_source([[3, None], [5, 6]], [INT, INT], 2))
    with pytest.raises(PlanInvariantError, match=r"column 1 of memory_source differs .* 5 and 6\. No law was applied"):
        compare_with_naive(node, table_source([[3, None], [5, 5]], [INT, INT], 2))
    node.record_column_names(["a", "b"])
    reversed_twice = reverse(reverse(node))
    reversed_twice.record_column_names(["a", "b"])
    law = r"Laws that were applied: reverse\(reverse\(x\)\) = x.* config.disabled_laws switches one off"
    with pytest.raises(PlanInvariantError, match=f"the column 'b' of reverse differs between the .*: in row 1 it is 5 and 6. {law}"):
        compare_with_naive(reversed_twice, table_source([[3, None], [5, 5]], [INT, INT], 2))


def chunk_of(values: list[Any], column_type: ColumnType) -> Chunk:
    return Chunk.of([column_array(values, column_type)])


def difference(column_type: ColumnType, found: list[Any], expected: list[Any]) -> str:
    """What is said of two columns that begin at row 7; nothing where they mean the same."""
    node = table_source([found], [column_type], len(found))
    try:
        compare_rows(node, chunk_of(found, column_type), chunk_of(expected, column_type), 7)
    except PlanInvariantError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("column_type", "found", "expected"),
    [
        (FLOAT, [0.1 + 0.2, float("nan"), -0.0, None], [0.3, float("nan"), 0.0, None]),
        (FLOAT, [sum([0.1] * 10), float("inf")], [1.0, float("inf")]),
        (ARRAY, [[0.1 + 0.2, float("nan")]], [[0.3, float("nan")]]),
        (INT, [2**60, None], [2**60, None]),
    ],
)
def test_values_that_mean_the_same_agree(column_type: ColumnType, found: list[Any], expected: list[Any]) -> None:
    assert difference(column_type, found, expected) == ""


@pytest.mark.parametrize(
    ("column_type", "found", "expected"),
    [
        (FLOAT, [1.0, 0.3], [1.0, 0.3001]),
        (FLOAT, [1.0, None], [1.0, float("nan")]),
        (INT, [1, 2**60], [1, 2**60 + 1]),
        (STR, ["a", ""], ["a", None]),
    ],
)
def test_values_that_differ_are_told_with_their_row(column_type: ColumnType, found: list[Any], expected: list[Any]) -> None:
    told = difference(column_type, found, expected)
    assert "column 0 of memory_source differs between the optimized and the naive plan: in row 8 it is " in told


@pytest.mark.spark
def test_rounding_of_other_ranges_is_no_difference(spark: Any) -> None:
    """A running sum adds range by range; the naive plan adds row by row. Rows are compared a batch at a time."""
    numbers = SArray([0.1 * number for number in range(300)])
    with config.using(check="result", small_rows=0, batch_rows=64):
        total = numbers.cumulative_sum()
        total.materialize(segments=3)
    assert len(total) == 300


GIVEN = {"t": [1, None, 3, 4] * 5, "c": [1.5, 0.5] * 10, "w": list("abcde") * 4}
# How files are read: those of others have no row numbers, which a Spark query needs.
READ: dict[str, tuple[Callable[[SFrame, str], None], Callable[[str], SFrame]]] = {
    "saved": (SFrame.save, load_sframe),
    "parquet": (SFrame.write_parquet, SFrame.read_parquet),
    "some rows of parquet": (SFrame.write_parquet, lambda path: SFrame.read_parquet(path)[3:]),
    "orc": (SFrame.write_orc, SFrame.read_orc),
    "csv": (SFrame.export_csv, lambda path: SFrame.read_csv(path, column_type_hints={"t": int, "c": float, "w": str})),
    "json": (SFrame.export_json, SFrame.read_json),
}
STEPS: dict[str, Callable[[SFrame], SFrame]] = {
    "as they are": lambda sf: sf,
    "filtered": lambda sf: sf[sf["c"] > 1],
    "filled": lambda sf: sf.fillna("t", 7),
    "numbered": lambda sf: sf.add_row_number(),
    "appended": lambda sf: sf.append(sf),
    "joined": lambda sf: sf.join(SFrame({"w": ["a", "b"], "z": [1, 2]}), on="w"),
}


@pytest.mark.spark
@pytest.mark.parametrize("kind", part(READ, 2))
def test_naive_plans_of_files(spark: Any, kind: str, tmp_path: Path) -> None:
    """A naive plan has the rows of any file, and so does one that is compared with it."""
    write, read = READ[kind]
    path = str(tmp_path / "rows")
    write(SFrame(GIVEN), path)
    for step in STEPS.values():
        expected = list(step(read(path)))
        naive = step(read(path))
        naive.materialize(naive=True)
        assert list(naive) == expected
        with config.using(check="result"):
            assert list(step(read(path))) == expected
