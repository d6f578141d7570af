"""The values of groups as a state column, and columns of lists and dicts of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.expressions.aggregates.input_rows_and_windows import InputRows, RowWindows, group_sizes
from sframe_spark.expressions.aggregates.state_columns import Growth, State, StateColumn
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.planner.chunk import MAX_BYTES_OF_ARRAY
from sframe_spark.types import ARRAY_KIND, DATETIME_KIND, ENCODED_LIST, FLOAT, IMAGE_KIND, INT, LIST_KIND, NDARRAY_KIND, STR, ColumnType
from sframe_spark.values.arrow_layouts import in_one_array
from sframe_spark.values.arrow_to_python import decode
from sframe_spark.values.datetimes import all_in_years_of_python
from sframe_spark.values.image_columns import images
from sframe_spark.values.ndarrays import numbers_of, shape_texts
from sframe_spark.values.nested.json_item_splitting_and_joining import STORED_DICT, STORED_LIST, stored_lists
from sframe_spark.values.nested.python_and_tagged_json import STORED_ARRAY
from sframe_spark.values.nested.tagged_json_patterns_and_splitting import BEFORE_DATETIME
from sframe_spark.values.python_to_arrow import encode_plain
from sframe_spark.values.tagged_json_display_and_canonical_text import encode_value

with lazy_imports(globals()):
    import pyarrow.compute as pc

    from sframe_spark.compute.exact_running_sums_in_two_words import grouped_cumsum
    from sframe_spark.compute.key_runs import ranges
    from sframe_spark.compute.row_groups import GroupsOfRows
    from sframe_spark.values.column_cast import microseconds_of, wall_microseconds
    from sframe_spark.values.nested.json_item_splitting_and_joining import in_brackets, is_known, items_of, stored_floats, texts_of_items
    from sframe_spark.values.nested.python_and_tagged_json import stored_ndarrays
    from sframe_spark.values.nested.tagged_json_patterns_and_splitting import bytes_of

# Number of values that are put into lists at a time, which limits the memory for copies.
VALUES_PER_BATCH = 1 << 18


@attrs.frozen(eq=False)
class ListViews:
    """Lists of values: each is a range of the values of a pool. The ranges may overlap, as those of the rows so far and of windows do.

    Parameters
    ----------
    starts, sizes
        The range of each list.
    pool
        One or more columns of values, all of the same length.
    """

    starts: np.ndarray
    sizes: np.ndarray
    pool: tuple[pa.Array, ...]

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def nbytes(self) -> int:
        """Bytes of the ranges and of the pool."""
        return self.starts.nbytes + self.sizes.nbytes + sum(column.nbytes for column in self.pool)

    @property
    def stops(self) -> np.ndarray:
        """End of the range of each list."""
        return self.starts + self.sizes

    def take(self, entries: np.ndarray | slice) -> ListViews:
        """Return some of the lists, with the same pool, or with part of it if that is much smaller."""
        return attrs.evolve(self, starts=self.starts[entries], sizes=self.sizes[entries]).compact()

    def compact(self) -> ListViews:
        """Return the same lists without the values that no list has, if these are at least half of the pool. Lists overlap as before."""
        count = len(self.pool[0])
        if not count or 2 * int(self.sizes.sum()) > count:
            return self
        edges = np.zeros(count + 1, dtype=np.int64)
        np.add.at(edges, self.starts, 1)
        np.add.at(edges, self.stops, -1)
        used = np.cumsum(edges[:-1]) > 0
        moved = np.concatenate([[0], np.cumsum(used)])
        chosen = pa.array(np.flatnonzero(used))
        return attrs.evolve(self, starts=moved[self.starts], pool=tuple(column.take(chosen) for column in self.pool))

    @classmethod
    def joined(cls, states: Sequence[ListViews]) -> ListViews:
        """Return the lists of several states, one state after the other."""
        before = np.cumsum([0, *(len(state.pool[0]) for state in states[:-1])])
        starts = np.concatenate([state.starts + offset for state, offset in zip(states, before, strict=True)])
        pool = tuple(in_one_array(list(columns)) for columns in zip(*(state.pool for state in states), strict=True))
        return cls(starts, np.concatenate([state.sizes for state in states]), pool)

    @property
    def are_packed(self) -> bool:
        """Whether the lists are the whole pool, one after the other."""
        ends = np.cumsum(self.sizes)
        return len(self.pool[0]) == (int(ends[-1]) if len(ends) else 0) and bool((self.starts == ends - self.sizes).all())

    def blocks(self) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """Yield slices of consecutive lists, each with the sizes of the lists and the positions of their values in the pool."""
        for lists in batches_by_size(self.sizes, VALUES_PER_BATCH):
            yield lists, self.sizes[lists], ranges(self.starts[lists], self.sizes[lists])

    def total(self, bounds: np.ndarray | None = None) -> int:
        """Return the number of values in all lists, or the sum of their sizes, given where each value of the pool begins, and the end of the last."""
        return int(self.sizes.sum() if bounds is None else (bounds[self.stops].astype(np.int64) - bounds[self.starts]).sum())

    def packed(self) -> ListViews:
        """Return the same lists with a pool of just their values, one list after the other."""
        if self.are_packed:
            return self
        chosen = pa.array(ranges(self.starts, self.sizes))
        return ListViews(np.cumsum(self.sizes) - self.sizes, self.sizes, tuple(column.take(chosen) for column in self.pool))

    def gathered(self, order: np.ndarray) -> ListViews:
        """Return the lists in another order, with a pool of just their values, one list after the other."""
        if not self.are_packed:
            return self.take(order).packed()
        offsets, chosen, sizes = pa.array(np.append(self.starts, len(self.pool[0]))), pa.array(order), self.sizes[order]
        pool = tuple(pa.LargeListArray.from_arrays(offsets, column).take(chosen).values for column in self.pool)
        return attrs.evolve(self, starts=np.cumsum(sizes) - sizes, sizes=sizes, pool=pool)

    def list_of_values(self) -> np.ndarray:
        """Return for each value of packed lists the index of its list."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)


@attrs.frozen
class CollectedValues(StateColumn):
    """The values of some columns in row order.

    Parameters
    ----------
    columns
        Positions of the columns.
    skips_missing
        Whether rows in which the first column has no value are left out.
    """

    needs_order = True
    growth = Growth.ROWS
    columns: tuple[int, ...]
    types: tuple[ColumnType, ...]
    skips_missing: bool = False

    @property
    def pool_types(self) -> tuple[pa.DataType, ...]:
        """Types of the columns of the values."""
        return tuple(column_type.physical for column_type in self.types)

    def collected(self, rows: InputRows) -> tuple[pa.Array, ...]:
        """Return the values of all rows."""
        return tuple(rows.column(position) for position in self.columns)

    def empty(self, groups: int) -> State:
        nothing = np.zeros(groups, dtype=np.int64)
        return ListViews(nothing, nothing, tuple(pa.array([], data_type) for data_type in self.pool_types))

    def chosen(self, rows: InputRows) -> np.ndarray | None:
        """Return a mask of the rows whose values are kept; None if all are."""
        return rows.valid(self.columns[:1]) if self.skips_missing else None

    def lift(self, rows: InputRows, groups: GroupsOfRows) -> State:
        valid, order, sizes = self.chosen(rows), groups.order, groups.sizes
        if valid is not None:
            order, sizes = order[valid[order]], groups.totals(valid)
        positions = pa.array(order)
        return ListViews(np.cumsum(sizes) - sizes, sizes, tuple(column.take(positions) for column in self.collected(rows)))

    def merge(self, state: State, groups: GroupsOfRows) -> State:
        sizes = np.zeros(groups.count, dtype=np.int64)
        np.add.at(sizes, groups.codes, state.sizes)
        return ListViews(np.cumsum(sizes) - sizes, sizes, state.gathered(groups.order).pool)

    def running(self, rows: InputRows, starts: np.ndarray, before: State) -> tuple[State, State]:
        groups = len(starts)
        after = self.merge(ListViews.joined([before, self._of_sorted(rows, starts)]), GroupsOfRows(np.tile(np.arange(groups), 2), groups))
        valid = self.chosen(rows)
        sizes = grouped_cumsum(np.ones(rows.count, dtype=np.int64) if valid is None else valid.astype(np.int64), starts, before.sizes)
        return ListViews(np.repeat(after.starts, group_sizes(starts, rows.count)), sizes, after.pool), after

    def _of_sorted(self, rows: InputRows, starts: np.ndarray) -> ListViews:
        stops = np.append(starts[1:], rows.count)
        return self.windows(rows, RowWindows(starts, stops))

    def windows(self, rows: InputRows, windows: RowWindows) -> State:
        return views_of_windows(self.collected(rows), self.chosen(rows), windows)

    def to_arrow(self, state: State) -> list[pa.Array]:
        packed = state.packed()
        offsets = pa.array(np.append(packed.starts, len(packed.pool[0])))
        return [pa.LargeListArray.from_arrays(offsets, column) for column in packed.pool]

    def of_arrow(self, columns: Sequence[pa.Array]) -> State:
        offsets = columns[0].offsets.to_numpy(zero_copy_only=False)
        return ListViews(offsets[:-1] - offsets[0], np.diff(offsets), tuple(c.values.slice(offsets[0], offsets[-1] - offsets[0]) for c in columns))

    @property
    def arrow_width(self) -> int:
        return len(self.columns)


@attrs.frozen
class CollectedTexts(CollectedValues):
    """The values of one column in row order, as the JSON that stored lists hold."""

    @property
    def pool_types(self) -> tuple[pa.DataType, ...]:
        return (pa.string(),)

    def collected(self, rows: InputRows) -> tuple[pa.Array, ...]:
        return (item_texts_of(rows, self.columns[0], self.types[0]),)


def views_of_windows(pool: Sequence[pa.Array], chosen: np.ndarray | None, windows: RowWindows) -> ListViews:
    """Return the values of each window, without those of rows that are not chosen; the pool has the chosen rows."""
    if chosen is None:
        return ListViews(windows.starts, windows.lengths, tuple(pool))
    before = np.concatenate([[0], np.cumsum(chosen)])
    starts, mask = before[windows.starts], pa.array(chosen)
    return ListViews(starts, before[windows.stops] - starts, tuple(column.filter(mask) for column in pool))


def batches_by_size(lengths: np.ndarray, max_items: int) -> Iterator[slice]:
    """Yield slices of consecutive entries with at most ``max_items`` items together, or with a single entry that has more.

    Examples
    --------
    >>> [(batch.start, batch.stop) for batch in batches_by_size(np.array([3, 1, 1, 9, 0]), 4)]
    [(0, 2), (2, 3), (3, 5)]
    """
    ends, first = np.cumsum(lengths), 0
    while first < len(lengths):
        before = int(ends[first - 1]) if first else 0
        stop = max(int(np.searchsorted(ends, before + max_items, "right")), first + 1)
        # Entries without items go with the entries before them.
        stop = int(np.searchsorted(ends, ends[stop - 1], "right"))
        yield slice(first, stop)
        first = stop


# Columns of lists and dicts.


def lists_of(views: ListViews, columns: Sequence[pa.Array], result: ColumnType) -> pa.Array:
    """Return lists or dicts: an Arrow list or map for each of some views, or JSON if the values are JSON.

    Parameters
    ----------
    views
        The lists.
    columns
        The columns of the pool that are put into lists: the values, or the keys and values of maps, or JSON items or entries.
    result
        Type of the result.

    Raises
    ------
    ArrowCapacityError
        If the values are more than an array can hold; this is raised before any list is built.

    Examples
    --------
    >>> from sframe_spark.types import list_of
    >>> views = ListViews(np.array([0, 2, 0]), np.array([1, 1, 2]), (pa.array([5, 6, 7]),))
    >>> lists_of(views, views.pool, list_of(INT)).to_pylist()
    [[5], [7], [5, 6]]
    >>> lists_of(ListViews(np.array([0, 0]), np.array([0, 2]), ()), [pa.array(["5", "[6]"])], ENCODED_LIST).to_pylist()
    ['[]', '[5,[6]]']
    """
    refuse_more_than_an_array(views, columns, extra_bytes=1)
    if not result.is_encoded and views.are_packed:
        return _lists(columns, views.sizes, result)
    lists = [_lists([column.take(pa.array(positions)) for column in columns], sizes, result) for _, sizes, positions in views.blocks()]
    return in_one_array(lists) if lists else pa.array([], result.physical)


def _lists(columns: Sequence[pa.Array], sizes: np.ndarray, result: ColumnType) -> pa.Array:
    if result.is_encoded:
        return in_brackets(sizes, columns[0], STORED_LIST if result.kind == LIST_KIND else STORED_DICT)
    offsets = pa.array(np.concatenate([[0], np.cumsum(sizes)]), pa.int32())
    array_class = pa.MapArray if pa.types.is_map(result.physical) else pa.ListArray
    return array_class.from_arrays(offsets, *columns, type=result.physical)


def refuse_more_than_an_array(views: ListViews, columns: Sequence[pa.Array], extra_bytes: int) -> None:
    """Check that lists, with ``extra_bytes`` for each string, fit into one array.

    Raises
    ------
    ArrowCapacityError
        If they do not fit.
    """
    count = views.total()
    for column in columns:
        is_string = pa.types.is_string(column.type)
        if (views.total(bytes_of(column)[1]) + extra_bytes * count if is_string else count) > MAX_BYTES_OF_ARRAY:
            raise pa.ArrowCapacityError("the lists of all groups, rows or windows do not fit one array")


def item_texts_of(rows: InputRows, position: int, column_type: ColumnType) -> pa.Array:
    """Return the result of :func:`item_texts` for a column, which is computed once."""
    return rows.once(("item texts", position), lambda: item_texts(rows.column(position), column_type))


def item_texts(column: pa.Array, column_type: ColumnType) -> pa.Array:
    """Return the JSON of each value, as in stored lists and dicts; that of a missing value is ``null``.

    Examples
    --------
    >>> from sframe_spark.types import list_of
    >>> item_texts(pa.array([[1], None]), list_of(INT)).to_pylist()
    ['[1]', 'null']
    """
    if column_type in (INT, FLOAT, STR):
        return texts_of_items(column)
    if column_type.is_encoded:
        texts = column if is_known(column, column_type.kind) else None
    elif column_type.kind == DATETIME_KIND:
        texts = datetime_texts(column, column_type)
    else:
        writers = {ARRAY_KIND: array_texts, NDARRAY_KIND: ndarray_texts, IMAGE_KIND: image_texts}
        texts = writers.get(column_type.kind, stored_lists)(column)
    if texts is not None:
        return texts.fill_null("null")
    # Values that are nested deep, and errors for date-times that Python does not have.
    lists = encode_plain([[value] for value in decode(column, column_type)], ENCODED_LIST)
    return pc.utf8_slice_codeunits(lists, 1, -1)


def array_texts(column: pa.Array) -> pa.Array | None:
    """Return the JSON of each array; None if a missing row has items.

    Examples
    --------
    >>> array_texts(pa.array([[1.0, float("inf")], None])).to_pylist()
    ['{"$array":[1.0,{"$float":"inf"}]}', None]
    """
    flat = items_of(column)
    if flat is None or not len(column):
        return None if flat is None else pa.array([], pa.string())
    return in_brackets(flat.counts, stored_floats(flat.items.fill_null(float("nan"))), STORED_ARRAY, flat.missing)


def ndarray_texts(column: pa.StructArray) -> pa.Array | None:
    """Return the JSON of each array of numpy; None if a missing row has items."""
    flat = items_of(numbers_of(column))
    if flat is None or not len(column):
        return None if flat is None else pa.array([], pa.string())
    return stored_ndarrays(flat.counts, flat.items.fill_null(float("nan")), shape_texts(column), flat.missing)


def image_texts(column: pa.StructArray) -> pa.Array:
    """Return the JSON of each image."""
    return pa.array([None if image is None else encode_value(image) for image in images(column)], pa.string())


def datetime_texts(column: pa.Array, column_type: ColumnType) -> pa.Array | None:
    """Return the JSON of each date-time; None if one is outside the years 1 to 9999."""
    instants = microseconds_of(column, column_type)
    if not all_in_years_of_python(wall_microseconds(instants, column, column_type)):
        return None
    offsets = pc.struct_field(column, "offset").cast(pa.string()).fill_null("null") if column_type.is_zoned else pa.scalar("null")
    return pc.binary_join_element_wise(BEFORE_DATETIME, instants.cast(pa.string()), ',"offset":', offsets, "}", "")
