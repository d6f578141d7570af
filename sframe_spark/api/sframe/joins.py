"""Members of SFrame that join frames by equal keys, or merge the rows of sorted frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pyarrow as pa

from sframe_spark.api.class_registry import SFrame, make_frame
from sframe_spark.api.column_names import FrameNames, unique_names
from sframe_spark.api.error_hints import call_example
from sframe_spark.api.node_value_conversion import recoded_column, row_count
from sframe_spark.api.sframe.columns import Columns, without
from sframe_spark.api.sframe.construction import other_frame
from sframe_spark.api.sframe.sort_group_append_filter_and_sample import Relational
from sframe_spark.errors import ColumnNotFoundError, InvalidArgumentError, SchemaError, TakenNameError, UnsupportedOperationError
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.operators.joins.equi_join import KINDS
from sframe_spark.operators.project_zip_arrange import column_of
from sframe_spark.operators.sources.in_memory import memory_source
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import ColumnType, common_encoding

with lazy_imports(globals()):
    from sframe_spark.api.aggregates.argument_types import NamesOfBoth, SortKeys
    from sframe_spark.api.utc_offset_checks import require_comparable_offsets
    from sframe_spark.operators.joins import union_of_sorted_inputs
    from sframe_spark.operators.joins.equi_join import join
    from sframe_spark.operators.joins.union_of_sorted_inputs import merge_sorted, unsorted_message
    from sframe_spark.operators.lookup.nearest_key_search import first_row_out_of_order

# Advice for kinds of joins that Polars, pandas or Spark have and that are written differently here.
JOINS_OF_OTHER_LIBRARIES = {
    "semi": ": use sf.filter_by(other['a'], 'a')",
    "anti": ": use sf.filter_by(other['a'], 'a', exclude=True)",
    "full": ": use how='outer'",
    "cross": ": give both frames a column of one value, as sf['one'] = 1, and join by it",
    "asof": ": use sf.asof_join(other, on='a')",
}


def _join_named(how: Any) -> str:
    """Return advice for a kind of join that other libraries have, such as ``left_outer``; else an empty string.

    Examples
    --------
    >>> _join_named("left_outer"), _join_named("full_outer"), _join_named("sideways")
    (": use how='left'", ": use how='outer'", '')
    """
    if not isinstance(how, str):
        return ""
    words = how.lower().replace("_", " ").split()
    joined = "".join(words)
    if joined in ("leftouter", "rightouter"):
        return f": use how={joined.removesuffix('outer')!r}"
    return JOINS_OF_OTHER_LIBRARIES.get(joined.removeprefix("left").removesuffix("outer"), "")


class Joins(Relational):
    """Mixin of SFrame: joins by equal keys, and merges of sorted rows."""

    @call_example("sf.join(other, on='a', how='left'), with on={'a': 'b'} for other names")
    def join(
        self,
        right: SFrame,
        on: NamesOfBoth | None = None,
        how: Literal["inner", "left", "right", "outer"] = "inner",
        alter_name: Mapping[str, str] | None = None,
    ) -> SFrame:
        """Return the rows of both frames side by side where their keys are equal; missing keys are equal to each other.

        Parameters
        ----------
        right
            The other frame, or a table that ``SFrame(...)`` accepts.
        on
            One name or a list of names of columns in both frames, or a dict from left to right names; None: all names that both frames have.
        how
            ``inner``: only rows with a match; ``left``, ``right``, ``outer``: also rows without a match of the left frame, the right frame, or both.
        alter_name
            A dict with new names for columns of the right frame; used only for names that the left frame also has.

        Returns
        -------
        SFrame
            The left rows in order, each with its matches in the right frame's order, then right rows without a match. With ``how="right"``, the right
            rows in order, each with its matches in the left frame.

        Raises
        ------
        KeyError
            If a column in ``on`` or ``alter_name`` does not exist.
        RuntimeError
            If there is no column to join by, key columns have different types and both frames have rows, or a new name is already in use.
        TypeError
            If ``right`` is not a table, or names are given in another form.
        ValueError
            If ``how`` is unknown.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> orders = SFrame({"name": ["bob", "ann", "eve"], "price": [3, 5, 4]})
        >>> lands = SFrame({"name": ["ann", "bob"], "land": ["de", "fr"]})
        >>> print(orders.join(lands, on="name"))
        +------+-------+------+
        | name | price | land |
        +------+-------+------+
        | bob  |   3   |  fr  |
        | ann  |   5   |  de  |
        +------+-------+------+
        [2 rows x 3 columns]
        >>> orders.join(lands, on="name", how="left")["land"][2] is None
        True
        """
        right = other_frame(right, "join")
        if how not in KINDS:
            raise InvalidArgumentError(f"how must be one of {', '.join(KINDS)}, got {how!r}{_join_named(how)}")
        pairs = self._join_keys(right, on)
        keys = [(self._position(left_name), right._position(right_name, frame="the other frame")) for left_name, right_name in pairs]
        left_node, right_node, left_types = *with_like_keys(self._node, right._node, keys), self._node.schema
        for (left_name, right_name), (a, b) in zip(pairs, keys, strict=True):
            if left_node.schema[a].kind != right_node.schema[b].kind:
                raise UnsupportedOperationError(
                    f"cannot join {left_name!r} of type {left_node.schema[a].kind} with {right_name!r} of type {right_node.schema[b].kind}:"
                    f" convert one, as in other[{right_name!r}] = other[{right_name!r}].astype({left_node.schema[a].kind})"
                )
            require_comparable_offsets(column_of(left_node, a), column_of(right_node, b), f"on {left_name!r}", UnsupportedOperationError)
            common = common_encoding(left_node.schema[a], right_node.schema[b])
            left_node, right_node = recoded_column(left_node, a, common), recoded_column(right_node, b, common)
        node = join(left_node, right_node, [a for a, _ in keys], [b for _, b in keys], how)
        if left_node is not self._node and how in ("inner", "left") and row_count(self._node) == 0:
            # The left frame has no rows, so the columns keep the left frame's types.
            node = _without_rows([*left_types, *node.schema[len(left_types) :]], {})
        # As in Turi Create, new names for right key columns are allowed, though the result does not contain these columns.
        unused = {name for left_name, name in pairs if name != left_name}
        altered = {key: new for key, new in alter_name.items() if key not in unused} if isinstance(alter_name, Mapping) else alter_name
        others = without(right._names, sorted(b for _, b in keys))
        return make_frame(node, joined_names(self._names, others, altered))

    def _join_keys(self, right: Columns, on: Any) -> list[tuple[str, str]]:
        names = [name for name in self._names if name in right._names] if on is None else [on] if isinstance(on, str) else on
        if not isinstance(names, (Mapping, list)):
            raise SchemaError(f"on must be a name, a list of names or a dict of names, got {type(on).__name__}")
        pairs = list(names.items()) if isinstance(names, Mapping) else [(name, name) for name in names]
        if not pairs:
            raise UnsupportedOperationError("the frames have no column name in common: name the keys with on=")
        if not all(isinstance(name, str) for pair in pairs for name in pair):
            raise SchemaError("join keys must be column names")
        return pairs

    def merge_sorted(self, other: SFrame, on: SortKeys, ascending: bool = True) -> SFrame:
        """Return the rows of two sorted frames merged in the order of their keys; of rows with equal keys, those of this frame come first.

        Parameters
        ----------
        other
            A frame with the same columns, which may be in another order.
        on
            The keys, as for :meth:`sort`: a name, a list of names, or a list of (name, ascending) pairs. Both frames must be sorted as :meth:`sort`
            does: ascending with missing values first and NaN last, descending the reverse.
        ascending
            Direction for names that are given without one.

        Raises
        ------
        KeyError
            If there is no such column.
        TypeError
            If the values of a column have no order, or the keys are given in another form.
        RuntimeError
            If the frames have different columns.
        ValueError
            If a frame is not sorted; raised immediately if that is known, else when an unsorted row is read.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> old, new = SFrame({"t": [1, 3, 5]}), SFrame({"t": [2, 3]})
        >>> list(old.merge_sorted(new, on="t")["t"])
        [1, 2, 3, 3, 5]
        """
        other = other_frame(other, "merge_sorted")
        by = self._order(on, ascending)
        columns = [self._names[position] for position, _ in by]
        both = self._with_same_columns(other)
        for side, node in zip(union_of_sorted_inputs.SIDES, both, strict=True):
            row = first_row_out_of_order(node, *by[0])
            if row is not None:
                raise InvalidArgumentError(unsorted_message(columns, [up for _, up in by], side, row))
        return make_frame(merge_sorted(*both, by, columns), self._names)


def with_like_keys(left: PlannerNode, right: PlannerNode, keys: Sequence[tuple[int, int]]) -> tuple[PlannerNode, PlannerNode]:
    """Return both nodes. If one has no rows, its key columns take the other's types, because an empty list gives a column of floats."""
    different = [(a, b) for a, b in keys if left.schema[a].kind != right.schema[b].kind]
    if different and row_count(right) == 0:
        return left, _without_rows(right.schema, {b: left.schema[a] for a, b in different})
    if different and row_count(left) == 0:
        return _without_rows(left.schema, {a: right.schema[b] for a, b in different}), right
    return left, right


def _without_rows(schema: Sequence[ColumnType], replaced: Mapping[int, ColumnType]) -> PlannerNode:
    """Return a source without rows, with columns of the given types; some of them are replaced, given by position."""
    types = [replaced.get(position, column_type) for position, column_type in enumerate(schema)]
    return memory_source([pa.nulls(0, column_type.physical) for column_type in types], types, 0)


def joined_names(left: Sequence[str], right: Sequence[str], alter_name: Any) -> list[str]:
    """Return the column names of a join: the left names, then the right names, which are changed if the left frame has them."""
    renamed = {} if alter_name is None else alter_name
    if not isinstance(renamed, Mapping) or not all(isinstance(name, str) for name in renamed.values()):
        raise SchemaError("alter_name must be a dict from the name of a right column to its name in the result")
    for name in renamed:
        if name not in right:
            raise ColumnNotFoundError(name, right)
    left, right = FrameNames(left), FrameNames(right)
    used = [new for new in renamed.values() if new in left or new in right]
    if used:
        raise TakenNameError(f"alter_name contains names that the frames already have: {', '.join(used)}")
    return unique_names([*left, *[renamed.get(name, name) if name in left else name for name in right]])


def name_pairs(names: Any, what: str) -> list[tuple[str, str]]:
    """Return pairs of a left and a right column name, given one name, a list of names or a dict.

    Raises
    ------
    SchemaError
        If the names are given in another form.

    Examples
    --------
    >>> name_pairs("time", "on"), name_pairs({"a": "b"}, "by")
    ([('time', 'time')], [('a', 'b')])
    """
    if isinstance(names, str):
        return [(names, names)]
    pairs = list(names.items()) if isinstance(names, Mapping) else [(name, name) for name in names] if isinstance(names, (list, tuple)) else None
    if pairs is None or not all(isinstance(name, str) for pair in pairs for name in pair):
        raise SchemaError(f"{what} must be a column name, a list of names or a dict from left to right names, got {names!r}")
    return pairs
