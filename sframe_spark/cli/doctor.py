"""``python -m sframe_spark doctor``: checks Python, Java, Spark, the temporary directory and plug-ins, or a cluster and its executors' packages."""

from __future__ import annotations

import importlib
import os
import shlex
import shutil
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator

import attrs

from sframe_spark.config import config
from sframe_spark.engine.spark.error_translation import in_one_line, is_of_spark
from sframe_spark.engine.spark.executor_version_checks import SAME_VERSIONS, Answer, answers, difference, is_without_package
from sframe_spark.engine.spark.shared_file_and_row_count_checks import SHARED_DIRECTORY, require_writable
from sframe_spark.errors import NotSharedError, PluginWarning, SFrameError
from sframe_spark.message_text import in_words
from sframe_spark.paths_and_uris import is_remote_location
from sframe_spark.planner.plugin_loading import plugins
from sframe_spark.process.control_groups import available_cores
from sframe_spark.process.memory import all_memory, available_memory, is_in_memory
from sframe_spark.process.temporary_file_leases import directory_of_system
from sframe_spark.process.threads import POLL_SECONDS
from sframe_spark.pyarrow_versions import version_numbers
from sframe_spark.session import get_session, is_started, stop
from sframe_spark.session.java import MINIMUM_VERSION, install_command, search_java
from sframe_spark.session.session import get_base, get_packages
from sframe_spark.session.spark_locality import is_one_process
from sframe_spark.session.spark_start_and_settings import connect
from sframe_spark.session.spark_versions import FIRST_VERSION, missing_in, supported_versions
from sframe_spark.storage.filesystem.temporary_datasets import temporary_store

MINIMUM_PYTHON = (3, 11)
MINIMUM_FREE_BYTES = 1 << 30

# Required packages, each with its lowest version.
REQUIRED_MODULES: tuple[tuple[str, tuple[int, ...]], ...] = (
    ("pyspark", FIRST_VERSION),
    ("pyarrow", (17,)),
    ("pandas", (2, 2)),
)
# The package that the extra `sframe_spark[pictures]` installs.
PICTURE_MODULE = "vl_convert"
INSTALL_PICTURES = 'python -m pip install "sframe_spark[pictures]"'


@attrs.frozen
class Diagnosis:
    """The result of one check.

    Parameters
    ----------
    subject
        What was checked.
    detail
        What was found.
    fix
        What to do about it; None if nothing is wrong.
    """

    subject: str
    detail: str
    fix: str | None = None

    def __str__(self) -> str:
        if self.fix is None:
            return f"ok     {self.subject}: {self.detail}"
        return f"WRONG  {self.subject}: {self.detail}\n       fix: {self.fix}"


def check_python() -> Diagnosis:
    """Return the result of checking Python's version."""
    needed = ".".join(map(str, MINIMUM_PYTHON))
    fix = None if sys.version_info >= MINIMUM_PYTHON else f"install Python {needed} or later and use that"
    return Diagnosis("python", f"{sys.version.split()[0]} at {sys.executable}", fix)


def check_module(name: str, minimum: tuple[int, ...]) -> Diagnosis:
    """Return the result of checking the version of a required package."""
    needed = ".".join(map(str, minimum))
    fix = f'python -m pip install "{name}>={needed}"'
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        return Diagnosis(name, f"cannot be imported: {error}", fix)
    version = str(module.__version__)
    return Diagnosis(name, version, None if version_numbers(version) >= minimum else fix)


def check_pictures() -> Diagnosis:
    """Check whether the package that draws pictures is installed; everything else works without it."""
    try:
        module = importlib.import_module(PICTURE_MODULE)
    except ImportError as error:
        return Diagnosis("pictures", f"not available, as {error}; only plot() and show() need this: {INSTALL_PICTURES}")
    return Diagnosis("pictures", f"vl-convert {module.__version__}")


def check_java() -> Diagnosis:
    """Search for a Java runtime, in the same way as a session does."""
    search = search_java()
    if search.runtime is not None:
        return Diagnosis("java", f"{search.runtime.version} from {search.runtime.origin}")
    named = os.environ.get("SFRAME_SPARK_JAVA")
    fix = f"unset SFRAME_SPARK_JAVA or let it name Java {MINIMUM_VERSION} or later" if named else install_command()
    return Diagnosis("java", f"none of version {MINIMUM_VERSION} or later; " + "; ".join(search.rejected), fix)


def check_machine() -> Diagnosis:
    """Return what this process may use of the machine, or of the container that it runs in."""
    left = available_memory()
    known = "" if left is None else f", of which {in_words(left.size)} are {left.source}"
    return Diagnosis("machine", f"{available_cores()} core(s), {in_words(all_memory())} of memory{known}")


def check_temporary_directory() -> Diagnosis:
    """Return the result of checking the directory for materialised frames, and its free space."""
    fix = "set SFRAME_SPARK_TMP to a directory that can be written, with a few GB of room"
    try:
        directory = config.temporary_directory or directory_of_system()
    except SFrameError as error:
        return Diagnosis("temporary directory", str(error), fix)
    if is_remote_location(directory):
        return Diagnosis("temporary directory", f"{directory}; `python -m sframe_spark clean --dry-run` lists it")
    try:
        with tempfile.TemporaryFile(dir=directory):
            free = shutil.disk_usage(directory).free
    except OSError as error:
        return Diagnosis("temporary directory", f"{directory} cannot be written: {error}", fix)
    detail = f"{directory}, {free / (1 << 30):.1f} GiB free"
    if is_in_memory(directory):
        detail += ", on a file system in memory: files there take memory; SFRAME_SPARK_TMP can name a directory on a disk"
    return Diagnosis("temporary directory", detail, None if free >= MINIMUM_FREE_BYTES else fix)


def check_plugins() -> Iterator[Diagnosis]:
    """Yield the result of loading each installed package that announces plug-ins."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PluginWarning)
        found = plugins()
    for plugin in found:
        fix = f"repair or uninstall it, or switch it off: SFRAME_SPARK_DISABLED_PLUGINS={plugin.distribution}" if plugin.fault else None
        yield Diagnosis("plug-in", str(plugin), fix)


def check_spark() -> Diagnosis:
    """Return the result of a tiny Spark job, which runs in the JVM and in a Python worker."""
    started = time.monotonic()
    try:
        session = get_session()
        rows = session.range(1000).mapInArrow(lambda batches: batches, "id long")
        total = rows.selectExpr("sum(id)").collect()[0][0]
    except SFrameError as error:
        return Diagnosis("spark", str(error).splitlines()[0], "see the lines above")
    except Exception as error:
        # This command reports every failure inside Spark.
        return Diagnosis("spark", f"{type(error).__name__}: {error}", "correct what the message names; `java -version` must work")
    if total != 499_500:
        return Diagnosis("spark", f"a sum came out as {total}", "reinstall: python -m pip install --force-reinstall pyspark")
    return Diagnosis(
        "spark", f"{session.version}, a job with a Python worker ran, {time.monotonic() - started:.1f} s{what_is_missing(session.version)}"
    )


def what_is_missing(version: str) -> str:
    """Return what a version of Spark cannot do, as the end of a line; empty if nothing is known to be missing.

    Examples
    --------
    >>> what_is_missing("4.0.5")
    '; this version is without sql() of Spark Connect (supported: Spark 3.5 and 4.0 to 4.3)'
    """
    missing = missing_in(version)
    return f"; this version is without {' and '.join(missing)} (supported: {supported_versions()})" if missing else ""


def findings(cluster: Callable[[], Iterator[Diagnosis]] | None = None) -> Iterator[Diagnosis]:
    """Yield the results of all checks. The last ones check a cluster, if it is given, otherwise Spark on this machine."""
    yield check_python()
    for name, minimum in REQUIRED_MODULES:
        yield check_module(name, minimum)
    yield check_pictures()
    yield check_java()
    yield check_machine()
    yield check_temporary_directory()
    yield from check_plugins()
    yield from [check_spark()] if cluster is None else cluster()


def run_doctor(show: Callable[[str], None], cluster: Callable[[], Iterator[Diagnosis]] | None = None) -> int:
    """Show the result of each check when it is ready; return 1 if anything is wrong, otherwise 0."""
    wrong = 0
    for finding in findings() if cluster is None else findings(cluster):
        show(str(finding))
        wrong += finding.fix is not None
    show("something is wrong: see the fixes above" if wrong else "all is well")
    return 1 if wrong else 0


# Checks of a cluster.

SECONDS, SECONDS_TO_END = 120.0, 10.0
# On Spark's own (standalone) clusters workers run already, so executors start in seconds; other clusters may start machines first.
SECONDS_TO_REGISTER, STANDALONE = 20.0, "spark://"
_NO_EXECUTOR = (
    "check on the cluster's web page whether there are machines with free cores and memory, and check spark.executor.memory and spark.cores.max"
)
_NO_CLUSTER = "check the URL, and that the cluster runs and can reach this machine (spark.driver.host)"


def check_cluster(master: str, seconds: float = SECONDS) -> Iterator[Diagnosis]:
    """Connect to a cluster and check its executors. Yields results as they come, each after at most the given number of seconds."""
    executors: list[Answer] = []

    def query() -> Diagnosis:
        """Query all executors and add their answers to the list; this package is sent to executors without it."""
        executors.extend(answers(None, None))
        return Diagnosis("executors", f"{len(distinct(executors))} answered")

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
    answered = within(seconds, "executors", query, _NO_EXECUTOR)
    yield from map(finding_of, distinct(executors))
    if answered.fix is not None or not executors:
        yield answered
    elif all(finding_of(answer).fix is None for answer in executors):
        yield within(seconds, "shared directory", _shared, _NO_EXECUTOR)


def end_connection() -> None:
    """End the session that was started for the checks; if the cluster does not respond in time, it is not waited for."""

    def work() -> Diagnosis:
        base = get_base() if is_started() else None
        stop()
        if base is not None:
            base.stop()
        return Diagnosis("end", "")

    within(SECONDS_TO_END, "end", work, "")


def within(seconds: float, subject: str, work: Callable[[], Diagnosis], advice: str) -> Diagnosis:
    """Return the result of a check, or a failure if it takes too long, as Spark would wait for executors forever."""
    results: list[Diagnosis] = []

    def run() -> None:
        try:
            results.append(work())
        except SFrameError as error:
            results.append(Diagnosis(subject, str(error), advice))
        except BaseException as error:
            message = in_one_line(str(error)) if is_of_spark(error) else f"{type(error).__name__}: {error}"
            results.append(Diagnosis(subject, message, advice))

    thread = threading.Thread(target=run, name=f"sframe_spark doctor: {subject}", daemon=True)
    thread.start()
    thread.join(seconds)
    return results[0] if results else Diagnosis(subject, f"no answer in {seconds:g} s", advice)


def _connected(master: str) -> Diagnosis:
    connect(master)
    version = get_session().version
    return Diagnosis("cluster", f"Spark {version} at {master}{what_is_missing(version)}")


def _registered(seconds: float) -> Diagnosis:
    """Return the result of waiting for an executor.

    If none starts in time, the result says what an executor requests, which may be more than any worker has.
    """
    context, until = get_session().sparkContext, time.monotonic() + seconds
    if context.getConf().get("spark.dynamicAllocation.enabled", "false") == "true":
        return Diagnosis("executors", "they start when there is work")
    while True:
        # The driver counts as an executor, too.
        if context._jsc.sc().getExecutorMemoryStatus().size() > 1:
            return Diagnosis("executors", "there are some")
        if time.monotonic() > until:
            chosen = context.getConf()
            memory, cores = chosen.get("spark.executor.memory", "1g"), chosen.get("spark.executor.cores", "1")
            detail = f"none has started in {seconds:g} s: each asks for {memory} of memory and {cores} or more free cores of one worker"
            return Diagnosis("executors", detail, _NO_EXECUTOR)
        time.sleep(POLL_SECONDS)


def distinct(executors: list[Answer]) -> list[Answer]:
    """Return one answer of each executor, sorted by executor."""
    return [answer for _, answer in sorted({answer.executor: answer for answer in executors}.items())]


def finding_of(answer: Answer) -> Diagnosis:
    """Return the result of the check of one executor."""
    subject = f"executor on {answer.executor}"
    if is_without_package(answer):
        return Diagnosis(subject, answer.trouble, SAME_VERSIONS)
    wrong = difference(answer)
    if wrong:
        return Diagnosis(subject, wrong, SAME_VERSIONS)
    sent = ", sent from here" if get_packages().archive is not None else ""
    return Diagnosis(subject, f"Python {answer.python}, pyarrow {answer.pyarrow}, sframe_spark {answer.package}{sent}")


NO_DIRECTORY = (
    "none is named; results larger than config.memory_budget go to the object store of spark.sql.warehouse.dir, or are refused. "
    "To name one: SFRAME_SPARK_TMP=/a/directory"
)


def _shared() -> Diagnosis:
    """Return the result of checking whether executors see the directory of temporary data."""
    subject, directory = "shared directory", config.temporary_directory
    if is_one_process(get_session()):
        return Diagnosis(subject, "this machine does all the work")
    if directory is None:
        return Diagnosis(subject, NO_DIRECTORY)
    handle = temporary_store().new_dataset()
    try:
        require_writable(handle.directory)
    except NotSharedError as error:
        return Diagnosis(subject, str(error), SHARED_DIRECTORY)
    finally:
        handle.discard()
    return Diagnosis(subject, f"all executors see {shlex.quote(os.path.abspath(directory))}")
