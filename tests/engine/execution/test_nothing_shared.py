"""What only this process has is computed here where Spark's machines do not see it; a Spark elsewhere is pretended, which sees no file."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SFrame, aggregate, config, load_sframe
from sframe_spark.engine.execution import plan_executor
from sframe_spark.engine.physical import site
from sframe_spark.engine.physical.plans_without_shared_files import is_computed_alone
from sframe_spark.engine.physical.site import Site
from sframe_spark.engine.runtime import result_storage, task_runners
from sframe_spark.engine.runtime.result_storage import with_rows_sent
from sframe_spark.engine.shapes import range_shuffle, spark_query
from sframe_spark.engine.shapes.section_tree import Workers
from sframe_spark.engine.spark import query
from sframe_spark.engine.spark.shared_file_and_row_count_checks import checked_file
from sframe_spark.errors import NotSharedError
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource
from sframe_spark.operators.sources.in_memory import MemorySource
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.session import get_unshared
from sframe_spark.storage.filesystem.files_kept_by_spark import KEPT_FILES
from sframe_spark.storage.filesystem.temporary_datasets import temporary_store
from tests.sent_to_threads import KeptHere

ROWS = 300
ADVICE = "is not shared; set config.temporary_directory"
COLUMNS: dict[str, list[Any]] = {
    "n": list(range(ROWS)),
    "k": [row * 5 % 7 for row in range(ROWS)],
    "text": [f"x{row % 90}" for row in range(ROWS)],
}
BY_KEY = sorted(range(ROWS), key=lambda row: row * 5 % 7)


def refuse(directory: str, *checks: str) -> None:
    """Remember that a directory is not shared, as the probe does."""
    get_unshared().update({(directory, check): f"{directory} {ADVICE}" for check in checks})
    raise NotSharedError(f"{directory} {ADVICE}")


def refuse_readable(root: PlannerNode) -> None:
    """No file of a source is seen."""
    for node in postorder([root]):
        if (checked := checked_file(node.operator)) is not None:
            refuse(checked[1], "read", "written")


def refuse_writable(directory: str) -> None:
    """Nothing that is written elsewhere is seen here."""
    refuse(os.path.dirname(directory), "written")


def is_shared_with(workers: Any, directory: str) -> bool:
    """As the shape asks, but for the session."""
    with contextlib.suppress(NotSharedError):
        workers.require_writable(directory)
        return True
    return False


def refuse_jobs(*arguments: Any) -> Any:
    raise AssertionError("a job was started")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Few rows count as many, and Spark is on machines that share nothing."""
    monkeypatch.setattr(site, "is_spark_local", lambda: False)
    monkeypatch.setattr(plan_executor, "start_ahead", lambda: None)
    for module in (task_runners, query, spark_query):
        monkeypatch.setattr(module, "require_readable", refuse_readable)
    for module in (task_runners, result_storage):
        monkeypatch.setattr(module, "require_writable", refuse_writable)
    monkeypatch.setattr(task_runners, "run_callables", refuse_jobs)
    monkeypatch.setattr(query, "follow_user", lambda: None)
    monkeypatch.setattr(range_shuffle, "is_shared_with", is_shared_with)
    monkeypatch.setattr(result_storage, "reads_our_files", lambda session: True)
    for module in (task_runners, result_storage):
        monkeypatch.setattr(module, "get_session", lambda: None)
    monkeypatch.setattr(task_runners, "default_parallelism", lambda session: 2)
    get_unshared().clear()
    with config.using(small_rows=10, memory_budget=0, segment_rows=100, temporary_directory=str(tmp_path / "temporary")):
        yield
    get_unshared().clear()


@pytest.fixture
def saved(tmp_path: Path) -> SFrame:
    """A frame in files."""
    with config.using(small_rows=10_000, memory_budget=1 << 30):
        SFrame(COLUMNS).save(str(tmp_path / "saved"))
    return load_sframe(str(tmp_path / "saved"))


def grouped(sf: SFrame) -> dict[str, int]:
    groups = sf.groupby("text", {"s": aggregate.SUM("n")})
    return dict(zip(groups["text"], groups["s"], strict=True))


def with_column(sf: SFrame) -> list[int]:
    sf["m"] = sf["n"] * 2 + sf["k"]
    return list(sf[sf["k"] > 3]["m"])


# Each with the rows that are right.
PROGRAMS: dict[str, tuple[Callable[[SFrame], Any], Any]] = {
    "derive and filter": (with_column, [2 * row + row * 5 % 7 for row in range(ROWS) if row * 5 % 7 > 3]),
    "function": (lambda sf: list(sf["n"].apply(lambda n: n * n, dtype=int)), [row * row for row in range(ROWS)]),
    "function of rows": (lambda sf: list(sf.apply(lambda row: row["n"] + row["k"], dtype=int)), [row + row * 5 % 7 for row in range(ROWS)]),
    "sort": (lambda sf: list(sf.sort("k")["n"]), BY_KEY),
    "running sum": (lambda sf: list(sf["n"].cumulative_sum())[-1], sum(range(ROWS))),
    "sum": (lambda sf: sf["n"].sum(), sum(range(ROWS))),
    "groups": (grouped, {f"x{key}": sum(range(key, ROWS, 90)) for key in range(90)}),
    "join": (lambda sf: list(sf.join(SFrame(sf[["n", "k"]]), on="n").sort("n")["k.1"]), COLUMNS["k"]),
    "append": (lambda sf: len(sf[sf["k"] > 3].append(sf)), ROWS + sum(key > 3 for key in COLUMNS["k"])),
    "unique": (lambda sf: sorted(sf["k"].unique()), list(range(7))),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_rows_of_files_that_spark_does_not_see_are_computed_here(name: str, saved: SFrame) -> None:
    program, expected = PROGRAMS[name]
    assert program(saved) == expected
    # What was found is known now.
    assert get_unshared() and program(load_sframe(saved_in(saved))) == expected


def saved_in(frame: SFrame) -> str:
    """The directory of a saved frame."""
    return str(Path(next(checked[0] for node in postorder([frame._node]) if (checked := checked_file(node.operator)))).parent)


def test_explain_and_last_run_name_who_computes(saved: SFrame) -> None:
    made = saved.sort("k")
    before = str(made.explain())
    assert "Spark" in before.split("physical plan")[1] and "if Spark's machines do not see the files" in before
    assert "without Spark:" not in before
    made.materialize()
    assert "threads" in str(made.last_run()) and "given up" in str(made.last_run())
    after = str(saved.sort("text").explain()).split("physical plan")[1]
    assert "without Spark: its machines do not see files" in after and "or: this process computes it" not in after and "threads" in after


def test_a_frame_is_saved_over_itself_and_exported(saved: SFrame, tmp_path: Path) -> None:
    place = saved_in(saved)
    saved["m"] = saved["n"].apply(lambda n: n + 1, dtype=int)
    saved.save(place)
    assert list(load_sframe(place)["m"]) == list(range(1, ROWS + 1))
    load_sframe(place).save(place)
    assert list(load_sframe(place)["n"]) == COLUMNS["n"]
    load_sframe(place).export_csv(str(tmp_path / "out.csv"))
    assert len((tmp_path / "out.csv").read_text().splitlines()) == ROWS + 1


def test_rows_in_memory_are_computed_here_where_no_place_is_shared() -> None:
    frame = SFrame(COLUMNS)
    assert list(frame["n"].apply(lambda n: n * n, dtype=int)) == [row * row for row in range(ROWS)]
    assert list(frame.sort("k")["n"]) == BY_KEY


def test_a_function_is_called_once_for_each_row(saved: SFrame, tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    calls.mkdir()

    def counted(n: int) -> int:
        os.close(os.open(calls / f"{n}-{os.urandom(8).hex()}", os.O_CREAT))
        return n

    assert saved["n"].apply(counted, dtype=int).sum() == sum(range(ROWS))
    assert len(list(calls.iterdir())) == ROWS


def leaf(frame: SFrame) -> PlannerNode:
    return frame._node


def test_which_plans_are_computed_alone(saved: SFrame, tmp_path: Path) -> None:
    stored, memory = leaf(saved), leaf(SFrame(COLUMNS))
    above, target = str(tmp_path), str(tmp_path / "target" / "frame")
    assert not is_computed_alone(stored, Site.now(), None) and not is_computed_alone(memory, Site.now(), target)
    get_unshared()[above, "read"] = ADVICE
    assert is_computed_alone(stored, Site.now(), None) and not is_computed_alone(memory, Site.now(), None)
    get_unshared().clear()
    get_unshared()[temporary_store().directory, "written"] = ADVICE
    assert is_computed_alone(memory, Site.now(), None) and not is_computed_alone(stored, Site.now(), None)
    # Files that are seen are read by Spark if they are many bytes.
    get_unshared()[str(tmp_path / "target"), "written"] = ADVICE
    assert not is_computed_alone(stored, Site.now(), target)
    with config.using(memory_budget=1 << 30):
        assert is_computed_alone(stored, Site.now(), target)


def test_rows_are_sent_with_the_query_within_the_budget(saved: SFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = leaf(saved)
    assert with_rows_sent(node) is node
    get_unshared()[str(tmp_path), "read"] = f"{tmp_path} {ADVICE}"
    # Without a place for them they go to one that Spark keeps, in parts.
    monkeypatch.setattr(KEPT_FILES, "keeper", keeper := KeptHere())
    monkeypatch.setattr(result_storage, "require_keeping", lambda why: None)
    get_unshared()[temporary_store().directory, "written"] = ADVICE
    sent = with_rows_sent(node)
    assert keeper.files and isinstance(sent.operator, SegmentSource) and sent.operator.read(0, ROWS).columns[1].to_pylist() == COLUMNS["n"]
    with config.using(memory_budget=1 << 20):
        sent = with_rows_sent(node)
    assert isinstance(sent.operator, MemorySource) and sent.operator.read_all().columns[1].to_pylist() == COLUMNS["n"]


def test_workers_that_are_alone_are_not_on_spark(saved: SFrame) -> None:
    saved.sort("k").materialize()
    executor = plan_executor.Executor(plan_executor.MaterializeOptions())
    section = executor.plan(saved.sort("text")._node)
    assert section.is_alone and section.workers is Workers.THREADS
