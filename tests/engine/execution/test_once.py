"""A user's function is called once for each row, whoever looks, and everyone sees the same results."""

from __future__ import annotations

import contextvars
import datetime as dt
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SArray, SFrame, aggregate, load_sframe
from sframe_spark.config import config

ROWS = 400


class Calls:
    """A random function of a value that counts its calls by value."""

    def __init__(self) -> None:
        self.counts: Counter[int] = Counter()

    def __call__(self, value: int) -> float:
        self.counts[value] += 1
        return random.random()

    def of_row(self, row: dict[str, Any]) -> float:
        return self(row["a"])

    @property
    def most(self) -> int:
        return max(self.counts.values())


def column_and_calls(dtype: Any = float, rows: int = ROWS) -> tuple[SArray, Calls]:
    calls = Calls()
    return SArray(range(rows)).apply(calls, dtype=dtype), calls


def framed(b: SArray) -> SFrame:
    sf = SFrame({"a": range(len(b))})
    sf["x"] = b
    return sf


def saved(b: SArray, directory: Path) -> list[float]:
    path = str(directory / f"saved{random.random()}")
    framed(b).save(path)
    return list(load_sframe(path)["x"])


def written(b: SArray, directory: Path) -> list[float]:
    path = str(directory / f"csv{random.random()}.csv")
    framed(b).export_csv(path)
    return list(SFrame.read_csv(path, verbose=False)["x"])


def half_iterated(b: SArray) -> list[float]:
    values = iter(b)
    return [next(values) for _ in range(7)]


# Each door with what it must show of all values of the column.
DOORS: dict[str, tuple[Callable[[SArray, Path], Any], Callable[[list[float]], Any]]] = {
    "list": (lambda b, _: list(b), lambda v: v),
    "half an iteration": (lambda b, _: half_iterated(b), lambda v: v[:7]),
    "head": (lambda b, _: list(b.head(3)), lambda v: v[:3]),
    "tail": (lambda b, _: list(b.tail(3)), lambda v: v[-3:]),
    "one row": (lambda b, _: b[7], lambda v: v[7]),
    "slice": (lambda b, _: list(b[20:60:7]), lambda v: v[20:60:7]),
    "above": (lambda b, _: list((b + 1)[:5]), lambda v: [x + 1 for x in v[:5]]),
    "max": (lambda b, _: b.max(), max),
    "sum": (lambda b, _: round(b.sum(), 6), lambda v: round(sum(v), 6)),
    "arrow": (lambda b, _: b.to_arrow().to_pylist(), lambda v: v),
    "numpy": (lambda b, _: b.to_numpy().tolist(), lambda v: v),
    "frame": (lambda b, _: framed(b).to_arrow()["x"].to_pylist(), lambda v: v),
    "filter": (lambda b, _: list(framed(b)[framed(b)["x"] > 0.5]["x"]), lambda v: [x for x in v if x > 0.5]),
    "filter by another": (lambda b, _: list(framed(b)[framed(b)["a"] > 9]["x"]), lambda v: v[10:]),
    "sort": (lambda b, _: list(b.sort()), sorted),
    "top": (lambda b, _: list(framed(b).topk("x", 2)["x"]), lambda v: sorted(v)[-2:][::-1]),
    "group": (lambda b, _: framed(b).groupby("a", {"x": aggregate.MAX("x")}).sort("a").to_arrow()["x"].to_pylist(), lambda v: v),
    "append": (lambda b, _: list(b.append(b)), lambda v: v + v),
    "running": (lambda b, _: list(b.cumulative_max())[-1], max),
    "save": (saved, lambda v: v),
    "csv": (written, lambda v: v),
    "print": (lambda b, _: str(b).split(", ")[0].strip("[")[:6], lambda v: str(v[0])[:6]),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("first", DOORS)
def test_two_looks_one_after_the_other_agree(first: str, tmp_path: Path) -> None:
    b, calls = column_and_calls()
    seen = DOORS[first][0](b, tmp_path)
    values = list(b)
    assert seen == DOORS[first][1](values)
    assert DOORS[first][0](b, tmp_path) == seen
    assert set(calls.counts.values()) == {1}


def test_all_doors_at_once_agree(tmp_path: Path) -> None:
    b, calls = column_and_calls()
    found = at_once({name: lambda door=door: door(b, tmp_path) for name, (door, _) in DOORS.items()})
    values = list(b)
    assert found == {name: expected(values) for name, (_, expected) in DOORS.items()}
    assert set(calls.counts.values()) == {1}


def at_once(works: dict[str, Callable[[], Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    start = threading.Barrier(len(works))

    def run(name: str, work: Callable[[], Any]) -> None:
        start.wait()
        found[name] = work()

    # Options that hold for a block hold for the threads that are started in it.
    threads = [threading.Thread(target=contextvars.copy_context().run, args=(run, *item)) for item in works.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_few_rows_asked_for_are_few_calls() -> None:
    b, calls = column_and_calls()
    assert len(list(b.head(3))) == 3
    assert list(b[5:8])[1] == b[6]
    assert sorted(calls.counts) == [0, 1, 2, 5, 6, 7]
    sf = framed(b)
    assert len(sf[sf["a"] >= ROWS - 2]["x"].to_arrow()) == 2
    assert len(calls.counts) == 8
    assert len(list(b)) == ROWS and calls.most == 1 and len(calls.counts) == ROWS


def test_rows_in_another_order_keep_their_results() -> None:
    a = SArray(range(ROWS))
    counts: Counter[int] = Counter()

    def own(value: int) -> int:
        counts[value] += 1
        return value * 10

    sf = SFrame({"a": a, "t": [(value * 7) % ROWS for value in range(ROWS)]})
    sf["x"] = a.apply(own, dtype=int)
    some = sf[sf["t"] > ROWS // 2]
    for frame in (some.sort("t", ascending=False), sf.topk("t", 5), sf.sort("t"), sf.append(sf).sort("t"), sf):
        assert list(frame["x"]) == [value * 10 for value in frame["a"]]
    assert set(counts.values()) == {1}


def test_one_function_applied_twice_makes_two_columns() -> None:
    calls = Calls()
    a = SArray(range(ROWS))
    sf = SFrame({"x": a.apply(calls, dtype=float), "y": a.apply(calls, dtype=float)})
    rows = list(sf)
    assert all(row["x"] != row["y"] for row in rows)
    assert set(calls.counts.values()) == {2}


def test_functions_over_functions() -> None:
    inner = Calls()
    a = SArray(range(ROWS))
    b = a.apply(inner, dtype=float)
    seen: Counter[float] = Counter()

    def above(value: float) -> float:
        seen[value] += 1
        return value + random.random()

    c = b.apply(above, dtype=float)
    assert c.head(2)[1] == list(c)[1]
    assert inner.most == 1 and set(seen) == set(b) and set(seen.values()) == {1}


def test_rows_and_filters_with_functions() -> None:
    calls, kept = Calls(), Calls()
    sf = SFrame({"a": range(ROWS), "b": range(ROWS)})
    x = sf.apply(calls.of_row, dtype=float)
    few = sf["a"].filter(lambda value: kept(value) > 0.5)
    count = len(few)
    assert count == len(list(few)) == len(few.to_arrow())
    assert x.sum() == pytest.approx(sum(x))
    assert calls.most == kept.most == 1


def test_rows_of_filtered_rows() -> None:
    calls = Calls()
    a = SArray(range(ROWS))
    b = a[a % 2 == 0].apply(calls, dtype=float)
    assert list(b.head(2)) == list(b)[:2]
    assert b.max() == max(b)
    assert set(calls.counts.values()) == {1} and len(calls.counts) == ROWS // 2


def test_flat_map() -> None:
    counts: Counter[int] = Counter()

    def drawn(row: dict[str, Any]) -> list[list[float]]:
        counts[row["a"]] += 1
        return [[random.random()] for _ in range(row["a"] % 3)]

    f = SFrame({"a": range(ROWS)}).flat_map(["x"], drawn, column_types=[float])
    first = list(f.head(5)["x"])
    values = list(f["x"])
    assert values[:5] == first and f["x"].max() == max(values) and len(f) == len(values)
    assert set(counts.values()) == {1} and len(counts) == ROWS


def test_cycles() -> None:
    counts: Counter[int] = Counter()

    def drawn(rows: list[dict[str, Any]]) -> list[float]:
        counts[rows[0]["t"]] += 1
        return [random.random() for _ in rows]

    sf = SFrame({"t": [5, 1, 1, 5, 2] * 20, "v": range(100)}).add_columns_by_cycle(drawn, "x", on="t", dtypes=float)
    assert sf["x"].max() == max(sf["x"]) and list(sf.head(3)["x"]) == list(sf["x"])[:3]
    assert dict(counts) == {1: 1, 2: 1, 5: 1}


@pytest.mark.spark
def test_results_checked_by_the_naive_plan_are_not_computed_again(spark: Any) -> None:
    b, calls = column_and_calls(rows=50)
    with config.using(check="result"):
        values = list(b + 1)
    assert values == [value + 1 for value in b] and set(calls.counts.values()) == {1}


def test_known_order_keeps_results() -> None:
    calls = Calls()
    sf = SFrame({"a": range(ROWS)})
    sf["x"] = sf.apply(calls.of_row, dtype=float)
    for verify in (True, False):
        assert list(sf.assume_sorted("a", verify=verify)["x"]) == list(sf["x"])
    assert set(calls.counts.values()) == {1}


def test_rows_on_which_types_are_inferred_are_not_given_to_the_function_again() -> None:
    b, calls = column_and_calls(dtype=None)
    assert len(calls.counts) == 100
    assert b.sum() == pytest.approx(sum(b)) and list(b.head(3)) == list(b)[:3]
    rows = Calls()
    sf = SFrame({"a": range(ROWS), "t": [number // 3 for number in range(ROWS)]})
    x = sf[sf["t"] > 5].apply(rows.of_row)
    assert x.max() == max(x)
    cycles: Counter[int] = Counter()
    made: Counter[int] = Counter()

    def of_cycle(cycle: list[dict[str, Any]]) -> list[float | None]:
        cycles[cycle[0]["t"]] += 1
        return [None if row["a"] == 1 else random.random() for row in cycle]

    def of_row(row: dict[str, Any]) -> list[list[Any]]:
        made[row["a"]] += 1
        return [[random.random(), row["a"]] for _ in range(row["a"] % 3)]

    y = sf.sort("a", ascending=False).add_columns_by_cycle(of_cycle, "y", on="t")["y"]
    z = sf.flat_map(["z", "a"], of_row)
    assert y.max() == max(value for value in y if value is not None) and y[ROWS - 2] is None and y.countna() == 1
    assert z["z"].max() == max(z["z"]) and list(z["a"]) == [number for number in range(ROWS) for _ in range(number % 3)]
    for counts in (calls.counts, rows.counts, cycles, made):
        assert set(counts.values()) == {1}


def test_after_an_error_all_rows_are_answered() -> None:
    failing = [True]

    def brittle(value: int) -> float:
        if value == 300 and failing[0]:
            raise ValueError("not yet")
        return random.random()

    b = SArray(range(ROWS)).apply(brittle, dtype=float)
    found = at_once({str(i): lambda: caught(b.sum) for i in range(4)})
    assert all("not yet" in text for text in found.values())
    failing[0] = False
    assert b.sum() == pytest.approx(sum(b))


def caught(work: Callable[[], Any]) -> str:
    try:
        return repr(work())
    except ValueError as error:
        return str(error)


def test_a_function_that_looks_at_its_own_column_is_told_so() -> None:
    holder: list[SArray] = []
    b = SArray(range(5)).apply(lambda value: holder[0][4], dtype=float)
    holder.append(b)
    with pytest.raises(RuntimeError, match="uses its own results"):
        list(b)


def test_date_times_of_functions_keep_their_offsets() -> None:
    zone = dt.timezone(dt.timedelta(hours=2))
    zoned = [dt.datetime(2020, 1, 1, hour, tzinfo=zone) for hour in range(4)]
    mixed = [value if place % 2 else value.replace(tzinfo=None) for place, value in enumerate(zoned)]
    naive = [value.replace(tzinfo=None) for value in zoned]
    for expected in (zoned, mixed, naive, [None, *zoned[1:]], [None] * 4):
        for dtype in (dt.datetime, None):
            if dtype is None and expected == [None] * 4:
                continue
            found = list(SArray(range(4)).apply(expected.__getitem__, dtype=dtype))
            assert found == expected and [str(value) for value in found] == [str(value) for value in expected]
    late = SArray(range(ROWS)).apply(lambda place: zoned[0] if place > 200 else naive[0], dtype=dt.datetime)
    with pytest.raises(TypeError, match="has an offset from UTC, but those of the first rows have none"):
        list(late)


def test_functions_that_look_at_other_columns_of_the_same_look() -> None:
    calls = Calls()
    c = SArray(range(5)).apply(calls, dtype=float)
    for look in (lambda: c[0], lambda: max(c.head(2)), lambda: c.max()):
        d = SArray(range(5)).apply(lambda value, look=look: value + look(), dtype=float)
        sf = SFrame({"c": c, "d": d})
        assert str(sf.head(2)) and [row["d"] for row in sf] == [value + look() for value in range(5)]
    assert set(calls.counts.values()) == {1}


def test_functions_that_look_at_each_other_are_told_so() -> None:
    holder: list[SArray] = []
    b = SArray(range(5)).apply(lambda value: holder[0][4], dtype=float)
    c = SArray(range(5)).apply(lambda value: b[value], dtype=float)
    holder.append(c)
    for work in (lambda: b[1], lambda: list(c), lambda: str(SFrame({"b": b, "c": c}))):
        with pytest.raises(RuntimeError, match="uses its own results"):
            work()


@pytest.mark.parametrize("first", [0, 1])
def test_threads_whose_functions_look_at_each_others_columns_do_not_wait_for_each_other(first: int) -> None:
    inside = [threading.Event(), threading.Event()]

    def meet(own: int) -> None:
        # Both threads are inside a function, and one asks a moment before the other.
        inside[own].set()
        inside[1 - own].wait(5)
        if own != first:
            time.sleep(0.3)

    def of_a(value: int) -> float:
        meet(0)
        return value + c[0]

    def of_d(value: int) -> float:
        meet(1)
        return value + a[0]

    c = SArray(range(5)).apply(lambda value: value + random.random(), dtype=float)
    a = SArray(range(5)).apply(of_a, dtype=float)
    d = SArray(range(5)).apply(of_d, dtype=float)
    sf = SFrame({"c": c, "d": d})
    found: dict[str, Any] = {}
    works = {"a": lambda: list(a.head(2)), "d": lambda: [(row["c"], row["d"]) for row in sf.head(2)]}
    threads = [threading.Thread(target=lambda name=name, work=work: found.update({name: work()}), daemon=True) for name, work in works.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert found.keys() == works.keys()
    assert found["a"] == list(a)[:2] == [c[0], 1 + c[0]]
    assert found["d"] == list(zip(c, d, strict=True))[:2] and found["d"][1][1] == 1 + a[0]
