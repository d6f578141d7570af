"""Members of SFrame that select, add, rename and remove columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeVar

from sframe_spark import errors
from sframe_spark.api.class_registry import ClassRegistry, SFrame, make_frame
from sframe_spark.api.column_names import FrameNames, automatic_name, first_positions, require_name
from sframe_spark.api.error_hints import call_example, not_assignable
from sframe_spark.api.index_argument_checks import immutable_rows_error, is_row_index
from sframe_spark.api.interchange.dataframe_libraries import is_mask
from sframe_spark.api.node_value_conversion import equal_length, node_from_values, row_count
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.message_text import brief, text_for_message
from sframe_spark.operators.project_zip_arrange import all_columns, column_of, columns_alongside, columns_of, replace_column
from sframe_spark.operators.sources.in_memory import memory_source
from sframe_spark.planner.node import PlannerNode
from sframe_spark.values.plain_values import one_value
from sframe_spark.values.python_to_arrow import column_type_for

with lazy_imports(globals()):
    from sframe_spark.api.sarray import SArray
    from sframe_spark.operators.row_number import row_number


class Columns:
    """Mixin of SFrame: names, selection and assignment of columns. Nodes know columns only by position, not by name."""

    _node: PlannerNode
    _names: FrameNames

    def column_names(self) -> list[str]:
        """Return the names of the columns, in order.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> SFrame({"name": ["ann", "bob"], "stars": [5, 3]}).column_names()
        ['name', 'stars']
        """
        return list(self._names)

    def column_types(self) -> list[type]:
        """Return the classes of the columns' values, in order.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> SFrame({"name": ["ann", "bob"], "stars": [5, 3]}).column_types()
        [<class 'str'>, <class 'int'>]
        """
        return [column_type.python_class for column_type in self._node.schema] if self._names else []

    @property
    def dtype(self) -> list[type]:
        """The classes of the columns' values, in order.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> SFrame({"name": ["ann", "bob"], "stars": [5, 3]}).dtype
        [<class 'str'>, <class 'int'>]
        """
        return self.column_types()

    def num_columns(self) -> int:
        """Return the number of columns.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> SFrame({"name": ["ann", "bob"], "stars": [5, 3]}).num_columns()
        2
        """
        return len(self._names)

    def _position(self, name: Any, refusal: type[errors.ColumnNotFoundError] = errors.MissingColumnError, frame: str = "") -> int:
        """Return the position of a column; raise an error of the class ``refusal``, with the name of the frame, if there is no such column."""
        position = self._names.position(name)
        if position is None:
            raise refusal(name, self._names, frame)
        return position

    def _column(self, name: str) -> PlannerNode:
        """Return the node of a column; error messages use the column's name."""
        node = column_of(self._node, self._position(name))
        node.record_column_names((name,))
        return node

    def _with(self, node: PlannerNode, names: Sequence[str]) -> SFrame:
        self._node, self._names = node, names if isinstance(names, FrameNames) else FrameNames(names)
        node.record_column_names(self._names)
        return self  # type: ignore[return-value]

    def _empty(self) -> SFrame:
        """Return a frame without columns and rows."""
        return make_frame(memory_source([], [], 0), [])

    def __setattr__(self, name: str, value: Any) -> None:
        # Instances of users' subclasses may have any attributes.
        if not name.startswith("_") and type(self) is ClassRegistry.frame:
            raise not_assignable(name)
        super().__setattr__(name, value)

    def __contains__(self, name: object) -> bool:
        """Return whether there is a column of that name.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> "stars" in SFrame({"name": ["ann"], "stars": [5]})
        True
        """
        return name in self._names

    def select_column(self, column_name: str) -> SArray:
        """Return the column with the given name.

        Parameters
        ----------
        column_name
            Name of the column.

        Raises
        ------
        KeyError
            If there is no such column (the error is a RuntimeError too).
        TypeError
            If the name is not a string.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> list(SFrame({"name": ["ann", "bob"], "stars": [5, 3]}).select_column("stars"))
        [5, 3]
        """
        column = SArray(_node=self._column(require_name(column_name)))
        column._label = column_name
        return column

    @call_example("sf.select_columns(['a', 'b'])")
    def select_columns(self, column_names: Iterable[Any]) -> SFrame:
        """Return a frame of some columns: first those given by name, in that order, then those given by class, in the frame's order.

        Parameters
        ----------
        column_names
            A list of names of columns and classes of values, such as ``int`` or ``str``.

        Raises
        ------
        KeyError
            If there is no column with a name (the error is a RuntimeError too).
        TypeError
            If it is not a list of names and classes.
        ValueError
            If a name is given twice.

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
            raise errors.SchemaError(f"select_columns() takes a list of column names, as in sf[['a', 'b']], got {text_for_message(column_names)}")
        names: list[str] = []
        classes: list[type] = []
        for item in column_names:
            if isinstance(item, type):
                classes.append(column_type_for(item).python_class)
            elif isinstance(item, str):
                names.append(item)
            else:
                raise errors.SchemaError(
                    f"columns are chosen by name or class, got {text_for_message(item)}; rows by an int, a slice, or a mask,"
                    " as in sf[0]['a'], sf[2:5]['a'], sf[sf['a'] > 0]['a'] or sf[SArray([1, 0])]"
                )
        selected = {*names}
        names += [name for name, kind in zip(self._names, self.column_types(), strict=True) if kind in classes and name not in selected]
        if repeated := sorted(name for name, count in Counter(names).items() if count > 1):
            raise errors.InvalidArgumentError(f"columns are selected more than once: {', '.join(repeated)}")
        if not names:
            return self._empty()
        return make_frame(columns_of(self._node, [self._position(name) for name in names]), names)

    def __setitem__(self, key: Any, value: Any) -> None:
        """Assign a column: an SArray or other values, one per row, or one value for all rows. With a list of names, assign several columns.

        Parameters
        ----------
        key
            The name of a new column, which becomes the last one, or of a column that is replaced where it is; or a list of new names.
        value
            For a name: an SArray or other values, one for each row, or one value for all rows. For a list: a frame, or a list of columns.

        Raises
        ------
        RuntimeError
            If the numbers of rows differ, or a name of a list is taken.
        TypeError
            If the key is neither a name nor a list of names. Rows are not changed in place.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> sf = SFrame({"name": ["ann", "bob"], "stars": [5, 3]})
        >>> sf["half"] = sf["stars"] / 2
        >>> sf["kind"] = "user"
        >>> print(sf)
        +------+-------+------+------+
        | name | stars | half | kind |
        +------+-------+------+------+
        | ann  |   5   | 2.5  | user |
        | bob  |   3   | 1.5  | user |
        +------+-------+------+------+
        [2 rows x 4 columns]
        """
        if isinstance(key, list):
            if isinstance(value, Columns) and (used := [name for name in value._names if name in self._names]):
                advice = "the columns of a frame keep their own names when they are assigned: rename() them first"
                raise errors.TakenNameError(f"the frame already has columns with these names: {', '.join(used)}; {advice}")
            self.add_columns(value, key, inplace=True)
            return
        if not isinstance(key, str) and (is_row_index(key) or isinstance(key, (slice, SArray)) or is_mask(key)):
            raise errors.SchemaError(f"a column name must be a str, got {type(key).__name__}; {immutable_rows_error(_A_COLUMN)}")
        name = require_name(key) or automatic_name(self._names)
        self._assign(name, self._column_of(value, name))

    def _column_of(self, value: Any, name: str, first_rows: int = 0) -> SArray:
        """Return the column that is made of a value; a single value has ``first_rows`` rows if the frame has no columns."""
        if isinstance(value, SArray):
            return value
        if isinstance(value, (Columns, Mapping)):
            raise errors.SchemaError(f"a column must be an SArray, a sequence of values or one value, not {type(value).__name__}")
        value = one_value(value)
        if isinstance(value, str) or not hasattr(value, "__iter__"):
            return SArray.from_const(value, row_count(self._node) if self._names else first_rows)
        return SArray(_node=node_from_values(value, name=name))

    def _assign(self, name: str, column: SArray) -> None:
        position = self._names.position(name)
        if position is not None and len(self._names) == 1:
            self._with(column._node, self._names)
            return
        if not self._names:
            self._with(column._node, [name])
            return
        require_length(self._node, column._node, name)
        if position is not None:
            self._with(replace_column(self._node, position, column._node), self._names)
        else:
            self._with(columns_alongside(self._node, column._node), self._names.with_appended(str(name)))

    def add_column(self, data: Any, column_name: str = "", inplace: bool = False) -> SFrame:
        """Return a frame with one more column.

        Parameters
        ----------
        data
            An SArray or other values, one per row, or one value for all rows. In a frame without columns, one value makes one row.
        column_name
            Name of the new column; if not given, ``X`` and the number of the column.
        inplace
            Whether to change and return this frame instead of a new one.

        Raises
        ------
        RuntimeError
            If the frame already has a column of that name, or the number of values differs from that of the rows.
        TypeError
            If ``data`` cannot be a column, or the name is not a string.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> frame = SFrame({"name": ["ann", "bob"], "stars": [5, 3]})
        >>> frame.add_column(["de", "fr"], "land")[1]
        {'name': 'bob', 'stars': 3, 'land': 'fr'}
        """
        # In a frame without columns, one value makes one row here, but none in an assignment.
        column = self._column_of(data, require_name(column_name) or automatic_name(self._names), first_rows=1)
        name = free_name(column_name, self._names)
        frame = self if inplace else make_frame(self._node, self._names)
        frame._assign(name, column)
        return frame  # type: ignore[return-value]

    def add_columns(self, data: Any, column_names: Sequence[str] | None = None, inplace: bool = False) -> SFrame:
        """Return a frame with more columns.

        Parameters
        ----------
        data
            A list of SArrays, or a frame whose columns are added.
        column_names
            Names for the SArrays of a list; not used if ``data`` is a frame, whose columns keep their names.
        inplace
            Whether to change and return this frame instead of a new one.

        Raises
        ------
        RuntimeError
            If the frame already has a column with a name, or numbers of rows differ.
        TypeError
            If ``data`` is neither a frame nor a list of SArrays, or there is not one name for each SArray.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> frame = SFrame({"name": ["ann", "bob"], "stars": [5, 3]})
        >>> frame.add_columns(SFrame({"land": ["de", "fr"], "age": [7, 8]}))[1]
        {'name': 'bob', 'stars': 3, 'age': 8, 'land': 'fr'}
        """
        if isinstance(data, Columns):
            pairs = [(name, data.select_column(name)) for name in data.column_names()]
        else:
            if not hasattr(data, "__iter__") or not all(isinstance(item, SArray) for item in data):
                raise errors.SchemaError("add_columns() takes an SFrame, or a list of SArrays with a list of names")
            if column_names is None or isinstance(column_names, str) or not hasattr(column_names, "__iter__"):
                raise errors.SchemaError("add_columns() takes a list of SArrays with a list of as many names")
            requested_names = list(column_names)
            if len(requested_names) != len(data):
                raise errors.SchemaError(f"{len(data)} columns need as many names, got {len(requested_names)}")
            pairs = list(zip(requested_names, data, strict=True))
        nodes, names = [self._node] if self._names else [], dict.fromkeys(self._names)
        for requested, column in pairs:
            name = free_name(requested, names)
            if nodes:
                require_length(nodes[0], column._node, name)
            nodes.append(column._node)
            names[name] = None
        node, all_names = columns_alongside(*nodes) if nodes else self._node, FrameNames.of_strings(list(names))
        return self._with(node, all_names) if inplace else make_frame(node, all_names)

    def remove_column(self, column_name: str, inplace: bool = False) -> SFrame:
        """Return a frame without one of the columns.

        Parameters
        ----------
        column_name
            Name of the column to remove.
        inplace
            Whether to change and return this frame instead of a new one.

        Raises
        ------
        KeyError
            If there is no such column.
        TypeError
            If several names are given.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> frame = SFrame({"name": ["ann", "bob"], "stars": [5, 3]})
        >>> print(frame.remove_column("stars"))
        +------+
        | name |
        +------+
        | ann  |
        | bob  |
        +------+
        [2 rows x 1 columns]
        """
        # Callers may pass other classes than the annotations say.
        arguments: tuple[Any, Any] = (column_name, inplace)
        if isinstance(arguments[0], (list, tuple, set)) or isinstance(arguments[1], str):
            raise errors.SchemaError("remove_column() takes the name of one column: use remove_columns(['a', 'b']) for several")
        return self.remove_columns([str(column_name)], inplace)

    def remove_columns(self, column_names: Iterable[str], inplace: bool = False) -> SFrame:
        """Return a frame without some of the columns.

        Parameters
        ----------
        column_names
            Names of the columns to remove.
        inplace
            Whether to change and return this frame instead of a new one.

        Raises
        ------
        KeyError
            If there is no column with a name.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> print(SFrame({"id": [1], "name": ["ann"], "stars": [5]}).remove_columns(["id", "stars"]))
        +------+
        | name |
        +------+
        | ann  |
        +------+
        [1 rows x 1 columns]
        """
        try:
            positions = sorted(self._position(name, errors.ColumnNotFoundError) for name in dict.fromkeys(map(str, column_names)))
        except errors.ColumnNotFoundError as error:
            if isinstance(column_names, str):
                error.add_note(f"remove_columns takes a list of names, and each letter of a text is one: write remove_columns([{column_names!r}])")
            raise
        names = FrameNames.of_strings(without(self._names, positions))
        node = columns_of(self._node, without(all_columns(len(self._names)), positions)) if names else self._empty()._node
        return self._with(node, names) if inplace else make_frame(node, names)

    def __delitem__(self, key: Any) -> None:
        """Remove a column from this frame; frames and columns made of it before keep it.

        Parameters
        ----------
        key
            The name of the column.

        Raises
        ------
        KeyError
            If there is no such column.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> sf = SFrame({"name": ["ann", "bob"], "stars": [5, 3]})
        >>> del sf["name"]
        >>> sf.column_names()
        ['stars']
        """
        self.remove_column(key, inplace=True)

    @call_example("sf.rename({'old': 'new'})")
    def rename(self, names: Mapping[str, str], inplace: bool = False) -> SFrame:
        """Return a frame with some columns renamed.

        Parameters
        ----------
        names
            A dict from present names to new names. Names are changed one after the other.
        inplace
            Whether to change and return this frame instead of a new one.

        Raises
        ------
        KeyError
            If there is no column with a present name (the error is a ValueError too).
        ValueError
            If another column has the new name (the error is a RuntimeError too).
        TypeError
            If ``names`` is not a dict, or a new name is not a string.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> frame = SFrame({"name": ["ann", "bob"], "stars": [5, 3]})
        >>> frame.rename({"stars": "rating"})[0]
        {'name': 'ann', 'rating': 5}
        """
        if not isinstance(names, dict):
            raise errors.SchemaError(f"names must be a dict from the old name to the new one, as in {{'a': 'amount'}}, got {text_for_message(names)}")
        for name in names:
            self._position(name, errors.UnknownNameError)
        renamed, positions = list(self._names), first_positions(self._names)
        for old, new in names.items():
            if not isinstance(new, str):
                raise errors.SchemaError(f"a column name must be a str, got {brief(new)}")
            if new != old and new in positions:
                advice = f": columns are renamed one after the other, so rename {new!r} first" if new in names else ""
                raise errors.TakenNameError(f"cannot rename {old!r} to {new!r}: a column of that name already exists{advice}")
            positions[new] = positions.pop(old)
            renamed[positions[new]] = new
        return self._with(self._node, renamed) if inplace else make_frame(self._node, renamed)

    def swap_columns(self, column_name_1: str, column_name_2: str, inplace: bool = False) -> SFrame:
        """Return a frame in which two columns have changed places.

        Parameters
        ----------
        column_name_1, column_name_2
            Names of the two columns.
        inplace
            Whether to change and return this frame instead of a new one.

        Raises
        ------
        KeyError
            If there is no column with a name (the error is a ValueError too).

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> frame = SFrame({"name": ["ann", "bob"], "stars": [5, 3]})
        >>> frame.swap_columns("name", "stars")[0]
        {'stars': 5, 'name': 'ann'}
        """
        a, b = (self._position(name, errors.UnknownNameError) for name in (column_name_1, column_name_2))
        order = [*all_columns(len(self._names))]
        order[a], order[b] = b, a
        node, names = columns_of(self._node, order), FrameNames.of_strings([self._names[position] for position in order])
        return self._with(node, names) if inplace else make_frame(node, names)

    def add_row_number(self, column_name: str = "id", start: int = 0, inplace: bool = False) -> SFrame:
        """Return a frame with a new first column that numbers the rows.

        Parameters
        ----------
        column_name
            Name of the new column.
        start
            Number of the first row.
        inplace
            Whether to change and return this frame instead of a new one.

        Raises
        ------
        RuntimeError
            If the frame already has a column of that name.
        TypeError
            If the name is not a string, or ``start`` is not an int.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> frame = SFrame({"name": ["ann", "bob"], "stars": [5, 3]})
        >>> print(frame.add_row_number(start=1))
        +----+------+-------+
        | id | name | stars |
        +----+------+-------+
        | 1  | ann  |   5   |
        | 2  | bob  |   3   |
        +----+------+-------+
        [2 rows x 3 columns]
        """
        name = require_name(column_name) or automatic_name([])
        if not isinstance(start, int):
            raise errors.SchemaError(f"start must be an int, got {type(start).__name__}")
        if name in self._names:
            raise errors.TakenNameError(f"the frame already has a column {name!r}: choose another name")
        node = columns_alongside(row_number(self._node, start), self._node)
        names = [name, *self._names]
        return self._with(node, names) if inplace else make_frame(node, names)


Item = TypeVar("Item")
_A_COLUMN = "sf['a']"


def free_name(requested: Any, names: Collection[str]) -> str:
    """Return the name for a new column: the requested name, or an automatic one if that is empty.

    Raises
    ------
    SchemaError
        If the requested name is not a string.
    TakenNameError
        If there is already a column of that name.
    """
    name = str(require_name(requested)) or automatic_name(names)
    if name in names:
        raise errors.TakenNameError(f"the frame already has a column {name!r}: assign to it, or choose another name")
    return name


def require_length(frame: PlannerNode, column: PlannerNode, name: str) -> None:
    """Raise an error if a frame and a new column have different numbers of rows.

    Raises
    ------
    LengthMismatchError
        If the numbers of rows differ.
    """
    if not equal_length(frame, column):
        raise errors.LengthMismatchError(f"column {name!r} has {row_count(column)} rows, the frame has {row_count(frame)}: they must be equal")


def without(items: Sequence[Item], positions: Sequence[int]) -> list[Item]:
    """Return the items without those at the given positions, which must be ascending.

    Examples
    --------
    >>> without("abcd", [1, 3])
    ['a', 'c']
    """
    remaining: list[Item] = []
    for start, stop in pairwise([-1, *positions, len(items)]):
        remaining.extend(items[start + 1 : stop])
    return remaining
