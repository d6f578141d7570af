"""Items, date-times, packed columns and random rows: the same rows for every partitioning and on both execution paths."""

from __future__ import annotations

import array
import datetime
import math
import random
from collections.abc import Callable
from typing import Any

import pytest

from sframe_spark import SArray, SFrame
from sframe_spark.errors import ExecutionError

EAST = datetime.timezone(datetime.timedelta(hours=5.5))
DAY = datetime.datetime(2024, 2, 29, 13, 5, 6, 789)
COLUMNS: dict[str, list[Any]] = {
    "id": list(range(42)),
    "counts": [{"a": i, "b": i % 5} if i % 3 else None if i % 2 else {} for i in range(42)],
    "mixed": [{"a": i, i % 4: "x"} if i % 3 else {"b": [i, "y"], "c": None} for i in range(42)],
    "vector": [array.array("d", [i] * (i % 4)) if i % 5 else None for i in range(42)],
    "list": [[i, "a", {"b": i}][: i % 4] if i % 7 else None for i in range(42)],
    "moment": [(DAY + datetime.timedelta(hours=i)).replace(tzinfo=EAST if i % 2 else None) if i % 6 else None for i in range(42)],
    "text": [f"{i % 28 + 1:02}.02.2024 GMT+{i % 12:02}" if i % 8 else "" for i in range(42)],
    "int": [i if i % 4 else None for i in range(42)],
    "float": [i / 4 if i % 3 else math.nan for i in range(42)],
    "word": ["word" * (i % 3) if i % 5 else None for i in range(42)],
}
MEMBERS: dict[str, Callable[[SFrame], Any]] = {
    "dict_keys": lambda sf: sf["mixed"].dict_keys(),
    "dict_values": lambda sf: sf["counts"].dict_values(),
    "dict_has_any_keys": lambda sf: sf["counts"].dict_has_any_keys(["b", "z"]),
    "dict_has_all_keys": lambda sf: sf["counts"].dict_has_all_keys(["a", "b"]),
    "dict_trim_by_keys": lambda sf: sf["counts"].dict_trim_by_keys(["a"]),
    "dict_trim_by_values": lambda sf: sf["mixed"].dict_trim_by_values(7, 20),
    "vector_slice": lambda sf: sf["vector"].vector_slice(1, 3),
    "element_slice": lambda sf: sf["list"].element_slice(None, None, -2),
    "unpack native": lambda sf: sf.unpack("counts"),
    "unpack mixed": lambda sf: sf.unpack("mixed", na_value="x"),
    "unpack vector": lambda sf: sf["vector"].unpack(),
    "unpack list": lambda sf: sf["list"].unpack(),
    "stack": lambda sf: sf[["id", "mixed"]].stack("mixed", ["key", "value"], new_column_type=[str, str]),
    "pack list": lambda sf: sf.pack_columns(["int", "id"], fill_na=0),
    "pack mixed": lambda sf: sf.pack_columns(["int", "word", "moment"]),
    "pack dict": lambda sf: sf.pack_columns(["int", "id"], dtype=dict),
    "pack array": lambda sf: sf.pack_columns(["int", "float"], dtype=array.array),
    "unstack": lambda sf: SFrame({"key": sf["id"] % 4, "word": sf["word"], "id": sf["id"]}).unstack(["word", "id"]),
    "split_datetime": lambda sf: sf[["moment"]].split_datetime("moment", timezone=True),
    "datetime_to_str": lambda sf: sf["moment"].datetime_to_str("%a %d %b %Y %T%F %ZP"),
    "str_to_datetime": lambda sf: sf["text"].str_to_datetime("%d.%m.%Y %ZP"),
    "sample": lambda sf: sf.sample(0.5, seed=3),
    "sample exact": lambda sf: sf["id"].sample(0.5, seed=3, exact=True),
    "random_split": lambda sf: sf.random_split(0.3, seed=-7)[1],
    "random_split exact": lambda sf: sf.random_split(0.3, seed=4, exact=True)[1],
    "shuffle": lambda sf: sf.shuffle(seed=11),
}


def shown(result: Any) -> tuple[Any, list[str]]:
    """Types, and all values as texts: NaN is itself."""
    types = [result.dtype] if isinstance(result, SArray) else [*result.column_names(), *result.column_types()]
    return types, [str(row) for row in result]


def in_segments(count: int) -> SFrame:
    """The columns, kept in so many ranges of rows."""
    frame = SFrame({name: SArray(values) for name, values in COLUMNS.items()})
    frame.materialize(segments=count)
    return frame


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", MEMBERS)
@pytest.mark.parametrize("count", [2, 7])
def test_ranges_of_rows_make_no_difference(name: str, count: int) -> None:
    assert shown(MEMBERS[name](in_segments(count))) == shown(MEMBERS[name](in_segments(1)))


@pytest.mark.spark
@pytest.mark.parametrize("count", [1, 7])
def test_spark_gives_the_same(spark: Any, everything_on_spark: None, count: int) -> None:
    from sframe_spark.config import config

    with config.using(small_rows=100_000):
        expected = {name: shown(member(in_segments(1))) for name, member in MEMBERS.items()}
    frame = in_segments(count)
    assert {name: shown(member(frame)) for name, member in MEMBERS.items()} == expected


def test_shares_of_rows() -> None:
    numbers = SArray(range(20_000))
    for fraction in (0.01, 0.5, 0.97):
        chosen = list(numbers.sample(fraction, seed=5))
        assert chosen == sorted(set(chosen)) and abs(len(chosen) / 20_000 - fraction) < 0.02
        first, second = numbers.random_split(fraction, seed=5)
        assert list(first) == chosen and sorted([*first, *second]) == list(range(20_000))
    assert list(numbers.sample(0.5, seed=5)) != list(numbers.sample(0.5, seed=6))
    assert [len(numbers.sample(0.33333, seed=seed, exact=True)) for seed in range(3)] == [6666] * 3


def test_a_share_is_spread_evenly() -> None:
    chosen = list(SArray(range(20_000)).sample(0.25, seed=9))
    tenths = [sum(start <= row < start + 2000 for row in chosen) for start in range(0, 20_000, 2000)]
    assert all(400 < count < 600 for count in tenths)


def test_a_shuffle_moves_rows_anywhere() -> None:
    shuffled = list(SArray(range(5000)).shuffle(seed=2))
    assert sorted(shuffled) == list(range(5000)) and abs(sum(abs(row - place) for place, row in enumerate(shuffled)) / 5000 - 5000 / 3) < 100


def test_seeds_of_python_make_programs_repeatable() -> None:
    numbers, drawn = SArray(range(1000)), []
    for _ in range(2):
        random.seed(1)
        drawn.append([list(numbers.sample(0.5)), list(numbers.shuffle()), list(SArray.random_integers(5))])
    assert drawn[0] == drawn[1] and list(numbers.sample(0.5)) != list(numbers.sample(0.5))


def test_a_sample_is_drawn_once() -> None:
    sample = SFrame({"a": range(1000)}).sample(0.5)
    assert [row["a"] for row in sample] == list(sample["a"]) == list((sample["a"] * 2) / 2)


def test_a_text_of_another_format_is_told_when_it_is_looked_at() -> None:
    texts = SArray(["29.02.2024", "30.02.2024"]).str_to_datetime("%d.%m.%Y")
    assert texts[0] == datetime.datetime(2024, 2, 29)
    with pytest.raises(ExecutionError, match=r"'30\.02\.2024' does not match the date format '%d\.%m\.%Y'"):
        list(texts)


def test_items_of_wide_dicts_are_found_in_one_pass() -> None:
    wide = SArray([{f"k{place}": row + place for place in range(300)} for row in range(50)])
    frame = wide.unpack(column_name_prefix=None)
    assert frame.shape == (50, 300) and list(frame["k7"]) == [row + 7 for row in range(50)]
    assert frame.explain(stage="logical").count("slots(") == 1
