"""Rows of a DataFrame that nobody has fixed are computed with as others are, whatever the settings of the user's session."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sframe_spark import SFrame, aggregate
from sframe_spark.session import get_session

pytestmark = pytest.mark.spark

PROGRAMS: dict[str, Callable[[SFrame], Any]] = {
    "sum beyond 64 bits": lambda sf: sf["a"].sum(),
    "product beyond 64 bits": lambda sf: (sf["a"] * 4).max(),
    "division by zero": lambda sf: repr((sf["b"] / 0).max()),
    "remainder of zero": lambda sf: (sf["a"] % 0).sum(),
    "division without rest by zero": lambda sf: (sf["a"] // 0).sum(),
    "texts that are no numbers": lambda sf: sf["t"].astype(int, undefined_on_failure=True).sum(),
    "group-by": lambda sf: sorted(sf.groupby("t", {"s": aggregate.SUM("a")})["s"]),
    "an hour that is not there": lambda sf: str(sf[["n"]]).splitlines()[3],
    "the seconds of it": lambda sf: sf["n"].astype(int).max(),
    "a look at products": lambda sf: str((sf["a"] * 4).head(4)).splitlines()[0],
}


@pytest.fixture(scope="module")
def dataframe() -> Any:
    user = get_session().newSession()
    user.conf.set("spark.sql.ansi.enabled", "true")
    user.conf.set("spark.sql.session.timeZone", "America/New_York")
    moment = "timestamp_ntz'2024-03-10 02:30:00.000001'"
    rows = [f"(1L, 2.0D, 'x', {moment})", f"(0L, 0.0D, '3', {moment})", f"({2**62}L, 1.0D, '4', {moment})", f"({2**62}L, 1.0D, '4', {moment})"]
    df = user.sql(f"select * from values {', '.join(rows)} as t(a, b, t, n)").repartition(1)
    df.collect()
    return df


@pytest.mark.spark
@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_rows_in_memory(name: str, dataframe: Any) -> None:
    unfixed = SFrame(dataframe.select("*"))
    fixed = SFrame(SFrame(dataframe.select("*")).to_arrow())
    assert PROGRAMS[name](unfixed) == PROGRAMS[name](fixed)


def test_what_is_the_users_goes_by_their_settings() -> None:
    user = get_session().newSession()
    user.conf.set("spark.sql.legacy.timeParserPolicy", "LEGACY")
    # The parser of today knows no name of a day.
    df = user.range(3).selectExpr("to_date(format_string('Mon Jan %02d 2024', id * 7 + 1), 'EEE MMM dd yyyy') as day", "id")
    frame = SFrame(df)
    assert "2024-01-01" in str(frame) and frame["id"].sum() == 3
    frame["next"] = frame["id"] + 1
    assert frame[frame["id"] > 0].groupby("day", {"n": aggregate.SUM("next")})["n"].sum() == 5
    assert [str(day.date()) for day in frame["day"]] == ["2024-01-01", "2024-01-08", "2024-01-15"]
    assert frame.to_spark().count() == 3
