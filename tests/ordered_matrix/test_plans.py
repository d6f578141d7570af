"""The optimized plans for many rows mean the same, evaluated by the oracle: every program without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from sframe_spark.config import config
from sframe_spark.planner.printed_plans import plan_text
from sframe_spark.rewrite_laws import builtin_optimizer
from sframe_spark.session import is_started
from sframe_spark.testing.oracle import Oracle
from sframe_spark.testing.oracle_functions import rows_equal
from tests.examples import part
from tests.ordered_matrix.case import Case
from tests.ordered_matrix.matrix import PROGRAMS
from tests.ordered_matrix.shapes import FORMS, SHAPES

# Moved keys, differences of date-times and infinite times are not among the oracle's scalars.
UNKNOWN_TO_ORACLE = {"shift and diff", "shift and diff of appended rows", "shift_time, then sort", "exponential smoothing"}
# Each with another shape and form; the normal run takes the first.
ENTRIES_PER_PROGRAM = 4


@pytest.mark.parametrize("turn", part(range(ENTRIES_PER_PROGRAM), ENTRIES_PER_PROGRAM))
def test_optimized_plans_give_the_rows_of_plain_python(turn: int, tmp_path: Path) -> None:
    started = is_started()
    shapes, forms = list(SHAPES.values()), list(FORMS)
    for place, program in enumerate(PROGRAMS.values()):
        if program.name in UNKNOWN_TO_ORACLE:
            continue
        case = Case(shapes[(place + 5 * turn) % len(shapes)], forms[(place + turn) % len(forms)], str(tmp_path))
        expected = [tuple(row[name] for name in program.columns) for row in program.expect(case)]
        frame = program.build(case)
        with config.using(small_rows=0):
            plan = builtin_optimizer().optimize(frame._node)
        found = Oracle().rows(plan)
        assert rows_equal(found, expected), f"{program.name} of {case.shape.name}, {case.form}:\n{found}\n{expected}\n{plan_text(plan)}"
    assert is_started() == started
