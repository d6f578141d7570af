"""A made-up Java and Spark, and what may change of them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest

from sframe_spark.session import jvm_class_archive_lookup
from sframe_spark.session.java import JavaRuntime
from sframe_spark.session.jvm_class_archive_lookup import JvmStart

VARIABLES = (*jvm_class_archive_lookup._VARIABLES, *jvm_class_archive_lookup._DIRECTORIES)


def made_up_start(place: Path, options: str = "") -> JvmStart:
    """A start of a Java and a Spark that are nothing but names."""
    home, spark = place / "java", place / "spark"
    for file in (
        home / "bin" / "java",
        home / "lib" / "server" / "classes.jsa",
        home / "release",
        spark / "jars" / "a.jar",
        spark / "jars" / "b.jar",
    ):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(file.name)
    return JvmStart(JavaRuntime(home, 17, "made up", home), spark, options)


def jar_grows(start: JvmStart, _: pytest.MonkeyPatch) -> JvmStart:
    """Another version of a jar."""
    (start.spark_home / "jars" / "a.jar").write_text("more than before")
    return start


def jar_of_another_time(start: JvmStart, _: pytest.MonkeyPatch) -> JvmStart:
    """As many bytes, installed again."""
    os.utime(start.spark_home / "jars" / "a.jar", ns=(1, 1))
    return start


def one_more_jar(start: JvmStart, _: pytest.MonkeyPatch) -> JvmStart:
    """The user has put one beside."""
    (start.spark_home / "jars" / "c.jar").touch()
    return start


def java_replaced(start: JvmStart, _: pytest.MonkeyPatch) -> JvmStart:
    """An update of the system."""
    (start.java.installation / "release").write_text("another build")
    return start


def base_gone(start: JvmStart, _: pytest.MonkeyPatch) -> JvmStart:
    """The archive on which it is built."""
    (start.java.installation / "lib" / "server" / "classes.jsa").unlink()
    return start


def other_options(start: JvmStart, _: pytest.MonkeyPatch) -> JvmStart:
    """Another collector of garbage."""
    return attrs.evolve(start, options="-XX:+UseSerialGC")


def variable_set(start: JvmStart, monkeypatch: pytest.MonkeyPatch) -> JvmStart:
    """Options for any Java."""
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-XX:-UseCompressedOops")
    return start


CHANGES: tuple[Callable[[JvmStart, pytest.MonkeyPatch], JvmStart], ...] = (
    jar_grows,
    jar_of_another_time,
    one_more_jar,
    java_replaced,
    base_gone,
    other_options,
    variable_set,
)
