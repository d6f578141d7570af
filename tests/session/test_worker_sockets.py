"""Sockets of Spark's Python workers: in a directory of the user's own that does not outlive the process."""

from __future__ import annotations

import ast
import os
import pickle
import socket
import stat
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark import cloudpickle

from sframe_spark.process.temporary_file_leases import ProcessMark, owner_in, remove_own
from sframe_spark.session import worker_sockets
from sframe_spark.session.spark_versions import to_arrow
from sframe_spark.session.worker_sockets import LONGEST_PARENT, OnArrival, acknowledge_at_once, socket_directory, socket_settings

ENABLED, DIRECTORY = "spark.python.unix.domain.socket.enabled", "spark.python.unix.domain.socket.dir"


def test_the_directory_is_private_and_its_paths_are_short() -> None:
    settings = socket_settings()
    directory = settings[DIRECTORY]
    assert settings[ENABLED] == "true"
    assert stat.S_IMODE(os.stat(directory).st_mode) == 0o700
    assert len(os.fsencode(f"{directory}/.5e1c0b34-58bb-4b52-9f3c-9d6c1f0f6f5a.sock")) <= 103
    remove_own(directory)
    assert not os.path.exists(directory)


def test_a_temporary_directory_with_a_long_name_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", lambda: "/" + "x" * LONGEST_PARENT)
    directory = socket_settings()[DIRECTORY]
    assert directory.startswith("/tmp/sframe_spark-")
    remove_own(directory)


def test_a_system_without_unix_sockets_uses_tcp(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(worker_sockets.socket, "AF_UNIX")
    assert socket_settings() == {}


def test_no_place_for_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert socket_settings() == {}


def test_names_leave_room_for_a_socket() -> None:
    longest = f"sframe_spark-{ProcessMark('abcdefgh', 4194304, 1 << 36)}-ffff"
    assert owner_in(longest) is not None
    assert len("/" + "x" * (LONGEST_PARENT - 1) + "/" + longest + f"/.{uuid.uuid4()}.sock") <= 103


def test_the_directory_goes_with_the_process(tmp_path: Path) -> None:
    program = f"from sframe_spark.session.worker_sockets import socket_directory; print(socket_directory({str(tmp_path)!r}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(str(tmp_path)) and list(tmp_path.iterdir()) == []


def test_the_directory_of_a_killed_process_goes_with_the_next(tmp_path: Path) -> None:
    program = (
        f"import os; from sframe_spark.session.worker_sockets import socket_directory; socket_directory({str(tmp_path)!r}); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", program], check=False)
    (left,) = tmp_path.iterdir()
    directory = socket_directory(str(tmp_path))
    assert list(tmp_path.iterdir()) == [Path(directory)] != [left]
    remove_own(directory)


def end_of_an_idle_worker(module: str, directory: Path) -> str:
    """What a worker prints when Spark closes its connection while it waits for work."""
    environment = {
        **os.environ,
        "PYTHON_UNIX_DOMAIN_ENABLED": "true",
        "PYTHON_WORKER_FACTORY_SOCK_DIR": str(directory),
        "PYTHON_DAEMON_KILL_WORKER_ON_FLUSH_FAILURE": "1",
        "SPARK_REUSE_WORKER": "1",
        "PYTHONPATH": str(Path(worker_sockets.__file__).with_name("worker_daemon")),
    }
    command = [sys.executable, "-m", module, "pyspark.worker"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as parent:
        assert parent.stdout is not None and parent.stdin is not None and parent.stderr is not None
        length = int.from_bytes(parent.stdout.read(4), "big")
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(parent.stdout.read(length))
            worker = int.from_bytes(connection.recv(4), "big")
        while os.path.exists(f"/proc/{worker}"):
            time.sleep(0.02)
        # Spark closes the input of the parent to end it.
        parent.stdin.close()
        return parent.stderr.read().decode()


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks at processes as Linux shows them")
def test_idle_workers_end_quietly() -> None:
    # The path of a socket must be short.
    with tempfile.TemporaryDirectory(dir="/tmp") as directory:
        assert "BrokenPipeError" in end_of_an_idle_worker("pyspark.daemon", Path(directory))
        assert end_of_an_idle_worker("sframe_spark_daemon", Path(directory)) == ""


@pytest.mark.spark
def test_our_own_session_uses_them(spark: Any) -> None:
    settings = spark.sparkContext.getConf()
    assert settings.get(ENABLED) == "true"
    assert Path(settings.get(DIRECTORY)).is_dir()

    def parents(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            name = sys.modules["__main__"].__spec__.name  # type: ignore[union-attr]
            yield pa.RecordBatch.from_pydict({"name": [name] * batch.num_rows})

    assert set(to_arrow(spark.range(4).mapInArrow(parents, "name string"))["name"].to_pylist()) == {"sframe_spark_daemon"}


def connected() -> tuple[socket.socket, socket.socket]:
    """Two ends of a connection over TCP."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        near = socket.create_connection(server.getsockname())
        return near, server.accept()[0]


@pytest.mark.skipif(not hasattr(socket, "TCP_QUICKACK"), reason="the system has no such option")
def test_what_has_come_is_acknowledged_although_nothing_is_answered_yet() -> None:
    # As Spark writes a task: in two parts, to a worker that reads on before it answers, and that has answered before.
    near, far = connected()
    waits = []
    with near, far:
        # At first all is acknowledged at once.
        for number in range(40):
            near.sendall(b"one")
            assert far.recv(10) == b"one"
            near.sendall(b"two")
            started = time.monotonic()
            if number >= 20:
                acknowledge_at_once()
            assert far.recv(10) == b"two"
            waits.append(time.monotonic() - started)
            far.sendall(b"answer")
            assert near.recv(10) == b"answer"
    # The least of many, as the machine may be at other work.
    assert min(waits[20:]) < 0.03


@pytest.mark.skipif(not hasattr(socket, "TCP_QUICKACK"), reason="the system has no such option")
def test_acknowledging_leaves_every_file_open(tmp_path: Path) -> None:
    with ExitStack() as stack:
        near, far = map(stack.enter_context, connected())
        one, other = map(stack.enter_context, socket.socketpair())
        file = stack.enter_context((tmp_path / "file").open("w+b"))
        before = os.listdir("/proc/self/fd")
        acknowledge_at_once()
        assert os.listdir("/proc/self/fd") == before
        for sender, receiver in ((near, far), (one, other)):
            sender.sendall(b"word")
            assert receiver.recv(10) == b"word"
        assert file.write(b"word") == 4


def test_a_system_without_the_option_acknowledges_when_it_will(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(worker_sockets.socket, "TCP_QUICKACK", raising=False)
    near, far = connected()
    with near, far:
        acknowledge_at_once()
        near.sendall(b"word")
        assert far.recv(10) == b"word"


def test_a_function_of_a_query_is_acknowledged_where_it_arrives_and_costs_nothing_there(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(worker_sockets, "acknowledge_at_once", lambda: told.append("acknowledged"))
    arriving = OnArrival(lambda number: number + 1)
    assert arriving(1) == 2 and told == []
    sent = cloudpickle.dumps(arriving)
    assert told == []
    arrived = pickle.loads(sent)
    assert told == ["acknowledged"] and not isinstance(arrived, OnArrival) and arrived(1) == 2
    assert told == ["acknowledged"]


GIVES_A_FUNCTION = {"arrow_udf", "pandas_udf", "udf", "mapInArrow", "mapInPandas", "applyInArrow", "applyInPandas", "mapPartitions"}
ACKNOWLEDGING = {"acknowledge_at_once", "OnArrival", "ArrowBatches", "in_tasks"}
# They run in executors that may not have this package, once in a session.
WITHOUT_PACKAGE = {"cli/doctor.py", "engine/spark/executor_version_checks.py"}


def functions_for_workers() -> Iterator[tuple[str, ast.Call]]:
    """Calls of ours that give Spark a function for its Python workers, with their files."""
    package = Path(worker_sockets.__file__).parents[1]
    for file in sorted(package.rglob("*.py")):
        text = file.read_text()
        # Few files name one of them, and only these are parsed.
        for node in ast.walk(ast.parse(text)) if any(name in text for name in GIVES_A_FUNCTION) else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in GIVES_A_FUNCTION:
                yield file.relative_to(package).as_posix(), node


def test_every_function_for_workers_acknowledges() -> None:
    found = {(file, ast.unparse(call.args[0])) for file, call in functions_for_workers()}
    outside = {file for file, _ in found if ACKNOWLEDGING.isdisjoint(names_in(file))}
    assert found and outside == WITHOUT_PACKAGE
    # Arrow functions have one door.
    assert {file for file, call in functions_for_workers() if "udf" in call.func.attr} == {"session/spark_versions.py"}  # type: ignore[attr-defined]


def names_in(file: str) -> set[str]:
    """Names that a module of ours uses."""
    tree = ast.parse((Path(worker_sockets.__file__).parents[1] / file).read_text())
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
