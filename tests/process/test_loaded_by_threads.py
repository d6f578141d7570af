"""PySpark is loaded when the first needs it, which may be several threads at a time: no one gets parts of it that are not complete."""

from __future__ import annotations

import pytest

from tests.interpreters import run_program

# While one thread loads PySpark, and has just begun, the other one wants it too.
PROGRAM = """
import importlib.abc, sys, threading, time
from sframe_spark.engine.task_pickling import pickle_by_value
from sframe_spark.udf.pickling import pack_function
from sframe_spark.session.session import active_session

wants = {"functions": lambda: pack_function(lambda: 1, "it"), "works": lambda: pickle_by_value(lambda: 1), "session": active_session}
first, second = (wants[name] for name in sys.argv[1:])
has_begun, errors = threading.Event(), []

class Slow(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.startswith("pyspark.") and not has_begun.is_set():
            has_begun.set()
            time.sleep(0.5)

def tried(want):
    try:
        want()
    except Exception as error:
        errors.append(error)

assert "pyspark" not in sys.modules
sys.meta_path.insert(0, Slow())
threads = [threading.Thread(target=tried, args=[want]) for want in (first, second)]
threads[0].start()
assert has_begun.wait(60)
threads[1].start()
for thread in threads:
    thread.join()
assert not errors, errors
"""


@pytest.mark.parametrize(("first", "second"), [("functions", "works"), ("works", "session"), ("functions", "session")])
def test_two_threads_load_it_at_a_time(first: str, second: str) -> None:
    done = run_program(PROGRAM, first, second)
    assert done.returncode == 0, done.stderr
