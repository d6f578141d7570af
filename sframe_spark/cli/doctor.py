"""Check that this machine can run sframe_spark, and say how to mend what is wrong."""

from __future__ import annotations

import importlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator

import attrs

from sframe_spark.config import config
from sframe_spark.errors import SFrameError
from sframe_spark.locations import is_elsewhere
from sframe_spark.process.leases import directory_of_system
from sframe_spark.session.java import INSTALL_COMMAND, MINIMUM_VERSION, search_java
from sframe_spark.session.session import get_session

MINIMUM_PYTHON = (3, 11)
MINIMUM_FREE_BYTES = 1 << 30

# Module, lowest version, and what to type when it is missing or older.
REQUIRED_MODULES: tuple[tuple[str, tuple[int, ...]], ...] = (
    ("pyspark", (4, 3)),
    ("pyarrow", (15,)),
    ("pandas", (2, 2)),
)
# What `sframe_spark[pictures]` brings.
PICTURE_MODULE = "vl_convert"
INSTALL_PICTURES = 'python -m pip install "sframe_spark[pictures]"'


@attrs.frozen
class Diagnosis:
    """What one check found.

    Parameters
    ----------
    subject
        What was looked at.
    detail
        What was found.
    fix
        What to do about it; None when all is well.
    """

    subject: str
    detail: str
    fix: str | None = None

    def __str__(self) -> str:
        if self.fix is None:
            return f"ok     {self.subject}: {self.detail}"
        return f"WRONG  {self.subject}: {self.detail}\n       fix: {self.fix}"


def check_python() -> Diagnosis:
    """Look at the version of Python."""
    found = f"{sys.version.split()[0]} at {sys.executable}"
    needed = ".".join(map(str, MINIMUM_PYTHON))
    fix = None if sys.version_info >= MINIMUM_PYTHON else f"install Python {needed} or later and use that"
    return Diagnosis("python", found, fix)


def check_module(name: str, minimum: tuple[int, ...]) -> Diagnosis:
    """Look at the version of a package that is needed."""
    needed = ".".join(map(str, minimum))
    fix = f'python -m pip install "{name}>={needed}"'
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        return Diagnosis(name, f"cannot be imported: {error}", fix)
    version = str(module.__version__)
    return Diagnosis(name, version, None if version_numbers(version) >= minimum else fix)


def check_pictures() -> Diagnosis:
    """Look for what pictures are drawn with; all else works without."""
    try:
        module = importlib.import_module(PICTURE_MODULE)
    except ImportError as error:
        return Diagnosis("pictures", f"none, as {error}; only plot() and show() need them: {INSTALL_PICTURES}")
    return Diagnosis("pictures", f"vl-convert {module.__version__}")


def version_numbers(version: str) -> tuple[int, ...]:
    """Return the leading numbers of a version text.

    Examples
    --------
    >>> version_numbers("4.3.0.dev1")
    (4, 3, 0)
    """
    numbers = []
    for part in version.split("."):
        if not part.isdigit():
            break
        numbers.append(int(part))
    return tuple(numbers)


def check_java() -> Diagnosis:
    """Look for a Java runtime where the session would."""
    search = search_java()
    if search.runtime is not None:
        return Diagnosis("java", f"{search.runtime.version} from {search.runtime.origin}")
    named = os.environ.get("SFRAME_SPARK_JAVA")
    fix = f"unset SFRAME_SPARK_JAVA or let it name Java {MINIMUM_VERSION} or later" if named else INSTALL_COMMAND
    return Diagnosis("java", f"none of version {MINIMUM_VERSION} or later; " + "; ".join(search.rejected), fix)


def check_temporary_directory() -> Diagnosis:
    """Look at where materialised frames go, and how much room there is."""
    fix = "set SFRAME_SPARK_TMP to a directory that can be written, with a few GB of room"
    try:
        directory = config.temporary_directory or directory_of_system()
    except SFrameError as error:
        return Diagnosis("temporary directory", str(error), fix)
    if is_elsewhere(directory):
        return Diagnosis("temporary directory", f"{directory}, which `python -m sframe_spark clean --dry-run` looks at")
    try:
        with tempfile.TemporaryFile(dir=directory):
            free = shutil.disk_usage(directory).free
    except OSError as error:
        return Diagnosis("temporary directory", f"{directory} cannot be written: {error}", fix)
    detail = f"{directory}, {free / (1 << 30):.1f} GiB free"
    return Diagnosis("temporary directory", detail, None if free >= MINIMUM_FREE_BYTES else fix)


def check_spark() -> Diagnosis:
    """Run a tiny job, in the JVM and in a Python worker."""
    started = time.monotonic()
    try:
        session = get_session()
        rows = session.range(1000).mapInArrow(lambda batches: batches, "id long")
        total = rows.selectExpr("sum(id)").collect()[0][0]
    except SFrameError as error:
        return Diagnosis("spark", str(error).splitlines()[0], "see the lines above")
    except Exception as error:
        # Whatever goes wrong inside Spark is what this command is asked to report.
        return Diagnosis("spark", f"{type(error).__name__}: {error}", "mend what the message names; `java -version` must work")
    if total != 499_500:
        return Diagnosis("spark", f"a sum came out as {total}", "reinstall: python -m pip install --force-reinstall pyspark")
    return Diagnosis("spark", f"{session.version}, a job with a Python worker ran, {time.monotonic() - started:.1f} s")


def findings(cluster: Callable[[], Iterator[Diagnosis]] | None = None) -> Iterator[Diagnosis]:
    """Yield the finding of each check, the slow ones last: those of a cluster, or of Spark on this machine."""
    yield check_python()
    for name, minimum in REQUIRED_MODULES:
        yield check_module(name, minimum)
    yield check_pictures()
    yield check_java()
    yield check_temporary_directory()
    if cluster is not None:
        yield from cluster()
    else:
        yield check_spark()


def run_doctor(show: Callable[[str], None], cluster: Callable[[], Iterator[Diagnosis]] | None = None) -> int:
    """Show each finding as it comes; return 1 if anything is wrong, otherwise 0."""
    wrong = 0
    for finding in findings() if cluster is None else findings(cluster):
        show(str(finding))
        wrong += finding.fix is not None
    show("something is wrong: see the fixes above" if wrong else "all is well")
    return 1 if wrong else 0
