"""Every operation over ordered rows, on every kind of frame, gives the same rows in the same order however Spark cuts and plans the work.

The normal run takes every third program once, such that each shape meets few partitions and many (`test_plans.py` takes all programs).
`pytest tests/ordered_matrix -m campaign` runs the whole product; SFRAME_SPARK_MATRIX_PROGRAMS is a regular expression for a part of it.
`-m cluster` runs a part on three executor processes, and on Spark Connect.
"""

from __future__ import annotations

import os
import re
from itertools import product
from typing import Any

import pytest

from tests.examples import by_turns
from tests.ordered_matrix.matrix import LAYOUTS, PARTITIONS, PROGRAMS, covering, entries, failures
from tests.ordered_matrix.shapes import FORMS, NAMES, SHAPES
from tests.properties.other_sparks import last_line

ELSEWHERE_PARTITIONS, ELSEWHERE_EVERY = 7, 97


def test_shapes_are_what_they_say() -> None:
    for shape in SHAPES.values():
        assert sum(shape.cuts) == len(shape.rows)
    for number, shape in enumerate(SHAPES.values()):
        for form in by_turns(list(FORMS.values()), 3, number):
            assert form(shape).column_names() == list(NAMES)


def test_the_normal_run_covers_programs_and_pairs_of_shape_and_partitions() -> None:
    chosen = [(LAYOUTS[layout][0], *entry) for layout in range(len(LAYOUTS)) for entry in covering(layout)]
    assert {program for _, program, _, _ in chosen} == set(list(PROGRAMS)[::3])
    assert {(partitions > 2, shape) for partitions, _, shape, _ in chosen} == set(product([False, True], SHAPES))
    assert {partitions for partitions, *_ in chosen} == set(PARTITIONS)
    assert {form for *_, form in chosen} == set(FORMS)


@pytest.mark.spark
@pytest.mark.parametrize(("partitions", "adaptive"), LAYOUTS)
def test_rows_do_not_depend_on_the_layout(spark: Any, partitions: int, adaptive: bool) -> None:
    found = failures(covering(LAYOUTS.index((partitions, adaptive))), partitions, adaptive)
    assert not found, "\n\n".join(found)


@pytest.mark.campaign
@pytest.mark.spark
@pytest.mark.parametrize(("partitions", "adaptive"), LAYOUTS)
@pytest.mark.parametrize("shape", list(SHAPES))
def test_the_whole_matrix(spark: Any, shape: str, partitions: int, adaptive: bool) -> None:
    wanted = re.compile(os.environ.get("SFRAME_SPARK_MATRIX_PROGRAMS", ""))
    chosen = [entry for entry in entries(LAYOUTS.index((partitions, adaptive))) if entry[1] == shape and wanted.search(entry[0])]
    found = failures(chosen, partitions, adaptive)
    assert not found, "\n\n".join(found)


ELSEWHERE = ("tests.ordered_matrix.run", ELSEWHERE_PARTITIONS, "on", ELSEWHERE_EVERY, 0)
ENTRIES_ELSEWHERE = -(-len(PROGRAMS) * len(SHAPES) // ELSEWHERE_EVERY)


@pytest.mark.cluster
def test_a_part_of_the_matrix_on_three_executors() -> None:
    assert last_line(*ELSEWHERE, "cluster") == f"{ENTRIES_ELSEWHERE} entries, 0 failures, local-cluster[3,1,700] with 3 executors"


@pytest.mark.cluster
def test_a_part_of_the_matrix_on_spark_connect() -> None:
    assert last_line(*ELSEWHERE, "connect") == f"{ENTRIES_ELSEWHERE} entries, 0 failures, Spark Connect on local[2]"
