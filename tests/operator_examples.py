"""Examples of the built-in operators for the contract kit: each shows a case that a wrong operator would get wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import pyarrow as pa

from sframe_spark.compute.interval_grid import Grid
from sframe_spark.expressions.python_function import PythonFunction
from sframe_spark.expressions.scalar_function_program import Literal, Program, Register, Step
from sframe_spark.operators.append import Append
from sframe_spark.operators.elementwise import BinaryTransform, GeneralizedTransform, LambdaTransform, TernaryTransform, Transform
from sframe_spark.operators.explode import Explode
from sframe_spark.operators.flat_map import FlatMap
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.operators.groupby.groupby import GroupBy
from sframe_spark.operators.groupby.groupby_of_adjacent_equal_keys import GroupByOfAdjacentEqualKeys
from sframe_spark.operators.groupby.reduce_to_one_row import Reduce
from sframe_spark.operators.groupby.resampling import AssignIntervals, FillIntervals
from sframe_spark.operators.groupby.user_functions_on_rows_of_equal_time import CycleFunction, MapCycles
from sframe_spark.operators.joins.asof_join import AsofJoin
from sframe_spark.operators.joins.equi_join import KINDS, Join
from sframe_spark.operators.joins.hash_join import HashJoin
from sframe_spark.operators.joins.interpolation import Interpolation
from sframe_spark.operators.joins.interval_join import IntervalJoin
from sframe_spark.operators.joins.key_window_aggregates import KeyWindow
from sframe_spark.operators.joins.sorted_join import SortedJoin
from sframe_spark.operators.joins.union_of_sorted_inputs import MergeSorted
from sframe_spark.operators.project_zip_arrange import Arrange, Project, Zip
from sframe_spark.operators.row_number import RowNumber
from sframe_spark.operators.row_selection import Filter, FilterRows, Reverse, SliceRows
from sframe_spark.operators.sort_top_rows_and_assumed_order import AssumeOrder, Sort, SuffixSort, TopRows
from sframe_spark.operators.sources.in_memory import constant_source, range_source
from sframe_spark.operators.sources.row_source import RowSource
from sframe_spark.operators.sources.rows_of_sources import ScanParts, SourceParts, SourceRows
from sframe_spark.operators.sources.segment_row_ranges import parts_of
from sframe_spark.operators.sources.source_predicate import Predicate
from sframe_spark.operators.sources.source_table import SourceTable, table_of_sources
from sframe_spark.operators.sources.spark_frame import SparkSource
from sframe_spark.operators.window.cumulative import Cumulative
from sframe_spark.operators.window.filling import FillForward
from sframe_spark.operators.window.lagged import Lag, Lagged
from sframe_spark.operators.window.ranks_of_sorted_rows import RanksOfSortedRows
from sframe_spark.operators.window.rolling import Rolling
from sframe_spark.operators.window.rolling_by_key import RollingByKey
from sframe_spark.operators.window.rolling_rank import RollingRank
from sframe_spark.operators.window.running_by_group import Running
from sframe_spark.operators.window.session_numbers import SessionNumbers
from sframe_spark.operators.window.shift import Shift
from sframe_spark.operators.window.smoothing import ExponentialSmoothing
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import Operator
from sframe_spark.testing.contract import Example
from sframe_spark.types import ARRAY, ENCODED_LIST, FLOAT, INT, STR, ColumnType, dict_of, list_of
from sframe_spark.values.python_to_arrow import encode
from tests.random_tables import archive_source_of, segments_source, table_source
from tests.sample_functions import halved, missing_cells, row_twice

NAN = float("nan")

# Ties, missing values, NaN and both zeros; floats are quarters, so that sums are exact in any order.
COLUMNS: dict[str, tuple[ColumnType, Sequence[Any]]] = {
    "int": (INT, [3, 1, None, 2, 3, -4, 1, None, 5, 0, 3, 2, -4]),
    "float": (FLOAT, [0.5, NAN, -0.25, None, 2.0, -0.0, 0.0, 7.75, None, 1.5, -3.0, NAN, 0.5]),
    "text": (STR, ["b", "a", None, "", "b", "é", "a", "c", "b", None, "B", "a", "ab"]),
    "sorted": (INT, [None, -4, -4, 0, 1, 1, 1, 2, 3, 3, 5, 8, 9]),
    "falling": (FLOAT, [9.0, 8.5, 8.0, 7.0, 7.0, 7.0, None, 5.0, 4.0, NAN, 3.0, 2.0, 1.5]),
    "whole": (INT, [-6, -4, -4, 0, 1, 1, 1, 2, 3, 3, 5, 9, 9]),
    "labels": (INT, [-6, -6, 0, 3, 3, 9, 9, 9, 18, 21, 27, 27, 30]),
    "known": (FLOAT, [0.5, 1.25, -0.25, 3.0, 2.0, -0.0, 0.0, 7.75, -8.0, 1.5, -3.0, 6.0, 0.5]),
    "runs": (STR, ["a", "a", None, None, "b", "b", "b", "a", "a", "b", "", "", ""]),
    "lists": (list_of(INT), [[1, 2], [], None, [None, 3], [4], [], [5, 5], [6], None, [7], [], [8, 9, 10], [11]]),
    "dicts": (dict_of(STR, FLOAT), [{"a": 1.5}, {}, None, {"b": None, "a": 2.0}, *[{"c": 0.5}] * 8, {"z": -1.0}]),
    "vectors": (ARRAY, [[1.0, -0.0], [0.5, NAN], None, *[[0.25, 2.0]] * 8, [1.0], None]),
    "mixed": (ENCODED_LIST, [[1], None, [], [2, None], *[[3, 4, 5]] * 8, [6]]),
    "mask": (INT, [1, 0, 1, None, 2, 0, -1, 1, 0, 0, 1, None, 1]),
}


def table(*names: str) -> PlannerNode:
    """Thirteen rows in memory with the named columns."""
    types = [COLUMNS[name][0] for name in names]
    return table_source([COLUMNS[name][1] for name in names], types, 13)


def stored(*names: str) -> PlannerNode:
    """The same rows as segments on disk, one of them without rows."""
    types = [COLUMNS[name][0] for name in names]
    return segments_source([COLUMNS[name][1] for name in names], types, [0, 4, 4, 9, 13])


def archive(*names: str) -> PlannerNode:
    """The same rows as Turi Create would have saved them: two segments, blocks that end within them."""
    types = [COLUMNS[name][0] for name in names]
    return archive_source_of([COLUMNS[name][1] for name in names], types, [[2, 4], [], [1, 6]])


class SourceOfExamples(RowSource):
    """The thirteen rows as a plug-in's source gives them, in parts of five."""

    filters: ClassVar[bool] = True

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names

    def columns(self) -> Mapping[str, ColumnType]:
        return {name: COLUMNS[name][0] for name in self.names}

    def length(self) -> int:
        return 13

    def parts(self) -> Sequence[int]:
        return 5, 5, 3

    def read(self, start: int, stop: int, columns: Sequence[str], predicate: Predicate | None) -> Iterator[pa.Table]:
        rows = pa.table([encode(list(COLUMNS[name][1]), COLUMNS[name][0]) for name in columns], names=list(columns))
        yield rows.slice(start, stop - start) if predicate is None else predicate.filter(rows.slice(start, stop - start))


def source_of_plugin(*names: str) -> SourceTable:
    """The same rows as a plug-in's source gives them, in parts of five."""
    return table_of_sources([SourceOfExamples(names)])


def parts_of_source(table: SourceTable, start: int, stop: int) -> PlannerNode:
    """The numbers of some parts of a source."""
    return SourceParts(table, table.parts_between(0, 13), start, stop).make_planner_node()


def scan(table: SourceTable, start: int, stop: int, positions: tuple[int, ...] = (0, 1, 2)) -> PlannerNode:
    """The rows in some parts of a source."""
    return ScanParts(table, table.parts_between(0, 13), positions).make_planner_node(parts_of_source(table, start, stop))


def part(node: PlannerNode) -> PlannerNode:
    """Some columns and rows of a source, as laws leave it."""
    narrowed: Any = node.operator
    return PlannerNode(narrowed.with_columns([2, 0]).rows_between(3, 11))


def parts(*names: str) -> PlannerNode:
    """Some ranges of the rows on disk, as laws leave them: one row, and parts of two segments."""
    source: Any = stored(*names).operator
    return parts_of(source, [(0, 1), (2, 6), (7, 13)]).make_planner_node()


def rows_after(rows: list[dict[str, Any]]) -> list[int]:
    """For each of some rows how many come after it."""
    return list(range(len(rows) - 1, -1, -1))


def spark_frame() -> PlannerNode:
    """A user's DataFrame."""
    from sframe_spark.session import get_session

    rows = [(1, "a"), (2, None), (None, "c"), (1, "a")]
    return SparkSource(get_session().createDataFrame(rows, "c0 bigint, c1 string"), (INT, STR)).make_planner_node()


def example(title: str, operator: Operator, *inputs: Sequence[str]) -> Example:
    """An operator over tables of the columns named."""
    return Example(operator.name, title, lambda: operator.make_planner_node(*[table(*names) for names in inputs]))


SOURCES = (
    Example("memory_source", "all rows", lambda: table("int", "float", "text")),
    Example("memory_source", "some columns and rows", lambda: part(table("int", "float", "text"))),
    Example("segment_source", "all rows", lambda: stored("int", "float", "text")),
    Example("segment_source", "some columns and rows, cutting segments", lambda: part(stored("int", "float", "text"))),
    Example("segment_parts", "within segments and across them", lambda: parts("int", "float", "text")),
    Example("segment_parts", "some columns and rows", lambda: part(parts("int", "float", "text"))),
    Example("archive_source", "all rows", lambda: archive("int", "float", "text", "mixed")),
    Example("archive_source", "some columns and rows, cutting blocks", lambda: part(archive("int", "float", "text"))),
    Example("source_rows", "all rows", lambda: SourceRows(source_of_plugin("int", "float", "text"), (0, 1, 2), 0, 13).make_planner_node()),
    Example(
        "source_rows", "some columns and rows, cutting parts", lambda: SourceRows(source_of_plugin("int", "text"), (1,), 3, 11).make_planner_node()
    ),
    Example("source_parts", "some of them", lambda: parts_of_source(source_of_plugin("int"), 1, 3)),
    Example("scan_parts", "all parts", lambda: scan(source_of_plugin("int", "float", "text"), 0, 3)),
    Example("scan_parts", "some parts, one column", lambda: scan(source_of_plugin("text", "int"), 1, 3, (1,))),
    Example("range_source", "backwards", lambda: range_source(5, 12, -3)),
    Example("constant_source", "a text", lambda: constant_source("k", STR, 8)),
    Example("constant_source", "a missing float", lambda: constant_source(None, FLOAT, 8)),
    Example("spark_source", "rows that come as they like", spark_frame, needs_spark=True),
)

PROGRAM = Program(
    2,
    (
        Step("add", (Register(0), Register(1))),
        Step("multiply", (Register(2), Register(2))),
        Step("less", (Register(3), Literal(4.0, FLOAT))),
    ),
    (Register(4), Register(2), Literal("k", STR), Register(0)),
)

ROW_WISE = (
    example("columns in another order, one twice", Project((2, 0, 2)), ["int", "float", "text"]),
    example("columns of two tables, one twice", Arrange((1, 0, 1, 1), (0, 1, 1, 0)), ["int", "text"], ["float", "sorted"]),
    example("two tables", Zip(), ["int", "text"], ["float"]),
    example("a column and a constant", Transform(function="add", operands=(Register(0), Literal(10, INT))), ["int"]),
    example("two columns", BinaryTransform(function="multiply"), ["int"], ["float"]),
    example("a choice", TernaryTransform(function="if_else"), ["mask"], ["int"], ["int"]),
    example("a value read twice", GeneralizedTransform(PROGRAM), ["int", "float"]),
    example("a function of a value", LambdaTransform(PythonFunction(halved, INT)), ["int"]),
    example("a function of a row", LambdaTransform(PythonFunction(missing_cells, INT, ("a", "b"))), ["int", "text"]),
)

ROWS = (
    example("masks with missing values", Filter(), ["float", "text"], ["mask"]),
    example("rows in order", FilterRows(), ["sorted", "labels", "mask"]),
    example("the mask is the last column", FilterRows(), ["float", "text", "mask"]),
    example("a part", SliceRows(2, 9), ["int", "text"]),
    example("every third of the rest", SliceRows(1, None, 3), ["int", "text"]),
    example("rows in order", SliceRows(1, 11, 2), ["sorted", "labels"]),
    example("beyond the end", SliceRows(20, 30), ["int"]),
    example("rows in order one after the other", Append(), ["sorted", "text"], ["labels", "runs"]),
    example("three tables", Append(), ["int", "text"], ["mask", "text"], ["int", "text"]),
    example("items of lists, and of rows without", Explode(1, (INT,)), ["text", "lists", "float"]),
    example("items only", Explode(0, (INT,), False), ["lists", "sorted"]),
    example("keys and values", Explode(1, (STR, FLOAT)), ["int", "dicts"]),
    example("items of values that describe themselves", Explode(0, (INT,)), ["mixed", "text"]),
    example("no, one or two rows for a row", FlatMap(PythonFunction(row_twice, STR, ("a", "b")), (STR, INT)), ["int", "text"]),
)

ALONG = (
    example("from five", RowNumber(5), ["int"]),
    *[example(f"{kind} of floats", Cumulative(kind), ["float"]) for kind in ("mean", "min")],
    example("sum of ints", Cumulative("sum"), ["int"]),
    example("largest of two columns by key", Cumulative("max", (1, 2), (0,)), ["text", "int", "float"]),
    example("last known values by key", FillForward((0,), (1, 2)), ["runs", "text", "int"]),
    example("known values near by", FillForward((), (0,), 1, 1), ["text", "sorted"]),
    example("next known values within two of a key", FillForward((1,), (0,), 2, 2.0, True), ["int", "runs", "falling"]),
    example("ranks by key", RanksOfSortedRows(1, (0,)), ["labels", "sorted"]),
    example("ranks of all", RanksOfSortedRows(0), ["runs"]),
    example("ranks of whole windows", RollingRank((), (0,), 1, None, "min"), ["int"]),
    example("shares of ranks by key", RollingRank((1,), (0,), 3, 1, "average", False, True), ["float", "runs"]),
    example("several lags of two columns by key", Lagged((0,), (Lag(1, 1), Lag(2, 2), Lag(1, 2))), ["text", "int", "float"]),
    example("text with a value where there is none", Lagged((1,), (Lag(0, 2, Literal("none", STR)), Lag(0, 1, None, True))), ["text", "runs"]),
    example("sums of whole windows by key", RollingByKey((0,), (1, 2), "sum", -1, 0), ["runs", "int", "known"]),
    example("largest of later rows by key", RollingByKey((1,), (0,), "max", 0, 3, 1, True), ["float", "runs"]),
    example("around each row", Rolling("mean", -2, 1), ["int"]),
    example("only earlier rows, few are enough", Rolling("sum", -5, -2, 1), ["int"]),
    example("the largest float", Rolling("max", 0, 3, 2), ["float"]),
    example("down, with missing values", Shift(3), ["text"]),
    example("up, with a value", Shift(-2, Literal(0, INT)), ["int"]),
)

AGGREGATIONS = (Aggregation("count"), Aggregation("sum", (1,)), Aggregation("count_missing", (1,)))

NUMBERS = (
    *(Aggregation(function, (0,)) for function in ("mean", "var", "std", "min", "max")),
    *(Aggregation(function, (1,)) for function in ("sum", "max", "column_min", "column_max")),
    Aggregation("column_var", (0,), (1,)),
)

SO_FAR = (
    Aggregation("mean", (3,)),
    Aggregation("quantile", (2,), (0.0, 0.5, 1.0)),
    Aggregation("freq_count", (1,)),
    Aggregation("distinct", (3,)),
    Aggregation("concat", (0, 2)),
    Aggregation("count_runs", (2,)),
)

CLOCK = Chunk.of([pa.array([-4.0, 0.5, 2.0, 3.0])])

COUNTDOWN = CycleFunction(PythonFunction(rows_after, INT, ("a", "b")), ("left",), single=True)

IN_ORDER = (
    example("runs of equal keys", GroupByOfAdjacentEqualKeys((0,), AGGREGATIONS), ["runs", "int"]),
    example("runs divided further", GroupByOfAdjacentEqualKeys((0,), (Aggregation("concat", (1,)),), (2,)), ["runs", "int", "mask"]),
    example("sums and values so far by key", Running((0,), (Aggregation("sum", (1,)), Aggregation("concat", (1,)))), ["text", "int"]),
    example("what values so far tell by key", Running((0,), SO_FAR), ["text", "int", "float", "vectors"]),
    example("counts of all so far", Running((), (Aggregation("count"), Aggregation("max", (0,)))), ["float"]),
    example("ties of a column in order", SuffixSort(((0, True), (1, False)), 1), ["sorted", "float", "text"]),
    example("ties of a column in order, by text", SuffixSort(((0, True), (2, True), (1, True)), 1), ["sorted", "float", "text"]),
    example("rows backwards", Reverse(), ["sorted", "text"]),
    example("runs of a column, counted by key", GroupByOfAdjacentEqualKeys((0,), (Aggregation("count_runs", (1,)),)), ["runs", "float"]),
    example("rows in order", AssumeOrder(((0, True),)), ["sorted", "text"]),
    example("by time, with missing times", ExponentialSmoothing(0, 1, (), 2.0), ["float", "sorted"]),
    example("by time of a key", ExponentialSmoothing(0, 1, (2,), 1.5), ["int", "sorted", "text"]),
    example("sums of a key", ExponentialSmoothing(0, 1, (2,), 1.5, "sum"), ["int", "sorted", "text"]),
    example("sums at the last value", ExponentialSmoothing(0, 1, (), 2.0, "total"), ["float", "sorted"]),
    example("squares of a key", ExponentialSmoothing(0, 1, (2,), 1.5, "added_squares"), ["int", "sorted", "text"]),
    example("sums before values", ExponentialSmoothing(0, 1, (), 1.5, "total_before"), ["float", "sorted"]),
    example("sessions of a key", SessionNumbers(0, 1, (1,)), ["sorted", "text"]),
    example("sessions of all rows", SessionNumbers(0, 0), ["sorted"]),
    example("gaps of a key", ExponentialSmoothing(0, 1, (2,), 1.5, "gap"), ["float", "sorted", "text"]),
    example("a function of the rows of a key", MapCycles(COUNTDOWN, (INT,), (0,)), ["runs", "int"]),
    example("ends of intervals, of float keys", AssignIntervals(1, Grid(0.75, "right", "left")), ["int", "float"]),
    example("intervals that do not begin at zero", AssignIntervals(0, Grid(7, "right", origin=3)), ["int", "float"]),
    example("intervals of a clock", AssignIntervals(0, Grid(None), CLOCK, FLOAT), ["int", "text"]),
    example("intervals without rows", FillIntervals(Grid(3)), ["labels", "text"]),
    example("intervals without rows, from an origin", FillIntervals(Grid(3, origin=0.0)), ["labels", "text"]),
    example("the last row again, by key", FillIntervals(Grid(3), 1, forward=True), ["labels", "runs", "float"]),
    example("matches in a sorted table", SortedJoin(1, 0, "inner"), ["text", "labels"], ["whole", "runs"]),
    example("matches in a sorted table, or none", SortedJoin(0, 0, "left"), ["int", "text"], ["whole", "text"]),
    example("the row before", AsofJoin(0, (), (1, 0)), ["int"], ["sorted", "text"]),
    example("the row after in its group, not too far", AsofJoin(0, (1,), (1,), "forward", 3), ["int", "text"], ["sorted", "text"]),
    example("rows with a key near", KeyWindow(0, (), 2, 1, AGGREGATIONS, (1, 0)), ["int", "mask"], ["sorted", "int"]),
    example("rows of the same text", KeyWindow(0, (1,), 3, 0, (Aggregation("concat", (0,)),)), ["int", "text"], ["sorted", "text"]),
    example("an open window after a gap", KeyWindow(0, (), 4, -1, AGGREGATIONS[:4], (1,), closed="neither"), ["int", "mask"], ["sorted", "int"]),
    example(
        "a window and what prevails where it starts, in another table",
        KeyWindow(1, (0,), 1, None, (Aggregation("concat", (1,)), Aggregation("count")), (1,), (2, 0), "right", True),
        ["text", "float", "int"],
        ["text", "sorted"],
    ),
    example(
        "rows of a text with a key near, in the order of both",
        KeyWindow(1, (0,), 2, 0, (Aggregation("concat", (1,)), Aggregation("sum", (1,))), (1,), (), "left", within_groups=True),
        ["labels", "sorted"],
        ["labels", "sorted"],
    ),
    example("points in intervals", IntervalJoin((0, 0), (0, 1), (), (), (1, 2), "left", "left"), ["int", "text"], ["sorted", "whole", "text"]),
    example("intervals of a text that overlap", IntervalJoin((0, 1), (0, 2), (2,), (1,), (0,)), ["mask", "int", "text"], ["sorted", "text", "int"]),
    example("points of intervals, numbered", IntervalJoin((0, 1), (0, 0), (), (), (1,), number=2), ["mask", "int"], ["sorted", "text", "labels"]),
    example(
        "points between values of a key",
        Interpolation(0, 1, 2, (3,), (3,)),
        ["labels", "float", "whole", "text"],
        ["labels", "known", "whole", "text"],
    ),
    example("points by row number", Interpolation(0, 1, 0), ["labels", "int"], ["labels", "whole"]),
    example("nearest values not far away", Interpolation(0, 1, 0, method="nearest", measure=0, limit=4), ["labels", "int"], ["labels", "whole"]),
    example("rows of two tables in one order", MergeSorted(((0, True),), ("key",)), ["sorted", "text"], ["labels", "runs"]),
    example("in the order of two columns", MergeSorted(((1, True), (0, True)), ("b", "a")), ["sorted", "labels"], ["sorted", "whole"]),
    example("the nearest other row", AsofJoin(0, (), (0,), "nearest", allow_exact=False), ["int"], ["sorted"]),
)

EXCHANGES = (
    example("groups of texts", GroupBy((0,), AGGREGATIONS), ["text", "int"]),
    example("groups of rows in order", GroupBy((0,), (Aggregation("count"), Aggregation("min", (1,)))), ["sorted", "labels"]),
    example("groups by two keys, order matters", GroupBy((2, 0), (Aggregation("concat", (1,)),)), ["text", "int", "float"]),
    example("distinct rows", GroupBy((0, 1)), ["int", "mask"]),
    example("any order", Reduce(AGGREGATIONS), ["text", "int"]),
    example("moments and extremes", Reduce(NUMBERS), ["int", "float"]),
    example("in order", Reduce((Aggregation("concat", (0,)),)), ["text"]),
    *[example(f"{how}, missing keys and ties", Join((0,), (1,), how), ["text", "int"], ["int", "text"]) for how in KINDS],
    *[example(f"{how} of few rows", HashJoin((0,), (1,), how), ["text", "int"], ["int", "text"]) for how in KINDS],
    example("two keys of few rows, both zeros and NaN", HashJoin((0, 1), (1, 0), "outer"), ["float", "text"], ["text", "float", "int"]),
    example("both sides in order", Join((0,), (0,), "left"), ["sorted", "text"], ["sorted", "labels"]),
    example("two keys", Join((0, 1), (1, 0), "inner"), ["int", "text"], ["text", "int", "float"]),
    example("missing first, NaN last, ties in order", Sort(((0, True),)), ["float", "text"]),
    example("rows in another order before", Sort(((1, True),)), ["sorted", "runs"]),
    example("one column up, one down", Sort(((1, False), (0, True))), ["float", "text"]),
    example("ties at the end", TopRows(((1, False),), 4), ["float", "text"]),
)

EXAMPLES: tuple[Example, ...] = (*SOURCES, *ROW_WISE, *ROWS, *ALONG, *IN_ORDER, *EXCHANGES)
"""Examples of all built-in operators."""
