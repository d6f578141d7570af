"""Derby, the database whose driver is among Spark's jars."""

from __future__ import annotations

import os
from typing import Any

DRIVER = "org.apache.derby.iapi.jdbc.AutoloadedDriver"


def keep_quiet(spark: Any) -> None:
    """Let it write no log beside the tests."""
    spark.sparkContext._jvm.java.lang.System.setProperty("derby.stream.error.file", os.devnull)


def address(name: str) -> str:
    """A database in the memory of the JVM, made when it is first used."""
    return f"jdbc:derby:memory:{name};create=true"
