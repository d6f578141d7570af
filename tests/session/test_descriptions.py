"""Spark's list of jobs tells which statement of the user's each job of ours belongs to."""

from __future__ import annotations

import inspect
import threading
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SFrame, config
from sframe_spark.session.job_labels_and_cancellation import MAX_CHARACTERS, description_of, run_cancellable, statement_of, tag_of
from tests.spark_jobs import remembered_jobs

HERE = Path(__file__).name


def line() -> int:
    """The line of the caller."""
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    return frame.f_back.f_lineno


def jobs(spark: Any) -> dict[int, str]:
    """What the status store says of each job."""
    return {number: job.description().get() if job.description().isDefined() else "" for number, job in remembered_jobs(spark).items()}


def new_jobs(spark: Any, action: Any) -> list[str]:
    """What it says of the jobs of an action."""
    before = jobs(spark).keys()
    action()
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    return [text for number, text in jobs(spark).items() if number not in before]


@pytest.mark.spark
def test_jobs_carry_the_file_and_line_of_the_statement(spark: Any, everything_on_spark: None) -> None:
    column = SFrame({"a": range(300), "b": [i % 7 for i in range(300)]})
    lines = []

    def act() -> None:
        lines.append(line() + 1)
        list(column.sort("b", ascending=False))

    found = new_jobs(spark, act)
    assert found and all(text.startswith(f"{HERE}:{lines[0]} ") and len(text) > len(f"{HERE}:{lines[0]} ") for text in found), found

    def call() -> None:
        lines.append(line() + 1)
        column["a"].apply(lambda value: value + 1).materialize()

    found = new_jobs(spark, call)
    assert found and all(text.startswith(f"{HERE}:{lines[1]} ") for text in found), found


@pytest.mark.spark
@pytest.mark.parametrize("in_thread", [False, True])
def test_what_the_user_has_set_stays(spark: Any, everything_on_spark: None, in_thread: bool) -> None:
    context, seen = spark.sparkContext, []
    keys = ("spark.job.description", "spark.jobGroup.id", "callSite.short", "callSite.long")

    def act() -> None:
        context.setJobGroup("my group", "my description")
        before = [context.getLocalProperty(key) for key in keys]
        tags = context.getJobTags()
        with config.using(small_rows=0):
            SFrame({"a": range(300)}).sort("a", ascending=False).materialize()
        seen.append((before, [context.getLocalProperty(key) for key in keys], tags == context.getJobTags()))
        for key in keys:
            context.setLocalProperty(key, None)

    def run() -> None:
        thread = threading.Thread(target=act)
        thread.start()
        thread.join()

    found = new_jobs(spark, run if in_thread else act)
    assert found and all(text.startswith(f"{HERE}:") for text in found), found
    ((before, after, same_tags),) = seen
    assert before == after and before[:2] == ["my description", "my group"] and same_tags


@pytest.mark.spark
def test_it_is_given_back_after_an_error(spark: Any) -> None:
    context = spark.sparkContext
    before = context.getLocalProperty("spark.job.description")

    def fail() -> None:
        raise ZeroDivisionError

    def act() -> None:
        with pytest.raises(ZeroDivisionError):
            run_cancellable(fail, "failing")
        assert context.getLocalProperty("spark.job.description") == before

    act()
    thread = threading.Thread(target=act)
    thread.start()
    thread.join()


def test_what_is_listed_is_short_and_harmless() -> None:
    assert description_of("sort") == f"{HERE}:{line()} sort"
    assert description_of("a\x1b[2J\nb") == f"{HERE}:{line()} a\\x1b[2J\\nb"
    assert len(description_of("x" * 10_000)) == MAX_CHARACTERS
    assert "," not in tag_of("a,b") and tag_of("") == ""
    names: dict[str, Any] = {"inspect": inspect, "statement_of": statement_of}
    exec(compile("found = statement_of(inspect.currentframe())", "/deep/" + "n" * 300 + "\u202e.py", "exec"), names)
    assert names["found"].endswith("\u202e.py:1") and len(names["found"]) < 100


def test_a_library_between_is_not_the_user() -> None:
    import functools

    assert functools.reduce(lambda text, _: statement_of(inspect.currentframe()), [0, 1]) == f"{HERE}:{line()}"
