"""The join of intervals: pairs of rows of two inputs where a point lies in an interval, or two intervals overlap.

Candidates are searched in the second input, which is in the order in which its intervals start, so neither side is exchanged. An interval that covers
all rows is a candidate of each range of rows, not of each row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any, ClassVar

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.bytes_of_array_values import uneven_bytes
from sframe_spark.compute.key_equality_and_codes import comparable_column
from sframe_spark.errors import SchemaError
from sframe_spark.operators.joins.asof_join import GROUPS
from sframe_spark.operators.joins.equi_join import SEARCHED
from sframe_spark.operators.joins.interval_matching import Intervals, Meeting
from sframe_spark.operators.joins.window_bounds import CLOSED
from sframe_spark.operators.lookup.cached_reader import Lookup, as_lookup, recorded_maximum
from sframe_spark.operators.lookup.key_numbers_and_group_codes import GroupCodes, Numbers, Positions, check_keys, key_column, key_numbers
from sframe_spark.operators.lookup.nearest_key_search import key_run, known_ascending
from sframe_spark.operators.project_zip_arrange import new_positions, project, zip_columns
from sframe_spark.operators.row_number import row_number
from sframe_spark.operators.sort_top_rows_and_assumed_order import sort_rows
from sframe_spark.order import derive
from sframe_spark.order.properties import RelationProperties
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Length, Schema
from sframe_spark.planner.operator import ALL_ROWS, ExpandingOperator, Need, Operator, Origin
from sframe_spark.planner.operator_capabilities import Joining, MatchCounting
from sframe_spark.planner.operator_parameters import column_positions, one_of
from sframe_spark.planner.registry import register
from sframe_spark.planner.row_sizes import Sizes, fixed_size
from sframe_spark.planner.spark_relation import KeyColumn, LoweringContext, Relation

if TYPE_CHECKING:
    from pyspark.sql import Column

# Rows of the second input that are held at a time to be matched with rows of the first.
MAX_CANDIDATES = 1 << 20
# Output chunks have at most this many bytes, unless a single row has more.
MAX_CHUNK_BYTES = 64 << 20
# A second input of at most this many rows is searched by rows in any order; each range of them may search all of it.
MAX_RIGHT_ROWS_IN_ANY_ORDER = 262_144
# Fewer left rows than this, in any order, search the second input a few times at most.
MAX_LEFT_ROWS_IN_ANY_ORDER = 131_072


@register
@attrs.frozen
class IntervalJoin(ExpandingOperator):
    """Pairs of rows of two inputs that have overlapping intervals and are equal in some columns.

    The output has all columns of the first input, followed by some of the second. Rows of the first input come in order, each with its matches in
    the order of the second input, or of a column of it. The second input is in ascending order of the starts of its intervals. Rows with a missing or
    NaN end match no row. Missing group values are equal to each other.

    Parameters
    ----------
    left_ends, right_ends
        Positions of the columns with the start and the end of each interval in both inputs; the same column twice: the rows are points.
    left_by, right_by
        Positions of the columns that must be equal.
    values
        Positions of the columns to take from the second input.
    how
        ``inner``, or ``left``: rows without a match are kept, with missing values.
    closed
        Which ends belong to an interval; see :class:`Meeting`.
    number
        Position of a column of ints in the second input by which the matches of a row are ordered; None: they are in the order of the input.
    """

    name: ClassVar[str] = "interval_join"
    arity: ClassVar[int | None] = 2
    deterministic: ClassVar[bool] = True
    left_ends: tuple[int, ...] = attrs.field(validator=column_positions)
    right_ends: tuple[int, ...] = attrs.field(validator=column_positions)
    left_by: tuple[int, ...] = attrs.field(validator=column_positions)
    right_by: tuple[int, ...] = attrs.field(validator=column_positions)
    values: tuple[int, ...] = attrs.field(validator=column_positions)
    how: str = attrs.field(default="inner", validator=one_of(*SEARCHED))
    closed: str = attrs.field(default="both", validator=one_of(*CLOSED))
    number: int | None = None

    @property
    def meeting(self) -> Meeting:
        """The rule that decides which intervals of rows meet."""
        left, right = (len(set(ends)) == 1 for ends in (self.left_ends, self.right_ends))
        return Meeting(left, right, self.closed, bool(self.left_by))

    @property
    def filtered_slots(self) -> Sequence[int]:
        """The first input; of an inner join both."""
        return (0, 1) if self.how == "inner" else (0,)

    def column_origins(self, inputs: Sequence[Facts]) -> Sequence[Sequence[Origin]]:
        """Return the origins of the columns of the first input, then of the values of the second."""
        return [[(0, position)] for position in range(inputs[0].width)] + [[(1, position)] for position in self.values]

    @property
    def joining(self) -> IntervalMatches:
        """Rows match by equal group columns and intervals that meet, which are counted before rows are made."""
        return IntervalMatches([((0, a), (1, b)) for a, b in zip(self.left_by, self.right_by, strict=True)], self)

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """Return the types of the columns of the first input, followed by those of the values of the second.

        Raises
        ------
        SchemaError
            If ends of intervals cannot be compared with each other, or the group columns cannot.
        """
        left, right = inputs[0].schema, inputs[1].schema
        if not len(self.left_ends) == len(self.right_ends) == 2 or len(self.left_by) != len(self.right_by):
            raise SchemaError("intervals have two ends, and both inputs as many columns that must be equal")
        first, *others = [*(left[position] for position in self.left_ends), *(right[position] for position in self.right_ends)]
        for other in others:
            check_keys(first, other)
        for a, b in zip(self.left_by, self.right_by, strict=True):
            if left[a] != right[b] or left[a].kind not in GROUPS:
                raise SchemaError(f"rows cannot be grouped by columns of {left[a]} and {right[b]}: both must have the same type, {', '.join(GROUPS)}")
        return (*left, *(right[position] for position in self.values))

    def infer_length(self, inputs: Sequence[Facts]) -> Length:
        """Return zero if an empty input leaves no row; otherwise an unknown length, with an upper bound if both inputs have one."""
        left, right = inputs[0].length.at_most, inputs[1].length.at_most
        if left == 0 or (right == 0 and self.how == "inner"):
            return Length.exactly(0)
        if left is None or right is None:
            return Length.unknown()
        return Length.unknown(at_most=left * max(right, 1))

    def column_sizes(self, inputs: Sequence[Sizes], facts: Sequence[Facts], schema: Schema) -> Sizes:
        """Return the sizes of the columns of the first input, followed by those of the values of the second."""
        return (*inputs[0], *(inputs[1][position] for position in self.values))

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        """Return properties: rows are in the order of the first input; its ties may be in the order of the second."""
        width = facts[0].width
        left_columns, right_columns = list(range(width)), list(range(width, width + facts[1].width))
        left, right = inputs[0].order, inputs[1].order.project({column: position for position, column in enumerate(right_columns)})
        join = derive.join_range if self.how == "inner" else derive.join_range_left
        order = join(left, right, left_columns, right_columns, matches_in_order=self.number is None)
        return RelationProperties(order.project(dict(enumerate([*left_columns, *(width + position for position in self.values)]))))

    def input_columns(self, outputs: Sequence[int], inputs: Sequence[Facts]) -> Sequence[Sequence[int]]:
        width = inputs[0].width
        left = {*self.left_ends, *self.left_by, *(o for o in outputs if o < width)}
        right = {*self.right_ends, *self.right_by, *(self.values[o - width] for o in outputs if o >= width)}
        return [sorted(left), sorted(right | ({self.number} if self.number is not None else set()))]

    def over_columns(self, outputs: Sequence[int], kept: Sequence[Sequence[int]], inputs: Sequence[Facts]) -> tuple[Operator, Sequence[int]]:
        width, (left, right) = inputs[0].width, (new_positions(columns) for columns in kept)
        values = [o - width for o in outputs if o >= width]
        narrowed = IntervalJoin(
            tuple(left[p] for p in self.left_ends),
            tuple(right[p] for p in self.right_ends),
            tuple(left[p] for p in self.left_by),
            tuple(right[p] for p in self.right_by),
            tuple(right[self.values[place]] for place in values),
            self.how,
            self.closed,
            None if self.number is None else right[self.number],
        )
        return narrowed, [*kept[0], *(width + place for place in values)]

    def requires(self, slot: int) -> Need:
        """Return ``LOOKUP`` for the second input, whose rows are searched, and ``INHERITED`` for the first."""
        return Need.LOOKUP if slot else Need.INHERITED

    def kernel(self, inputs: Sequence[Any], facts: Sequence[Facts]) -> Chunk:
        """Return all output rows at once, whatever their size."""
        search = self.search(inputs, facts)
        return search.rows_of(*search.pairs(0, search.left.rows))

    def chunks(self, inputs: Sequence[Any], facts: Sequence[Facts], max_rows: Callable[[], int]) -> Iterator[Chunk]:
        """Count the matches of each row, then yield the output rows, which are built on demand."""
        search = self.search(inputs, facts)
        made = False
        row = 0
        while row < search.left.rows:
            limit = max_rows()
            stop = max(row + 1, int(np.searchsorted(search.ends, search.begin(row) + limit, side="right")))
            for rows, partners in search.pairs_up_to(row, stop, limit):
                for start, end in search.slices(rows, partners):
                    made = True
                    yield search.rows_of(rows[start:end], partners[start:end])
            row = stop
        if not made:
            nothing = np.zeros(0, dtype=np.int64)
            yield search.rows_of(nothing, nothing)

    def search(self, inputs: Sequence[Any], facts: Sequence[Facts]) -> IntervalSearch:
        """Return the search for the matches of some rows of the first input."""
        lookup = as_lookup(inputs[1], facts[1].schema)
        ends = [*(facts[0].schema[p] for p in self.left_ends), *(facts[1].schema[p] for p in self.right_ends)]
        as_float = len({column_type.kind for column_type in ends}) > 1
        right = lookup.note(self, lambda: SearchedIntervals.of(self, lookup, as_float))
        return IntervalSearch.of(self, inputs[0], facts[0].schema, right)

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return Spark's join on the condition, which compares all pairs, so it only serves to test the kernel."""
        from pyspark.sql import functions as F

        left, right = inputs[0].rekeyed("l"), inputs[1].rekeyed("r")
        names = {name: f"d{index}" for index, name in enumerate(right.columns)}
        other = right.df.select(*[right.df[old].alias(new) for old, new in names.items()], *[c.name for c in right.key])
        df = left.df.join(other, self._condition(left.schema, right.schema), self.how)
        columns = [F.col(f"c{position}") for position in range(len(left.schema))]
        columns += [F.col(f"d{p}").alias(f"c{len(left.schema) + i}") for i, p in enumerate(self.values)]
        order = [F.col(key.name) for key in right.key] if self.number is None else [F.col(f"d{self.number}")]
        directions = [key.ascending for key in right.key] if self.number is None else [True]
        hidden = [F.col(key.name).alias(f"k{place}") for place, key in enumerate(left.key)]
        keys = [KeyColumn(f"k{place}", key.ascending) for place, key in enumerate(left.key)]
        for column, ascending in zip(order, directions, strict=True):
            hidden.append(column.alias(f"k{len(keys)}"))
            keys.append(KeyColumn(f"k{len(keys)}", ascending))
        return Relation(df.select(*columns, *hidden), (*left.schema, *(right.schema[p] for p in self.values)), tuple(keys))

    def _condition(self, left: Schema, right: Schema) -> Column:
        from pyspark.sql import functions as F

        as_float = len({*(left[p].kind for p in self.left_ends), *(right[p].kind for p in self.right_ends)}) > 1
        (a, b), (c, d) = (
            [key_column(F.col(f"{name}{p}"), schema[p], as_float) for p in ends]
            for name, schema, ends in (("c", left, self.left_ends), ("d", right, self.right_ends))
        )
        meeting = self.meeting
        pairs = zip(self.left_by, self.right_by, strict=True)
        equal = [comparable_column(F.col(f"c{p}"), left[p]).eqNullSafe(comparable_column(F.col(f"d{q}"), right[q])) for p, q in pairs]
        if meeting.left_is_point or meeting.right_is_point:
            point, start, end = (a, c, d) if meeting.left_is_point else (c, a, b)
            return reduce(and_, [start <= point if meeting.has_start else start < point, point <= end if meeting.has_end else point < end, *equal])
        if self.closed == "both":
            return reduce(and_, [c <= b, a <= d, a <= b, c <= d, *equal])
        return reduce(and_, [c < b, a < d, a < b, c < d, *equal])

    def describe(self) -> str:
        ends = " meets ".join("c" + "..c".join(map(str, dict.fromkeys(ends))) for ends in (self.left_ends, self.right_ends))
        by = "".join(f", c{a} = c{b}" for a, b in zip(self.left_by, self.right_by, strict=True))
        return f"{self.how}; {ends} closed {self.closed}{by}; takes {list(self.values)}" + ("" if self.number is None else f" by c{self.number}")


@attrs.frozen
class IntervalMatches(Joining):
    """The matches of an interval join, which a search counts."""

    join: IntervalJoin

    @property
    def match_counting(self) -> CountedIntervals:
        """Matches are counted without making pairs."""
        return CountedIntervals(self.join)


@attrs.frozen
class CountedIntervals(MatchCounting):
    """The number of rows of an interval join follows from the number of candidates before and after each row."""

    join: IntervalJoin

    def count(self, inputs: Sequence[Any], facts: Sequence[Facts]) -> int:
        """Return the number of output rows, without building any."""
        search = self.join.search(inputs, facts)
        return search.begin(search.left.rows)

    def rows_between(self, inputs: Sequence[Any], facts: Sequence[Facts], start: int, stop: int, max_bytes: int) -> Chunk | None:
        """Return only the output rows ``start`` (inclusive) to ``stop`` (exclusive); None if they exceed ``max_bytes``."""
        search = self.join.search(inputs, facts)
        if stop <= start:
            nothing = np.zeros(0, dtype=np.int64)
            return search.rows_of(nothing, nothing)
        first, last = (int(np.searchsorted(search.ends, number, side="right")) for number in (start, stop - 1))
        if (search.begin(last + 1) - search.begin(first)) * 2 * pa.int64().byte_width > max_bytes:
            return None
        rows, partners = (side[start - search.begin(first) : stop - search.begin(first)] for side in search.pairs(first, last + 1))
        return search.rows_of(rows, partners) if int(search.bytes_of(rows, partners).sum()) <= max_bytes else None


@attrs.frozen(eq=False)
class SearchedIntervals:
    """The second input: a source in the order of the starts of its intervals, and what was found out about its blocks.

    Parameters
    ----------
    lookup
        Lookup over the source.
    join
        The operator.
    groups
        Codes of the groups of both inputs.
    as_float
        Whether ints are compared as floats.
    tops
        A number for each block that no end of an interval in it exceeds; None if the rows are points.
    """

    lookup: Lookup
    join: IntervalJoin
    groups: GroupCodes
    as_float: bool
    tops: Numbers | None

    @classmethod
    def of(cls, join: IntervalJoin, lookup: Lookup, as_float: bool) -> SearchedIntervals:
        """Return a source with the largest end of each block, which the statistics tell, or the column."""
        groups, end = GroupCodes(tuple(lookup.schema[p] for p in join.right_by), keep_missing=True), join.right_ends[1]
        if join.meeting.right_is_point:
            return cls(lookup, join, groups, as_float, None)
        is_float = as_float or lookup.schema[end].kind == "float"
        lowest = -np.inf if is_float else np.iinfo(np.int64).min
        tops = np.full(lookup.block_count, lowest, dtype=np.float64 if is_float else np.int64)
        for number, block in enumerate(lookup.blocks):
            is_known, top = recorded_maximum(lookup.source, block, end)
            if not is_known:
                ends, present = key_numbers(lookup.block(number, [end]).columns[0], lookup.schema[end], as_float)
                top = ends[present].max() if present.any() else None
            tops[number] = lowest if top is None else top
        return cls(lookup, join, groups, as_float, tops)

    def blocks_near(self, low: Any, high: Any) -> list[list[int]]:
        """Return the blocks that may hold intervals that meet one from ``low`` to ``high``, in groups that are held at a time."""
        lookup = self.lookup
        if not lookup.block_count:
            return []
        fences = lookup.fences(self.join.right_ends[0], self.as_float)
        first, last = (
            int(fences.last_block_from(np.array([key], dtype=fences.keys.dtype), is_end)[0]) for key, is_end in ((low, False), (high, True))
        )
        numbers = range(max(first, 0), last + 1) if self.tops is None else np.flatnonzero(self.tops[: max(last + 1, 0)] >= low).tolist()
        result: list[list[int]] = []
        held = 0
        for number in numbers:
            rows = int(lookup.starts[number + 1] - lookup.starts[number])
            if not result or held + rows > MAX_CANDIDATES:
                result.append([])
                held = 0
            result[-1].append(number)
            held += rows
        return result

    def read(self, blocks: Sequence[int], low: Any, high: Any) -> Intervals:
        """Return the intervals in some blocks that may meet one from ``low`` to ``high``."""
        parts = [self._read(number, low, high) for number in blocks]
        if len(parts) == 1:
            return parts[0]
        lows = np.concatenate([part.low for part in parts])
        highs = lows if self.join.meeting.right_is_point else np.concatenate([part.high for part in parts])
        return Intervals(lows, highs, *(np.concatenate([getattr(part, name) for part in parts]) for name in ("codes", "rows")))

    def _read(self, number: int, low: Any, high: Any) -> Intervals:
        (start, end), by, schema = self.join.right_ends, self.join.right_by, self.lookup.schema
        chunk = self.lookup.block(number, list(dict.fromkeys([start, end, *by])))
        columns = dict(zip(dict.fromkeys([start, end, *by]), chunk.columns, strict=True))
        lows, first = key_run(columns[start], schema[start], self.as_float)
        stop = int(np.searchsorted(lows, high, side="right"))
        begin = int(np.searchsorted(lows, low)) if self.tops is None else 0
        chosen = np.arange(begin, max(begin, stop))
        lows = lows[chosen]
        highs = lows
        if self.tops is not None:
            ends, present = key_numbers(columns[end].slice(first, stop), schema[end], self.as_float)
            near = present & (ends >= low)
            chosen, lows, highs = chosen[near], lows[near], ends[near]
        codes = np.zeros(len(chosen), dtype=np.int64)
        if by:
            taken = pa.array(chosen + first)
            codes, _ = self.groups.of([columns[position].take(taken) for position in by], len(chosen))
        found = Intervals(lows, highs, codes, chosen + (first + int(self.lookup.starts[number])))
        whole = self.join.meeting.are_whole(found, self.join.meeting.right_is_point)
        return found if whole is None or whole.all() else found.at(whole)


@attrs.frozen(eq=False)
class IntervalSearch:
    """The matches of some rows of the first input.

    Parameters
    ----------
    join
        The operator.
    left
        The rows.
    intervals
        Their intervals, without those that match nothing, in row order.
    right
        The second input.
    counts
        How many rows of the second input each row meets.
    ends
        Number of output rows up to and including those of each row.
    """

    join: IntervalJoin
    left: Chunk
    intervals: Intervals
    right: SearchedIntervals
    counts: Positions
    ends: Positions

    @classmethod
    def of(cls, join: IntervalJoin, left: Chunk, schema: Schema, right: SearchedIntervals) -> IntervalSearch:
        """Return the matches of some rows, counted."""
        (start, end), meeting = join.left_ends, join.meeting
        low, present = key_numbers(left.columns[start], schema[start], right.as_float)
        high = low
        if not meeting.left_is_point:
            high, ends_present = key_numbers(left.columns[end], schema[end], right.as_float)
            present = present & ends_present
        codes, _ = right.groups.of([left.columns[position] for position in join.left_by], left.rows)
        intervals = Intervals(low, high, codes, np.arange(left.rows))
        whole = meeting.are_whole(intervals, meeting.left_is_point)
        present = present if whole is None else present & whole
        intervals = intervals if present.all() else intervals.at(present)
        counts = np.zeros(left.rows, dtype=np.int64)
        search = cls(join, left, intervals, right, counts, counts)
        for part, candidates in search.candidates(intervals):
            counts[part.rows] += meeting.counts(part, candidates)
        return attrs.evolve(search, ends=np.cumsum(np.maximum(counts, 1) if join.how == "left" else counts))

    def begin(self, row: int) -> int:
        """Return the number of output rows before those of a row."""
        return int(self.ends[row - 1]) if row else 0

    def candidates(self, part: Intervals) -> Iterator[tuple[Intervals, Intervals]]:
        """Yield some rows, and rows of the second input that may meet them, a number of these at a time, in order."""
        if not len(part.rows):
            return
        low, high = part.low.min(), part.high.max()
        for blocks in self.right.blocks_near(low, high):
            yield part, self.right.read(blocks, low, high)

    def part(self, start: int, stop: int) -> Intervals:
        """Return the intervals of a range of rows."""
        first, last = np.searchsorted(self.intervals.rows, [start, stop]).tolist()
        return self.intervals.at(slice(first, last))

    def pairs_up_to(self, start: int, stop: int, limit: int) -> Iterator[tuple[Positions, Positions]]:
        """Yield the pairs of a range of rows, which are at most ``limit``, or of one row, at most ``limit`` at a time."""
        if stop - start > 1 or self.counts[start] <= limit or self.join.number is not None:
            rows, partners = self.pairs(start, stop)
            for first in range(0, len(rows), min(limit, ALL_ROWS)):
                yield rows[first : first + limit], partners[first : first + limit]
            return
        for part, candidates in self.candidates(self.part(start, stop)):
            _, found = self.join.meeting.pairs(part, candidates)
            partners = candidates.rows[found]
            for first in range(0, len(partners), limit):
                yield np.full(len(partners[first : first + limit]), start), partners[first : first + limit]

    def pairs(self, start: int, stop: int) -> tuple[Positions, Positions]:
        """Return the left row and the right row of each output row of a range of left rows; -1 if there is no right row."""
        parts = []
        for part, candidates in self.candidates(self.part(start, stop)):
            lefts, rights = self.join.meeting.pairs(part, candidates)
            parts.append((part.rows[lefts], candidates.rows[rights]))
        rows, partners = (np.concatenate(sides) for sides in zip(*parts, strict=True)) if parts else (np.zeros(0, dtype=np.int64),) * 2
        if self.join.number is not None and len(rows):
            numbers = self.right.lookup.take(partners, [self.join.number]).columns[0].to_numpy(zero_copy_only=False)
            order = np.lexsort((numbers, rows))
            rows, partners = rows[order], partners[order]
        elif len(parts) > 1:
            order = np.argsort(rows, kind="stable")
            rows, partners = rows[order], partners[order]
        counts = self.counts[start:stop]
        if self.join.how == "inner" or counts.all():
            return rows, partners
        shown = np.repeat(np.arange(start, stop), np.maximum(counts, 1))
        with_missing = np.full(len(shown), -1, dtype=np.int64)
        with_missing[np.repeat(counts > 0, np.maximum(counts, 1))] = partners
        return shown, with_missing

    def bytes_of(self, rows: Positions, partners: Positions) -> Positions:
        """Return the estimated bytes of output rows in columns of variable width."""
        lookup = self.right.lookup
        uneven = [position for position in self.join.values if fixed_size(lookup.schema[position]) is None]
        return uneven_bytes(self.left.columns, self.left.rows)[rows] + lookup.uneven_bytes(partners, uneven)

    def slices(self, rows: Positions, partners: Positions) -> Iterator[tuple[int, int]]:
        """Yield ranges of output rows that stay within the size of a chunk, as rows may differ much in size."""
        if all(fixed_size(self.right.lookup.schema[p]) is not None for p in self.join.values) and all(
            pa.types.is_primitive(column.type) for column in self.left.columns
        ):
            yield 0, len(rows)
            return
        totals, start = np.cumsum(self.bytes_of(rows, partners)), 0
        while start < len(rows):
            before = int(totals[start - 1]) if start else 0
            stop = max(start + 1, int(np.searchsorted(totals, before + MAX_CHUNK_BYTES, side="right")))
            yield start, stop
            start = stop

    def rows_of(self, rows: Positions, partners: Positions) -> Chunk:
        """Return the output rows of some pairs."""
        everyone = len(rows) == self.left.rows and bool((rows == np.arange(len(rows))).all())
        columns = self.left.columns if everyone else tuple(column.take(pa.array(rows)) for column in self.left.columns)
        return Chunk((*columns, *self.right.lookup.take(partners, self.join.values).columns), len(rows))


def interval_join(left: PlannerNode, right: PlannerNode, join: IntervalJoin) -> PlannerNode:
    """Return a node with the pairs of rows of two nodes whose intervals meet, in the order of the left rows, then of the right ones.

    The right side is sorted by the starts of its intervals if necessary. A left side that is not in the order of its own is sorted, and its pairs
    are sorted back, only if both sides are large.
    """
    start = join.right_ends[0]
    if not known_ascending(right, start):
        join = attrs.evolve(join, number=right.facts.width)
        right = sort_rows(zip_columns(right, row_number(right)), [(start, True)])
    limits = ((right, MAX_RIGHT_ROWS_IN_ANY_ORDER), (left, MAX_LEFT_ROWS_IN_ANY_ORDER))
    has_few_rows = any(node.length.at_most is not None and node.length.at_most <= max_rows for node, max_rows in limits)
    if known_ascending(left, join.left_ends[0]) or has_few_rows:
        return join.make_planner_node(left, right)
    width = left.facts.width
    ordered = sort_rows(zip_columns(left, row_number(left)), [(join.left_ends[0], True)])
    pairs = join.make_planner_node(ordered, right)
    return project(sort_rows(pairs, [(width, True)]), [*range(width), *range(width + 1, pairs.facts.width)])
