"""Signals within the engine, and of the test kit; none of them reaches a user."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sframe_spark.errors.base import SFrameError, travelling


class NotPortable(Exception):
    """A value that no JSON can hold, and where it is."""

    def __init__(self, path: str, value: Any, found: str | None = None) -> None:
        shown = repr(value)
        super().__init__(path)
        self.path = path
        self.found = found or f"a {type(value).__qualname__} ({shown if len(shown) <= 80 else shown[:77] + '...'}), which is not portable"


class RowsNotFixedError(Exception):
    """A plan would compute rows of users' DataFrames for itself alone, where others need the same rows; ``frames`` tells which DataFrames."""

    def __init__(self, frames: Iterable[int]) -> None:
        super().__init__("a plan keeps rows of a DataFrame for itself")
        self.frames = frozenset(frames)


class CallsElsewhereError(Exception):
    """A Spark task would call functions that are called on the driver, or by others; ``memos`` tells which."""

    def __init__(self, memos: Sequence[int]) -> None:
        super().__init__("a plan calls functions that it does not own")
        self.memos = memos


class MemoFullError(Exception):
    """A memo has more results than memory should hold: its node is to be materialised. What it has stays."""


class StateTooLargeError(Exception):
    """What a function reaches takes more bytes than it may."""


class VariableNotSentError(Exception):
    """A variable that a function reaches cannot be pickled.

    Parameters
    ----------
    place
        Its module and name.
    reason
        Why. Whoever tells the user says what to do.
    """

    def __init__(self, place: tuple[str, str], reason: str) -> None:
        super().__init__(f"{'.'.join(place)}, {reason}")
        self.place, self.reason = place, reason


class CarriedError(Exception):
    """An error on its way through Spark; its text holds the original."""


@travelling
class NumbersLeftOutError(SFrameError):
    """Raised by a query whose sums left out floats of a group: it is made anew with all of them, and nobody sees this."""


class ProcessNotStartedError(Exception):
    """A Python process of ours could not be started, or ended before it was ready; what it was to do is done in this one."""


class NoRoomError(Exception):
    """Rows that are brought together take more bytes than they may; what reads them is planned otherwise."""


class ResultsTooLongError(Exception):
    """Results for some of the rows are as many bytes as a batch should have: ``done`` of the ``asked`` rows have theirs."""

    def __init__(self, done: int, asked: int) -> None:
        super().__init__(f"{done} of {asked} rows have results that are enough for a batch")
        self.done, self.asked = done, asked


class NotOneTypeError(Exception):
    """The values share no type; never leaves this module."""


class InfiniteNumberError(Exception):
    """A number of JSON is larger than all floats; Python's reader makes it infinite, which JSON has no number for."""

    def __init__(self, text: str, most: int) -> None:
        self.text = text
        shown = text if len(text) <= most else f"{text[:most]}..."
        super().__init__(f"the number {shown} is larger than any float: write it as a text")


class MisfitError(Exception):
    """A value further on in the file is not of the type that the first rows suggested."""


class NotEquivalent(AssertionError):
    """A node has other rows, or other facts, than it must have."""


class ContractBroken(AssertionError):
    """An operator does not do what it says of itself."""

    def __init__(self, node: Any, rule: str, found: str) -> None:
        super().__init__(f"{node.operator_type}[{node.operator.describe()}] breaks the rule that {rule}: {found}")
