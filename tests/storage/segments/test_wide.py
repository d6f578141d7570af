"""Work on frames of many columns grows with their number, not with its square."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sframe_spark import SFrame, load_sframe
from tests.work import calls_of


class Asked(str):
    """A name whose comparisons are calls, so that a search through a list of names shows in their number."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other)


STEPS: dict[str, Callable[[SFrame, Path], Any]] = {
    "save": lambda frame, place: frame.save(str(place / "again")),
    "save derived": lambda frame, place: frame[frame["c0"] > 1].save(str(place / "derived")),
    "load": lambda frame, place: load_sframe(str(place / "frame")),
    "rows": lambda frame, place: list(load_sframe(str(place / "frame"))),
    "filter": lambda frame, place: len(load_sframe(str(place / "frame"))[frame["c0"] > 1]),
    "print": lambda frame, place: str(frame),
    "csv out": lambda frame, place: frame.export_csv(str(place / "again.csv")),
    "csv in": lambda frame, place: SFrame.read_csv(str(place / "frame.csv"), verbose=False),
    "csv columns": lambda frame, place: SFrame.read_csv(
        str(place / "frame.csv"), usecols=[Asked(name) for name in frame.column_names()], verbose=False
    ),
    "csv lists": lambda frame, place: SFrame.read_csv(str(place / "lists.csv"), verbose=False),
    "csv lists in lists": lambda frame, place: SFrame.read_csv(str(place / "nested.csv"), verbose=False),
    "parquet": lambda frame, place: SFrame.read_parquet(str(place / "frame.parquet")),
}


def frame_of(width: int, place: Path) -> SFrame:
    frame = SFrame({f"c{number}": [number, 1, 2] for number in range(width)})
    frame.save(str(place / "frame"))
    frame.export_csv(str(place / "frame.csv"))
    pq.write_table(pa.table(frame), place / "frame.parquet")
    names = ",".join(frame.column_names())
    # Lists that no bracket closes, and lists within what ends with more than a bracket: neither is one field.
    (place / "lists.csv").write_text(f"[{names.replace(',', ',[')}\n{','.join(['[1'] * width)}\n")
    (place / "nested.csv").write_text(f"{names}\n{','.join(['[1'] * width)}{']' * width}x\n")
    return frame


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", STEPS)
def test_four_times_the_columns_are_four_times_the_work(name: str, tmp_path: Path) -> None:
    counts = []
    for width in (60, 240):
        place = tmp_path / str(width)
        place.mkdir()
        frame = frame_of(width, place)
        counts.append(calls_of(lambda frame=frame, place=place: STEPS[name](frame, place)))  # type: ignore[misc]
    assert counts[1] <= 6 * counts[0], counts


def seconds_of_save(width: int, place: Path) -> float:
    """Processor time of all threads, the shorter of two: compiled code does not show in numbers of calls."""
    frame = SFrame({f"c{number}": [number, 1, 2] for number in range(width)})
    taken = []
    for attempt in range(2):
        start = time.process_time()
        frame.save(str(place / f"{width}-{attempt}"))
        taken.append(time.process_time() - start)
    return min(taken)


@pytest.mark.campaign
def test_saving_takes_time_by_columns(tmp_path: Path) -> None:
    # Four times the columns took twelve times as long when every column looked for its place among all.
    assert seconds_of_save(2400, tmp_path) <= 8 * seconds_of_save(600, tmp_path)
