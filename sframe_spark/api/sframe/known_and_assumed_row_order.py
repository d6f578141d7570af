"""Members of SFrame about the order of rows: which orders are known and why, and a promise by the user that rows are sorted."""

from __future__ import annotations

import itertools
from typing import cast

import attrs

from sframe_spark.api.aggregates.argument_types import SortKeys
from sframe_spark.api.class_registry import SFrame, make_frame
from sframe_spark.api.sframe.sort_group_append_filter_and_sample import Relational
from sframe_spark.engine.execution.changed_file_checks import require_unchanged_files
from sframe_spark.engine.execution.claimed_row_orders import find_claimed_orders
from sframe_spark.engine.execution.materialize_count_and_read_rows import materialize
from sframe_spark.engine.execution.order_breaks import find_break
from sframe_spark.engine.graph_lock import GRAPH_LOCK
from sframe_spark.errors import InvalidArgumentError
from sframe_spark.explain.sort_and_exchange_reasons import origin_of_order
from sframe_spark.message_text import visible
from sframe_spark.operators.sort_top_rows_and_assumed_order import assume_order
from sframe_spark.operators.user_function_calls_and_result_memos import calls_user_functions
from sframe_spark.order.properties import requirement
from sframe_spark.planner.length_and_order_inference import is_in_order, properties_of
from sframe_spark.planner.node import PlannerNode
from sframe_spark.rewrite_laws import optimize

Order = list[tuple[str, str]]


@attrs.frozen(eq=False, repr=False)
class OrderAnswer:
    """Whether the rows of a frame are known to be in some order, and why; usable as a Boolean.

    Parameters
    ----------
    known
        Whether the order is proved.
    reason
        If proved, where the proof comes from; else an example of two rows that would break the order without contradicting what is known.
    """

    known: bool
    reason: str

    def __bool__(self) -> bool:
        return self.known

    def __eq__(self, other: object) -> bool:
        return self.known == bool(other) if isinstance(other, (bool, OrderAnswer)) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.known)

    def __repr__(self) -> str:
        return visible(f"{self.known}: {self.reason}")


@attrs.frozen
class KnownOrder:
    """What is known about the order of a frame's rows.

    Parameters
    ----------
    orderings
        Lists of pairs (column, ``"asc"`` or ``"desc"``). The rows are sorted by each of these lists; missing values count as the smallest.
    constants
        Columns that have the same value in all rows.
    equal
        Groups of columns that are equal to each other in every row.
    keys
        Lists of columns; no two rows are equal in all columns of a list.
    reasons
        For each list in ``orderings``, how it is known.
    """

    orderings: list[Order]
    constants: list[str]
    equal: list[list[str]]
    keys: list[list[str]]
    reasons: list[str]

    def __str__(self) -> str:
        lines = [f"in order of {order_text(items)}: {reason}" for items, reason in zip(self.orderings, self.reasons, strict=True)]
        lines += [f"one value in {name}" for name in self.constants]
        lines += [f"equal in every row: {', '.join(group)}" for group in self.equal]
        lines += [f"no two rows with equal {', '.join(key)}" for key in self.keys]
        return visible("\n".join(lines), lines=True) if lines else "nothing is known of the order of the rows"


def order_text(items: Order) -> str:
    """Return an ordering as a phrase such as ``day, price (descending)``."""
    return ", ".join(name if direction == "asc" else f"{name} (descending)" for name, direction in items)


class RowOrder(Relational):
    """Mixin of SFrame: what is known about the order of rows."""

    def is_sorted(self, key_column_names: SortKeys, ascending: bool = True) -> OrderAnswer:
        """Return whether the rows are known to be sorted, without computing them.

        If statistics of external files suggest that they are sorted by the first column, that column is read once for verification.

        Parameters
        ----------
        key_column_names
            As in :meth:`sort`: a name, a list of names, or a list of (name, ascending) pairs.
        ascending
            Direction for names that are given without one.

        Returns
        -------
        OrderAnswer
            Usable as a Boolean, with the reason. False means that the order is not known; ``materialize()`` may find it.

        Raises
        ------
        ValueError
            If there is no such column.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> frame = SFrame({"day": [1, 1, 2], "price": [5.0, 4.0, 4.0]})
        >>> bool(frame.is_sorted("day")), bool(frame.is_sorted(["day", "price"]))
        (True, False)
        >>> print(frame.is_sorted("day"))
        True: found in the rows in memory, or proved before they were computed
        """
        by = self._order(key_column_names, ascending)
        plan = self._with_claimed_orders(by)
        if is_in_order(plan, by):
            return OrderAnswer(True, origin_of_order(plan, by))
        witness = properties_of(plan).order.witness(requirement(by))
        assert witness is not None
        return OrderAnswer(False, str(witness.named(dict(enumerate(self._names)))))

    def ordering(self) -> KnownOrder:
        """Return what is known about the order of the rows, and how it is known, without computing them.

        An order that statistics of external files suggest is included only after it was verified, for example by :meth:`is_sorted`.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> frame = SFrame({"price": [5.0, 4.0, 4.0], "day": [1, 2, 1]}).sort([("day", True), ("price", False)])
        >>> frame.ordering().orderings
        [[('day', 'asc'), ('price', 'desc')]]
        >>> print(frame.ordering())
        in order of day, price (descending): the rows are sorted so
        """
        require_unchanged_files(self._node)
        with GRAPH_LOCK:
            plan = optimize(self._node)
        order = properties_of(plan).order
        orderings: list[list[tuple[int, bool]]] = []
        for items in order.orderings:
            # Users see columns of the frame, not keys of the engine or expressions.
            of_columns = itertools.takewhile(lambda item: isinstance(item.column, int) and item.direction != "any", items)
            ordering = [(cast(int, item.column), item.direction == "asc") for item in of_columns]
            if ordering and ordering not in orderings and is_in_order(plan, ordering):
                orderings.append(ordering)
        return KnownOrder(
            [[(self._names[column], "asc" if up else "desc") for column, up in items] for items in orderings],
            [self._names[column] for column in order.constants if isinstance(column, int)],
            [[self._names[c] for c in group if isinstance(c, int)] for group in order.equivalences],
            [[self._names[c] for c in key if isinstance(c, int)] for key in order.keys if key and all(isinstance(c, int) for c in key)],
            [origin_of_order(plan, items) for items in orderings],
        )

    def assume_sorted(self, key_column_names: SortKeys, ascending: bool = True, verify: bool = True) -> SFrame:
        """Return the same rows as a frame that is known to be sorted.

        Parameters
        ----------
        key_column_names, ascending
            As in :meth:`sort`.
        verify
            Whether to materialize the frame and check all rows first, unless the order is already known. If it is False and the rows are not sorted,
            later results will be wrong.

        Raises
        ------
        ValueError
            If the rows are not sorted, or there is no such column.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> SFrame({"day": [1, 1, 2], "id": [4, 7, 5]}).assume_sorted(["day", "id"]).is_sorted(["day", "id"]).known
        True
        >>> SFrame({"day": [1, 3, 2]}).assume_sorted("day")
        Traceback (most recent call last):
            ...
        sframe_spark.errors.InvalidArgumentError: row 2 is out of order by day: 2 comes after 3. Sort the frame first: sort(['day'])
        """
        by = self._order(key_column_names, ascending)
        if verify:
            self._check_order(by)
        with GRAPH_LOCK:
            plan = optimize(self._node) if verify else self._node
            if calls_user_functions(plan):
                # The results of users' functions are stored in the nodes of this frame's own plan, so that plan is kept.
                return make_frame(assume_order(self._node, by), self._names)
            return make_frame(plan if verify and is_in_order(plan, by) else assume_order(plan, by), self._names)

    def _with_claimed_orders(self, by: list[tuple[int, bool]]) -> PlannerNode:
        """Return the optimized plan, after verifying the order that statistics of external files suggest for the first column of ``by``."""
        require_unchanged_files(self._node)
        find_claimed_orders(self._node, [position for position, _ in by[:1]])
        with GRAPH_LOCK:
            return optimize(self._node)

    def _check_order(self, by: list[tuple[int, bool]]) -> None:
        plan = self._with_claimed_orders(by)
        if is_in_order(plan, by):
            return
        materialize(self._node)
        with GRAPH_LOCK:
            plan = optimize(self._node)
        order_break = None if is_in_order(plan, by) else find_break(plan, by)
        if order_break is None:
            return
        row, values = order_break
        (position, up), (before, at) = next((key, pair) for key, pair in zip(by, values, strict=True) if not same(*pair))
        keys = [self._names[p] if direction else (self._names[p], False) for p, direction in by]
        column = f"{self._names[position]}{'' if up else ' (descending)'}"
        raise InvalidArgumentError(f"row {row} is out of order by {column}: {at!r} comes after {before!r}. Sort the frame first: sort({keys})")


def same(first: object, second: object) -> bool:
    """Return whether two values are equal or both NaN."""
    return first == second or (first != first and second != second)
