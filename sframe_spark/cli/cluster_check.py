"""What ``python -m sframe_spark doctor --master URL`` looks at: a session there, and what each of its executors has."""

from __future__ import annotations

import os
import shlex
import threading
import time
from collections.abc import Callable, Iterator

import attrs

from sframe_spark.cli.doctor import Diagnosis
from sframe_spark.config import config
from sframe_spark.engine.spark.counts import SHARED_DIRECTORY
from sframe_spark.engine.spark.executor_answers import Answer
from sframe_spark.engine.spark.messages import in_one_line, is_of_spark
from sframe_spark.engine.spark.packages import SAME_VERSIONS, answers, difference, is_without_package
from sframe_spark.engine.spark.probe import require_writable
from sframe_spark.errors import NotSharedError, SFrameError
from sframe_spark.process.threads import POLL_SECONDS
from sframe_spark.session import get_session, is_started, stop
from sframe_spark.session.build import connect
from sframe_spark.session.session import get_base, get_packages
from sframe_spark.session.workers import is_one_process
from sframe_spark.storage.files.temporary import temporary_store

SECONDS, SECONDS_TO_END = 120.0, 10.0
# Workers of Spark's own clusters run already: executors start on them in seconds. Others start machines first.
SECONDS_TO_REGISTER, STANDALONE = 20.0, "spark://"
_NO_EXECUTOR = "look at the cluster's own page whether it has machines with free cores and memory, and at spark.executor.memory and spark.cores.max"
_NO_CLUSTER = "check the URL, and that the cluster runs and can reach this machine (spark.driver.host)"


def check_cluster(master: str, seconds: float = SECONDS) -> Iterator[Diagnosis]:
    """Connect to a cluster and ask its executors; each finding comes as it is made, and none takes longer than so many seconds."""
    connected = within(seconds, "cluster", lambda: _connected(master), _NO_CLUSTER)
    if connected.fix is not None:
        yield attrs.evolve(connected, detail=f"{master} cannot be used: {connected.detail}")
        return
    yield connected
    if master.startswith(STANDALONE):
        missing = within(seconds, "executors", lambda: _registered(min(seconds, SECONDS_TO_REGISTER)), _NO_EXECUTOR)
        if missing.fix is not None:
            yield missing
            return
    found: list[Answer] = []
    asked = within(seconds, "executors", lambda: _asked(found), _NO_EXECUTOR)
    yield from map(finding_of, distinct(found))
    if asked.fix is not None or not found:
        yield asked
        return
    if any(finding_of(answer).fix is not None for answer in found):
        return
    yield within(seconds, "shared directory", _shared, _NO_EXECUTOR)


def end_connection() -> None:
    """End the session that was started to look; what a cluster does not answer is left behind."""

    def work() -> Diagnosis:
        base = get_base() if is_started() else None
        stop()
        if base is not None:
            base.stop()
        return Diagnosis("end", "")

    within(SECONDS_TO_END, "end", work, "")


def within(seconds: float, subject: str, work: Callable[[], Diagnosis], advice: str) -> Diagnosis:
    """What a piece of work finds, or that it takes too long: Spark waits for executors for ever."""
    found: list[Diagnosis] = []

    def run() -> None:
        try:
            found.append(work())
        except SFrameError as error:
            found.append(Diagnosis(subject, str(error), advice))
        except BaseException as error:
            told = in_one_line(str(error)) if is_of_spark(error) else f"{type(error).__name__}: {error}"
            found.append(Diagnosis(subject, told, advice))

    thread = threading.Thread(target=run, name=f"sframe_spark doctor: {subject}", daemon=True)
    thread.start()
    thread.join(seconds)
    return found[0] if found else Diagnosis(subject, f"no answer in {seconds:g} s", advice)


def _connected(master: str) -> Diagnosis:
    connect(master)
    return Diagnosis("cluster", f"Spark {get_session().version} at {master}")


def _registered(seconds: float) -> Diagnosis:
    """Whether an executor has begun; where none does, what each of them asks for, which may be more than any worker has."""
    context, until = get_session().sparkContext, time.monotonic() + seconds
    if context.getConf().get("spark.dynamicAllocation.enabled", "false") == "true":
        return Diagnosis("executors", "they begin when there is work")
    while True:
        # The driver is one of them.
        if context._jsc.sc().getExecutorMemoryStatus().size() > 1:
            return Diagnosis("executors", "there are some")
        if time.monotonic() > until:
            chosen = context.getConf()
            memory, cores = chosen.get("spark.executor.memory", "1g"), chosen.get("spark.executor.cores", "1")
            told = f"none has begun in {seconds:g} s: each asks for {memory} of memory and {cores} or more free cores of one worker"
            return Diagnosis("executors", told, _NO_EXECUTOR)
        time.sleep(POLL_SECONDS)


def _asked(found: list[Answer]) -> Diagnosis:
    """Ask all executors there are; those without this package are sent it."""
    found.extend(answers(None, None))
    return Diagnosis("executors", f"{len(distinct(found))} answered")


def distinct(found: list[Answer]) -> list[Answer]:
    """One answer of each executor, in the order of their names."""
    return [answer for _, answer in sorted({answer.executor: answer for answer in found}.items())]


def finding_of(answer: Answer) -> Diagnosis:
    """What an executor has."""
    subject = f"executor on {answer.executor}"
    if is_without_package(answer):
        return Diagnosis(subject, answer.trouble, SAME_VERSIONS)
    wrong = difference(answer)
    if wrong:
        return Diagnosis(subject, wrong, SAME_VERSIONS)
    sent = ", sent from here" if get_packages().archive is not None else ""
    return Diagnosis(subject, f"Python {answer.python}, pyarrow {answer.pyarrow}, sframe_spark {answer.package}{sent}")


def _shared() -> Diagnosis:
    """Whether executors see the directory of temporary data."""
    subject, directory = "shared directory", config.temporary_directory
    if is_one_process(get_session()):
        return Diagnosis(subject, "this machine does all work")
    if directory is None:
        return Diagnosis(subject, "none is named; what does not fit the driver's memory is refused. To name one: SFRAME_SPARK_TMP=/a/directory")
    handle = temporary_store().new_dataset()
    try:
        require_writable(handle.directory)
    except NotSharedError as error:
        return Diagnosis(subject, str(error), SHARED_DIRECTORY)
    finally:
        handle.discard()
    return Diagnosis(subject, f"{shlex.quote(os.path.abspath(directory))} is seen by all")
