"""The user's modules that functions reach, and which of their variables the code names."""

from __future__ import annotations

import importlib.util
import sys
import types
from collections.abc import Iterator
from typing import Any

from sframe_spark.udf.function_family import meanings
from sframe_spark.udf.user_modules import MAIN, is_users_file, is_users_module, module_of_globals, users_module
from sframe_spark.udf.words_in_code import words_in


class ReachedModules:
    """Modules of the user's program, as functions are met one by one.

    A function reads a variable of its own module by its name. Of a module that its code names (``rules.RATE``) it may read what the same code
    names; of one that is a value, which is passed on or kept in an object, what any code names.
    """

    def __init__(self) -> None:
        self.modules: dict[str, types.ModuleType] = {}
        self.names, self.texts, self.assigned = set[str](), set[str](), set[str]()
        # Variables of modules that functions read by name; of those that are surely called if the function is.
        self.read: dict[tuple[str, str], None] = {}
        self.surely_read = set[tuple[str, str]]()
        self.hashes = self.makes_sets = False
        self._named: dict[str, set[str]] = {}
        self._values = set[str]()
        self._whole = set[str]()
        self._reads_any = False

    def add(self, module: types.ModuleType) -> str:
        """Take note of a module, and of those that it is in; its name."""
        name: str = vars(module)["__name__"]
        self.modules[name] = module
        parent = users_module(name.rpartition(".")[0])
        if parent is not None and vars(parent)["__name__"] not in self.modules:
            self.add(parent)
        return name

    def add_value(self, module: types.ModuleType) -> None:
        """Take note of a module that is a value: nobody knows what reads it."""
        self._values.add(self.add(module))

    def add_function(self, function: types.FunctionType) -> None:
        """Take note of what a function's code names."""
        words = words_in(function.__code__)
        self.names |= words.names
        self.texts |= words.texts
        self.assigned |= words.assigned
        self._reads_any = self._reads_any or words.reads_any
        self.hashes, self.makes_sets = self.hashes or words.hashes, self.makes_sets or words.makes_sets
        reached = list(self._named_in(function))
        named = words.names | words.texts
        while reached:
            module = reached.pop()
            name = self.add(module)
            self._named.setdefault(name, set()).update(named)
            if words.reads_any and name != MAIN:
                self._whole.add(name)
            inner = [vars(module)[each] for each in named if each in vars(module)]
            reached += [each for each in inner if isinstance(each, types.ModuleType) and self._is_new(each, named)]
        if words.reads_own:
            own = module_of_globals(function.__globals__)
            if own is not None and vars(own)["__name__"] == MAIN:
                # All of a script, or a notebook, is data too.
                self._named.setdefault(self.add(own), set()).update(words.texts)
            elif own is not None:
                self._whole.add(self.add(own))
        for module in self._passed_on(function):
            self.add_value(module)

    def _is_new(self, module: types.ModuleType, named: frozenset[str]) -> bool:
        name = vars(module).get("__name__")
        return is_users_module(module) and not named <= self._named.get(str(name), set())

    def _named_in(self, function: types.FunctionType) -> Iterator[types.ModuleType]:
        """Modules that names of a function mean, that it imports, or that its texts name."""
        words, package = words_in(function.__code__), str(function.__globals__.get("__package__") or "")
        candidates = [*words.texts]
        for name in words.imported:
            candidates += [name] if name else []
            if name and name not in sys.modules and _may_be_users(name):
                # It is imported where the function is called, and may read anything of its package.
                root = name.partition(".")[0]
                self._whole.update(self.add(each) for key in list(sys.modules) if key.partition(".")[0] == root and (each := users_module(key)))
            above = package
            while above:
                candidates += [f"{above}.{each}" for each in ([name] if name else words.names)]
                above = above.rpartition(".")[0]
        for candidate in sorted(set(candidates)):
            yield from filter(None, [users_module(candidate), *(users_module(f"{candidate}.{each}") for each in words.names)])
        yield from (value for value in meanings(function) if isinstance(value, types.ModuleType) and is_users_module(value))

    def _passed_on(self, function: types.FunctionType) -> Iterator[types.ModuleType]:
        """Modules that a function names as values, and not to read their variables."""
        for name in words_in(function.__code__).passed_on:
            value = function.__globals__.get(name)
            if isinstance(value, types.ModuleType) and is_users_module(value):
                yield value

    def add_read(self, module: types.ModuleType, names: Iterator[str] | Any, is_surely_called: bool) -> None:
        """Take note of variables of its own module that a function reads."""
        places = [(self.add(module), name) for name in names]
        self.read.update(dict.fromkeys(places))
        if is_surely_called:
            self.surely_read.update(places)

    def variables(self) -> Iterator[tuple[str, str]]:
        """The variables that are reached, as far as it is known now; in an order that depends on nothing but the program."""
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
                # It answers for names that the module lacks.
                yield module, "__getattr__"


def _may_be_users(name: str) -> bool:
    """Say whether a module that is not loaded yet may be the user's."""
    root = name.partition(".")[0]
    if root in sys.modules or root in sys.stdlib_module_names:
        return users_module(root) is not None
    try:
        spec = importlib.util.find_spec(root)
    except (ImportError, ValueError):
        return False
    return spec is not None and spec.origin is not None and is_users_file(spec.origin)
