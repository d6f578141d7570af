"""An S3 server of this process's own, a bucket for each test, and what was asked of it."""

from __future__ import annotations

import logging
import re
import uuid
import zlib
from collections.abc import Iterator
from pathlib import Path

import attrs
import fsspec
import pytest
from fsspec.implementations.dirfs import DirFileSystem
from fsspec.implementations.local import LocalFileSystem
from moto.backends import get_backend
from moto.core import DEFAULT_ACCOUNT_ID
from moto.server import ThreadedMotoServer
from werkzeug.serving import WSGIRequestHandler

from sframe_spark import config
from sframe_spark.engine import costs

REQUEST = re.compile(r"(GET|HEAD|PUT|POST|DELETE) \S+")
KEY, SECRET = "AKIDEXAMPLEKEY", "a-secret-that-nobody-should-see"


@attrs.frozen
class Bucket:
    """A bucket of the server.

    Parameters
    ----------
    uri
        Its URI.
    options
        What fsspec has to know of the server.
    """

    uri: str
    options: dict[str, str]

    @property
    def files(self) -> fsspec.AbstractFileSystem:
        """The file system, which remembers nothing."""
        found = fsspec.filesystem("s3", **self.options)
        found.invalidate_cache()
        return found

    def names(self) -> list[str]:
        """All objects, by their names in the bucket."""
        bucket = self.uri.removeprefix("s3://")
        return sorted(name.removeprefix(bucket + "/") for name in self.files.find(bucket))


class Requests(logging.Handler):
    """Lines that the server logs: method and path of each request about a bucket; rows of earlier tests are deleted when nobody holds them."""

    def __init__(self, bucket: Bucket) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._path = bucket.uri.removeprefix("s3:/")

    def emit(self, record: logging.LogRecord) -> None:
        found = REQUEST.search(record.getMessage())
        if found is not None and found[0].partition(" ")[2].startswith(self._path):
            self.lines.append(found[0])

    def of_data(self) -> list[str]:
        """Methods of the requests for files of rows."""
        return [line.split(" ")[0] for line in self.lines if "/data/" in line and "list-type" not in line]


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The address of the server."""
    log = logging.getLogger("werkzeug")
    before = log.level, log.propagate
    log.setLevel(logging.INFO)
    log.propagate = False
    found = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    with pytest.MonkeyPatch.context() as patch:
        # Connections are kept, as stores keep them: a new one, and a thread, for each request takes a fifth of the time.
        patch.setattr(WSGIRequestHandler, "protocol_version", "HTTP/1.1")
        found.start()
        host, port = found.get_host_and_port()
        yield f"http://{host}:{port}"
        found.stop()
    log.setLevel(before[0])
    log.propagate = before[1]


@pytest.fixture
def bucket(server: str) -> Iterator[Bucket]:
    """A new bucket, with its credentials in the configuration."""
    options = {"key": KEY, "secret": SECRET, "endpoint_url": server}
    found = Bucket(f"s3://b{uuid.uuid4().hex[:16]}", options)
    # The server is in this process, and asked without a request: hundreds of tests have a bucket.
    get_backend("s3")[DEFAULT_ACCOUNT_ID]["aws"].create_bucket(found.uri.removeprefix("s3://"), "us-east-1")
    config.storage_options = {"s3://": options}
    yield found


@pytest.fixture
def requests(bucket: Bucket) -> Iterator[Requests]:
    """What is asked of the server about the test's bucket from here on."""
    found, log = Requests(bucket), logging.getLogger("werkzeug")
    log.addHandler(found)
    yield found
    log.removeHandler(found)


PLACES = ("s3", "memory")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test of a place on one of two file systems, by turns of the names of tests, and in campaigns on the other one too."""
    marks = metafunc.definition.iter_markers("parametrize")
    if "place" in metafunc.fixturenames and not hasattr(metafunc.module, "place") and not any("place" in mark.args[0] for mark in marks):
        chosen = PLACES[zlib.crc32(metafunc.function.__name__.encode()) % len(PLACES)]
        metafunc.parametrize("place", [pytest.param(name, marks=[pytest.mark.campaign] * (name != chosen)) for name in PLACES], indirect=True)


@pytest.fixture
def place(request: pytest.FixtureRequest) -> Iterator[str]:
    """A place on a file system, in which nothing is."""
    if request.param == "s3":
        yield request.getfixturevalue("bucket").uri + "/frame"
        return
    name = f"test-{uuid.uuid4().hex}"
    yield f"memory://{name}/frame"
    memory = fsspec.filesystem("memory")
    if memory.exists(f"/{name}"):
        memory.rm(f"/{name}", recursive=True)


@attrs.frozen
class Store:
    """A file system of the user's that others can have, too: ``mine://``.

    Parameters
    ----------
    root
        The directory in which it has its files.
    """

    root: Path

    def write(self, name: str, content: str | bytes) -> None:
        """Write a file as another program would."""
        place = self.root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content if isinstance(content, bytes) else content.encode())


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A new one, in the configuration, in which nothing is."""
    (tmp_path / "store").mkdir()
    config.storage_options = {"mine://": DirFileSystem(str(tmp_path / "store"), LocalFileSystem())}
    return Store(tmp_path / "store")


@pytest.fixture
def short_parts(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Files elsewhere are read in parts of few bytes, however few there are."""
    for name in ("MAX_BYTES_IMPORTED_AT_ONCE", "MAX_FILES_IMPORTED_AT_ONCE", "MAX_BYTES_OF_SHORT_REMOTE_FILE"):
        monkeypatch.setattr(costs, name, 0)
    for name in ("MIN_BYTES_OF_IMPORTED_PART", "MAX_BYTES_OF_IMPORTED_PART"):
        monkeypatch.setattr(costs, name, 60)
    return monkeypatch
