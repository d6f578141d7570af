"""Sort, group and save a frame of three times the driver's heap; a process of its own, started by `test_query_sizes.py`."""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession

from sframe_spark import SFrame, aggregate, load_sframe
from sframe_spark.session import get_session
from tests.properties.other_sparks import start_session

# About the smallest that Spark starts with. A row of five numbers takes 40 bytes as plain arrays.
HEAP = "512m"
ROWS = 40_000_000
GROUPS = 1_000_000


def main(directory: str) -> None:
    """Make, save, group and sort the rows; the last line of the output says what came of it."""
    start_session(SparkSession.builder.master("local[2]").appName("sframe_spark small heap"), {"spark.driver.memory": HEAP})
    columns = ("id", "(id * 7919) % 40000003 AS k", f"(id * 31) % {GROUPS} AS g", "rand(1) AS a", "rand(2) AS b")
    SFrame(get_session().range(ROWS).selectExpr(*columns)).save(f"{directory}/rows.sframe")
    frame = load_sframe(f"{directory}/rows.sframe")
    groups = frame.groupby("g", {"n": aggregate.COUNT(), "first": aggregate.MIN("id")})
    assert (len(groups), groups["n"].min(), groups["n"].max()) == (GROUPS, ROWS // GROUPS, ROWS // GROUPS)
    frame.sort("k").save(f"{directory}/sorted.sframe")
    ordered = load_sframe(f"{directory}/sorted.sframe")
    assert len(ordered) == ROWS
    assert ordered.is_sorted("k")
    # 7919 and 40,000,003 have no common factor, so no two rows have one `k`.
    assert ((ordered["id"] * 7919) % 40_000_003 == ordered["k"]).all()
    assert ordered["id"].sum() == ROWS * (ROWS - 1) // 2
    sys.stdout.write(f"{ROWS} rows with a heap of {get_session().conf.get('spark.driver.memory')}\n")


if __name__ == "__main__":
    main(sys.argv[1])
