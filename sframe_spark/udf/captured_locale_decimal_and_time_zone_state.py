"""Reads and sets state of a process or thread on which functions depend without mentioning it: decimal precision, locale, time zone and others.

The state is read when a function is given, and set wherever the function is called. A module that is not loaded has its default state.
"""

from __future__ import annotations

import importlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import ModuleType
from typing import Any

import attrs

from sframe_spark.errors import StateNotSharedError

State = Mapping[str, Any]


@attrs.frozen
class _Kind:
    """One kind of process or thread state.

    Parameters
    ----------
    module
        Name of the module with the state. While the module is not loaded, the state is the default.
    read
        Function of the module that returns the current state as plain values, which can be compared.
    enter
        Function that sets a state of the module, and registers on the given ExitStack how to restore the state before.
    is_of_thread
        Whether each thread or task has its own state, which can be set temporarily in the user's process. State that all threads share is not set
        there.
    affects_results
        Whether results are likely to depend on the state. If so, and all threads share the state, a change in the user's process since the function
        was given is an error.
    """

    module: str
    read: Callable[[Any], Any]
    enter: Callable[[ExitStack, Any, Any], object]
    is_of_thread: bool = False
    affects_results: bool = True


def _read_decimal(decimal: Any) -> Any:
    now = decimal.getcontext()
    trapped = frozenset(signal.__name__ for signal, is_on in now.traps.items() if is_on)
    return now.prec, now.rounding, now.Emin, now.Emax, now.capitals, now.clamp, trapped


def _enter_decimal(stack: ExitStack, decimal: Any, value: Any) -> None:
    *settings, trapped = value
    stack.callback(decimal.setcontext, decimal.getcontext())
    decimal.setcontext(decimal.Context(*settings, [], [getattr(decimal, name) for name in trapped]))


def _read_locale(locale: Any) -> Any:
    numbers = [locale.LC_NUMERIC, locale.LC_TIME, locale.LC_COLLATE, locale.LC_MONETARY]
    names = {number: locale.setlocale(number) for number in numbers}
    if all(name in ("C", "POSIX") for name in names.values()):
        # LC_CTYPE is left out unless another category has been set: it comes from the environment, which differs between machines.
        return names
    return {locale.LC_CTYPE: locale.setlocale(locale.LC_CTYPE), **names}


def _enter_locale(stack: ExitStack, locale: Any, value: Mapping[int, str]) -> None:
    for number, name in value.items():
        before = locale.setlocale(number)
        if before == name:
            continue
        try:
            locale.setlocale(number, name)
        except locale.Error:
            raise StateNotSharedError(
                f"the locale {name!r}, which your program has set, is not installed where the function runs: install it there, or set another"
            ) from None
        stack.callback(locale.setlocale, number, before)


def _enter_zone(stack: ExitStack, time: Any, value: Any) -> None:
    # Callbacks run in reverse order: the variable is restored first, and then the zone that follows from it.
    stack.callback(time.tzset)
    stack.callback(set_environment_variable, "TZ", os.environ.get("TZ"))
    set_environment_variable("TZ", value[0])
    time.tzset()


def set_environment_variable(name: str, value: str | None) -> None:
    """Set an environment variable of this process; None removes it."""
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


def _enter_filters(stack: ExitStack, warnings: Any, value: Any) -> None:
    stack.enter_context(warnings.catch_warnings())
    warnings.resetwarnings()
    warnings.filters.extend(value)


def _number(module: str, read: str, write: str, affects_results: bool = True) -> _Kind:
    """Return the kind of state for a number that two functions of a module read and set."""

    def enter(stack: ExitStack, functions: ModuleType, value: Any) -> None:
        stack.callback(getattr(functions, write), getattr(functions, read)())
        getattr(functions, write)(value)

    return _Kind(module, lambda functions: getattr(functions, read)(), enter, affects_results=affects_results)


def _enter_recursion_limit(stack: ExitStack, sys: Any, value: int) -> None:
    before = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(value)
    except RecursionError:
        # The stack is already deeper than the limit.
        return
    stack.callback(sys.setrecursionlimit, before)


_KINDS: dict[str, _Kind] = {
    "the precision of decimals": _Kind("decimal", _read_decimal, _enter_decimal, is_of_thread=True),
    "NumPy's error modes": _Kind(
        "numpy",
        lambda numpy: (numpy.geterr(), numpy.geterrcall()),
        lambda stack, numpy, value: stack.enter_context(numpy.errstate(call=value[1], **value[0])),
        is_of_thread=True,
    ),
    "NumPy's print options": _Kind(
        "numpy",
        lambda numpy: numpy.get_printoptions(),
        lambda stack, numpy, value: stack.enter_context(numpy.printoptions(**value)),
        is_of_thread=True,
    ),
    "the locale": _Kind("locale", _read_locale, _enter_locale),
    "the recursion limit": _Kind("sys", lambda sys: sys.getrecursionlimit(), _enter_recursion_limit, affects_results=False),
    "the longest text of an int": _number("sys", "get_int_max_str_digits", "set_int_max_str_digits"),
    "the filters of warnings": _Kind("warnings", lambda warnings: tuple(warnings.filters), _enter_filters, affects_results=False),
    "the longest field of CSV": _number("csv", "field_size_limit", "field_size_limit"),
    "the timeout of sockets": _number("socket", "getdefaulttimeout", "setdefaulttimeout", affects_results=False),
}
if hasattr(time, "tzset"):
    _KINDS |= {"the time zone": _Kind("time", lambda time: (os.environ.get("TZ"), time.tzname, time.timezone), _enter_zone)}


def state_now() -> State:
    """Return the current state of this process and thread.

    Examples
    --------
    >>> import decimal
    >>> with decimal.localcontext(prec=3):
    ...     state = state_now()
    >>> with entered(state):
    ...     print(decimal.Decimal(1) / 3)
    0.333
    """
    loaded = {name: sys.modules.get(kind.module) for name, kind in _KINDS.items()}
    return {name: _KINDS[name].read(module) for name, module in loaded.items() if module is not None}


@contextmanager
def entered(state: State, is_users_process: bool = False) -> Iterator[None]:
    """Return a context manager for a block in which this process and thread have a state; what differs is set, and restored afterwards.

    Raises
    ------
    StateNotSharedError
        If the state cannot be set in this process, or would have to be changed for all threads of the user's process.
    """
    with ExitStack() as stack:
        for name, value in state.items():
            kind = _KINDS[name]
            module = sys.modules.get(kind.module) or importlib.import_module(kind.module)
            if kind.read(module) == value:
                continue
            if kind.is_of_thread or not is_users_process:
                kind.enter(stack, module, value)
            elif kind.affects_results:
                raise changed_since(name)
        yield


def changed_since(what: str) -> StateNotSharedError:
    """Return the error to raise when state of the whole process has changed since a function was given."""
    return StateNotSharedError(
        f"{what} was changed after the function was passed, and not all rows are computed: materialize() the column before the change"
    )
