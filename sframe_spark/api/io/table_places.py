"""Where tables of a catalog have their files: tasks write them there, and the process that has started Spark publishes them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from urllib.parse import unquote

from sframe_spark.engine.spark.file_checks import require_writable
from sframe_spark.session.deployment import is_one_process
from sframe_spark.session.launch import is_remote
from sframe_spark.storage.filesystem.io_errors import telling
from sframe_spark.storage.filesystem.paths import join

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHARED_WAREHOUSE = (
    "set spark.sql.warehouse.dir before Spark starts to a directory that this machine and all of Spark's share, or write into a database "
    "whose LOCATION is one, or is on an object store"
)
_LOCATION, _TYPE = "Location", "Type"
_OWN_CATALOG = "spark_catalog"


def require_shared_place(user: SparkSession, table: str, database: str, is_there: bool) -> None:
    """Make sure that a cluster's executors see the directory of a table as this process does: rows that they write elsewhere would be lost.

    Parameters
    ----------
    user
        The session whose catalogs are meant.
    table
        The name of the table, in quotes.
    database
        What stands before its own name there; empty where it is in the current database.
    is_there
        Whether there is such a table, which may have its files outside of its database.

    Raises
    ------
    NotSharedError
        If they do not, naming a machine, the directory and the setting.
    """
    # A server of Spark Connect publishes tables itself, and this process need not see them.
    if is_remote(user) or is_one_process(user):
        return
    place = _place_of_table(user, table) if is_there else _place_of_database(user, database)
    if not place.startswith("file:"):
        return
    directory = "/" + place.removeprefix("file:").strip("/")
    # Spark makes the directory of its own database when the first table comes.
    with telling("create", directory):
        os.makedirs(directory, exist_ok=True)
    require_writable(join(directory, "table"), SHARED_WAREHOUSE)


def _place_of_table(user: SparkSession, table: str) -> str:
    """The directory of its database where it is one of the catalog's own, which stand side by side; else its own, above which nobody need write."""
    said = {row[0]: row[1] for row in user.sql(f"DESCRIBE TABLE EXTENDED {table}").collect()}
    own = (said.get(_LOCATION) or "").rstrip("/")
    return own if said.get(_TYPE) == "EXTERNAL" else os.path.dirname(own)


def _place_of_database(user: SparkSession, database: str) -> str:
    """Its directory; Spark's own catalog tells a URI, in which a space is ``%20``, where of a table it tells a path."""
    found = user.catalog.getDatabase(database or user.catalog.currentDatabase())
    place = found.locationUri or ""
    return unquote(place) if found.catalog == _OWN_CATALOG else place
