"""Files for other programs on file systems elsewhere: as they are here, whole or not at all."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import pandas
import pyarrow.parquet as pq
import pytest

from sframe_spark import SArray, SFrame, config
from sframe_spark.engine.execution import export as running
from sframe_spark.errors import StorageError, UserFunctionError
from sframe_spark.storage import export_directories, export_files
from sframe_spark.storage.filesystem import remote_operations
from sframe_spark.storage.filesystem.remote_operations import file_system
from tests.storage.damage import frame_of_every_type
from tests.storage.datasets.conftest import Bucket, Requests

Door = Callable[[SFrame, str], Any]
TEXTS: dict[str, Door] = {
    "t.csv": lambda frame, place: frame.save(place, format="csv"),
    "u.csv.gz": lambda frame, place: frame.save(place),
    "v.txt": lambda frame, place: frame.export_csv(place, delimiter="\t", file_header="# first", file_footer="# last"),
    "w.json": lambda frame, place: frame.save(place, format="json"),
    "x.json.gz": lambda frame, place: frame.export_json(place, orient="lines"),
    "y.txt": lambda frame, place: frame["text"].save(place, format="text"),
    "z.txt.gz": lambda frame, place: frame["number"].save(place, format="csv"),
}
DIRECTORIES: dict[str, Door] = {
    "parquet": lambda frame, place: frame.write_parquet(place),
    "orc": lambda frame, place: frame[["number", "text"]].write_orc(place),
}


def content_of(uri: str) -> bytes:
    files, path = file_system(uri)
    files.invalidate_cache()
    return bytes(files.cat_file(path))


def names_below(uri: str) -> list[str]:
    files, path = file_system(uri)
    files.invalidate_cache()
    return sorted(name.removeprefix(path.rstrip("/") + "/") for name in files.find(path))


def failing(frame: SFrame) -> SFrame:
    """Rows of which one cannot be made."""
    frame = frame[["number", "text"]]
    frame["number"] = frame["number"].apply(lambda n: n // (n - 150), dtype=int)
    frame["text"] = frame["number"].astype(str)
    return frame


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", TEXTS)
def test_texts_have_the_bytes_that_they_have_here(place: str, name: str, tmp_path: Path) -> None:
    frame = frame_of_every_type()
    TEXTS[name](frame, str(tmp_path / name))
    TEXTS[name](frame, f"{place}/{name}")
    assert content_of(f"{place}/{name}") == (tmp_path / name).read_bytes()
    # Replaced by others as a whole, and nothing else is there.
    TEXTS[name](frame[:1], f"{place}/{name}")
    assert len(content_of(f"{place}/{name}")) < (tmp_path / name).stat().st_size
    assert names_below(place) == [name]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("form", DIRECTORIES)
def test_directories_come_back(place: str, form: str) -> None:
    frame = frame_of_every_type()
    DIRECTORIES[form](frame, f"{place}/{form}")
    (name,) = names_below(place)
    assert name.startswith(f"{form}/part-00000-") and name.endswith(form)
    read = {"parquet": SFrame.read_parquet, "orc": SFrame.read_orc}[form]
    assert list(read(f"{place}/{form}")["number"]) == list(frame["number"])
    assert list(read(f"{place}/{form}/*.{form}")["number"]) == list(frame["number"])
    with pytest.raises(StorageError, match=r"holds part-00000.*cannot be replaced atomically: choose another path"):
        DIRECTORIES[form](frame, f"{place}/{form}")
    assert names_below(place) == [name]


def test_other_programs_read_them(bucket: Bucket) -> None:
    frame = SFrame({"n": [1, 2, 3], "t": ["a", 'b"', None]})
    frame.write_parquet(bucket.uri + "/table")
    frame.export_csv(bucket.uri + "/table.csv")
    assert pandas.read_parquet(bucket.uri + "/table", storage_options=bucket.options)["n"].tolist() == [1, 2, 3]
    assert pandas.read_csv(bucket.uri + "/table.csv", storage_options=bucket.options)["t"].tolist()[:2] == ["a", 'b"']


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", [*TEXTS, *DIRECTORIES])
def test_a_function_that_fails_leaves_nothing(place: str, name: str) -> None:
    with pytest.raises(UserFunctionError):
        {**TEXTS, **DIRECTORIES}[name](failing(frame_of_every_type()), f"{place}/{name}")
    assert names_below(place) == []


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", [*TEXTS, *DIRECTORIES])
def test_a_writer_that_fails_leaves_what_was_there(place: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    door = {**TEXTS, **DIRECTORIES}[name]
    files, _ = file_system(place)
    if name in TEXTS:
        door(frame_of_every_type()[:1], f"{place}/{name}")
        before = content_of(f"{place}/{name}")

    def cut(*_: Any, **__: Any) -> None:
        raise PermissionError("Access Denied")

    with monkeypatch.context() as patch:
        patch.setattr(files, "put_file", cut)
        with pytest.raises(StorageError, match="permission denied"):
            door(frame_of_every_type(), f"{place}/{name}")
    assert names_below(place) == ([name] if name in TEXTS else [])
    if name in TEXTS:
        assert content_of(f"{place}/{name}") == before


def test_columns_of_text_are_read(place: str) -> None:
    SArray([3, 1, None]).save(place + "/a.txt", format="text")
    SArray(["x", "y"]).save(place + "/b.txt.gz", format="text")
    assert list(SArray(place + "/a.txt", dtype=int)) == [3, 1, None]
    assert list(SArray(place + "/b.txt.gz")) == ["x", "y"]
    assert list(SArray(place + "/*.txt")) == ["3", "1", ""]
    with pytest.raises(StorageError, match="there is no saved frame in"):
        SArray(place + "/nothing.txt")


def test_names_from_a_listing_are_no_patterns(bucket: Bucket) -> None:
    """A pattern is what the user wrote; what it finds is taken as it is named."""
    root = bucket.uri.removeprefix("s3://")
    for name, value in (("a[1].csv", 1), ("a1.csv", 2), ("a*.csv", 3)):
        bucket.files.pipe_file(f"{root}/in/{name}", f"v\n{value}\n".encode())
    assert sorted(SFrame.read_csv(bucket.uri + "/in/*.csv", verbose=False)["v"]) == [1, 2, 3]
    assert list(SFrame.read_csv(bucket.uri + "/in/a*.csv", verbose=False)["v"]) == [3]
    assert sorted(SFrame.read_csv(bucket.uri + "/in", verbose=False)["v"]) == [1, 2, 3]


@pytest.mark.parametrize("name", ["t.csv", "w.json", "parquet"])
def test_places_that_are_none(bucket: Bucket, name: str) -> None:
    door = {**TEXTS, **DIRECTORIES}[name]
    root = bucket.uri.removeprefix("s3://")
    bucket.files.pipe_file(f"{root}/taken/{name}/inside", b"1")
    bucket.files.pipe_file(f"{root}/file", b"1")
    frame = frame_of_every_type()
    taken = "is a directory: choose" if name in TEXTS else "holds inside"
    for place, words in {
        f"{bucket.uri}/taken/{name}": taken,
        f"{bucket.uri}/a*/{name}": "which has another meaning in remote file systems",
        f"s3://nothing-of-that-name/{name}": "there is no s3://nothing-of-that-name: create it",
        f"https://host/{name}": "is read only",
        f"s3://me:secret@bucket/{name}": "contains a password",
        f"nosuch://bucket/{name}": "no file system 'nosuch'",
    }.items():
        with pytest.raises(StorageError, match=words[:40].replace("*", ".")) as raised:
            door(frame, place)
        assert "\n" not in str(raised.value) and "secret@" not in str(raised.value)
    if name == "parquet":
        with pytest.raises(StorageError, match="is a file, not a directory"):
            door(frame, f"{bucket.uri}/file")
    assert names_below(bucket.uri) == ["file", f"taken/{name}/inside"]


def test_few_requests(bucket: Bucket, requests: Requests) -> None:
    frame = SFrame({"a": [1, 2]})
    frame.export_csv(bucket.uri + "/a.csv")
    requests.lines.clear()
    frame.export_csv(bucket.uri + "/b.csv")
    assert sum(line.startswith("PUT") for line in requests.lines) == 1
    assert len(requests.lines) <= 4, requests.lines
    requests.lines.clear()
    frame.write_parquet(bucket.uri + "/p")
    assert sum(line.startswith("PUT") for line in requests.lines) == 1
    assert len(requests.lines) <= 8, requests.lines


def test_two_who_write_one_directory(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    real = export_directories._place

    def late(file: str, place: str) -> None:
        real(file, place)
        bucket.files.pipe_file(place.rpartition("/")[0].removeprefix("s3://") + "/part-00000-other.parquet", b"1")

    monkeypatch.setattr(export_directories, "_place", late)
    with pytest.raises(StorageError, match=r"another program wrote part-00000-other\.parquet"):
        SFrame({"a": [1]}).write_parquet(bucket.uri + "/p")
    assert bucket.names() == ["p/part-00000-other.parquet"]


@pytest.fixture
def machines(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if Spark's tasks saw no directory of this process."""
    monkeypatch.setattr(running, "is_one_process", lambda _: False)


@pytest.mark.spark
@pytest.mark.parametrize("name", ["t.csv", "u.csv.gz", "v.txt", "w.json", "x.json.gz", "parquet"])
def test_tasks_write_their_parts_there(bucket: Bucket, name: str, tmp_path: Path, machines: None, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = SFrame({"number": range(400), "text": [f"t{n % 7}" for n in range(400)]})
    door = {**TEXTS, **DIRECTORIES}[name]
    frame.save(str(tmp_path / "stored"))
    used: list[bool] = []
    real = export_files.Staging.for_tasks
    monkeypatch.setattr(export_files.Staging, "for_tasks", lambda staging, here: used.append(here) or real(staging, here))
    with config.using(small_rows=0, single_task_rows=0, default_segments=3):
        from sframe_spark import load_sframe

        stored = load_sframe(str(tmp_path / "stored"))
        stored["number"] = stored["number"].apply(lambda n: n + 1, dtype=int)
        door(stored, f"{bucket.uri}/{name}")
        assert used == [False]
        door(stored, str(tmp_path / name))
        if name == "parquet":
            assert [part.partition("/")[2][:10] for part in bucket.names()] == ["part-00000", "part-00001", "part-00002"]
            assert list(SFrame.read_parquet(f"{bucket.uri}/{name}")) == list(stored)
            return
        assert bucket.names() == [name]
        made, expected = content_of(f"{bucket.uri}/{name}"), (tmp_path / name).read_bytes()
        assert (gzip.decompress(made), gzip.decompress(expected)) == (gzip.decompress(made),) * 2 if name.endswith("gz") else made == expected
        with pytest.raises(UserFunctionError):
            door(failing(stored), f"{bucket.uri}/failed/{name}")
        assert bucket.names() == [name]


@pytest.mark.spark
@pytest.mark.parametrize("place_fails", ["the first", "a later one"])
def test_of_parts_that_cannot_be_put_none_is_left(
    bucket: Bucket, tmp_path: Path, machines: None, monkeypatch: pytest.MonkeyPatch, place_fails: str
) -> None:
    from sframe_spark import load_sframe

    SFrame({"number": range(400)}).save(str(tmp_path / "stored"))
    real = remote_operations.place_within

    def cut(origin: str, target: str) -> None:
        if ("part-00000" in target) == (place_fails == "the first"):
            raise StorageError("cut off")
        real(origin, target)

    monkeypatch.setattr(export_directories, "place_within", cut)
    with config.using(small_rows=0, single_task_rows=0, default_segments=3):
        stored = load_sframe(str(tmp_path / "stored"))
        with pytest.raises(StorageError, match="cut off"):
            stored[stored["number"].apply(lambda n: n >= 0, dtype=int)].write_parquet(bucket.uri + "/p")
    assert bucket.names() == []


@pytest.mark.spark
def test_large_parts_are_put_together_where_they_are(
    bucket: Bucket, requests: Requests, tmp_path: Path, machines: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sframe_spark import load_sframe

    SFrame({"text": [f"{n:060d}" for n in range(200_000)]}).save(str(tmp_path / "stored"))
    monkeypatch.setattr(remote_operations, "put_whole", lambda *_: pytest.fail("rows came here"))
    with config.using(small_rows=0, single_task_rows=0, default_segments=2):
        load_sframe(str(tmp_path / "stored")).export_csv(bucket.uri + "/large.csv", file_footer="# end")
    assert not any(line.startswith("GET") and "part-" in line for line in requests.lines)
    lines = content_of(bucket.uri + "/large.csv").decode().split("\n")
    assert lines[0] == "text" and lines[1:-2] == [f"{n:060d}" for n in range(200_000)] and lines[-2:] == ["# end", ""]
    assert bucket.names() == ["large.csv"]


@pytest.mark.spark
def test_memory_is_written_from_here(tmp_path: Path) -> None:
    from sframe_spark import load_sframe

    SFrame({"number": range(400)}).save(str(tmp_path / "stored"))
    files = fsspec.filesystem("memory")
    with config.using(small_rows=0, single_task_rows=0, default_segments=2):
        stored = load_sframe(str(tmp_path / "stored"))
        stored = stored[stored["number"].apply(lambda n: n >= 0, dtype=int)]
        stored.write_parquet("memory://exports-of-tasks/p")
        stored.export_json("memory://exports-of-tasks/j.json")
    try:
        found = files.find("/exports-of-tasks")
        assert [row["number"] for row in json.loads(files.cat_file(found[0]))] == list(range(400))
        assert [pq.read_table(files.open(name)).num_rows for name in found[1:]] == [200, 200]
    finally:
        files.rm("/exports-of-tasks", recursive=True)
