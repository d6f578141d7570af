"""Running aggregates: against aggregates of the rows so far on plain Python values, over ranges and batches of any size."""

from __future__ import annotations

import datetime
import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sframe_spark import SArray, SFrame, aggregate, config
from sframe_spark.engine.execution.materialize_count_and_read_rows import compute
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.physical.site import Site
from sframe_spark.engine.shapes.section_planner import SectionPlanner
from sframe_spark.engine.shapes.section_tree import in_order_of_running
from sframe_spark.errors import TooLargeError
from sframe_spark.expressions.aggregates import collected_values, distinct_values, vectors
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.operators.window.running_by_group import Running, running
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.length_and_order_inference import properties_of
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.printed_plans import plan_text
from sframe_spark.plugin import Decomposition, aggregate as plugin_aggregate, define_aggregate
from sframe_spark.rewrite_laws import optimize
from sframe_spark.testing.oracle_functions import AGGREGATES, rows_equal, token
from sframe_spark.types import INT, list_of
from tests.examples import examples
from tests.operators.ranges import check_states_are_values, random_cuts, rows_of, run_in_ranges
from tests.strategies import PARTIAL_STATES_BY_TASKS, STREAM_BY_TASKS

NAN = math.nan
UTC = datetime.UTC
NAMES = ["f", "i", "s", "t", "z"]
NUMERIC = [(name, column) for name in ("sum", "mean", "min", "max", "var", "std", "quantile") for column in "fi"]
ANY = [(name, column) for name in ("select_one", "count_distinct", "distinct", "concat") for column in ("f", "i", "s", "t", "z")]
PAIRS = [(name, pair) for name in ("argmin", "argmax") for pair in ("fs", "if", "tz", "zi")]
EXTREMES = [(name, column) for name in ("min", "max") for column in ("t", "z")]
REQUESTS = [("count", ""), *NUMERIC, *ANY, *PAIRS, *EXTREMES, ("freq_count", "s")]
VALUES: list[list[Any]] = [
    [None, 1.5, -2.0, 0.0, -0.0, 8.25, NAN, math.inf],
    [None, -5, 0, 3, 3, 2**62],
    [None, "a", "b", ""],
    [None, datetime.datetime(1960, 1, 1), datetime.datetime(2020, 1, 1), datetime.datetime(2030, 1, 1, 0, 0, 0, 7)],
    [None, datetime.datetime(2020, 1, 1, tzinfo=UTC), datetime.datetime(1960, 1, 1, tzinfo=UTC), datetime.datetime(2030, 1, 1, tzinfo=UTC)],
]
EMPTY_ROW = (1.0, 1, "a", datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 1, tzinfo=UTC))


def frame(rows: Sequence[tuple[Any, ...]]) -> SFrame:
    """A frame of the rows; an extra row gives the columns their types and is cut off again."""
    columns = zip(*[*rows, EMPTY_ROW], strict=True)
    return SFrame({name: list(values) for name, values in zip(NAMES, columns, strict=True)})[: len(rows)]


def aggregations() -> list[Aggregation]:
    parameters = {"quantile": (0.25, 0.5)}
    return [Aggregation(name, tuple(map(NAMES.index, columns)), parameters.get(name, ())) for name, columns in REQUESTS]


def expected(rows: Sequence[tuple[Any, ...]], keys: Sequence[int]) -> list[tuple[Any, ...]]:
    """One aggregate of all rows so far with the same key per row."""
    kinds = ["float", "int", "str", "datetime", "datetime"]
    result = []
    for place, row in enumerate(rows):
        seen = [r for r in rows[: place + 1] if [token(r[key]) for key in keys] == [token(row[key]) for key in keys]]
        values = []
        for wanted in aggregations():
            columns = [[r[p] for r in seen] for p in wanted.positions]
            types = [kinds[p] for p in wanted.positions]
            values.append(len(seen) if wanted.function == "count" else AGGREGATES[wanted.function](columns, wanted.parameters, types))
        result.append(tuple(values))
    return result


def assert_rows(found: list[tuple[Any, ...]], wanted: list[tuple[Any, ...]]) -> None:
    for row, (a, b) in enumerate(zip(found, wanted, strict=True)):
        for request, x, y in zip(REQUESTS, a, b, strict=True):
            assert rows_equal([(x,)], [(y,)]), (row, request, x, y)


def node_of(rows: Sequence[tuple[Any, ...]], keys: Sequence[int]) -> PlannerNode:
    source = compute(frame(rows)._node)
    return running(source, keys, aggregations())


def random_rows(choose: random.Random) -> list[tuple[Any, ...]]:
    """Up to fifteen rows; in half of the frames without NaN and infinity, which hide what comes after them."""
    floats = VALUES[0] if choose.random() < 0.5 else VALUES[0][:-2]
    return [(choose.choice(floats), *map(choose.choice, VALUES[1:])) for _ in range(choose.randrange(16))]


def test_rows_so_far() -> None:
    for seed in range(examples(30)):
        choose = random.Random(seed)
        rows = random_rows(choose)
        keys = choose.sample(range(5), choose.randrange(3))
        check_rows_so_far(rows, keys, random_cuts(choose, len(rows)), choose.randint(1, 5))


@pytest.mark.parametrize(
    ("rows", "keys"),
    [
        ([], []),
        ([EMPTY_ROW], [0]),
        ([(None,) * 5] * 4, [0, 4]),
        ([(-0.0, 1, "a", None, None), (0.0, 2, "b", None, None)], [0]),
        ([(NAN, 1, "a", None, None), (-NAN, 2, "b", None, None)], [0]),
    ],
)
def test_edges(rows: list[tuple[Any, ...]], keys: list[int]) -> None:
    for batch_rows in (1, 5):
        check_rows_so_far(rows, keys, [0, *([1] if len(rows) > 1 else []), len(rows)], batch_rows)


def check_rows_so_far(rows: list[tuple[Any, ...]], keys: list[int], cuts: list[int], batch_rows: int) -> None:
    node = node_of(rows, keys)
    wanted = expected(rows, keys)
    assert_rows(run_in_ranges(node, cuts, batch_rows), wanted)
    source = node.inputs[0]
    whole = node.operator.kernel([source.operator.read(0, len(rows))], [source.facts])  # type: ignore[attr-defined]
    assert_rows(rows_of(whole, node), wanted)


def test_long_groups_use_the_same_meaning() -> None:
    """Few long groups take another way than many short ones."""
    values = [(i * 7919) % 1013 / 4 for i in range(9_000)]
    sf = SFrame({"v": values, "k": [i // 4_500 for i in range(9_000)]})
    done = sf.running({"s": aggregate.SUM("v"), "m": aggregate.MIN("v"), "a": aggregate.MEAN("v")}, by="k")
    total, least, wanted = 0.0, math.inf, []
    for place, value in enumerate(values):
        total, least = (value, value) if place % 4_500 == 0 else (total + value, min(least, value))
        wanted.append((total, least, total / (place % 4_500 + 1)))
    assert rows_equal([(row["s"], row["m"], row["a"]) for row in done], wanted)


def test_columns_and_names() -> None:
    sf = SFrame({"k": ["x", "y", "x"], "v": [1, 2, 3]})
    done = sf.running([aggregate.SUM("v"), aggregate.SUM("v"), aggregate.COUNT], by=["k"])
    assert done.column_names() == ["k", "v", "Sum of v", "Sum of v.1", "Count"]
    assert list(done["Count"]) == [1, 1, 2]
    assert list(sf.running(aggregate.MAX("v"))["Max of v"]) == [1, 2, 3]
    assert sf.running({"": aggregate.MAX("v")}).column_names() == ["k", "v", "Max of v"]
    kept = sf[sf["v"] > 1]
    kept["n"] = kept.running({"n": aggregate.COUNT})["n"] * 10
    assert list(kept["n"]) == [10, 20]


def test_other_key_types() -> None:
    keys: list[Any] = [["a"], None, ["a"], ["a", "b"]]
    assert list(SFrame({"k": keys}).running({"n": aggregate.COUNT}, by="k")["n"]) == [1, 1, 2, 1]
    vectors = [[1.0, 2.0], [NAN], [1.0, 2.0], [NAN]]
    assert list(SFrame({"k": vectors}).running({"n": aggregate.COUNT}, by="k")["n"]) == [1, 1, 2, 2]
    moments = [datetime.datetime(2020, 1, 1, tzinfo=UTC), datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 1, tzinfo=UTC)]
    assert list(SFrame({"k": moments}).running({"n": aggregate.COUNT}, by="k")["n"]) == [1, 2, 3]


def test_only_what_is_read_is_computed() -> None:
    sf = SFrame({"k": ["x", "y", "x"], "v": [1, 2, 3], "w": [0.5, 1.5, 2.5], "u": [1, 1, 1]})
    done = sf.running({"s": aggregate.SUM("v"), "m": aggregate.MAX("w"), "n": aggregate.COUNT, "l": aggregate.CONCAT("u")}, by="k")
    plan = plan_text(optimize((done["s"] + done["n"])._node))
    assert "running[[c0]; sum(c1), count()]" in plan and "memory_source[2 columns" in plan
    assert list(done["s"] + done["n"]) == [2, 3, 6]


def test_wrong_arguments() -> None:
    sf = SFrame({"k": ["x"], "v": [1], "d": [{"a": 1}]})
    with pytest.raises(KeyError, match="no column is named 'w'"):
        sf.running(aggregate.SUM("w"))
    with pytest.raises(KeyError, match="no column is named 'w'"):
        sf.running(aggregate.COUNT, by="w")
    with pytest.raises(TypeError, match="holds dicts"):
        sf.running(aggregate.COUNT, by="d")
    with pytest.raises(TypeError, match="name or a list of names"):
        sf.running(aggregate.COUNT, by=3)
    with pytest.raises(TypeError, match="is needed"):
        sf.running("sum")
    with pytest.raises(RuntimeError, match="need different names"):
        sf.running({"v": aggregate.COUNT})
    with pytest.raises(RuntimeError, match="SUM takes"):
        sf.running(aggregate.SUM("k"))


EAST, WEST = (datetime.timezone(datetime.timedelta(hours=hours)) for hours in (5, -8))
NOON = datetime.datetime(2020, 1, 1, 12)
MOMENTS = [
    None, NOON.replace(tzinfo=UTC), NOON, NOON.replace(tzinfo=EAST), NOON.replace(tzinfo=UTC).astimezone(EAST),
    NOON.replace(tzinfo=UTC).astimezone(WEST), NOON.replace(tzinfo=WEST), datetime.datetime(1960, 1, 1, tzinfo=WEST), datetime.datetime(2030, 1, 1),
]  # fmt: skip


def test_extremes_of_date_times_keep_their_offsets() -> None:
    choose = random.Random(7)
    for _ in range(examples(30)):
        moments = [*choose.choices(MOMENTS, k=choose.randrange(1, 12)), NOON.replace(tzinfo=EAST)]
        keys = [choose.choice("xy") for _ in moments]
        node = running(compute(SFrame({"k": keys, "t": moments})._node), (0,), [Aggregation("min", (1,)), Aggregation("max", (1,))])
        wanted = []
        for stop, key in enumerate(keys, 1):
            so_far = SFrame({"t": [*(t for k, t in zip(keys[:stop], moments[:stop], strict=True) if k == key), NOON.replace(tzinfo=UTC)]})[:-1]
            row = so_far.groupby([], {"a": aggregate.MIN("t"), "b": aggregate.MAX("t")})[0]
            wanted.append((row["a"], row["b"]))
        found = run_in_ranges(node, random_cuts(choose, len(moments)), choose.randint(1, 5))
        assert [tuple(map(str, pair)) for pair in found] == [tuple(map(str, pair)) for pair in wanted]


ROWS = [
    (1.5, 3, "a", datetime.datetime(2020, 1, 2), datetime.datetime(2020, 1, 2, tzinfo=UTC)),
    (NAN, -2, "b", None, None),
    (None, None, "a", datetime.datetime(2019, 1, 2), datetime.datetime(2019, 1, 2, tzinfo=UTC)),
    (-4.0, 3, None, datetime.datetime(2021, 1, 2), datetime.datetime(2021, 1, 2, tzinfo=UTC)),
    (2.5, 5, "a", datetime.datetime(2020, 1, 2), datetime.datetime(2018, 1, 2, tzinfo=UTC)),
    (NAN, 1, None, None, datetime.datetime(2018, 1, 2, tzinfo=UTC)),
] * 3


@pytest.mark.spark
@pytest.mark.parametrize("keys", [(), (2,), (0, 3)])
def test_window_of_spark_agrees(keys: tuple[int, ...], spark: Any) -> None:
    node = running(frame(ROWS)._node, keys, aggregations())
    source = compute(node, MaterializeOptions(naive=True))
    assert_rows(rows_of(source.operator.read(0, len(ROWS)), node), expected(ROWS, keys))  # type: ignore[attr-defined]


@pytest.mark.spark
@pytest.mark.parametrize("segments", [1, 7])
def test_segments(segments: int, spark: Any) -> None:
    with config.using(small_rows=0):
        node = running(frame(ROWS)._node, (2,), aggregations())
        source = compute(node, MaterializeOptions(segments=segments, in_memory=0))
    assert_rows(rows_of(source.operator.read(0, len(ROWS)), node), expected(ROWS, (2,)))  # type: ignore[attr-defined]


@pytest.mark.spark
def test_below_a_filter(spark: Any) -> None:
    with config.using(small_rows=0, check="result"):
        sf = SFrame({"v": list(range(60)), "k": [i % 3 for i in range(60)]})
        kept = sf[sf["v"] % 2 == 1].running({"s": aggregate.SUM("v"), "d": aggregate.COUNT_DISTINCT("k")}, by="k")
        kept.materialize(segments=7)
    totals: dict[int, int] = {}
    for row in kept:
        totals[row["k"]] = totals.get(row["k"], 0) + row["v"]
        assert (row["s"], row["d"]) == (totals[row["k"]], 1)


def claims(sf: SFrame, name: str, direction: str) -> bool:
    node = sf[name]._node
    return properties_of(node).order.satisfies([(0, direction)])


def test_orders_that_running_values_have() -> None:
    sf = SFrame({"i": [3, None, 5], "f": [1.0, NAN, 2.0], "k": [1, 1, 2]})
    requests = {"n": aggregate.COUNT, "most": aggregate.MAX("f"), "least": aggregate.MIN("i"), "low": aggregate.MIN("f"), "s": aggregate.SUM("i")}
    done = sf.running(requests)
    assert claims(done, "n", "asc")
    assert claims(done, "most", "asc")
    assert not claims(done, "low", "asc")
    assert not claims(done, "low", "desc")
    assert not claims(done, "s", "asc")
    assert properties_of(done["least"]._node).order.satisfies([(0, "desc", "nulls_first")])
    assert not claims(sf.running(requests, by="k"), "n", "asc")


@pytest.mark.parametrize(
    ("values", "counts"),
    [
        ([[1, "a"], [1, "a"], None, []], [1, 1, 2, 3]),
        ([{"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 1}, None], [1, 1, 2, 3]),
        ([[1.0, NAN], [1.0, NAN], [1.0]], [1, 1, 2]),
        ([0.0, -0.0, NAN, NAN, None], [1, 1, 2, 2, 3]),
    ],
)
def test_distinct_values_of_all_types(values: list[Any], counts: list[int]) -> None:
    assert list(SFrame({"v": values}).running({"n": aggregate.COUNT_DISTINCT("v")})["n"]) == counts


def test_dicts_of_values_so_far() -> None:
    done = SFrame({"k": ["x", "y", "x"], "v": [1, 2, 3]}).running({"d": aggregate.CONCAT("k", "v")})
    assert list(done["d"]) == [{"x": 1}, {"x": 1, "y": 2}, {"x": 1, "y": 2}]


def test_states_are_values() -> None:
    for keys in ([], [1]):
        check_states_are_values(node_of(ROWS[:6], keys), 6)


def test_values_of_all_types_are_carried() -> None:
    columns: dict[str, list[Any]] = {
        "dict": [{"a": 1}, None, {"b": 2}],
        "list": [[1, "x"], None, []],
        "array": [[1.0], None, [2.0, 3.0]],
        "zoned": [datetime.datetime(2020, 1, 1, tzinfo=UTC), None, datetime.datetime(2021, 1, 1, tzinfo=UTC)],
    }
    sf = SFrame({**columns, "v": [2, 3, 1]})
    for name in columns:
        done = sf.running({"first": aggregate.SELECT_ONE(name), "at": aggregate.ARGMIN("v", name)})
        values = list(sf[name])
        assert repr(list(done["first"])) == repr([values[0]] * 3)
        assert repr(list(done["at"])) == repr([values[0], values[0], values[2]])
        for cuts in ([0, 1, 2, 3], [0, 2, 3]):
            assert repr([row[-2:] for row in run_in_ranges(done._node, cuts, 1)]) == repr(list(zip(done["first"], done["at"], strict=True)))


def test_vectors_add_up() -> None:
    done = SFrame({"v": [[1.0, 2.0], None, [3.0, 4.0]]}).running({"s": aggregate.SUM("v"), "m": aggregate.MEAN("v")})
    assert [list(value) for value in done["s"]] == [[1.0, 2.0], [1.0, 2.0], [4.0, 6.0]]
    assert [list(value) for value in done["m"]] == [[1.0, 2.0], [1.0, 2.0], [2.0, 3.0]]


def test_values_within_lists_are_those_of_groups() -> None:
    """Lists of numbers stay lists, whatever the aggregate puts them into."""
    sf = SFrame({"k": [1, 2, 2], "v": SArray([[1, 2], [3], [3]], dtype=list), "a": [[1.0], [2.0], [2.0]], "d": [{"x": [1, 2]}, {}, {}]})
    requests: dict[str, Any] = {
        f"{function.__name__} {name}": function(name) for function in (aggregate.CONCAT, aggregate.DISTINCT) for name in "vad"
    }
    requests |= {f"by {name}": aggregate.CONCAT("k", name) for name in "vad"}
    last, whole = sf.running(requests)[-1], sf.groupby([], requests)[0]
    for name in requests:
        assert repr(last[name]) == repr(whole[name]), name


def test_values_of_plug_ins_are_those_of_groups() -> None:
    of_lists = list_of(list_of(INT))
    parts = Decomposition(lambda arrays, rows, types, parameters: [[1, rows]], lambda a, b, types: a + b, lambda part, types, parameters: part)
    define_aggregate("lists_of_all", lambda types, parameters: of_lists, lambda arrays, types, parameters: [[1, len(arrays[0])]])
    define_aggregate("lists_of_parts", lambda types, parameters: of_lists, parts=parts)
    sf = SFrame({"v": [1, 2]})
    assert list(sf.running({"x": plugin_aggregate("lists_of_all", "v")})["x"]) == [[[1, 1]], [[1, 2]]]
    assert list(sf.running({"x": plugin_aggregate("lists_of_parts", "v")})["x"]) == [[[1, 1]], [[1, 1], [1, 1]]]


@pytest.mark.parametrize("request_of", [
    aggregate.CONCAT("i"), aggregate.CONCAT("s"), aggregate.CONCAT("a"), aggregate.CONCAT("i", "s"), aggregate.DISTINCT("i"),
    aggregate.FREQ_COUNT("s"), aggregate.SUM("a"), aggregate.MEAN("a"),
])  # fmt: skip
def test_more_than_an_array_holds_is_told(request_of: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (collected_values, distinct_values, vectors):
        monkeypatch.setattr(module, "MAX_BYTES_OF_ARRAY", 50)
    sf = SFrame({"i": [*range(30)], "s": ["abc"] * 30, "a": [[1.0, 2.0]] * 30})
    with pytest.raises(TooLargeError, match=r"running makes over 2 GiB of texts or lists from 30 rows at once.*batch_rows"):
        list(sf.running({"x": request_of})["x"])


def test_many_rows_of_long_groups_and_of_short_ones() -> None:
    """Blocks of exact sums, pieces of lists and windows of quantiles end within such runs."""
    rows = 70_000
    generator = np.random.default_rng(7)
    vectors, keys = generator.normal(size=(rows, 2)) * 10.0 ** generator.integers(-8, 8, (rows, 1)), generator.integers(0, 3, rows)
    keys[-1_000:] = 3 + generator.integers(0, 400, 1_000)
    table = pa.table({"k": keys, "v": pa.array([*vectors], pa.list_(pa.float64())), "f": vectors[:, 0], "n": generator.integers(0, 9, rows)})
    wanted = {"m": aggregate.MEAN("v"), "q": aggregate.QUANTILE("f", 0.1, 0.75), "c": aggregate.FREQ_COUNT("n"), "d": aggregate.DISTINCT("n")}
    done = SFrame(table).running(wanted, by="k")
    for row in [0, 1, 999, 40_000, 65_536, 69_000, *range(rows - 5, rows)]:
        so_far = np.flatnonzero(keys[: row + 1] == keys[row])
        assert repr(done[row]) == repr(done[row] | SFrame(table.take(pa.array(so_far))).groupby([], wanted)[0]), row


def test_no_query_of_spark_makes_running_values() -> None:
    """There a window would collect all rows so far for each row: that is for comparing alone (``naive``)."""
    requests = {"m": aggregate.MEAN("v"), "q": aggregate.QUANTILE("f", 0.5), "c": aggregate.CONCAT("f")}
    other = SFrame({"k": [1], "w": [2]})
    with config.using(small_rows=0):
        sf = SFrame({"k": [1, 2] * 30, "v": [[1.0, 2.0]] * 60, "f": [0.5] * 60})
        groups = sf.groupby("k", {"f": aggregate.CONCAT("f")})
        done = sf.running(requests, by="k")
        programs = [
            done.sort("f"),
            done.join(other, on="k"),
            done.append(done).groupby("k", {"c": aggregate.CONCAT("c")}),
            done[done["f"] > 0].unique(),
        ]
        programs += [below.running(aggregate.CONCAT("k")) for below in (groups, sf.sort("f"), sf.join(other, on="k"), sf[sf["f"] > 0])]
        found = []
        for program in programs:
            planner = SectionPlanner(Site.now())
            section = planner.plan(optimize(program._node))
            for each in in_order_of_running(planner.waiting or [section]):
                if any(isinstance(node.operator, Running) for node in postorder([each.root])):
                    found.append(each.strategy)
    assert len(found) >= len(programs)
    assert {*found} <= {STREAM_BY_TASKS, PARTIAL_STATES_BY_TASKS}
