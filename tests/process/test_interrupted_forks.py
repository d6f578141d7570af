"""Ctrl-C at any moment of a fork: locks are free afterwards, in both processes, and it is heard when the fork is done."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")

PROGRAM = """
import ctypes, faulthandler, functools, json, os, signal, sys, threading, traceback
sys.unraisablehook = lambda told: ignored.append(told)
ignored = []
raised = getattr(ctypes.CDLL(None), "raise")
numbers = {}

# Nothing of it is Python code: what it sends is handled by the Python code that comes next. Signal 0 is none.
def pressing(when):
    numbers[when] = ctypes.c_int(0)
    return functools.partial(raised, numbers[when])

def register(name):
    os.register_at_fork(before=pressing(f"before, {name}"), after_in_parent=pressing(f"parent, {name}"), after_in_child=pressing(f"child, {name}"))

register("earlier")
import sframe_spark.engine.graph_lock, sframe_spark.session.python_of_spark_workers, sframe_spark.storage.parquet.footer
import sframe_spark.storage.datasets.manifest_loading_and_open_dataset_registry, sframe_spark.storage.filesystem.temporary_datasets
from sframe_spark.process import fork_safety
from sframe_spark.process import interrupt_deferral as interrupts
from sframe_spark.process.interrupt_deferral import interrupts_deferred
register("later")
assert len(fork_safety._LOCKS) >= 4 and len(fork_safety._IN_CHILD) >= 4
FILES = {module.__file__ for module in (fork_safety, interrupts)}

class Lines:
    def __init__(self, parent, child):
        self.first, self.count, self.chosen = os.getpid(), 0, {True: parent, False: child}
        self.is_child = False
    def trace(self, frame, event, argument):
        if frame.f_code.co_filename not in FILES:
            return None
        if event in ("line", "call"):
            is_child = os.getpid() != self.first
            if is_child and not self.is_child:
                self.is_child, self.count = True, 0
            self.count += 1
            if self.count == self.chosen[not is_child]:
                signal.raise_signal(signal.SIGINT)
        return self.trace

def whole(handler=signal.default_int_handler):
    free = []
    def look():
        for lock in fork_safety._LOCKS:
            free.append(lock.acquire(timeout=1))
            if free[-1]:
                lock.release()
    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    blocked = signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])
    # A lock that was taken twice is not free for others either.
    return all(free) and not blocked and signal.getsignal(signal.SIGINT) is handler

def forked(lines=None, when="", handler=signal.default_int_handler):
    '''What came of a fork: whether Ctrl-C was heard and everything was whole, in the parent and in the child; how many lines there were.'''
    heard, child, first = False, None, os.getpid()
    reading, writing = os.pipe()
    for place, number in numbers.items():
        number.value = signal.SIGINT if place == when else 0
    try:
        if lines:
            sys.settrace(lines.trace)
        child = os.fork()
    except KeyboardInterrupt:
        heard = True
    finally:
        sys.settrace(None)
    if when:
        numbers[when].value = 0
    if os.getpid() != first:
        os.write(writing, repr((heard, whole(handler), lines.count if lines else 0)).encode())
        os._exit(0)
    os.close(writing)
    told = eval(os.read(reading, 1000) or b"'nothing'")
    os.close(reading)
    os.waitpid(-1, 0)
    return (heard, whole(handler), lines.count if lines else 0), told

def in_thread(work):
    found = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    return found[0]
"""


# Each of these runs in a fork of one interpreter that has imported the package.
CASES = {
    "between functions of others": """
assert forked() == ((False, True, 0), (False, True, 0))
for who, expected in {"before": (True, False), "parent": (True, False), "child": (False, True)}.items():
    for name in ("earlier", "later"):
        # Before the first of ours there is no one who could put it off: Python tells that it was lost, and forks.
        lost = (who, name) == ("before", "later")
        for _ in range(2):
            parent, child = forked(when=f"{who}, {name}")
            assert (parent[1], child[1]) == (True, True), (who, name, parent, child)
            assert (parent[0], child[0]) == ((False, False) if lost else expected), (who, name, parent, child)
""",
    "at lines": """
(_, _, in_parent), (_, _, in_child) = forked(Lines(None, None))
assert in_parent > 20 and in_child > 20
lost = []
for chosen in range(1, in_parent + 1, STEP):
    parent, child = forked(Lines(chosen, None))
    assert parent[1] and child[1] and not child[0], (chosen, parent, child)
    if not parent[0]:
        lost.append(chosen)
# Those before it is put off.
assert lost == list(range(1, in_parent + 1, STEP))[: len(lost)] and STEP * len(lost) < 20, lost
for chosen in range(1, in_child + 1, STEP):
    parent, child = forked(Lines(None, chosen))
    assert parent[:2] == (False, True) and child[:2] == (True, True), (chosen, parent, child)
""",
    "a thread that forks": """
_, (_, _, in_child) = in_thread(lambda: forked(Lines(None, None)))
assert in_child > 20
for chosen in range(2, in_child + 1, STEP):
    parent, child = in_thread(lambda: forked(Lines(None, chosen)))
    assert parent[:2] == (False, True) and child[:2] == (True, True), (chosen, parent, child)
for name in ("earlier", "later"):
    parent, child = in_thread(lambda: forked(when=f"child, {name}"))
    assert parent[:2] == (False, True) and child[:2] == (True, True), (name, parent, child)

# The main thread has put Ctrl-C off, and goes on with its block in the parent only.
def press():
    signal.raise_signal(signal.SIGINT)

def interrupted_child():
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        press()
    except KeyboardInterrupt:
        os._exit(7)
    os._exit(1)

with interrupts_deferred():
    with interrupts_deferred():
        found = in_thread(interrupted_child)
assert found == 7, found
""",
    "nested forks and handlers of users": """
def nested():
    child = os.fork()
    if child == 0:
        parent, own = forked(Lines(None, 5))
        os._exit(0 if parent[:2] == (False, True) and own[:2] == (True, True) else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

assert nested() == 0
told = []
def handler(number, frame):
    told.append(number)

signal.signal(signal.SIGINT, handler)
parent, child = forked(when="parent, earlier", handler=handler)
assert told == [signal.SIGINT] and parent[1] and child[1], (told, parent, child)
for ignoring in (signal.SIG_IGN, handler):
    signal.signal(signal.SIGINT, ignoring)
    for when in ("before, earlier", "parent, earlier", "child, earlier", "child, later"):
        parent, child = forked(when=when, handler=ignoring)
        assert parent[:2] == child[:2] == (False, True), (ignoring, when, parent, child)

# A block that puts Ctrl-C off and forks hears of it at its end, in its own process.
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    with interrupts_deferred():
        heard, rest = forked(when="parent, earlier", handler=signal.getsignal(signal.SIGINT))
        assert heard[:2] == rest[:2] == (False, True), (heard, rest)
    raise AssertionError("not heard")
except KeyboardInterrupt:
    pass
assert not ignored
""",
}
FORK_FOR_EACH = """
for name, program in json.loads(sys.argv[1]).items():
    child = os.fork()
    if not child:
        faulthandler.dump_traceback_later(200, exit=True)
        try:
            exec(program, globals())
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        sys.exit(name)
"""


def test_interrupts_amid_forks() -> None:
    # The normal run takes every third line, and another third in a thread.
    step = f"STEP = {1 if os.environ.get('SFRAME_SPARK_EXAMPLES') else 3}\n"
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", PROGRAM + step + FORK_FOR_EACH, json.dumps(CASES)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr
