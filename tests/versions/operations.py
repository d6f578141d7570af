"""Operations whose values are the same with every version of Spark.

``python -m tests.versions.operations`` records them with the newest; with the URL of a Spark Connect server it prints them as JSON, computed there.
"""

import datetime
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from sframe_spark import SArray, SFrame, aggregate, load_sframe, sql
from sframe_spark.engine.spark.query import write_parquet
from sframe_spark.errors import StorageError
from sframe_spark.session.session import get_base
from tests.plain_values import plain

RECORDED = Path(__file__).parents[1] / "data" / "values_of_operations_with_every_spark.json"
# Where operations run: on the driver, or every one of them as a query or a job of Spark.
PLACES = {"driver": "", "spark": "0"}

DAY = datetime.timedelta(days=1)
START = datetime.datetime(2024, 2, 28, 23, 30)
OLD = datetime.datetime(1582, 10, 10)
ZONED = datetime.datetime(1960, 5, 1, 12, tzinfo=datetime.timezone(datetime.timedelta(hours=-5)))
INF, NAN = float("inf"), float("nan")


def rows() -> SFrame:
    """Columns of most types, with missing values, and with numbers and texts at which engines differ."""
    return SFrame(
        {
            "id": list(range(12)),
            "key": ["b", "a", None, "b", "é", "a", "A", None, "b", "", "a", "é"],
            "int": [5, None, -7, 2**62, 5, -(2**62), 0, 3, None, 1, 2**53 + 1, -1],
            "float": [0.1, 0.2, None, NAN, INF, -0.0, 0.0, 1e300, -1e300, 0.3, 5e-324, -INF],
            "time": [START + number * 7 * DAY for number in range(11)] + [OLD],
            "zoned": [ZONED, None, *[datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC) + number * DAY for number in range(10)]],
            "list": [["x", None], [], None, ["y"], ["x", "x"], ["z"], [""], None, ["é"], ["b", "a"], [None], ["q"]],
            "dict": [{"a": 1}, {}, None, {"b": 2, "a": None}, {"a": 3}, {"c": 4}, None, {"a": 5}, {"z": 6}, {"a": 7}, {"b": 8}, {"é": 9}],
            "mixed": [[1, "a"], None, [], [2.5, None], [{"k": [1]}], ["x"], [3], [NAN], [2**62], [-0.0], [[]], ["é"]],
        }
    )


def numbers() -> SFrame:
    """Few numbers in many rows, without order."""
    return SFrame({"n": [number * 7919 % 101 for number in range(400)], "m": [number * 31 % 7 for number in range(400)]})


OPERATIONS: dict[str, Callable[[], Any]] = {}
"""The operations, by name."""


def operation(function: Callable[[], Any]) -> Callable[[], Any]:
    """Count a function among the operations."""
    OPERATIONS[function.__name__] = function
    return function


# Rows and columns.


@operation
def iterates_over_all_types() -> Any:
    return [dict(row) for row in rows()]


@operation
def sorts_by_two_columns() -> Any:
    return rows().sort([("key", True), ("float", False)])[["id", "key", "float"]]


@operation
def filters_by_a_condition() -> Any:
    frame = rows()
    return frame[(frame["int"] > 0) | (frame["key"] == "a")][["id", "int"]]


@operation
def takes_slices() -> Any:
    return rows()[["id", "key"]][2:11:3]


@operation
def appends() -> Any:
    return rows()[["id", "float", "dict"]].append(rows()[["id", "float", "dict"]])


@operation
def finds_distinct_rows() -> Any:
    return numbers().unique().sort(["n", "m"])[:25]


@operation
def samples_with_a_seed() -> Any:
    return numbers().sample(0.1, seed=5), numbers().random_split(0.05, seed=3)[0]


@operation
def shuffles_with_a_seed() -> Any:
    return numbers().shuffle(seed=4)[:20]


@operation
def takes_the_largest() -> Any:
    return rows().topk("float", 4)[["id", "float"]], rows()["int"].is_topk(3)


@operation
def drops_missing_rows() -> Any:
    return rows()[["id", "key", "int", "float"]].dropna(), rows()["int"].fillna(-1)


@operation
def counts_rows_and_missing_values() -> Any:
    frame = rows()
    return len(frame), [frame[name].countna() for name in frame.column_names()], frame["float"].nnz()


# Columns by functions.


@operation
def calls_python_functions() -> Any:
    frame = rows()
    return frame["int"].apply(lambda value: value * 2 if value < 100 else None), frame.apply(lambda row: f"{row['key']} {row['float']}")


@operation
def maps_rows_to_several() -> Any:
    return rows()[["id", "key"]].flat_map(["n", "s"], lambda row: [[row["id"], row["key"]]] * (row["id"] % 3), column_types=[int, str])


@operation
def computes_with_ints() -> Any:
    frame = rows()
    small = frame["id"]
    return (small + 3) * 2 - 5, small // 5, (small - 6) // 4, small % 5, (small - 6) % 4, (small - 6).abs(), frame["int"] == frame["id"]


@operation
def computes_with_floats() -> Any:
    values = rows()["float"]
    return values + 1, values / 3, values // 0.25, -values, values.clip(-1, 1), values > 0.1, values == values, values**2


@operation
def casts_values() -> Any:
    frame = rows()
    fine = SArray(["1", " 2", "-3", "1e3", "", "x"])
    return frame["int"].astype(float), frame["float"].astype(str), frame["id"].astype(str), fine.astype(float, undefined_on_failure=True)


@operation
def casts_texts_to_ints_and_times() -> Any:
    texts = SArray(["12", "+5", "-0", "9223372036854775807", None])
    times = SArray(["2024-02-29 10:11:12", "1999-12-31 23:59:59", None])
    return texts.astype(int), times.str_to_datetime("%Y-%m-%d %H:%M:%S"), rows()["time"].datetime_to_str("%Y/%m/%d %H:%M")


@operation
def computes_with_texts() -> Any:
    texts = rows()["key"]
    return texts + "!", texts.contains("a"), texts < "b", texts.element_slice(0, 1), texts.str_pad(3, "both", "."), texts.hash()


@operation
def splits_times() -> Any:
    frame = rows()
    return frame["time"].split_datetime(), frame["zoned"].split_datetime(limit=["year", "hour", "minute", "tzone"]), frame["time"].astype(int)


@operation
def compares_and_moves_times() -> Any:
    frame = rows()
    return frame["time"] > START, frame["zoned"].max(), frame["time"].min(), frame.shift_time("time", DAY)["time"], frame["time"] - frame["time"]


@operation
def reads_lists_and_dicts() -> Any:
    frame = rows()
    return (
        *(frame["list"].item_length(), frame["list"].element_slice(0, 1), frame["dict"].dict_keys()),
        *(frame["dict"].dict_values(), frame["dict"].dict_has_any_keys(["a", "z"]), frame["dict"].dict_trim_by_keys(["a"], exclude=False)),
        frame["dict"].dict_trim_by_values(2, 6),
    )


@operation
def packs_and_unpacks_columns() -> Any:
    frame = rows()
    both = frame.pack_columns(["id", "int"], dtype=dict, new_column_name="both")["both"]
    two = frame.pack_columns(["id", "float"], dtype=list, new_column_name="two")["two"]
    return both, two, frame[["id", "dict"]].unpack("dict", limit=["a", "b"])


@operation
def stacks_and_unstacks() -> Any:
    frame = rows()
    stacked = frame[["id", "list"]].stack("list", new_column_name="item", drop_na=True)
    return stacked, frame[["id", "dict"]].stack("dict", new_column_name=["k", "v"]), numbers()[:30].unstack("n", "all").sort("m")


@operation
def finds_members_of_a_set() -> Any:
    frame = rows()
    return frame["int"].is_in([5, 2**62]), frame.filter_by(["a", None], "key")["id"], frame["float"].is_in([0.0, NAN])


@operation
def chooses_between_values() -> Any:
    frame = rows()
    return SArray.where(frame["id"] > 5, frame["float"], 0.5), SArray.where(frame["key"] == "a", frame["key"], "none")


# Reductions.


@operation
def reduces_columns() -> Any:
    frame = rows()
    ids = frame["id"]
    return ids.sum(), ids.mean(), ids.std(), ids.var(ddof=1), frame["int"].max(), frame["int"].min(), ids.argmax(), ids.argmin()


@operation
def sums_floats_exactly() -> Any:
    return SArray([1e16, 1.0, -1e16, 0.1] * 60).sum(), SArray([0.1] * 1000).sum(), SArray([1e308, 1e308, -1e308]).sum(), rows()["float"].sum()


@operation
def finds_medians_and_quantiles() -> Any:
    column = numbers()["n"]
    return column.median(), rows()["float"].dropna().median(), column.value_counts()[:5], column.summary().quantile(0.25)


@operation
def finds_distinct_values() -> Any:
    frame = rows()
    return frame["key"].unique().sort(), frame["float"].unique().sort(), frame["int"].unique().sort()


# Groups.


@operation
def groups_by_texts() -> Any:
    grouped = rows().groupby(
        "key",
        {
            "n": aggregate.COUNT(),
            "sum": aggregate.SUM("id"),
            "mean": aggregate.MEAN("id"),
            "max": aggregate.MAX("float"),
            "min": aggregate.MIN("time"),
            "std": aggregate.STD("id"),
            "different": aggregate.COUNT_DISTINCT("float"),
        },
    )
    return grouped.sort("key")


@operation
def groups_by_floats_and_nothing() -> Any:
    frame = rows()
    return frame.groupby("float", {"ids": aggregate.CONCAT("id")}).sort("float"), frame.groupby(
        [], {"n": aggregate.COUNT(), "s": aggregate.SUM("id")}
    )


@operation
def groups_into_lists_and_dicts() -> Any:
    grouped = rows().groupby(
        "key",
        {
            "list": aggregate.CONCAT("int"),
            "dict": aggregate.CONCAT("id", "float"),
            "first": aggregate.SELECT_ONE("id"),
            "best": aggregate.ARGMAX("float", "id"),
            "worst": aggregate.ARGMIN("id", "key"),
        },
    )
    return grouped.sort("key").remove_column("first")


@operation
def groups_with_quantiles_and_frequencies() -> Any:
    grouped = numbers().groupby("m", {"q": aggregate.QUANTILE("n", 0.5, 0.9), "f": aggregate.FREQ_COUNT("n"), "d": aggregate.DISTINCT("n")})
    return grouped.sort("m")[["m", "q", "f"]]


@operation
def groups_runs_and_intervals() -> Any:
    frame = rows()
    sums = {"s": aggregate.SUM("id")}
    return frame[["key", "id"]].groupby_runs("key", sums), frame[["time", "id"]].groupby_intervals("time", every=20 * DAY, operations=sums)[:4]


# Order.


@operation
def accumulates() -> Any:
    frame = rows()
    ids, floats = frame["id"], SArray([0.1, None, 0.2, NAN, 0.3])
    return (
        ids.cumulative_sum(),
        ids.cumulative_mean(),
        frame["int"].cumulative_max(),
        ids.cumulative_std(),
        floats.cumulative_sum(),
        floats.cumulative_min(),
    )


@operation
def rolls() -> Any:
    frame = rows()
    return (
        *(frame["id"].rolling_mean(-2, 0), frame["id"].rolling_sum(-1, 1), frame["int"].rolling_max(-2, 0), frame["id"].rolling_stdv(-3, 0)),
        *(frame["int"].rolling_count(-2, 0), frame["id"].shift(2), frame["id"].diff(), frame["float"].rolling_min(-1, 1)),
    )


@operation
def accumulates_by_group() -> Any:
    return rows()[["key", "id", "float"]].running({"s": aggregate.SUM("id"), "m": aggregate.MAX("float")}, by="key")


@operation
def interpolates_and_smooths() -> Any:
    frame = SFrame({"t": [0, 1, 3, 4, 8], "v": [1.0, None, None, 4.0, 5.0]})
    return frame.interpolate("v", on="t"), frame.dropna().exponential_smoothing("t", half_life=3), frame.resample("t", every=2, operations={})["t"]


@operation
def calls_functions_by_cycle() -> Any:
    frame = SFrame({"t": [1, 1, 2, 3, 3, 3], "v": [1.0, 3.0, None, 2.0, 5.0, 2.0], "k": ["a", "b", "a", "b", "a", "a"]})
    ranks = frame.add_columns_by_cycle(lambda found: {"rank": [len(found)] * len(found), "key": [row["k"] for row in found]}, ["rank", "key"], on="t")
    return ranks, frame.groupby_cycles("t", operations={"s": aggregate.SUM("v")})


# Several frames.


@operation
def joins_inner_left_and_outer() -> Any:
    left = rows()[["id", "key", "int"]]
    right = SFrame({"key": ["a", "b", None, "zz", "a"], "x": [1, 2, 3, 4, 5]})
    return [left.join(right, on="key", how=how).sort(["id", "x"]) for how in ("inner", "left", "right", "outer")]


@operation
def joins_by_floats() -> Any:
    right = SFrame({"float": [0.0, NAN, None, 0.3], "x": [1, 2, 3, 4]})
    return rows()[["id", "float"]].join(right, on="float", how="left").sort(["id", "x"])


@operation
def joins_nearest_rows() -> Any:
    left, right = SFrame({"t": [1, 4, 6, 6, 9]}), SFrame({"t": [0, 3, 5, 8], "v": ["a", None, "c", "d"]})
    return left.asof_join(right, on="t"), left.asof_join(right, on="t", tolerance=1), left.merge_sorted(right[["t"]], on="t")


@operation
def aggregates_windows_of_keys() -> Any:
    frame = SFrame({"t": [0, 1, 4, 5, 9], "v": [1, 2, 3, None, 5]})
    sums = {"s": aggregate.SUM("v"), "n": aggregate.COUNT()}
    return frame.window("t", sums, before=4)


# Files.


@operation
def saves_and_loads() -> Any:
    with tempfile.TemporaryDirectory() as directory:
        rows().save(f"{directory}/saved")
        loaded = load_sframe(f"{directory}/saved")
        return [dict(row) for row in loaded.sort("id", ascending=False)]


@operation
def writes_and_reads_parquet_csv_and_json() -> Any:
    frame = rows()[["id", "key", "int", "float"]]
    with tempfile.TemporaryDirectory() as directory:
        frame.write_parquet(f"{directory}/parquet")
        frame[["id", "int"]].export_csv(f"{directory}/rows.csv")
        frame[["id", "key"]].export_json(f"{directory}/rows.json")
        read = SFrame.read_parquet(f"{directory}/parquet"), SFrame.read_csv(f"{directory}/rows.csv"), SFrame.read_json(f"{directory}/rows.json")
        return [plain(each) for each in read]


# Spark's DataFrames and queries.


def of_spark(*columns: str, rows: int = 4) -> Any:
    """A DataFrame of the user's session in one partition: its order is that of its ids."""
    return get_base().range(0, rows, 1, 1).selectExpr("id", *columns)


@operation
def takes_numbers_of_a_dataframe() -> Any:
    columns = (
        "CAST(id AS byte) b",
        "CAST(id AS smallint) s",
        "CAST(id AS int) i",
        "CAST(id / 3 AS float) f",
        "IF(id = 2, null, id / 3) d",
        "CAST(id * 1.25 AS decimal(10,2)) p",
        "id > 1 t",
        "null n",
    )
    return SFrame(of_spark(*columns)).sort("id")


@operation
def takes_texts_and_times_of_a_dataframe() -> Any:
    columns = (
        "CAST(id AS string) t",
        "CAST(repeat('x', CAST(id AS int)) AS char(5)) c",
        "CAST('1582-10-04' AS date) old",
        "date_add(CAST('2024-02-28' AS date), CAST(id AS int)) d",
        "CAST('0001-01-01 00:00:00' AS timestamp_ntz) first",
        "timestamp_micros(id * 1234567890123456 - 2345678901234567) moment",
        "CAST('2020-01-01 12:00:00.123456' AS timestamp_ntz) local",
    )
    return SFrame(of_spark(*columns)).sort("id")


@operation
def takes_moments_whatever_intervals_are() -> Any:
    """A setting makes intervals of old kinds, which are multiplied as floats: no conversion of ours may depend on it."""
    session, setting = get_base(), "spark.sql.legacy.interval.enabled"
    session.conf.set(setting, "true")
    try:
        frame = SFrame(of_spark("timestamp_micros(id * 7987654321012345 - 12345678901234567) moment"))
        moments = frame.sort("id")["moment"]
        moments.materialize()
        return moments
    finally:
        session.conf.unset(setting)


@operation
def takes_nested_values_of_a_dataframe() -> Any:
    columns = (
        "array(id, null, id + 1) a",
        "array('x', null) texts",
        "map('k', id, 'l', null) m",
        "map(id, 'v') by_number",
        "named_struct('p', id, 'q', named_struct('r', array(1, 2))) s",
        "array(map('a', array(id))) deep",
        "array(CAST(id AS double), null) floats",
    )
    return SFrame(of_spark(*columns)).sort("id")


@operation
def computes_over_a_dataframe() -> Any:
    frame = SFrame(of_spark("id % 2 k", "id / 2 x"))
    frame["y"] = frame["x"].apply(lambda value: value + 1)
    return frame.groupby("k", {"s": aggregate.SUM("y"), "n": aggregate.COUNT()}).sort("k"), frame["x"].sum(), len(frame)


def sums_of_rare_floats(frame: SFrame) -> Any:
    return frame.groupby("k", {"s": aggregate.SUM("x"), "m": aggregate.MEAN("x")}).sort("k")


@operation
def sums_rare_floats_of_a_dataframe() -> Any:
    """A query leaves floats of unusual sizes out, raises an error when it meets some, and is made anew with them."""
    return sums_of_rare_floats(SFrame(of_spark("id % 2 k", "CAST(IF(id = 3, '1e-300', '1.5e-30') AS double) x")))


@operation
def returns_a_dataframe() -> Any:
    frame = rows()[["id", "key", "int", "float", "time", "zoned", "list", "dict"]]
    frame["next"] = frame["id"].apply(lambda value: value + 1)
    found = frame.to_spark()
    # As the session's time zone is that of the machine, instants are shown as numbers.
    shown = found.selectExpr("*", "unix_micros(zoned) micros").drop("zoned")
    return shown.schema.simpleString(), [plain(row.asDict()) for row in shown.collect()]


@operation
def gives_a_dataframe_to_functions_of_pandas() -> Any:
    """A user's own pandas function beside and above a function of ours: each is given what it expects."""
    from pyspark.sql import functions as F

    def doubled(values: pd.Series) -> pd.Series:
        return values.astype("float64") * 2

    call = F.pandas_udf(doubled, "double")
    frame = SFrame(of_spark("named_struct('p', id) s").withColumn("user", call("id")))
    frame["ours"] = frame["id"].apply(lambda value: value * 10)
    df = frame[["id", "user", "ours"]].to_spark()
    return frame["s"], [plain(row.asDict()) for row in df.withColumn("again", call("ours")).orderBy("id").collect()]


@operation
def refuses_files_of_a_saved_frame() -> Any:
    """The files that `spark.read` reads are looked at in the plan: those of a saved frame lack the types of its columns."""
    with tempfile.TemporaryDirectory() as directory:
        rows()[["id", "key"]].save(f"{directory}/saved")
        df = get_base().read.parquet(*map(str, Path(directory, "saved").rglob("*.parquet")))
        try:
            return SFrame(df).column_names()
        except StorageError as error:
            return str(error).replace(directory, "...").partition(":")[0]


@operation
def writes_no_rows_and_many_by_a_query() -> Any:
    """A query that writes files, and counts its rows meanwhile: with none, and with more than are sent to the driver."""
    counted = []
    for limit in (-1, 150_000):
        frame = SFrame({"n": range(150_000)})
        kept = frame[frame["n"] < limit]
        with tempfile.TemporaryDirectory() as directory:
            counted.append(write_parquet(kept._node, directory))
    return counted


@operation
def runs_a_query() -> Any:
    few = SFrame({"k": ["a", "b", "a"], "v": [1, 2, None]})
    return sql("SELECT k, count(v) AS n, sum(v) AS s FROM few GROUP BY k ORDER BY k", few=few)


def recorded() -> dict[str, Any]:
    """The values of all operations as they were recorded."""
    found: dict[str, Any] = json.loads(RECORDED.read_text(encoding="utf-8"))
    return found


def value_of(name: str) -> Any:
    """The value of an operation as JSON."""
    return json.loads(json.dumps(plain(OPERATIONS[name]())))


def record() -> None:
    """Record the values of all operations, on the driver; the tests hold Spark's against them."""
    os.environ.pop("SFRAME_SPARK_SMALL_ROWS", None)
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(value_of(name), ensure_ascii=False)}" for name in OPERATIONS)
    RECORDED.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


def print_values(url: str) -> None:
    """Print the values of all operations, every one of them as a query or a job of a Spark Connect server; what is refused by its message."""
    from pyspark.sql import SparkSession

    SparkSession.builder.remote(url).getOrCreate()
    os.environ["SFRAME_SPARK_SMALL_ROWS"] = PLACES["spark"]
    found = {}
    for name in OPERATIONS:
        try:
            found[name] = value_of(name)
        except Exception as error:
            found[name] = f"{type(error).__name__}: {error}"
    sys.stdout.write(f"{json.dumps(found)}\n")


if __name__ == "__main__":
    print_values(*sys.argv[1:]) if sys.argv[1:] else record()
