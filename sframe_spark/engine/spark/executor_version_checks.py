"""Asks Spark's executors, by small tasks, for their versions and visible files, checks the versions, and sends them this package if they lack it."""

from __future__ import annotations

import importlib
import json
import os
import platform
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa

from sframe_spark.engine.spark.error_translation import run_spark
from sframe_spark.engine.spark.package_archive import SENT_MODULES, archive_bytes, is_compiled, plugin_archive_bytes, write_archive
from sframe_spark.errors import ExecutionError, NotSharedError, StorageError
from sframe_spark.operators.user_function_calls_and_result_memos import plugin_uses
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.plugin_discovery import metadata_of
from sframe_spark.planner.plugin_loading import loaded_packages, plugin_modules, registrations_of
from sframe_spark.process.interrupt_deferral import interrupts_deferred
from sframe_spark.session import default_parallelism, follow_user, get_session
from sframe_spark.session.python_of_spark_workers import importing_safely, require_python_of_tasks
from sframe_spark.session.session import get_packages, ship
from sframe_spark.session.spark_locality import is_one_process
from sframe_spark.session.spark_versions import to_arrow
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.filesystem.temporary_datasets import temporary_store

# Each task sleeps for this time, so that Spark gives the tasks that start together to different executors.
SECONDS_OF_A_TASK = 0.3


@attrs.frozen
class Answer:
    """The report of one task.

    Parameters
    ----------
    host
        Host name of the task's machine.
    place
        The task's working directory; each executor of a machine has its own.
    python, pyarrow, package
        Versions that the task runs. ``package`` is None where this package cannot be imported.
    trouble
        What failed when files were read or written, or when this package was imported; empty if nothing failed.
    content
        What the given function read; empty if none was given, or if it failed.
    written
        Name of the file that the task wrote, with ``content`` in it; empty if none was written.
    missing
        Name of the module whose absence makes the import of this package fail; empty if there is no such module.
    lacking
        The modules of plug-ins that are not found there.
    plugins
        The versions of packages with plug-ins that are installed there, by the names that were asked for.
    """

    host: str
    place: str
    python: str
    pyarrow: str
    package: str | None
    trouble: str
    content: str
    written: str
    missing: str = ""
    lacking: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    plugins: Mapping[str, str] = attrs.field(factory=dict)

    @classmethod
    def of_text(cls, text: str) -> Answer:
        """Return the answer that a task sent as JSON."""
        return cls(**json.loads(text))

    @property
    def executor(self) -> str:
        """The executor that answered, for a message."""
        return f"{self.host} (working in {self.place})"


def versions() -> dict[str, str]:
    """Return the versions that this process runs, by the field names of :class:`Answer`.

    Of Python's version, only the major and minor number are given, as Spark compares these.
    """
    # The package has a version only when it is fully imported, which it is when this function runs, but not when this module is imported.
    package = importlib.import_module("sframe_spark").__version__
    return {"python": ".".join(map(str, sys.version_info[:2])), "pyarrow": pa.__version__, "package": package}


def answering(
    read: Callable[[], str] | None, directory: str | None, modules: Sequence[str] = (), packages: Sequence[str] = ()
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return a function for Spark tasks that calls ``read``, writes what it returned to a new file in a directory, and yields the task's report.

    The report says which of some modules are not found there, and which versions some packages have there.

    It is a nested function, which is pickled by value, so that workers without this package can run it; a function of a module would be imported.
    """
    seconds = SECONDS_OF_A_TASK

    def answer(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import importlib
        import importlib.metadata
        import importlib.util
        import json
        import os
        import platform
        import sys
        import time
        import uuid

        import pyarrow

        def is_lacking(module: str) -> bool:
            try:
                return importlib.util.find_spec(module) is None
            except (ImportError, ValueError):
                return True

        def installed(name: str) -> str:
            try:
                return importlib.metadata.version(name)
            except Exception:
                return ""

        for _ in batches:
            package, missing, content, written, troubles = None, "", "", "", []
            try:
                package = importlib.import_module("sframe_spark").__version__
            except Exception as error:
                missing = str(error.name) if isinstance(error, ModuleNotFoundError) else ""
                troubles.append(f"sframe_spark cannot be imported: {type(error).__name__}: {error}")
            try:
                content = read() if read is not None else ""
                if directory is not None:
                    name = f"answer-{uuid.uuid4().hex}"
                    with open(os.path.join(directory, name), "x", encoding="ascii") as stream:
                        stream.write(content)
                    written = name
            except OSError as error:
                troubles.append(f"{error.strerror}: {error.filename}")
            python = ".".join(map(str, sys.version_info[:2]))
            about = {"host": platform.node(), "place": os.getcwd(), "python": python, "pyarrow": pyarrow.__version__, "package": package}
            lacking = [module for module in modules if is_lacking(module)]
            outcome: dict[str, Any] = {"missing": missing, "content": content, "written": written, "trouble": "; ".join(troubles), "lacking": lacking}
            outcome["plugins"] = {name: version for name in packages if (version := installed(name))}
            time.sleep(seconds)
            yield pyarrow.RecordBatch.from_pydict({"answer": [json.dumps({**about, **outcome})]})

    return answer


# Checks before functions are sent to executors: their Python must have the same versions as this process. Where only this package is missing, it is
# sent to them.

SAME_VERSIONS = "install the same versions of Python, pyarrow and sframe_spark on every machine of Spark, and name that Python in PYSPARK_PYTHON"
# Parts of the messages of errors that Python and Spark's workers raise if packages are missing or have other versions.
_OF_IMPORTS = ("ModuleNotFoundError", "ImportError", "No module named", "Python in worker", "Cannot run program")
_OWN_PACKAGES = re.compile(rf"No module named '({'|'.join(('pyarrow', 'numpy', 'networkx', *SENT_MODULES))})\b")
NAMES_OF_VERSIONS = {"python": "Python", "pyarrow": "pyarrow", "package": "sframe_spark"}


def require_python() -> None:
    """Make sure that executors can run functions of this package. They are asked once in a session.

    Raises
    ------
    NotSharedError
        If they cannot run them; the message names a machine and what differs.
    """
    require_python_of_tasks()
    check_python_once()
    if get_packages().trouble:
        raise NotSharedError(get_packages().trouble)


def check_python_once() -> None:
    """Ask executors once in a session for their versions, and send them this package if they lack it.

    A mismatch is recorded and no error is raised, because the query may not need Python.
    """
    if not get_packages().checked and not is_one_process(get_session()):
        _ask_python()


def _ask_python() -> None:
    packages = get_packages()
    try:
        # Answers with a version mismatch come first, as that is to be reported rather than a missing package.
        for answer in sorted(answers(None, None), key=lambda answer: not difference(answer)):
            require_same_versions(answer)
    except NotSharedError as error:
        packages.trouble = str(error)
    packages.checked = True


def check_python_again(failure: str) -> None:
    """Ask executors for their versions once more, after a failure that may be due to missing packages.

    An executor with other packages may have joined. A Spark within this process's JVM was not asked before: its workers mostly run the user's Python,
    but may run another one if that is not on the PATH.

    Raises
    ------
    NotSharedError
        If they cannot run functions of this package.
    """
    if any(word in failure for word in _OF_IMPORTS) and (get_packages().checked or is_one_process(get_session())):
        get_packages().trouble = ""
        _ask_python()
        require_python()
        # The session of a user's DataFrame may use a different Python; the answers above came from the Python of our sessions.
        if lacking := _OWN_PACKAGES.search(failure):
            raise NotSharedError(f"{failure}; this package needs {lacking[1]} in the Python of Spark's workers: {SAME_VERSIONS}")
        for module, package in plugin_modules().items():
            if f"No module named '{module}" in failure:
                place = _place_of(module)
                why = "has compiled modules, and cannot be sent to them" if place is not None and is_compiled(place) else "is not found by them"
                raise NotSharedError(f"{failure}; Spark's workers lack the plug-in {package}, which {why}: install it in their Python")


def answers(read: Callable[[], str] | None, directory: str | None) -> list[Answer]:
    """Return the answers of executors. If only this package is missing there, it is sent to them and they are asked again.

    Parameters
    ----------
    read, directory
        The function that tasks call to read files, and the directory to write to; None reads or writes nothing.

    Raises
    ------
    NotSharedError
        If they cannot be asked.
    """
    received = _ask(read, directory)
    if get_packages().archive is None and any(map(is_without_package, received)) and not any(map(difference, received)):
        handle = temporary_store().new_dataset()
        # Executors that join later fetch the archive, too.
        temporary_store().keep(handle)
        with translate_os_errors("write the package into", handle.directory):
            archive = write_archive(handle.directory, "sframe_spark", archive_bytes())
        ship(archive)
        get_packages().archive = archive
        received = _ask(read, directory)
    if get_packages().plugins is None:
        _send_plugins({module for answer in received for module in answer.lacking})
    _note_plugins(received)
    return received


def _note_plugins(received: Sequence[Answer]) -> None:
    """Note which packages with plug-ins have another version where an executor runs: plans that use them are refused."""
    packages = {package.distribution: package for package in plugin_modules().values() if package.version}
    for answer in received:
        for name, version in answer.plugins.items():
            if name in packages and version != packages[name].version:
                what = f"Spark's executor on {answer.executor} has {name} {version}, where {platform.node()} has {packages[name].version}"
                get_packages().plugin_trouble.setdefault(packages[name].key, f"{what}: install the same version on every machine of Spark")


def require_same_plugins(root: PlannerNode) -> None:
    """Require that executors have the versions of this process of the packages whose plug-ins a plan uses. They are asked once in a session.

    Raises
    ------
    NotSharedError
        If an executor has another version; the message names both.
    """
    used = {use for node in postorder([root]) for use in plugin_uses(node.operator)}
    if not used:
        return
    check_python_once()
    trouble = get_packages().plugin_trouble
    for package in loaded_packages() if trouble else ():
        if package.key in trouble and any((made.kind, made.name) in used for made in registrations_of(package)):
            raise NotSharedError(trouble[package.key])


def _send_plugins(lacking: Collection[str]) -> None:
    """Send the modules of plug-ins that an executor lacks, except compiled ones, which cannot be imported from an archive."""
    packages = {module: package for module, package in plugin_modules().items() if module in lacking}
    places = {module: place for module in packages if (place := _place_of(module)) is not None and not is_compiled(place)}
    if not places:
        return
    metadata = {}
    for package in {packages[module] for module in places}:
        metadata.update({f"{package.key.replace('-', '_')}-{package.version}.dist-info/{name}": text for name, text in metadata_of(package).items()})
    handle = temporary_store().new_dataset()
    temporary_store().keep(handle)
    with translate_os_errors("write plug-ins into", handle.directory):
        archive = write_archive(handle.directory, "sframe_spark_plugins", plugin_archive_bytes(places, metadata))
    ship(archive)
    get_packages().plugins = archive


def _place_of(module: str) -> Path | None:
    """Return the directory of a package, or the file of a module; None if it is in no file of its own."""
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None or not os.path.isfile(file):
        return None
    return Path(file).parent if Path(file).name == "__init__.py" else Path(file)


def _ask(read: Callable[[], str] | None, directory: str | None) -> list[Answer]:
    """Return the answers of as many tasks as run simultaneously; each lasts until the others have started."""
    # The user may have changed settings, for instance credentials.
    follow_user()
    session = get_session()
    tasks = default_parallelism(session)
    with interrupts_deferred(), importing_safely(session):
        plugins = plugin_modules()
        ask = answering(read, directory, tuple(plugins), tuple({package.distribution for package in plugins.values() if package.version}))
        frame = session.range(0, tasks, 1, tasks).mapInArrow(ask, "answer string")
    try:
        table = run_spark(lambda: to_arrow(frame), "checking what Spark's executors see")
    except ExecutionError as error:
        raise NotSharedError(f"Spark's executors cannot be checked: {error}; {SAME_VERSIONS}") from None
    received = [Answer.of_text(text) for text in table.column(0).to_pylist()]
    if len(received) != tasks:
        raise StorageError(f"only {len(received)} of {tasks} tasks answered; run the query again")
    return received


def is_without_package(answer: Answer) -> bool:
    """Return whether the executor lacks this package, or one of the packages that are sent with it, and has all others."""
    return answer.package is None and answer.missing.split(".")[0] in SENT_MODULES


def difference(answer: Answer) -> str:
    """Return how an executor's versions differ from those here, or why this package fails to import there.

    The result is empty if nothing differs or only this package is missing.
    """
    for name, own_package in versions().items():
        theirs = getattr(answer, name)
        if theirs is None and not is_without_package(answer):
            return f"{answer.trouble}, where {platform.node()} has {own_package}"
        if theirs not in (None, own_package):
            return f"has {NAMES_OF_VERSIONS[name]} {theirs}, where {platform.node()} has {own_package}"
    return ""


def require_same_versions(answer: Answer) -> None:
    """Require that an executor runs the same versions as this process, and has this package.

    Raises
    ------
    NotSharedError
        If a version differs or the package is missing; the message names the executor and what differs.
    """
    mismatch = difference(answer)
    if not mismatch and answer.package is None:
        mismatch = f"{answer.trouble}, where {platform.node()} has {versions()['package']}"
    if mismatch:
        raise NotSharedError(f"Spark's executor on {answer.executor}: {mismatch}: {SAME_VERSIONS}")
