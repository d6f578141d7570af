"""Runs programs in sessions on a cluster or a Spark Connect server, one after the other, and says how each ended; started by `test_cluster.py`.

    python -m tests.cluster.run URL

Each line of the input is JSON: a directory or a URI and what opens it, names of programs, settings of a session or null for that of the line
before, and whether the session stays for the next line. Each is answered by a line of JSON, which starts with a word that no other line of the
output starts with.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import traceback
from collections.abc import Mapping
from typing import Any

RIGHT, REFUSED, WRONG, BROKEN = "right", "refused", "wrong", "broken"
ANSWER = "endings: "


def start_session(url: str, settings: Mapping[str, str]) -> Any:
    """The user's session."""
    from pyspark.sql import SparkSession

    # PySpark asks the environment when a context starts, whatever the settings say.
    os.environ["PYSPARK_PYTHON"] = settings.get("spark.test.python", sys.executable)
    builder = SparkSession.builder.remote(url) if url.startswith("sc:") else SparkSession.builder.master(url)
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    if not url.startswith("sc:"):
        session.sparkContext.setLogLevel("OFF")
    return session


def found_by(name: str, place: Any) -> tuple[Any, Any]:
    """Run a program of the list, or ``file_programs:NAME``; what it found, and what is right."""
    from tests.cluster import file_programs
    from tests.cluster.programs import PROGRAMS

    module, _, function = name.rpartition(":")
    program = getattr(file_programs, function) if module == "file_programs" else PROGRAMS[name]
    found: tuple[Any, Any] = program(place)
    return found


def ending(name: str, place: Any) -> tuple[str, str]:
    """How a program ended, and what it said."""
    from sframe_spark.errors import NotSharedError, StorageError

    try:
        found, expected = found_by(name, place)
    except StorageError as error:
        text = str(error)
        told = platform.node() in text and "config.temporary_directory" in text and "SFRAME_SPARK_TMP" in text
        return (REFUSED if told else BROKEN), f"{type(error).__name__}: {text}" if isinstance(error, NotSharedError) else text
    except Exception:
        return BROKEN, traceback.format_exc()[-2000:]
    return (RIGHT, repr(found)) if found == expected else (WRONG, f"{found!r:.200} instead of {expected!r:.200}")


def run(session: Any, request: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """How programs end; few rows go to Spark as well unless told otherwise, but not while files are prepared."""
    from sframe_spark import config
    from tests.cluster.programs import Place

    directory, settings, options = request["directory"], request["settings"] or {}, request["options"]
    config.single_task_rows = 0
    # Each request has files and temporary files of its own: what an earlier one was told of a directory is no help.
    config.temporary_directory = f"{directory}/tmp" if options else directory
    config.storage_options = {"s3://": options} if options else {}
    place = Place(directory, session, request["notes"], options)
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
        return {name: ending(name, place) for name in request["names"]}


def main(url: str) -> None:
    """Answer each line of the input."""
    session = None
    for line in sys.stdin:
        request = json.loads(line)
        if request["settings"] is not None:
            session = start_session(url, request["settings"])
        found = run(session, request)
        if not request["stays"]:
            session.stop()
        sys.stdout.write(ANSWER + json.dumps(found) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
