"""Random programs of which some frames are looked at before others are made of them, and after."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Sequence

import attrs

from sframe_spark import SFrame, aggregate

ROWS = 300


@attrs.define
class Program:
    """Frames that are alive, in the order in which they were made, and what was done, as text."""

    random: random.Random
    frames: list[SFrame] = attrs.Factory(list)
    lines: list[str] = attrs.Factory(list)

    def any_frame(self) -> SFrame:
        """One of the frames."""
        return self.random.choice(self.frames)

    def note(self, frame: SFrame, text: str) -> None:
        """Remember what is done to a frame; what is made of it is the next one."""
        number = next(number for number, other in enumerate(self.frames) if other is frame)
        self.lines.append(f"{len(self.frames)}: {text} {number}")


def rows_in_no_order(rows: int = ROWS) -> SFrame:
    return SFrame({"k": [number * 7 % 11 for number in range(rows)], "v": [float(number * 31 % rows) for number in range(rows)]})


def filtered(frame: SFrame, chosen: random.Random) -> SFrame:
    return frame[frame["k"] > chosen.choice((3, 8, 10))]


def joined(frame: SFrame, chosen: random.Random) -> SFrame:
    return frame[["k", "v"]].join(rows_in_no_order(chosen.choice((3, 8))).rename({"v": "j"}), on="k", how=chosen.choice(("inner", "left")))


def numbered(frame: SFrame, chosen: random.Random) -> SFrame:
    return frame.add_row_number(f"n{frame.num_columns()}")


def derived(frame: SFrame, chosen: random.Random) -> SFrame:
    made = frame.copy()
    made[f"d{frame.num_columns()}"] = frame["v"] * 2
    return made


def applied(frame: SFrame, chosen: random.Random) -> SFrame:
    made = frame.copy()
    # Nobody knows what this one does: it is no function that only computes.
    made[f"a{frame.num_columns()}"] = frame["v"].apply(lambda value: value if os.getpid() else None, float)
    return made


def sliced(frame: SFrame, chosen: random.Random) -> SFrame:
    start = chosen.randint(0, 4)
    return frame[start : start + chosen.choice((3, 15, 200))]


def sorted_by_value(frame: SFrame, chosen: random.Random) -> SFrame:
    return frame.sort("v")


def grouped(frame: SFrame, chosen: random.Random) -> SFrame:
    return frame.groupby("k", {"v": aggregate.MAX("v")})


STEPS: Sequence[Callable[[SFrame, random.Random], SFrame]] = (
    filtered, filtered, joined, numbered, derived, applied, applied, sliced, sorted_by_value, grouped,
)  # fmt: skip

LOOKS: dict[str, Callable[[SFrame], object]] = {
    "all of": SFrame.materialize,
    "the number of": len,
    "the first of": lambda frame: list(frame.head(3)),
    "the last of": lambda frame: list(frame.tail(2)),
    "a sum of": lambda frame: frame[frame.column_names()[-1]].max(),
    "a column of": lambda frame: frame[frame.column_names()[-1]].materialize(),
}


def program_of(seed: int, steps: int = 7) -> Program:
    """The program of a seed, with its looks taken."""
    chosen = random.Random(seed)
    program = Program(chosen, [rows_in_no_order()])
    for _ in range(steps):
        frame, step = program.any_frame(), chosen.choice(STEPS)
        program.note(frame, step.__name__)
        program.frames.append(step(frame, chosen))
    for _ in range(chosen.randint(1, 4)):
        frame, look = program.any_frame(), chosen.choice(list(LOOKS))
        program.note(frame, look)
        LOOKS[look](frame)
    return program
