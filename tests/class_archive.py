"""Writes an archive of the classes that Spark loads, so that the JVMs of the tests need not parse them again.

    python -m tests.class_archive FILE

Half of what a Spark costs that starts is the loading of some 15,000 classes. Tests start dozens: sessions of users, clusters, Connect servers, which
are named the archive by their options. A JVM for which it does not fit, or that does not find it, starts without.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from sframe_spark.cli.prepare import run_sample_queries
from sframe_spark.session.jvm_class_archive_writing import write_classes


def main(archive: Path) -> None:
    """Use Spark, and let its JVM write the archive when it ends."""
    part = archive.with_name(f"{archive.name}.{os.getpid()}")
    # Nothing of another archive.
    os.environ["SFRAME_SPARK_JVM_OPTIONS"] = "-XX:TieredStopAtLevel=1"
    write_classes(part, run_sample_queries)
    part.replace(archive)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
