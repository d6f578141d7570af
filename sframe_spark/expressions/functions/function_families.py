"""The line of a table of scalar functions that users call by a name of their own. Such a table is a *family*; its members are made of it.

Methods of columns, NumPy's dispatch, pages and tests read the tables, so that a function is one line, wherever it is called.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import attrs


@attrs.frozen(kw_only=True)
class FamilyFunction:
    """A scalar function with parameters, as users call it.

    Parameters
    ----------
    name
        What users call.
    summary
        What it returns, as the first sentence of its documentation.
    example
        An expression of ``SArray``, and the values of its rows as they are printed.
    function, parameters
        The scalar function and its static parameters.
    other_names
        What it is called in pandas, Polars and PySpark, separated by spaces: whoever asks for these is told the name here.
    """

    name: str
    summary: str
    example: tuple[str, str]
    function: str
    parameters: tuple[Any, ...] = ()
    other_names: str = ""


Line = TypeVar("Line", bound=FamilyFunction)


def by_name(lines: Iterable[Line]) -> dict[str, Line]:
    """Return the lines of a table by their names, in alphabetical order.

    Examples
    --------
    >>> line = FamilyFunction(name="twice", summary="Return twice each number.", example=("SArray([1]).twice()", "[2]"), function="double")
    >>> list(by_name([line]))
    ['twice']
    """
    return {line.name: line for line in sorted(lines, key=lambda line: line.name)}


def hints_of(lines: Iterable[FamilyFunction], call: str) -> dict[str, str]:
    """Return, for each name that other libraries have for a function, what to write here.

    Examples
    --------
    >>> line = FamilyFunction(name="log", summary="", example=("", ""), function="log", other_names="ln")
    >>> hints_of([line], "use {name}()")
    {'ln': 'use log()'}
    """
    return {other: call.format(name=line.name) for line in lines for other in line.other_names.split()}
