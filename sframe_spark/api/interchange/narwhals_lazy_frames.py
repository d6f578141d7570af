"""Lazy frames for narwhals: what a library asks of one becomes a step of the SFrame's own query, and ``collect`` computes it.

Narwhals' classes for engines of SQL write most expressions in terms of a few functions, windows and aggregates; those of this module give these as
terms (``narwhals_terms``). What no term can say is refused by narwhals, with its name. Imported only when a frame is made lazy.
"""

from __future__ import annotations

import datetime
import functools
import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from types import ModuleType
from typing import Any, ClassVar, Self

from narwhals._compliant import CompliantSelector, LazySelectorNamespace
from narwhals._compliant.namespace import AlignDiagonal
from narwhals._expression_parsing import combine_alias_output_names, combine_evaluate_output_names
from narwhals._sql.dataframe import SQLLazyFrame
from narwhals._sql.expr import SQLExpr
from narwhals._sql.group_by import SQLGroupBy
from narwhals._sql.namespace import SQLNamespace
from narwhals._utils import NO_DEFAULT, Implementation, check_column_names_are_unique, check_columns_exist, not_implemented, parse_columns_to_drop

from sframe_spark.api.class_registry import ClassRegistry, SFrame
from sframe_spark.api.interchange.narwhals_lazy_functions import ListsForNarwhals, TextsForNarwhals, TimesForNarwhals, class_of
from sframe_spark.api.interchange.narwhals_terms import (
    AggregateTerm,
    ColumnTerm,
    Term,
    TermColumns,
    ValueTerm,
    WindowTerm,
    aggregated,
    call,
    constant,
    in_order,
    term_of,
)
from sframe_spark.errors import UnsupportedOperationError

# Names of narwhals' functions of SQL, where ours have another.
_FUNCTIONS = {
    "add": "add",
    "subtract": "sub",
    "multiply": "mul",
    "divide": "truediv",
    "dayofyear": "day_of_year",
    "starts_with": "startswith",
    "ends_with": "endswith",
}
_AGGREGATES = {
    **{name: (name, ()) for name in ("sum", "max", "min", "product", "mean", "median", "count", "row_number")},
    **{f"{sql}_{kind}": (name, (ddof,)) for sql, name in (("var", "var"), ("stddev", "std")) for kind, ddof in (("pop", 0), ("samp", 1))},
}


class LazyFrameForNarwhals(SQLLazyFrame):
    """A lazy frame: an SFrame whose query grows by what narwhals asks."""

    _implementation = Implementation.UNKNOWN
    # The class of eager frames, which makes lazy ones.
    eager: ClassVar[Any]

    def __init__(self, native: SFrame, *, version: Any) -> None:
        self._native_frame, self._version = native, version
        self._schema: dict[str, Any] | None = None

    @staticmethod
    def _is_native(obj: Any) -> bool:
        return isinstance(obj, ClassRegistry.frame)

    @classmethod
    def from_native(cls, data: SFrame, /, *, context: Any) -> Self:
        return cls(data, version=context._version)

    def to_narwhals(self) -> Any:
        """Return the lazy frame of narwhals that users see."""
        return self._version.lazyframe(self, level="lazy")

    def __narwhals_lazyframe__(self) -> Self:
        return self

    def __native_namespace__(self) -> ModuleType:
        return sys.modules[self.eager.__module__]

    def __narwhals_namespace__(self) -> LazyNamespaceForNarwhals:
        return LazyNamespaceForNarwhals(version=self._version)

    def _with_version(self, version: Any) -> Self:
        return type(self)(self.native, version=version)

    def _with_native(self, frame: SFrame) -> Self:
        return type(self)(frame, version=self._version)

    def _iter_columns(self) -> Iterator[Term]:
        return map(ColumnTerm, self.columns)

    def lazy(self, backend: Any = None, **options: Any) -> Any:
        """Return the frame itself, or that of another library."""
        return self if backend is None else self.collect(None).lazy(backend, **options)

    def collect(self, backend: Any, **options: Any) -> Any:
        """Return the rows as an eager frame of this package, or of another library."""
        frame = self.eager(self.native, version=self._version)
        return frame if backend is None else frame.collect(backend, **options)

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self.native.column_names())

    @property
    def schema(self) -> dict[str, Any]:
        """Narwhals' types of the columns."""
        if self._schema is None:
            self._schema = dict(self.collect(None).schema_without_rows())
        return self._schema

    def collect_schema(self) -> dict[str, Any]:
        """Return the types of the columns."""
        return self.schema

    def _named(self, expressions: Iterable[Any]) -> list[tuple[str, Term]]:
        named: list[tuple[str, Term]] = []
        for expression in expressions:
            names = expression._evaluate_output_names(self)
            if expression._alias_output_names is not None:
                names = expression._alias_output_names(names)
            named.extend(zip(names, expression(self), strict=True))
        check_column_names_are_unique([name for name, _ in named])
        return named

    # Columns.

    def simple_select(self, *names: str) -> Self:
        """Return all rows, with some of the columns."""
        if error := self._check_columns_exist(names):
            raise error
        check_column_names_are_unique(list(names))
        return self._with_native(self.native[list(names)])

    def select(self, *expressions: Any) -> Self:
        """Return a row for each row, with columns of expressions."""
        return self._with_native(self._with_columns(ClassRegistry.frame(), expressions))

    def with_columns(self, *expressions: Any) -> Self:
        """Return all rows and columns, and columns of expressions."""
        return self._with_native(self._with_columns(self.native.copy(), expressions))

    def _with_columns(self, result: SFrame, expressions: Iterable[Any]) -> SFrame:
        rows = TermColumns(self.native)
        for name, term in self._named(expressions):
            result[name] = rows.column(term)
        return result

    def aggregate(self, *expressions: Any) -> Self:
        """Return one row of aggregates and values."""
        return self._with_native(aggregated(self.native, [], self._named(expressions)))

    def group_by(self, keys: Any, *, drop_null_keys: bool) -> GroupsForNarwhals:
        """Return the groups of rows with equal keys."""
        return GroupsForNarwhals(self, keys, drop_null_keys=drop_null_keys)

    def drop(self, columns: Sequence[str], *, strict: bool) -> Self:
        """Return all rows, without some of the columns."""
        dropped = parse_columns_to_drop(self, columns, strict=strict)
        return self._with_native(self.native[[name for name in self.columns if name not in dropped]])

    def rename(self, mapping: Mapping[str, str]) -> Self:
        """Return all rows, with other names of columns."""
        names = [mapping.get(name, name) for name in self.columns]
        check_column_names_are_unique(names)
        result = ClassRegistry.frame()
        for old, new in zip(self.columns, names, strict=True):
            result[new] = self.native[old]
        return self._with_native(result)

    def with_row_index(self, name: str, order_by: Sequence[str]) -> Self:
        """Return all rows with their numbers in an order, as the first column."""
        if not order_by:
            return self._with_native(self.native.add_row_number(name))
        result = ClassRegistry.frame()
        number = WindowTerm(AggregateTerm("row_number"), (), in_order(order_by), None, 0)
        result[name] = TermColumns(self.native).column(call("sub", number, 1))
        return self._with_native(result.add_columns(self.native))

    # Rows.

    def head(self, n: int) -> Self:
        """Return the first rows."""
        return self._with_native(self.native.head(n))

    def tail(self, n: int) -> Self:
        """Return the last rows."""
        return self._with_native(self.native.tail(n))

    def _filter(self, predicate: Any) -> Self:
        return self._with_native(self.native[TermColumns(self.native).mask(predicate(self)[0])])

    def drop_nulls(self, subset: Sequence[str] | None) -> Self:
        """Return the rows without missing values in some columns; NaN is none."""
        missing: list[Any] = [call("isnull", ColumnTerm(name)) for name in (self.columns if subset is None else subset)]
        if not missing:
            return self
        if error := self._check_columns_exist(subset or []):
            raise error
        known = ~functools.reduce(operator.or_, missing)
        return self._with_native(self.native[TermColumns(self.native).column(known)])

    def sort(self, *by: str, descending: bool | Sequence[bool], nulls_last: bool) -> Self:
        """Return the rows in the order of some columns."""
        return self._with_native(_sorted(self.native, by, descending, nulls_last))

    def top_k(self, k: int, *, by: Iterable[str], reverse: bool | Sequence[bool]) -> Self:
        """Return the first rows in a descending order."""
        names = list(by)
        descending = not reverse if isinstance(reverse, bool) else [not one for one in reverse]
        return self._with_native(_sorted(self.native, names, descending, True).head(k))

    def unique(self, subset: Sequence[str] | None, *, keep: str, order_by: Sequence[str] | None) -> Self:
        """Return one row for each distinct row of some columns, or only the rows that are alone."""
        names = list(subset or self.columns)
        if error := self._check_columns_exist(names):
            raise error
        parts = tuple(map(ColumnTerm, names))
        if keep == "none":
            number: Any = WindowTerm(AggregateTerm("len"), parts)
        else:
            is_last = keep == "last"
            number = WindowTerm(AggregateTerm("row_number"), parts, in_order(list(order_by or ()), is_last, is_last), None, 0)
        return self._with_native(self.native[TermColumns(self.native).column(number == 1)])

    def explode(self, columns: Sequence[str], *, empty_as_null: bool = True, keep_nulls: bool = True) -> Self:
        """Return a row for each item of the lists of a column."""
        name = self._validate_explode_columns(columns)
        native = self.native
        lengths = native[name].item_length()
        if not empty_as_null:
            native = native[(lengths == None) | (lengths > 0)]  # noqa: E711
        if not keep_nulls:
            native = native.dropna(name)
        return self._with_native(native.stack(name, name)[self.columns])

    def unpivot(self, on: Sequence[str] | None, index: Sequence[str] | None, variable_name: str, value_name: str) -> Self:
        """Return a row for each row and each of some columns: its name and its value."""
        kept = list(index or ())
        names = [name for name in self.columns if name not in kept] if on is None else list(on)
        result = None
        kinds = {self.native[name].dtype for name in names}
        kind = float if kinds == {int, float} else None
        for name in names:
            rows = self.native[kept] if kept else ClassRegistry.frame()
            column = self.native[name]
            rows[value_name] = column if kind is None else column.astype(kind)
            rows[variable_name] = constant(rows, name)
            rows = rows[list(dict.fromkeys([*kept, variable_name, value_name]))]
            result = rows if result is None else result.append(rows)
        if result is None:
            raise UnsupportedOperationError("unpivot of no columns")
        return self._with_native(result)

    # Two frames.

    def join(self, other: Self, *, how: str, left_on: Sequence[str] | None, right_on: Sequence[str] | None, suffix: str) -> Self:
        """Return the rows of two frames where their keys are equal; missing keys have no match."""
        left, right = self.native, other.native
        if how == "cross":
            joined = _joined(left, right, [], [], "inner", suffix)
        else:
            left_keys, right_keys = list(left_on or ()), list(right_on or ())
            joined = _joined(left, right, left_keys, right_keys, how, suffix)
        return self._with_native(joined)

    def join_asof(
        self,
        other: Self,
        *,
        left_on: str,
        right_on: str,
        by_left: Sequence[str] | None,
        by_right: Sequence[str] | None,
        strategy: str,
        suffix: str,
    ) -> Self:
        """Return each row with the row of the other frame whose key is near."""
        right = other.native
        taken = [right_on, *(by_right or ())]
        renamed = {name: f"{name}{suffix}" for name in right.column_names() if name in self.columns and name not in taken}
        right = _renamed(right, renamed)
        by = dict(zip(by_left, by_right, strict=True)) if by_left and by_right else None
        joined = self.native.asof_join(right, left_on=left_on, right_on=right_on, by=by, direction=strategy)
        return self._with_native(joined)

    def sink_parquet(self, file: Any) -> None:
        """Write the rows to a Parquet file."""
        if isinstance(file, BytesIO):
            raise UnsupportedOperationError("lazy frames are written to files by name: collect() it, and write that")
        self.native.write_parquet(file)


def _sorted(frame: SFrame, by: Sequence[str], descending: bool | Sequence[bool], nulls_last: bool) -> SFrame:
    names = frame.column_names()
    if error := check_columns_exist(list(by), available=names):
        raise error
    order, sorted_ = [], frame.copy()
    for term, is_descending, missing_last in in_order(list(by), descending, nulls_last):
        if missing_last is not is_descending:
            sorted_[f"{term.name} is missing"] = frame[term.name] == None  # noqa: E711
            order.append((f"{term.name} is missing", missing_last))
        order.append((term.name, not is_descending))
    return sorted_.sort(order)[names]


def _renamed(frame: SFrame, names: Mapping[str, str]) -> SFrame:
    result = ClassRegistry.frame()
    for name in frame.column_names():
        result[names.get(name, name)] = frame[name]
    return result


def _joined(left: SFrame, right: SFrame, left_keys: list[str], right_keys: list[str], how: Any, suffix: str) -> SFrame:
    """Return the rows of two frames as narwhals joins them, by SFrame's join, to which missing keys are equal."""
    left_names, right_names = left.column_names(), right.column_names()
    for keys, names in ((left_keys, left_names), (right_keys, right_names)):
        if error := check_columns_exist(keys, available=names):
            raise error
    on = {f"left key {index}": f"right key {index}" for index in range(len(left_keys))} or {"left key": "right key"}
    left, right = left.copy(), right.copy()
    for side, keys, key_names in ((left, left_keys, on), (right, right_keys, on.values())):
        for index, name in enumerate(key_names):
            # A cross join has one key for all rows.
            side[name] = side[keys[index]] if keys else constant(side, 0)
    if how in ("semi", "anti"):
        known = right[list(on.values())].dropna().unique()
        known["is there"] = constant(known, 1)
        found = left.join(known, on=on, how="left")
        is_there = found["is there"] == 1
        return found[is_there if how == "semi" else ~is_there][left_names]
    kept = right_names if how == "full" else [name for name in right_names if name not in right_keys]
    taken = {name: f"{name}{suffix}" if name in left_names else name for name in kept}
    check_column_names_are_unique([*left_names, *taken.values()])
    chosen = right[list(on.values())]
    for name, new in taken.items():
        chosen[f"right {new}"] = right[name]
    unmatched = None
    if left_keys:
        complete = chosen.dropna(list(on.values()))
        if how == "full":
            missing = [chosen[name] == None for name in on.values()]  # noqa: E711
            unmatched = chosen[functools.reduce(operator.or_, missing)]
        chosen = complete
    joined = left.join(chosen, on=on, how="outer" if how == "full" else how)
    result = ClassRegistry.frame()
    for name in left_names:
        result[name] = joined[name]
    for new in taken.values():
        result[new] = joined[f"right {new}"]
    if unmatched is None:
        return result
    rest = ClassRegistry.frame()
    for new in taken.values():
        rest[new] = unmatched[f"right {new}"]
    for name in left_names:
        rest[name] = constant(rest, None, left[name].dtype)
    return result.append(rest[result.column_names()])


class GroupsForNarwhals(SQLGroupBy):
    """Groups of rows with equal keys."""

    def __init__(self, frame: LazyFrameForNarwhals, keys: Any, /, *, drop_null_keys: bool) -> None:
        given, self._keys, self._output_key_names = self._parse_keys(frame, keys=keys)
        self._compliant_frame = given.drop_nulls(self._keys) if drop_null_keys else given

    def agg(self, *expressions: Any) -> LazyFrameForNarwhals:
        """Return a row for each group: its keys, and aggregates."""
        named = [(one.name, one.term) for one in self._evaluate_exprs(expressions)]
        check_column_names_are_unique([*self._output_key_names, *(name for name, _ in named)])
        grouped = aggregated(self.compliant.native, self._keys, named)
        names = dict(zip(self._keys, self._output_key_names, strict=True))
        return self.compliant._with_native(_renamed(grouped, names))


class NamedTerm:
    """A term and the name of its column."""

    def __init__(self, term: Term, name: str) -> None:
        self.term, self.name = term, name


class LazyExpressionForNarwhals(SQLExpr):
    """An expression over the columns of a lazy frame."""

    _implementation = Implementation.UNKNOWN

    def __init__(
        self,
        call: Callable[[Any], Sequence[Term]],
        window_function: Any = None,
        *,
        evaluate_output_names: Any,
        alias_output_names: Any,
        version: Any,
        implementation: Any = Implementation.UNKNOWN,
    ) -> None:
        self._call, self._window_function, self._version = call, window_function, version
        self._evaluate_output_names, self._alias_output_names = evaluate_output_names, alias_output_names

    def __narwhals_namespace__(self) -> LazyNamespaceForNarwhals:
        return LazyNamespaceForNarwhals(version=self._version)

    def broadcast(self) -> Self:
        """Return the expression for all rows."""
        return self.over([ValueTerm(1)], [])

    @classmethod
    def from_column_names(cls, evaluate_column_names: Any, /, *, context: Any) -> Self:
        def columns(frame: LazyFrameForNarwhals) -> list[Term]:
            names = list(evaluate_column_names(frame))
            if error := check_columns_exist(names, available=frame.columns):
                raise error
            return [ColumnTerm(name) for name in names]

        return cls(columns, evaluate_output_names=evaluate_column_names, alias_output_names=None, version=context._version)

    @classmethod
    def from_column_indices(cls, *column_indices: int, context: Any) -> Self:
        return cls(
            lambda frame: [ColumnTerm(frame.columns[index]) for index in column_indices],
            evaluate_output_names=cls._eval_names_indices(column_indices),
            alias_output_names=None,
            version=context._version,
        )

    @classmethod
    def _alias_native(cls, term: Term, name: str, /) -> NamedTerm:
        return NamedTerm(term, name)

    def _window_expression(
        self,
        expr: Term,
        partition_by: Sequence[Any] = (),
        order_by: Sequence[Any] = (),
        rows_start: int | None = None,
        rows_end: int | None = None,
        *,
        descending: Sequence[bool] | None = None,
        nulls_last: Sequence[bool] | None = None,
    ) -> Term:
        if isinstance(expr, ValueTerm):
            return expr
        order = in_order(list(order_by), descending or False, nulls_last or False)
        if isinstance(expr, AggregateTerm) and expr.function == "row_number":
            rows_end = 0
        before = None if rows_start is None else -rows_start
        return WindowTerm(expr, tuple(map(term_of, partition_by)), order, before, rows_end)

    def _count_star(self) -> Term:
        return AggregateTerm("len")

    def _first(self, expr: Term, *order_by: str) -> Term:
        return AggregateTerm("first", (expr,), (), order_by)

    def _last(self, expr: Term, *order_by: str) -> Term:
        return AggregateTerm("last", (expr,), (), order_by)

    def _any_value(self, expr: Term, *, ignore_nulls: bool) -> Term:
        return AggregateTerm("first", (expr,), (ignore_nulls,))

    def _aggregate(self, function: str, *options: Any) -> Self:
        return self._with_callable(lambda expr: AggregateTerm(function, (expr,), options))

    def _function_of_rows(self, function: str, *options: Any) -> Self:
        return self._with_elementwise(lambda expr: call(function, expr, options=options))

    # Operators.

    def __mod__(self, other: Self) -> Self:
        return self._with_binary(lambda expr, other: expr % other, other)

    def __rmod__(self, other: Self) -> Self:
        return self._with_binary(lambda expr, other: other % expr, other).alias("literal")

    def __invert__(self) -> Self:
        return self._function_of_rows("invert")

    def __neg__(self) -> Self:
        return self._function_of_rows("neg")

    # Aggregates. SFrame's sum of no values is 0, as narwhals' is.

    def sum(self) -> Self:
        return self._aggregate("sum")

    def all(self) -> Self:
        return self._aggregate("all")

    def any(self) -> Self:
        return self._aggregate("any")

    def std(self, *, ddof: int) -> Self:
        return self._aggregate("std", ddof)

    def var(self, *, ddof: int) -> Self:
        return self._aggregate("var", ddof)

    def n_unique(self) -> Self:
        return self._aggregate("n_unique")

    def len(self) -> Self:
        return self._with_callable(lambda expr: AggregateTerm("len"))

    def null_count(self) -> Self:
        return self._with_callable(lambda expr: AggregateTerm("sum", (call("isnull", expr),)))

    def skew(self) -> Self:
        return self._aggregate("skewness")

    def kurtosis(self) -> Self:
        return self._aggregate("kurtosis")

    def quantile(self, quantile: float, interpolation: str) -> Self:
        return self._aggregate("quantile", quantile, interpolation)

    # Functions of rows.

    def is_nan(self) -> Self:
        return self._function_of_rows("isnan")

    def is_finite(self) -> Self:
        return self._function_of_rows("isfinite")

    def is_in(self, other: Iterable[Any]) -> Self:
        return self._function_of_rows("is_in", tuple(other))

    def round(self, decimals: int) -> Self:
        return self._function_of_rows("round", decimals)

    def cast(self, dtype: Any) -> Self:
        return self._function_of_rows("cast", class_of(dtype, self._version))

    def fill_null(self, value: Self | None, strategy: Any, limit: int | None) -> Self:
        if strategy is None:
            return self._with_elementwise(lambda expr, value: call("coalesce", expr, value), expression_args={"value": value})

        def filled(frame: LazyFrameForNarwhals, inputs: Any) -> list[Term]:
            return [
                self._window_expression(AggregateTerm("fill", (expr,), (strategy, limit)), inputs.partition_by, inputs.order_by)
                for expr in self(frame)
            ]

        return self._with_window_function(filled)

    def rank(self, method: str, *, descending: bool) -> Self:
        names = {"ordinal": "first"}
        options = (names.get(method, method), descending)

        def ranked(frame: LazyFrameForNarwhals, inputs: Any) -> list[Term]:
            if inputs.order_by:
                raise UnsupportedOperationError("the rank of a column has its own order: leave out order_by")
            return [self._window_expression(AggregateTerm("rank", (expr,), options), inputs.partition_by) for expr in self(frame)]

        return self._with_callable(lambda expr: AggregateTerm("rank", (expr,), options), ranked)

    def replace_strict(self, default: Any, old: Sequence[Any], new: Sequence[Any], *, return_dtype: Any) -> Self:
        if default is NO_DEFAULT:
            raise UnsupportedOperationError("a lazy frame does not know whether a value is missing in the list: give a default")

        def replaced(expr: Term, default: Term) -> Term:
            for before, after in zip(reversed(list(old)), reversed(list(new)), strict=True):
                is_it = call("isnull", expr) if before is None else call("eq", expr, before)
                default = call("when", is_it, after, default)
            return default if return_dtype is None else call("cast", default, options=(class_of(return_dtype, self._version),))

        return self._with_elementwise(replaced, expression_args={"default": default})

    @property
    def str(self) -> TextsForNarwhals:
        """Functions of texts."""
        return TextsForNarwhals(self)

    @property
    def dt(self) -> TimesForNarwhals:
        """Functions of date-times."""
        return TimesForNarwhals(self)

    @property
    def list(self) -> ListsForNarwhals:
        """Functions of lists."""
        return ListsForNarwhals(self)

    mode = not_implemented()
    map = not_implemented()
    struct = not_implemented()


class SelectorsForNarwhals(LazySelectorNamespace):
    """Choices of columns by type or name."""

    @property
    def _selector(self) -> type[SelectorForNarwhals]:
        return SelectorForNarwhals


class SelectorForNarwhals(CompliantSelector, LazyExpressionForNarwhals):
    """A choice of columns."""

    _window_function = None

    def _to_expr(self) -> LazyExpressionForNarwhals:
        return LazyExpressionForNarwhals(
            self._call,
            evaluate_output_names=self._evaluate_output_names,
            alias_output_names=self._alias_output_names,
            version=self._version,
        )


class LazyNamespaceForNarwhals(SQLNamespace, AlignDiagonal):
    """Makes expressions over lazy frames."""

    _implementation = Implementation.UNKNOWN

    def __init__(self, *, version: Any) -> None:
        self._version = version

    @property
    def selectors(self) -> Any:
        """Choices of columns."""
        return SelectorsForNarwhals.from_namespace(self)

    @property
    def _expr(self) -> type[LazyExpressionForNarwhals]:
        return LazyExpressionForNarwhals

    @property
    def _lazyframe(self) -> type[LazyFrameForNarwhals]:
        return LazyFrameForNarwhals

    def _function(self, name: str, *arguments: Any) -> Term:
        if name in _AGGREGATES:
            function, options = _AGGREGATES[name]
            return AggregateTerm(function, arguments, options)
        if name == "lag":
            return AggregateTerm("lag", arguments[:1], arguments[1:] or (1,))
        return call(_FUNCTIONS.get(name, name), *arguments)

    def _lit(self, value: Any) -> Term:
        return ValueTerm(value)

    def _when(self, condition: Term, value: Term, otherwise: Term | None = None) -> Term:
        return call("when", condition, value, ValueTerm(None) if otherwise is None else otherwise)

    def _coalesce(self, *terms: Term) -> Term:
        return call("coalesce", *terms)

    def lit(self, value: Any, dtype: Any) -> LazyExpressionForNarwhals:
        """Return an expression of a value."""
        kind = None if dtype is None else class_of(dtype, self._version)
        if value is not None and not isinstance(value, (int, float, str, datetime.date)):
            raise UnsupportedOperationError(f"lazy frames take numbers, texts and date-times as values, not {type(value).__name__}")
        term: Term = ValueTerm(value, None if kind == "truth" else kind) if value is None else ValueTerm(value)
        if kind is not None and (value is not None or kind == "truth"):
            term = call("cast", ValueTerm(value, int), options=(kind,))
        return self._of_frame(lambda frame: [term], "literal")

    def len(self) -> LazyExpressionForNarwhals:
        """Return an expression of the number of rows."""
        return self._of_frame(lambda frame: [AggregateTerm("len")], "len")

    def _of_frame(self, made: Callable[[Any], Sequence[Term]], name: str) -> LazyExpressionForNarwhals:
        return self._expr(made, evaluate_output_names=lambda frame: [name], alias_output_names=None, version=self._version)

    def _of_two(self, function: str, a: Any, b: Any, *options: Any) -> LazyExpressionForNarwhals:
        def made(frame: LazyFrameForNarwhals) -> list[Term]:
            first, second = (frame._evaluate_single_output_expr(one) for one in (a, b))
            return [AggregateTerm(function, (first, second), options)]

        return self._expr(
            made,
            evaluate_output_names=combine_evaluate_output_names(a, b),
            alias_output_names=combine_alias_output_names(a, b),
            version=self._version,
        )

    def corr(self, a: Any, b: Any, *, method: str) -> LazyExpressionForNarwhals:
        """Return the correlation of two expressions."""
        if method != "pearson":
            raise UnsupportedOperationError("a lazy frame has the correlation of Pearson only")
        return self._of_two("corr", a, b)

    def cov(self, a: Any, b: Any, *, ddof: int) -> LazyExpressionForNarwhals:
        """Return the covariance of two expressions."""
        return self._of_two("cov", a, b, ddof)

    def concat_str(self, *exprs: Any, separator: str, ignore_nulls: bool) -> Any:
        """Return texts put together."""
        return self._expr._from_elementwise_horizontal_op(lambda terms: call("joined", *terms, options=(separator, ignore_nulls)), *exprs)

    def mean_horizontal(self, *exprs: Any) -> Any:
        """Return the mean of the values in each row."""
        return self._expr._from_elementwise_horizontal_op(lambda terms: call("mean_of", *terms), *exprs)

    def concat(self, items: Iterable[Any], *, how: str) -> LazyFrameForNarwhals:
        """Return the rows of all frames, one after the other."""
        frames = list(items)
        if how == "diagonal":
            frames = list(self.align_diagonal(frames))
        elif how != "vertical":
            raise UnsupportedOperationError(f"lazy frames are put together in rows, not {how}")
        result = frames[0].native
        for frame in frames[1:]:
            if frame.schema != frames[0].schema:
                raise TypeError("inputs should all have the same schema")
            result = result.append(frame.native)
        return frames[0]._with_native(result)

    struct = not_implemented()
    list = not_implemented()
