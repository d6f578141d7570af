"""Checks of the files that this process and Spark share: executors see the same directories, and no rows are lost.

Each directory is checked once in a session, and again when something fails; never for a local Spark, which runs in this process's JVM. Executors that
join later are not checked: if one writes to a directory that this process does not see, fewer rows are found than Spark counted, and if it does not
see a file, its task fails.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from sframe_spark.engine.spark.error_translation import is_of_spark, run_spark
from sframe_spark.engine.spark.executor_version_checks import Answer, answers, check_python_again, require_same_versions
from sframe_spark.engine.spark.object_store_of_cluster import use_object_store_of_cluster
from sframe_spark.errors import ExecutionError, NotSharedError, StorageError
from sframe_spark.message_text import visible
from sframe_spark.operators.sources.base_and_segment_source import Source
from sframe_spark.operators.sources.segment_row_ranges import STORED_ROWS
from sframe_spark.paths_and_uris import is_in_process_memory, is_remote_location
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import Operator
from sframe_spark.process.interrupt_deferral import interrupts_deferred
from sframe_spark.process.temporary_file_leases import Holder, own_hidden_directory, remove_own
from sframe_spark.session import get_reached, get_session, get_unshared
from sframe_spark.session.session import get_packages
from sframe_spark.session.spark_locality import is_one_process
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.filesystem.path_joining_and_escaping import as_named, join, spark_path
from sframe_spark.storage.filesystem.temporary_datasets import temporary_directory_in_use, temporary_store
from sframe_spark.storage.manifest.manifest import SegmentEntry

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


# The rows that Spark counted while writing are compared with the rows in the files that this process finds: rows in files that only an executor sees
# would be lost, and no other check finds them.


SHARED_DIRECTORY = (
    "set config.temporary_directory or the environment variable SFRAME_SPARK_TMP to a directory that this machine and all of "
    "Spark's share, or to a URI such as s3://bucket/tmp, and save into such a place"
)


# What is checked of a directory: Spark's processes read what this process wrote there, and write what this process then sees.
CHECKS = ("read", "written")


def observed_rows(df: DataFrame) -> tuple[DataFrame, Callable[[], int | None]]:
    """Return a DataFrame that counts its rows while an action runs on it, and a function that then returns the count; None if Spark reported none.

    Only one action may run on it. Spark adds up the counts of the first successful attempt of each task; failed and speculative attempts do not
    count.
    """
    from pyspark.sql import Observation, functions as F

    observation = Observation()
    return df.observe(observation, F.count(F.lit(1)).alias("rows")), lambda: observation.get.get("rows")


def require_all_rows(entries: Sequence[SegmentEntry], counted: int | None, expected: int | None, directory: str) -> None:
    """Require that the files found hold every row that Spark wrote.

    Parameters
    ----------
    entries
        The files that this process finds in the directory.
    counted
        The number of rows that Spark counted while it wrote; None when it did not report one.
    expected
        The number of rows that there must be; None if it was not known before.
    directory
        The directory that Spark wrote to.

    Raises
    ------
    StorageError
        If rows are missing, or if Spark reported no count.
    """
    found = sum(entry.rows for entry in entries)
    host = platform.node()
    if counted is None:
        raise StorageError(f"Spark did not report how many rows it wrote to {directory}, so the {found} rows that {host} finds there may not be all")
    if found != counted:
        raise StorageError(
            f"Spark wrote {counted} rows to {directory}, but {host} finds {found} of them there: its executors see another directory "
            f"of that name. Nothing was published; {SHARED_DIRECTORY}"
        )
    require_known_rows(found, expected, f"wrote {counted} rows to {directory}", ". Nothing was published")


def require_known_rows(rows: int, expected: int | None, done: str, outcome: str = "") -> None:
    """Require that Spark read or wrote as many rows as were known beforehand.

    Parameters
    ----------
    rows
        The number of rows that were read or written.
    expected
        The number that there must be; None if it was not known before.
    done
        What Spark has done, for the message.
    outcome
        What became of the result, for the message.

    Raises
    ------
    StorageError
        If the numbers differ.
    """
    if expected is not None and rows != expected:
        raise StorageError(
            f"Spark {done}, but there are {expected}: its executors read other files than {platform.node()}, or files that were changed "
            f"meanwhile{outcome}; {SHARED_DIRECTORY}, and load saved data again"
        )


def require_writable(directory: str, advice: str = SHARED_DIRECTORY) -> None:
    """Require that Spark's processes and this process see each other's files in a directory, and run the same packages.

    Parameters
    ----------
    directory
        A directory of this package, about to be written. On success, other directories in the same parent directory count as shared, too.
    advice
        The end of the error message: what the user can do.

    Raises
    ------
    NotSharedError
        If a file is not seen, or a package differs; the message names a machine, the directory and the option to set. That a file is not seen is
        remembered for this session, so that the next plans do without Spark there.
    """
    above = os.path.dirname(directory)
    if is_remote_location(directory) or is_one_process(get_session()) or (above, "written") in get_reached():
        return
    holder = Holder()
    with translate_os_errors("create a directory in", above):
        # In the parent directory, so that this test's files can never be published with the dataset; the name says which process owns it.
        tested = own_hidden_directory(above, holder)
    try:
        _exchange(tested, above, advice)
    finally:
        remove_own(tested)
    get_packages().checked = True
    get_reached().update({(above, "written"), (above, "read")})
    for check in CHECKS:
        get_unshared().pop((above, check), None)


def require_readable(root: PlannerNode) -> None:
    """Require that Spark's processes see the files of all sources of a plan, and run the same packages.

    Raises
    ------
    NotSharedError
        If a file is not seen, or a package differs; the message names a machine, the directory and the option to set.
    StorageError
        If rows are in the memory of this process.
    """
    operators = [node.operator for node in postorder([root])]
    stored = [operator.manifest for operator in operators if isinstance(operator, STORED_ROWS)]
    for manifest in stored:
        if is_in_process_memory(directory := manifest.directory):
            raise StorageError(f"{directory} is in the memory of this process, which Spark's tasks cannot read: save it in a directory first")
    if is_one_process(get_session()):
        return
    for operator in operators:
        checked = checked_file(operator)
        if checked is not None:
            _require_seen(*checked)


def why_unseen(operator: Operator, asks: bool) -> str:
    """Return why Spark's processes do not see the local files of a source; empty if they do, or if there are none.

    ``asks`` is whether to ask them about a directory of which nothing is known yet.
    """
    checked = checked_file(operator)
    if checked is None:
        return ""
    if asks and (checked[1], "read") not in get_unshared() and not is_one_process(get_session()):
        try:
            _require_seen(*checked)
        except NotSharedError:
            if (checked[1], "read") not in get_unshared():
                raise
    return get_unshared().get((checked[1], "read"), "")


def checked_file(operator: Operator) -> tuple[str, str] | None:
    """Return a local file that a source reads, and the directory for which a check of this file is believed; None if there is no such file."""
    if isinstance(operator, STORED_ROWS):
        manifest = operator.manifest
        if not manifest.rows or is_remote_location(manifest.directory):
            return None
        file = join(manifest.directory, next(entry.file for entry in manifest.segments if entry.rows))
        # Datasets of this package share a parent directory, so one check covers the other datasets in it. For external files, a check covers only
        # their own directory.
        return file, os.path.dirname(manifest.directory) if manifest.has_key else os.path.dirname(file)
    file_of_rows = operator.shared_file if isinstance(operator, Source) else None
    return None if file_of_rows is None else (file_of_rows, os.path.dirname(os.path.dirname(file_of_rows)))


# Functions that tasks of executors and this process call to read files.

LARGEST_PART_READ = 65_536


def reading(file: str) -> Callable[[], str]:
    """Return a function that reads a file's size and a checksum of its last bytes, where Parquet files have their footer."""
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
    """Return a function that reports, as JSON, which file a process sees at each path, or why it cannot be read.

    A file is reported by its size, modification time and inode, as in :class:`FileState`.
    """
    paths = list(files)

    def read_states() -> str:
        import json
        import os

        states: list[Any] = []
        for path in paths:
            try:
                status = os.stat(path)
                states.append([status.st_size, status.st_mtime_ns, status.st_ino])
            except OSError as error:
                states.append(error.strerror)
        return json.dumps(states)

    return read_states


def _require_seen(file: str, above: str) -> None:
    if (above, "read") in get_reached():
        return
    with translate_os_errors("read", file):
        read = reading(file)
        expected = read()
    for answer in answers_of_same_versions(read, None):
        _check(answer, expected, above)
    get_packages().checked = True
    get_reached().add((above, "read"))
    get_unshared().pop((above, "read"), None)


def answers_of_same_versions(read: Callable[[], str], directory: str | None) -> list[Answer]:
    """Return the answers of executors, all of which run the packages of this process.

    Versions are compared before anything else: without shared files this process may go on alone, which would hide that a version differs.
    """
    received = answers(read, directory)
    for answer in received:
        require_same_versions(answer)
    return received


def why_not_in_tasks(files: Mapping[str, str]) -> str:
    """Return why Spark's tasks could not read some external files, or write files that this process sees; empty if they can.

    A directory in which an executor was found to see no files, or other files, is not checked again. Other failures are checked again, as
    they may have been repaired.

    Parameters
    ----------
    files
        One file of each directory. The directory's other files are assumed to be visible, too; they are compared when they are read.
    """
    reached = get_reached()
    unseen = [directory for directory in files if (directory, "not seen") in reached]
    if unseen:
        return f"Spark's executors do not see all files that this process sees in {unseen[0]}"
    new = {directory: file for directory, file in files.items() if (directory, "seen") not in reached}
    try:
        require_writable_temporary_data()
        differences = _seen_otherwise(new) if new else {}
    except StorageError as error:
        return str(error)
    reached.update((directory, "not seen" if directory in differences else "seen") for directory in new)
    return next(iter(differences.values()), "")


def require_writable_temporary_data() -> None:
    """Require that Spark's processes and this process see each other's files in the directory of temporary data."""
    handle = temporary_store().new_dataset()
    try:
        require_writable(handle.directory)
    finally:
        handle.discard()


def _seen_otherwise(files: Mapping[str, str]) -> dict[str, str]:
    """Return the directories where an executor sees no file, or a different file, at the given path; each with a description for a message.

    Raises
    ------
    StorageError
        If an executor runs different versions of packages, or a file no longer exists.
    """
    for file in files.values():
        with translate_os_errors("read", file):
            os.stat(file)
    read_states = file_states_of(list(files.values()))
    expected, differences = json.loads(read_states()), dict[str, str]()
    for answer in answers(read_states, None):
        require_same_versions(answer)
        for (directory, file), own_state, state in zip(files.items(), expected, json.loads(answer.content), strict=True):
            if state != own_state:
                seen = f"does not see it ({state})" if isinstance(state, str) else "sees a different file there"
                message = f"Spark's executor on {answer.executor} {seen}: {visible(file)}, which is here on {platform.node()}"
                differences.setdefault(directory, message)
    get_packages().checked = True
    return differences


@contextlib.contextmanager
def rechecking_after_failure(root: PlannerNode, directory: str | None) -> Iterator[None]:
    """If the ``with`` block fails, check executors again, and raise an error that names the cause if one is found.

    The cause may be that an executor lacks packages, or does not see this process's files.
    """
    try:
        yield
    except ExecutionError as error:
        if type(error) is ExecutionError:
            check_python_again(str(error))
            _ask_again(root, directory)
        raise
    except NotSharedError:
        raise
    except StorageError:
        _ask_again(root, directory)
        raise


def _ask_again(root: PlannerNode, directory: str | None) -> None:
    """Repeat the check of those directories that Spark's processes were found to share in this session."""
    if not get_reached():
        return
    get_reached().clear()
    for operator in {id(node.operator): node.operator for node in postorder([root])}.values():
        checked = checked_file(operator)
        if checked is not None and (checked[1], "read") not in get_unshared():
            _require_seen(*checked)
    if directory is not None:
        if (os.path.dirname(directory), "written") not in get_unshared():
            require_writable(directory)
    elif is_shared(temporary_directory_in_use()):
        require_writable_temporary_data()


def is_shared(directory: str | None) -> bool:
    """Return whether it is not known that Spark's processes fail to read or write a directory; None is a directory that is not there yet."""
    return directory is None or not any((directory, check) in get_unshared() for check in CHECKS)


def why_unshared(directory: str | None) -> str:
    """Return why Spark's processes do not share a directory, and what to do."""
    return next((text for (unshared, _), text in get_unshared().items() if unshared == directory), SHARED_DIRECTORY)


def _exchange(directory: str, above: str, advice: str) -> None:
    """Let executors and a Spark query read a file that this process writes to a directory, and let it read the files that they write.

    Errors name ``above``, the parent directory.
    """
    token, file = uuid.uuid4().hex, join(directory, "driver.parquet")
    with translate_os_errors("write", file):
        pq.write_table(pa.table({"token": [token]}), file)
    read = reading(file)
    expected = read()
    for answer in answers_of_same_versions(read, directory):
        _check(answer, expected, above, advice)
        if answer.written and not _holds(join(directory, answer.written), answer.content):
            what = f"a file that Spark's executor on {answer.executor} wrote there is not seen by {platform.node()}"
            raise _not_shared(what, above, advice, ("written",))
    copied = join(directory, "query")
    _copy_by_query(file, copied, above, advice)
    if _tokens(copied) != [token]:
        raise _not_shared(f"a file that a query of Spark wrote there is not seen by {platform.node()}", above, advice, ("written",))


def _copy_by_query(file: str, copied: str, above: str, advice: str) -> None:
    """Copy a file by a Spark query, as Spark reads and writes through other file systems than Python does."""
    reader = get_session().read.schema("token string")
    try:
        with interrupts_deferred():
            writer = reader.parquet(as_named(spark_path(file))).write
        run_spark(partial(writer.parquet, spark_path(copied)), "checking what Spark sees")
    except Exception as error:
        if not isinstance(error, (ExecutionError, StorageError)) and not is_of_spark(error):
            raise
        # Not remembered: executors see the directory, so this is a setting of Spark's file systems, which the user may change.
        raise _not_shared(f"Spark cannot read and write what {platform.node()} wrote there: {error}", above, advice, ()) from None


def _check(answer: Answer, expected: str, above: str, advice: str = SHARED_DIRECTORY) -> None:
    """Require that an executor read the same content and runs the same packages."""
    if answer.content and answer.content != expected:
        raise _not_shared(f"Spark's executor on {answer.executor} sees a different file there than {platform.node()}", above, advice)
    if not answer.content or (answer.trouble and answer.package is not None):
        what = f"Spark's executor on {answer.executor} does not see what {platform.node()} wrote there ({answer.trouble})"
        raise _not_shared(what, above, advice, ("written",) if answer.content else CHECKS)
    require_same_versions(answer)


def _not_shared(what: str, directory: str, advice: str, checks: Sequence[str] = CHECKS) -> NotSharedError:
    """Return the error of a directory that is not shared, and remember for the session which checks of the directory failed.

    If it is that of temporary data, which the user has not named, the session uses the object store of the cluster from then on.
    """
    is_for_temporary_data = directory == temporary_directory_in_use()
    error = NotSharedError(f"{directory} is not shared with Spark: {what}; {advice}")
    get_unshared().update(((directory, check), str(error)) for check in checks)
    trouble = use_object_store_of_cluster() if is_for_temporary_data else ""
    return NotSharedError(f"{error}; the object store of the cluster is not used: {trouble}") if trouble else error


def _holds(file: str, content: str) -> bool:
    with contextlib.suppress(OSError), open(file, encoding="ascii") as stream:
        return stream.read(len(content) + 1) == content
    return False


def _tokens(directory: str) -> list[str]:
    """Return the tokens in the Parquet files of a directory; empty if it does not exist."""
    if not os.path.isdir(directory):
        return []
    files = [join(directory, name) for name in sorted(os.listdir(directory)) if name.endswith(".parquet")]
    return [token for file in files for token in pq.read_table(file).column("token").to_pylist()]
