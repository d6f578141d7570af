"""Finds a place for temporary data on the object store that a cluster uses, where no directory is shared with it and the user has named none."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sframe_spark.config import config
from sframe_spark.engine.spark.executor_version_checks import answers
from sframe_spark.errors import StorageError
from sframe_spark.message_text import visible
from sframe_spark.paths_and_uris import BUCKETS, location_of, scheme_of
from sframe_spark.process.place_of_cluster import PLACE_OF_CLUSTER
from sframe_spark.redaction import redacted
from sframe_spark.session import get_session
from sframe_spark.storage.filesystem.path_joining_and_escaping import join
from sframe_spark.storage.filesystem.temporary_datasets import temporary_store

LOG = logging.getLogger("sframe_spark")

# Settings of Spark that may name an object store, in the order in which they are tried.
SETTINGS_THAT_NAME_PLACES = ("spark.sql.warehouse.dir", "spark.hadoop.fs.defaultFS")
# The directory below such a place; Spark takes names that begin with an underscore for no table and no data.
NAME_OF_DIRECTORY = "_sframe_spark_temporary"


def is_object_store_of_cluster_used() -> bool:
    """Return whether temporary data goes to an object store that Spark's settings name, not to a place that the user has named."""
    return PLACE_OF_CLUSTER.uri is not None and config.temporary_directory is None


def use_object_store_of_cluster() -> str:
    """Let temporary data go to an object store that Spark's settings name, if this process and Spark's machines can write there.

    Returns
    -------
    str
        Why a place that the settings name is not used; empty if one is, or if they name none, or the user has named a place.
    """
    if config.temporary_directory is not None or PLACE_OF_CLUSTER.uri is not None:
        return ""
    reasons = list[str]()
    for setting, uri in places_in_settings():
        PLACE_OF_CLUSTER.uri, is_written = uri, False
        try:
            # The first line writes a file there.
            place = temporary_store().directory
            require_written_by_all(place)
            is_written = True
        except (StorageError, ImportError) as error:
            reasons.append(visible(redacted(f"{setting}: {error}")))
        finally:
            if not is_written:
                PLACE_OF_CLUSTER.uri = None
        if is_written:
            LOG.info("temporary data goes to %s (from %s), as Spark's machines share no directory with this one", uri, setting)
            return ""
    return "; ".join(reasons)


def places_in_settings() -> Iterator[tuple[str, str]]:
    """Yield the settings that name an object store, each with the URI of the directory for temporary data there."""
    conf = get_session().conf
    for setting in SETTINGS_THAT_NAME_PLACES:
        named = str(conf.get(setting, "") or "")
        scheme = scheme_of(named)
        if scheme is None:
            continue
        uri = location_of(named)
        if uri.partition(":")[0] in BUCKETS:
            yield setting, join(uri, NAME_OF_DIRECTORY)


def require_written_by_all(directory: str) -> None:
    """Require that Spark's executors write files to a remote directory.

    Raises
    ------
    StorageError
        If one does not; the message names its machine.
    """
    for answer in answers(writing(directory, config.storage_options or {}), None):
        if not answer.content:
            raise StorageError(f"Spark's executor on {answer.executor} cannot write to {directory}: {answer.trouble}")


def writing(directory: str, options: Mapping[str, Mapping[str, Any]]) -> Callable[[], str]:
    """Return a function for tasks that writes a file to a remote directory and removes it."""

    def write() -> str:
        import uuid

        from sframe_spark.config import config
        from sframe_spark.storage.filesystem.path_joining_and_escaping import join
        from sframe_spark.storage.filesystem.remote_operations import put_bytes, remove

        file = join(directory, f"part-{uuid.uuid4().hex}")
        try:
            with config.using(storage_options=options):
                put_bytes(file, b"")
                remove(file)
        except Exception as error:
            raise OSError(0, f"{type(error).__name__}: {error}", file) from error
        return "written"

    return write
