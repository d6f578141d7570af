"""Operations over all column types, doors and file formats that need no Spark, and the values of each as text.

``python -m tests.versions.in_process_operations DIRECTORY`` prints the values as JSON; it writes files of other programs into the directory first, or
reads those that another version has written there. ``record`` as second argument keeps the values as those to be expected.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import io
import json
import math
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.orc
import pyarrow.parquet as pq

from sframe_spark import SArray, SArrayBuilder, SFrame, SFrameBuilder, aggregate, load_sarray, load_sframe
from sframe_spark.engine import costs
from sframe_spark.util import generate_random_sframe

RECORDED = Path(__file__).parents[1] / "data" / "values_of_operations_in_process.json"
# Instants of 1960, 1970 and 2024 that pyarrow 26 has written in 96 bits; before version 23 it writes those before 1970 wrongly.
OF_96_BITS = RECORDED.with_name("timestamps_of_96_bits.parquet")

DAYS = [dt.datetime(year, 2, 28, 12, 30, 15, 123456) for year in (1, 1582, 1677, 1960, 1970, 2024, 2262, 9999)]
ROWS = 24
# Rows that are worth several batches, row groups and threads.
MANY_ROWS = 60_000

Operation = Callable[[Path], Any]
OPERATIONS: dict[str, Operation] = {}


def operation(function: Operation) -> Operation:
    """Register an operation by its name; it gets the directory of the files that all versions read."""
    OPERATIONS[function.__name__] = function
    return function


# What operations start with.


def frame() -> SFrame:
    """Rows of all column types with missing values, NaN, both zeros, ties, and texts of several alphabets."""
    rows = range(ROWS)
    floats = [0.5, -0.0, 0.0, math.nan, math.inf, 1e300, None]
    texts = ["a", "", "Ä", "語", "a\nb", '"q",', None, "z" * 40]
    return SFrame(
        {
            "id": list(rows),
            "key": [row * 7 % 5 for row in rows],
            "int": [None if row % 6 == 5 else (row - 9) ** 15 % 2**61 for row in rows],
            "float": [floats[row % 7] for row in rows],
            "text": [texts[row % 8] for row in rows],
            "day": [None if row == 3 else DAYS[row % 8] for row in rows],
            "instant": [DAYS[row % 6 + 1].replace(tzinfo=dt.UTC) for row in rows],
            "array": [[row * 0.5, -1.0] for row in rows],
            "list": [None if row == 7 else [row, "x", None, [1.5]] for row in rows],
            "ints": [list(range(row % 3)) for row in rows],
            "dict": [None if row == 8 else {"a": row, "b": "x" * (row % 3)} for row in rows],
            "counts": [{"a": row, "b": row + 1} for row in rows],
        }
    )


def flat() -> SFrame:
    """The columns that files of any kind hold."""
    return frame()[["id", "key", "int", "float", "text", "day"]]


def many() -> SFrame:
    """Many rows of numbers, texts and instants, some missing."""
    numbers = np.arange(MANY_ROWS)
    mixed = numbers * 2654435761 % 2**32
    return SFrame.from_arrow(
        pa.table(
            {
                "id": numbers,
                "key": mixed % 1000,
                "int": pa.array(mixed - 2**31, mask=mixed % 17 == 0),
                "float": pa.array(mixed / 7, mask=mixed % 19 == 0),
                "text": pa.array([None if number % 23 == 0 else f"text {number % 977}" for number in mixed.tolist()]),
                "day": pa.array(numbers * 1_000_003, pa.timestamp("us", "UTC")),
            }
        )
    )


def text_of(value: Any) -> str:
    """Return types and values of a result; of long results a sum over them, in Python's ints."""
    if isinstance(value, SFrame):
        types = [kind.__name__ for kind in value.column_types()]
        return f"{dict(zip(value.column_names(), types, strict=True))} {short(list(map(list, map(dict.values, value))))}"
    if isinstance(value, SArray):
        return f"{value.dtype} {short(list(value))}"
    if isinstance(value, pa.Table):
        # Old versions have no class for some extensions.
        types = [str(getattr(kind, "storage_type", kind)) for kind in value.schema.types]
        return f"{value.column_names} {types} {short(value.to_pylist())}".replace("zoneinfo.ZoneInfo(key='UTC')", "<UTC>")
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {short(value.tolist())}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(text_of, value)) + "]"
    return repr(value)


def short(values: list[Any]) -> str:
    """Return values as text; of many their number, the ends and a sum of all."""
    if len(values) <= 100:
        return repr(values)
    total = 0
    for value in values:
        for byte in (text := repr(value)).encode()[:: max(1, len(text) // 16)]:
            total = (total * 31 + byte) % 2**61
    return f"{len(values)} {values[:2]!r} {values[-2:]!r} {total}"


# Files that are there for all.


def write_files(directory: Path) -> None:
    """Write what operations read, as other programs write it."""
    days = pa.table({"t": pa.array(DAYS), "d": pa.array([day.date() for day in DAYS]), "z": pa.array(DAYS, pa.timestamp("us", "UTC"))})
    pa.orc.write_table(days, directory / "days.orc")
    pq.write_table(days, directory / "days.parquet")
    nested = pa.table(
        {
            "s": pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": None}]),
            "l": pa.array([[1, None], None, []], pa.list_(pa.int32())),
            "f": pa.array([[1.5, 2.5], [3.0, 4.0], [0.0, 1.0]], pa.list_(pa.float32(), 2)),
            "m": pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int64())),
            "u": pa.array([2**63 - 1, None, 0], pa.uint64()),
            "h": pa.array([1, None, 2], pa.int8()),
            "c": pa.array(["x", None, "x"]).dictionary_encode(),
            "b": pa.array([True, None, False]),
            "dec": pa.array(["1.25", None, "-3.50"]).cast(pa.decimal128(10, 2)),
            "date": pa.array([dt.date(1, 1, 1), None, dt.date(9999, 12, 31)]),
            "time": pa.array([dt.time(1, 2, 3), None, dt.time(23, 59, 59)]),
            "nanos": pa.array([1, None, 10**18], pa.timestamp("ns")),
            "large": pa.array(["x", None, ""], pa.large_string()),
            "nothing": pa.nulls(3),
        }
    )
    pq.write_table(nested, directory / "nested.parquet", store_schema=True)
    pq.write_table(nested, directory / "pages2.parquet", data_page_version="2.0", compression="zstd", row_group_size=2)
    pa.orc.write_table(nested.drop_columns(["u", "c", "time", "nothing", "f", "large"]), directory / "nested.orc", compression="zlib")
    codecs = directory / "codecs"
    codecs.mkdir()
    for codec in ("snappy", "gzip", "brotli", "zstd", "lz4", "none"):
        pq.write_table(pa.table({"n": range(5), "t": list("abcab")}), codecs / f"{codec}.parquet", compression=codec)
    encoded = pa.table({"n": pa.array([5, 1, 4, None]), "t": ["aa", "ab", None, "b"], "f": [0.5, -0.0, None, 2.0]})
    encodings = {"n": "DELTA_BINARY_PACKED", "t": "DELTA_BYTE_ARRAY", "f": "BYTE_STREAM_SPLIT"}
    pq.write_table(encoded, directory / "encodings.parquet", use_dictionary=False, column_encoding=encodings)
    (directory / "rows.csv").write_text('id,t,f\n1,"a ""b"", c",0.5\n2,NA,\n3,"x\ny",1e3\n', encoding="utf-8")
    (directory / "lines.json").write_text('{"a": 1, "b": [1, "x"], "c": {"d": 2}}\n{"a": null, "b": []}\n', encoding="utf-8")
    frame().save(str(directory / "saved"))
    many().save(str(directory / "many"))


def saved_text(write: Callable[[str], Any], name: str, read: Callable[[str], Any]) -> str:
    """Return what is read again from a path that was written."""
    with tempfile.TemporaryDirectory() as directory:
        path = str(Path(directory) / name)
        write(path)
        return text_of(read(path))


# Doors: values and tables of Python and of libraries, in and out.


@operation
def values_in_and_out(_: Path) -> Any:
    return frame()


@operation
def columns_of_each_type(_: Path) -> Any:
    mixed = SArray([[1, "a", None], [[2.5]], [{"k": [1]}]])
    arrays = [np.array([1, 2], np.int8), np.array(["a", "b"]), np.array([0.5, np.nan], np.float32), np.array(["2024-01-01"], "datetime64[D]")]
    return [mixed, SArray([True, None]), SArray([dt.date(1, 1, 1)]), SArray(range(3)), *map(SArray, arrays), SArray([np.arange(2.0), np.arange(3.0)])]


@operation
def arrow_in_and_out(directory: Path) -> Any:
    nested = pq.read_table(directory / "nested.parquet")
    return [SFrame(nested.drop_columns(["time"])), frame().to_arrow(), frame()["list"].to_arrow().to_pylist(), pa.table(flat())]


@operation
def arrow_of_other_layouts(_: Path) -> Any:
    texts = pa.array(["a", None, "b" * 30, "c"])
    forms: list[Any] = [texts.slice(1), pa.chunked_array([texts, texts.slice(2)]), texts.dictionary_encode(), texts.cast(pa.large_string())]
    forms += [pa.array([1, None, 3], pa.int16()).slice(1), pa.array([[1, 2], None, [3]], pa.large_list(pa.int64())).slice(1)]
    forms += [pa.array([dt.timedelta(seconds=1)]).cast(pa.int64()), pa.array([b"bytes"]).cast(pa.string())]
    return [SArray(form) for form in forms]


@operation
def numpy_out(_: Path) -> Any:
    sf = frame()
    return [sf["id"].to_numpy(), sf["float"].to_numpy(), sf["text"].to_numpy(), sf[["id", "key"]].to_numpy(), np.asarray(sf["array"])]


@operation
def builders(_: Path) -> Any:
    rows, values = SFrameBuilder([int, str, list]), SArrayBuilder(float)
    for number in range(5):
        rows.append([number, str(number), [number, "x"]])
        values.append(number / 3)
    return [rows.close(), values.close()]


@operation
def databases(_: Path) -> Any:
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("create table t(id integer, float real, text text)")
        frame()[["id", "float", "text"]].to_sql(connection, "t")
        return SFrame.from_sql(connection, "select id, float, text from t order by id")


@operation
def printing(_: Path) -> Any:
    stream = io.StringIO()
    frame().print_rows(5, output_file=stream)
    return [str(frame()), str(frame()["text"]), stream.getvalue(), frame().column_types()]


# Row-wise members.


@operation
def arithmetic(_: Path) -> Any:
    sf = frame()
    number, real = sf["int"], sf["float"]
    few = sf["id"] - 5
    return [
        number + 1,
        few / 3,
        few // 3,
        few % 3,
        -few,
        real * 2,
        real > 0,
        few**2,
        abs(few),
        (few > 2) & (few < 7),
        few == sf["key"],
        sf["array"] * 2,
    ]


@operation
def casts(_: Path) -> Any:
    sf = frame()
    texts = SArray(["1", "x", " 7 ", None, "2.5", "1e3"])
    return [
        texts.astype(int, undefined_on_failure=True),
        texts[1:].astype(int, undefined_on_failure=True),
        SArray(["1", "x", "3"] * 9)[2:].astype(float, undefined_on_failure=True),
        sf["int"].astype(str),
        sf["float"].astype(str),
        sf["id"].astype(float),
        SArray([1.9, -1.9, None]).astype(int),
        sf["day"].astype(str),
        SArray(["[1, 2]", "[]"]).astype(list),
        SArray(["{'a': 1}"]).astype(dict),
        sf["array"].astype(str),
        sf["list"].astype(str),
        SArray([0.0, 1e9]).astype(dt.datetime),
    ]


@operation
def texts(_: Path) -> Any:
    text = frame()["text"]
    parts = [text.contains("a"), text.element_slice(0, 2), text.str_pad(5, "both", "."), text + "!", text < "b", text == "a"]
    return [*parts, text.hash(), text.fillna("none"), text.is_in(["a", "語"]), SArray(["a b", "B a"]).apply(str.upper)]


@operation
def date_times(_: Path) -> Any:
    sf = frame()
    day = sf["day"]
    written = SArray(["2024-02-29 01:02:03", "1960-01-01 00:00:00", None]).str_to_datetime("%Y-%m-%d %H:%M:%S")
    return [
        day.split_datetime(),
        day.datetime_to_str("%Y-%m-%d %H:%M:%S"),
        written,
        sf["instant"].astype(str),
        sf.shift_time("day", dt.timedelta(0))["day"],
        SArray.date_range(dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 5), dt.timedelta(days=1)),
        day > DAYS[3],
        SArray(["2024-01-31T10:20:30Z"]).str_to_datetime(),
    ]


@operation
def lists_and_dicts(_: Path) -> Any:
    sf = frame()
    counts = sf["counts"]
    parts = [
        counts.dict_keys(),
        counts.dict_values(),
        counts.dict_trim_by_keys(["a"]),
        counts.dict_trim_by_values(5, 20),
        counts.dict_has_any_keys(["b"]),
    ]
    return [
        *parts,
        sf["array"].vector_slice(0),
        sf["list"].item_length(),
        counts.unpack(),
        sf["array"].unpack(),
        sf["ints"].stack("n"),
        sf["list"].hash(),
    ]


@operation
def stack_pack_unpack(_: Path) -> Any:
    sf = frame()
    packed = sf.pack_columns(["id", "key"], dtype=list, new_column_name="both")
    dicts = sf[["id", "text"]].pack_columns(["text"], dtype=dict, new_column_name="d")
    stacked = sf[["id", "counts"]].stack("counts", ["name", "count"])
    return [packed["both"], dicts, stacked, stacked.unstack(["name", "count"], "counts").sort("id"), sf[["id", "ints"]].stack("ints")]


@operation
def missing_values(_: Path) -> Any:
    sf = frame()
    parts = sf[["id", "int", "text"]].dropna_split()
    return [sf[["id", "int", "float"]].dropna(), *parts, sf["float"].countna(), sf["int"].interpolate(), sf[["id", "int"]].fillna("int", 0)]


@operation
def filters_and_slices(_: Path) -> Any:
    sf = frame()
    kept = sf[(sf["key"] > 1) & (sf["id"] < 20)]
    return [kept, sf[3:20:4], sf.head(2), sf.tail(2), sf.filter_by([1, 3], "key"), sf["int"][2:9], kept["float"] + kept["id"]]


@operation
def clip_where_and_random(_: Path) -> Any:
    sf = frame()
    parts = [sf["id"].clip(3, 9), SArray.where(sf["key"] > 2, sf["id"], sf["key"]), sf.sample(0.5, seed=1)["id"], sf.shuffle(seed=3)["id"]]
    return [*parts, *sf.random_split(0.5, seed=2), SArray.random_integers(5, seed=1), generate_random_sframe(4, "nrs", random_seed=1)]


@operation
def users_functions(_: Path) -> Any:
    sf = frame()
    flat_rows = sf[["id"]].flat_map(["x"], lambda row: [[row["id"]]] * 2, column_types=[int])
    return [
        sf.apply(lambda row: f"{row['id']}{row['text']}"),
        sf["float"].apply(lambda value: value),
        sf["id"].filter(lambda value: value > 20),
        flat_rows,
    ]


# Aggregates, groups, windows.


@operation
def whole_columns(_: Path) -> Any:
    sf = frame()
    numbers = [sf[name] for name in ("id", "key")]
    values = [[column.sum(), column.mean(), column.std(), column.var(), column.min(), column.max(), column.median()] for column in numbers]
    more = [sf["int"].sum(), sf["id"].argmax(), sf["float"].max(), sf["int"].nnz(), sf["array"].sum(), sf["day"].max()]
    return [values, more, sf["text"].value_counts(), sf["key"].unique(), sf["float"].unique(), sf["id"].is_topk(3), sf["list"].unique()]


@operation
def summaries(_: Path) -> Any:
    sketch = many()["float"].summary()
    return [sketch.mean(), sketch.num_unique(), sketch.quantile(0.5), sketch.size(), sketch.num_missing(), str(frame()["text"].summary())]


@operation
def groups(_: Path) -> Any:
    operations = {
        "n": aggregate.COUNT(), "s": aggregate.SUM("id"), "m": aggregate.MEAN("float"), "v": aggregate.VAR("id"), "lo": aggregate.MIN("float"),
        "hi": aggregate.MAX("day"), "l": aggregate.CONCAT("text"), "d": aggregate.DISTINCT("text"), "c": aggregate.COUNT_DISTINCT("text"),
        "q": aggregate.QUANTILE("id", [0.25, 0.5]), "o": aggregate.SELECT_ONE("list"), "a": aggregate.ARGMAX("id", "text"),
        "f": aggregate.FREQ_COUNT("text"), "k": aggregate.SKEWNESS("id"), "r": aggregate.CORRELATION("id", "key"),
        "x": aggregate.CONCAT("id", "text"),
    }  # fmt: skip
    sf = frame()
    keys: list[Any] = ["key", "text", "float", "day", "list", ["key", "text"]]
    return [sf.groupby("key", operations), *[sf.groupby(key, {"n": aggregate.COUNT(), "s": aggregate.SUM("id")}) for key in keys]]


@operation
def groups_of_many_rows(_: Path) -> Any:
    operations = {"s": aggregate.SUM("float"), "n": aggregate.COUNT(), "m": aggregate.MAX("int"), "d": aggregate.COUNT_DISTINCT("text")}
    return [many().groupby("key", operations), many().groupby(["key", "text"], {"s": aggregate.SUM("int")}), many().groupby("id", operations)]


@operation
def groups_of_ordered_rows(_: Path) -> Any:
    sf = frame()
    sums = {"s": aggregate.SUM("key"), "n": aggregate.COUNT()}
    hours = many().head(1000).resample("day", every=dt.timedelta(minutes=1), operations={"s": aggregate.SUM("int")})
    return [sf.groupby_runs("key", sums), sf.groupby_intervals("id", every=5, operations=sums), sf.groupby_cycles("id", operations=sums), hours]


@operation
def windows(_: Path) -> Any:
    sf = frame()
    rolling = [getattr(sf["id"], f"rolling_{name}")(-2, 0) for name in ("sum", "mean", "min", "max", "stdv", "var", "count")]
    running = [getattr(sf["id"], f"cumulative_{name}")() for name in ("sum", "mean", "min", "max", "std", "var")]
    timed = many().head(2000).window("day", {"s": aggregate.SUM("float"), "n": aggregate.COUNT()}, before=dt.timedelta(seconds=10))
    smooth = sf[["id", "key"]].exponential_smoothing("id", half_life=3)
    return [rolling, running, timed, smooth, sf["id"].shift(2), sf["id"].diff(), sf.running({"t": aggregate.SUM("key")}, by="text")]


@operation
def windows_of_many_rows(_: Path) -> Any:
    sf = many()
    sums = sf["int"].cumulative_sum(), sf["float"].rolling_mean(-5, 5)
    return [*sums, sf.running({"s": aggregate.SUM("int")}, by="key"), sf.interpolate("float", on="id", by="key")]


# Sorts, joins, sets of rows.


@operation
def sorts(_: Path) -> Any:
    sf = frame()
    sorted_by = [sf.sort(name)["id"] for name in ("text", "float", "day", "int", "instant")]
    orders: Any = [("key", False), ("text", True)]
    return [*sorted_by, sf.sort(orders)["id"], sf.topk("id", 3), sf.topk("float", 3, reverse=True), sf["float"].sort(False)]


@operation
def sorts_of_many_rows(_: Path) -> Any:
    sf = many()
    orders: Any = [("key", True), ("text", False), ("float", True)]
    return [sf.sort("text"), sf.sort(orders), sf.sort("int")["id"], sf.topk("float", 50)]


@operation
def joins(_: Path) -> Any:
    sf, few = frame()[["id", "key", "text", "float"]], SFrame({"key": [1, 2, 2, 9], "name": ["x", "y", "z", "w"]})
    same = SFrame({"text": ["a", None, "語"], "n": [1, 2, 3]})
    kinds = [sf.join(few, on="key", how=how) for how in ("inner", "left", "right", "outer")]
    return [*kinds, sf.join(same, on="text", how="left"), sf.join(sf, on=["key", "float"], how="inner"), many().join(few, on="key")]


@operation
def joins_of_many_rows(_: Path) -> Any:
    left, right = many()[["id", "key", "text"]], many()[["id", "float"]]
    return [left.join(right.sort("float"), on="id"), left.join(many()[["text", "int"]].drop_duplicates("text"), on="text", how="left")]


@operation
def joins_by_order(_: Path) -> Any:
    left, right = frame()[["id", "key"]], SFrame({"id": [1, 4, 9, 30], "quote": ["a", "b", None, "d"]})
    return [
        left.asof_join(right, on="id"),
        left.asof_join(right, on="id", tolerance=2),
        left.merge_sorted(left, on="id"),
        many().asof_join(many()[["day", "float"]], on="day"),
    ]


@operation
def sets_of_rows(_: Path) -> Any:
    sf = frame()
    return [
        sf[["key", "text"]].unique(),
        sf.drop_duplicates("key"),
        sf.append(sf)[["id", "list"]],
        many()[["key", "text"]].unique(),
        many()["text"].unique(),
    ]


# Files.


@operation
def saved_frames(directory: Path) -> Any:
    own = saved_text(lambda path: frame().save(path), "f", load_sframe), saved_text(lambda path: many()["text"].save(path), "c", load_sarray)
    return [*own, load_sframe(str(directory / "saved")), load_sframe(str(directory / "many"))]


@operation
def filters_of_saved_frames(directory: Path) -> Any:
    sf = load_sframe(str(directory / "many"))
    chosen = sf[(sf["id"] > 30_000) & (sf["id"] < 31_000)]
    return [
        chosen,
        sf[sf["text"] == "text 5"],
        sf[39_990:40_010],
        sf[sf["day"] > dt.datetime(1970, 1, 1, 12, tzinfo=dt.UTC)]["id"].sum(),
        sf.sort("key").head(5),
    ]


@operation
def parquet(directory: Path) -> Any:
    own = [saved_text(sf.write_parquet, "p", SFrame.read_parquet) for sf in (flat(), frame()[["array", "ints", "counts"]], many())]
    names = ("days.parquet", "encodings.parquet", "codecs", "pages2.parquet")
    return [*own, *[SFrame.read_parquet(str(directory / name)) for name in names[:3]], SFrame.read_parquet(str(directory / "nested.parquet"))]


@operation
def parquet_of_96_bits(_: Path) -> Any:
    sf = SFrame.read_parquet(str(OF_96_BITS))
    return [sf, sf[sf["t"] >= DAYS[4]], sf["t"].max()]


@operation
def parquet_with_pages_of_version_2(directory: Path) -> Any:
    return SFrame.read_parquet(str(directory / "pages2.parquet"))


@operation
def orc(directory: Path) -> Any:
    near = frame()[["id", "float", "text", "day"]][3:6]
    own = [saved_text(sf.write_orc, "o", SFrame.read_orc) for sf in (flat().remove_column("day"), near, frame()[["array", "ints"]], many())]
    return [*own, SFrame.read_orc(str(directory / "nested.orc"))]


@operation
def orc_of_early_days(directory: Path) -> Any:
    return SFrame.read_orc(str(directory / "days.orc"))


@operation
def csv(directory: Path) -> Any:
    own = [saved_text(flat().export_csv, name, SFrame.read_csv) for name in ("r.csv", "r.csv.gz", "r.csv.zst", "r.csv.bz2", "r.csv.lz4")]
    lists = saved_text(frame().export_csv, "all.csv", lambda path: SFrame.read_csv(path, column_type_hints={"list": list, "dict": dict}))
    return [*own, lists, SFrame.read_csv(str(directory / "rows.csv")), saved_text(many().export_csv, "m.csv", SFrame.read_csv)]


@operation
def json_files(directory: Path) -> Any:
    def lines(path: str) -> SFrame:
        return SFrame.read_json(path, orient="lines")

    own = (
        saved_text(flat().export_json, "r.json", SFrame.read_json),
        saved_text(lambda path: many().export_json(path, orient="lines"), "m.json", lines),
    )
    return [*own, lines(str(directory / "lines.json"))]


def cut(text: str) -> str:
    """Return a text, or the start and the sum of a long one."""
    return text if len(text) <= 1_000 else f"{text[:600]} ... {len(text)} {hashlib.sha256(text.encode()).hexdigest()}"


def values_in(directory: Path, by_turns: bool = False) -> dict[str, dict[str, str]]:
    """Return the values of all operations, by the way in which few rows are computed; by turns, each operation is computed in one of the two ways."""
    values: dict[str, dict[str, str]] = {}
    for turn, (way, limit) in enumerate((("directly", costs.MAX_ROWS_RUN_DIRECTLY), ("by a plan", -1))):
        costs.MAX_ROWS_RUN_DIRECTLY, values[way] = limit, {}
        for name, function in list(OPERATIONS.items())[turn::2] if by_turns else OPERATIONS.items():
            try:
                values[way][name] = cut(text_of(function(directory)))
            except Exception as error:
                values[way][name] = f"error: {type(error).__name__}: {error}".replace(str(directory), "")
    return values


def recorded() -> dict[str, str]:
    """Return the values to be expected, which are the same for both ways."""
    values: dict[str, str] = json.loads(RECORDED.read_text(encoding="utf-8"))
    return values


def main(directory: Path, records: bool) -> None:
    """Print the values, or keep them."""
    if not (directory / "many").exists():
        write_files(directory)
    values = values_in(directory)
    if not records:
        sys.stdout.write(json.dumps(values))
        return
    directly, by_a_plan = values.values()
    assert directly == by_a_plan, {name: (text, by_a_plan[name]) for name, text in directly.items() if text != by_a_plan[name]}
    RECORDED.write_text(json.dumps(directly, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:] == ["record"])
