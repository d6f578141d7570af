"""What is known about the values of a column."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import attrs

from sframe_spark.storage.manifest.json_values import scalar_from_json, scalar_to_json

Scalar = int | float | str | None


@attrs.frozen
class ColumnStatistics:
    """Proven facts about the values of one column, in row order; None and False flags mean nothing is known.

    Order is that of the engine: missing values first, then numbers (or texts, or instants) ascending, NaN last, with
    -0.0 equal to 0.0. Date-times are given as microseconds since 1970.

    Parameters
    ----------
    ascending, descending, strictly_ascending, strictly_descending, constant
        How each value compares to the one before it; None when it was not looked at.
    has_missing, has_nan
        Whether any value is missing, or NaN; None when unknown.
    edges_known, first, last
        The first and the last value (None for missing), meaningful only if ``edges_known``.
    bounds_known, minimum, maximum
        Bounds of the values that are neither missing nor NaN, meaningful only if ``bounds_known``; both None when there
        are no such values.
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
        # Not `attrs.asdict`, which takes longer than all the rest of it: there may be thousands of columns.
        known: dict[str, Any] = {}
        for name, value in zip(_FACTS, _facts_of(self), strict=True):
            if value is not None and (value is not False or name not in ("edges_known", "bounds_known")):
                known[name] = scalar_to_json(value) if isinstance(value, float) else value
        return known

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> ColumnStatistics:
        """Return the facts that :meth:`to_json` described; facts of a later version are left out."""
        known = {field.name for field in attrs.fields(cls)}
        return cls(**{name: scalar_from_json(fact) for name, fact in value.items() if name in known})


_FACTS = tuple(field.name for field in attrs.fields(ColumnStatistics))
_facts_of = operator.attrgetter(*_FACTS)
UNKNOWN_STATISTICS = ColumnStatistics()
