"""Columns of an SFrame: their names, classes and values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from sframe_spark.api.class_registry import Faces, made_frame
from sframe_spark.api.column_names import FrameNames
from sframe_spark.api.hints import as_in
from sframe_spark.api.sarray import SArray
from sframe_spark.errors import (
    InvalidArgumentError,
    MissingColumnError,
    NoAttributeError,
    SchemaError,
)
from sframe_spark.operators.rowwise.arrange import column_of, columns_of
from sframe_spark.operators.sources.memory_source import memory_source
from sframe_spark.values.infer import column_type_for
from sframe_spark.visible import brief

if TYPE_CHECKING:
    from sframe_spark.api.sframe import SFrame
    from sframe_spark.planner.node import PlannerNode


class Columns:
    """Members about the columns of a frame. Positions are the engine's; names live here."""

    _node: PlannerNode
    _names: FrameNames

    def column_names(self) -> list[str]:
        """Names of the columns, in order.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> SFrame({"name": ["ann", "bob"], "stars": [5, 3]}).column_names()
        ['name', 'stars']
        """
        return list(self._names)

    def column_types(self) -> list[type]:
        """Classes of the columns' values, in order.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> SFrame({"name": ["ann", "bob"], "stars": [5, 3]}).column_types()
        [<class 'str'>, <class 'int'>]
        """
        return [column_type.python_class for column_type in self._node.schema] if self._names else []

    @property
    def dtype(self) -> list[type]:
        """Classes of the columns' values, in order.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> SFrame({"name": ["ann", "bob"], "stars": [5, 3]}).dtype
        [<class 'str'>, <class 'int'>]
        """
        return self.column_types()

    def num_columns(self) -> int:
        """Number of columns.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> SFrame({"name": ["ann", "bob"], "stars": [5, 3]}).num_columns()
        2
        """
        return len(self._names)

    def _position(self, name: Any) -> int:
        place = self._names.place(name)
        if place is None:
            raise MissingColumnError(name, self._names)
        return place

    def _column(self, name: str) -> PlannerNode:
        """The node of a column, which messages call by its name."""
        node = column_of(self._node, self._position(name))
        node.call_columns((name,))
        return node

    def _with(self, node: PlannerNode, names: Sequence[str]) -> SFrame:
        self._node, self._names = node, names if isinstance(names, FrameNames) else FrameNames(names)
        node.call_columns(self._names)
        return self  # type: ignore[return-value]

    def _empty(self) -> SFrame:
        """A frame without columns and rows."""
        return made_frame(memory_source([], [], 0), [])

    def __setattr__(self, name: str, value: Any) -> None:
        # A class of a user's has attributes as it likes.
        if not name.startswith("_") and type(self) is Faces.frame:
            raise NoAttributeError(f"columns are assigned by name: sf[{name!r}] = ...")
        super().__setattr__(name, value)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def select_column(self, column_name: str) -> SArray:
        """The column of a name, as an SArray.

        Parameters
        ----------
        column_name
            The name.

        Raises
        ------
        KeyError
            If there is none (the error is a RuntimeError too).

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> list(SFrame({"name": ["ann", "bob"], "stars": [5, 3]}).select_column("stars"))
        [5, 3]
        """
        if not isinstance(column_name, str):
            raise SchemaError(f"a column name is a str, got {type(column_name).__name__}")
        return SArray(_node=self._column(column_name))

    @as_in("sf.select_columns(['a', 'b'])")
    def select_columns(self, column_names: Iterable[Any]) -> SFrame:
        """A frame of some columns: those given by name, then, in the frame's order, those given by the class of their values.

        Parameters
        ----------
        column_names
            Names of columns, and classes of values (``int``, ``str`` ...), in any order.

        Raises
        ------
        KeyError
            If one of them is not there (the error is a RuntimeError too).
        TypeError
            If it is no list of names and classes.
        ValueError
            If a column is chosen twice.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> frame = SFrame({"id": [1, 2], "name": ["ann", "bob"], "stars": [5, 3]})
        >>> frame.select_columns(["name", "id"]).column_names()
        ['name', 'id']
        >>> frame.select_columns(["name", int]).column_names()
        ['name', 'id', 'stars']
        """
        if isinstance(column_names, str) or not hasattr(column_names, "__iter__"):
            raise SchemaError("select_columns takes a list of column names")
        chosen: list[str] = []
        classes: list[type] = []
        for item in column_names:
            if isinstance(item, type):
                classes.append(column_type_for(item).python_class)
            elif isinstance(item, str):
                chosen.append(item)
            else:
                raise SchemaError(f"columns are chosen by name or class, got {brief(item)}; rows by an int, a slice, an SArray or a boolean array")
        kinds = zip(self._names, self.column_types(), strict=True)
        given = {*chosen}
        chosen += [name for name, kind in kinds if kind in classes and name not in given]
        repeated = sorted(name for name, count in Counter(chosen).items() if count > 1)
        if repeated:
            raise InvalidArgumentError(f"columns chosen more than once: {', '.join(repeated)}")
        if not chosen:
            return self._empty()
        return made_frame(columns_of(self._node, [self._position(name) for name in chosen]), chosen)
