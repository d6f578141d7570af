"""Members of SFrame that put the rows of two frames side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from sframe_spark.api.class_registry import made_frame
from sframe_spark.api.column_names import FrameNames, unique_names
from sframe_spark.api.hints import as_in
from sframe_spark.api.key_matching import require_one_clock
from sframe_spark.api.node_values import recoded_column, row_count
from sframe_spark.api.sframe.columns import Columns
from sframe_spark.api.sframe.other_frames import other_frame
from sframe_spark.errors import (
    ColumnNotFoundError,
    InvalidArgumentError,
    SchemaError,
    TakenNameError,
    UnsupportedOperationError,
)
from sframe_spark.operators.joins.join import KINDS, join
from sframe_spark.operators.rowwise.arrange import column_of
from sframe_spark.operators.sources.memory_source import memory_source
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import ColumnType, common_encoding

if TYPE_CHECKING:
    from sframe_spark.api.sframe import SFrame

# Kinds of joins of Polars, pandas and Spark.
HOW_ELSEWHERE = {
    "semi": ": use sf.filter_by(other['a'], 'a')",
    "anti": ": use sf.filter_by(other['a'], 'a', exclude=True)",
    "full": ": use how='outer'",
    "cross": ": give both frames a column of one value, as sf['one'] = 1, and join by it",
    "asof": ": use sf.asof_join(other, on='a')",
}


class Joins(Columns):
    """Rows of two frames by equal keys."""

    @as_in("sf.join(other, on='a', how='left'), with on={'a': 'b'} for other names")
    def join(self, right: SFrame, on: Any = None, how: Literal["inner", "left", "right", "outer"] = "inner", alter_name: Any = None) -> SFrame:
        """Rows of both frames side by side where the key columns are equal (missing keys equal each other).

        Parameters
        ----------
        right
            The other frame, or a table of any library that ``SFrame(...)`` takes.
        on
            Names common to both frames (one, or a list), or a dict from left to right names; all common names when not given.
        how
            ``inner``, ``left``, ``right`` or ``outer``.
        alter_name
            New names for right columns whose name is taken: a dict. Names that are not taken stay.

        Returns
        -------
        SFrame
            Left rows in order, each with its matches in right order, then unmatched right rows (``right``: the other way round).

        Raises
        ------
        KeyError
            If a column of ``on`` or ``alter_name`` is not there.
        RuntimeError
            If there is no column to join by, the two are of other types and both frames have rows, or a new name is taken.
        TypeError
            If the other is no frame, or names are given in another form.
        ValueError
            If there is no such ``how``.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> orders = SFrame({"name": ["bob", "ann", "eve"], "price": [3, 5, 4]})
        >>> lands = SFrame({"name": ["ann", "bob"], "land": ["de", "fr"]})
        >>> orders.join(lands, on="name").to_arrow().to_pydict()
        {'name': ['bob', 'ann'], 'price': [3, 5], 'land': ['fr', 'de']}
        >>> orders.join(lands, on="name", how="left")["land"][2] is None
        True
        """
        right = other_frame(right, "join")
        if how not in KINDS:
            told = HOW_ELSEWHERE.get(how.replace("_", "").removeprefix("left").removesuffix("outer"), "") if isinstance(how, str) else ""
            raise InvalidArgumentError(f"how must be one of {', '.join(KINDS)}, got {how!r}{told}")
        pairs = self._join_keys(right, on)
        left_node, right_node, left_types = *_of_like_keys(self, right, pairs), self._node.schema
        for left_name, right_name in pairs:
            a, b = self._position(left_name), right._position(right_name)
            if left_node.schema[a].kind != right_node.schema[b].kind:
                raise UnsupportedOperationError(
                    f"cannot join {left_name!r} of type {left_node.schema[a].kind} with {right_name!r} of type {right_node.schema[b].kind}"
                )
            require_one_clock(column_of(left_node, a), column_of(right_node, b), f"on {left_name!r}", UnsupportedOperationError)
            common = common_encoding(left_node.schema[a], right_node.schema[b])
            left_node, right_node = recoded_column(left_node, a, common), recoded_column(right_node, b, common)
        left_keys = [self._position(name) for name, _ in pairs]
        right_keys = [right._position(name) for _, name in pairs]
        node = join(left_node, right_node, left_keys, right_keys, how)
        if left_node is not self._node and how in ("inner", "left") and row_count(self._node) == 0:
            # No row is left, and columns have the types of the left frame, as always.
            node = _no_rows([*left_types, *node.schema[len(left_types) :]])
        gone = {name for _, name in pairs}
        # As in the reference a key of another name may be given one more, though it is not there any more.
        unused = {name for left_name, name in pairs if name != left_name}
        altered = {key: new for key, new in alter_name.items() if key not in unused} if isinstance(alter_name, Mapping) else alter_name
        names = joined_names(self._names, [name for name in right._names if name not in gone], altered)
        return made_frame(node, names)

    def _join_keys(self, right: Columns, on: Any) -> list[tuple[str, str]]:
        if on is None:
            on = [name for name in self._names if name in right._names]
        if isinstance(on, str):
            on = [on]
        if isinstance(on, Mapping):
            pairs = list(on.items())
        elif isinstance(on, list):
            pairs = [(name, name) for name in on]
        else:
            raise SchemaError(f"on must be a name, a list of names or a dict of names, got {type(on).__name__}")
        if not pairs:
            raise UnsupportedOperationError("the frames have no column name in common: say with 'on' what to join by")
        if not all(isinstance(name, str) for pair in pairs for name in pair):
            raise SchemaError("join keys are given by column names")
        return pairs


def _of_like_keys(left: Columns, right: Columns, pairs: Sequence[tuple[str, str]]) -> tuple[PlannerNode, PlannerNode]:
    """Both frames; a frame without rows has the types of the other's keys, as its own mean nothing: those of an empty list are floats."""
    places = [(left._position(left_name), right._position(right_name)) for left_name, right_name in pairs]
    left_types, right_types = list(left._node.schema), list(right._node.schema)
    others = [(a, b) for a, b in places if left_types[a].kind != right_types[b].kind]
    if others and row_count(right._node) == 0:
        for a, b in others:
            right_types[b] = left_types[a]
        return left._node, _no_rows(right_types)
    if others and row_count(left._node) == 0:
        for a, b in others:
            left_types[a] = right_types[b]
        return _no_rows(left_types), right._node
    return left._node, right._node


def _no_rows(types: Sequence[ColumnType]) -> PlannerNode:
    """Columns without rows."""
    return memory_source([pa.nulls(0, kind.physical) for kind in types], list(types), 0)


def joined_names(left: Sequence[str], right: Sequence[str], alter_name: Any) -> list[str]:
    """Column names of a join; right names that are taken are renamed."""
    renamed = {} if alter_name is None else alter_name
    if not isinstance(renamed, Mapping) or not all(isinstance(name, str) for name in renamed.values()):
        raise SchemaError("alter_name is a dict from the name of a right column to its name in the result")
    for name in renamed:
        if name not in right:
            raise ColumnNotFoundError(name, right)
    left, right = FrameNames(left), FrameNames(right)
    taken = [new for new in renamed.values() if new in left or new in right]
    if taken:
        raise TakenNameError(f"alter_name gives names that the frames have already: {', '.join(taken)}")
    return unique_names([*left, *[renamed.get(name, name) if name in left else name for name in right]])
