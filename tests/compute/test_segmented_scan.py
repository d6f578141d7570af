"""Scans within groups: side by side or one after the other, each entry is combined with those of its group before it, in their order."""

from __future__ import annotations

import random
from functools import reduce

import numpy as np
import pytest

from sframe_spark.compute import segmented_scan as module
from sframe_spark.compute.segmented_scan import Components, RowGroups, accumulated, segmented_scan


def random_groups(choose: random.Random) -> RowGroups:
    rows = choose.choice([1, 2, 17, 200, 5000])
    starts = sorted({0, *(choose.randrange(rows) for _ in range(choose.choice([0, 3, rows])))})
    return RowGroups([*range(len(starts))], np.arange(rows), np.array(starts))


def after_each(values: Components, combine: module.Combine) -> Components:
    """Each entry combined with all before it, one by one."""
    parts = [tuple(component[place : place + 1] for component in values) for place in range(len(values[0]))]
    found = [reduce(combine, parts[: place + 1]) for place in range(len(parts))]
    return tuple(np.concatenate(pieces) for pieces in zip(*found, strict=True))


def one_after_the_other(first: Components, second: Components) -> Components:
    """Maps ``a * x + b`` of whole numbers, which wrap around: the order matters, and nothing is rounded."""
    return first[0] * second[0], first[1] * second[0] + second[1]


@pytest.mark.parametrize("steps", [2, 3, 16])
def test_entries_are_combined_in_their_order(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STEPS", steps)
    for seed in range(40):
        choose, generator = random.Random(seed), np.random.default_rng(seed)
        groups = random_groups(choose)
        values = (generator.integers(-9, 9, groups.rows), generator.integers(-9, 9, groups.rows))
        kept = tuple(component.copy() for component in values)
        with np.errstate(over="ignore"):
            found = segmented_scan(values, groups, one_after_the_other)
            for start, stop in [*zip(groups.starts.tolist(), groups.stops.tolist(), strict=True)][:8]:
                stop = min(stop, start + 60)
                wanted = after_each(tuple(component[start:stop] for component in values), one_after_the_other)
                assert all((a[start:stop] == b).all() for a, b in zip(found, wanted, strict=True)), (seed, start)
        assert all((a == b).all() for a, b in zip(values, kept, strict=True))


def test_functions_of_numpy_give_what_they_give_of_each_group() -> None:
    for seed in range(40):
        groups, generator = random_groups(random.Random(seed)), np.random.default_rng(seed)
        floats = generator.choice([1.0, -2.0, np.inf, -np.inf, np.nan, 0.0], groups.rows)
        values = (generator.integers(-(2**62), 2**62, groups.rows), floats, floats > 0, generator.integers(-9, 9, groups.rows))
        functions = (np.add, np.minimum, np.logical_or, np.maximum)
        with np.errstate(over="ignore", invalid="ignore"):
            found = accumulated(values, groups, functions)
            for start, stop in zip(groups.starts.tolist(), groups.stops.tolist(), strict=True):
                for component, function, result in zip(values, functions, found, strict=True):
                    assert np.array_equal(function.accumulate(component[start:stop]), result[start:stop], equal_nan=result.dtype.kind == "f")
