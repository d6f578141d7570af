"""The log of a run: the outcome of each section in the order of execution, without references to nodes or rows."""

from __future__ import annotations

import attrs

from sframe_spark.engine.shapes.section_tree import THE_RESULT
from sframe_spark.lazy_imports import lazy_imports

with lazy_imports(globals()):
    from sframe_spark.engine.shapes.section_tree import Strategy


@attrs.define
class SectionOutcome:
    """The outcome of one section.

    Parameters
    ----------
    number
        The section's number in the plan; ``2.1`` is the first section that section 2 needed when it was planned again during the run.
    strategy
        How the section was run: its shape, and by whom.
    operators
        The names of its operators, inputs first.
    reads
        The numbers of the sections whose rows it read.
    reason
        Why the section was computed.
    seconds
        How long the section ran, without the sections that it reads.
    rows, size
        The number of rows, and their bytes in memory or in files; None if unknown.
    tasks
        The number of tasks that computed the rows; None if there were none, or if it was not measured.
    spilled
        The bytes that were written to disk during the run; None if not measured.
    queries
        How many Spark queries were made: more than one if a sum needed floats that the first query had left out; None if there was none.
    is_on_disk
        Whether the rows are in files.
    instead_of
        What was planned, if the section ran in a different way.
    is_given_up
        Whether the rows were not used, as the plan or this section was run again in another way.
    """

    number: str
    strategy: Strategy
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
    instead_of: Strategy | None = None
    is_given_up: bool = False


@attrs.frozen
class Mark:
    """A position in a run log: its number of outcomes, and the last section number for each prefix."""

    outcomes: int
    numbers: dict[str, int]


@attrs.define(eq=False)
class RunLog:
    """The outcomes of the sections of a run.

    Parameters
    ----------
    outcomes
        The outcomes in the order in which the sections ended.
    """

    outcomes: list[SectionOutcome] = attrs.Factory(list)
    _numbers: dict[str, int] = attrs.Factory(dict)

    def next_number(self, prefix: str) -> str:
        """Return the number of the next section of the plan (no prefix), or of a section that is planned again.

        Examples
        --------
        >>> log = RunLog()
        >>> log.next_number(""), log.next_number(""), log.next_number("2.")
        ('1', '2', '2.1')
        """
        self._numbers[prefix] = number = self._numbers.get(prefix, 0) + 1
        return f"{prefix}{number}"

    def add_run(self, other: RunLog, reason: str) -> None:
        """Append the log of another run; ``reason`` says why it ran. Its sections are renumbered to follow the sections of this log."""
        before = self._numbers.get("", 0)
        for outcome in other.outcomes:
            reads = tuple(shifted(number, before) for number in outcome.reads)
            why = reason if outcome.reason == THE_RESULT else outcome.reason
            self.outcomes.append(attrs.evolve(outcome, number=shifted(outcome.number, before), reads=reads, reason=why))
        self._numbers[""] = before + other._numbers.get("", 0)

    def mark(self) -> Mark:
        """Return the current position, where an attempt begins."""
        return Mark(len(self.outcomes), dict(self._numbers))

    def give_up(self, mark: Mark) -> None:
        """Mark the outcomes since a position as not used; the next attempt reuses their section numbers."""
        for outcome in self.outcomes[mark.outcomes :]:
            outcome.is_given_up = True
        self._numbers = dict(mark.numbers)


def shifted(number: str, by: int) -> str:
    """Return a section number, increased by an offset.

    Examples
    --------
    >>> shifted("2.1", 3)
    '5.1'
    """
    first, dot, rest = number.partition(".")
    return f"{int(first) + by}{dot}{rest}"
