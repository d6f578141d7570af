"""Members of SFrame that compute its rows, and show the plan for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from sframe_spark.api.sframe.columns import Columns
from sframe_spark.lazy_imports import lazy_imports

with lazy_imports(globals()):
    from sframe_spark.engine.execution.materialize_count_and_read_rows import is_materialized, materialize
    from sframe_spark.engine.materialize_options import MaterializeOptions
    from sframe_spark.explain.explanation_text_graph_and_pictures import Explanation


class FrameMaterialization(Columns):
    """Mixin of SFrame: computation of rows, and plans."""

    def materialize(self, segments: int | None = None, naive: bool = False, on_batch: Callable[[pa.Table], None] | None = None) -> None:
        """Compute all rows now and keep them; everything derived from this frame uses them.

        Parameters
        ----------
        segments
            Number of ranges of rows to compute in parallel; None: the engine decides.
        naive
            Whether to run each operator in Spark without optimization, for comparing results.
        on_batch
            Function that is called with each batch of rows, in order, as an Arrow table.

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
        """Return whether the rows have been computed and kept.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> frame = SFrame({"day": [2, 1]}).sort("day")
        >>> frame.is_materialized(), len(list(frame)), frame.is_materialized()
        (False, 2, True)
        """
        return is_materialized(self._node)

    def explain(self, stage: str | None = None, trace: bool = False, why: bool = False, verify: bool = False, analyze: bool = False) -> Explanation:
        """Return the plan: what was requested, how the optimizer has changed it, and the sections that would run.

        The result is a ``str`` that also has the methods ``svg()``, ``mermaid()`` and ``to_networkx()``; a notebook shows it as a picture.

        Parameters
        ----------
        stage
            Show the plan after this stage of the optimizer; ``"logical"``: before optimization. None: the logical and the optimized plan.
        trace
            Whether to list the rewrite rules (laws) that were applied.
        why
            Whether to give the reason for each sort, exchange and gather that the plan has or that was left out.
        verify
            Whether to run the plan, and compare what it promises with Spark's executed plans and with the rows and segments. The result is discarded,
            and the frame stays lazy. If rows are known to be sorted, they are computed once more for comparison.
        analyze
            Whether to run the plan, as ``materialize()`` does, and report the rows, bytes, time and number of tasks of each section, and what Spark
            spilled to disk. The rows are kept.

        Raises
        ------
        ValueError
            If the stage is unknown, or ``analyze`` is combined with a stage.
        RuntimeError
            If ``verify`` is set and the session uses Spark Connect, which does not show executed plans.

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
        """Return what the last computation of the rows ran: each section with its rows, bytes and seconds, in the order in which they ended.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> frame = SFrame({"day": [2, 1, 3]}).sort("day")
        >>> frame.materialize()
        >>> print(frame.last_run().split(", ")[2])
        sort): 3 rows (24 bytes in memory)
        """
        from sframe_spark.api.explain import last_run

        return last_run(self._node)
