"""Which keys are equal is one rule (docs/decisions/001-equal-keys.md), whatever brings rows together and wherever it runs."""

from __future__ import annotations

import random
from collections.abc import Iterable
from itertools import accumulate
from typing import Any

import pytest

from sframe_spark import SFrame
from sframe_spark.config import config
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.testing.oracle_functions import rows_equal
from sframe_spark.types import FLOAT, INT
from tests.api.equal_keys import MOMENTS, OPERATIONS, TRICKY, TRICKY_NESTED, VALUES, Grouped, sorted_rows
from tests.examples import by_turns, examples
from tests.random_programs.equivalence import EngineRunner, spark_layout
from tests.random_tables import segments_source, table_source

KINDS = {**TRICKY, **TRICKY_NESTED}
OF_DICTS = ["groupby_runs", *(name for name in MOMENTS if name.startswith(("groupby_", "add_columns_")) and " by" in name)]
OF_LISTS = [*OF_DICTS, "groupby", "drop_duplicates", "running", "running count"]
Drawn = tuple[SFrame, Grouped]


def drawn(kinds: list[str], choose: random.Random, rows: int, cuts: list[int] | None) -> Drawn:
    """A frame of tricky keys, in memory or in segments, and its rows."""
    columns = [[choose.choice(KINDS[kind][1]) for _ in range(rows)] for kind in kinds]
    order = list(range(rows))
    columns += [order, order, [0] * rows, [choose.choice([-1.5, 0.25, 8.0]) for _ in order]]
    names = [*[f"k{place}" for place in range(len(kinds))], "n", "m", "g", "v"]
    types = (*[KINDS[kind][0] for kind in kinds], INT, INT, INT, FLOAT)
    node = table_source(columns, types, rows) if cuts is None else segments_source(columns, types, [0, *accumulate(cuts)])
    plain = [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]
    return SFrame(_node=node, _names=names), Grouped(plain, names[: len(kinds)])


def check(name: str, frame: SFrame, rows: Grouped, options: MaterializeOptions) -> None:
    """Compare what an operation gives with the rule."""
    operation = OPERATIONS[name]
    expected = operation.expect(rows)
    found = EngineRunner(options).rows(operation.build(frame, rows.keys)._node)
    if not operation.in_order:
        found, expected = sorted_rows(found), sorted_rows(expected)
    assert rows_equal(found, expected), f"{name} of {[[row[key] for key in rows.keys] for row in rows.rows]}:\nfound    {found}\nexpected {expected}"


# Joins that no search finds are queries of Spark's.
@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", [name for name in OPERATIONS if not ("join" in name and name in VALUES)])
def test_keys_are_equal_by_the_rule_in_memory(name: str) -> None:
    choose = random.Random(name)
    for number, kind in by_turns(list(enumerate(TRICKY)), 2, list(OPERATIONS).index(name)):
        for count in range(number // 2 % 2, examples(2, every=1), 2):
            kinds = [kind] if OPERATIONS[name].one_key or count % 2 else [kind, choose.choice(list(TRICKY))]
            with config.using(batch_rows=choose.choice([1, 3, 1000])):
                check(name, *drawn(kinds, choose, choose.choice([3, 9, 14]), None), MaterializeOptions())


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", OF_LISTS)
def test_nested_keys_are_equal_by_the_rule_in_memory(name: str) -> None:
    choose = random.Random(name)
    for number, kind in enumerate(TRICKY_NESTED if name in OF_DICTS else ["array", "list"]):
        for count in range(number % 2, examples(2, every=1), 2):
            kinds = [kind] if OPERATIONS[name].one_key or count % 2 else [kind, choose.choice(list(TRICKY))]
            with config.using(batch_rows=choose.choice([1, 3, 1000])):
                check(name, *drawn(kinds, choose, choose.choice([3, 9, 14]), None), MaterializeOptions())


def check_on_spark(names: Iterable[str], every_kind: bool, naive: bool) -> None:
    """Check operations in Spark queries."""
    with spark_layout(2, adaptive=True):
        choose = random.Random(7)
        for place, name in enumerate(names):
            of_one = [["zoned"], ["nan"]] if every_kind else [["zoned", "nan"][place % 2 :][:1]]
            for kinds in of_one if OPERATIONS[name].one_key else [["zoned", "nan"]]:
                check(name, *drawn(kinds, choose, 12, [5, 0, 7]), MaterializeOptions(segments=2, naive=naive))


@pytest.mark.spark
def test_lowerings_of_ordered_operations_follow_the_rule(spark: Any) -> None:
    # Every fifth of them; `-m campaign` checks all.
    check_on_spark([name for name in OPERATIONS if name not in VALUES][::5], every_kind=False, naive=True)


@pytest.mark.spark
def test_grouping_and_joins_on_spark_follow_the_rule(spark: Any) -> None:
    check_on_spark(VALUES, every_kind=False, naive=False)


@pytest.mark.campaign
@pytest.mark.spark
@pytest.mark.parametrize("naive", [False, True])
def test_every_operation_on_spark_follows_the_rule(spark: Any, naive: bool) -> None:
    check_on_spark(OPERATIONS, every_kind=True, naive=naive)
