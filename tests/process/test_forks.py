"""A forked process works, on the driver and with a Spark of its own, or says what to do; its parent does not notice."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.interpreters import run_program

pytestmark = [
    pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork"),
    pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks at processes as Linux shows them"),
]

COMMON = """
import gc, os, signal, sys, threading, time, traceback
from sframe_spark import SFrame
from sframe_spark.config import config
from sframe_spark.session import is_started

def on_spark(rows):
    with config.using(small_rows=0, single_task_rows=0):
        found = list(SFrame({"a": [number * 7919 % rows for number in range(rows)]}).sort("a")["a"])
    assert is_started()
    return found == sorted(number * 7919 % rows for number in range(rows))

def in_child(work, wait=True):
    child = os.fork()
    if child == 0:
        signal.alarm(240)
        try:
            work()
            gc.collect()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        # As a usual end of a process does: everything is collected, and functions registered for the end are called.
        sys.exit(0)
    return os.waitpid(child, 0)[1] if wait else child

def says(error, words, work):
    try:
        work()
    except error as raised:
        assert words in str(raised), raised
    else:
        raise AssertionError("no error")
"""


def run(program: str, *arguments: str, before: str = "") -> str:
    if before:
        # What comes before the import of the package needs an interpreter that has not imported it.
        command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", before + COMMON + program, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=500)
    else:
        done = run_program(COMMON + program, *arguments, timeout=500)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.attack
def test_work_on_the_driver_goes_on_whatever_the_parent_was_doing() -> None:
    run("""
import multiprocessing, pyarrow.compute as pc, pyarrow as pa
from concurrent.futures import ProcessPoolExecutor
from sframe_spark.engine.graph_lock import GRAPH_LOCK
from sframe_spark.engine.execution.action_planning_and_function_call_claims import NodeClaim
from sframe_spark.storage.filesystem import temporary_datasets as temporary
from sframe_spark.storage.datasets.manifest_loading_and_open_dataset_registry import OPEN_DATASETS
frame = SFrame({"a": [3, 1, 2]})
frame["b"] = frame["a"] * 2
assert pc.sum(pa.array(range(10**5))).as_py()
# A thread that is not in the child materialises a node ...
other = frame.sort("a")
claim = NodeClaim()
working = threading.Thread(target=lambda: setattr(claim, "thread", threading.get_ident()))
working.start()
working.join()
with GRAPH_LOCK:
    claim.acquire([other._node])
# ... and others hold every lock for a moment.
locks = [GRAPH_LOCK, temporary._STORES_LOCK, OPEN_DATASETS._lock, config._lock]

def hold(lock):
    while not ended:
        with lock:
            time.sleep(0.01)

ended = False
threads = [threading.Thread(target=hold, args=(lock,), daemon=True) for lock in locks]
for thread in threads:
    thread.start()

def work(number=0):
    assert list(frame["b"] + number) == [6 + number, 2 + number, 4 + number]
    assert list(frame.sort("a")["a"]) == [1, 2, 3]
    assert pc.sum(pa.array(range(10**5))).as_py() == sum(range(10**5))
    config.batch_rows = 1000
    temporary.temporary_store().new_dataset()
    return number

def look():
    work()
    assert list(other["a"]) == [1, 2, 3]

for _ in range(5):
    assert in_child(look) == 0
context = multiprocessing.get_context("fork")
with context.Pool(2) as pool:
    assert pool.map_async(work, range(8)).get(60) == list(range(8))
with ProcessPoolExecutor(2, mp_context=context) as pool:
    assert list(pool.map(work, range(8), timeout=60)) == list(range(8))
ended = True
assert work(1) == 1
""")


@pytest.mark.spark
def test_a_child_starts_a_spark_of_its_own_and_the_parent_goes_on(tmp_path: Path) -> None:
    answer = tmp_path / "answer"
    run(
        """
from pyspark import SparkContext
from sframe_spark.errors import StorageError
# What functions made is lost with its files.
config.translate_functions = "off"
assert on_spark(1000)
kept = SFrame({"a": list(range(100))})["a"] + 1
with config.using(small_rows=0, single_task_rows=0):
    kept = kept.apply(lambda value: value * 2)
    kept.materialize()
    half = SFrame({"a": list(range(300_000))})["a"].apply(lambda value: value + 1)
    half.materialize()

def busy():
    while not ended:
        assert on_spark(50)
        # The child starts a Spark meanwhile.
        time.sleep(0.2)

ended = False
thread = threading.Thread(target=busy, daemon=True)
thread.start()

def work():
    assert list(kept) == list(range(2, 202, 2))
    assert half[299_999] == 300_000
    for rows in range(6):
        assert on_spark(100 + rows)

child = in_child(work, wait=False)
for rows in range(6):
    assert on_spark(200 + rows)
assert os.waitpid(child, 0)[1] == 0
assert on_spark(500)
ended = True
thread.join()
assert on_spark(500) and half[299_999] == 300_000
java = SparkContext._gateway.proc.pid

def outlive():
    parent = os.getppid()
    while os.getppid() == parent or os.path.exists(f"/proc/{java}"):
        time.sleep(0.05)
    # A row that was not read before, and so is not remembered.
    says(StorageError, "sframe_spark-", lambda: half[7])
    with open(sys.argv[1], "w") as stream:
        stream.write("told")

in_child(outlive, wait=False)
""",
        str(answer),
    )
    until = time.monotonic() + 60
    while not answer.exists() and time.monotonic() < until:
        time.sleep(0.1)
    assert answer.exists(), "the JVM did not end with its process, or the child did not notice that the data has gone"


# A user's Spark, and a child that imports us only after the fork.
IMPORTED_BY_A_CHILD = """
import os
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
assert spark.range(3).count() == 3
child = os.fork()
if child == 0:
    from sframe_spark import SFrame
    from sframe_spark.config import config
    from sframe_spark.errors import SessionClosedError
    try:
        with config.using(small_rows=0, single_task_rows=0):
            list(SFrame({"a": [2, 1, 3]}).sort("a")["a"])
    except SessionClosedError as error:
        os._exit(7 if "forked" in str(error) else 1)
    os._exit(2)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert spark.range(3).count() == 3
"""


@pytest.mark.spark
def test_the_session_of_a_user_is_not_shared() -> None:
    run(
        """
from sframe_spark.errors import SessionClosedError
rows = spark.range(10)
frame = SFrame(rows)
frames = [SFrame({"a": [1, 2]}), frame]

# A thread with a connection of its own, which is closed in the child when Python clears the thread away.
asked, answers = threading.Event(), []

def wait():
    answers.append(rows.count())
    asked.wait()
    answers.append(rows.count())

thread = threading.Thread(target=wait, daemon=True)
thread.start()
while not answers:
    time.sleep(0.05)

def work():
    assert list(frames[0]["a"]) == [1, 2]
    words = "this process was forked from one that uses Spark"
    says(SessionClosedError, words, lambda: on_spark(10))
    says(SessionClosedError, words, lambda: list(frame["id"]))
    says(SessionClosedError, words, lambda: rows.count())
    says(SessionClosedError, words, lambda: list(SFrame(rows)["id"]))

for _ in range(5):
    assert in_child(work) == 0
    assert rows.count() == 10
asked.set()
thread.join()
assert answers == [10, 10]
assert list(frame["id"]) == list(range(10)) and on_spark(100)
# What the parent has materialised can be read in a child.
assert in_child(lambda: says(SessionClosedError, "forked", lambda: on_spark(10)) or list(frame["id"]) == list(range(10))) == 0
assert on_spark(100)
""",
        before=IMPORTED_BY_A_CHILD,
    )


@pytest.mark.attack
def test_a_child_forked_while_a_thread_makes_its_first_frame() -> None:
    program = """
import os, signal, threading
from sframe_spark import SFrame
thread = threading.Thread(target=lambda: SFrame({"a": [1, 2, 3]}))
thread.start()
child = os.fork()
if child == 0:
    signal.alarm(40)
    assert list(SFrame({"a": [4]})["a"]) == [4]
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
thread.join()
"""
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stderr


@pytest.mark.attack
def test_a_child_forked_while_a_thread_imports() -> None:
    """The child had the import's lock, and no thread that would free it."""
    run("""
import importlib.machinery
imports = importlib.machinery.SourceFileLoader.exec_module

for module in ("sframe_spark.turicreate.archive", "json.tool"):
    assert module not in sys.modules
    begun = threading.Event()

    def slowly(loader, found):
        if found.__name__ == module:
            begun.set()
            time.sleep(0.5)
        return imports(loader, found)

    importlib.machinery.SourceFileLoader.exec_module = slowly
    thread = threading.Thread(target=lambda: __import__(module))
    thread.start()
    begun.wait()
    assert in_child(lambda: __import__(module)) == 0
    thread.join()

# A module that forks while it is imported waits for nobody but others.
def forks(loader, found):
    result = imports(loader, found)
    if found.__name__ == "wave":
        assert in_child(lambda: __import__("colorsys")) == 0
    return result

importlib.machinery.SourceFileLoader.exec_module = forks
before = time.monotonic()
import wave
assert time.monotonic() - before < 4
""")
