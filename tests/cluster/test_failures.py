"""Amid a program on a cluster something fails: rows are right or one clear error is told, nothing is left, and the next run is right.

`pytest -m cluster` tries each event once on three set-ups, amid programs by turns; `-m "cluster and campaign"` tries each on all set-ups, amid all
programs in all ways.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from tests.cluster.failing import PROGRAMS, RIGHT
from tests.cluster.failures import EVENTS, NUMBER_OF_SEED, Trials, trials, ways_of
from tests.cluster.machine import hiding_command
from tests.cluster.set_ups import SET_UPS

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(hiding_command() != ("unshare", "--mount"), reason="directories cannot be hidden and small disks cannot be mounted here"),
]


FEW_SET_UPS = ("shared directory", "object store", "Connect, nothing shared")


def one_of_each_event() -> Iterator[tuple[str, str, str, str]]:
    """Each event once on some set-ups, amid programs and in ways by turns."""
    for offset, name in enumerate(FEW_SET_UPS):
        set_up = SET_UPS[name]
        cases = itertools.product(ways_of(set_up), PROGRAMS)
        turns = itertools.islice(itertools.cycle(cases), offset, None, 3)
        for event, (way, program) in zip(EVENTS, turns, strict=False):
            if EVENTS[event].needs(set_up):
                yield name, event, program, way


def all_cases() -> Iterator[tuple[str, str, str, str]]:
    """Each event amid all programs in all ways on each set-up."""
    for name, set_up in SET_UPS.items():
        for event, program, way in itertools.product(EVENTS, PROGRAMS, ways_of(set_up)):
            if EVENTS[event].needs(set_up):
                yield name, event, program, way


@pytest.fixture(scope="module")
def running(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trials]:
    """One cluster for all trials on a set-up."""
    with trials(SET_UPS[request.param], tmp_path_factory.mktemp("failures")) as found:
        yield found


def require_well_ended(running: Trials, event: str, program: str, way: str) -> None:
    """Let an event happen amid a program."""
    found = running.amid(program, way, event, NUMBER_OF_SEED)
    assert found.faults == [], found


@pytest.mark.parametrize(("running", "event", "program", "way"), list(one_of_each_event()), indirect=["running"])
def test_each_event_once(running: Trials, event: str, program: str, way: str) -> None:
    require_well_ended(running, event, program, way)


@pytest.mark.campaign
@pytest.mark.parametrize(("running", "event", "program", "way"), list(all_cases()), indirect=["running"])
def test_each_event_amid_all_programs(running: Trials, event: str, program: str, way: str) -> None:
    require_well_ended(running, event, program, way)


@pytest.mark.parametrize("running", ["shared directory", "object store"], indirect=True)
def test_files_that_are_deleted(running: Trials) -> None:
    assert running.undisturbed("remade", "tasks")[0]["said"] == RIGHT
    said = running.undisturbed("called", "tasks")[0]["said"]
    assert said.startswith("StorageError: ") and "they were computed by your functions" in said and "save() keeps rows" in said, said


@pytest.mark.parametrize("running", ["Connect, nothing shared"], indirect=True)
@pytest.mark.parametrize("program", PROGRAMS)
def test_frames_in_files_that_only_the_driver_sees(running: Trials, program: str) -> None:
    assert running.undisturbed(program, "alone")[1] == []
