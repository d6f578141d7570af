"""Members of Sketch about what is inside of lists, arrays and dicts: each gives a sketch of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sframe_spark.api.class_registry import made_array
from sframe_spark.api.unpacked_types import merged_type, types_of_keys
from sframe_spark.errors import ColumnNotFoundError, InvalidArgumentError, SchemaError, UnsupportedOperationError
from sframe_spark.operators.functions.packing import value_parameter
from sframe_spark.operators.functions.slots import item_type
from sframe_spark.operators.relational.explode import explode
from sframe_spark.operators.relational.rows import filter_by_mask
from sframe_spark.operators.rowwise.elementwise import apply_function, apply_program
from sframe_spark.operators.rowwise.program import Program, Register, Step
from sframe_spark.types import ARRAY_KIND, DICT_KIND, FLOAT, LIST_KIND, STR, ColumnType

if TYPE_CHECKING:
    from sframe_spark.api.sarray.sketch import Sketch
    from sframe_spark.planner.node import PlannerNode

NESTED = (LIST_KIND, ARRAY_KIND, DICT_KIND)


class SketchesOfItems:
    """Sketches of lengths, items, keys and values."""

    _source: PlannerNode
    _keys: tuple[Any, ...]
    _sub_sketches: dict[Any, Sketch]

    def element_length_summary(self) -> Sketch:
        """A sketch of how many items the lists, arrays or dicts have.

        Raises
        ------
        RuntimeError
            If the values are none of these.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> sketch = SArray([["tea", "milk"], ["tea"], []]).summary().element_length_summary()
        >>> sketch.size(), sketch.max(), sketch.mean()
        (3, 2.0, 1.0)
        """
        self._require(NESTED, "lengths")
        lengths = apply_function("item_length", self._source)
        return sketch_of(filter_by_mask(lengths, apply_function("is_not_missing", lengths)))

    def element_summary(self) -> Sketch:
        """A sketch of the items of all lists or arrays.

        Raises
        ------
        RuntimeError
            If the values are neither.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([["tea", "milk"], ["tea"], []]).summary().element_summary().frequent_items()
        {'tea': 2, 'milk': 1}
        """
        self._require((LIST_KIND, ARRAY_KIND), "items in an order")
        return sketch_of(_items(self._source, item_type(self._source.schema[0]) or STR))

    def dict_key_summary(self) -> Sketch:
        """A sketch of the keys of all dicts, as texts.

        Raises
        ------
        RuntimeError
            If the values are no dicts.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> sketch = SArray([{"tea": 2, "milk": 1}, {"tea": 4}]).summary()
        >>> sketch.dict_key_summary().frequent_items()
        {'tea': 2, 'milk': 1}
        """
        self._require((DICT_KIND,), "keys")
        return sketch_of(_items(apply_function("dict_keys", self._source), STR))

    def dict_value_summary(self) -> Sketch:
        """A sketch of the values of all dicts: as numbers where all are, else as texts.

        Raises
        ------
        RuntimeError
            If the values are no dicts.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> sketch = SArray([{"tea": 2, "milk": 1}, {"tea": 4}]).summary()
        >>> sketch.dict_value_summary().max(), sketch.dict_value_summary().sum()
        (4.0, 7.0)
        """
        self._require((DICT_KIND,), "values of keys")
        kinds = {kind.kind for kind in types_of_keys(self._source).values()}
        return sketch_of(_items(apply_function("dict_values", self._source), FLOAT if merged_type(kinds).is_numeric else STR))

    def element_sub_sketch(self, keys: Any = None) -> Any:
        """Sketches of the values of some keys, or at some places: a dict of them, or one for one key.

        Parameters
        ----------
        keys
            Some of the ``sub_sketch_keys`` of this sketch; all when not given.

        Raises
        ------
        KeyError
            If a key is none of these.
        RuntimeError
            If the values are no arrays or dicts.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> sketch = SArray([{"tea": 2, "milk": 1}, {"tea": 4}]).summary(sub_sketch_keys=["tea", "milk"])
        >>> sketch.element_sub_sketch("tea").sum(), sorted(sketch.element_sub_sketch())
        (6.0, ['milk', 'tea'])
        """
        self._require((ARRAY_KIND, DICT_KIND), "keys or places that values have in common")
        several = isinstance(keys, (list, tuple, set))
        wanted = list(self._keys) if keys is None else list(keys) if several else [keys]
        for key in wanted:
            if key not in self._keys:
                raise ColumnNotFoundError(key, self._keys)
        found = {key: self._sub_sketch(key) for key in wanted}
        return found if keys is None or several else found[keys]

    def _sub_sketch(self, key: Any) -> Sketch:
        if key not in self._sub_sketches:
            self._sub_sketches[key] = sketch_of(_values_of_key(self._source, key))
        return self._sub_sketches[key]

    def _require(self, kinds: tuple[str, ...], what: str) -> None:
        if self._source.schema[0].kind not in kinds:
            raise UnsupportedOperationError(f"values of {self._source.schema[0].kind} have no {what}: this takes {' or '.join(kinds)}")


def sketch_of(node: PlannerNode) -> Sketch:
    """The sketch of a column."""
    return made_array(node).summary()


def _values_of_key(node: PlannerNode, key: Any) -> PlannerNode:
    """The value of a key, or at a place, of each row: as a number where all are, else as text."""
    column_type = node.schema[0]
    if column_type.kind == DICT_KIND:
        kind = types_of_keys(apply_function("dict_trim_keys", node, parameters=((key,), False))).get(key, FLOAT)
    else:
        kind = FLOAT if column_type.kind == ARRAY_KIND else item_type(column_type) or STR
    wanted = FLOAT if kind.is_numeric else STR
    slots = Step("slots", (Register(0),), ((key,),))
    slot = Step("slot", (Register(1),), (0, wanted, item_type(column_type) is None, value_parameter(None)))
    return apply_program(node, Program(1, (slots, slot), (Register(2),)))


def _items(node: PlannerNode, wanted: ColumnType) -> PlannerNode:
    """All items of lists or arrays as one column."""
    natural = item_type(node.schema[0])
    items = explode(node, 0, (natural or wanted,), keeps_empty=False)
    return items if natural in (None, wanted) else apply_function("cast", items, parameters=(wanted, False))


def keys_to_sum_up(keys: Any, column_type: ColumnType) -> tuple[Any, ...]:
    """The keys that a user asks for.

    Raises
    ------
    SchemaError
        If the values have no keys, or a key is none of them.
    """
    chosen = (keys,) if isinstance(keys, (str, int)) else tuple(keys or ())
    if chosen and column_type.kind not in (DICT_KIND, ARRAY_KIND):
        raise SchemaError(f"sub_sketch_keys are keys of dicts or places in arrays, and the values are of {column_type.kind}")
    if len({type(key) for key in chosen}) > 1:
        raise InvalidArgumentError(f"sub_sketch_keys are of one class, not {chosen!r:.60}")
    if column_type.kind == DICT_KIND and not all(isinstance(key, str) for key in chosen):
        raise SchemaError(f"sub_sketch_keys of dicts are texts, not {chosen!r:.60}")
    if column_type.kind == ARRAY_KIND and not all(isinstance(key, int) and key >= 0 for key in chosen):
        raise SchemaError(f"sub_sketch_keys are places in arrays, counted from 0, not {chosen!r:.60}")
    return chosen
