"""Records what code outside of this package registers, so that a plug-in that fails is taken back whole, and what each registers can be listed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import attrs

PACKAGE = __name__.partition(".")[0]


@attrs.frozen(eq=False)
class Registration:
    """Something that code outside of this package has registered under a name.

    Parameters
    ----------
    kind
        What it is, such as ``operator``.
    name
        The name; no other registration of the kind has it.
    value
        What was registered.
    module
        Name of the module whose code registered it.
    plugin, namespace
        The plug-in that was being loaded meanwhile, and the namespace of its names; empty if none was.
    take_back
        Makes the name free again, or restores what had it before.
    """

    kind: str
    name: str
    value: Any
    module: str
    plugin: str
    namespace: str
    take_back: Callable[[], None]


@attrs.define
class Transaction:
    """The registrations of one plug-in while it is loaded, without those of modules of other plug-ins that it imports."""

    plugin: str
    is_of_another: Callable[[str], bool]
    namespace: str = ""
    made: list[Registration] = attrs.Factory(list)


_REGISTERED: dict[tuple[str, str], Registration] = {}
_TRANSACTION: ContextVar[Transaction | None] = ContextVar("sframe_spark_plugin_transaction", default=None)


def record(kind: str, name: str, value: Any, take_back: Callable[[], None]) -> None:
    """Record that something has been registered, with the module whose code did it."""
    transaction, module = _TRANSACTION.get(), _calling_module()
    if transaction is not None and transaction.is_of_another(module):
        transaction = None
    plugin, namespace = ("", "") if transaction is None else (transaction.plugin, transaction.namespace)
    registration = Registration(kind, name, value, module, plugin, namespace, take_back)
    _REGISTERED[kind, name] = registration
    if transaction is not None:
        transaction.made.append(registration)


def forget(kind: str, name: str, value: Any) -> None:
    """Remove the record of a value that is no longer registered; that of another value under the name stays."""
    if (kind, name) in _REGISTERED and _REGISTERED[kind, name].value is value:
        del _REGISTERED[kind, name]


def registrations() -> list[Registration]:
    """Return what is registered by code outside of this package, in the order of registration."""
    return list(_REGISTERED.values())


def take_back(made: Iterable[Registration]) -> None:
    """Take registrations back, the last one first."""
    for registration in reversed(list(made)):
        registration.take_back()
        forget(registration.kind, registration.name, registration.value)


def is_loading_plugin() -> bool:
    """Return whether this thread is loading a plug-in, or works for a thread that does."""
    return _TRANSACTION.get() is not None


@contextmanager
def registering(plugin: str, is_of_another: Callable[[str], bool]) -> Iterator[Transaction]:
    """Let what is registered in this block belong to a plug-in; if the block fails, all of it is taken back.

    Registrations of a module of another plug-in, as ``is_of_another`` decides by its name, belong to that one.
    """
    transaction = Transaction(plugin, is_of_another)
    token = _TRANSACTION.set(transaction)
    try:
        yield transaction
    except BaseException:
        take_back(transaction.made)
        raise
    finally:
        _TRANSACTION.reset(token)


def location_of(code: Callable[..., Any]) -> str:
    """Return the module and qualified name of a function, which are the same for a later version of it."""
    return f"{getattr(code, '__module__', None)}.{getattr(code, '__qualname__', type(code).__qualname__)}"


def _calling_module() -> str:
    """Return the name of the innermost module that is not of this package."""
    frame = sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == PACKAGE:
        frame = frame.f_back  # type: ignore[assignment]
    return "" if frame is None else str(frame.f_globals.get("__name__"))
