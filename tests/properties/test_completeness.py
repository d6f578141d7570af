"""Every operator has a meaning in the oracle and a step that puts it into random programs; every law fires in some."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Sequence

from sframe_spark.config import config
from sframe_spark.planner.optimizer import Trace
from sframe_spark.planner.registry import BUILTIN_MODULES
from sframe_spark.rewrite_laws import builtin_laws, builtin_optimizer
from sframe_spark.testing.oracle import MEANINGS
from tests.properties.counts import IN_EACH_LAYOUT, ON_SPARK, WITHOUT_SPARK
from tests.properties.test_spark import LAYOUTS
from tests.random_programs.plans import ALL_STEPS, random_program

# Operators that random programs do not hold yet: give one a meaning in `testing` and a step in `tests/random_programs/steps.py`.
NOT_YET = ("sorted_join", "suffix_sort")

TABLES = ("memory_source", "segment_source", "archive_source", "range_source", "constant_source", "source_rows", "scan_parts")

# Laws for plans that the API does not build, or that are seldom right.
SELDOM = (
    "project(x, all) = x",
    "reduce(x, count) = length of x",
    "zip(x) = x",
    # Fusion makes one zip of most; what is left are those that other laws make.
    "zip(zip(x, y), z) = zip(x, y, z)",
    "reduce(filter_rows(f(x), c is there), aggregates of c) = reduce(f(x), aggregates of c)",
    "group_by(sort(x, k), k) = streaming_group_by(sort(x, k), k) where groups hold values in order",
    # Random tables are saved in one order: tests/api/io/test_second_orders.py has programs over frames of two.
    "sort(source, by) = sort(source in its second order, by) where that is the first of by",
    "filter_rows(f(source), m) = f(sort(filter_rows(source in its second order, m), row number))",
    "group_by(f(source), k) = group_by(f(source in its second order), k) where that is by k",
    "join(x, source, k) = sorted_join(x, source in its second order, k) where x has few rows",
)

# Words of equations that are no steps, or not only.
STANDS_FOR = {
    "filter_rows": ("filter", "transform"),
    "f": ("lambda_transform", "zip", "reduce"),
    "g": ("sort", "group_by", "join"),
    "reordered": ("sort", "reverse", "group_by"),
    "rowwise": ("generalized_transform",),
    "running": ("cumulative",),
}

# Rows of a DataFrame have no order before the engine has taken a snapshot, so there is nothing that an oracle could say.
WITHOUT_ORDER = ("spark_source",)

# Only laws make these, or are below a table.
OF_LAWS = ("segment_parts", "hash_join", "source_parts")


def own_operators() -> set[str]:
    return set(BUILTIN_MODULES)


def test_every_operator_has_a_meaning() -> None:
    assert own_operators() - set(MEANINGS) <= set(NOT_YET)


def test_every_operator_has_a_step() -> None:
    assert own_operators() - set(ALL_STEPS) - {*TABLES, *WITHOUT_ORDER, *OF_LAWS} <= set(NOT_YET)


def test_operators_that_are_put_off_are_put_off() -> None:
    assert not set(NOT_YET) & set(MEANINGS) & set(ALL_STEPS)


def test_programs_hold_every_operator() -> None:
    held: Counter[str] = Counter()
    for seed in range(200):
        held.update(node.operator_type for node in random_program(random.Random(seed)).nodes)
    wanted = {*ALL_STEPS, *TABLES}
    assert {name for name in wanted if held[name] < 5} == set()


def test_laws_fire_in_programs() -> None:
    assert set(SELDOM) <= {rule.equation for rule in builtin_laws()}
    waiting = {rule.equation for rule in builtin_laws()} - set(SELDOM)
    for seed in range(80):
        waiting -= fired(seed, list(ALL_STEPS))
    for equation in sorted(waiting):
        for seed in range(400):
            if equation not in waiting:
                break
            # What else fires there needs no programs of its own.
            waiting -= fired(seed, operators_named(equation))
        assert equation not in waiting, f"{equation} fires in no program"


def fired(seed: int, kinds: Sequence[str]) -> set[str]:
    """Equations of the laws that fire in a random program, in every second one as if its rows were many."""
    trace = Trace()
    with config.using(small_rows=0 if seed % 2 else config.small_rows):
        for node in random_program(random.Random(seed), kinds, most_steps=15).nodes:
            builtin_optimizer().optimize(node, trace=trace)
    return set(trace.counts())


def operators_named(equation: str) -> list[str]:
    """Steps that give programs the operators on the left side of an equation."""
    words = re.findall(r"\w+", equation.split(" = ", maxsplit=1)[0])
    return sorted({kind for word in words for kind in STANDS_FOR.get(word, (word,)) if kind in ALL_STEPS})


def test_the_normal_run_holds_a_hundred_programs() -> None:
    assert WITHOUT_SPARK + ON_SPARK >= 100 and ON_SPARK >= 15
    assert len(LAYOUTS) * IN_EACH_LAYOUT + len(LAYOUTS) // 2 == ON_SPARK
