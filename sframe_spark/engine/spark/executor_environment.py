"""Checks of Spark's executors: probe tasks, which need no installed package, report versions and visible files; a missing package is sent."""

from __future__ import annotations

import hashlib
import importlib
import io
import json
import os
import platform
import re
import sys
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import attr
import attrs
import pyarrow as pa

from sframe_spark.engine.spark.actions import run_spark
from sframe_spark.errors import ExecutionError, NotSharedError, StorageError
from sframe_spark.process.interrupts import interrupts_deferred
from sframe_spark.session import default_parallelism, follow_user, get_session
from sframe_spark.session.deployment import importing_safely, is_one_process, require_python_of_tasks
from sframe_spark.session.session import get_packages, ship
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.filesystem.temporary_datasets import temporary_store

# A task stays long enough for the others of its wave to be given to other executors.
SECONDS_OF_A_TASK = 0.3
LARGEST_PART_READ = 65_536


@attrs.frozen
class Answer:
    """What one task found.

    Parameters
    ----------
    host
        Name of its machine.
    place
        Its working directory: one for each executor of a machine.
    python, pyarrow, package
        Versions that it runs; of the package None where it cannot be imported.
    trouble
        What went wrong with the files, or with the import; empty: nothing.
    content
        What it read.
    written
        Name of the file that it wrote, which holds what it read; empty: none.
    missing
        Name of the module that is not installed, where the package cannot be imported for want of it; empty: none.
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

    @classmethod
    def of_text(cls, text: str) -> Answer:
        """The answer as a task sent it."""
        return cls(**json.loads(text))

    @property
    def executor(self) -> str:
        """Which executor answered, for a message."""
        return f"{self.host} (working in {self.place})"


def versions() -> dict[str, str]:
    """What this process runs, by the names of an answer; of Python's version what Spark compares."""
    # Complete by now, although this module is one of its lower layers.
    package = importlib.import_module("sframe_spark").__version__
    return {"python": ".".join(map(str, sys.version_info[:2])), "pyarrow": pa.__version__, "package": package}


def reading(file: str) -> Callable[[], str]:
    """A function that tells what a process sees of a file: its size and a checksum of its end, where Parquet keeps what it is."""
    part = LARGEST_PART_READ

    def read() -> str:
        import hashlib
        import os

        size = os.path.getsize(file)
        with open(file, "rb") as stream:
            stream.seek(max(0, size - part))
            return f"{size}-{hashlib.sha256(stream.read()).hexdigest()}"

    return read


def file_states_of(files: Sequence[str]) -> Callable[[], str]:
    """A function that tells which file a process sees at each path, by what tells one content from another (:class:`FileState`), or why none."""
    paths = list(files)

    def read_states() -> str:
        import json
        import os

        found: list[Any] = []
        for path in paths:
            try:
                status = os.stat(path)
                found.append([status.st_size, status.st_mtime_ns, status.st_ino])
            except OSError as error:
                found.append(error.strerror)
        return json.dumps(found)

    return read_states


def writing(directory: str) -> Callable[[str], str]:
    """A function that writes a text into a new file of a directory, and gives the file's name."""

    def write(content: str) -> str:
        import os
        import uuid

        name = f"answer-{uuid.uuid4().hex}"
        with open(os.path.join(directory, name), "x", encoding="ascii") as stream:
            stream.write(content)
        return name

    return write


def answering(read: Callable[[], str] | None, directory: str | None) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function of tasks that looks at files, writes what it read into a file of a directory, and answers.

    It travels as a whole, where a function of a module would be imported: a worker without this package answers too.
    """
    write = None if directory is None else writing(directory)
    seconds = SECONDS_OF_A_TASK

    def found() -> dict[str, Any]:
        import importlib

        package, missing, content, written, troubles = None, "", "", "", []
        try:
            package = importlib.import_module("sframe_spark").__version__
        except Exception as error:
            missing = str(error.name) if isinstance(error, ModuleNotFoundError) else ""
            troubles.append(f"sframe_spark cannot be imported: {type(error).__name__}: {error}")
        try:
            content = read() if read is not None else ""
            written = write(content) if write is not None else ""
        except OSError as error:
            troubles.append(f"{error.strerror}: {error.filename}")
        return {"package": package, "missing": missing, "content": content, "written": written, "trouble": "; ".join(troubles)}

    def answer(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import json
        import os
        import platform
        import sys
        import time

        import pyarrow

        for _ in batches:
            python = ".".join(map(str, sys.version_info[:2]))
            about = {"host": platform.node(), "place": os.getcwd(), "python": python, "pyarrow": pyarrow.__version__, **found()}
            time.sleep(seconds)
            yield pyarrow.RecordBatch.from_pydict({"answer": [json.dumps(about)]})

    return answer


def this_host() -> str:
    """The name of this machine, for a message."""
    return platform.node()


# This package, and what of others its import needs and is only Python, as an archive that Spark sends to executors without it.

# What is sent: other packages that we need are compiled, and cannot be imported from an archive.
SENT_MODULES = ("sframe_spark", "attr", "attrs")
_SUFFIXES = (".py", ".properties")
# The least that an archive can say.
_TIME = (1980, 1, 1, 0, 0, 0)


def archive_bytes() -> bytes:
    """The archive: of the same files always the same bytes.

    Raises
    ------
    StorageError
        If a package is not in a directory, where its files could be read.
    """
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, root in zip(SENT_MODULES, _places(), strict=True):
            if not root.is_dir():
                raise StorageError(f"the package {name} is in {root}, from which it cannot be sent to executors: install it there")
            for file in sorted(root.rglob("*")):
                if file.suffix in _SUFFIXES and file.is_file():
                    info = zipfile.ZipInfo((Path(name) / file.relative_to(root)).as_posix(), _TIME)
                    info.compress_type, info.external_attr, info.create_system = zipfile.ZIP_DEFLATED, 0o644 << 16, 3
                    archive.writestr(info, file.read_bytes())
    return content.getvalue()


def _places() -> tuple[Path, ...]:
    """Where the packages are, in the order of their names."""
    return Path(__file__).parents[2], Path(attr.__file__).parent, Path(attrs.__file__).parent


def write_archive(directory: str) -> str:
    """Write the archive into a directory, under a name that tells its content, and return its path."""
    content = archive_bytes()
    path = os.path.join(directory, f"sframe_spark-{hashlib.sha256(content).hexdigest()[:16]}.zip")
    with open(path, "wb") as file:
        file.write(content)
    return path


# Before functions go to Spark's executors: their Python runs the versions that ours does, and is sent this package where only that is missing.

SAME_VERSIONS = "install the same versions of Python, pyarrow and sframe_spark on every machine of Spark, and name that Python in PYSPARK_PYTHON"
# What Python, and Spark's worker, say where packages are not as they should be.
_OF_IMPORTS = ("ModuleNotFoundError", "ImportError", "No module named", "Python in worker", "Cannot run program")
_OWN_PACKAGES = re.compile(rf"No module named '({'|'.join(('pyarrow', 'numpy', 'networkx', *SENT_MODULES))})\b")
NAMES_OF_VERSIONS = {"python": "Python", "pyarrow": "pyarrow", "package": "sframe_spark"}


def require_python() -> None:
    """Make sure that executors can run functions of ours; they are asked once in a session.

    Raises
    ------
    NotSharedError
        If they cannot, naming a machine and what differs.
    """
    require_python_of_tasks()
    check_python_once()
    if get_packages().trouble:
        raise NotSharedError(get_packages().trouble)


def check_python_once() -> None:
    """Ask executors, once in a session, what Python they run, and send them what is missing; a query may need no Python."""
    if not get_packages().checked and not is_one_process(get_session()):
        _ask_python()


def _ask_python() -> None:
    packages = get_packages()
    try:
        # What differs is told before what is not there.
        for answer in sorted(answers(None, None), key=lambda answer: not difference(answer)):
            require_same_versions(answer)
    except NotSharedError as error:
        packages.trouble = str(error)
    packages.checked = True


def check_python_again(failure: str) -> None:
    """Ask executors once more after a failure that Python tells of: one may have come that is not like the others.

    Those of one process were not asked before: what runs their Python is mostly what runs the user's, but another one where it is not on the path.

    Raises
    ------
    NotSharedError
        If they cannot run functions of ours.
    """
    if any(word in failure for word in _OF_IMPORTS) and (get_packages().checked or is_one_process(get_session())):
        get_packages().trouble = ""
        _ask_python()
        require_python()
        # A user's DataFrame may name a Python that is not that of our sessions, which answers well.
        if lacking := _OWN_PACKAGES.search(failure):
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
    found = _ask(read, directory)
    if get_packages().archive is None and any(is_without_package(answer) for answer in found) and not any(map(difference, found)):
        handle = temporary_store().new_dataset()
        # Executors that come later fetch it too.
        temporary_store().keep(handle)
        with translate_os_errors("write the package into", handle.directory):
            archive = write_archive(handle.directory)
        ship(archive)
        found = _ask(read, directory)
    return found


def _ask(read: Callable[[], str] | None, directory: str | None) -> list[Answer]:
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
    for name, own_package in versions().items():
        theirs = getattr(answer, name)
        if theirs is None and not is_without_package(answer):
            return f"{answer.trouble}, where {this_host()} has {own_package}"
        if theirs not in (None, own_package):
            return f"has {NAMES_OF_VERSIONS[name]} {theirs}, where {this_host()} has {own_package}"
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
