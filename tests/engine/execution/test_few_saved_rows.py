"""Few rows that are saved in one file are computed without a plan, and are those of a plan; what a plan does better is left to it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from sframe_spark import SFrame, aggregate, load_sframe
from sframe_spark.engine import costs
from sframe_spark.engine.execution.direct_execution_of_few_rows import few_rows, needs_no_plan
from sframe_spark.errors import StorageError
from sframe_spark.operators.sources.base_and_segment_source import recorded_order
from sframe_spark.operators.sources.in_memory import MemorySource
from sframe_spark.types import INT
from tests.random_tables import segments_source

ROWS = 6_000


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Directories of two saved frames."""
    place = tmp_path_factory.mktemp("saved")
    numbers = range(ROWS)
    sales = SFrame({
        "day": [n // 60 for n in numbers],
        "shop": [n * 7919 % 97 for n in numbers],
        "price": [None if n % 11 == 0 else n * 31 % 1000 / 8 for n in numbers],
        "text": [f"sale {n * 7919 % ROWS}" for n in numbers],
    })  # fmt: skip
    shops = SFrame({"shop": list(range(0, 97, 2)), "town": [f"town {n % 7}" for n in range(0, 97, 2)]})
    sales.save(str(place / "sales"))
    shops.save(str(place / "shops"))
    return {name: str(place / name) for name in ("sales", "shops")}


Program = Callable[[SFrame, SFrame], SFrame]
PROGRAMS: dict[str, Program] = {
    "filter": lambda sales, shops: sales[sales["price"] > 40],
    "filter, columns": lambda sales, shops: sales[(sales["shop"] == 5) | (sales["text"] == "sale 17")][["text", "day"]],
    "group-by": lambda sales, shops: sales.groupby(["shop", "day"], {"n": aggregate.COUNT(), "sum": aggregate.SUM("price")}),
    "join": lambda sales, shops: sales.join(shops, on="shop"),
    "outer join, sort": lambda sales, shops: sales.join(shops, on="shop", how="outer").sort([("town", True), ("price", False), ("text", True)]),
    "join, filter, group-by, sort": lambda sales, shops: (
        sales[sales["day"] > 20].join(shops, on="shop").groupby("town", {"sum": aggregate.SUM("price")}).sort("sum", ascending=False)
    ),
    "sort by two": lambda sales, shops: sales.sort([("shop", True), ("day", False)]),
    "first of a sort": lambda sales, shops: sales.sort("text")[:5],
    "unique": lambda sales, shops: sales[["shop"]].unique(),
    "append": lambda sales, shops: sales.append(sales[sales["shop"] < 3]),
    "running": lambda sales, shops: SFrame({"day": sales["day"], "all": sales["price"].fillna(0).cumulative_sum()}),
    "semi-join": lambda sales, shops: sales.filter_by(shops["shop"], "shop"),
    "one row": lambda sales, shops: sales[sales["text"] == "sale 18"],
    "none": lambda sales, shops: sales[sales["day"] < 0],
}


def key_of(column: int, row: tuple[Any, ...]) -> tuple[bool, Any]:
    """The place of a value in an order."""
    return row[column] is not None, row[column] if row[column] is not None else 0


def directly_and_by_a_plan(program: Program, places: dict[str, str], patch: pytest.MonkeyPatch) -> tuple[SFrame, SFrame]:
    """The rows of a program without a plan, which it has to be, and with one."""
    frames = [program(load_sframe(places["sales"]), load_sframe(places["shops"])) for _ in range(2)]
    assert needs_no_plan(frames[0]._node)
    frames[0].materialize()
    assert isinstance(frames[0]._node.operator, MemorySource)
    patch.setattr(costs, "MAX_ROWS_RUN_DIRECTLY", -1)
    frames[1].materialize()
    return frames[0], frames[1]


@pytest.mark.parametrize("name", PROGRAMS)
def test_rows_and_what_is_known_of_them_are_those_of_a_plan(name: str, places: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    direct, planned = directly_and_by_a_plan(PROGRAMS[name], places, monkeypatch)
    assert direct.to_arrow().equals(planned.to_arrow())
    found, expected = recorded_order(direct._node), recorded_order(planned._node)
    rows = [tuple(row.values()) for row in direct]
    for items in found.orderings:
        ranked = rows
        for column, ascends in reversed(items):
            # Missing values are the smallest; sorting keeps the order of equal ones.
            ranked = sorted(ranked, key=partial(key_of, column), reverse=not ascends)
        assert ranked == rows
    for key in found.keys:
        assert len({tuple(row[column] for column in key) for row in rows}) == len(rows)
    if name in ("sort by two", "group-by", "outer join, sort"):
        assert found == expected and found.orderings


@pytest.fixture
def files_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many row groups each read of a file decodes."""
    found: list[int] = []
    original = pq.ParquetFile.iter_batches

    def iter_batches(self: Any, *arguments: Any, **options: Any) -> Any:
        found.append(len(options["row_groups"]))
        return original(self, *arguments, **options)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", iter_batches)
    return found


def test_a_slice_is_left_to_a_plan_where_that_leaves_out_rows(places: dict[str, str]) -> None:
    sales = load_sframe(places["sales"])
    sales["twice"] = sales["price"] * 2
    for sliced in (sales[:10], sales[sales["twice"] > 3][5:8], sales.append(sales)[100:120], sales[:50][:10]):
        assert few_rows(sliced._node) is None and not needs_no_plan(sliced._node)
    many = SFrame({"a": list(range(costs.MAX_ROWS_FOR_SLICE_RUN_DIRECTLY + 1))})
    assert not needs_no_plan(many[:3]._node) and needs_no_plan(many.sort("a", ascending=False)[:3]._node)
    few = SFrame({"a": list(range(costs.MAX_ROWS_FOR_SLICE_RUN_DIRECTLY))})
    assert needs_no_plan(few[:3]._node)


def test_datasets_of_several_files_are_left_to_a_plan() -> None:
    kinds = [INT, INT]
    for bounds in ([0, 200], [0, 100, 200]):
        saved = SFrame(_node=segments_source([list(range(200)), list(range(200))], kinds, bounds), _names=["a", "b"])
        assert needs_no_plan(saved[saved["a"] > 3]._node) == (len(bounds) == 2)


def test_long_texts_are_left_to_a_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files_read: list[int]) -> None:
    place = str(tmp_path / "long")
    SFrame({"a": ["x" * 1000 + str(n) for n in range(100)]}).save(place)
    monkeypatch.setattr(costs, "MAX_BYTES_RUN_DIRECTLY", 10_000)
    long = load_sframe(place)
    assert few_rows(long[long["a"] != "y"]._node) is None and files_read == []


def test_a_damaged_file_is_told_as_a_plan_tells_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "damaged"
    SFrame({"a": list(range(1000))}).save(str(place))
    frame = load_sframe(str(place))
    next(place.glob("*.parquet")).write_bytes(b"no parquet")
    with pytest.raises(StorageError) as direct:
        frame[frame["a"] > 3].materialize()
    monkeypatch.setattr(costs, "MAX_ROWS_RUN_DIRECTLY", -1)
    with pytest.raises(StorageError) as planned:
        frame[frame["a"] > 3].materialize()
    assert str(direct.value) == str(planned.value)
