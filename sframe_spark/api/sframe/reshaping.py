"""Members of SFrame that pack columns into one or unpack a column into several, and that stack items into rows or unstack rows into items."""

from __future__ import annotations

import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sframe_spark import errors
from sframe_spark.api import aggregate
from sframe_spark.api.aggregates.argument_types import ColumnClass, Names
from sframe_spark.api.class_registry import SFrame, make_array, make_frame
from sframe_spark.api.column_names import automatic_name, name_list, with_automatic_names
from sframe_spark.api.node_value_conversion import preview_values
from sframe_spark.api.sframe.columns import without
from sframe_spark.api.sframe.sort_group_append_filter_and_sample import Relational
from sframe_spark.api.unpacked_columns import names_for_new_columns
from sframe_spark.api.user_functions import type_for_any_items
from sframe_spark.expressions.functions.column_packing import value_parameter
from sframe_spark.expressions.scalar_function_program import Program, Register, Step
from sframe_spark.message_text import brief
from sframe_spark.operators.elementwise import apply_function, apply_program
from sframe_spark.operators.explode import explode, natural_types
from sframe_spark.operators.project_zip_arrange import column_of, columns_alongside, columns_of, zip_columns
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import ARRAY_KIND, DICT_KIND, FLOAT, LIST_KIND, ColumnType
from sframe_spark.values.plain_values import is_number, one_value
from sframe_spark.values.python_to_arrow import column_type_for, infer_type, is_type
from sframe_spark.values.single_value_conversion import becomes

# Rows from which the types of items are inferred.
SAMPLE = 100
# What columns are packed into, and the names of the functions that do so, by the kind of their result.
_PACKED = (list, dict, array.array, "list", "dict", "array")
_PACK_FUNCTIONS = {LIST_KIND: "pack_list", ARRAY_KIND: "pack_array", DICT_KIND: "pack_dict"}


class Reshaping(Relational):
    """Mixin of SFrame: packing and unpacking of columns, stacking and unstacking of rows."""

    def stack(
        self,
        column_name: str,
        new_column_name: Names | None = None,
        drop_na: bool = False,
        new_column_type: ColumnClass | Sequence[ColumnClass] | None = None,
    ) -> SFrame:
        """Return a frame with one row for each item of a column of lists, arrays or dicts; the values of the other columns are repeated.

        Parameters
        ----------
        column_name
            Name of the column. Its items become the last column; for dicts, keys and values become the last two.
        new_column_name
            Name of the new column, or a list of two names for dicts; if not given, automatic names such as ``X2``.
        drop_na
            Whether rows without items are left out; otherwise each becomes one row with missing items.
        new_column_type
            Class of the items, or a list of two classes for dicts; if not given, inferred (for items of mixed types from the first rows).

        Raises
        ------
        ValueError
            If there is no such column, another column has a new name, or not two classes are given for dicts.
        TypeError
            If the column does not hold lists, arrays or dicts, or names or classes are given in another form.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> sf = SFrame({"id": [1, 2], "words": [["a", "b"], []]})
        >>> list(sf.stack("words", "word")["word"]), len(sf.stack("words", drop_na=True))
        (['a', 'b', None], 2)
        """
        position = self._position(column_name, errors.UnknownNameError)
        column_type = self._node.schema[position]
        if column_type.kind not in _PACK_FUNCTIONS:
            raise errors.SchemaError(f"column {column_name!r} holds values of {column_type.kind}, but stack() takes lists, arrays and dicts")
        width = 2 if column_type.kind == DICT_KIND else 1
        other_names = without(self._names, [position])
        names = new_names(other_names, new_column_name, width)
        requested = new_types(new_column_type, width)
        types = natural_types(column_type) or tuple(requested or self._types_of_items(position, width))
        node = explode(self._node, position, types, not drop_na)
        return make_frame(converted_items(node, len(other_names), types, requested), names)

    def unstack(self, column_names: Names, new_column_name: str | None = None) -> SFrame:
        """Return one row for each distinct combination of the other columns, with the values of one column as a list, or of two columns as a dict.

        Parameters
        ----------
        column_names
            Name of the column whose values become lists; or a list of two names, for the keys and values of dicts. Missing values are left out of
            lists, and rows with a missing key out of dicts. If a key occurs several times, its first value is used.
        new_column_name
            Name of the new column, which comes last; if not given, ``List of ...`` or ``Dict of ...``.

        Raises
        ------
        KeyError
            If there is no such column.
        TypeError
            If names are given in another form, or keys are neither strings nor numbers.
        RuntimeError
            If another column has the new name.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> sf = SFrame({"user": [1, 1, 2], "item": ["x", "y", "x"], "stars": [4, 5, 3]})
        >>> list(sf.unstack(["item", "stars"], "ratings")["ratings"])
        [{'x': 4, 'y': 5}, {'x': 3}]
        """
        names = unstacked_names(column_names)
        for name in names:
            self._position(name, errors.ColumnNotFoundError)
        _require_optional_string("new_column_name", new_column_name)
        other_names = [name for name in self._names if name not in names]
        concat = aggregate.CONCAT(*names)
        return make_frame(self._node, self._names).groupby(other_names, {new_column_name or concat.label: concat})

    def _types_of_items(self, position: int, width: int) -> tuple[ColumnType, ...]:
        """Return the types of the items, or of keys and values, inferred from the first rows; float if they have no items."""
        cells = [cell for cell in preview_values(column_of(self._node, position), SAMPLE)[0] if cell is not None]
        samples: list[list[Any]] = [[item for cell in cells for item in cell]]
        if width == 2:
            samples.append([value for cell in cells for value in cell.values()])
        return tuple(self._type_of_items(position, sample) for sample in samples)

    def _type_of_items(self, position: int, sample: Sequence[Any]) -> ColumnType:
        try:
            return type_for_any_items(infer_type(sample, of_rows=False)) if any(item is not None for item in sample) else FLOAT
        except errors.MixedTypesError as error:
            message = f"column {self._names[position]!r}: its items become a column, but {error}"
            raise errors.MixedTypesError(f"{message}; pass new_column_type to stack(), for example str") from None

    def unpack(
        self,
        column_name: str | None = None,
        column_name_prefix: str | None = None,
        column_types: Sequence[ColumnClass] | Mapping[str, ColumnClass] | None = None,
        na_value: Any = None,
        limit: Sequence[Any] | None = None,
    ) -> SFrame:
        """Return a frame in which a column of lists, arrays or dicts is replaced by one column for each index or key.

        Parameters
        ----------
        column_name
            Name of the column; may be left out if only one column holds such values.
        column_name_prefix
            Beginning of the new names, before a dot; if not given, the column's name; empty: no prefix.
        column_types, na_value, limit
            As in :meth:`SArray.unpack`.

        Raises
        ------
        KeyError
            If there is no such column.
        TypeError
            If the column does not hold lists, arrays or dicts, or an argument has another form.
        ValueError
            If ``limit`` contains something twice, or has another number of items than ``column_types``.
        RuntimeError
            If no name is given and not exactly one column holds such values, or no row has an item.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> sf = SFrame({"id": [1, 2], "words": [{"a": 3}, {"b": 4}]})
        >>> sf.unpack("words")[0]
        {'id': 1, 'words.a': 3, 'words.b': None}
        """
        position = self._only_packed() if column_name is None else self._named_position(column_name)
        prefix = (column_name or "") if column_name_prefix is None else column_name_prefix
        column = make_array(column_of(self._node, position))
        return self._with_parts(position, column.unpack(prefix, column_types, na_value, limit))

    def split_datetime(
        self, column_name: str, column_name_prefix: str | None = None, limit: Sequence[str] | None = None, timezone: bool = False
    ) -> SFrame:
        """Return a frame in which a column of date-times is replaced by one column for each of their parts, such as the year.

        Parameters
        ----------
        column_name
            Name of the column.
        column_name_prefix
            Beginning of the new names, before a dot; if not given, the column's name; empty: no prefix.
        limit, timezone
            As in :meth:`SArray.split_datetime`.

        Raises
        ------
        KeyError
            If there is no such column.
        TypeError
            If the column does not hold date-times, or an argument has another form.
        ValueError
            If ``limit`` contains an unknown part, or a part twice.

        Examples
        --------
        >>> from datetime import datetime
        >>> from sframe_spark import SFrame
        >>> SFrame({"id": [1], "day": [datetime(2024, 2, 29)]}).split_datetime("day", limit=["month"])[0]
        {'id': 1, 'day.month': 2}
        """
        position = self._named_position(column_name)
        prefix = column_name if column_name_prefix is None else column_name_prefix
        column = make_array(column_of(self._node, position))
        return self._with_parts(position, column.split_datetime(prefix, limit, timezone))

    def pack_columns(
        self,
        column_names: Iterable[str] | None = None,
        column_name_prefix: str | None = None,
        dtype: type = list,
        fill_na: Any = None,
        remove_prefix: bool = True,
        new_column_name: str | None = None,
    ) -> SFrame:
        """Return a frame in which several columns are replaced by one column of lists, arrays or dicts of their values, which comes last.

        Parameters
        ----------
        column_names
            Names of the columns; if neither this nor ``column_name_prefix`` is given, all columns.
        column_name_prefix
            Instead of names: selects the columns whose names begin with this string.
        dtype
            ``list``, ``array.array`` (for numbers; missing numbers become NaN) or ``dict`` (from column names to values; missing values are left
            out).
        fill_na
            Replacement for missing values; in arrays also for NaN.
        remove_prefix
            Whether to remove ``column_name_prefix`` and the dot after it from the keys of dicts.
        new_column_name
            Name of the new column; if not given, ``column_name_prefix``, or else an automatic name such as ``X1``.

        Raises
        ------
        ValueError
            If no column has a given name or the prefix, a column is named twice, or ``dtype`` is another class.
        TypeError
            If columns do not hold numbers although ``dtype`` is ``array.array``, or an argument has another form.
        KeyError
            If another column has the new name.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> sf = SFrame({"id": [7], "at.x": [1], "at.y": [None]})
        >>> sf.pack_columns(column_name_prefix="at", dtype=dict)[0]
        {'id': 7, 'at': {'x': 1}}
        """
        names = self._packed_columns(column_names, column_name_prefix)
        if dtype not in _PACKED:
            raise errors.InvalidArgumentError(f"dtype must be list, array.array or dict, not {dtype!r:.60}")
        kind = column_type_for(dtype).kind
        positions, width = list(map(self._position, names)), len(self._names)
        other_positions = without(range(width), sorted(positions))
        other_names = [self._names[position] for position in other_positions]
        _require_optional_string("new_column_name", new_column_name)
        requested = new_column_name or column_name_prefix
        if requested and requested in other_names:
            raise errors.TakenKeyError(f"the frame already has a column {requested!r}: choose another new_column_name")
        if kind == ARRAY_KIND:
            self._require_numbers(positions, fill_na)
        keys = (_keys_of(names, column_name_prefix if remove_prefix else None),) if kind == DICT_KIND else ()
        step = Step(_PACK_FUNCTIONS[kind], tuple(map(Register, positions)), (value_parameter(fill_na), *keys))
        node = apply_program(self._node, Program(width, (step,), tuple(map(Register, (*other_positions, width)))))
        return make_frame(node, [*other_names, requested or automatic_name(other_names)])

    def _packed_columns(self, column_names: Any, prefix: Any) -> list[str]:
        if column_names is not None and prefix is not None:
            raise errors.InvalidArgumentError("give either column_names or column_name_prefix, not both")
        if prefix is not None:
            _require_optional_string("column_name_prefix", prefix)
            matching = [name for name in self._names if name.startswith(prefix)]
            if not matching:
                raise errors.InvalidArgumentError(f"no column has a name that begins with {prefix!r}")
            return matching
        if isinstance(column_names, str) or (column_names is not None and not isinstance(column_names, Iterable)):
            raise errors.SchemaError(f"column_names must be a list of names, not {type(column_names).__name__}")
        names = list(self._names if column_names is None else column_names)
        for name in names:
            self._position(name, errors.UnknownNameError)
        if len(set(names)) < len(names):
            raise errors.InvalidArgumentError("column_names must not contain a name twice")
        if not names:
            raise errors.UnsupportedOperationError("there is no column to pack: name at least one")
        return names

    def _require_numbers(self, positions: Sequence[int], fill_na: Any) -> None:
        for position in positions:
            column_type = self._node.schema[position]
            if not column_type.is_numeric:
                name = self._names[position]
                raise errors.SchemaError(f"column {name!r} holds values of {column_type.kind}, but arrays hold numbers: use dtype=list")
        if fill_na is not None and not is_number(one_value(fill_na)):
            raise errors.InvalidArgumentError(f"fill_na must be a number for arrays, not {fill_na!r:.60}")

    def _named_position(self, name: Any) -> int:
        if not isinstance(name, str):
            raise errors.SchemaError(f"a column must be given by its name, not by {type(name).__name__}")
        return self._position(name, errors.ColumnNotFoundError)

    def _only_packed(self) -> int:
        """Return the position of the only column of lists, arrays or dicts; raise an error if there is not exactly one."""
        packed = [position for position, column_type in enumerate(self._node.schema) if column_type.kind in _PACK_FUNCTIONS]
        if len(packed) != 1:
            message = f"{len(packed)} columns hold lists, arrays or dicts" if packed else "no column holds lists, arrays or dicts"
            raise errors.UnsupportedOperationError(f"{message}: name the one to unpack")
        return packed[0]

    def _with_parts(self, position: int, parts: SFrame) -> SFrame:
        """Return a frame of all columns except the one at ``position``, followed by the columns of ``parts``."""
        other_names = without(self._names, [position])
        names = with_automatic_names([*other_names, *names_for_new_columns(other_names, parts.column_names())])
        if not other_names:
            return make_frame(parts._node, names)
        other_columns = columns_of(self._node, without(range(len(self._names)), [position]))
        return make_frame(columns_alongside(other_columns, parts._node), names)


def _require_optional_string(argument: str, value: Any) -> None:
    if value is not None and not isinstance(value, str):
        raise errors.SchemaError(f"{argument} is a text, not {type(value).__name__}")


def unstacked_names(column_names: Any) -> list[str]:
    """Return a list of the one or two names of columns to unstack.

    Raises
    ------
    SchemaError
        If ``column_names`` is neither a name nor a list of two names.
    """
    names = name_list(column_names)
    if names is None or len(names) != (1 if isinstance(column_names, str) else 2):
        raise errors.SchemaError(f"column_names must be the name of a column, or a list of two names, for keys and values, not {column_names!r:.80}")
    return names


def new_names(other_names: list[str], new_column_name: Any, width: int) -> list[str]:
    """Return the names of all columns after :meth:`Reshaping.stack`; ``width`` new names, requested or automatic, come last."""
    if new_column_name is None or (isinstance(new_column_name, str) and not new_column_name):
        names = list(other_names)
        for _ in range(width):
            names.append(automatic_name(names))
        return names
    form = "a list of two names, for keys and values" if width == 2 else "a name"
    requested = [new_column_name] if width == 1 else new_column_name
    if not isinstance(requested, (list, tuple)) or len(requested) != width or not all(isinstance(name, str) for name in requested):
        raise errors.SchemaError(f"new_column_name must be {form}, got {brief(new_column_name, 80)}")
    if used := [name for name in requested if name in other_names]:
        raise errors.TakenNameError(f"the frame already has a column {used[0]!r}: choose another name")
    if width == 2 and requested[0] and requested[0] == requested[1]:
        raise errors.TakenNameError(f"keys and values would both be named {requested[0]!r}: choose two names")
    return [*other_names, *with_automatic_names([*other_names, *requested])[len(other_names) :]]


def new_types(new_column_type: Any, width: int) -> list[ColumnType] | None:
    """Return the ``width`` column types that the user requests; None if no classes are given."""
    if new_column_type is None:
        return None
    classes = list(new_column_type) if isinstance(new_column_type, (list, tuple)) else [new_column_type]
    if not all(map(is_type, classes)):
        raise errors.ColumnsOfRowsError(f"new_column_type must be a class such as int, or a list of two for a dict, got {new_column_type!r:.80}")
    if len(classes) != width:
        raise errors.InvalidArgumentError(
            f"new_column_type has {len(classes)} class(es), but {width} are needed: two for a dict (keys and values), one otherwise"
        )
    return [column_type_for(item) for item in classes]


def converted_items(node: PlannerNode, first: int, natural: tuple[ColumnType, ...], requested: list[ColumnType] | None) -> PlannerNode:
    """Return the node with its columns from ``first`` on converted from their natural to the requested types."""
    if requested is None or list(natural) == requested:
        return node
    for source, other in zip(natural, requested, strict=True):
        if not becomes(source.kind, other.kind):
            raise errors.SchemaError(f"items of {source.kind} cannot become {other.kind} here: stack them unchanged, and use astype()")
    items = [apply_function("cast", column_of(node, first + place), parameters=(kind, False)) for place, kind in enumerate(requested)]
    return columns_alongside(columns_of(node, list(range(first))), *items) if first else zip_columns(*items)


def _keys_of(names: Sequence[str], prefix: str | None) -> tuple[str, ...]:
    """Return column names without a prefix; a dot after the prefix is removed too, if all names have one.

    Examples
    --------
    >>> _keys_of(["at.x", "at.y"], "at"), _keys_of(["at", "at.x"], "at")
    (('x', 'y'), ('', '.x'))
    """
    if not prefix:
        return tuple(names)
    common = f"{prefix}." if all(name.startswith(f"{prefix}.") for name in names) else prefix
    return tuple(name.removeprefix(common) for name in names)
