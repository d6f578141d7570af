"""Before files are shared with Spark: proof that its processes see the directory that this process sees, and run the same packages.

Once per session and directory, and again when something fails; never for a local Spark, which is this machine's. An executor that comes later
is not asked: what it writes elsewhere is missing from the rows that Spark counted, and files that it does not see fail its tasks.
"""

from __future__ import annotations

import contextlib
import json
import os
import uuid
from collections.abc import Iterator, Mapping
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq

from sframe_spark.engine.spark.actions import is_of_spark
from sframe_spark.engine.spark.counts import SHARED_DIRECTORY
from sframe_spark.engine.spark.executor_environment import Answer, looking, reading, this_host
from sframe_spark.engine.spark.packages import answers, ask_python_again, require_same_versions
from sframe_spark.engine.spark.spark_actions import run_spark
from sframe_spark.errors import ExecutionError, NotSharedError, StorageError
from sframe_spark.locations import is_elsewhere, is_private
from sframe_spark.message_text import visible
from sframe_spark.operators.sources.segment_subset import STORED_ROWS
from sframe_spark.operators.sources.source import Source
from sframe_spark.planner.graph import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.process.interrupts import interrupts_deferred
from sframe_spark.process.leases import Holder, own_directory_beside, remove_own
from sframe_spark.session import get_reached, get_session
from sframe_spark.session.deployment import is_one_process
from sframe_spark.session.session import get_packages
from sframe_spark.storage.filesystem.io_errors import telling
from sframe_spark.storage.filesystem.paths import as_named, join, spark_path
from sframe_spark.storage.filesystem.temporary_datasets import temporary_store


def require_writable(directory: str, advice: str = SHARED_DIRECTORY) -> None:
    """Make sure that Spark's processes and this one see each other's files in a directory, and run the same packages.

    Parameters
    ----------
    directory
        A directory of ours, about to be written; its neighbours, in the directory above it, are then taken to be shared too.
    advice
        What to do where they do not.

    Raises
    ------
    NotSharedError
        If they do not, naming a machine, the directory and the option to set.
    """
    above = os.path.dirname(directory)
    if is_elsewhere(directory) or is_one_process(get_session()) or (above, "written") in get_reached():
        return
    holder = Holder()
    with telling("create a directory in", above):
        # Beside the dataset, so that what cannot be removed is never published; its name says whose it is.
        place = own_directory_beside(above, holder)
    try:
        _exchange(place, above, advice)
    finally:
        remove_own(place)
    get_packages().asked = True
    get_reached().update({(above, "written"), (above, "read")})


def require_readable(root: PlannerNode) -> None:
    """Make sure that Spark's processes see the files of all sources of a plan, and run the same packages.

    Raises
    ------
    NotSharedError
        If they do not, naming a machine, the directory and the option to set.
    StorageError
        If rows are in the memory of this process.
    """
    _refuse_private(root)
    if is_one_process(get_session()):
        return
    for node in postorder([root]):
        if isinstance(node.operator, STORED_ROWS) and node.operator.manifest.rows and not is_elsewhere(node.operator.manifest.directory):
            manifest = node.operator.manifest
            file = join(manifest.directory, next(entry.file for entry in manifest.segments if entry.rows))
            # Files of others are not in a directory of ours, whose neighbours are shared too.
            _require_seen(file, os.path.dirname(manifest.directory) if manifest.has_key else os.path.dirname(file))
        elif isinstance(node.operator, Source) and node.operator.shared_file is not None:
            _require_seen(node.operator.shared_file, os.path.dirname(os.path.dirname(node.operator.shared_file)))


def _refuse_private(root: PlannerNode) -> None:
    for node in postorder([root]):
        place = node.operator.manifest.directory if isinstance(node.operator, STORED_ROWS) else ""
        if is_private(place):
            raise StorageError(f"{place} is in the memory of this process, which Spark's tasks do not have: save it in a directory first")


def _require_seen(file: str, above: str) -> None:
    if (above, "read") in get_reached():
        return
    with telling("read", file):
        read = reading(file)
        expected = read()
    for answer in answers(read, None):
        _check(answer, expected, above)
    get_packages().asked = True
    get_reached().add((above, "read"))


def why_not_in_tasks(files: Mapping[str, str]) -> str:
    """Return why tasks cannot do what this process can: read files of others, and write rows that it sees; empty: they can.

    A directory that one of Spark's processes does not see as this one does is not asked about again. What else is amiss may be mended.

    Parameters
    ----------
    files
        One file of each directory; others in it are taken to be there too, and compared by whoever reads them.
    """
    reached = get_reached()
    others = [directory for directory in files if (directory, "not seen") in reached]
    if others:
        return f"Spark's executors do not see all that this process sees in {others[0]}"
    new = {directory: file for directory, file in files.items() if (directory, "seen") not in reached}
    try:
        handle = temporary_store().new_dataset()
        with contextlib.ExitStack() as stack:
            stack.callback(handle.discard)
            require_writable(handle.directory)
        found = _seen_otherwise(new) if new else {}
    except StorageError as error:
        return str(error)
    reached.update((directory, "not seen" if directory in found else "seen") for directory in new)
    return next(iter(found.values()), "")


def _seen_otherwise(files: Mapping[str, str]) -> dict[str, str]:
    """Return the directories in which an executor does not see the file that this process sees, with what it sees, in words.

    Raises
    ------
    StorageError
        If an executor runs other packages, or a file is no longer there.
    """
    for file in files.values():
        with telling("read", file):
            os.stat(file)
    look = looking(list(files.values()))
    expected, found = json.loads(look()), dict[str, str]()
    for answer in answers(look, None):
        require_same_versions(answer)
        for (directory, file), here, there in zip(files.items(), expected, json.loads(answer.content), strict=True):
            if there != here:
                seen = f"does not see it ({there})" if isinstance(there, str) else "sees another file there"
                found.setdefault(directory, f"Spark's executor on {answer.executor} {seen}: {visible(file)}, which is here on {this_host()}")
    get_packages().asked = True
    return found


@contextlib.contextmanager
def asking_again(root: PlannerNode, directory: str | None) -> Iterator[None]:
    """Let a failure in the block be told by the executor that is its cause, where one now says that it sees no files of ours."""
    try:
        yield
    except ExecutionError as error:
        if type(error) is ExecutionError:
            ask_python_again(str(error))
            _ask_again(root, directory)
        raise
    except NotSharedError:
        raise
    except StorageError:
        _ask_again(root, directory)
        raise


def _ask_again(root: PlannerNode, directory: str | None) -> None:
    """Ask anew, if anything was asked before."""
    if not get_reached():
        return
    get_reached().clear()
    require_readable(root)
    with contextlib.ExitStack() as stack:
        if directory is None:
            handle = temporary_store().new_dataset()
            stack.callback(handle.discard)
            directory = handle.directory
        require_writable(directory)


def _exchange(place: str, above: str, advice: str) -> None:
    """Write a file, let tasks and a query read it and write others, and read those."""
    token, file = uuid.uuid4().hex, join(place, "driver.parquet")
    with telling("write", file):
        pq.write_table(pa.table({"token": [token]}), file)
    read = reading(file)
    expected = read()
    for answer in answers(read, place):
        _check(answer, expected, above, advice)
        if answer.written and not _holds(join(place, answer.written), answer.content):
            raise _not_shared(f"a file that Spark's executor on {answer.executor} wrote there is not seen by {this_host()}", above, advice)
    copied = join(place, "query")
    _copy_by_query(file, copied, above, advice)
    if _tokens(copied) != [token]:
        raise _not_shared(f"a file that a query of Spark wrote there is not seen by {this_host()}", above, advice)


def _copy_by_query(file: str, copied: str, above: str, advice: str) -> None:
    """Let Spark itself read and write: its file systems are others than those of Python."""
    reader = get_session().read.schema("token string")
    try:
        with interrupts_deferred():
            writer = reader.parquet(as_named(spark_path(file))).write
        run_spark(partial(writer.parquet, spark_path(copied)), "asking Spark what it sees")
    except Exception as error:
        if not isinstance(error, (ExecutionError, StorageError)) and not is_of_spark(error):
            raise
        raise _not_shared(f"Spark cannot read and write what {this_host()} wrote there: {error}", above, advice) from None


def _check(answer: Answer, expected: str, above: str, advice: str = SHARED_DIRECTORY) -> None:
    """Let an answer pass that comes of the same file and the same packages."""
    if answer.content and answer.content != expected:
        raise _not_shared(f"Spark's executor on {answer.executor} sees another file there than {this_host()}", above, advice)
    if not answer.content or (answer.trouble and answer.package is not None):
        raise _not_shared(f"Spark's executor on {answer.executor} does not see what {this_host()} wrote there ({answer.trouble})", above, advice)
    require_same_versions(answer)


def _not_shared(what: str, directory: str, advice: str) -> NotSharedError:
    return NotSharedError(f"{directory} is not shared with Spark: {what}; {advice}")


def _holds(file: str, content: str) -> bool:
    with contextlib.suppress(OSError), open(file, encoding="ascii") as stream:
        return stream.read(len(content) + 1) == content
    return False


def _tokens(directory: str) -> list[str]:
    """What Parquet files in a directory hold; nothing where there is none."""
    if not os.path.isdir(directory):
        return []
    files = [join(directory, name) for name in sorted(os.listdir(directory)) if name.endswith(".parquet")]
    return [token for file in files for token in pq.read_table(file).column("token").to_pylist()]
