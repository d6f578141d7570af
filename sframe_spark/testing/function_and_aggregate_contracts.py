"""The contract kit for scalar functions and aggregates: what they declare is true, and their values are the expected ones.

Both are checked on the values of an example and on values that the kit makes from the types of the arguments: missing ones, NaN, infinities, -0.0,
the ends of ints, empty and long texts, date-times with and without offsets, ties, no rows and one row, in arrays that begin within longer ones.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import attrs

from sframe_spark.api.node_value_conversion import literal_of
from sframe_spark.errors import ContractBroken, InvalidArgumentError, LengthMismatchError, SchemaError, SFrameError, TooLargeError, UserFunctionError
from sframe_spark.expressions.aggregates.aggregate_function import AGGREGATES
from sframe_spark.expressions.aggregates.aggregates_of_windows import values_of_windows
from sframe_spark.expressions.aggregates.input_rows_and_windows import InputRows, RowWindows
from sframe_spark.expressions.functions.scalar_function import FUNCTIONS, FinishedKernel, FunctionTable, ScalarFunction
from sframe_spark.expressions.scalar_function_program import Program, Register, Step
from sframe_spark.operators.elementwise import apply_program
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.operators.groupby.groupby import group_by
from sframe_spark.operators.groupby.reduce_to_one_row import reduce_columns
from sframe_spark.operators.program_and_filter_properties import monotone_step
from sframe_spark.operators.user_function_calls_and_result_memos import is_of_plugin
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Schema
from sframe_spark.testing.contract import RANDOM_TABLES, Example, as_column, check_all, check_lowering, check_value, warn_unchecked
from sframe_spark.testing.generated_inputs import Tables, check_generated, chunk_of, fixed_tables, tables_text
from sframe_spark.testing.kernel_runs import in_memory, read_all, run_kernel
from sframe_spark.testing.order_claims import rank
from sframe_spark.testing.rewrite_checks import other_orders
from sframe_spark.testing.row_comparison import Rows, counted, demand, difference, rows_of, same_value, shown
from sframe_spark.testing.state_checks import places_to_cut
from sframe_spark.testing.state_column_checks import check_state_columns, ranges_within
from sframe_spark.testing.where_kernels_run import check_groups_by_arrow, check_in_other_process, kernel_over, require_no_python_for_each_row
from sframe_spark.types import INT_KIND, ColumnType, type_of_class
from sframe_spark.values.arrow_to_python import decode
from sframe_spark.values.python_to_arrow import infer_type

# ``expected(value, ...)`` of a row; ``expected(values, ...)``, a list for each column, of the rows of a group.
Expected = Callable[..., Any]
# More rows take long on Spark, where a function or an aggregate is tried on all values at once.
MAX_SPARK_ROWS = 60


def check_function(
    name: str,
    *arguments: Any,
    parameters: tuple[Any, ...] = (),
    spark: bool = True,
    expected: Expected | None = None,
    generated: int = RANDOM_TABLES,
) -> None:
    """Check a scalar function: rows are independent, types are as inferred, Spark agrees, ``monotone`` holds, and values are the expected ones.

    Warns with :class:`~sframe_spark.errors.UncheckedWarning` if no ``expected`` is given: two implementations may be wrong in the same way.

    Parameters
    ----------
    name
        Name of the function.
    arguments
        For each argument a list with one value per row, a column type, of which values are made, or a value that is the same in every row; at least
        one list or type.
    parameters
        Static parameters.
    spark
        Whether to check the function on Spark, too.
    expected
        A plain Python function from the arguments of a row to the value of the row, given None for missing values. Where it raises an error, the
        function must raise one. Where it returns ``NotImplemented``, the value is not compared.
    generated
        How many random tables are tried, besides some that are always the same; 0: only the given rows.

    Raises
    ------
    ContractBroken
        If the function does not do what it declares, or does not give the expected values.
    MissingLibraryError
        If rows are to be made and Hypothesis is not installed.

    Examples
    --------
    >>> check_function("negate", [3, None, -1, 3], spark=False, expected=lambda value: None if value is None else -value)
    """
    function = FUNCTIONS.named(name)
    columns = [argument for argument in arguments if isinstance(argument, (list, ColumnType))]
    rows, schema = given_rows(columns)
    positions = itertools.count()
    operands = tuple(Register(next(positions)) if isinstance(argument, (list, ColumnType)) else literal_of(argument) for argument in arguments)
    checks = _FunctionChecks(function, Step(name, operands, tuple(parameters)), schema, expected)
    with_subject = _about(checks.subject)
    with_subject(lambda: checks.check_sent())
    with_subject(lambda: check_value(checks.node(rows)))
    tables = [rows] if rows else []
    for given in tables:
        with_subject(lambda given=given: checks.check([given]), given)
    if expected is None:
        warn_unchecked(f"values of the scalar function {name!r} were compared with no others: expected= takes a plain Python function of a row")
    if generated or not rows:
        with_subject(lambda: check_generated(checks.check, [schema], False, generated))
        rows = [*rows, *max((made[0] for made in fixed_tables([schema], False)), key=len)]
    some = checks.rows_that_do_not_fail(rows[:: max(1, -(-len(rows) // MAX_SPARK_ROWS))])
    with_subject(lambda: checks.check_where_it_runs(some))
    if spark:
        with_subject(lambda: check_lowering(Example("generalized_transform", name, lambda: checks.node(some)), checks.difference_by_call, "build="))


def check_aggregate(
    name: str,
    *columns: Any,
    parameters: tuple[Any, ...] = (),
    spark: bool = True,
    expected: Expected | None = None,
    generated: int = RANDOM_TABLES,
) -> None:
    """Check an aggregate: over all rows, groups, windows and no rows, from partial states of any ranges of rows, and on Spark.

    The state columns of an aggregate that has ``of_columns`` are checked too: whatever the groups, the cuts and the order of merges, for rows so far
    and for all windows they are what ``lift`` makes of the same rows, and equal states are equal Arrow columns. Warns with
    :class:`~sframe_spark.errors.UncheckedWarning` if no ``expected`` is given.

    Parameters
    ----------
    name
        Name of the aggregate.
    columns
        For each argument column a list of values, or a column type, of which values are made. Without made values, ``generated=0``, give six at
        least: fewer rows are cut into few parts.
    parameters
        Static parameters.
    spark
        Whether to check the aggregate on Spark, too.
    expected
        A plain Python function of the rows of a group: from a list of values for each argument column, in row order and with None for missing values,
        to the value of the group. Errors and ``NotImplemented`` are as for :func:`check_function`.
    generated
        How many random tables are tried, besides some that are always the same; 0: only the given rows.

    Raises
    ------
    ContractBroken
        If the aggregate does not do what it declares, or does not give the expected values.
    MissingLibraryError
        If rows are to be made and Hypothesis is not installed.

    Examples
    --------
    >>> check_aggregate("max", [3, None, -1, 3, 5, 9], spark=False, expected=lambda values: max((v for v in values if v is not None), default=None))
    """
    AGGREGATES.named(name)
    rows, schema = given_rows(columns)
    checks = _AggregateChecks(name, tuple(parameters), schema, expected)
    with_subject = _about(checks.subject)
    with_subject(lambda: _require_sent(AGGREGATES, name, checks.subject))
    if rows:
        with_subject(lambda: checks.check([rows]), rows)
    if expected is None:
        warn_unchecked(f"values of the aggregate {name!r} were compared with no others: expected= takes a plain Python function of a group's rows")
    if generated or not rows:
        with_subject(lambda: check_generated(checks.check, [schema], False, generated, to_add=True))
        made = max((made[0] for made in fixed_tables([schema], False, to_add=True)), key=len)
        # Groups on Spark have the values of the example, and, if the aggregate takes them together, values of all kinds.
        both = [*rows, *made[:: max(1, -(-len(made) // MAX_SPARK_ROWS))]]
        rows = both if not rows or checks.takes(both) else rows
    with_subject(lambda: checks.check_where_it_runs(rows))
    if spark:
        with_subject(lambda: check_lowering(Example("reduce", name, lambda: checks.reduced(rows)), lowering="column= and exact="))
        with_subject(lambda: check_lowering(Example("group_by", name, lambda: checks.grouped(rows)), lowering="column= and exact="))


def given_rows(columns: Sequence[Any]) -> tuple[Rows, Schema]:
    """Return the rows that lists of values make, and their types; no rows if the columns are types.

    Raises
    ------
    InvalidArgumentError
        If there are no columns, or they have different lengths, or only some are lists.
    """
    lists = [column for column in columns if isinstance(column, list)]
    if (
        not columns
        or (lists and len(lists) < len(columns))
        or len(set(map(len, lists))) > 1
        or not all(isinstance(c, (list, ColumnType)) for c in columns)
    ):
        raise InvalidArgumentError("columns of an example are lists of values, one at least, and all of one length, or all of them column types")
    if not lists:
        return [], tuple(columns)
    return list(zip(*lists, strict=True)), tuple(map(infer_type, lists))


def table_of(columns: Sequence[list[Any]]) -> PlannerNode:
    """Return a source in memory with some columns, whose types are inferred.

    Raises
    ------
    InvalidArgumentError
        If there are no columns, or they have different lengths.
    """
    rows, schema = given_rows(columns)
    return in_memory(chunk_of(rows, schema), schema)


def _about(subject: str) -> Callable[..., None]:
    """Return a function that runs a check, and says in its errors what was checked, and on which rows."""

    def run(check: Callable[[], None], rows: Rows | None = None) -> None:
        try:
            check()
        except ContractBroken as error:
            raise error.of(subject, "" if rows is None else tables_text([rows])) from error.__cause__

    return run


def _require_sent(table: FunctionTable[Any], name: str, subject: str) -> None:
    """Require that a function of a plug-in can be sent to other processes."""
    reason = table.why_not_sent(name)
    remedy = "Open files, locks and connections within the function, not where it is defined"
    demand(reason is None, subject, "it reaches other processes and Spark's workers, so it pickles", str(reason), remedy)


def _compared(subject: str, call: str, found: Any, expected: Expected, arguments: Sequence[Any], column_type: ColumnType) -> None:
    """Compare a value with the expected one.

    Raises
    ------
    ContractBroken
        If they differ.
    """
    try:
        wanted = expected(*arguments)
    except Exception as error:
        text = f"{call} is {shown(found)}, and expected() raises {type(error).__name__}: {error}"
        raise ContractBroken(subject, "a value is the expected one", text, "Raise an error there too, or let expected() return a value") from error
    if wanted is NotImplemented:
        return
    wanted = as_column(wanted, column_type.kind)
    if column_type.kind == INT_KIND and type(wanted) is int and not -(2**63) <= wanted < 2**63:
        # Ints have 64 bits; what becomes of larger ones is not the author's to say.
        return
    remedy = "Let the code give this value, or expected() if the code is right"
    if wanted is None or found is None or any(value is None or value != value for value in arguments):
        remedy += ". Arrow functions differ in what they make of missing values and NaN: skip_nulls=, min_count= and if_else() change it"
    text = f"{call} is {shown(found)}, and expected() gives {shown(wanted)}"
    demand(same_value(found, wanted), subject, "a value is the expected one", text, remedy)


# Scalar functions.


@attrs.frozen(eq=False)
class _FunctionChecks:
    """The checks of one scalar function: one step over columns of some types."""

    function: ScalarFunction
    step: Step
    schema: Schema
    expected: Expected | None

    @property
    def subject(self) -> str:
        return f"the scalar function {self.function.name!r}"

    def node(self, rows: Rows, step: Step | None = None) -> PlannerNode:
        """Return a plan of the function over rows; its last column has the results."""
        width = len(self.schema)
        outputs = tuple(Register(position) for position in range(width + 1))
        return apply_program(in_memory(chunk_of(rows, self.schema), self.schema), Program(width, (step or self.step,), outputs))

    def called(self, row: Sequence[Any]) -> str:
        """Return a call with the values of a row, as text."""
        return f"{self.function.name}({', '.join(shown(value) for value in self.arguments(row))})"

    def arguments(self, row: Sequence[Any]) -> list[Any]:
        """Return the arguments of a call: the values of a row, and constants."""
        return [row[operand.index] if isinstance(operand, Register) else operand.value for operand in self.step.operands]

    def check_sent(self) -> None:
        _require_sent(FUNCTIONS, self.function.name, self.subject)

    def check(self, tables: Tables) -> None:
        """Check the function on some rows."""
        rows = self.rows_that_do_not_fail(tables[0])
        self.check_type_of_kernel(rows)
        node = self.node(rows)
        chunk = run_kernel(node)
        found = rows_of(chunk, node.schema)
        values = [row[-1] for row in found]
        for row, value in zip(rows, values, strict=True):
            if self.expected is not None:
                _compared(self.subject, self.called(row), value, self.expected, self.arguments(row), node.schema[-1])
        self.check_alone(rows, values)
        self.check_constants(rows, values)
        self.check_monotone(node, found)
        check_all(node, chunk, found)

    def rows_that_do_not_fail(self, rows: Rows) -> Rows:
        """Return the rows for which the function gives a value; it may fail for others only if that is said or expected."""
        failure = self.failure_of(rows)
        if failure is None:
            return rows
        failures = [(row, self.failure_of([row])) for row in rows]
        if rows and self.expected is None and not self.function.may_fail and all(error is not None for _, error in failures):
            self.require_some_call(rows, failure)
        for row, error in failures:
            if error is not None and not isinstance(error, TooLargeError):
                self.require_meant(row, error)
        good = [row for row, error in failures if error is None]
        if len(good) < len(rows):
            return self.rows_that_do_not_fail(good)
        text = f"{type(failure).__name__}: {failure}"
        raise ContractBroken(self.subject, "it takes rows together that it takes one by one", text, rows=tables_text([rows])) from failure

    def difference_by_call(self, by_kernel: Rows, by_spark: Rows) -> str:
        """Return the first call of which kernel and Spark expression make different values."""
        if len(by_kernel) != len(by_spark):
            return difference(by_kernel, by_spark, "the kernel", "Spark")
        row, other = next((row, other) for row, other in zip(by_kernel, by_spark, strict=True) if not same_value(row[-1], other[-1]))
        return f"{self.called(row)} is {shown(row[-1])} by the kernel and {shown(other[-1])} by build()"

    def require_some_call(self, rows: Rows, failure: Exception) -> None:
        """Say why every call fails: the engine explains what a kernel gave, and else the number or the types of arguments are wrong."""
        kinds = ", ".join(str(self.schema[o.index] if isinstance(o, Register) else o.type) for o in self.step.operands)
        text = f"no call succeeds; for {self.called(rows[0])} {failure}"
        is_explained = isinstance(failure, SFrameError) and not isinstance(failure, UserFunctionError)
        rule = (
            "its kernel gives one value a row, of the inferred type"
            if is_explained
            else f"it takes {counted(len(self.step.operands), 'argument')} ({kinds})"
        )
        remedy = (
            ""
            if is_explained
            else "Give define_function() the number of arguments as arguments=, and let infer() refuse types that the kernel does not take"
        )
        raise ContractBroken(self.subject, rule, str(failure) if is_explained else text, remedy) from failure

    def failure_of(self, rows: Rows) -> Exception | None:
        try:
            run_kernel(self.node(rows))
        except Exception as error:
            return error
        return None

    def require_meant(self, row: Sequence[Any], error: Exception) -> None:
        """Require that an error is one that the function may raise."""
        if isinstance(error, ContractBroken):
            raise error
        if isinstance(error, (LengthMismatchError, SchemaError)):
            raise ContractBroken(self.subject, "its kernel gives one value a row, of the inferred type", f"{self.called(row)}: {error}") from error
        said = f"{self.called(row)} raises {type(error).__name__}: {error}"
        if self.expected is not None:
            try:
                wanted = self.expected(*self.arguments(row))
            except Exception:
                wanted = NotImplemented
            found = f"{said}; expected() gives {shown(wanted)}"
            demand(wanted is NotImplemented, self.subject, "a value is the expected one", found)
        remedy = "Say may_fail=True where that is meant: no law then calls it for rows that a filter leaves out"
        if not self.function.may_fail:
            raise ContractBroken(self.subject, "it fails for no value of its types, since may_fail is False", said, remedy) from error

    def check_type_of_kernel(self, rows: Rows) -> None:
        """Check that the kernel's own result is of the inferred kind: a cast makes texts of all values, and ints of truth values."""
        kernel = self.function.kernel
        if not isinstance(kernel, FinishedKernel) or not rows:
            return
        node = self.node(rows)
        types = [self.schema[operand.index] if isinstance(operand, Register) else operand.type for operand in self.step.operands]
        columns = read_all(node.inputs[0]).columns
        arguments = [columns[operand.index] if isinstance(operand, Register) else operand.to_scalar() for operand in self.step.operands]
        prepared = self.step.parameters if kernel.prepare is None else kernel.prepare(types, self.step.parameters)
        given = kernel.compute(arguments, types, prepared, len(rows))
        wanted = node.schema[-1]
        texts = [str(kind).startswith(("string", "large_string", "null", "dictionary<values=string")) for kind in (given.type, wanted.physical)]
        found = f"it gives Arrow's {given.type}, and infer() says {wanted}: the engine would have to make texts of the values"
        remedy = "Let infer() give the type of what the kernel gives, such as FLOAT, or let the kernel cast its result to pa.string()"
        demand(texts[0] or not texts[1], self.subject, "the kernel gives values of the inferred type", found, remedy)

    def check_alone(self, rows: Rows, values: Sequence[Any]) -> None:
        """Check that each value is the same each time, and made of its own row."""
        whole = self.node(rows)
        again = [row[-1] for row in rows_of(run_kernel(whole), whole.schema)]
        for row, value, second in zip(rows, values, again, strict=True):
            found = f"{self.called(row)} is {shown(value)}, and {shown(second)} when it is called again"
            remedy = "Draw no random numbers, and keep nothing between calls: a value may be computed anew, in any process"
            demand(same_value(value, second), self.subject, "a value is the same each time", found, remedy)
        for row, value in zip(rows, values, strict=True):
            node = self.node([row])
            alone = rows_of(run_kernel(node), node.schema)[0][-1]
            found = f"{self.called(row)} is {shown(value)} among {len(rows)} rows, and {shown(alone)} alone"
            remedy = (
                "A kernel may be given any rows, in any batches: make each value of the arguments of its row alone. What needs other rows is an "
                "aggregate, or an operator"
            )
            demand(same_value(alone, value), self.subject, "a value is made of its own row", found, remedy)

    def check_where_it_runs(self, rows: Rows) -> None:
        """Check the function in another process, and that it runs no Python for each row if it says so."""
        node, name = self.node(rows), self.step.function
        here = rows_of(run_kernel(node), node.schema)

        def difference_of(there: Rows) -> str:
            row, other = next((row, other) for row, other in zip(here, there, strict=True) if not same_value(row[-1], other[-1]))
            return f"{self.called(row)} is {shown(row[-1])} here, and {shown(other[-1])} in a new process"

        check_in_other_process(node, here, difference_of)
        types = [self.schema[operand.index] if isinstance(operand, Register) else operand.type for operand in self.step.operands]
        has_lists = any(kind.is_list_or_dict for kind in (*types, node.schema[-1]))
        says = {
            "threads=True": self.function.threads,
            "by_arrow": has_lists and self.function.by_arrow is not None and self.function.by_arrow(types, self.step.parameters),
        }
        for said in (said for said, is_said in says.items() if is_said and is_of_plugin(node.operator)):
            rule = f"Arrow or NumPy does the work, as {said} says"
            remedy = f"Leave {said} out of the definition of {name!r}: threads wait for each other where they run Python code, and processes do not"
            require_no_python_for_each_row(lambda count: kernel_over(node, count), self.subject, rule, remedy)

    def check_constants(self, rows: Rows, values: Sequence[Any]) -> None:
        """Check that an argument may be a constant, which the kernel gets as an Arrow scalar."""
        columns = [place for place, operand in enumerate(self.step.operands) if isinstance(operand, Register)]
        if len(columns) < 2:
            return
        for place, (row, value) in itertools.product(columns, list(zip(rows, values, strict=True))[:20]):
            operand = self.step.operands[place]
            assert isinstance(operand, Register)
            constant = row[operand.index]
            kind = self.schema[operand.index]
            if constant is None or type_of_class(type(constant)) != kind:
                continue
            operands = (*self.step.operands[:place], literal_of(constant), *self.step.operands[place + 1 :])
            node = self.node([row], attrs.evolve(self.step, operands=operands))
            try:
                alone = rows_of(run_kernel(node), node.schema)[0][-1]
            except Exception as error:
                text, remedy = f"{type(error).__name__}: {error}", "A kernel gets an Arrow scalar for a constant, and an array for a column"
                rule = f"argument {place} may be a constant"
                raise ContractBroken(self.subject, rule, f"{self.called(row)} fails with {text}", remedy) from error
            found = f"{self.called(row)} is {shown(value)} of columns, and {shown(alone)} where argument {place} is a constant"
            demand(same_value(alone, value), self.subject, f"argument {place} may be a constant", found)

    def check_monotone(self, node: PlannerNode, found: Rows) -> None:
        """Check that a function of one column is monotone if it declares so, over all rows; missing values sort first, NaN last."""
        declared = monotone_step(self.step, self.schema)
        if declared is None or len(self.schema) > 1:
            return
        direction, strict = declared
        remedy = "monotone says of all values of the types that it is given: return None for the others"
        rows = sorted({rank(row[0]): (row[0], row[-1]) for row in found}.items())
        for (_, (low, below)), (_, (high, above)) in itertools.pairwise(rows):
            first, second = (below, above) if direction == "inc" else (above, below)
            text = f"{self.called([low])} is {shown(below)}, {self.called([high])} is {shown(above)}"
            if low is None or above is None or below is None:
                holds = (below is None) == (low is None) and above is not None
                demand(holds, self.subject, "missing values stay missing, and no others become so, as monotone says", text, remedy)
            else:
                word = "increasing" if direction == "inc" else "decreasing"
                demand(rank(first) <= rank(second), self.subject, f"it is {word}, as monotone says", text, remedy)
                demand(not strict or rank(below) != rank(above), self.subject, f"it is strictly {word}, as monotone says", text, remedy)


# Aggregates.


@attrs.frozen(eq=False)
class _AggregateChecks:
    """The checks of one aggregate of columns of some types."""

    name: str
    parameters: tuple[Any, ...]
    schema: Schema
    expected: Expected | None

    @property
    def subject(self) -> str:
        return f"the aggregate {self.name!r}"

    @property
    def whole(self) -> Aggregation:
        return Aggregation(self.name, tuple(range(len(self.schema))), self.parameters)

    def reduced(self, rows: Rows) -> PlannerNode:
        """Return the aggregate of all rows."""
        return reduce_columns(in_memory(chunk_of(rows, self.schema), self.schema), [self.whole])

    def grouped(self, rows: Rows) -> PlannerNode:
        """Return the aggregate of two groups, whose rows alternate."""
        keyed = [(number * number % 3, *row) for number, row in enumerate(rows)]
        kinds = (type_of_class(int), *self.schema)
        grouped = Aggregation(self.name, tuple(range(1, len(self.schema) + 1)), self.parameters)
        return group_by(in_memory(chunk_of(keyed, kinds), kinds), [0], [grouped])

    def check(self, tables: Tables) -> None:
        """Check the aggregate on some rows; rows that it refuses are passed over."""
        rows = tables[0]
        if not self.takes(rows):
            return
        self.check_expected(rows)
        self.check_order(rows)
        self.check_parts(rows)
        for node in (self.reduced(rows), self.grouped(rows)):
            chunk = run_kernel(node)
            check_all(node, chunk, rows_of(chunk, node.schema))
        check_state_columns(self.whole, self.reduced(rows))

    def takes(self, rows: Rows) -> bool:
        """Return whether the aggregate takes some rows.

        Raises
        ------
        ContractBroken
            If it fails, and that is not meant.
        """
        try:
            run_kernel(self.reduced(rows))
        except ContractBroken:
            raise
        except Exception as error:
            refused = isinstance(error, SFrameError) and not isinstance(error, UserFunctionError)
            columns = [[row[place] for row in rows] for place in range(len(self.schema))]
            try:
                wanted = NotImplemented if self.expected is None else self.expected(*columns)
            except Exception:
                return False
            if wanted is NotImplemented and refused:
                return False
            said = f"{self.called(columns)} raises {type(error).__name__}: {error}"
            raise ContractBroken(self.subject, "it has a value for the rows of every group, also of none", said) from error
        return True

    def called(self, columns: Sequence[list[Any]]) -> str:
        """Return a call with the values of a group, as text."""
        texts = [", ".join(map(shown, column)) for column in columns]
        return f"{self.name} of {' and '.join(f'[{text}]' for text in texts)}"

    def check_expected(self, rows: Rows) -> None:
        """Compare the value of every range of rows with the expected one."""
        if self.expected is None:
            return
        chunk, kind = read_all(self.reduced(rows).inputs[0]), self.reduced(rows).schema[0]
        starts, stops = ranges_within(len(rows))
        aggregate = self.whole.on_columns(self.schema)
        found = decode(values_of_windows([aggregate], InputRows(chunk.columns, chunk.rows), RowWindows(starts, stops))[0], kind)
        for start, stop, value in zip(starts.tolist(), stops.tolist(), found, strict=True):
            columns = [[row[place] for row in rows[start:stop]] for place in range(len(self.schema))]
            part = "" if stop - start == len(rows) else f" (rows[{start}:{stop}])"
            _compared(self.subject, f"{self.called(columns)}{part}", value, self.expected, columns, kind)

    def check_where_it_runs(self, rows: Rows) -> None:
        """Check the aggregate in another process, and that it runs no Python for each row or group unless it says so."""
        for node in (self.reduced(rows), self.grouped(rows)):
            check_in_other_process(node, rows_of(run_kernel(node), node.schema))
        check_groups_by_arrow(self.whole, self.reduced(rows))

    def check_order(self, rows: Rows) -> None:
        """Check that the value does not depend on the order of rows, if that is declared."""
        if AGGREGATES.named(self.name).order_sensitive:
            return
        node = self.reduced(rows)
        value = rows_of(run_kernel(node), node.schema)[0][0]
        for way, order in other_orders(len(rows)):
            other = self.reduced([rows[number] for number in order])
            found = rows_of(run_kernel(other), other.schema)[0][0]
            columns = [[row[place] for row in rows] for place in range(len(self.schema))]
            text = f"{self.called(columns)} is {shown(value)}, {way} {shown(found)}"
            rule = "the order of rows does not matter, since order_sensitive is False"
            demand(same_value(found, value), self.subject, rule, text, "Say order_sensitive=True, which is the default")

    def check_parts(self, rows: Rows) -> None:
        """Check that partial states of ranges of rows, divided anywhere, combine to the value for all rows."""
        parts = AGGREGATES.named(self.name).decomposition
        if parts is None:
            return
        chunk, types = chunk_of(rows, self.schema), self.schema
        whole = parts.reduce(chunk.columns, types, self.parameters)

        def lifted(start: int, stop: int) -> Any:
            return parts.lift(chunk.slice(start, stop).columns, stop - start, types, self.parameters)

        rule = "parts of runs of rows, combined in any grouping, give the value of all rows, also where a run has no rows"
        remedy = (
            "combine() keeps of both parts all that finish() needs, such as sums and counts, also where a part has only missing values, or no rows; "
            "finish() divides: no part is a finished value"
        )
        for cut, end in itertools.combinations_with_replacement(places_to_cut(len(rows)), 2):
            runs = [lifted(0, cut), lifted(cut, end), lifted(end, len(rows))]
            # A function may change its arguments.
            first, second, third = map(shown, runs)
            left = parts.combine(parts.combine(runs[0], runs[1], types), runs[2], types)
            right = parts.combine(runs[0], parts.combine(runs[1], runs[2], types), types)
            for part, way in ((left, f"combine(combine({first}, {second}), {third})"), (right, f"combine({first}, combine({second}, {third}))")):
                value = parts.finish(part, types, self.parameters)
                where = f"the parts of rows[0:{cut}], rows[{cut}:{end}] and rows[{end}:{len(rows)}] are {first}, {second} and {third}"
                found = f"{where}; {way} is {shown(part)}, and finish() of it {shown(value)}; of all rows it is {shown(whole)}"
                demand(same_value(value, whole), self.subject, rule, found, remedy)
