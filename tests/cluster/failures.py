"""What may happen amid a program on a cluster, and what must hold after it: right rows or one clear error, nothing is left, the next run is right.

    python -m tests.cluster.failures SET-UP [EVENT ...]

tries each event amid each program in each way that the set-up has, and prints a line for each; without a set-up all are tried.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from subprocess import PIPE
from typing import Any

import attrs

from tests.cluster.failing import INTERRUPTED, PROGRAMS, RIGHT
from tests.cluster.machine import PROJECT
from tests.cluster.set_ups import SET_UPS, Machines, SetUp, machines
from tests.cluster.slow_tasks.pyspark_with_slow_tasks import BEGUN, END, PACE, SLOW

SECONDS, SECONDS_TO_END = 150, 20
# Seconds that each task waits, so that most of a program's time is that of its tasks.
SECONDS_OF_TASK = 0.25
MARK = "SFRAME_TEST_DRIVER"
GONE = "gone"
# How long after its first task something happens.
MOST_SECONDS_AFTER, NUMBER_OF_SEED = 1.5, 51
ONE_LINE = re.compile(r"(ExecutionError|StorageError|NotSharedError): [^\n]+")
TRACES_OF_JAVA = ("Traceback", "py4j", "at org.apache", "java.lang.", "o.a.spark")


class DriverGoneError(Exception):
    """The driver has ended."""


class RunningDriver:
    """A process of a user, with a session on the cluster.

    Parameters
    ----------
    place
        The cluster.
    is_new
        Whether to save what programs load.
    """

    def __init__(self, place: Machines, is_new: bool) -> None:
        self.mark = uuid.uuid4().hex
        self.log = (place.notes / f"driver-{self.mark}.log").open("w", encoding="utf-8")
        options = {} if place.store is None else place.store.options
        command = [sys.executable, "-m", "tests.cluster.failing", json.dumps([place.url, place.settings, place.place, options, is_new])]
        environment = {**place.environment, MARK: self.mark}
        streams = {"stdin": PIPE, "stdout": PIPE, "stderr": self.log}
        # A group of its own: Ctrl-C in a terminal goes to all processes of one, the driver's JVM too.
        self.process = subprocess.Popen(command, text=True, cwd=PROJECT, env=environment, start_new_session=True, **streams)
        self.answer()

    def begin(self, program: str, way: str) -> None:
        """Let a program run."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"program": program, "way": way}) + "\n")
        self.process.stdin.flush()

    def has_answered(self) -> bool:
        """Return whether there is an answer, or no process any more."""
        return bool(select.select([self.process.stdout], [], [], 0)[0])

    def answer(self) -> dict[str, Any]:
        """Wait for the answer."""
        assert self.process.stdout is not None
        until = time.monotonic() + SECONDS
        while not self.has_answered():
            if time.monotonic() > until:
                self.kill()
                raise AssertionError(f"no answer:\n{self.said()}")
            time.sleep(0.02)
        line = self.process.stdout.readline()
        if not line:
            raise DriverGoneError(self.said())
        found: dict[str, Any] = json.loads(line)
        return found

    def said(self) -> str:
        """The end of its log."""
        return Path(self.log.name).read_text(errors="replace")[-4000:]

    def processes(self) -> list[int]:
        """The process and those that it has started, as far as they run."""
        found = []
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError, ValueError):
                if f"{MARK}={self.mark}".encode() in (entry / "environ").read_bytes() and b"\nState:\tZ" not in (entry / "status").read_bytes():
                    found.append(int(entry.name))
        return found

    def kill(self) -> None:
        """Kill the process alone."""
        self.process.kill()
        self.process.wait(10)

    def end(self) -> list[int]:
        """Let the process end by itself; those that it leaves, which are killed then."""
        if self.process.poll() is None:
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                self.process.communicate(timeout=SECONDS_TO_END)
        left = wait_until_none(self.processes)
        for number in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        self.process.kill()
        self.process.communicate()
        self.log.close()
        return left


def wait_until_none(find: Callable[[], list[Any]]) -> list[Any]:
    """Return what is still found after a while."""
    until = time.monotonic() + SECONDS_TO_END
    while (found := find()) and time.monotonic() < until:
        time.sleep(0.1)
    return found


# Events.


def executors(place: Machines) -> list[int]:
    """The processes of executors, whose sessions are those of their workers."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            words = (entry / "cmdline").read_bytes()
            if b"CoarseGrainedExecutorBackend" in words and os.getsid(int(entry.name)) in [worker.pid for worker in place.cluster.workers]:
                found.append(int(entry.name))
    return sorted(found)


def nothing() -> None:
    """Do nothing."""


Undo = Callable[[], None]


def signal_executor(number: signal.Signals) -> Callable[[Machines, RunningDriver], Undo]:
    """Return what sends a signal to an executor; its worker starts another."""

    def send(place: Machines, driver: RunningDriver) -> Undo:
        until = time.monotonic() + SECONDS
        while not (found := executors(place)):
            assert time.monotonic() < until, "no executor came"
            time.sleep(0.1)
        os.kill(found[0], number)
        return nothing

    return send


def kill_worker(place: Machines, driver: RunningDriver) -> Undo:
    """Kill a worker with its executor, and let another one come."""
    gone = place.cluster.workers.pop(0)
    os.killpg(gone.pid, signal.SIGKILL)
    gone.wait(10)
    place.cluster.start_workers([place.set_up.shares_directory])
    return nothing


def restart_master(place: Machines, driver: RunningDriver) -> Undo:
    """Kill the master; another one takes its place."""
    place.cluster.restart_master()
    return nothing


def leave(file: str) -> Callable[[Machines], None]:
    """Return what leaves a file for the first task that finds it."""
    return lambda place: (place.notes / file).touch()


def remove_shuffle_files(place: Machines, driver: RunningDriver) -> Undo:
    """Delete what tasks have written for others so far."""
    for file in [*place.local.rglob("shuffle_*_*_*.data"), *place.local.rglob("shuffle_*_*_*.index")]:
        file.unlink(missing_ok=True)
    return nothing


def fill(disk: Path) -> Undo:
    """Leave no byte on a disk, until it is undone."""
    file = disk / "filler"
    descriptor = os.open(file, os.O_CREAT | os.O_WRONLY)
    try:
        free = shutil.disk_usage(disk).free
        with contextlib.suppress(OSError):
            os.posix_fallocate(descriptor, 0, free)
        with contextlib.suppress(OSError):
            while os.write(descriptor, bytes(4096)):
                pass
    finally:
        os.close(descriptor)
    return lambda: file.unlink(missing_ok=True)


def fill_disk_of_executors(place: Machines, driver: RunningDriver) -> Undo:
    """Leave no byte on the disk of executors."""
    return fill(place.local)


def fill_temporary_place(place: Machines, driver: RunningDriver) -> Undo:
    """Leave no byte where temporary data of the driver is."""
    return fill(place.shared)


def press_ctrl_c(place: Machines, driver: RunningDriver) -> Undo:
    """Interrupt the driver, as a terminal does."""
    os.kill(driver.process.pid, signal.SIGINT)
    return nothing


def kill_driver(place: Machines, driver: RunningDriver) -> Undo:
    """Kill the driver."""
    driver.kill()
    return nothing


def kill_jvm(place: Machines, driver: RunningDriver) -> Undo:
    """Kill the driver's JVM, which its Python does not expect."""
    for number in driver.processes():
        with contextlib.suppress(OSError):
            if Path(f"/proc/{number}/comm").read_text(encoding="utf-8").strip() == "java":
                os.kill(number, signal.SIGKILL)
    return nothing


def is_right(said: str) -> bool:
    """Return whether rows are right."""
    return said == RIGHT


def is_error(said: str) -> bool:
    """Return whether an error is told in one line, without traces of Java."""
    return ONE_LINE.fullmatch(said) is not None and not any(trace in said for trace in TRACES_OF_JAVA)


@attrs.frozen
class Event:
    """What may happen amid a program.

    Parameters
    ----------
    happen
        Lets it happen, and returns what undoes it when the program has ended.
    may_end
        Whether a program may end so.
    prepare
        Done before the program begins.
    ends_driver
        Whether the driver is of no use then.
    needs
        Whether a set-up can have it.
    """

    happen: Callable[[Machines, RunningDriver], Undo]
    may_end: Callable[[str], bool] = is_right
    prepare: Callable[[Machines], None] = lambda place: None
    ends_driver: bool = False
    needs: Callable[[SetUp], bool] = lambda set_up: True


EVENTS = {
    "killed executor": Event(signal_executor(signal.SIGKILL)),
    "decommissioned executor": Event(signal_executor(signal.SIGPWR)),
    "killed worker": Event(kill_worker),
    "killed master": Event(restart_master),
    "lost shuffle files": Event(remove_shuffle_files),
    "slow task": Event(lambda place, driver: nothing, prepare=leave(SLOW)),
    "killed task": Event(lambda place, driver: nothing, prepare=leave(END)),
    "full disk of executors": Event(fill_disk_of_executors, lambda said: is_right(said) or (is_error(said) and " is full (" in said)),
    "full temporary place": Event(fill_temporary_place, lambda said: is_right(said) or (is_error(said) and " is full (" in said)),
    "Ctrl-C": Event(press_ctrl_c, lambda said: said in (INTERRUPTED, RIGHT)),
    "killed driver": Event(kill_driver, lambda said: said == GONE, ends_driver=True),
    "killed JVM of the driver": Event(kill_jvm, is_error, ends_driver=True, needs=lambda set_up: not set_up.is_server),
}


def ways_of(set_up: SetUp) -> Sequence[str]:
    """Return how rows are exchanged on a set-up."""
    return ("tasks", "query") if set_up.shares_directory or set_up.has_store else ("collected",)


@attrs.define
class Ending:
    """How a program ended amid which something happened.

    Parameters
    ----------
    said
        What it said.
    faults
        What should not be so.
    seconds
        How long it took.
    was_amid
        Whether it ran when it happened.
    """

    said: str
    faults: list[str]
    seconds: float
    was_amid: bool


class Trials:
    """Tries programs on a running cluster, amid which something happens.

    Parameters
    ----------
    place
        The cluster.
    """

    def __init__(self, place: Machines) -> None:
        self.place = place
        self.driver: RunningDriver | None = None
        self.drivers = 0
        self.known_as_left: set[str] = set()

    def running(self) -> RunningDriver:
        """Return the driver, started anew where there is none, or none that answers."""
        if self.driver is not None and self.driver.process.poll() is not None:
            self.end_driver()
        if self.driver is None:
            self.driver = RunningDriver(self.place, is_new=not self.drivers)
            self.drivers += 1
        return self.driver

    def undisturbed(self, program: str, way: str) -> tuple[dict[str, Any], list[str]]:
        """Run a program; its answer, and what is wrong with it."""
        driver = self.running()
        driver.begin(program, way)
        answer = driver.answer()
        return answer, [f"the run after it said {answer['said']}"] * (answer["said"] != RIGHT) + self.faults_left(answer, "the run after it left")

    @contextlib.contextmanager
    def slow_tasks(self) -> Iterator[None]:
        """Let each task wait."""
        pace = self.place.notes / PACE
        try:
            pace.write_text(str(SECONDS_OF_TASK), encoding="ascii")
            yield
        finally:
            pace.write_text("0", encoding="ascii")
            for file in [self.place.notes / SLOW, self.place.notes / END, *(self.place.notes / BEGUN).iterdir()]:
                file.unlink(missing_ok=True)

    def amid(self, program: str, way: str, name: str, seed: int) -> Ending:
        """Let an event happen a moment after the first task of a program has begun; the seed gives how long after."""
        event, after = EVENTS[name], random.Random(f"{program} {way} {name} {seed}").uniform(0, MOST_SECONDS_AFTER)
        driver = self.running()
        with self.slow_tasks():
            event.prepare(self.place)
            start = time.monotonic()
            driver.begin(program, way)
            while not (driver.has_answered() or os.listdir(self.place.notes / BEGUN)):
                time.sleep(0.01)
            until = time.monotonic() + after
            while time.monotonic() < until and not driver.has_answered():
                time.sleep(0.01)
            was_amid = not driver.has_answered()
            undo = event.happen(self.place, driver)
            try:
                answer = driver.answer()
            except DriverGoneError:
                answer = {"said": GONE if event.happen is kill_driver else f"{GONE}: {driver.said()}", "left": []}
            finally:
                undo()
        ending = Ending(answer["said"], [], time.monotonic() - start, was_amid)
        if not event.may_end(answer["said"]) and (was_amid or answer["said"] != RIGHT):
            ending.faults.append(f"it said {answer['said']}")
        ending.faults += self.faults_left(answer, "it left")
        if event.ends_driver or answer["said"].startswith(GONE):
            ending.faults += self.end_driver()
        ending.faults += self.undisturbed(program, way)[1]
        return ending

    def faults_left(self, answer: dict[str, Any], words: str) -> list[str]:
        """Return what is wrong with what a program has left that nothing before it had left."""
        new = sorted(set(answer["left"]) - self.known_as_left)
        self.known_as_left.update(new)
        return [f"{words} {new[:3]}"] * bool(new) + [f"{words} {answer.get('jobs')} jobs"] * bool(answer.get("jobs"))

    def end_driver(self) -> list[str]:
        """End the driver; what is wrong with what it leaves: the next one on this machine deletes the files of one that was killed."""
        assert self.driver is not None
        driver, self.driver = self.driver, None
        left = driver.end()
        faults = [f"processes {left} were left"] * bool(left)
        if not self.place.set_up.is_server:
            left = wait_until_none(lambda: executors(self.place))
            faults += [f"executors {left} were left"] * bool(left)
        return faults


@contextlib.contextmanager
def trials(set_up: SetUp, directory: Path) -> Iterator[Trials]:
    """Start a cluster for trials, and end what it has started."""
    with machines(set_up, directory) as place:
        found = Trials(place)
        try:
            yield found
        finally:
            if found.driver is not None:
                found.driver.kill()
                found.driver.end()


def try_all(name: str, events: Sequence[str], seed: int) -> int:
    """Try events amid all programs on a set-up, and print a line for each; return the number of faults."""
    set_up, faults = SET_UPS[name], 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory, trials(set_up, Path(directory)) as running:
        for way, program, event in itertools.product(ways_of(set_up), PROGRAMS, events):
            if not EVENTS[event].needs(set_up):
                continue
            found = running.amid(program, way, event, seed)
            faults += bool(found.faults)
            line = f"{name}: {event} amid {program} ({way}){'' if found.was_amid else ', too late'}, {found.seconds:.1f} s: {found.said:.300}"
            print(f"{line}{' FAULT: ' if found.faults else ''}{'; '.join(found.faults)}", flush=True)  # noqa: T201
    return faults


if __name__ == "__main__":
    asked = sys.argv[1:]
    names = asked[:1] or list(SET_UPS)
    sys.exit(1 if sum(try_all(name, asked[1:] or list(EVENTS), NUMBER_OF_SEED) for name in names) else 0)
