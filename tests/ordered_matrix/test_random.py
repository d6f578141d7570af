"""Random rows through every operation over ordered rows, on the driver, against brute force: 54 cases in the normal run, more in a long one.

``SFRAME_SPARK_EXAMPLES=48 pytest tests/ordered_matrix/test_random.py`` tries 7,200.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from sframe_spark.config import config
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.session import is_started
from tests.examples import examples
from tests.ordered_matrix.case import Case
from tests.ordered_matrix.matrix import check
from tests.ordered_matrix.random_shapes import random_shape
from tests.ordered_matrix.shapes import FORMS
from tests.ordered_matrix.test_driver import PROGRAMS

PARTS, CASES = 6, 25


@pytest.mark.parametrize("part", range(PARTS))
def test_random_rows_give_what_brute_force_gives(part: int, tmp_path: Path) -> None:
    started = is_started()
    choose = random.Random(part)
    for number in range(examples(CASES)):
        shape = random_shape(choose, f"{part}.{number}")
        program, form = choose.choice(PROGRAMS), choose.choice(list(FORMS))
        with config.using(batch_rows=choose.choice([1, 2, 5, 131_072])):
            check(program, Case(shape, form, str(tmp_path)), MaterializeOptions(in_memory=choose.choice([0, 100_000])))
    assert is_started() == started
