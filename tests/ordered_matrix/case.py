"""One run of a program: the frames it gets, and what plain Python has for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from sframe_spark import SFrame
from tests.ordered_matrix.expected import Rows
from tests.ordered_matrix.shapes import FORMS, NAMES, Shape, frame_of, source_of


@attrs.frozen
class Case:
    """Frames of a shape.

    Parameters
    ----------
    shape
        Rows and segments.
    form
        How the rows of the frame come to be.
    directory
        Where programs may save frames.
    """

    shape: Shape
    form: str
    directory: str

    @property
    def frame(self) -> SFrame:
        """The frame, made anew."""
        return FORMS[self.form](self.shape)

    @property
    def other(self) -> SFrame:
        """Another frame with the same columns, in two segments."""
        half = len(self.shape.others) // 2
        return frame_of(source_of(self.shape, self.shape.others, [half, len(self.shape.others) - half]))

    @property
    def rows(self) -> Rows:
        """Rows of the frame."""
        return [dict(row) for row in self.shape.rows]

    @property
    def others(self) -> Rows:
        """Rows of the other frame."""
        return [dict(row) for row in self.shape.others]

    @property
    def unit(self) -> Any:
        """One step of the key."""
        return self.shape.unit


@attrs.frozen
class Program:
    """A program over a frame, and what it gives by plain Python.

    Parameters
    ----------
    name
        What it does.
    columns
        Names of the columns of the result.
    build
        The program.
    expect
        Rows of the result.
    """

    name: str
    columns: tuple[str, ...]
    build: Callable[[Case], SFrame]
    expect: Callable[[Case], Rows]


class Programs(dict[str, Program]):
    """Programs by name."""

    def define(self, name: str, build: Callable[[Case], SFrame], expect: Callable[[Case], Rows], columns: Sequence[str] = NAMES) -> None:
        """Add a program with these result columns.

        Raises
        ------
        ValueError
            If there is one of this name.
        """
        if name in self:
            raise ValueError(f"there are two programs named {name!r}")
        self[name] = Program(name, tuple(columns), build, expect)
