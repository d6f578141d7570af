"""Capabilities: what only some operators can do, each in an object that the operator returns.

The operator contract has one member for each capability: ``operator.joining``, ``operator.counting`` and ``operator.whole_kernel``. It is None unless
a class defines it, so an operator that lacks the capability defines nothing, and a caller asks ``operator.joining is not None`` and need not know any
operator by name. A capability is a small frozen value. One that only states facts is made of its parameters::

    @property
    def whole_kernel(self):
        return WholeKernel(RangeSplit(self.keys[0]))

One that computes something is an instance of a subclass, which holds the operator and defines the methods of its base class. What a subclass does not
define is what an engine may assume of any operator with the capability::

    @attrs.frozen
    class CountedPairs(RowCounting):
        join: HashJoin

        def counted(self, inputs, facts):
            return ...

    class HashJoin(Operator):
        @property
        def counting(self):
            return CountedPairs(self)

The object is made each time that it is asked for, so it must be cheap to make, and it must not keep anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import attrs

from sframe_spark.errors import PlanInvariantError
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Schema

if TYPE_CHECKING:
    import numpy as np

    from sframe_spark.planner.operator import Operator, Origin


# Kernels of all rows.


@attrs.frozen
class RangeSplit:
    """An input column by whose value ranges a kernel of all rows may run: once for each range gives the rows that one run gives.

    Parameters
    ----------
    column
        Position of the column.
    ascending
        Whether the results of the ranges follow one another in ascending order of the column.
    first_rows
        The number of leading rows that are the result if rows are computed range by range; None if all rows are.
    leaves_equal_rows
        Whether the kernel returns rows in their input order if their values in the column are all equal or all missing.
    """

    column: int
    ascending: bool = True
    first_rows: int | None = None
    leaves_equal_rows: bool = False


class StateRows(Protocol):
    """Groups of rows represented as rows, *states*, possibly several for a group: fewer states than rows are exchanged.

    States of all rows, in the order of these, give the result of the kernel. Their first column is the one by whose ranges rows are divided.
    """

    def schema(self, facts: Sequence[Facts]) -> Schema | None:
        """Return the types of the columns of states; None if rows of such inputs have none, or their size is not bounded."""

    def of_rows(self, rows: Chunk, facts: Sequence[Facts]) -> Chunk:
        """Return the states of some rows, one for each group."""

    def result(self, states: Chunk, facts: Sequence[Facts]) -> Chunk:
        """Return the rows that the kernel computes of the rows from which states were made."""


@attrs.frozen
class WholeKernel:
    """A kernel that needs all rows of the only input at once. The engine gathers them if memory allows, which is faster than a Spark query.

    Parameters
    ----------
    split
        How the rows may be divided; None if the kernel must see all of them.
    for_few_rows
        An operator with the same rows and a kernel for any run of rows, which takes the place of this one if there are few rows; None if there is
        none.
    states
        Makes of rows fewer that may cross in their place; None if there are none.
    """

    split: RangeSplit | None = None
    for_few_rows: Operator | None = None
    states: StateRows | None = None


# Rows of two inputs that match.


class PartitionPairRows(Protocol):
    """The output rows that come from one hash partition of each input. An implementation may compute them lazily."""

    @property
    def rows(self) -> int:
        """Number of output rows."""

    @property
    def size(self) -> float:
        """Estimated bytes of the rows."""

    def sampled(self, count: int) -> np.ndarray:
        """Return the row ids of about ``count`` rows, spread over all of them."""

    def are_alone(self) -> np.ndarray:
        """Return, for each row of the only input with row ids, whether no row of the other input matches it. Called only if one input has row ids."""

    def of_matches(self) -> PartitionPairRows:
        """Return the rows that come from a pair of matching rows, without unmatched rows."""

    def chunks(self, max_bytes: int) -> Iterator[Chunk]:
        """Yield all rows, with their row ids as the last column if they have any, in chunks of at most ``max_bytes`` (or of one row)."""

    def partners(self, columns: Sequence[int], max_bytes: int) -> Iterator[Chunk]:
        """Yield some columns of the second input, for each output row that has a row of it; the last column is the row ids of the output rows."""


@attrs.frozen
class PartitionJoining:
    """The output rows can be computed from hash partitions of both inputs, which are partitioned by the keys.

    Parameters
    ----------
    numbered_slots
        Inputs whose row ids restore the order of the output rows.
    """

    numbered_slots: Sequence[int]

    def pairs(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> PartitionPairRows:
        """Return the output rows that come from one hash partition of each input.

        The inputs in ``numbered_slots`` have row ids as their last column. The operator's output is the rows of all partitions, stably sorted by row
        ids. A partition of an input in ``filtered_slots`` may itself be processed in parts, each with the whole partition of the other input. If the
        divided input has no row ids, the output is the ``of_matches`` of each part, and the rows that ``are_alone`` in every part, computed once with
        no row of the divided input.
        """
        raise PlanInvariantError(f"{type(self).__name__!r} does not join hash partitions: define pairs()")

    def without_row_ids(self) -> PartitionJoining | None:
        """Return the same join of inputs without row ids, for rows of whose order nothing depends; None if there is none, so that order is kept."""
        return None

    # Where rows cross between machines, the input whose rows decide the order of the output sends its keys only. What the rows of the other input,
    # its *partners*, are for each of its rows comes back, and is put beside the rows where they are.

    @property
    def probe_slot(self) -> int:
        """The input whose rows decide the order of the output: each comes with all its partners, which are rows of the other input."""
        return self.numbered_slots[0]

    def finding_partners(self) -> Operator:
        """Return the join of the keys of the probe input, as the first input, with all columns of the other: it finds the partners of all rows."""
        raise PlanInvariantError(f"{type(self).__name__!r} does not find partners: define finding_partners()")

    def partner_columns(self, width: int) -> Sequence[int]:
        """Return the columns of partners whose values are in the output, given how many columns partners have."""
        return range(width)

    def with_partners(self, probe: Chunk, partners: Chunk, counts: np.ndarray, schemas: Sequence[Schema], max_bytes: int) -> Iterator[Chunk]:
        """Yield the output rows of some rows of the probe input, in chunks of at most ``max_bytes`` (or of one row).

        Parameters
        ----------
        probe
            Rows of the probe input.
        partners
            Their partners, row by row: the columns of :meth:`partner_columns`. More partners are rows of the output for which there is no probe row.
        counts
            How many partners each of the rows has.
        schemas
            Types of the columns of both inputs.
        max_bytes
            As above.
        """
        raise PlanInvariantError(f"{type(self).__name__!r} puts no partners beside rows: define with_partners()")


@attrs.frozen
class MatchCounting:
    """The number of output rows follows from the first input and lookups in the second; any range of output rows can be computed separately."""

    def count(self, inputs: Sequence[Any], facts: Sequence[Facts]) -> int:
        """Return the number of output rows for some rows of the first input, without computing them."""
        raise PlanInvariantError(f"{type(self).__name__!r} does not count matches: define count()")

    def rows_between(self, inputs: Sequence[Any], facts: Sequence[Facts], start: int, stop: int, max_bytes: int) -> Chunk | None:
        """Return the output rows ``start`` (inclusive) to ``stop`` (exclusive); None if they take more than ``max_bytes``."""
        raise PlanInvariantError(f"{type(self).__name__!r} does not compute a range of matches: define rows_between()")


@attrs.frozen
class Joining:
    """The operator matches rows of two inputs.

    Parameters
    ----------
    keys
        Pairs of input columns that are compared to match rows. Rows match only if these are equal, except that one pair may be of near values.
    """

    keys: Sequence[tuple[Origin, Origin]]

    def in_memory(self) -> Operator | None:
        """Return an operator that has the same output if both inputs are in memory, and that needs no Spark; None if there is none."""
        return None

    def searching(self, known: Sequence[PlannerNode], inputs: Sequence[PlannerNode]) -> PlannerNode | None:
        """Return a node with the same rows that searches its second input, sorted first if necessary; None if no search is possible.

        ``known`` are nodes with the same rows as ``inputs``, about which more may be known.
        """
        return None

    @property
    def by_partitions(self) -> PartitionJoining | None:
        """How the output rows are computed from hash partitions of the inputs; None if they cannot be."""
        return None

    @property
    def match_counting(self) -> MatchCounting | None:
        """How the matches of rows of the first input are counted; None if they cannot be."""
        return None


# Numbers of rows that are found before rows are computed.


@attrs.frozen
class RowCounting:
    """The number of output rows is unknown until lookups in the inputs have found it; after that rows can be addressed by index."""

    @property
    def is_counted(self) -> bool:
        """Whether the rows have been counted."""
        return False

    def counted(self, inputs: Sequence[Any], facts: Sequence[Facts]) -> Operator:
        """Return the operator with its number of output rows filled in, which lookups in the inputs determine without computing the rows."""
        raise PlanInvariantError(f"{type(self).__name__!r} does not count rows: define counted()")

    def bytes_between(self, start: int, stop: int) -> float:
        """Return the estimated bytes of rows ``start`` (inclusive) to ``stop`` (exclusive) if known before they are computed; 0 if not."""
        return 0.0


# What callers ask of any operator.


def range_split_of(operator: Operator) -> RangeSplit | None:
    """Return how the kernel of an operator may run range by range; None if it needs all rows, or takes any run of rows."""
    kernel = operator.whole_kernel
    return None if kernel is None else kernel.split


def match_counting_of(operator: Operator) -> MatchCounting | None:
    """Return how the matches of a join are counted; None if they cannot be, and for all other operators."""
    joining = operator.joining
    return None if joining is None else joining.match_counting


def operator_for_few_rows(operator: Operator) -> Operator | None:
    """Return an operator for few rows that has the same output and needs no Spark; None if there is none."""
    kernel, joining = operator.whole_kernel, operator.joining
    if kernel is not None:
        return kernel.for_few_rows
    return None if joining is None else joining.in_memory()
