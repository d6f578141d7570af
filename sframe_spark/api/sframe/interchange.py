"""Members of SFrame that convert to and from Arrow tables, pandas and Spark DataFrames, Polars frames and numpy arrays."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sframe_spark.api.class_registry import MemberOnFirstUse, SFrame, make_frame
from sframe_spark.api.error_hints import call_example
from sframe_spark.api.interchange import dataframe_libraries
from sframe_spark.api.interchange.dataframe_libraries import frame_from_pandas, pandas_frame
from sframe_spark.api.node_value_conversion import (
    array_for_numpy,
    python_columns,
    rows_in_numpy,
    rows_of,
    table_for_numpy,
    table_of_numbers,
    whole_cells,
)
from sframe_spark.api.sframe import construction
from sframe_spark.api.sframe.columns import Columns
from sframe_spark.errors import SchemaError
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.optional_libraries import import_library
from sframe_spark.types import STR_KIND
from sframe_spark.values.input_copying_simplification_and_validation import library_of

with lazy_imports(globals()):
    from sframe_spark.api.interchange.from_spark import frame_from_spark
    from sframe_spark.api.interchange.narwhals_plugin import for_narwhals
    from sframe_spark.api.interchange.to_spark import register_view, to_spark
    from sframe_spark.engine.execution.collect_limits import require_memory_in_numpy

# Kinds of nested values.
# The module of pandas that makes frames.
PANDAS_FRAME = "pandas.core.frame"

if TYPE_CHECKING:
    import pandas
    import pyspark.sql


class Interchange(Columns):
    """Mixin of SFrame: conversions to and from other libraries."""

    def to_arrow(self) -> pa.Table:
        """Return all rows as an Arrow table; ``SFrame(table)`` gives an equal frame.

        Date-times that all have the same offset from UTC become timestamps with that time zone; with different offsets, the type is
        ``arrow.timestamp_with_offset``. Lists and dicts whose items have no common type become ``arrow.json``.

        Raises
        ------
        TooLargeError
            If the rows do not fit in memory; the message says how much memory they need.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> SFrame({"name": ["ann", "bob"], "stars": [5, 3]}).to_arrow().column_names
        ['name', 'stars']
        """
        if not self._names:
            return pa.table({})
        return dataframe_libraries.table_of_rows(self._node, self._names)

    def __arrow_c_schema__(self) -> Any:
        """Return names and Arrow types of the columns, for other libraries. For some types, such as mixed lists, all values are read."""
        return dataframe_libraries.schema_of(dataframe_libraries.forms_of(self._node), self._names).__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Return all rows as an Arrow stream, batch by batch: ``polars.DataFrame(sf)``, ``duckdb.sql("from sf")``, ``pyarrow.table(sf)``.

        The types are those of :meth:`to_arrow`.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> pa.table(SFrame({"a": [1, None]})).to_pydict()
        {'a': [1, None]}
        """
        return dataframe_libraries.stream_of_rows(self._node, self._names).__arrow_c_stream__(requested_schema)

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> Any:
        """Return all rows, in memory, as pyarrow's object of the data frame interchange protocol, for libraries that ask for it.

        Raises
        ------
        TooLargeError
            If the rows do not fit in memory; the message says how much memory they need.

        Source: https://data-apis.org/dataframe-protocol/latest/

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> list(SFrame({"a": [1, None], "b": [2, 3]}).__dataframe__().column_names())
        ['a', 'b']
        """
        return self.to_arrow().__dataframe__(nan_as_null, allow_copy)

    def __narwhals_dataframe__(self) -> Any:
        """Return the frame as narwhals asks for it: ``narwhals.from_native(sf)``. Rows are taken once, as Arrow data, when narwhals needs them."""
        return for_narwhals(self)

    @call_example("sf.to_pandas()")
    def to_pandas(self, arrow: bool = False) -> pandas.DataFrame:
        """Return all rows as a pandas DataFrame.

        Parameters
        ----------
        arrow
            Whether columns have the Arrow types of :meth:`to_arrow`. Then ints with missing values remain ints, and ``SFrame`` of the result is an
            equal frame.

        Raises
        ------
        TooLargeError
            If the rows do not fit in memory; the message says how much memory they need.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> str(SFrame({"n": [2**53 + 1, None]}).to_pandas(arrow=True)["n"].dtype)
        'int64[pyarrow]'
        """
        if arrow:
            return self.to_arrow().to_pandas(types_mapper=import_library("pandas").ArrowDtype)
        return pandas_frame(self._node, self._names)

    def to_dataframe(self) -> pandas.DataFrame:
        """Return all rows as a pandas DataFrame; the same as :meth:`to_pandas`.

        Raises
        ------
        TooLargeError
            If the rows do not fit in memory; the message says how much memory they need.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> SFrame({"name": ["ann", "bob"], "stars": [5, 3]}).to_dataframe()["stars"].tolist()
        [5, 3]
        """
        return self.to_pandas()

    def to_numpy(self) -> np.ndarray:
        """Return all rows as a two-dimensional numpy array: of numbers, of strings, or of objects if numpy has no type for all values.

        Raises
        ------
        TooLargeError
            If the rows do not fit in memory; the message says how much memory they need.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> SFrame({"high": [5, 6], "low": [1, 2]}).to_numpy()
        array([[5, 1],
               [6, 2]])
        """
        if not self._names:
            return np.empty(0)
        chunk, width = rows_of(self._node, as_objects=True), len(self._names)
        if all(column_type.is_numeric for column_type in self._node.schema) and not any(column.null_count for column in chunk.columns):
            return table_of_numbers(chunk.columns)
        rows = list(zip(*python_columns(chunk, self._node.schema, 0, self._names), strict=True))
        if rows and any(column_type.is_compared_as_text for column_type in self._node.schema):
            return whole_cells(rows, width)
        if any(column_type.kind == STR_KIND for column_type in self._node.schema):
            require_memory_in_numpy(rows)
        return rows_in_numpy(rows, width)

    @property
    def __array__(self) -> Callable[..., np.ndarray]:
        """A function that returns all rows as a two-dimensional array: ``numpy.asarray``, scikit-learn and other libraries call it.

        Numbers have NaN where one is missing, results of comparisons are Booleans, and date-times without an offset ``datetime64``. If columns hold
        anything else, the array is of objects.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> np.asarray(SFrame({"a": [1, 2], "b": [0.5, None]})).tolist()
        [[1.0, 0.5], [2.0, nan]]
        """
        # ``pandas.DataFrame(sf)`` prefers an array, which has no names of columns, to rows, which have them.
        asker = sys._getframe(1)
        if asker.f_globals.get("__name__") == MemberOnFirstUse.__module__ and asker.f_back is not None:
            # The first member of this mixin that a process uses is asked for by what imports the mixin.
            asker = asker.f_back
        if asker.f_globals.get("__name__") == PANDAS_FRAME:
            raise AttributeError("__array__")
        return self._rows_for_numpy

    def _rows_for_numpy(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return array_for_numpy(table_for_numpy(self._node, self._names) if self._names else np.empty((0, 0)), dtype, copy)

    def to_spark(self) -> pyspark.sql.DataFrame:
        """Return the rows as a Spark DataFrame of the user's active session, in order, with this frame's column names.

        Views, functions and settings of the session (such as ANSI mode and time zone) apply to what is derived from the DataFrame, but not to the
        rows of this frame. Spark types: date-times without an offset are TIMESTAMP_NTZ; date-times with one TIMESTAMP (instants without their
        offset); arrays and lists of one type ARRAY; dicts of one type MAP; lists and dicts of mixed values VARIANT. In a VARIANT, date-times are ISO
        strings, NaN and infinite numbers the strings that Spark's ``to_json`` writes, and all keys strings.

        The order of rows is kept where Spark keeps it (``collect``, ``toPandas``, ``write``). If this frame was made of a DataFrame whose order of
        rows has not been used yet, the rows are computed again from that DataFrame, in the order in which Spark returns them. Temporary files that
        the
        DataFrame reads are kept until the process ends, because other DataFrames may be derived from it.

        Raises
        ------
        StorageError
            If files of the frame are missing or damaged.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> SFrame({"a": [1, 2]}).to_spark().collect()  # doctest: +SKIP
        [Row(a=1), Row(a=2)]
        """
        return to_spark(self._node, self._names)

    def register_view(self, name: str) -> None:
        """Register the rows as a temporary view of the user's active Spark session; an existing view of that name is replaced.

        The columns have the types of :meth:`to_spark`. To run a single query, :func:`sframe_spark.sql` needs no view.

        Parameters
        ----------
        name
            Name of the view.

        Raises
        ------
        InvalidArgumentError
            If the name is not a word of letters, digits and underscores.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> SFrame({"a": [1, 2]}).register_view("numbers")  # doctest: +SKIP
        >>> spark.sql("SELECT sum(a) AS total FROM numbers").collect()  # doctest: +SKIP
        [Row(total=3)]
        """
        register_view(name, self)  # type: ignore[arg-type]

    @classmethod
    def from_pandas(cls, data: Any, naive: bool = False) -> SFrame:
        """Return a frame of the rows of a pandas DataFrame. The index is left out; ``reset_index()`` makes columns of it.

        Parameters
        ----------
        data
            The DataFrame.
        naive
            Whether date-times without a time zone remain without an offset; otherwise they are in UTC, as in ``SFrame(data)``.

        Raises
        ------
        TypeError
            If ``data`` is not a pandas DataFrame, or a column holds values that no SFrame column can hold.

        Examples
        --------
        >>> import pandas
        >>> from sframe_spark import SFrame
        >>> days = pandas.DataFrame({"day": pandas.to_datetime(["2024-02-29"])})
        >>> SFrame.from_pandas(days)["day"][0].tzinfo, SFrame.from_pandas(days, naive=True)["day"][0].tzinfo
        (datetime.timezone.utc, None)
        """
        _require(library_of(data) == "pandas" and hasattr(data, "columns"), "from_pandas", "a pandas DataFrame", data)
        return make_frame(*frame_from_pandas(data, naive))

    @classmethod
    def from_arrow(cls, data: Any) -> SFrame:
        """Return a frame of the rows of an Arrow table, record batch or reader, or of any object that exports its rows as an Arrow C stream.

        Parameters
        ----------
        data
            The table, batch, reader, or object with ``__arrow_c_stream__``. A reader is read to its end.

        Raises
        ------
        TypeError
            If ``data`` is something else, or a column holds values that no SFrame column can hold.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> len(SFrame.from_arrow(pa.table({"a": [1, 2]}).to_reader()))
        2
        """
        _require(
            isinstance(data, (pa.Table, pa.RecordBatch)) or dataframe_libraries.gives_rows(data),
            "from_arrow",
            "an Arrow table, batch or stream",
            data,
        )
        return make_frame(*construction.frame_from(data))

    @classmethod
    def from_polars(cls, data: Any) -> SFrame:
        """Return a frame of the rows of a Polars DataFrame or LazyFrame.

        Parameters
        ----------
        data
            The DataFrame, or the LazyFrame, which is collected.

        Raises
        ------
        TypeError
            If ``data`` is something else, or a column holds values that no SFrame column can hold.

        Examples
        --------
        >>> import polars
        >>> from sframe_spark import SFrame
        >>> SFrame.from_polars(polars.DataFrame({"name": ["ann", "bob"]}))["name"][1]
        'bob'
        """
        _require(library_of(data) == "polars" and dataframe_libraries.gives_rows(data), "from_polars", "a polars DataFrame or LazyFrame", data)
        return make_frame(*dataframe_libraries.frame_from_arrow(dataframe_libraries.arrow_table(data)))

    @classmethod
    def from_spark(cls, data: Any) -> SFrame:
        """Return a lazy frame of the rows of a Spark DataFrame.

        Parameters
        ----------
        data
            The DataFrame. It is evaluated once, in its own session, when rows are needed.

        Raises
        ------
        TypeError
            If ``data`` is something else, or a column holds values that no SFrame column can hold.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> SFrame.from_spark(spark.range(3))["id"].sum()  # doctest: +SKIP
        3
        """
        _require(library_of(data) == "pyspark" and hasattr(data, "columns"), "from_spark", "a Spark DataFrame", data)
        return make_frame(*frame_from_spark(data))


def _require(condition: bool, member: str, expected: str, data: Any) -> None:
    if not condition:
        kind = f"{library_of(data)}.{type(data).__name__}" if library_of(data) != "builtins" else type(data).__name__
        raise SchemaError(f"SFrame.{member}() takes {expected}, got {kind}: SFrame(...) takes tables of every kind")
