"""Functions of plug-ins: each installed package has a namespace here, as ``sframe_spark.functions.geo`` for a package that names it ``geo``.

``sframe_spark.plugins()`` lists the packages and their namespaces, ``dir(sframe_spark.functions)`` the namespaces. The scalar functions of a script
are here themselves. Built-in functions are members of :class:`~sframe_spark.SArray`.

Examples
--------
>>> from sframe_spark import SArray, functions
>>> from sframe_spark.plugin import INT, define_function
>>> _ = define_function("doctest_same", lambda types, parameters: INT, lambda arguments, types, parameters, rows: arguments[0])
>>> list(functions.doctest_same(SArray([1, 2])))
[1, 2]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from sframe_spark.api.error_hints import no_function
from sframe_spark.api.plugin_namespaces import namespaces, script_functions
from sframe_spark.planner.plugin_loading import hint_of_left_out

# Makes ``import sframe_spark.functions.geo`` ask the import hook below.
__path__: list[str] = []


class NamespaceFinder(MetaPathFinder, Loader):
    """An import hook that finds namespaces of plug-ins as modules: ``from sframe_spark.functions.geo import haversine``."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return how a namespace is imported; None for all other modules."""
        parent, _, name = fullname.rpartition(".")
        return ModuleSpec(fullname, self) if parent == __name__ and name in namespaces() else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the namespace."""
        return namespaces()[spec.name.rpartition(".")[2]]

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing, as the namespace is complete."""


if not any(isinstance(finder, NamespaceFinder) for finder in sys.meta_path):
    # Before the hook that refuses names of other libraries, as a plug-in may have taken one.
    sys.meta_path.insert(0, NamespaceFinder())


def __getattr__(name: str) -> Any:
    """Return the namespace of a package, or a scalar function of a script; for other names, raise an error with the most similar one."""
    if name.startswith("_"):
        raise AttributeError(f"{__name__} has no {name!r}")
    found = namespaces()
    if name in found:
        return found[name]
    functions = script_functions()
    if name in functions:
        return functions[name]
    raise no_function(__name__, name, [*found, *functions], hint_of_left_out("namespace", name))


def __dir__() -> list[str]:
    """Return the namespaces of plug-ins, and the functions of scripts."""
    return sorted({*namespaces(), *script_functions(), *(name for name in globals() if name.startswith("__"))})
