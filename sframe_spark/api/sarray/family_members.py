"""Makes methods and properties of the lines of a table of functions: their documentation is that of the line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sframe_spark.api.class_registry import SArray, make_array
from sframe_spark.lazy_imports import lazy_imports

with lazy_imports(globals()):
    from sframe_spark.expressions.functions.function_families import FamilyFunction
    from sframe_spark.operators.elementwise import apply_function


def method_of(line: FamilyFunction, takes: str, owner: str = "SArray") -> Callable[[Any], SArray]:
    """Return a method without arguments that computes a line of a table.

    Parameters
    ----------
    line
        The line.
    takes
        Which values it takes, for the documentation of its error.
    owner
        Name of the class that has the method.
    """

    def method(self: Any) -> SArray:
        return make_array(apply_function(line.function, self._node, parameters=line.parameters))

    method.__name__, method.__qualname__ = line.name, f"{owner}.{line.name}"
    method.__doc__ = documentation(line, takes)
    return method


def documentation(line: FamilyFunction, takes: str) -> str:
    """Return the docstring of a member that is made of a line."""
    expression, printed = line.example
    imports = "from datetime import datetime\n>>> " if "datetime(" in expression else ""
    example = f">>> {imports}from sframe_spark import SArray\n>>> list({expression})\n{printed}"
    return f"{line.summary}\n\nRaises\n------\nTypeError, RuntimeError\n    If the values are not {takes}.\n\nExamples\n--------\n{example}\n"
