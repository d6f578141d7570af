"""Third-party operators and laws, loaded from entry points."""

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
# Names that differ in these, or in capital letters, are one name.
SEPARATORS = re.compile("[-_.]+")


@lru_cache(maxsize=1)
def _announced() -> Mapping[str, Sequence[EntryPoint]]:
    """Entry points of both groups: to find them is to read a file of each installed package, so it is done once for both."""
    # Only what names a group is parsed: all that others announce takes as long to parse as to read.
    found = [entry for package in _installed(filter(_names_a_group, distributions())) for entry in package.entry_points]
    return {group: sorted((entry for entry in found if entry.group == group), key=lambda entry: entry.name) for group in (OPERATOR_GROUP, LAW_GROUP)}


def _installed(packages: Iterable[Distribution]) -> Iterable[Distribution]:
    """Of packages of one name, in whichever spelling, the first on the path, where they are once; one whose name is lost stands for itself."""
    found: dict[str | Distribution, Distribution] = {}
    for package in packages:
        (name, *_) = package.metadata.get_all("Name") or [""]
        key = SEPARATORS.sub("-", name).lower() or package
        if key not in found:
            first = Distribution.discover(name=name) if name else ()
            found[key] = next(iter(first), package)
    return found.values()


def _names_a_group(package: Distribution) -> bool:
    announced_by_it = package.read_text("entry_points.txt") or ""
    return OPERATOR_GROUP in announced_by_it or LAW_GROUP in announced_by_it


def announced(group: str) -> Sequence[EntryPoint]:
    """What installed packages announce in a group, by name."""
    return _announced()[group]


def _loaded(entry: EntryPoint) -> Any:
    """What an entry point names.

    Raises
    ------
    PlanInvariantError
        If it cannot be imported.
    """
    try:
        return entry.load()
    except SFrameError:
        raise
    except Exception as error:
        told = f"the entry point {entry.name!r} = {entry.value!r} of {entry.group} cannot be loaded: {type(error).__name__}: {error}"
        raise PlanInvariantError(f"{told}; mend or uninstall its package") from error


@lru_cache(maxsize=1)
def load_operators() -> tuple[str, ...]:
    """Import every module of the operator group once; importing registers its operators. Returns the entry points' names."""
    names = []
    for entry in announced(OPERATOR_GROUP):
        _loaded(entry)
        names.append(entry.name)
    return tuple(names)


@lru_cache(maxsize=1)
def plugin_laws() -> tuple[Law, ...]:
    """Laws of all installed plugins, by entry-point name.

    Raises
    ------
    PlanInvariantError
        If an entry point gives something that is not a law.
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
