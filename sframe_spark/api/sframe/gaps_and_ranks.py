"""Members of SFrame that fill gaps from rows of the same key, and rank values among these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sframe_spark.api.aggregates.argument_types import Names
from sframe_spark.api.class_registry import SArray, SFrame, make_array
from sframe_spark.api.error_hints import call_example
from sframe_spark.api.sarray.windows import ORDERED, bin_count, interpolation_method, limit_of, rank_options, require_kind, rolling_rank_options
from sframe_spark.api.sframe.neighbours_by_key import NeighbouringRows, new_columns
from sframe_spark.operators.joins.interpolation import interpolated
from sframe_spark.operators.project_zip_arrange import column_of
from sframe_spark.operators.window.filling import filled
from sframe_spark.operators.window.ranks_of_sorted_rows import quantile_bins, ranked
from sframe_spark.operators.window.rolling_rank import rolling_rank


class GapsAndRanks(NeighbouringRows):
    """Mixin of SFrame: columns whose missing values are filled, or whose values are ranked, among rows with the same key. Rows stay in place."""

    @call_example("sf.rank('price', by='time')")
    def rank(self, column: str, *, by: Names | None = None, method: str = "average", ascending: bool = True, percent: bool = False) -> SArray:
        """Return the rank of each value among the values of all rows with the same key, from 1; missing values have none.

        Rows are sorted by key and value, and the ranks back; of a frame in the order of the key (a time), each key is sorted by itself.

        Parameters
        ----------
        column
            Name of the column of values.
        by
            A name or a list of names of columns, a time or another key: ranks are those among rows that are equal in these; missing values are equal
            to each other. None: among all rows.
        method, ascending, percent
            As in :meth:`SArray.rank`.

        Returns
        -------
        SArray
            Floats for ``"average"`` and with ``percent``, ints otherwise.

        Raises
        ------
        KeyError
            If there is no such column.
        TypeError
            If the values, or a ``by`` column, are not of class int, float, str or datetime.
        ValueError
            If there is no such method.

        Source: ``groupby().rank`` of pandas, ``rank().over()`` of Polars.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> sf = SFrame({"day": [1, 1, 2, 1], "price": [30, 10, 5, 20]})
        >>> list(sf.rank("price", by="day")), list(sf.rank("price", by="day", method="min", ascending=False))
        ([3.0, 1.0, 1.0, 2.0], [1, 3, 1, 2])
        """
        position, keys = self._position(column), self._sorting_keys("rank", by)
        method = rank_options("rank", self._node.schema[position], method)
        return make_array(ranked(self._node, position, keys, method, bool(ascending), bool(percent)))

    @call_example("sf.rolling_rank('price', -19, by='symbol'), of a row and the 19 before")
    def rolling_rank(
        self,
        columns: str | Sequence[str],
        window_start: int,
        min_observations: int | None = None,
        *,
        by: Names | None = None,
        method: str = "average",
        ascending: bool = True,
        percent: bool = False,
    ) -> SArray | SFrame:
        """Return, for each row, the rank of its value among those of a window of rows with the same key that ends with it.

        Parameters
        ----------
        columns
            A column name or a list of names.
        window_start, min_observations, method, ascending, percent
            As in :meth:`SArray.rolling_rank`; rows are counted within the key.
        by
            A name or a list of names of columns: windows have rows that are equal in these; missing values are equal to each other. None: all rows.

        Returns
        -------
        SArray or SFrame
            An SArray for one column, an SFrame with the names of the columns for several.

        Raises
        ------
        KeyError
            If there is no such column.
        TypeError
            If a number is not an int, or values are neither numbers nor date-times.
        ValueError
            If ``window_start`` is after the row, ``min_observations`` is negative, or there is no such method.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> list(SFrame({"k": ["a", "b", "a", "a"], "v": [3, 9, 1, 2]}).rolling_rank("v", -2, 1, by="k"))
        [1.0, 1.0, 1.0, 2.0]
        """
        options = rolling_rank_options(window_start, min_observations, method)
        positions, names = self._columns_to_use(columns)
        node = rolling_rank(self._node, positions, self._running_keys(by), *options, bool(ascending), bool(percent))
        return new_columns([column_of(node, index) for index in range(len(positions))], names, isinstance(columns, str))

    @call_example("sf.qcut('price', 4, by='time')")
    def qcut(self, column: str, q: int, *, by: Names | None = None) -> SArray:
        """Return the number of the quantile bin of each value among the values of all rows with the same key, from 0 to ``q`` - 1.

        Parameters
        ----------
        column, by
            As in :meth:`rank`.
        q
            The number of bins; see :meth:`SArray.qcut`.

        Raises
        ------
        KeyError
            If there is no such column.
        TypeError
            If the values, or a ``by`` column, are not of class int, float, str or datetime, or ``q`` is not an int.
        ValueError
            If ``q`` is below one.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> list(SFrame({"day": [1, 1, 2, 1], "price": [30, 10, 5, 20]}).qcut("price", 2, by="day"))
        [1, 0, 0, 0]
        """
        position, keys = self._position(column), self._sorting_keys("qcut", by)
        require_kind("qcut", self._node.schema[position], ORDERED)
        return make_array(quantile_bins(self._node, position, keys, bin_count(q)))

    def _sorting_keys(self, member: str, by: Any) -> list[int]:
        keys = self._running_keys(by)
        for key in keys:
            require_kind(f"{member} by {self._names[key]!r}", self._node.schema[key], ORDERED)
        return keys

    @call_example("sf.fill_forward('price', by='symbol', limit=5)")
    def fill_forward(
        self, columns: str | Sequence[str], on: str | None = None, *, by: Names | None = None, limit: int | None = None
    ) -> SArray | SFrame:
        """Return columns with their missing values replaced by the last known value before them with the same key.

        NaN is a value: it is not replaced, and fills what is missing after it. Values before the first known one of a key stay missing.

        Parameters
        ----------
        columns
            A column name or a list of names, of any class.
        on
            Name of a column of class int, float or datetime along which ``limit`` is measured; it must not decrease from a known value to one that is
            filled. A row in which it is missing or NaN stays unchanged, and does not fill other rows. None: ``limit`` is a number of rows.
        by
            A name or a list of names of columns: values come from rows that are equal in these; missing values are equal to each other. None: all
            rows.
        limit
            How far from a known value other rows are filled, its own row included: a number of rows of the key (an int), or a duration along ``on``.
            Where
            ``on`` holds numbers, an int is a distance between these. None: as far as there are rows.

        Returns
        -------
        SArray or SFrame
            An SArray for one column, an SFrame with the names of the columns for several.

        Raises
        ------
        KeyError
            If there is no such column.
        TypeError
            If ``limit`` or a column has an unsuitable type.
        ValueError
            If ``limit`` is negative, or no duration.
        RuntimeError
            When rows are computed, if ``on`` decreases.

        Source: ``groupby().ffill`` of pandas, which fills NaN too; ``forward_fill().over()`` of Polars.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> sf = SFrame({"k": ["a", "b", "a", "a"], "t": [0, 1, 2, 9], "v": [1, None, None, None]})
        >>> list(sf.fill_forward("v", by="k")), list(sf.fill_forward("v", on="t", by="k", limit=5))
        ([1, None, 1, 1], [1, None, 1, None])
        """
        return self._filled(columns, on, by, limit, backward=False)

    @call_example("sf.fill_backward('price', by='symbol', limit=5)")
    def fill_backward(
        self, columns: str | Sequence[str], on: str | None = None, *, by: Names | None = None, limit: int | None = None
    ) -> SArray | SFrame:
        """Return columns with their missing values replaced by the next known value after them with the same key.

        Values after the last known one of a key stay missing. The rows are read from the last to the first, and the columns stored.

        Parameters
        ----------
        columns, on, by, limit
            As in :meth:`fill_forward`.

        Returns
        -------
        SArray or SFrame
            As of :meth:`fill_forward`.

        Raises
        ------
        KeyError
            If there is no such column.
        TypeError
            If ``limit`` or a column has an unsuitable type.
        ValueError
            If ``limit`` is negative, or no duration.
        RuntimeError
            When rows are computed, if ``on`` decreases.

        Source: ``groupby().bfill`` of pandas, which fills NaN too; ``backward_fill().over()`` of Polars.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> list(SFrame({"k": ["a", "b", "a", "a"], "v": [None, None, None, 4]}).fill_backward("v", by="k", limit=1))
        [None, None, 4, 4]
        """
        return self._filled(columns, on, by, limit, backward=True)

    def _filled(self, columns: Any, on: str | None, by: Any, limit: Any, backward: bool) -> SArray | SFrame:
        positions, names = self._columns_to_use(columns)
        along = None if on is None else self._position(on)
        reach = limit_of(limit, None if along is None else self._node.schema[along])
        node = filled(self._node, positions, along, self._running_keys(by), *reach, backward=backward)
        return new_columns([column_of(node, index) for index in range(len(positions))], names, isinstance(columns, str))

    @call_example("sf.interpolate('a', on='time', by='key')")
    def interpolate(self, column: str, on: str | None = None, *, by: Names | None = None, method: str = "linear", limit: int | None = None) -> SArray:
        """Return a column with its missing values replaced by points on the straight line between the known values before and after them.

        NaN counts as missing, as in :meth:`fillna`. Values without a known value on both sides stay unchanged. A row whose position is missing or NaN
        is ignored: it does not serve as a neighbour, and its value stays unchanged.

        Parameters
        ----------
        column
            Name of the column of values, of class int or float.
        on
            Name of the column of positions, of class int, float or datetime, which must not decrease from a known value to the next. A missing value
            at the position of a neighbour is the neighbour's value, at that of both the value before. None: positions are numbers of rows of a key.
        by
            A name or a list of names of columns: neighbours are rows with equal values in these; missing values are equal to each other. None: all
            rows.
        method
            ``"linear"``, or ``"nearest"``: the nearer of both known values, the one before if they are equally near.
        limit
            Only values so far from the known value before them (``"nearest"``: from the one they take), itself included, are filled: a number of rows
            of the key (an int), or a duration along ``on``. Where ``on`` holds numbers, an int is a distance between these. None: all.

        Returns
        -------
        SArray
            One float for each row of this frame.

        Raises
        ------
        KeyError
            If there is no such column.
        TypeError
            If a column or ``limit`` has an unsuitable type.
        ValueError
            If there is no such method, or ``limit`` is negative or not a duration.
        RuntimeError
            When rows are computed, if a missing value does not lie between its neighbours; the error names the row.

        Source: ``interpolate`` of pandas, ``interpolate_by`` of Polars.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> sf = SFrame({"t": [0, 1, 4, 6], "v": [1.0, None, 5.0, None]})
        >>> list(sf.interpolate("v", on="t"))
        [1.0, 2.0, 5.0, None]
        >>> list(sf.interpolate("v", on="t", method="nearest"))
        [1.0, 1.0, 5.0, None]
        """
        value = self._position(column)
        along = None if on is None else self._position(on)
        reach = limit_of(limit, None if along is None else self._node.schema[along])
        return make_array(interpolated(self._node, value, along, self._running_keys(by), interpolation_method(method), *reach))
