"""Values that depend on neighbouring rows, on the driver: what goes on from one batch to the next, whatever their size."""

from __future__ import annotations

from pathlib import Path

import pytest

from sframe_spark.config import config
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.session import is_started
from tests.examples import by_turns, part
from tests.ordered_matrix import key_programs, row_programs
from tests.ordered_matrix.case import Case
from tests.ordered_matrix.matrix import check
from tests.ordered_matrix.shapes import FORMS, SHAPES

# Groups of a key and an interval are put together by Spark.
ON_SPARK = "resample by k"
PROGRAMS = [program for program in {**row_programs.PROGRAMS, **key_programs.PROGRAMS}.values() if not program.name.startswith(ON_SPARK)]
# These go on from batch to batch in ways of their own: one of them runs with each shape too.
OFTEN = ("exponential smoothing", "running by k", "asof_join nearest", "groupby_runs of t")
BATCH_ROWS = (1, 2, 5)
# The normal run takes one program of so many with each shape, and each program with some shape; the campaign takes them all.
TURNS = 16
# Batches of one row of many rows take long.
LONG = 50


@pytest.mark.parametrize("offset", part(range(TURNS), TURNS))
@pytest.mark.parametrize("name", [name for name, shape in SHAPES.items() if len(shape.rows) < LONG])
def test_rows_do_not_depend_on_batches(name: str, offset: int, tmp_path: Path) -> None:
    started, shape = is_started(), list(SHAPES).index(name)
    often = by_turns(OFTEN, len(OFTEN), shape + offset)
    for place, program in enumerate(PROGRAMS):
        if (place - shape - offset) % TURNS == 0 or program.name in often:
            # Each program meets each form in batches of each size, with one shape or another: not what its turn follows from alone.
            form = list(FORMS)[(place // TURNS + shape) % len(FORMS)]
            with config.using(batch_rows=BATCH_ROWS[(place + shape // len(FORMS)) % len(BATCH_ROWS)]):
                check(program, Case(SHAPES[name], form, str(tmp_path)), MaterializeOptions())
    assert is_started() == started
