"""Runs programs in sessions on a cluster or a Spark Connect server, one after the other, and says how each ended; started by `test_cluster.py`.

    python -m tests.cluster.run URL

Each line of the input is JSON: a directory or a URI, settings of a session, names of programs, and what opens the URI. Each is answered by a
line of JSON, which starts with a word that no other line of the output starts with.
"""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Mapping, Sequence
from typing import Any

RIGHT, REFUSED, WRONG, BROKEN = "right", "refused", "wrong", "broken"
ANSWER = "endings: "


def start_session(url: str, settings: Mapping[str, str]) -> Any:
    """The user's session."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.remote(url) if url.startswith("sc:") else SparkSession.builder.master(url)
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    if not url.startswith("sc:"):
        session.sparkContext.setLogLevel("OFF")
    return session


def ending(name: str, place: Any) -> tuple[str, str]:
    """How a program ended, and what it said."""
    from sframe_spark.errors import NotSharedError, StorageError
    from tests.cluster.programs import PROGRAMS

    try:
        found, expected = PROGRAMS[name](place)
    except StorageError as error:
        text = str(error)
        told = platform.node() in text and "config.temporary_directory" in text and "SFRAME_SPARK_TMP" in text
        return (REFUSED if told else BROKEN), f"{type(error).__name__}: {text}" if isinstance(error, NotSharedError) else text
    except Exception as error:
        return BROKEN, f"{type(error).__name__}: {error}"
    return (RIGHT, repr(found)) if found == expected else (WRONG, f"{found!r:.200} instead of {expected!r:.200}")


def run(url: str, directory: str, settings: Mapping[str, str], names: Sequence[str], options: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """How programs end in a session that is stopped then; few rows go to Spark as well unless told otherwise, but not while files are prepared."""
    from sframe_spark import config
    from tests.cluster.programs import Place

    session = start_session(url, settings)
    config.single_task_rows = 0
    # Each session has files and temporary files of its own: what an earlier one was told of a directory is no help.
    config.temporary_directory = f"{directory}/tmp" if options else directory
    config.storage_options = {"s3://": dict(options)} if options else {}
    place = Place(directory, session, options)
    place.prepare()
    if "spark.test.unasked" in settings:
        # As if the executors that share nothing had come after the probe.
        from sframe_spark.engine.spark import shared_file_and_row_count_checks as shared_file_checks

        shared_file_checks.is_one_process = lambda session: True
    few = {
        "small_rows": int(settings.get("spark.test.small_rows", 0)),
        "memory_budget": int(settings.get("spark.test.memory_budget", config.memory_budget)),
    }
    with config.using(**few):
        found = {name: ending(name, place) for name in names}
    session.stop()
    return found


def main(url: str) -> None:
    """Answer each line of the input."""
    for line in sys.stdin:
        sys.stdout.write(ANSWER + json.dumps(run(url, *json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
