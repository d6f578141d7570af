"""Members of SFrame that turn wide values into rows, and rows into wide values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sframe_spark.api import aggregate
from sframe_spark.api.class_registry import made_frame
from sframe_spark.api.column_names import automatic_name, with_automatic_names
from sframe_spark.api.node_values import first_values
from sframe_spark.api.sframe.relational import Relational
from sframe_spark.api.user_functions import general
from sframe_spark.errors import (
    ColumnNotFoundError,
    ColumnsOfRowsError,
    InvalidArgumentError,
    MixedTypesError,
    SchemaError,
    TakenNameError,
    UnknownNameError,
)
from sframe_spark.operators.relational.explode import explode, natural_types
from sframe_spark.operators.rowwise.arrange import column_of, columns_beside, columns_of
from sframe_spark.operators.rowwise.columns import zip_columns
from sframe_spark.operators.rowwise.elementwise import apply_function
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import DICT_KIND, FLOAT, ColumnType
from sframe_spark.values.convert import becomes
from sframe_spark.values.infer import column_type_for, infer_type
from sframe_spark.visible import brief

if TYPE_CHECKING:
    from sframe_spark.api.sframe import SFrame

STACKED_KINDS = ("dict", "list", "array")
SAMPLE = 100


class Reshaping(Relational):
    """Rows of the items of lists, arrays and dicts, and the other way round."""

    def stack(
        self,
        column_name: str,
        new_column_name: Any = None,
        drop_na: bool = False,
        new_column_type: Any = None,
    ) -> SFrame:
        """One row for each item of a column of lists, arrays or dicts, in their order, the other columns repeated.

        Parameters
        ----------
        column_name
            The column; its items come last, in a column of their own, of dicts keys and values in two.
        new_column_name
            Name of the new column, for a dict a list of two; numbered names when not given.
        drop_na
            Rows without items are left out; otherwise they are one row with missing values.
        new_column_type
            Class of the items, for a dict a list of two; that of the items, or of the first ones, when not given.

        Raises
        ------
        ValueError
            If no column has the name, or a name is taken, or there are not two classes for a dict.
        TypeError
            If the column holds none of these, or names or classes are of other forms.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> sf = SFrame({"id": [1, 2], "words": [["a", "b"], []]})
        >>> list(sf.stack("words", "word")["word"]), len(sf.stack("words", drop_na=True))
        (['a', 'b', None], 2)
        """
        if column_name not in self._names:
            raise UnknownNameError(column_name, self._names)
        position = self._names.index(column_name)
        column_type = self._node.schema[position]
        if column_type.kind not in STACKED_KINDS:
            raise SchemaError(f"column {column_name!r} holds values of {column_type.kind}: stack() takes lists, arrays and dicts")
        width = 2 if column_type.kind == DICT_KIND else 1
        others = [name for name in self._names if name != column_name]
        names = new_names(others, new_column_name, width)
        wanted = new_types(new_column_type, width)
        natural = natural_types(column_type)
        types = natural or tuple(wanted or self._types_of_items(position, width))
        node = explode(self._node, position, types, not drop_na)
        return made_frame(as_wanted(node, len(others), types, wanted), names)

    def unstack(self, column_names: Any, new_column_name: str | None = None) -> SFrame:
        """One row for each distinct value of the other columns: the values of a column as a list, or of two as a dict, in their order.

        Parameters
        ----------
        column_names
            The column whose values become lists, or a list of two, of keys and values. Missing values are left out of lists, and missing keys of
            dicts; of several values of a key the first one stays.
        new_column_name
            Name of the new column, which comes last; ``List of ...`` or ``Dict of ...`` when not given.

        Raises
        ------
        KeyError
            If no column has a name.
        TypeError
            If the names are of another form, or the keys neither texts nor numbers.
        RuntimeError
            If there is another column of the new name.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> sf = SFrame({"user": [1, 1, 2], "item": ["x", "y", "x"], "stars": [4, 5, 3]})
        >>> list(sf.unstack(["item", "stars"], "ratings")["ratings"])
        [{'x': 4, 'y': 5}, {'x': 3}]
        """
        chosen = unstacked_names(column_names)
        for name in chosen:
            if name not in self._names:
                raise ColumnNotFoundError(name, self._names)
        if new_column_name is not None and not isinstance(new_column_name, str):
            raise SchemaError(f"new_column_name is a text, not {type(new_column_name).__name__}")
        others = [name for name in self._names if name not in chosen]
        label = new_column_name or ("Dict of {}_{}" if len(chosen) == 2 else "List of {}").format(*chosen)
        return made_frame(self._node, self._names).groupby(others, {label: aggregate.CONCAT(*chosen)})

    def _types_of_items(self, position: int, width: int) -> tuple[ColumnType, ...]:
        """Types of the items of the first values, which tell of values that describe themselves; floats where there is none."""
        cells = [cell for cell in first_values(column_of(self._node, position), SAMPLE)[0] if cell is not None]
        if width == 2:
            samples: list[list[Any]] = [[key for cell in cells for key in cell], [value for cell in cells for value in cell.values()]]
        else:
            samples = [[item for cell in cells for item in cell]]
        return tuple(self._type_of_items(position, found) for found in samples)

    def _type_of_items(self, position: int, found: Sequence[Any]) -> ColumnType:
        try:
            return general(infer_type(found, of_rows=False)) if any(item is not None for item in found) else FLOAT
        except MixedTypesError as error:
            told = f"column {self._names[position]!r}: its items become a column, and {error}"
            raise MixedTypesError(f"{told}; give stack() new_column_type, of texts for example") from None


def unstacked_names(column_names: Any) -> list[str]:
    """The one or two columns to unstack.

    Raises
    ------
    SchemaError
        If they are neither a name nor a list of two.
    """
    chosen = [column_names] if isinstance(column_names, str) else column_names
    is_pair = chosen is not column_names or (isinstance(chosen, (list, tuple)) and len(chosen) == 2)
    if not is_pair or not all(isinstance(name, str) for name in chosen):
        raise SchemaError(f"column_names is the name of a column, or a list of two, of keys and values, not {column_names!r:.80}")
    return list(chosen)


def new_names(others: list[str], chosen: Any, width: int) -> list[str]:
    """Names of all columns, of which the last ones are new."""
    if chosen is None or (isinstance(chosen, str) and not chosen):
        names = list(others)
        for _ in range(width):
            names.append(automatic_name(names))
        return names
    form = "a list of two names, for keys and values" if width == 2 else "a name"
    given = [chosen] if width == 1 else chosen
    if not isinstance(given, (list, tuple)) or len(given) != width or not all(isinstance(name, str) for name in given):
        raise SchemaError(f"new_column_name is {form}, got {brief(chosen, 80)}")
    if taken := [name for name in given if name in others]:
        raise TakenNameError(f"the frame has a column {taken[0]!r} already: choose another name")
    if width == 2 and given[0] and given[0] == given[1]:
        raise TakenNameError(f"keys and values are both to be named {given[0]!r}: choose two names")
    return [*others, *with_automatic_names([*others, *given])[len(others) :]]


def new_types(chosen: Any, width: int) -> list[ColumnType] | None:
    """The types asked for; None where none is."""
    if chosen is None:
        return None
    given = list(chosen) if isinstance(chosen, (list, tuple)) else [chosen]
    if not all(isinstance(item, type) for item in given):
        raise ColumnsOfRowsError(f"new_column_type is a class such as int, or a list of two for a dict, got {chosen!r:.80}")
    if len(given) != width:
        raise InvalidArgumentError(f"new_column_type has {len(given)} class(es), {width} are needed: of keys and values for a dict, one otherwise")
    return [column_type_for(item) for item in given]


def as_wanted(node: PlannerNode, first: int, natural: tuple[ColumnType, ...], wanted: list[ColumnType] | None) -> PlannerNode:
    """The items converted to the types asked for."""
    if wanted is None or list(natural) == wanted:
        return node
    for found, other in zip(natural, wanted, strict=True):
        if not becomes(found.kind, other.kind):
            raise SchemaError(f"items of {found.kind} do not become {other.kind} here: stack them as they are, and use astype()")
    items = [apply_function("cast", column_of(node, first + place), parameters=(kind, False)) for place, kind in enumerate(wanted)]
    return columns_beside(columns_of(node, list(range(first))), *items) if first else zip_columns(*items)
