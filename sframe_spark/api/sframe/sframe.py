"""SFrame: a table of named columns whose rows have an order, and which is computed only when rows are needed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from sframe_spark.api import display
from sframe_spark.api.class_registry import ClassRegistry
from sframe_spark.api.column_names import FrameNames
from sframe_spark.api.error_hints import (
    HintedClass,
    adopt_members,
    call_example,
    call_hint,
    no_frame_member,
    raise_property_error,
    refuse_to_be_of_pandas,
)
from sframe_spark.api.index_argument_checks import ROW_LIMIT, head_count, is_row_index, masked, row_number, sliced
from sframe_spark.api.interchange.dataframe_libraries import is_mask
from sframe_spark.api.node_value_conversion import iterate_tuples, row_count
from sframe_spark.api.sframe import construction
from sframe_spark.api.sframe.columns import Columns
from sframe_spark.api.single_row_access_and_recent_row_cache import RowAccess
from sframe_spark.errors import FrameComparisonError, NegativeCountError, SchemaError
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.message_text import brief
from sframe_spark.operators.row_selection import slice_rows
from sframe_spark.planner.handles import register_handle
from sframe_spark.planner.node import PlannerNode
from sframe_spark.process.short_tracebacks import door
from sframe_spark.values.input_copying_simplification_and_validation import NO_VALUES, is_of_spark
from sframe_spark.values.plain_values import one_value

with lazy_imports(globals()):
    from sframe_spark.api.io import saved_frames
    from sframe_spark.api.io.pickling import Pickled
    from sframe_spark.api.numpy_dispatch import NumpyDispatch
    from sframe_spark.api.sarray import SArray
    from sframe_spark.api.sframe.apply import RowFunctions
    from sframe_spark.api.sframe.asof_joins_and_windows import NearRows
    from sframe_spark.api.sframe.database_io import FrameDatabases
    from sframe_spark.api.sframe.file_io import FrameFiles
    from sframe_spark.api.sframe.files_of_any_kind import FilesOfAnyKind
    from sframe_spark.api.sframe.groups_by_interval_cycle_and_run import TimeGroups
    from sframe_spark.api.sframe.interchange import Interchange
    from sframe_spark.api.sframe.interval_joins import IntervalJoins
    from sframe_spark.api.sframe.joins import Joins
    from sframe_spark.api.sframe.known_and_assumed_row_order import RowOrder
    from sframe_spark.api.sframe.materialization_and_explain import FrameMaterialization
    from sframe_spark.api.sframe.merged_and_disjoint_intervals import IntervalSets
    from sframe_spark.api.sframe.missing import MissingValues
    from sframe_spark.api.sframe.plotting import FramePlotting
    from sframe_spark.api.sframe.reshaping import Reshaping
    from sframe_spark.api.sframe.sort_group_append_filter_and_sample import Relational
    from sframe_spark.api.sframe.time_lines import TimeLines
    from sframe_spark.api.sframe.times_by_calendar_and_zone import CalendarColumns
    from sframe_spark.values.nested.python_and_tagged_json import named_rows

SIGNS = {"sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**"}
ORDERS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
LOGIC = {"and": "&", "or": "|", "rand": "&", "ror": "|"}
# Operators of numbers and truth values that raise an error for frames, each with the example for columns that the error shows.
EXAMPLES = {
    **{f"__{name}__": f"sf['a'] {sign} 2" for name, sign in SIGNS.items()},
    **{f"__r{name}__": f"2 {sign} sf['a']" for name, sign in ({"add": "+"} | SIGNS).items()},
    **{f"__{name}__": f"sf[sf['a'] {sign} 2]" for name, sign in ORDERS.items()},
    **{f"__{name}__": f"(sf['a'] > 1) {sign} (sf['b'] == 2)" for name, sign in LOGIC.items()},
    "__neg__": "-sf['a']",
    "__abs__": "abs(sf['a'])",
    "__invert__": "sf[sf['a'] == 0]",
}


def refusing(method: str) -> Callable[..., Any]:
    """Return a method for an operator that raises an error, which says what to write instead.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> SFrame({"a": [1]}) * 2
    Traceback (most recent call last):
    sframe_spark.errors.SchemaError: frames do not support arithmetic, comparisons and logic, but their columns do, as in sf['a'] * 2
    """

    def refuse(self: SFrame, *operands: object) -> Any:
        if not all(isinstance(other, SFrame) or type(other).__module__ == "builtins" for other in operands):
            # Returning NotImplemented lets columns and classes of other libraries implement the operator.
            return NotImplemented
        raise SchemaError(f"frames do not support arithmetic, comparisons and logic, but their columns do, as in {EXAMPLES[method]}")

    refuse.__qualname__ = f"SFrame.{method}"
    return refuse


@adopt_members
class SFrame(
    Reshaping,
    RowFunctions,
    MissingValues,
    TimeGroups,
    TimeLines,
    NearRows,
    CalendarColumns,
    IntervalJoins,
    IntervalSets,
    Joins,
    FramePlotting,
    RowOrder,
    Relational,
    Interchange,
    FilesOfAnyKind,
    FrameFiles,
    FrameDatabases,
    FrameMaterialization,
    Columns,
    RowAccess,
    NumpyDispatch,
    Pickled,
    metaclass=HintedClass,
):
    """A table of named columns of equal length, whose rows have an order. Columns are computed only when their rows are needed.

    Parameters
    ----------
    data
        A dict of columns, a list or other iterable, a pandas DataFrame, an Arrow table, an object with Arrow's stream interface (such as a Polars
        frame, a DuckDB relation or a reader of record batches), a Spark DataFrame, another SFrame, or the path of a saved SFrame or a CSV file.
        Python and numpy values are copied. The memory of an Arrow table is not copied: if Arrow itself shares it with a numpy array, that array must
        not be modified.
    format
        With ``"auto"``, the class of ``data``, or the file extension of a path, decides; ``"csv"``, ``"tsv"`` and ``"sframe"`` say what a path
        contains.
    verify
        For the path of a saved SFrame: whether to read all its files first and compare their check sums.

    Raises
    ------
    TypeError
        If the values of a column have no common type.
    RuntimeError
        If the columns have different lengths.

    Examples
    --------
    >>> sf = SFrame({"a": [3, 1, 2]})
    >>> sf["b"] = sf["a"] * 10
    >>> print(sf.head(2))
    +---+----+
    | a | b  |
    +---+----+
    | 3 | 30 |
    | 1 | 10 |
    +---+----+
    [2 rows x 2 columns]
    """

    @call_example("SFrame({'a': [1, 2], 'b': ['x', 'y']})")
    def __init__(
        self, data: Any = None, format: str = "auto", _node: PlannerNode | None = None, _names: Sequence[str] | None = None, *, verify: bool = False
    ) -> None:
        if _node is not None:
            self._node, self._names = _node, _names if isinstance(_names, FrameNames) else FrameNames(_names or ())
        else:
            self._node, names = construction.frame_from(data, format, verify)
            self._names = FrameNames(names)
        self._node.record_column_names(self._names)
        register_handle(self)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Raise an error with advice about members that other libraries have."""
            raise_property_error(self, name)
            refuse_to_be_of_pandas(self, name)
            # A user's subclass may use attributes before it has initialized the frame.
            raise AttributeError(name) if name.startswith("_") else no_frame_member(name, vars(self).get("_names", ()), dir(type(self)))

    def __eq__(self, other: object) -> Any:
        """Raise an error, because frames cannot be compared as a whole.

        Raises
        ------
        NotImplementedError
            Always; compare columns instead.
        """
        raise FrameComparisonError("frames cannot be compared as a whole: compare their columns, (a['x'] == b['x']).all()")

    __hash__ = object.__hash__

    def __len__(self) -> int:
        """Return the number of rows. Where it is not known, rows are counted, but not kept.

        Examples
        --------
        >>> sf = SFrame({"name": ["ann", "bob"], "stars": [5, 3]})
        >>> len(sf), len(sf[sf["stars"] > 3])
        (2, 1)
        """
        return row_count(self._node)

    def num_rows(self) -> int:
        """Return the number of rows.

        Examples
        --------
        >>> SFrame({"name": ["ann", "bob"], "stars": [5, 3]}).num_rows()
        2
        """
        return len(self)

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns, as a tuple.

        Examples
        --------
        >>> SFrame({"name": ["ann", "bob"], "stars": [5, 3]}).shape
        (2, 2)
        """
        return (len(self), len(self._names))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Iterate over the rows in order, as dicts; they are read in batches.

        Examples
        --------
        >>> for row in SFrame({"name": ["ann", "bob"], "stars": [5, 3]}):
        ...     print(row)
        {'name': 'ann', 'stars': 5}
        {'name': 'bob', 'stars': 3}
        """
        return named_rows(self._names, iterate_tuples(self._node, self._names))

    @overload
    def __getitem__(self, key: str) -> SArray: ...
    @overload
    def __getitem__(self, key: int | np.integer[Any]) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, key: SArray | np.ndarray[Any, Any] | slice | list[Any] | tuple[Any, ...] | type[Any]) -> SFrame: ...
    def __getitem__(self, key: Any) -> Any:
        """Return a column by name, a frame of several columns, a row by number, the rows of a slice, or the rows in which a mask is true.

        Parameters
        ----------
        key
            What is asked for:

            * a name: that column, an :class:`~sframe_spark.SArray`
            * a list of names, or of Python's types of values: a frame of these columns
            * a mask, such as ``sf["stars"] > 3``: a frame of the rows where it is neither 0 nor missing; it has one value for each row
            * an int: that row as a dict; negative ones count from the end
            * a slice: a frame of these rows, as of a list

        Raises
        ------
        KeyError
            If there is no such column.
        IndexError
            If there is no row of that number, or a mask has another length.
        TypeError
            If the key is of another kind.

        Examples
        --------
        >>> sf = SFrame({"name": ["ann", "bob", "cyd"], "stars": [5, 3, 4]})
        >>> list(sf["stars"])
        [5, 3, 4]
        >>> sf[0], sf[-1]["name"]
        ({'name': 'ann', 'stars': 5}, 'cyd')
        >>> print(sf[sf["stars"] > 3])
        +------+-------+
        | name | stars |
        +------+-------+
        | ann  |   5   |
        | cyd  |   4   |
        +------+-------+
        [2 rows x 2 columns]
        >>> print(sf[["stars"]][1:])
        +-------+
        | stars |
        +-------+
        |   3   |
        |   4   |
        +-------+
        [2 rows x 1 columns]
        """
        if (cached := self._cached_row(key)) is not None:
            return dict(zip(self._names, cached, strict=True))
        return self._chosen(key)

    @door
    def _chosen(self, key: Any) -> Any:
        """Return what :meth:`__getitem__` returns where no row of that number was read shortly before."""
        key = one_value(key)
        if is_mask(key):
            key = SArray(key)
        if isinstance(key, SArray):
            return SFrame(_node=masked(self._node, key._node, "SFrame"), _names=self._names)
        if isinstance(key, str):
            return self.select_column(key)
        if isinstance(key, type):
            return self.select_columns([key])
        if is_row_index(key):
            row = self._recent_rows(self._names).row(row_number(key, len(self), "this SFrame"))
            return dict(zip(self._names, row, strict=True))
        if isinstance(key, slice):
            return SFrame(_node=sliced(self._node, key, self.__len__), _names=self._names)
        if is_of_spark(key):
            raise SchemaError(NO_VALUES.format(type(key).__name__))
        if isinstance(key, Sequence) or hasattr(key, "__iter__"):
            return self.select_columns(list(key))
        raise SchemaError(
            f"columns are selected by name, rows by an int, a slice or an SArray, not by {type(key).__name__}: sf['a'] is a column, sf[0] a row,"
            " sf[sf['a'] > 0] the rows that meet a condition"
        )

    def head(self, n: int = 10) -> SFrame:
        """Return a frame of the first ``n`` rows.

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
        >>> print(SFrame({"name": ["ann", "bob"], "stars": [5, 3]}).head(1))
        +------+-------+
        | name | stars |
        +------+-------+
        | ann  |   5   |
        +------+-------+
        [1 rows x 2 columns]
        """
        return SFrame(_node=slice_rows(self._node, 0, head_count(n)), _names=self._names)

    def tail(self, n: int = 10) -> SFrame:
        """Return a frame of the last ``n`` rows.

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
        >>> print(SFrame({"name": ["ann", "bob"], "stars": [5, 3]}).tail(1))
        +------+-------+
        | name | stars |
        +------+-------+
        | bob  |   3   |
        +------+-------+
        [1 rows x 2 columns]
        """
        count = head_count(n)
        rows = len(self)
        return SFrame(_node=slice_rows(self._node, max(0, rows - count), rows), _names=self._names)

    def copy(self) -> SFrame:
        """Return a new frame with the same columns; assigning columns to one of them does not change the other.

        Examples
        --------
        >>> frame = SFrame({"stars": [5, 3]})
        >>> other = frame.copy()
        >>> other["stars"] = 0
        >>> list(frame["stars"]), list(other["stars"])
        ([5, 3], [0, 0])
        """
        return SFrame(_node=self._node, _names=self._names)

    def __copy__(self) -> SFrame:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> SFrame:
        return self.copy()

    def print_rows(
        self, num_rows: int = 10, num_columns: int = 40, max_column_width: int = 30, max_row_width: int = 80, output_file: Any = None
    ) -> None:
        """Print the first rows as a table. Long values are truncated; columns that exceed the line width are printed in further tables below.

        Parameters
        ----------
        num_rows
            Maximum number of rows.
        num_columns
            Maximum number of columns; further columns are left out.
        max_column_width
            Maximum number of characters in a column.
        max_row_width
            Maximum number of characters in a line.
        output_file
            File object to print to; None: standard output.

        Raises
        ------
        TypeError
            If a maximum is not an int.
        ValueError
            If a maximum is negative.

        Examples
        --------
        >>> SFrame({"name": ["ann", "bob"], "stars": [5, 3]}).print_rows(1)
        +------+-------+
        | name | stars |
        +------+-------+
        | ann  |   5   |
        +------+-------+
        [2 rows x 2 columns]
        <BLANKLINE>
        """
        limits = {"num_rows": num_rows, "num_columns": num_columns, "max_column_width": max_column_width, "max_row_width": max_row_width}
        for name, number in limits.items():
            if isinstance(number, bool) or not hasattr(number, "__index__"):
                raise SchemaError(f"{name} must be a whole number, got {brief(number)}")
            if number < 0:
                raise NegativeCountError(f"{name} cannot be negative, got {brief(number)}")
        width = max(max_row_width, max_column_width + 1)
        print(display.printed_rows(self._node, self._names, min(num_rows, ROW_LIMIT), width, max_column_width, num_columns), file=output_file)

    def __str__(self, num_rows: int = 10, footer: bool = True) -> str:
        return display.frame_text(self._node, self._names, head_count(num_rows), footer)

    def __repr__(self) -> str:
        return display.frame_description(self._node, self._names)

    def _repr_html_(self) -> str:
        return display.frame_html(self._node, self._names)

    def _ipython_key_completions_(self) -> list[str]:
        """Return the column names, which notebooks suggest after ``sf["``."""
        return list(self._names)


for _method in EXAMPLES:
    setattr(SFrame, _method, refusing(_method))
ClassRegistry.frame = SFrame


@call_hint
def load_sframe(
    filename: str,
    *,
    verify: bool = False,
    references: Sequence[str | os.PathLike[str]] = (),
    encoding_errors: str = "strict",
    version: int | None = None,
) -> SFrame:
    """Return the frame that was saved at a path, by this package or by Turi Create.

    Parameters
    ----------
    filename
        Path of the saved frame, of a ``.frame_idx`` file of Turi Create, or the URI of a frame in remote storage. A file with extension ``.csv``,
        ``.txt`` or ``.tsv``, which may be followed by that of a compressed file such as ``.gz``, is read as ``SFrame(path)`` reads it.
    verify
        Whether to read all files first and compare their check sums. An archive of Turi Create has none; all its rows are decoded instead. Without
        ``verify``, data is checked when it is read.
    references
        Directories, besides its own, in which an archive of Turi Create may have files, as an archive written by ``_save_reference`` does.
    encoding_errors
        How to handle strings in an archive of Turi Create that are not UTF-8: ``"strict"`` raises an error, ``"latin-1"`` decodes them as Latin-1,
        and ``"replace"``, ``"backslashreplace"`` and ``"ignore"`` do the same as in ``bytes.decode``.
    version
        Version number of a frame in remote storage (:func:`sframe_spark.history` lists all); None: the newest. The frame keeps the rows of this
        version even if newer ones are saved later.

    Raises
    ------
    OSError
        If no complete frame is saved at the path, or it is damaged; with ``verify``, also if it was saved without check sums. If an archive of Turi
        Create refers to files outside of its directory and of ``references``.
    ValueError
        If ``encoding_errors`` is unknown. Reading rows later raises it for a string that is not UTF-8.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     SFrame({"a": [1, 2]}).save(os.path.join(directory, "frame"))
    ...     len(load_sframe(os.path.join(directory, "frame"), verify=True))
    2
    """
    text_file = construction.text_frame(filename, verify) if version is None else None
    node, names = text_file or saved_frames.load_frame(filename, verify, references, encoding_errors, version=version)
    return SFrame(_node=node, _names=names)
