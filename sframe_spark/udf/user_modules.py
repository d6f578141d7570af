"""Which modules belong to the user's program, and which to Python or to an installed package that every worker has as well."""

from __future__ import annotations

import functools
import os
import site
import sys
import sysconfig
import types
from importlib.machinery import EXTENSION_SUFFIXES
from typing import Any

MAIN = "__main__"
# Where Spark is not installed as a package it is found by PYTHONPATH; workers have it in any case, and this package too.
_OF_WORKERS = frozenset({"sframe_spark", "pyspark", "py4j"})
_SITE_DIRECTORIES = ("site-packages", "dist-packages")


def users_module(name: Any) -> types.ModuleType | None:
    """The loaded module of a name, if it belongs to the user's program; None if it is installed, built in, or not loaded.

    Examples
    --------
    >>> users_module("json"), users_module("sys"), users_module("sframe_spark")
    (None, None, None)
    >>> users_module("__main__").__name__
    '__main__'
    """
    if type(name) is not str:
        return None
    module = sys.modules.get(name)
    return module if isinstance(module, types.ModuleType) and is_users_module(module) else None


def is_users_module(module: types.ModuleType) -> bool:
    """Say whether a module belongs to the user's program.

    It does unless it is part of Python, compiled, or lies where packages are installed. An editable installation lies among the user's own files.
    A module without a file, which a program has made itself, is the user's.
    """
    content = vars(module)
    name = content.get("__name__")
    if name == MAIN:
        return True
    if type(name) is not str or sys.modules.get(name) is not module or name.partition(".")[0] in _OF_WORKERS:
        return False
    spec, path = content.get("__spec__"), content.get("__file__")
    if path is None:
        origin = getattr(spec, "origin", None)
        directories = list(content.get("__path__") or ())
        if origin in ("built-in", "frozen") or name in sys.builtin_module_names or name.partition(".")[0] in sys.stdlib_module_names:
            return False
        return is_users_file(directories[0]) if directories and type(directories[0]) is str else True
    return type(path) is str and is_users_file(path)


@functools.lru_cache(maxsize=4096)
def is_users_file(path: str) -> bool:
    """Say whether a file belongs to the user's program."""
    if path.endswith(tuple(EXTENSION_SUFFIXES)):
        return False
    found = [os.path.abspath(path), os.path.realpath(path)]
    if any(place.startswith(_installed_directories()) for place in found):
        return False
    return not any(directory in place.split(os.sep) for place in found for directory in _SITE_DIRECTORIES) and not _is_beside_metadata(found[0])


@functools.lru_cache(maxsize=1)
def _installed_directories() -> tuple[str, ...]:
    """Where Python keeps its own modules and those that package managers install."""
    schemes = sysconfig.get_paths(), sysconfig.get_paths(vars={"base": sys.base_prefix, "platbase": sys.base_exec_prefix})
    directories = {paths[key] for paths in schemes for key in ("stdlib", "platstdlib", "purelib", "platlib")}
    directories |= {*site.getsitepackages(), site.getusersitepackages(), os.path.dirname(os.__file__)}
    return tuple({os.path.join(form(each), "") for each in directories for form in (os.path.abspath, os.path.realpath)})


def _is_beside_metadata(path: str) -> bool:
    """Say whether a file lies in a directory that an installer has filled, as ``pip install --target`` does."""
    parent = os.path.dirname(path)
    while os.path.exists(os.path.join(parent, "__init__.py")) and os.path.dirname(parent) != parent:
        parent = os.path.dirname(parent)
    return _has_metadata(parent)


@functools.lru_cache(maxsize=256)
def _has_metadata(directory: str) -> bool:
    try:
        return any(entry.endswith(".dist-info") for entry in os.listdir(directory))
    except OSError:
        return False


def module_of_globals(names: dict[str, Any]) -> types.ModuleType | None:
    """The user's module whose variables a dict is; None if it is of no module, or of one that is installed."""
    module = users_module(names.get("__name__"))
    return module if module is not None and vars(module) is names else None
