"""Errors about names that are absent: they tell what to use instead."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib.abc import MetaPathFinder

from sframe_spark.api.names_elsewhere import ARRAY, FRAME, MODULE, UTIL
from sframe_spark.errors import AbsentModuleError, NoAttributeError, near_names


def no_module_member(name: str) -> NoAttributeError:
    """The error about a name that the package does not have."""
    hint = MODULE.get(name)
    return NoAttributeError(f"sframe_spark has no {name!r}" + (f": {hint}" if hint else ""))


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


def no_frame_member(name: str, columns: Sequence[str]) -> NoAttributeError:
    """The error about a member that frames do not have: columns are no members.

    Examples
    --------
    >>> print(no_frame_member("stars", ["stars"]))
    an SFrame has no member 'stars': a column is asked for by sf['stars']
    """
    if name in columns:
        return NoAttributeError(f"an SFrame has no member {name!r}: a column is asked for by sf[{name!r}]")
    return _no_member("an SFrame", name, FRAME, columns)


def no_array_member(name: str) -> NoAttributeError:
    """The error about a member that columns do not have.

    Examples
    --------
    >>> print(no_array_member("isnull"))
    an SArray has no member 'isnull': compare with None: sa == None
    """
    return _no_member("an SArray", name, ARRAY, ())


def _no_member(what: str, name: str, hints: Mapping[str, str], columns: Sequence[str]) -> NoAttributeError:
    hint = hints.get(name)
    if hint is None and (near := near_names(name, columns)):
        hint = f"a column is asked for by its name, as sf[{near[0]!r}]"
    return NoAttributeError(f"{what} has no member {name!r}" + (f": {hint}" if hint else ""))
