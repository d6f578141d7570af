"""The log of a run: the outcome of each section, in execution order. It refers to no nodes and no rows."""

from __future__ import annotations

import attrs

from sframe_spark.engine.physical.sections import THE_RESULT, Mode


@attrs.define
class SectionOutcome:
    """The outcome of one section.

    Parameters
    ----------
    number
        Its number in the plan; ``2.1`` is the first that section 2 needed, which was planned again while it ran.
    mode
        Where it ran.
    operators
        Names of its operators, inputs before what reads them.
    reads
        Numbers of the sections whose rows it read.
    reason
        Why its rows were computed.
    seconds
        How long it ran, without the sections that it reads.
    rows, size
        Rows that it made, and their bytes in memory or in files; None where they were not counted.
    tasks
        Spark tasks that made them; None where Spark made them in a query of its own.
    spilled
        Bytes that Spark spilled to disk; None where not measured.
    queries
        Spark queries that were made for it: more than one where the first left out numbers that a sum has; None where Spark made none.
    is_on_disk
        The rows are in files.
    instead_of
        The mode that was planned, where another was chosen as it ran.
    is_given_up
        The rows were not used: the plan, or this section, was run again otherwise.
    """

    number: str
    mode: Mode
    operators: tuple[str, ...]
    reads: tuple[str, ...]
    reason: str
    seconds: float = 0.0
    rows: int | None = None
    size: int | None = None
    tasks: int | None = None
    spilled: int | None = None
    queries: int | None = None
    is_on_disk: bool = False
    instead_of: Mode | None = None
    is_given_up: bool = False


@attrs.frozen
class Mark:
    """A position in a run log: its number of outcomes, and the section numbers given so far."""

    outcomes: int
    numbers: dict[str, int]


@attrs.define(eq=False)
class RunLog:
    """Outcomes of the sections of a run.

    Parameters
    ----------
    outcomes
        In the order in which they ended.
    """

    outcomes: list[SectionOutcome] = attrs.Factory(list)
    _numbers: dict[str, int] = attrs.Factory(dict)

    def next_number(self, prefix: str) -> str:
        """Return the number of the next section, of the plan (no prefix) or of a section that was planned again.

        Examples
        --------
        >>> log = RunLog()
        >>> log.next_number(""), log.next_number(""), log.next_number("2.")
        ('1', '2', '2.1')
        """
        self._numbers[prefix] = number = self._numbers.get(prefix, 0) + 1
        return f"{prefix}{number}"

    def add_run(self, other: RunLog, reason: str) -> None:
        """Append the log of an earlier run, and why it ran; its sections are renumbered to follow on."""
        before = self._numbers.get("", 0)
        for outcome in other.outcomes:
            reads = tuple(shifted(number, before) for number in outcome.reads)
            why = reason if outcome.reason == THE_RESULT else outcome.reason
            self.outcomes.append(attrs.evolve(outcome, number=shifted(outcome.number, before), reads=reads, reason=why))
        self._numbers[""] = before + other._numbers.get("", 0)

    def mark(self) -> Mark:
        """Return the current position, at which an attempt begins."""
        return Mark(len(self.outcomes), dict(self._numbers))

    def give_up(self, mark: Mark) -> None:
        """Mark outcomes since a position as discarded; the next attempt reuses their numbers."""
        for outcome in self.outcomes[mark.outcomes :]:
            outcome.is_given_up = True
        self._numbers = dict(mark.numbers)


def shifted(number: str, by: int) -> str:
    """Return a section number shifted by an offset.

    Examples
    --------
    >>> shifted("2.1", 3)
    '5.1'
    """
    first, dot, rest = number.partition(".")
    return f"{int(first) + by}{dot}{rest}"
