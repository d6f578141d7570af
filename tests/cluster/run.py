"""Runs programs in one session on a cluster or a Spark Connect server, and says how each ended; started by `test_cluster.py`.

    python -m tests.cluster.run URL DIRECTORY SETTINGS PROGRAMS

SETTINGS and PROGRAMS are JSON: settings of the session, and names of programs. The last line of the output is JSON as well.
"""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

RIGHT, REFUSED, WRONG, BROKEN = "right", "refused", "wrong", "broken"


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
    return (RIGHT, "") if found == expected else (WRONG, f"{found!r:.200} instead of {expected!r:.200}")


def main(url: str, directory: str, settings: str, names: str) -> None:
    """Run programs; few rows go to Spark as well."""
    from sframe_spark import config
    from tests.cluster.programs import Place

    session = start_session(url, json.loads(settings))
    config.single_task_rows = 0
    place = Place(Path(directory), session)
    place.prepare()
    config.small_rows = 0
    if "spark.test.unasked" in settings:
        # As if the executors that share nothing had come after the probe.
        from sframe_spark.engine import probe

        probe.is_one_process = lambda session: True
    chosen: Sequence[str] = json.loads(names)
    sys.stdout.write(json.dumps({name: ending(name, place) for name in chosen}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
