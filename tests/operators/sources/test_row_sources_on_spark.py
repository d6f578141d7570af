"""Sources of plug-ins read by Spark's tasks, as tasks over ranges and within queries: the same rows as without Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pytest

from sframe_spark import SFrame, aggregate, config
from sframe_spark.errors import UserFunctionError
from sframe_spark.plugin import Predicate, frame_of_source
from tests.operators.sources.sources_for_tests import KINDS, Hours, rows_between

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def no_small_rows() -> Iterator[None]:
    with config.using(small_rows=0):
        yield


@pytest.fixture(params=KINDS)
def source(request: pytest.FixtureRequest) -> Hours:
    made: Hours = KINDS[request.param]()
    return made


def test_tasks_read_what_a_filter_keeps(source: Hours) -> None:
    frame = frame_of_source(source)
    kept = frame[(frame["hour"] >= 3) & (frame["n"] < 200)]
    kept.materialize()
    assert list(kept["n"]) == [row["n"] for row in rows_between(30, 200) if row["n"] is not None]
    assert source.asked == [], "tasks of Spark have read the rows, not this process"


def test_queries_read_sources(source: Hours) -> None:
    grouped = frame_of_source(source).groupby("text", {"rows": aggregate.COUNT(), "first": aggregate.SELECT_ONE("hour")}).sort("text")
    texts = [row["text"] for row in rows_between(0, 240)]
    assert list(grouped["rows"]) == [texts.count(text) for text in sorted(set(texts), key=lambda text: (text is not None, text or ""))]
    joined = frame_of_source(source)[["hour", "n"]].join(SFrame({"hour": [3, 30], "name": ["three", "thirty"]}), on="hour")
    assert list(joined["n"]) == [row["n"] for row in rows_between(30, 40)]


def test_the_lowering_gives_the_rows_of_the_kernel(source: Hours) -> None:
    frame = frame_of_source(source)
    spark = frame[frame["hour"] == 7].to_spark().collect()
    assert [row["n"] for row in spark] == [row["n"] for row in rows_between(70, 80)]
    ordered = frame_of_source(source).to_spark().collect()
    assert [row["hour"] for row in ordered] == [row["hour"] for row in rows_between(0, 240)]


class Failing(Hours):
    """Fails in its twentieth hour."""

    def read(self, start: int, stop: int, columns: Sequence[str], predicate: Predicate | None) -> Iterator[pa.Table]:
        for part in super().read(start, stop, columns, predicate):
            if "hour" in columns and 19 in part.column("hour").to_pylist():
                raise KeyError("no such hour")
            yield part


@pytest.mark.parametrize("known", [True, False])
def test_errors_of_tasks_name_the_source(known: bool) -> None:
    frame = frame_of_source(Failing(known=known))
    with pytest.raises(UserFunctionError, match="the source Failing failed with KeyError: 'no such hour'"):
        frame[frame["hour"] > 2].materialize()


def test_a_source_defined_in_a_function_travels(source: Any) -> None:
    class Inner(type(source)):  # type: ignore[misc]
        """A class that no worker can import."""

    inner = Inner(known=source.known, has_parts=source.has_parts)
    assert frame_of_source(inner)["hour"].sum() == sum(row["hour"] for row in rows_between(0, 240))
