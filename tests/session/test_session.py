"""Beside a user's own session: used, not changed, not depended on; stopped sessions lose nothing."""

from __future__ import annotations

import json
import os
from types import SimpleNamespace
from typing import Any

import pytest

from sframe_spark.errors import SessionClosedError
from sframe_spark.session import session
from sframe_spark.session.session import SessionHolder
from sframe_spark.session.spark_start_and_settings import (
    FIXED_SETTINGS,
    LEGACY_PREFIX,
    driver_memory,
    is_on_this_machine,
    local_settings,
    open_session,
)
from sframe_spark.session.spark_versions import settings_of
from tests.interpreters import run_program

# One program for both kinds of session: everything in it would change with the settings that a user may have made.
PROGRAM = """
import datetime
from sframe_spark import SArray, SFrame, aggregate
def answers():
    sf = SFrame({"k": [2, 1, 2, None], "v": [1, 2, 2**62, 5], "t": ["a", "A", "7", "x"], "f": [1.0, 0.0, float("nan"), None]})
    sf["T"] = sf["k"] + 1
    day = datetime.datetime(2020, 7, 1, 12)
    sf["d"] = SArray([day, day, day, None])
    grouped = sf.groupby(["k"], {"s": aggregate.SUM("v"), "n": aggregate.COUNT(), "d": aggregate.SELECT_ONE("d")})
    joined = sf.join(grouped, on="k")
    return repr([sorted(sf.column_names()), list(sf["f"] / 0), list(sf["v"] * 4), list(grouped["s"]), list(grouped["d"]),
        list(joined["n"]), list(sf.sort("t")["t"]), list(sf["t"].unique())])
"""

HOSTILE = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "Asia/Kolkata",
    "spark.sql.caseSensitive": "false",
    "spark.sql.shuffle.partitions": "13",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.storeAssignmentPolicy": "STRICT",
    "spark.sql.legacy.timeParserPolicy": "LEGACY",
    "spark.sql.mapKeyDedupPolicy": "EXCEPTION",
    "spark.sql.parquet.compression.codec": "gzip",
    # The form of the plans that Spark keeps and we read.
    "spark.sql.ui.explainMode": "simple",
}


def said_by(program: str, **variables: str) -> str:
    """Standard output of a program in a process that has imported the package."""
    done = run_program(program, environment={**os.environ, **variables}, timeout=240)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


@pytest.mark.spark
def test_user_session_is_used_and_neither_changed_nor_depended_on(everything_on_spark: None) -> None:
    program = f"""
import json
from pyspark.sql import SparkSession
HOSTILE = {HOSTILE!r}
builder = SparkSession.builder.master("local[2]").appName("mine").config("spark.ui.enabled", "false")
for key, value in HOSTILE.items():
    builder = builder.config(key, value)
mine = builder.getOrCreate()
from sframe_spark.session.spark_versions import settings_of
before = settings_of(mine)
mine.range(3).createOrReplaceTempView("view_of_mine")
{PROGRAM}
from sframe_spark import config
def verified(**options):
    with config.using(**options):
        return SFrame({{"k": [3, 1, 2]}}).sort("k").explain(verify=True)
# Before and after our session is opened beside the user's, by plain queries and by those for few rows.
plans = [verified(single_task_rows=0), verified(single_task_rows=0), verified()]
found = answers()
import sframe_spark.session as session
ours = session.get_session()
after = settings_of(mine)
report = {{
    "answers": found,
    "plans": plans,
    "same_application": ours.sparkContext.applicationId == mine.sparkContext.applicationId,
    "same_settings": before == after,
    "still_active": SparkSession.active().conf.get("spark.sql.shuffle.partitions"),
    "view": SparkSession.active().table("view_of_mine").count(),
    "tables": [table.name for table in mine.catalog.listTables()],
}}
session.stop()
report["alive_after_our_stop"] = mine.range(2).count()
print(json.dumps(report))
mine.stop()
"""
    report = json.loads(said_by(program, SFRAME_SPARK_SMALL_ROWS="0").splitlines()[-1])
    plain: dict[str, Any] = {}
    exec(PROGRAM, plain)
    assert report.pop("answers") == plain["answers"]()
    plans = report.pop("plans")
    assert all("Sort of all rows [k0 ASC NULLS FIRST" in plan and "DISAGREE" not in plan for plan in plans)
    assert all("rows leave Spark in the order of their row key: agrees" in plan for plan in plans)
    assert report == {
        "same_application": True, "same_settings": True, "still_active": "13", "view": 3, "tables": ["view_of_mine"],
        "alive_after_our_stop": 2,
    }  # fmt: skip


class RemoteSession:
    """What we ask of a Connect session."""

    is_stopped = False

    def __init__(self, host: str, master: str) -> None:
        self.client, self.conf = SimpleNamespace(host=host), {"spark.master": master}


@pytest.mark.parametrize(
    ("host", "master", "here"),
    [("localhost", "local[2]", True), ("127.0.0.1", "local", True), ("node-7", "local[2]", False), ("localhost", "spark://node-7:7077", False)],
)
def test_a_server_elsewhere_does_not_run_our_python(host: str, master: str, here: bool) -> None:
    assert is_on_this_machine(RemoteSession(host, master)) is here  # type: ignore[arg-type]


@pytest.mark.spark
def test_stopped_session_is_replaced_and_data_is_kept() -> None:
    program = """
from sframe_spark import SFrame, aggregate
from sframe_spark.config import config
from sframe_spark.errors import SessionClosedError
from sframe_spark.session import get_session, stop
from pyspark.sql import SparkSession
sf = SFrame({"k": [1, 2, 1], "v": [1, 2, 3]})
def total():
    with config.using(small_rows=0):       # few rows would need no Spark
        return list(sf.groupby("k", {"s": aggregate.SUM("v")}).sort("k")["s"])
made = sf.sort("v", False)
made.materialize(segments=2)
assert total() == [4, 2]
get_session().stop()                       # our own, stopped from outside
assert total() == [4, 2] and list(made["v"]) == [3, 2, 1]
stop()
assert total() == [4, 2]
stop()
mine = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
frame = SFrame(mine.range(3))
kept = SFrame(mine.range(3))
kept.materialize()
assert total() == [4, 2]
mine.stop()                                # the user's: do not start another behind their back
try:
    total()
except SessionClosedError as error:
    assert "Start a new SparkSession" in str(error) and "sframe_spark.session.stop()" in str(error)
else:
    raise SystemExit("no error")
assert sf["v"].sum() == 6 and list(kept["id"]) == [0, 1, 2]
other = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
assert total() == [4, 2]
try:
    list(frame.sort("id", False)["id"])
except SessionClosedError as error:
    assert "DataFrame" in str(error), error
else:
    raise SystemExit("rows of a stopped session")
other.stop()
"""
    said_by(program)


@pytest.mark.spark
def test_our_session_has_its_own_settings(spark: Any) -> None:
    for key, value in FIXED_SETTINGS.items():
        assert spark.conf.get(key) == value
    other = open_session(spark)
    other.conf.set("spark.sql.ansi.enabled", "true")
    assert spark.conf.get("spark.sql.ansi.enabled") == "false"


@pytest.mark.spark
def test_settings_of_old_versions_are_left_behind(spark: Any) -> None:
    base = spark.newSession()
    base.conf.set("spark.sql.legacy.timeParserPolicy", "LEGACY")
    explicit = [key for key in settings_of(open_session(base)) if key.startswith(LEGACY_PREFIX)]
    assert explicit == []
    assert base.conf.get("spark.sql.legacy.timeParserPolicy") == "LEGACY"


def test_closed_session_of_a_user_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    holder = SessionHolder()
    users = object()
    monkeypatch.setattr(session, "active_session", lambda: users)
    monkeypatch.setattr(session, "open_session", lambda base: ("ours", base))
    monkeypatch.setattr(session, "UserSettings", lambda base: SimpleNamespace(carry_over=lambda session: None))
    monkeypatch.setattr(session, "is_alive", lambda session: True)
    assert holder.get() == ("ours", users)
    monkeypatch.setattr(session, "is_alive", lambda session: False)
    monkeypatch.setattr(session, "active_session", lambda: None)
    with pytest.raises(SessionClosedError):
        holder.get()
    assert not holder.is_started()
    holder.stop()
    monkeypatch.setattr(session, "start_spark", lambda: ("local", True))
    assert holder.get() == ("ours", "local")


@pytest.mark.parametrize(("value", "found"), [("3", "3"), ("", None), (None, None)])
def test_workers_have_the_threads_that_the_user_says(value: str | None, found: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if value is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", value)
    # Without it Spark gives each worker one.
    assert local_settings().get("spark.executorEnv.OMP_NUM_THREADS") == found


def test_local_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    from sframe_spark.config import config

    monkeypatch.setenv("SFRAME_SPARK_JVM_OPTIONS", "-Dmine=1")
    with config.using(temporary_directory="/scratch"):
        settings = local_settings()
    assert settings["spark.local.dir"] == "/scratch"
    assert settings["spark.driver.extraJavaOptions"].endswith("-Dmine=1")
    assert settings["spark.driver.memory"] == driver_memory()
    assert driver_memory().endswith("m") or 1 <= int(driver_memory().removesuffix("g")) <= 8
