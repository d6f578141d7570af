"""The benchmark of a cluster beside one machine: what it asks, how often, and what it tells; no Spark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from benchmarks import cluster, segments
from benchmarks.cases import CASES
from benchmarks.cluster import Measured, heads, measured, shown, shown_jobs
from sframe_spark import load_sframe


@attrs.define
class Side:
    """A process that answers, and notes what it was asked."""

    seconds: float
    jobs: int = 1
    rows: Any = 7
    asked: list[str] = attrs.Factory(list)

    def __call__(self, name: str, *arguments: Any) -> Any:
        """The answer."""
        self.asked.append(name)
        taken = (self.seconds, self.jobs)
        return (self.rows, taken) if name == "show" else taken


def sides(there: float, here: float = 1.0, threads: float = 0.5) -> list[Side]:
    """Those of the cluster, of tasks here, and of threads."""
    return [Side(there, 2), Side(here), Side(threads)]


@pytest.mark.parametrize(("there", "verdict"), [(1.2, "ok"), (1.21, "above")])
def test_the_ratio_and_what_each_job_takes_more(there: float, verdict: str) -> None:
    found = measured(0, CASES[0], sides(there), 3)
    assert (found.there, found.here, found.threads, found.jobs) == (there, 1.0, 0.5, 2)
    assert found.verdict == verdict and found.more == f"{1000 * (there - 1) / 2:.0f}"


@pytest.mark.parametrize(("there", "runs"), [(1.5, 4), (12.0, 4), (14.0, 2), (20.0, 2), (60.0, 0)])
def test_what_is_long_is_run_less_often(there: float, runs: int) -> None:
    of = sides(there)
    found = measured(0, CASES[0], of, 3)
    # The run that is compared is what there is of the longest.
    assert all(side.asked == ["show", *["run"] * runs] for side in of) and found.there == there


def test_other_rows_are_no_measurement() -> None:
    of = sides(1.0)
    of[1].rows = 8
    with pytest.raises(SystemExit, match="other rows on the cluster"):
        measured(0, CASES[0], of, 3)
    assert "run" not in of[0].asked


def test_a_program_without_a_job_has_no_time_for_each() -> None:
    assert Measured(0.004, 0.004, 0.004, 0).more == ""


def test_all_sizes_stand_side_by_side() -> None:
    few, many = Measured(0.2, 0.1, 0.05, 1), Measured(1.1, 1.0, 0.5, 1)
    line = shown("sum", [few, many])
    assert line == "| sum | 1 | 0.200 | 0.100 | 2.00 above | 100 | 0.050 | 1.100 | 1.000 | 1.10 ok | 100 | 0.500 |"
    head = heads([10, 40]).splitlines()
    assert {text.count("|") for text in (*head, line)} == {13}


def test_a_job_that_does_nothing_is_asked_of_those_where_spark_works() -> None:
    of = sides(0.05, 0.02)
    assert "0.050 s with two workers, 0.020 s in local[2]" in shown_jobs("at first", of)
    assert [side.asked for side in of] == [["nothing"] * cluster.COUNTED_JOBS] * 2 + [[]]


def test_each_question_is_a_method() -> None:
    questions: list[Callable[..., Any]] = [getattr(cluster.Answering, name) for name in ("open", "show", "run", "nothing")]
    assert all(question.__doc__ for question in questions)


def test_each_first_pass_is_over_files_that_nobody_has_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cluster, "ROWS_IN_SEGMENTS", 400)
    monkeypatch.setattr(cluster, "SEGMENTS", (2, 10))
    directories = list[str]()

    def ask(name: str, number: int, directory: str) -> tuple[float, int]:
        assert name == "first_pass"
        directories.append(directory)
        rows, quotes = (load_sframe(str(Path(directory) / part)) for part in ("rows", "quotes"))
        segments.CASES[number].action(rows, quotes)
        return float(len(list((Path(directory) / "rows").glob("segment-*")))), 0

    cluster.first_passes(ask, 1, tmp_path)
    # Two passes over few segments, one of which is not counted, and two over many.
    assert len(set(directories)) == len(directories) == 4 * len(segments.CASES)
    assert capsys.readouterr().out.count("| 2.00 | 10.00 | 5.00 | 1.3 missed |") == len(segments.CASES)
