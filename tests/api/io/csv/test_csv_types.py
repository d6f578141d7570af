"""The types and values of a CSV reading are the same wherever blocks, files and the first rows end."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings, strategies as st

from sframe_spark import SFrame
from sframe_spark.api.io.csv import block_reader as csv_lines, column_type_inference_and_field_conversion as csv_types, reader as csv_reader
from sframe_spark.api.io.csv.column_type_inference_and_field_conversion import narrowest, wider
from sframe_spark.api.io.csv.options import CsvValues
from tests.examples import examples

# What is nearly a value of each type, with those that parse but that a small file does not take for one.
FIELDS = {
    "int": ["7", "-2", "+3", "0", "123456789012345678"],
    "long": ["9223372036854775807", "-9223372036854775808", "1000000000000000000"],
    "float": ["1.5", "2.", ".5", "1e3", "nan", "-Inf", "1234567890123456789.5"],
    "zeros": ["007", "-01", "00.5", "000123456789012345678", "0009223372036854775807"],
    "code": ["12345678901234567890", "9223372036854775808", "1e400", "0x1p3", "0x1F"],
    "array": ["[1 2]", "[]", "[1.5]"],
    "list": ["[a]", "[1 b]", "[[1]]"],
    "dict": ["{a:1}", "{}"],
    "text": ["x", "[1] and more", "[1", "{1}", "1_000", "٣", "yes"],
    "none": ["", "NA"],
}
COLUMNS = st.lists(st.sampled_from(sorted(FIELDS)), min_size=1, max_size=3).flatmap(
    lambda sorts: st.lists(st.sampled_from([field for sort in sorts for field in FIELDS[sort]]), min_size=1, max_size=12)
)
OPTIONS = st.sampled_from(
    [{}, {}, {}, {"true_values": ["yes"], "false_values": ["x"]}, {"na_values": ["7", "x"]}, {"na_values": []}]
    + [{"column_type_hints": {"a": hint}} for hint in (int, float, str, list)]
)


def read(folder: str, columns: list[list[str]], options: dict[str, Any], block_bytes: int, first_rows: int) -> list[Any]:
    """The types and rows of files with a column each, of which no line is blank, and the lines left out."""
    for number, column in enumerate(columns):
        Path(folder, f"{number}.csv").write_text("a,b\n" + "".join(f'"{field}",{row}\n' for row, field in enumerate(column)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_lines, "BLOCK_BYTES", block_bytes)
        patch.setattr(csv_reader, "IN_MEMORY_ROWS", first_rows)
        sf, left_out = SFrame.read_csv_with_errors(folder, verbose=False, **options)
        return [sf.column_types(), repr([row["a"] for row in sf]), sum(len(lines) for lines in left_out.values())]


@settings(max_examples=examples(80), deadline=None)
@given(COLUMNS, OPTIONS, st.integers(1, 40), st.integers(0, 12), st.integers(0, 12))
@example(["12", "007"], {}, 1, 0, 0)
@example(["1.5", "0009223372036854775807"], {}, 1, 0, 0)
@example(["1.5", "12345678901234567890"], {}, 1, 0, 0)
@example(["1.5", "9223372036854775807"], {}, 1, 0, 0)
@example(["9223372036854775807", "1.5"], {}, 1, 0, 0)
@example(["9223372036854775807", "1.5"], {}, 1 << 20, 100, 1)
@example(["7", "9223372036854775807", "1.5"], {}, 1, 0, 0)
@example(["", "7", "", "9"], {}, 1, 0, 0)
@example(["", "x", "", "9"], {}, 1, 0, 0)
@example(["[1 2]", "[a]"], {}, 1, 0, 0)
def test_what_is_read_depends_on_no_cut(column: list[str], options: dict[str, Any], block_bytes: int, first_rows: int, cut: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        whole = read(folder, [column], options, 1 << 20, 1 << 20)
        assert read(folder, [column], options, block_bytes, first_rows) == whole
        assert read(folder, [column[:cut], column[cut:]], options, block_bytes, first_rows) == whole


@settings(max_examples=examples(150), deadline=None)
@given(COLUMNS, st.integers(0, 12))
@example(["9223372036854775807", "7", "1.5"], 2)
@example(["9223372036854775807", "1.5"], 1)
def test_the_type_of_two_parts_is_that_of_both(column: list[str], cut: int) -> None:
    parts = [narrowest(pa.array(part, pa.string()), CsvValues()) for part in (column[:cut], column[cut:], column)]
    assert wider(parts[0], parts[1]) == wider(parts[1], parts[0]) == parts[2]


BRACKETED = ["[1, 2]", "[1,2]", "[1;2]", '["a", "b"]', "['a']", "[-0]", "[1e400]", "[1 2", "[1]]", '["a\\"b"]', "[1, 'a', ]"]
BRACKETED += ['{"a": 1}', "{'a':'b'}", '{"a":1,"a":2}', '{"a":[1]}', "{1:2}", '{"a":1}}', "{a}", '{"a":123456789012345678901}']


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(st.sampled_from(BRACKETED + FIELDS["array"] + FIELDS["list"] + FIELDS["dict"]), min_size=1, max_size=4))
def test_arrays_lists_and_dicts_are_told_at_once_as_one_by_one(column: list[str]) -> None:
    found = narrowest(pa.array(column), CsvValues())
    with pytest.MonkeyPatch.context() as patch:
        for name in ("read_arrays", "read_stored"):
            patch.setattr(csv_types, name, lambda texts, *given: (None, pa.array([False] * len(texts))))
        assert narrowest(pa.array(column), CsvValues()) == found
