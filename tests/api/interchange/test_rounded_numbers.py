"""Numbers with more digits than a column holds are exact, refused, or warned of once with the column's name, whichever door they come by."""

from __future__ import annotations

import array
import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq
import pytest

from sframe_spark import SArray, SArrayBuilder, SFrame, SFrameBuilder
from sframe_spark.errors import InexactDecimalWarning, InexactNumberWarning, SFrameError

ID = 2**63 + 1
LONG = Decimal("1.2345678901234567890")
# Floats end before them: one would be infinite, the other zero.
HUGE, TINY = Decimal("1e400"), Decimal("1e-400")
WIDE = np.longdouble("1.2345678901234567890")
BESIDE_FLOATS = 2**53 + 1


def _assigned(values: Any) -> SArray:
    frame = SFrame({"row": [1]})
    frame["id"] = values
    return frame["id"]


def _built(values: Any) -> SArray:
    builder = SFrameBuilder([float], column_names=["id"])
    builder.append_multiple([[value] for value in values])
    return builder.close()["id"]


def _built_column(values: Any) -> SArray:
    builder = SArrayBuilder(list)
    builder.append_multiple([["x", *values]])
    return builder.close()


class Connection:
    """A database whose one query gives these values."""

    paramstyle = "qmark"

    def __init__(self, values: Any) -> None:
        self._rows = iter([[value] for value in values])
        self.description = [("id",)]

    def cursor(self) -> Connection:
        return self

    def execute(self, statement: str) -> None:
        pass

    def fetchmany(self) -> list[Any]:
        return [row for row in [next(self._rows, None)] if row is not None]

    def close(self) -> None:
        pass

    commit = rollback = close


def _from_database(values: Any) -> SArray:
    return SFrame.from_sql(Connection(values), "select id from t", dbapi_module=Connection)["id"]


NAMED: dict[str, Callable[[Any], SArray]] = {
    "frame": lambda values: SFrame({"id": values})["id"],
    "assigned": _assigned,
    "added": lambda values: SFrame({"row": [1]}).add_column(values, "id")["id"],
    "pandas": lambda values: SFrame(pd.DataFrame({"id": pd.Series(values, dtype=object)}))["id"],
    "built": _built,
    "database": _from_database,
}
UNNAMED: dict[str, Callable[[Any], SArray]] = {
    "list": SArray,
    "tuple": lambda values: SArray(tuple(values)),
    "iterator": lambda values: SArray(iter(values)),
    "numpy, objects": lambda values: SArray(np.array(values, object)),
    "in lists": lambda values: SArray([["x", *values]]),
    "in arrays": lambda values: SArray([[*values, 0.5]]),
    "in dicts": lambda values: SArray([{"a": value, "b": "x"} for value in values]),
    "in lists in dicts": lambda values: SArray([{"a": [*values, 0.5], "b": "x"}]),
    "function": lambda values: SArray([1]).apply(lambda _: values[0]),
    "function of rows": lambda values: SFrame({"a": [1]}).apply(lambda _: values[0]),
    "rows of a function": lambda values: SFrame({"a": [1]}).flat_map(["b"], lambda _: [[values[0]]])["b"],
    "filled": lambda values: SArray([0.5, None]).fillna(values[0]),
    "operand": lambda values: SArray([0.5]) * values[0],
    "in a built list": _built_column,
}


OF_FUNCTIONS = ("function", "function of rows", "rows of a function")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("value", [ID, -ID, LONG, HUGE, TINY, WIDE, np.uint64(ID)], ids=repr)
@pytest.mark.parametrize("door", [*NAMED, *UNNAMED])
def test_numbers_of_python(door: str, value: Any) -> None:
    if door in OF_FUNCTIONS and isinstance(value, (int, np.integer)):
        # What arithmetic gives beyond 64 bits is a float, as in the reference.
        assert float(value) in np.ravel([list(row.values()) if isinstance(row, dict) else row for row in UNNAMED[door]([value])])
        return
    category = InexactDecimalWarning if isinstance(value, Decimal) else InexactNumberWarning
    with pytest.warns(category, match="column 'id'" if door in NAMED else "numbers are rounded") as told:
        list({**NAMED, **UNNAMED}[door]([value]))
    assert len(told) == 1 and told[0].filename == __file__ and str(value)[:20] in str(told[0].message)


@pytest.mark.parametrize("door", [*[name for name in NAMED if name != "database"], "list", "in arrays", "in lists in dicts"])
def test_large_ints_beside_floats(door: str) -> None:
    with pytest.warns(InexactNumberWarning, match="9007199254740993") as told:
        list(_beside(door))
    assert len(told) == 1


def _beside(door: str) -> Iterator[Any]:
    if door in ("assigned", "added"):
        frame = SFrame({"row": [1, 2]})
        return iter(frame.add_column([0.5, BESIDE_FLOATS], "id")["id"])
    return iter({**NAMED, **UNNAMED}[door]([0.5, BESIDE_FLOATS]))


TYPED: dict[str, Callable[[], Any]] = {
    "numpy": lambda: SArray(np.array([ID, 1], np.uint64)),
    "numpy, long doubles": lambda: SArray(np.array([WIDE])),
    "numpy, two dimensions": lambda: SArray(np.array([[ID, 1]], np.uint64)),
    "numpy in dicts": lambda: SArray([{"a": np.array([ID], np.uint64), "b": 1}]),
    "numpy's ints in lists": lambda: SArray([["x", np.array([BESIDE_FLOATS])]]),
    "array": lambda: SArray(array.array("Q", [ID])),
    "pandas": lambda: SFrame(pd.DataFrame({"id": [ID]})),
    "pandas, nullable": lambda: SArray(pd.Series([ID, None], dtype="UInt64")),
    "pandas, Arrow": lambda: SArray(pd.Series([ID], dtype="uint64[pyarrow]")),
    "pandas, Arrow's decimals": lambda: SFrame(pd.DataFrame({"id": pd.Series([LONG], dtype=pd.ArrowDtype(pa.decimal128(25, 19)))})),
    "pandas, sparse": lambda: SArray(pd.arrays.SparseArray([ID], dtype="uint64")),
    "pandas, an index": lambda: SArray(pd.Index([ID], dtype="uint64")),
    "polars": lambda: SFrame(pl.DataFrame({"id": pl.Series([ID], dtype=pl.UInt64)})),
    "polars, a column of decimals": lambda: SArray(pl.Series([LONG])),
    "DuckDB": lambda: SFrame(duckdb.sql("select 9223372036854775809::ubigint id")),
    "DuckDB, uhugeint": lambda: SFrame(duckdb.sql("select ~(0::uhugeint) id")),
    "DuckDB, hugeint": lambda: SFrame(duckdb.sql("select 9223372036854775809::hugeint id")),
    "Arrow": lambda: SArray(pa.array([ID], pa.uint64())),
    "Arrow, lists": lambda: SArray(pa.array([[ID]], pa.list_(pa.uint64()))),
    "Arrow, structs": lambda: SArray(pa.array([{"a": ID, "b": "x"}], pa.struct([("a", pa.uint64()), ("b", pa.string())]))),
    "Arrow, lists in structs": lambda: SFrame(pa.table({"id": pa.array([{"a": [BESIDE_FLOATS], "b": "x"}])})),
    "Arrow, a column of decimals": lambda: SArray(pa.array([LONG])),
    "Arrow, a dictionary of decimals": lambda: SFrame(pa.table({"id": pa.array([LONG]).dictionary_encode()})),
    "Arrow, decimals in structs": lambda: SArray(pa.array([{"a": LONG, "b": "x"}])),
    "ints that ints do not hold": lambda: SArray([ID], dtype=int),
    "numpy's that ints do not hold": lambda: SArray(np.array([ID], np.uint64), dtype=int),
}


@pytest.mark.parametrize("door", TYPED)
def test_typed_values_are_refused_or_told_once(door: str) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            TYPED[door]()
        except SFrameError as error:
            assert ("64 bits" in str(error) or "UHUGEINT" in str(error)) and not told
            return
    assert [issubclass(entry.category, InexactNumberWarning) for entry in told] == [True]


def test_what_is_exact_is_not_told() -> None:
    exact = [2**63, -(2**63), 2**64, 0.5, Decimal("1.10"), Decimal("1e308"), Decimal("NaN"), np.longdouble(0.5), np.uint64(7), True, None]
    assert list(SArray(exact))[:2] == [2.0**63, -(2.0**63)]
    assert list(SArray([BESIDE_FLOATS, None])) == [BESIDE_FLOATS, None] and list(SArray(np.array([5], np.uint64))) == [5]
    assert list(SArray(np.array([2**63], np.uint64))) == [2.0**63]
    assert list(SArray([1]).apply(lambda _: Decimal("1.5"))) == [1.5]


def test_who_asks_for_floats_or_texts_gets_them() -> None:
    assert list(SArray([ID, LONG, WIDE], dtype=float)) == [2.0**63, float(LONG), float(WIDE)]
    assert list(SArray(np.array([ID], np.uint64), dtype=float)) == [2.0**63]
    assert list(SArray([1]).apply(lambda _: LONG, float)) == [float(LONG)]
    assert list(SArray([ID, LONG, Decimal("1.10")], dtype=str)) == [str(ID), str(LONG), "1.1"]
    assert list(SArray(np.array([ID], np.uint64), dtype=str)) == [str(ID)]
    found = SFrame.from_sql(Connection([LONG]), "select id from t", dbapi_module=Connection, column_type_hints={"id": float})
    assert list(found["id"]) == [float(LONG)]


def test_decimals_of_rows_that_nobody_has_looked_at() -> None:
    with pytest.warns(InexactDecimalWarning, match="longer results are rounded"):
        assert SArray(range(1000)).apply(lambda _: Decimal("0.5")).sum() == 500


@pytest.mark.parametrize("nested", [False, True])
def test_decimals_in_files(nested: bool, tmp_path: Path) -> None:
    cells = pa.array([{"a": LONG, "b": "x"}]) if nested else pa.array([LONG])
    table, parquet, orc = pa.table({"id": cells}), str(tmp_path / "x.parquet"), str(tmp_path / "x.orc")
    pq.write_table(table, parquet)
    pyarrow.orc.write_table(table, orc)
    for read, path in ((SFrame.read_parquet, parquet), (SFrame.read_orc, orc)):
        with pytest.warns(InexactDecimalWarning, match=r"'id' \(20 digits\)") as told:
            frame = read(path)
        assert len(told) == 1 and list(frame["id"]) == [{"a": float(LONG), "b": "x"} if nested else float(LONG)]
