"""Lines of CSV files that no row is made of: each is told, as it stands in its file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SFrame
from sframe_spark.config import config
from sframe_spark.errors import CsvWarning
from tests.api.io.csv.test_csv_reader import contents, write


def test_lines_left_out_are_told(tmp_path: Path) -> None:
    path = write(tmp_path, "a,b\n1,2\nonly one\n3,4,5\n6,x\n7,8\n")
    sf, left_out = SFrame.read_csv_with_errors(path, column_type_hints=int)
    assert contents(sf)[2] == [(1, 2), (7, 8)]
    assert {file: list(lines) for file, lines in left_out.items()} == {path: ["only one", "3,4,5", "6,x"]}
    with pytest.warns(CsvWarning) as warned:
        SFrame.read_csv(path)
    told = f"{path}: 2 lines are left out that do not fit the columns, the first: 'only one'; error_bad_lines=True raises"
    assert [str(warning.message).startswith(told) for warning in warned] == [True]
    # The warning is of the user's line.
    assert warned[0].filename == __file__
    with pytest.raises(RuntimeError, match=r"file.csv: line 'only one' does not have the same number of fields as 2"):
        SFrame.read_csv(path, error_bad_lines=True)
    with pytest.raises(RuntimeError, match=r"line '6,x' holds a value of another type"):
        SFrame.read_csv(write(tmp_path, "a,b\n6,x\n"), column_type_hints=int, error_bad_lines=True)


@pytest.mark.parametrize(
    ("text", "options", "line"),
    [
        ('a,b\n1,"x\\ty"\n1,"x\\"y",3\n', {}, '1,"x\\"y",3'),
        ("a,b;1,2;3\n;", {"line_terminator": ";"}, "3\n"),
        ("a\tb\n1\t2\n\t\t\n", {"delimiter": "\t"}, "\t\t"),
    ],
)
def test_a_line_left_out_is_told_as_it_stands_in_the_file(text: str, options: dict[str, Any], line: str, tmp_path: Path) -> None:
    path = write(tmp_path, text)
    sf, left_out = SFrame.read_csv_with_errors(path, **options)
    assert (len(sf), list(left_out[path])) == (1, [line])


def test_lines_left_out_are_told_of_the_file_that_they_are_in(tmp_path: Path) -> None:
    write(tmp_path, "t,u\n1,1\n", "a.csv")
    two = write(tmp_path, "t,u\nbad,0\n2\n2,2\n", "b.csv")
    sf, left_out = SFrame.read_csv_with_errors(str(tmp_path), column_type_hints={"t": int})
    assert list(sf["t"]) == [1, 2]
    assert {file: list(lines) for file, lines in left_out.items()} == {two: ["2", "bad,0"]}
    with pytest.warns(CsvWarning, match=f"{two}: 2 lines are left out"):
        SFrame.read_csv(str(tmp_path / "*.csv"), column_type_hints={"t": int})
    write(tmp_path, "t,u\nbad,0\n2,2\n", "b.csv")
    with pytest.raises(RuntimeError, match=r"b.csv: line 'bad,0' holds a value of another type"):
        SFrame.read_csv(str(tmp_path), column_type_hints={"t": int}, error_bad_lines=True)


def test_every_line_left_out_counts(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write(tmp_path, "t,u\n" + "1\n" * 30_000 + "1,2\n")
    sf, left_out = SFrame.read_csv_with_errors(path)
    assert (len(sf), list(left_out[path])) == (1, ["1"] * 30_000)
    assert not caplog.records
    with pytest.warns(CsvWarning, match=f"{path}: 30,000 lines are left out that do not fit the columns, the first: '1'"):
        SFrame.read_csv(path)
    with config.using(memory_budget=1 << 20):
        _, left_out = SFrame.read_csv_with_errors(path)
    kept = len(left_out[path])
    assert 1000 < kept < 30_000
    assert f"{path}: only the first {kept} of 30000 lines left out fit memory_budget" in caplog.text
