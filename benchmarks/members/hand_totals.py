"""What of a hand-written query is compared with ours: the number of rows, and of each column a sum that needs no order."""

from __future__ import annotations

import array
import datetime
from typing import Any

from benchmarks.members.samples import columns_of, in_order, is_lazy

# Where Spark's own function gives another text, another type or another choice than ours.
UNLIKE = frozenset(
    [
        *("hash", "hash of floats", "hash of text", "hash of lists", "hash of dicts", "astype: float to str", "median"),
        *("astype: dict to str", "astype: array to str", "astype: list to str", "astype: datetime to str"),
        *(
            "argmax",
            "argmin",
            "sa.head",
            "sf.head",
            "summary of ints",
            "sf.dropna_split",
            "read_json",
            "read_json, lines",
            "read_csv of arrays and dicts",
        ),
    ]
)


def totals_by_hand(result: Any) -> Any:
    """Of a query: rows, and sums by column."""
    from pyspark.sql import DataFrame, functions as F

    if isinstance(result, tuple):
        return [totals_by_hand(part) for part in result]
    if not isinstance(result, DataFrame):
        return result
    names = [f"c{place}" for place in range(len(result.columns))]
    table = result.toDF(*names)
    sums = [F.sum(measure(F, name, field.dataType.typeName())).alias(name) for name, field in zip(names, table.schema, strict=True)]
    rows, *found = table.select(F.count(F.lit(1)), *sums).collect()[0]
    return [rows, [None if total is None else float(total) for total in found]]


def measure(F: Any, name: str, kind: str) -> Any:
    """What is summed of a column of one of Spark's types."""
    if kind == "string":
        return F.length(name)
    if kind in ("timestamp", "timestamp_ntz"):
        return F.unix_micros(F.col(name).cast("timestamp")) / 1e6
    if kind in ("array", "map"):
        return F.when(F.col(name).isNotNull(), F.size(name))
    if kind == "boolean":
        return F.col(name).cast("long")
    return F.col(name).cast("double") if kind in ("integer", "long", "double", "decimal") else F.lit(None).cast("double")


def totals(result: Any) -> Any:
    """The same of ours."""
    if isinstance(result, tuple):
        return [totals(part) for part in result]
    if not is_lazy(result):
        return result
    return [len(result), [total(column) for column in columns_of(result).values()]]


def total(column: Any) -> float | None:
    """What is summed of a column of ours."""
    import pyarrow.compute as pc

    if column.dtype is str:
        found = pc.sum(pc.utf8_length(column.to_arrow())).as_py()
    elif column.dtype in (list, dict, array.array):
        found = column.item_length().sum()
    elif column.dtype is datetime.datetime:
        found = column.astype(float).sum()
    else:
        found = column.sum()
    return None if found is None else float(found)


def comparable(sample: Any, name: str) -> bool:
    """True where our result and that of the query are meant to be equal."""
    return name not in UNLIKE and (sample is in_order or hasattr(sample, "sorted_by"))


def alike(ours: Any, hand: Any) -> bool:
    """True when what is summed is equal, and missing only where the other side has nothing to sum."""
    if isinstance(ours, (list, tuple, array.array)) and isinstance(hand, (list, tuple)):
        # Columns of keys have another place there.
        first, second = (sorted(side, key=repr) if side and all(isinstance(value, float) for value in side) else side for side in (ours, hand))
        return len(first) == len(second) and all(map(alike, first, second))
    if ours is None or hand is None or isinstance(ours, (str, dict, datetime.datetime)):
        return True
    return bool(abs(float(ours) - float(hand)) <= 1e-7 * max(1.0, abs(float(ours))))
