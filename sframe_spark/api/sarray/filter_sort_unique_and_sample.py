"""Members of SArray that filter, sort, shuffle, split or sample its rows, mark its largest values, and return or count its distinct values.

Also the class method that makes a column of random ints.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sframe_spark.api.class_registry import ClassRegistry, SArray, SFrame, make_array, make_frame
from sframe_spark.api.error_hints import call_example
from sframe_spark.api.index_argument_checks import flag, head_count, is_collection, is_row_index, masked
from sframe_spark.api.node_value_conversion import column_values
from sframe_spark.api.sarray.missing_values_casts_clipping_membership_and_hash import Cleaning
from sframe_spark.errors import NegativeSizeError, SchemaError, UnorderedError, UnsupportedOperationError
from sframe_spark.expressions.python_function import Truth
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.operators.project_zip_arrange import project, zip_columns
from sframe_spark.operators.row_selection import filter_by_mask
from sframe_spark.operators.sort_top_rows_and_assumed_order import SORTABLE
from sframe_spark.operators.sources.in_memory import range_source
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import DICT_KIND, INT

with lazy_imports(globals()):
    from sframe_spark.api.sampling import chosen_seed, random_ints, shuffled, split
    from sframe_spark.api.user_functions import bind_function
    from sframe_spark.api.value_membership import are_many, semi_join
    from sframe_spark.operators.elementwise import apply_function, apply_lambda
    from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
    from sframe_spark.operators.groupby.groupby import group_by
    from sframe_spark.operators.row_number import row_number
    from sframe_spark.operators.sort_top_rows_and_assumed_order import TopRows, sort_rows


class Selection(Cleaning):
    """Mixin of SArray: filtering, sorting, distinct values, random samples, splits and shuffles."""

    if TYPE_CHECKING:

        @property
        def dtype(self) -> type: ...

    def filter(self, fn: Callable[[Any], Any], skip_na: bool = True, seed: int | None = None) -> SArray:
        """Return the rows for which a Python function returns a true value.

        Parameters
        ----------
        fn
            Function that takes a value.
        skip_na
            Whether to leave out missing values without calling ``fn``; otherwise it is called with None.
        seed
            Has no effect; accepted for compatibility with Turi Create.

        Raises
        ------
        TypeError
            If ``fn`` is not callable.
        RuntimeError
            If the function fails; the message shows the function's traceback and the value.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray(["tea", "coffee", None]).filter(lambda word: len(word) > 3))
        ['coffee']
        """
        mask = apply_lambda(self._node, bind_function(fn, "filter", self._node.length.at_most, form=Truth), INT, skip_missing=bool(skip_na))
        return make_array(filter_by_mask(self._node, mask))

    def filter_by(self, values: Any, exclude: bool = False) -> SArray:
        """Return the rows whose value is among the given values.

        Parameters
        ----------
        values
            A list, an SArray or another collection of values, or one value.
        exclude
            Whether to return the other rows instead.

        Raises
        ------
        TypeError
            If the class of the values differs from the column's, or the column holds dicts.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> fruits = SArray(["fig", "kiwi", "plum", "kiwi"])
        >>> list(fruits.filter_by(["kiwi", "pear"])), list(fruits.filter_by("kiwi", exclude=True))
        (['kiwi', 'kiwi'], ['fig', 'plum'])
        """
        self._require_no_dicts()
        keys = values if isinstance(values, ClassRegistry.array) else ClassRegistry.array(list(values) if is_collection(values) else [values])
        if keys.dtype is not self.dtype:
            raise SchemaError(f"the rows are {self.dtype.__name__}, but the values are {keys.dtype.__name__}: they must have the same type")
        if are_many(keys._node):
            return make_array(semi_join(self._node, 0, keys._node, bool(exclude)))
        mask = self._is_one_of(keys)
        return make_array(masked(self._node, (mask == 0 if exclude else mask)._node, "SArray"))

    @call_example("sf['a'].sort(ascending=False)")
    def sort(self, ascending: bool = True) -> SArray:
        """Return the values sorted: missing values first, then NaN, then ascending. Equal values keep their order.

        Parameters
        ----------
        ascending
            Whether to sort in this order, or in the reverse.

        Raises
        ------
        TypeError
            If the values have no order (the error is a RuntimeError too), or ``ascending`` is neither a Boolean nor a number.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([3, None, 1]).sort()), list(SArray([3, None, 1]).sort(ascending=False))
        ([None, 1, 3], [3, 1, None])
        """
        if self._node.schema[0].kind not in SORTABLE:
            raise UnorderedError(f"values of type {self.dtype.__name__} have no order: only int, float, str and datetime can be sorted")
        return make_array(sort_rows(self._node, [(0, flag(ascending, "ascending"))]))

    def is_topk(self, topk: int = 10, reverse: bool = False) -> SArray:
        """Return a column with 1 in the ``topk`` rows with the largest values, and 0 in the other rows.

        Parameters
        ----------
        topk
            Number of rows to mark. If values are equal, only as many are marked as needed.
        reverse
            Whether to mark the rows with the smallest values instead.

        Raises
        ------
        RuntimeError
            If the values have no order.
        ValueError
            If ``topk`` is negative.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray([70, 95, 80, None]).is_topk(2))
        [0, 1, 1, 0]
        """
        count = head_count(topk)
        if self._node.schema[0].kind not in SORTABLE:
            raise UnsupportedOperationError(f"values of type {self.dtype.__name__} have no top: only int, float, str and datetime have one")
        numbers = row_number(self._node)
        present = filter_by_mask(zip_columns(self._node, numbers), apply_function("is_not_missing", self._node))
        top = TopRows(((0, bool(reverse)),), count).make_planner_node(present)
        top_rows = tuple(column_values(project(top, [1])))
        return make_array(apply_function("is_in", numbers, parameters=(top_rows,)))

    def unique(self) -> SArray:
        """Return each distinct value once, ascending; a missing value comes first.

        Raises
        ------
        TypeError
            If the values are dicts.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray(["b", "a", None, "b"]).unique())
        [None, 'a', 'b']
        """
        return make_array(self._counted([]))

    @call_example("sf['a'].value_counts()")
    def value_counts(self) -> SFrame:
        """Return a frame with each distinct value and the number of its rows, most frequent first.

        Raises
        ------
        TypeError
            If the values are dicts.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> print(SArray(["tea", "milk", "tea"]).value_counts())
        +-------+-------+
        | value | count |
        +-------+-------+
        |  tea  |   2   |
        |  milk |   1   |
        +-------+-------+
        [2 rows x 2 columns]
        """
        return make_frame(sort_rows(self._counted([Aggregation("count")]), [(1, False)]), ["value", "count"])

    def _counted(self, aggregations: list[Aggregation]) -> PlannerNode:
        """Return a node with each distinct value and the aggregates of its rows."""
        self._require_no_dicts()
        return group_by(self._node, [0], aggregations)

    def _require_no_dicts(self) -> None:
        if self._node.schema[0].kind == DICT_KIND:
            raise SchemaError("dict values cannot be compared for uniqueness: convert them to text or lists first")

    @call_example("sf['a'].sample(0.1, seed=1), a share of the rows; of n rows sf['a'].shuffle(seed=1).head(n)")
    def sample(self, fraction: float, seed: int | None = None, exact: bool = False) -> SArray:
        """Return a random sample of the rows, in order.

        Parameters
        ----------
        fraction
            Fraction of the rows, from 0 to 1. Each row is drawn with this probability.
        seed
            32-bit int that determines which rows are drawn. Turi Create draws the same rows.
        exact
            Whether to draw exactly this fraction, rounded down to a whole number of rows. This takes more time, as rows are sorted.

        Raises
        ------
        TypeError
            If an argument is not a number.
        ValueError
            If ``fraction`` is not between 0 and 1.
        OverflowError
            If ``seed`` has more than 32 bits.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> len(SArray(range(10)).sample(0.5, seed=1, exact=True))
        5
        """
        return make_array(split(self._node, fraction, chosen_seed(seed), exact)[0])

    def random_split(self, fraction: float, seed: int | None = None) -> tuple[SArray, SArray]:
        """Return two columns: a random sample of the rows, and the other rows, both in order.

        Parameters
        ----------
        fraction
            Fraction of the rows, from 0 to 1. Each row is in the first column with this probability.
        seed
            32-bit int that determines which rows are drawn. Turi Create draws the same rows.

        Raises
        ------
        TypeError
            If an argument is not a number.
        ValueError
            If ``fraction`` is not between 0 and 1.
        OverflowError
            If ``seed`` has more than 32 bits.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> train, test = SArray(range(1000)).random_split(0.9, seed=5)
        >>> sorted([*train, *test]) == list(range(1000))
        True
        """
        first, second = split(self._node, fraction, chosen_seed(seed), False)
        return make_array(first), make_array(second)

    @call_example("sf['a'].shuffle(seed=1)")
    def shuffle(self, *, seed: int | None = None) -> SArray:
        """Return all rows in a random order.

        Parameters
        ----------
        seed
            32-bit int that determines the order; None: a random one.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> sorted(SArray([3, 1, 2]).shuffle())
        [1, 2, 3]
        """
        return make_array(shuffled(self._node, chosen_seed(seed)))

    @classmethod
    def random_integers(cls, size: int, seed: int | None = None) -> SArray:
        """Return a column of random 64-bit ints.

        Parameters
        ----------
        size
            Number of rows.
        seed
            32-bit int that determines the ints, which are those of Turi Create; None: a random one.

        Raises
        ------
        TypeError
            If ``size`` is not an int, or ``seed`` is not a number.
        OverflowError
            If ``seed`` has more than 32 bits.
        RuntimeError
            If ``size`` is negative.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray.random_integers(3, seed=1)) == list(SArray.random_integers(3, seed=1))
        True
        """
        if not is_row_index(size):
            raise SchemaError(f"size must be a whole number of rows, not {size!r:.60}")
        if size < 0:
            raise NegativeSizeError(f"a column cannot have {size} rows")
        return make_array(random_ints(range_source(0, int(size)), chosen_seed(seed)))
