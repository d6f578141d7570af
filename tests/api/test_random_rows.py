"""For a seed the rows and hashes of Turi Create, which were recorded: they follow from the seed and the number of the row, wherever rows are."""

from __future__ import annotations

import array
import json
import random
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SArray, SFrame
from sframe_spark.api.class_registry import make_array
from sframe_spark.errors import SFrameError
from sframe_spark.planner.plan_json import graph_from_json, graph_to_json

FACTS = json.loads((Path(__file__).parents[1] / "data" / "random_row_facts.json").read_text())
CALLS = sorted({call for call, *_ in FACTS["rows"]})
CLASSES = {"int": int, "float": float, "str": str, "array": array.array}


def column_of(kind: str) -> SArray:
    values = FACTS["values"][kind]
    if kind == "float":
        values = [None if text is None else float(text) for text in values]
    if kind == "array":
        values = [array.array("d", [float(text) for text in row]) for row in values]
    return SArray(values, CLASSES[kind])


def rows_of(drawn: SFrame | SArray) -> list[int]:
    return list(drawn["a"] if isinstance(drawn, SFrame) else drawn)


def require_recorded(call: str, segments: int | None = None) -> None:
    owner, method = call.split(".")
    columns: dict[int, SArray] = {}
    for _, count, fraction, seed, exact, first in [fact for fact in FACTS["rows"] if fact[0] == call]:
        if count not in columns:
            columns[count] = SArray(range(count))
            if segments is not None:
                columns[count].materialize(segments=segments)
        numbers = columns[count]
        given = {} if exact is None else {"exact": exact}
        drawn = getattr(SFrame({"a": numbers}) if owner == "SFrame" else numbers, method)(fraction, seed=seed, **given)
        parts = [rows_of(part) for part in (drawn if isinstance(drawn, tuple) else (drawn,))]
        assert parts[0] == first, (count, fraction, seed, exact)
        if len(parts) == 2:
            assert parts[1] == sorted(set(range(count)) - set(first))


@pytest.mark.parametrize("call", CALLS)
def test_the_rows_of_a_seed(call: str) -> None:
    require_recorded(call)


def test_the_rows_of_a_seed_in_ranges_of_rows() -> None:
    require_recorded("SArray.sample", segments=7)


@pytest.mark.spark
def test_the_rows_of_a_seed_on_spark(spark: Any, everything_on_spark: None) -> None:
    numbers = SFrame({"a": range(1000)})
    numbers.materialize(segments=3)
    for call, count, fraction, seed, exact, first in FACTS["rows"]:
        if count == 1000 and call.startswith("SFrame") and fraction in (0.5, 0.9):
            drawn = getattr(numbers, call.split(".")[1])(fraction, seed=seed, exact=bool(exact))
            assert rows_of(drawn[0] if isinstance(drawn, tuple) else drawn) == first
    (expected,) = [first for *call, first in FACTS["rows"] if call == ["SFrame.sample", 1000, 0.5, 42, False]]
    assert list(SFrame(spark.range(0, 1000, numPartitions=3)).sample(0.5, seed=42)["id"]) == expected


@pytest.mark.parametrize("fraction", [1e-9, 0.5, 0.8, 1 - 1e-9])
def test_plans_of_random_rows_are_written_and_read(fraction: float) -> None:
    node = SArray(range(99)).random_split(fraction, seed=-5)[1]._node
    read = graph_from_json(graph_to_json(node))
    assert list(make_array(read)) == list(SArray(range(99)).random_split(fraction, seed=-5)[1])


def test_many_rows() -> None:
    for count, fraction, seed, drawn, total, exact, exact_total in FACTS["counts"]:
        numbers = SFrame({"a": SArray.from_sequence(count)})
        if drawn is not None:
            first, second = numbers.random_split(fraction, seed=seed)
            assert (len(first), len(second), first["a"].sum()) == (drawn, count - drawn, total)
        sample = numbers.sample(fraction, seed=seed, exact=True)
        assert len(sample) == exact
        assert exact_total is None or sample["a"].sum() == exact_total


@pytest.mark.parametrize("kind", CLASSES)
def test_hashes(kind: str) -> None:
    for fact in FACTS["hash"]:
        if fact["type"] == kind:
            assert list(column_of(kind).hash(fact["seed"])) == fact["hashes"]


@pytest.mark.spark
def test_hashes_on_spark(spark: Any, everything_on_spark: None) -> None:
    frame = SFrame({kind: column_of(kind).append(SArray([None] * 30, CLASSES[kind])).head(30) for kind in CLASSES})
    frame.materialize(segments=2)
    for fact in FACTS["hash"]:
        if fact["seed"] == 7:
            assert list(frame[fact["type"]].hash(7))[: len(fact["hashes"])] == fact["hashes"]


def test_random_integers() -> None:
    for fact in FACTS["random_integers"]:
        assert list(SArray.random_integers(fact["size"], fact["seed"])) == fact["values"]
        assert list(SArray.random_integers(fact["size"], seed=fact["seed"])[3:7]) == fact["values"][3:7]


SEEDED = {
    "SFrame.random_split": lambda seed: SFrame({"a": range(9)}).random_split(0.5, seed=seed),
    "SFrame.sample": lambda seed: SFrame({"a": range(9)}).sample(0.5, seed=seed),
    "SFrame.sample exact": lambda seed: SFrame({"a": range(9)}).sample(0.5, seed=seed, exact=True),
    "SFrame.shuffle": lambda seed: SFrame({"a": range(9)}).shuffle(seed=seed),
    "SArray.random_split": lambda seed: SArray(range(9)).random_split(0.5, seed=seed),
    "SArray.sample": lambda seed: SArray(range(9)).sample(0.5, seed=seed),
    "SArray.shuffle": lambda seed: SArray(range(9)).shuffle(seed=seed),
    "SArray.random_integers": lambda seed: SArray.random_integers(9, seed=seed),
    "SArray.hash": lambda seed: SArray(range(9)).hash(seed),
}


@pytest.mark.parametrize("door", SEEDED)
def test_seeds_have_32_bits(door: str) -> None:
    for seed in (2**31 - 1, -(2**31), 1.7, True):
        SEEDED[door](seed)
    for seed in (2**31, -(2**31) - 1, 2**63, 10**5000, 1e10, float("inf"), -float("inf")):
        with pytest.raises(OverflowError, match="seed must be an int of 32 bits"):
            SEEDED[door](seed)
    for seed in (float("nan"), "x", [1]):
        with pytest.raises((TypeError, ValueError), match="seed must be a whole number") as raised:
            SEEDED[door](seed)
        assert isinstance(raised.value, SFrameError)


def test_a_seed_may_be_a_float_or_a_text() -> None:
    numbers = SFrame({"a": range(50)})
    assert rows_of(numbers.random_split(0.5, seed="1")[0]) == rows_of(numbers.sample(0.5, seed=1.9)) == rows_of(numbers.sample(0.5, seed=1))


def test_without_a_seed_it_is_drawn_once() -> None:
    random.seed(5)
    numbers = SFrame({"a": range(200)})
    for drawn in (numbers.sample(0.5), numbers.random_split(0.5)[0], numbers.shuffle(), SFrame({"a": SArray.random_integers(200)})):
        assert rows_of(drawn[:]) == list(drawn["a"] * 1) == rows_of(drawn)
