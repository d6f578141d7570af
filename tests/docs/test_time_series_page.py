"""The twelve tasks of the page are at most one and a half times as long as in Polars, and give the same values."""

from __future__ import annotations

import io
import math
import re
import tokenize
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "cookbook" / "time-series.md"
MAX_RATIO = 1.5
# For each task what Polars' users write, over frames of the same names, and the columns of whose values both are compared.
IN_POLARS: dict[int, tuple[str, str, str]] = {
    1: (
        """bars = trades.group_by_dynamic("time", every="1h", offset="30m", group_by="symbol").agg(
            vwap=(pl.col("price") * pl.col("size")).sum() / pl.col("size").sum())""",
        'sorted(bars["vwap"])',
        'sorted(bars["vwap"])',
    ),
    2: (
        """months = closes.group_by_dynamic("day", every="1mo", group_by="symbol").agg(
            open=pl.col("close").first(), high=pl.col("close").max(), low=pl.col("close").min(), close=pl.col("close").last())""",
        'sorted(months["open"]) + sorted(months["high"])',
        'sorted(months["open"]) + sorted(months["high"])',
    ),
    3: (
        """closes = closes.with_columns(change=pl.col("close").pct_change().over("symbol")).with_columns(
            market=pl.col("change").mean().over("day"), spread=pl.col("change").std(ddof=0).over("day"))
known = closes.drop_nulls("change")
risks = known.group_by("symbol", maintain_order=True).agg(
    volatility=pl.col("change").std(), correlation=pl.corr("change", "market"), beta=pl.cov("change", "market") / pl.col("market").var())""",
        'list(risks["volatility"]) + list(risks["correlation"]) + [fit["coefficient_market"] for fit in risks["fit"]]',
        'list(risks["volatility"]) + list(risks["correlation"]) + list(risks["beta"])',
    ),
    4: (
        """gaps = pl.DataFrame({"time": days[:6], "level": [1.0, None, None, None, 5.0, None]})
rows = gaps["level"].forward_fill(limit=1)
known = gaps.drop_nulls().rename({"level": "known"})
times = gaps.join_asof(known, on="time", tolerance="2d")["known"]
line = gaps.select(pl.col("level").interpolate_by("time"))""",
        'list(gaps.interpolate("level", on="time"))',
        'list(line["level"])',
    ),
    5: (
        """clicks = pl.DataFrame({"user": list("aababb"), "time": [datetime(2024, 1, 1, 12, minute) for minute in (0, 5, 6, 50, 51, 52)]})
clicks = clicks.with_columns(session=(pl.col("time").diff() > timedelta(minutes=30)).fill_null(False).cum_sum().over("user"))
clicks = clicks.group_by(["user", "session"], maintain_order=True).agg(clicks=pl.len())""",
        'sorted(clicks.groupby(["user", "session"], {"clicks": agg.COUNT()})["clicks"])',
        'sorted(clicks["clicks"])',
    ),
    6: (
        """news = pl.DataFrame({"day": [datetime(2024, 2, 6), datetime(2024, 3, 13)], "symbol": ["A", "C"], "what": ["merger", "results"]})
around = closes.join_where(news, pl.col("symbol") == pl.col("symbol_right"), pl.col("day") >= pl.col("day_right") - timedelta(days=2),
    pl.col("day") <= pl.col("day_right") + timedelta(days=2))
counts = around.group_by("what", maintain_order=True).agg(rows=pl.len())""",
        'sorted(around.groupby("what", {"rows": agg.COUNT()})["rows"])',
        'sorted(counts["rows"])',
    ),
    7: (
        """asked = pl.DataFrame({"day": [datetime(2024, 2, 1), datetime(2024, 3, 1)], "symbol": ["A", "B"]})
ratings = pl.DataFrame({"day": [datetime(2024, 1, 5), datetime(2024, 2, 20)], "symbol": ["A", "B"], "rating": [3, 5]})
staff = pl.DataFrame({"day": [datetime(2024, 1, 1), datetime(2024, 2, 2)], "symbol": ["A", "A"], "staff": [10, 90]})
features = asked
for table in (closes.select("day", "symbol", "close"), ratings, staff):
    features = features.join_asof(table, on="day", by="symbol", check_sortedness=False)""",
        'list(features["close"]) + list(features["rating"]) + list(features["staff"])',
        'list(features["close"]) + list(features["rating"]) + list(features["staff"])',
    ),
    8: (
        """closes = closes.with_columns(place=pl.col("change").rank(descending=True).over("day"),
            score=(pl.col("change") - pl.col("market")) / pl.col("spread"))
print([(row["symbol"], row["place"], round(row["score"], 2)) for row in closes.tail(3).to_dicts()])""",
        'list(closes["place"]) + list(closes["score"])',
        'list(closes["place"]) + list(closes["score"])',
    ),
    9: (
        """lags = closes.with_columns(pl.col("close").shift(number).over("symbol").alias(f"close_{number}") for number in range(1, 11))
print(lags.columns[-3:], lags["close_10"][-1])""",
        'list(lags["close_10"])',
        'list(lags["close_10"])',
    ),
    10: (
        """fortnights = closes.group_by_dynamic("day", every="2w", offset=datetime(2024, 1, 10) - datetime(2024, 1, 8)).agg(n=pl.len())
print([day.day for day in fortnights["day"]])""",
        "[]",
        "[]",
    ),
    11: (
        """closes = closes.with_columns(week=pl.col("day").dt.truncate("1w"))
closes = closes.with_columns(to_date=pl.col("change").cum_sum().over("symbol", "week"))
print([round(change, 4) for change in closes.tail(3)["to_date"]])""",
        'list(closes["to_date"])[3:]',
        'list(closes["to_date"])[3:]',
    ),
    12: (
        """odd = trades.with_columns(median=pl.col("price").rolling_median(10, min_samples=1).over("symbol"))
print(list(odd.filter((pl.col("price") - pl.col("median")).abs() > 2.5)["price"]))""",
        'list(odd["median"])',
        'list(odd["median"])',
    ),
}


def blocks() -> tuple[str, dict[int, str]]:
    """The block that makes the data, and those of the tasks by number."""
    text = PAGE.read_text(encoding="utf-8")
    first = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    tasks = re.findall(r"^## (\d+)\..*?```python\n(.*?)```", text, re.DOTALL | re.MULTILINE)
    assert first is not None
    return first[1], {int(number): code for number, code in tasks}


def length(code: str) -> int:
    """The number of words, numbers, texts and signs of a program."""
    skipped = (tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT, tokenize.ENDMARKER)
    return sum(token.type not in skipped for token in tokenize.generate_tokens(io.StringIO(code).readline))


def test_tasks_are_short() -> None:
    _, tasks = blocks()
    assert set(tasks) == set(IN_POLARS)
    ratios = {number: length(tasks[number]) / length(IN_POLARS[number][0]) for number in tasks}
    assert {number: ratio for number, ratio in ratios.items() if ratio > MAX_RATIO} == {}


def test_values_are_those_of_polars(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    polars = pytest.importorskip("polars")
    # The page saves a picture.
    monkeypatch.chdir(tmp_path)
    data, tasks = blocks()
    ours: dict[str, Any] = {"__name__": "page"}
    exec(data, ours)
    theirs = {**ours, "pl": polars, "trades": ours["trades"].to_dataframe(), "closes": ours["closes"].to_dataframe()}
    theirs["trades"] = polars.DataFrame({name: list(ours["trades"][name]) for name in ours["trades"].column_names()}).with_columns(
        polars.col("time").dt.convert_time_zone("America/New_York")
    )
    theirs["closes"] = polars.DataFrame({name: list(ours["closes"][name]) for name in ours["closes"].column_names()})
    for number in sorted(tasks):
        code, of_ours, of_polars = IN_POLARS[number]
        exec(tasks[number], ours)
        exec(code, theirs)
        first, second = eval(of_ours, ours), eval(of_polars, theirs)
        assert len(first) == len(second), number
        for a, b in zip(first, second, strict=True):
            assert a == b or (a is not None and b is not None and math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)), (number, a, b)
    capsys.readouterr()
