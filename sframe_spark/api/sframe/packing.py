"""Members of SFrame that put columns into one, and take one apart."""

from __future__ import annotations

import array
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from sframe_spark.api.class_registry import made_array, made_frame
from sframe_spark.api.column_names import automatic_name, with_automatic_names
from sframe_spark.api.sframe.columns import Columns
from sframe_spark.api.unpacking import names_beside
from sframe_spark.errors import (
    ColumnNotFoundError,
    InvalidArgumentError,
    SchemaError,
    TakenKeyError,
    UnknownNameError,
    UnsupportedOperationError,
)
from sframe_spark.operators.functions.packing import value_parameter
from sframe_spark.operators.rowwise.arrange import column_of, columns_beside, columns_of
from sframe_spark.operators.rowwise.elementwise import apply_program
from sframe_spark.operators.rowwise.program import Program, Register, Step
from sframe_spark.types import ARRAY_KIND, DICT_KIND, LIST_KIND, type_of_class
from sframe_spark.values.plain import is_number, one_value

if TYPE_CHECKING:
    from sframe_spark.api.sframe import SFrame

_PACKED = {LIST_KIND: "pack_list", ARRAY_KIND: "pack_array", DICT_KIND: "pack_dict"}


class Packing(Columns):
    """Columns of lists, arrays, dicts and date-times made of other columns, and the other way round."""

    def unpack(
        self,
        column_name: str | None = None,
        column_name_prefix: str | None = None,
        column_types: Any = None,
        na_value: Any = None,
        limit: Any = None,
    ) -> SFrame:
        """A column of lists, arrays or dicts replaced by one for each of their places or keys; rows stay as they are.

        Parameters
        ----------
        column_name
            The column; may be left out where only one holds such values.
        column_name_prefix
            What names of the new columns begin with: the column's name when not given; empty: nothing.
        column_types, na_value, limit
            As in :meth:`SArray.unpack`.

        Raises
        ------
        KeyError
            If no column has the name.
        TypeError
            If the column holds none of these, or an argument is of another form.
        ValueError
            If ``limit`` names something twice, or there is not one class for each.
        RuntimeError
            If no column is named and there is not one to choose, or no row tells of columns.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> sf = SFrame({"id": [1, 2], "words": [{"a": 3}, {"b": 4}]})
        >>> sf.unpack("words")[0]
        {'id': 1, 'words.a': 3, 'words.b': None}
        """
        chosen = self._only_packed() if column_name is None else self._named(column_name)
        prefix = column_name_prefix
        if prefix is None:
            prefix = "" if column_name is None else chosen
        column = made_array(column_of(self._node, self._names.index(chosen)))
        return self._in_place_of(chosen, column.unpack(prefix, column_types, na_value, limit))

    def split_datetime(
        self, column_name: str, column_name_prefix: str | None = None, limit: Sequence[str] | None = None, timezone: bool = False
    ) -> SFrame:
        """A column of date-times replaced by one for each of their parts; rows stay as they are.

        Parameters
        ----------
        column_name
            The column.
        column_name_prefix
            What names of the new columns begin with: the column's name when not given; empty: nothing.
        limit, timezone
            As in :meth:`SArray.split_datetime`.

        Raises
        ------
        KeyError
            If no column has the name.
        TypeError
            If the column holds no date-times, or an argument is of another form.
        ValueError
            If ``limit`` names no part, or one twice.

        Examples
        --------
        >>> from datetime import datetime
        >>> from sframe_spark import SFrame
        >>> SFrame({"id": [1], "day": [datetime(2024, 2, 29)]}).split_datetime("day", limit=["month"])[0]
        {'id': 1, 'day.month': 2}
        """
        chosen = self._named(column_name)
        prefix = chosen if column_name_prefix is None else column_name_prefix
        column = made_array(column_of(self._node, self._names.index(chosen)))
        return self._in_place_of(chosen, column.split_datetime(prefix, limit, timezone))

    def pack_columns(
        self,
        column_names: Iterable[str] | None = None,
        column_name_prefix: str | None = None,
        dtype: type = list,
        fill_na: Any = None,
        remove_prefix: bool = True,
        new_column_name: str | None = None,
    ) -> SFrame:
        """Columns replaced by one of the lists, arrays or dicts of their values, which comes last; rows stay as they are.

        Parameters
        ----------
        column_names
            The columns; all when neither they nor ``column_name_prefix`` are given.
        column_name_prefix
            Instead: the columns whose names begin with it.
        dtype
            ``list``, ``array.array`` (of numbers, NaN for missing ones) or ``dict`` (from the names to the values that are not missing).
        fill_na
            A value in place of missing ones; in arrays in place of NaN too.
        remove_prefix
            Whether keys of dicts are the names without ``column_name_prefix`` and a dot behind it.
        new_column_name
            Name of the new column: ``column_name_prefix``, or a numbered name, when not given.

        Raises
        ------
        ValueError
            If no column has a name or the prefix, a column is named twice, or ``dtype`` is another class.
        TypeError
            If columns of arrays hold no numbers, or an argument is of another form.
        KeyError
            If there is a column of the new name.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> sf = SFrame({"id": [7], "at.x": [1], "at.y": [None]})
        >>> sf.pack_columns(column_name_prefix="at", dtype=dict)[0]
        {'id': 7, 'at': {'x': 1}}
        """
        chosen = self._packed_columns(column_names, column_name_prefix)
        kind = _packed_kind(dtype)
        name = self._packed_name(chosen, column_name_prefix, new_column_name)
        positions = [self._names.index(column) for column in chosen]
        if kind == ARRAY_KIND:
            self._require_numbers(positions, fill_na)
        keys = _keys_of(chosen, column_name_prefix if remove_prefix else None)
        parameters = (value_parameter(fill_na), keys) if kind == DICT_KIND else (value_parameter(fill_na),)
        packed, width = {*chosen}, len(self._names)
        others = [column for column in self._names if column not in packed]
        step = Step(_PACKED[kind], tuple(map(Register, positions)), parameters)
        outputs = (*(Register(self._names.index(other)) for other in others), Register(width))
        return made_frame(apply_program(self._node, Program(width, (step,), outputs)), [*others, name])

    def _packed_columns(self, column_names: Any, prefix: Any) -> list[str]:
        if column_names is not None and prefix is not None:
            raise InvalidArgumentError("give column_names or column_name_prefix, not both: each says which columns are packed")
        if prefix is not None:
            if not isinstance(prefix, str):
                raise SchemaError(f"column_name_prefix is a text, not {type(prefix).__name__}")
            found = [name for name in self._names if name.startswith(prefix)]
            if not found:
                raise InvalidArgumentError(f"no column has a name that begins with {prefix!r}")
            return found
        if isinstance(column_names, str) or (column_names is not None and not isinstance(column_names, Iterable)):
            raise SchemaError(f"column_names is a list of names, not {type(column_names).__name__}")
        chosen = list(self._names if column_names is None else column_names)
        for name in chosen:
            if name not in self._names:
                raise UnknownNameError(name, self._names)
        if len(set(chosen)) < len(chosen):
            raise InvalidArgumentError("column_names names a column twice: a value is packed once")
        if not chosen:
            raise UnsupportedOperationError("there is no column to pack: name one at least")
        return chosen

    def _packed_name(self, chosen: Sequence[str], prefix: str | None, name: Any) -> str:
        if name is not None and not isinstance(name, str):
            raise SchemaError(f"new_column_name is a text, not {type(name).__name__}")
        packed = {*chosen}
        others = [column for column in self._names if column not in packed]
        wanted = name or prefix
        if wanted and wanted in others:
            raise TakenKeyError(f"the frame has another column {wanted!r}: choose another new_column_name")
        return wanted or automatic_name(others)

    def _require_numbers(self, positions: Sequence[int], fill_na: Any) -> None:
        for position in positions:
            if not self._node.schema[position].is_numeric:
                kind = self._node.schema[position].kind
                raise SchemaError(f"column {self._names[position]!r} holds values of {kind}: arrays are of numbers, dtype=list takes any")
        if fill_na is not None and not is_number(one_value(fill_na)):
            raise InvalidArgumentError(f"fill_na is a number in arrays, not {fill_na!r:.60}")

    def _named(self, name: Any) -> str:
        if not isinstance(name, str):
            raise SchemaError(f"a column is given by its name, not by {type(name).__name__}")
        if name not in self._names:
            raise ColumnNotFoundError(name, self._names)
        return name

    def _only_packed(self) -> str:
        """The one column of lists, arrays or dicts."""
        found = [name for name, kind in zip(self._names, self._node.schema, strict=True) if kind.kind in _PACKED]
        if len(found) != 1:
            told = f"{len(found)} columns hold lists, arrays or dicts" if found else "no column holds lists, arrays or dicts"
            raise UnsupportedOperationError(f"{told}: name the one to unpack")
        return found[0]

    def _in_place_of(self, name: str, parts: SFrame) -> SFrame:
        """The other columns, then those of its parts."""
        others = [other for other in self._names if other != name]
        names = with_automatic_names([*others, *names_beside(others, parts.column_names())])
        if not others:
            return made_frame(parts._node, names)
        kept = columns_of(self._node, [self._names.index(other) for other in others])
        return made_frame(columns_beside(kept, parts._node), names)


def _packed_kind(dtype: Any) -> str:
    if dtype not in (list, dict, array.array):
        raise InvalidArgumentError(f"dtype is list, array.array or dict: columns are packed into one of these, not into {dtype!r:.60}")
    return type_of_class(dtype).kind


def _keys_of(names: Sequence[str], prefix: str | None) -> tuple[str, ...]:
    """Names without what they begin with, and without the dot behind that where all have it.

    Examples
    --------
    >>> _keys_of(["at.x", "at.y"], "at"), _keys_of(["at", "at.x"], "at")
    (('x', 'y'), ('', '.x'))
    """
    if not prefix:
        return tuple(names)
    common = f"{prefix}." if all(name.startswith(f"{prefix}.") for name in names) else prefix
    return tuple(name.removeprefix(common) for name in names)
