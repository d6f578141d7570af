"""Rows that the contract kit makes from column types: values that a wrong kernel would get wrong, and the fewest of them that show a fault.

Some tables are always the same; others are random, made and made smaller by Hypothesis. The arrays begin and end within longer ones, as batches of
rows do, so that a kernel which ignores the offset of an array reads other values.
"""

from __future__ import annotations

import array
import itertools
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pyarrow as pa

from sframe_spark.errors import ContractBroken
from sframe_spark.images import Image
from sframe_spark.optional_libraries import import_library
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node_facts import Schema
from sframe_spark.testing.row_comparison import Rows, shown_rows
from sframe_spark.types import ARRAY_KIND, DATETIME_KIND, DICT_KIND, FLOAT_KIND, IMAGE_KIND, INT_KIND, LIST_KIND, NDARRAY_KIND, STR_KIND, ColumnType
from sframe_spark.values.python_to_arrow import encode, recode

Tables = Sequence[Rows]
# ``check(tables)`` raises ContractBroken if something is wrong on the rows of the inputs.
Check = Callable[[Tables], None]

NAN, INF = float("nan"), float("inf")
MAX_ROWS = 12
MAX_PAIRS = 200
MAX_VALUES = 5
EAST, WEST = timezone(timedelta(hours=5, minutes=30)), timezone(-timedelta(hours=11))
NOON = datetime(2024, 2, 29, 12)

# Simple values first: Hypothesis makes examples smaller towards them.
ORDINARY: dict[str, list[Any]] = {
    INT_KIND: [0, 1, 2, -1, 3, 7, 100],
    FLOAT_KIND: [0.0, 1.0, 2.0, -1.5, 0.25, 7.0, 100.0],
    STR_KIND: ["", "a", "b", "B", "ab", "é", " a "],
    DATETIME_KIND: [NOON, datetime(1970, 1, 1), datetime(2024, 3, 1), datetime(2001, 9, 9, 1, 46, 40)],
    ARRAY_KIND: [array.array("d", values) for values in ([], [1.0], [2.0, -1.0])],
    NDARRAY_KIND: [np.array(values) for values in ([1.0], [[1.0, 2.0]], [[2.0], [-1.0]], [[1.0, 2.0], [3.0, 4.0]])],
    IMAGE_KIND: [Image(np.zeros((1, 2), np.uint8)), Image(np.zeros((2, 1), np.uint8)), Image(np.ones((1, 2), np.uint8))],
    LIST_KIND: [[], [1], [2, 1], [1, None]],
    DICT_KIND: [{}, {"a": 1}, {"a": 2, "b": None}],
}
EXTREME: dict[str, list[Any]] = {
    INT_KIND: [2**53 + 1, 2**63 - 1, -(2**63)],
    FLOAT_KIND: [NAN, INF, -INF, -0.0, 1e300, 5e-324],
    STR_KIND: ["x" * 300, "日本", "\U0001f600", "a\u0301", "1", "nan", "a\nb"],
    DATETIME_KIND: [datetime(1969, 12, 31, 23, 59, 59, 999_999), datetime(1900, 1, 1), datetime(2199, 12, 31)],
    ARRAY_KIND: [array.array("d", [NAN, -0.0, INF])],
    NDARRAY_KIND: [np.array([[[NAN, -0.0, INF]]]), np.zeros((0, 2))],
    IMAGE_KIND: [Image(), Image(np.full((1, 1, 4), 255, np.uint8))],
    LIST_KIND: [["a", 1.5], [["c"], {"b": 2}]],
    DICT_KIND: [{"a": ["c"]}, {1: "b"}],
}
# Sums of these overflow no int, and have few digits: an author's own sum in plain Python then has the same digits.
EXTREME_TO_ADD: dict[str, list[Any]] = {INT_KIND: [2**40 + 1, -(2**31)], FLOAT_KIND: [NAN, INF, -INF, -0.0]}
ZONED = [NOON.replace(tzinfo=UTC), NOON.replace(tzinfo=EAST), NOON.replace(tzinfo=WEST), NOON.replace(tzinfo=EAST).astimezone(UTC)]


def values_of(column_type: ColumnType, to_add: bool = False) -> list[Any]:
    """Return values of a column type: ordinary ones, a missing one, and extreme ones.

    Parameters
    ----------
    column_type
        The type.
    to_add
        Whether values are added up, so that they must not be too large.

    Examples
    --------
    >>> from sframe_spark.types import INT, list_of
    >>> values_of(INT)[-1], values_of(list_of(INT))
    (-9223372036854775808, [[], [1], [2, 1], [1, None], None])
    """
    kind = column_type.kind
    if column_type.is_list_or_dict and not column_type.is_encoded:
        return native_values(column_type.physical)
    extreme = EXTREME_TO_ADD.get(kind, EXTREME[kind]) if to_add else EXTREME[kind]
    return [*ORDINARY[kind], None, *extreme, *(ZONED if column_type.is_zoned else [])]


def native_values(physical: pa.DataType) -> list[Any]:
    """Return lists, or dicts, whose items have one type.

    Examples
    --------
    >>> native_values(pa.list_(pa.float64()))
    [[], [1.0], [2.0, 1.0], [1.0, None], None]
    >>> native_values(pa.map_(pa.string(), pa.int64()))
    [{}, {'a': 1}, {'b': 2, 'a': None}, None]
    """
    ordinary = {pa.int64(): ORDINARY[INT_KIND], pa.float64(): ORDINARY[FLOAT_KIND], pa.string(): ORDINARY[STR_KIND]}
    if pa.types.is_map(physical):
        (_, key, other, *_), (_, item, second, *_) = ordinary[physical.key_type], ordinary[physical.item_type]
        return [{}, {key: item}, {other: second, key: None}, None]
    _, item, second, *_ = ordinary[physical.value_type]
    return [[], [item], [second, item], [item, None], None]


def chunk_of(rows: Rows, schema: Schema) -> Chunk:
    """Return rows as Arrow arrays that begin and end within longer ones."""
    return Chunk(tuple(within_longer(column_of([row[i] for row in rows], kind)) for i, kind in enumerate(schema)), len(rows))


def column_of(values: list[Any], column_type: ColumnType) -> pa.Array:
    """Return values as an array of exactly the type of a column."""
    encoded = encode(values, column_type)
    return encoded if encoded.type.equals(column_type.physical) else recode(encoded, ColumnType(column_type.kind, encoded.type), column_type)


def within_longer(column: pa.Array) -> pa.Array:
    """Return an array with the same values, as a slice of a longer array."""
    around = pa.nulls(3, column.type)
    first = column[:1] if len(column) else around[:1]
    return pa.concat_arrays([around, first, column, first]).slice(4, len(column))


def fixed_tables(schemas: Sequence[Schema], aligned: bool, to_add: bool = False) -> Iterator[Tables]:
    """Yield rows for the inputs of an operator: none, one, equal ones, all kinds of values, and values of two columns in all pairs.

    Parameters
    ----------
    schemas
        Column types of each input.
    aligned
        Whether all inputs have equally many rows.
    to_add
        Whether values are added up.
    """
    values = [[values_of(kind, to_add) for kind in schema] for schema in schemas]
    yield [[tuple(column[min(1, len(column) - 1)] for column in columns)] for columns in values]
    yield [[] for _ in schemas]
    if not aligned:
        for alone in range(len(schemas) if len(schemas) > 1 else 0):
            yield [cycled(columns, 6, 1) if slot == alone else [] for slot, columns in enumerate(values)]
    yield [[tuple(None for _ in columns)] for columns in values]
    # Ties, in one column and in all, with missing values between them.
    few = [[[*column[:2], None] for column in columns] for columns in values]
    yield [[tuple(column[(row // 3**place + row) % 3] for place, column in enumerate(columns)) for row in range(9)] for columns in few]
    yield [[tuple(column[1] for column in columns)] * 4 for columns in few]
    for step in (1, 3):
        yield [cycled(columns, 13, step + slot) for slot, columns in enumerate(values)]
    if sum(map(len, schemas)) == 2:
        pairs = list(itertools.islice(itertools.product(*itertools.chain(*values)), MAX_PAIRS))
        if len(schemas) == 1:
            yield [pairs]
        elif aligned:
            yield [[(first,) for first, _ in pairs], [(second,) for _, second in pairs]]


def cycled(columns: Sequence[Sequence[Any]], rows: int, step: int) -> Rows:
    """Return rows whose columns go through their values, each at another pace."""
    return [tuple(column[(row * (step + 2 * place) + place) % len(column)] for place, column in enumerate(columns)) for row in range(rows)]


def check_generated(check: Check, schemas: Sequence[Schema], aligned: bool, random: int, to_add: bool = False) -> None:
    """Check rows that are always the same and random ones; a fault is raised with the fewest rows that show it.

    Parameters
    ----------
    check
        Raises ContractBroken if something is wrong on the rows.
    schemas, aligned, to_add
        See :func:`fixed_tables`.
    random
        How many random tables are tried.

    Raises
    ------
    ContractBroken
        If something is wrong.
    MissingLibraryError
        If Hypothesis is not installed.
    """
    import_library("hypothesis")
    for tables in fixed_tables(schemas, aligned, to_add):
        error = failure_of(check, tables)
        if error is not None:
            tables, error = fewest_rows(check, tables, error, aligned)
            raise error.of(rows=tables_text(tables)) from error.__cause__
    check_random(check, schemas, aligned, random, to_add)


def failure_of(check: Check, tables: Tables) -> ContractBroken | None:
    """Return what is wrong on some rows; None if nothing is."""
    try:
        check(tables)
    except ContractBroken as error:
        return error
    return None


def fewest_rows(check: Check, tables: Tables, error: ContractBroken, aligned: bool) -> tuple[Tables, ContractBroken]:
    """Leave out rows, first many at once, as long as the same rule is broken; return the rows that are left, and what is wrong on them."""
    for slot in range(1 if aligned else len(tables)):
        size = len(tables[slot])
        while size:
            start = 0
            while start < len(tables[slot]):
                fewer = [[*t[:start], *t[start + size :]] if aligned or place == slot else t for place, t in enumerate(tables)]
                found = failure_of(check, fewer)
                if found is not None and found.rule == error.rule:
                    tables, error = fewer, found
                else:
                    start += size
            size //= 2
    return tables, error


def check_random(check: Check, schemas: Sequence[Schema], aligned: bool, count: int, to_add: bool = False) -> None:
    """Check random rows; a fault is raised with rows that Hypothesis made as few and as simple as it could."""
    hypothesis = import_library("hypothesis")
    make = hypothesis.strategies
    # Values are drawn from lists: strategies for numbers would first look for constants in all modules of the package. Each table has few values of a
    # column, so that rows have equal keys.
    columns = [
        [make.lists(make.sampled_from([*values_of(kind, to_add), None, None]), min_size=1, max_size=MAX_VALUES) for kind in schema]
        for schema in schemas
    ]
    few = make.tuples(*[make.tuples(*of_input) for of_input in columns])
    places = make.sampled_from(range(MAX_VALUES))
    rows = [make.tuples(*[places for _ in schema]) for schema in schemas]
    if aligned:
        together = make.lists(make.tuples(*rows), max_size=MAX_ROWS)
        chosen = together.map(lambda found: [[row[slot] for row in found] for slot in range(len(rows))])
    else:
        chosen = make.tuples(*[make.lists(row, max_size=MAX_ROWS) for row in rows])
    tables = make.tuples(few, chosen).map(lambda drawn: [picked(*item) for item in zip(*drawn, strict=True)])
    found: list[tuple[Tables, ContractBroken]] = []

    def attempt(drawn: Tables) -> None:
        error = failure_of(check, drawn)
        # Rows are only made smaller as long as the same rule is broken.
        if error is not None and (not found or error.rule == found[0][1].rule):
            found.append((drawn, error))
            raise error

    calm = hypothesis.settings(
        max_examples=max(count, 1),
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
        report_multiple_bugs=False,
        phases=[hypothesis.Phase.generate, hypothesis.Phase.shrink],
        print_blob=False,
    )
    if not count:
        return
    try:
        calm(hypothesis.given(tables)(attempt))()
    except ContractBroken:
        # Hypothesis runs the smallest rows last.
        smallest, error = found[-1]
        raise error.of(rows=tables_text(smallest)) from error.__cause__


def picked(columns: Sequence[Sequence[Any]], rows: Sequence[Sequence[int]]) -> Rows:
    """Return rows of values, given some values of each column and the places of a row's values among them.

    Examples
    --------
    >>> picked([["a", "b"], [None]], [(0, 0), (1, 5), (2, 1)])
    [('a', None), ('b', None), ('a', None)]
    """
    return [tuple(column[place % len(column)] for column, place in zip(columns, row, strict=True)) for row in rows]


def tables_text(tables: Tables) -> str:
    """Return the rows of all inputs as text.

    Examples
    --------
    >>> tables_text([[(1, None)]]), tables_text([[(1,)], []])
    ('on the rows [(1, None)]', 'on the rows [(1,)] of input 0 and [] of input 1')
    """
    if len(tables) == 1:
        return f"on the rows {shown_rows(tables[0])}"
    return f"on the rows {' and '.join(f'{shown_rows(rows)} of input {slot}' for slot, rows in enumerate(tables))}"
