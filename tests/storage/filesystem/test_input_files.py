"""Places to read from: names as they are, patterns, lists, partitioned tables, and files from elsewhere."""

from __future__ import annotations

import builtins
import gc
import http.server
import os
import pathlib
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sframe_spark import SFrame
from sframe_spark.errors import InvalidArgumentError, SchemaError, StorageError
from sframe_spark.storage.filesystem import remote_input_listing_change_detection_and_download as input_urls, remote_operations
from sframe_spark.storage.filesystem.input_files import resolve
from sframe_spark.storage.filesystem.temporary_datasets import scratch_store


def write(path: Path, text: str = "x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def names(given: Any) -> list[str]:
    return [os.path.basename(path) for path in resolve(given, str).paths]


def test_what_has_the_name_is_meant_and_nothing_that_it_would_match(tmp_path: Path) -> None:
    for name in ("a[1].csv", "a1.csv", "b*.csv", "bb.csv", "d[1]/x.csv", "d1/y.csv"):
        write(tmp_path / name)
    assert names(tmp_path / "a[1].csv") == ["a[1].csv"] and names(str(tmp_path / "b*.csv")) == ["b*.csv"]
    assert names(tmp_path / "a[12].csv") == ["a1.csv"] and names(tmp_path / "?*.csv") == ["a1.csv", "a[1].csv", "b*.csv", "bb.csv"]
    # Names that are found are never patterns, nor are directories that are there.
    assert names(tmp_path / "d[1]") == ["x.csv"] and names(tmp_path / "d[1]" / "*") == ["x.csv"]


def test_lists_keep_their_order_and_name_what_is_missing(tmp_path: Path) -> None:
    a, b = write(tmp_path / "a.csv"), write(tmp_path / "b.csv")
    assert names([str(b), a, f"file://{b}"]) == ["b.csv", "a.csv", "b.csv"] and names((a, tmp_path / "*.csv")) == ["a.csv", "a.csv", "b.csv"]
    with pytest.raises(StorageError, match=r"there is no file .*/none\.csv: check the path"):
        names([a, tmp_path / "none.csv"])
    with pytest.raises(StorageError, match=r"no\*ne\.csv: nothing matches"):
        names([a, tmp_path / "no*ne.csv"])
    (tmp_path / "empty").mkdir()
    write(tmp_path / "empty" / "_SUCCESS")
    with pytest.raises(StorageError, match=r"there is no file in .*empty"):
        names([a, tmp_path / "empty"])
    with pytest.raises(InvalidArgumentError, match="the list of paths is empty"):
        names([])
    with pytest.raises(SchemaError, match="several paths are a list"):
        names([[a]])


def test_patterns_across_directories(tmp_path: Path) -> None:
    for name in ("x/1/a.csv", "x/2/b.csv", "x/c.csv"):
        write(tmp_path / name)
    assert names(tmp_path / "x" / "**" / "*.csv") == ["a.csv", "b.csv", "c.csv"]
    assert names(tmp_path / "x" / "[12]") == ["a.csv", "b.csv"]
    assert names(tmp_path / "x" / "*.csv") == ["c.csv"]


def test_the_directory_of_a_delta_table_is_refused_as_some_of_its_files_are_deleted_rows(tmp_path: Path) -> None:
    import deltalake

    table = tmp_path / "table"
    deltalake.write_deltalake(str(table), pa.table({"id": [1, 2, 3]}))
    deltalake.DeltaTable(str(table)).delete("id = 2")
    for place in (table, tmp_path / "tab*", [table]):
        with pytest.raises(StorageError, match=r"is a directory of a Delta table.*read_delta\(\).*name the files"):
            SFrame.read_parquet(place)
    assert sorted(SFrame.read_delta(table)["id"]) == [1, 3]
    assert len(SFrame.read_parquet(f"{table}/*.parquet")) == 5  # both files: asked for by what they are


def test_partitions_of_a_delta_table_are_refused_too(tmp_path: Path) -> None:
    import deltalake

    table = tmp_path / "table"
    for mode in ("append", "overwrite"):
        deltalake.write_deltalake(str(table), pa.table({"id": [1, 2], "p": [1, 2], "q=": ["a=", "b"]}), mode=mode, partition_by=["p", "q="])
    (tmp_path / "link").symlink_to(table / "p=1")
    for place in (table / "p=1", table / "p=*", table / "p=*" / "*", [table / "p=1", table / "p=2"], tmp_path / "link"):
        with pytest.raises(StorageError, match=r"is a directory of a Delta table.*read_delta\(\)"):
            SFrame.read_parquet(place)
    assert len(SFrame.read_parquet(f"{table}/**/*.parquet")) == 4 and len(SFrame.read_delta(table)) == 2


@pytest.mark.parametrize("place", ["table/data", "table/data/a=1", "table/data/a=*"])
@pytest.mark.parametrize("name", ["00001-1.metadata.json", "v1.metadata.json", "v1.gz.metadata.json", "v1.metadata.json.gz"])
def test_the_data_of_an_iceberg_table_is_refused(tmp_path: Path, place: str, name: str) -> None:
    part = tmp_path / "table" / "data" / "a=1"
    part.mkdir(parents=True)
    pq.write_table(pa.table({"b": [1]}), part / "0.parquet")
    assert len(SFrame.read_parquet(tmp_path / place)) == 1
    metadata = tmp_path / "table" / "metadata"
    metadata.mkdir()
    (metadata / name).write_text("{}")
    with pytest.raises(StorageError, match=r"is a directory of an Iceberg table.*read_iceberg\(\)"):
        SFrame.read_parquet(tmp_path / place)


def test_columns_of_directories_are_those_below_what_is_given(tmp_path: Path) -> None:
    part = tmp_path / "year=2024" / "city=Oslo"
    part.mkdir(parents=True)
    pq.write_table(pa.table({"a": [1]}), part / "0.parquet")
    found = {place: SFrame.read_parquet(tmp_path / place).column_names() for place in (".", "year=2024", "year=*", "**/*.parquet")}
    assert found == {".": ["a", "year", "city"], "year=2024": ["a", "city"], "year=*": ["a", "city"], "**/*.parquet": ["a"]}


def test_directories_of_a_partitioned_table(tmp_path: Path) -> None:
    for name in ("y=2/m=01/a.csv", "y=1/m=%2F%C3%A9/b.csv", "y=1/m=__HIVE_DEFAULT_PARTITION__/c.csv", "_y=1", ".y=2/a"):
        write(tmp_path / name)
    (tmp_path / "_y=1").unlink()
    found = resolve(tmp_path, str).files
    assert [file.partition for file in found] == [(("y", "1"), ("m", "%2F%C3%A9")), (("y", "1"), ("m", None)), (("y", "2"), ("m", "01"))]
    # What is asked for by itself is a table of its own.
    assert [file.partition for file in resolve(tmp_path / "y=2", str).files] == [(("m", "01"),)]


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (("y=1/a.csv", "z=1/b.csv"), "not parts of one partitioned table"),
        (("y=1/a.csv", "y=2/z=1/b.csv"), "not parts of one partitioned table"),
        (("y=1/y=2/a.csv",), "each column once"),
        (("y=/a.csv",), "named column=value"),
        (("=1/a.csv",), "named column=value"),
        (("y=%FF/a.csv",), "not text in UTF-8"),
        (("y=1/a.csv", "b.csv"), "is a directory among files"),
        (("sub/a.csv",), "is a directory among files"),
    ],
)
def test_directories_that_are_no_partitioned_table_are_refused(files: tuple[str, ...], words: str, tmp_path: Path) -> None:
    for name in files:
        write(tmp_path / "t" / name)
    with pytest.raises(StorageError, match=words):
        resolve(tmp_path / "t", str)


def test_a_directory_in_itself_ends(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "x=1").symlink_to(tmp_path / "t")
    with pytest.raises(StorageError):
        resolve(tmp_path / "t", str)


@pytest.fixture
def memory() -> Iterator[Any]:
    files = fsspec.filesystem("memory")
    files.store.clear()
    yield files
    files.store.clear()


def test_files_of_any_file_system(memory: Any, tmp_path: Path) -> None:
    memory.pipe({"/t/y=2/a.csv": b"n\n1\n", "/t/y=1/b.csv": b"n\n2\n", "/t/_SUCCESS": b"", "/one.csv": b"n\n7\n8\n", "/p[1].csv": b"n\n9\n"})
    assert list(SFrame.read_csv("memory://one.csv")["n"]) == [7, 8]
    assert list(SFrame("memory:///one.csv")["n"]) == [7, 8]
    assert list(SFrame.read_csv([pathlib.PurePosixPath("memory://one.csv"), "memory://p[1].csv"])["n"]) == [7, 8, 9]
    assert list(SFrame.read_csv("memory://?*e.csv")["n"]) == [7, 8]
    assert [file.partition for file in resolve("memory://t", str).files] == [(("y", "1"),), (("y", "2"),)]
    with pytest.raises(StorageError, match=r"there is no file memory://none\.csv: check the address"):
        SFrame.read_csv("memory://none.csv")
    pq.write_table(pa.table({"a": [1, 2]}), tmp_path / "x.parquet")
    memory.pipe("/x.parquet", (tmp_path / "x.parquet").read_bytes())
    frame = SFrame.read_parquet("memory://x.parquet")
    memory.rm("/x.parquet")
    assert list(frame["a"] + 1) == [2, 3]


def test_what_comes_in_part_is_refused(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.pipe("/one.csv", b"n\n7\n8\n")
    monkeypatch.setattr(memory, "info", lambda path, **_: {"name": path, "size": 999, "type": "file"})
    with pytest.raises(StorageError, match=r"memory:///?one\.csv has 999 bytes, but 6 came"):
        SFrame.read_csv("memory://one.csv")


def test_several_files_come_at_a_time_and_stay_in_order(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    together = threading.Barrier(3)
    memory.pipe({f"/t/{number}.csv": f"n\n{number}\n".encode() for number in range(6)})
    real = memory.open

    def opened(*arguments: Any, **options: Any) -> Any:
        together.wait(20)
        return real(*arguments, **options)

    monkeypatch.setattr(memory, "open", opened)
    assert list(SFrame.read_csv("memory://t")["n"]) == list(range(6))


def test_of_several_files_the_first_that_fails_is_told_and_nothing_stays(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.pipe({f"/t/{number}.csv": b"n\n1\n" for number in range(20)})
    real, made = memory.open, []
    monkeypatch.setattr(input_urls, "scratch_store", lambda: made.append(scratch_store()) or made[-1])

    def opened(path: str, *arguments: Any, **options: Any) -> Any:
        if path.endswith(("/7.csv", "/3.csv")):
            raise PermissionError("not yours")
        return real(path, *arguments, **options)

    monkeypatch.setattr(memory, "open", opened)
    before = sorted(os.listdir(scratch_store().directory))
    with pytest.raises(StorageError, match=r"cannot read memory:///t/3\.csv: permission denied \(not yours\)"):
        SFrame.read_csv("memory://t")
    gc.collect()
    assert made and sorted(os.listdir(scratch_store().directory)) == before


def test_names_from_elsewhere_are_no_paths(memory: Any) -> None:
    memory.pipe("/t/..%2F..%2Fetc.csv", b"n\n1\n")
    memory.store["/t/\x1b[2J.csv"] = memory.store["/t/..%2F..%2Fetc.csv"]
    found = resolve("memory://t", str)
    assert {os.path.dirname(path) for path in found.paths} == {found.holder.directory}
    assert all(path.isprintable() for path in found.paths)


@pytest.mark.parametrize("url", ["s3://bucket/x.csv", "foo://x/y.csv", "abfss://c@a/frame.csv"])
def test_a_package_that_is_missing_is_named(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "s3fs", None)
    # Where others have used it, it is known.
    monkeypatch.delitem(sys.modules["fsspec.registry"]._registry, "s3", raising=False)
    with pytest.raises(StorageError, match=r"s3fs|there is no file system 'foo'|adlfs"):
        SFrame.read_csv(url)


def test_without_fsspec_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__
    # Others have opened it before.
    remote_operations._opened.cache_clear()

    def without(name: str, *arguments: Any, **options: Any) -> Any:
        if name.split(".", maxsplit=1)[0] == "fsspec":
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(StorageError, match=r"pip install 'sframe_spark\[remote\]'"):
        SFrame.read_parquet("s3://bucket/x.parquet")


class Handler(http.server.BaseHTTPRequestHandler):
    """One file, one that ends too early, and nothing else."""

    def do_GET(self) -> None:
        if self.path.startswith("/status/"):
            self.send_response(int(self.path.removeprefix("/status/")))
            self.end_headers()
            return
        if self.path not in ("/data/a%20b.csv?x=1", "/short.csv"):
            self.send_error(404, "Not here\x1b[2J")
            return
        body = b"n\n1\n2\n"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body) + 5 * (self.path == "/short.csv")))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@pytest.fixture
def web() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_files_from_the_web(web: str) -> None:
    assert list(SFrame.read_csv(f"{web}/data/a%20b.csv?x=1")["n"]) == list(SFrame.read_csv(f"{web}/data/a b.csv?x=1")["n"]) == [1, 2]
    with pytest.raises(StorageError, match="the server answers 404 Not here") as caught:
        SFrame.read_csv(f"{web}/none.csv")
    assert "\x1b" not in str(caught.value)
    with pytest.raises(StorageError, match=r"short\.csv"):
        SFrame.read_csv(f"{web}/short.csv")


@pytest.mark.parametrize("status", [202, 204, 206])
def test_an_answer_that_is_no_whole_file_is_told(web: str, status: int) -> None:
    with pytest.raises(StorageError, match=rf"status/{status}: the server answers {status} .*, not with a whole file"):
        SFrame.read_csv(f"{web}/status/{status}")


@pytest.mark.parametrize("url", ["http://", "http://[bad/x.csv", "http://\x1b[2J/x.csv", "http:///x.csv"])
def test_addresses_that_are_none(url: str) -> None:
    with pytest.raises(StorageError, match="cannot read http://") as caught:
        SFrame.read_csv(url)
    assert "\x1b" not in str(caught.value)


def test_a_server_that_is_not_there() -> None:
    with pytest.raises(StorageError, match=r"cannot read http://127.0.0.1:1/x.csv: .*refused"):
        SFrame.read_csv("http://127.0.0.1:1/x.csv")


def test_errors_name_what_was_fetched_by_its_url(memory: Any) -> None:
    memory.pipe({"/one.csv": b"n\n\xff\n", "/x.parquet": b"nothing"})
    for read, name in ((SFrame.read_csv, "one.csv"), (SFrame.read_parquet, "x.parquet")):
        with pytest.raises(StorageError, match=rf"memory://?/?{name}") as caught:
            read(f"memory://{name}")
        assert "dataset-" not in str(caught.value)


def test_several_stars_name_a_file_once(tmp_path: Path) -> None:
    write(tmp_path / "x" / "y" / "a.csv")
    write(tmp_path / "x" / "b.csv")
    assert names(tmp_path / "**" / "**" / "*.csv") == ["b.csv", "a.csv"]


def test_a_pattern_leaves_no_directory_out_in_silence(tmp_path: Path) -> None:
    (tmp_path / "year=2024").mkdir()
    (tmp_path / "empty").mkdir()
    (tmp_path / "_hidden").mkdir()
    for name in ("b.csv", "year=2024/a.csv", "_hidden/c.csv"):
        (tmp_path / name).write_text("x\n1\n")
    with pytest.raises(StorageError, match=r"matches files and the directory .*year=2024 with others"):
        resolve(f"{tmp_path}/*", str)
    assert [Path(path).name for path in resolve(f"{tmp_path}/*.csv", str).paths] == ["b.csv"]
    assert {"a.csv", "b.csv"} <= {Path(path).name for path in resolve(f"{tmp_path}/**/*.csv", str).paths}


@pytest.mark.parametrize(
    "url", ["http://me:secret@127.0.0.1:9/a.csv?sig=secret", "https://127.0.0.1:9/a.csv?sig=secret", "nonsense://me:secret@host/a"]
)
def test_messages_show_no_secrets(url: str) -> None:
    with pytest.raises(StorageError) as raised:
        resolve(url, str)
    assert "secret" not in str(raised.value)


def test_a_directory_of_hudi_is_no_directory_of_files(tmp_path: Path) -> None:
    (tmp_path / ".hoodie").mkdir()
    (tmp_path / "a.csv").write_text("x\n1\n")
    with pytest.raises(StorageError, match=r"is a directory of a Hudi table.*format\('hudi'\)"):
        resolve(str(tmp_path), str)
    assert [Path(path).name for path in resolve(f"{tmp_path}/*.csv", str).paths] == ["a.csv"]
