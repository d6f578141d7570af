"""Texts that files keep as numbers come as texts, whatever part of a file is read, and whoever wrote it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sframe_spark import SFrame, load_sframe
from sframe_spark.engine.execution.materialize_count_and_read_rows import read_all
from sframe_spark.storage.parquet.footer import footer_of
from sframe_spark.storage.segments import dictionary_encoded_strings
from sframe_spark.storage.segments.dictionary_encoded_strings import mostly_dictionary_encoded

ROWS = 3 * dictionary_encoded_strings.MIN_ROWS
WORDS = ["", "é", "\U0001f600", "z" * 300, *[f"word {number}" for number in range(300)]]


def columns() -> dict[str, list[str | None]]:
    generator = np.random.default_rng(4)
    repeated: list[str | None] = [WORDS[place] for place in generator.integers(0, len(WORDS), ROWS)]
    others: list[str | None] = [f"text {number}" for number in range(ROWS)]
    return {
        "repeated": repeated,
        "with missing ones": [None if place % 3 == 0 else text for place, text in enumerate(repeated)],
        "all missing": [None] * ROWS,
        "all different": others,
        # The dictionaries of the last row group have room for some only.
        "different at the end": repeated[: ROWS // 2] + others[ROWS // 2 :],
        "repeated at the end": others[: ROWS // 2] + repeated[ROWS // 2 :],
    }


@pytest.fixture
def table() -> pa.Table:
    return pa.table({name: pa.array(values, pa.string()) for name, values in columns().items()} | {"i": range(ROWS)})


def read(path: str) -> SFrame:
    return load_sframe(path) if not path.endswith(".parquet") else SFrame.read_parquet(path)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("options", [{}, {"dictionary_pagesize_limit": 2_000}, {"use_dictionary": False}, {"row_group_size": 1_000}, "ours"])
def test_rows_are_those_that_were_written(tmp_path: Path, table: pa.Table, options: Any) -> None:
    path = str(tmp_path / ("frame" if options == "ours" else "file.parquet"))
    SFrame(table).save(path) if options == "ours" else pq.write_table(table, path, **options)
    expected = table.to_pydict()
    for name in columns():
        column = read(path)[name]
        for part in (column, column[5:7], column[ROWS - 1 :], column[ROWS // 2 - 2 : ROWS // 2 + 2], column[:: ROWS // 7]):
            chosen = read_all(part._node).columns[0]
            assert chosen.type == pa.string()
        assert list(column) == expected[name]
        assert list(column[100 : 2 * dictionary_encoded_strings.MIN_ROWS]) == expected[name][100 : 2 * dictionary_encoded_strings.MIN_ROWS]
    twice = read(path)[["repeated", "i"]]
    twice["again"] = twice["repeated"]
    assert list(twice["again"]) == expected["repeated"]
    assert sum(read(path)["repeated"] == "é") == expected["repeated"].count("é")


def test_what_is_kept_as_numbers_is_known_by_its_size(tmp_path: Path, table: pa.Table) -> None:
    path = str(tmp_path / "file.parquet")
    pq.write_table(table, path)
    found = mostly_dictionary_encoded(footer_of(path), [*columns(), "i", "repeated"])
    assert found == ["repeated", "with missing ones", "all missing"]
    pq.write_table(table.slice(0, 10), path)
    assert mostly_dictionary_encoded(footer_of(path), list(columns())) == []


def test_bytes_that_are_no_texts_are_told_or_given_as_before(tmp_path: Path) -> None:
    # A text column of others may hold anything: what is said of it does not depend on how it is read.
    said = []
    for dictionary in (True, False):
        path = str(tmp_path / f"{dictionary}.parquet")
        values = pa.array([b"\xff\xfe" if place % 9 == 0 else b"ok" for place in range(ROWS)], pa.binary())
        broken = pa.Array.from_buffers(pa.string(), ROWS, values.buffers())
        pq.write_table(pa.table({"s": broken}), path, use_dictionary=dictionary)
        try:
            said.append(list(SFrame.read_parquet(path)["s"][:20]))
        except Exception as error:
            said.append([type(error), str(error).replace(f"{dictionary}.parquet", "")])
    assert said[0] == said[1]
