"""Errors for unknown names, which say what to write instead, and decorators that explain wrong calls."""

from __future__ import annotations

import functools
import inspect
import sys
from abc import ABCMeta
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from sframe_spark.config import StorageOptions, config
from sframe_spark.errors import AbsentModuleError, NoAttributeError, SchemaError, listed, near_names
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.process.short_tracebacks import DOORS, IS_DOOR, door, shorten
from sframe_spark.redaction import hide_in_error, secrets_in

with lazy_imports(globals()):
    from sframe_spark.api import other_library_names as elsewhere
    from sframe_spark.api.class_registry import ClassRegistry, add_members


@functools.cache
def array_hints() -> dict[str, str]:
    """Return the hints for columns, with those for functions that have tables."""
    # An import of the package alone loads neither the tables nor NumPy.
    from sframe_spark.expressions.functions.date_parts import DATE_PARTS
    from sframe_spark.expressions.functions.function_families import hints_of
    from sframe_spark.expressions.functions.number_functions import NUMBER_FUNCTIONS
    from sframe_spark.expressions.functions.text_functions import TEXT_FUNCTIONS

    parts = {name: f"use dt.{name}" for name in DATE_PARTS} | hints_of(DATE_PARTS.values(), "use dt.{name}")
    names = {name: f"use str.{name}()" for name in TEXT_FUNCTIONS if name != "contains"}
    return (
        parts | names | hints_of(TEXT_FUNCTIONS.values(), "use str.{name}()") | hints_of(NUMBER_FUNCTIONS.values(), "use {name}()") | elsewhere.ARRAY
    )


@functools.cache
def module_hints() -> dict[str, str]:
    """Return the hints for the package, with those for functions and aggregates that other libraries have in their modules."""
    from sframe_spark.expressions.functions.date_parts import DATE_PARTS
    from sframe_spark.expressions.functions.function_families import hints_of
    from sframe_spark.expressions.functions.number_functions import NUMBER_FUNCTIONS
    from sframe_spark.expressions.functions.text_functions import TEXT_FUNCTIONS

    result: dict[str, str] = {}
    for table, call in (
        (DATE_PARTS, "use sf['time'].dt.{name}"),
        (TEXT_FUNCTIONS, "use sf['key'].str.{name}()"),
        (NUMBER_FUNCTIONS, "use sf['a'].{name}()"),
    ):
        result |= {name: call.format(name=name) for name in table} | hints_of(table.values(), call)
    return result | elsewhere.AGGREGATE | elsewhere.MODULE


# Beginnings of the names of functions in other libraries that are class methods here.
READERS = ("read_", "scan_")
# This attribute marks functions whose errors explain wrong calls.
EXPLAINS_ERRORS = "_answers_wrong_calls"
# This attribute holds other names of parameters.
OTHER_NAMES = "_other_names_of_parameters"
# What messages write before the name of a method (by class) and of a function (by module), and the most arguments that they show.
RECEIVERS = {
    "SFrame": "sf",
    "SArray": "sf['a']",
    "TextFunctions": "sf['a'].str",
    "DateParts": "sf['a'].dt",
    "SFrameBuilder": "builder",
    "SArrayBuilder": "builder",
    "Builder": "builder",
}
MODULES = {
    "sframe_spark.api.aggregate": "aggregate.",
    "sframe_spark.api.aggregates.statistical": "aggregate.",
    "sframe_spark.visualization": "visualization.",
}
MAX_ARGUMENTS = 6
# What other libraries have as members of what is a method here; their hints are loaded when one is asked for.
MEMBERS_OF_METHODS = {
    "plot": "scatter line area hexbin hist bar barh box kde density pie",
    "write": "parquet csv json orc jdbc saveAsTable insertInto mode format option options save partitionBy text",
}
P = ParamSpec("P")
R = TypeVar("R")


def also_named(**other_names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorator: parameters may be given by other names, too; it stands below :func:`call_example`, if there is one.

    Examples
    --------
    >>> from sframe_spark import SFrame, aggregate
    >>> SFrame({"k": [1, 1]}).groupby("k", aggregates={"n": aggregate.COUNT()})[0]
    {'k': 1, 'n': 2}
    """

    def named(function: Callable[P, R]) -> Callable[P, R]:
        setattr(function, OTHER_NAMES, other_names)
        return function

    return named


def _with_own_names(name: str, other_names: Mapping[str, str], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options under the names of the parameters.

    Raises
    ------
    SchemaError
        If a parameter is given by both names.
    """
    for other, own in other_names.items():
        if other in options and own in options:
            raise SchemaError(f"{name}() got {own}= and {other}=, which mean the same: give one of them")
    return {other_names.get(option, option): value for option, value in options.items()}


def call_example(example: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorator: calling the function with arguments that it does not have, such as those of pandas, raises an error that shows an example.

    Raises
    ------
    SchemaError
        By the decorated function, if it is called with unknown arguments or without required ones.

    Examples
    --------
    >>> @call_example("twice(2)")
    ... def twice(number: int) -> int:
    ...     return 2 * number
    >>> twice(axis=1)
    Traceback (most recent call last):
    sframe_spark.errors.SchemaError: twice() takes no argument 'axis'; write it as in twice(2); for axis: ...
    """

    return lambda function: _explaining_errors(function, lambda signature: f"write it as in {example}")


def call_hint(function: Callable[P, R]) -> Callable[P, R]:
    """Decorator: calling the function with wrong arguments raises an error that shows its parameters.

    Raises
    ------
    SchemaError
        By the decorated function, if the arguments do not fit its parameters. It is a TypeError.

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
    return _explaining_errors(function, lambda signature: f"it is called as {_call_text(function, signature)}")


def add_call_hints(members: dict[str, Any], module: str) -> None:
    """Decorate all public functions that a module defines with :func:`call_hint`; ``members`` is the module's ``globals()``."""
    for name, member in list(members.items()):
        if inspect.isfunction(member) and member.__module__ == module and not name.startswith("_") and not hasattr(member, EXPLAINS_ERRORS):
            members[name] = call_hint(member)


def with_call_hints(owner: type[R]) -> type[R]:
    """Decorate the public methods of a class, and of its base classes in the same package, with :func:`call_hint`."""
    _add_call_hints(owner, owner.__module__.rpartition(".")[0])
    return owner


def _add_call_hints(owner: type[Any], package: str) -> None:
    """Decorate the public methods that a class and its base classes in a package define."""
    for base, name, member in _members(owner, package):
        function = getattr(member, "__func__", member)
        if not name.startswith("_") and inspect.isfunction(function) and not hasattr(function, EXPLAINS_ERRORS):
            wrapped = call_hint(function)
            setattr(base, name, type(member)(wrapped) if isinstance(member, (classmethod, staticmethod)) else wrapped)
        elif name in DOORS and inspect.isfunction(member) and not hasattr(member, IS_DOOR):
            setattr(base, name, door(member))


def _members(owner: type[Any], package: str) -> Iterator[tuple[type[Any], str, Any]]:
    """Yield the class, name and value of each attribute that a class and its base classes define in a package."""
    for base in owner.__mro__:
        if base.__module__.rpartition(".")[0] == package:
            yield from ((base, name, member) for name, member in list(vars(base).items()))


def _explaining_errors(function: Callable[P, R], remedy: Callable[[inspect.Signature], str]) -> Callable[P, R]:
    """Return the function with better errors: wrong arguments are explained, and secrets in the arguments are removed from messages."""

    other_names: dict[str, str] = getattr(function, OTHER_NAMES, {})

    @functools.wraps(function)
    def called(*args: P.args, **options: P.kwargs) -> R:
        if other_names and not other_names.keys().isdisjoint(options):
            options = _with_own_names(function.__name__, other_names, options)  # type: ignore[assignment]
        # IPython and pytest leave this frame out.
        __tracebackhide__ = True
        try:
            return function(*args, **options)
        except (Exception, KeyboardInterrupt) as error:
            # Arguments are checked only after an error, so that correct calls cost nothing.
            hide_in_error(error, secrets_in([*args, options], StorageOptions(config.storage_options).secrets()))
            signature = inspect.signature(function)
            wrong = _argument_error(signature, args, options) if isinstance(error, TypeError) else None
            if wrong is None:
                shorten(error)
                raise
        advice = [(name, _argument_hint(function.__qualname__, name)) for name in options if name not in signature.parameters]
        text = "".join(f"; for {name}: {hint}" for name, hint in advice if hint)
        raise SchemaError(f"{_public_name(function)}() {wrong}; {remedy(signature)}{text}")

    setattr(called, EXPLAINS_ERRORS, True)
    for name in MEMBERS_OF_METHODS.get(function.__name__, "").split():
        setattr(called, name, _not_there(function.__name__, name))
    return called


def _argument_hint(function: str, name: str) -> str:
    """Return the hint for an argument of a function that other libraries have; an empty string if there is none.

    Examples
    --------
    >>> _argument_hint("SFrame.append", "ignore_index"), _argument_hint("SFrame.append", "key")
    ('rows are numbered anew as they are', '')
    """
    owner, _, method = function.rpartition(".")
    known = elsewhere.ARGUMENT
    return without_marks(known.get(f"{method}.{name}") or known.get(f"{owner}.{name}") or known.get(name, ""))


def _not_there(method: str, name: str) -> Callable[..., None]:
    """Return a function to raise the error for what other libraries have as a member of a method, as ``sf.plot.scatter()``."""

    def called(*args: Any, **options: Any) -> None:
        raise NoAttributeError(f"{method}() has no {name!r}: {without_marks(elsewhere.METHOD[method][name])}")

    return called


def _call_text(function: Callable[..., Any], signature: inspect.Signature) -> str:
    """Return a call of the function as users write it, with required arguments, and the first optional ones with their defaults."""
    parameters = [parameter.replace(annotation=parameter.empty) for parameter in signature.parameters.values()]
    receiver = MODULES.get(function.__module__, "")
    if "." in (qualified := function.__qualname__):
        owner = qualified.split(".")[-2].lstrip("_")
        receiver = f"{RECEIVERS.get(owner, owner.lower())}." if parameters and parameters[0].name == "self" else f"{owner}."
        parameters = parameters[parameters[:1] != [] and parameters[0].name in ("self", "cls") :]
    arguments: list[str] = []
    for parameter in parameters:
        if parameter.name.startswith("_"):
            continue
        if len(arguments) >= MAX_ARGUMENTS and parameter.default is not parameter.empty:
            arguments.append("...")
            break
        if parameter.kind is parameter.KEYWORD_ONLY and not any(text.startswith("*") for text in arguments):
            arguments.append("*")
        arguments.append(str(parameter.replace(default=parameter.empty)) + _default_text(parameter))
    return f"{receiver}{function.__name__}({', '.join(arguments)})"


def _public_name(function: Callable[..., Any]) -> str:
    """Return the name by which users call a function; for ``__init__``, the name of the class."""
    return function.__qualname__.split(".")[-2] if function.__name__ == "__init__" else function.__name__


def _argument_error(signature: inspect.Signature, args: tuple[Any, ...], options: Mapping[str, Any]) -> str | None:
    """Return what is wrong with the arguments of a call, as a part of a sentence; None if they fit the signature."""
    try:
        signature.bind(*args, **options)
    except TypeError as error:
        unknown = [name for name in options if name not in signature.parameters]
        message, _, missing = str(error).partition(": ")
        return f"takes no argument {listed(unknown)}" if unknown else f"needs the argument {missing}" if missing else f"is given {message}"
    return None


def _default_text(parameter: inspect.Parameter) -> str:
    """Return the default of a parameter as ``=value``, as ``=...`` if it is not a simple constant, or an empty string if there is none."""
    if parameter.default is parameter.empty:
        return ""
    # Turi Create's default of labels, __TURI_DEFAULT_LABEL, means that a label is made.
    is_plain = parameter.default is None or (isinstance(parameter.default, (bool, int, float, str)) and not str(parameter.default).startswith("__"))
    return f"={parameter.default!r}" if is_plain else "=..."


def not_assignable(name: str) -> NoAttributeError:
    """Return the error to raise where a member of a frame is assigned, which other libraries do to name columns.

    Examples
    --------
    >>> print(not_assignable("stars"))
    columns are assigned by name: sf['stars'] = ...
    >>> print(not_assignable("columns"))
    an SFrame has no member 'columns' to assign: names are changed by rename({'a': 'amount'})
    """
    if name in ("columns", "names", "colnames"):
        return NoAttributeError(f"an SFrame has no member {name!r} to assign: names are changed by rename({{'a': 'amount'}})")
    if name == "index":
        return NoAttributeError(f"an SFrame has no member {name!r} to assign: {without_marks(elsewhere.FRAME[name])}")
    return NoAttributeError(f"columns are assigned by name: sf[{name!r}] = ...")


def no_module_member(name: str, members: Iterable[str] = ()) -> NoAttributeError:
    """Return the error to raise for a name that the package does not have."""
    return NoAttributeError(f"sframe_spark has no {name!r}" + _suggestion(name, module_hints(), members))


def no_aggregate(name: str, members: Iterable[str] = ()) -> NoAttributeError:
    """Return the error to raise for a name that the module ``aggregate`` does not have.

    Examples
    --------
    >>> print(no_aggregate("mean", ["MEAN", "SUM"]))
    there is no aggregate 'mean', did you mean 'MEAN'?
    """
    return NoAttributeError(f"there is no aggregate {name!r}" + _suggestion(name, elsewhere.AGGREGATE, members))


def no_function(place: str, name: str, members: Iterable[str], why: str = "") -> NoAttributeError:
    """Return the error to raise for a name that ``sframe_spark.functions``, or a namespace in it, does not have; ``why`` ends the message.

    Examples
    --------
    >>> print(no_function("sframe_spark.functions.geo", "haversin", ["haversine"]))
    sframe_spark.functions.geo has no 'haversin', did you mean 'haversine'?
    """
    # Other libraries have their functions in a module of this name.
    hints = module_hints() if place == "sframe_spark.functions" else {}
    return NoAttributeError(f"{place} has no {name!r}" + _suggestion(name, hints, members) + why)


def no_util_member(name: str) -> NoAttributeError:
    """Return the error to raise for a name that ``sframe_spark.util`` does not have."""
    hint = elsewhere.UTIL.get(name)
    return NoAttributeError(f"sframe_spark.util has no {name!r}" + (f": {without_marks(hint)}" if hint else ""))


class ModuleHintFinder:
    """An import hook, after all others, that raises an error with advice if the package does not have a name.

    In ``from package import name``, Python tries to import an unknown name as a module, so only an import hook can give the advice.

    Examples
    --------
    >>> from sframe_spark import linear_regression
    Traceback (most recent call last):
    sframe_spark.errors.AbsentModuleError: sframe_spark has no 'linear_regression': models are out of scope: ...
    """

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        """Return None; raise an error if the module is unknown and there is a hint for its name.

        Raises
        ------
        AbsentModuleError
            If there is a hint for the name.
        """
        for package, hints_for in (
            ("sframe_spark.", module_hints),
            ("sframe_spark.util.", lambda: elsewhere.UTIL),
            ("sframe_spark.functions.", module_hints),
        ):
            name = fullname.removeprefix(package)
            if name == fullname or "." in name:
                continue
            if name in (hints := hints_for()):
                raise AbsentModuleError(f"{package[:-1]} has no {name!r}: {without_marks(hints[name])}")
            members = getattr(sys.modules.get(package[:-1]), "__all__", ())
            if name in members:
                raise AbsentModuleError(f"{fullname} is no module: write from {package[:-1]} import {name}")
            if suggestion := _suggestion(name, {}, members):
                raise AbsentModuleError(f"{package[:-1]} has no {name!r}{suggestion}")


def install_module_hints() -> None:
    """Install the import hook :class:`ModuleHintFinder`, unless it is installed."""
    if not any(isinstance(finder, ModuleHintFinder) for finder in sys.meta_path):
        sys.meta_path.append(ModuleHintFinder())


def no_frame_member(name: str, columns: Sequence[str], members: Iterable[str] = ()) -> NoAttributeError:
    """Return the error to raise for an attribute that a frame does not have; it suggests ``sf['name']`` if a column has that name.

    Examples
    --------
    >>> print(no_frame_member("stars", ["stars"]))
    an SFrame has no member 'stars': write sf['stars'] for the column
    """
    if name in columns:
        return NoAttributeError(f"an SFrame has no member {name!r}: write sf[{name!r}] for the column")
    if name not in elsewhere.FRAME and (near := near_names(name, columns)):
        return NoAttributeError(f"an SFrame has no member {name!r}: a column is selected by its name, as in sf[{near[0]!r}]")
    if name not in elsewhere.FRAME and (call := _call_of_other(ClassRegistry.array, name)):
        return NoAttributeError(f"an SFrame has no member {name!r}: columns have it, {call}")
    return NoAttributeError(f"an SFrame has no member {name!r}" + _suggestion(name, elsewhere.FRAME, members))


def no_array_member(name: str, members: Iterable[str] = ()) -> NoAttributeError:
    """Return the error to raise for an attribute that a column does not have.

    Examples
    --------
    >>> print(no_array_member("isnull"))
    an SArray has no member 'isnull': compare with None: sa == None
    """
    if name not in (hints := array_hints()) and (call := _call_of_other(ClassRegistry.frame, name)):
        return NoAttributeError(f"an SArray has no member {name!r}: frames have it, {call}")
    if name not in hints and name in elsewhere.FRAME:
        return NoAttributeError(f"an SArray has no member {name!r}: of a frame {without_marks(elsewhere.FRAME[name])}")
    return NoAttributeError(f"an SArray has no member {name!r}" + _suggestion(name, hints, members))


def _call_of_other(owner: type[Any], name: str) -> str:
    """Return how a public method of the other class is called; an empty string if it has none of this name."""
    method = getattr(owner, name) if name in dir(owner) and not name.startswith("_") else None
    return _call_text(method, inspect.signature(method)) if inspect.isfunction(method) else ""


def no_text_member(name: str, members: Iterable[str] = ()) -> NoAttributeError:
    """Return the error to raise for a function of texts that columns do not have.

    Examples
    --------
    >>> print(no_text_member("to_uppercase"))
    columns have no str.to_uppercase: use str.upper()
    """
    from sframe_spark.expressions.functions.function_families import hints_of
    from sframe_spark.expressions.functions.text_functions import TEXT_FUNCTIONS

    hints = elsewhere.TEXT | hints_of(TEXT_FUNCTIONS.values(), "use str.{name}()")
    return NoAttributeError(f"columns have no str.{name}" + _suggestion(name, hints, members))


def no_date_member(name: str, members: Iterable[str] = ()) -> NoAttributeError:
    """Return the error to raise for a part of date-times that columns do not have.

    Examples
    --------
    >>> print(no_date_member("dayofyear"))
    columns have no dt.dayofyear: use dt.day_of_year
    """
    from sframe_spark.expressions.functions.date_parts import DATE_PARTS
    from sframe_spark.expressions.functions.function_families import hints_of

    return NoAttributeError(
        f"columns have no dt.{name}" + _suggestion(name, elsewhere.DATE | hints_of(DATE_PARTS.values(), "use dt.{name}"), members)
    )


# Modules of pandas that take frames and columns of pandas alone.
OF_PANDAS_ALONE = ("pandas.core.reshape.concat", "pandas.core.reshape.merge")


def refuse_to_be_of_pandas(owner: Any, name: str) -> None:
    """Raise an error if pandas asks for the attribute by which it knows its own frames and columns, to put them together; else do nothing.

    pandas would raise a TypeError, too, but could not say what to write instead.

    Raises
    ------
    SchemaError
        If ``pandas.concat`` or ``pandas.merge`` asks.
    """
    if name != "_typ":
        return
    # The function that asks is the third at most above the attribute's own.
    frame = sys._getframe(1)
    for _ in range(4):
        if frame.f_globals.get("__name__") in OF_PANDAS_ALONE:
            join = "" if isinstance(owner, ClassRegistry.array) else ", or first.join(second, on='key')"
            others = f"pandas puts only frames and columns of its own together, not {type(owner).__name__}"
            raise SchemaError(f"{others}: use first.append(second){join}, or to_pandas()")
        if (frame := frame.f_back) is None:  # type: ignore[assignment]
            return


def raise_property_error(owner: Any, name: str) -> None:
    """Evaluate a property again to raise its AttributeError, which Python hides by calling ``__getattr__``; do nothing if there is no property."""
    if any(name in vars(kind) for kind in type(owner).__mro__):
        object.__getattribute__(owner, name)


class HintedClass(ABCMeta):
    """Metaclass of SFrame and SArray: unknown class attributes, such as those of other libraries, raise an error with advice.

    It inherits from ABCMeta, so that users can derive abstract classes (:class:`abc.ABC`) from SFrame and SArray.

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
            readers = {reader: hint for reader, hint in elsewhere.MODULE.items() if reader.startswith(READERS)}
            hints = readers | (array_hints() if issubclass(cls, ClassRegistry.array) else elsewhere.FRAME)
            raise NoAttributeError(f"{cls.__name__} has no {name!r}" + _suggestion(name, hints, dir(cls)))


def adopt_members(owner: type[R]) -> type[R]:
    """Rename the members that a class inherits from mixins of its package, as if the class had defined them. Also applies :func:`with_call_hints`.

    Python's messages about a method and errors about wrong calls then name this class, the only one that users know.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> SFrame.explain.__qualname__
    'SFrame.explain'
    >>> SFrame({"a": [1]}).swap_columns(["a", "b"])
    Traceback (most recent call last):
    sframe_spark.errors.SchemaError: swap_columns() needs the argument 'column_name_2'; it is called as sf.swap_columns(column_name_1, ...
    """
    add_members(owner, functools.partial(_adopt, owner))
    _adopt(owner, owner)
    return owner


def _adopt(owner: type[Any], base: type[Any]) -> None:
    """Rename the members of a base class, and of those that it inherits from, as if the owner had defined them, with hints for calls."""
    package = owner.__module__.rpartition(".")[0]
    _add_call_hints(base, package)
    for kind, name, member in _members(base, package):
        function = getattr(member, "__func__", member)
        for renamed in filter(inspect.isfunction, (function, inspect.unwrap(function)) if kind is not owner else ()):
            renamed.__qualname__ = f"{owner.__name__}.{name}"
            # The module in which the renamed function can be found, so that other processes can import it.
            renamed.__module__ = owner.__module__


def without_marks(hint: str) -> str:
    """Return a hint as messages show it: without the backticks around code, and without the dot of members.

    Examples
    --------
    >>> without_marks("use `.head(5)`, or `sf[:5]`")
    'use head(5), or sf[:5]'
    """
    return hint.replace("`.", "").replace("`", "")


def _suggestion(name: str, hints: Mapping[str, str], members: Iterable[str]) -> str:
    """Return the end of an error message: the hint for the name, else the most similar member, else an empty string."""
    if name in hints:
        return f": {without_marks(hints[name])}"
    # In longer names, a share of equal letters is more often chance than a slip.
    similarity = 0.6 if len(name) <= 3 else 0.75 if len(name) <= 5 else 0.8
    near = near_names(name, [member for member in members if not member.startswith("_")], similarity)
    return f", did you mean {near[0]!r}?" if near else ""
