"""Variables of installed modules that a program may have changed: all that are not seen to be as importing the module leaves them."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

from sframe_spark.udf.names_in_code import CACHED, found_by_name, is_class
from sframe_spark.udf.user_modules import module_of_globals, users_module

# Of these each machine or process has its own.
OF_THE_MACHINE = frozenset({"sys", "os", "posix", "posixpath", "ntpath", "nt", "time", "platform", "sysconfig", "site", "threading", "socket"})
ENVIRONMENT = frozenset({"environ", "environb", "getenv", "expandvars"})
PLAIN = (int, float, complex, str, bytes, bool, type(None))
MOST_ITEMS = 1_000


def may_be_changed(value: Any, module: str) -> bool:
    """Say whether the value of a variable of an installed module may be another one than importing the module gives."""
    kind, root = type(value), module.partition(".")[0]
    if kind in PLAIN or (kind in _SMALL and len(value) <= MOST_ITEMS and all(type(item) in PLAIN for item in _items(value))):
        return True
    if kind in (types.FunctionType, CACHED) or is_class(value):
        home = getattr(value, "__module__", None)
        if users_module(home) is not None or (kind is types.FunctionType and module_of_globals(value.__globals__) is not None):
            return True
        return kind is types.FunctionType and str(home).partition(".")[0] != root and found_by_name(value)
    if kind is types.MethodType:
        return may_be_changed(value.__func__, module)
    home = str(kind.__module__)
    return users_module(home) is not None or (home.startswith("unittest.") and root != "unittest")


_SMALL = (tuple, list, set, frozenset, dict)


def _items(value: Any) -> Iterator[Any]:
    yield from value
    if type(value) is dict:
        yield from value.values()
