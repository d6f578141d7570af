"""SArray: a column of values of one type, whose rows have an order; it never changes, and is computed only when values are needed."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from types import NoneType
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from sframe_spark import errors
from sframe_spark.api import display, index_argument_checks
from sframe_spark.api.class_registry import ClassRegistry
from sframe_spark.api.error_hints import HintedClass, adopt_members, call_example, no_array_member, raise_property_error, refuse_to_be_of_pandas
from sframe_spark.api.interchange.dataframe_libraries import is_mask
from sframe_spark.api.node_value_conversion import column_values, iterate_tuples, literal_of, node_from_values, preview_values, recoded, row_count
from sframe_spark.api.single_row_access_and_recent_row_cache import RowAccess
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.message_text import brief
from sframe_spark.operators.row_selection import slice_rows
from sframe_spark.operators.sources.in_memory import constant_source, range_source
from sframe_spark.planner.handles import register_handle
from sframe_spark.planner.node import PlannerNode
from sframe_spark.process.short_tracebacks import door
from sframe_spark.types import DICT_KIND, common_encoding
from sframe_spark.values.plain_values import one_value
from sframe_spark.values.python_to_arrow import column_type_for, encoding_for

with lazy_imports(globals()):
    from sframe_spark.api import user_functions
    from sframe_spark.api.aggregates.argument_types import ColumnClass
    from sframe_spark.api.io.column_from_text_or_json_files import column_from_path
    from sframe_spark.api.io.path_arguments import nothing_to_verify
    from sframe_spark.api.io.pickling import Pickled
    from sframe_spark.api.numpy_dispatch import NumpyDispatch
    from sframe_spark.api.sarray.arithmetic import Arithmetic
    from sframe_spark.api.sarray.date_parts import Dates
    from sframe_spark.api.sarray.datetimes import DateTimes
    from sframe_spark.api.sarray.file_io import ColumnFiles
    from sframe_spark.api.sarray.filter_sort_unique_and_sample import Selection
    from sframe_spark.api.sarray.items import Items
    from sframe_spark.api.sarray.materialization_explain_and_export import ColumnMaterialization
    from sframe_spark.api.sarray.mathematics import Mathematics
    from sframe_spark.api.sarray.missing_values_casts_clipping_membership_and_hash import Cleaning
    from sframe_spark.api.sarray.plotting import ColumnPlotting
    from sframe_spark.api.sarray.reductions import Reductions
    from sframe_spark.api.sarray.texts import Texts
    from sframe_spark.api.sarray.windows import Windows
    from sframe_spark.api.sarray.zones_and_calendars import ZonesAndCalendars
    from sframe_spark.api.user_functions import applied, bind_function, infer_result_type
    from sframe_spark.expressions.python_function import PythonFunction
    from sframe_spark.operators.append import append


@adopt_members
class SArray(
    Arithmetic,
    Mathematics,
    Reductions,
    Selection,
    Cleaning,
    Windows,
    Items,
    DateTimes,
    Dates,
    ZonesAndCalendars,
    Texts,
    ColumnPlotting,
    ColumnFiles,
    ColumnMaterialization,
    RowAccess,
    NumpyDispatch,
    Pickled,
    metaclass=HintedClass,
):
    """A column of values of one type, whose rows have an order. It never changes, and is computed only when its values are needed.

    Parameters
    ----------
    data
        Values (a list, numpy array, pandas Series, range or other iterable, or an Arrow array, whose memory is not copied), or the path of a saved
        SArray or of text files, which may be compressed, with one value per line.
    dtype
        Class of the values; None: inferred.
    ignore_cast_failure
        Whether values that cannot be converted to ``dtype`` become missing; otherwise they raise an error.
    verify
        For the path of a saved SArray: whether to read all its files first and compare their check sums.

    Raises
    ------
    TypeError
        If the values have no common type, or cannot be converted to ``dtype``.

    Examples
    --------
    >>> a = SArray([1, 2, None])
    >>> list(a + 1)
    [2, 3, None]
    """

    @call_example("SArray([1, 2, None], int)")
    def __init__(
        self,
        data: Any = (),
        dtype: Any = None,
        ignore_cast_failure: bool = False,
        _node: PlannerNode | None = None,
        _typed_by_values: bool = False,
        *,
        verify: bool = False,
    ) -> None:
        if verify and not isinstance(data, str):
            raise nothing_to_verify(data)
        self._typed_by_values = _typed_by_values
        if _node is not None:
            self._node = _node
        elif isinstance(data, SArray):
            self._node = data._node if dtype is None else data.astype(dtype)._node
        elif isinstance(data, str):
            self._node = column_from_path(data, dtype, verify)
        else:
            self._node = node_from_values(data, dtype, ignore_cast_failure)
        register_handle(self)

    @classmethod
    def from_const(cls, value: Any, size: int, dtype: ColumnClass = NoneType) -> SArray:
        """Return a column with the same value in each row.

        Parameters
        ----------
        value
            The value; may be None.
        size
            Number of rows.
        dtype
            Class of the column; inferred from the value if not given.

        Raises
        ------
        TypeError
            If a column cannot hold values of class ``dtype``, or the value.
        AssertionError
            If ``size`` is negative or not an int.

        Examples
        --------
        >>> list(SArray.from_const("EUR", 3))
        ['EUR', 'EUR', 'EUR']
        """
        if dtype is None:
            raise errors.SchemaError("dtype is the class of the values: omit it to infer it")
        if not index_argument_checks.is_row_index(size) or int(size) < 0:
            raise errors.RowNumberError(f"size must be a number of rows, not negative, got {brief(size)}")
        if size > index_argument_checks.ROW_LIMIT:
            raise errors.BeyondRangeError(f"size must be a number of rows, got {brief(size)}")
        value = one_value(value)
        column_type = literal_of(value).type if dtype is NoneType else encoding_for([value], column_type_for(dtype))
        converted = node_from_values([value], column_type.python_class)
        return cls(_node=constant_source(column_values(converted)[0], converted.schema[0], int(size)))

    @classmethod
    def from_sequence(cls, start: int, stop: int | None = None) -> SArray:
        """Return a column of consecutive ints.

        Parameters
        ----------
        start
            The first int; if ``stop`` is not given, the number of ints, which begin at 0.
        stop
            The int after the last one.

        Raises
        ------
        TypeError
            If ``start`` or ``stop`` is not an int.
        ValueError
            If only ``start`` is given and it is negative (the error is a RuntimeError too).

        Examples
        --------
        >>> list(SArray.from_sequence(3)), list(SArray.from_sequence(10, 13))
        ([0, 1, 2], [10, 11, 12])
        """
        for bound in (start, stop):
            if bound is not None and not index_argument_checks.is_row_index(bound):
                raise errors.SchemaError(f"bounds of a sequence must be ints, got {brief(bound)}")
        if stop is None and start < 0:
            raise errors.NegativeSizeError(f"a sequence cannot have {brief(start)} rows: give the first number and the one after the last")
        first, last = (0, int(start)) if stop is None else (int(start), int(stop))
        if last > first and not (first >= -(2**63) and last <= 2**63):
            raise errors.BeyondRangeError(f"a sequence from {brief(first)} to {brief(last)} holds numbers that need more than 64 bits")
        return SArray(_node=range_source(first, max(0, last - first)))

    # As `==` compares values. Said here, as Python asks the class for it, and not for a mixin that is not imported yet.
    __hash__ = None  # type: ignore[assignment]

    def __setattr__(self, name: str, value: Any) -> None:
        # Instances of users' subclasses may have any attributes.
        if not name.startswith("_") and type(self) is SArray:
            raise errors.NoAttributeError(f"an SArray has no attribute {name!r} that can be assigned")
        super().__setattr__(name, value)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Raise an error with advice about members that other libraries have."""
            raise_property_error(self, name)
            refuse_to_be_of_pandas(self, name)
            raise AttributeError(name) if name.startswith("_") else no_array_member(name, dir(type(self)))

    @property
    def dtype(self) -> type:
        """The class of the values; ``type(None)`` for rolling aggregates that are all missing, as in Turi Create.

        Examples
        --------
        >>> SArray([1, 2, None]).dtype, SArray(["a", "b"]).dtype
        (<class 'int'>, <class 'str'>)
        """
        if self._typed_by_values and self.countna() == len(self):
            return type(None)
        return self._node.schema[0].python_class

    @property
    def shape(self) -> tuple[int]:
        """The number of rows, in a tuple.

        Examples
        --------
        >>> SArray([20.5, None, 19.0]).shape
        (3,)
        """
        return (len(self),)

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the values in row order; they are read in batches.

        Examples
        --------
        >>> [stars + 1 for stars in SArray([5, 3])]
        [6, 4]
        """
        return (values[0] for values in iterate_tuples(self._node))

    @overload
    def __getitem__(self, key: SArray | np.ndarray[Any, Any] | slice) -> SArray: ...
    @overload
    def __getitem__(self, key: int | np.integer[Any]) -> Any: ...
    def __getitem__(self, key: Any) -> Any:
        """Return a value by row number, the rows of a slice, or the rows in which a mask (an SArray or array of Booleans of equal length) is true.

        Parameters
        ----------
        key
            An int (negative ones count from the end); a slice, as of a list; or a mask, which has one value for each row.

        Raises
        ------
        IndexError
            If there is no row of that number, or a mask has another length.
        TypeError
            If the key is of another kind.

        Examples
        --------
        >>> stars = SArray([5, 3, 4])
        >>> stars[0], stars[-1]
        (5, 4)
        >>> list(stars[1:]), list(stars[stars > 3])
        ([3, 4], [5, 4])
        """
        if (cached := self._cached_row(key)) is not None:
            return cached[0]
        return self._chosen(key)

    @door
    def _chosen(self, key: Any) -> Any:
        """Return what :meth:`__getitem__` returns where no row of that number was read shortly before."""
        key = one_value(key)
        if is_mask(key):
            key = SArray(key)
        if isinstance(key, SArray):
            return SArray(_node=index_argument_checks.masked(self._node, key._node, "SArray"))
        if index_argument_checks.is_row_index(key):
            return self._recent_rows().row(index_argument_checks.row_number(key, len(self), "this SArray"))[0]
        if isinstance(key, slice):
            return SArray(_node=index_argument_checks.sliced(self._node, key, self.__len__))
        asks_for_items = isinstance(key, str) and self._node.schema[0].kind == DICT_KIND
        items = f"; unpack() makes a column of each item of the dicts, apply(lambda items: items[{key!r:.40}]) of one item" if asks_for_items else ""
        raise errors.RowKeyError(f"rows are selected by an int, a slice, an SArray or a boolean array, not by {type(key).__name__}{items}")

    def __setitem__(self, key: Any, value: Any) -> None:
        raise index_argument_checks.immutable_rows_error("sa")

    def __delitem__(self, key: Any) -> None:
        raise index_argument_checks.immutable_rows_error("sa")

    def head(self, n: int = 10) -> SArray:
        """Return a column of the first ``n`` rows.

        Parameters
        ----------
        n
            Number of rows; all rows if there are fewer.

        Raises
        ------
        TypeError
            If ``n`` is not a number.
        ValueError
            If ``n`` is negative.

        Examples
        --------
        >>> list(SArray([5, 3, 4]).head(2))
        [5, 3]
        """
        return SArray(_node=slice_rows(self._node, 0, index_argument_checks.head_count(n)))

    def tail(self, n: int = 10) -> SArray:
        """Return a column of the last ``n`` rows.

        Parameters
        ----------
        n
            Number of rows; all rows if there are fewer.

        Raises
        ------
        TypeError
            If ``n`` is not a number.
        ValueError
            If ``n`` is negative.

        Examples
        --------
        >>> list(SArray([5, 3, 4]).tail(2))
        [3, 4]
        """
        count = index_argument_checks.head_count(n)
        rows = len(self)
        return SArray(_node=slice_rows(self._node, max(0, rows - count), rows))

    @call_example("sf['a'].append(other)")
    def append(self, other: SArray) -> SArray:
        """Return the rows of this column followed by the rows of another column.

        Parameters
        ----------
        other
            A column of the same class.

        Raises
        ------
        RuntimeError
            If ``other`` is not an SArray, or both have rows and their classes differ.

        Examples
        --------
        >>> list(SArray(["mon", "tue"]).append(SArray(["wed"])))
        ['mon', 'tue', 'wed']
        """
        if not isinstance(other, SArray):
            raise errors.UnsupportedOperationError(f"append() takes an SArray, got {type(other).__name__}: SArray([1, 2]) makes one of values")
        nodes = [self._node, other._node]
        if nodes[0].schema[0].kind != nodes[1].schema[0].kind:
            # A column without rows is accepted whatever its type; whether there are rows may only be known after counting.
            with_rows = [node for node in nodes if row_count(node)]
            if len(with_rows) == 2:
                raise errors.UnsupportedOperationError(
                    f"cannot append rows of type {other.dtype.__name__} to rows of type {self.dtype.__name__}: use astype() first"
                )
            return SArray(_node=(with_rows or nodes)[0])
        common = common_encoding(nodes[0].schema[0], nodes[1].schema[0])
        return SArray(_node=append(*[recoded(node, common) for node in nodes]))

    @call_example("sf['a'].apply(lambda value: value + 1, int)")
    def apply(self, fn: Callable[[Any], Any], dtype: ColumnClass | None = None, skip_na: bool = True) -> SArray:
        """Return a column of the results of a Python function, which is called once for each value.

        Parameters
        ----------
        fn
            Function that takes a value. Global variables that it uses keep their present values: later assignments to them change no results.
            (Methods of objects that the function calls read such variables when they run, and may see later values.)
        dtype
            Class of the results. If not given, it is inferred from the results for the first hundred rows, and a later result that does not fit
            raises an error. For date-times these results also decide whether they have an offset from UTC.
        skip_na
            Whether missing values stay missing; otherwise ``fn`` is called with None.

        Raises
        ------
        RuntimeError
            If the function fails; the message shows the function's traceback and the value.
        TypeError
            If ``fn`` is not callable.

        Examples
        --------
        >>> list(SArray(["ann", None, "bob"]).apply(str.upper))
        ['ANN', None, 'BOB']
        >>> list(SArray([3, None]).apply(lambda stars: "*" * (stars or 0), skip_na=False))
        ['***', '']
        """
        fn = bind_function(fn, "apply", self._node.length.at_most, 0 if dtype is not None else user_functions.SAMPLE_VALUES)
        preview = functools.cache(lambda: preview_values(self._node, user_functions.SAMPLE_VALUES))
        result, first, guess = infer_result_type(fn, preview, dtype, bool(skip_na))
        return SArray(
            _node=applied(self._node, PythonFunction(fn, result, skip_missing=bool(skip_na), guess=guess), first, preview()[0] if first else ())
        )

    def __str__(self) -> str:
        return display.column_text(self._node)

    def __repr__(self) -> str:
        return display.column_description(self._node, self.dtype)

    def _repr_html_(self) -> str:
        return display.column_html(self._node, self._label)

    def __copy__(self) -> SArray:
        return SArray(_node=self._node)

    def __deepcopy__(self, memo: Any) -> SArray:
        return SArray(_node=self._node)

    def __int__(self) -> int:
        raise errors.SchemaError("an SArray is no single number: sa.astype(int) converts its values, int(sa[0]) one of them")

    def __float__(self) -> float:
        raise errors.SchemaError(
            "an SArray is no single number: sa.astype(float) converts its values, float(sa[0]) one of them; functions of values are"
            " sa.sqrt(), sa.log() and so on, or NumPy's, as numpy.sqrt(sa)"
        )

    def __bool__(self) -> bool:
        raise errors.InvalidArgumentError(
            "the truth of an SArray is ambiguous: write & for and, | for or, == 0 for not, with each comparison in parentheses,"
            " as in (sa > 1) & (sa < 5); sa.is_in([1, 2]) for in; any() or all() for one answer"
        )


ClassRegistry.array = SArray
