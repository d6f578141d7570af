"""Before functions go to Spark's executors: their Python runs the versions that ours does, and is sent this package where only that is missing.

See docs/decisions/023-packages-of-executors.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from sframe_spark.engine.spark.executor_environment import Answer, answering, this_host, versions
from sframe_spark.engine.spark.package_archive import SENT_MODULES, write_archive
from sframe_spark.engine.spark.spark_actions import run_spark
from sframe_spark.errors import ExecutionError, NotSharedError, StorageError
from sframe_spark.process.interrupts import interrupts_deferred
from sframe_spark.session import default_parallelism, follow_user, get_session
from sframe_spark.session.deployment import importing_safely, is_one_process, require_python_of_tasks
from sframe_spark.session.session import get_packages, ship
from sframe_spark.storage.filesystem.io_errors import telling
from sframe_spark.storage.filesystem.temporary_datasets import temporary_store

SAME_VERSIONS = "install the same versions of Python, pyarrow and sframe_spark on every machine of Spark, and name that Python in PYSPARK_PYTHON"
# What Python, and Spark's worker, say where packages are not as they should be.
_OF_IMPORTS = ("ModuleNotFoundError", "ImportError", "No module named", "Python in worker", "Cannot run program")
_OURS = re.compile(rf"No module named '({'|'.join(('pyarrow', 'numpy', 'networkx', *SENT_MODULES))})\b")
NAMES_OF_VERSIONS = {"python": "Python", "pyarrow": "pyarrow", "package": "sframe_spark"}


def require_python() -> None:
    """Make sure that executors can run functions of ours; they are asked once in a session.

    Raises
    ------
    NotSharedError
        If they cannot, naming a machine and what differs.
    """
    require_python_of_tasks()
    look_at_python()
    if get_packages().trouble:
        raise NotSharedError(get_packages().trouble)


def look_at_python() -> None:
    """Ask executors, once in a session, what Python they run, and send them what is missing; a query may need no Python."""
    if not get_packages().asked and not is_one_process(get_session()):
        _ask_python()


def _ask_python() -> None:
    packages = get_packages()
    try:
        # What differs is told before what is not there.
        for answer in sorted(answers(None, None), key=lambda answer: not difference(answer)):
            require_same_versions(answer)
    except NotSharedError as error:
        packages.trouble = str(error)
    packages.asked = True


def ask_python_again(failure: str) -> None:
    """Ask executors once more after a failure that Python tells of: one may have come that is not like the others.

    Those of one process were not asked before: what runs their Python is mostly what runs the user's, but another one where it is not on the path.

    Raises
    ------
    NotSharedError
        If they cannot run functions of ours.
    """
    if any(word in failure for word in _OF_IMPORTS) and (get_packages().asked or is_one_process(get_session())):
        get_packages().trouble = ""
        _ask_python()
        require_python()
        # A user's DataFrame may name a Python that is not that of our sessions, which answers well.
        if lacking := _OURS.search(failure):
            raise NotSharedError(f"{failure}; functions of ours need {lacking[1]} in the Python of Spark's workers: {SAME_VERSIONS}")


def answers(read: Callable[[], str] | None, directory: str | None) -> list[Answer]:
    """What executors find; those that lack nothing but this package are sent it, and asked again.

    Parameters
    ----------
    read, directory
        What tasks look at, and where they write; None: nothing.

    Raises
    ------
    NotSharedError
        If they cannot answer.
    """
    found = _asked(read, directory)
    if get_packages().archive is None and any(is_without_package(answer) for answer in found) and not any(map(difference, found)):
        handle = temporary_store().new_dataset()
        # Executors that come later fetch it too.
        temporary_store().keep(handle)
        with telling("write the package into", handle.directory):
            archive = write_archive(handle.directory)
        ship(archive)
        found = _asked(read, directory)
    return found


def _asked(read: Callable[[], str] | None, directory: str | None) -> list[Answer]:
    """What executors find: as many tasks as run at a time, each of which lasts until the others have started."""
    # Credentials, for one, that the user has just set.
    follow_user()
    session = get_session()
    tasks = default_parallelism(session)
    with interrupts_deferred(), importing_safely(session):
        frame = session.range(0, tasks, 1, tasks).mapInArrow(answering(read, directory), "answer string")
    try:
        table = run_spark(frame.toArrow, "asking Spark's executors what they see")
    except ExecutionError as error:
        raise NotSharedError(f"Spark's executors cannot be asked what they have: {error}; {SAME_VERSIONS}") from None
    found = [Answer.of_text(text) for text in table.column(0).to_pylist()]
    if len(found) != tasks:
        raise StorageError(f"{len(found)} of {tasks} tasks answered what they have; run the query again")
    return found


def is_without_package(answer: Answer) -> bool:
    """True where this package, or one that goes along with it, is not installed."""
    return answer.package is None and answer.missing.split(".")[0] in SENT_MODULES


def difference(answer: Answer) -> str:
    """What an executor has in another version, or why it has none; empty where it is the same, or not installed at all."""
    for name, ours in versions().items():
        theirs = getattr(answer, name)
        if theirs is None and not is_without_package(answer):
            return f"{answer.trouble}, where {this_host()} has {ours}"
        if theirs not in (None, ours):
            return f"has {NAMES_OF_VERSIONS[name]} {theirs}, where {this_host()} has {ours}"
    return ""


def require_same_versions(answer: Answer) -> None:
    """Let an executor pass that runs the same packages.

    Raises
    ------
    NotSharedError
        If it does not, naming it and what differs.
    """
    found = difference(answer) or ("" if answer.package is not None else f"{answer.trouble}, where {this_host()} has {versions()['package']}")
    if found:
        raise NotSharedError(f"Spark's executor on {answer.executor}: {found}: {SAME_VERSIONS}")
