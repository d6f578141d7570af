"""Frames and columns as narwhals asks for them: its own classes for Arrow data compute, and results become SFrames and SArrays again.

Names, numbers of rows, and the choice of columns and of first rows are answered without rows. For all else the rows are taken once, as Arrow data.
Narwhals is imported only when it asks. Its classes for Arrow data are not public, so one place here names them: ``arrow_classes``.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, NamedTuple, Self

import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.api.class_registry import ClassRegistry, SArray, SFrame
from sframe_spark.api.interchange.dataframe_libraries import forms_of, schema_of
from sframe_spark.errors import MissingLibraryError
from sframe_spark.types import ColumnType

# What narwhals calls on columns by special names.
BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor")
SPECIAL = (*BINARY, *(f"r{name}" for name in BINARY), "eq", "ne", "lt", "le", "gt", "ge", "invert", "neg", "getitem", "contains", "iter", "array")


class ArrowClasses(NamedTuple):
    """Narwhals' classes for Arrow data."""

    frame: Any
    series: Any
    expression: Any
    namespace: Any
    others: tuple[Any, ...]
    unknown_implementation: Any


@functools.cache
def arrow_classes() -> ArrowClasses:
    """Import narwhals' classes for Arrow data.

    Raises
    ------
    MissingLibraryError
        If this version of narwhals has them elsewhere.
    """
    try:
        from narwhals._arrow.dataframe import ArrowDataFrame
        from narwhals._arrow.expr import ArrowExpr
        from narwhals._arrow.group_by import ArrowGroupBy
        from narwhals._arrow.namespace import ArrowNamespace
        from narwhals._arrow.series import ArrowSeries
        from narwhals._arrow.utils import ArrowSeriesNamespace
        from narwhals._utils import Implementation
    except ImportError as error:
        raise MissingLibraryError(f"this version of narwhals does not accept SFrames ({error}): pass it sf.to_arrow(), or install 2.29") from error
    return ArrowClasses(ArrowDataFrame, ArrowSeries, ArrowExpr, ArrowNamespace, (ArrowGroupBy, ArrowSeriesNamespace), Implementation.UNKNOWN)


@functools.cache
def _lazy_class() -> Any:
    """Import the class of lazy frames, which stands on narwhals' classes for engines of SQL.

    Raises
    ------
    MissingLibraryError
        If this version of narwhals has them elsewhere.
    """
    try:
        from sframe_spark.api.interchange.narwhals_lazy_frames import LazyFrameForNarwhals
    except ImportError as error:
        raise MissingLibraryError(f"this version of narwhals makes no lazy SFrames ({error}): leave out lazy(), or install 2.29") from error
    LazyFrameForNarwhals.eager = FrameForNarwhals
    return LazyFrameForNarwhals


class Delegate:
    """An object that delegates to narwhals' object for Arrow data, and wraps the results."""

    def __init__(self, held: Any) -> None:
        self._held = held

    @property
    def _target(self) -> Any:
        return self._held

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("_held", "_arrow", "_native"):
            # What Python asks for itself, as pickle does before there are attributes.
            raise AttributeError(name)
        if hasattr(type(self), name):
            # A property of the class has raised an AttributeError: raise it again, as Arrow's member of that name is not a substitute.
            return object.__getattribute__(self, name)
        value = getattr(self._target, name)
        return _calling(value) if callable(value) else wrapped(value)

    def __iter__(self) -> Iterator[Any]:
        return map(wrapped, self._target)


def _calling(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        return wrapped(function(*unwrapped(arguments), **unwrapped(options)))

    return call


def unwrapped(value: Any) -> Any:
    """Return narwhals' object in a delegate; in lists, tuples and dicts too, but not deeper, so that values are not searched."""
    if isinstance(value, Delegate):
        return value._target
    if isinstance(value, dict):
        return {name: unwrapped(item) for name, item in value.items()} if _has(value.values(), (Delegate, list, tuple)) else value
    if isinstance(value, (list, tuple)) and _has(value, (Delegate, list, tuple)):
        return type(value)(item._target if isinstance(item, Delegate) else _unwrapped_list(item) for item in value)
    return value


def _unwrapped_list(value: Any) -> Any:
    if isinstance(value, (list, tuple)) and _has(value, (Delegate,)):
        return type(value)(item._target if isinstance(item, Delegate) else item for item in value)
    return value


def wrapped(value: Any) -> Any:
    """Return a delegate for an object of narwhals' for Arrow data, also in lists, tuples, dicts and iterators; return other values unchanged."""
    classes = arrow_classes()
    if isinstance(value, classes.frame):
        return FrameForNarwhals(arrow=value)
    if isinstance(value, classes.series):
        return SeriesForNarwhals(arrow=value)
    if isinstance(value, classes.namespace):
        return NamespaceForNarwhals(value)
    if isinstance(value, classes.others):
        return Delegate(value)
    if isinstance(value, Iterator):
        return map(wrapped, value)
    kinds = (classes.frame, classes.series)
    if isinstance(value, dict) and _has(value.values(), kinds):
        return {name: wrapped(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)) and _has(value, kinds):
        return type(value)(map(wrapped, value))
    return value


def _has(values: Any, kinds: tuple[Any, ...]) -> bool:
    return any(isinstance(value, kinds) for value in values)


def __narwhals_namespace__(version: Any) -> NamespaceForNarwhals:
    """Return the namespace for a version of narwhals' API. By this function, this module is what narwhals calls the native namespace of a frame."""
    # If only this module was imported, the classes SFrame and SArray are imported now: the package imports them when they are accessed.
    assert sys.modules["sframe_spark"].SFrame is ClassRegistry.frame
    return NamespaceForNarwhals(arrow_classes().namespace(version=version))


class NamespaceForNarwhals(Delegate):
    """Makes frames, columns and expressions: narwhals' namespace of a backend."""

    @property
    def _implementation(self) -> Any:
        return arrow_classes().unknown_implementation

    @property
    def _expr(self) -> Delegate:
        return Delegate(arrow_classes().expression)

    @property
    def _dataframe(self) -> Delegate:
        return Delegate(arrow_classes().frame)

    @property
    def _series(self) -> Delegate:
        return Delegate(arrow_classes().series)

    # Files are read by this package, and lazily; narwhals makes frames of ``scan_`` lazy itself.

    def read_csv(self, source: Any, *, separator: str = ",", **options: Any) -> FrameForNarwhals:
        """Return the rows of a CSV file; options are those of ``SFrame.read_csv``."""
        options.setdefault("verbose", False)
        return FrameForNarwhals(ClassRegistry.frame.read_csv(source, delimiter=separator, **options), version=self._version)

    def read_parquet(self, source: Any, **options: Any) -> FrameForNarwhals:
        """Return the rows of a Parquet file."""
        return FrameForNarwhals(ClassRegistry.frame.read_parquet(source, **options), version=self._version)

    scan_csv = read_csv
    scan_parquet = read_parquet

    @property
    def _version(self) -> Any:
        return self._target._version

    def from_native(self, data: Any, /) -> FrameForNarwhals | SeriesForNarwhals:
        """Return an SFrame or an SArray for narwhals."""
        if isinstance(data, ClassRegistry.frame):
            return FrameForNarwhals(data, version=self._version)
        return SeriesForNarwhals(data, version=self._version)


class FrameForNarwhals(Delegate):
    """A frame: the SFrame that was given, its rows as narwhals' frame of Arrow data, or both."""

    def __init__(self, native: SFrame | None = None, *, arrow: Any = None, version: Any = None) -> None:
        self._native, self._arrow = native, arrow
        self._version = version if arrow is None else arrow._version

    @property
    def _target(self) -> Any:
        if self._arrow is None:
            self._arrow = self._frame_of(_with_truths(self._given.to_arrow(), self._given._node.schema))
        return self._arrow

    @property
    def _given(self) -> SFrame:
        assert self._native is not None, "a frame without Arrow data was given by the user"
        return self._native

    def _frame_of(self, table: pa.Table) -> Any:
        return arrow_classes().frame(table, version=self._version, validate_column_names=True)

    @property
    def _native_frame(self) -> SFrame:
        if self._native is None:
            self._native = frame_of(self._arrow.native)
        return self._native

    @property
    def native(self) -> SFrame:
        """The rows as an SFrame."""
        return self._native_frame

    def __narwhals_dataframe__(self) -> Self:
        return self

    def __narwhals_lazyframe__(self) -> Self:
        return self

    def __narwhals_namespace__(self) -> NamespaceForNarwhals:
        return __narwhals_namespace__(self._version)

    def __native_namespace__(self) -> ModuleType:
        return sys.modules[__name__]

    @property
    def _implementation(self) -> Any:
        return arrow_classes().unknown_implementation

    def _with_version(self, version: Any) -> FrameForNarwhals:
        if self._arrow is None:
            return FrameForNarwhals(self._native, version=version)
        return FrameForNarwhals(self._native, arrow=self._arrow._with_version(version))

    def to_narwhals(self) -> Any:
        """Return the frame of narwhals that users see."""
        return self._version.dataframe(self, level="full")

    def lazy(self, backend: Any, **options: Any) -> Any:
        """Return a lazy frame of the rows, of this package or of another library."""
        return _lazy_class()(self.native, version=self._version) if backend is None else self._target.lazy(backend, **options)

    def collect(self, backend: Any, **options: Any) -> Any:
        """Return the frame itself, or that of another library."""
        return self if backend is None else self._target.collect(backend, **options)

    # What needs no rows.

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self._target.columns if self._native is None else self._native.column_names())

    @property
    def schema(self) -> Any:
        """Narwhals' types of the columns. Results of comparisons are Booleans, if no other rows were appended, which needs the rows."""
        if self._arrow is None and not any(column_type.is_logical for column_type in self._given._node.schema):
            return self.schema_without_rows()
        return self._target.schema

    def schema_without_rows(self) -> Any:
        """Return the types of the columns: results of comparisons are Booleans, whatever was appended."""
        node = self._native_frame._node
        schema = schema_of(forms_of(node), self._native_frame.column_names())
        for index, column_type in enumerate(node.schema):
            if column_type.is_logical:
                schema = schema.set(index, pa.field(schema.field(index).name, pa.bool_()))
        return self._frame_of(schema.empty_table()).schema

    def collect_schema(self) -> Any:
        """Return the types of the columns."""
        return self.schema

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and of columns."""
        return len(self), len(self.columns)

    def __len__(self) -> int:
        return len(self._target) if self._native is None else len(self._native)

    def simple_select(self, *names: str) -> FrameForNarwhals:
        """Return all rows, with some of the columns."""
        if self._arrow is None:
            return FrameForNarwhals(self._given[list(names)], version=self._version)
        return FrameForNarwhals(arrow=self._arrow.simple_select(*names))

    def head(self, n: int) -> FrameForNarwhals:
        """Return the first rows."""
        if self._arrow is None and n >= 0:
            return FrameForNarwhals(self._given.head(n), version=self._version)
        return FrameForNarwhals(arrow=self._target.head(n))

    def get_column(self, name: str) -> SeriesForNarwhals:
        """Return a column.

        Raises
        ------
        TypeError
            If the name is not a string; an SFrame gives other keys other meanings.
        """
        if not isinstance(name, str):
            raise TypeError(f"Expected str, got: {type(name)}")
        if self._arrow is None:
            return SeriesForNarwhals(self._given[name], name=name, version=self._version)
        return SeriesForNarwhals(arrow=self._arrow.get_column(name))

    # Special methods, which Python looks up on the class.

    def __getitem__(self, item: Any) -> Any:
        return wrapped(self._target[unwrapped(item)])

    def __array__(self, dtype: Any = None, *, copy: bool | None = None) -> Any:
        return self._target.__array__(dtype, copy=copy)


class SeriesForNarwhals(Delegate):
    """A column: the SArray that was given, its values as narwhals' series of Arrow data, or both."""

    def __init__(self, native: SArray | None = None, *, name: str = "", arrow: Any = None, version: Any = None) -> None:
        self._native, self._arrow = native, arrow
        self._version = version if arrow is None else arrow._version
        self.name = name if arrow is None else arrow.name

    @classmethod
    def from_iterable(cls, data: Any, *, context: Any, **options: Any) -> Any:
        """Return a column of values; narwhals calls this on the class of a column."""
        return wrapped(arrow_classes().series.from_iterable(unwrapped(data), context=unwrapped(context), **options))

    @property
    def _target(self) -> Any:
        if self._arrow is None:
            assert self._native is not None, "a column without Arrow data was given by the user"
            table = _with_truths(pa.table({self.name: self._native.to_arrow()}), self._native._node.schema)
            self._arrow = arrow_classes().series(table[0], name=self.name, version=self._version)
        return self._arrow

    @property
    def native(self) -> SArray:
        """The values as an SArray."""
        if self._native is None:
            self._native = frame_of(pa.table({"values": self._arrow.native}))["values"]
        return self._native

    def __narwhals_series__(self) -> Self:
        return self

    def __narwhals_namespace__(self) -> NamespaceForNarwhals:
        return __narwhals_namespace__(self._version)

    def __native_namespace__(self) -> ModuleType:
        return sys.modules[__name__]

    @property
    def _implementation(self) -> Any:
        return arrow_classes().unknown_implementation

    def _with_version(self, version: Any) -> SeriesForNarwhals:
        if self._arrow is None:
            return SeriesForNarwhals(self._native, name=self.name, version=version)
        return SeriesForNarwhals(self._native, arrow=self._arrow._with_version(version))

    def to_narwhals(self) -> Any:
        """Return the series of narwhals that users see."""
        return self._version.series(self, level="full")

    def __len__(self) -> int:
        return len(self._target) if self._native is None else len(self._native)


def _special(name: str) -> Callable[..., Any]:
    def method(self: SeriesForNarwhals, *arguments: Any, **options: Any) -> Any:
        return wrapped(getattr(self._target, name)(*unwrapped(arguments), **unwrapped(options)))

    return method


for _name in SPECIAL:
    setattr(SeriesForNarwhals, f"__{_name}__", _special(f"__{_name}__"))


def frame_of(table: pa.Table) -> SFrame:
    """Return an SFrame of what narwhals has computed. Booleans become results of comparisons, which are Booleans to numpy and narwhals."""
    frame = ClassRegistry.frame(table)
    for field in table.schema:
        if pa.types.is_boolean(field.type):
            # Not ``== 1``, which holds or not where a value is missing, too.
            frame[field.name] = frame[field.name] > 0
    return frame


def _with_truths(table: pa.Table, schema: tuple[ColumnType, ...]) -> pa.Table:
    """Return a table in which results of comparisons are Booleans. They stay ints if rows with other numbers were appended to them."""
    for index, column_type in enumerate(schema):
        numbers = table[index]
        if column_type.is_logical and pc.all(pc.is_in(numbers, pa.array([0, 1, None], numbers.type))).as_py() is not False:
            table = table.set_column(index, table.field(index).name, numbers.cast(pa.bool_()))
    return table
