"""Values that groups hold, those of one group after those of the other, and lists of the first ones of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.compute.key_runs import ranges
from sframe_spark.planner.chunk import MOST_BYTES_OF_ARRAY
from sframe_spark.types import ColumnType
from sframe_spark.values.arrow_layouts import in_one_array
from sframe_spark.values.nested.json_items import STORED_DICT, STORED_LIST, in_brackets

# So many values are put into lists at a time, which then need not have room twice.
PIECE = 1 << 18


@attrs.frozen(eq=False)
class HeldValues:
    """Values of some groups.

    Parameters
    ----------
    counts
        How many each group has.
    columns
        The values, group by group: several columns that belong together.
    """

    counts: np.ndarray
    columns: tuple[pa.Array, ...]

    @classmethod
    def nothing(cls, groups: int, types: Sequence[pa.DataType]) -> HeldValues:
        """Of so many groups without values."""
        return cls(np.zeros(groups, dtype=np.int64), tuple(pa.array([], data_type) for data_type in types))

    @property
    def starts(self) -> np.ndarray:
        """Where the values of each group start."""
        return np.cumsum(self.counts) - self.counts

    def group_of_values(self) -> np.ndarray:
        """The group of each value."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    def widened(self, groups: int) -> HeldValues:
        """The same with groups without values added up to that many."""
        return HeldValues(widened_with(self.counts, groups, 0), self.columns)

    def taken(self, groups: np.ndarray) -> HeldValues:
        """Those of some of the groups."""
        if len(groups) == len(self.counts) and bool((groups == np.arange(len(groups))).all()):
            return self
        places = pa.array(ranges(self.starts[groups], self.counts[groups]))
        return HeldValues(self.counts[groups], tuple(column.take(places) for column in self.columns))

    def kept(self, which: np.ndarray) -> HeldValues:
        """Some of the values."""
        if which.all():
            return self
        counts = np.bincount(self.group_of_values()[which], minlength=len(self.counts))
        return HeldValues(counts, tuple(column.filter(pa.array(which)) for column in self.columns))

    def with_more(self, more: HeldValues, groups: np.ndarray) -> HeldValues:
        """These values and others, which come behind those of the groups of these numbers; each is named once at most."""
        added = len(more.columns[0])
        if not added:
            return self
        counts = self.counts.copy()
        counts[groups] += more.counts
        columns = tuple(in_one_array([first, second]) for first, second in zip(self.columns, more.columns, strict=True))
        if len(counts) == 1:
            return HeldValues(counts, columns)
        starts, before = np.cumsum(counts) - counts, len(self.columns[0])
        places = np.empty(before + added, dtype=np.int64)
        places[ranges(starts, self.counts)] = np.arange(before)
        places[ranges(starts[groups] + self.counts[groups], more.counts)] = np.arange(before, before + added)
        return HeldValues(counts, tuple(column.take(pa.array(places)) for column in columns))


def widened_with(numbers: np.ndarray, count: int, filled: int) -> np.ndarray:
    """Numbers and behind them one number again and again, up to so many in all."""
    return np.concatenate([numbers, np.full(count - len(numbers), filled, dtype=numbers.dtype)])


def in_pieces(lengths: np.ndarray, most: int) -> Iterator[slice]:
    """Neighbours that have about so many items together, or one that has more.

    Examples
    --------
    >>> [(piece.start, piece.stop) for piece in in_pieces(np.array([3, 1, 1, 9, 0]), 4)]
    [(0, 2), (2, 3), (3, 5)]
    """
    ends, first = np.cumsum(lengths), 0
    while first < len(lengths):
        before = int(ends[first - 1]) if first else 0
        stop = max(int(np.searchsorted(ends, before + most, "right")), first + 1)
        # What has no items goes with those before it.
        stop = int(np.searchsorted(ends, ends[stop - 1], "right"))
        yield slice(first, stop)
        first = stop


def lists_of_firsts(columns: Sequence[pa.Array], starts: np.ndarray, lengths: np.ndarray, result: ColumnType) -> pa.Array:
    """For each row a list, or a dict, of so many values from one on: natively, or as text where the values are texts of items.

    Raises
    ------
    ArrowCapacityError
        If they are more than an array holds, before any is made.

    Examples
    --------
    >>> from sframe_spark.types import ENCODED_LIST, INT, list_of
    >>> lists_of_firsts([pa.array([5, 6, 7])], np.array([0, 2, 0]), np.array([1, 1, 2]), list_of(INT)).to_pylist()
    [[5], [7], [5, 6]]
    >>> lists_of_firsts([pa.array(["5", "[6]"])], np.array([0, 0]), np.array([0, 2]), ENCODED_LIST).to_pylist()
    ['[]', '[5,[6]]']
    """
    refuse_more_than_an_array(columns, starts, lengths, beside=1)
    found = [_lists([column.take(pa.array(places)) for column in columns], lengths[piece], result) for piece, places in pieces_of(starts, lengths)]
    return in_one_array(found) if found else pa.array([], result.physical)


def pieces_of(starts: np.ndarray, lengths: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Some rows after the other, and the places of the values that they have: so many from one on."""
    for piece in in_pieces(lengths, PIECE):
        yield piece, ranges(starts[piece], lengths[piece])


def _lists(columns: Sequence[pa.Array], lengths: np.ndarray, result: ColumnType) -> pa.Array:
    if result.is_encoded:
        return in_brackets(lengths, columns[0], brackets_of(result))
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
    array_class = pa.MapArray if pa.types.is_map(result.physical) else pa.ListArray
    return array_class.from_arrays(offsets, *columns, type=result.physical)


def brackets_of(result: ColumnType) -> tuple[str, str, str]:
    """What is before, between and after the items of stored lists or dicts."""
    return STORED_LIST if result.kind == "list" else STORED_DICT


def refuse_more_than_an_array(columns: Sequence[pa.Array], starts: np.ndarray, lengths: np.ndarray, beside: int = 0) -> None:
    """Raise where so many values from each start on, with so many bytes beside each text, are more than an array holds.

    Raises
    ------
    ArrowCapacityError
        If they are.
    """
    for column in columns:
        size = (beside if pa.types.is_string(column.type) else 1) * int(lengths.sum())
        if pa.types.is_string(column.type):
            ends = np.concatenate([[0], np.cumsum(pc.binary_length(column).fill_null(0).to_numpy(), dtype=np.int64)])
            size += int((ends[starts + lengths] - ends[starts]).sum())
        if size > MOST_BYTES_OF_ARRAY:
            raise pa.ArrowCapacityError("values so far are more than an array holds")
