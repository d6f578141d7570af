"""The Spark session of this process, in which queries run: found or started on first use."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
import weakref
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from sframe_spark.errors import SessionClosedError
from sframe_spark.optional_libraries import import_library
from sframe_spark.process.control_groups import available_cores
from sframe_spark.process.fork_safety import FORKED, belongs_to_parent, do_in_child, is_forked_from_spark
from sframe_spark.process.interrupt_deferral import interrupts_deferred
from sframe_spark.process.memory import require_memory_for_thread
from sframe_spark.process.place_of_cluster import PLACE_OF_CLUSTER
from sframe_spark.process.python_worker_pool_and_message_channel import WorkerProcesses
from sframe_spark.process.threads import POLL_SECONDS
from sframe_spark.session.progress import ProgressBar, covering_progress
from sframe_spark.session.spark_start_and_settings import (
    EXTERNAL_GATEWAY,
    LARGEST_DEFAULT_PARALLELISM,
    QuerySize,
    UserSettings,
    apply,
    is_remote,
    open_session,
    partitions_set,
    start_spark,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


Value = TypeVar("Value")

# The JVM holds the plan of each cached source; the plan of a small table that is in this process's memory contains its rows.
MAX_SOURCES = 64


class SourceCache:
    """The most recently used sources of one session that were lowered to Spark.

    Examples
    --------
    >>> cache = SourceCache()
    >>> cache.get("a", lambda: 1), cache.get("a", lambda: 2)
    (1, 1)
    """

    def __init__(self) -> None:
        self._sources: dict[Hashable, Any] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable, build: Callable[[], Value]) -> Value:
        """Return the value that was built for a key, building it if needed (two threads may both do so)."""
        with self._lock:
            if key in self._sources:
                # It goes to the end, as the most recently used one.
                source: Value = self._sources.pop(key)
                self._sources[key] = source
                return source
        value = build()
        with self._lock:
            self._sources[key] = value
            if len(self._sources) > MAX_SOURCES:
                del self._sources[next(iter(self._sources))]
        return value


class SparkStart:
    """The start of Spark in a separate thread. If a wait for it is interrupted, the caller may wait again.

    Ctrl-C ends the wait, but never the start, which would leave a half-started Spark behind.
    """

    def __init__(self) -> None:
        # False if the user has started a session since the start was requested.
        self.is_own = True
        self._done = threading.Event()
        self._session: SparkSession | None = None
        self._error: BaseException | None = None
        require_memory_for_thread()
        threading.Thread(target=self._run, name="sframe_spark start", daemon=True).start()

    def _run(self) -> None:
        try:
            self._session, self.is_own = start_spark()
        except BaseException as error:
            self._error = error
        finally:
            self._done.set()

    @property
    def failed(self) -> bool:
        """Whether the start has ended with an error."""
        return self._error is not None

    def wait(self) -> SparkSession:
        """Wait for the session and return it, or raise the error of the start; a progress bar shows the wait."""
        line = ProgressBar("Spark is starting, once in a session")
        with covering_progress():
            try:
                while not self._done.wait(POLL_SECONDS):
                    line.update()
            finally:
                line.close()
        if self._error is not None:
            raise self._error
        assert self._session is not None
        return self._session


# The session of this process.


@attrs.define
class Packages:
    """What is known of the Python packages of a session's executors.

    Parameters
    ----------
    checked
        Whether the packages have been checked.
    trouble
        Why executors cannot run functions of this package; empty if no problem is known.
    archive
        The zip file with this package that was sent to executors; None if none was.
    plugins
        The zip file with plug-ins that was sent to executors; None if none was.
    plugin_trouble
        Why executors cannot run the plug-ins of a package, by its name: they have another version of it.
    """

    checked: bool = False
    trouble: str = ""
    archive: str | None = None
    plugins: str | None = None
    plugin_trouble: dict[str, str] = attrs.Factory(dict)

    @property
    def sent(self) -> list[str]:
        """All zip files that were sent to executors."""
        return [archive for archive in (self.archive, self.plugins) if archive is not None]


class SessionHolder:
    """Holds the Spark session of this process, and what is known of it.

    A session that the user has started is used, if there is one; otherwise a local one is started. Queries run in sessions derived from it, which
    have their own settings.
    """

    def __init__(self) -> None:
        self._forget_all()
        # Whether this process refuses to start Spark: its parent, when it forked, was using a Spark that this package had not started.
        self._refused = is_forked_from_spark()

    def _forget_all(self) -> None:
        """Reset all fields to the state of a process without a session."""
        self._lock = threading.RLock()
        self._forget_session()
        # The pool of Python worker processes, which run tasks in parallel without Spark; None until it is needed.
        self.processes: WorkerProcesses | None = None
        # For each user's DataFrame, what all frames that are derived from it share. An entry does not keep its DataFrame alive.
        self.frames: weakref.WeakKeyDictionary[DataFrame, Any] = weakref.WeakKeyDictionary()

    def _forget_session(self) -> None:
        """Reset the fields of the session."""
        self._base: SparkSession | None = None
        self._settings: UserSettings | None = None
        self._session: SparkSession | None = None
        self._of_size: dict[QuerySize, SparkSession] = {}
        self._owned = False
        self._partitions: int | None = None
        self._start: SparkStart | None = None
        self._sources: dict[QuerySize, SourceCache] = {}
        # What checks of directories have found, as pairs of a directory and a result:
        # - "read": executors read the same bytes as this process at the end of a file in or below the directory.
        # - "written": executors and queries of Spark read what this process wrote to the directory, and this process read what they wrote.
        # - "seen": executors found a file in the directory with the size, modification time and inode that this process found.
        # - "kept": Spark keeps rows; of no directory.
        # - "not seen": an executor did not find that file, or found another one in its place.
        self.reached: set[tuple[str, str]] = set()
        # Directories that they were found not to share, each with what failed ("read" or "written"), and why.
        self.unshared: dict[tuple[str, str], str] = {}
        PLACE_OF_CLUSTER.uri = PLACE_OF_CLUSTER.blocks = None
        self.packages = Packages()

    def start_over(self) -> None:
        """Start without a session in a forked process, and leave the session to the parent.

        A new local session may be started if this package started the parent's, too.
        """
        atexit.unregister(self.stop)
        if self.processes is not None:
            self.processes.leave()
        is_own = self._owned and self._base is not None and not is_remote(self._base) and EXTERNAL_GATEWAY not in os.environ
        self._refused = self._refused or (is_forked_from_spark() and not is_own)
        self._forget_all()

    def get(self, size: QuerySize = QuerySize.DEFAULT) -> SparkSession:
        """Return the session for queries of a size, finding or starting Spark first if need be.

        Raises
        ------
        SessionClosedError
            If the session in use belongs to the user, who has stopped it and started no other, or to the parent of a
            forked process.
        """
        with self._lock:
            session = self._first()
            if size == QuerySize.DEFAULT:
                return session
            with interrupts_deferred():
                # Classic sessions live as long as the application, which is alive here; a connection to a server can be lost alone.
                if size not in self._of_size or (is_remote(session) and not is_alive(self._of_size[size])):
                    assert self._base is not None
                    sized = self._opened(self._base)
                    apply(sized, size.settings)
                    self._of_size[size] = sized
                return self._of_size[size]

    def _opened(self, base: SparkSession) -> SparkSession:
        """Return a new session of this package with the user's settings."""
        session = open_session(base)
        if is_remote(session):
            # At exit, an open connection would wait forever, for threads that no longer run or for a server that was stopped. Each connection
            # registers its own exit function, and the one registered last runs first, so `stop` is registered again after it.
            atexit.unregister(self.stop)
            atexit.register(self.stop)
        assert self._settings is not None
        self._settings.carry_over(session)
        for archive in self.packages.sent if is_remote(session) else ():
            session.addArtifacts(archive, pyfile=True)
            leave_out(archive)
        return session

    def ship(self, archive: str) -> None:
        """Let executors import modules from an archive; this process does not import from it."""
        with self._lock:
            self.get()
            assert self._base is not None
            if is_remote(self._base):
                # Artifacts belong to one session, and functions of this package also run in the user's session when they read a DataFrame of it.
                for session in (self._base, *self.own()):
                    session.addArtifacts(archive, pyfile=True)
            else:
                self._base.sparkContext.addPyFile(archive)
            leave_out(archive)

    def follow_user(self) -> None:
        """Apply settings that the user has changed since the last query to the sessions of this package, except settings that affect results.

        Called at the start of each query. Without a change it takes one comparison of the user's settings: 0.3 ms for a classic session.
        """
        with self._lock:
            session = self.get()
            assert self._settings is not None
            with interrupts_deferred():
                changes = self._settings.changes()
                if not changes:
                    return
                apply(session, changes)
                self._partitions = None
                for size, other in self._of_size.items():
                    apply(other, {**changes, **size.settings})

    def _first(self) -> SparkSession:
        """Return the default session of this package, opening it if needed."""
        with interrupts_deferred():
            if self._session is not None and self.is_started():
                return self._session
            starting = self._start is not None and not self._start.failed
            import_pyspark()
            active = None if starting else active_session()
        base, owned = (active, False) if active is not None else self._started()
        with interrupts_deferred():
            return self._open(base, owned)

    def worker_processes(self) -> WorkerProcesses:
        """Return the pool of Python worker processes of this process, which is created if needed."""
        with self._lock:
            if self.processes is None:
                self.processes = WorkerProcesses()
            return self.processes

    def shuffle_partitions(self) -> int:
        """Return the number of shuffle partitions of a query of default size, finding or starting Spark first if need be."""
        with self._lock:
            session = self.get()
            if self._partitions is None:
                self._partitions = partitions_set(session)
            return self._partitions

    def base(self) -> SparkSession:
        """Return the session from which this package's are derived, finding or starting Spark first if need be."""
        with self._lock:
            self.get()
            assert self._base is not None
            return self._base

    def own(self) -> list[SparkSession]:
        """Return the open sessions of this package."""
        with self._lock:
            return [session for session in (self._session, *self._of_size.values()) if session is not None]

    def sources(self, size: QuerySize) -> SourceCache:
        """Return the cache of sources that were lowered in the session for queries of a size."""
        with self._lock:
            return self._sources.setdefault(size, SourceCache())

    def _started(self) -> tuple[SparkSession, bool]:
        """Return a session that is started here, or was for an earlier query that was interrupted, and whether this package started it."""
        if self._refused:
            raise SessionClosedError(FORKED)
        if self._session is not None and not self._owned:
            raise SessionClosedError(
                "the Spark session in use has been stopped. Start a new SparkSession, or call "
                "sframe_spark.session.stop() to let a local one be started on the next use"
            )
        with interrupts_deferred():
            if self._start is None or self._start.failed:
                self._start = SparkStart()
        session, is_own = self._start.wait(), self._start.is_own
        self._start = None
        return session, is_own

    def start_ahead(self) -> None:
        """Start Spark in the background, if there is no session yet; an error is raised when the start is waited for."""
        with self._lock:
            if self._refused or self._session is not None or self._start is not None:
                return
            with interrupts_deferred():
                import_pyspark()
                if active_session() is None:
                    self._start = SparkStart()

    def _open(self, base: SparkSession, owned: bool) -> SparkSession:
        """Open the default session of this package, derived from a base session; ``owned`` says whether this package started that."""
        self._disconnect()
        self._forget_session()
        self._base, self._owned = base, owned
        self._settings = UserSettings(base)
        self._session = self._opened(base)
        return self._session

    def _disconnect(self) -> None:
        """Close the connections of this package's sessions to a Spark Connect server."""
        for session in (self._session, *self._of_size.values()):
            if session is not None and is_remote(session):
                session.client.close()

    def is_started(self) -> bool:
        """Return whether a Spark session is open; none is opened."""
        with self._lock:
            if self._session is None or self._base is None:
                return False
            # This package's connection to a server does not notice that the user has closed another connection, and stopped the server with it.
            return is_alive(self._session) and (not is_remote(self._base) or is_alive(self._base))

    def stop(self) -> None:
        """Stop Spark if this package started it; otherwise only forget the user's session."""
        with self._lock:
            self._disconnect()
            atexit.unregister(self.stop)
            base, owned = self._base, self._owned
            if base is None and self._start is not None:
                # A start that nobody has waited for yet.
                with contextlib.suppress(Exception):
                    base, owned = self._start.wait(), self._start.is_own
            self._forget_session()
            self._refused = False
            if base is not None and owned:
                base.stop()


def leave_out(archive: str) -> None:
    """Remove an archive from the module search path of this process, at the start of which Spark has put it."""
    name = os.sep + os.path.basename(archive)
    sys.path[:] = [entry for entry in sys.path if not entry.endswith(name)]


def import_pyspark() -> None:
    """Import all of PySpark: a thread that imports a part of it, while another thread imports everything, may see incomplete modules.

    Raises
    ------
    MissingLibraryError
        If it is not installed.
    """
    import_library("pyspark")
    import_library("pyspark.sql")


def active_session() -> SparkSession | None:
    """Return the session that is active in this process, if it works, else None; no session is started."""
    if "pyspark" not in sys.modules:
        return None
    import_pyspark()
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    try:
        session = SparkSession.active()
    except PySparkException:
        # There is no active session.
        return None
    return session if is_alive(session) else None


def is_alive(session: SparkSession) -> bool:
    """Return whether Spark still responds for the session."""
    if is_remote(session):
        return not session.is_stopped
    try:
        # This calls the JVM, which fails if the application was stopped, by the driver or by the cluster.
        return int(session.sparkContext.defaultParallelism) > 0
    except Exception:
        # How a stopped context fails depends on what was stopped first: there are AttributeErrors, Py4J errors and socket errors.
        return False


def require_frame_open(session: SparkSession) -> None:
    """Raise an error if Spark no longer responds for the session of a DataFrame.

    Raises
    ------
    SessionClosedError
        If the session has been stopped, so that the DataFrame's rows cannot be computed again, or if this process has been forked since.
    """
    if belongs_to_parent(session):
        raise SessionClosedError(FORKED)
    if not is_alive(session):
        raise SessionClosedError(
            "the Spark session of a DataFrame that this was made from has been stopped. Make the DataFrame and the "
            "SFrame anew; materialize() or save() keeps rows beyond their session"
        )


def default_parallelism(session: SparkSession) -> int:
    """Return how many tasks the session can run at a time, as far as that is known."""
    if is_remote(session):
        # A Spark Connect server does not report its number of cores; a setting may.
        known = session.conf.get("spark.sql.leafNodeDefaultParallelism", None)
        return int(known) if known else min(available_cores(), LARGEST_DEFAULT_PARALLELISM)
    return int(session.sparkContext.defaultParallelism)


_HOLDER = SessionHolder()
do_in_child(_HOLDER.start_over)

# These functions are methods of the only holder.
get_session = _HOLDER.get
get_base = _HOLDER.base
own_sessions = _HOLDER.own
get_sources = _HOLDER.sources
follow_user = _HOLDER.follow_user
ship = _HOLDER.ship
get_processes = _HOLDER.worker_processes
shuffle_partitions = _HOLDER.shuffle_partitions
is_started = _HOLDER.is_started
start_ahead = _HOLDER.start_ahead
stop = _HOLDER.stop


def get_reached() -> set[tuple[str, str]]:
    """Return what checks have found of directories that Spark's processes may share with this one, as pairs of a directory and a result."""
    return _HOLDER.reached


def get_unshared() -> dict[tuple[str, str], str]:
    """Return the directories that Spark's processes were found not to read, or not to write so that this process sees it, and why not."""
    return _HOLDER.unshared


def get_packages() -> Packages:
    """Return what is known of the Python packages of Spark's executors in this session."""
    return _HOLDER.packages


def get_frames() -> weakref.WeakKeyDictionary[DataFrame, Any]:
    """Return, for each user's DataFrame, what all frames that are derived from it share. An entry does not keep its DataFrame alive."""
    return _HOLDER.frames
