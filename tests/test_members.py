"""What the package offers is loaded when the first of it is asked for; its parts can be imported without."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

import sframe_spark
from sframe_spark import public_api


def printed(program: str) -> str:
    """What a program prints in a process of its own."""
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False, timeout=100)
    assert (done.stderr, done.returncode) == ("", 0)
    return done.stdout


# Starts a process for each program that it reads, each as it would begin but for libraries of others, which are there already.
STARTER = """
import json, os, sys, tempfile, traceback
import attrs, networkx, numpy, pandas, pyarrow.compute, pyarrow.parquet

for line in sys.stdin:
    with tempfile.TemporaryFile("w+") as told:
        if not (child := os.fork()):
            os.dup2(told.fileno(), 1)
            os.dup2(told.fileno(), 2)
            status = 1
            try:
                exec(json.loads(line), {"__name__": "__main__"})
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        told.seek(0)
        print(json.dumps([told.read(), status]), flush=True)
"""


@pytest.fixture(scope="module")
def starter() -> Iterator[subprocess.Popen[str]]:
    """A process that starts others, in which libraries of others are imported once for all programs."""
    # From Python 3.12 on it warns of forks where threads run, and Arrow's may.
    command = [sys.executable, "-W", "error", "-W", "ignore:.*fork:DeprecationWarning", "-c", STARTER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


def printed_by_one_of(starter: subprocess.Popen[str], program: str) -> str:
    """What a program prints in a process of its own, which the starter starts."""
    assert starter.stdin is not None and starter.stdout is not None
    starter.stdin.write(json.dumps(program) + "\n")
    starter.stdin.flush()
    told, status = json.loads(starter.stdout.readline())
    assert status == 0, told
    return str(told)


def test_the_list_is_the_one_that_is_loaded() -> None:
    assert set(sframe_spark.__all__) - set(public_api.__all__) == {"__version__", "config", "version_info"}
    assert set(public_api.__all__) <= set(sframe_spark.__all__) <= set(dir(sframe_spark))
    assert all(getattr(sframe_spark, name) is getattr(public_api, name) for name in public_api.__all__)


def test_an_import_alone_loads_little() -> None:
    heavy = "'numpy', 'pyarrow', 'pyspark', 'networkx', 'sframe_spark.public_api', 'sframe_spark.planner'"
    assert printed(f"import sys, sframe_spark; print({{{heavy}}} & set(sys.modules), sframe_spark.version_info)") == "set() (0, 2, 0)\n"


def test_processes_for_works_load_no_api() -> None:
    program = (
        "import sys, sframe_spark.engine.runtime.worker_process_main_loop, sframe_spark.engine.runtime.row_range_tasks_and_sequential_states\n"
        "print({'sframe_spark.public_api', 'sframe_spark.api.sframe', 'sframe_spark.rewrite_laws', 'networkx'} & set(sys.modules))"
    )
    assert printed(program) == "set()\n"


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("program", "found"),
    [
        ("import sframe_spark; print(sframe_spark.SArray([1, 2]).sum())", "3\n"),
        ("from sframe_spark import *; print(SArray([1, 2]).sum(), aggregate.SUM('a') is not None)", "3 True\n"),
        ("import sframe_spark.aggregate as agg; import sframe_spark; print(agg is sframe_spark.aggregate)", "True\n"),
        ("from sframe_spark import session, SFrame; print(session.is_started(), SFrame is not None)", "False True\n"),
        ("import sframe_spark; print(sframe_spark.session.is_started(), sframe_spark.errors.SchemaError.__name__)", "False SchemaError\n"),
        ("import sframe_spark.config; import sframe_spark; print(sframe_spark.config.small_rows)", "262144\n"),
        ("import sframe_spark; print(hasattr(sframe_spark, 'DataFrame'), hasattr(sframe_spark, '__path__'))", "False True\n"),
        ("import copy, pickle, sframe_spark; print(pickle.loads(pickle.dumps(sframe_spark.SArray)) is sframe_spark.SArray)", "True\n"),
        ("import sframe_spark; sframe_spark.plot = 5; print(sframe_spark.SArray([1]).sum(), sframe_spark.plot)", "1 5\n"),
        ("import sframe_spark; sframe_spark.SFrame; del sframe_spark.SFrame; print(sframe_spark.SFrame.__name__)", "SFrame\n"),
        ("import importlib, sframe_spark as s; a = s.SFrame; importlib.reload(s); print(s.SFrame is a, s.SArray([1]).sum())", "True 1\n"),
        ("import inspect, sframe_spark; print('SFrame' in dict(inspect.getmembers(sframe_spark)))", "True\n"),
    ],
)
def test_members_are_there_however_they_are_asked_for(starter: subprocess.Popen[str], program: str, found: str) -> None:
    assert printed_by_one_of(starter, program) == found


def test_threads_that_ask_first_at_the_same_time_find_the_same() -> None:
    program = (
        "import threading, sframe_spark\n"
        "names, found, start = [*sframe_spark.__all__, 'session', 'errors'] * 2, [], threading.Barrier(46)\n"
        "def ask(name):\n    start.wait()\n    found.append((name, getattr(sframe_spark, name)))\n"
        "threads = [threading.Thread(target=ask, args=(name,)) for name in names[:46]]\n"
        "for thread in threads: thread.start()\n"
        "for thread in threads: thread.join()\n"
        "print(len(found), all(getattr(sframe_spark, name) is value for name, value in found))"
    )
    assert printed(program) == "46 True\n"


def test_thread_pools_tell_of_forks_before_another_thread_may_fork() -> None:
    # Imported while the JVM is started by a thread, they would free a lock that they had not taken.
    assert printed("import sys, sframe_spark.session; print('concurrent.futures.thread' in sys.modules)") == "True\n"
