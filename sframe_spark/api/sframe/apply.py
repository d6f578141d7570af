"""Members of SFrame that call a Python function for each row, which is given as a dict."""

from __future__ import annotations

import array
import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import Any

from sframe_spark.api.aggregates.argument_types import ColumnClass
from sframe_spark.api.class_registry import SArray, SFrame, make_array, make_frame
from sframe_spark.api.column_names import with_automatic_names
from sframe_spark.api.error_hints import call_example
from sframe_spark.api.node_value_conversion import preview_rows
from sframe_spark.api.sframe.columns import Columns
from sframe_spark.api.user_functions import SAMPLE_ROWS, applied, bind_function, first_results, infer_result_type, type_for_any_items, type_of_results
from sframe_spark.errors import ColumnsOfRowsError, SchemaError, TakenNameError
from sframe_spark.expressions.python_function import PythonFunction
from sframe_spark.operators.flat_map import flat_map, rows_as_chunk, snapshot_rows
from sframe_spark.operators.user_function_calls_and_result_memos import remember_first
from sframe_spark.types import ARRAY_KIND, ENCODED_LIST, ColumnType, of_any_offset
from sframe_spark.udf.bound_function import FunctionAsNow
from sframe_spark.udf.result_caching_size_limits_and_storage import Guess
from sframe_spark.values.nested.python_and_tagged_json import named_rows
from sframe_spark.values.python_to_arrow import column_type_for


class RowFunctions(Columns):
    """Mixin of SFrame: Python functions that are called for each row."""

    @call_example("sf.apply(lambda row: row['a'] + row['b']) for rows, or sf['a'].apply(function) for values")
    def apply(self, fn: Callable[[dict[str, Any]], Any], dtype: ColumnClass | None = None, seed: int | None = None) -> SArray:
        """Return a column of the results of a Python function, which is called once for each row.

        Parameters
        ----------
        fn
            Function that takes a row as a dict.
        dtype
            Class of the results. If not given, it is inferred from the results for the first ten rows, and a later result that does not fit raises
            an error.
        seed
            Has no effect; accepted for compatibility with Turi Create.

        Raises
        ------
        RuntimeError
            If the function fails; the message shows the function's traceback and the row.
        TypeError
            If ``fn`` is not callable.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> frame = SFrame({"name": ["ann", "bob"], "stars": [5, 3]})
        >>> list(frame.apply(lambda row: row["name"] + "*" * row["stars"]))
        ['ann*****', 'bob***']
        """
        fn = bind_function(fn, "apply", self._node.length.at_most, 0 if dtype is not None else SAMPLE_ROWS)
        preview = functools.cache(lambda: self._first_dicts(SAMPLE_ROWS))
        result, first, guess = infer_result_type(fn, preview, dtype, False)
        return make_array(applied(self._node, PythonFunction(fn, result, tuple(self._names), guess=guess), first, preview()[0] if first else ()))

    def _first_dicts(self, count: int) -> tuple[list[dict[str, Any]], bool]:
        rows, fixed = preview_rows(self._node, count, self._names)
        return list(named_rows(self._names, rows)), fixed

    def flat_map(
        self, column_names: Sequence[str], fn: Callable[[dict[str, Any]], Any], column_types: Any = "auto", seed: int | None = None
    ) -> SFrame:
        """Return a frame of the rows that a function returns as a list for each row of this frame, in order.

        Parameters
        ----------
        column_names
            Names of the new columns.
        fn
            Function that takes a row as a dict and returns a list of rows. Each of these is a list of values, or also a number
            or a string if there is one column and its class is given.
        column_types
            Classes of the new columns; ``"auto"``: inferred from the results for the first rows.
        seed
            Has no effect; accepted for compatibility with Turi Create.

        Raises
        ------
        RuntimeError
            If the function fails, or a name is given twice.
        TypeError
            If names or types are invalid or differ in number, or a row does not have one value for each. In most of these cases the error is an
            AssertionError too.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> lines = SFrame({"line": ["to be", "not"]})
        >>> print(lines.flat_map(["word"], lambda row: [[word] for word in row["line"].split()]))
        +------+
        | word |
        +------+
        |  to  |
        |  be  |
        | not  |
        +------+
        [3 rows x 1 columns]
        """
        fn = bind_function(fn, "flat_map", self._node.length.at_most)
        if isinstance(column_names, str):
            raise SchemaError(f"flat_map() takes a list of column names, got {column_names!r}")
        names = list(column_names)
        if not all(isinstance(name, str) for name in names):
            raise ColumnsOfRowsError(f"flat_map() takes a list of column names, got {names!r:.200}")
        names = with_automatic_names(names)
        if len(set(names)) < len(names):
            raise TakenNameError(f"a name is given to more than one column: {', '.join(names)}")
        types: list[ColumnType]
        first: list[list[Any]]
        if isinstance(column_types, (list, tuple)):
            types, first, guess = [of_any_offset(column_type_for(item)) for item in column_types], [], None
        elif isinstance(column_types, str) and column_types == "auto":
            types, first, guess = self._flat_map_types(fn, len(names))
        else:
            raise ColumnsOfRowsError(f"column_types must be a list of classes, got {column_types!r}")
        fn.record_state(bool(first))
        if len(types) != len(names) or not names:
            raise ColumnsOfRowsError(f"flat_map() needs one type per column, got {len(names)} name(s) and {len(types)} type(s)")
        node = flat_map(self._node, fn, self._names, types, guess)
        if first:
            rows = [row for rows in first for row in rows]
            remember_first(node, rows_as_chunk(rows, types), [len(rows) for rows in first])
        return make_frame(node, names)

    def _flat_map_types(self, fn: FunctionAsNow, width: int) -> tuple[list[ColumnType], list[list[Any]], Guess | None]:
        """Return the column types, the results for the first rows (an empty list if the first rows may change), and a ``Guess`` of the types."""
        first: list[list[Any]] = []
        dicts, fixed = self._first_dicts(SAMPLE_ROWS)
        with contextlib.closing(first_results(fn, dicts, fn)) as results:
            for rows in results:
                if not isinstance(rows, list):
                    raise SchemaError(f"the function must return a list of rows, got {type(rows).__name__}")
                first.append(snapshot_rows(rows))
        samples = [item for rows in first for item in rows]
        if not samples:
            raise SchemaError("the function returns no row for the first rows, so pass column_types to flat_map()")
        if not all(isinstance(item, (list, tuple)) and len(item) == width for item in samples):
            raise ColumnsOfRowsError(f"each row must be a list of {width} value(s), got {samples[0]!r}")
        if any(value is None for value in samples[0]):
            raise SchemaError("the first row holds None, which has no type, so pass column_types to flat_map()")
        columns = [list(values) for values in zip(*samples, strict=True)]
        types = [_type_of(values) for values in columns]
        return types, first if fixed else [], Guess.of(list(zip(types, columns, strict=True)))


def _type_of(values: Sequence[Any]) -> ColumnType:
    """Return the column type of results. Lists of numbers stay lists, as in Turi Create; in other new columns they become arrays."""
    column_type = type_of_results(values, "column_types to flat_map()")
    are_lists = column_type.kind == ARRAY_KIND and not any(isinstance(value, array.array) for value in values)
    return ENCODED_LIST if are_lists else type_for_any_items(column_type)
