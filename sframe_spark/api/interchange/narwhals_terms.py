"""Expressions of narwhals over a lazy frame as terms, and their columns: nothing is computed until the frame is.

A term is a column, a value, a function of terms, an aggregate, or one of these over a window. ``TermColumns`` gives a term the column of an SFrame,
and ``aggregated`` the frame of aggregates of groups. What a function of narwhals means, where SFrame has another meaning for its own, is here:
comparisons with a missing value are missing, and a column of Booleans is the result of a comparison.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import attrs
import pyarrow as pa
from narwhals.exceptions import InvalidOperationError

from sframe_spark.api import aggregate
from sframe_spark.api.class_registry import ClassRegistry, SArray, SFrame
from sframe_spark.errors import UnsupportedOperationError

_NUMBERS = (int, float)
# Of an aggregate over a window, rows before or after without an end.
_ALL = None


class Term:
    """An expression; Python's operators make terms of terms."""

    __hash__ = object.__hash__

    def __eq__(self, other: Any) -> Any:
        return call("eq", self, other)

    def __ne__(self, other: Any) -> Any:
        return call("ne", self, other)

    def __invert__(self) -> Term:
        return call("invert", self)

    def __neg__(self) -> Term:
        return call("neg", self)


def _operator(name: str) -> Callable[..., Term]:
    return lambda left, right: call(name, left, right)


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lt", "le", "gt", "ge", "and", "or"):
    setattr(Term, f"__{_name}__", _operator(_name))


@attrs.frozen(eq=False)
class ColumnTerm(Term):
    """A column of the frame."""

    name: str


@attrs.frozen(eq=False)
class ValueTerm(Term):
    """One value for all rows; with a class where it is missing."""

    value: Any
    kind: type | None = None


@attrs.frozen(eq=False)
class CallTerm(Term):
    """A function of the values in a row."""

    function: str
    arguments: tuple[Term, ...]
    options: tuple[Any, ...] = ()


@attrs.frozen(eq=False)
class AggregateTerm(Term):
    """An aggregate, or a function of rows in an order; ``order_by`` is for the first and last value."""

    function: str
    arguments: tuple[Term, ...] = ()
    options: tuple[Any, ...] = ()
    order_by: tuple[str, ...] = ()


@attrs.frozen(eq=False)
class WindowTerm(Term):
    """A term of aggregates over the rows with the same values of some terms, in an order; without bounds over all of these."""

    term: Term
    partition_by: tuple[Term, ...] = ()
    order_by: tuple[tuple[Term, bool, bool], ...] = ()
    rows_before: int | None = _ALL
    rows_after: int | None = _ALL


def term_of(value: Any) -> Term:
    """Return a term for a name of a column or a term."""
    return value if isinstance(value, Term) else ColumnTerm(value)


def call(function: str, *arguments: Any, options: tuple[Any, ...] = ()) -> CallTerm:
    """Return a function of terms and values."""
    return CallTerm(function, tuple(one if isinstance(one, Term) else ValueTerm(one) for one in arguments), options)


def in_order(names: Sequence[str | Term], descending: Sequence[bool] | bool = False, nulls_last: Sequence[bool] | bool = False) -> tuple[Any, ...]:
    """Return the order of a window: terms, whether each descends, and whether missing values come last."""
    flags = [[each] * len(names) if isinstance(each, bool) else list(each) for each in (descending, nulls_last)]
    return tuple(zip(map(term_of, names), *flags, strict=True))


# Columns of values.


def is_truth(column: SArray) -> bool:
    """Return whether a column has Booleans: the results of a comparison."""
    return column._node.schema[0].is_logical


def _missing(column: SArray) -> SArray:
    return column == None  # noqa: E711


def _with_missing(result: SArray, *columns: Any) -> SArray:
    """Return Booleans that are missing where one of the columns is."""
    missing = None
    for column in columns:
        if isinstance(column, ClassRegistry.array):
            missing = _missing(column) if missing is None else missing | _missing(column)
    return result if missing is None else ClassRegistry.array.where(missing, None, result) > 0


def _plain(value: Any) -> Any:
    """Return a value as columns have it: a date is a date-time."""
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return datetime.datetime.combine(value, datetime.time())
    return value


def constant(frame: SFrame, value: Any, kind: type | None = None) -> SArray:
    """Return a column of one value, as long as the frame: how long that is need not be known, as it would have to be for an assignment."""
    names = frame.column_names()
    if not names:
        raise UnsupportedOperationError("a frame without columns has no rows for a value")
    value = _plain(value)
    known = (kind or float) if value is None else type(value)
    missing = _missing(frame[names[0]])
    if isinstance(value, bool):
        return ClassRegistry.array.where(missing, int(value), int(value), int) > 0
    return ClassRegistry.array.where(missing, value, value, known)


def _power(base: Any, exponent: Any) -> Any:
    """Return a power; ints have whole powers, and SFrame's are floats."""
    if not isinstance(base, ClassRegistry.array) or base.dtype is not int:
        return base**exponent
    if isinstance(exponent, ClassRegistry.array):
        if exponent.dtype is int:
            raise UnsupportedOperationError("a lazy frame has no powers of ints that are ints of another column: cast one of them to Float64")
        return base**exponent
    if not isinstance(exponent, int) or exponent < 0:
        return base**exponent
    power, square = None, base
    while exponent:
        if exponent % 2:
            power = square if power is None else power * square
        square, exponent = square * square, exponent // 2
    return base * 0 + 1 if power is None else power


def _modulo(left: Any, right: Any) -> Any:
    if not isinstance(right, ClassRegistry.array):
        return left % right if right else _none_of(left)
    return ClassRegistry.array.where(right == 0, None, left % right)


def _none_of(column: SArray) -> SArray:
    return ClassRegistry.array.where(_missing(column), column, None)


def _compared(left: Any, right: Any, is_equal: bool) -> SArray:
    return _with_missing(left == right if is_equal else left != right, left, right)


def _chosen(condition: SArray, first: SArray, second: SArray) -> SArray:
    first, second, truth = _of_one_class(first, second)
    chosen = ClassRegistry.array.where(condition, first, second)
    return chosen > 0 if truth else chosen


def _of_one_class(first: SArray, second: SArray) -> tuple[SArray, SArray, bool]:
    """Return two columns of one class, and whether both have Booleans: ints become floats beside floats, missing values anything."""
    if first.dtype is not second.dtype:
        if {first.dtype, second.dtype} == {int, float}:
            first, second = first.astype(float), second.astype(float)
        else:
            raise TypeError(f"values of {first.dtype.__name__} and {second.dtype.__name__} are no values of one column: cast one of them")
    return first, second, is_truth(first) and is_truth(second)


def _round(column: SArray, digits: int) -> SArray:
    if column.dtype is int:
        return column
    factor = 10.0**digits
    # Halves away from zero, as narwhals has it of Arrow and Polars.
    rounded: SArray = (column.abs() * factor + 0.5).floor().astype(float) / factor
    return ClassRegistry.array.where(column < 0, -rounded, rounded)


def _cast(column: SArray, kind: type | str) -> SArray:
    if kind == "truth":
        if column.dtype not in _NUMBERS:
            raise UnsupportedOperationError(f"a lazy frame has no Booleans of {column.dtype.__name__}: compare the column")
        return _with_missing(column != 0, column)
    if kind is str and is_truth(column):
        texts = ClassRegistry.array.where(column, "true", "false")
        return ClassRegistry.array.where(_missing(column), None, texts)
    if kind is str and column.dtype is float:
        raise UnsupportedOperationError("a lazy frame writes no floats as texts as narwhals does: collect() it before")
    if kind == "datetime" and column.dtype is datetime.datetime:
        return column
    physical = column._node.schema[0].physical
    if kind == "list of ints" and pa.types.is_list(physical) and pa.types.is_integer(physical.value_type):
        return column
    if isinstance(kind, str):
        raise UnsupportedOperationError(f"a lazy frame makes no {kind} of {column.dtype.__name__}: collect() it before")
    return column.astype(kind)


def _isnan(column: SArray) -> SArray:
    if column.dtype not in _NUMBERS:
        raise InvalidOperationError(f"is_nan of {column.dtype.__name__}: only numbers are NaN or not")
    return _with_missing(column.isnan() if column.dtype is float else column != column, column)


def _shifted(column: SArray, duration: str, is_of_calendar: bool) -> SArray:
    if is_of_calendar and not pa.types.is_timestamp(column._node.schema[0].physical):
        raise UnsupportedOperationError("days and months of date-times with offsets have no fixed length: collect() the frame before")
    frame = ClassRegistry.frame()
    frame["time"] = column
    return frame.shift_time("time", duration)["time"]


def _timestamp(column: SArray, microseconds: int) -> SArray:
    whole = _FUNCTIONS["floor_time"](column, "1s").astype(int) * 1_000_000 + column.dt.microsecond
    return whole * 1000 if microseconds < 0 else whole // microseconds


def _duration(column: SArray, microseconds: int) -> SArray:
    whole = (column * 1_000_000.0).round(0).astype(int)
    if microseconds < 0:
        return whole * 1000
    # Towards zero, as narwhals has it.
    return ClassRegistry.array.where(whole < 0, -(-whole // microseconds), whole // microseconds)


def _extreme(is_greatest: bool) -> Callable[..., SArray]:
    def of(*columns: SArray) -> SArray:
        first = columns[0]
        for second in columns[1:]:
            first, second, _ = _of_one_class(first, second)
            better = (second > first) if is_greatest else (second < first)
            # A missing value leaves the other.
            first = _chosen(better | _missing(first), second, first)
        return first

    return of


def _coalesce(*columns: SArray) -> SArray:
    first = columns[0]
    for second in columns[1:]:
        first = _chosen(_missing(first), second, first)
    return first


def _is_in(column: SArray, values: tuple[Any, ...]) -> SArray:
    return _with_missing(column.is_in([one for one in values if one is not None]), column)


def _joined(*columns: SArray, separator: str, skip_missing: bool) -> SArray:
    texts = [_cast(one, str) if one.dtype is not str else one for one in columns]
    if not skip_missing:
        joined = texts[0]
        for one in texts[1:]:
            joined = joined + separator + one
        return joined
    joined = texts[0]
    for one in texts[1:]:
        both = joined + separator + one
        joined = ClassRegistry.array.where(_missing(joined), one, ClassRegistry.array.where(_missing(one), joined, both))
    return joined.fillna("")


def _mean_of(*columns: SArray) -> SArray:
    total, count = columns[0].fillna(0), _missing(columns[0]) == 0
    for one in columns[1:]:
        total, count = total + one.fillna(0), count + (_missing(one) == 0)
    return ClassRegistry.array.where(count == 0, None, total / count)


def _same_truths(column: SArray, result: SArray) -> SArray:
    return result > 0 if is_truth(column) and not is_truth(result) else result


# A function of columns each; values are columns here.
_FUNCTIONS: dict[str, Callable[..., SArray]] = {
    "add": lambda left, right: left + right,
    "sub": lambda left, right: left - right,
    "mul": lambda left, right: left * right,
    "truediv": lambda left, right: left / right,
    "floordiv": lambda left, right: left // right,
    "mod": _modulo,
    "pow": _power,
    "lt": lambda left, right: left < right,
    "le": lambda left, right: left <= right,
    "gt": lambda left, right: left > right,
    "ge": lambda left, right: left >= right,
    "eq": lambda left, right: _compared(left, right, True),
    "ne": lambda left, right: _compared(left, right, False),
    "and": lambda left, right: left & right,
    "or": lambda left, right: left | right,
    "invert": lambda column: ~column,
    "neg": lambda column: -column,
    "isnull": _missing,
    "isnotnull": lambda column: ~_missing(column),
    "isnan": _isnan,
    "isfinite": lambda column: _with_missing(column.isfinite() if column.dtype is float else column == column, column),
    "when": _chosen,
    "coalesce": _coalesce,
    "greatest": _extreme(True),
    "least": _extreme(False),
    "mean_of": _mean_of,
    "abs": lambda column: column.abs(),
    "floor": lambda column: column if column.dtype is int else column.floor().astype(float),
    "ceil": lambda column: column if column.dtype is int else column.ceil().astype(float),
    "sin": lambda column: column.sin(),
    "cos": lambda column: column.cos(),
    "sqrt": lambda column: column.sqrt(),
    "exp": lambda column: column.exp(),
    "log": lambda column: column.log(),
    "lower": lambda column: column.str.lower(),
    "upper": lambda column: column.str.upper(),
    "length": lambda column: column.str.length(),
    "title": lambda column: column.str.title(),
    "list_length": lambda column: column.item_length(),
    **{
        name: lambda column, name=name: getattr(column.dt, name)() if callable(getattr(column.dt, name)) else getattr(column.dt, name)
        for name in ("year", "month", "day", "hour", "minute", "second", "microsecond", "day_of_year", "isoweekday")
    },
    # Functions with options.
    "round": _round,
    "cast": _cast,
    "is_in": _is_in,
    "joined": lambda *arguments: _joined(*arguments[:-2], separator=arguments[-2], skip_missing=arguments[-1]),
    "contains": lambda column, pattern, literal: column.str.contains(pattern, regex=not literal) > 0,
    "startswith": lambda column, prefix: column.str.startswith(prefix) > 0,
    "endswith": lambda column, suffix: column.str.endswith(suffix) > 0,
    "replace": lambda column, old, new, count, literal: column.str.replace(old, new, count, regex=not literal),
    "slice": lambda column, start, stop: column.str.slice(start, stop),
    "split": lambda column, separator: column.str.split(separator),
    "strip": lambda column, characters: column.str.strip(characters),
    "lstrip": lambda column, characters: column.str.lstrip(characters),
    "rstrip": lambda column, characters: column.str.rstrip(characters),
    "zfill": lambda column, width: column.str.zfill(width),
    "pad": lambda column, width, side, fill: column.str.pad(width, side, fill),
    "strftime": lambda column, form: column.dt.strftime(form),
    "strptime": lambda column, form: column.str_to_datetime(form),
    "floor_time": lambda column, every: column.floor_time(every),
    "shift_time": _shifted,
    "timestamp": _timestamp,
    "duration": _duration,
}


# Functions of two columns, of which one may be a value.
_OPERATORS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lt", "le", "gt", "ge", "eq", "ne")


class TermColumns:
    """The columns of terms over the rows of a frame."""

    def __init__(self, frame: SFrame, known: Mapping[int, tuple[Term, SArray]] | None = None) -> None:
        self.frame = frame
        # Terms that several others hold have one column.
        self._columns: dict[int, tuple[Term, SArray]] = dict(known or {})

    def column(self, term: Term) -> SArray:
        """Return the column of a term."""
        found = self._columns.get(id(term))
        if found is None:
            found = self._columns[id(term)] = (term, self._made(term))
        return found[1]

    def _made(self, term: Term) -> SArray:
        match term:
            case ColumnTerm(name):
                return self.frame[name]
            case ValueTerm(value, kind):
                return constant(self.frame, value, kind)
            case CallTerm("when", (condition, chosen, other)):
                return self._with_missing_values("when", [self.column(condition)], chosen, other)
            case CallTerm("coalesce" | "greatest" | "least" as function, arguments):
                return self._with_missing_values(function, [], *arguments)
            case CallTerm(function, arguments, options) if function in _OPERATORS:
                return _FUNCTIONS[function](*self._operands(arguments), *options)
            case CallTerm(function, arguments, options):
                return _FUNCTIONS[function](*map(self.column, arguments), *options)
            case WindowTerm(inner):
                return self._windowed(inner, term)
            case AggregateTerm("rank"):
                return self._windowed(term, WindowTerm(term))
            case AggregateTerm(function):
                raise UnsupportedOperationError(f"{function} of all rows beside rows: write .over() of it")
        raise AssertionError(term)

    def mask(self, term: Term) -> SArray:
        """Return a column that is true in the rows where a term is; where it is missing, the column is false or missing."""
        match term:
            case CallTerm("and", (left, right)):
                return self.mask(left) & self.mask(right)
            case CallTerm("or", (left, right)):
                return self.mask(left) | self.mask(right)
            case CallTerm("eq", (left, ValueTerm(value))) if value is not None and not isinstance(left, ValueTerm):
                # Sources know what they can leave out.
                return self.column(left) == _plain(value)
        return self.column(term)

    def _operands(self, arguments: Sequence[Term]) -> list[Any]:
        """Return columns, and at most one value, which SFrame's operators take as it is."""
        are_values = [isinstance(one, ValueTerm) and one.value is not None and not isinstance(one.value, bool) for one in arguments]
        if sum(are_values) != 1:
            return [self.column(one) for one in arguments]
        return [
            _plain(one.value) if isinstance(one, ValueTerm) and is_value else self.column(one)
            for one, is_value in zip(arguments, are_values, strict=True)
        ]

    def _with_missing_values(self, function: str, given: list[SArray], *terms: Term) -> SArray:
        """Return a function of terms of one class: a missing value is of the class of the others, and Booleans stay Booleans."""
        kinds = [None if isinstance(one, ValueTerm) and one.value is None else self.column(one) for one in terms]
        known = next((one for one in kinds if one is not None), None)
        if known is None:
            return _FUNCTIONS[function](*given, *map(self.column, terms))
        columns = []
        for one in kinds:
            if one is None:
                one = constant(self.frame, None, known.dtype)
                one = one > 0 if is_truth(known) else one
            columns.append(one)
        return _FUNCTIONS[function](*given, *columns)

    # Windows.

    def _windowed(self, term: Term, window: WindowTerm) -> SArray:
        """Return a term over a window: its aggregates are added to the rows, each over its window, and what is left is a function of rows."""
        if isinstance(term, CallTerm):
            parts = tuple(WindowTerm(one, window.partition_by, window.order_by, window.rows_before, window.rows_after) for one in term.arguments)
            return self.column(CallTerm(term.function, parts, term.options))
        if not isinstance(term, AggregateTerm):
            return self.column(term)
        frame = ClassRegistry.frame()
        keys = [f"key{index}" for index, one in enumerate(window.partition_by) if not isinstance(one, ValueTerm)]
        for name, key in zip(keys, (one for one in window.partition_by if not isinstance(one, ValueTerm)), strict=True):
            frame[name] = self.column(key)
        frame["row"] = self.numbers()
        arguments = [self.column(one) for one in term.arguments]
        order = []
        for index, (key, descending, nulls_last) in enumerate(window.order_by):
            frame[f"order{index}"] = column = self.column(key)
            if nulls_last is not descending:
                frame[f"missing{index}"] = _missing(column)
                order.append((f"missing{index}", nulls_last))
            order.append((f"order{index}", not descending))
        aggregated = _Aggregated(self, term, arguments)
        for name, column in aggregated.columns.items():
            frame[name] = column
        if order:
            frame = frame.sort(order)
        result = self._over(frame, term, aggregated, keys, window)
        if order:
            back = ClassRegistry.frame()
            back["row"] = frame["row"]
            back["result"] = result
            result = back.sort("row")["result"]
        return _same_truths(aggregated.like, result) if aggregated.like is not None else result

    def numbers(self) -> SArray:
        """Return the numbers of the rows."""
        return self.frame.add_row_number(_FREE)[_FREE]

    def _over(self, frame: SFrame, term: AggregateTerm, aggregated: _Aggregated, keys: list[str], window: WindowTerm) -> Any:
        by = keys or None
        match term.function:
            case "lag":
                return frame.shift("value0", term.options[0], by=by)
            case "fill":
                direction, limit = term.options
                fill = frame.fill_forward if direction == "forward" else frame.fill_backward
                return fill("value0", by=by, limit=limit)
            case "rank":
                method, descending = term.options
                ranks = frame.rank("value0", by=by, method=method, ascending=not descending)
                return ranks if method == "average" else ranks.astype(int)
        bounds = ["all" if rows is _ALL else rows for rows in (window.rows_before, window.rows_after)]
        requests = aggregated.requests
        return aggregated.finish(frame.window(None, requests, before=bounds[0], after=bounds[1], by=by))


_FREE = "narwhals value"


class _Aggregated:
    """An aggregate of columns: what is added to the rows for it, which aggregates are asked for, and what is made of these."""

    def __init__(self, rows: TermColumns, term: AggregateTerm, arguments: list[SArray], prefix: str = "") -> None:
        self.columns = {f"{prefix}value{index}": column for index, column in enumerate(arguments)}
        self.like: SArray | None = None
        self._name = name = f"{prefix}result"
        self._count: str | None = None
        self._positive = False
        self._of_none: int | None = {"sum": 0, "count": 0, "len": 0, "n_unique": 0, "all": 1, "any": 0, "product": 1}.get(term.function)
        function, value = term.function, f"{prefix}value0"
        match function:
            case "sum" | "mean" | "median" | "product" | "skewness" | "kurtosis":
                request = _REQUESTS[function](value, *term.options)
            case "corr" | "cov":
                request = _REQUESTS[function](value, f"{prefix}value1", *term.options)
            case "var" | "std":
                request = _REQUESTS[function](value, *term.options)
                if term.options[0] == 0:
                    # Of no values there is none; SFrame has zero.
                    self._count = f"{prefix}count"
                    self.columns[f"{prefix}known"] = _missing(arguments[0]) == 0
            case "quantile":
                request = aggregate.QUANTILE(value, term.options[0], interpolate=term.options[1])
            case "count":
                self.columns[value] = _missing(arguments[0]) == 0
                request = aggregate.SUM(value)
            case "len" | "row_number":
                request = aggregate.COUNT()
            case "n_unique":
                request = aggregate.COUNT_DISTINCT(value)
            case "all" | "any":
                # Of no values all are true, and none is.
                self.columns[value] = arguments[0].fillna(int(function == "all"))
                request = aggregate.MIN(value) if function == "all" else aggregate.MAX(value)
                self._positive = True
            case "min" | "max" if arguments[0].dtype is not str:
                request = aggregate.MIN(value) if function == "min" else aggregate.MAX(value)
                self.like = arguments[0]
            case "min" | "max":
                ranks = ClassRegistry.frame()
                ranks["value"] = arguments[0]
                self.columns[f"{prefix}order"] = ranks.rank("value", method="min", ascending=function == "min")
                request = aggregate.FIRST(value, by=f"{prefix}order", skip_missing=True)
            case "first" | "last":
                skip_missing = bool(term.options and term.options[0])
                by = None
                if term.order_by:
                    # Of the last, the missing ones come last too.
                    order = in_order(term.order_by)
                    by = f"{prefix}order"
                    self.columns[by] = rows.column(WindowTerm(AggregateTerm("row_number"), (), order, _ALL, 0))
                take = aggregate.FIRST if function == "first" else aggregate.LAST
                request = take(value, by=by, skip_missing=skip_missing)
                self.like = arguments[0]
            case "lag" | "fill":
                self.like, request = arguments[0], None
            case "rank":
                request = None
            case _:
                raise AssertionError(function)
        self.requests = {} if request is None else {name: request}
        if self._count is not None:
            self.requests[self._count] = aggregate.SUM(f"{prefix}known")

    def finish(self, frame: SFrame) -> SArray:
        """Return the aggregate among the columns that were asked for."""
        result: SArray = frame[self._name]
        if self._of_none is not None:
            result = result.fillna(self._of_none)
        if self._count is not None:
            result = ClassRegistry.array.where(frame[self._count] == 0, None, result)
        if self._positive:
            result = result > 0
        return _same_truths(self.like, result) if self.like is not None else result


_REQUESTS: dict[str, Callable[..., Any]] = {
    "sum": aggregate.SUM,
    "mean": aggregate.MEAN,
    "median": aggregate.MEDIAN,
    "product": aggregate.PRODUCT,
    "skewness": aggregate.SKEWNESS,
    "kurtosis": aggregate.KURTOSIS,
    "var": aggregate.VAR,
    "std": aggregate.STD,
    "corr": aggregate.CORRELATION,
    "cov": aggregate.COVARIANCE,
}


# Groups.


def aggregated(frame: SFrame, keys: Sequence[str], terms: Sequence[tuple[str, Term]]) -> SFrame:
    """Return a row for each distinct row of the keys, or one row without keys: the keys, and terms of aggregates."""
    rows, given = TermColumns(frame), ClassRegistry.frame()
    renamed = {key: f"key{index}" for index, key in enumerate(keys)}
    for key, name in renamed.items():
        given[name] = frame[key]
    leaves = {id(leaf): leaf for _, term in terms for leaf in _aggregates(term)}
    found: dict[int, _Aggregated] = {}
    requests: dict[str, Any] = {}
    for number, (identity, leaf) in enumerate(leaves.items()):
        one = found[identity] = _Aggregated(rows, leaf, [rows.column(argument) for argument in leaf.arguments], f"{number} ")
        for name, column in one.columns.items():
            given[name] = column
        requests |= one.requests
    if not given.column_names():
        # Only values, or the number of rows.
        given["row"] = rows.numbers()
    groups = given.groupby(list(renamed.values()), requests or {"rows": aggregate.COUNT()})
    if not keys:
        # Of no rows there is one row of aggregates too.
        groups["all"] = constant(groups, 0)
        groups = ClassRegistry.frame({"all": [0]}).join(groups, on="all", how="left")
    result = ClassRegistry.frame()
    for key, name in renamed.items():
        result[key] = _same_truths(frame[key], groups[name])
    of_groups = TermColumns(groups, {identity: (leaf, found[identity].finish(groups)) for identity, leaf in leaves.items()})
    for name, term in terms:
        result[name] = of_groups.column(term)
    return result


def _aggregates(term: Term) -> Iterator[AggregateTerm]:
    if isinstance(term, AggregateTerm):
        yield term
    elif isinstance(term, CallTerm):
        for argument in term.arguments:
            yield from _aggregates(argument)
