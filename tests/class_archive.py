"""Writes an archive of the classes that Spark loads, so that the JVMs of the tests need not parse them again.

    python -m tests.class_archive FILE

Half of what a Spark costs that starts is the loading of some 15,000 classes. Tests start dozens: sessions of users, clusters, Connect servers. A
JVM for which the archive does not fit, or that does not find it, starts without.

Source: Java's class data sharing, https://docs.oracle.com/en/java/javase/17/vm/class-data-sharing.html
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

SECONDS_TO_WRITE = 180


def use_spark(place: Path) -> None:
    """Run queries and tasks of the kinds that tests run."""
    from sframe_spark import SFrame, aggregate, config, load_sframe

    config.small_rows, config.single_task_rows, config.default_segments = 0, 0, 3
    frame = SFrame({"a": range(300), "k": [str(number % 7) for number in range(300)], "x": [number / 8 for number in range(300)]})
    frame.save(str(place / "saved"))
    frame = load_sframe(str(place / "saved"))
    frame["b"] = frame["a"].apply(lambda value: value + 1, dtype=int)
    joined = frame[frame["x"] > 3].join(frame.groupby("k", {"n": aggregate.COUNT(), "s": aggregate.SUM("x")}), on="k")
    joined.sort("b", ascending=False).materialize()
    joined["x"].cumulative_sum().materialize()
    assert joined.to_spark().groupBy("k").count().count() == 7
    assert len(SFrame(joined.to_spark()).unique()) == len(joined)


def main(archive: Path) -> None:
    """Use Spark, and let its JVM write the archive when it ends."""
    part = archive.with_name(f"{archive.name}.{os.getpid()}")
    # Nothing of another archive, and nothing said of classes that cannot be kept.
    os.environ["SFRAME_SPARK_JVM_OPTIONS"] = f"-XX:TieredStopAtLevel=1 '-XX:ArchiveClassesAtExit={part}' -Xlog:disable -Xlog:all=error:stderr"
    with tempfile.TemporaryDirectory() as directory:
        use_spark(Path(directory))
        from pyspark import SparkContext

        from sframe_spark.session import get_session

        machine = SparkContext._gateway.proc
        get_session().stop()
        # The JVM ends when its standard input does.
        machine.stdin.close()
        machine.wait(SECONDS_TO_WRITE)
    part.replace(archive)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
