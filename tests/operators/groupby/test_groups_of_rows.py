"""The first rows of groups, and how many rows of each are chosen, held against loops over all rows."""

from __future__ import annotations

import random

import numpy as np
import pytest

from sframe_spark.compute import row_groups
from sframe_spark.compute.row_groups import GroupsOfRows, first_rows


@pytest.mark.parametrize("seed", range(30))
def test_first_rows_are_the_first_however_late(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    choose = random.Random(seed)
    monkeypatch.setattr(row_groups, "ROWS_PER_STEP", choose.choice((1, 3, 8)))
    count = choose.choice((1, 2, 5, 40))
    codes = [choose.randrange(count) for _ in range(choose.choice((0, 1, 7, 8, 9, 16, 50)))]
    # Of codes in order the last ones are found late.
    codes = choose.choice((list, sorted))(codes)
    expected = [codes.index(code) if code in codes else len(codes) for code in range(count)]
    for kind in (np.int64, np.int32):
        assert first_rows(np.array(codes, kind), count).tolist() == expected


@pytest.mark.parametrize("chosen", [[True] * 4, [True, False, True, True], [False] * 4])
def test_totals_of_chosen_rows_are_their_numbers(chosen: list[bool]) -> None:
    groups = GroupsOfRows(np.array([1, 0, 1, 2]), 3)
    expected = [sum(is_one for code, is_one in zip([1, 0, 1, 2], chosen, strict=True) if code == group) for group in range(3)]
    assert groups.totals(np.array(chosen)).tolist() == expected and groups.sizes.tolist() == [1, 2, 1]
