"""A Spark standalone cluster, or a Spark Connect server, on the loopback address: processes that may see another directory than the driver does.

What a process must not share is hidden from it by a mount namespace of its own: an empty file system in the place of the directory.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from pyspark.find_spark_home import _find_spark_home

from sframe_spark.session.java import find_java

PROJECT = Path(__file__).parents[2]
MASTER_CLASS, WORKER_CLASS = "org.apache.spark.deploy.master.Master", "org.apache.spark.deploy.worker.Worker"
CONNECT_CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"
# What all JVMs of the tests start with (`tests/conftest.py`); daemons and executors do next to nothing.
JVM_OPTIONS = os.environ.get("SFRAME_SPARK_JVM_OPTIONS", "")
SMALL_JVM_OPTIONS = JVM_OPTIONS if "-XX:+UseSerialGC" in JVM_OPTIONS else f"{JVM_OPTIONS} -XX:+UseSerialGC"
SECONDS_TO_START = 90
# What the master says of a worker that has ended.
GONE_WORKER = re.compile("Removing worker")
WORKER_CORES, WORKER_MEMORY = 1, "512m"
LOOPBACK = "127.0.0.1"
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
        "PYTHONPATH": os.pathsep.join([str(PROJECT), str(PROJECT / "tests" / "cluster" / "slow_tasks")]),
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


def end_group(process: subprocess.Popen[bytes]) -> None:
    """End a process and its children."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)


def wait_for(log: Path, text: str) -> None:
    """Wait until a log holds a text."""
    wait_until(lambda: text in log.read_text(errors="replace"), f"{log.name} does not say {text!r}:", log)


def wait_until(condition: Callable[[], bool], words: str, log: Path) -> None:
    """Wait until something holds; the end of a log is shown where it does not."""
    until = time.monotonic() + SECONDS_TO_START
    while not condition():
        assert time.monotonic() < until, f"{words}\n{log.read_text(errors='replace')[-3000:]}"
        time.sleep(0.05)


def spark_class(*arguments: object) -> list[str]:
    """A command that runs a class of Spark."""
    return [os.path.join(_find_spark_home(), "bin", "spark-class"), *map(str, arguments)]


class StandaloneCluster:
    """A master, and the workers that it has at the moment.

    Parameters
    ----------
    processes
        Where its processes are started.
    shared
        The directory that some workers do not see.
    local
        Where executors have their files; by default a directory of each worker.
    memory
        What a worker has for executors.
    hosts
        Addresses of this machine that workers have, by turns: Spark takes workers of one address for one machine, and tries no task twice there.
    """

    def __init__(
        self, processes: Processes, shared: Path, local: str | None = None, memory: str = WORKER_MEMORY, hosts: Sequence[str] = (LOOPBACK,)
    ) -> None:
        self.processes, self.shared, self.local, self.memory, self.hosts = processes, shared, local, memory, hosts
        self.workers: list[subprocess.Popen[bytes]] = []
        self.count = self.masters = 0
        self.port = free_port()
        self.url = f"spark://127.0.0.1:{self.port}"
        self.start_master()

    def start_master(self) -> None:
        """Start a master, which knows what the one before it has known: otherwise it ends the executors of applications that it does not know."""
        options = ("--host", "127.0.0.1", "--port", self.port, "--webui-port", 0)
        known = self.processes.directory / "known-to-masters"
        remembering = f"{SMALL_JVM_OPTIONS} -Dspark.deploy.recoveryMode=FILESYSTEM -Dspark.deploy.recoveryDirectory={known}"
        command = spark_class(MASTER_CLASS, *options)
        self.log = self.processes.start(f"master-{self.masters}", command, SPARK_DAEMON_JAVA_OPTS=remembering)
        self.master = self.processes.started[-1]
        self.masters += 1
        wait_for(self.log, "I have been elected leader")

    def restart_master(self) -> None:
        """Kill the master and start another one in its place, to which all workers come."""
        os.killpg(self.master.pid, signal.SIGKILL)
        self.master.wait(10)
        self.start_master()
        wait_for(self.log, "Recovery complete")

    def start_workers(self, sees_shared: Sequence[bool]) -> None:
        """Add a worker for each flag: those whose flag is false see an empty directory in place of ``shared``."""
        for log in [self._start_worker(sees) for sees in sees_shared]:
            wait_for(log, "Successfully registered with master")

    def _start_worker(self, sees_shared: bool) -> Path:
        """Start a worker with a work directory of its own, and return its log."""
        name, host = f"worker-{self.count}", self.hosts[self.count % len(self.hosts)]
        self.count += 1
        work = self.processes.directory / name
        work.mkdir()
        options = ("--host", host, "--webui-port", 0, "--cores", WORKER_CORES, "--memory", self.memory, "--work-dir", work)
        command = spark_class(WORKER_CLASS, *options, self.url)
        variables = {"SPARK_LOCAL_DIRS": self.local or str(work), "SPARK_LOCAL_IP": host}
        log = self.processes.start(name, command if sees_shared else hidden(command, self.shared), **variables)
        self.workers.append(self.processes.started[-1])
        return log

    def end_first_worker(self) -> None:
        """End the worker that has been there longest, and wait until the master knows."""
        gone = len(GONE_WORKER.findall(self.log.read_text(errors="replace")))
        end_group(self.workers.pop(0))
        wait_until(lambda: len(GONE_WORKER.findall(self.log.read_text(errors="replace"))) > gone, "the master did not notice:", self.log)


@contextlib.contextmanager
def standalone_cluster(
    directory: Path,
    shared: Path,
    sees_shared: Sequence[bool],
    local: str | None = None,
    memory: str = WORKER_MEMORY,
    hosts: Sequence[str] = (LOOPBACK,),
) -> Iterator[StandaloneCluster]:
    """A master with a worker for each flag."""
    with Processes(directory) as processes:
        cluster = StandaloneCluster(processes, shared, local, memory, hosts)
        cluster.start_workers(sees_shared)
        yield cluster


@contextlib.contextmanager
def connect_server(
    directory: Path,
    shared: Path,
    sees_shared: bool,
    python: str | None = None,
    master: str = "local[2, 4]",
    settings: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """The URL of a Spark Connect server, which sees an empty directory in place of ``shared`` unless told otherwise.

    Parameters
    ----------
    directory
        Where its files go.
    shared, sees_shared
        A directory, and whether it sees that.
    python
        The Python that it starts, which sees no package of ours; otherwise that of the tests.
    master, settings
        Where its tasks run, and further settings of its.
    """
    port = free_port()
    variables = {} if python is None else {"PYSPARK_PYTHON": python, "PYTHONPATH": ""}
    own = {"spark.connect.grpc.binding.port": port, "spark.connect.grpc.binding.address": LOOPBACK, "spark.ui.enabled": "false"}
    if python is not None:
        own["spark.sql.execution.pyspark.python"] = python
    options = [part for key, value in {**(settings or {}), **own}.items() for part in ("--conf", f"{key}={value}")]
    submit = ("org.apache.spark.deploy.SparkSubmit", "--master", master, *options, "--class", CONNECT_CLASS)
    command = spark_class(*submit, "spark-internal")
    with Processes(directory) as processes:
        log = processes.start(
            "connect", command if sees_shared else hidden(command, shared), SPARK_LOCAL_DIRS=str(directory), SPARK_DAEMON_MEMORY="800m", **variables
        )
        wait_for(log, "Spark Connect server started at")
        yield f"sc://127.0.0.1:{port}"
