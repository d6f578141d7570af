"""Members of SFrame about the known order of its rows, why it is known, and promises about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from sframe_spark.api.class_registry import make_frame
from sframe_spark.api.sframe.relational import Relational
from sframe_spark.engine.execution.materialize import materialize
from sframe_spark.engine.execution.source_validation import find_break, find_claimed_orders, require_unchanged_files
from sframe_spark.engine.graph_lock import GRAPH_LOCK
from sframe_spark.errors import InvalidArgumentError
from sframe_spark.explain.order_reasons import origin_of_order
from sframe_spark.laws import optimize
from sframe_spark.message_text import visible
from sframe_spark.operators.sort import assume_order
from sframe_spark.operators.udf_calls import calls_user_functions
from sframe_spark.order.properties import requirement
from sframe_spark.planner.inference import is_in_order, properties_of
from sframe_spark.planner.node import PlannerNode

if TYPE_CHECKING:
    from sframe_spark.api.class_registry import SFrame

Order = list[tuple[str, str]]


@attrs.frozen(eq=False, repr=False)
class OrderAnswer:
    """Whether rows are known to be in an order, which is its truth value, and why.

    Parameters
    ----------
    known
        The rows are proved to be in the order.
    reason
        Where the proof comes from; or two rows that satisfy everything known of the frame but break the order.
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
    """What is known of the order of a frame's rows.

    Parameters
    ----------
    orderings
        Lists of (column, ``"asc"`` or ``"desc"``): the rows are in order of each, missing values being the smallest.
    constants
        Columns that hold one value.
    equal
        Groups of columns that are equal in every row.
    keys
        Lists of columns on which no two rows are equal.
    reasons
        For each ordering, how it is known.
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
    """Return columns and directions in words."""
    return ", ".join(name if direction == "asc" else f"{name} (descending)" for name, direction in items)


class RowOrder(Relational):
    """Known orders of rows."""

    def is_sorted(self, key_column_names: Any, ascending: bool = True) -> OrderAnswer:
        """Whether the rows are known to be in an order, without computing any of them.

        Of files of others that seem to be in that order the columns are read once, and compared.

        Parameters
        ----------
        key_column_names
            As in :meth:`sort`: a name, a list of names, or a list of (name, ascending) pairs.
        ascending
            Direction of names given without one.

        Returns
        -------
        OrderAnswer
            True or false, and why. False means that it is not known; what is not recorded yet becomes known by ``materialize()``.

        Raises
        ------
        ValueError
            If a column does not exist.

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
        """What is known of the order of the rows, without computing any of them, and where that comes from.

        An order that files of others seem to be in is known once their rows were compared, as :meth:`is_sorted` has them.

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
        known = properties_of(plan).order
        orderings: list[list[tuple[int, bool]]] = []
        for items in known.orderings:
            items_shown: list[tuple[int, bool]] = []
            for item in items:
                if not isinstance(item.column, int) or item.direction == "any":
                    break
                items_shown.append((item.column, item.direction == "asc"))
            if items_shown and items_shown not in orderings and is_in_order(plan, items_shown):
                orderings.append(items_shown)
        return KnownOrder(
            [[(self._names[column], "asc" if up else "desc") for column, up in items] for items in orderings],
            [self._names[column] for column in known.constants if isinstance(column, int)],
            [[self._names[c] for c in group if isinstance(c, int)] for group in known.equivalences],
            [[self._names[c] for c in key if isinstance(c, int)] for key in known.keys if key and all(isinstance(c, int) for c in key)],
            [origin_of_order(plan, items) for items in orderings],
        )

    def assume_sorted(self, key_column_names: Any, ascending: bool = True, verify: bool = True) -> SFrame:
        """The same rows, from now on known to be in an order.

        Parameters
        ----------
        key_column_names, ascending
            As in :meth:`sort`.
        verify
            Materialise the frame and check every row first, unless the order is known already. Without it a false promise makes later results
            wrong.

        Raises
        ------
        ValueError
            If a row is out of order, or a column does not exist.

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
                # The results of users' functions are stored in the nodes that call them.
                return make_frame(assume_order(self._node, by), self._names)
            return make_frame(plan if verify and is_in_order(plan, by) else assume_order(plan, by), self._names)

    def _with_claimed_orders(self, by: list[tuple[int, bool]]) -> PlannerNode:
        """Return the plan, after verifying orders that external files seem to be in."""
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
    """Return whether two values tie in an order."""
    return first == second or (first != first and second != second)
