"""Relations: columns by position, row keys, and the order that they define, never that of the rows as they lie."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import pytest

from sframe_spark.planner.spark_relation import KeyColumn, LoweringContext, Relation, key_struct, sort_expression
from sframe_spark.types import INT, STR

# Rows in another order than that of their key "k"; "c0" numbers them in key order.
ROWS = [(2, "c", 30), (0, "a", 10), (3, None, 40), (1, "b", 20)]


@attrs.frozen
class Named:
    """Stands for a DataFrame where nothing is asked of it."""


def test_hidden_columns_are_the_key_and_the_position() -> None:
    frame: Any = Named()
    key = (KeyColumn("k"), KeyColumn("j", False))
    assert Relation(frame, (INT, STR), key).hidden == ["k", "j"]
    assert Relation(frame, (INT, STR), key, position="p").hidden == ["k", "j", "p"]
    assert Relation(frame, (INT, STR), key, position="k").hidden == ["k", "j"]
    assert Relation(frame, (INT, STR), key).columns == ["c0", "c1"]


def test_a_source_is_built_where_no_session_remembers_it() -> None:
    built: list[str] = []
    spark: Any = None

    def build() -> Relation:
        built.append("once")
        frame: Any = Named()
        return Relation(frame, (INT,))

    assert LoweringContext(spark).open_source("key", build).schema == (INT,)
    assert built == ["once"]


@pytest.fixture
def keyed(spark: Any) -> Callable[[bool], Relation]:
    """Builds a relation of the rows, in ascending or descending order of the key."""

    def build(ascending: bool) -> Relation:
        return Relation(spark.createDataFrame(ROWS, "c0 bigint, c1 string, k bigint"), (INT, STR), (KeyColumn("k", ascending),))

    return build


def values(relation: Relation) -> list[Any]:
    """The first column in row order."""
    return [row[0] for row in relation.sorted().collect()]


@pytest.mark.spark
@pytest.mark.parametrize(("ascending", "wanted"), [(True, [0, 1, 2, 3]), (False, [3, 2, 1, 0])])
def test_rows_come_in_the_order_of_the_key(keyed: Callable[[bool], Relation], ascending: bool, wanted: list[int]) -> None:
    relation = keyed(ascending)
    assert values(relation) == wanted
    assert relation.visible().columns == relation.sorted().columns == ["c0", "c1"]


@pytest.mark.spark
def test_missing_keys_are_the_smallest(spark: Any) -> None:
    frame = spark.createDataFrame([(1,), (None,), (0,)], "c0 bigint")
    ordered = {ascending: [row[0] for row in frame.orderBy(sort_expression(frame.c0, ascending)).collect()] for ascending in (True, False)}
    assert ordered == {True: [None, 0, 1], False: [1, 0, None]}


@pytest.mark.spark
@pytest.mark.parametrize("ascending", [True, False])
def test_positions_number_the_rows_in_order(keyed: Callable[[bool], Relation], ascending: bool) -> None:
    relation = keyed(ascending).with_position()
    numbers = {row["c0"]: row["p"] for row in relation.df.collect()}
    assert numbers == {value: value if ascending else 3 - value for value in range(4)}
    assert relation.with_position() is relation


@pytest.mark.spark
def test_other_columns_keep_the_key_and_what_is_known_of_copies(keyed: Callable[[bool], Relation]) -> None:
    relation = attrs.evolve(keyed(True), not_missing=frozenset({0}))
    changed = relation.with_columns([relation.df.c1, relation.df.c0, relation.df.c0 + 1], (STR, INT, INT), (1, 0, None))
    assert values(changed) == ["a", "b", "c", None]
    assert changed.not_missing == {1}
    assert changed.hidden == ["k"]


@pytest.mark.spark
@pytest.mark.parametrize("position", [None, "p", "k"])
def test_keys_are_renamed_with_the_position(keyed: Callable[[bool], Relation], position: str | None) -> None:
    relation = keyed(True)
    relation = relation.with_position() if position == "p" else attrs.evolve(relation, position=position)
    renamed = relation.rekeyed("left")
    assert [column.name for column in renamed.key] == ["left0"]
    assert renamed.position == {None: None, "p": "leftp", "k": "left0"}[position]
    assert sorted(renamed.df.columns) == sorted([*renamed.columns, *renamed.hidden])
    assert values(renamed) == [0, 1, 2, 3]


@pytest.mark.spark
@pytest.mark.parametrize("ascending", [True, False])
def test_one_column_grows_in_row_order(keyed: Callable[[bool], Relation], ascending: bool) -> None:
    from pyspark.sql import functions as F

    relation = keyed(ascending)
    if not ascending:
        relation = relation.with_position()
    gathered = relation.df.agg(F.array_sort(F.collect_list(F.struct(key_struct(relation).alias("at"), "c0"))).alias("rows")).collect()[0].rows
    assert [row.c0 for row in gathered] == values(relation)
