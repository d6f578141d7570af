"""NumPy's functions of columns and frames: some have a lazy form, and for the others arrays are used.

``np.log(column)`` asks the column for the function (``__array_ufunc__``, ``__array_function__``). A function of the tables here is a lazy column, or
an aggregate that the engine computes. Any other gets arrays, as if :func:`numpy.asarray` had been called for each column; so does one that is given
an array together with a column, or ``out=`` and other options. Its result is NumPy's, as it would be without the protocol.

Source: https://numpy.org/doc/stable/user/basics.dispatch.html
"""

from __future__ import annotations

import contextlib
import datetime
import inspect
import operator
from collections.abc import Callable
from functools import reduce
from operator import methodcaller
from typing import Any

import numpy as np

from sframe_spark.api import aggregate
from sframe_spark.api.class_registry import ClassRegistry, SArray, SFrame, make_array, make_frame
from sframe_spark.expressions.functions.number_functions import NUMBER_FUNCTIONS, PAIR_FUNCTIONS
from sframe_spark.operators.elementwise import apply_function
from sframe_spark.operators.project_zip_arrange import zip_columns
from sframe_spark.process.short_tracebacks import door
from sframe_spark.types import FLOAT_KIND, INT_KIND

# Functions of two values that are columns' operators, or scalar functions of the table: by the names that the operators have.
_OF_TWO: dict[Any, str] = {
    **{getattr(np, name): name for name in ("add", "subtract", "multiply", "divide", "floor_divide", "power")},
    **{getattr(np, name): name for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")},
    **{line.ufunc: name for name, line in PAIR_FUNCTIONS.items()},
    np.float_power: "power",
    np.logical_and: "and_",
    np.bitwise_and: "and_",
    np.logical_or: "or_",
    np.bitwise_or: "or_",
}
_OF_ONE: dict[Any, Callable[[Any], Any]] = {
    **{line.ufunc: methodcaller(name) for name, line in NUMBER_FUNCTIONS.items()},
    np.negative: operator.neg,
    np.positive: operator.pos,
    np.absolute: abs,
    np.fabs: lambda column: abs(column.astype(float)),
    np.invert: operator.invert,
    np.logical_not: lambda column: make_array(apply_function("truth", column._node))._binary("less", 1),
    np.rint: methodcaller("round"),
    np.rad2deg: methodcaller("degrees"),
    np.deg2rad: methodcaller("radians"),
}
# Values that NumPy pairs with each row.
_SINGLE_VALUES = (int, float, str, np.generic, datetime.datetime)


def call_of_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Return what ``ufunc`` makes of columns, frames and values: a lazy column or frame where it has such a form, else NumPy's own result."""
    if any(_has_rules_of_its_own(value) for value in (*inputs, *options.get("out", ()))):
        return NotImplemented
    if method == "__call__" and not options:
        if len(inputs) == 1 and ufunc in _OF_ONE:
            if isinstance(inputs[0], ClassRegistry.array):
                return _OF_ONE[ufunc](inputs[0])
            return _of_each_column(inputs[0], _OF_ONE[ufunc])
        operands = [value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value for value in inputs]
        if ufunc in _OF_TWO and all(isinstance(value, (ClassRegistry.array, *_SINGLE_VALUES)) for value in operands):
            return _of_two(_OF_TWO[ufunc], *operands)
    return getattr(ufunc, method)(*_with_arrays(inputs), **_with_arrays(options))


def _has_rules_of_its_own(value: Any) -> bool:
    """Return whether a value's class is of another library and decides what NumPy's functions do with it."""
    kind = type(value)
    if isinstance(value, (ClassRegistry.array, ClassRegistry.frame, np.ndarray, np.generic)):
        return False
    return getattr(kind, "__array_ufunc__", None) is not None


def _of_each_column(frame: SFrame, function: Callable[[SArray], SArray]) -> SFrame:
    names = frame.column_names()
    return make_frame(zip_columns(*(function(frame[name])._node for name in names)), names)


def _of_two(name: str, left: Any, right: Any) -> SArray:
    column, other, is_reverse = (left, right, False) if isinstance(left, ClassRegistry.array) else (right, left, True)
    if name == "remainder" and all(_is_int(value) for value in (left, right)):
        name = "modulo"
    return column._binary(name, other, is_reverse)


def _is_int(value: Any) -> bool:
    return value._node.schema[0].kind == INT_KIND if isinstance(value, ClassRegistry.array) else isinstance(value, (int, np.integer))


def _with_arrays(values: Any) -> Any:
    """Return arguments with arrays in place of columns and frames, also in lists, tuples and dicts."""
    if isinstance(values, (ClassRegistry.array, ClassRegistry.frame)):
        return np.asarray(values)
    if isinstance(values, dict):
        return {name: _with_arrays(value) for name, value in values.items()}
    if type(values) in (list, tuple):
        return type(values)(_with_arrays(value) for value in values)
    return values


# Functions that are not ufuncs.


def call_of_function(function: Any, types: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Return what one of NumPy's functions makes of columns, frames and values, as :func:`call_of_ufunc` does."""
    if not all(issubclass(kind, (ClassRegistry.array, ClassRegistry.frame, np.ndarray)) for kind in types):
        return NotImplemented
    lazily = _FUNCTIONS.get(function)
    if lazily is not None:
        with contextlib.suppress(_NoLazyFormError):
            bound = _bound(lazily, arguments, options)
            return lazily(*bound.args, **bound.kwargs)
    return function(*_with_arrays(arguments), **_with_arrays(options))


class _NoLazyFormError(Exception):
    """Raised for arguments that only NumPy's own function takes."""


def _require(condition: bool) -> None:
    if not condition:
        raise _NoLazyFormError


def _bound(function: Callable[..., Any], arguments: tuple[Any, ...], options: dict[str, Any]) -> inspect.BoundArguments:
    """Return the arguments by their places in a function that may lack options of NumPy's."""
    try:
        return inspect.signature(function).bind(*arguments, **options)
    except TypeError:
        raise _NoLazyFormError from None


def _where(condition: Any, x: Any = None, y: Any = None) -> SArray:
    _require(x is not None and y is not None)
    operands: list[Any] = [value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value for value in (condition, x, y)]
    _require(isinstance(operands[0], ClassRegistry.array))
    _require(all(isinstance(value, (ClassRegistry.array, *_SINGLE_VALUES)) for value in operands[1:]))
    kinds = {value._node.schema[0].kind if isinstance(value, ClassRegistry.array) else _kind_of(value) for value in operands[1:]}
    if kinds == {INT_KIND, FLOAT_KIND}:
        operands[1:] = [value.astype(float) if isinstance(value, ClassRegistry.array) else float(value) for value in operands[1:]]
    return ClassRegistry.array.where(*operands)


def _kind_of(value: Any) -> str:
    return INT_KIND if isinstance(value, (int, np.integer, np.bool_)) else FLOAT_KIND if isinstance(value, (float, np.floating)) else ""


def _clip(a: Any, a_min: Any = None, a_max: Any = None) -> SArray:
    _require(isinstance(a, ClassRegistry.array) and all(bound is None or isinstance(bound, (int, float, np.number)) for bound in (a_min, a_max)))
    return a.clip(a_min, a_max)


def _round(a: Any, decimals: int = 0) -> Any:
    return _of_each_column(a, lambda column: column.round(decimals)) if isinstance(a, ClassRegistry.frame) else a.round(decimals)


def _isin(element: Any, test_elements: Any) -> SArray:
    _require(isinstance(element, ClassRegistry.array) and not isinstance(test_elements, (ClassRegistry.array, ClassRegistry.frame)))
    return element.is_in(np.asarray(test_elements).ravel().tolist())


_AGGREGATES: dict[str, Callable[[str], Any]] = {
    "sum": aggregate.SUM,
    "mean": aggregate.MEAN,
    "min": aggregate.MIN,
    "max": aggregate.MAX,
    "std": aggregate.STD,
    "var": aggregate.VAR,
}
_ALONG_ROWS: dict[str, Callable[[list[Any]], Any]] = {
    "sum": lambda columns: reduce(operator.add, columns),
    "mean": lambda columns: reduce(operator.add, columns) / len(columns),
    "min": lambda columns: reduce(lambda left, right: left._binary("minimum", right), columns),
    "max": lambda columns: reduce(lambda left, right: left._binary("maximum", right), columns),
}


def _reduction(name: str) -> Callable[..., Any]:
    """Return a reduction of a column; of a frame along an axis: of each column as an array (0), or of each row as a lazy column (1)."""

    def reduction(a: Any, axis: Any = None, *, ddof: int = 0) -> Any:
        has_ddof = name in ("std", "var")
        _require(has_ddof or ddof == 0)
        if isinstance(a, ClassRegistry.array):
            _require(axis in (None, 0, -1))
            return getattr(a, name)(ddof) if has_ddof else getattr(a, name)()
        _require(ddof == 0)
        names = a.column_names()
        _require(bool(names) and axis in (0, 1, -1, -2) and all(column_type in (int, float) for column_type in a.column_types()))
        if axis in (1, -1):
            _require(name in _ALONG_ROWS)
            return _ALONG_ROWS[name]([a[column] for column in names])
        totals = a.groupby([], {str(number): _AGGREGATES[name](column) for number, column in enumerate(names)})
        _require(len(totals) == 1)
        return np.array([np.nan if (value := totals[0][str(number)]) is None else value for number in range(len(names))])

    return reduction


def _of_columns(name: str) -> Callable[..., Any]:
    def member(a: Any, axis: Any = None) -> Any:
        _require(isinstance(a, ClassRegistry.array) and axis in (None, 0, -1))
        return getattr(a, name)()

    return member


def _shape(a: Any) -> tuple[int, ...]:
    return tuple(a.shape)


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.where: _where,
    np.clip: _clip,
    np.round: _round,
    np.around: _round,
    np.isin: _isin,
    np.any: _of_columns("any"),
    np.all: _of_columns("all"),
    np.shape: _shape,
    np.ndim: lambda a: len(_shape(a)),
    np.size: lambda a, axis=None: int(np.prod(_shape(a))) if axis is None else _shape(a)[axis],
    **{getattr(np, name): _reduction(name) for name in _AGGREGATES},
}


class NumpyDispatch:
    """Mixin of SFrame and SArray: NumPy's functions ask them what to do."""

    @door
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Return what a function of NumPy's makes of rows one by one, as :func:`call_of_ufunc` does.

        Examples
        --------
        >>> import numpy as np
        >>> from sframe_spark import SArray
        >>> list(np.sqrt(SArray([4, None, 9]))), list(np.maximum(SArray([1, 5]), 3))
        ([2.0, None, 3.0], [3, 5])
        """
        return call_of_ufunc(ufunc, method, inputs, options)

    @door
    def __array_function__(self, function: Any, types: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Return what another function of NumPy's gives, as :func:`call_of_function` does.

        Examples
        --------
        >>> import numpy as np
        >>> from sframe_spark import SArray, SFrame
        >>> stars = SArray([5, 2, 4])
        >>> list(np.where(stars > 3, stars, 0.5)), np.sum(SFrame({"a": [1, 2], "b": [0.5, None]}), axis=0)
        ([5.0, 0.5, 4.0], array([3. , 0.5]))
        """
        return call_of_function(function, types, arguments, options)
