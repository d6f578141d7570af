"""Places that are none are told in one line, by an error of ours, with what to do."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from sframe_spark import SArray, SFrame, config, history, load_sarray, load_sframe, optimize, vacuum
from sframe_spark.errors import SFrameError, StorageError
from sframe_spark.paths_and_uris import location_of, with_canonical_scheme
from sframe_spark.process.temporary_file_leases import new_name
from sframe_spark.storage.filesystem import remote_operations
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.filesystem.remote_input_listing_change_detection_and_download import normalised_url
from sframe_spark.storage.filesystem.remote_operations import translate_remote_errors

READ: dict[str, Callable[[Any], Any]] = {
    "csv": SFrame.read_csv,
    "parquet": SFrame.read_parquet,
    "orc": SFrame.read_orc,
    "json": SFrame.read_json,
}
WRITE: dict[str, Callable[[SFrame, Any], Any]] = {
    "csv": SFrame.export_csv,
    "parquet": SFrame.write_parquet,
    "orc": SFrame.write_orc,
    "json": SFrame.export_json,
    "frame": SFrame.save,
}


def told(work: Callable[[], Any]) -> str:
    """The one line of an error of ours."""
    with pytest.raises(StorageError) as error:
        work()
    assert "\n" not in str(error.value)
    return str(error.value)


NO_BUCKETS = (
    "s3://", "s3:///a.csv", "S3A:///a*", "s3n:////a", "gs://", "gcs:///a/b", "abfss:///a", "abfs://@account/a", "az:///a", "s3://./a", "gs:// /a",
)  # fmt: skip
FRAME = SFrame({"a": [1]})
# Whatever else takes a place.
OTHER: dict[str, Callable[[Any], Any]] = {
    "load": load_sframe,
    "load column": load_sarray,
    "open": SFrame,
    "open column": SArray,
    "column of JSON": SArray.read_json,
    "list": lambda place: SFrame.read_csv([place]),
    "pattern": lambda place: SFrame.read_parquet(f"{place}/*.parquet"),
    "save column": FRAME["a"].save,
    "save text": lambda place: FRAME.save(place, format="csv"),
    "save column's text": lambda place: FRAME["a"].save(place, format="text"),
    "optimize": optimize,
    "versions": history,
    "vacuum": vacuum,
    "checkpoint": FRAME.checkpoint,
    "temporary data": lambda place: setattr(config, "temporary_directory", place),
    "options of a place": lambda place: setattr(config, "storage_options", {f"{place}/a": {}}),
    "cached": lambda place: SFrame.read_csv(f"simplecache::{place}"),
}


@pytest.mark.parametrize("place", NO_BUCKETS)
def test_no_bucket_is_named(place: str) -> None:
    for door in (*READ.values(), *(partial(write, FRAME) for write in WRITE.values()), *OTHER.values()):
        with pytest.raises(SFrameError) as error:
            door(place)
        # What is told first of a place that has several faults.
        other = ("names a directory",) if place.endswith("/") else ("contains '*'",) if "*" in place else ()
        told = re.search("does not name a bucket: write (s3|gs|abfss|az)://bucket/name", str(error.value)) or any(
            words in str(error.value) for words in other
        )
        assert told and "\n" not in str(error.value), door


@pytest.mark.parametrize("scheme", ["s3", "S3A", "gs", "gcs", "abfss", "az", "sftp", "memory", "lake", "hdfs", "viewfs"])
def test_all_doors_take_a_place_for_the_same(scheme: str) -> None:
    """Of two slashes pathlib leaves one, which Hadoop writes where no host is named; three name none."""
    usual = {"S3A": "s3", "gcs": "gs"}.get(scheme, scheme)
    for text in (f"{scheme}:/node/a", f"{scheme}://node/a", f" {scheme}:/node/a"):
        host = "" if scheme in ("hdfs", "viewfs") and "//" not in text else "node"
        read = with_canonical_scheme(normalised_url(text))
        assert read == location_of(text) == (f"{usual}://{host}/a" if host else f"{usual}:///node/a")
    if scheme in ("hdfs", "viewfs", "sftp", "memory", "lake"):
        assert location_of(f"{scheme}:///a") == location_of(normalised_url(f"{scheme}:///a"))


@pytest.mark.parametrize("door", WRITE)
def test_names_that_are_too_long(tmp_path: Path, door: str) -> None:
    assert "choose a shorter one" in told(lambda: WRITE[door](SFrame({"a": [1]}), tmp_path / ("x" * 300)))


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs a file system that makes no files")
@pytest.mark.parametrize("door", WRITE)
def test_places_where_nothing_is_made(door: str) -> None:
    assert "choose another path" in told(lambda: WRITE[door](SFrame({"a": [1]}), "/proc/none"))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a,b\n1,2\n", "text: read it with read_csv"),
        (b"PAR1\x15\x04", "Parquet file: read it with read_parquet"),
        (b"\x00", "is a file;"),
        (b"", "is a file;"),
    ],
)
def test_files_that_are_opened_as_saved_frames(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "file").write_bytes(content)
    assert words in told(lambda: load_sframe(tmp_path / "file")) and "a saved frame is a directory" in told(lambda: load_sframe(tmp_path / "file"))


def test_files_that_are_read_as_tables(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"secret": 5}\n')
    assert "is a file; a Delta table is a directory" in told(lambda: SFrame.read_delta(tmp_path / "a.json"))
    message = told(lambda: SFrame.read_iceberg(tmp_path / "a.json"))
    assert "holds no metadata of an Iceberg table" in message and "secret" not in message


def test_addresses_that_are_none() -> None:
    error = ValueError("Invalid endpoint: 127.0.0.1")
    assert "check endpoint_url in config.storage_options" in remote_operations.explanation(error, "s3://bucket/a", "{}")
    assert "check the address and the network" in told(lambda: SFrame.read_csv("http://127.0.0.1:9/a.csv"))


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="permissions of POSIX")
@pytest.mark.parametrize("name", ["a.csv", "*.csv"])
def test_directories_that_may_not_be_entered(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "closed"
    place.mkdir()
    (place / "a.csv").write_text("a\n1\n")
    place.chmod(0)
    if os.geteuid() == 0:
        # The administrator enters all of them.
        status = os.lstat

        def refused(path: Any, **options: Any) -> os.stat_result:
            if str(path).startswith(f"{place}/"):
                raise PermissionError(errno.EACCES, "Permission denied", str(path))
            return status(path, **options)

        monkeypatch.setattr(os, "lstat", refused)
    for read in READ.values():
        assert "permission denied; ask its owner" in told(partial(read, place / name))
    place.chmod(0o700)


def test_two_slashes_are_another_name() -> None:
    SFrame({"a": [1]}).export_csv("memory://slashes//a.csv")
    assert len(SFrame.read_csv("memory://slashes/a.csv")) == 1
    assert "two slashes name another file than one does" in told(lambda: SFrame.read_csv("memory://slashes//a.csv"))


def test_a_temporary_place_elsewhere_is_told_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from sframe_spark.storage.filesystem import temporary_datasets
    from sframe_spark.storage.filesystem.temporary_datasets import temporary_store

    def refused(*_: object) -> None:
        with translate_os_errors("write", "s3://bucket/tmp"):
            raise OSError(errno.EIO, "no answer")

    monkeypatch.setattr(temporary_datasets, "put_bytes", refused)
    with config.using(temporary_directory=f"s3://bucket-{os.getpid()}/tmp"):
        message = told(temporary_store)
    assert message.startswith("temporary data cannot be kept in s3://bucket-") and message.endswith("(SFRAME_SPARK_TMP) names another place")


class OfAnother(MemoryFileSystem):
    """A store in which nothing can be written, as an error tells that its writers raise."""

    cachable = False
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]

    def __init__(self, refusal: Callable[[str], Exception]) -> None:
        super().__init__()
        self.refusal = refusal

    def _refuse(self, path: str, *_: Any, **__: Any) -> Any:
        raise self.refusal(path)

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **_: Any) -> Any:
        self._refuse(path)

    put_file = makedirs = mkdir = cp_file = mv = rm_file = _refuse


REFUSALS: dict[str, Callable[[str], Exception]] = {
    "store's": lambda path: PermissionError("Access Denied"),
    "system's": lambda path: PermissionError(errno.EACCES, "Permission denied", path),
    "read-only": lambda path: OSError(errno.EROFS, "Read-only file system", path),
    "broken": lambda path: OSError(errno.EIO, "Input/output error", path),
}
WRITERS: dict[str, Callable[[SFrame, Any], Any]] = {
    **WRITE,
    "checkpoint": SFrame.checkpoint,
    "text": lambda frame, place: frame["a"].save(place, format="text"),
    "column": lambda frame, place: frame["a"].save(place),
}
ADVICE = {
    "store's": "check the credentials",
    "system's": "permission",
    "read-only": "name another place|choose another path",
    "broken": "Input/output",
}


@pytest.mark.parametrize("refusal", REFUSALS)
@pytest.mark.parametrize("door", WRITERS)
def test_stores_that_are_not_written_are_told_by_the_name_that_the_user_gave(door: str, refusal: str) -> None:
    with config.using(storage_options={"lake://": OfAnother(REFUSALS[refusal])}):
        message = told(lambda: WRITERS[door](SFrame({"a": range(10)}), "lake://box/mine/x"))
    assert re.match(r"cannot (write|save to) lake://box/mine/x: ", message) and re.search(ADVICE[refusal], message)
    assert not re.search("_manifests|data/|part-|sframe_spark-|[0-9a-f]{8}", message), message


@pytest.mark.parametrize("refusal", ["read-only", "broken"])
@pytest.mark.parametrize("door", WRITERS)
def test_directories_that_are_not_written_are_told_by_the_name_that_the_user_gave(
    tmp_path: Path, door: str, refusal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = str(tmp_path / "mine")

    def guarded(work: Callable[..., Any]) -> Callable[..., Any]:
        def checked(path: Any, *rest: Any, **named: Any) -> Any:
            if str(path).startswith(str(tmp_path)):
                raise REFUSALS[refusal](str(path))
            return work(path, *rest, **named)

        return checked

    for name in ("mkdir", "makedirs", "rename", "replace"):
        monkeypatch.setattr(os, name, guarded(getattr(os, name)))
    message = told(lambda: WRITERS[door](SFrame({"a": range(10)}), place))
    monkeypatch.undo()
    assert re.match(rf"cannot (write|save to) {re.escape(place)}: ", message) and re.search(ADVICE[refusal], message)
    assert not re.search(r"_manifests|part-|/\.|[0-9a-f]{8}", message.replace(str(tmp_path), "")), message


def test_files_of_ours_go_by_the_place_that_was_named() -> None:
    number = "0123456789abcdef" * 2
    for below in (
        "_manifests/00000007.json",
        f"data/{number}/segment-00000001-{number}.parquet",
        f"data/{number}",
        f".{new_name()}/part-{number}",
        f"{new_name()}/dataset-000001/owner",
        f"part-00012-{number}.parquet",
    ):
        with (
            pytest.raises(StorageError, match=r"^cannot write s3://box/mine/a: it cannot be reached"),
            translate_remote_errors("write", f"s3://box/mine/a/{below}"),
        ):
            raise ConnectionError("no answer")
