"""The builders of columns and frames: classes to which values or rows are appended one at a time."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from sframe_spark.api.class_registry import make_array, make_frame
from sframe_spark.api.column_names import require_distinct, require_unicode, with_automatic_names
from sframe_spark.api.error_hints import with_call_hints
from sframe_spark.api.io import saved_frames
from sframe_spark.api.io.pickling import NeverPickled
from sframe_spark.api.node_value_conversion import AppendedRows, appended
from sframe_spark.api.sarray import SArray
from sframe_spark.api.sframe import SFrame
from sframe_spark.errors import BeyondRangeError, BuilderError, ColumnsOfRowsError, SchemaError, SFrameError
from sframe_spark.message_text import brief
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import ARRAY_KIND, FLOAT_KIND, INT_KIND, LIST_KIND, NDARRAY_KIND, ColumnType, of_any_offset
from sframe_spark.values.plain_values import MISSING, NUMBERS, family_of_value, plain_number
from sframe_spark.values.python_to_arrow import column_type_for, is_type
from sframe_spark.values.rounding_warnings import RoundedNumbers, may_be_rounded
from sframe_spark.values.single_value_conversion import construct_value


class _Builder(NeverPickled, ABC):
    """The base class of both builders; it holds the segments and their last rows, and refuses calls after ``close()``."""

    def __init__(self, types: Sequence[ColumnType], num_segments: Any, history_size: Any) -> None:
        for name, value in (("num_segments", num_segments), ("history_size", history_size)):
            if isinstance(value, bool) or not isinstance(value, int):
                raise SchemaError(f"{name} must be a whole number, not {value!r:.60}")
            if value < 0:
                raise BeyondRangeError(f"{name} must not be negative, got {value}")
        self._types = tuple(types)
        self._segments = [AppendedRows(types) for _ in range(max(num_segments, 1))]
        self._history: list[deque[Any]] = [deque(maxlen=history_size) for _ in range(num_segments)]
        self._is_closed = False
        self._rounded = RoundedNumbers()

    @abstractmethod
    def _row(self, value: Any) -> Sequence[Any]:
        """Return a value (or row) that the user appends as a row of values that fit the column types."""

    def _append_all(self, values: Any, segment: Any) -> None:
        self._require_segment(segment)
        if not isinstance(values, Iterable):
            raise SchemaError(f"append_multiple() takes a list or another collection, not {type(values).__name__}: append() takes one")
        for value in values:
            self._segments[segment].add(self._row(value))
            self._history[segment].append(value)

    def _require_open(self) -> None:
        if self._is_closed:
            raise BuilderError("the builder is closed: close() returned what it has built")

    def _require_segment(self, segment: Any) -> None:
        self._require_open()
        if not isinstance(segment, int) or not 0 <= segment < len(self._history):
            raise BuilderError(f"there is no segment {segment!r:.60}: this builder has {len(self._history)}, counted from 0")

    def _converted(self, value: Any, kind: str, name: str | None) -> Any:
        """Return a value converted to the column type ``kind``; if it is rounded, a warning follows when the builder is closed."""
        if not may_be_rounded(value):
            return construct_value(value, kind)
        with self._rounded.of(name):
            return construct_value(value, kind)

    def read_history(self, num: int = 10, segment: int = 0) -> list[Any]:
        """Return the rows (or values) that were appended last to a segment, in order; at most ``num`` and at most ``history_size``.

        Parameters
        ----------
        num
            Maximum number of rows.
        segment
            Number of the segment, from 0.

        Raises
        ------
        TypeError
            If ``num`` is not an int.
        RuntimeError
            If the builder has no such segment, or is closed.

        Examples
        --------
        >>> builder = SArrayBuilder(int, history_size=2)
        >>> builder.append_multiple([5, 3, 4])
        >>> builder.read_history()
        [3, 4]
        """
        self._require_segment(segment)
        if not isinstance(num, int):
            raise SchemaError(f"num must be a number of rows, not {num!r:.60}")
        return list(self._history[segment])[-num:] if num > 0 else []

    def _closed(self) -> PlannerNode:
        """Close the builder and return its rows, in order of segments."""
        self._require_open()
        rows = appended(self._segments)
        self._is_closed = True
        self._rounded.warn()
        return rows


@with_call_hints
class SArrayBuilder(_Builder):
    """Builds a column of values that are appended one at a time; values that exceed the memory budget are written to temporary files.

    Parameters
    ----------
    dtype
        Class of the values.
    num_segments
        Number of segments to which values can be appended independently. The column has the values of the first segment first.
    history_size
        Number of values per segment that :meth:`read_history` can return.

    Raises
    ------
    TypeError
        If no column can hold values of class ``dtype``, or ``num_segments`` or ``history_size`` is not an int.
    OverflowError
        If ``num_segments`` or ``history_size`` is negative.

    Examples
    --------
    >>> from sframe_spark import SArrayBuilder
    >>> builder = SArrayBuilder(int)
    >>> builder.append(1)
    >>> builder.append_multiple([2, None])
    >>> list(builder.close())
    [1, 2, None]
    """

    def __init__(self, dtype: Any, num_segments: int = 1, history_size: int = 10) -> None:
        super().__init__([_general_type(dtype)], num_segments, history_size)

    def append(self, data: Any, segment: int = 0) -> None:
        """Append a value to a segment.

        Parameters
        ----------
        data
            The value.
        segment
            Number of the segment, from 0.

        Raises
        ------
        TypeError
            If no column can hold values of its class.
        RuntimeError
            If the value does not fit the builder's class, the builder has no such segment, or it is closed.

        Examples
        --------
        >>> builder = SArrayBuilder(int, num_segments=2)
        >>> builder.append(5, segment=1)
        >>> builder.append(3)
        >>> list(builder.close())
        [3, 5]
        """
        self._append_all((data,), segment)

    def append_multiple(self, data: Iterable[Any], segment: int = 0) -> None:
        """Append several values to a segment, in order; if one does not fit, those before it have been appended.

        Parameters
        ----------
        data
            The values.
        segment
            Number of the segment, from 0.

        Raises
        ------
        TypeError
            If ``data`` is not iterable, or no column can hold values of a class in it.
        RuntimeError
            If a value does not fit the builder's class, the builder has no such segment, or it is closed.

        Examples
        --------
        >>> builder = SArrayBuilder(int)
        >>> builder.append_multiple([5, None, 3])
        >>> list(builder.close())
        [5, None, 3]
        """
        self._append_all(data, segment)

    def _row(self, value: Any) -> Sequence[Any]:
        kind = self._types[0].kind
        family = family_of_value(value)
        if family in NUMBERS:
            # An int of more than 64 bits is treated as a float.
            family = FLOAT_KIND if isinstance(plain_number(value), float) else INT_KIND
        converted = None
        if family in (kind, MISSING) or {family, kind} <= {LIST_KIND, ARRAY_KIND, NDARRAY_KIND}:
            with contextlib.suppress(SFrameError):
                converted = self._converted(value, kind, None)
        if converted is None and family != MISSING:
            raise BuilderError(f"{brief(value)} ({type(value).__name__}) does not fit a column of {kind}: convert it first")
        return (converted,)

    def get_type(self) -> type:
        """Return the class of the values.

        Examples
        --------
        >>> builder = SArrayBuilder(int)
        >>> builder.get_type()
        <class 'int'>
        """
        return self._types[0].python_class

    def close(self) -> SArray:
        """Close the builder and return its values as a column; afterwards nothing can be appended.

        Raises
        ------
        RuntimeError
            If the builder was closed before.

        Examples
        --------
        >>> builder = SArrayBuilder(int)
        >>> builder.append(5)
        >>> builder.close().sum()
        5
        """
        return make_array(self._closed())


@with_call_hints
class SFrameBuilder(_Builder):
    """Builds a frame of rows that are appended one at a time; rows that exceed the memory budget are written to temporary files.

    Parameters
    ----------
    column_types
        Classes of the columns' values.
    column_names
        Names of the columns; ``X1``, ``X2`` and so on if not given.
    num_segments
        Number of segments to which rows can be appended independently. The frame has the rows of the first segment first.
    history_size
        Number of rows per segment that :meth:`read_history` can return.
    save_location
        Path where :meth:`close` also saves the frame; None: it is not saved.

    Raises
    ------
    TypeError
        If no column can hold values of a class, names are not strings, or ``num_segments`` or ``history_size`` is not an int.
    OverflowError
        If ``num_segments`` or ``history_size`` is negative.
    RuntimeError
        If two columns have the same name.
    AssertionError
        If the numbers of classes and names differ.

    Examples
    --------
    >>> from sframe_spark import SFrameBuilder
    >>> builder = SFrameBuilder([int, str], column_names=["id", "name"])
    >>> builder.append([1, "ann"])
    >>> builder.append_multiple([[2, None]])
    >>> list(builder.close())
    [{'id': 1, 'name': 'ann'}, {'id': 2, 'name': None}]
    """

    def __init__(
        self,
        column_types: Sequence[Any],
        column_names: Sequence[str] | None = None,
        num_segments: int = 1,
        history_size: int = 10,
        save_location: str | None = None,
    ) -> None:
        if isinstance(column_types, (str, type)) or not isinstance(column_types, Sequence):
            raise SchemaError(f"column_types must be a list of classes, not {column_types!r:.60}")
        super().__init__([_general_type(dtype) for dtype in column_types], num_segments, history_size)
        names = [f"X{number}" for number in range(1, len(column_types) + 1)] if column_names is None else column_names
        if isinstance(names, str) or not all(isinstance(name, str) for name in names):
            raise SchemaError(f"column_names must be a list of texts, not {column_names!r:.60}")
        if len(names) != len(column_types):
            raise ColumnsOfRowsError(f"there are {len(names)} name(s) for {len(column_types)} column(s): give one for each")
        self._names, self._save_location = with_automatic_names(names), save_location
        require_distinct(self._names)
        require_unicode(self._names)

    def append(self, data: Sequence[Any], segment: int = 0) -> None:
        """Append a row to a segment; its values are converted to the classes of their columns.

        Parameters
        ----------
        data
            The values of the row, in the order of the columns.
        segment
            Number of the segment, from 0.

        Raises
        ------
        TypeError
            If ``data`` is not a sequence of values, or a value cannot be converted.
        RuntimeError
            If the number of values differs from that of the columns, the builder has no such segment, or it is closed.

        Examples
        --------
        >>> builder = SFrameBuilder([int, str], column_names=["id", "name"])
        >>> builder.append([1, "ann"])
        >>> list(builder.close())
        [{'id': 1, 'name': 'ann'}]
        """
        self._append_all((data,), segment)

    def append_multiple(self, data: Iterable[Sequence[Any]], segment: int = 0) -> None:
        """Append several rows to a segment, in order; if one does not fit, those before it have been appended.

        Parameters
        ----------
        data
            The rows, each a sequence of values.
        segment
            Number of the segment, from 0.

        Raises
        ------
        TypeError
            If ``data`` is not iterable, a row is not a sequence of values, or a value cannot be converted.
        RuntimeError
            If the number of values in a row differs from that of the columns, the builder has no such segment, or it is closed.

        Examples
        --------
        >>> builder = SFrameBuilder([int, str], column_names=["id", "name"])
        >>> builder.append_multiple([[1, "ann"], [2, None]])
        >>> list(builder.close()["name"])
        ['ann', None]
        """
        self._append_all(data, segment)

    def _row(self, value: Any) -> Sequence[Any]:
        if isinstance(value, (str, dict)) or not isinstance(value, Sequence):
            raise SchemaError(f"a row must be a list with one value for each column, not {brief(value)} ({type(value).__name__})")
        if len(value) != len(self._types):
            raise BuilderError(f"the row has {len(value)} value(s) for {len(self._types)} column(s)")
        converted = []
        for name, item, column_type in zip(self._names, value, self._types, strict=True):
            try:
                converted.append(self._converted(item, column_type.kind, name))
            except SFrameError as error:
                raise SchemaError(f"column {name!r}: {error}") from None
        return converted

    def column_names(self) -> list[str]:
        """Return the names of the columns.

        Examples
        --------
        >>> builder = SFrameBuilder([int, str], column_names=["id", "name"])
        >>> builder.column_names()
        ['id', 'name']
        """
        return list(self._names)

    def column_types(self) -> list[type]:
        """Return the classes of the columns' values.

        Examples
        --------
        >>> builder = SFrameBuilder([int, str], column_names=["id", "name"])
        >>> builder.column_types()
        [<class 'int'>, <class 'str'>]
        """
        return [column_type.python_class for column_type in self._types]

    def close(self) -> SFrame:
        """Close the builder and return its rows as a frame, also saved if ``save_location`` was given; afterwards nothing can be appended.

        Raises
        ------
        RuntimeError
            If the builder was closed before.
        OSError
            If the frame cannot be saved.

        Examples
        --------
        >>> builder = SFrameBuilder([int, str], column_names=["id", "name"])
        >>> builder.append([1, "ann"])
        >>> builder.close().shape
        (1, 2)
        """
        node = self._closed()
        if self._save_location is not None:
            saved_frames.save_node(node, self._save_location, self._names)
        return make_frame(node, self._names)


def _general_type(dtype: Any) -> ColumnType:
    """Return the column type that holds all values of a class: date-times with or without an offset, lists and dicts with items of any type."""
    if not is_type(dtype):
        raise SchemaError(f"a column needs a class such as int or str, not {dtype!r:.60}")
    return of_any_offset(column_type_for(dtype))
