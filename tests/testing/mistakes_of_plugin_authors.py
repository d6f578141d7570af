"""Mistakes of authors of plug-ins, each in the smallest plug-in that has it, with what finds it.

``python -m tests.testing.mistakes_of_plugin_authors`` writes them, with the messages, to ``docs/mistakes-in-plugins.md``. The marks say how a message
reads to somebody who knows only ``docs/extending.md``: 5 says what is wrong, where, and what to change; 4 leaves one of these to be guessed.
"""

from __future__ import annotations

import itertools
import random
import re
import textwrap
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark import SArray, SFrame
from sframe_spark.errors import UncheckedWarning
from sframe_spark.order import OrderingProperties
from sframe_spark.planner.registry import register
from sframe_spark.plugin import (
    FLOAT,
    INT,
    STR,
    Chunk,
    ColumnAggregate,
    Decomposition,
    FloatSum,
    Length,
    Need,
    Operator,
    QueryWork,
    RelationProperties,
    RowChoice,
    RowSlice,
    SequentialOperator,
    SparkCost,
    WholeKernel,
    call,
    define_aggregate,
    define_function,
    law,
    list_of,
    node_of,
)
from sframe_spark.testing.contract import Example, check_lowering, check_operator
from sframe_spark.testing.function_and_aggregate_contracts import check_aggregate, check_function
from sframe_spark.testing.law_contract import check_law

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "mistakes-in-plugins.md"


@attrs.frozen
class Mistake:
    """A mistake: what it is, what finds it, the mark of the message, and a function that makes it and raises what is found."""

    title: str
    found_by: str
    mark: int
    make: Callable[[], Any]
    needs_spark: bool = False


MISTAKES: list[Mistake] = []


def mistake(title: str, found_by: str, mark: int = 5, needs_spark: bool = False) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    def add(make: Callable[[], Any]) -> Callable[[], Any]:
        MISTAKES.append(Mistake(title, found_by, mark, make, needs_spark))
        return make

    return add


# Scalar functions.


def whole(types: Any, parameters: Any) -> Any:
    return INT


def real(types: Any, parameters: Any) -> Any:
    return FLOAT


@mistake("A function is called with too few arguments", "`call`, where it says `arguments=2`")
def arity() -> None:
    define_function("mistake_share", real, lambda a, t, p, n: pc.divide(a[0].cast("double"), a[1]), arguments=2)
    call("mistake_share", SArray([1]))


@mistake("A function that does not say how many arguments it takes is called with too few", "`call`")
def arity_that_is_not_said() -> None:
    define_function("mistake_unpacking", real, lambda a, t, p, n: pc.divide(a[0].cast("double"), a[1]))
    call("mistake_unpacking", SArray([1]))


@mistake("A kernel takes another number of arguments", "`check_function`")
def arity_of_kernel() -> None:
    def kernel(arguments: Any, types: Any, parameters: Any, rows: int) -> Any:
        part, all_of_it = arguments
        return pc.divide(part, all_of_it)

    define_function("mistake_share_of_two", real, kernel)
    check_function("mistake_share_of_two", FLOAT, spark=False)


@mistake("A type does not hold: texts are inferred, and floats given", "`check_function`")
def wrong_type() -> None:
    define_function("mistake_text", lambda t, p: STR, lambda a, t, p, n: pc.divide(a[0].cast("double"), 2.0))
    check_function("mistake_text", [1, 2, None], spark=False)


@mistake("A kernel gives too few rows", "`check_function`")
def too_few_rows() -> None:
    define_function("mistake_known", whole, lambda a, t, p, n: a[0].drop_null())
    check_function("mistake_known", [1, None, 3], spark=False)


@mistake("Rows see each other", "`check_function`")
def rows_see_each_other() -> None:
    define_function("mistake_above_mean", whole, lambda a, t, p, n: pc.subtract(a[0], pc.min(a[0])))
    check_function("mistake_above_mean", [3, None, 5], spark=False)


@mistake("A function draws random numbers", "`check_function`")
def randomness() -> None:
    define_function("mistake_noise", real, lambda a, t, p, n: pa.array([random.random() for _ in range(n)]))
    check_function("mistake_noise", [1, 2, 3], spark=False)


@mistake("A function keeps global state", "`check_function`")
def global_state() -> None:
    calls = itertools.count()
    define_function("mistake_calls", whole, lambda a, t, p, n: pa.array([next(calls)] * n, pa.int64()))
    # The state is in this process: what other processes get is a copy.
    check_function("mistake_calls", [1, 2, 3], spark=False)


# What a module has when it is imported, as another process does; the driver adds to it.
RATES: dict[str, float] = {}


def in_dollars(arguments: Any, types: Any, parameters: Any, rows: int) -> Any:
    return pc.multiply(arguments[0], RATES.get("dollar", 1.0))


@mistake("A function reads what only this process has", "`check_function`")
def state_of_the_driver() -> None:
    RATES["dollar"] = 2.0
    define_function("mistake_in_dollars", real, in_dollars, threads=True)
    check_function("mistake_in_dollars", [1.0, 2.0], spark=False, generated=0)


@mistake("A function for threads runs Python for each row", "`check_function`")
def python_in_threads() -> None:
    def kernel(arguments: Any, types: Any, parameters: Any, rows: int) -> Any:
        return pa.array([None if value is None else value + 1 for value in arguments[0].to_pylist()], pa.float64())

    define_function("mistake_threads", real, kernel, threads=True)
    check_function("mistake_threads", [1.0, 2.0], spark=False, generated=0)


@mistake("Missing values are wrong in both implementations, and so is NaN", "`check_function` with `expected=`")
def both_wrong() -> None:
    def greatest(first: float | None, second: float | None) -> float | None:
        return None if first is None or second is None else first if first != first or first > second else second

    define_function("mistake_max", real, lambda a, t, p, n: pc.max_element_wise(*a))
    check_function("mistake_max", FLOAT, FLOAT, spark=False, expected=greatest)


@mistake("Kernel and Spark expression disagree", "`check_function` on Spark", needs_spark=True)
def lowerings_disagree() -> None:
    define_function("mistake_next", whole, lambda a, t, p, n: pc.add(a[0], 1), build=lambda columns, t, p: columns[0] + 2)
    check_function("mistake_next", [1, None, 3])


@mistake("Missing values are wrong in one implementation", "`check_function` on Spark", needs_spark=True)
def missing_in_one() -> None:
    from pyspark.sql import functions as F

    build = lambda columns, t, p: F.coalesce(columns[0], F.lit(0)).cast("bigint")  # noqa: E731
    define_function("mistake_same", whole, lambda a, t, p, n: a[0], build=build)
    check_function("mistake_same", [1, 2, 3])


@mistake("A false `monotone`", "`check_function`")
def false_monotone() -> None:
    define_function("mistake_square", real, lambda a, t, p, n: pc.multiply(a[0], a[0]), monotone=lambda t, literals: "increasing")
    check_function("mistake_square", [1.0, 2.0, 3.0], spark=False)


@mistake("A function that cannot be pickled", "`check_function`; a plan that sends it says the same before a task runs")
def no_pickle() -> None:
    lock = threading.Lock()

    def kernel(arguments: Any, types: Any, parameters: Any, rows: int) -> Any:
        with lock:
            return arguments[0]

    define_function("mistake_locked", whole, kernel)
    check_function("mistake_locked", [1, 2, 3], spark=False)


@mistake("A name is taken twice", "`define_function`, `define_aggregate`, `@register`")
def name_taken() -> None:
    define_function("add", whole, lambda a, t, p, n: a[0])


# Aggregates.


@mistake("A merge is not associative: a mean of means", "`check_aggregate`")
def mean_of_means() -> None:
    parts = Decomposition(
        lambda a, n, t, p: pc.mean(a[0]).as_py(), lambda x, y, t: x if y is None else y if x is None else (x + y) / 2, lambda x, t, p: x
    )
    define_aggregate("mistake_mean", real, parts=parts, order_sensitive=False)
    # All parts of this example have the same mean.
    check_aggregate("mistake_mean", [2.0] * 6, spark=False)


@mistake("A `combine` is wrong for more than one missing value", "`check_aggregate`")
def combine_of_missing() -> None:
    def combine(first: Any, second: Any, types: Any) -> Any:
        return first[0] + second[0], first[1] or second[1]

    parts = Decomposition(lambda a, n, t, p: (n, a[0].null_count), combine, lambda x, t, p: x[0] - x[1])
    define_aggregate("mistake_known_count", whole, parts=parts, order_sensitive=False)
    check_aggregate("mistake_known_count", [1, None, 3, 4, 5, 6], spark=False)


@mistake("Order matters, though it is denied", "`check_aggregate`, `check_operator`")
def order_denied() -> None:
    define_aggregate("mistake_first", whole, lambda a, t, p: a[0][0].as_py() if len(a[0]) else None, order_sensitive=False)
    check_aggregate("mistake_first", [1, 1, 1, 1, 1, 1], spark=False)


@mistake("An aggregate is another one than meant, in all its forms", "`check_aggregate` with `expected=`")
def wrong_aggregate() -> None:
    define_aggregate("mistake_spread", whole, lambda a, t, p: pc.max(a[0]).as_py(), order_sensitive=False)

    def spread(values: list[int | None]) -> int | None:
        known = [value for value in values if value is not None]
        return max(known) - min(known) if known else None

    check_aggregate("mistake_spread", [0, 1, 2, 3, 4, 5], spark=False, expected=spread)


@mistake("An aggregate of state columns runs Python for each group, and does not say so", "`check_aggregate`")
def python_for_each_group() -> None:
    def of_columns(types: Any, columns: Any, parameters: Any) -> Any:
        def finish(sums: Any, *, last: bool) -> Any:
            return pa.array([round(value, 1) for value in sums.rounded().tolist()], pa.float64())

        return ColumnAggregate((FloatSum(columns[0]),), finish)

    define_aggregate("mistake_rounded_sum", real, of_columns=of_columns, order_sensitive=False)
    check_aggregate("mistake_rounded_sum", [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], spark=False, generated=0)


# Operators.


@attrs.frozen
class Base(Operator):
    """The rows as they are."""

    deterministic: ClassVar[bool] = True
    has_kernel: ClassVar[bool] = True
    keeps_dense: ClassVar[bool] = True
    row_wise: ClassVar[bool] = True

    def infer_type(self, inputs: Any) -> Any:
        return inputs[0].schema

    def requires(self, slot: int) -> Need:
        return Need.INHERITED

    def kernel(self, inputs: Any, facts: Any) -> Any:
        return inputs[0]


@attrs.frozen
class Running(SequentialOperator):
    """The number of each row."""

    keeps_dense: ClassVar[bool] = True

    def infer_type(self, inputs: Any) -> Any:
        return (INT,)

    def initial_state(self, facts: Any) -> Any:
        return 0

    def summarize(self, inputs: Any, facts: Any) -> Any:
        return inputs[0].rows

    def combine(self, first: Any, second: Any) -> Any:
        return first + second

    def advance(self, inputs: Any, facts: Any, state: Any) -> Any:
        rows = inputs[0].rows
        return Chunk((pa.array(np.arange(state, state + rows)),), rows), state + rows


FRAME = {"a": [1, 2, 3, 40], "b": [9, 8, 7, 1]}


def check(operator_class: type[Operator], columns: Any = None, expected: Any = None) -> None:
    """Check an operator over a frame of ints."""
    # Classes that a function defines cannot be pickled.
    operator_class.__qualname__ = operator_class.__name__
    globals()[operator_class.__name__] = operator_class
    register(operator_class)
    rows = node_of(SFrame(FRAME if columns is None else columns))
    check_operator(Example(operator_class.name, "ints", lambda: operator_class().make_planner_node(rows)), expected=expected)


@mistake("A false order", "`check_operator`")
def false_order() -> None:
    @attrs.frozen
    class Ordered(Base):
        name: ClassVar[str] = "mistake_ordered"

        def infer_properties(self, inputs: Any, facts: Any) -> Any:
            return RelationProperties(OrderingProperties(orderings=[[(0, "asc")]]))

    check(Ordered)


@mistake("Rows are dropped", "`check_operator`, with `expected=` where the number of rows is not known")
def dropped_rows() -> None:
    @attrs.frozen
    class Dropping(Base):
        name: ClassVar[str] = "mistake_dropping"
        row_wise: ClassVar[bool] = False
        keeps_dense: ClassVar[bool] = False
        row_choice: ClassVar[RowChoice | None] = RowChoice.FILTER

        def infer_length(self, inputs: Any) -> Any:
            return Length.unknown(at_most=inputs[0].length.at_most)

        def kernel(self, inputs: Any, facts: Any) -> Any:
            return inputs[0].take(pc.is_valid(inputs[0].columns[0]))

    check(Dropping, expected=lambda rows: rows)


@mistake("No `@attrs.frozen`", "`@register`")
def no_decorator() -> None:
    class Undecorated(Base):
        name: ClassVar[str] = "mistake_undecorated"
        rows: int

    check(Undecorated)


@mistake("No `@register`", "`check_operator`")
def not_registered() -> None:
    @attrs.frozen
    class Unregistered(Base):
        name: ClassVar[str] = "mistake_unregistered"

    rows = node_of(SArray([1]))
    check_operator(Example("mistake_unregistered", "ints", lambda: Unregistered().make_planner_node(rows)))


@mistake("A `combine` is wrong only if ranges are combined from the last on", "`check_operator`", mark=4)
def wrong_combine() -> None:
    @attrs.frozen
    class Combined(Running):
        """How many rows differ from the row before them; a state has the first and last values, and the number."""

        name: ClassVar[str] = "mistake_combine"

        def initial_state(self, facts: Any) -> Any:
            return None

        def summarize(self, inputs: Any, facts: Any) -> Any:
            return self.of(inputs[0].columns[0].to_pylist())

        def of(self, values: list[Any]) -> Any:
            return (values[0], values[-1], sum(a != b for a, b in itertools.pairwise(values))) if values else None

        def combine(self, first: Any, second: Any) -> Any:
            if first is None or second is None:
                return second if first is None else first
            # The first value is that of the second range.
            return second[0], second[1], first[2] + second[2] + (first[1] != second[0])

        def advance(self, inputs: Any, facts: Any, state: Any) -> Any:
            counts = []
            for value in inputs[0].columns[0].to_pylist():
                state = self.combine(state, (value, value, 0))
                counts.append(state[2])
            return Chunk((pa.array(counts, pa.int64()),), len(counts)), state

    check(Combined, {"a": [1, 2, 2, 3]})


@mistake("A `carried` forgets", "`check_operator`", mark=4)
def forgetful_carried() -> None:
    @attrs.frozen
    class Carried(Running):
        name: ClassVar[str] = "mistake_carried"

        def carried(self, state: Any) -> Any:
            return 0

    check(Carried)


@mistake("`row_wise`, though rows are numbered", "`check_operator`")
def false_row_wise() -> None:
    @attrs.frozen
    class RowByRow(Running):
        name: ClassVar[str] = "mistake_row_wise"
        row_wise: ClassVar[bool] = True

    check(RowByRow)


@mistake("False `column_origins`", "`check_operator`")
def false_origins() -> None:
    @attrs.frozen
    class Swapped(Base):
        name: ClassVar[str] = "mistake_swapped"

        def column_origins(self, inputs: Any) -> Any:
            return [[(0, 0)], [(0, 1)]]

        def kernel(self, inputs: Any, facts: Any) -> Any:
            return inputs[0].select([1, 0])

    check(Swapped)


@mistake("False `filtered_slots`", "`check_operator`", mark=4)
def false_filtered_slots() -> None:
    @attrs.frozen
    class AboveMean(Base):
        name: ClassVar[str] = "mistake_filtered"
        row_wise: ClassVar[bool] = False
        keeps_dense: ClassVar[bool] = False
        has_kernel: ClassVar[bool] = False
        row_choice: ClassVar[RowChoice | None] = RowChoice.OTHER
        filtered_slots: ClassVar[Any] = (0,)
        whole_kernel: ClassVar[Any] = WholeKernel()

        def kernel(self, inputs: Any, facts: Any) -> Any:
            rows = inputs[0]
            return rows.take(pc.fill_null(pc.greater(rows.columns[0], pc.mean(rows.columns[0])), False)) if rows.rows else rows

    check(AboveMean)


@mistake("False `input_columns` or `over_columns`", "`check_operator`", mark=4)
def false_over_columns() -> None:
    @attrs.frozen
    class Two(Base):
        name: ClassVar[str] = "mistake_columns"

        def input_columns(self, outputs: Any, inputs: Any) -> Any:
            return [[0]]

        def over_columns(self, outputs: Any, kept: Any, inputs: Any) -> Any:
            return Two(), outputs

        def infer_type(self, inputs: Any) -> Any:
            return (INT, INT)

        def kernel(self, inputs: Any, facts: Any) -> Any:
            return Chunk((inputs[0].columns[0], inputs[0].columns[-1]), inputs[0].rows)

    check(Two)


@mistake("False `group_keys`", "`check_operator`")
def false_group_keys() -> None:
    @attrs.frozen
    class Numbered(Base):
        """The distinct values of the first column, each with a number."""

        name: ClassVar[str] = "mistake_groups"
        row_wise: ClassVar[bool] = False
        keeps_dense: ClassVar[bool] = False
        has_kernel: ClassVar[bool] = False
        whole_kernel: ClassVar[Any] = WholeKernel()
        group_keys: ClassVar[Any] = (0,)

        def infer_type(self, inputs: Any) -> Any:
            return (INT, INT)

        def requires(self, slot: int) -> Need:
            return Need.ORDERED

        def kernel(self, inputs: Any, facts: Any) -> Any:
            keys = pc.unique(inputs[0].columns[0])
            return Chunk((keys, pa.array(np.arange(len(keys)))), len(keys))

    check(Numbered)


@mistake("`useful_orders` names no column of the input", "`check_operator`")
def false_useful_orders() -> None:
    @attrs.frozen
    class Useful(Base):
        name: ClassVar[str] = "mistake_useful"

        def useful_orders(self, inputs: Any) -> Any:
            return [(0, (2,))]

    check(Useful)


@mistake("False `computed_by_arrow`", "`check_operator`")
def false_computed_by_arrow() -> None:
    @attrs.frozen
    class Doubled(Base):
        name: ClassVar[str] = "mistake_by_arrow"

        def infer_type(self, inputs: Any) -> Any:
            return (list_of(INT),)

        def computed_by_arrow(self, inputs: Any) -> Any:
            return [0]

        def kernel(self, inputs: Any, facts: Any) -> Any:
            return Chunk.of([pa.array([[value] * 2 for value in inputs[0].columns[0].to_pylist()], list_of(INT).physical)])

    check(Doubled)


@mistake("An operator for threads runs Python for each row", "`check_operator`")
def operator_in_threads() -> None:
    @attrs.frozen
    class Threaded(Base):
        name: ClassVar[str] = "mistake_operator_threads"
        threads: ClassVar[bool] = True

        def kernel(self, inputs: Any, facts: Any) -> Any:
            return Chunk(tuple(pa.array([value for value in column.to_pylist() if True], pa.int64()) for column in inputs[0].columns), inputs[0].rows)

    check(Threaded)


@mistake("`spark_cost` says that Spark exchanges no rows", "`check_contract` on Spark", mark=4, needs_spark=True)
def false_spark_cost() -> None:
    @attrs.frozen
    class Turned(Base):
        """The rows in the order of the first column, downwards."""

        name: ClassVar[str] = "mistake_spark_cost"
        row_wise: ClassVar[bool] = False
        has_kernel: ClassVar[bool] = False
        spark_cost: ClassVar[SparkCost] = SparkCost(QueryWork(0, 0))

        def infer_length(self, inputs: Any) -> Any:
            return inputs[0].length

        def plan_to_operator(self, inputs: Any, context: Any) -> Any:
            rows = inputs[0]
            return attrs.evolve(rows, df=rows.df.repartition(3, rows.df["c0"]).sortWithinPartitions("c0"))

    register(Turned)
    check_lowering(Example("mistake_spark_cost", "ints", lambda: Turned().make_planner_node(node_of(SFrame(FRAME)))))


@mistake("False `arranges_columns`", "`check_operator`")
def false_arranges() -> None:
    @attrs.frozen
    class Arranged(Base):
        name: ClassVar[str] = "mistake_arranged"
        arranges_columns: ClassVar[bool] = True

    check(Arranged)


@mistake("A false `row_range`", "`check_operator`")
def false_row_range() -> None:
    @attrs.frozen
    class Ranged(Base):
        name: ClassVar[str] = "mistake_range"
        row_wise: ClassVar[bool] = False
        keeps_dense: ClassVar[bool] = False
        has_kernel: ClassVar[bool] = False
        whole_kernel: ClassVar[Any] = WholeKernel()

        @property
        def row_range(self) -> Any:
            return RowSlice(0, 2, 1)

        def requires(self, slot: int) -> Need:
            return Need.ORDERED

        def kernel(self, inputs: Any, facts: Any) -> Any:
            return inputs[0].slice(0, 3)

    check(Ranged)


@mistake("`keeps_dense`, though the number of rows is not known", "`check_operator`")
def false_keeps_dense() -> None:
    @attrs.frozen
    class Dense(Base):
        name: ClassVar[str] = "mistake_dense"
        row_wise: ClassVar[bool] = False

    check(Dense)


@mistake("A kernel fails where there are no rows", "`check_operator`")
def no_rows() -> None:
    @attrs.frozen
    class Nonempty(Base):
        name: ClassVar[str] = "mistake_nonempty"

        def kernel(self, inputs: Any, facts: Any) -> Any:
            inputs[0].columns[0][0].as_py()
            return inputs[0]

    check(Nonempty)


@mistake("A kernel gives a NumPy array", "`check_operator`")
def numpy_column() -> None:
    @attrs.frozen
    class OfNumpy(Base):
        name: ClassVar[str] = "mistake_numpy"

        def kernel(self, inputs: Any, facts: Any) -> Any:
            return Chunk((np.arange(inputs[0].rows),) * 2, inputs[0].rows)

    check(OfNumpy)


@mistake("`advance` gives no state", "`check_operator`")
def no_state() -> None:
    @attrs.frozen
    class Stateless(Running):
        name: ClassVar[str] = "mistake_stateless"

        def advance(self, inputs: Any, facts: Any, state: Any) -> Any:
            return super().advance(inputs, facts, state)[0]

    check(Stateless)


# Laws.


@mistake("A wrong law", "`check_law`")
def wrong_law() -> None:
    @law("reverse(slice(x)) = slice(reverse(x))", stage="pushdown", on="reverse")
    def through_slice(node: Any) -> Any:
        child = node.inputs[0]
        return child.with_inputs([node.with_inputs([child.inputs[0]])]) if child.operator_type == "slice" else None

    from sframe_spark.plugin import reverse, slice_rows

    # The first two of the two rows in the middle: the law is right for this plan, and wrong for its neighbours.
    check_law(through_slice, lambda rows: reverse(slice_rows(rows, 0, None)), INT)


@mistake("A law changes a type", "`check_law`, and the engine when it fires")
def law_of_other_type() -> None:
    from sframe_spark.plugin import project, reverse

    @law("reverse(x) = columns of x, twice", stage="pushdown", on="reverse")
    def twice(node: Any) -> Any:
        return project(node.inputs[0], [0, 0])

    check_law(twice, reverse, INT)


@mistake("A law that applies nowhere", "`check_law`")
def idle_law() -> None:
    from sframe_spark.plugin import reverse

    @law("reverse(x) = x where x has one row", stage="pushdown", on="slice")
    def never(node: Any) -> Any:
        return None

    check_law(never, reverse, INT)


def message_of(made: Mistake) -> str:
    """Return what is said of a mistake, as text that is the same each time."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UncheckedWarning)
            made.make()
    except Exception as error:
        # Random numbers are others each time; those that differ are shown as numbers that do.
        names: dict[str, str] = {}
        shown = re.sub(r"0\.\d{6,}", lambda match: names.setdefault(match[0], f"0.{123 + 333 * len(names)}"), str(error))
        return shown.replace(f"{ROOT}/", "")
    return ""


def page(texts: dict[str, str]) -> str:
    """Return the page, given the message of each mistake."""
    head = """# Mistakes in plug-ins, and what finds them

Each of these was written as the smallest plug-in that has the mistake (`tests/testing/mistakes_of_plugin_authors.py`,
`tests/testing/mistakes_of_source_authors.py`), and this is what [the contract kit](extending.md#the-contract-kit) said.
`check_operator`, `check_function`, `check_aggregate`, `check_source` and `check_writer` compare implementations with
each other and with what is declared. Where all are wrong in the same way, only an oracle finds it: `expected=`, a plain
Python function. A package whose entry point raises, or that takes a name that is taken, is left out whole, with one
warning; `sframe_spark.plugins()` lists it.
"""
    parts = [head]
    for made in MISTAKES:
        lines = [line for paragraph in texts[made.title].splitlines() for line in textwrap.wrap(paragraph, 114, subsequent_indent="  ") or [""]]
        parts.append("\n".join([f"## {made.title}", "", f"Found by {made.found_by}.", "", "```text", *lines, "```", ""]))
    return "\n".join(parts)


if __name__ == "__main__":
    # Functions of this program would be sent to other processes whole; those of a module are imported there.
    from tests.testing import mistakes_of_plugin_authors as imported, mistakes_of_source_authors  # noqa: F401  # it adds its own

    PAGE.write_text(imported.page({made.title: imported.message_of(made) for made in imported.MISTAKES}), encoding="utf-8")
