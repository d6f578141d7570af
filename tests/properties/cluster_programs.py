"""Run random programs on a cluster of three executor processes; a process of its own, started by `test_cluster.py`.

The order of rows that Spark gives by accident differs there: tasks end in another order and blocks come from other processes.
"""

from __future__ import annotations

import os
import random
import sys

from pyspark.find_spark_home import _find_spark_home

from sframe_spark.session import get_session
from sframe_spark.session.build import local_settings
from sframe_spark.session.java import find_java
from sframe_spark.session.sockets import socket_settings
from sframe_spark.testing.equivalence import EngineRunner, check_program, spark_layout
from sframe_spark.testing.plans import random_program

MASTER = "local-cluster[3,1,700]"


def start_cluster() -> None:
    """Start the session that the engine adopts."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("SPARK_HOME", _find_spark_home())
    os.environ["JAVA_HOME"] = str(find_java().home)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(MASTER).appName("sframe_spark cluster test")
    for key, value in {**local_settings(), **socket_settings(), "spark.executor.memory": "700m", "spark.driver.memory": "1g"}.items():
        builder = builder.config(key, value)
    builder.getOrCreate()


def main(first: int, count: int) -> None:
    """Check ``count`` programs; the last line of the output says how many executors took part."""
    start_cluster()
    session = get_session()
    with spark_layout(7, adaptive=True) as options:
        for seed in range(first, first + count):
            check_program(random_program(random.Random(seed), most_steps=5), EngineRunner(options), random.Random(seed))
    context = session.sparkContext
    executors = context._jsc.sc().getExecutorMemoryStatus().size() - 1
    sys.stdout.write(f"{context.master} {count} programs, {executors} executors\n")
    context.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
