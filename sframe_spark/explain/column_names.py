"""Names for the columns of plan nodes, which the planner knows only by position: those of users' frames, passed along the plan, for messages."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence

import attrs

from sframe_spark.engine.physical.column_lineage import origins_of
from sframe_spark.operators.sources.base_and_segment_source import Source
from sframe_spark.operators.sources.in_memory import MemorySource, RangeSource
from sframe_spark.operators.sources.segment_row_ranges import STORED_ROWS
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.optimizer import Trace
from sframe_spark.planner.printed_plans import quoted

Names = tuple[str | None, ...]
# A text, which stays unchanged, or a column as parameters of operators name it.
COLUMN_NUMBER = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|(?<![\w.])(?P<kind>[cv])(?P<number>\d+)\b""")


@attrs.define(eq=False)
class ColumnNames:
    """The known names of columns, by node.

    Parameters
    ----------
    known
        Names of the columns of each node, keyed by ``id(node)``; the caller must keep the nodes alive.

    Examples
    --------
    >>> from sframe_spark.operators.project_zip_arrange import project, zip_columns
    >>> from sframe_spark.operators.sources.in_memory import range_source
    >>> both = zip_columns(range_source(7, 3), range_source(5, 3))
    >>> names = ColumnNames.of_plan(project(both, [1]), ["speed"])
    >>> names.name(both, 1), names.name(both, 0), names.order(both, [(1, False)])
    ('speed', 'column 0 of the zip', 'speed (descending)')
    """

    known: dict[int, Names] = attrs.Factory(dict)
    # Names of stored columns, by the rows that sources share and the position in them.
    _stored: dict[tuple[Hashable, int], str] = attrs.Factory(dict)

    @classmethod
    def of_plan(cls, plan: PlannerNode, top: Sequence[str], trace: Trace | None = None, logical: PlannerNode | None = None) -> ColumnNames:
        """Return the names of columns: names of the result and of intermediate frames are passed down the plan, names of saved frames up.

        Parameters
        ----------
        plan
            The optimized plan.
        top
            The names of the plan's columns.
        trace
            The optimizer's trace, so that nodes that were replaced get names, too.
        logical
            The plan before optimization.
        """
        names = cls()
        firings = trace.firings if trace else []
        initial = [] if logical is None else [logical]
        for node in [plan, *initial]:
            names._propagate_down(node, tuple(top))
        # A law does not change the columns of the node that it rewrites.
        for firing in reversed(firings):
            names._propagate_down(firing.before, names.known.get(id(firing.after), ()))
        everything = [*(node for firing in firings for node in (firing.before, firing.after)), *initial, plan]
        names._propagate_user_names(everything)
        for firing in firings:
            names._propagate_down(firing.after, names.known.get(id(firing.before), ()))
        names._propagate_up(everything)
        return names

    def add(self, root: PlannerNode, top: Names) -> None:
        """Add the nodes of another plan, with the names of its columns as far as they are known."""
        self._propagate_down(root, top)
        self._propagate_up([root])

    def name(self, node: PlannerNode, position: int) -> str:
        """Return the name of a node's column, or a description of the column if it has none."""
        name = self.known_name(node, position)
        return f"column {position} of the {node.operator_type}" if name is None else name

    def order(self, node: PlannerNode, by: Iterable[tuple[int, bool]]) -> str:
        """Return an order of a node's rows in words; ``by`` has pairs of a column position and whether it ascends."""
        return ", ".join(self.name(node, position) + ("" if up else " (descending)") for position, up in by)

    def listed(self, node: PlannerNode, positions: Iterable[int]) -> str:
        """Return the names of some columns of a node, separated by commas."""
        return ", ".join(self.name(node, position) for position in positions)

    def _propagate_down(self, root: PlannerNode, names: Names) -> None:
        """Add names to the columns of a node, and to the columns below that they come from; known names are not replaced."""
        pending: list[tuple[PlannerNode, Names]] = [(root, names)]
        while pending:
            node, offered = pending.pop()
            if self._learn(node, offered):
                pending.extend(reversed(list(zip(node.inputs, self._names_below(node), strict=True))))

    def _propagate_user_names(self, roots: Iterable[PlannerNode]) -> None:
        """Add the names that users gave to columns of intermediate nodes, there and to the columns below; names that are known are not replaced."""
        # In this order, every node comes after all its readers, so one pass is enough. Names that are not new have been propagated before.
        changed: set[int] = set()
        for node in reversed(list(postorder(roots))):
            if self._learn(node, tuple(node.names or ())) or id(node) in changed:
                for child, names in zip(node.inputs, self._names_below(node), strict=True):
                    if self._learn(child, names):
                        changed.add(id(child))

    def _names_below(self, node: PlannerNode) -> list[Names]:
        """Return, for each input, the names of its columns that follow from the names of a node; None for other columns."""
        below: list[list[str | None]] = [[None] * child.facts.width for child in node.inputs]
        for origins, name in zip(origins_of(node), self.known[id(node)], strict=True):
            for slot, position in origins if name is not None else ():
                below[slot][position] = below[slot][position] or name
        return [tuple(names) for names in below]

    def _propagate_up(self, roots: Iterable[PlannerNode]) -> None:
        """Name the remaining columns after the saved frames that they come from, or after other uses of the same rows."""
        nodes = list(postorder(roots))
        stored = self._names_of_datasets(nodes)
        for node in nodes:
            if None not in self.known.get(id(node), (None,)):
                continue
            if node.operator.is_source:
                names = [stored.get((dataset_of(node), position)) for position in positions_of(node)]
            else:
                names = [self.known_name(node.inputs[origins[0][0]], origins[0][1]) if origins else None for origins in origins_of(node)]
            self._learn(node, tuple(names))
        for node in nodes:
            joining = node.operator.joining
            for (slot, position), (other_slot, other) in () if joining is None else joining.keys:
                # A join key without a name is named after the key that it is matched with.
                name = self.known_name(node.inputs[slot], position)
                if name is not None:
                    child = node.inputs[other_slot]
                    self._learn(child, tuple(f"key {name}" if column == other else None for column in range(child.facts.width)))

    def _names_of_datasets(self, nodes: Iterable[PlannerNode]) -> dict[tuple[Hashable, int], str]:
        """Return the names of stored columns: the name that a source's column has in the plan, else the name that was saved with the column."""
        names = self._stored
        sources = [node for node in nodes if node.operator.is_source]
        for node in sources:
            for position, name in zip(positions_of(node), self.known.get(id(node), ()), strict=False):
                if name is not None:
                    names.setdefault((dataset_of(node), position), name)
        for node in sources:
            operator = node.operator
            stored: Sequence[str] = ()
            if isinstance(operator, STORED_ROWS) and operator.manifest.names is not None:
                stored = operator.manifest.names
            elif isinstance(operator, Source):
                stored = operator.stored_names
            elif isinstance(operator, RangeSource) and (operator.start, operator.step) == (0, 1):
                stored = ("row number",)
            for position, name in enumerate(stored):
                names.setdefault((dataset_of(node), position), name)
        return names

    def in_parameters(self, node: PlannerNode, described: str) -> str:
        """Return the parameters of an operator with the names of its inputs' columns in place of their numbers.

        ``c2`` is a column of the only input, ``v2`` one of all inputs together. Columns without a name, and those of operators with several inputs,
        of which the text does not say which one it means, keep their numbers.

        Examples
        --------
        >>> from sframe_spark.operators.project_zip_arrange import zip_columns
        >>> from sframe_spark.operators.row_selection import slice_rows
        >>> from sframe_spark.operators.sources.in_memory import range_source
        >>> both = zip_columns(range_source(7, 3), range_source(5, 3))
        >>> names = ColumnNames({id(both): ("speed", "two words")})
        >>> names.in_parameters(slice_rows(both, 0, 2), "v2 := add(v0, v1); 'c0'; [c1 desc]")
        "v2 := add(speed, 'two words'); 'c0'; ['two words' desc]"
        """
        below = [self.known_name(child, position) for child in node.inputs for position in range(child.facts.width)]

        def named(match: re.Match[str]) -> str:
            kind, number = match["kind"], int(match["number"] or 0)
            is_known = kind is not None and number < len(below) and (kind == "v" or len(node.inputs) == 1)
            name = below[number] if is_known else None
            return match[0] if name is None else quoted(name)

        return COLUMN_NUMBER.sub(named, described)

    def known_name(self, node: PlannerNode, position: int) -> str | None:
        """Return the name of a node's column; None if it is unknown."""
        names = self.known.get(id(node), ())
        return names[position] if position < len(names) else None

    def _learn(self, node: PlannerNode, offered: Names) -> bool:
        """Add names to a node's columns that have none; return whether a name was added."""
        names = self.known.get(id(node))
        if names is not None and None not in names:
            return False
        before = (None,) * node.facts.width if names is None else names
        after = tuple(old or (offered[position] if position < len(offered) else None) for position, old in enumerate(before))
        self.known[id(node)] = after
        return after != before


def dataset_of(node: PlannerNode) -> Hashable:
    """Return an identity that all sources of the same stored rows share."""
    operator = node.operator
    if isinstance(operator, STORED_ROWS):
        return operator.manifest.identity
    if isinstance(operator, Source) and operator.watched is not None:
        return operator.watched.identity
    return ("memory", id(operator.data)) if isinstance(operator, MemorySource) else ("node", id(node))


def positions_of(node: PlannerNode) -> Sequence[int]:
    """Return the positions of a source's columns among those that are stored."""
    positions: Sequence[int] = getattr(node.operator, "positions", range(node.facts.width))
    return positions
