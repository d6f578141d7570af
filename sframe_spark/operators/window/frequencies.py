"""Running counts of each value: a group's values are held in the order in which they came, with how often each did."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.compute.key_runs import ranges
from sframe_spark.operators.window.groups import RowGroups, totals_so_far
from sframe_spark.operators.window.growing import first_of_each
from sframe_spark.operators.window.running_collections import HeldValues, brackets_of, pieces_of, refuse_more_than_an_array
from sframe_spark.types import ENCODED_DICT, ColumnType
from sframe_spark.values.arrow_layouts import in_one_array
from sframe_spark.values.nested.json_items import in_brackets, texts_of_items

# Digits of a count, and what stands around it.
MOST_BESIDE = 24


@attrs.frozen(eq=False)
class FrequencyAggregate:
    """A running ``freq_count``; the state is each group's values, missing included, and their counts.

    Parameters
    ----------
    column_type
        Type of the argument: int or str.
    """

    column_type: ColumnType

    def empty(self, groups: int) -> HeldValues:
        """No value in any group."""
        return HeldValues.nothing(groups, [self.column_type.physical, pa.int64()])

    def widened(self, state: HeldValues, groups: int) -> HeldValues:
        """The state with groups without rows added up to that many."""
        return state.widened(groups)

    def advance(self, state: HeldValues, columns: Sequence[pa.Array], groups: RowGroups, slots: np.ndarray) -> tuple[pa.Array, HeldValues]:
        """Counts of a run, row by row, and the state after it."""
        before, rows = state.taken(slots), self._in_order(columns, groups)
        after, places, new = added(before, rows)
        sizes = groups.stops - groups.starts
        lengths = totals_so_far(new.astype(np.int64), groups) + np.repeat(before.counts, sizes)
        starts, numbers = (groups.to_row_order(found) for found in (np.repeat(after.starts, sizes), np.arange(groups.rows)))
        texts = stored_counts(after, places, starts, groups.to_row_order(lengths), numbers)
        return texts, replaced(state, after, slots)

    def summarized(self, state: HeldValues, columns: Sequence[pa.Array], groups: RowGroups, slots: np.ndarray) -> HeldValues:
        """State after a run."""
        return self.merged(state, self._in_order(columns, groups), slots)

    def merged(self, first: HeldValues, second: HeldValues, slots: np.ndarray) -> HeldValues:
        """Values and counts of both, those of the first before."""
        return replaced(first, added(first.taken(slots), second)[0], slots)

    def _in_order(self, columns: Sequence[pa.Array], groups: RowGroups) -> HeldValues:
        return HeldValues(groups.stops - groups.starts, (columns[0].take(pa.array(groups.order)), pa.repeat(1, groups.rows)))


def added(before: HeldValues, more: HeldValues) -> tuple[HeldValues, np.ndarray, np.ndarray]:
    """What groups hold with more values, the place there of each of these, and which of them are new."""
    held = len(before.columns[0])
    new, numbers, firsts = first_of_each(HeldValues(before.counts, before.columns[:1]), HeldValues(more.counts, more.columns[:1]), 0)
    found = before.with_more(more.kept(new), np.arange(len(before.counts)))
    places = np.empty(len(numbers), dtype=np.int64)
    places[:held] = ranges(found.starts, before.counts)
    news = np.flatnonzero(new)
    places[held:][news] = ranges(found.starts + before.counts, found.counts - before.counts)
    places = places[firsts][numbers]
    counts = np.zeros(len(found.columns[0]), dtype=np.int64)
    np.add.at(counts, places, np.concatenate([before.columns[1].to_numpy(), more.columns[1].to_numpy()]))
    return HeldValues(found.counts, (found.columns[0], pa.array(counts))), places[held:], new


def replaced(state: HeldValues, groups: HeldValues, slots: np.ndarray) -> HeldValues:
    """A state with what some of its groups hold in place of what they did."""
    kept = np.ones(len(state.counts), dtype=bool)
    kept[slots] = False
    others = state.kept(np.repeat(kept, state.counts))
    return HeldValues(others.counts, others.columns).with_more(groups, slots)


def stored_counts(held: HeldValues, places: np.ndarray, starts: np.ndarray, lengths: np.ndarray, numbers: np.ndarray) -> pa.Array:
    """For each row a stored dict of so many values from one on, with the counts they had then.

    Parameters
    ----------
    held
        The values and the counts that they have in the end.
    places
        Of each row along the order of the groups the place of its value.
    starts, lengths
        Row by row which values the dict has.
    numbers
        Where each row is along the order of the groups.
    """
    keys = pc.binary_join_element_wise("[", texts_of_items(held.columns[0]), ",", "")
    refuse_more_than_an_array([keys], starts, lengths, MOST_BESIDE)
    # Each value's rows, one after the other: those up to a row are in its count, and those behind it are not.
    met = np.sort(places * len(places) + np.arange(len(places)))
    times = np.bincount(places, minlength=len(keys))
    base = held.columns[1].to_numpy() - np.cumsum(times)
    found = []
    for piece, chosen in pieces_of(starts, lengths):
        counts = base[chosen] + np.searchsorted(met, chosen * len(places) + np.repeat(numbers[piece], lengths[piece]), "right")
        entries = pc.binary_join_element_wise(keys.take(pa.array(chosen)), pa.array(counts).cast(pa.string()), "]", "")
        found.append(in_brackets(lengths[piece], entries, brackets_of(ENCODED_DICT)))
    return in_one_array(found) if found else pa.array([], pa.string())
