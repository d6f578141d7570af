"""What a CSV file holds depends neither on where its blocks end, nor on who reads them, nor on how many of its rows tell the types first."""

from __future__ import annotations

import gzip
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SFrame
from sframe_spark.api.io.csv import block_reader as csv_lines, reader as csv_reader
from sframe_spark.errors import CsvEncodingError
from tests.api.io.csv.test_csv_numbers import RARE as RARE_NUMBERS, USUAL as USUAL_NUMBERS
from tests.examples import part

USUAL = {
    **USUAL_NUMBERS,
    "long": lambda choose: str(choose.randrange(-(2**63), 2**63)),
    "decimal": lambda choose: choose.choice([f"{choose.random():.2e}", f"{choose.randrange(10**5)}.", str(choose.randrange(100))]),
    "coded": lambda choose: choose.choice([str(choose.randrange(100)), "-999", " -999", "-999 ", "\t-999"]),
    "quoted": lambda choose: choose.choice(["x", '"a,b"', '"l\nm"', '"he said ""no"""']),
    "array": lambda choose: f"[{choose.randrange(9)} {choose.random()}]",
    "dict": lambda choose: f'{{"a":{choose.randrange(9)}}}',
}
RARE = [
    *RARE_NUMBERS,
    " -999",
    "-999.0",
    '"-999"',
    '" -999"',
    " NA",
    '"NA "',
    "9007199254740993",
    "5\x00",
    '"un',
    'a"b',
    "+-5",
    "1e",
    "9.99999999999999999e17",
]
OPTIONS: list[dict[str, Any]] = [
    {"na_values": ["NA", "-999"]},
    {"na_values": ["-999"]},
    {"na_values": ["NA", " NA", "5"]},
    {"na_values": []},
    {"true_values": ["5"]},
    {"nrows": 40},
    {"nrows": 40, "nrows_to_infer": 100},
    {"column_type_hints": {"c0": float}},
    {"column_type_hints": {"c0": int}},
    {"usecols": ["c0"]},
    {"skip_initial_space": False},
    {"error_bad_lines": True},
    {"quote_char": "'"},
]  # fmt: skip


@pytest.fixture
def patch() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as found:
        yield found


def read(paths: list[str], options: dict[str, Any]) -> Any:
    """All that is told of some files; of wrong lines not in which order, nor which of them is told first, nor those behind the rows asked for."""
    try:
        frame, left_out = SFrame.read_csv_with_errors(paths, verbose=False, **options)
    except Exception as error:
        return type(error)
    told = {} if "nrows" in options else {path: sorted(lines) for path, lines in left_out.items()}
    return frame.column_names(), frame.column_types(), [repr(tuple(row.values())) for row in frame], told


def files_of(choose: random.Random, directory: Path) -> list[str]:
    """Files of a few columns, each of which may have something rare in it, or go on as another one."""
    # Arrow reads no block with a list in it.
    likely = choose.choice([["int", "float", "decimal", "coded", "missing"], list(USUAL)])
    kinds = [choose.choice(likely) for _ in range(choose.randrange(1, 5))]
    rows = [[USUAL[kind](choose) for kind in kinds] for _ in range(choose.choice([30, 100, 200]))]
    for _ in range(choose.choice([0, 1, 1, 2, 8])):
        choose.choice(rows)[choose.randrange(len(kinds))] = choose.choice(RARE)
    if choose.random() < 0.2:
        place, kind = choose.randrange(len(kinds)), choose.choice(list(USUAL))
        for row in rows[choose.randrange(len(rows)) :]:
            row[place] = USUAL[kind](choose)
    end, paths = choose.choice(["\n", "\n", "\r\n", "\r"]), list[str]()
    some = choose.choice([len(rows), len(rows), len(rows) // 2 + 1])
    for start in range(0, len(rows), some):
        text = end.join([",".join(f"c{number}" for number in range(len(kinds))), *map(",".join, rows[start : start + some])]) + end
        is_packed = choose.random() < 0.2
        path = directory / f"{start}.csv{'.gz' if is_packed else ''}"
        path.write_bytes(gzip.compress(text.encode()) if is_packed else text.encode())
        paths.append(str(path))
    return paths


@pytest.mark.parametrize("seed", part(range(60), 15))
def test_rows_are_those_of_one_block(seed: int, tmp_path: Path, patch: pytest.MonkeyPatch) -> None:
    choose = random.Random(seed)
    paths, options = files_of(choose, tmp_path), choose.choice([{}, {}, *OPTIONS[:2] * 4, *OPTIONS])
    whole = read(paths, options)
    for _ in range(3):
        patch.setattr(csv_reader, "IN_MEMORY_ROWS", choose.choice([1, 5, 20, 60, 1000]))
        first = choose.choice([20, 200, 1000])
        patch.setattr(csv_reader, "first_block_bytes", lambda size, first=first: first)
        patch.setattr(csv_lines, "BLOCK_BYTES", choose.choice([40, 100, 300, 500, 1500, 4000]))
        patch.setattr(csv_lines, "MAX_AGAIN", choose.choice([0, 20, csv_lines.MAX_AGAIN]))
        threads = choose.choice([1, 2, 2, 5])
        patch.setattr(csv_reader.external_file_import, "threads_that_read", lambda threads=threads: threads)
        patch.setattr(csv_reader, "BYTES_FOR_THREADS", choose.choice([0, 0, 1 << 20]))
        assert read(paths, options) == whole


@pytest.mark.parametrize("space", [" ", "\t"])
@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_numbers_that_mean_missing_values_do_so_amid_white_space(space: str, delimiter: str, tmp_path: Path, patch: pytest.MonkeyPatch) -> None:
    if space == delimiter:
        return
    rows = [[str(number), str(number / 7)] for number in range(200)]
    rows[150], rows[160], rows[170] = [f"{space}-999", "0.5"], [f"-999{space}", f"-99.9{space}"], ["160", "-99.9"]
    (tmp_path / "x.csv").write_text("\n".join(map(delimiter.join, [["i", "f"], *rows])))
    patch.setattr(csv_reader, "IN_MEMORY_ROWS", 20)
    patch.setattr(csv_lines, "BLOCK_BYTES", 300)
    frame = SFrame.read_csv(str(tmp_path / "x.csv"), delimiter=delimiter, na_values=["-999", "-99.9"], verbose=False)
    assert frame.column_types() == [int, float]
    assert [number for number, row in enumerate(frame) if row["i"] is None] == [150, 160]
    assert [number for number, row in enumerate(frame) if row["f"] is None] == [160, 170]


@pytest.mark.parametrize("block_bytes", [40, 300, csv_lines.BLOCK_BYTES])
@pytest.mark.parametrize("line", [b"1,2,\xff", b"1,2,3,\xff", b"1\xff", b"\xff,1,1"], ids=repr)
def test_bytes_that_are_no_text_are_told_wherever_they_are(line: bytes, block_bytes: int, tmp_path: Path, patch: pytest.MonkeyPatch) -> None:
    """In a column that nobody asked for, too, and in a line that is no row."""
    patch.setattr(csv_lines, "BLOCK_BYTES", block_bytes)
    (tmp_path / "x.csv").write_bytes(b"a,b,c\n" + b"1,2,3\n" * 50 + line + b"\n" + b"1,2,3\n" * 50)
    for columns in ([], ["a"], ["b", "a"]):
        with pytest.raises(CsvEncodingError, match="line 52, column"):
            SFrame.read_csv(str(tmp_path / "x.csv"), usecols=columns, verbose=False)
