"""Pools, job groups and tags of the user are those of our jobs, in whatever thread they are started, and cancel them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sframe_spark import SFrame, config
from sframe_spark.errors import ExecutionError
from sframe_spark.session.job_labels_and_cancellation import run_cancellable
from sframe_spark.session.spark_versions import tags_of_jobs
from sframe_spark.session.users_own_spark_session import user_session

PROPERTIES = ("spark.scheduler.pool", "spark.jobGroup.id", "spark.job.interruptOnCancel")


@pytest.fixture
def labelled(spark: Any) -> Iterator[Any]:
    """The user's session in a thread that has a pool, a group and tags."""
    user = user_session()
    if not tags_of_jobs(user):
        pytest.skip("before Spark 4.0 only remote sessions have tags")
    context = user.sparkContext
    context.setLocalProperty("spark.scheduler.pool", "slow lane")
    context.setJobGroup("my group", "what I do", interruptOnCancel=True)
    context.addJobTag("of-context")
    user.addTag("of-session")
    yield user
    user.clearTags()
    context.clearJobTags()
    for name in (*PROPERTIES, "spark.job.description"):
        context.setLocalProperty(name, None)


def properties_seen(user: Any) -> tuple[list[str | None], set[str]]:
    """What jobs carry that are started where this is called."""
    context = user.sparkContext
    return [context.getLocalProperty(name) for name in PROPERTIES], set(context.getJobTags())


@pytest.mark.spark
@pytest.mark.parametrize("where", ["main thread", "other thread"])
def test_jobs_carry_what_the_user_has_set(labelled: Any, where: str) -> None:
    found: list[Any] = []

    def work() -> None:
        if where == "other thread":
            label(labelled)
        before = properties_seen(labelled)
        found.append(run_cancellable(lambda: (threading.current_thread().name, *properties_seen(labelled)), "looking"))
        assert properties_seen(labelled) == before

    call_in(where, work)
    ((thread, seen, tags),) = found
    assert seen == ["slow lane", "my group", "true"]
    assert thread.startswith("sframe_spark") == (where == "main thread")
    assert "of-context" in tags and labelled._jsparkSession.sessionJobTag() in tags
    assert [tag for tag in tags if tag.startswith("spark-session-") and tag.endswith("-of-session")]


def label(user: Any) -> None:
    """What the fixture has set, in another thread of the user's, which inherits nothing."""
    user.sparkContext.setLocalProperty("spark.scheduler.pool", "slow lane")
    user.sparkContext.setJobGroup("my group", "what I do", interruptOnCancel=True)
    user.sparkContext.addJobTag("of-context")
    user.addTag("of-session")


def call_in(where: str, work: Callable[[], None]) -> None:
    """Call in this thread, or in one of the user's."""
    if where == "main thread":
        work()
        return
    errors: list[BaseException] = []

    def guarded() -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=guarded)
    thread.start()
    thread.join()
    assert errors == []


@pytest.mark.spark
def test_nested_actions_leave_tags_to_the_outer_one(labelled: Any) -> None:
    def outer() -> tuple[set[str], set[str]]:
        before = properties_seen(labelled)[1]
        run_cancellable(lambda: None, "inner")
        return before, properties_seen(labelled)[1]

    before, after = run_cancellable(outer, "outer")
    assert before == after


@pytest.mark.spark
@pytest.mark.parametrize("interrupt", ["all of session", "tag of context", "group"])
def test_what_the_user_interrupts_ends(labelled: Any, interrupt: str) -> None:
    calls: dict[str, Callable[[], Any]] = {
        "all of session": labelled.interruptAll,
        "tag of context": lambda: labelled.sparkContext.cancelJobsWithTag("of-context"),
        "group": lambda: labelled.sparkContext.cancelJobGroup("my group"),
    }
    ended = threading.Event()

    def again() -> None:
        # `interruptTag` is not among these: a tag of a session is one of its thread, and another thread ends no job of it, not even Spark's own.
        while not ended.wait(0.2):
            calls[interrupt]()

    def slowly(n: int) -> int:
        import time

        time.sleep(0.2)
        return n

    from pyspark import InheritableThread

    killer = InheritableThread(target=again, session=labelled)
    killer.start()
    try:
        with config.using(small_rows=0, single_task_rows=0), pytest.raises(ExecutionError, match="cancelled"):
            SFrame({"n": range(600)})["n"].apply(slowly, dtype=int).materialize()
    finally:
        ended.set()
        killer.join()
