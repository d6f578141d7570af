"""The probe: what executors answer, which answers pass, and that a local Spark is never asked."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sframe_spark import SFrame, load_sframe
from sframe_spark.engine.spark import shared_file_and_row_count_checks as shared_file_checks
from sframe_spark.engine.spark.executor_version_checks import Answer, answering, versions
from sframe_spark.engine.spark.shared_file_and_row_count_checks import file_states_of, reading
from sframe_spark.errors import NotSharedError, StorageError
from sframe_spark.process.temporary_file_leases import delete, owner_in
from sframe_spark.session import get_reached
from sframe_spark.session.spark_locality import is_one_process

GOOD = Answer("node-1", "/work/app-1/0", trouble="", content="12-ab", written="answer-1", **versions())
OPTION = r"config\.temporary_directory.*SFRAME_SPARK_TMP"


def asked(file: Path, directory: Path | None, *packages: str) -> Answer:
    """What a task in this process answers."""
    ask = answering(reading(str(file)), None if directory is None else str(directory), packages=packages)
    batches = ask(iter([pa.RecordBatch.from_pydict({"id": [0]})]))
    return Answer.of_text(next(batches).column(0)[0].as_py())


def test_an_answer_tells_what_was_read_and_written(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"x" * 200_000)
    answer = asked(file, tmp_path)
    assert {name: getattr(answer, name) for name in versions()} == versions()
    assert answer.content == reading(str(file))() and answer.content.startswith("200000-") and answer.trouble == ""
    assert (tmp_path / answer.written).read_text() == answer.content
    assert asked(file, None).written == ""
    assert asked(file, None, "pyarrow", "no-such-package").plugins == {"pyarrow": pa.__version__}


def test_an_answer_tells_of_files_that_are_not_there(tmp_path: Path) -> None:
    answer = asked(tmp_path / "none", tmp_path)
    assert answer.content == answer.written == "" and "No such file" in answer.trouble and str(tmp_path / "none") in answer.trouble


WITHOUT_PACKAGE = """
import pickle, sys
sys.modules["sframe_spark"] = None
import pyarrow as pa
import pyarrow.parquet as pq
function = pickle.loads(open(sys.argv[1], "rb").read())
print(next(function(iter([pa.RecordBatch.from_pydict({"id": [0]})]))).column(0)[0].as_py())
"""


def test_a_worker_without_the_package_answers(tmp_path: Path) -> None:
    from pyspark import cloudpickle

    file, function = tmp_path / "file", tmp_path / "function"
    file.write_text("text")
    function.write_bytes(cloudpickle.dumps(answering(reading(str(file)), str(tmp_path))))
    done = subprocess.run([sys.executable, "-c", WITHOUT_PACKAGE, str(function)], capture_output=True, text=True, timeout=60, check=True)
    found = Answer.of_text(done.stdout)
    assert found.package is None and found.content == reading(str(file))()
    with pytest.raises(NotSharedError, match=r"sframe_spark cannot be imported.*install the same versions"):
        shared_file_checks._check(found, found.content, "/data")


def complaint(answer: Answer) -> str:
    """What is said against an answer; nothing where all is the same there."""
    try:
        shared_file_checks._check(answer, "12-ab", "/data")
    except NotSharedError as error:
        return str(error)
    return ""


def test_the_same_file_and_versions_pass() -> None:
    assert complaint(GOOD) == ""


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"content": "12-cd"}, rf"/data is not shared.*node-1 \(working in /work/app-1/0\) sees a different file.*{OPTION}"),
        ({"content": "", "trouble": "No such file or directory: /data/x"}, rf"/data is not shared.*node-1.*No such file.*{OPTION}"),
        ({"trouble": "Permission denied: /data/x"}, rf"/data is not shared.*node-1.*Permission denied.*{OPTION}"),
        ({"python": "3.9"}, r"node-1.*has Python 3\.9, where .* has .*install the same versions"),
        ({"pyarrow": "1.0"}, r"node-1.*has pyarrow 1\.0.*install the same versions"),
        ({"package": "0.0.1"}, r"node-1.*has sframe_spark 0\.0\.1.*PYSPARK_PYTHON"),
    ],
)
def test_another_file_or_version_is_refused(changes: dict[str, Any], words: str) -> None:
    assert re.search(words, complaint(attrs.evolve(GOOD, **changes)))
    assert issubclass(NotSharedError, StorageError)


@pytest.mark.parametrize(
    ("master", "one"),
    [("local", True), ("local[*]", True), ("local[2,4]", True), ("local-cluster[2,1,700]", False), ("spark://host:7077", False), ("yarn", False)],
)
def test_only_a_local_spark_is_one_process(master: str, one: bool) -> None:
    assert is_one_process(SimpleNamespace(sparkContext=SimpleNamespace(master=master))) is one  # type: ignore[arg-type]


def forbidden(*arguments: object) -> Any:
    """What must not be called."""
    raise AssertionError(f"asked {arguments}")


@pytest.mark.spark
def test_a_local_spark_is_never_asked(everything_on_spark: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shared_file_checks, "answers", forbidden)
    frame = SFrame({"n": range(1_000)})
    frame.sort("n", ascending=False).save(str(tmp_path / "frame"))
    assert len(load_sframe(str(tmp_path / "frame"))) == 1_000


@pytest.mark.spark
def test_a_cluster_is_asked_once_for_each_directory(everything_on_spark: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    places: list[str] = []
    monkeypatch.setattr(shared_file_checks, "is_one_process", lambda session: False)
    monkeypatch.setattr(shared_file_checks, "reading", lambda file: places.append(file) or reading(file))
    get_reached().clear()
    frame = SFrame({"n": range(1_000)})
    try:
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            for number in range(2):
                frame.sort("n", ascending=False).save(str(tmp_path / name / str(number)))
                assert list(load_sframe(str(tmp_path / name / str(number)))["n"].cumulative_sum())[-1] == sum(range(1_000))
        written = [place for place in places if place.startswith(str(tmp_path))]
        assert [Path(place).relative_to(tmp_path).parts[0] for place in written] == ["one", "two"]
        assert sorted(path.name for path in (tmp_path / "one").iterdir()) == ["0", "1"]
        assert not list(tmp_path.rglob(".sframe_spark*"))
    finally:
        get_reached().clear()


def test_what_the_probe_leaves_is_not_in_the_dataset(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def exchange(place: str, above: str, advice: str) -> None:
        places.append(place)
        assert os.path.isdir(place)
        raise NotSharedError("no")

    places: list[str] = []
    monkeypatch.setattr(shared_file_checks, "get_session", lambda: None)
    monkeypatch.setattr(shared_file_checks, "is_one_process", lambda session: False)
    monkeypatch.setattr(shared_file_checks, "get_reached", set)
    monkeypatch.setattr(shared_file_checks, "_exchange", exchange)
    monkeypatch.setattr(shared_file_checks, "remove_own", lambda place: None)
    (tmp_path / "dataset").mkdir()
    with pytest.raises(NotSharedError):
        shared_file_checks.require_writable(str(tmp_path / "dataset"))
    assert list((tmp_path / "dataset").iterdir()) == []
    # A name with an owner: it goes with this process, or is found by whoever cleans up.
    (left,) = map(Path, places)
    assert left.parent == tmp_path and owner_in(left.name) is not None
    delete(str(left))


@pytest.mark.spark
def test_a_failure_is_told_by_the_executor_at_fault(everything_on_spark: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    SFrame({"n": range(1_000)}).save(str(tmp_path / "frame"))
    frame = load_sframe(str(tmp_path / "frame"))
    monkeypatch.setattr(shared_file_checks, "is_one_process", lambda session: False)
    get_reached().clear()
    get_reached().add((str(tmp_path), "read"))
    monkeypatch.setattr(shared_file_checks, "answers", lambda file, directory: [attrs.evolve(GOOD, content="", trouble=f"No such file: {file}")])
    monkeypatch.setattr("sframe_spark.engine.runtime.task_runners.run_callables", failing)
    try:
        with pytest.raises(NotSharedError, match=r"node-1.*No such file"):
            list(frame["n"].cumulative_sum())
    finally:
        get_reached().clear()


def failing(works: object, description: str, size: object = None) -> Any:
    """A task that does not see its file."""
    raise StorageError("cannot read segment: it does not exist")


def test_answers_are_json() -> None:
    assert Answer.of_text(json.dumps(attrs.asdict(GOOD))) == GOOD


def told(reach: Callable[[Any], Any] = lambda found: found, **about: Any) -> Callable[[Any, Any], list[Answer]]:
    """What two executors answer who are asked for files: the first sees all of them, the other what is reached from that."""

    def answers(read: Callable[[], str], _: Any) -> list[Answer]:
        found = read()
        others = json.dumps([reach(state) for state in json.loads(found)])
        given = {"trouble": "", "written": "", **versions()}
        return [Answer("node-1", "/work/1", **{**given, "content": found}), Answer("node-2", "/work/2", **{**given, "content": others, **about})]

    return answers


TOLD = {
    "all": (told(), ""),
    "others": (told(lambda state: [*state[:2], 7]), r"node-2 \(working in /work/2\) sees a different file there: .*a\.csv, which is here on "),
    "none": (told(lambda _: "No such file or directory"), r"node-2 .* does not see it \(No such file or directory\): .*a\.csv"),
}


@pytest.fixture
def nothing_reached(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Nobody was asked for anything, and rows can be written."""
    monkeypatch.setattr(shared_file_checks, "require_writable", lambda _: None)
    get_reached().clear()
    yield monkeypatch
    get_reached().clear()


@pytest.mark.parametrize("kind", TOLD)
def test_why_tasks_cannot_read_files_is_asked_once_for_each_directory(tmp_path: Path, nothing_reached: pytest.MonkeyPatch, kind: str) -> None:
    answers, expected = TOLD[kind]
    asked: list[Any] = []
    nothing_reached.setattr(shared_file_checks, "answers", lambda read, place: asked.append(place) or answers(read, place))
    (tmp_path / "a.csv").write_text("a\n1\n")
    reason = shared_file_checks.why_not_in_tasks({str(tmp_path): str(tmp_path / "a.csv")})
    assert re.search(expected, reason) and (reason == "") == (expected == "")
    again = shared_file_checks.why_not_in_tasks({str(tmp_path): str(tmp_path / "a.csv")})
    assert asked == [None] and (again == "") == (reason == "") and (not again or str(tmp_path) in again)


def test_of_several_directories_those_that_all_see_stay_theirs(tmp_path: Path, nothing_reached: pytest.MonkeyPatch) -> None:
    files = {str(tmp_path / name): str(tmp_path / name / "a.csv") for name in ("shared", "own", "shared too")}
    for number, (directory, file) in enumerate(files.items()):
        Path(directory).mkdir()
        Path(file).write_text("a" * number)
    nothing_reached.setattr(shared_file_checks, "answers", told(lambda state: "No such file or directory" if state[0] == 1 else state))
    assert str(tmp_path / "own" / "a.csv") in shared_file_checks.why_not_in_tasks(files)
    nothing_reached.setattr(shared_file_checks, "answers", forbidden)
    assert str(tmp_path / "own") in shared_file_checks.why_not_in_tasks(files)
    for directory, file in files.items():
        assert (shared_file_checks.why_not_in_tasks({directory: file}) == "") == ("shared" in directory)


@pytest.mark.parametrize("kind", ["rows cannot be written", "another Python", "the file is gone"])
def test_what_says_nothing_of_a_directory_is_asked_again(tmp_path: Path, nothing_reached: pytest.MonkeyPatch, kind: str) -> None:
    def refused(directory: str) -> None:
        raise NotSharedError(f"{directory} is not shared with Spark")

    file = tmp_path / "a.csv"
    place = {str(tmp_path): str(file)}
    file.write_text("a\n1\n")
    with nothing_reached.context() as patch:
        patch.setattr(shared_file_checks, "answers", told(python="3.1") if kind == "another Python" else forbidden)
        if kind == "rows cannot be written":
            patch.setattr(shared_file_checks, "require_writable", refused)
        if kind == "the file is gone":
            file.unlink()
        words = {"rows cannot be written": "is not shared with Spark", "another Python": r"node-2 .* has Python 3\.1", "the file is gone": r"a\.csv"}
        for _ in range(2):
            assert re.search(words[kind], shared_file_checks.why_not_in_tasks(place))
    file.write_text("a\n1\n")
    nothing_reached.setattr(shared_file_checks, "answers", told())
    assert shared_file_checks.why_not_in_tasks(place) == ""


def test_files_are_told_from_others_by_length_time_and_number(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_text("a\n1\n")
        os.utime(tmp_path / name, ns=(10**18, 10**18))
    paths = [str(tmp_path / name) for name in "ab"]
    assert file_states_of(paths)() == file_states_of(paths)()
    assert len({file_states_of([path])() for path in paths}) == 2


@pytest.mark.parametrize("kind", ["saved", "theirs"])
def test_the_directory_that_is_not_seen_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    place = tmp_path / "data" / "place"
    SFrame({"n": [1, 2]}).save(str(place))
    pq.write_table(pa.table({"n": [1, 2]}), tmp_path / "data" / "theirs.parquet")
    frame = load_sframe(str(place)) if kind == "saved" else SFrame.read_parquet(str(tmp_path / "data" / "theirs.parquet"))
    monkeypatch.setattr(shared_file_checks, "get_session", lambda: None)
    monkeypatch.setattr(shared_file_checks, "is_one_process", lambda session: False)
    monkeypatch.setattr(shared_file_checks, "get_reached", set)
    monkeypatch.setattr(
        shared_file_checks, "answers", lambda read, directory: [attrs.evolve(GOOD, content="", trouble="No such file or directory: x")]
    )
    with pytest.raises(NotSharedError, match=f"^{re.escape(str(tmp_path / 'data'))} is not shared"):
        shared_file_checks.require_readable(frame._node)
