"""An S3 server of the test's own, with an empty bucket, for machines that share no directory."""

from __future__ import annotations

import contextlib
import logging
import urllib.request
from collections.abc import Iterator

import attrs
import fsspec
from moto.server import ThreadedMotoServer


@attrs.frozen
class ObjectStore:
    """A server with a bucket.

    Parameters
    ----------
    uri
        The bucket.
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


@contextlib.contextmanager
def object_store() -> Iterator[ObjectStore]:
    """A server with an empty bucket; what is on it goes with the block."""
    # It would tell of each request.
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        found = ObjectStore("s3://bucket", {"key": "k", "secret": "s", "endpoint_url": f"http://{host}:{port}"})
        # What one server of a process holds, the next one holds: it keeps what it has as long as the process lives.
        urllib.request.urlopen(urllib.request.Request(f"{found.options['endpoint_url']}/moto-api/reset", method="POST")).close()
        found.files.mkdirs("bucket", exist_ok=True)
        yield found
    finally:
        server.stop()
