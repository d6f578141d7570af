"""Date-times of a batch are written as each is by itself."""

from __future__ import annotations

import datetime

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from sframe_spark.values.nested.float_and_datetime_text import compact_datetimes

MOMENTS = st.one_of(
    st.datetimes(),
    st.datetimes().map(lambda moment: moment.replace(microsecond=0)),
    st.sampled_from([datetime.datetime.min, datetime.datetime.max, datetime.datetime(1969, 12, 31, 23, 59, 59, 999_999)]),
)


def compact(moment: datetime.datetime) -> str:
    """One date-time, by Python."""
    return moment.isoformat().replace("-", "").replace(":", "")


@given(st.lists(st.one_of(MOMENTS, st.none()), max_size=20), st.integers(0, 3), st.sampled_from([("", ""), ('"', '"'), ("<<", ">")]))
def test_texts_are_those_of_python(moments: list[datetime.datetime | None], skipped: int, around: tuple[str, str]) -> None:
    start, end = around
    column = pa.array(moments, pa.timestamp("us")).slice(skipped)
    found = compact_datetimes(column, start, end)
    assert found.type == pa.string()
    found.validate(full=True)
    assert found.to_pylist() == [None if moment is None else start + compact(moment) + end for moment in moments[skipped:]]


@pytest.mark.parametrize("micros", [[0], [1], [0, 1], [None], []])
def test_microseconds_are_there_where_there_are_any(micros: list[int | None]) -> None:
    """Of whole seconds only, of others only, of both, and where there is nothing."""
    expected = [None if number is None else "19700101T000000" + (".000001" if number else "") for number in micros]
    assert compact_datetimes(pa.array(micros, pa.timestamp("us"))).to_pylist() == expected
