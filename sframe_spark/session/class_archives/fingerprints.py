"""What an archive of classes depends on: the Java, the jars, the options and the variables with which a JVM starts."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
from pathlib import Path
from typing import Any

import attrs

from sframe_spark.session.java import JavaRuntime

# How records are written; another number is another kind of archive.
FORMAT = 1
# What the user wants every JVM to be told.
JVM_OPTIONS = "SFRAME_SPARK_JVM_OPTIONS"

# Options by which somebody sees to archives themselves.
_ABOUT_ARCHIVES = re.compile(r"-Xshare|-XX:[+-]?\w*(?:SharedArchive|SharedClassList|ArchiveClasses|LoadedClassList|DynamicArchive|AOT|CDS)")
# Variables that give a JVM options or jars; their values may hold what is secret.
_VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS", "PYSPARK_SUBMIT_ARGS", "SPARK_TESTING")
# Variables that put directories or other jars before those of Spark: Java keeps no archive beside directories with files.
_DIRECTORIES = ("SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_DIST_CLASSPATH", "SPARK_CLASSPATH", "SPARK_PREPEND_CLASSES")
# Files by which one build of Java is told from another; not all builds have all of them.
_OF_JAVA = ("bin/java", "release", "lib/modules", "lib/server/libjvm.so", "lib/server/libjvm.dylib", "lib/server/classes.jsa")
BASE_OF_JAVA = "lib/server/classes.jsa"


@attrs.frozen
class JvmStart:
    """How a JVM of Spark is to be started here.

    Parameters
    ----------
    java
        The runtime.
    spark_home
        Where Spark is installed.
    options
        What the user has set in ``SFRAME_SPARK_JVM_OPTIONS``.
    """

    java: JavaRuntime
    spark_home: Path
    options: str

    @classmethod
    def here(cls, java: JavaRuntime) -> JvmStart:
        """How the JVM of a session that this process starts itself would be started."""
        from pyspark.find_spark_home import _find_spark_home

        return cls(java, Path(_find_spark_home()).absolute(), os.environ.get(JVM_OPTIONS, ""))

    @property
    def key(self) -> str:
        """The name of its archive: a Spark or Java that is replaced in its place replaces that."""
        text = json.dumps([str(self.java.home), str(self.java.installation), str(self.spark_home), self.options])
        return _digest(text)[:16]

    def fingerprint(self) -> dict[str, Any]:
        """All that must be the same for an archive to fit, as JSON has it.

        Raises
        ------
        OSError
            If Java or Spark cannot be looked at.
        """
        installation = self.java.installation
        jars = self.spark_home / "jars"
        # In the order in which Java puts them on its class path: that of the directory.
        names = [name for name in os.listdir(jars) if name.lower().endswith(".jar")]
        variables = {
            name: hashlib.sha256(os.environ[name].encode("utf-8", "surrogateescape")).hexdigest() for name in _VARIABLES if name in os.environ
        }
        return {
            "format": FORMAT,
            "java": [str(self.java.home), str(installation)],
            "files of java": {name: size_and_time(installation / name) for name in _OF_JAVA if (installation / name).exists()},
            "spark": str(self.spark_home),
            "jars": [[name, *size_and_time(jars / name)] for name in names],
            "options": _digest(self.options),
            "variables": variables,
        }

    def hindrance(self) -> str | None:
        """Why such a JVM starts without an archive whatever there is, for people; None: it may have one."""
        if os.name != "posix":
            return "archives of classes are kept on Linux and macOS only"
        try:
            options = shlex.split(self.options)
        except ValueError as error:
            return f"SFRAME_SPARK_JVM_OPTIONS cannot be read: {error}"
        if any(_ABOUT_ARCHIVES.match(option) for option in options):
            return "SFRAME_SPARK_JVM_OPTIONS says itself which archive there is"
        for name in _VARIABLES:
            if _ABOUT_ARCHIVES.search(os.environ.get(name, "")):
                return f"{name} says itself which archive there is"
        for name in _DIRECTORIES:
            if os.environ.get(name):
                return f"{name} is set: Java has no archives beside directories of settings"
        if _has_files(self.spark_home / "conf"):
            return f"{str(self.spark_home / 'conf')!r} has files: Java has no archives beside directories of settings"
        return None


def size_and_time(path: Path) -> list[int]:
    """Bytes of a file, and when it was written: nobody changes these without changing the file, nor the file without changing these."""
    status = os.stat(path)
    return [status.st_size, status.st_mtime_ns]


def _digest(text: str) -> str:
    """What stands for a text that may hold a secret."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def _has_files(directory: Path) -> bool:
    try:
        return bool(os.listdir(directory))
    except FileNotFoundError:
        return False
    except OSError:
        return True
