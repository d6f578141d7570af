"""A password, signature or token in an address is shown nowhere: every public way in and out that takes a place, with addresses of all forms."""

from __future__ import annotations

import base64
import contextlib
import http.server
import inspect
import io
import logging
import os
import pickle
import threading
import traceback
import urllib.parse
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sframe_spark
from sframe_spark import SArray, SArrayBuilder, SFrame, SFrameBuilder, config, load_sframe, util
from sframe_spark.engine.execution.materialize_count_and_read_rows import compute
from sframe_spark.errors import StorageError
from sframe_spark.planner.plan_json import graph_to_json
from sframe_spark.plotting.plot_class_and_chart_choice import Plot
from sframe_spark.storage.filesystem import remote_operations
from sframe_spark.storage.filesystem.temporary_datasets import scratch_store
from tests.examples import by_turns

SECRET = "S3kr1tMark"
ADDRESSES = [address.replace("SECRET", SECRET) for address in (
    "s3://KEY:SECRET@bucket/x.csv", "S3A://KEY:SECRET@bucket/x.csv", "s3:/KEY:SECRET@bucket/x.csv", "s3 ://KEY:SECRET@bucket/x", "s3://KEY:SECRET@bucket/[a-z]*.csv",
    "s3://bucket/x.csv?AWSAccessKeyId=a&Signature=SECRET", "s3://KEY:SECRET@bucket/x\n.csv", "s3://KEY:SECRET mark's@bucket/x y",
    "https://user:SECRET@127.0.0.1:1/x.csv", "HTTPS://SECRET@127.0.0.1:1/x", " http://user:SECRET@127.0.0.1:1/*.csv",
    "http://user:a@bSECRET/c@127.0.0.1:1/x.json",
    "http://user:p%40SECRET@[::1]:1/x.csv", "http://127.0.0.1:1/x.csv?X-Amz-Signature=SECRET", "http://127.0.0.1:1/x?sv=1&sig=SECRET#token=SECRET",
    "sftp://user:SECRET@127.0.0.1:1/x.csv", "ssh://user:SECRET@h/x", "ftp://user:SECRET@127.0.0.1:1/x.csv", "hdfs://user:SECRET@host/x",
    "webhdfs://user:SECRET@h/x",
    "gs://user:SECRET@bucket/x", "smb://user:SECRET@host/x", "github://org:SECRET@repo/x.csv", "memory://user:SECRET@host/x",
    "unknown://u:SECRET@h/x", "clickhouse+http:://u:SECRET@h:8123/x", "https:::u:SECRET@h/x",
    "unknown://with-a-long-name-before-it.and.another:SECRET@h/x",
    "dbfs:/user:SECRET@host/x", "file://user:SECRET@host/x.csv", "file:///data/x.csv?token=SECRET",
    "//user:SECRET@host/x.csv", "user:SECRET@host:/x.csv",
    "simplecache::s3://KEY:SECRET@bucket/x.csv", "zip://a.csv::s3://KEY:SECRET@bucket/x.zip", "zip::http://u:SECRET@127.0.0.1:1/x.zip",
    "abfss://box@acc.dfs.core.windows.net/x?sig=SECRET", "wasbs://box:SECRET@acc/x", "az://box/x?AccountKey=SECRET",
    "jdbc:postgresql://127.0.0.1:1/db?user=a&password=SECRET", "jdbc:mysql://a:SECRET@127.0.0.1:1/db", "jdbc:sqlserver://127.0.0.1:1;user=a;password=SECRET;",
    "jdbc:oracle:thin:scott/SECRET@//127.0.0.1:1/x", "postgresql+psycopg2://a:SECRET@127.0.0.1:1/db",
    "AccountName=a;AccountKey=SECRET;EndpointSuffix=core.windows.net", "data:text/csv;token=SECRET,a",
)]  # fmt: skip
# Names of parameters that take a place, or a text with one in it.
PLACES = {
    "path",
    "url",
    "filename",
    "filepath",
    "location",
    "save_location",
    "output_file",
    "references",
    "conn",
    "table",
    "data",
    "serialization_directory",
}
OTHERS: dict[str, Any] = {"column_types": [int], "sql_statement": "select 1", "table": "t", "table_name": "t", "column_names": ["a"]}
# These start Spark where an address is not refused before.
ON_SPARK = {"read_jdbc", "write_jdbc", "from_table", "to_table"}


class Door:
    """A public function or method, and the parameter that is given an address."""

    def __init__(self, owner: Any, name: str, parameter: str) -> None:
        self.owner, self.name, self.parameter = owner, name, parameter
        self.function = owner if name == "__init__" else getattr(owner, name)

    def call(self, address: str) -> Any:
        options: dict[str, Any] = {self.parameter: [address] if self.parameter == "references" else address}
        for name, parameter in inspect.signature(self.function).parameters.items():
            if name not in options and name != "self" and parameter.default is parameter.empty and parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
                options[name] = OTHERS.get(name)
        is_method = inspect.isclass(self.owner) and self.name != "__init__" and inspect.isfunction(inspect.getattr_static(self.owner, self.name))
        return self.function(MADE[self.owner](), **options) if is_method else self.function(**options)


MADE: dict[Any, Callable[[], Any]] = {
    SFrame: lambda: SFrame({"a": [1, 2, 3]}),
    SArray: lambda: SArray([1, 2, 3]),
    SFrameBuilder: lambda: SFrameBuilder([int]),
    SArrayBuilder: lambda: SArrayBuilder(int),
    Plot: lambda: Plot({"mark": "point", "data": {"values": []}}),
}


def doors() -> Iterator[Any]:
    for owner in (*MADE, sframe_spark, util):
        label = owner.__name__.rpartition(".")[2]
        for name in sorted({*dir(owner), "__init__"} if inspect.isclass(owner) else {*dir(owner)}):
            member = owner if name == "__init__" else getattr(owner, name, None)
            if (name.startswith("_") and name != "__init__") or not (inspect.isroutine(member) or name == "__init__"):
                continue
            for parameter in inspect.signature(member).parameters:
                if parameter in PLACES and (parameter != "data" or name == "__init__"):
                    marks = [pytest.mark.spark] if name in ON_SPARK else []
                    yield pytest.param(Door(owner, name, parameter), id=f"{label}.{name}({parameter})", marks=marks)


def texts_of(error: BaseException) -> Iterator[str]:
    """All that can be seen of an error, and of those that led to it."""
    waiting, seen = [error], set()
    while waiting:
        current = waiting.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield from (str(current), repr(current), repr(current.args), repr(vars(current)), repr(getattr(current, "filename", None)))
        yield from traceback.format_exception_only(current)
        waiting += [link for link in (current.__cause__, current.__context__) if link is not None]


def shown_by(call: Callable[[], Any]) -> list[str]:
    """All that a call shows: its result, error, warnings, logs and output."""
    log, output = io.StringIO(), io.StringIO()
    handler, found = logging.StreamHandler(log), []
    logger = logging.getLogger("sframe_spark")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        with warnings.catch_warnings(record=True) as warned, contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            warnings.simplefilter("always")
            try:
                result = call()
            except Exception as error:
                found += texts_of(error)
            else:
                found += frame_texts(result) if isinstance(result, (SFrame, SArray)) else [repr(result)]
        return [*found, log.getvalue(), output.getvalue(), *(str(warning.message) for warning in warned)]
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def frame_texts(frame: Any) -> list[str]:
    return [frame.explain(), frame.explain(analyze=True), frame.last_run(), frame.explain().mermaid(), repr(frame.explain().sections)]


def leaks(texts: list[str], secret: str = SECRET) -> list[str]:
    return [text[:300] for text in texts if secret.lower() in text.lower()]


@pytest.fixture(autouse=True)
def nobody_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No request leaves this machine, and what is made of a relative path is of this test."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "y",
        "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
        "AWS_MAX_ATTEMPTS": "1",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    yield
    # Others open their own.
    remote_operations._opened.cache_clear()


@pytest.mark.parametrize("door", list(doors()))
def test_no_door_shows_a_secret_of_an_address(door: Door, tmp_path: Path) -> None:
    addresses = ADDRESSES
    if door.name in ON_SPARK:
        addresses = [address for address in ADDRESSES if door.parameter != "url" or address.startswith("jdbc")][::3]
    for address in by_turns(addresses, 3, sum(map(ord, door.name))):
        if door.parameter == "data" and door.owner is SArray and not address.startswith(("s3", "http")):
            # A text is a column of one value there.
            continue
        assert not leaks(shown_by(lambda address=address: door.call(address))), f"{address!r}"  # type: ignore[misc]
    assert not [path for path in tmp_path.rglob("*") if SECRET in path.name]
    assert not os.path.lexists(f"/user:{SECRET}@host") and not os.path.lexists("/dbfs")


def test_the_doors_are_found() -> None:
    found = {parameter.id for parameter in doors()}
    assert len(found) >= 30
    assert found >= {
        "SFrame.read_csv(url)",
        "SFrame.save(filename)",
        "SFrame.__init__(data)",
        "sframe_spark.load_sframe(filename)",
        "Plot.save(filepath)",
    }


@pytest.mark.parametrize("name", ["temporary_directory", "serialization_directory", "storage_options"])
def test_settings_show_no_secret(name: str, own_options: None) -> None:
    for address in ADDRESSES:
        value = {address: {"secret": SECRET, "deep": [{"password": SECRET}]}, "s3://b": SECRET} if name == "storage_options" else address
        assert not leaks(shown_by(lambda value=value: setattr(config, name, value))), address  # type: ignore[misc]
    with pytest.raises(StorageError, match=r"storage_options = .*: s3://bucket contains a password"):
        config.storage_options = {f"s3://KEY:{SECRET}@bucket": {}}
    config.storage_options = {"s3://": {"secret": SECRET}, "http://": {"headers": {"Authorization": SECRET}}}
    assert not leaks([repr(config), repr(config.storage_options), str(config.as_dict())])
    # Nor where a library quotes an option that it was given.
    assert not leaks(shown_by(lambda: SFrame.read_csv("s3://bucket/x.csv")))


class Handler(http.server.BaseHTTPRequestHandler):
    """Files for who has the password; errors, redirects and half of a file for all."""

    asked: list[tuple[str, str | None]] = []

    def do_GET(self) -> None:
        path, query = self.path.partition("?")[0], self.path.partition("?")[2]
        self.asked.append((self.path, self.headers.get("Authorization")))
        name = path.rpartition("/")[2].partition(".")[0]
        if name.isdecimal():
            self.send_error(int(name), f"not for {self.path} {self.headers.get('Authorization')}"[:200])
            return
        if name in ("moved", "away"):
            host = f"127.0.0.1:{self.server.server_address[1]}" if name == "moved" else f"u:{SECRET}@127.0.0.1:x"
            self.send_response(302)
            self.send_header("Location", f"http://{host}/good.csv?X-Amz-Signature={SECRET}")
            self.end_headers()
            return
        wanted = f"Basic {base64.b64encode(f'user:{SECRET} @/x'.encode()).decode()}"
        if SECRET not in query and self.headers.get("Authorization") != wanted:
            self.send_error(401)
            return
        body = b"n,m\n1,2\n3,4\n"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body) + 9 * (name == "short")))
        self.end_headers()
        self.wfile.write(body if name != "garbled" else b"\xff\xfe\x00"[: len(body)].ljust(len(body), b"\xff"))

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@pytest.fixture
def web() -> Iterator[str]:
    Handler.asked.clear()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


READERS = [
    SFrame.read_csv,
    SFrame.read_csv_with_errors,
    SFrame.read_json,
    SFrame.read_parquet,
    SFrame.read_orc,
    SArray.read_json,
    SFrame,
    load_sframe,
]
USERS = [f"user:{SECRET}%20%40%2Fx@", ""]


@pytest.mark.parametrize("read", READERS, ids=lambda read: read.__qualname__)
def test_servers_that_fail_make_nobody_show_a_secret(read: Callable[[str], Any], web: str) -> None:
    for name in ("401", "403", "404", "500", "moved", "away", "short", "good", "garbled"):
        for user in USERS:
            texts = shown_by(lambda name=name, user=user: read(f"http://{user}{web}/{name}.csv?sig={SECRET}"))  # type: ignore[misc]
            assert not leaks(texts) and not leaks(texts, f"{SECRET}%20"), name


@pytest.mark.parametrize("user", USERS, ids=["password", "signature"])
def test_what_was_read_with_a_secret_keeps_none(user: str, web: str, tmp_path: Path) -> None:
    address = f"http://{user}{web}/good.csv" + ("" if user else f"?sig={SECRET}")
    frame = SFrame.read_csv(address, verbose=False)
    assert list(frame["n"]) == [1, 3]
    compute(frame._node)
    frame.save(str(tmp_path / "saved"))
    texts = [repr(frame), *frame_texts(frame), graph_to_json(frame._node)]
    texts += [str(path) for root in (scratch_store().directory, tmp_path) for path in Path(root).rglob("*")]
    texts += [path.read_bytes().decode("latin-1") for path in (tmp_path / "saved").iterdir()]
    assert not leaks(texts)


def test_where_a_server_sends_us_is_told_no_password(web: str) -> None:
    assert list(SFrame.read_csv(f"http://user:other@{web}/moved.csv")["n"]) == [1, 3]
    assert [(path.partition("?")[0], password is None) for path, password in Handler.asked] == [("/moved.csv", False), ("/good.csv", True)]


@pytest.mark.parametrize("password", ["8otB6M}QCw%IO]IC", "a[[b", "plain", "p%40w", "%zz"])
def test_passwords_may_have_any_signs_that_end_no_host(password: str, web: str) -> None:
    assert list(SFrame.read_csv(f"http://user:{password}@{web}/moved.csv")["n"]) == [1, 3]
    sent = base64.b64decode((Handler.asked[0][1] or "").removeprefix("Basic ")).decode()
    assert sent == f"user:{urllib.parse.unquote(password)}"


@pytest.mark.parametrize("password", ["a#b", "a/b", "a?b", "a@b/c", "#@", "12#3"])
@pytest.mark.parametrize("scheme", ["http", "ftp", "sftp"])
def test_signs_of_a_password_that_end_a_host_are_told(scheme: str, password: str) -> None:
    with pytest.raises(StorageError, match=rf"{scheme}://\*\*\* has a password .* write @ as %40, / as %2F"):
        SFrame.read_csv(f"{scheme}://user:{password}@127.0.0.1:1/x.csv")


def test_errors_say_what_to_do_instead() -> None:
    with pytest.raises(StorageError, match=r"s3://bucket/x.csv contains a password, .* config.storage_options\['scheme://...'\] = .* environment"):
        SFrame.read_csv("s3://KEY:SECRET@bucket/x.csv")
    with pytest.raises(StorageError, match=r"//\*\*\*@host/x contains a password, .* config.storage_options"):
        SFrame({"a": [1]}).save("//user:SECRET@host/x")
    pickle.dumps(StorageError("x"))
