"""A column of date-times that is empty or all missing fits one with offsets, and one without: it says nothing of offsets."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pytest

from sframe_spark import SArray, SFrame, aggregate

UTC = datetime.UTC
COUNT = {"n": aggregate.COUNT()}
DAYS = [datetime.datetime(2024, 1, day, tzinfo=UTC) for day in (1, 2)]
BARE = {
    "missing": lambda: SFrame({"t": SArray([None, None], datetime.datetime), "w": [3, 4]}),
    "empty": lambda: SFrame({"t": SArray([], datetime.datetime), "w": SArray([], int)}),
}
PROGRAMS: dict[str, Callable[[SFrame, SFrame], list[Any]]] = {
    "nothing is found in it": lambda sf, bare: list(sf.asof_join(bare, on="t")["w"]),
    "it finds nothing": lambda sf, bare: list(bare.asof_join(sf, on="t")["v"]),
    "windows of it": lambda sf, bare: list(sf.window("t", COUNT, before="1d", of=bare)["n"]),
    "its windows": lambda sf, bare: list(bare.window("t", COUNT, before="1d", of=sf)["n"]),
    "its rows by a clock": lambda sf, bare: list(bare.groupby_intervals("t", clock=sf["t"], operations=COUNT)["n"]),
    "joined": lambda sf, bare: list(sf.join(bare, on="t", how="left")["w"]),
    "filtered": lambda sf, bare: list(sf.filter_by(bare["t"], "t")["v"]),
    "appended": lambda sf, bare: list(sf.append(bare.rename({"w": "v"}))["v"]),
}


def rows(program: str, bare: SFrame) -> list[Any]:
    return PROGRAMS[program](SFrame({"t": DAYS, "v": [1, 2]}), bare)


@pytest.mark.parametrize("kind", list(BARE))
@pytest.mark.parametrize("program", list(PROGRAMS))
def test_it_is_as_if_its_type_allowed_offsets(program: str, kind: str) -> None:
    bare = BARE[kind]()
    typed = SFrame({"t": DAYS, "w": [0, 0]})[:0].append(bare)
    assert rows(program, bare) == rows(program, typed)


def test_an_empty_clock() -> None:
    assert len(SFrame({"t": DAYS}).groupby_intervals("t", clock=SArray([], datetime.datetime), operations=COUNT)) == 0


def test_results_of_a_function_without_offsets_fit_times_without() -> None:
    local = SFrame({"day": [1, 2]})
    local["t"] = local["day"].apply(lambda day: datetime.datetime(2024, 1, day), dtype=datetime.datetime)
    other = SFrame({"t": [datetime.datetime(2024, 1, 1)], "x": [5]})
    assert list(local.asof_join(other, on="t")["x"]) == [5, 5]
    assert list(other.asof_join(local, on="t")["day"]) == [1]


def test_values_with_and_without_offsets_are_refused() -> None:
    sf, other = SFrame({"t": DAYS}), SFrame({"t": [None, datetime.datetime(2024, 1, 1)]})
    for call in (
        lambda: sf.asof_join(other, on="t"),
        lambda: other.window("t", COUNT, of=sf),
        lambda: sf.groupby_intervals("t", clock=other[1:]["t"]),
    ):
        with pytest.raises(TypeError, match="cannot be compared"):
            call()
