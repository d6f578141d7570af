"""Lists and dicts that are passed on, or that Arrow computes, cost neither processes nor Spark: threads do it, and rows are those of few rows."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sframe_spark import SFrame, aggregate, config, load_sframe
from sframe_spark.explain.dry_run import plan_dry_run
from tests.strategies import (
    COUNTING,
    PARTIAL_STATES_BY_THREADS,
    RANGE_SHUFFLE_BY_THREADS,
    STREAM_BY_PROCESSES,
    STREAM_BY_TASKS,
    STREAM_BY_THREADS,
    STREAM_ON_DRIVER,
    WHOLE_BY_THREADS,
)

ROWS = 700
pytestmark = pytest.mark.usefixtures("over_ranges")
HERE = {COUNTING, STREAM_BY_THREADS, PARTIAL_STATES_BY_THREADS, WHOLE_BY_THREADS, RANGE_SHUFFLE_BY_THREADS, STREAM_ON_DRIVER}
Program = Callable[[SFrame], SFrame]


def rows(choose: random.Random) -> Iterator[dict[str, Any]]:
    for number in range(ROWS):
        yield {
            "i": number,
            "k": choose.choice((None, 1, 2, 3)),
            "s": choose.choice((None, "", "a", "é")),
            "f": choose.choice((None, 0.5, -0.0, float("nan"))),
            "ints": choose.choice((None, [], [1, None, 3], [number])),
            "texts": choose.choice((None, [], ["a", None], ["é"])),
            "mixed": choose.choice((None, [], [1, "a", {"b": None}])),
            "plain": choose.choice((None, {}, {"a": 1.5}, {"b": None, "c": float(number)})),
            "dict": choose.choice((None, {}, {"a": "x", 3: None}, {"z": [number]})),
        }


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> str:
    choose = random.Random(5)
    made = list(rows(choose))
    choose.shuffle(made)
    directory = str(tmp_path_factory.mktemp("passed") / "frame")
    SFrame({name: [row[name] for row in made] for name in made[0]}).save(directory)
    return directory


def few(sf: SFrame) -> SFrame:
    """Some rows of some columns under names of their own."""
    return sf[sf["i"] % 40 == 0][["i", "k", "ints", "dict"]].rename({"ints": "others", "dict": "more"})


def taken(sf: SFrame) -> SFrame:
    """One row of each group."""
    one = {"d": aggregate.SELECT_ONE("dict"), "l": aggregate.ARGMAX("f", "mixed"), "p": aggregate.ARGMIN("i", "plain")}
    return sf.groupby("s", one)


def gathered(sf: SFrame) -> SFrame:
    """Dicts of all kinds that have a form of Arrow's, with keys that are missing and keys that come twice."""
    pairs = {"si": ("s", "i"), "ss": ("s", "s"), "if": ("i", "f"), "kk": ("k", "k"), "is": ("i", "s"), "sf": ("s", "f")}
    return sf.groupby("k", {name: aggregate.CONCAT(*columns) for name, columns in pairs.items()})


def frequencies(sf: SFrame) -> SFrame:
    """How often values occur in groups, missing ones and texts with quotes among them."""
    sf["q"] = sf["s"] + '"' + sf["s"]
    return sf.groupby("k", {"of i": aggregate.FREQ_COUNT("k"), "of s": aggregate.FREQ_COUNT("s"), "of q": aggregate.FREQ_COUNT("q")})


def filled(sf: SFrame) -> SFrame:
    """Lists and dicts of both forms, of which the first form cannot hold every value."""
    for name, value in (("ints", [7]), ("texts", [1, "a"]), ("mixed", [[]]), ("plain", {"z": 1.0}), ("dict", {3: "x"})):
        sf = sf.fillna(name, value)
    return sf


def shifted(sf: SFrame) -> SFrame:
    """Columns beside which their own values stand that some rows before or after have."""
    ways = {"ints": (1, None), "mixed": (-3, [None]), "plain": (2, None), "dict": (1, {"a": 1}), "texts": (-1, ["z"])}
    return SFrame({name: sf[name].shift(rows, fill) for name, (rows, fill) in ways.items()})


def looked_into(sf: SFrame) -> SFrame:
    """What is inside of lists and dicts of both forms."""
    made: dict[str, Any] = {f"n {name}": sf[name].item_length() for name in ("ints", "texts", "mixed", "plain", "dict")}
    made |= {f"k {name}": sf[name].dict_keys() for name in ("plain", "dict")}
    made |= {f"v {name}": sf[name].dict_values() for name in ("plain", "dict")}
    made |= {"cut": sf["ints"].element_slice(None, None, -1), "first": sf["texts"].vector_slice(0, 2), "has": sf["plain"].dict_has_any_keys(["a"])}
    made |= {"less": sf["plain"].dict_trim_by_keys(["b"]), "more": sf["plain"].dict_trim_by_values(1), "in": sf["ints"].contains(3)}
    return SFrame(made | {"same": sf["ints"] == sf["ints"].shift(1), "text": sf["plain"].astype(str), "truth": sf["mixed"] & sf["ints"]})


PROGRAMS: dict[str, Program] = {
    "filter": lambda sf: sf[sf["i"] % 3 == 0],
    "sort": lambda sf: sf.sort([("s", False), ("f", True)]),
    "join": lambda sf: few(sf).rename({"others": "x", "more": "y", "i": "j"}).join(few(sf), on="k"),
    "left join": lambda sf: sf.join(few(sf).remove_column("k"), on="i", how="left"),
    "outer join": lambda sf: sf.join(few(sf).remove_column("k"), on="i", how="outer"),
    "as-of join": lambda sf: sf.sort("i").asof_join(few(sf).remove_column("k").sort("i"), on="i"),
    "first of equal rows": lambda sf: sf.drop_duplicates(["k", "s"]),
    "one row of groups": taken,
    "one row of many groups": lambda sf: sf.groupby(["i"], {"d": aggregate.SELECT_ONE("dict")}),
    "dicts of groups": gathered,
    "frequencies of few groups": frequencies,
    "frequencies of many groups": lambda sf: sf.groupby(["i", "k"], {"n": aggregate.FREQ_COUNT("s")}),
    "frequencies of all rows": lambda sf: sf.groupby([], {"n": aggregate.FREQ_COUNT("s"), "m": aggregate.FREQ_COUNT("k")}),
    "fillna": filled,
    "dropna": lambda sf: sf.dropna(["ints", "dict", "plain"]),
    "shift": shifted,
    "looked into": looked_into,
    "stack ints": lambda sf: sf[["i", "k", "dict", "ints"]].stack("ints", "item"),
    "stack mixed": lambda sf: sf[["k", "texts", "mixed"]].stack("mixed", "item", new_column_type=str),
    "stack dicts": lambda sf: sf[["i", "plain", "ints"]].stack("plain", ["key", "value"], drop_na=True),
    "unpack": lambda sf: sf[["plain", "ints"]].unpack("plain").unpack("ints", column_types=[int, int]),
    "unstack": lambda sf: sf[["k", "i"]].unstack("i", "l"),
    "unstack to dicts": lambda sf: sf[["k", "s", "i"]].unstack(["s", "i"], "d"),
    "pack": lambda sf: sf[["i", "k", "s"]].pack_columns(["i", "k"], dtype=list, new_column_name="l").pack_columns(["s", "l"][:1], dtype=dict),
    "pack mixed": lambda sf: sf[["i", "s", "f"]].pack_columns(["i", "s"], dtype=dict, new_column_name="d"),
    "append": lambda sf: sf.append(sf.sort("i")),
    "running sum beside": lambda sf: sf.add_column(sf["i"].cumulative_sum(), "sum", inplace=False),
    "shuffle": lambda sf: sf.shuffle(seed=3),
    "number beside": lambda sf: sf.add_column(sf["i"] * 2, "twice", inplace=False),
}


def shown(sf: SFrame) -> list[str]:
    """The rows as texts: a NaN is equal to itself there, and the zeros are two."""
    return [repr(list(row.items())) for row in sf]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", PROGRAMS)
def test_threads_move_them(place: str, name: str) -> None:
    frame = PROGRAMS[name](load_sframe(place))
    assert {section.strategy for section in plan_dry_run(frame._node).sections} <= HERE
    with config.using(small_rows=10 * ROWS):
        expected = shown(PROGRAMS[name](load_sframe(place)))
    frame.materialize()
    assert shown(frame) == expected


@pytest.mark.parametrize(
    "program",
    [
        lambda sf: sf[["ints", "k"]].pack_columns(dtype=dict),
        lambda sf: sf.unpack("ints", limit=[0], column_types=[str], na_value=[]),
        lambda sf: sf[["i", "ints"]].fillna("ints", []).apply(lambda row: len(row["ints"])),
        lambda sf: SFrame({"c": sf["ints"].contains(None)}),
    ],
)
def test_those_that_python_makes_or_looks_into_are_worth_processes(place: str, program: Program) -> None:
    found = program(load_sframe(place))
    modes = {section.strategy for section in plan_dry_run(found._node).sections}
    assert modes & {STREAM_BY_PROCESSES, STREAM_BY_TASKS}


def test_files_of_others_are_decoded_where_they_have_another_form(tmp_path: Path) -> None:
    kinds = {"lists": pa.list_(pa.string()), "structs": pa.struct([("a", pa.int64()), ("b", pa.string())])}
    cells = {"lists": [["a"], None] * ROWS, "structs": [{"a": 1, "b": "x"}, None] * ROWS}
    numbers = pa.array(range(2 * ROWS))
    for name, kind in kinds.items():
        path = str(tmp_path / f"{name}.parquet")
        pq.write_table(pa.table({"i": numbers, "c": pa.array(cells[name], kind)}), path)
        sf = SFrame.read_parquet(path)
        modes = {section.strategy for section in plan_dry_run(sf[sf["i"] > 5]._node).sections}
        assert modes <= HERE if name == "lists" else modes & {STREAM_BY_PROCESSES, STREAM_BY_TASKS}
        assert list(sf[sf["i"] > 5]["c"])[:2] == [cells[name][6], cells[name][7]]
