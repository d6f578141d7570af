"""Distinguishes modules of the user's program from installed ones; finds module variables that functions reach, and those that may change."""

from __future__ import annotations

import functools
import importlib.util
import os
import site
import sys
import sysconfig
import types
from collections.abc import Iterator
from importlib.machinery import EXTENSION_SUFFIXES
from typing import Any

from sframe_spark.udf.captured_variables import Family, meanings
from sframe_spark.udf.code_analysis import CACHED, is_class, is_importable, is_unpickler, names_in

MAIN = "__main__"
# Modules that every worker has, even if PYTHONPATH provides them (as it does Spark that is not installed as a package).
_OF_WORKERS = frozenset({"sframe_spark", "pyspark", "py4j"})
_SITE_DIRECTORIES = ("site-packages", "dist-packages")


def users_module(name: Any) -> types.ModuleType | None:
    """Return the loaded module of a name if it belongs to the user's program; None if it is installed, built in, or not loaded.

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
    """Return whether a module belongs to the user's program.

    It does not if it is part of Python, compiled, or in a directory of installed packages. Modules of an editable installation count as the user's,
    and so do modules without a file that the program has made itself.
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
    """Return whether a module file belongs to the user's program: neither compiled nor in a directory of installed packages."""
    if path.endswith(tuple(EXTENSION_SUFFIXES)):
        return False
    paths = [os.path.abspath(path), os.path.realpath(path)]
    if any(path.startswith(_installed_directories()) for path in paths):
        return False
    return not any(directory in path.split(os.sep) for path in paths for directory in _SITE_DIRECTORIES) and not _is_pip_target(paths[0])


@functools.lru_cache(maxsize=1)
def _installed_directories() -> tuple[str, ...]:
    """Return the directories of the standard library and of installed packages."""
    schemes = sysconfig.get_paths(), sysconfig.get_paths(vars={"base": sys.base_prefix, "platbase": sys.base_exec_prefix})
    directories = {paths[key] for paths in schemes for key in ("stdlib", "platstdlib", "purelib", "platlib")}
    directories |= {*site.getsitepackages(), site.getusersitepackages(), os.path.dirname(os.__file__)}
    return tuple({os.path.join(resolved(directory), "") for directory in directories for resolved in (os.path.abspath, os.path.realpath)})


def _is_pip_target(path: str) -> bool:
    """Return whether a file is in a directory that an installer has filled, as ``pip install --target`` does."""
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
    """Return the user's module whose ``__dict__`` is the given dict; None if no module has it, or the module is installed."""
    module = users_module(names.get("__name__"))
    return module if module is not None and vars(module) is names else None


# Modules whose variables describe the machine or the process, and are therefore never sent.
OF_THE_MACHINE = frozenset({"sys", "os", "posix", "posixpath", "ntpath", "nt", "time", "platform", "sysconfig", "site", "threading", "socket"})
ENVIRONMENT = frozenset({"environ", "environb", "getenv", "expandvars"})
PLAIN = (int, float, complex, str, bytes, bool, type(None))
MAX_ITEMS = 1_000


def may_be_changed(value: Any, module: str) -> bool:
    """Return whether the program may have changed a variable of an installed module since the module was imported, given the variable's value."""
    kind, root = type(value), module.partition(".")[0]
    if kind in PLAIN or (kind in _SMALL and len(value) <= MAX_ITEMS and all(type(item) in PLAIN for item in _items(value))):
        return True
    if kind in (types.FunctionType, CACHED) or is_class(value):
        home = getattr(value, "__module__", None)
        if users_module(home) is not None or (kind is types.FunctionType and module_of_globals(value.__globals__) is not None):
            return True
        return kind is types.FunctionType and str(home).partition(".")[0] != root and is_importable(value)
    if kind is types.MethodType:
        return may_be_changed(value.__func__, module)
    home = str(kind.__module__)
    return users_module(home) is not None or (home.startswith("unittest.") and root != "unittest")


_SMALL = (tuple, list, set, frozenset, dict)


def _items(value: Any) -> Iterator[Any]:
    yield from value
    if type(value) is dict:
        yield from value.values()


class ReachedModules:
    """The user's modules and variables that functions reach, collected function by function.

    A function reads globals of its own module. If its code names another module (``rules.RATE``), it may read any variable of that module whose name
    is in the same code. If a module is used as a value (passed on, or kept in an object), any function may read those of its
    variables whose names are in the code of the function.
    """

    def __init__(self) -> None:
        self.modules: dict[str, types.ModuleType] = {}
        self.names, self.texts, self.assigned = set[str](), set[str](), set[str]()
        # The variables that functions read as globals, and those among them that are read by functions that every call of the given function calls.
        self.read: dict[tuple[str, str], None] = {}
        self.surely_read = set[tuple[str, str]]()
        self.hashes = self.makes_sets = False
        self._named: dict[str, set[str]] = {}
        self._values = set[str]()
        self._whole = set[str]()
        self._reads_any = False

    def add(self, module: types.ModuleType) -> str:
        """Add a module and its parent packages, and return its name."""
        name: str = vars(module)["__name__"]
        self.modules[name] = module
        parent = users_module(name.rpartition(".")[0])
        if parent is not None and vars(parent)["__name__"] not in self.modules:
            self.add(parent)
        return name

    def add_value(self, module: types.ModuleType) -> None:
        """Add a module that is used as a value, so that any code may read it."""
        self._values.add(self.add(module))

    def add_function(self, function: types.FunctionType) -> None:
        """Add the modules and variables that the code of a function names."""
        code = names_in(function.__code__)
        reads_any = code.reads_any or any(map(is_unpickler, meanings(function)))
        self.names |= code.names
        self.texts |= code.texts
        self.assigned |= code.assigned
        self._reads_any = self._reads_any or reads_any
        self.hashes, self.makes_sets = self.hashes or code.hashes, self.makes_sets or code.makes_sets
        reached = list(self._named_in(function))
        named = code.names | code.texts
        while reached:
            module = reached.pop()
            name = self.add(module)
            self._named.setdefault(name, set()).update(named)
            if reads_any and name != MAIN:
                self._whole.add(name)
            values = [vars(module)[name] for name in named if name in vars(module)]
            modules = [value for value in values if isinstance(value, types.ModuleType) and is_users_module(value)]
            reached += [inner for inner in modules if not named <= self._named.get(str(vars(inner).get("__name__")), set())]
        own = module_of_globals(function.__globals__) if code.reads_own else None
        if own is not None and vars(own)["__name__"] == MAIN:
            # A function may read all of its module, but a script or notebook also holds data: only variables named in strings are taken.
            self._named.setdefault(self.add(own), set()).update(code.texts)
        elif own is not None:
            self._whole.add(self.add(own))
        for name in code.used_as_values:
            value = function.__globals__.get(name)
            if isinstance(value, types.ModuleType) and is_users_module(value):
                self.add_value(value)

    def _named_in(self, function: types.FunctionType) -> Iterator[types.ModuleType]:
        """Yield the user's modules that a function's variables hold, that it imports, or that its strings name."""
        code, package = names_in(function.__code__), str(function.__globals__.get("__package__") or "")
        candidates = {*code.texts}
        for name in code.imported:
            if name:
                candidates.add(name)
            if name and name not in sys.modules and _may_be_users(name):
                # The module will be imported when the function is called, and may then read any variable of its package.
                root = name.partition(".")[0]
                siblings = [users_module(key) for key in list(sys.modules) if key.partition(".")[0] == root]
                self._whole.update(map(self.add, filter(None, siblings)))
            above = package
            while above:
                candidates |= {f"{above}.{inner}" for inner in ([name] if name else code.names)}
                above = above.rpartition(".")[0]
        for candidate in sorted(candidates):
            yield from filter(None, [users_module(candidate), *(users_module(f"{candidate}.{name}") for name in code.names)])
        yield from (value for value in meanings(function) if isinstance(value, types.ModuleType) and is_users_module(value))

    def add_read(self, module: types.ModuleType, names: Iterator[str] | Any, is_surely_called: bool) -> None:
        """Add globals that a function reads in its own module."""
        variables = [(self.add(module), name) for name in names]
        self.read.update(dict.fromkeys(variables))
        if is_surely_called:
            self.surely_read.update(variables)

    def variables(self) -> Iterator[tuple[str, str]]:
        """Yield module and name of the variables that are reached so far, in the same order in each run of the program."""
        yield from self.read
        for module, content in self.modules.items():
            names = set(self._named.get(module, ()))
            is_whole = module in self._whole
            if module in self._values and module != MAIN:
                names |= self.names | self.texts
                is_whole = is_whole or self._reads_any
            chosen = vars(content) if is_whole else names.intersection(vars(content))
            yield from ((module, name) for name in sorted(chosen) if not (name.startswith("__") and name.endswith("__")))
            if names and "__getattr__" in vars(content):
                # The module's ``__getattr__`` may provide names that the module lacks.
                yield module, "__getattr__"


def _may_be_users(name: str) -> bool:
    """Return whether a module that has not been loaded may be the user's."""
    root = name.partition(".")[0]
    if root in sys.modules or root in sys.stdlib_module_names:
        return users_module(root) is not None
    try:
        spec = importlib.util.find_spec(root)
    except (ImportError, ValueError):
        return False
    return spec is not None and spec.origin is not None and is_users_file(spec.origin)


# Types whose objects are immutable, or can only change in parts that are examined separately.
_FIXED = (
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.MethodWrapperType,
    types.ClassMethodDescriptorType,
    types.MethodType,
    tuple,
    frozenset,
    range,
    staticmethod,
    classmethod,
    functools.partial,
    CACHED,
)


def reaches_state(given: Any, family: Family | None) -> bool:
    """Return whether a function reaches objects that can be changed, or variables of the user's modules or classes.

    Examples
    --------
    >>> table = {}
    >>> [reaches_state(function, Family(function)) for function in (lambda value: value + 1, lambda value: table[value])]
    [False, True]
    """
    if family is None:
        return users_module(getattr(given, "__module__", None)) is not None
    return reaches_modules(family) or any(_may_change(value) for value in family.reached())


def objects_of(family: Family) -> list[Any]:
    """Return the mutable objects that variables of the family's functions hold."""
    values = [value for _, _, value in family.names] + [value for _, value in family.cells.values()]
    return [value for value in values if _may_change(value)]


def reaches_modules(family: Family) -> bool:
    """Return whether a function reaches variables of the user's modules or classes."""
    for function in family.members:
        if function.__kwdefaults__ or function.__dict__:
            return True
        if any(isinstance(value, types.ModuleType) and _has_state(value, function.__code__) for value in meanings(function)):
            return True
    members = set(map(id, family.members))
    return any(_is_of_users_module(value) for value in family.reached() if id(value) not in members)


def _has_state(module: types.ModuleType, code: types.CodeType) -> bool:
    """Return whether some code may read variables of a module that the program may have changed."""
    if is_users_module(module):
        return True
    names, content = names_in(code).names, vars(module)
    if content.get("__name__") in OF_THE_MACHINE:
        return not ENVIRONMENT.isdisjoint(names)
    return any(may_be_changed(content[name], module.__name__) for name in names if name in content and not name.startswith("__"))


def _is_of_users_module(value: Any) -> bool:
    kind = type(value)
    return (kind in (types.FunctionType, CACHED) or is_class(value)) and users_module(getattr(value, "__module__", None)) is not None


def _may_change(value: Any) -> bool:
    if isinstance(value, (types.FunctionType, types.ModuleType)) or is_class(value):
        return False
    return type(value) not in _FIXED
