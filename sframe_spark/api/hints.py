"""Errors about names that are absent: they tell what to use instead."""

from __future__ import annotations

import functools
import inspect
import sys
from abc import ABCMeta
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.abc import MetaPathFinder
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from sframe_spark.api.faces import Faces
from sframe_spark.api.names_elsewhere import AGGREGATE, ARRAY, FRAME, MODULE, UTIL
from sframe_spark.errors import AbsentModuleError, NoAttributeError, SchemaError, listed, near_names

# Functions of other libraries' modules that are members of classes here.
READERS = ("read_", "scan_")
P = ParamSpec("P")
R = TypeVar("R")


def as_in(example: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function answer arguments that it does not have, such as those of pandas, with how it is called.

    Raises
    ------
    SchemaError
        By a call with such arguments, or without those that are needed.

    Examples
    --------
    >>> @as_in("twice(2)")
    ... def twice(number: int) -> int:
    ...     return 2 * number
    >>> twice(axis=1)
    Traceback (most recent call last):
    sframe_spark.errors.SchemaError: twice() takes no argument 'axis'; write it as in twice(2)
    """

    def answering(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def called(*args: P.args, **options: P.kwargs) -> R:
            try:
                return function(*args, **options)
            except TypeError:
                # Looked at only now: calls that are right cost nothing more.
                wrong = _misfit(signature, args, options)
                if wrong is None:
                    raise
            raise SchemaError(f"{_called_as(function)}() {wrong}; write it as in {example}")

        return called

    return answering


def _called_as(function: Callable[..., Any]) -> str:
    """The name by which users call a function: that of the class for ``__init__``."""
    return function.__qualname__.split(".")[-2] if function.__name__ == "__init__" else function.__name__


def _misfit(signature: inspect.Signature, args: tuple[Any, ...], options: Mapping[str, Any]) -> str | None:
    """What of a call's arguments a signature does not have, or needs; None where they fit."""
    try:
        signature.bind(*args, **options)
    except TypeError as error:
        unknown = [name for name in options if name not in signature.parameters]
        return f"takes no argument {listed(unknown)}" if unknown else str(error)
    return None


def no_module_member(name: str, members: Iterable[str] = ()) -> NoAttributeError:
    """The error about a name that the package does not have."""
    return NoAttributeError(f"sframe_spark has no {name!r}" + _told(name, MODULE, members))


def no_aggregate(name: str, members: Iterable[str] = ()) -> NoAttributeError:
    """The error about an aggregate that there is not.

    Examples
    --------
    >>> print(no_aggregate("mean", ["MEAN", "SUM"]))
    there is no aggregate 'mean', did you mean 'MEAN'?
    """
    return NoAttributeError(f"there is no aggregate {name!r}" + _told(name, AGGREGATE, members))


def no_util_member(name: str) -> NoAttributeError:
    """The error about a name that ``sframe_spark.util`` does not have."""
    hint = UTIL.get(name)
    return NoAttributeError(f"sframe_spark.util has no {name!r}" + (f": {hint}" if hint else ""))


class AbsentModules(MetaPathFinder):
    """Tells what to use instead of what is imported and is not here; asked when no module was found.

    Python imports what ``from package import name`` does not find as a module, so this is where the name is known.

    Examples
    --------
    >>> from sframe_spark import linear_regression
    Traceback (most recent call last):
    sframe_spark.errors.AbsentModuleError: sframe_spark has no 'linear_regression': models are out of scope: ...
    """

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        """No module.

        Raises
        ------
        AbsentModuleError
            For names that there are hints about.
        """
        for package, hints in (("sframe_spark.", MODULE), ("sframe_spark.util.", UTIL)):
            name = fullname.removeprefix(package)
            if name != fullname and name in hints:
                raise AbsentModuleError(f"{package[:-1]} has no {name!r}: {hints[name]}")


def tell_of_absent_modules() -> None:
    """Let imports of what is not here say what to use instead."""
    if not any(isinstance(finder, AbsentModules) for finder in sys.meta_path):
        sys.meta_path.append(AbsentModules())


def no_frame_member(name: str, columns: Sequence[str], members: Iterable[str] = ()) -> NoAttributeError:
    """The error about a member that frames do not have: columns are no members.

    Examples
    --------
    >>> print(no_frame_member("stars", ["stars"]))
    an SFrame has no member 'stars': a column is asked for by sf['stars']
    """
    if name in columns:
        return NoAttributeError(f"an SFrame has no member {name!r}: a column is asked for by sf[{name!r}]")
    if name not in FRAME and (near := near_names(name, columns)):
        return NoAttributeError(f"an SFrame has no member {name!r}: a column is asked for by its name, as sf[{near[0]!r}]")
    return NoAttributeError(f"an SFrame has no member {name!r}" + _told(name, FRAME, members))


def no_array_member(name: str, members: Iterable[str] = ()) -> NoAttributeError:
    """The error about a member that columns do not have.

    Examples
    --------
    >>> print(no_array_member("isnull"))
    an SArray has no member 'isnull': compare with None: sa == None
    """
    return NoAttributeError(f"an SArray has no member {name!r}" + _told(name, ARRAY, members))


class HintedClass(ABCMeta):
    """Class of SFrame and SArray: tells what to use instead of constructors and functions that other libraries' classes have.

    A class of a user's may be abstract as well (:class:`abc.ABC`), so this class of classes is that of these.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> SFrame.from_dict
    Traceback (most recent call last):
    sframe_spark.errors.NoAttributeError: SFrame has no 'from_dict': use SFrame({'a': [1, 2], 'b': ['x', 'y']})
    """

    if not TYPE_CHECKING:

        def __getattr__(cls, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
            readers = {reader: hint for reader, hint in MODULE.items() if reader.startswith(READERS)}
            hints = readers | (ARRAY if issubclass(cls, Faces.array) else FRAME)
            raise NoAttributeError(f"{cls.__name__} has no {name!r}" + _told(name, hints, dir(cls)))


def with_members_of_its_own(owner: type[R]) -> type[R]:
    """A class, whose members that stand in other classes of its package go by its name, the only one that users know.

    What Python itself says of a call or prints of a method names the member so.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> SFrame({"a": [1]}).explain(mode="formatted")
    Traceback (most recent call last):
    TypeError: SFrame.explain() got an unexpected keyword argument 'mode'
    """
    package = owner.__module__.rpartition(".")[0]
    for room in owner.__mro__[1:]:
        if room.__module__.rpartition(".")[0] == package:
            for name, member in vars(room).items():
                called = getattr(member, "__func__", member)
                for function in filter(inspect.isfunction, (called, inspect.unwrap(called))):
                    function.__qualname__ = f"{owner.__name__}.{name}"
                    # Where it goes by that name: others find it there when it is sent to them.
                    function.__module__ = owner.__module__
    return owner


def _told(name: str, hints: Mapping[str, str], members: Iterable[str]) -> str:
    """What to use instead: what is known of the name, else the nearest one that there is."""
    if name in hints:
        return f": {hints[name]}"
    near = near_names(name, [member for member in members if not member.startswith("_")])
    return f", did you mean {near[0]!r}?" if near else ""
