"""A Spark standalone cluster, or a Spark Connect server, on the loopback address: processes that may see another directory than the driver does.

What a process must not share is hidden from it by a mount namespace of its own: an empty file system in the place of the directory.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from pyspark.find_spark_home import _find_spark_home

from sframe_spark.session.java import find_java

PROJECT = Path(__file__).parents[2]
MASTER_CLASS, WORKER_CLASS = "org.apache.spark.deploy.master.Master", "org.apache.spark.deploy.worker.Worker"
CONNECT_CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"
# What all JVMs of the tests start with (`tests/conftest.py`); daemons and executors do next to nothing.
JVM_OPTIONS = os.environ["SFRAME_SPARK_JVM_OPTIONS"]
SMALL_JVM_OPTIONS = f"{JVM_OPTIONS} -XX:+UseSerialGC"
SECONDS_TO_START = 90
WORKER_CORES, WORKER_MEMORY = 1, "512m"
# From linux/prctl.h.
PR_SET_PDEATHSIG = 1


def free_port() -> int:
    """A port of the loopback address that nobody uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@functools.cache
def hiding_command() -> tuple[str, ...] | None:
    """What starts a command in a mount namespace of its own, or None where that is not allowed."""
    for command in (("unshare", "--mount"), ("unshare", "--map-root-user", "--mount")):
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            test = [*command, "sh", "-c", "mount -t tmpfs none /mnt"]
            if subprocess.run(test, capture_output=True, timeout=20, check=False).returncode == 0:
                return command
    return None


def hidden(command: Sequence[str], directory: Path) -> list[str]:
    """The command, to whose processes the directory is another, empty one."""
    starter = hiding_command()
    assert starter is not None
    script = f"mount -t tmpfs none {shlex.quote(str(directory))} && exec {shlex.join(command)}"
    return [*starter, "sh", "-c", script]


def spark_environment() -> dict[str, str]:
    """The environment of Spark's own processes: this Python with this package, this Java, nothing of another Spark."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_", "SFRAME_SPARK_"))}
    own = {
        "SPARK_HOME": _find_spark_home(),
        "JAVA_HOME": str(find_java().home),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(PROJECT),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_SUBMIT_OPTS": JVM_OPTIONS,
        "SPARK_DAEMON_JAVA_OPTS": SMALL_JVM_OPTIONS,
    }
    return {**inherited, **own}


def end_with_parent() -> None:
    """Let this process be killed when the one that started it ends, however it ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Processes:
    """Processes that are ended, with their children, when the block is left; each writes into a log of its own.

    Parameters
    ----------
    directory
        Where the logs go.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.started: list[subprocess.Popen[bytes]] = []

    def start(self, name: str, command: Sequence[str], **variables: str) -> Path:
        """Start a process as the leader of a group, and return its log."""
        log = self.directory / f"{name}.log"
        with log.open("wb") as output:
            environment = {**spark_environment(), **variables}
            # The function is safe: the test runs in one thread.
            options = {"preexec_fn": end_with_parent, "start_new_session": True, "cwd": self.directory, "env": environment}
            process = subprocess.Popen(command, stdout=output, stderr=output, **options)
        self.started.append(process)
        return log

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *error: object) -> None:
        # Workers end their executors when they are asked to end, the master before them would only make them wait.
        for number in (signal.SIGTERM, signal.SIGKILL):
            for process in reversed(self.started):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, number)
            for process in self.started:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(10)


def wait_for(log: Path, text: str) -> None:
    """Wait until a log holds a text."""
    until = time.monotonic() + SECONDS_TO_START
    while text not in log.read_text(errors="replace"):
        assert time.monotonic() < until, f"{log.name} does not say {text!r}:\n{log.read_text(errors='replace')[-3000:]}"
        time.sleep(0.05)


def spark_class(*arguments: object) -> list[str]:
    """A command that runs a class of Spark."""
    return [os.path.join(_find_spark_home(), "bin", "spark-class"), *map(str, arguments)]


@contextlib.contextmanager
def standalone_cluster(directory: Path, shared: Path, sees_shared: Sequence[bool]) -> Iterator[str]:
    """The URL of a master with a worker for each flag: those whose flag is false see an empty directory in place of ``shared``."""
    port = free_port()
    url = f"spark://127.0.0.1:{port}"
    with Processes(directory) as processes:
        log = processes.start("master", spark_class(MASTER_CLASS, "--host", "127.0.0.1", "--port", port, "--webui-port", 0))
        wait_for(log, "I have been elected leader")
        logs = [start_worker(processes, number, url, shared, sees) for number, sees in enumerate(sees_shared)]
        for log in logs:
            wait_for(log, "Successfully registered with master")
        yield url


def start_worker(processes: Processes, number: int, url: str, shared: Path, sees_shared: bool) -> Path:
    """Start a worker with a work directory of its own, and return its log."""
    work = processes.directory / f"worker-{number}"
    work.mkdir()
    options = ("--host", "127.0.0.1", "--webui-port", 0, "--cores", WORKER_CORES, "--memory", WORKER_MEMORY, "--work-dir", work)
    command = spark_class(WORKER_CLASS, *options, url)
    return processes.start(f"worker-{number}", command if sees_shared else hidden(command, shared), SPARK_LOCAL_DIRS=str(work))


@contextlib.contextmanager
def connect_server(directory: Path, shared: Path, sees_shared: bool) -> Iterator[str]:
    """The URL of a Spark Connect server, which sees an empty directory in place of ``shared`` unless told otherwise."""
    port = free_port()
    settings = {"spark.connect.grpc.binding.port": port, "spark.connect.grpc.binding.address": "127.0.0.1", "spark.ui.enabled": "false"}
    options = [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]
    submit = ("org.apache.spark.deploy.SparkSubmit", "--master", "local[2]", *options, "--class", CONNECT_CLASS)
    command = spark_class(*submit, "spark-internal")
    with Processes(directory) as processes:
        log = processes.start(
            "connect", command if sees_shared else hidden(command, shared), SPARK_LOCAL_DIRS=str(directory), SPARK_DAEMON_MEMORY="800m"
        )
        wait_for(log, "Spark Connect server started at")
        yield f"sc://127.0.0.1:{port}"
