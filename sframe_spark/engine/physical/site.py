"""The site of a plan: what planning may know of this process, its memory, its settings and Spark, read once for each plan."""

from __future__ import annotations

import attrs

from sframe_spark.cached_property_without_lock import cached_property
from sframe_spark.config import config
from sframe_spark.engine.runtime.pipeline import local_threads
from sframe_spark.process.memory import memory_budget, result_memory_left, work_memory
from sframe_spark.process.python_worker_pool_and_message_channel import can_start
from sframe_spark.process.worker_python_start import interpreter
from sframe_spark.session import get_unshared, is_started
from sframe_spark.session.spark_locality import is_spark_local, is_spark_requested
from sframe_spark.storage.filesystem.temporary_datasets import temporary_directory_in_use


@attrs.frozen(slots=False, eq=False)
class Site:
    """Where a plan is made. Planning asks nothing else about its surroundings, so two plans of one program at one site are equal.

    Each fact is read when it is first asked for, and kept: most plans need three of them, and all of them take 60 microseconds.

    Parameters
    ----------
    is_alone
        Whether this process computes the plan as if there were no Spark, since Spark's machines lack the files that it reads, or share no directory
        for its results.
    """

    is_alone: bool = False

    @classmethod
    def now(cls) -> Site:
        """Return the current site."""
        return cls()

    @cached_property
    def small_rows(self) -> int:
        """The setting of this name, as the next ones."""
        return config.small_rows

    @cached_property
    def batch_rows(self) -> int:
        """The largest number of rows of a batch."""
        return config.batch_rows

    @cached_property
    def segment_rows(self) -> int:
        """The number of rows of a segment."""
        return config.segment_rows

    @cached_property
    def memory_budget(self) -> int:
        """The bytes of a result that the driver keeps without asking for room."""
        return memory_budget()

    @cached_property
    def default_segments(self) -> int | None:
        """The number of segments that the user has chosen; None if there is no choice."""
        return config.default_segments

    @cached_property
    def is_spark_started(self) -> bool:
        """Whether this package has started a Spark session, or uses the user's."""
        return is_started()

    @cached_property
    def is_spark_requested(self) -> bool:
        """Whether Spark is in use, or the environment names a Spark to use."""
        return is_spark_requested()

    @cached_property
    def is_spark_local(self) -> bool:
        """Whether Spark does, or would do, all work in a JVM of this process."""
        return is_spark_local()

    @cached_property
    def can_start_processes(self) -> bool:
        """Whether Python worker processes can be started."""
        return can_start()

    @cached_property
    def has_interpreter(self) -> bool:
        """Whether there is a Python interpreter to start; not in applications that embed Python."""
        return interpreter() is not None

    @cached_property
    def threads(self) -> int:
        """How many threads of this process compute at a time."""
        return local_threads()

    @cached_property
    def work_memory(self) -> int:
        """The bytes that rows may take that are brought together in this process."""
        return work_memory()

    @cached_property
    def result_memory_left(self) -> int:
        """The bytes that are left for results in memory."""
        return result_memory_left()

    @cached_property
    def unseen_directories(self) -> frozenset[str]:
        """The directories whose files Spark's machines were found not to see."""
        return frozenset(directory for directory, check in get_unshared() if check == "read")

    @cached_property
    def unshared_directories(self) -> frozenset[str]:
        """The directories that Spark's machines were found not to share: either they do not see its files, or this process does not see theirs."""
        return frozenset(directory for directory, _ in get_unshared())

    @property
    def shares_temporary_files(self) -> bool:
        """Whether Spark's machines share the directory of temporary data with this process, as far as is known."""
        return not self.unshared_directories or temporary_directory_in_use() not in self.unshared_directories
