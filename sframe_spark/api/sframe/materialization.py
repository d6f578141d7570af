"""Members of SFrame that compute its rows, and explain how."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from sframe_spark.api.sframe.columns import Columns
from sframe_spark.engine.execution.materialize import is_materialized, materialize
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.explain.explanation import Explanation
from sframe_spark.planner.inference import infer_planner_node_length


class FrameMaterialization(Columns):
    """When rows are computed, and the plan for them."""

    def materialize(self, segments: int | None = None, naive: bool = False, on_batch: Callable[[pa.Table], None] | None = None) -> None:
        """Compute all rows now and keep them; everything built on this frame uses the result.

        Parameters
        ----------
        segments
            Number of row ranges to compute side by side; chosen by the engine when not given.
        naive
            Lower every operator to Spark as it stands, for cross-checks.
        on_batch
            Called with consecutive Arrow tables of the result, in row order.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> half = SFrame({"stars": [5, 3]})["stars"] / 2
        >>> frame = SFrame({"half": half})
        >>> frame.materialize(on_batch=lambda batch: print(batch.num_rows))
        2
        """

        def deliver(chunk: Any) -> None:
            assert on_batch is not None
            on_batch(chunk.to_table().rename_columns(self._names))

        options = MaterializeOptions(segments=segments, naive=naive, on_batch=deliver if on_batch else None, converts=True)
        materialize(self._node, options)

    def is_materialized(self) -> bool:
        """True when the rows have been computed.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> frame = SFrame({"day": [2, 1]}).sort("day")
        >>> frame.is_materialized(), len(list(frame)), frame.is_materialized()
        (False, 2, True)
        """
        return is_materialized(self._node)

    def __is_materialized__(self) -> bool:
        return self.is_materialized()

    def __has_size__(self) -> bool:
        return infer_planner_node_length(self._node) is not None

    def explain(self, stage: str | None = None, trace: bool = False, why: bool = False, verify: bool = False, analyze: bool = False) -> Explanation:
        """The plan as text, which is also a picture: what was requested, what the laws made of it, and the sections that would run.

        What it gives is a ``str`` with ``svg()``, ``mermaid()`` and ``to_networkx()``; a notebook shows the picture.

        Parameters
        ----------
        stage
            Show the plan after this stage; ``"logical"``: before any law. None: logical and optimized.
        trace
            Also list the laws that fired.
        why
            Also give the reason for each sort, exchange and gather that is there or was left out.
        verify
            Also run the plan and compare what was claimed of it with Spark's plans as they ran, and with the rows and segments that came of them.
            The result is thrown away: the frame stays as lazy as it was. Rows that were known to be in order are computed once more to compare them.
        analyze
            Also run the plan, as ``materialize()`` does, and report for each section how many rows and bytes it made, how long it took, in how many
            tasks, and what Spark spilled to disk. The rows are kept.

        Raises
        ------
        ValueError
            If there is no such stage, or ``analyze`` is combined with one.
        RuntimeError
            If ``verify`` is asked for and queries go to a Spark Connect server, which does not show how it ran them.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> frame = SFrame({"day": [1, 1, 2], "price": [5.0, 4.0, 4.0]})
        >>> print(frame.sort("day").explain(why=True).split("-- order")[1].strip())
        left out sort by day: found in the rows in memory, or proved before they were computed
        """
        from sframe_spark.api.explain import explain_node

        return explain_node(self._node, self._names, stage, trace, why, verify, analyze)

    def last_run(self) -> Explanation:
        """What ran in the last action on the rows: each section, with its rows, bytes and seconds, in the order in which they ended.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> frame = SFrame({"day": [2, 1, 3]}).sort("day")
        >>> frame.materialize()
        >>> print(frame.last_run().split(", ")[1])
        suffix_sort): 3 rows (24 bytes in memory)
        """
        from sframe_spark.api.explain import last_run

        return last_run(self._node)
