"""A call of each public member on columns of one native type: what is planned for it, and whether it looks at values one by one in Python."""

from __future__ import annotations

import contextlib
import datetime
import io
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np
import polars
import pyarrow as pa
import pytest

from sframe_spark import SArray, SFrame, aggregate
from sframe_spark.engine import costs
from sframe_spark.engine.execution import action_planning_and_function_call_claims as actions
from sframe_spark.expressions.functions.number_functions import NUMBER_FUNCTIONS
from sframe_spark.expressions.scalar_function_program import Program
from sframe_spark.operators.elementwise import RowWise
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.process import control_groups, memory
from tests.work import calls_of

FEW, MANY = 500, 2500
START = datetime.datetime(2024, 1, 1)
DAY = datetime.timedelta(days=1)


def table(rows: int) -> pa.Table:
    """Columns of all types with a native form, a missing value in most."""
    numbers = np.arange(rows)
    texts = pa.array([None if number == 3 else f"row {number % 50}" for number in range(rows)])
    offsets = pa.array(np.arange(rows + 1) * 2, pa.int32())
    return pa.table(
        {
            "id": pa.array(numbers),
            "key": pa.array(numbers * 7 % 20),
            "int": pa.array(numbers * 31 % 97, mask=numbers == 5),
            "float": pa.array(numbers * 0.5, mask=numbers == 5),
            "text": texts,
            "moment": pa.array(numbers * 1_000_000, pa.timestamp("us")),
            "written": pa.array([f"2024-01-02 03:04:{number % 60:02}" for number in range(rows)]),
            "array": pa.ListArray.from_arrays(offsets, pa.array(np.arange(rows * 2) * 0.5)),
            "list": pa.ListArray.from_arrays(offsets, pa.array([f"item {number % 9}" for number in range(rows * 2)])),
            "dict": pa.MapArray.from_arrays(offsets, pa.array(["a", "b"] * rows), pa.array(np.arange(rows * 2))),
        }
    )


@attrs.define
class Given:
    """What members are called on.

    Parameters
    ----------
    rows
        How many rows.
    directory
        Where files go.
    """

    rows: int
    directory: str
    frame: SFrame = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.frame = SFrame.from_arrow(table(self.rows))
        self.frame.materialize()
        assert not any(kind.is_encoded for kind in self.frame._node.schema)

    def __getitem__(self, name: str) -> SArray:
        return self.frame[name]

    def path(self, name: str) -> str:
        """A place for a file."""
        return f"{self.directory}/{name}"

    def numbers(self) -> SFrame:
        """Columns that files of any kind hold."""
        return self.frame[["id", "key", "int", "float", "text", "moment"]]

    def few(self) -> SFrame:
        """Some of the keys."""
        return SFrame({"key": [1, 2, 3], "name": ["x", "y", "z"]})


Call = Callable[[Given], Any]
SUMS = {"sum": aggregate.SUM("float"), "n": aggregate.COUNT()}
# Members of columns: what is called, on columns of these types.
ARRAY: dict[str, Call] = {
    **{name: lambda g, name=name: getattr(g["float"], name)() for name in NUMBER_FUNCTIONS},
    "round": lambda g: g["float"].round(1),
    "abs": lambda g: g["int"].abs(),
    "all": lambda g: g["int"].all(),
    "any": lambda g: g["int"].any(),
    "append": lambda g: g["int"].append(g["key"]),
    "apply": lambda g: g["int"].apply(lambda value: value + 1),
    "argmax": lambda g: g["int"].argmax(),
    "argmin": lambda g: g["int"].argmin(),
    "astype": lambda g: g["int"].astype(float),
    "checkpoint": lambda g: (g["int"] + 1).checkpoint(g.path("kept column")),
    "clip": lambda g: g["int"].clip(3, 50),
    "clip_lower": lambda g: g["int"].clip_lower(3),
    "clip_upper": lambda g: g["int"].clip_upper(50),
    "contains": lambda g: g["text"].contains("1"),
    "countna": lambda g: g["int"].countna(),
    "cumulative_max": lambda g: g["int"].cumulative_max(),
    "cumulative_mean": lambda g: g["int"].cumulative_mean(),
    "cumulative_min": lambda g: g["int"].cumulative_min(),
    "cumulative_std": lambda g: g["int"].cumulative_std(),
    "cumulative_sum": lambda g: g["int"].cumulative_sum(),
    "cumulative_var": lambda g: g["int"].cumulative_var(),
    "date_range": lambda g: SArray.date_range(START, START + g.rows * DAY, DAY),
    "datetime_to_str": lambda g: g["moment"].datetime_to_str("%Y-%m-%d"),
    "dict_has_all_keys": lambda g: g["dict"].dict_has_all_keys(["a"]),
    "dict_has_any_keys": lambda g: g["dict"].dict_has_any_keys(["a", "z"]),
    "dict_keys": lambda g: g["dict"].dict_keys(),
    "dict_trim_by_keys": lambda g: g["dict"].dict_trim_by_keys(["a"]),
    "dict_trim_by_values": lambda g: g["dict"].dict_trim_by_values(5, 50),
    "dict_values": lambda g: g["dict"].dict_values(),
    "diff": lambda g: g["int"].diff(),
    "dropna": lambda g: g["int"].dropna(),
    "pixel_array_to_image": lambda g: g["array"].clip(0, 255).pixel_array_to_image(2, 1, 1, allow_rounding=True),
    "element_slice": lambda g: g["text"].element_slice(0, 3),
    "cut": lambda g: g["int"].cut([0, 30, 60, 99]),
    "fill_backward": lambda g: g["int"].fill_backward(),
    "fill_forward": lambda g: g["int"].fill_forward(limit=3),
    "in_zone": lambda g: g["moment"].from_zone("UTC").in_zone("America/New_York"),
    "interpolate": lambda g: g["int"].interpolate(),
    "pct_change": lambda g: g["int"].pct_change(),
    "qcut": lambda g: g["int"].qcut(4),
    "rank": lambda g: g["int"].rank(),
    "rolling_rank": lambda g: g["int"].rolling_rank(-4),
    "str_pad": lambda g: g["text"].str_pad(5, "both", "."),
    "fillna": lambda g: g["int"].fillna(0),
    "filter": lambda g: g["int"].filter(lambda value: value > 3),
    "filter_by": lambda g: g["int"].filter_by([1, 2, 3]),
    "floor_time": lambda g: g["moment"].floor_time("1mo"),
    "from_zone": lambda g: g["moment"].from_zone("Europe/Dublin"),
    "from_const": lambda g: SArray.from_const("a", g.rows),
    "from_sequence": lambda g: SArray.from_sequence(g.rows),
    "hash": lambda g: g["text"].hash(),
    "head": lambda g: g["int"].head(g.rows // 2),
    "is_in": lambda g: g["int"].is_in([1, 2, 3]),
    "is_topk": lambda g: g["int"].is_topk(5),
    "item_length": lambda g: g["list"].item_length(),
    "max": lambda g: g["int"].max(),
    "mean": lambda g: g["float"].mean(),
    "correlation": lambda g: g["float"].correlation(g["int"]),
    "autocorrelation": lambda g: g.frame["float"].autocorrelation(2),
    "covariance": lambda g: g["float"].covariance(g["int"], ddof=1),
    "cumulative_product": lambda g: g["int"].cumulative_product(),
    "geometric_mean": lambda g: abs(g["float"]).geometric_mean(),
    "kurtosis": lambda g: g["float"].kurtosis(),
    "product": lambda g: g["int"].product(),
    "quantile": lambda g: g["float"].quantile([0.1, 0.5]),
    "skewness": lambda g: g["float"].skewness(bias=False),
    "median": lambda g: g["float"].median(),
    "min": lambda g: g["int"].min(),
    "nnz": lambda g: g["int"].nnz(),
    "random_integers": lambda g: SArray.random_integers(g.rows, seed=1),
    "random_split": lambda g: g["int"].random_split(0.5, seed=1),
    "read_json": lambda g: SArray.read_json(saved(g, "values.json", lambda path: write_numbers(path, g.rows))),
    "rolling_count": lambda g: g["int"].rolling_count(-2, 0),
    "rolling_max": lambda g: g["int"].rolling_max(-2, 0),
    "rolling_mean": lambda g: g["int"].rolling_mean(-2, 0),
    "rolling_min": lambda g: g["int"].rolling_min(-2, 0),
    "rolling_stdv": lambda g: g["int"].rolling_stdv(-2, 0),
    "rolling_sum": lambda g: g["int"].rolling_sum(-2, 0),
    "rolling_var": lambda g: g["int"].rolling_var(-2, 0),
    "sample": lambda g: g["int"].sample(0.5, seed=1),
    "save": lambda g: g["int"].save(g.path("column")),
    "shift": lambda g: g["int"].shift(2),
    "shuffle": lambda g: g["int"].shuffle(seed=1),
    "sort": lambda g: g["int"].sort(),
    "split_datetime": lambda g: g["moment"].split_datetime(),
    "stack": lambda g: g["list"].stack("item"),
    "std": lambda g: g["float"].std(),
    "str_to_datetime": lambda g: g["written"].str_to_datetime("%Y-%m-%d %H:%M:%S"),
    "sum": lambda g: g["int"].sum(),
    "summary": lambda g: g["int"].summary().mean(),
    "tail": lambda g: g["int"].tail(g.rows // 2),
    "to_arrow": lambda g: g["int"].to_arrow(),
    "to_numpy": lambda g: g["id"].to_numpy(),
    "unique": lambda g: g["int"].unique(),
    "unpack": lambda g: g["array"].unpack(),
    "value_counts": lambda g: g["int"].value_counts(),
    "var": lambda g: g["float"].var(),
    "vector_slice": lambda g: g["array"].vector_slice(1),
    "where": lambda g: SArray.where(g["key"] > 5, g["int"], g["id"]),
}
FRAME: dict[str, Call] = {
    "add_column": lambda g: g.frame.add_column(g["int"], "more"),
    "add_columns": lambda g: g.frame.add_columns([g["int"], g["key"]], ["x", "y"]),
    "add_columns_by_cycle": lambda g: g.frame[["id"]].add_columns_by_cycle(lambda rows: {"n": [1] * len(rows)}, ["n"], on="id", dtypes=[int]),
    "add_row_number": lambda g: g.frame.add_row_number("row"),
    "append": lambda g: g.frame.append(g.frame),
    "apply": lambda g: g.frame[["id", "int"]].apply(lambda row: row["id"]),
    "asof_join": lambda g: g.frame[["id", "float"]].asof_join(g.frame[["id", "text"]], on="id"),
    "assume_sorted": lambda g: g.frame.assume_sorted("id"),
    "checkpoint": lambda g: g.frame[["id", "text"]][::2].checkpoint(g.path("kept frame")),
    "copy": lambda g: g.frame.copy(),
    "describe_time": lambda g: g.frame.describe_time("moment", by="key"),
    "drop_duplicates": lambda g: g.frame.drop_duplicates(["key"]),
    "dropna": lambda g: g.frame.dropna(),
    "dropna_split": lambda g: g.frame.dropna_split(),
    "exponential_smoothing": lambda g: g.frame.exponential_smoothing("id", half_life=3),
    "export_csv": lambda g: g.numbers().export_csv(g.path("rows.csv")),
    "export_json": lambda g: g.numbers().export_json(g.path("rows.json")),
    "fillna": lambda g: g.frame.fillna("int", 0),
    "filter_by": lambda g: g.frame.filter_by([1, 2], "key"),
    "floor_time": lambda g: g.frame.floor_time("moment", "1d"),
    "flat_map": lambda g: g.frame[["id"]].flat_map(["x"], lambda row: [[row["id"]]], column_types=[int]),
    "from_arrow": lambda g: SFrame.from_arrow(table(g.rows)),
    "from_pandas": lambda g: SFrame.from_pandas(g.frame[["id", "float"]].to_pandas()),
    "from_polars": lambda g: SFrame.from_polars(polars.from_arrow(g.frame[["id", "float"]].to_arrow())),
    "groupby": lambda g: g.frame.groupby("key", SUMS),
    "groupby_cycles": lambda g: g.frame.groupby_cycles("id", operations=SUMS),
    "groupby_intervals": lambda g: g.frame.groupby_intervals("id", every=10, operations=SUMS),
    "groupby_runs": lambda g: g.frame.groupby_runs("key", SUMS),
    "head": lambda g: g.frame.head(g.rows // 2),
    "qcut": lambda g: g.frame.qcut("int", 4, by="key"),
    "rolling_rank": lambda g: g.frame.rolling_rank("int", -2, 1, by="key"),
    "rank": lambda g: g.frame.rank("int", by="key"),
    "fill_backward": lambda g: g.frame.fill_backward("int", by="key"),
    "fill_forward": lambda g: g.frame.fill_forward(["int", "text"], on="id", by="key", limit=3),
    "interpolate": lambda g: g.frame.interpolate("int", on="id", by="key"),
    "join": lambda g: g.frame.join(g.few(), on="key"),
    "merge_sorted": lambda g: g.frame.merge_sorted(g.frame, on="id"),
    "pack_columns": lambda g: g.frame.pack_columns(["id", "int"], dtype=list, new_column_name="both"),
    "print_rows": lambda g: g.frame.print_rows(5, output_file=io.StringIO()),
    "random_split": lambda g: g.frame.random_split(0.5, seed=1),
    "read": lambda g: SFrame.read(saved(g, "given.arrow", lambda path: g.numbers().write(path))),
    "read_csv": lambda g: SFrame.read_csv(saved(g, "given.csv", lambda path: g.numbers().export_csv(path))),
    "read_csv_with_errors": lambda g: SFrame.read_csv_with_errors(saved(g, "given.csv", lambda path: g.numbers().export_csv(path))),
    "read_json": lambda g: SFrame.read_json(saved(g, "given.json", lambda path: g.numbers().export_json(path))),
    "read_orc": lambda g: SFrame.read_orc(saved(g, "given.orc", lambda path: g.numbers().write_orc(path))),
    "read_parquet": lambda g: SFrame.read_parquet(saved(g, "given.parquet", lambda path: g.numbers().write_parquet(path))),
    "remove_column": lambda g: g.frame.remove_column("text"),
    "remove_columns": lambda g: g.frame.remove_columns(["text", "list"]),
    "rename": lambda g: g.frame.rename({"text": "words"}),
    "resample": lambda g: g.frame.resample("id", every=2, operations=SUMS),
    "running": lambda g: g.frame.running({"total": aggregate.SUM("int")}),
    "sample": lambda g: g.frame.sample(0.5, seed=1),
    "save": lambda g: g.frame.save(g.path("frame")),
    "sessions": lambda g: g.frame.sessions("id", gap=3),
    "select_column": lambda g: g.frame.select_column("text"),
    "select_columns": lambda g: g.frame.select_columns(["text", "int"]),
    "cumulative_max": lambda g: g.frame.cumulative_max("int", by="key"),
    "cumulative_mean": lambda g: g.frame.cumulative_mean("int", by="key"),
    "cumulative_min": lambda g: g.frame.cumulative_min("int", by="key"),
    "cumulative_std": lambda g: g.frame.cumulative_std("int", by="key"),
    "cumulative_sum": lambda g: g.frame.cumulative_sum("int", by="key"),
    "cumulative_product": lambda g: g.frame.cumulative_product("int", by="key"),
    "cumulative_var": lambda g: g.frame.cumulative_var("int", by="key"),
    "diff": lambda g: g.frame.diff("int", by="key"),
    "pct_change": lambda g: g.frame.pct_change("int", by="key"),
    "shift": lambda g: g.frame.shift("int", [1, -1], by="key"),
    "rolling_count": lambda g: g.frame.rolling_count("int", -2, 0, by="key"),
    "rolling_max": lambda g: g.frame.rolling_max("int", -2, 0, by="key"),
    "rolling_mean": lambda g: g.frame.rolling_mean("int", -2, 0, by="key"),
    "rolling_min": lambda g: g.frame.rolling_min("int", -2, 0, by="key"),
    "rolling_stdv": lambda g: g.frame.rolling_stdv("int", -2, 0, by="key"),
    "rolling_sum": lambda g: g.frame.rolling_sum("int", -2, 0, by="key"),
    "rolling_var": lambda g: g.frame.rolling_var("int", -2, 0, by="key"),
    "shift_time": lambda g: g.frame.shift_time("moment", DAY),
    "shuffle": lambda g: g.frame.shuffle(seed=1),
    "sort": lambda g: g.frame.sort(["key", "int"]),
    "split_datetime": lambda g: g.frame.split_datetime("moment"),
    "stack": lambda g: g.frame[["id", "list"]].stack("list"),
    "swap_columns": lambda g: g.frame.swap_columns("text", "int"),
    "tail": lambda g: g.frame.tail(g.rows // 2),
    "to_arrow": lambda g: g.frame.to_arrow(),
    "to_dataframe": lambda g: g.frame[["id", "float"]].to_dataframe(),
    "to_numpy": lambda g: g.frame[["id", "key"]].to_numpy(),
    "to_pandas": lambda g: g.frame[["id", "float"]].to_pandas(),
    "topk": lambda g: g.frame.topk("int", 5),
    "uniform_clock": lambda g: SFrame.uniform_clock(START, START + g.rows * DAY, DAY),
    "unique": lambda g: g.numbers().unique(),
    "unpack": lambda g: g.frame[["id", "array"]].unpack("array"),
    "unstack": lambda g: g.frame[["key", "int"]].unstack("int", "ints"),
    "join_between": lambda g: g.frame.join_between(SFrame({"from": [2, 9], "to": [9, 40]}), "id", "from", "to"),
    "join_overlapping": lambda g: g.frame[["id", "int"]].join_overlapping(SFrame({"id": [2, 9], "int": [9, 40]}), "id", "int"),
    "merge_intervals": lambda g: g.frame.merge_intervals("id", "int", operations={"n": aggregate.COUNT()}),
    "disjoint_intervals": lambda g: g.frame[["id", "int"]].head(20).disjoint_intervals("id", "int", operations={"n": aggregate.COUNT()}),
    "events": lambda g: g.frame.events(SFrame({"id": [2, 9]}), "id", before=2, after=1),
    "window": lambda g: g.frame.window("id", {"sum": aggregate.SUM("float")}, before=5),
    "write": lambda g: g.numbers().write(g.path("rows.arrow")),
    "write_orc": lambda g: g.numbers().write_orc(g.path("orc")),
    "write_parquet": lambda g: g.numbers().write_parquet(g.path("parquet")),
    "from_sql": lambda g: from_sql(g),
    "to_sql": lambda g: to_sql(g),
}
# What they do is no work on rows, or another program's.
TELLS = "returns known facts, or makes a plan"
SHOWS = "draws results of other members"
OTHERS = {
    "SArray": {**dict.fromkeys(("dtype", "shape", "explain", "last_run", "is_materialized", "materialize"), TELLS)}
    | {"str": "functions of texts, each with its own kernel", "dt": "parts of date-times, each with its own kernel"}
    | dict.fromkeys(("plot", "show", "explore"), SHOWS),
    "SFrame": {
        **dict.fromkeys(("dtype", "shape", "explain", "last_run", "is_materialized", "materialize", "is_sorted", "ordering"), TELLS),
        **dict.fromkeys(("column_names", "column_types", "num_columns", "num_rows"), TELLS),
        **dict.fromkeys(("plot", "show", "explore", "summary_page"), SHOWS),
        **dict.fromkeys(("from_spark", "to_spark", "register_view", "read_delta", "read_iceberg"), "rows from Spark or from another library's table"),
        **dict.fromkeys(("read_jdbc", "write_jdbc", "from_table", "to_table"), "rows from Spark or from another library's table"),
    },
}
# These call what users give, or give and take Python's values, which is one by one by what it is.
ONE_BY_ONE = {
    ("SArray", "filter"): "calls of the function",
    ("SArray", "pixel_array_to_image"): "an image is thousands of pixels",
    ("SFrame", "flat_map"): "calls of the function",
    ("SFrame", "add_columns_by_cycle"): "calls of the function",
    ("SFrame", "to_sql"): "rows passed to a database library",
}
# Being mended.
OPEN: set[tuple[str, str]] = set()
MEMBERS = {("SArray", name): call for name, call in ARRAY.items()} | {("SFrame", name): call for name, call in FRAME.items()}


def saved(given: Given, name: str, write: Callable[[str], Any]) -> str:
    """The path of a file, which is written once."""
    path = given.path(name)
    with contextlib.suppress(FileExistsError):
        open(path + ".made", "x").close()
        write(path)
    return path


def write_numbers(path: str, rows: int) -> None:
    """An array of JSON."""
    with open(path, "w") as file:
        file.write(str(list(range(rows))))


@contextlib.contextmanager
def database(given: Given) -> Iterator[sqlite3.Connection]:
    """A table of numbers."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("create table t(id integer, key integer)")
        connection.executemany("insert into t values (?, ?)", [(number, number % 7) for number in range(given.rows)])
        yield connection


def from_sql(given: Given) -> SFrame:
    """The rows of a table."""
    with database(given) as connection:
        return SFrame.from_sql(connection, "select * from t")


def to_sql(given: Given) -> None:
    """Rows into a table."""
    with database(given) as connection:
        given.frame[["id", "key"]].to_sql(connection, "t")


def computed(value: Any) -> None:
    """Compute all rows of what a member gave."""
    for part in value if isinstance(value, tuple) else (value,):
        if isinstance(part, (SArray, SFrame)):
            part.materialize()


def calls_per_row(call: Call) -> float:
    """How many functions, of Python and of C, are called for each row more: in all threads."""
    with tempfile.TemporaryDirectory() as few, tempfile.TemporaryDirectory() as many, pytest.MonkeyPatch.context() as patch:
        # How much memory and how many cores there are is asked again after a second, which is in one of the two or in neither.
        for module in (control_groups, memory):
            patch.setattr(module, "SECONDS_REMEMBERED", 1e9)
        # Both numbers of rows go the same way.
        patch.setattr(costs, "MAX_ROWS_RUN_DIRECTLY", -1)
        givens = [Given(FEW, few), Given(MANY, many)]
        for given in givens:
            # What is made once is there afterwards.
            computed(call(given))
        made = [calls_of(lambda given=given: computed(call(given))) for given in givens]
    return (made[1] - made[0]) / (MANY - FEW)


def planned(call: Call) -> tuple[list[str], list[str]]:
    """Names of the operators and of the scalar functions in all graphs that are planned for a call, sources left out."""
    roots: list[PlannerNode] = []
    plan_action = actions.plan_action

    def watched(root: PlannerNode, *arguments: Any) -> Any:
        # Nodes are spliced afterwards.
        roots.extend(postorder([root]))
        operators.update(described(node) for node in postorder([root]))
        return plan_action(root, *arguments)

    operators: set[tuple[str, tuple[str, ...]]] = set()
    with tempfile.TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        given = Given(20, directory)
        patch.setattr(actions, "plan_action", watched)
        # Few rows need no plan.
        patch.setattr(costs, "MAX_ROWS_RUN_DIRECTLY", -1)
        result = call(given)
        for part in result if isinstance(result, tuple) else (result,):
            if isinstance(part, (SArray, SFrame)):
                operators.update(described(node) for node in postorder([part._node]))
        computed(result)
    names = {name for name, _ in operators}
    sources = {"memory_source", "range_source", "constant_source", "segment_source"}
    return sorted(names - sources), sorted({function for _, functions in operators for function in functions})


def described(node: PlannerNode) -> tuple[str, tuple[str, ...]]:
    """The name of a node's operator and those of the scalar functions and aggregates that it computes."""
    operator = node.operator
    if operator.arranges_columns and all(child.operator.is_source for child in node.inputs):
        # How the columns for the call were chosen.
        return node.inputs[0].operator_type, ()
    functions = {step.function for program in programs_of(node) for step in program.steps if isinstance(step.function, str)}
    aggregates = {aggregation.function for aggregation in getattr(operator, "aggregations", ())}
    return node.operator_type, tuple(sorted(functions | aggregates))


def programs_of(node: PlannerNode) -> list[Program]:
    """What a row-wise operator computes."""
    return [node.operator.program(sum(child.facts.width for child in node.inputs))] if isinstance(node.operator, RowWise) else []
