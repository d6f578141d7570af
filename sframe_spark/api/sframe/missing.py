"""Members of SFrame that fill missing values, or leave out rows with missing values."""

from __future__ import annotations

import array
import functools
import operator
from typing import Any, Literal

import numpy as np

from sframe_spark.api.aggregates.argument_types import Names
from sframe_spark.api.class_registry import SFrame, make_frame
from sframe_spark.api.error_hints import call_example
from sframe_spark.api.sarray import SArray
from sframe_spark.api.sframe.columns import Columns
from sframe_spark.errors import InvalidArgumentError, SchemaError, UnsupportedOperationError
from sframe_spark.operators.elementwise import apply_function, apply_lambda
from sframe_spark.operators.row_selection import filter_by_mask
from sframe_spark.types import INT


class MissingValues(Columns):
    """Mixin of SFrame: rows with missing values."""

    @call_example("sf.fillna('a', 0), a column at a time")
    def fillna(self, column_name: str, value: Any) -> SFrame:
        """Return a frame in which the missing values of a column are replaced by ``value``.

        Parameters
        ----------
        column_name
            Name of the column.
        value
            The replacement for missing values; in a column of floats also for NaN.

        Raises
        ------
        KeyError
            If there is no such column (the error is a RuntimeError too).
        RuntimeError
            If the value cannot be converted to the column's type.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> print(SFrame({"name": ["ann", "bob"], "stars": [5, None]}).fillna("stars", 0))
        +------+-------+
        | name | stars |
        +------+-------+
        | ann  |   5   |
        | bob  |   0   |
        +------+-------+
        [2 rows x 2 columns]
        """
        frame = make_frame(self._node, self._names)
        frame[column_name] = frame.select_column(column_name).fillna(value)
        return frame

    @call_example("sf.dropna('a') or sf.dropna(['a', 'b'], how='all')")
    def dropna(self, columns: Names | None = None, how: Literal["any", "all"] = "any", recursive: bool = False) -> SFrame:
        """Return the rows without missing values in some columns.

        Parameters
        ----------
        columns
            A name or a list of names; None: all columns.
        how
            ``any`` leaves out rows in which at least one of these columns is missing; ``all`` leaves out rows in which all of them are.
        recursive
            Whether a list, array or dict that contains a missing value or NaN at any level counts as missing.

        Raises
        ------
        KeyError
            If there is no such column (the error is a RuntimeError too).
        TypeError
            If ``columns`` is neither a name nor a list of names.
        ValueError
            If ``how`` is neither ``any`` nor ``all``.
        RuntimeError
            If a column is named twice.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> frame = SFrame({"name": ["ann", None, None], "stars": [5, 3, None]})
        >>> len(frame.dropna()), len(frame.dropna("stars")), len(frame.dropna(how="all"))
        (1, 2, 2)
        """
        return self.dropna_split(columns, how, recursive)[0]

    def dropna_split(self, columns: Names | None = None, how: Literal["any", "all"] = "any", recursive: bool = False) -> tuple[SFrame, SFrame]:
        """Return two frames: the rows that :meth:`dropna` keeps, and those that it leaves out, both in order.

        Parameters
        ----------
        columns, how, recursive
            As in :meth:`dropna`.

        Raises
        ------
        KeyError
            If there is no such column (the error is a RuntimeError too).
        TypeError
            If ``columns`` is neither a name nor a list of names.
        ValueError
            If ``how`` is neither ``any`` nor ``all``.
        RuntimeError
            If a column is named twice.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> frame = SFrame({"name": ["ann", None, None], "stars": [5, 3, None]})
        >>> kept, dropped = frame.dropna_split("stars")
        >>> len(kept), len(dropped)
        (2, 1)
        """
        mask = self._missing_mask(columns, how, recursive)
        if mask is None:
            return make_frame(self._node, self._names), self._empty()
        complete = make_frame(filter_by_mask(self._node, (mask == 0)._node), self._names)
        return complete, make_frame(filter_by_mask(self._node, mask._node), self._names)

    def _missing_mask(self, columns: Any, how: str, recursive: bool) -> SArray | None:
        """Return a column with 1 in the rows to leave out, else 0; None if no column is checked."""
        if isinstance(columns, list) and not columns:
            return None
        names = self._names if columns is None else [columns] if isinstance(columns, str) else columns
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise SchemaError("columns must be a name or a list of names")
        if how not in ("any", "all"):
            raise InvalidArgumentError(f"how must be 'any' or 'all', got {how!r}")
        if len(set(names)) < len(names):
            raise UnsupportedOperationError(f"a column is named more than once: {', '.join(names)}")
        if not names:
            return None
        masks = (missing_of(self.select_column(name), recursive) for name in names)
        return functools.reduce(operator.or_ if how == "any" else operator.and_, masks)


def missing_of(column: SArray, recursive: bool) -> SArray:
    """Return a column with 1 where the value is missing (with ``recursive``, also where it contains a missing value or NaN), else 0."""
    if recursive and column.dtype in (list, dict, array.array, np.ndarray):
        return SArray(_node=apply_lambda(column._node, holds_missing, INT))
    return SArray(_node=apply_function("is_missing", column._node))


def holds_missing(value: Any) -> int:
    """Return 1 if a value is missing or NaN, or is a list, array or dict with such a value at any level; else 0."""
    if isinstance(value, np.ndarray):
        return int(np.isnan(value).any())
    if isinstance(value, (dict, list, tuple, array.array)):
        return int(any(map(holds_missing, value.values() if isinstance(value, dict) else value)))
    return int(value is None or value != value)
