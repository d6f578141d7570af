"""Which Python interpreter processes of ours run, and how it starts: with this program's options and module search path, and no others.

Without options of ours an interpreter would import from the directory in which it starts, or from those in ``PYTHONPATH``, before any code of ours
could say where from: a file ``random.py`` there would run.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence

# Each process has one core, as those of the reference and of Spark. Libraries of numbers would start threads for all of them, in each.
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
# A process shows no progress of its own.
QUIET = {"SFRAME_SPARK_PROGRESS": "off"}
# Set while a process starts, and taken away by it: a program that turns out to be this one, not a Python interpreter, starts no others.
STARTING = "SFRAME_SPARK_STARTING_PROCESS"
# Names of interpreters: an application may be called `python-tool`.
INTERPRETER = re.compile(r"(python|pypy)\d*(\.\d+)*(-dbg|[dmt]+)?(\.exe)?", re.IGNORECASE)
# What makes of a program an interpreter that goes on after it, or imports from other places.
NOT_INHERITED = ("PYTHONPATH", "PYTHONINSPECT", "PYTHONSTARTUP", "PYTHONSAFEPATH")
# Options that are replaced by what `environment_at_start` leaves out and by START, and those that only write.
OPTIONS_REPLACED = re.compile(r"-(I|E|S|P|q|i|v+)")
# What a process runs first, with nothing but modules that are part of the interpreter: Ctrl-C is for the process that starts it, and its files are
# for none of the processes that functions may start. Only then are modules found, where the program finds them; `site` is what the interpreter runs
# before its program, and may add to the path. It and what it imports come from the standard library, as in the program: with `-X frozen_modules=off`,
# which notebooks have, a file `stat.py` of the program's would be found first otherwise. Modules that `site` runs are those that it ran there.
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
    """The Python interpreter that runs this program; None where it is not known, as in an application that has it built in.

    Such an application names itself, and starting it would start the whole of it again.
    """
    program = sys.executable
    if not program or is_frozen() or STARTING in os.environ:
        return None
    return program if INTERPRETER.fullmatch(os.path.basename(program)) else None


def is_frozen() -> bool:
    """Whether this program was made one file, or directory, with its interpreter: by PyInstaller, cx_Freeze, py2app, PyOxidizer or Nuitka."""
    main = sys.modules.get("__main__")
    return bool(getattr(sys, "frozen", False) or getattr(sys, "oxidized", False) or hasattr(main, "__compiled__") or "__compiled__" in globals())


def start_command(program: str, module: str, numbers: Sequence[int]) -> list[str]:
    """The command that starts an interpreter which imports a module, where this program would, and calls its ``serve`` with numbers of files."""
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    path = [entry for entry in sys.path if isinstance(entry, str)]
    sites = [] if sys.flags.no_site else ["site", *(name for name in ("sitecustomize", "usercustomize") if name in sys.modules)]
    described = [sys.implementation.cache_tag or "", module, "-".join(map(str, numbers)), "-".join(sites), package]
    return [program, *options(), "-S", "-P", "-c", START, *described, *path]


def options() -> list[str]:
    """Options of the interpreter with which this program runs, but for those of where modules and settings come from.

    Examples
    --------
    >>> set(options()) & {"-I", "-E", "-S", "-P"}
    set()
    """
    kept = [option for option in subprocess._args_from_interpreter_flags() if not OPTIONS_REPLACED.fullmatch(option)]  # type: ignore[attr-defined]
    # It is part of -I.
    return ["-s", *kept] if sys.flags.no_user_site and "-s" not in kept else kept


def environment_at_start(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment with which a process starts, given that of this one.

    An interpreter that ignores its variables (``python -I``, ``-E``) hands none of them on. The module search path is given otherwise.
    """
    ignored = sys.flags.ignore_environment
    kept = {name: value for name, value in environment.items() if name not in NOT_INHERITED and not (ignored and name.startswith("PYTHON"))}
    return {**kept, **_threads(kept), **QUIET, **_seed(kept), STARTING: "1"}


def _seed(environment: Mapping[str, str]) -> dict[str, str]:
    """The seed of hashes of texts, which the order of sets depends on: one for all processes, as Spark tells its workers."""
    return {"PYTHONHASHSEED": "0"} if environment.get("PYTHONHASHSEED", "random") == "random" else {}


def environment_of_functions(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment that functions see in a process of ours, given that of this one: libraries that they import are told of one core, too."""
    return {**environment, **_threads(environment), **QUIET}


def _threads(environment: Mapping[str, str]) -> dict[str, str]:
    """How many threads libraries may start: one, unless the user has said it."""
    return {name: environment.get(name) or "1" for name in THREADS_OF_LIBRARIES}


def environment_of_workers(environment: Mapping[str, str]) -> dict[str, str]:
    """What Python workers of a Spark on this machine are told, in addition to what it tells them, given the environment of this process.

    By default they would import from the directory in which Spark was started.
    """
    # Spark tells each of them how many threads a task may have, one, by the name that it knows.
    threads = {name: number for name, number in _threads(environment).items() if name != KNOWN_TO_SPARK or environment.get(name)}
    return {"PYTHONSAFEPATH": "1", **threads}


def environment_of_tasks(path: Sequence[str], environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """What Python workers of a Spark that this program starts are told: they import from where it does.

    Parameters
    ----------
    path
        The module search path of this program.
    environment
        That of this process, by default.

    Examples
    --------
    >>> environment_of_tasks(["/program", "/installed"], {})["PYTHONPATH"]
    '/program:/installed'
    """
    found = [os.path.abspath(entry) for entry in path if isinstance(entry, str) and os.pathsep not in entry]
    return {**environment_of_workers(os.environ if environment is None else environment), "PYTHONPATH": os.pathsep.join(dict.fromkeys(found))}
