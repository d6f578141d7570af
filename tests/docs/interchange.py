"""What columns become on their way through each door, as `docs/interchange.md` shows it: ``python -m tests.docs.interchange`` writes the tables anew.

A cell says "same" where values and type are as they were, the kind of column that they become, or that the door refuses them.
"""

from __future__ import annotations

import json
import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq

from sframe_spark import SArray, SFrame
from sframe_spark.errors import SFrameError
from tests.docs.interchange_columns import FOREIGN, OF_SPARK, OURS
from tests.examples import by_turns

PAGE = Path(__file__).parents[2] / "docs" / "interchange.md"
SAME, REFUSED, NONE = "same", "refused", "none"


def frame_of(values: list[Any]) -> SFrame:
    """A frame of one column, and of one that misses no value, as a file of text has no line for a row of nothing."""
    return SFrame({"x": SArray(values), "row": SArray(range(len(values)))})


def through_file(write: Callable[[SFrame, str], Any], read: Callable[[str], SFrame], ending: str) -> Callable[[SFrame], SFrame]:
    """Out to a file or directory, and back."""

    def there_and_back(frame: SFrame) -> SFrame:
        with tempfile.TemporaryDirectory() as directory:
            place = f"{directory}/rows{ending}"
            write(frame, place)
            found = read(place)
            found.materialize()
            return SFrame(found.to_arrow())

    return there_and_back


def through_numpy(frame: SFrame) -> SFrame:
    """A column at a time, as numpy has no columns of different types."""
    return SFrame({name: frame[name].to_numpy() for name in ("x", "row")})


def through_delta(frame: SFrame) -> SFrame:
    """The library's own writer."""
    import deltalake

    with tempfile.TemporaryDirectory() as directory:
        deltalake.write_deltalake(directory, frame)
        found = SFrame.read_delta(directory)
        found.materialize()
        return SFrame(found.to_arrow())


def through_duckdb(frame: SFrame) -> SFrame:
    """As a table that queries name."""
    import duckdb

    return SFrame(duckdb.sql("from frame"))


def through_polars(frame: SFrame) -> SFrame:
    """As a DataFrame."""
    import polars

    return SFrame(polars.DataFrame(frame))


def through_spark(frame: SFrame) -> SFrame:
    """As a DataFrame of the user's session."""
    return SFrame(frame.to_spark())


DOORS: dict[str, Callable[[SFrame], SFrame]] = {
    "save": through_file(lambda frame, place: frame.save(place), SFrame, ""),
    "Arrow": lambda frame: SFrame(pa.table(frame)),
    "pandas": lambda frame: SFrame(frame.to_pandas()),
    "pandas, `arrow=True`": lambda frame: SFrame(frame.to_pandas(arrow=True)),
    "polars": through_polars,
    "DuckDB": through_duckdb,
    "NumPy": through_numpy,
    "Parquet": through_file(lambda frame, place: frame.write_parquet(place), SFrame.read_parquet, ""),
    "ORC": through_file(lambda frame, place: frame.write_orc(place), lambda place: SFrame.read_orc(place), ""),
    "CSV": through_file(lambda frame, place: frame.export_csv(place), lambda place: SFrame.read_csv(place), ".csv"),
    "JSON": through_file(lambda frame, place: frame.export_json(place), lambda place: SFrame.read_json(place), ".json"),
    "Delta": through_delta,
}
ON_SPARK = {"Spark": through_spark, "Connect": through_spark}


def cell_out(door: Callable[[SFrame], SFrame], values: list[Any]) -> str:
    """What a column becomes that goes out through a door and comes back."""
    frame = frame_of(values)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = door(frame)
            row = found["row"].astype(int).to_numpy().tolist()
            column = [value for _, value in sorted(zip(row, list(found["x"]), strict=True), key=lambda pair: pair[0])]
    except SFrameError:
        return REFUSED
    before, after = frame["x"].dtype, found["x"].dtype
    if before is not after:
        return after.__name__
    return SAME if repr(column) == repr(list(frame["x"])) else f"{after.__name__}, changed"


def parquet_in(table: pa.Table, directory: str) -> str:
    """A file that Arrow wrote."""
    pq.write_table(table, f"{directory}/rows.parquet")
    return f"{directory}/rows.parquet"


def orc_in(table: pa.Table, directory: str) -> str:
    """A file that Arrow wrote."""
    pyarrow.orc.write_table(table, f"{directory}/rows.orc")
    return f"{directory}/rows.orc"


def pandas_in(table: pa.Table, directory: str) -> Any:
    """Columns of Arrow types in pandas."""
    import pandas

    return table.to_pandas(types_mapper=pandas.ArrowDtype)


def polars_in(table: pa.Table, directory: str) -> Any:
    """A polars frame."""
    import polars

    return polars.from_arrow(table)


def duckdb_in(table: pa.Table, directory: str) -> Any:
    """What a query of DuckDB gives."""
    import duckdb

    return duckdb.from_arrow(table).to_arrow_table()


Made = tuple[Callable[[pa.Table, str], Any], Callable[[Any], SFrame]]
DOORS_IN: dict[str, Made] = {
    "Arrow": (lambda table, directory: table, SFrame),
    "Parquet": (parquet_in, lambda place: SFrame.read_parquet(place)),
    "ORC": (orc_in, lambda place: SFrame.read_orc(place)),
    "pandas": (lambda table, directory: table.to_pandas(), SFrame),
    "pandas, ArrowDtype": (pandas_in, SFrame),
    "polars": (polars_in, SFrame),
    "DuckDB": (duckdb_in, SFrame),
}
"""How other libraries make what holds a column, and how we read it."""


def cell_in(door: Made, values: pa.Array) -> str:
    """The kind of column that a column of another library becomes; "none" where the library, or the format, has none of this type."""
    make, read = door
    return kind_of(lambda directory: make(pa.table({"x": values}), directory), read, len(values))


def kind_of(make: Callable[[str], Any], read: Callable[[Any], SFrame], rows: int) -> str:
    """The kind of a column that somebody makes, in a directory if need be, and that we read."""
    with tempfile.TemporaryDirectory() as directory, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            given = make(directory)
        except BaseException as error:
            assert not isinstance(error, (SFrameError, KeyboardInterrupt)), error
            return NONE
        try:
            found = read(given)["x"]
            values = list(found)
        except SFrameError as error:
            assert "'x'" in str(error), f"the error does not name the column: {error}"
            return REFUSED
    assert len(values) == rows
    return found.dtype.__name__


def parquet_of_spark(df: Any, directory: str) -> str:
    """Files that Spark wrote."""
    df.write.parquet(f"{directory}/rows")
    return f"{directory}/rows"


MadeOfSpark = tuple[Callable[[Any, str], Any], Callable[[Any], SFrame]]
DOORS_OF_SPARK: dict[str, MadeOfSpark] = {
    "Spark": (lambda df, directory: df, SFrame),
    "Spark's Parquet": (parquet_of_spark, lambda place: SFrame.read_parquet(place)),
    "`toArrow()`": (lambda df, directory: df.toArrow(), SFrame),
    "`toPandas()`": (lambda df, directory: df.toPandas(), SFrame),
}
"""How Spark gives what holds a column, and how we read it."""
# Spark computes with times of day where somebody says so.
TIMES = "spark.sql.timeType.enabled"
CONNECT_IN = {"Connect": DOORS_OF_SPARK["Spark"]}


def column_of_spark(door: str, names: Sequence[str] = ()) -> dict[str, str]:
    """A column of the third table, or some of its cells."""
    from sframe_spark.session.users_own_spark_session import user_session

    spark = user_session()
    before = spark.conf.get(TIMES)
    spark.conf.set(TIMES, "true")
    try:
        made = {**DOORS_OF_SPARK, **CONNECT_IN}[door]
        return {name: cell_of_spark(made, spark.range(2), OF_SPARK[name]) for name in names or OF_SPARK}
    finally:
        spark.conf.set(TIMES, before)


def cell_of_spark(door: MadeOfSpark, two_rows: Any, text: str) -> str:
    """The kind of column that a column of a DataFrame becomes; "none" where Spark gives none of this type."""
    make, read = door
    df = two_rows.selectExpr(f"CASE WHEN id = 0 THEN {text} END AS x")
    return kind_of(lambda directory: make(df, directory), read, 2)


def column_out(door: str, names: Sequence[str] = ()) -> dict[str, str]:
    """A column of the first table, or some of its cells."""
    return {name: cell_out({**DOORS, **ON_SPARK}[door], OURS[name]) for name in names or OURS}


def column_in(door: str) -> dict[str, str]:
    """A column of the second table."""
    return {name: cell_in(DOORS_IN[door], values) for name, values in FOREIGN.items()}


def table_text(corner: str, columns: dict[str, dict[str, str]]) -> str:
    """A table of the page."""
    rows = list(next(iter(columns.values())))
    lines = [[corner, *columns], ["---"] * (len(columns) + 1), *([row, *(column[row] for column in columns.values())] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def table_of_page(corner: str) -> dict[str, dict[str, str]]:
    """The columns of the table of the page that has this corner."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith(f"| {corner} |"))
    doors = cells(lines[first])[1:]
    found: dict[str, dict[str, str]] = {door: {} for door in doors}
    for line in lines[first + 2 :]:
        if not line.startswith("|"):
            break
        row, *values = cells(line)
        for door, value in zip(doors, values, strict=True):
            found[door][row] = value
    return found


def some_of_page(corner: str, door: str, names: Sequence[str]) -> dict[str, str]:
    """Some cells of a column of the table of the page that has this corner."""
    column = table_of_page(corner)[door]
    return {name: column[name] for name in names}


def cells(line: str) -> list[str]:
    """The texts of a line of a table."""
    return [cell.strip() for cell in line.strip("|").split(" | ")] if " | " in line else []


OUT_CORNER, IN_CORNER, SPARK_CORNER = "Column", "Arrow type", "Spark type"


def write_page() -> None:
    """Put the tables into the page, the text around them kept."""
    text = PAGE.read_text(encoding="utf-8")
    known = table_of_page(OUT_CORNER) if f"| {OUT_CORNER} |" in text else {}
    outs = {door: column_out(door) for door in [*DOORS, "Spark"]}
    outs["Connect"] = outs["Spark"] | known.get("Connect", {})
    ins = {door: column_in(door) for door in DOORS_IN}
    of_spark = {"Spark": column_of_spark("Spark")}
    of_spark["Connect"] = (table_of_page(SPARK_CORNER) if f"| {SPARK_CORNER} |" in text else of_spark).get("Connect", of_spark["Spark"])
    of_spark |= {door: column_of_spark(door) for door in DOORS_OF_SPARK}
    for corner, columns in ((OUT_CORNER, outs), (IN_CORNER, ins), (SPARK_CORNER, of_spark)):
        table = table_text(corner, columns)
        start = text.index(f"| {corner} |")
        end = text.find("\n\n", start)
        text = text[:start] + table + (text[end:] if end >= 0 else "\n")
    PAGE.write_text(text, encoding="utf-8")


def in_turn(door: str) -> tuple[list[str], list[str]]:
    """Rows of the first and the third table whose cells of a door of Spark are made in the normal run: each row's by some doors."""
    number = [*ON_SPARK, *DOORS_OF_SPARK].index(door)
    return list(by_turns(list(OURS), 2, number)), list(by_turns(list(OF_SPARK), 2, number))


def main(arguments: list[str]) -> None:
    """Write the page; with the URL of a Connect server, print its columns instead, some of their cells unless all are asked for."""
    if arguments:
        from tests.properties.other_sparks import start

        start(arguments[0])
        ours, of_spark = in_turn("Connect")
        sys.stdout.write(json.dumps([column_out("Connect", ours), column_of_spark("Connect", of_spark)]) + "\n")
    else:
        write_page()


if __name__ == "__main__":
    main(sys.argv[1:])
