"""Members of SFrame that sort, group, append, filter and sample rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import attrs
import numpy as np

from sframe_spark import errors
from sframe_spark.api.class_registry import ClassRegistry, SFrame, make_frame
from sframe_spark.api.column_names import require_name
from sframe_spark.api.error_hints import also_named, call_example
from sframe_spark.api.index_argument_checks import flag, head_count, is_collection
from sframe_spark.api.node_value_conversion import recoded_column
from sframe_spark.api.sframe.columns import Columns, without
from sframe_spark.api.sframe.construction import is_table, other_frame
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.message_text import brief, text_for_message
from sframe_spark.operators.project_zip_arrange import all_columns, column_of, columns_of
from sframe_spark.operators.row_selection import filter_by_mask
from sframe_spark.operators.sort_top_rows_and_assumed_order import SORTABLE
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import ARRAY_KIND, DICT_KIND, FLOAT_KIND, NDARRAY_KIND, common_encoding
from sframe_spark.values.plain_values import one_value

with lazy_imports(globals()):
    from sframe_spark.api.aggregates.argument_types import Aggregates, Names, SortKeys
    from sframe_spark.api.aggregates.requests import AggregateRequest, chosen_names, expand_requests, output_names
    from sframe_spark.api.sampling import chosen_seed, require_fraction, shuffled, split
    from sframe_spark.api.sarray import SArray
    from sframe_spark.api.value_membership import are_many, semi_join
    from sframe_spark.operators.append import append
    from sframe_spark.operators.elementwise import apply_function
    from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
    from sframe_spark.operators.groupby.groupby import group_by
    from sframe_spark.operators.sort_top_rows_and_assumed_order import TopRows, sort_rows


class Relational(Columns):
    """Mixin of SFrame: sorting, grouping, appending, filtering and sampling."""

    @call_example("sf.sort('a') or sf.sort(['a', 'b'], ascending=False)")
    def sort(self, key_column_names: SortKeys, ascending: bool = True) -> SFrame:
        """Return the rows sorted by one or more columns. Rows with equal keys keep their order; missing values come first, or last if descending.

        Parameters
        ----------
        key_column_names
            A name, a list of names, or a list of (name, ascending) pairs.
        ascending
            Direction for names that are given without one.

        Raises
        ------
        TypeError
            If the values of a column have no order, or the keys are not given in one of these forms.
        KeyError
            If there is no such column (the error is a ValueError too).

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> frame = SFrame({"city": ["Rome", "Oslo", "Rome"], "day": [2, 1, 1]})
        >>> print(frame.sort("day"))
        +------+-----+
        | city | day |
        +------+-----+
        | Oslo |  1  |
        | Rome |  1  |
        | Rome |  2  |
        +------+-----+
        [3 rows x 2 columns]
        >>> print(frame.sort([("city", False), ("day", True)]))
        +------+-----+
        | city | day |
        +------+-----+
        | Rome |  1  |
        | Rome |  2  |
        | Oslo |  1  |
        +------+-----+
        [3 rows x 2 columns]
        """
        return make_frame(sort_rows(self._node, self._order(key_column_names, ascending)), self._names)

    def _order(self, keys: Any, ascending: Any) -> list[tuple[int, bool]]:
        items = [keys] if isinstance(keys, str) else keys
        if not isinstance(items, list):
            raise errors.SchemaError("pass the name of a column, a list of names, or a list of (name, ascending) pairs")
        if not items or len({type(item) for item in items}) > 1:
            raise errors.InvalidArgumentError("sort keys must be either all names or all (name, ascending) pairs, at least one")
        if isinstance(ascending, (list, tuple)) and len(ascending) == len(items):
            pairs = [(item, bool(direction)) for item, direction in zip(items, ascending, strict=True)]
            raise errors.SchemaError(f"ascending must be True or False, for all names: use sort({brief(pairs)}) for one direction each")
        default = flag(ascending, "ascending")
        order: dict[int, bool] = {}
        for item in items:
            name, direction = item if isinstance(item, tuple) and len(item) == 2 else (item, default)
            if not isinstance(name, str) or not isinstance(direction, (int, float, np.number, np.bool_)):
                raise errors.SchemaError(f"a sort key must be a name or a (name, ascending) pair, got {item!r}")
            position = self._position(name, errors.UnknownNameError)
            if position in order:
                raise errors.UnsupportedOperationError(f"column {name!r} is named twice as a sort key")
            self._check_sortable(position)
            order[position] = flag(direction, "ascending")
        return list(order.items())

    def _check_sortable(self, position: int) -> None:
        kind = self._node.schema[position].kind
        if kind not in SORTABLE:
            raise errors.UnorderedError(f"column {self._names[position]!r} of type {kind} has no order: only int, float, str and datetime have one")

    @call_example("sf.topk('a', k=5)")
    def topk(self, column_name: str, k: int = 10, reverse: bool = False) -> SFrame:
        """Return the ``k`` rows with the largest values of a column, largest first; rows where it is missing are left out.

        Parameters
        ----------
        column_name
            Name of a column of class int, float, str or datetime.
        k
            Number of rows; if there are fewer, all are returned.
        reverse
            Whether to return the rows with the smallest values, smallest first.

        Raises
        ------
        KeyError
            If there is no such column (the error is a RuntimeError too).
        TypeError
            If the values of the column have no order.
        ValueError
            If ``k`` is negative.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> print(SFrame({"name": ["ann", "bob", "cy"], "stars": [3, 5, None]}).topk("stars", k=1))
        +------+-------+
        | name | stars |
        +------+-------+
        | bob  |   5   |
        +------+-------+
        [1 rows x 2 columns]
        """
        position, count = self._position(require_name(column_name)), head_count(k)
        self._check_sortable(position)
        present = filter_by_mask(self._node, apply_function("is_not_missing", column_of(self._node, position)))
        return make_frame(TopRows(((position, bool(reverse)),), count).make_planner_node(present), self._names)

    @call_example("sf.unique() for whole rows, or sf.drop_duplicates(['a']) for some columns")
    def unique(self) -> SFrame:
        """Return each distinct row once. The columns are sorted by name, and the rows by all columns.

        Raises
        ------
        TypeError
            If a column holds dicts.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> print(SFrame({"name": ["bob", "ann", "bob"], "land": ["fr", "de", "fr"]}).unique())
        +------+------+
        | land | name |
        +------+------+
        |  de  | ann  |
        |  fr  | bob  |
        +------+------+
        [2 rows x 2 columns]
        """
        if not self._names:
            return make_frame(self._node, self._names)
        for name, column_type in zip(self._names, self._node.schema, strict=True):
            if column_type.kind == DICT_KIND:
                raise errors.SchemaError(f"column {name!r} holds dicts, which cannot be compared for uniqueness")
        names = sorted(self._names)
        return make_frame(group_by(self._node, list(map(self._position, names)), []), names)

    @call_example("sf.drop_duplicates(['a']) for some columns, or sf.unique() for whole rows")
    def drop_duplicates(self, subset: Sequence[str]) -> SFrame:
        """Return the first row for each distinct combination of values in some columns, sorted by these columns.

        Parameters
        ----------
        subset
            Names of the columns, or one name. In the result these columns come first, sorted by name.

        Raises
        ------
        KeyError
            If there is no such column (the error is a TypeError too).
        TypeError
            If one of these columns holds dicts.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> visits = SFrame({"name": ["bob", "ann", "bob"], "day": [1, 2, 3]})
        >>> print(visits.drop_duplicates("name"))
        +------+-----+
        | name | day |
        +------+-----+
        | ann  |  2  |
        | bob  |  1  |
        +------+-----+
        [2 rows x 2 columns]
        """
        keys = [self._group_key(name, errors.NoSubsetError) for name in ([subset] if isinstance(subset, str) else sorted(subset))]
        others = without(range(len(self._names)), sorted(keys))
        grouped = group_by(self._node, keys, [Aggregation("select_one", (position,)) for position in others])
        return make_frame(grouped, [self._names[position] for position in (*keys, *others)])

    @call_example("sf.groupby('a', {'total': aggregate.SUM('b')})")
    @also_named(aggregates="operations")
    def groupby(self, key_column_names: Names, operations: Aggregates, *args: Aggregates) -> SFrame:
        """Return one row for each distinct combination of keys, sorted by the keys: the key columns, then the aggregates of the group's rows.

        Parameters
        ----------
        key_column_names
            A name or a list of names. In the result the key columns are sorted by name. An empty list makes one group of all rows.
        operations
            An aggregate such as ``aggregate.SUM('a')``, a list of aggregates, or a dict from output name to aggregate.
        args
            Further operations.

        Raises
        ------
        KeyError
            If there is no such column.
        TypeError
            If an argument has another form, or a key column holds dicts.

        Examples
        --------
        >>> from sframe_spark import SFrame, aggregate
        >>> sf = SFrame({"k": ["b", "a", "b"], "v": [1, 2, 3]})
        >>> print(sf.groupby("k", {"s": aggregate.SUM("v")}))
        +---+---+
        | k | s |
        +---+---+
        | a | 2 |
        | b | 4 |
        +---+---+
        [2 rows x 2 columns]
        """
        if not isinstance(key_column_names, Iterable):
            raise errors.SchemaError(f"keys must be a column name or a list of names, got {text_for_message(key_column_names)}")
        given: Any = key_column_names
        if isinstance(given, ClassRegistry.array):
            raise errors.SchemaError(
                "keys must be a column name or a list of names, got an SArray: write groupby('a', ...) for the groups of sf['a']"
            )
        keys = [key_column_names] if isinstance(key_column_names, str) else sorted(key_column_names, key=str)
        positions = []
        for name in keys:
            if not isinstance(name, str):
                raise errors.SchemaError(f"a key column must be given by its name, got {text_for_message(name)}")
            positions.append(self._group_key(name))
        aggregations, names = self._aggregates(keys, operations, *args, names_vectors=True)
        if not keys and not aggregations:
            return self._empty()
        return make_frame(group_by(self._node, positions, aggregations), names)

    def _group_key(self, name: Any, refusal: type[errors.ColumnNotFoundError] = errors.ColumnNotFoundError) -> int:
        """Return the position of a key column; raise an error if it holds dicts, or one of the class ``refusal`` if there is no such column."""
        position = self._position(name, refusal)
        if self._node.schema[position].kind == DICT_KIND:
            raise errors.SchemaError(f"column {name!r} holds dicts, which cannot be keys: convert them to text or lists first")
        return position

    def _aggregates(self, keys: Sequence[str], *operations: Any, names_vectors: bool = False) -> tuple[list[Aggregation], list[str]]:
        """Return the aggregations that the user requests, and the names of all columns of the result: ``keys``, then the aggregates.

        With ``names_vectors``, the default names of sums and means of arrays begin with "Vector".
        """
        requests, chosen = expand_requests(operations, self._names), chosen_names(operations)
        aggregations = [self._aggregation(request) for _, request in requests]
        labels = []
        for (name, request), aggregation in zip(requests, aggregations, strict=True):
            is_vector = request.name in ("sum", "mean") and self._node.schema[aggregation.positions[0]].kind in (ARRAY_KIND, NDARRAY_KIND)
            labels.append(f"Vector {name}" if names_vectors and is_vector and name not in chosen else name)
        return aggregations, output_names(keys, labels, chosen)

    def _aggregation(self, request: AggregateRequest) -> Aggregation:
        positions = tuple(self._position(name, errors.MissingArgumentColumnError) for name in request.columns)
        aggregation = Aggregation(request.name, positions, tuple(request.parameters))
        try:
            aggregation.infer(self._node.schema)
        except (errors.SchemaError, errors.UnsupportedOperationError) as error:
            # Name the aggregate's columns, as there may be many aggregates.
            which = " and ".join(map(repr, request.columns)) or "all rows"
            raise type(error)(f"the aggregate of {which}: {error}") from None
        return aggregation

    @call_example("sf.append(other)")
    def append(self, other: SFrame) -> SFrame:
        """Return the rows of this frame followed by the rows of another frame with the same columns, which may be in another order.

        Parameters
        ----------
        other
            Another frame, or a table that :class:`SFrame` can be made of, such as a pandas DataFrame or a dict of columns.

        Raises
        ------
        RuntimeError
            If the frames have different columns, or columns of different types.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> print(SFrame({"name": ["ann"], "stars": [5]}).append(SFrame({"stars": [3], "name": ["bob"]})))
        +------+-------+
        | name | stars |
        +------+-------+
        | ann  |   5   |
        | bob  |   3   |
        +------+-------+
        [2 rows x 2 columns]
        """
        other = other_frame(other, "append", errors.UnsupportedOperationError)
        if not self._names or not other._names:
            source = other if not self._names else self
            return make_frame(source._node, source._names)
        return make_frame(append(*self._with_same_columns(other)), self._names)

    def __add__(self, other: SFrame) -> SFrame:
        if not isinstance(other, ClassRegistry.frame) and not is_table(other):
            raise errors.UnsupportedOperationError(
                f"+ appends the rows of another SFrame, got {type(other).__name__}: to add to the values of a column, write sf['a'] + 1"
            )
        return self.append(other)

    def _with_same_columns(self, other: Relational) -> tuple[PlannerNode, PlannerNode]:
        """Return the nodes of both frames with the columns in the same order and of the same types."""
        if len(self._names) != len(other._names) or set(self._names) != set(other._names):
            different = sorted(set(self._names) ^ set(other._names))
            raise errors.UnsupportedOperationError(f"both frames must have the same columns; only one has: {', '.join(different)}")
        first, second = self._node, columns_of(other._node, [other._position(name) for name in self._names])
        for position, (name, a, b) in enumerate(zip(self._names, first.schema, second.schema, strict=True)):
            if a.kind != b.kind:
                empty = "; a column of missing values only is float" if FLOAT_KIND in (a.kind, b.kind) else ""
                raise errors.UnsupportedOperationError(
                    f"column {name!r} is {a.kind} in one frame and {b.kind} in the other: use astype() first{empty}"
                )
            common = common_encoding(a, b)
            first, second = recoded_column(first, position, common), recoded_column(second, position, common)
        return first, second

    @call_example("sf.filter_by(['x', 'y'], 'a')")
    def filter_by(self, values: Any, column_name: str, exclude: bool = False) -> SFrame:
        """Return the rows whose value in a column is among the given values.

        Parameters
        ----------
        values
            A list, an SArray or another collection of values, or one value.
        column_name
            Name of the column.
        exclude
            Whether to return the other rows instead.

        Raises
        ------
        KeyError
            If there is no such column.
        TypeError
            If the class of the values differs from the column's, or the column holds dicts.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> frame = SFrame({"name": ["ann", "bob"], "stars": [5, 3]})
        >>> print(frame.filter_by(["ann", "eve"], "name"))
        +------+-------+
        | name | stars |
        +------+-------+
        | ann  |   5   |
        +------+-------+
        [1 rows x 2 columns]
        >>> print(frame.filter_by("ann", "name", exclude=True))
        +------+-------+
        | name | stars |
        +------+-------+
        | bob  |   3   |
        +------+-------+
        [1 rows x 2 columns]
        """
        position = self._group_key(require_name(column_name))
        values = one_value(values)
        keys = values if isinstance(values, SArray) else SArray(list(values) if is_collection(values) else [values])
        column = self.select_column(column_name)
        if keys.dtype is column.dtype and are_many(keys._node):
            return make_frame(semi_join(self._node, position, keys._node, bool(exclude)), self._names)
        if keys.dtype is not column.dtype and keys.countna() < len(keys):
            raise errors.SchemaError(
                f"column {column_name!r} holds {column.dtype.__name__}, but the values are {keys.dtype.__name__}: they must have the same type"
            )
        mask = column._is_one_of(keys)
        return make_frame(filter_by_mask(self._node, (mask == 0 if exclude else mask)._node), self._names)

    @call_example("sf.sample(0.1, seed=1), a share of the rows; of n rows sf.shuffle(seed=1).head(n)")
    def sample(self, fraction: float, seed: int | None = None, exact: bool = False) -> SFrame:
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
        >>> from sframe_spark import SFrame
        >>> len(SFrame({"a": range(10)}).sample(0.5, seed=1, exact=True))
        5
        """
        return self.random_split(fraction, seed, exact)[0]

    def random_split(self, fraction: float, seed: int | None = None, exact: bool = False) -> tuple[SFrame, SFrame]:
        """Return two frames: a random sample of the rows, and the other rows, both in order.

        Parameters
        ----------
        fraction
            Fraction of the rows, from 0 to 1. Each row is in the first frame with this probability.
        seed
            32-bit int that determines which rows are drawn. Turi Create draws the same rows.
        exact
            Whether the first frame gets exactly this fraction, rounded down to a whole number of rows. This takes more time, as rows are sorted.

        Raises
        ------
        TypeError
            If ``fraction`` is not a number.
        ValueError
            If ``fraction`` is not between 0 and 1, or ``seed`` is not a number.
        OverflowError
            If ``seed`` has more than 32 bits.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> train, test = SFrame({"a": range(1000)}).random_split(0.9, seed=5)
        >>> len(train) + len(test)
        1000
        """
        number = chosen_seed(seed)
        if not self._names:
            require_fraction(fraction)
            return make_frame(self._node, self._names), make_frame(self._node, self._names)
        first, second = split(self._node, fraction, number, exact)
        return make_frame(first, self._names), make_frame(second, self._names)

    @call_example("sf.shuffle(seed=1)")
    def shuffle(self, *, seed: int | None = None) -> SFrame:
        """Return all rows in a random order.

        Parameters
        ----------
        seed
            32-bit int that determines the order; None: a random one.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> sorted(row["a"] for row in SFrame({"a": [3, 1, 2]}).shuffle())
        [1, 2, 3]
        """
        return make_frame(shuffled(self._node, chosen_seed(seed)) if self._names else self._node, self._names)


def narrowed(node: PlannerNode, keys: Sequence[int], aggregations: Sequence[Aggregation]) -> tuple[PlannerNode, list[int], list[Aggregation]]:
    """Return a node with only the columns that keys and aggregates need, the positions of the keys in it, and the aggregates over its columns.

    If no column is needed, the node has the first one, because its rows are needed.
    """
    used = sorted({*keys, *(position for aggregation in aggregations for position in aggregation.positions)}) or all_columns(node.facts.width)[:1]
    moved = {position: index for index, position in enumerate(used)}
    over_used = [attrs.evolve(item, positions=tuple(moved[position] for position in item.positions)) for item in aggregations]
    return columns_of(node, used), [moved[key] for key in keys], over_used
