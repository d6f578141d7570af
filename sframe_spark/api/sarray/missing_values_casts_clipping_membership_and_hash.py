"""Members of SArray for missing values, clipping, type conversion, tests for membership or items, hashes, and numbers of items."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from sframe_spark.api.class_registry import ClassRegistry, SArray, make_array
from sframe_spark.api.error_hints import call_example
from sframe_spark.api.interchange.dataframe_libraries import is_column
from sframe_spark.api.value_membership import EQUAL_AS_KEYS
from sframe_spark.engine.physical.placement_and_blocking_inputs import is_at_hand
from sframe_spark.errors import FillValueError, InvalidArgumentError, NotValuesError, SchemaError
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.message_text import brief
from sframe_spark.operators.row_selection import filter_by_mask
from sframe_spark.operators.sources.in_memory import MemorySource, memory_source
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import ARRAY_KIND, IMAGE, IMAGE_KIND, LIST_KIND, LOGICAL, NDARRAY_KIND, STR, STR_KIND
from sframe_spark.values.input_copying_simplification_and_validation import is_of_spark, snapshot, snapshots
from sframe_spark.values.invalid_unicode_errors import require_unicode_values
from sframe_spark.values.plain_values import one_value
from sframe_spark.values.python_to_arrow import column_type_for
from sframe_spark.values.rounding_warnings import rounding_warnings

with lazy_imports(globals()):
    from sframe_spark.api.aggregates.argument_types import ColumnClass
    from sframe_spark.api.sampling import require_seed
    from sframe_spark.api.utc_offset_checks import require_comparable_values
    from sframe_spark.api.value_membership import are_many, match_mask
    from sframe_spark.engine.execution.materialize_count_and_read_rows import materialize
    from sframe_spark.engine.physical.site import Site
    from sframe_spark.expressions.image_functions import ImageOfFile, ImageOfPixels, PixelsOfImage
    from sframe_spark.operators.elementwise import apply_function, apply_lambda
    from sframe_spark.values.column_cast import cast_array


@attrs.frozen
class PartOf:
    """A function that returns whether a string is a substring of a given string.

    Parameters
    ----------
    whole
        The string to search.
    """

    whole: str

    def __call__(self, value: Any) -> int:
        """Return 1 if ``value`` is a substring of ``whole``, else 0; 0 for a missing value."""
        return int(value is not None and value in self.whole)


def _cast_of_images(source: str, target: str, undefined_on_failure: bool) -> Any:
    """Return the function of a cast between images and other kinds that is called row by row, as images are large; None for other casts."""
    if (source, target) == (ARRAY_KIND, IMAGE_KIND):
        raise SchemaError("arrays have no height and width: pixel_array_to_image(width, height, channels) makes images of them")
    if source == STR_KIND and target == IMAGE_KIND:
        return ImageOfFile(undefined_on_failure=undefined_on_failure)
    return PixelsOfImage(target, undefined_on_failure) if source == IMAGE_KIND and target in (ARRAY_KIND, NDARRAY_KIND) else None


class Cleaning:
    """Mixin of SArray: missing values, clipping, type conversion, tests for membership or items, hashes, and numbers of items."""

    _node: PlannerNode

    def _function(self, name: str, *parameters: Any) -> SArray:
        # The caller may change a list or an array before the rows are computed.
        parameters = tuple(value if type(value) is tuple else snapshot(one_value(value)) for value in parameters)
        require_unicode_values(parameters)
        return make_array(apply_function(name, self._node, parameters=parameters))

    def dropna(self) -> SArray:
        """Return the rows that are neither missing nor NaN.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([20.5, None, float("nan")]).dropna())
        [20.5]
        """
        return make_array(filter_by_mask(self._node, apply_function("is_not_missing", self._node)))

    @call_example("sf['a'].fillna(0); by the value of another column SArray.where(sf['a'] == None, sf['b'], sf['a'])")
    def fillna(self, value: Any) -> SArray:
        """Return the column with missing values replaced by ``value``; the class of the column does not change.

        Parameters
        ----------
        value
            The replacement for missing values; in a column of floats also for NaN.

        Raises
        ------
        RuntimeError
            If ``value`` cannot be converted to the column's type.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([20, None, 19]).fillna(0))
        [20, 0, 19]
        """
        # In columns of arrays and lists, a numpy array may be a single value.
        if self._node.schema[0].kind not in (ARRAY_KIND, LIST_KIND, NDARRAY_KIND) and (isinstance(value, ClassRegistry.array) or is_column(value)):
            raise FillValueError(
                "missing values are filled with one value; to fill them from a column use SArray.where(sf['a'] == None, sf['b'], sf['a'])"
            )
        with rounding_warnings():
            return self._function("fill_missing", value)

    @call_example("sf['a'].clip(lower=0, upper=1)")
    def clip(self, lower: Any = float("nan"), upper: Any = float("nan")) -> SArray:
        """Return the numbers limited to a range: smaller ones become ``lower``, larger ones ``upper``.

        Parameters
        ----------
        lower, upper
            The bounds; NaN: no bound.

        Raises
        ------
        RuntimeError
            If the values are neither numbers nor arrays, a bound is not a number, or ``lower`` is above ``upper``.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([-5, 40, 120, None]).clip(0, 100))
        [0, 40, 100, None]
        """
        return self._function(
            "clip", *(limit.item() if isinstance(limit, (np.number, np.bool_)) else limit for limit in map(one_value, (lower, upper)))
        )

    def clip_lower(self, threshold: Any) -> SArray:
        """Return the numbers as floats, with those below the threshold replaced by it.

        Parameters
        ----------
        threshold
            The smallest number of the result.

        Raises
        ------
        RuntimeError
            If the values are neither numbers nor arrays, or the threshold is not a number.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([-5, 40, None]).clip_lower(0))
        [0.0, 40.0, None]
        """
        return self.clip(threshold)

    def clip_upper(self, threshold: Any) -> SArray:
        """Return the numbers as floats, with those above the threshold replaced by it.

        Parameters
        ----------
        threshold
            The largest number of the result.

        Raises
        ------
        RuntimeError
            If the values are neither numbers nor arrays, or the threshold is not a number.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([40, 120, None]).clip_upper(100))
        [40.0, 100.0, None]
        """
        return self.clip(upper=threshold)

    @call_example("sf['a'].astype(float, undefined_on_failure=True), which makes missing what fails")
    def astype(self, dtype: ColumnClass, undefined_on_failure: bool = False) -> SArray:
        """Return the values converted to another class.

        Parameters
        ----------
        dtype
            The class, such as ``float``.
        undefined_on_failure
            Whether values that cannot be converted become missing; otherwise they raise an error.

        Raises
        ------
        RuntimeError
            If the column's type can never be converted to ``dtype``, or if a value cannot be converted. A value raises at once if the column has
            strings in memory, else when the rows are computed.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray(["1", "x"]).astype(int, undefined_on_failure=True))
        [1, None]
        """
        target, source = column_type_for(dtype), self._node.schema[0]
        function = _cast_of_images(source.kind, target.kind, bool(undefined_on_failure))
        if function is not None:
            return make_array(apply_lambda(self._node, function, target, skip_missing=True))
        result = self._function("cast", target, bool(undefined_on_failure))
        if undefined_on_failure or self._node.schema[0].kind != STR.kind or not is_at_hand(result._node, Site.now()):
            return result
        if isinstance(self._node.operator, MemorySource):
            # Cast directly, without planning, so that many small casts are fast even if some fail.
            column, target = self._node.operator.read_all().columns[0], result._node.schema[0]
            return make_array(memory_source([cast_array(column, self._node.schema[0], target)], [target]))
        materialize(result._node)
        return result

    def pixel_array_to_image(self, width: int, height: int, channels: int, undefined_on_failure: bool = True, allow_rounding: bool = False) -> SArray:
        """Return a column of images of one size, made of arrays of their pixels: rows from the top, in each its pixels, of each its channels.

        Parameters
        ----------
        width, height, channels
            The size of each image.
        undefined_on_failure
            Whether an array of another length is missing afterwards, instead of an error.
        allow_rounding
            Whether numbers that are not whole are rounded down.

        Returns
        -------
        SArray
            Of class Image; missing where the array is.

        Raises
        ------
        TypeError
            If the column does not hold arrays.
        ValueError
            If a size is negative; when rows are computed, if a number is not from 0 to 255, or not whole.

        Examples
        --------
        >>> from array import array
        >>> from sframe_spark import SArray
        >>> images = SArray([array("d", [0, 50, 100, 150]), None]).pixel_array_to_image(2, 2, 1)
        >>> images[0].pixel_data.tolist()
        [[0, 50], [100, 150]]
        """
        kind = self._node.schema[0].kind
        if kind != ARRAY_KIND:
            raise SchemaError(f"pixel_array_to_image() takes a column of arrays, not of {kind}: astype(array.array) makes it one")
        sizes: dict[str, Any] = {"width": width, "height": height, "channels": channels}
        for name, size in sizes.items():
            if not hasattr(size, "__index__") and not (isinstance(size, float) and size.is_integer()):
                raise SchemaError(f"{name} is an int, not {brief(size)}")
            if size < 0:
                raise InvalidArgumentError(f"{name} is {size}: no image has a negative size")
        function = ImageOfPixels(int(width), int(height), int(channels), bool(undefined_on_failure), bool(allow_rounding))
        return make_array(apply_lambda(self._node, function, IMAGE, skip_missing=True))

    def is_in(self, other: Any) -> SArray:
        """Return a column with 1 where the value is among other values, else 0.

        Parameters
        ----------
        other
            A list or an SArray of values. If it is a string, the result is 1 where the value is a substring of it.

        Raises
        ------
        RuntimeError
            If ``other`` is a single value, or a string while the column does not hold strings.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray(["fig", "kiwi", None]).is_in(["kiwi", "plum"]))
        [0, 1, 0]
        """
        kind, other = self._node.schema[0].kind, one_value(other)
        if isinstance(other, str) and kind == STR.kind:
            return make_array(apply_lambda(self._node, PartOf(other), LOGICAL, skip_missing=False))
        if isinstance(other, str) or not hasattr(other, "__iter__") or is_of_spark(other):
            raise NotValuesError(f"the values to search for must be a list or an SArray of {kind}, not {other!r}")
        is_alike = isinstance(other, ClassRegistry.array) and self._node.schema == other._node.schema and self._node.schema[0] in EQUAL_AS_KEYS
        if is_alike and are_many(other._node):
            return make_array(match_mask(self._node, other._node))
        return self._function("is_in", tuple(snapshots(map(one_value, other))))

    def _is_one_of(self, keys: SArray) -> SArray:
        """Return a column with 1 where the value is one of the keys, else 0; NaN equals NaN here."""
        values = tuple(keys)
        require_comparable_values(self._node, values, "filter_by")
        return self._function("is_in", values, True)

    def contains(self, item: Any) -> SArray:
        """Return a column with 1 where a string contains ``item``, a list has it as an item, or a dict as a key; else 0.

        Parameters
        ----------
        item
            The substring, item or key to search for.

        Raises
        ------
        RuntimeError
            If the values are not strings, lists or dicts, or they are strings and ``item`` is not.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray(["green tea", "milk", None]).contains("tea"))
        [1, 0, 0]
        >>> list(SArray([["tea", "milk"], ["milk"]]).contains("tea"))
        [1, 0]
        """
        return self._function("contains", item)

    def hash(self, seed: int = 0) -> SArray:
        """Return an int hash of each value. Equal values have equal hashes; those of ints, floats, strings and arrays are the same as in Turi Create.

        Parameters
        ----------
        seed
            32-bit int; different seeds give different hashes.

        Raises
        ------
        TypeError
            If ``seed`` is not a number.
        OverflowError
            If ``seed`` has more than 32 bits.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> hashes = SArray(["ann", "bob", "ann"]).hash()
        >>> hashes.dtype, hashes[0] == hashes[2], hashes[0] == hashes[1]
        (<class 'int'>, True, False)
        """
        return self._function("hash", require_seed(seed))

    def item_length(self) -> SArray:
        """Return the number of items in each list, dict or array; missing where the value is missing.

        Raises
        ------
        TypeError
            If the values are not lists, dicts or arrays.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([["tea", "milk"], [], None]).item_length())
        [2, 0, None]
        """
        return self._function("item_length")
