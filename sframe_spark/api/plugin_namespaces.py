"""The functions and aggregates of plug-ins under their public names: in a namespace for each package, and next to the built-in aggregates."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeVar

import sframe_spark.api.aggregate as built_in_aggregates
from sframe_spark.api.error_hints import no_function
from sframe_spark.api.plugin_calls import aggregate_of, call
from sframe_spark.errors import InvalidArgumentError
from sframe_spark.expressions.aggregates.aggregate_function import AGGREGATES
from sframe_spark.expressions.functions.scalar_function import FUNCTIONS
from sframe_spark.planner.plugin_discovery import PluginPackage
from sframe_spark.planner.plugin_loading import loaded_packages, namespace_of, namespaces_of, registrations_of
from sframe_spark.planner.registrations import location_of, record, registrations

FUNCTION, AGGREGATE = "public function", "public aggregate"
# The module whose attributes are the namespaces.
DOOR = "sframe_spark.functions"
PublicFunction = TypeVar("PublicFunction", bound=Callable[..., Any])


def public_function(function: PublicFunction) -> PublicFunction:
    """Decorator of a function of a package, which puts it into the package's namespace in :mod:`sframe_spark.functions`.

    Importing it from its own module gives the same function. A scalar function that has no public function of its name is in the namespace as
    a function of columns and values.

    Raises
    ------
    InvalidArgumentError
        If it is not a function with a name.

    Examples
    --------
    >>> @public_function
    ... def doctest_double(column):
    ...     return column * 2
    >>> doctest_double(4)
    8
    """
    name = _require_named(function)
    record(FUNCTION, f"{function.__module__}.{name}", function, lambda: None)
    return function


def public_aggregate(function: PublicFunction) -> PublicFunction:
    """Decorator of a function that returns a request for an aggregate, which puts it next to the built-in ones in :mod:`sframe_spark.aggregate`.

    An aggregate that has no public function is there under its own name in capitals, as a function of names of columns.

    Raises
    ------
    InvalidArgumentError
        If it is not a function with a name, or if a built-in aggregate or another package has the name.
    """
    name = _require_named(function)
    holder = next((made.value for made in registrations() if (made.kind, made.name) == (AGGREGATE, name)), None)
    holder = getattr(built_in_aggregates, name, holder)
    if holder is not None and location_of(holder) != location_of(function):
        raise InvalidArgumentError(f"the name {name!r} is taken by the aggregate {location_of(holder)}: choose another name")
    record(AGGREGATE, name, function, lambda: None)
    return function


def _require_named(function: Any) -> str:
    name = getattr(function, "__name__", "")
    if not callable(function) or not str(name).isidentifier():
        raise InvalidArgumentError(f"a public function must be a function with a name, and {function!r:.80} is not: define it with def")
    return str(name)


class PluginNamespace(ModuleType):
    """The module of the functions of a package, such as ``sframe_spark.functions.geo``: ``help()`` and completion find them there."""

    def __init__(self, namespace: str, package: PluginPackage) -> None:
        super().__init__(f"{DOOR}.{namespace}", f"Functions of the plug-in {package}.")
        self._namespace, self._package = namespace, package
        self._callers: dict[str, tuple[Any, Callable[..., Any]]] = {}

    @property
    def __all__(self) -> list[str]:
        return sorted(self._members())

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.__all__})

    def __getattr__(self, name: str) -> Any:
        # Pytest and other tools look up special names on every object.
        if name.startswith("_"):
            raise AttributeError(f"{self.__name__} has no {name!r}")
        members = self._members()
        if name in members:
            return members[name]
        raise no_function(self.__name__, name, members)

    def __repr__(self) -> str:
        return f"<{self.__name__}: functions of the plug-in {self._package}>"

    def _members(self) -> dict[str, Callable[..., Any]]:
        made = [one for one in registrations_of(self._package) if namespace_of(one, self._package) == self._namespace]
        callers = {one.name: self._caller(one.name, one.value) for one in made if one.kind == FUNCTIONS.kind and not one.name.startswith("_")}
        return {**callers, **{one.value.__name__: one.value for one in made if one.kind == FUNCTION}}

    def _caller(self, name: str, function: Any) -> Callable[..., Any]:
        # Pickle needs to find the same function again.
        if name not in self._callers or self._callers[name][0] is not function:
            self._callers[name] = function, function_caller(name, function, self.__name__)
        return self._callers[name][1]


def namespaces() -> dict[str, PluginNamespace]:
    """Return the namespaces of loaded plug-ins by name; plug-ins are loaded first."""
    found = {}
    for package in loaded_packages():
        for name in namespaces_of(package):
            place = f"{DOOR}.{name}"
            module = sys.modules.get(place)
            if not isinstance(module, PluginNamespace) or module._package != package:
                module = sys.modules[place] = PluginNamespace(name, package)
            found[name] = module
    return found


def script_functions() -> dict[str, Callable[..., Any]]:
    """Return functions that call the scalar functions of scripts, which are of no package, by name."""
    of_packages = {(made.kind, made.name) for package in loaded_packages() for made in registrations_of(package)}
    names = [made.name for made in registrations() if made.kind == FUNCTIONS.kind and (made.kind, made.name) not in of_packages]
    return {name: function_caller(name, FUNCTIONS[name], DOOR) for name in names if name in FUNCTIONS and not name.startswith("_")}


def plugin_aggregates() -> dict[str, Callable[..., Any]]:
    """Return the aggregates of plug-ins and scripts by the names that users call, except those that a built-in aggregate has."""
    loaded_packages()
    made = registrations()
    named = [one for one in made if one.kind == AGGREGATES.kind and not one.name.startswith("_")]
    callers = {one.name.upper(): aggregate_caller(one.name, one.value) for one in named}
    found = {**callers, **{one.name: one.value for one in made if one.kind == AGGREGATE}}
    return {name: function for name, function in found.items() if not hasattr(built_in_aggregates, name)}


def function_caller(name: str, function: Any, module: str) -> Callable[..., Any]:
    """Return a function of columns and values that calls a scalar function; its documentation is that of the kernel."""

    def caller(*arguments: Any, parameters: Any = ()) -> Any:
        return call(name, *arguments, parameters=parameters)

    computed = getattr(function.kernel, "compute", function.kernel)
    how = f"Calls the scalar function {name!r} with columns and values, and its parameters. Returns a column."
    return _named(caller, name, module, _documentation(computed, how))


def aggregate_caller(name: str, function: Any) -> Callable[..., Any]:
    """Return a function of names of columns that requests an aggregate."""

    def caller(*columns: str, parameters: Any = (), label: str | None = None) -> Any:
        return aggregate_of(name, *columns, parameters=parameters, label=label)

    forms = [getattr(function.decomposition, "finish", None), getattr(function.of_columns, "reduce", None), function.of_columns]
    computed = next((form for form in forms if form is not None), None)
    how = f"Requests the aggregate {name!r} of the named columns, for ``groupby`` and other methods that take aggregates."
    return _named(caller, name.upper(), "sframe_spark.aggregate", _documentation(computed, how))


def _named(caller: Callable[..., Any], name: str, module: str, documentation: str) -> Callable[..., Any]:
    caller.__name__ = caller.__qualname__ = name
    caller.__module__, caller.__doc__ = module, documentation
    return caller


def _documentation(computed: Any, how: str) -> str:
    """Return the docstring of the author's function, which may be wrapped, and how it is called."""
    while (inner := getattr(computed, "function", None)) is not None:
        computed = inner
    of_author = inspect.getdoc(computed) if inspect.isfunction(computed) else None
    return f"{of_author}\n\n{how}" if of_author else how
