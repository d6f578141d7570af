"""Members of SFrame that follow the rows from the first on: running aggregates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from sframe_spark.api.aggregate import expand_requests, output_names
from sframe_spark.api.sframe_relational import Relational
from sframe_spark.errors import SchemaError
from sframe_spark.operators.columns import project, zip_columns
from sframe_spark.operators.running import running

if TYPE_CHECKING:
    from sframe_spark.api.sframe import SFrame


class RunningColumns(Relational):
    """Columns that depend on the rows up to each row."""

    def running(self, operations: Any, by: Any = None) -> SFrame:
        """Add columns with aggregates of the rows up to and including each row.

        Every row keeps its place. Sums, counts, means, extremes, variances and first values keep a few numbers per key; aggregates that hold
        values (``CONCAT``, ``DISTINCT``, ``COUNT_DISTINCT``, ``FREQ_COUNT``, ``QUANTILE``) keep all rows and take time quadratic in a key's rows.

        Parameters
        ----------
        operations
            As for ``groupby``: a dict from output name to an aggregate, an aggregate, or a list of these.
        by
            Name, or list of names, of columns: only rows equal in these count (missing equals missing). None: all rows count.

        Returns
        -------
        SFrame
            The columns of this frame, then the aggregates.

        Raises
        ------
        KeyError
            If a column does not exist.
        TypeError
            If an argument is not of these forms, or a ``by`` column holds dicts.
        RuntimeError
            If an output name is taken, or an aggregate does not take its column's type.

        Examples
        --------
        >>> from sframe_spark import SFrame, aggregate
        >>> sf = SFrame({"k": ["a", "b", "a"], "v": [1, 2, 3]})
        >>> list(sf.running({"total": aggregate.SUM("v")}, by="k")["total"])
        [1, 2, 4]
        """
        keys = self._running_keys(by)
        requests = expand_requests([operations])
        aggregations = [self._aggregation(request) for _, request in requests]
        chosen = set(operations) if isinstance(operations, dict) else set()
        names = output_names(self._names, requests, chosen)
        used = sorted({*keys, *(position for a in aggregations for position in a.positions)}) or [*range(len(self._names))][:1]
        places = {position: place for place, position in enumerate(used)}
        moved = [attrs.evolve(a, positions=tuple(places[p] for p in a.positions)) for a in aggregations]
        added = running(project(self._node, used), [places[key] for key in keys], moved)
        return self._new(zip_columns(self._node, added), names)

    def _running_keys(self, by: Any) -> list[int]:
        names = [] if by is None else [by] if isinstance(by, str) else by
        if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
            raise SchemaError(f"by takes a column name or a list of names, got {by!r}")
        keys = [self._position(name) for name in names]
        for name, key in zip(names, keys, strict=True):
            if self._node.schema[key].kind == "dict":
                raise SchemaError(f"column {name!r} holds dicts, which cannot be told apart: choose another 'by' column")
        return keys
