"""Files of readings: rows come back as they were written, and what is no such file is refused."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from sframe_lag import read_readings, write_readings

from sframe_spark import SArray, SFrame
from sframe_spark.plugin import InvalidArgumentError


@pytest.mark.parametrize("values", [[], [1.5], [0.0, -0.0, math.inf, -math.inf, 1e-300]])
def test_rows_come_back(tmp_path: Path, values: list[float]) -> None:
    times = [-(2**63), *range(1, len(values))][: len(values)]
    frame = SFrame({"value": SArray(values, dtype=float), "time": SArray(times, dtype=int)})
    write_readings(frame, tmp_path / "readings")
    again = read_readings(tmp_path / "readings")
    assert again.column_names() == ["time", "value"]
    assert list(again["time"]) == list(frame["time"]) and list(map(repr, again["value"])) == list(map(repr, values))


def test_missing_values_are_nan(tmp_path: Path) -> None:
    write_readings(SFrame({"time": [1, 2], "value": [None, 2.0]}), tmp_path / "readings")
    first, second = read_readings(tmp_path / "readings")["value"]
    assert math.isnan(first) and second == 2.0


@pytest.mark.parametrize(
    "change", [lambda content: content[:-1], lambda content: content[:-8], lambda content: b"", lambda content: b"X" + content[1:]]
)
def test_what_is_no_file_of_readings_is_refused(tmp_path: Path, change) -> None:
    write_readings(SFrame({"time": [1, 2], "value": [1.0, 2.0]}), tmp_path / "readings")
    (tmp_path / "readings").write_bytes(change((tmp_path / "readings").read_bytes()))
    with pytest.raises(InvalidArgumentError, match="is no file of readings, or ends too soon"):
        read_readings(tmp_path / "readings")


def test_other_columns_are_refused(tmp_path: Path) -> None:
    for frame in (SFrame({"time": [1, None], "value": [1.0, 2.0]}), SFrame({"time": [1.0], "value": [1.0]})):
        with pytest.raises(InvalidArgumentError, match="a column 'time' of ints"):
            write_readings(frame, tmp_path / "readings")
