"""The rows of a user's Spark DataFrame are evaluated once: every look through every handle sees the same rows in the same order."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SArray, SFrame, aggregate, load_sframe
from sframe_spark.config import config
from sframe_spark.engine.physical import user_dataframes_to_materialize_first as planning
from sframe_spark.engine.runtime import result_storage as datasets
from sframe_spark.errors import ExecutionError
from sframe_spark.session import get_frames
from tests.engine.execution.test_once import at_once
from tests.examples import part, square
from tests.work import calls_of

ROWS = 40


class Frames:
    """DataFrames that give other rows, in another order, at each evaluation, and leave a file for each."""

    def __init__(self, spark: Any, place: Path) -> None:
        self.spark, self.place = spark, place

    def made(self, rows: int = ROWS, changing: bool = False, failing: bool = False) -> SFrame:
        """A frame of such a DataFrame."""
        return SFrame(self.dataframe(rows, changing, failing))

    def dataframe(self, rows: int = ROWS, changing: bool = False, failing: bool = False) -> Any:
        """Columns id and ten (ten times the id) and part (id modulo 4); ``changing``: of some of the ids only, and with other values."""
        mark = str(self.place / "evaluation")

        def evaluated(batches: Any) -> Iterator[Any]:
            import os
            import random
            import tempfile

            import pyarrow as pa

            file, _ = tempfile.mkstemp(prefix=mark)
            os.close(file)
            drawn = random.Random(os.urandom(8))
            for batch in batches:
                if failing and not os.path.exists(f"{mark}ok"):
                    raise OSError("not yet")
                ids = batch.column(0).to_pylist()
                drawn.shuffle(ids)
                if changing:
                    ids = [value + 1000 * drawn.randrange(1000) for value in ids[: drawn.randrange(rows // 2, rows)]]
                yield pa.record_batch([pa.array(ids, pa.int64())], ["id"])

        df = self.spark.range(0, rows, 1, 1).mapInArrow(evaluated, "id bigint")
        return df.selectExpr("id", "id * 10 AS ten", "id % 4 AS part")

    @property
    def evaluations(self) -> int:
        return len([path for path in self.place.iterdir() if path.name.startswith("evaluation") and path.name != "evaluationok"])


@pytest.fixture
def frames(spark: Any, tmp_path: Path) -> Frames:
    (tmp_path / "marks").mkdir()
    return Frames(spark, tmp_path / "marks")


WAYS = ["default", "0"]


@pytest.fixture(params=WAYS)
def few_rows(request: pytest.FixtureRequest) -> Iterator[None]:
    """Few rows run on the driver, or not."""
    with config.using(**({} if request.param == "default" else {"small_rows": 0, "single_task_rows": 0})):
        yield


@pytest.fixture
def writes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The operators whose rows Spark wrote."""
    found: list[str] = []
    write = datasets.query.write_parquet

    def spied(node: Any, directory: str) -> Any:
        found.append(node.operator_type)
        return write(node, directory)

    monkeypatch.setattr(datasets.query, "write_parquet", spied)
    return found


def saved(sf: SFrame, place: Path) -> list[int]:
    sf.save(str(place / "frame"))
    return list(load_sframe(str(place / "frame"))["id"])


def written(sf: SFrame, place: Path) -> list[int]:
    sf.export_csv(str(place / "frame.csv"))
    return list(SFrame.read_csv(str(place / "frame.csv"), verbose=False)["id"])


def applied(column: SArray, dtype: Any = None) -> list[int]:
    return list(column.apply(lambda value: value * 10, dtype=dtype))


def part_lists(sf: SFrame) -> list[list[int]]:
    return list(sf.groupby("part", {"all": aggregate.CONCAT("id")}).sort("part")["all"])


def counts(sf: SFrame) -> list[int]:
    return list(sf.groupby("part", {"n": aggregate.COUNT()}).sort("part")["n"])


def joined(sf: SFrame) -> list[int]:
    return list(sf.join(SFrame({"part": [0, 1, 2, 3], "name": list("abcd")}), on="part")["id"])


# Each door with what it must show of the ids in the order of the rows.
DOORS: dict[str, tuple[Callable[[SFrame, Path], Any], Callable[[list[int]], Any]]] = {
    "list": (lambda sf, _: [row["id"] for row in sf], lambda v: v),
    "column": (lambda sf, _: list(sf["id"]), lambda v: v),
    "half": (lambda sf, _: next(iter(sf))["ten"], lambda v: v[0] * 10),
    "head": (lambda sf, _: list(sf["ten"].head(3)), lambda v: [x * 10 for x in v[:3]]),
    "tail": (lambda sf, _: list(sf.tail(3)["id"]), lambda v: v[-3:]),
    "row": (lambda sf, _: sf[7]["id"], lambda v: v[7]),
    "slice": (lambda sf, _: list(sf["id"][3:30:4]), lambda v: v[3:30:4]),
    "length": (lambda sf, _: len(sf), len),
    "length of some": (lambda sf, _: len(sf[sf["id"] > 5]), lambda v: sum(x > 5 for x in v)),
    "apply": (lambda sf, _: applied(sf["id"]), lambda v: [x * 10 for x in v]),
    "apply typed": (lambda sf, _: applied(sf["id"], int), lambda v: [x * 10 for x in v]),
    "zip": (lambda sf, _: [r["b"] - r["a"] for r in SFrame({"a": sf["id"], "b": sf["ten"]})], lambda v: [9 * x for x in v]),
    "running": (lambda sf, _: list(sf["id"].cumulative_max()), lambda v: [max(v[: i + 1]) for i in range(len(v))]),
    "filter": (lambda sf, _: list(sf[sf["ten"] >= 200]["id"]), lambda v: [x for x in v if x >= 20]),
    "ties": (lambda sf, _: list(sf.sort("part")["id"]), lambda v: sorted(v, key=lambda x: x % 4)),
    "append": (lambda sf, _: list(sf["id"].append(sf["ten"])), lambda v: v + [x * 10 for x in v]),
    "join": (lambda sf, _: joined(sf), lambda v: v),
    "groups in order": (lambda sf, _: part_lists(sf), lambda v: [[x for x in v if x % 4 == part] for part in range(4)]),
    "first of each": (lambda sf, _: list(sf.drop_duplicates("part")["id"]), lambda v: [next(x for x in v if x % 4 == part) for part in range(4)]),
    "arrow": (lambda sf, _: sf.to_arrow()["id"].to_pylist(), lambda v: v),
    "numpy": (lambda sf, _: sf["ten"].to_numpy().tolist(), lambda v: [x * 10 for x in v]),
    "spark": (lambda sf, _: [row["id"] for row in sf.to_spark().collect()], lambda v: v),
    "save": (saved, lambda v: v),
    "csv": (written, lambda v: v),
    "sum": (lambda sf, _: sf["id"].sum(), sum),
    "groups": (lambda sf, _: counts(sf), lambda v: [sum(x % 4 == part for x in v) for part in range(4)]),
}
# These do not ask for an order: asked first they read the DataFrame for themselves.
WITHOUT_ORDER = ("sum", "groups", "spark")
# This looks at some rows first to find the type of what a function gives.
LOOKS_FIRST = "apply"


@pytest.mark.spark
@pytest.mark.sampled(2)
@pytest.mark.parametrize(("first", "few_rows"), part(product([name for name in DOORS if name not in WITHOUT_ORDER], WAYS), 3), indirect=["few_rows"])
def test_any_first_look_fixes_the_rows_for_all_handles(first: str, few_rows: None, frames: Frames, writes: list[str], tmp_path: Path) -> None:
    sf = frames.made()
    early_ten, early_some = sf["ten"], sf[sf["id"] < 20]
    seen = DOORS[first][0](sf, tmp_path)
    ids = list(sf["id"])
    assert sorted(ids) == list(range(ROWS))
    assert seen == DOORS[first][1](ids)
    assert list(early_ten) == [value * 10 for value in ids]
    assert list(early_some["ten"]) == [value * 10 for value in ids if value < 20]
    assert DOORS[first][0](sf, tmp_path) == seen
    assert frames.evaluations == 1 + (first == LOOKS_FIRST) and writes.count("spark_source") == 1


@pytest.mark.spark
def test_doors_used_at_once_share_one_evaluation(few_rows: None, frames: Frames, writes: list[str], tmp_path: Path) -> None:
    sf = frames.made()
    others = (*WITHOUT_ORDER, LOOKS_FIRST, "groups in order", "join", "ties", "csv", "first of each")
    doors = {name: door for name, door in DOORS.items() if name not in others}
    found = at_once({name: lambda door=door: door(sf, tmp_path) for name, (door, _) in doors.items()})
    ids = list(sf["id"])
    assert found == {name: expected(ids) for name, (_, expected) in doors.items()}
    assert frames.evaluations == 1 and writes.count("spark_source") == 1


@pytest.mark.spark
def test_columns_materialised_apart_stand_side_by_side(few_rows: None, frames: Frames, tmp_path: Path) -> None:
    sf = frames.made(changing=True)
    a, b = sf["id"], sf["ten"]
    a.materialize()
    b.materialize()
    sf["y"] = sf["id"].apply(lambda value: value * 10)
    sf["z"] = b
    assert all(row["ten"] == row["y"] == row["z"] == 10 * row["id"] for row in sf)
    both = SFrame({"id": a, "ten": b})
    both.save(str(tmp_path / "both"))
    assert list(load_sframe(str(tmp_path / "both"))) == [{"id": row["id"], "ten": row["ten"]} for row in sf]
    assert frames.evaluations == 1


@pytest.mark.spark
@pytest.mark.parametrize(("own", "few_rows"), square(2, ["materialize", "checkpoint", "twice", "sorted", "column"], WAYS), indirect=["few_rows"])
def test_a_frame_with_rows_of_its_own_still_shares_those_of_its_dataframe(own: str, few_rows: None, frames: Frames, tmp_path: Path) -> None:
    df = frames.dataframe(changing=True)
    made = SFrame(df)
    made["twice"] = made["id"] * 2
    if own == "sorted":
        made = made.sort("id")
    if own == "checkpoint":
        made.checkpoint(str(tmp_path / "own"))
    elif own == "column":
        made = SFrame({"id": made["id"], "twice": made["twice"]})
        made["twice"].materialize()
    else:
        made.materialize()
    if own == "twice":
        made = made[made["twice"] >= 0]
        made.materialize()
    gc.collect()
    again = SFrame(df)
    if own == "sorted":
        again = again.sort("id")
    assert list(again["ten"]) == [5 * twice for twice in made["twice"]]
    made["z"] = again["ten"]
    assert all(row["z"] == 5 * row["twice"] == 10 * row["id"] for row in made)
    assert frames.evaluations == 1


@pytest.mark.spark
def test_rows_of_a_dataframe_go_with_the_last_that_was_made_of_it(frames: Frames) -> None:
    df = frames.dataframe(changing=True)
    made = SFrame(df)
    made["twice"] = made["id"] * 2
    made.materialize()
    kept = weakref.ref(get_frames()[df].node_or_rows())
    assert kept() is not None
    del made
    gc.collect()
    assert kept() is None
    made = SFrame(df)
    made["twice"] = made["id"] * 2
    made.materialize()
    kept = weakref.ref(get_frames()[df].node_or_rows())
    # Nobody can ask for other columns of it.
    del df
    gc.collect()
    assert kept() is None and list(made["twice"]) == [2 * value for value in made["id"]] and frames.evaluations == 2


def test_not_each_node_is_looked_at_for_each_dataframe(monkeypatch: pytest.MonkeyPatch) -> None:
    def calls(number: int) -> int:
        columns = [SArray([place]) for place in range(number)]
        shared = {place: planning.SharedFrame(weakref.ref(column._node)) for place, column in enumerate(columns)}
        for place, column in enumerate(columns):
            shared[place].kept[SArray([place])._node] = column._node
            shared[place].kept[column._node] = column._node
        monkeypatch.setattr(planning, "get_frames", lambda: shared)
        made = columns[0]
        for _ in range(number):
            made = made + 1
        found = calls_of(lambda: planning.keep_frames(made._node))
        assert shared[0].kept[made._node] is columns[0]._node and made._node not in shared[1].kept
        return found

    assert calls(200) < 6 * calls(50)


@pytest.mark.spark
def test_a_reduction_reads_the_frame_itself_and_nothing_is_written(frames: Frames, writes: list[str]) -> None:
    sf = frames.made()
    assert (sf["id"].sum(), sf["ten"].max(), sf[sf["id"] > 5]["id"].min()) == (sum(range(ROWS)), 10 * ROWS - 10, 6)
    assert frames.evaluations == 3 and not writes and not sf.is_materialized()
    ids = list(sf["id"])
    assert sf["id"].sum() == sum(ids) and frames.evaluations == 4


@pytest.mark.spark
def test_a_reduction_after_the_rows_is_about_these_rows(few_rows: None, frames: Frames) -> None:
    sf = frames.made(changing=True)
    early = sf["ten"]
    count = len(sf)
    ids = list(sf["id"])
    assert len(ids) == count and early.sum() == 10 * sum(ids)
    assert sorted(sf["id"].unique()) == sorted(set(ids))
    assert sum(sf.groupby("part", {"n": aggregate.COUNT()})["n"]) == count
    assert frames.evaluations == 1


@pytest.mark.spark
def test_rows_made_without_the_order_are_of_one_evaluation_each(few_rows: None, frames: Frames, writes: list[str]) -> None:
    sf = frames.made(changing=True)
    groups = sf.groupby("id", {"ten": aggregate.MAX("ten")})
    ids, tens = groups["id"], groups["ten"]
    first = list(ids.head(3))
    tripled = groups["id"].apply(lambda value: 3 * value)
    rows = list(groups)
    assert first == [row["id"] for row in rows[:3]] == list(ids)[:3]
    assert list(tens) == [10 * value for value in ids] and list(tripled) == [3 * value for value in ids]
    assert len(groups) == len(rows) and groups["ten"].sum() == sum(tens)
    # The frame itself was not copied.
    assert frames.evaluations == 1 and "spark_source" not in writes
    distinct = sf["part"].unique()
    assert len(distinct) == len(list(distinct)) and frames.evaluations == 2


@pytest.mark.spark
def test_a_frame_read_twice_by_one_look_is_evaluated_once(few_rows: None, frames: Frames) -> None:
    sf = frames.made(changing=True)
    counts = sf.groupby("part", {"n": aggregate.COUNT()}).join(sf.groupby("part", {"s": aggregate.SUM("ten")}), on="part")
    total = sf["id"].append(sf["id"]).sum()
    assert total == 2 * sf["id"].sum() == 2 * sum(sf["id"])
    assert sum(counts["s"]) == 10 * sf["id"].sum() and sum(counts["n"]) == len(sf) and frames.evaluations == 1
    assert frames.made(changing=True)["id"].cumulative_max().max() < 10**6 and frames.evaluations == 2


@pytest.mark.spark
def test_two_frames_of_one_program(few_rows: None, frames: Frames) -> None:
    a, b = frames.made(), frames.made()
    both = a.append(b)
    found = list(both["id"])
    assert found == [*a["id"], *b["id"]] and frames.evaluations == 2
    assert list(both["ten"]) == [10 * value for value in found] and frames.evaluations == 2


@pytest.mark.spark
def test_a_sort_of_a_column_writes_the_column_and_the_result(frames: Frames, writes: list[str], tmp_path: Path) -> None:
    with config.using(small_rows=0, single_task_rows=0):
        frames.made()[["id"]].sort("id").save(str(tmp_path / "frame"))
    assert list(load_sframe(str(tmp_path / "frame"))["id"]) == list(range(ROWS))
    assert frames.evaluations == 1 and writes == ["project", "sort"]


@pytest.mark.spark
def test_after_an_error_the_next_look_evaluates_the_frame(frames: Frames, writes: list[str]) -> None:
    sf = frames.made(failing=True)
    early = sf["ten"]
    for look in (lambda: list(sf), lambda: sf[0], lambda: early.apply(str)):
        with pytest.raises(ExecutionError, match="not yet"):
            look()
    assert not sf.is_materialized()
    (frames.place / "evaluationok").touch()
    ids = list(sf["id"])
    assert list(early) == [10 * value for value in ids] and sorted(ids) == list(range(ROWS))


@pytest.mark.spark
def test_after_ctrl_c_one_of_those_who_wait_goes_on(frames: Frames, monkeypatch: pytest.MonkeyPatch) -> None:
    sf = frames.made()
    write, begun, others = datasets.query.write_parquet, threading.Event(), threading.Event()

    def interrupted(node: Any, directory: str) -> Any:
        if not begun.is_set():
            begun.set()
            assert others.wait(60)
            raise KeyboardInterrupt
        return write(node, directory)

    monkeypatch.setattr(datasets.query, "write_parquet", interrupted)
    found: dict[str, Any] = {}

    def waiting(name: str) -> None:
        assert begun.wait(60)
        others.set()
        found[name] = list(sf[name])

    threads = [threading.Thread(target=waiting, args=(name,)) for name in ("id", "ten")]
    for thread in threads:
        thread.start()
    with pytest.raises(KeyboardInterrupt):
        list(sf)
    for thread in threads:
        thread.join()
    assert found["ten"] == [10 * value for value in found["id"]] and list(sf["id"]) == found["id"]
    assert frames.evaluations == 1


@pytest.mark.spark
def test_rows_checked_by_the_naive_plan_are_those_of_one_evaluation(frames: Frames) -> None:
    sf = frames.made(changing=True)
    with config.using(check="result"):
        assert list(sf["ten"] + 0) == [10 * value for value in sf["id"]]
        groups = frames.made(changing=True).groupby("id", {"n": aggregate.COUNT()})
        assert len(list(groups)) == len(groups)
    assert frames.evaluations == 2


@pytest.mark.spark
def test_a_long_program_over_a_frame_does_not_evaluate_it_for_itself(frames: Frames, writes: list[str]) -> None:
    sf = frames.made()
    column = sf["id"]
    for number in range(200):
        column = column * 1 + (number % 2)
    assert column.sum() == sum(range(ROWS)) + 100 * ROWS
    assert list(sf["ten"]) == [10 * value for value in sf["id"]] and frames.evaluations == 1 and writes.count("spark_source") == 1
