"""Imports that take place when one of their names is first used.

The modules that the first answer of a process needs import what most programs need later, or never, in a block::

    with lazy_imports(globals()):
        from sframe_spark.storage.segments.reader import iterate_rows

Type checkers, linters and tools that pack programs read such a block as the imports that it holds. When it runs, a name is bound to what the module
has if the module is imported already; otherwise to a :class:`LazyName`, which imports the module when it is first used and puts the value in its
place, so that later uses cost nothing. Python 3.15 has this as ``lazy from`` (PEP 810).

Such a name may be called, asked for attributes, stand in annotations, be the class of ``isinstance``, or a base class whose members
:mod:`sframe_spark.api.class_registry` lists. Anything else, such as passing it on or ``is``, would see the stand-in; `tests/test_lazy_imports.py`
checks the uses.
"""

from __future__ import annotations

import builtins
import importlib
import sys
import threading
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class LazyName:
    """Stands for a name in a module that is imported when the name is first used.

    Examples
    --------
    >>> namespace = {}
    >>> namespace["sqrt"] = LazyName("math", "sqrt", namespace)
    >>> namespace["sqrt"](4.0), namespace["sqrt"] is __import__("math").sqrt
    (2.0, True)
    """

    __slots__ = ("module", "name", "namespace")

    def __init__(self, module: str, name: str, namespace: dict[str, Any]) -> None:
        self.module, self.name, self.namespace = module, name, namespace

    def value(self) -> Any:
        """Import the module; return the object of the name, and put it in place of the stand-in."""
        module = importlib.import_module(self.module)
        if self.name in vars(module):
            value = vars(module)[self.name]
        elif hasattr(module, "__path__") and PathFinder.find_spec(f"{self.module}.{self.name}", module.__path__) is not None:
            value = importlib.import_module(f"{self.module}.{self.name}")
        else:
            value = getattr(module, self.name)
        for name in [name for name, held in list(self.namespace.items()) if held is self]:
            self.namespace[name] = value
        return value

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self.value()(*args, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.value(), name)

    def __instancecheck__(self, instance: object) -> bool:
        # A class of a module that has not been imported cannot have instances.
        return self.module in sys.modules and isinstance(instance, self.value())

    def __or__(self, other: Any) -> Any:
        return self.value() | other

    def __ror__(self, other: Any) -> Any:
        return other | self.value()

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[Any, ...]:
        """A class that inherits from the name gets its base when it needs it (:mod:`sframe_spark.api.class_registry`)."""
        return ()


class _NotYetImported:
    """The stand-in for a module that an import statement within such a block finds; the statement gets names from it."""

    def __init__(self, module: str, namespace: dict[str, Any]) -> None:
        self.module, self.namespace = module, namespace

    def __getattr__(self, name: str) -> Any:
        module = sys.modules.get(self.module)
        return vars(module)[name] if module is not None and name in vars(module) else LazyName(self.module, name, self.namespace)


def _import(
    name: str, namespace: Mapping[str, object] | None = None, local: Mapping[str, object] | None = None, names: Any = (), level: int = 0
) -> Any:
    """Import a module as ``__import__`` does, but not for modules that are in such a block."""
    if not level and any(namespace is lazy for lazy in lazy_imports.open):
        # `import a.b as c` asks `a` for `b`.
        return _NotYetImported(name if names else name.partition(".")[0], namespace)  # type: ignore[arg-type]
    return lazy_imports.replaced(name, namespace, local, names, level)


class lazy_imports:
    """A block whose imports take place when their names are first used; ``namespace`` is the module's ``globals()``.

    Examples
    --------
    >>> import sys
    >>> program = "with lazy_imports(globals()):\\n    from colorsys import rgb_to_hsv\\n"
    >>> namespace = {"lazy_imports": lazy_imports}
    >>> exec(program, namespace)
    >>> namespace["rgb_to_hsv"](0, 0, 0)
    (0.0, 0.0, 0)
    """

    # The namespaces of modules that are in such a block, and the function that imports outside of them; the lock guards both.
    open: ClassVar[list[dict[str, Any]]] = []
    replaced: ClassVar[Callable[..., Any]] = staticmethod(builtins.__import__)
    lock: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, namespace: dict[str, Any]) -> None:
        self.namespace = namespace

    def __enter__(self) -> None:
        with self.lock:
            if not self.open:
                type(self).replaced = staticmethod(builtins.__import__)
                builtins.__import__ = _import  # type: ignore[assignment]
            self.open.append(self.namespace)

    def __exit__(self, *error: object) -> None:
        with self.lock:
            # By identity: comparing namespaces compares all that modules hold.
            self.open[:] = [namespace for namespace in self.open if namespace is not self.namespace]
            if not self.open and builtins.__import__ is _import:
                builtins.__import__ = self.replaced


def is_imported(name: Any) -> bool:
    """Return whether the module that has a name is imported.

    Examples
    --------
    >>> is_imported(3), is_imported(LazyName("sframe_spark.no_such_module", "pi", {}))
    (True, False)
    """
    return type(name) is not LazyName or name.module in sys.modules


def value_of(name: Any) -> Any:
    """Return the object of a name, whether it has been imported or not.

    Examples
    --------
    >>> value_of(3), value_of(LazyName("math", "pi", {}))
    (3, 3.141592653589793)
    """
    return name.value() if type(name) is LazyName else name
