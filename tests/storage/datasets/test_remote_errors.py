"""What goes wrong elsewhere is told in one line that says what to do, and never shows a secret."""

from __future__ import annotations

import builtins
import contextlib
import io
import pickle
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sframe_spark import SArray, SFrame, config, history, load_sframe, vacuum
from sframe_spark.__main__ import main
from sframe_spark.config import Configuration, StorageOptions
from sframe_spark.errors import InvalidArgumentError, StorageError
from sframe_spark.storage.filesystem import remote_operations
from sframe_spark.storage.filesystem.remote_operations import file_system, translate_remote_errors
from sframe_spark.storage.filesystem.temporary_datasets import temporary_store
from tests.storage.datasets.conftest import KEY, SECRET, Bucket


def told(work: Any) -> str:
    """The message of a failure: one line, without secrets."""
    with pytest.raises(StorageError) as raised:
        work()
    found: BaseException | None = raised.value
    while found is not None:
        assert KEY not in str(found) and SECRET not in str(found)
        found = found.__cause__ or (None if found.__suppress_context__ else found.__context__)
    assert "\n" not in str(raised.value)
    return str(raised.value)


@pytest.fixture(autouse=True)
def no_credentials_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is found by chance, nor asked of a network that is not there."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    yield


ONE = {"a": [1]}
DOORS: dict[str, Callable[[str], Any]] = {
    "save": lambda place: SFrame(ONE).save(place),
    "save a column": lambda place: SArray([1]).save(place),
    "load": load_sframe,
    "load a column": SArray,
    "history": history,
    "vacuum": vacuum,
    "csv": lambda place: SFrame(ONE).export_csv(place),
    "csv.gz": lambda place: SFrame(ONE).save(place + ".csv.gz"),
    "json": lambda place: SFrame(ONE).export_json(place),
    "text": lambda place: SArray([1]).save(place, format="text"),
    "parquet": lambda place: SFrame(ONE).write_parquet(place),
    "orc": lambda place: SFrame(ONE).write_orc(place),
    "read csv": lambda place: SFrame.read_csv(place + ".csv"),
    "read many": lambda place: SFrame.read_csv(place + "/*.csv"),
    "read json": lambda place: SFrame.read_json(place),
    "read parquet": lambda place: SFrame.read_parquet(place),
    "read orc": lambda place: SFrame.read_orc(place),
    "temporary": lambda place: temporary_data(place),
    "verify": lambda place: of_command("verify", place),
    "clean": lambda place: of_command("clean", place),
}


def temporary_data(place: str) -> None:
    with config.using(temporary_directory=place):
        temporary_store()


def of_command(name: str, place: str) -> None:
    """Raise what a command has shown."""
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        assert main([name, place]) == 1
    raise StorageError(next(line for line in shown.getvalue().splitlines() if "://" in line))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("door", DOORS)
def test_no_bucket(bucket: Bucket, door: str) -> None:
    assert "there is no s3://nothing-of-that-name: create it, or check the name" in told(lambda: DOORS[door]("s3://nothing-of-that-name/frame"))


@pytest.mark.parametrize("door", DOORS)
def test_no_credentials(bucket: Bucket, door: str) -> None:
    config.storage_options = {"s3://": {"endpoint_url": bucket.options["endpoint_url"]}}
    found = told(lambda: DOORS[door](bucket.uri + "/frame"))
    assert "no credentials were found: set config.storage_options['s3://" in found


@pytest.mark.parametrize("door", DOORS)
def test_options_that_are_none(bucket: Bucket, door: str) -> None:
    config.storage_options = {"s3://": {**bucket.options, "client_kwargs": {"nonsense": SECRET}}}
    assert "does not take these options" in told(lambda: DOORS[door](bucket.uri + "/frame"))


@pytest.fixture(scope="module")
def nobody() -> Iterator[str]:
    """An address at which nobody listens, and nobody else can; one for all tests, as a client is made for each."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("door", DOORS)
def test_nobody_answers(bucket: Bucket, nobody: str, door: str) -> None:
    config.storage_options = {"s3://": {**bucket.options, "endpoint_url": nobody, "config_kwargs": {"retries": {"max_attempts": 0}}}}
    found = told(lambda: DOORS[door](bucket.uri + "/frame"))
    assert "cannot be reached" in found and nobody in found


def test_a_bucket_that_may_only_be_read(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    place = bucket.uri + "/frame"
    SFrame({"a": [1]}).save(place)
    files, _ = file_system(place)
    monkeypatch.setattr(files, "put_file", lambda *_, **__: (_ for _ in ()).throw(PermissionError(f"Access Denied to {KEY}")))
    found = told(lambda: SFrame({"a": [2]}).save(place))
    assert "permission denied (Access Denied to ***): check the credentials in config.storage_options" in found
    assert list(load_sframe(place)["a"]) == [1]


@pytest.mark.parametrize("scheme", ["gs", "abfss", "nosuch"])
@pytest.mark.parametrize("door", DOORS)
def test_schemes_without_a_package(door: str, scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import fsspec

    monkeypatch.setattr(remote_operations, "_opened", remote_operations._opened.__wrapped__)
    real = fsspec.get_filesystem_class

    def missing(name: str) -> Any:
        if name in ("gs", "abfss"):
            raise ImportError("Please install it")
        return real(name)

    monkeypatch.setattr(fsspec, "get_filesystem_class", missing)
    wanted = {"gs": "pip install 'sframe_spark[remote]' gcsfs", "abfss": "'sframe_spark[remote]' adlfs", "nosuch": "no file system 'nosuch'"}
    assert wanted[scheme] in told(lambda: DOORS[door](f"{scheme}://bucket/frame"))


@pytest.mark.parametrize("words", ["Unable to load libjvm", "Unable to load libhdfs: libhdfs.so: cannot open shared object file"])
def test_hadoop_that_is_not_here(words: str) -> None:
    with (
        pytest.raises(StorageError, match="set JAVA_HOME, HADOOP_HOME and CLASSPATH") as caught,
        translate_remote_errors("open", "hdfs://there:8020"),
    ):
        raise OSError(words)
    assert words in str(caught.value)


@pytest.mark.parametrize("door", DOORS)
def test_no_fsspec(door: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_operations, "_opened", remote_operations._opened.__wrapped__)
    real = builtins.__import__

    def without(name: str, *arguments: Any, **more: Any) -> Any:
        if name.split(".", maxsplit=1)[0] == "fsspec":
            raise ImportError(name)
        return real(name, *arguments, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    assert "pip install 'sframe_spark[remote]' s3fs" in told(lambda: DOORS[door]("s3://bucket/frame"))


@pytest.mark.parametrize(
    "error", [OSError(5, f"told {SECRET}"), ValueError(f"{KEY}\n{SECRET}"), RuntimeError(SECRET * 50), TypeError(KEY), ConnectionError(SECRET)]
)
def test_messages_of_libraries_with_secrets_in_them(bucket: Bucket, error: Exception) -> None:
    def fail() -> None:
        with translate_remote_errors("read", bucket.uri + "/frame"):
            raise error

    assert len(told(fail)) < 600


def test_options_are_not_shown() -> None:
    configuration = Configuration()
    configuration.storage_options = {"s3a://bucket": {"key": KEY, "secret": SECRET}}
    for text in (
        repr(configuration),
        str(configuration.as_dict()),
        repr(configuration.storage_options),
        str(StorageOptions({"s3://": {"key": KEY}})),
    ):
        assert KEY not in text and SECRET not in text
    assert list(configuration.storage_options) == ["s3://bucket"]
    assert pickle.loads(pickle.dumps(configuration.storage_options)) == configuration.storage_options


@pytest.mark.parametrize(
    "value",
    [
        SECRET,
        {SECRET: {}},
        {"s3://b": SECRET},
        {"s3://b": {"key": object()}},
        {"s3://b": {SECRET: {1: 2}}},
        {5: {}},
        {f"s3://{KEY}:{SECRET}@b": {}},
        {"s3://b": {"key": [SECRET, {1}]}},
        [("s3://b", {})],
    ],
)
def test_options_of_another_form_are_refused_and_not_shown(value: Any) -> None:
    before = config.storage_options
    with pytest.raises((InvalidArgumentError, StorageError)) as raised:
        config.storage_options = value
    assert SECRET not in str(raised.value) and KEY not in str(raised.value)
    assert config.storage_options == before


def test_the_longest_beginning_counts() -> None:
    options = StorageOptions({"s3://": {"a": 1}, "s3://b": {"a": 2}, "s3://b/x": {"a": 3}, "memory://": {"a": 4}})
    places = {"s3://c/x": 1, "s3://b/y": 2, "s3://bc/y": 1, "s3://b/x": 3, "s3://b/x/y": 3, "s3://b/xy": 2, "memory://z": 4}
    assert {place: options.of_place(place)["a"] for place in places} == places
    assert options.of_place("gs://b") == {}


@pytest.mark.parametrize("name", ["b c", "bücket", "name:80"])
def test_names_that_no_bucket_has(bucket: Bucket, name: str) -> None:
    message = told(lambda: load_sframe(f"s3://{name}/frame"))
    assert "Invalid bucket name" in message and f"check the name s3://{name}" in message


def test_users_in_uris_and_addresses_are_not_shown(bucket: Bucket) -> None:
    assert SECRET not in told(lambda: load_sframe(f"s3://{SECRET}@bucket/frame"))
    config.storage_options = {"s3://": {"anon": True, "endpoint_url": f"http://{KEY}:{SECRET}@127.0.0.1:1"}}

    def fail() -> None:
        with translate_remote_errors("read", bucket.uri + "/frame"):
            raise ConnectionError(f"no answer from http://{KEY}:{SECRET}@127.0.0.1:1")

    assert "127.0.0.1:1" in told(fail)


def test_file_systems_that_are_none_by_themselves() -> None:
    assert "cannot open generic://x" in told(lambda: load_sframe("generic://x"))
