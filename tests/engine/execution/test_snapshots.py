"""What is kept of a user's Spark DataFrame: once for all frames of it, only what anybody can ask for, and nothing where no order is used."""

from __future__ import annotations

import gc
import random
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SArray, SFrame, aggregate, load_sframe
from sframe_spark.engine.runtime import result_storage as datasets
from tests.engine.physical.test_frames import Frames
from tests.examples import examples

Writes = list[tuple[str, int]]


@pytest.fixture
def frames(spark: Any, tmp_path: Path) -> Frames:
    (tmp_path / "marks").mkdir()
    return Frames(spark, tmp_path / "marks")


@pytest.fixture
def writes(monkeypatch: pytest.MonkeyPatch) -> Writes:
    """The operators whose rows Spark wrote, and how many columns they have."""
    found: Writes = []
    write = datasets.query.write_parquet

    def spied(node: Any, directory: str) -> Any:
        found.append((node.operator_type, node.facts.width))
        return write(node, directory)

    monkeypatch.setattr(datasets.query, "write_parquet", spied)
    return found


def table(spark: Any, rows: int = 1000) -> Any:
    return spark.range(rows).selectExpr("id", "id * 2 AS twice", "id % 7 AS part", "cast(id AS string) AS text")


@pytest.mark.spark
def test_only_what_anybody_can_ask_for_is_written(spark: Any, writes: Writes) -> None:
    ids = SFrame(table(spark))["id"]
    assert list(ids)[:3] == [0, 1, 2] and list(ids.tail(1)) == [999] and writes == [("project", 1)]
    sf = SFrame(table(spark))
    sf["more"] = sf["twice"] + 1
    sf = sf[["more", "part"]]
    assert list(sf["more"].cumulative_sum())[:3] == [1, 4, 9] and list(sf["part"])[:3] == [0, 1, 2] and writes[1:] == [("generalized_transform", 2)]
    sf = SFrame(table(spark))
    sf = sf[sf["part"] > 3]
    assert len(sf) == 428 and list(sf["id"])[:3] == [4, 5, 6] and writes[2:] == [("filter_rows", 4)]
    few = SFrame(table(spark))[["id", "part"]]
    assert few.join(SFrame({"part": [1, 2]}), on="part").num_rows() == 286 and writes[3][1] == 2 and ("spark_source", 4) not in writes


@pytest.mark.spark
def test_what_is_saved_at_once_is_written_without_the_rest(spark: Any, writes: Writes, tmp_path: Path) -> None:
    sf = SFrame(table(spark))[["id"]]
    sf.save(str(tmp_path / "ids"))
    assert list(load_sframe(str(tmp_path / "ids"))["id"]) == list(sf["id"]) == list(range(1000)) and writes == [("project", 1)]


@pytest.mark.spark
def test_a_frame_in_use_keeps_all_its_columns(spark: Any, writes: Writes) -> None:
    sf = SFrame(table(spark))
    large = sf[sf["part"] > 3]
    assert list(large["id"])[:2] == [4, 5] and writes == [("spark_source", 4)]
    assert list(sf["twice"])[:2] == [0, 2] and list(large["text"])[:2] == ["4", "5"] and len(writes) == 1


@pytest.mark.spark
def test_frames_of_one_dataframe_share_its_rows(frames: Frames, writes: Writes) -> None:
    given = frames.dataframe(changing=True)
    first, second = SFrame(given), SFrame(given)
    assert first._node is second._node
    ids = list(first["id"])
    assert list(second["ten"]) == [10 * value for value in ids]
    del first, second
    ten = SFrame(given)["ten"]
    list(ten)
    # The frame is gone, but not what was made of it.
    gc.collect()
    third = SFrame({"id": SFrame(given)["id"], "ten": ten})
    assert all(row["ten"] == 10 * row["id"] for row in third)
    assert frames.evaluations == len(writes) <= 2
    before = frames.evaluations
    del third, ten
    gc.collect()
    list(SFrame(given)["id"])
    assert frames.evaluations == before + 1
    # The same query once more is another DataFrame.
    assert SFrame(given.select("*"))._node is not SFrame(given)._node


@pytest.mark.spark
def test_rows_stay_as_long_as_any_frame_of_them(frames: Frames) -> None:
    given = frames.dataframe(changing=True)
    ten = SFrame(given)["ten"]
    expected = list(ten)
    # Made of the rows that were kept for a column, which then goes.
    whole = SFrame(given)
    del ten
    gc.collect()
    # What nobody holds goes with the next one.
    list(SFrame(frames.spark.range(3))["id"].cumulative_sum())
    assert list(whole["ten"]) == expected and list(whole["id"]) == [value // 10 for value in expected]


@pytest.mark.spark
def test_what_uses_no_order_copies_nothing(spark: Any, writes: Writes) -> None:
    df = table(spark, 10**5)
    sf = SFrame(df)
    large = sf[sf["twice"] > 10]
    assert sum(sf.groupby("part", {"n": aggregate.COUNT()})["n"]) == 10**5
    assert sum(large.groupby("part", {"n": aggregate.COUNT()})["n"]) == 10**5 - 6
    assert sorted(sf["part"].unique()) == list(range(7)) and (sf["id"].max(), large["id"].min()) == (99_999, 6)
    assert (sf.to_spark().count(), sf[["id"]].to_spark().columns) == (10**5, ["id"])
    assert sf.column_types() == [int, int, int, str] and str(sf) and not {name for name, _ in writes} - {"group_by"}
    assert not sf.is_materialized()


@pytest.mark.spark
def test_to_spark_of_rows_that_are_fixed_gives_these(frames: Frames) -> None:
    sf = frames.made(changing=True)
    assert sf.to_spark().sparkSession is not None and frames.evaluations == 0
    ids = list(sf["id"])
    assert [row["id"] for row in sf.to_spark().collect()] == ids and [row["ten"] for row in sf[["ten"]].to_spark().collect()] == [10 * v for v in ids]
    assert frames.evaluations == 1


class Looks:
    """What random looks through random handles on one DataFrame have shown; everything must be of one evaluation."""

    def __init__(self, frames: Frames, seed: int) -> None:
        self.drawn = random.Random(seed)
        self.handles: list[SFrame] = [frames.made(changing=True)]
        self.seen: dict[tuple[int, ...], list[int]] = {}
        self.parts: list[tuple[int, ...]] = [()]

    def derive(self) -> None:
        place = self.drawn.randrange(len(self.handles))
        sf, parts = self.handles[place], self.parts[place]
        way = self.drawn.randrange(3)
        if way == 0 and "part" in sf.column_names():
            left_out = self.drawn.randrange(4)
            sf, parts = sf[sf["part"] != left_out], tuple(sorted({*parts, left_out}))
        elif way == 1:
            sf = sf[["id", *[name for name in sf.column_names() if name != "id" and self.drawn.random() < 0.7]]]
        else:
            sf = sf.copy()
            sf[f"x{self.drawn.randrange(100)}"] = sf["id"] * 10
        self.handles.append(sf)
        self.parts.append(parts)

    def drop(self) -> None:
        if len(self.handles) > 1:
            place = self.drawn.randrange(len(self.handles))
            del self.handles[place], self.parts[place]

    def look(self, place: Path) -> None:
        number = self.drawn.randrange(len(self.handles))
        sf = self.handles[number]
        ids = self.drawn.choice([self.rows, self.column, self.saved, self.counted])(sf, place)
        found = self.seen.setdefault(self.parts[number], ids)
        assert ids == found

    def rows(self, sf: SFrame, place: Path) -> list[int]:
        rows = list(sf)
        assert all(row[name] == 10 * row["id"] for row in rows for name in row if name not in ("id", "part"))
        return [row["id"] for row in rows]

    def column(self, sf: SFrame, place: Path) -> list[int]:
        ids = SArray(sf["id"])
        assert list(sf["id"].cumulative_max().tail(1)) == [max(ids)]
        return list(ids)

    def saved(self, sf: SFrame, place: Path) -> list[int]:
        path = str(place / f"saved{self.drawn.random()}")
        sf.save(path)
        return list(load_sframe(path)["id"])

    def counted(self, sf: SFrame, place: Path) -> list[int]:
        count, ids = len(sf), list(sf["id"])
        assert len(ids) == count
        return ids


@pytest.mark.spark
def test_whatever_is_looked_at_through_whatever_handle_is_of_one_evaluation(frames: Frames, tmp_path: Path) -> None:
    for seed in range(examples(4, every=1)):
        looks = Looks(frames, seed)
        for _ in range(12):
            looks.drawn.choice([looks.derive, looks.derive, looks.drop, lambda looks=looks: looks.look(tmp_path)])()
        for _ in range(4):
            looks.look(tmp_path)
        whole = looks.seen.get(())
        for parts, ids in looks.seen.items():
            assert whole is None or ids == [value for value in whole if value % 4 not in parts]
