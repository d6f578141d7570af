"""Finds out where Spark keeps files for this process: on a file system of Hadoop that Python does not reach, or on disks of its executors."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from functools import partial

from sframe_spark.config import config
from sframe_spark.engine.spark.error_translation import run_spark
from sframe_spark.engine.spark.object_store_of_cluster import NAME_OF_DIRECTORY, SETTINGS_THAT_NAME_PLACES
from sframe_spark.errors import ExecutionError, NotSharedError, StorageError
from sframe_spark.operators.sources.blocks_kept_by_spark import place_of_blocks
from sframe_spark.paths_and_uris import scheme_of
from sframe_spark.process.place_of_cluster import PLACE_OF_CLUSTER
from sframe_spark.redaction import redacted
from sframe_spark.session import QuerySize, get_reached, get_session, is_remote
from sframe_spark.session.dataframes_kept_by_spark import HadoopDirectory, drop_views_of_ended_processes, home_directory, kept_in
from sframe_spark.storage.filesystem.temporary_datasets import at_end_of_process, is_for_spark_alone

LOG = logging.getLogger("sframe_spark")


def require_keeping(why: str) -> None:
    """Require that Spark keeps files, as it shares no directory: it is asked once in a session, with one row.

    The first place that works is used: the directory that the user has named, if Python does not reach its file system; the user's directory on the
    default file system of Hadoop; a place that Spark's settings name; disks of executors.

    Parameters
    ----------
    why
        Why a directory is not shared, and what to do, for the message.

    Raises
    ------
    NotSharedError
        If it keeps none, as servers without executors of their own do.
    """
    if ("", "kept") in get_reached():
        return
    reasons = list[str]()
    for place in places():
        PLACE_OF_CLUSTER.blocks, is_used = place, False
        try:
            keep_one_row()
            is_used = True
        except (ExecutionError, StorageError) as error:
            reasons.append(redacted(f"{'disks of executors' if place is None else place}: {error}"))
        finally:
            if not is_used:
                PLACE_OF_CLUSTER.blocks = None
        if is_used:
            LOG.info("Spark keeps rows in %s, as its machines share no directory with this one", place or "files of its executors")
            clean(place)
            get_reached().add(("", "kept"))
            return
    raise NotSharedError(f"Spark does not keep rows ({'; '.join(reasons)}), and {why}")


def places() -> Iterator[str | None]:
    """Yield the places to try, as URIs; None for disks of executors."""
    named = config.temporary_directory
    if named is not None and is_for_spark_alone(named):
        yield named
        return
    session = get_session()
    names = [home_directory(session), *(str(session.conf.get(setting, "") or "") for setting in SETTINGS_THAT_NAME_PLACES)]
    for uri in dict.fromkeys(name for name in names if name and scheme_of(name) is not None):
        yield f"{uri.rstrip('/')}/{NAME_OF_DIRECTORY}"
    yield None


def keep_one_row() -> None:
    """Let Spark keep one row, and read it in another session.

    Raises
    ------
    StorageError
        If another row is read.
    """
    row = get_session(QuerySize.LARGE_VALUES).range(7, 8, 1, 1)
    kept = run_spark(partial(kept_in, row, place_of_blocks()), "asking Spark to keep rows")
    try:
        if run_spark(lambda: [found.id for found in kept.in_session(get_session()).collect()], "reading what Spark keeps") != [7]:
            raise StorageError("what Spark has written there is not what it reads")
    finally:
        with contextlib.suppress(Exception):
            kept.release()


def clean(place: str | None) -> None:
    """Delete what ended processes of this machine have left at a place, and let the files of this one be deleted when it ends."""
    session, own = get_session(), place_of_blocks()
    if is_remote(session):
        run_spark(partial(drop_views_of_ended_processes, session), "deleting rows that ended processes have left")
        return
    if place is None or own is None:
        return
    HadoopDirectory.of(session, place).delete_of_ended_processes()
    directory = HadoopDirectory.of(session, own)

    def delete() -> None:
        # The JVM may have ended before.
        with contextlib.suppress(Exception):
            directory.delete()

    at_end_of_process(delete)
