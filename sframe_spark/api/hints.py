"""Errors about names that are absent: they tell what to use instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sframe_spark.api.names_elsewhere import ARRAY, FRAME, MODULE
from sframe_spark.errors import NoAttributeError, near_names


def no_module_member(name: str) -> NoAttributeError:
    """The error about a name that the package does not have."""
    hint = MODULE.get(name)
    return NoAttributeError(f"sframe_spark has no {name!r}" + (f": {hint}" if hint else ""))


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
