"""Members of SFrame for neighbouring rows of the same key: shifts, differences, changes, rolling and cumulative aggregates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sframe_spark.api.aggregates.argument_types import Names
from sframe_spark.api.class_registry import SArray, SFrame, make_array, make_frame
from sframe_spark.api.column_names import require_distinct
from sframe_spark.api.error_hints import call_example
from sframe_spark.api.index_argument_checks import is_row_index
from sframe_spark.api.node_value_conversion import recoded
from sframe_spark.api.sarray.windows import KINDS_ZERO_IF_EMPTY, NUMBERS, SUBTRACTABLE, fill_literal, needed_values, relative_change, require_kind
from sframe_spark.api.sframe.running_aggregates_and_smoothing import RunningColumns
from sframe_spark.errors import SchemaError
from sframe_spark.expressions.scalar_function_program import Literal
from sframe_spark.message_text import brief
from sframe_spark.operators.elementwise import apply_function
from sframe_spark.operators.project_zip_arrange import column_of, replace_column, zip_columns
from sframe_spark.operators.window.cumulative import cumulative
from sframe_spark.operators.window.lagged import shifted_by_key
from sframe_spark.operators.window.rolling import rolling
from sframe_spark.operators.window.rolling_by_key import rolling_by_key
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import INT, ColumnType


class NeighbouringRows(RunningColumns):
    """Mixin of SFrame: columns made of neighbouring rows with the same key. Rows stay in place, and no row crosses an exchange.

    Members take one column or several. For one they return an SArray, for several an SFrame of the new columns, in which each has the name of the
    column that it is made of.
    """

    @call_example("sf.shift('price', [1, 2, 3], by='symbol')")
    def shift(self, columns: str | Sequence[str], n: int | Sequence[int] = 1, *, by: Names | None = None, fill: Any = None) -> SArray | SFrame:
        """Return values of earlier rows with the same key, for each row of this frame.

        Parameters
        ----------
        columns
            A column name or a list of names.
        n
            How many rows values move towards the end within their key, or a list of such numbers; negative: towards the beginning. All of a list come
            from one pass over the rows, those of later rows from a second.
        by
            A name or a list of names of columns: values move among the rows that are equal in these. Missing values are equal to each other. None:
            all rows.
        fill
            Value of the rows that get none; None: they are missing.

        Returns
        -------
        SArray or SFrame
            An SArray for one column and one number. Otherwise an SFrame of the new columns: with a list of numbers, ``price_1``, ``price_2`` and so
            on; without one, columns keep their names.

        Raises
        ------
        KeyError
            If there is no such column.
        TypeError
            If ``n`` holds no ints, the class of ``fill`` differs from the column's, or a ``by`` column holds dicts.

        Source: ``groupby().shift`` of pandas, ``shift().over()`` of Polars, ``addLags`` of Flint's users.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> sf = SFrame({"symbol": ["a", "b", "a", "a"], "price": [1, 7, 2, 4]})
        >>> list(sf.shift("price", by="symbol"))
        [None, None, 1, 2]
        >>> lags = sf.shift("price", [1, 2], by="symbol")
        >>> lags.column_names(), list(lags["price_2"])
        (['price_1', 'price_2'], [None, None, None, 1])
        """
        return self._with_lags("shift", columns, n, by, None, lambda values, moved: moved, fill)

    @call_example("sf.diff('price', by='symbol')")
    def diff(self, columns: str | Sequence[str], n: int | Sequence[int] = 1, *, by: Names | None = None) -> SArray | SFrame:
        """Return, for each row, its value minus the value ``n`` rows before with the same key; missing where there is no such row.

        Differences of date-times are in seconds, as floats. Differences of ints wrap around at 64 bits.

        Parameters
        ----------
        columns, n, by
            As in :meth:`shift`. If ``n`` is negative, the value of a later row is subtracted.

        Returns
        -------
        SArray or SFrame
            As of :meth:`shift`.

        Raises
        ------
        KeyError
            If there is no such column.
        TypeError
            If ``n`` holds no ints, or the values are not of class int, float, datetime or array.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> list(SFrame({"k": ["a", "b", "a"], "v": [1, 7, 4]}).diff("v", by="k"))
        [None, None, 3]
        """
        return self._with_lags("diff", columns, n, by, SUBTRACTABLE, lambda values, moved: apply_function("subtract", values, moved))

    @call_example("sf.pct_change('price', by='symbol')")
    def pct_change(self, columns: str | Sequence[str], n: int | Sequence[int] = 1, *, by: Names | None = None) -> SArray | SFrame:
        """Return, for each row, its value divided by the value ``n`` rows before with the same key, minus one.

        Missing values stay missing, and so do the changes after them: nothing is filled before.

        Parameters
        ----------
        columns, n, by
            As in :meth:`shift`.

        Returns
        -------
        SArray or SFrame
            As of :meth:`shift`.

        Raises
        ------
        KeyError
            If there is no such column.
        TypeError
            If ``n`` holds no ints, or the values are not of class int or float.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> list(SFrame({"k": ["a", "b", "a"], "v": [4, 7, 5]}).pct_change("v", by="k"))
        [None, None, 0.25]
        """
        return self._with_lags("pct_change", columns, n, by, NUMBERS, relative_change)

    def _with_lags(
        self,
        member: str,
        columns: Any,
        n: Any,
        by: Any,
        kinds: Sequence[str] | None,
        combine: Callable[[PlannerNode, PlannerNode], PlannerNode],
        fill: Any = None,
    ) -> SArray | SFrame:
        """Return a column combined with itself some rows earlier; for several columns or lags, a frame."""
        positions, names = self._columns_to_use(columns)
        for position in positions:
            if kinds is not None:
                require_kind(f"{member} of {self._names[position]!r}", self._node.schema[position], kinds)
        several = isinstance(n, (list, tuple, range))
        counts = list(n) if several else [n]
        if not counts or not all(map(is_row_index, counts)):
            raise SchemaError(f"{member} takes a number of rows, an int, or a list of them, got {brief(n)}")
        node, literals = self._node, dict[int, Literal | None]()
        for position in positions:
            literal = None if fill is None else fill_literal(fill, node.schema[position])
            literals[position] = literal
            if literal is not None:
                node = replace_column(node, position, recoded(column_of(node, position), literal.type))
        wanted = [(position, int(count), literals[position]) for position in positions for count in counts]
        moved = shifted_by_key(node, wanted, self._running_keys(by))
        made = [combine(column_of(node, position), column_of(moved, index)) for index, (position, _, _) in enumerate(wanted)]
        if several:
            names = [f"{name}_{brief(int(count))}" for name in names for count in counts]
        return new_columns(made, names, isinstance(columns, str) and not several)

    def _columns_to_use(self, columns: Any) -> tuple[list[int], list[str]]:
        """Return the positions and the names of the columns that a member is asked for."""
        names = [columns] if isinstance(columns, str) else columns
        if not isinstance(names, (list, tuple)) or not names or not all(isinstance(name, str) for name in names):
            raise SchemaError(f"columns must be a name or a list of names, got {brief(columns)}")
        return [self._position(name) for name in names], list(names)

    def _rolling_by_key(self, kind: str, columns: Any, start: int, end: int, minimum: int | None, by: Any) -> SArray | SFrame:
        needed = needed_values(start, end, minimum)
        positions, names = self._columns_to_use(columns)
        keys = self._running_keys(by)
        zeros = [minimum == 0 and kind in KINDS_ZERO_IF_EMPTY and self._node.schema[position].is_numeric for position in positions]

        def made(kind: str, needed: int | None) -> list[PlannerNode]:
            if keys:
                node = rolling_by_key(self._node, kind, positions, keys, start, end, needed)
                return [column_of(node, index) for index in range(len(positions))]
            return [rolling(column_of(self._node, position), kind, start, end, needed) for position in positions]

        nodes = made(kind, needed)
        if any(zeros):
            counts = made("count", None)
            nodes = [
                apply_function("if_else", count, node, Literal(zero_of(node.schema[0]), node.schema[0])) if zero else node
                for node, count, zero in zip(nodes, counts, zeros, strict=True)
            ]
        return new_columns(nodes, names, isinstance(columns, str), typed_by_values=True)

    def _cumulative_by_key(self, kind: str, columns: Any, by: Any) -> SArray | SFrame:
        positions, names = self._columns_to_use(columns)
        node = cumulative(self._node, kind, positions, self._running_keys(by))
        return new_columns([column_of(node, index) for index in range(len(positions))], names, isinstance(columns, str))

    @call_example("sf.rolling_mean('price', -4, 0, by='symbol'), of a row and the four before")
    def rolling_mean(
        self, columns: str | Sequence[str], window_start: int, window_end: int, min_observations: int | None = None, *, by: Names | None = None
    ) -> SArray | SFrame:
        """Return, for each row, the mean over a window of rows with the same key around it.

        Parameters
        ----------
        columns
            A column name or a list of names.
        window_start, window_end, min_observations
            As in :meth:`SArray.rolling_mean`; rows are counted within the key.
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
            If an offset or ``min_observations`` is not an int, or a ``by`` column holds dicts.
        ValueError
            If ``min_observations`` is negative.
        RuntimeError
            If the values are not numbers or arrays, or ``window_end`` is before ``window_start``.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> list(SFrame({"k": ["a", "b", "a", "a"], "v": [2, 7, 4, 8]}).rolling_mean("v", -1, 0, by="k"))
        [None, None, 3.0, 6.0]
        """
        return self._rolling_by_key("mean", columns, window_start, window_end, min_observations, by)

    @call_example("sf.rolling_sum('price', -4, 0, by='symbol'), of a row and the four before")
    def rolling_sum(
        self, columns: str | Sequence[str], window_start: int, window_end: int, min_observations: int | None = None, *, by: Names | None = None
    ) -> SArray | SFrame:
        """Return, for each row, the sum over a window of rows with the same key around it.

        Parameters
        ----------
        columns
            A column name or a list of names.
        window_start, window_end, min_observations
            As in :meth:`SArray.rolling_sum`; rows are counted within the key.
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
            If an offset or ``min_observations`` is not an int, or a ``by`` column holds dicts.
        ValueError
            If ``min_observations`` is negative.
        RuntimeError
            If the values are not numbers or arrays, or ``window_end`` is before ``window_start``.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> list(SFrame({"k": ["a", "b", "a", "a"], "v": [2, 7, 4, 8]}).rolling_sum("v", -1, 0, by="k"))
        [None, None, 6, 12]
        """
        return self._rolling_by_key("sum", columns, window_start, window_end, min_observations, by)

    @call_example("sf.rolling_max('price', -4, 0, by='symbol'), of a row and the four before")
    def rolling_max(
        self, columns: str | Sequence[str], window_start: int, window_end: int, min_observations: int | None = None, *, by: Names | None = None
    ) -> SArray | SFrame:
        """Return, for each row, the largest value over a window of rows with the same key around it.

        Parameters
        ----------
        columns
            A column name or a list of names.
        window_start, window_end, min_observations
            As in :meth:`SArray.rolling_max`; rows are counted within the key.
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
            If an offset or ``min_observations`` is not an int, or a ``by`` column holds dicts.
        ValueError
            If ``min_observations`` is negative.
        RuntimeError
            If the values are not numbers or date-times, or ``window_end`` is before ``window_start``.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> list(SFrame({"k": ["a", "b", "a", "a"], "v": [2, 7, 4, 8]}).rolling_max("v", -1, 0, by="k"))
        [None, None, 4, 8]
        """
        return self._rolling_by_key("max", columns, window_start, window_end, min_observations, by)

    @call_example("sf.rolling_min('price', -4, 0, by='symbol'), of a row and the four before")
    def rolling_min(
        self, columns: str | Sequence[str], window_start: int, window_end: int, min_observations: int | None = None, *, by: Names | None = None
    ) -> SArray | SFrame:
        """Return, for each row, the smallest value over a window of rows with the same key around it.

        Parameters
        ----------
        columns
            A column name or a list of names.
        window_start, window_end, min_observations
            As in :meth:`SArray.rolling_min`; rows are counted within the key.
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
            If an offset or ``min_observations`` is not an int, or a ``by`` column holds dicts.
        ValueError
            If ``min_observations`` is negative.
        RuntimeError
            If the values are not numbers or date-times, or ``window_end`` is before ``window_start``.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> list(SFrame({"k": ["a", "b", "a", "a"], "v": [2, 7, 4, 8]}).rolling_min("v", -1, 0, by="k"))
        [None, None, 2, 4]
        """
        return self._rolling_by_key("min", columns, window_start, window_end, min_observations, by)

    @call_example("sf.rolling_var('price', -4, 0, by='symbol'), of a row and the four before")
    def rolling_var(
        self, columns: str | Sequence[str], window_start: int, window_end: int, min_observations: int | None = None, *, by: Names | None = None
    ) -> SArray | SFrame:
        """Return, for each row, the population variance over a window of rows with the same key around it.

        Parameters
        ----------
        columns
            A column name or a list of names.
        window_start, window_end, min_observations
            As in :meth:`SArray.rolling_var`; rows are counted within the key.
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
            If an offset or ``min_observations`` is not an int, or a ``by`` column holds dicts.
        ValueError
            If ``min_observations`` is negative.
        RuntimeError
            If the values are not numbers, or ``window_end`` is before ``window_start``.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> list(SFrame({"k": ["a", "b", "a", "a"], "v": [2, 7, 4, 8]}).rolling_var("v", -1, 0, by="k"))
        [None, None, 1.0, 4.0]
        """
        return self._rolling_by_key("var", columns, window_start, window_end, min_observations, by)

    @call_example("sf.rolling_stdv('price', -4, 0, by='symbol'), of a row and the four before")
    def rolling_stdv(
        self, columns: str | Sequence[str], window_start: int, window_end: int, min_observations: int | None = None, *, by: Names | None = None
    ) -> SArray | SFrame:
        """Return, for each row, the population standard deviation over a window of rows with the same key around it.

        Parameters
        ----------
        columns
            A column name or a list of names.
        window_start, window_end, min_observations
            As in :meth:`SArray.rolling_stdv`; rows are counted within the key.
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
            If an offset or ``min_observations`` is not an int, or a ``by`` column holds dicts.
        ValueError
            If ``min_observations`` is negative.
        RuntimeError
            If the values are not numbers, or ``window_end`` is before ``window_start``.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> list(SFrame({"k": ["a", "b", "a", "a"], "v": [2, 7, 4, 8]}).rolling_stdv("v", -1, 0, by="k"))
        [None, None, 1.0, 2.0]
        """
        return self._rolling_by_key("stdv", columns, window_start, window_end, min_observations, by)

    def rolling_count(self, columns: str | Sequence[str], window_start: int, window_end: int, *, by: Names | None = None) -> SArray | SFrame:
        """Return, for each row, the number of values that are not missing in a window of rows with the same key around it.

        Parameters
        ----------
        columns, window_start, window_end, by
            As in :meth:`rolling_mean`.

        Returns
        -------
        SArray or SFrame
            As of :meth:`rolling_mean`.

        Raises
        ------
        KeyError
            If there is no such column.
        TypeError
            If an offset is not an int, or a ``by`` column holds dicts.
        RuntimeError
            If ``window_end`` is before ``window_start``.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> list(SFrame({"k": ["a", "b", "a", "a"], "v": [2, 7, None, 8]}).rolling_count("v", -1, 0, by="k"))
        [1, 1, 1, 1]
        """
        return self._rolling_by_key("count", columns, window_start, window_end, None, by)

    @call_example("sf.cumulative_sum('price', by='symbol')")
    def cumulative_sum(self, columns: str | Sequence[str], *, by: Names | None = None) -> SArray | SFrame:
        """Return, for each row, the sum of all values so far with the same key, its own included; missing before the first.

        Parameters
        ----------
        columns
            A column name or a list of names.
        by
            A name or a list of names of columns: only rows that are equal in these are aggregated; missing values are equal to each other. None: all
            rows.

        Returns
        -------
        SArray or SFrame
            An SArray for one column, an SFrame with the names of the columns for several.

        Raises
        ------
        KeyError
            If there is no such column.
        TypeError
            If a ``by`` column holds dicts.
        RuntimeError
            If the values are not numbers or arrays.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> list(SFrame({"k": ["a", "b", "a"], "v": [2, 7, 4]}).cumulative_sum("v", by="k"))
        [2, 7, 6]
        """
        return self._cumulative_by_key("sum", columns, by)

    @call_example("sf.cumulative_mean('price', by='symbol')")
    def cumulative_mean(self, columns: str | Sequence[str], *, by: Names | None = None) -> SArray | SFrame:
        """Return, for each row, the mean of all values so far with the same key, its own included; missing before the first.

        Parameters
        ----------
        columns
            A column name or a list of names.
        by
            A name or a list of names of columns: only rows that are equal in these are aggregated; missing values are equal to each other. None: all
            rows.

        Returns
        -------
        SArray or SFrame
            An SArray for one column, an SFrame with the names of the columns for several.

        Raises
        ------
        KeyError
            If there is no such column.
        TypeError
            If a ``by`` column holds dicts.
        RuntimeError
            If the values are not numbers or arrays.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> list(SFrame({"k": ["a", "b", "a"], "v": [2, 7, 4]}).cumulative_mean("v", by="k"))
        [2.0, 7.0, 3.0]
        """
        return self._cumulative_by_key("mean", columns, by)

    @call_example("sf.cumulative_max('price', by='symbol')")
    def cumulative_max(self, columns: str | Sequence[str], *, by: Names | None = None) -> SArray | SFrame:
        """Return, for each row, the largest of all values so far with the same key, its own included; missing before the first.

        Parameters
        ----------
        columns
            A column name or a list of names.
        by
            A name or a list of names of columns: only rows that are equal in these are aggregated; missing values are equal to each other. None: all
            rows.

        Returns
        -------
        SArray or SFrame
            An SArray for one column, an SFrame with the names of the columns for several.

        Raises
        ------
        KeyError
            If there is no such column.
        TypeError
            If a ``by`` column holds dicts.
        RuntimeError
            If the values are not numbers or date-times.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> list(SFrame({"k": ["a", "b", "a"], "v": [2, 7, 4]}).cumulative_max("v", by="k"))
        [2, 7, 4]
        """
        return self._cumulative_by_key("max", columns, by)

    @call_example("sf.cumulative_min('price', by='symbol')")
    def cumulative_min(self, columns: str | Sequence[str], *, by: Names | None = None) -> SArray | SFrame:
        """Return, for each row, the smallest of all values so far with the same key, its own included; missing before the first.

        Parameters
        ----------
        columns
            A column name or a list of names.
        by
            A name or a list of names of columns: only rows that are equal in these are aggregated; missing values are equal to each other. None: all
            rows.

        Returns
        -------
        SArray or SFrame
            An SArray for one column, an SFrame with the names of the columns for several.

        Raises
        ------
        KeyError
            If there is no such column.
        TypeError
            If a ``by`` column holds dicts.
        RuntimeError
            If the values are not numbers or date-times.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> list(SFrame({"k": ["a", "b", "a"], "v": [2, 7, 4]}).cumulative_min("v", by="k"))
        [2, 7, 2]
        """
        return self._cumulative_by_key("min", columns, by)

    @call_example("sf.cumulative_std('price', by='symbol')")
    def cumulative_std(self, columns: str | Sequence[str], *, by: Names | None = None) -> SArray | SFrame:
        """Return, for each row, the population standard deviation of all values so far with the same key, its own included; missing before the first.

        Parameters
        ----------
        columns
            A column name or a list of names.
        by
            A name or a list of names of columns: only rows that are equal in these are aggregated; missing values are equal to each other. None: all
            rows.

        Returns
        -------
        SArray or SFrame
            An SArray for one column, an SFrame with the names of the columns for several.

        Raises
        ------
        KeyError
            If there is no such column.
        TypeError
            If a ``by`` column holds dicts.
        RuntimeError
            If the values are not numbers.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> list(SFrame({"k": ["a", "b", "a"], "v": [2, 7, 4]}).cumulative_std("v", by="k"))
        [0.0, 0.0, 1.0]
        """
        return self._cumulative_by_key("std", columns, by)

    @call_example("sf.cumulative_var('price', by='symbol')")
    def cumulative_var(self, columns: str | Sequence[str], *, by: Names | None = None) -> SArray | SFrame:
        """Return, for each row, the population variance of all values so far with the same key, its own included; missing before the first.

        Parameters
        ----------
        columns
            A column name or a list of names.
        by
            A name or a list of names of columns: only rows that are equal in these are aggregated; missing values are equal to each other. None: all
            rows.

        Returns
        -------
        SArray or SFrame
            An SArray for one column, an SFrame with the names of the columns for several.

        Raises
        ------
        KeyError
            If there is no such column.
        TypeError
            If a ``by`` column holds dicts.
        RuntimeError
            If the values are not numbers.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> list(SFrame({"k": ["a", "b", "a"], "v": [2, 7, 4]}).cumulative_var("v", by="k"))
        [0.0, 0.0, 1.0]
        """
        return self._cumulative_by_key("var", columns, by)

    @call_example("sf.cumulative_product('factor', by='symbol')")
    def cumulative_product(self, columns: str | Sequence[str], *, by: Names | None = None) -> SArray | SFrame:
        """Return, for each row, the product of all values so far with the same key, its own included; missing before the first.

        Parameters
        ----------
        columns
            A column name or a list of names.
        by
            A name or a list of names of columns: only rows that are equal in these are aggregated; missing values are equal to each other. None: all
            rows.

        Returns
        -------
        SArray or SFrame
            An SArray for one column, an SFrame with the names of the columns for several.

        Raises
        ------
        KeyError
            If there is no such column.
        TypeError
            If a ``by`` column holds dicts.
        RuntimeError
            If the values are not numbers.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> list(SFrame({"k": ["a", "b", "a"], "v": [2, 7, 4]}).cumulative_product("v", by="k"))
        [2, 7, 8]
        """
        return self._cumulative_by_key("product", columns, by)


def new_columns(nodes: Sequence[PlannerNode], names: Sequence[str], is_one: bool, typed_by_values: bool = False) -> SArray | SFrame:
    """Return a column as an SArray, or several as an SFrame.

    Raises
    ------
    RuntimeError
        If two columns would have the same name.
    """
    if is_one:
        return make_array(nodes[0], typed_by_values)
    require_distinct(names)
    return make_frame(zip_columns(*nodes), names)


def zero_of(column_type: ColumnType) -> int | float:
    """Return the zero of a type of numbers."""
    return 0 if column_type == INT else 0.0
