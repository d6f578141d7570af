"""Errors about names that are absent: they tell what to use instead."""

from __future__ import annotations

import functools
import inspect
import sys
from abc import ABCMeta
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.abc import MetaPathFinder
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from sframe_spark.api.class_registry import Faces
from sframe_spark.api.names_elsewhere import AGGREGATE, ARRAY, FRAME, MODULE, UTIL
from sframe_spark.config import config
from sframe_spark.errors import AbsentModuleError, NoAttributeError, SchemaError, listed, near_names
from sframe_spark.redaction import hide_in_error, secrets_in
from sframe_spark.storage_options import StorageOptions

# Functions of other libraries' modules that are members of classes here.
READERS = ("read_", "scan_")
# Says of a function that it answers calls which it cannot take.
ANSWERS = "_answers_wrong_calls"
# How messages name what has a method, and the module of a function; of a call with more arguments they show these.
RECEIVERS = {"SFrame": "sf", "SArray": "sf['a']", "SFrameBuilder": "builder", "SArrayBuilder": "builder", "Builder": "builder"}
MODULES = {"sframe_spark.api.aggregate": "aggregate.", "sframe_spark.visualization": "visualization."}
MOST_ARGUMENTS = 6
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

    return lambda function: _answering(function, lambda signature: f"write it as in {example}")


def answered(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function answer calls that it cannot take with its arguments: :func:`as_in` of all for which no example says more.

    Raises
    ------
    SchemaError
        By such a call; a TypeError.

    Examples
    --------
    >>> from sframe_spark import SFrame, aggregate
    >>> SFrame({"a": [1]}).head(2, 3)
    Traceback (most recent call last):
    sframe_spark.errors.SchemaError: head() is given too many positional arguments; it is called as sf.head(n=10)
    >>> aggregate.ARGMAX("a")
    Traceback (most recent call last):
    sframe_spark.errors.SchemaError: ARGMAX() needs the argument 'out_column'; it is called as aggregate.ARGMAX(agg_column, out_column)
    """
    return _answering(function, lambda signature: f"it is called as {_shown_call(function, signature)}")


def answer_wrong_calls(members: dict[str, Any], module: str) -> None:
    """Let all public functions of a module do so."""
    for name, member in list(members.items()):
        if inspect.isfunction(member) and member.__module__ == module and not name.startswith("_") and not hasattr(member, ANSWERS):
            members[name] = answered(member)


def with_answers(owner: type[R]) -> type[R]:
    """A class whose public methods, those of the classes of its file and package below it too, do so."""
    package = owner.__module__.rpartition(".")[0]
    for room in owner.__mro__:
        if room.__module__.rpartition(".")[0] == package:
            for name, member in list(vars(room).items()):
                function = getattr(member, "__func__", member)
                if name.startswith("_") or not inspect.isfunction(function) or hasattr(function, ANSWERS):
                    continue
                wrapped = answered(function)
                setattr(room, name, type(member)(wrapped) if isinstance(member, (classmethod, staticmethod)) else wrapped)
    return owner


def _answering(function: Callable[P, R], remedy: Callable[[inspect.Signature], str]) -> Callable[P, R]:
    """A function that answers calls which it cannot take, and whose errors show no secrets of its arguments."""

    @functools.wraps(function)
    def called(*args: P.args, **options: P.kwargs) -> R:
        try:
            return function(*args, **options)
        except Exception as error:
            # Looked at only now: calls that are right cost nothing more.
            hide_in_error(error, secrets_in([*args, options], StorageOptions(config.storage_options).secrets()))
            if not isinstance(error, TypeError):
                raise
            signature = inspect.signature(function)
            wrong = _misfit(signature, args, options)
            if wrong is None:
                raise
        raise SchemaError(f"{_called_as(function)}() {wrong}; {remedy(signature)}")

    setattr(called, ANSWERS, True)
    return called


def _shown_call(function: Callable[..., Any], signature: inspect.Signature) -> str:
    """A call as users write it: of many arguments those that are needed and the first others, with what they are when not given."""
    parameters = [parameter.replace(annotation=parameter.empty) for parameter in signature.parameters.values()]
    receiver = MODULES.get(function.__module__, "")
    if "." in (qualified := function.__qualname__):
        owner = qualified.split(".")[-2].lstrip("_")
        receiver = f"{RECEIVERS.get(owner, owner.lower())}." if parameters and parameters[0].name == "self" else f"{owner}."
        parameters = parameters[parameters[:1] != [] and parameters[0].name in ("self", "cls") :]
    shown: list[str] = []
    for parameter in parameters:
        if parameter.name.startswith("_"):
            continue
        if len(shown) >= MOST_ARGUMENTS and parameter.default is not parameter.empty:
            shown.append("...")
            break
        if parameter.kind is parameter.KEYWORD_ONLY and not any(text.startswith("*") for text in shown):
            shown.append("*")
        shown.append(str(parameter.replace(default=parameter.empty)) + _shown_default(parameter))
    return f"{receiver}{function.__name__}({', '.join(shown)})"


def _called_as(function: Callable[..., Any]) -> str:
    """The name by which users call a function: that of the class for ``__init__``."""
    return function.__qualname__.split(".")[-2] if function.__name__ == "__init__" else function.__name__


def _misfit(signature: inspect.Signature, args: tuple[Any, ...], options: Mapping[str, Any]) -> str | None:
    """What of a call's arguments a signature does not have, or needs; None where they fit."""
    try:
        signature.bind(*args, **options)
    except TypeError as error:
        unknown = [name for name in options if name not in signature.parameters]
        said, _, needed = str(error).partition(": ")
        return f"takes no argument {listed(unknown)}" if unknown else f"needs the argument {needed}" if needed else f"is given {said}"
    return None


def _shown_default(parameter: inspect.Parameter) -> str:
    """What an argument is when it is not given; of objects that have no short text only that it may be left out."""
    if parameter.default is parameter.empty:
        return ""
    is_plain = parameter.default is None or isinstance(parameter.default, (bool, int, float, str))
    return f"={parameter.default!r}" if is_plain else "=..."


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


def raise_error_of_member(owner: Any, name: str) -> None:
    """Raise the error of a property, of a user's class or ours, that looks to Python as if there was no such member; nothing where there is none."""
    if any(name in vars(kind) for kind in type(owner).__mro__):
        object.__getattribute__(owner, name)


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

    What Python itself prints of a method names the member so, and so do answers to calls that it cannot take.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> SFrame.explain.__qualname__
    'SFrame.explain'
    >>> SFrame({"a": [1]}).swap_columns(["a", "b"])
    Traceback (most recent call last):
    sframe_spark.errors.SchemaError: swap_columns() needs the argument 'column_name_2'; it is called as sf.swap_columns(column_name_1, ...
    """
    with_answers(owner)
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
