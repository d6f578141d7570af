"""One life of frames, exports and temporary data on each kind of store.

Always on S3's and in memory; on others that ``SFRAME_SPARK_TEST_STORES`` names, a JSON object of options by URIs of buckets. Azurite and
fake-gcs-server, for example, with ``pip install adlfs gcsfs``::

    npx azurite-blob --inMemoryPersistence --blobPort 10123 --skipApiVersionCheck &
    fake-gcs-server -scheme http -port 14443 -backend memory &
    export STORAGE_EMULATOR_HOST=http://127.0.0.1:14443 GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT=false
    export SFRAME_SPARK_TEST_STORES='{"abfss://test": {"connection_string": "..."}, "gs://test": {"endpoint_url": "http://...", "token": "anon"}}'
"""

from __future__ import annotations

import json
import os
import threading
import uuid
from collections.abc import Iterator
from typing import Any

import fsspec
import pytest

from sframe_spark import SArray, SFrame, config, history, load_sframe, optimize, vacuum
from sframe_spark.__main__ import main
from sframe_spark.errors import ConcurrentSaveError, StorageError
from sframe_spark.storage.filesystem.remote_operations import file_system, listed
from sframe_spark.storage.filesystem.temporary_datasets import RemoteStore
from tests.storage.damage import frame_of_every_type

OTHERS: dict[str, dict[str, Any]] = json.loads(os.environ.get("SFRAME_SPARK_TEST_STORES", "{}"))


@pytest.fixture(params=["s3", "memory", *OTHERS])
def store(request: pytest.FixtureRequest) -> Iterator[str]:
    """A new place on a store."""
    name = uuid.uuid4().hex
    if request.param == "s3":
        yield f"{request.getfixturevalue('bucket').uri}/{name}"
    elif request.param == "memory":
        yield f"memory://{name}"
        files = fsspec.filesystem("memory")
        if files.exists(f"/{name}"):
            files.rm(f"/{name}", recursive=True)
    else:
        options = OTHERS[request.param]
        config.storage_options = {request.param: options}
        files, path = file_system(request.param)
        if not files.exists(path):
            files.mkdir(path)
        yield f"{request.param}/{name}"


def names(place: str) -> list[str]:
    return [file.uri.removeprefix(place + "/") for file in listed(place, below=True)]


def test_versions(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    place, frame = store + "/frame", frame_of_every_type()
    frame.save(place)
    first = load_sframe(place, verify=True)
    assert list(first) == list(frame)
    first[first["number"] > 100].save(place)
    load_sframe(place).append(frame).save(place)
    assert list(history(place)["rows"]) == [len(frame), len(frame) - 101, 2 * len(frame) - 101]
    assert len(load_sframe(place, version=2)) == len(frame) - 101 and list(first["name"]) == list(frame["name"])
    assert optimize(place) == 1
    load_sframe(place)[["number", "dict"]].save(store + "/columns")
    assert main(["verify", place, store + "/columns"]) == 0
    assert capsys.readouterr().out.count(": ok, ") == 2
    assert vacuum(place, older_than=0) and len(history(place)) == 1
    assert sum(load_sframe(place, verify=True)["number"]) == sum(range(len(frame))) + sum(range(101, len(frame)))


def test_of_many_savers_at_one_time_each_is_told(store: str) -> None:
    place, ready, outcomes = store + "/frame", threading.Barrier(4), []

    def save(number: int) -> None:
        with config.using(storage_options=options):
            ready.wait()
            try:
                SFrame({"a": [number] * 100}).save(place)
            except ConcurrentSaveError:
                outcomes.append(None)
            else:
                outcomes.append(number)

    options = config.storage_options
    threads = [threading.Thread(target=save, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 4
    saved = [number for number in outcomes if number is not None]
    found = [load_sframe(place, version=version, verify=True)["a"] for version in history(place)["version"]]
    assert sorted(column[0] for column in found) == sorted(saved) and all(len(set(column)) == 1 and len(column) == 100 for column in found)
    assert sum(name.endswith(".parquet") for name in names(place)) == len(saved)


def test_damage(store: str) -> None:
    place = store + "/frame"
    SFrame({"a": range(1000)}).save(place)
    (uri,) = [file.uri for file in listed(place, below=True) if file.uri.endswith(".parquet")]
    files, path = file_system(uri)
    content = bytearray(files.cat_file(path))
    content[60] ^= 4
    files.pipe_file(path, bytes(content))
    with pytest.raises(StorageError, match=r"segment-.*parquet"):
        list(load_sframe(place)["a"])
    files.pipe_file(path, bytes(content[:-5]))
    with pytest.raises(StorageError, match=r"segment-.*parquet"):
        list(load_sframe(place)["a"])


def test_exports(store: str) -> None:
    frame = SFrame({"a": [3, 1, 2], "t": ["x", "y", None]})
    frame[:1].export_csv(store + "/e.csv.gz")
    frame.export_csv(store + "/e.csv.gz")
    frame.export_json(store + "/e.json")
    frame.write_parquet(store + "/p")
    frame["a"].save(store + "/a.txt")
    assert list(SFrame.read_csv(store + "/*.csv.gz", verbose=False)["a"]) == [3, 1, 2]
    assert list(SFrame.read_json(store + "/e.json")["a"]) == [3, 1, 2]
    assert list(SFrame.read_parquet(store + "/p")["t"]) == ["x", "y", None]
    assert list(SArray(store + "/a.txt", dtype=int)) == [3, 1, 2]
    with pytest.raises(StorageError, match="cannot be replaced atomically"):
        frame.write_parquet(store + "/p")
    assert [name.rpartition(".")[2] for name in names(store)] == ["txt", "gz", "json", "parquet"]


def test_what_others_write_meanwhile_is_seen(store: str) -> None:
    SFrame({"a": [1]}).export_csv(store + "/in/1.csv")
    assert list(SFrame.read_csv(store + "/in", verbose=False)["a"]) == [1]
    files, path = file_system(store)
    # Another process: nothing here is told.
    other = type(files)(**files.storage_options, skip_instance_cache=True)
    other.pipe_file(f"{path}/in/2.csv", b"a\n2\n")
    assert list(SFrame.read_csv(store + "/in", verbose=False)["a"]) == [1, 2]
    assert list(SFrame.read_csv(store + "/in/*.csv", verbose=False)["a"]) == [1, 2]
    assert list(SFrame.read_csv(store + "/in/2.csv", verbose=False)["a"]) == [2]


# What is in the memory of a process no other one sees.
@pytest.mark.parametrize("store", ["s3", *OTHERS], indirect=True)
def test_temporary_data(store: str) -> None:
    data = RemoteStore(store + "/tmp")
    handle = data.new_dataset()
    files, path = file_system(f"{handle.directory}/segment-00000000-{uuid.uuid4().hex}.parquet")
    files.pipe_file(path, b"rows")
    assert len(names(store)) == 2 and any(file.written is not None for file in listed(data.directory))
    data.close()
    assert names(store) == []
