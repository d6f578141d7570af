"""The statistics of a column, with their JSON form."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import attrs

from sframe_spark.lazy_imports import lazy_imports

with lazy_imports(globals()):
    from sframe_spark.storage.manifest.manifest_json import scalar_from_json, scalar_to_json

Scalar = int | float | str | None


@attrs.frozen
class ColumnStatistics:
    """Facts about the values of one column in row order, which are true for all rows.

    Values are ordered as the engine orders them: missing values first, then numbers, strings or instants ascending, then NaN; -0.0 equals 0.0.
    Datetimes are given as microseconds since 1970.

    Parameters
    ----------
    ascending, descending, strictly_ascending, strictly_descending, constant
        Whether each value compares in this way with the value before it; None if unknown.
    has_missing, has_nan
        Whether a value is missing, or NaN; None if unknown.
    edges_known, first, last
        The first and the last value, which are None for missing values; valid only if ``edges_known``.
    bounds_known, minimum, maximum
        The smallest and the largest of the values that are neither missing nor NaN, both None if there are none; valid only if
        ``bounds_known``.
    """

    ascending: bool | None = None
    descending: bool | None = None
    strictly_ascending: bool | None = None
    strictly_descending: bool | None = None
    constant: bool | None = None
    has_missing: bool | None = None
    has_nan: bool | None = None
    edges_known: bool = False
    first: Scalar = None
    last: Scalar = None
    bounds_known: bool = False
    minimum: Scalar = None
    maximum: Scalar = None

    def to_json(self) -> dict[str, Any]:
        """Return the known facts as a JSON object.

        Examples
        --------
        >>> ColumnStatistics(has_missing=False, bounds_known=True, minimum=1, maximum=float("inf")).to_json()
        {'has_missing': False, 'bounds_known': True, 'minimum': 1, 'maximum': {'float': 'inf'}}
        """
        # There may be thousands of columns, for which `attrs.asdict` would be too slow.
        known: dict[str, Any] = {}
        for name, value in zip(_FACTS, _facts_of(self), strict=True):
            if value is not None and (value is not False or name not in ("edges_known", "bounds_known")):
                known[name] = scalar_to_json(value) if isinstance(value, float) else value
        return known

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> ColumnStatistics:
        """Return the statistics that :meth:`to_json` has converted to JSON; unknown names, which later versions may write, are ignored."""
        known = {field.name for field in attrs.fields(cls)}
        return cls(**{name: scalar_from_json(fact) for name, fact in value.items() if name in known})


_FACTS = tuple(field.name for field in attrs.fields(ColumnStatistics))
_facts_of = operator.attrgetter(*_FACTS)
UNKNOWN_STATISTICS = ColumnStatistics()
