"""Places that are none are told in one line, by an error of ours, with what to do."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SFrame, config, load_sframe
from sframe_spark.errors import StorageError
from sframe_spark.storage.files import file_systems
from sframe_spark.storage.files.failures import telling

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


@pytest.mark.parametrize("place", ["s3://", "s3:///a.csv", "S3A:///a*", "gs://"])
def test_no_bucket_is_named(place: str) -> None:
    advice = "names no bucket: write gs://bucket/name" if place == "gs://" else "names no bucket: write s3://bucket/name"
    for read in READ.values():
        assert advice in told(partial(read, place))
    if place.endswith("://"):
        assert advice in told(lambda: load_sframe(place)) and advice in told(lambda: SFrame({"a": [1]}).save(place))


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
    assert "check endpoint_url in config.storage_options" in file_systems.explanation(error, "s3://bucket/a", "{}")
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
    from sframe_spark.storage.files import temporary_elsewhere
    from sframe_spark.storage.files.temporary import temporary_store

    def refused(*_: object) -> None:
        with telling("write", "s3://bucket/tmp"):
            raise OSError(errno.EIO, "no answer")

    monkeypatch.setattr(temporary_elsewhere, "put_bytes", refused)
    with config.using(temporary_directory=f"s3://bucket-{os.getpid()}/tmp"):
        message = told(temporary_store)
    assert message.startswith("temporary data cannot be kept in s3://bucket-") and message.endswith("(SFRAME_SPARK_TMP) names another place")
