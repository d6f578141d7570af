"""State of a process or thread that affects functions although they do not name it: decimal precision, locale, time zone and others.

The state is read when a function is given, and set wherever the function is called. A module that is not imported has its default state.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
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
        The module with the state. As long as the module is not loaded, the state is the default.
    read
        Returns the current state as plain values that can be compared.
    enter
        Sets a state, and registers on the given ExitStack how to restore the state before.
    is_of_thread
        Whether each thread or task has its own state, which can be set temporarily in the user's process. State shared by all threads is not set
        there.
    affects_results
        Whether results are likely to depend on the state. If so, a change in the user's process since the function was given is an error.
    """

    module: str
    read: Callable[[], Any]
    enter: Callable[[ExitStack, Any], None]
    is_of_thread: bool = False
    affects_results: bool = True


def _decimal() -> Any:
    import decimal

    return decimal.getcontext()


def _read_decimal() -> Any:
    now = _decimal()
    trapped = frozenset(signal.__name__ for signal, is_on in now.traps.items() if is_on)
    return now.prec, now.rounding, now.Emin, now.Emax, now.capitals, now.clamp, trapped


def _enter_decimal(stack: ExitStack, value: Any) -> None:
    import decimal

    traps = [getattr(decimal, name) for name in value[6]]
    stack.callback(decimal.setcontext, decimal.getcontext())
    prec, rounding, emin, emax, capitals, clamp = value[:6]
    decimal.setcontext(decimal.Context(prec, rounding, emin, emax, capitals, clamp, [], traps))


def _read_numpy_errors() -> Any:
    import numpy as np

    return np.geterr(), np.geterrcall()


def _enter_numpy_errors(stack: ExitStack, value: Any) -> None:
    import numpy as np

    errors, call = value
    stack.enter_context(np.errstate(call=call, **errors))


def _read_print_options() -> Any:
    import numpy as np

    return np.get_printoptions()


def _enter_print_options(stack: ExitStack, value: Any) -> None:
    import numpy as np

    stack.enter_context(np.printoptions(**value))


def _read_locale() -> Any:
    import locale

    numbers = [locale.LC_NUMERIC, locale.LC_TIME, locale.LC_COLLATE, locale.LC_MONETARY]
    found = {number: locale.setlocale(number) for number in numbers}
    if all(name in ("C", "POSIX") for name in found.values()):
        # LC_CTYPE is left out unless another category has been set: it comes from the environment, which differs between machines.
        return found
    return {locale.LC_CTYPE: locale.setlocale(locale.LC_CTYPE), **found}


def _enter_locale(stack: ExitStack, value: Mapping[int, str]) -> None:
    import locale

    for number, name in value.items():
        before = locale.setlocale(number)
        if before == name:
            continue
        try:
            locale.setlocale(number, name)
        except locale.Error:
            raise StateNotSharedError(
                f"the locale {name!r}, which your program has set, is not installed where the function is called: install it there, or set another"
            ) from None
        stack.callback(locale.setlocale, number, before)


def _read_zone() -> Any:
    return os.environ.get("TZ"), time.tzname, time.timezone


def _enter_zone(stack: ExitStack, value: Any) -> None:
    stack.callback(_set_zone, os.environ.get("TZ"))
    _set_zone(value[0])


def _set_zone(name: str | None) -> None:
    if name is None:
        os.environ.pop("TZ", None)
    else:
        os.environ["TZ"] = name
    time.tzset()


def _read_filters() -> Any:
    return tuple(warnings.filters)


def _enter_filters(stack: ExitStack, value: Any) -> None:
    stack.enter_context(warnings.catch_warnings())
    warnings.resetwarnings()
    warnings.filters.extend(value)  # type: ignore[attr-defined]


def _number(module: str, read: str, write: str, affects_results: bool) -> _Kind:
    """Return the kind of state for a number that two functions of a module read and set."""

    def enter(stack: ExitStack, value: Any) -> None:
        functions = sys.modules[module]
        stack.callback(getattr(functions, write), getattr(functions, read)())
        getattr(functions, write)(value)

    return _Kind(module, lambda: getattr(sys.modules[module], read)(), enter, affects_results=affects_results)


def _read_field_size() -> Any:
    import csv

    return csv.field_size_limit()


def _enter_field_size(stack: ExitStack, value: int) -> None:
    import csv

    stack.callback(csv.field_size_limit, csv.field_size_limit(value))


def _enter_recursion_limit(stack: ExitStack, value: int) -> None:
    before = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(value)
    except RecursionError:
        # The stack is already deeper than the limit.
        return
    stack.callback(sys.setrecursionlimit, before)


_KINDS: Mapping[str, _Kind] = {
    "the precision of decimals": _Kind("decimal", _read_decimal, _enter_decimal, is_of_thread=True),
    "NumPy's error modes": _Kind("numpy", _read_numpy_errors, _enter_numpy_errors, is_of_thread=True),
    "NumPy's print options": _Kind("numpy", _read_print_options, _enter_print_options, is_of_thread=True),
    "the locale": _Kind("locale", _read_locale, _enter_locale),
    "the recursion limit": _Kind("sys", sys.getrecursionlimit, _enter_recursion_limit, affects_results=False),
    "the longest text of an int": _number("sys", "get_int_max_str_digits", "set_int_max_str_digits", affects_results=True),
    "the filters of warnings": _Kind("warnings", _read_filters, _enter_filters, affects_results=False),
    "the longest field of CSV": _Kind("csv", _read_field_size, _enter_field_size),
    "the timeout of sockets": _number("socket", "getdefaulttimeout", "setdefaulttimeout", affects_results=False),
    **({"the time zone": _Kind("time", _read_zone, _enter_zone)} if hasattr(time, "tzset") else {}),
}


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
    return {name: kind.read() for name, kind in _KINDS.items() if kind.module in sys.modules}


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
            if kind.module not in sys.modules:
                __import__(kind.module)
            if kind.read() == value:
                continue
            if kind.is_of_thread or not is_users_process:
                kind.enter(stack, value)
            elif kind.affects_results:
                raise changed_since(name)
        yield


def changed_since(what: str) -> StateNotSharedError:
    """Return the error to raise when state of the whole process has changed since a function was given."""
    return StateNotSharedError(
        f"{what} has been changed since the function was given, and not all rows are computed: materialize() the column before it is changed"
    )
