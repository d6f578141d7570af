"""The contract kit for operators: checks on examples that what an operator declares about itself is true, and that its rows are the expected ones.

An example is a node whose inputs are sources. Without Spark, :func:`check_operator` checks that the operator is a value that pickles, that
inferred types, lengths and order agree with the rows, that any division into row ranges gives the same rows, that its capabilities do, that the
order of input rows does not matter where the operator declares so, and that filters, projections and slices above it, once laws have rewritten
them, give the same rows. It does so on the rows of the example, and on rows that it makes from the types of the inputs. With ``expected``, a plain
Python function of the rows of each input, it compares the rows themselves. :func:`check_lowering` checks on Spark that the lowering has the inferred
types, a total order, true claims and the kernel's rows, and gives the same rows in the same order with 1 and 7 partitions (and 2, if a source has at
most 7 rows).
A package of operators needs one test::

    @pytest.mark.parametrize("example", EXAMPLES, ids=str)
    def test_contract(example):
        check_contract(example)

    def test_every_operator_has_an_example():
        assert operators_without_examples("my_package", EXAMPLES) == []
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import attrs

from sframe_spark.errors import ContractBroken, PlanInvariantError, SFrameError, UncheckedWarning, UserFunctionError
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import Need, has_lowering
from sframe_spark.planner.operator_capabilities import operator_for_few_rows, range_split_of
from sframe_spark.planner.registry import planner_node_name_to_type, registered_names
from sframe_spark.testing.generated_inputs import Tables, check_generated, chunk_of, fixed_tables, tables_text
from sframe_spark.testing.kernel_checks import (
    check_again,
    check_claims,
    check_dense,
    check_facts,
    check_few_rows,
    check_hash_partitions,
    check_matches,
    check_ranges,
    check_split,
    check_useful_orders,
    check_value,
)
from sframe_spark.testing.kernel_runs import kernel_rows, over_rows, read_all, run_kernel, runs_as_kernel
from sframe_spark.testing.lowering_checks import PARTITIONS, check_partitions, check_work_in_spark, run_lowering
from sframe_spark.testing.rewrite_checks import check_declared_rewrites, check_order_needs, check_row_choice, check_rows_alone
from sframe_spark.testing.row_comparison import Rows, demand, difference, rows_of, same_rows, same_value, shown
from sframe_spark.testing.state_checks import check_parts, check_states
from sframe_spark.testing.where_kernels_run import check_in_other_process, check_work_of_arrow

# ``expected(rows of input 0, rows of input 1, ...)`` returns the rows: tuples, or values if there is one column.
Expected = Callable[..., Any]

RANDOM_TABLES = 20
"""Random rows that an operator, a function or an aggregate is tried on, besides those that are always the same."""


@attrs.frozen(eq=False)
class Example:
    """An example of an operator: one node over sources.

    Parameters
    ----------
    operator
        Registered name of the operator.
    title
        What the example shows.
    build
        Makes a new node.
    needs_spark
        Whether building the node starts Spark.
    expected
        A plain Python function from the rows of each input, as lists of tuples, to the rows of the result: an oracle.

    Examples
    --------
    >>> from sframe_spark.operators.sources.in_memory import range_source
    >>> str(Example("range_source", "three numbers", lambda: range_source(0, 3)))
    'range_source -- three numbers'
    """

    operator: str
    title: str
    build: Callable[[], PlannerNode]
    needs_spark: bool = False
    expected: Expected | None = None

    def node(self) -> PlannerNode:
        """Build the node; raise if its operator is not the one that the example is about."""
        node = self.build()
        demand(node.operator_type == self.operator, node, "the example's last operator is the one it is about", str(self))
        return node

    def __str__(self) -> str:
        return f"{self.operator} -- {self.title}"


def check_contract(example: Example, *, expected: Expected | None = None, generated: int = RANDOM_TABLES) -> None:
    """Check all that an operator declares on an example, with Spark and without; parameters are those of :func:`check_operator`.

    Raises
    ------
    ContractBroken
        If the operator does not do what it declares; the message names the operator, the example and the rule.
    """
    check_operator(example, expected=expected, generated=generated)
    check_lowering(example)
    if generated:
        check_lowering_over_made_rows(example, expected or example.expected)


def check_operator(example: Example, *, expected: Expected | None = None, generated: int = RANDOM_TABLES) -> None:
    """Check all that does not need Spark, on the rows of an example and on rows that are made from the types of its inputs.

    Warns with :class:`~sframe_spark.errors.UncheckedWarning` of what is not checked, because no ``expected`` was given or there is no kernel.

    Parameters
    ----------
    example
        The example.
    expected
        A plain Python function from the rows of each input, as lists of tuples, to the rows of the result, in order; by default that of the example.
        Where it raises an error, the operator must raise one. Where it returns ``NotImplemented``, the operator does not take such rows.
    generated
        How many random tables are tried, besides some that are always the same; 0: only the rows of the example. Inputs that must be in order, or
        are otherwise related, need 0, or an ``expected`` that returns ``NotImplemented`` for other rows.

    Raises
    ------
    ContractBroken
        If the operator does not do what it declares.
    MissingLibraryError
        If rows are to be made and Hypothesis is not installed.

    Examples
    --------
    >>> from sframe_spark.operators.row_selection import slice_rows
    >>> from sframe_spark.operators.sources.in_memory import range_source
    >>> example = Example("slice", "every other row", lambda: slice_rows(range_source(0, 9), 1, 8, 2))
    >>> check_operator(example, expected=lambda rows: rows[1:8:2])
    """
    node = example.node()
    expected = expected or example.expected
    check_value(node)
    for child in node.inputs:
        # So that any failure is due to the example's operator.
        demand(child.operator.is_source, node, "an example's inputs are sources", child.operator_type)
    if not runs_as_kernel(node):
        few = operator_for_few_rows(node.operator)
        if few is not None:
            check_hash_partitions(node, kernel_rows(few.make_planner_node(*node.inputs)))
        warn_unchecked(f"the operator {example.operator!r} has no kernel: its rows are those of its Spark lowering, which check_lowering() checks")
        return
    tables = [rows_of(read_all(child), child.schema) for child in node.inputs]
    try:
        compared = check_rows(node, expected)
    except ContractBroken as error:
        raise error.of(rows=tables_text(tables) if tables else "") from error.__cause__
    demand(compared or expected is None, node, "expected() gives rows for those of the example", "NotImplemented")
    if expected is None:
        warn_unchecked(f"the rows of the operator {example.operator!r} were compared with no others: expected= takes a plain Python function of them")
    if generated and node.inputs:
        check_generated(rows_check(node, expected), [child.schema for child in node.inputs], is_aligned(node), generated)
    check_work_of_arrow(node)
    check_in_other_process(node, kernel_rows(node))


def warn_unchecked(message: str) -> None:
    """Warn of what was not checked, at the line of the test."""
    warnings.warn(UncheckedWarning(message), stacklevel=3)


def rows_check(node: PlannerNode, expected: Expected | None) -> Callable[[Tables], None]:
    """Return a check of the operator of a node on the rows of other tables; tables that the operator refuses are passed over."""

    def check(tables: Tables) -> None:
        other = node_over(node, tables)
        if other is not None:
            check_rows(other, expected)

    return check


def node_over(node: PlannerNode, tables: Tables) -> PlannerNode | None:
    """Return the operator of a node over other rows; None if it refuses them."""
    try:
        return over_rows(node, [chunk_of(rows, child.schema) for rows, child in zip(tables, node.inputs, strict=True)])
    except SFrameError:
        return None


def is_aligned(node: PlannerNode) -> bool:
    """Return whether the inputs of an operator must have equally many rows."""
    operator = node.operator
    return len(node.inputs) > 1 and (operator.row_wise or any(operator.requires(slot) is Need.ALIGNED for slot in range(len(node.inputs))))


def check_rows(node: PlannerNode, expected: Expected | None) -> bool:
    """Check an operator on the rows of its inputs; return whether its rows were compared with expected ones.

    Raises
    ------
    ContractBroken
        If the operator does not do what it declares, or does not give the expected rows.
    """
    tables = [rows_of(read_all(child), child.schema) for child in node.inputs]
    wanted: Any = NotImplemented
    failure: Exception | None = None
    if expected is not None:
        try:
            wanted = expected(*tables)
        except Exception as error:
            failure = error
        if failure is None and wanted is NotImplemented:
            return False
    try:
        chunk = run_kernel(node)
    except ContractBroken:
        raise
    except Exception as error:
        require_meant(node, error, failure, expected)
        return True
    rows = rows_of(chunk, node.schema)
    if failure is not None:
        found = f"it raises {type(failure).__name__}: {failure}, and the operator gives {difference([], rows, 'nothing', 'the kernel')}"
        raise ContractBroken(node, "expected() gives rows where the operator does", found) from failure
    if wanted is not NotImplemented:
        compare_with_expected(node, rows, wanted)
    check_all(node, chunk, rows)
    return wanted is not NotImplemented


def require_meant(node: PlannerNode, error: Exception, failure: Exception | None, expected: Expected | None) -> None:
    """Require that an error of a kernel is one that was expected, or a refusal of the rows.

    Raises
    ------
    ContractBroken
        If it is not.
    """
    refused = isinstance(error, SFrameError) and not isinstance(error, (UserFunctionError, PlanInvariantError))
    if failure is not None or (expected is None and refused):
        return
    rule = "the kernel gives the expected rows" if expected is not None else "the kernel takes all rows of its types"
    remedy = "An error that is meant is an InvalidArgumentError or SchemaError of sframe_spark.errors, or one that expected() raises too"
    raise ContractBroken(node, rule, f"{type(error).__name__}: {error}", remedy) from error


def compare_with_expected(node: PlannerNode, rows: Rows, wanted: Any) -> None:
    """Compare rows with those that an author expects.

    Raises
    ------
    ContractBroken
        If they differ.
    """
    width = len(node.schema)
    as_rows = [tuple(row) if isinstance(row, (tuple, list)) and (width != 1 or isinstance(row, tuple)) else (row,) for row in wanted]
    wrong = next((row for row in as_rows if len(row) != width), None)
    demand(wrong is None, node, "expected() gives tuples with a value for each column", f"{shown(wrong)} for {width} columns")
    as_rows = [tuple(as_column(value, kind.kind) for value, kind in zip(row, node.schema, strict=True)) for row in as_rows]
    if not same_rows(rows, as_rows):
        remedy = "Let the kernel give these rows, or expected() if the kernel is right"
        demand(False, node, "rows are the expected ones", difference(rows, as_rows, "the kernel", "expected()"), remedy)


def as_column(value: Any, kind: str) -> Any:
    """Return a value as a column of a kind has it: truth values are ints, and ints are floats in a column of floats.

    Examples
    --------
    >>> as_column(True, "int"), as_column(2, "float"), as_column(None, "float")
    (1, 2.0, None)
    """
    if isinstance(value, bool):
        value = int(value)
    return float(value) if kind == "float" and type(value) is int else value


def check_all(node: PlannerNode, chunk: Chunk, rows: Rows) -> None:
    """Check all that an operator declares on the rows of its kernel.

    Raises
    ------
    ContractBroken
        If something is not as declared, or the kernel fails for a part of the rows.
    """
    try:
        check_again(node, rows)
        check_facts(node, len(rows))
        check_claims(node, rows)
        check_useful_orders(node)
        check_row_choice(node, rows)
        check_rows_alone(node, rows)
        check_dense(node)
        check_states(node, rows)
        check_ranges(node, rows)
        check_parts(node, rows)
        check_split(node, rows)
        check_few_rows(node, rows)
        check_hash_partitions(node, rows)
        check_matches(node, rows)
        check_order_needs(node, rows, kernel_rows)
        check_declared_rewrites(node, chunk, rows)
    except UserFunctionError as error:
        remedy = (
            "Test inputs[0].rows, which may be 0, where the kernel reads single values, and give columns without rows, such as pa.array([], type)"
        )
        raise ContractBroken(node, "the kernel takes any part of these rows, also none of them", str(error), remedy) from error


def check_lowering(example: Example, difference_of: Callable[[Rows, Rows], str] | None = None, lowering: str = "plan_to_operator()") -> None:
    """Check the Spark lowering: types, order, claims, rows, and that the number of partitions does not matter.

    Parameters
    ----------
    example
        The example.
    difference_of
        Says how the rows of the kernel and those of Spark differ; by default by row and column.
    lowering
        What an author leaves out where only the kernel is right.

    Raises
    ------
    ContractBroken
        If the operator does not do what it declares.
    """
    node = example.node()
    if not has_lowering(node.operator):
        warn_unchecked(f"the operator {example.operator!r} has no Spark lowering: {limit_without_lowering(node)}")
        return
    rows = check_partitions(node)
    check_work_in_spark(node)
    check_parts(node, rows)
    if runs_as_kernel(node):
        found = kernel_rows(node)
        if not same_rows(found, rows):
            text = difference(found, rows, "the kernel", "Spark") if difference_of is None else difference_of(found, rows)
            remedy = f"The kernel is right where expected= was given: mend the other one, or leave {lowering} out, and the kernel computes all rows"
            demand(False, node, f"kernel and {lowering} give the same rows", text, remedy)
    else:
        check_facts(node, len(rows))
        check_claims(node, rows)
        check_few_rows(node, rows)
        check_order_needs(node, rows, lambda other: run_lowering(other, PARTITIONS[1]))


def check_lowering_over_made_rows(example: Example, expected: Expected | None = None) -> None:
    """Check the Spark lowering over rows of all kinds, made from the types of the inputs: the most that the kernel takes, and ``expected`` too.

    Raises
    ------
    ContractBroken
        If the operator does not do what it declares; the message has the rows.
    MissingLibraryError
        If Hypothesis is not installed.
    """
    node = example.node()
    if not (node.inputs and runs_as_kernel(node) and has_lowering(node.operator)):
        return
    schemas = [child.schema for child in node.inputs]
    made = sorted(fixed_tables(schemas, is_aligned(node)), key=lambda tables: min(map(len, tables)), reverse=True)
    for tables in made:
        over = node_over(node, tables)
        if over is not None and takes_rows(over, tables, expected):
            try:
                check_lowering(Example(example.operator, example.title, partial(_itself, over)))
            except ContractBroken as error:
                raise error.of(rows=tables_text(tables)) from error.__cause__
            return


def _itself(node: PlannerNode) -> PlannerNode:
    return node


def takes_rows(node: PlannerNode, tables: Tables, expected: Expected | None) -> bool:
    """Return whether an operator takes the rows of its inputs, and ``expected``, if it is given, says what becomes of them."""
    try:
        run_kernel(node)
        return expected is None or expected(*tables) is not NotImplemented
    except Exception:
        return False


def limit_without_lowering(node: PlannerNode) -> str:
    """Return what the lack of a Spark lowering means for users of an operator."""
    if node.operator.has_kernel:
        return "its kernel also reads the rows of Spark queries"
    if range_split_of(node.operator) is not None:
        return "rows beyond config.work_memory are computed range by range, in the user's process"
    return "rows beyond config.work_memory raise an error; a RangeSplit or plan_to_operator() lifts that"


def operators_without_examples(package: str, examples: Iterable[Example]) -> list[str]:
    """Return names of registered operators that are defined in a package and have no example.

    Parameters
    ----------
    package
        Name of the package, as in ``import``.
    examples
        All examples.
    """
    covered = {example.operator for example in examples}
    own = [name for name in registered_names() if planner_node_name_to_type(name).__module__.split(".")[0] == package]
    return [name for name in own if name not in covered]


__all__ = [
    "ContractBroken",
    "Example",
    "check_claims",
    "check_contract",
    "check_facts",
    "check_lowering",
    "check_operator",
    "check_value",
    "operators_without_examples",
    "same_value",
]
