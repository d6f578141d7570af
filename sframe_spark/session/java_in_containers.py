"""Gives a local Spark what Java and Hadoop expect of a machine and a container may lack.

That is an address of the host, a home and a name of the user, and a temporary directory from which Java may load the libraries that it unpacks there.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from sframe_spark.config import config
from sframe_spark.paths_and_uris import is_remote_location
from sframe_spark.process.temporary_file_leases import directory_of_system, own_directory, remove_orphans
from sframe_spark.process.user_cache_directory import own_cache

LOG = logging.getLogger("sframe_spark")

# The variable with the address of this machine for Spark, which otherwise asks for the address of the host's name: containers without a network, and
# those that share the host's network, may have a name that nobody knows.
ADDRESS = "SPARK_LOCAL_IP"
LOOPBACK_ADDRESS = "127.0.0.1"
# Where Java has its temporary files on Linux, whatever TMPDIR says. Spark unpacks the libraries of Snappy and Zstandard there.
TEMPORARY_DIRECTORY_OF_JAVA = "/tmp"


def variables_of_spark() -> dict[str, str]:
    """Return environment variables for the start of a local Spark: the loopback address, unless the user has chosen one."""
    return {ADDRESS: os.environ.get(ADDRESS) or LOOPBACK_ADDRESS}


def options_of_java() -> list[str]:
    """Return JVM options that replace what this machine lacks, each quoted for Spark's launcher; usually none."""
    replaced = {}
    if not has_account():
        # Without an account Java takes "?" for the home, and Spark refuses to start.
        home = os.environ.get("HOME", "")
        replaced["user.home"] = home if os.path.isabs(home) and os.path.isdir(home) else directory_of_system()
    directory = _temporary_directory_of_java()
    if directory is not None:
        replaced["java.io.tmpdir"] = directory
    return [f"'-D{name}={value}'" for name, value in replaced.items() if "'" not in value]


def has_account() -> bool:
    """Return whether the system knows the user of this process; OpenShift runs containers as users that no file of the image has."""
    if os.name != "posix":
        return True
    import pwd

    try:
        pwd.getpwuid(os.getuid())
    except KeyError:
        return False
    return True


def directory_of_exchanges() -> str | None:
    """Return the directory to which Spark writes the rows that it exchanges; None for Spark's default."""
    chosen = _chosen_directory()
    if chosen is not None:
        return chosen
    # Spark does not know TMPDIR, and without a directory in which Java can write it would not start.
    directory = directory_of_system()
    return None if directory == TEMPORARY_DIRECTORY_OF_JAVA or not _is_of_linux() else directory


def _chosen_directory() -> str | None:
    """Return the directory of this machine that the user has named for temporary data; None if there is none."""
    chosen = config.temporary_directory
    return None if chosen is None or is_remote_location(chosen) else chosen


def _temporary_directory_of_java() -> str | None:
    """Return a temporary directory for Java if it cannot load libraries from its own one, or not write to it; None if it can."""
    if not _is_of_linux() or _holds_libraries(TEMPORARY_DIRECTORY_OF_JAVA):
        return None
    parent = directory_of_programs()
    if parent is not None:
        remove_orphans(parent)
        return own_directory(parent)
    LOG.warning(
        "Java can load no libraries from %s (it is mounted with noexec, or cannot be written to), so Spark reads and writes no files that Snappy or "
        "Zstandard compress: let SFRAME_SPARK_TMP name a directory from which programs may be run",
        TEMPORARY_DIRECTORY_OF_JAVA,
    )
    return None if os.access(TEMPORARY_DIRECTORY_OF_JAVA, os.W_OK | os.X_OK) else directory_of_system()


def directory_of_programs() -> str | None:
    """Return a directory in which this process may make files and run them; None if there is none."""
    return next(filter(_holds_libraries, _parents()), None)


def _parents() -> Iterator[str]:
    """Yield the directories in which this package makes files."""
    chosen = _chosen_directory()
    if chosen is not None:
        yield chosen
    yield directory_of_system()
    try:
        yield str(own_cache())
    except OSError:
        # There is no home, or it cannot be written to.
        return


def _holds_libraries(directory: str) -> bool:
    """Return whether this process can write to a directory, and load libraries from it."""
    return os.access(directory, os.W_OK | os.X_OK) and not (_is_of_linux() and os.statvfs(directory).f_flag & os.ST_NOEXEC)


def _is_of_linux() -> bool:
    return sys.platform.startswith("linux")


def name_user(settings: Mapping[str, str]) -> None:
    """Start a JVM, and give the user a name in it, if the system has none: Hadoop's file systems ask for a name before they read a file.

    Parameters
    ----------
    settings
        The settings of the Spark session that will be started in the JVM.
    """
    if has_account():
        return
    from pyspark import SparkConf, SparkContext

    configuration = SparkConf()
    configuration.setAll(list(settings.items()))
    SparkContext._ensure_initialized(conf=configuration)
    java: Any = SparkContext._jvm
    users = java.org.apache.hadoop.security.UserGroupInformation
    users.setLoginUser(users.createRemoteUser(str(os.getuid())))
