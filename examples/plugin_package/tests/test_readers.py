"""Files of readings: rows come back as they were written, what is no such file is refused, and the kit finds nothing wrong with either class."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from sframe_lag.writers import ReadingsWriter

from sframe_spark import SArray, SFrame
from sframe_spark.plugin import FLOAT, INT, InvalidArgumentError, SchemaError
from sframe_spark.testing.source_and_writer_contracts import check_source, check_writer, source_of_file


def rows(count: int) -> SFrame:
    values = [(float("nan"), math.inf, -0.0)[number] if number < 3 else number / 2 for number in range(count)]
    return SFrame({"time": SArray([number * number for number in range(count)], dtype=int), "value": SArray(values, dtype=float)})


@pytest.mark.parametrize("count", [0, 1, 40])
def test_the_source_keeps_its_contract(count: int, tmp_path: Path) -> None:
    rows(count).write(tmp_path / "x.readings")
    check_source(source_of_file(tmp_path / "x.readings"), expected=lambda: [tuple(row.values()) for row in rows(count)])


def test_the_writer_keeps_its_contract() -> None:
    def expected(row):
        return row[0], math.nan if row[1] is None else row[1]

    check_writer(ReadingsWriter, {"time": INT, "value": FLOAT}, SFrame.read, [(-(2**63), 0.5), (3, -0.0)], expected=expected)


def test_files_are_found_by_name_and_by_their_first_bytes(tmp_path: Path) -> None:
    rows(5).write(tmp_path / "x.readings")
    (tmp_path / "x.readings").rename(tmp_path / "nameless")
    assert list(SFrame.read(tmp_path / "nameless")["time"]) == [0, 1, 4, 9, 16]


def test_missing_values_are_nan_and_missing_times_are_refused(tmp_path: Path) -> None:
    SFrame({"time": [1, 2], "value": [None, 2.0]}).write(tmp_path / "x.readings")
    first, second = SFrame.read(tmp_path / "x.readings")["value"]
    assert math.isnan(first) and second == 2.0
    with pytest.raises(SchemaError, match="no missing times"):
        SFrame({"time": [1, None], "value": [1.0, 2.0]}).write(tmp_path / "x.readings")
    with pytest.raises(InvalidArgumentError, match="a column 'time' of ints"):
        SFrame({"time": [1.0], "value": [1.0]}).write(tmp_path / "x.readings")


@pytest.mark.parametrize("change", [lambda content: content[:-1], lambda content: content[:7], lambda content: b"X" + content[1:]])
def test_what_is_no_file_of_readings_is_refused(tmp_path: Path, change) -> None:
    rows(2).write(tmp_path / "x.readings")
    (tmp_path / "x.readings").write_bytes(change((tmp_path / "x.readings").read_bytes()))
    with pytest.raises(InvalidArgumentError, match="is no file of readings, or ends too soon"):
        SFrame.read(tmp_path / "x.readings")
