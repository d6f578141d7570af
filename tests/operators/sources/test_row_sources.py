"""Sources of plug-ins in plans: the rows of plain Python, whatever is pruned, sliced and filtered, and no more read than is needed."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import pyarrow as pa
import pytest

from sframe_spark import SArray, SFrame, aggregate, config
from sframe_spark.errors import ExecutionError, PlanInvariantError, SchemaError, UserFunctionError
from sframe_spark.plugin import INT, ColumnType, Predicate, RowSource, frame_of_source, node_of
from sframe_spark.rewrite_laws import optimize
from tests.operators.sources.sources_for_tests import KINDS, Hours, HoursInThreads, rows_between


def plain(value: Any) -> Any:
    return "nan" if isinstance(value, float) and math.isnan(value) else value


def rows_of(frame: SFrame) -> list[tuple[Any, ...]]:
    columns = [list(map(plain, frame[name])) for name in frame.column_names()]
    return list(zip(*columns, strict=True))


def expected(keep: Callable[[dict[str, Any]], Any] = lambda row: True, hours: int = 24) -> list[tuple[Any, ...]]:
    return [tuple(map(plain, row.values())) for row in rows_between(0, 10 * hours) if keep(row)]


@pytest.fixture(params=KINDS)
def source(request: pytest.FixtureRequest) -> Hours:
    made: Hours = KINDS[request.param]()
    return made


@pytest.fixture(params=["in one batch", "in batches of three rows"])
def batches(request: pytest.FixtureRequest) -> Iterator[None]:
    with config.using(**({} if request.param == "in one batch" else {"batch_rows": 3})):
        yield


CONDITIONS: dict[str, tuple[Callable[[SFrame], SArray], Callable[[dict[str, Any]], Any]]] = {
    "equal": (lambda sf: sf["hour"] == 7, lambda row: row["hour"] == 7),
    "range": (lambda sf: (sf["hour"] >= 3) & (sf["hour"] < 5), lambda row: 3 <= row["hour"] < 5),
    "missing values": (lambda sf: sf["n"] > 200, lambda row: row["n"] is not None and row["n"] > 200),
    "not equal": (lambda sf: sf["half"] != 1.0, lambda row: row["half"] != 1.0),
    "either": (lambda sf: (sf["hour"] == 1) | (sf["text"] == "t3"), lambda row: row["hour"] == 1 or row["text"] == "t3"),
    "text": (lambda sf: sf["text"] > "t5", lambda row: row["text"] is not None and row["text"] > "t5"),
    "a sum": (lambda sf: sf["hour"] + 1 == 4, lambda row: row["hour"] == 3),
    "nothing": (lambda sf: sf["hour"] > 99, lambda row: False),
    "everything": (lambda sf: sf["hour"] >= 0, lambda row: True),
    "a function among others": (lambda sf: (sf["hour"] == 2) & sf["n"].apply(lambda n: n % 2), lambda row: row["hour"] == 2 and (row["n"] or 0) % 2),
}


@pytest.mark.usefixtures("batches")
@pytest.mark.parametrize("condition", CONDITIONS)
def test_filters(source: Hours, condition: str) -> None:
    frame = frame_of_source(source)
    mask, keep = CONDITIONS[condition]
    assert rows_of(frame[mask(frame)]) == expected(keep)


@pytest.mark.usefixtures("batches")
def test_all_rows_columns_and_slices(source: Hours) -> None:
    frame = frame_of_source(source)
    assert rows_of(frame) == expected()
    fresh = frame_of_source(source)
    assert rows_of(fresh[["text", "hour"]]) == [(text, hour) for hour, _, _, text in expected()]
    assert rows_of(frame_of_source(source)[95:111:3]) == expected()[95:111:3]
    assert rows_of(frame_of_source(source).tail(4)) == expected()[-4:]


def test_other_operators(source: Hours) -> None:
    frame = frame_of_source(source)
    assert frame["n"].sum() == sum(row["n"] for row in rows_between(0, 240) if row["n"] is not None)
    assert frame_of_source(source).num_rows() == 240
    grouped = frame_of_source(source).groupby("hour", {"n": aggregate.COUNT()}).sort("hour")
    assert list(grouped["n"]) == [10] * 24
    joined = frame_of_source(source)[["hour", "n"]].join(SFrame({"hour": [3, 30], "name": ["three", "thirty"]}), on="hour")
    assert sorted(row["n"] for row in joined if row["n"] is not None) == [row["n"] for row in rows_between(30, 40) if row["n"] is not None]
    both = frame_of_source(source).append(frame_of_source(Hours(hours=1, first=24)))
    assert rows_of(both) == expected(hours=25)
    changed = frame_of_source(source)
    changed["twice"] = changed["hour"] * 2
    assert list(changed[changed["twice"] == 14]["hour"]) == [7] * 10


# What is read.


def test_only_the_columns_that_are_needed_are_read(source: Hours) -> None:
    assert frame_of_source(source)["hour"].sum() == sum(range(24)) * 10
    assert {columns for _, _, columns, _ in source.asked} == {("hour",)}


def test_columns_of_a_filter_are_read_whether_or_not_they_are_in_the_result(source: Hours) -> None:
    frame = frame_of_source(source)
    texts = frame[["text", "hour"]][frame["hour"] == 7][["text"]]["text"].dropna().unique()
    assert sorted(texts) == sorted({row["text"] for row in rows_between(70, 80)} - {None})
    assert {columns for _, _, columns, _ in source.asked} == {("hour", "text")}


def test_a_filter_that_nobody_reads_a_column_of_still_counts(source: Hours) -> None:
    frame = frame_of_source(source)
    assert frame[frame["hour"] == 7].num_rows() == 10


def test_a_filter_reaches_the_source(source: Hours) -> None:
    frame = frame_of_source(source)
    assert len(list(frame[frame["hour"] == 7]["n"])) == 10
    assert source.yielded == 1 and all(predicate is not None for *_, predicate in source.asked)


@pytest.mark.parametrize("known", [True, False])
def test_first_rows_read_little(known: bool) -> None:
    source = Hours(hours=10_000, known=known)
    first = frame_of_source(source).head(12)
    first.materialize()
    assert source.yielded <= 3 and rows_of(first) == expected()[:12]
    source = Hours(hours=10_000, known=known)
    frame = frame_of_source(source)
    assert list(frame[frame["hour"] >= 2].head(3)["hour"]) == [2, 2, 2]
    assert source.yielded <= 40


def test_a_range_of_known_rows_is_read_alone() -> None:
    source = Hours(hours=1000)
    assert rows_of(frame_of_source(source)[5000:5003])[0][0] == 500
    assert {(start, stop) for start, stop, _, _ in source.asked} <= {(5000, 5003), (5000, 5010)}


def test_parts_are_read_once_in_order() -> None:
    source = Hours()
    with config.using(batch_rows=4):
        assert frame_of_source(source)["hour"].sum() == sum(row["hour"] for row in rows_between(0, 240))
    assert sum(stop - start for start, stop, _, _ in source.asked) == 240


def test_a_predicate_says_ranges_of_values() -> None:
    source = Hours()
    frame = frame_of_source(source)
    list(frame[(frame["hour"] >= 3) & (frame["hour"] <= 5) & (frame["text"] == "t3")]["n"])
    (*_, predicate) = source.asked[0]
    assert predicate is not None and predicate.ranges == {"hour": ((3, 5),), "text": (("t3", "t3"),)}


def test_one_condition_that_says_nothing_hides_no_other() -> None:
    source = Hours()
    frame = frame_of_source(source)
    frame = frame[(frame["hour"] == 3) & (frame["text"].str_upper() == "T4")] if hasattr(SArray, "str_upper") else frame[(frame["hour"] == 3)]
    list(frame["n"])
    assert source.asked[0][-1] is not None and source.asked[0][-1].ranges["hour"] == ((3, 3),)


def test_a_filter_and_other_readers_of_all_rows_share_one_read() -> None:
    source = Hours()
    frame = frame_of_source(source)
    frame["share"] = frame["n"] / frame["n"].sum()
    assert len(list(frame[frame["hour"] == 3]["share"])) == 10


class Plain(Hours):
    """Makes no use of predicates."""

    filters: ClassVar[bool] = False


def test_a_source_that_makes_no_use_of_predicates_keeps_its_length() -> None:
    source = Plain()
    frame = frame_of_source(source)
    plan = optimize(node_of(frame[frame["hour"] == 7]))
    assert "source_rows" in str(plan.inputs[0].inputs[0]) and rows_of(frame[frame["hour"] == 7]) == expected(lambda row: row["hour"] == 7)
    assert all(predicate is None for *_, predicate in source.asked)


# Claims.


def test_a_claimed_order_saves_the_sort(source: Hours) -> None:
    frame = frame_of_source(source)
    assert "sort[" not in str(frame.sort("hour").explain()).split("-- optimized plan")[1]
    other = frame_of_source(source)[["text", "hour"]].sort("hour")
    assert "sort[" not in str(other.explain()).split("-- optimized plan")[1]
    assert "sort[" in str(frame_of_source(source)[["text", "n"]].sort("n").explain()).split("-- optimized plan")[1]


def test_two_sources_claim_no_order_together() -> None:
    frame = frame_of_source(Hours(hours=1, first=3), Hours(hours=1))
    assert list(frame.sort("hour")["hour"]) == [0] * 10 + [3] * 10


def test_lengths_are_known_or_bounded_or_not() -> None:
    lengths = {name: node_of(frame_of_source(make())).length for name, make in KINDS.items()}
    assert {name: (length.rows, length.at_most) for name, length in lengths.items()} == {
        "known": (240, 240), "known, no parts": (240, 240), "bounded": (None, 1000), "unknown": (None, None),
    }  # fmt: skip


def test_several_sources_of_any_length() -> None:
    sources = [Hours(hours=2), Hours(hours=3, first=2, known=False), Hours(hours=1, first=5, has_parts=False), Hours(hours=0)]
    frame = frame_of_source(*sources)
    assert rows_of(frame[frame["hour"] >= 1]) == expected(lambda row: row["hour"] >= 1, hours=6)


def test_no_rows(source: Hours) -> None:
    frame = frame_of_source(type(source)(hours=0, known=source.known, has_parts=source.has_parts))
    assert rows_of(frame) == [] and frame.column_types() == [int, int, float, str] and frame["n"].sum() in (None, 0)


# What sources say wrongly is found.


class Numbers(RowSource):
    """Three numbers; what it gives is replaced."""

    def __init__(self, **given: Any) -> None:
        self.given = given

    def columns(self) -> Mapping[str, ColumnType]:
        return self.given.get("columns", {"n": INT})

    def length(self) -> int | None:
        return self.given.get("length", 3)

    def parts(self) -> Sequence[int | None]:
        return self.given.get("parts", (self.length(),))

    def order(self) -> Sequence[tuple[str, bool]]:
        return self.given.get("order", ())

    def size(self) -> float | None:
        return self.given.get("size")

    def read(self, start: int, stop: int, columns: Sequence[str], predicate: Predicate | None) -> Any:
        return self.given["read"](start, stop, columns)


def table(**columns: Any) -> pa.Table:
    return pa.table(columns)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"columns": {}}, SchemaError, r"columns\(\) of the source Numbers gave {}: it gives types by name, at least one"),
        ({"columns": {1: INT}}, SchemaError, "has the name 1: names are texts"),
        ({"length": -1}, PlanInvariantError, r"length\(\) of the source Numbers gave -1"),
        ({"length": 2.0}, PlanInvariantError, r"length\(\) of the source Numbers gave 2.0"),
        ({"parts": [1, 1]}, PlanInvariantError, r"has 3 rows, as length\(\) says, and parts\(\) says 1, 1"),
        ({"parts": [None]}, PlanInvariantError, r"has 3 rows, as length\(\) says, and parts\(\) says None"),
        ({"order": [("m", True)]}, PlanInvariantError, r"order\(\) of the source Numbers names 'm', which is none of its columns 'n'"),
        ({"order": 3}, UserFunctionError, r"order\(\) of the source Numbers"),
        ({"size": -5}, PlanInvariantError, r"size\(\) of the source Numbers gave -5"),
    ],
)
def test_contradictions_are_refused_when_the_frame_is_made(given: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        frame_of_source(Numbers(**given))


def failing() -> Iterator[pa.Table]:
    yield table(n=[1])
    raise KeyError("lost")


@pytest.mark.parametrize(
    ("read", "error", "message"),
    [
        (lambda start, stop, columns: [table(n=[1, 2])], PlanInvariantError, r"read\(0, 3, ...\) of the source Numbers gave 2 of the 3 rows"),
        (lambda start, stop, columns: [table(n=[1, 2]), table(n=[1, 2])], PlanInvariantError, "gave more than the 3 rows in this range, of 3"),
        (lambda start, stop, columns: [table(m=[1, 2, 3])], PlanInvariantError, "gave the columns 'm': it was asked for 'n', once"),
        (lambda start, stop, columns: [table(n=["a", "b", "c"])], SchemaError, "'n'"),
        (lambda start, stop, columns: None, PlanInvariantError, r"read\(\) of the source Numbers gave None: it yields Arrow tables"),
        (lambda start, stop, columns: [{"n": [1, 2, 3]}], PlanInvariantError, "yields {'n': .*: it yields Arrow tables"),
        (lambda start, stop, columns: failing(), UserFunctionError, "the source Numbers failed with KeyError: 'lost'"),
        (lambda start, stop, columns: 1 // 0, UserFunctionError, "the source Numbers failed with ZeroDivisionError"),
    ],
)
def test_rows_that_are_not_as_declared_are_refused(read: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        list(frame_of_source(Numbers(read=read))["n"])


def test_rows_may_come_as_one_table_in_other_types_and_another_order_of_columns() -> None:
    def read(start: int, stop: int, columns: Sequence[str]) -> pa.Table:
        return pa.table({"m": pa.array([1, 2, 3], pa.int8()), "n": pa.array([4, 5, 6], pa.uint16())}).slice(start, stop - start)

    frame = frame_of_source(Numbers(read=read, columns={"n": INT, "m": int}))
    assert list(frame[1:]) == [{"n": 5, "m": 2}, {"n": 6, "m": 3}]


def test_sources_of_other_columns_do_not_follow_one_another() -> None:
    with pytest.raises(SchemaError, match=r"Numbers has the columns m \(int\), and Numbers has n \(int\)"):
        frame_of_source(Numbers(), Numbers(columns={"m": INT}))
    with pytest.raises(SchemaError, match="a frame must be made of sources"):
        frame_of_source(3)  # type: ignore[arg-type]


def test_a_frame_of_a_source_that_is_read_wrongly_says_nothing_more() -> None:
    lists = frame_of_source(Numbers(columns={"n": list}, read=lambda start, stop, columns: [table(n=[[1], [2], [3]])]))
    assert list(lists["n"]) == [[1], [2], [3]]


# Where sources are read.


class Workers(Hours):
    """The number of the process that has read a row, as ``n``."""

    def read(self, start: int, stop: int, columns: Sequence[str], predicate: Predicate | None) -> Iterator[pa.Table]:
        for part in super().read(start, stop, columns, predicate):
            yield part.set_column(part.schema.get_field_index("n"), "n", pa.array([os.getpid()] * part.num_rows)) if "n" in columns else part

    def size(self) -> float:
        return 1e9


@pytest.mark.parametrize("known", [True, False])
def test_python_processes_read_sources(known: bool) -> None:
    with config.using(memory_budget=1 << 20):
        frame = frame_of_source(Workers(hours=4000, known=known))
        kept = frame[frame["hour"] >= 2000]
        kept.materialize()
    assert kept.num_rows() == 20_000 and list(kept["hour"][:1]) == [2000]
    assert os.getpid() not in set(kept["n"]) and "processes" in str(kept.last_run())


@pytest.mark.parametrize("known", [True, False])
def test_threads_read_sources_that_allow_it(known: bool) -> None:
    source = HoursInThreads(hours=4000, known=known)
    with config.using(memory_budget=1 << 20):
        frame = frame_of_source(source)
        kept = frame[frame["hour"] >= 2000]
        kept.materialize()
    assert kept.num_rows() == 20_000 and source.asked and "processes" not in str(kept.last_run())


class Locked(Workers):
    """What cannot be sent."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.lock = threading.Lock()


@pytest.mark.usefixtures("called_functions")
def test_a_source_that_cannot_be_sent_is_named_before_tasks_run() -> None:
    source = Locked(hours=40_000)
    with config.using(memory_budget=1 << 16), pytest.raises(ExecutionError, match=r"the source Locked cannot be read in other processes: .*pickle"):
        frame_of_source(source)["n"].apply(lambda n: n).materialize()
