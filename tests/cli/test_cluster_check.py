"""What the doctor says of a cluster: an executor a line, and an answer in time whatever the cluster does."""

from __future__ import annotations

import time
from pathlib import Path

import attrs
import pytest

from sframe_spark.__main__ import main
from sframe_spark.cli import doctor
from sframe_spark.cli.doctor import Diagnosis, check_cluster, distinct, finding_of, within
from sframe_spark.engine.spark.executor_version_checks import Answer, versions
from sframe_spark.errors import NotSharedError

GOOD = Answer("node-1", "/work/app-1/0", trouble="", content="", written="", **versions())
BARE = attrs.evolve(GOOD, package=None, missing="attrs", trouble="sframe_spark cannot be imported: No module named 'attrs'")


def test_an_executor_is_a_line() -> None:
    assert str(finding_of(GOOD)).startswith("ok     executor on node-1 (working in /work/app-1/0): Python 3.")
    assert finding_of(BARE).fix is not None and "No module named 'attrs'" in finding_of(BARE).detail
    other = finding_of(attrs.evolve(GOOD, python="3.9"))
    assert other.detail.startswith("has Python 3.9, where ") and other.fix is not None
    broken = finding_of(attrs.evolve(GOOD, package=None, missing="numpy", trouble="sframe_spark cannot be imported: No module named 'numpy'"))
    assert broken.detail.startswith("sframe_spark cannot be imported: No module named 'numpy', where ") and broken.fix is not None


def test_executors_are_told_once_each_in_order() -> None:
    second = attrs.evolve(GOOD, place="/work/app-1/1")
    assert distinct([second, GOOD, second, GOOD]) == [GOOD, second]


def test_no_answer_is_a_finding() -> None:
    started = time.monotonic()
    found = within(0.05, "executors", lambda: time.sleep(5) or Diagnosis("x", "y"), "look")
    assert (found, time.monotonic() - started < 4) == (Diagnosis("executors", "no answer in 0.05 s", "look"), True)


def test_whatever_fails_is_told_in_a_line() -> None:
    from py4j.protocol import Py4JError

    def failing(error: BaseException) -> Diagnosis:
        raise error

    assert within(9, "a", lambda: failing(NotSharedError("not shared")), "do") == Diagnosis("a", "not shared", "do")
    assert within(9, "a", lambda: failing(OSError("no port")), "do") == Diagnosis("a", "OSError: no port", "do")
    told = within(9, "a", lambda: failing(Py4JError("An error occurred.\n: java.lang.IllegalStateException: stopped\n\tat org.x")), "do")
    assert told.detail == "An error occurred. stopped"


@pytest.mark.parametrize(
    ("found", "subjects"),
    [
        ([GOOD], ["cluster", "executor on node-1 (working in /work/app-1/0)", "shared directory"]),
        ([BARE], ["cluster", "executor on node-1 (working in /work/app-1/0)"]),
        ([], ["cluster", "executors"]),
    ],
)
def test_checks_end_where_they_make_no_sense(found: list[Answer], subjects: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_connected", lambda master: Diagnosis("cluster", master))
    monkeypatch.setattr(doctor, "_registered", lambda seconds: Diagnosis("executors", "there are some"))
    monkeypatch.setattr(doctor, "answers", lambda file, directory: found)
    monkeypatch.setattr(doctor, "_shared", lambda: Diagnosis("shared directory", "seen"))
    assert [finding.subject for finding in check_cluster("spark://x:1")] == subjects


class Context:
    """A Spark context with some executors, as far as it is asked."""

    def __init__(self, executors: int) -> None:
        self.executors, self.conf = executors, {"spark.executor.memory": "3g"}

    @property
    def sparkContext(self) -> Context:
        return self

    _jsc = sparkContext

    def sc(self) -> Context:
        return self

    getExecutorMemoryStatus = sc

    def size(self) -> int:
        return 1 + self.executors

    def getConf(self) -> dict[str, str]:
        return self.conf


@pytest.mark.parametrize("executors", [0, 2])
def test_workers_without_room_for_an_executor_are_told_soon(executors: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """They have less memory than one asks for: Spark would wait for ever."""
    monkeypatch.setattr(doctor, "_connected", lambda master: Diagnosis("cluster", master))
    monkeypatch.setattr(doctor, "get_session", lambda: Context(executors))
    monkeypatch.setattr(doctor, "SECONDS_TO_REGISTER", 0.1)
    monkeypatch.setattr(doctor, "answers", lambda file, directory: [BARE])
    found = list(check_cluster("spark://x:1"))
    assert [finding.subject for finding in found][1:] == (["executor on node-1 (working in /work/app-1/0)"] if executors else ["executors"])
    assert executors or "each asks for 3g of memory" in found[1].detail


def test_executors_that_begin_with_work_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    context = Context(0)
    context.conf["spark.dynamicAllocation.enabled"] = "true"
    monkeypatch.setattr(doctor, "get_session", lambda: context)
    assert doctor._registered(0.1).fix is None


def test_a_cluster_that_is_not_there_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(master: str) -> Diagnosis:
        raise OSError(f"nobody at {master}")

    monkeypatch.setattr(doctor, "_connected", refuse)
    (found,) = check_cluster("spark://x:1")
    assert "nobody at spark://x:1" in found.detail and found.fix is not None


def test_the_command_names_a_cluster(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    ended: list[bool] = []
    monkeypatch.setattr("sframe_spark.__main__.check_cluster", lambda master: iter([Diagnosis("cluster", master, "mend it")]))
    monkeypatch.setattr("sframe_spark.__main__.end_connection", lambda: ended.append(True))
    assert main(["doctor", "--master", "spark://host:7077"]) == 1
    assert "WRONG  cluster: spark://host:7077" in capsys.readouterr().out and ended == [True]


@pytest.mark.spark
def test_one_process_needs_no_directory(spark: object, tmp_path: Path) -> None:
    assert doctor._shared() == Diagnosis("shared directory", "this machine does all the work")
