"""Spark starts while what is made before it is being made, where it is needed for sure and nobody has one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sframe_spark as tc
from sframe_spark.engine.execution import plan_executor
from sframe_spark.engine.execution.plan_executor import Executor
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.shapes.section_runner import SectionRunner
from sframe_spark.rewrite_laws import optimize
from sframe_spark.session import session
from sframe_spark.session.session import SessionHolder


class Base:
    """A session that says when it is stopped."""

    def __init__(self) -> None:
        self.stopped = 0

    def stop(self) -> None:
        """Count."""
        self.stopped += 1


class Start:
    """A start of Spark without Spark."""

    def __init__(self) -> None:
        self.failed, self.is_own = False, True
        self.base = Base()

    def wait(self) -> Any:
        """The session, or why there is none."""
        if self.failed:
            raise OSError("no Java")
        return self.base


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> list[Start]:
    """The starts that there were; nobody has a session."""
    made: list[Start] = []

    def start() -> Start:
        made.append(Start())
        return made[-1]

    monkeypatch.setattr(session, "SparkStart", start)
    monkeypatch.setattr(session, "active_session", lambda: None)
    return made


def test_it_starts_once(starts: list[Start]) -> None:
    holder = SessionHolder()
    holder.start_ahead()
    holder.start_ahead()
    assert len(starts) == 1 and not holder.is_started()
    assert holder._started() == (starts[0].base, True) and len(starts) == 1


def test_it_does_not_start_beside_the_users(starts: list[Start], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "active_session", Base)
    SessionHolder().start_ahead()
    assert not starts


def test_why_it_did_not_start_is_told_to_who_waits_and_it_is_tried_again(starts: list[Start]) -> None:
    holder = SessionHolder()
    holder.start_ahead()
    starts[0].failed = True
    holder.start_ahead()
    assert len(starts) == 1
    assert holder._started() == (starts[1].base, True)


def test_what_nobody_waited_for_is_stopped_too(starts: list[Start]) -> None:
    holder = SessionHolder()
    holder.start_ahead()
    holder.stop()
    assert starts[0].base.stopped == 1
    holder.start_ahead()
    starts[1].failed = True
    holder.stop()
    assert not starts[1].base.stopped and holder._start is None


@pytest.mark.parametrize("naive", [True, False])
def test_plans_tell_whether_it_is_needed_for_sure(naive: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others' rows are made rows with keys first, where all is to be one query; threads make them otherwise."""
    pq.write_table(pa.table({"a": range(300_000)}), tmp_path / "a.parquet")
    frame = tc.SFrame.read_parquet(str(tmp_path / "a.parquet"))
    told: list[str] = []
    run = SectionRunner.run

    def runs(self: SectionRunner, section: Any) -> Any:
        told.append(section.strategy.text)
        if section.workers.are_on_spark:
            raise InterruptedError
        return run(self, section)

    monkeypatch.setattr(plan_executor, "start_ahead", lambda: told.append("starts"))
    monkeypatch.setattr(SectionRunner, "run", runs)
    node = optimize((frame["a"] + 1).cumulative_sum()._node)
    made = Executor(MaterializeOptions(naive=naive))
    if naive:
        with pytest.raises(InterruptedError):
            made.execute(node)
        assert told == ["starts", "threads over ranges of rows", "Spark query"]
    else:
        made.execute(node)
        assert told == ["threads over ranges of rows"]


def test_a_session_that_the_user_made_meanwhile_stays_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be stopped as ours, and ours would have set its options."""
    users: Any = Base()
    monkeypatch.setattr(session, "start_spark", lambda: (users, False))
    monkeypatch.setattr(session, "active_session", lambda: None)
    holder = SessionHolder()
    holder.start_ahead()
    assert holder._started() == (users, False)
    holder.start_ahead()
    holder.stop()
    assert not users.stopped


MEANWHILE = """
import threading

from sframe_spark.session import get_session, start_ahead, stop
from sframe_spark.session import spark_start_and_settings as launch

find, found, made = launch.find_archive, threading.Event(), threading.Event()
launch.find_archive = lambda start: (found.set(), made.wait(60), find(start))[-1]
start_ahead()
assert found.wait(60)
from pyspark.sql import SparkSession

users = SparkSession.builder.master("local[1]").appName("mine").config("spark.sql.shuffle.partitions", "7").getOrCreate()
made.set()
assert get_session().sparkContext is users.sparkContext
stop()
print(users.sparkContext.appName, users.conf.get("spark.sql.shuffle.partitions"), users.range(3).count())
"""


@pytest.mark.spark
def test_a_builder_that_comes_while_ours_starts_has_its_own_settings() -> None:
    run = subprocess.run([sys.executable, "-c", MEANWHILE], capture_output=True, text=True, check=True, timeout=300)
    assert run.stdout.strip() == "mine 7 3"
