"""The command, options and environment with which Python worker processes, also those of Spark, start, so that they import what this program does.

By default an interpreter imports from the directory in which it starts, or from ``PYTHONPATH``, before any code of this package could prevent that: a
file ``random.py`` there would run.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence

# Each process has one core, as in the reference implementation and in Spark. Numeric libraries would start threads for all cores in each process.
THREADS_OF_LIBRARIES = (
    "BLIS_NUM_THREADS",
    "GOTO_NUM_THREADS",
    "MKL_DOMAIN_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "POLARS_MAX_THREADS",
    "RAYON_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
KNOWN_TO_SPARK = "OMP_NUM_THREADS"
# Worker processes draw no progress bars.
QUIET = {"SFRAME_SPARK_PROGRESS": "off"}
# A variable that is set while a process starts, and removed by it: if the "interpreter" turns out to be this application itself, it does not start
# itself again.
STARTING = "SFRAME_SPARK_STARTING_PROCESS"
# File names of Python interpreters; an application may be called `python-tool`.
INTERPRETER = re.compile(r"(python|pypy)\d*(\.\d+)*(-dbg|[dmt]+)?(\.exe)?", re.IGNORECASE)
# Environment variables that make an interpreter interactive, or let it import from other directories.
NOT_INHERITED = ("PYTHONPATH", "PYTHONINSPECT", "PYTHONSTARTUP", "PYTHONSAFEPATH")
# Options that `environment_at_start` and START replace, and options that only affect what is printed.
OPTIONS_REPLACED = re.compile(r"-(I|E|S|P|q|i|v+)")
# The first code of a process, which uses built-in modules only. It ignores Ctrl-C, which is meant for its parent, and keeps its descriptors from
# processes that users' functions start. Only then does it set the program's search path. `site`, which an interpreter runs before its program and
# which may extend the path, is imported from the standard library: otherwise, with `-X frozen_modules=off`, as in notebooks, a file `stat.py` of the
# program would be found first. `site` runs sitecustomize and usercustomize only if they ran in the program.
START = """
import posix, sys
from _signal import SIG_IGN, SIGINT, signal
signal(SIGINT, SIG_IGN)
tag, module, numbers, sites, package, *path = sys.argv[1:]
numbers = [int(number) for number in numbers.split("-")]
for number in numbers:
    posix.set_inheritable(number, False)
if sys.implementation.cache_tag != tag:
    sys.exit(f"{sys.executable} is {sys.implementation.cache_tag}, and not {tag}")
del sys.argv[1:]
if sites:
    import site
sys.path[:] = path
if sites:
    absent = {"sitecustomize", "usercustomize"}.difference(sites.split("-"))
    sys.modules.update(dict.fromkeys(absent))
    site.main()
    for name in absent:
        del sys.modules[name]
sys.path[:] = path if package in path else [*path, package]
serve = __import__(module, fromlist=["serve"]).serve
sys.path[:] = path
serve(*numbers)
"""


def interpreter() -> str | None:
    """Return the Python interpreter that runs this program; None if it is unknown, as in an application that embeds Python.

    In such an application ``sys.executable`` is the application itself, which would be started again as a whole.
    """
    program = sys.executable
    if not program or is_frozen() or STARTING in os.environ:
        return None
    return program if INTERPRETER.fullmatch(os.path.basename(program)) else None


def is_frozen() -> bool:
    """Return whether this program was bundled with its interpreter, by PyInstaller, cx_Freeze, py2app, PyOxidizer or Nuitka."""
    main = sys.modules.get("__main__")
    return bool(getattr(sys, "frozen", False) or getattr(sys, "oxidized", False) or hasattr(main, "__compiled__") or "__compiled__" in globals())


def start_command(program: str, module: str, numbers: Sequence[int]) -> list[str]:
    """Return the command that starts an interpreter, which imports a module as this program would, and calls its ``serve`` with file descriptors."""
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    path = [entry for entry in sys.path if isinstance(entry, str)]
    sites = [] if sys.flags.no_site else ["site", *(name for name in ("sitecustomize", "usercustomize") if name in sys.modules)]
    described = [sys.implementation.cache_tag or "", module, "-".join(map(str, numbers)), "-".join(sites), package]
    return [program, *options(), "-S", "-P", "-c", START, *described, *path]


def options() -> list[str]:
    """Return the interpreter options of this program, except those that decide where modules and settings come from.

    Examples
    --------
    >>> set(options()) & {"-I", "-E", "-S", "-P"}
    set()
    """
    passed = [option for option in subprocess._args_from_interpreter_flags() if not OPTIONS_REPLACED.fullmatch(option)]  # type: ignore[attr-defined]
    # -I implies -s.
    return ["-s", *passed] if sys.flags.no_user_site and "-s" not in passed else passed


def environment_at_start(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for starting a process, given the environment of this one.

    An interpreter that ignores its variables (``python -I``, ``-E``) passes none of Python's on. The module search path is passed separately.
    """
    ignored = sys.flags.ignore_environment
    passed = {name: value for name, value in environment.items() if name not in NOT_INHERITED and not (ignored and name.startswith("PYTHON"))}
    # The order of sets of strings depends on this seed, so all processes get the same one, as in Spark.
    seed = {"PYTHONHASHSEED": "0"} if passed.get("PYTHONHASHSEED", "random") == "random" else {}
    return {**passed, **_threads(passed), **QUIET, **seed, STARTING: "1"}


def environment_of_functions(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment that users' functions see in a worker process, given the environment of this one: libraries use one core."""
    return {**environment, **_threads(environment), **QUIET}


def _threads(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables for the number of threads of libraries: one thread, unless the user has set a number."""
    return {name: environment.get(name) or "1" for name in THREADS_OF_LIBRARIES}


def environment_of_workers(environment: Mapping[str, str]) -> dict[str, str]:
    """Return environment variables for the Python workers of a Spark on this machine, in addition to those that Spark sets.

    By default, workers would import from the directory in which Spark was started.
    """
    # Spark itself sets the variable that it knows, to the number of cores of a task.
    threads = {name: number for name, number in _threads(environment).items() if name != KNOWN_TO_SPARK or environment.get(name)}
    return {"PYTHONSAFEPATH": "1", **threads}


def environment_of_tasks(path: Sequence[str], environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return environment variables for the Python workers of a Spark that this program starts, which let them import from where this program does.

    Parameters
    ----------
    path
        The module search path of this program.
    environment
        The environment of this program; None takes that of this process.

    Examples
    --------
    >>> environment_of_tasks(["/program", "/installed"], {})["PYTHONPATH"]
    '/program:/installed'
    """
    entries = [os.path.abspath(entry) for entry in path if isinstance(entry, str) and os.pathsep not in entry]
    return {**environment_of_workers(os.environ if environment is None else environment), "PYTHONPATH": os.pathsep.join(dict.fromkeys(entries))}
