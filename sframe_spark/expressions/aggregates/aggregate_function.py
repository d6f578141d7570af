"""The class, definition and table of aggregate functions, and the computation of an aggregate from rows that Spark has collected."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.spark_columns import Column
from sframe_spark.errors import InvalidArgumentError, SchemaError, UnsupportedOperationError
from sframe_spark.expressions.aggregates.aggregates_of_windows import values_of_windows
from sframe_spark.expressions.aggregates.input_rows_and_windows import InputRows, RowWindows
from sframe_spark.expressions.aggregates.python_aggregates import Decomposition, ReduceFunction, of_all_values, of_parts
from sframe_spark.expressions.aggregates.state_columns import ColumnAggregate, entry_count
from sframe_spark.expressions.functions.scalar_function import FunctionTable, PackedFunctions
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.message_text import brief
from sframe_spark.planner.node import is_builtin
from sframe_spark.planner.spark_relation import SummedFloats
from sframe_spark.storage.manifest.column_statistics import ColumnStatistics
from sframe_spark.types import DATETIME_KIND, DICT_KIND, FLOAT, FLOAT_KIND, INT, LIST_KIND, STR, STR_KIND, ColumnType
from sframe_spark.values.python_to_arrow import encode_plain

with lazy_imports(globals()):
    from sframe_spark.compute.spark_columns import F, spark_type
    from sframe_spark.session.spark_versions import arrow_function
    from sframe_spark.udf.error_transport import error_transport
    from sframe_spark.udf.pickling import OnCopies, sent

# Aggregate functions, which compute one value from many rows, and their table.

Infer = Callable[[Sequence[ColumnType], tuple[Any, ...]], ColumnType]
ColumnBuilder = Callable[[Sequence[Column], Sequence[ColumnType], tuple[Any, ...], Column], Column]
Finish = Callable[[Column, Sequence[ColumnType], tuple[Any, ...]], Column]
OfColumns = Callable[[Sequence[ColumnType], Sequence[int], tuple[Any, ...]], ColumnAggregate]
OfSomeColumns = Callable[[Sequence[ColumnType], Sequence[int], tuple[Any, ...]], ColumnAggregate | None]
Recorded = Callable[[ColumnStatistics, ColumnType], Any]
# What statistics of a column do not tell.
UNRECORDED = object()


@attrs.frozen
class QueryProperties:
    """Properties of a Spark query on which its aggregates depend.

    Parameters
    ----------
    summed
        Which floats the query can sum. If there are other floats, it fails, and is built again for more floats.
    is_whole
        Whether the aggregates are over all rows, not over groups.
    """

    summed: SummedFloats = SummedFloats.EVERY
    is_whole: bool = False

    @property
    def has_every_number(self) -> bool:
        """Whether the query can sum all floats."""
        return self.summed is SummedFloats.EVERY


def the_only(names: Sequence[str]) -> Column:
    """Return the only column that Spark computed."""
    return F.col(names[0])


@attrs.frozen(eq=False)
class SeveralColumns:
    """An aggregate computed from several Spark aggregates.

    Parameters
    ----------
    columns
        The Spark aggregates. Equal SQL strings of several aggregates are computed once.
    finish
        Builds the value from the names of the columns that the last step computed.
    steps
        Successive selects: each maps column names to SQL strings over them.
    helpers
        Helper columns that the aggregates read, added by successive selects: SQL strings by column name.
    """

    columns: Sequence[Column | str]
    finish: Callable[[Sequence[str]], Column] = the_only
    steps: Sequence[Callable[[Sequence[str]], Sequence[str]]] = ()
    helpers: Sequence[Mapping[str, str]] = ()

    @property
    def is_plain(self) -> bool:
        """Whether the value is the only column that Spark computed."""
        return self.finish is the_only and not self.steps


Exact = Callable[[Sequence[str], Sequence[ColumnType], tuple[Any, ...], QueryProperties], SeveralColumns | None]


@attrs.frozen(eq=False)
class AggregateFunction:
    """A named function from the values of a group (in row order) to one value.

    Parameters
    ----------
    name
        Unique name; plans and JSON refer to the function by it.
    infer
        Result type from the types of the argument columns (there may be none, as for a count) and static parameters;
        raises an error of the same class as Turi Create for types that it refuses.
    column
        ``column(columns, types, parameters, order)``: a Spark aggregate expression (usable in ``groupBy().agg``) whose
        result, after ``finish``, has exactly the inferred physical type, under ANSI off, UTC, case-sensitive settings.
        ``order`` is one orderable column (a struct of the row key) that grows in row order; only order-sensitive
        aggregates may use it.
    of_columns
        ``of_columns(types, positions, parameters)``: the aggregate of the columns at some positions, as state columns from which every driver
        computes it.
    finish
        ``finish(column, types, parameters)``: applied to the aggregated column in a select after the aggregation;
        None: nothing to do.
    order_sensitive
        True when the result depends on the order of rows in the group.
    arguments
        Smallest and largest number of argument columns.
    exact
        ``exact(names, types, parameters, way)``: the aggregate of the named columns as several Spark aggregates, which are used
        instead of ``column`` and ``finish``. It returns None for types that do not need it.
    decomposition
        The author's functions of partial results, of which ``of_columns`` consists; usually None.
    skips_missing
        Whether rows in which the argument has no value make no difference.
    of_runs
        Name of the aggregate that gives the same value where equal values of the argument are adjacent; None if there is no simpler one.
    recorded
        ``recorded(facts, column_type)``: the value for a whole column of a saved frame, as statistics hold values, if they determine it, otherwise
        ``UNRECORDED``; None: they never do.
    of_first_row
        Whether the value is that of the argument in the first row.
    """

    name: str
    infer: Infer
    column: ColumnBuilder
    of_columns: OfColumns
    order_sensitive: bool = False
    finish: Finish | None = None
    decomposition: Decomposition | None = None
    arguments: tuple[int, int] = (1, 1)
    exact: Exact | None = None
    skips_missing: bool = False
    of_runs: str | None = None
    recorded: Recorded | None = None
    of_first_row: bool = False

    def in_spark(
        self, names: Sequence[str], types: Sequence[ColumnType], parameters: tuple[Any, ...], order: Column, way: QueryProperties
    ) -> SeveralColumns:
        """Return the Spark aggregates from which this aggregate of the named columns is computed, and the further steps."""
        result = None if self.exact is None else self.exact(names, types, parameters, way)
        if result is not None:
            return result
        columns, finish = [self.column([F.col(name) for name in names], types, parameters, order)], self.finish
        return SeveralColumns(columns) if finish is None else SeveralColumns(columns, lambda names: finish(F.col(names[0]), types, parameters))


def _receive(packed_functions: PackedFunctions) -> FunctionTable[AggregateFunction]:
    return AGGREGATES.received(packed_functions)


AGGREGATES: FunctionTable[AggregateFunction] = FunctionTable("aggregate", _receive)


def require(name: str, column_type: ColumnType, kinds: Sequence[str]) -> None:
    """Raise unless a column type has one of some kinds.

    Raises
    ------
    UnsupportedOperationError
        If the type has another kind.
    """
    if column_type.kind not in kinds:
        raise UnsupportedOperationError(f"{name} takes a column of {', '.join(kinds)}, not of {column_type.kind}{_remedy(column_type.kind, kinds)}")


def _remedy(kind: str, kinds: Sequence[str]) -> str:
    """Return how values of another kind become some that an aggregate takes, to end a message; an empty string where that depends on them."""
    if kind == STR_KIND:
        return (
            ": sort() orders texts, and astype(float) reads numbers from them"
            if DATETIME_KIND in kinds
            else ": astype(float) reads numbers from texts"
        )
    if kind == DATETIME_KIND and FLOAT_KIND in kinds:
        return ": astype(float) gives seconds since 1970, and astype(datetime.datetime) date-times again"
    return ": item_length() counts their items, stack() makes a row for each" if kind in (LIST_KIND, DICT_KIND) else ""


def define_aggregate(
    name: str,
    infer: Infer,
    reduce: ReduceFunction | None = None,
    *,
    parts: Decomposition | None = None,
    column: ColumnBuilder | None = None,
    finish: Finish | None = None,
    order_sensitive: bool = True,
    arguments: int | tuple[int, int] = 1,
    exact: Exact | None = None,
    of_columns: OfSomeColumns | None = None,
    skips_missing: bool = False,
    of_runs: str | None = None,
    recorded: Recorded | None = None,
    of_first_row: bool = False,
) -> AggregateFunction:
    """Define an aggregate function, computed from all values at once or from partial results, and add it to the table.

    Built-in aggregates and those of plug-ins are defined this way.

    Parameters
    ----------
    name
        Name in the table.
    infer
        ``infer(types, parameters)``: type of the result.
    reduce
        ``reduce(arrays, types, parameters)``: the value, as a Python object, for whole columns in row order; used where there are no ``parts``.
    parts
        How the value is computed from partial results. Ranges of rows are then aggregated in parallel, and running aggregates keep one per group.
    column, finish
        A Spark aggregate, and what is done with its column afterwards; see
        :class:`~sframe_spark.expressions.aggregates.aggregate_function.AggregateFunction`. None: the rows of each group are collected.
    exact
        Several Spark aggregates that are used instead of ``column`` and ``finish``.
    of_columns
        ``of_columns(types, positions, parameters)``: the aggregate as state columns, computed for all groups at once; it is used instead of
        ``reduce`` and ``parts``. It returns None for types for which there is no such form.
    order_sensitive
        Whether the value depends on the order of the rows.
    arguments
        Number of argument columns, or the smallest and the largest.
    skips_missing, of_runs, recorded, of_first_row
        What laws use; see :class:`~sframe_spark.expressions.aggregates.aggregate_function.AggregateFunction`.

    Raises
    ------
    InvalidArgumentError
        If the name is taken, there is neither ``reduce`` nor ``parts`` nor ``of_columns``, or only ``reduce`` for an aggregate of no columns.

    Examples
    --------
    >>> from sframe_spark.types import INT
    >>> function = define_aggregate("doctest_width", lambda types, parameters: INT, lambda arrays, types, parameters: len(arrays[0]))
    >>> window = RowWindows(np.array([0]), np.array([2]))
    >>> values_of_windows([function.of_columns([INT], [0], ())], InputRows([pa.array([1, None])], 2), window)[0].to_pylist()
    [2]
    """
    if reduce is None and parts is None and of_columns is None:
        raise InvalidArgumentError(f"the aggregate {name!r} has neither 'reduce' nor 'parts' nor 'of_columns': define one of them")
    description = f"the aggregate {name!r}"
    functions: list[Any] = [infer, reduce, of_columns, *([] if parts is None else [parts.lift, parts.finish])]
    is_built_in = all(is_builtin(part) for part in functions if part is not None)
    infer, recorded = sent(infer, description), None if recorded is None else sent(recorded, description)
    if parts is not None:
        parts = attrs.evolve(parts, **{part.name: sent(getattr(parts, part.name), description) for part in attrs.fields(Decomposition)})
        if not is_built_in:
            # ``finish`` must not change parts, as running aggregates combine them with later rows.
            finish_part = CheckedValue(name, infer, OnCopies(parts.finish, 1))
            parts = attrs.evolve(parts, combine=OnCopies(parts.combine, 2), finish=finish_part)
    if reduce is not None:
        reduce = sent(reduce, description) if is_built_in else CheckedValue(name, infer, sent(reduce, description))
    if of_columns is not None and not is_built_in:
        of_columns = CheckedColumns(name, infer, sent(of_columns, description), reduce is None and parts is None)
    # The only form of an aggregate is never None.
    form: Any = of_columns if reduce is None and parts is None else FirstForm(infer, of_columns, parts, reduce)
    if column is None:
        column, finish = collect_rows, ReduceCollected(infer, form)
    counts = (arguments, arguments) if isinstance(arguments, int) else arguments
    if reduce is not None and parts is None and counts[0] == 0 and not is_built_in:
        what = f"the aggregate {name!r} may be used without a column, but 'reduce' gets columns only, not the number of rows"
        raise InvalidArgumentError(f"{what}: define 'parts' or 'of_columns'")
    forms = (column, form, order_sensitive, finish, parts, counts, exact)
    return AGGREGATES.add(AggregateFunction(name, infer, *forms, skips_missing, of_runs, recorded, of_first_row))


@attrs.frozen(eq=False)
class FirstForm:
    """The ``of_columns`` of an aggregate with Python functions: the first of its forms that it has for some types.

    Parameters
    ----------
    infer
        Type of the result.
    of_columns, parts, reduce
        The forms, see :func:`define_aggregate`; one of the last two is not None.
    """

    infer: Infer
    of_columns: OfSomeColumns | None
    parts: Decomposition | None
    reduce: ReduceFunction | None

    def __call__(self, types: Sequence[ColumnType], positions: Sequence[int], parameters: tuple[Any, ...]) -> ColumnAggregate:
        found = None if self.of_columns is None else self.of_columns(types, positions, parameters)
        if found is not None:
            return found
        result = self.infer(types, parameters)
        if self.parts is not None:
            return of_parts(self.parts, types, positions, parameters, result)
        assert self.reduce is not None
        return of_all_values(self.reduce, types, positions, parameters, result)


class CheckedColumns:
    """A plug-in's ``of_columns`` with a check that the aggregate gives one value of the inferred type for each group."""

    def __init__(self, name: str, infer: Infer, of_columns: OfSomeColumns, is_only_form: bool) -> None:
        self.name, self.infer, self.of_columns, self.is_only_form = name, infer, of_columns, is_only_form

    def __call__(self, types: Sequence[ColumnType], positions: Sequence[int], parameters: tuple[Any, ...]) -> ColumnAggregate | None:
        found = self.of_columns(types, tuple(positions), parameters)
        if found is None and not self.is_only_form:
            return None
        if not isinstance(found, ColumnAggregate):
            raise SchemaError(f"of_columns() of the aggregate {self.name!r} returned a {type(found).__name__}: it must return a ColumnAggregate")
        self._require_states(found, positions)
        column_type = self.infer(types, parameters)

        def checked(values: Any, groups: int) -> pa.Array:
            if not isinstance(values, pa.Array):
                raise SchemaError(
                    f"the aggregate {self.name!r} returned a {type(values).__name__}: an aggregate of state columns must return an Arrow array"
                )
            if not values.type.equals(column_type.physical) or len(values) != groups:
                what = f"the aggregate {self.name!r} gave {len(values)} value(s) of {values.type}"
                raise SchemaError(f"{what}, and it is one {column_type} ({column_type.physical}) for each of {groups} group(s)")
            return values

        def of_states(finish: Callable[..., pa.Array]) -> Callable[..., pa.Array]:
            return lambda *states, last: checked(finish(*states, last=last), entry_count(states[0]))

        of_windows, of_all = found.of_windows, found.finish_of_all
        return attrs.evolve(
            found,
            finish=of_states(found.finish),
            of_windows=None if of_windows is None else lambda rows, windows: checked(of_windows(rows, windows), len(windows)),
            finish_of_all=None if of_all is None else of_states(of_all),
        )

    def _require_states(self, found: ColumnAggregate, positions: Sequence[int]) -> None:
        """Require that states read columns of the aggregate, and that ``finish`` takes what it is called with.

        The fields ``column``, ``columns`` and ``where`` of all kinds of states are positions; rows refuse others when they are read.

        Raises
        ------
        SchemaError
            If they do not.
        """
        for state in found.states:
            fields = {field.name: getattr(state, field.name) for field in attrs.fields(type(state))} if attrs.has(type(state)) else {}
            for name in ("column", "columns", "where"):
                read = fields.get(name, ())
                for column in read if isinstance(read, tuple) else (read,):
                    if isinstance(column, int) and column not in positions:
                        there = f"of_columns() of the aggregate {self.name!r} gets the columns {list(positions)}"
                        raise SchemaError(f"{there}, and its {type(state).__name__} reads column {column}: take positions from 'columns'")
        try:
            inspect.signature(found.finish).bind(*found.states, last=False)
        except TypeError as error:
            count = len(found.states)
            form = f"finish({', '.join(f'state{number}' for number in range(1, count + 1))}, *, last)"
            raise SchemaError(f"finish() of the aggregate {self.name!r} cannot be called as {form}: {error}") from None
        except ValueError:
            # Functions that are not written in Python need not say what they take.
            pass


class CheckedValue:
    """A plug-in's ``reduce`` or ``finish`` with a check that its value has the inferred type; Arrow scalars become Python values."""

    def __init__(self, name: str, infer: Infer, function: Callable[[Any, Sequence[ColumnType], tuple[Any, ...]], Any]) -> None:
        self.name, self.infer, self.function = name, infer, function

    def __call__(self, value_or_part: Any, types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Any:
        value = self.function(value_or_part, types, parameters)
        if isinstance(value, pa.Scalar):
            value = value.as_py()
        column_type = self.infer(types, parameters)
        # Running aggregates call this for each row, so the most common values are tested first.
        if value is None or (type(value) is float and column_type == FLOAT) or (type(value) is str and column_type == STR):
            return value
        try:
            encode_plain([value], column_type)
            exact = column_type != INT or value == int(value)
        except (TypeError, ValueError, OverflowError, AttributeError, pa.ArrowException):
            exact = False
        if not exact:
            what = f"the aggregate {self.name!r} gave {brief(value, 80)} ({type(value).__name__})"
            raise SchemaError(f"{what}, which is not a value of the {column_type} that it infers: convert it, or infer another type")
        return int(value) if column_type == INT else value


def collect_rows(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...], order: Column) -> Column:
    """Return a Spark column with the arguments of each group as an array of structs, in row order."""
    values = [_orderable(column, kind) for column, kind in zip(columns, types, strict=True)]
    fields = [value.alias(f"v{i}") for i, value in enumerate(values)]
    rows = F.sort_array(F.collect_list(F.struct(order.alias("o"), *fields)))
    return F.transform(rows, lambda row: F.struct(*[row[f"v{i}"].alias(f"v{i}") for i in range(len(values))]))


def collect_values(column: Column, order: Column, keep_missing: bool) -> Column:
    """Return a Spark column with the values of one argument of each group as an array, in row order; no Python is involved."""
    row = F.struct(order.alias("o"), column.alias("v"))
    return F.sort_array(F.collect_list(row if keep_missing else F.when(column.isNotNull(), row)))["v"]


def _orderable(column: Column, column_type: ColumnType) -> Column:
    """Return a map column as an array of entries, as Spark cannot sort structs with maps; other columns unchanged."""
    return F.map_entries(column) if pa.types.is_map(column_type.physical) else column


class ReduceCollected:
    """The step after :func:`collect_rows`: computes the aggregate of the rows of each group, in an Arrow UDF.

    It is used for results that Spark's own functions cannot build, and yields the same values as without Spark.
    """

    def __init__(self, infer: Infer, of_columns: OfColumns) -> None:
        self.infer, self.of_columns = infer, of_columns

    def __call__(self, column: Column, types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column:
        result = self.infer(types, parameters)
        of_columns, kinds, transport = self.of_columns, list(types), error_transport()

        def finish(groups: pa.Array) -> pa.Array:
            return transport.guarded(lambda: aggregate_of_lists(groups, of_columns(kinds, range(len(kinds)), parameters), kinds))

        return arrow_function(finish, spark_type(result))(column)


def aggregate_of_lists(groups: pa.Array | pa.ChunkedArray, aggregate: ColumnAggregate, types: Sequence[ColumnType]) -> pa.Array:
    """Return an aggregate of the rows of each group, which is a list of structs of its arguments."""
    if isinstance(groups, pa.ChunkedArray):
        groups = groups.combine_chunks()
    return _of_lists(groups, aggregate, [restored(groups.values.field(i), kind) for i, kind in enumerate(types)])


def aggregate_of_values(groups: pa.Array, aggregate: ColumnAggregate) -> pa.Array:
    """Return an aggregate of one argument, of which each group has a list of values."""
    return _of_lists(groups, aggregate, [groups.values])


def _of_lists(groups: pa.Array, aggregate: ColumnAggregate, columns: Sequence[pa.Array]) -> pa.Array:
    offsets = groups.offsets.to_numpy().astype(np.int64)
    return values_of_windows([aggregate], InputRows(columns, len(groups.values)), RowWindows(offsets[:-1], offsets[1:]))[0]


def restored(column: pa.Array, column_type: ColumnType) -> pa.Array:
    """Return a column that Spark has collected, converted back to its physical type."""
    physical = column_type.physical
    if pa.types.is_map(physical) and not pa.types.is_map(column.type):
        cells = column.to_pylist()
        items = [None if cell is None else [(entry["key"], entry["value"]) for entry in cell] for cell in cells]
        return pa.array(items, physical)
    return column if column.type.equals(physical) else column.cast(physical)
