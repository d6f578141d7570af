"""The class of a scalar function, tables of functions by name, and helpers for the modules that define scalar functions."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import attrs
import pyarrow as pa

from sframe_spark import errors
from sframe_spark.compute.spark_columns import Column
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.planner.registrations import location_of, record
from sframe_spark.types import ARRAY, DATETIME_KIND, FLOAT, FLOAT_KIND, INT, INT_KIND, STR, STR_KIND, ColumnType
from sframe_spark.udf.pickling import PackedFunction
from sframe_spark.values.arrow_to_python import scalar_array

with lazy_imports(globals()):
    from sframe_spark.compute.spark_columns import F, kernel_column, spark_type
    from sframe_spark.planner.plugin_loading import hint_of_left_out, load_plugins
    from sframe_spark.udf.pickling import SentFunction, load_function, pack_function, sent

# Tables of named functions. Plans refer to functions by name. Functions of plug-ins are pickled with the table, so that workers have them.


# An entry has a ``name``, and a function ``infer``. Two entries whose ``infer`` has the same module and name are versions of one function.
Entry = TypeVar("Entry", bound=Any)
# The pickled function, or the reason why it cannot be pickled, by name.
PackedFunctions = Mapping[str, PackedFunction | str]


class FunctionTable(dict[str, Entry]):
    """Functions of one kind by name.

    A pickled table holds only the functions that plug-ins have added, each pickled separately; the receiving process loads a function when a plan
    first uses it. So a function that cannot be pickled breaks only the plans that use it.

    Parameters
    ----------
    kind
        The word for an entry in messages, such as ``scalar function``.
    receive
        Module-level function that adds pickled functions to the table of the process in which it is called.
    """

    def __init__(self, kind: str, receive: Callable[[PackedFunctions], FunctionTable[Any]]) -> None:
        super().__init__()
        self.kind, self._receive = kind, receive
        self._built_in: frozenset[str] = frozenset()
        self._unloaded: dict[str, PackedFunction | str] = {}
        self._packing = threading.local()

    def add(self, entry: Entry) -> Entry:
        """Add an entry; it replaces an earlier version of itself, as when a notebook cell runs again.

        Raises
        ------
        InvalidArgumentError
            If the name is not an identifier, or another entry has it.
        """
        if not isinstance(entry.name, str) or not entry.name.isidentifier():
            raise errors.InvalidArgumentError(
                f"the name of a {self.kind} must consist of letters, digits and underscores, like that of a variable, got {entry.name!r:.80}"
            )
        holder = self.get(entry.name)
        if holder is not None and (entry.name in self._built_in or location_of(holder.infer) != location_of(entry.infer)):
            raise errors.InvalidArgumentError(f"the name {entry.name!r} is taken by {self._holder(holder)}: choose another name")
        self[entry.name] = entry
        if self._built_in:
            record(self.kind, entry.name, entry, lambda: self._restore(entry, holder))
        return entry

    def _restore(self, entry: Entry, before: Entry | None) -> None:
        """Put what had the name of an entry before in its place, unless another one has the name by now."""
        if self.get(entry.name) is entry:
            del self[entry.name]
            if before is not None:
                self[entry.name] = before

    def close(self) -> None:
        """Mark the present entries as built in, which means that every process has them."""
        self._built_in = frozenset(self)

    def added(self) -> list[Entry]:
        """Return the entries that are not built in."""
        return [entry for name, entry in self.items() if name not in self._built_in] if self.has_added else []

    @property
    def has_added(self) -> bool:
        """Whether plug-ins have added entries: planning asks this of each node, and built-in entries are never removed."""
        return len(self) != len(self._built_in)

    def is_added(self, name: str) -> bool:
        """Return whether a plug-in has added the entry with a name."""
        return name in self and name not in self._built_in

    def named(self, name: str) -> Entry:
        """Return the entry with a name; if there is none, plug-ins of installed packages are loaded first.

        Raises
        ------
        InvalidArgumentError
            If there is no such entry.
        ExecutionError
            If the entry was sent to this worker, but could not be loaded.
        """
        if not isinstance(name, str):
            raise errors.InvalidArgumentError(f"a {self.kind} is given by its name, a text, not by {name!r:.80}")
        result = self.get(name)
        if result is not None:
            return result
        if name in self._unloaded:
            packed = self._unloaded[name]
            if isinstance(packed, str):
                raise errors.ExecutionError(f"the {self.kind} {name!r} could not be sent to other Python processes: {packed}")
            self[name] = load_function(*packed)
            return self[name]
        load_plugins()
        if name in self:
            return self[name]
        near = errors.near_names(name, self)
        meant = f": did you mean {errors.listed(near)}?" if near else "."
        known = "Those of a plug-in are known once its module is imported"
        raise errors.InvalidArgumentError(f"no {self.kind} is named {name!r:.80}{meant} {known}{hint_of_left_out(self.kind, name)}")

    def inferred(self, name: str, types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
        """Return the result type that an entry infers.

        Raises
        ------
        SchemaError
            If the function does not take this number of arguments, or does not infer a column type.
        """
        entry = self.named(name)
        require_count(self.kind, entry, len(types))
        try:
            result = entry.infer(types, parameters)
        except (IndexError, ValueError) as error:
            failure: Any = error
            # A plug-in's own errors say where they were raised; one about an index is about an argument that there is not.
            if isinstance(failure, errors.SFrameError) and not isinstance(failure, IndexError):
                raise
            arguments = f"{len(types)} argument{'' if len(types) == 1 else 's'} ({', '.join(map(str, types))})"
            raise errors.SchemaError(f"the {self.kind} {name!r} does not take {arguments}: {str(error).splitlines()[-1]}") from error
        if not isinstance(result, ColumnType):
            raise errors.SchemaError(f"the {self.kind} {name!r} infers {result!r:.80}: it must return a column type, such as INT or types[0]")
        return result

    def received(self, packed_functions: PackedFunctions) -> FunctionTable[Entry]:
        """Add functions that another process has sent, and return the table; entries defined in this process are kept."""
        for name, packed in packed_functions.items():
            if name in self._unloaded and packed != self._unloaded[name]:
                self.pop(name, None)
            if name not in self:
                self._unloaded[name] = packed
        return self

    def __reduce__(self) -> Any:
        # If a function refers to the table itself, the table is pickled by reference: the function gets the table of the receiving process.
        if getattr(self._packing, "is_active", False):
            return self._receive, ({},)
        self._packing.is_active = True
        try:
            return self._receive, ({entry.name: self._packed(entry) for entry in self.added()},)
        finally:
            self._packing.is_active = False

    def _holder(self, entry: Entry) -> str:
        return f"a built-in {self.kind}" if entry.name in self._built_in else f"the {self.kind} of {location_of(entry.infer)}"

    def why_not_sent(self, name: str) -> str | None:
        """Return why a plug-in's entry cannot be sent to other processes; None if it can, or is built in."""
        packed = None if name in self._built_in else self._packed(self.named(name))
        return packed if isinstance(packed, str) else None

    def _packed(self, entry: Entry) -> PackedFunction | str:
        try:
            return pack_function(entry, f"the {self.kind} {entry.name!r}")
        except Exception as error:
            # Imported here, because it imports cloudpickle, which ``import sframe_spark`` must not need.
            from sframe_spark.udf.program_pickler import captured_culprit

            return f"{captured_culprit(entry) or 'it'} cannot be pickled ({error})"


def require_count(kind: str, entry: Any, count: int) -> None:
    """Check that a function takes a number of arguments, if it says how many it takes.

    Raises
    ------
    UnsupportedOperationError
        If it takes more or fewer.
    """
    fewest, most = entry.arguments or (count, count)
    if not fewest <= count <= most:
        word = "columns" if kind == "aggregate" else "arguments"
        takes = f"{fewest} to {most} {word}" if fewest < most else f"1 {word[:-1]}" if most == 1 else f"{most} {word}"
        raise errors.UnsupportedOperationError(f"the {kind} {entry.name} takes {takes}, not {count}")


# Scalar functions, which compute one value from one row.

# ``pa.Array | pa.Scalar``: pyarrow has no type stubs, so the union would tell a type checker nothing.
Argument = Any
Infer = Callable[[Sequence[ColumnType], tuple[Any, ...]], ColumnType]
Kernel = Callable[[Sequence[Argument], Sequence[ColumnType], tuple[Any, ...], int], pa.Array]
ColumnBuilder = Callable[[Sequence[Column], Sequence[ColumnType], tuple[Any, ...]], Column]
ReadyToCall = Callable[[Sequence[Argument], int], pa.Array]
ByArrow = Callable[[Sequence[ColumnType], tuple[Any, ...]], bool]
ColumnExpression = Callable[[Sequence[Column], Sequence[ColumnType], tuple[Any, ...]], Column | None]


@attrs.frozen(eq=False)
class ScalarFunction:
    """A named, deterministic function from one row's values to one value.

    Parameters
    ----------
    name
        Unique name; plans and JSON refer to the function by it.
    infer
        Result type from argument types and static parameters; raises the same errors as Turi Create for types
        that it refuses.
    kernel
        Arrow implementation: arguments are arrays of ``rows`` entries or scalars (literals); the result is an array of
        ``rows`` entries of exactly the inferred physical type.
    column
        Spark implementation over columns holding the same physical types, under ANSI off, UTC, case-sensitive settings.
        None: the kernel runs inside an Arrow UDF.
    monotone
        ``"increasing"`` or ``"decreasing"``, optionally after ``"strictly "``, in its only column argument (parameters
        and literals fixed), as a function of types and literal arguments (position by position, None for the column),
        followed by the parameters; None promises nothing. The order meant has missing values first, then numbers, then NaN,
        and the result must be missing exactly where the argument is.
    may_fail
        True when some values make the function raise: no law may then evaluate it on rows that a filter below it has removed.
    expression
        Like ``column``, but None for types of which only the kernel computes it.
    by_arrow
        Returns whether the kernel works without a Python object for each value; only called if an argument or the result has lists or dicts.
    arguments
        The smallest and the largest number of arguments; None if ``infer`` and the kernel refuse other numbers themselves.
    threads
        Whether threads of this process may run the kernel at the same time, if a plug-in has defined it.
    """

    name: str
    infer: Infer
    kernel: Kernel
    column: ColumnBuilder | None = None
    monotone: Callable[[Sequence[ColumnType], Sequence[Any]], str | None] | None = None
    may_fail: bool = False
    expression: ColumnExpression | None = None
    by_arrow: ByArrow | None = None
    arguments: tuple[int, int] | None = None
    threads: bool = False

    def ready(self, types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ReadyToCall:
        """Return the kernel bound to types and parameters: a function of arguments and a number of rows, which is reused for many batches."""
        bind = getattr(self.kernel, "ready", None)
        return bind(types, parameters) if bind else lambda arguments, rows: self.kernel(arguments, types, parameters, rows)


def _receive(packed_functions: PackedFunctions) -> FunctionTable[ScalarFunction]:
    return FUNCTIONS.received(packed_functions)


FUNCTIONS: FunctionTable[ScalarFunction] = FunctionTable("scalar function", _receive)


def evaluate(
    name: str, arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int
) -> tuple[pa.Array, ColumnType]:
    """Run a function's kernel on Arrow arguments and return the result with its type.

    Raises
    ------
    TypeError, RuntimeError
        As the function's ``infer`` does for types it refuses.

    Examples
    --------
    >>> import sframe_spark.expressions.functions
    >>> from sframe_spark.types import INT
    >>> evaluate("add", [pa.array([1, None]), pa.scalar(2)], [INT, INT], (), 2)[0].to_pylist()
    [3, None]
    """
    function = FUNCTIONS.named(name)
    return function.kernel(arguments, types, parameters, rows), function.infer(types, parameters)


Compute = Callable[[Sequence[Argument], Sequence[ColumnType], Any, int], Any]
Prepare = Callable[[Sequence[ColumnType], tuple[Any, ...]], Any]
MonotonyOf = Callable[[Sequence[ColumnType], Sequence[Any]], str | None]

NUMERIC_KINDS = frozenset({INT_KIND, FLOAT_KIND})
INCREASING = "increasing"
STRICTLY_INCREASING = "strictly increasing"


def define_function(
    name: str,
    infer: Infer,
    compute: Compute,
    build: ColumnExpression | None = None,
    monotone: MonotonyOf | None = None,
    may_fail: bool = False,
    by_arrow: ByArrow | None = None,
    prepare: Prepare | None = None,
    arguments: int | tuple[int, int] | None = None,
    threads: bool = False,
) -> ScalarFunction:
    """Define a scalar function and add it to the table; built-in functions and those of plug-ins are defined this way.

    Parameters
    ----------
    name
        Name in the table.
    infer
        As in :class:`~sframe_spark.expressions.functions.scalar_function.ScalarFunction`.
    compute
        Like a kernel, but may return a scalar for all rows, or an array of a type that casts to the right one.
    build
        Like ``column``, but may return None for types it has no Spark expression for; the kernel then runs in a UDF.
    monotone
        Takes the types and, position by position, the literal arguments, with None for the column; then the parameters.
    may_fail
        Whether the function raises for some values. No law then evaluates it on rows that a filter below it has removed.
    by_arrow
        As in :class:`~sframe_spark.expressions.functions.scalar_function.ScalarFunction`.
    prepare
        Computes, from types and parameters, an object that ``compute`` gets instead of the parameters. It is called once for many batches, possibly
        in several threads.
    arguments
        Number of arguments, or the smallest and the largest: a call with others is refused at once. None: whatever ``infer`` and ``compute`` take,
        of which the latter is called for a row of missing values where a call is written.
    threads
        Whether threads may call ``compute`` side by side, in the process of the user, as they call built-in functions: it leaves the work to Arrow or
        NumPy, and keeps nothing between calls. Otherwise processes call it, which costs as much as tens of millions of rows of a cheap function.

    Raises
    ------
    InvalidArgumentError
        If the name is taken, or a part is not a function.

    Examples
    --------
    >>> import pyarrow.compute as pc
    >>> from sframe_spark.types import INT
    >>> def twice(arguments, types, parameters, rows):
    ...     return pc.multiply(arguments[0], 2)
    >>> function = define_function("doctest_twice", lambda types, parameters: INT, twice)
    >>> function.kernel([pa.array([1, None])], [INT], (), 2).to_pylist()
    [2, None]
    """
    description = f"the scalar function {name!r}"
    infer, compute = sent(infer, description), sent(compute, description)
    build, monotone, by_arrow, prepare = (None if part is None else sent(part, description) for part in (build, monotone, by_arrow, prepare))
    column = None if build is None else WithKernel(name, build)
    kernel = FinishedKernel(name, infer, compute, prepare)
    counts = (arguments, arguments) if isinstance(arguments, int) else arguments
    return FUNCTIONS.add(ScalarFunction(name, infer, kernel, column, monotone, may_fail, build, by_arrow, counts, threads))


@attrs.frozen
class FinishedKernel:
    """A kernel that calls ``compute`` and casts its result to the inferred type.

    It is a class, not a closure, because pickling a closure would include all objects to which it refers.
    """

    name: str
    infer: Infer
    compute: Compute
    prepare: Prepare | None = None

    def __call__(self, arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> pa.Array:
        return self.ready(types, parameters)(arguments, rows)

    def ready(self, types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ReadyToCall:
        """Bind the kernel to types and parameters, which are then processed only once for many batches."""
        name, compute, column_type = self.name, self.compute, self.infer(types, parameters)
        prepared = parameters if self.prepare is None else self.prepare(types, parameters)

        def call(arguments: Sequence[Argument], rows: int) -> pa.Array:
            result = compute(arguments, types, prepared, rows)
            if isinstance(result, pa.Scalar):
                result = scalar_array(result, rows)
            if isinstance(result, pa.ChunkedArray):
                result = result.combine_chunks()
            return _as_inferred(name, result, column_type, rows)

        return call


# What Python says where a sequence of arguments has others than a kernel takes.
_ABOUT_NUMBER = re.compile(r"values to unpack|(list|tuple) index out of range|positional arguments?\b")


def require_taken(function: ScalarFunction, arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> None:
    """Check that a plug-in's kernel takes as many arguments, if its author has not said how many: by a call for one row of missing values.

    Parameters
    ----------
    function
        The function.
    arguments
        Its constants as Arrow scalars; None in the place of each column.
    types, parameters
        Types of the arguments, and static parameters.

    Raises
    ------
    UnsupportedOperationError
        If it takes more or fewer.
    """
    kernel = function.kernel
    if function.arguments is not None or not isinstance(kernel, FinishedKernel) or not isinstance(kernel.compute, SentFunction):
        return
    tried = [pa.nulls(1, kind.physical) if argument is None else argument for argument, kind in zip(arguments, types, strict=True)]
    try:
        kernel(tried, types, parameters, 1)
    except Exception as failure:
        # Whatever else fails for missing values is told if there are any.
        error = failure.__cause__ or failure
        if isinstance(error, (ValueError, IndexError, TypeError)) and _ABOUT_NUMBER.search(str(error)):
            given = f"{len(types)} argument{'' if len(types) == 1 else 's'} ({', '.join(map(str, types))})"
            advice = "give define_function() arguments=, and each call with another number is refused by it"
            raise errors.UnsupportedOperationError(
                f"the scalar function {function.name!r} does not take {given}: {type(error).__name__}: {error}; {advice}"
            ) from failure


def _as_inferred(name: str, result: Any, column_type: ColumnType, rows: int) -> pa.Array:
    """Check a kernel's result and cast it to the physical type of the inferred type."""
    if not isinstance(result, pa.Array):
        raise errors.SchemaError(
            f"the kernel of the scalar function {name!r} returned a {type(result).__name__}: it must return an Arrow array or scalar"
        )
    if len(result) != rows:
        raise errors.LengthMismatchError(
            f"the kernel of the scalar function {name!r} returned {len(result):,} values for {rows:,} row{'' if rows == 1 else 's'}: it must "
            "return one per row, None where there is none"
        )
    if result.type.equals(column_type.physical):
        return result
    try:
        return result.cast(column_type.physical)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        what = f"the kernel of the scalar function {name!r} returned Arrow's {result.type}, which is not the {column_type} that it infers"
        raise errors.SchemaError(f"{what} ({str(error).splitlines()[0]}): cast it, or infer another type") from error


@attrs.frozen
class WithKernel:
    """Builds the Spark column of a function: its Spark expression or, for types that this does not support, its kernel as a UDF."""

    name: str
    build: ColumnExpression

    def __call__(self, columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column:
        expression = self.build(columns, types, parameters)
        if expression is not None:
            return self._of_its_type(expression, types, parameters) if isinstance(self.build, SentFunction) else expression
        function = FUNCTIONS.named(self.name)
        return kernel_column(function, columns, types, parameters, function.infer(types, parameters))

    def _of_its_type(self, expression: Any, types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column:
        """Return a plug-in's column with a check that makes the query fail if the column does not have the inferred type."""
        what = f"the Spark expression of the scalar function {self.name!r} is"
        if type(expression).__name__ != "Column":
            raise errors.SchemaError(f"{what} a {type(expression).__name__}: it must be a column, or None")
        column_type = FUNCTIONS.inferred(self.name, types, parameters)
        if column_type not in (INT, FLOAT, STR, ARRAY):
            # Spark refuses what makes several rows of one, such as an explosion, within another expression, and drops the condition.
            return F.when(F.lit(True), expression)
        expected = spark_type(column_type)
        # Spark evaluates the check when it plans the query: if the type is right, only the column is left.
        message = f"{what} not of Spark's type {expected}, though it infers {column_type}"
        return F.when(F.typeof(expression) == expected, expression).otherwise(F.raise_error(message))


def always_by_arrow(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> bool:
    """Return True, for kernels that never create a Python object for each list or dict, however these are stored."""
    return True


def unsupported(operation: str, types: Sequence[ColumnType]) -> errors.UnsupportedOperationError:
    """Return the error for an operation that is not defined for the kinds of its operands."""
    kinds = [column_type.kind for column_type in types]
    if {INT_KIND, FLOAT_KIND, STR_KIND}.issuperset(kinds):
        advice = "convert with astype first, as in sf['a'].astype(float), or astype(str) for texts"
    elif set(kinds) == {DATETIME_KIND, STR_KIND}:
        advice = "convert texts with str_to_datetime(), and write a date-time as datetime.datetime(2024, 1, 31)"
    else:
        advice = "apply() calls your own function for each value, or for each row of a frame"
    return errors.UnsupportedOperationError(f"{operation} is not defined for {' and '.join(kinds)}; {advice}")


def array_of(argument: Argument, rows: int) -> pa.Array:
    """Return an argument as an array of ``rows`` entries."""
    return scalar_array(argument, rows) if isinstance(argument, pa.Scalar) else argument


def float_of(argument: Argument) -> Argument:
    """Return a number argument as float64."""
    return argument if pa.types.is_float64(argument.type) else argument.cast(pa.float64(), safe=False)


def to_ints(truths: Argument) -> Argument:
    """Return booleans as the ints 0 and 1."""
    return truths.cast(pa.int64())


def are_numbers(types: Sequence[ColumnType]) -> bool:
    """Return whether all types are int or float."""
    # Called several times per step of a program: a set of kinds is twice as fast as all() over the types.
    return NUMERIC_KINDS.issuperset([column_type.kind for column_type in types])


def is_finite(value: Any) -> bool:
    """Return whether a literal is a number, neither NaN nor infinite."""
    return isinstance(value, (int, float)) and abs(value) < float("inf")
