"""Finds the operators and laws of installed plug-ins by the entry points of their packages, and loads them once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib.metadata import Distribution, EntryPoint, distributions
from typing import Any

from sframe_spark.errors import PlanInvariantError, SFrameError
from sframe_spark.planner.law import Law

OPERATOR_GROUP = "sframe_spark.operators"
LAW_GROUP = "sframe_spark.laws"
GROUPS = (OPERATOR_GROUP, LAW_GROUP)
# Package names that differ only in case or in these characters are equal (PEP 503).
SEPARATORS = re.compile("[-_.]+")


@lru_cache(maxsize=1)
def _announced() -> Mapping[str, Sequence[EntryPoint]]:
    """Return the entry points of each group. A file of each installed package is read, so this is done once for all groups."""
    # Only files that mention a group are parsed, because parsing takes as long as reading.
    entries = [entry for package in _installed(filter(_names_a_group, distributions())) for entry in package.entry_points]
    return {group: sorted((entry for entry in entries if entry.group == group), key=lambda entry: entry.name) for group in GROUPS}


def _installed(packages: Iterable[Distribution]) -> Iterable[Distribution]:
    """Return one distribution for each normalised package name: the first on the path, which Python would import.

    Every distribution without a name is kept.
    """
    first_of: dict[str | Distribution, Distribution] = {}
    for package in packages:
        (name, *_) = package.metadata.get_all("Name") or [""]
        key = SEPARATORS.sub("-", name).lower() or package
        if key not in first_of:
            first = Distribution.discover(name=name) if name else ()
            first_of[key] = next(iter(first), package)
    return first_of.values()


def _names_a_group(package: Distribution) -> bool:
    entry_points = package.read_text("entry_points.txt") or ""
    return any(group in entry_points for group in GROUPS)


def announced(group: str) -> Sequence[EntryPoint]:
    """Return the entry points that installed packages announce in a group, sorted by name."""
    return _announced()[group]


def _loaded(entry: EntryPoint) -> Any:
    """Return the object that an entry point refers to.

    Raises
    ------
    PlanInvariantError
        If it cannot be imported. (Errors of this package's own classes, and a lack of memory, pass unchanged.)
    """
    try:
        return entry.load()
    except (SFrameError, MemoryError):
        raise
    except Exception as error:
        message = f"the entry point {entry.name!r} = {entry.value!r} of {entry.group} cannot be loaded: {type(error).__name__}: {error}"
        raise PlanInvariantError(f"{message}; mend or uninstall its package") from error


@lru_cache(maxsize=1)
def load_operators() -> tuple[str, ...]:
    """Import all modules of the operator group once, so that they register their operators, and return the names of their entry points."""
    entries = announced(OPERATOR_GROUP)
    for entry in entries:
        _loaded(entry)
    return tuple(entry.name for entry in entries)


@lru_cache(maxsize=1)
def plugin_laws() -> tuple[Law, ...]:
    """Return the laws of all installed plug-ins, sorted by entry-point name.

    Raises
    ------
    PlanInvariantError
        If an entry point refers to something that is not a law or a list of laws.
    """
    laws: list[Law] = []
    for entry in announced(LAW_GROUP):
        loaded = _loaded(entry)
        if not isinstance(loaded, (Law, list, tuple)):
            raise PlanInvariantError(f"entry point {entry.name!r} of {LAW_GROUP} gives {loaded!r:.80}, which is neither a law nor a list of laws")
        for item in [loaded] if isinstance(loaded, Law) else loaded:
            if not isinstance(item, Law):
                raise PlanInvariantError(f"entry point {entry.name!r} of {LAW_GROUP} gives {item!r}, which is not a law")
            laws.append(item)
    return tuple(laws)
