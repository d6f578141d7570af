"""Run random programs on a cluster of three executor processes, or on Spark Connect; a process of its own.

`test_other_sparks.py` starts it, and `tests/session/test_connect.py` with the URL of a server there is.

The order of rows that Spark gives by accident differs there: on a cluster tasks end in another order and blocks come from other processes; a
Connect server plans what it is sent, and has no JVM in this process.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.find_spark_home import _find_spark_home

from sframe_spark.session import get_session, is_remote
from sframe_spark.session.java import find_java
from sframe_spark.session.spark_start_and_settings import local_settings
from sframe_spark.session.worker_sockets import socket_settings
from tests.random_programs.equivalence import EngineRunner, check_program, spark_layout
from tests.random_programs.plans import random_program

MASTER = "local-cluster[3,1,700]"
SERVER = "local[2]"


def start(kind: str) -> None:
    """Start the session that the engine adopts: of a ``cluster``, or of a ``connect`` server on this machine, or of one with a URL."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("SPARK_HOME", _find_spark_home())
    if kind == "connect":
        start_session(SparkSession.builder.remote(SERVER), {"spark.driver.memory": "1g"})
    elif kind.startswith("sc:"):
        start_session(SparkSession.builder.remote(kind), {})
    else:
        executors = {"spark.executor.memory": "700m", "spark.executor.extraJavaOptions": os.environ["SFRAME_SPARK_JVM_OPTIONS"]}
        settings = {**socket_settings(), "spark.driver.memory": "1g", **executors}
        start_session(SparkSession.builder.master(MASTER).appName("sframe_spark cluster test"), settings)


def start_session(builder: Any, settings: Mapping[str, str]) -> None:
    """Start a session with the settings of our local ones but for some, as a user would before the engine adopts it."""
    os.environ["JAVA_HOME"] = str(find_java().home)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    for key, value in {**local_settings(), **settings}.items():
        builder = builder.config(key, value)
    builder.getOrCreate()


def last_line(module: str, *arguments: object) -> str:
    """What a module of the tests says at the end when it is run as a process, which must succeed."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1_500, check=False, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-6000:]
    return done.stdout.splitlines()[-1]


def place() -> str:
    """Where queries run, as Spark itself tells."""
    session = get_session()
    if is_remote(session):
        return f"Spark Connect on {session.conf.get('spark.master')}"
    context = session.sparkContext
    return f"{context.master} with {context._jsc.sc().getExecutorMemoryStatus().size() - 1} executors"


def main(kind: str, first: int, count: int) -> None:
    """Check ``count`` programs; the last line of the output says where they ran."""
    start(kind)
    with spark_layout(7, adaptive=True) as options:
        for seed in range(first, first + count):
            check_program(random_program(random.Random(seed), most_steps=5), EngineRunner(options), random.Random(seed))
    sys.stdout.write(f"{count} programs, {place()}\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
