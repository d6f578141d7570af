"""Each law about order on and off, in one process: ``python -m benchmarks.laws [--rows N] [--only NAME] [--runs N]``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from benchmarks.ordered import Data, run_cases
from sframe_spark import SFrame, aggregate, config
from sframe_spark.planner.law import Law
from sframe_spark.rewrite_laws.aggregation import reduce_from_statistics
from sframe_spark.rewrite_laws.group_join_and_sort_algorithms import group_by_of_sorted, join_of_sorted
from sframe_spark.rewrite_laws.pruning_by_recorded_bounds import filter_by_recorded_bounds
from sframe_spark.rewrite_laws.sort_elimination import sort_of_sorted, top_of_sorted


@attrs.frozen
class Case:
    """A program and the laws that make it fast; ``target`` is the greatest share of the time that it takes without them."""

    name: str
    target: float
    program: Callable[[Data], Any]
    laws: tuple[Law, ...]

    def ours(self, data: Data) -> Any:
        """With all laws."""
        return computed(self.program(data))

    def by_hand(self, data: Data) -> Any:
        """Without these."""
        with config.using(disabled_laws=frozenset(rule.equation for rule in self.laws)):
            return computed(self.program(data))


def computed(result: Any) -> Any:
    """The result with all rows computed."""
    if isinstance(result, SFrame):
        result.materialize()
    return result


def percent(data: Data) -> SFrame:
    """The rows of one percent of the time, from the middle."""
    span = data.events["time"].max() // 100
    return data.events[(data.events["time"] >= 50 * span) & (data.events["time"] < 51 * span)]


def looked_at_again(data: Data) -> SFrame:
    """One more column, and the rows in the order of time, in which they are."""
    frame = data.events.copy()
    frame["twice"] = frame["value"] * 2
    return frame.sort("time")


CASES = [
    Case("sort left out", 0.1, looked_at_again, (sort_of_sorted, top_of_sorted)),
    Case("head of a sort", 0.1, lambda data: data.events.sort("time").head(10), (sort_of_sorted, top_of_sorted)),
    Case("group-by on a sorted prefix", 0.5, lambda data: data.events.groupby("time", {"s": aggregate.SUM("value")}), (group_by_of_sorted,)),
    Case("range of a sorted column", 0.2, percent, (filter_by_recorded_bounds,)),
    Case("join of sorted frames", 1.0, lambda data: data.events.join(data.quotes[["time", "value"]], on="time"), (join_of_sorted,)),
    Case("maximum as recorded", 0.1, lambda data: data.events["time"].max(), (reduce_from_statistics,)),
]


if __name__ == "__main__":
    run_cases(__doc__ or "", CASES, "with and without the law")
