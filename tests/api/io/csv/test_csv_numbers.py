"""Columns of numbers that Arrow reads as such are what their texts become: in any company, with whatever comes late in the file."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from sframe_spark import SFrame
from sframe_spark.api.io.csv import block_reader as csv_lines, parser as csv_arrow, reader as csv_reader
from sframe_spark.api.io.csv.parser import NumberColumns
from sframe_spark.testing.oracle_functions import rows_equal
from sframe_spark.types import FLOAT, INT, STR
from sframe_spark.values.column_cast import cast_array
from tests.examples import square

ROWS = 400
USUAL = {
    "int": lambda choose: str(choose.randrange(-(10**6), 10**6)),
    "float": lambda choose: repr(choose.uniform(-1e3, 1e3)),
    "text": lambda choose: choose.choice(["box", "two words", "", "NA", "x0"]),
    "missing": lambda choose: "",
}
# What a later field may be, and what makes of it something else than Arrow would.
RARE = [
    "0x1F", "0X1f", "-0x1", " 5", "5 ", "\t5", "+5", "-0", "-0.0", "007", "1_000", "1.", ".5", "-.5", "1e5", "1E-5", "1e400", "-1e400", "1e-400",
    "inf", "-Infinity", "nan", "NaN", "NA", "", "  ", "1234567890123456789", "-9223372036854775808", "9223372036854775808", "1" * 30,
    "0" * 30 + "7", "999999999999999999", "1000000000000000000", "1000000000000000000.5", "12345678901234567890.0",
    '"5"', '"5.5"', '""', '" 5"', '"NA"',
    "true", "x", "\u0661", "1,", "[1]", "{a: 1}", "2020-01-01", "0.1234567890123456789012345678901234567890", "5e", "--5", "5\x0b", "#5",
]  # fmt: skip
HINTS: list[Any] = [None, {"c0": float}, {"c0": int}, {"c1": str, "c0": int}, {"c2": list}]


@pytest.fixture(autouse=True)
def short_blocks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The types are known after few rows, and most are read knowing them."""
    monkeypatch.setattr(csv_reader, "IN_MEMORY_ROWS", 20)
    monkeypatch.setattr(csv_lines, "BLOCK_BYTES", 500)
    yield


def contents(frame: SFrame) -> list[Any]:
    return [frame.column_types(), [tuple(row.values()) for row in frame]]


def file_of(choose: random.Random, place: Path) -> str:
    kinds = [choose.choice(list(USUAL)) for _ in range(choose.randrange(1, 5))]
    rows = [[USUAL[kind](choose) for kind in kinds] for _ in range(ROWS)]
    for _ in range(choose.choice([0, 1, 1, 2, 5, 40])):
        choose.choice(rows[50:])[choose.randrange(len(kinds))] = choose.choice(RARE)
    place.write_text("\n".join([",".join(f"c{number}" for number in range(len(kinds))), *map(",".join, rows)]) + "\n", newline="")
    return str(place)


@pytest.mark.parametrize(("seed", "hinted"), square(8 * len(HINTS), range(60), HINTS))
def test_rows_are_those_read_as_text(seed: int, hinted: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    choose = random.Random(seed)
    options = choose.choice(
        [{}, {}, {"na_values": ["NA", "-0"]}, {"true_values": ["5"]}, {"nrows": 300}, {"quote_char": "'"}, {"error_bad_lines": True}]
    )
    monkeypatch.setattr(csv_reader, "IN_MEMORY_ROWS", choose.choice([20, 20, 10 * ROWS]))
    first = choose.choice([60, 500])
    monkeypatch.setattr(csv_reader, "first_block_bytes", lambda size, first=first: first)
    path = file_of(choose, tmp_path / "x.csv")
    width = len((tmp_path / "x.csv").read_text().partition("\n")[0].split(","))
    known = {name: kind for name, kind in (hinted or {}).items() if int(name[1:]) < width}

    def read() -> Any:
        try:
            return contents(SFrame.read_csv(path, verbose=False, column_type_hints=known or None, **options))
        except Exception as error:
            return [type(error), str(error)]

    found = read()
    monkeypatch.setattr(NumberColumns, "read_exactly_by_arrow", lambda *_: False)
    expected = read()
    assert found[0] == expected[0]
    assert found == expected or rows_equal(found[1], expected[1])


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> list[list[pa.DataType]]:
    """The types of what Arrow read, one after the other."""
    found: list[list[pa.DataType]] = []
    table = csv_arrow._table

    def noted(*given: Any) -> Any:
        read = table(*given)
        found.append(read[0].schema.types)
        return read

    monkeypatch.setattr(csv_arrow, "_table", noted)
    return found


@pytest.mark.parametrize("in_memory", [20, 10_000])
def test_numbers_are_read_as_such(in_memory: int, tmp_path: Path, tables: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The attack above is on what is done: nearly all blocks of a file of numbers are read once, as numbers, in short files too."""
    monkeypatch.setattr(csv_reader, "IN_MEMORY_ROWS", in_memory)
    (tmp_path / "x.csv").write_text("i,f,s\n" + "".join(f"{number},{number / 7!r},a box\n" for number in range(2_000)))
    frame = SFrame.read_csv(str(tmp_path / "x.csv"), verbose=False)
    assert [frame["i"].sum(), frame["f"].sum()] == [sum(range(2_000)), pytest.approx(sum(number / 7 for number in range(2_000)))]
    as_text = [types for types in tables if set(types) == {pa.string()}]
    assert len(tables) > 20 and len(as_text) <= 3


def test_a_file_whose_first_rows_mislead_is_begun_once_more(tmp_path: Path, tables: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is read a third time, though each column turns out to be another one somewhere; what was read as an int is told as it stood there."""
    monkeypatch.setattr(csv_reader, "IN_MEMORY_ROWS", 10_000)
    lines = [["007", "1", "2.50"] for _ in range(1_000)]
    lines[400][1], lines[600][2], lines[990][0] = "1.5", "x", "y"
    (tmp_path / "x.csv").write_text("i,f,s\n" + "".join(",".join(line) + "\n" for line in lines))
    frame = SFrame.read_csv(str(tmp_path / "x.csv"), verbose=False)
    assert frame.column_types() == [str, float, str] and [tuple(row.values()) for row in frame] == [(i, float(f), s) for i, f, s in lines]
    as_text = [types for types in tables if set(types) == {pa.string()}]
    blocks = (tmp_path / "x.csv").stat().st_size // 500 + 1
    # The first block, those with something new, and from the text on no column is one of numbers.
    assert len(as_text) <= 6 and blocks < len(tables) <= 2 * blocks + len(as_text)


@given(
    st.lists(
        st.one_of(st.floats().map(repr), st.decimals(allow_nan=False, allow_infinity=False).map(str), st.integers().map(str), st.sampled_from(RARE))
    )
)
def test_each_text_is_cast_as_it_is_alone(texts: list[str]) -> None:
    """Whatever stands beside it: the plain ones of a column go another way than the others."""
    for kind in (INT, FLOAT):
        together = cast_array(pa.array([*texts, None, "1"], pa.string()), STR, kind, undefined_on_failure=True).to_pylist()
        alone = [cast_array(pa.array([text, "x"], pa.string()), STR, kind, undefined_on_failure=True).to_pylist()[0] for text in texts]
        assert list(map(repr, together)) == list(map(repr, [*alone, None, alone_one(kind)]))


def alone_one(kind: Any) -> Any:
    return 1 if kind == INT else 1.0


def test_decimals_of_any_length_are_the_nearest_floats() -> None:
    choose = random.Random(5)
    texts = [
        f"{choose.randrange(10 ** choose.randrange(1, 19))}.{''.join(choose.choices('0123456789', k=choose.randrange(0, 400)))}" for _ in range(5_000)
    ]
    texts += [f"-{text}e{choose.randrange(-99, 100)}" for text in texts]
    assert cast_array(pa.array(texts), STR, FLOAT).to_pylist() == list(map(float, texts))
