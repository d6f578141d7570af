"""Results of users' functions end a batch while they are made, wherever they become long; no row is given to a function twice for that."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sframe_spark import SArray, SFrame
from sframe_spark.config import config
from sframe_spark.engine import costs
from sframe_spark.engine.runtime.pipeline import Pipeline, PipelineRunner
from sframe_spark.errors import ResultsTooLongError
from sframe_spark.planner.chunk import Chunk
from sframe_spark.rewrite_laws import optimize
from sframe_spark.session import is_started
from sframe_spark.udf.result_caching_size_limits_and_storage import LARGEST_STEP, MadeResults
from tests.examples import square

ROWS, LONG, BATCH = 1_200, 2_000, 40_000


class Texts:
    """A random text for a number, 1,000 times as long from some row on; counts its calls."""

    def __init__(self, short: int) -> None:
        self.short = short
        self.counts: Counter[int] = Counter()
        self.given: dict[int, str] = {}

    def text(self, value: int) -> str:
        self.counts[value] += 1
        self.given[value] = f"{random.random():.9f}"[2:4] * (1 if value < self.short else LONG // 2)
        return self.given[value]

    def of_text(self, text: str) -> str:
        return self.text(int(text))

    def row(self, row: dict[str, Any]) -> str:
        return self.text(row["a"])

    def listed(self, value: int) -> list[Any]:
        return [1, self.text(value)]

    def dict_of(self, value: int) -> dict[str, str]:
        return {"t": self.text(value)}

    def rows(self, row: dict[str, Any]) -> list[list[Any]]:
        return [[row["a"], self.text(row["a"])]] * (row["a"] % 3)

    def cycle(self, rows: list[dict[str, Any]]) -> list[str]:
        return [self.text(row["a"]) for row in rows]


def numbers() -> SFrame:
    return SFrame({"a": list(range(ROWS)), "k": [row // 7 for row in range(ROWS)]})


def below(outer: Texts) -> Callable[[Texts], SArray]:
    """A random function of the results of another one, both long."""
    return lambda texts: numbers()["a"].apply(texts.text, dtype=str).apply(lambda text: outer.text(len(outer.given)) + text, dtype=str)


def beside_running(texts: Texts) -> SFrame:
    sf = numbers()
    sf["sum"] = sf["a"].cumulative_sum()
    sf["t"] = sf["a"].apply(texts.text, dtype=str)
    return sf


def of_running(texts: Texts) -> SArray:
    return (numbers()["a"] * 0 + 1).cumulative_sum().apply(lambda value: texts.text(value - 1), dtype=str)


def of_filtered(texts: Texts) -> SArray:
    sf = numbers()
    return sf[sf["a"] % 5 > 1]["a"].apply(texts.text, dtype=str)


def filtered_by_result(texts: Texts) -> SFrame:
    sf = numbers()
    sf["t"] = sf["a"].apply(texts.text, dtype=str)
    return sf[sf["t"] > "5"]


def of_flat_map(texts: Texts) -> SArray:
    return numbers().flat_map(["b"], lambda row: [[row["a"]]], column_types=[int])["b"].apply(texts.text, dtype=str)


def of_joined(texts: Texts) -> SArray:
    return numbers().join(SFrame({"a": list(range(ROWS))}).assume_sorted("a"), on="a")["a"].apply(texts.text, dtype=str)


WORKS: dict[str, Callable[[Texts], Any]] = {
    "text": lambda texts: numbers()["a"].apply(texts.text, dtype=str),
    "of a row": lambda texts: numbers().apply(texts.row, dtype=str),
    "list": lambda texts: numbers()["a"].apply(texts.listed, dtype=list),
    "dict": lambda texts: numbers()["a"].apply(texts.dict_of, dtype=dict),
    "beside a running value": beside_running,
    "of a running value": of_running,
    "of filtered rows": of_filtered,
    "filtered by the result": filtered_by_result,
    "number of the result": lambda texts: numbers()["a"].apply(texts.text, dtype=str).apply(len, dtype=int),
    "of rows of many": of_flat_map,
    "of joined rows": of_joined,
    "flat map": lambda texts: numbers().flat_map(["b", "t"], texts.rows, column_types=[int, str]),
    "cycles": lambda texts: numbers().assume_sorted("k").add_columns_by_cycle(texts.cycle, "t", on="k", dtypes=str),
}


def results(texts: Texts) -> list[str]:
    return [texts.given[value] for value in sorted(texts.given)]


def texts_of(row: Any) -> Iterator[str]:
    """The long text of a row, where it has one."""
    if isinstance(row, str):
        yield row
    elif isinstance(row, (list, dict)):
        for item in row.values() if isinstance(row, dict) else row:
            yield from texts_of(item)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("name", "short"), square(4, WORKS, [0, 1, 300, 1_100]))
def test_no_batch_is_much_too_large_and_no_row_is_called_for_twice(name: str, short: int) -> None:
    texts = Texts(short)
    made = WORKS[name](texts)
    with config.using(batch_bytes=BATCH):
        node = optimize(made._node)
        chunks = list(PipelineRunner(Pipeline.of(node)).stream(0, ROWS, 131_072))
    assert max(chunk.size for chunk in chunks) < 6 * BATCH
    assert set(texts.counts.values()) == {1}
    assert len(texts.counts) == (ROWS * 3 // 5 if name == "of filtered rows" else ROWS)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("name", "short"), square(2, WORKS, [0, 300]))
def test_every_door_gives_what_the_function_gave(name: str, short: int) -> None:
    texts, started = Texts(short), is_started()
    with config.using(batch_bytes=BATCH):
        found = list(WORKS[name](texts))
    assert set(texts.counts.values()) == {1}
    given = results(texts)
    if name == "number of the result":
        assert found == list(map(len, given))
    elif name == "filtered by the result":
        assert [row["t"] for row in found] == [text for text in given if text > "5"]
    elif name == "flat map":
        assert [row["t"] for row in found] == [text for value, text in enumerate(given) for _ in range(value % 3)]
    else:
        assert [text for row in found for text in texts_of(row)] == given
    if name == "beside a running value":
        assert [row["sum"] for row in found] == [row * (row + 1) // 2 for row in range(ROWS)]
    assert is_started() == started


@pytest.mark.sampled(2)
@pytest.mark.parametrize("door", ["stream", "list"])
@pytest.mark.parametrize("short", [0, 300])
def test_functions_of_results_are_called_once_too(short: int, door: str) -> None:
    texts, outer = Texts(short), Texts(short // 2)
    made = below(outer)(texts)
    with config.using(batch_bytes=BATCH):
        if door == "list":
            found = list(made)
        else:
            chunks = list(PipelineRunner(Pipeline.of(optimize(made._node))).stream(0, ROWS, 131_072))
            assert max(chunk.size for chunk in chunks) < 8 * BATCH
            found = [text for chunk in chunks for text in chunk.columns[0].to_pylist()]
    assert set(texts.counts.values()) == {1} and set(outer.counts.values()) == {1}
    assert found == [a + b for a, b in zip(results(outer), results(texts), strict=True)]


def test_the_first_batch_of_long_results_is_short() -> None:
    texts = Texts(0)
    with config.using(batch_bytes=BATCH):
        runner = PipelineRunner(Pipeline.of(optimize(numbers()["a"].apply(texts.text, dtype=str)._node)))
        first = next(runner.stream(0, ROWS, 131_072))
    assert first.rows == len(texts.counts) < 4 * BATCH // LONG


def test_batches_of_short_results_are_as_large_as_before(called_functions: None) -> None:
    rows = 8 * costs.ROWS_OF_FIRST_BATCH
    assert rows > LARGEST_STEP
    plan = Pipeline.of(optimize(SArray(range(rows)).apply(str, dtype=str)._node))
    assert [chunk.rows for chunk in PipelineRunner(plan).stream(0, rows, 131_072)] == [
        costs.ROWS_OF_FIRST_BATCH,
        4 * costs.ROWS_OF_FIRST_BATCH,
        3 * costs.ROWS_OF_FIRST_BATCH,
    ]


def test_results_wait_by_the_numbers_of_their_rows() -> None:
    asked: list[int] = []

    def call(order: np.ndarray) -> Callable[[np.ndarray], Iterator[tuple[np.ndarray, Chunk]]]:
        def made(places: np.ndarray) -> Iterator[tuple[np.ndarray, Chunk]]:
            for place in places:
                asked.append(int(order[place]))
                yield np.array([place]), Chunk.of([pa.array([str(order[place]) * 10])])

        return made

    made, order = MadeResults(35), np.random.default_rng(3).permutation(30)
    start, stop, found = 0, 30, list[str]()
    while start < 30:
        made.begin(may_cut=stop - start > 1, in_turn=False)
        part = order[start:stop]
        try:
            found += made.completed(part, part.size, call(part)).columns[0].to_pylist()
        except ResultsTooLongError:
            stop = start + max(1, (stop - start) // 2)
            continue
        made.release()
        start, stop = stop, 30
    assert found == [str(number) * 10 for number in order]
    assert sorted(asked) == list(range(30))


def nested(depth: int) -> list[Any]:
    """Lists in lists; without end for no depth."""
    inside: list[Any] = []
    if not depth:
        inside.append(inside)
    for _ in range(depth):
        inside = [inside]
    return inside


class Failing:
    """What cannot tell how long it is."""

    @property
    def nbytes(self) -> int:
        raise ValueError("asked")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("result", [nested(3_000), nested(0), Failing()], ids=["deep", "without end", "failing"])
@pytest.mark.parametrize("row", range(62, 68))
def test_what_no_column_holds_is_refused_in_every_row(result: Any, row: int) -> None:
    sf = SFrame({"k": [number // 5 for number in range(100)], "x": range(100)})
    looks: list[Callable[[], Any]] = [
        lambda: list(sf["x"].apply(lambda x: result if x == row else [1], dtype=list)),
        lambda: list(sf.flat_map(["y"], lambda r: [[result if r["x"] == row else [1]]], column_types=[list])),
        lambda: list(sf.add_columns_by_cycle(lambda rows: [result if r["x"] == row else [1] for r in rows], "y", on="k", dtypes=list)),
    ]
    for look in looks:
        with pytest.raises(TypeError, match=r"lists|Failing|column of list"):
            look()
