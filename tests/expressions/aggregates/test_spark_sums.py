"""What Spark adds up is what the kernels give, digit by digit, whatever the floats and however rows lie in partitions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sframe_spark.expressions.aggregates  # noqa: F401 - fills the table
from sframe_spark.compute.spark_exact_sum import DEFAULT_WINDOW, WIDE_WINDOW, carried, leading, nearest
from sframe_spark.engine.spark import query
from sframe_spark.engine.spark.error_translation import run_spark, translated_errors
from sframe_spark.errors import NumbersLeftOutError
from sframe_spark.expressions.aggregates.aggregate_function import AGGREGATES, QueryProperties
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation, grouped_in_spark, named_columns, with_helper_columns
from sframe_spark.operators.groupby.groupby import group_by
from sframe_spark.operators.groupby.in_memory_groupby import group_rows
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.spark_relation import SummedFloats
from sframe_spark.plugin import SFrame, node_of
from sframe_spark.session.spark_versions import dataframe_of, to_arrow
from sframe_spark.types import FLOAT, INT
from tests.compute.odd_numbers import ODD
from tests.examples import part

pytestmark = pytest.mark.spark

FUNCTIONS = ("sum", "mean", "var", "std")
RANDOM = np.random.default_rng(29)
# Numbers of the window, at both of its ends too.
LEAST, MOST = 2.0**DEFAULT_WINDOW.lowest, 2.0**DEFAULT_WINDOW.highest * (1 - 2.0**-53)
USUAL_NUMBERS = (0.0, -0.0, 0.1, -0.3, 1.0, 3.0, 2.0**53, -(2.0**53), 2.0**52 + 1, LEAST, -LEAST, MOST, -MOST, 1e9 + 2.0**-23, math.inf, math.nan)


# Numbers of the window that is taken next.
FEWEST, LARGEST = 2.0**WIDE_WINDOW.lowest, 2.0**WIDE_WINDOW.highest * (1 - 2.0**-53)
MORE_NUMBERS = (1e-25, 3e-46, -7e-30, 6.02214076e23, -1e28, FEWEST, -FEWEST, LARGEST, -LARGEST)


def numbers(random: np.random.Generator, odd: Sequence[float], exponents: tuple[int, int], count: int) -> list[float | None]:
    """Some numbers of a group: of all sizes, or near one another, or from a list, often such that they cancel."""
    kind = random.integers(0, 5)
    if kind == 0:
        found = random.choice(odd, count)
    elif kind == 1:
        found = np.ldexp(random.normal(size=count), random.integers(*exponents, count))
    elif kind == 2:
        found = 1e9 + random.integers(-3, 4, count) * 2.0**-23
    elif kind == 3:
        # Half way between two floats, but for what is far below.
        found = random.choice([2.0**53, 1.0, -1.0, 2.0**-40, -(2.0**-40), 2.0**-60, 0.5], count)
    else:
        found = random.normal(size=count)
    values: list[float | None] = found.tolist()
    if random.integers(0, 3) == 0:
        values += [None, *(-value for value in found[: random.integers(0, count + 1)].tolist())]
    return values


def rows_of(random: np.random.Generator, odd: Sequence[float], exponents: tuple[int, int], groups: int) -> Chunk:
    """Keys and numbers of many groups, in no order; some of a missing number only."""
    members = [numbers(random, odd, exponents, int(random.integers(1, 12))) if random.integers(0, 20) else [None] for _ in range(groups)]
    rows = [(key, value) for key, values in enumerate(members) for value in values]
    order = random.permutation(len(rows))
    keys, values = [rows[place][0] for place in order], [rows[place][1] for place in order]
    return Chunk.of([pa.array(keys, pa.int64()), pa.array(values, pa.float64(), from_pandas=False)])


def by_spark(spark: Any, rows: Chunk, way: QueryProperties) -> pa.Table:
    """The aggregates of the groups, by Spark, in several partitions."""
    df = dataframe_of(spark, pa.table(list(rows.columns), names=["c0", "c1"]), "c0 bigint, c1 double").repartition(5)
    aggregates = [AGGREGATES[name].in_spark(["c1"], [FLOAT], (), None, way) for name in FUNCTIONS]
    grouped, finished = grouped_in_spark(df, ["c0"], ["c0"], aggregates)
    return to_arrow(grouped.select("c0", *[column.alias(name) for column, name in zip(finished, FUNCTIONS, strict=True)]).orderBy("c0"))


@pytest.mark.parametrize(
    ("summed", "odd", "exponents"),
    [
        (SummedFloats.COMMON, USUAL_NUMBERS, (-60, 50)),
        (SummedFloats.MORE, (*USUAL_NUMBERS, *MORE_NUMBERS), (-150, 80)),
        (SummedFloats.EVERY, USUAL_NUMBERS, (-60, 50)),
        (SummedFloats.EVERY, (*ODD, *USUAL_NUMBERS, *MORE_NUMBERS), (-1070, 1000)),
    ],
)
def test_every_digit_is_that_of_the_kernels(spark: Any, summed: SummedFloats, odd: Sequence[float], exponents: tuple[int, int]) -> None:
    rows = rows_of(np.random.default_rng(7), odd, exponents, 1500)
    expected = group_rows(rows, (INT, FLOAT), [0], [Aggregation(name, (1,)) for name in FUNCTIONS])
    found = by_spark(spark, rows, QueryProperties(summed))
    for name, column, wanted in zip(("key", *FUNCTIONS), found.columns, expected.columns, strict=True):
        assert list(map(repr, column.to_pylist())) == list(map(repr, wanted.to_pylist())), name


def test_sums_are_those_of_fsum(spark: Any) -> None:
    rows = rows_of(np.random.default_rng(8), (0.0, 0.1, LEAST, -MOST), (-60, 50), 500)
    found = by_spark(spark, rows, QueryProperties(SummedFloats.COMMON))
    groups: dict[int, list[float]] = {key: [] for key in range(500)}
    for key, value in zip(*(column.to_pylist() for column in rows.columns), strict=True):
        groups[key] += [] if value is None else [value]
    assert found["sum"].to_pylist() == [math.fsum(groups[key]) for key in found["c0"].to_pylist()]


def test_a_sum_of_digits_is_rounded_once(spark: Any) -> None:
    spread = [
        [int(value) >> int(bits) for value, bits in zip(RANDOM.integers(-(2**62), 2**62, DEFAULT_WINDOW.places), bits, strict=True)]
        for bits in RANDOM.integers(0, 66, (1500, DEFAULT_WINDOW.places))
    ]
    edges = [
        [sign * digit if place in places else below for place in range(DEFAULT_WINDOW.places)]
        for sign in (1, -1)
        for digit in (2**53, 2**53 + 1, 2**54 + 2, 2**29, -(2**29), 1, 2**62)
        for below in (0, 1, -1)
        for places in ((0,), (2,), (5,), (1, 4))
    ]
    totals = [*spread, *edges, [0] * DEFAULT_WINDOW.places]
    names = [f"a{place}" for place in range(DEFAULT_WINDOW.places)]
    df = spark.createDataFrame(
        [(number, *row) for number, row in enumerate(totals)], schema=", ".join(["row bigint", *(f"{name} bigint" for name in names)])
    )
    for step in (carried, lambda digits: leading(digits, DEFAULT_WINDOW.lowest)):
        texts = step(names)
        names = [f"a{place}" for place in range(len(texts))]
        df = df.selectExpr("row", *[f"{text} AS {name}" for text, name in zip(texts, names, strict=True)])
    found = [row[1] for row in df.selectExpr("row", nearest(*names)).orderBy("row").collect()]
    exact = [sum(Fraction(digit) * Fraction(2) ** (DEFAULT_WINDOW.lowest + 30 * place) for place, digit in enumerate(row)) for row in totals]
    assert list(map(repr, found)) == [repr(float(total)) for total in exact]


def test_where_numbers_are_unusual_the_query_is_made_anew(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = [1e308, 1e308, -1e308, 5e-324, 1.0, 1e-200, 2.5]
    node = group_by(node_of(SFrame({"k": [0, 0, 0, 1, 1, 2, 3], "x": values})), [0], [Aggregation("sum", (1,)), Aggregation("mean", (1,))])
    with pytest.raises(NumbersLeftOutError), translated_errors("testing"):
        query.lower(node, summed=SummedFloats.COMMON).df.collect()
    ways, lower = [], query.lower

    def noted(*arguments: Any, **named: Any) -> Any:
        ways.append(named.get("summed", SummedFloats.EVERY))
        return lower(*arguments, **named)

    monkeypatch.setattr(query, "lower", noted)
    assert query.collect(node).columns[1].to_pylist() == [1e308, 1.0, 1e-200, 2.5]
    assert query.write_parquet(node, str(tmp_path)) in (4, None)
    assert ways == 2 * list(SummedFloats)
    (file,) = tmp_path.glob("*.parquet")
    assert pq.read_table(file).column(1).to_pylist() == [1e308, 1.0, 1e-200, 2.5]


@pytest.mark.parametrize("function", part(FUNCTIONS, 2))
def test_each_aggregate_refuses_numbers_that_it_would_leave_out(spark: Any, function: str) -> None:
    node = group_by(node_of(SFrame({"k": [0, 0, 1], "x": [1e308, 2.0, 1.0]})), [0], [Aggregation(function, (1,))])
    for summed in (SummedFloats.COMMON, SummedFloats.MORE):
        with pytest.raises(NumbersLeftOutError), translated_errors("testing"):
            query.lower(node, summed=summed).df.collect()


def test_a_column_of_tiny_numbers_is_added_up_without_lists_of_them(spark: Any) -> None:
    sums = [AGGREGATES[name].in_spark(["c1"], [FLOAT], (), None, QueryProperties(SummedFloats.MORE)) for name in ("sum", "std")]
    assert not any("collect" in str(column) for aggregate in sums for column in aggregate.columns)
    values = [1e-25 * number for number in range(1, 100)]
    node = group_by(node_of(SFrame({"k": [0] * 99, "x": values})), [0], [Aggregation("sum", (1,))])
    made = run_spark(lambda: to_arrow(query.lower(node, summed=SummedFloats.MORE).df), "testing")
    assert made.column(1).to_pylist() == [math.fsum(values)]


def test_files_of_a_query_that_is_made_anew_are_deleted(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = group_by(node_of(SFrame({"k": [0, 1], "x": [1e308, 1.0]})), [0], [Aggregation("sum", (1,))])
    (tmp_path / "mine.parquet").write_text("of the user")
    lower = query.lower

    def leaving_files(root: Any, **named: Any) -> Any:
        # As tasks of a failed query do where the user's settings of Spark have them commit what each wrote.
        if named:
            (tmp_path / "_temporary").mkdir(exist_ok=True)
            (tmp_path / f"left-{named['summed']}.parquet").write_text("left")
        return lower(root, **named)

    made_of = query.computed

    def after_files(root: Any, action: Any) -> Any:
        found = made_of(root, action)
        assert not [file for file in tmp_path.iterdir() if "left-" in file.name]
        return found

    monkeypatch.setattr(query, "lower", leaving_files)
    monkeypatch.setattr(query, "computed", after_files)
    assert query.write_parquet(node, str(tmp_path)) in (2, None)
    assert (tmp_path / "mine.parquet").read_text() == "of the user"


def test_errors_of_the_query_made_anew_do_not_tell_of_the_first(spark: Any) -> None:
    node = group_by(node_of(SFrame({"k": [0], "x": [1e308]})), [0], [Aggregation("sum", (1,))])

    def failing(relation: Any) -> None:
        with translated_errors("testing"):
            relation.df.collect()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        query.computed(node, failing)
    assert caught.value.__context__ is None


@pytest.mark.parametrize("summed", list(SummedFloats))
def test_floats_that_digits_are_made_of_are_not_missing_by_their_types(spark: Any, summed: SummedFloats) -> None:
    df = dataframe_of(spark, pa.table({"c1": pa.array([1.5, None, math.nan])}), "c1 double")
    beside = with_helper_columns(df, [AGGREGATES["std"].in_spark(["c1"], [FLOAT], (), None, QueryProperties(summed))])
    window = DEFAULT_WINDOW if summed is SummedFloats.COMMON else WIDE_WINDOW
    # To Spark a float that becomes a whole number may be missing, whichever it is.
    digits = [text.removeprefix("CAST(").removesuffix(" AS BIGINT)") for name in beside.columns[1:] for text in window.digits(name)]
    # Otherwise generated code looks at each step of each digit whether there is a number.
    assert not any(field.nullable for field in beside.selectExpr(*beside.columns[1:], *digits).schema)


def test_sums_and_means_take_one_exchange_and_no_python(spark: Any) -> None:
    df = spark.range(100).selectExpr("id % 7 AS c0", "id * 0.1D AS c1")
    aggregates = [AGGREGATES[name].in_spark(["c1"], [FLOAT], (), None, QueryProperties(SummedFloats.COMMON)) for name in ("sum", "mean")]
    grouped, finished = grouped_in_spark(df, ["c0"], ["c0"], aggregates)
    plan = grouped.select(*finished)._jdf.queryExecution().executedPlan().toString()
    assert (plan.count("Exchange"), plan.count("Sort"), plan.count("Python")) == (1, 0, 0)
    # Both have their columns from the same sums of digits.
    assert len(named_columns(aggregates)) == DEFAULT_WINDOW.places + 3
