"""Members of SArray about when and how its values are computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sframe_spark.engine.options import MaterializeOptions
from sframe_spark.engine.runs.content import content_identifier
from sframe_spark.engine.runs.materialize import is_materialized, materialize
from sframe_spark.explain.explanation import Explanation
from sframe_spark.planner.infer import infer_planner_node_length

if TYPE_CHECKING:
    from sframe_spark.planner.node import PlannerNode


class ComputedValues:
    """Values now or later, and the plan for them."""

    _node: PlannerNode

    def materialize(self, segments: int | None = None) -> None:
        """Compute all rows now and keep them; every SArray and SFrame built on this one uses the result.

        Parameters
        ----------
        segments
            Number of row ranges to compute side by side; chosen by the engine when not given.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> prices = SArray([5, 3]) * 2
        >>> prices.materialize()
        >>> prices.is_materialized()
        True
        """
        materialize(self._node, MaterializeOptions(segments=segments, converts=True))

    def is_materialized(self) -> bool:
        """True when the rows have been computed.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> total = SArray([5, 3]) + 1
        >>> total.is_materialized(), list(total), total.is_materialized()
        (False, [6, 4], True)
        """
        return is_materialized(self._node)

    def __is_materialized__(self) -> bool:
        return self.is_materialized()

    def __has_size__(self) -> bool:
        return infer_planner_node_length(self._node) is not None

    def __get_content_identifier__(self) -> int:
        """A number for the values: the same for the same rows of the same files, and for the same values in memory; they are computed first.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> stars = SArray([5, 3])
        >>> stars.__get_content_identifier__() == stars[:].__get_content_identifier__()
        True
        """
        return content_identifier(self._node)

    def explain(self, stage: str | None = None, trace: bool = False, why: bool = False, verify: bool = False, analyze: bool = False) -> Explanation:
        """The plan as text and picture; see :meth:`SFrame.explain`.

        Parameters
        ----------
        stage, trace, why, verify, analyze
            As in :meth:`SFrame.explain`.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> print(SArray([3, 1, 2]).sort().explain("logical"))
        columns: c0=value
        r0 := memory_source[1 columns, rows 0..3]()  # (value int) x 3
        r1 := sort[c0 asc](r0)  # (value int) x 3
        """
        from sframe_spark.api.explain import explain_node

        return explain_node(self._node, ["value"], stage, trace, why, verify, analyze)

    def last_run(self) -> Explanation:
        """What ran when somebody last looked at the values; see :meth:`SFrame.last_run`.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> ordered = SArray([2, 1, 3]).sort()
        >>> ordered.materialize()
        >>> print(ordered.last_run())
        section 1 driver (memory_source, suffix_sort): 3 rows (24 bytes in memory), ... s: the result
        """
        from sframe_spark.api.explain import last_run

        return last_run(self._node)
