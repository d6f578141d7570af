"""Orders that files of others seem to be in, and how much of them their rows hold."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st

from sframe_spark.storage.external.row_order_detection import VerifiedOrder, claimed_orders, parts_of, verified_order
from sframe_spark.storage.manifest.manifest import Manifest
from sframe_spark.storage.segments.column_statistics_collection import dataset_statistics
from tests.storage.foreign_manifests import foreign_manifest

NAN = float("nan")


def written(path: Path, *files: Any, group: int = 2, said: Sequence[tuple[int, bool, bool]] = (), **options: Any) -> Manifest:
    """A manifest of files of some tables; row groups may say that they are sorted by columns, descending or not, missing values first or not."""
    sorting = [pq.SortingColumn(*item) for item in said] or None
    for number, columns in enumerate(files):
        pq.write_table(pa.table(columns), path / f"{number}.parquet", row_group_size=group, sorting_columns=sorting, **options)
    return foreign_manifest([path])


MOMENTS = [datetime.datetime(2020, 1, day) for day in (1, 2, 4, 7)]


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1, 2, 3, 4]),
        pa.array([1, 2, 3, 4], pa.int8()),
        pa.array([-0.0, 0.0, 3.5, float("inf")]),
        pa.array(["", "a", "b", "é"]),
        pa.array(["a", "b", "c", "d"], pa.large_string()),
        *(pa.array(MOMENTS, pa.timestamp(unit)) for unit in ("ms", "us", "ns")),
        pa.array(MOMENTS, pa.timestamp("us", "Europe/Paris")),
        pa.array([moment.date() for moment in MOMENTS]),
    ],
    ids=lambda values: str(values.type),
)
def test_ranges_of_row_groups_that_follow_each_other_are_a_reason_to_look(tmp_path: Path, values: pa.Array) -> None:
    manifest = written(tmp_path, {"a": values, "b": [1, 2, 1, 2], "c": values.take([3, 2, 1, 0])})
    assert claimed_orders(manifest, 0) == (((0, True),),)
    assert claimed_orders(manifest, 1) == ()
    assert claimed_orders(manifest, 2) == (((2, False),),)
    assert verified_order(manifest, ((0, True),)).columns == verified_order(manifest, ((2, False),)).columns == 1


@pytest.mark.parametrize(
    ("values", "ordering"),
    [
        ([None, 1, 2, 3], ((0, True),)),
        ([None, None, None, 3], None),
        ([None, None, 1, 2, 2, 3], ((0, True),)),
        ([3, 2, 2, None], ((0, False),)),
        ([1, 2, 3, None], None),
        ([None, 3, 2, 1], None),
        ([1, None, 2, 3], ((0, True),)),
        ([1, 2, None, None], None),
        ([1.0, 2.0, 3.0, NAN], ((0, True),)),
        ([1.0, NAN, 2.0, 3.0], ((0, True),)),
        ([1, 5, 5, 9], ((0, True),)),
    ],
)
def test_missing_values_count_as_the_smallest(tmp_path: Path, values: list[Any], ordering: Any) -> None:
    found = claimed_orders(written(tmp_path, {"a": values}), 0)
    assert found == (() if ordering is None else (ordering,))


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1, 2, 3, 2**62], pa.uint64()),
        pa.array([1, 2, 3, 2**31 + 1], pa.uint32()),
        pa.array([Decimal(1), Decimal(2), Decimal(10), Decimal(300)], pa.decimal128(5, 0)),
        pa.array(["a", "b", "c", "d"]).dictionary_encode(),
        pa.array([False, False, True, True]),
    ],
    ids=lambda values: str(values.type),
)
def test_of_types_whose_bounds_are_stored_otherwise_only_what_is_said_counts(tmp_path: Path, values: pa.Array) -> None:
    (tmp_path / "said").mkdir()
    (tmp_path / "silent").mkdir()
    silent, said = written(tmp_path / "silent", {"a": values}), written(tmp_path / "said", {"a": values}, said=[(0, False, False)])
    assert claimed_orders(silent, 0) in ((), (((0, True),),))
    assert claimed_orders(said, 0) == (((0, True),),)
    assert verified_order(said, ((0, True),)).columns == 1


def test_moments_of_96_bits_are_compared_by_what_they_are(tmp_path: Path) -> None:
    columns = {"a": pa.array(MOMENTS, pa.timestamp("ns")), "b": pa.array(MOMENTS[::-1], pa.timestamp("ns"))}
    manifest = written(tmp_path, columns, said=[(0, False, False)], use_deprecated_int96_timestamps=True)
    assert claimed_orders(manifest, 0) == (((0, True),),)
    assert claimed_orders(manifest, 1) == ()
    assert verified_order(manifest, ((0, True), (1, True))) == VerifiedOrder(2, 1)
    assert verified_order(manifest, ((1, True),)) == VerifiedOrder(0)


def test_what_is_said_counts_as_far_as_all_row_groups_of_all_files_say_it(tmp_path: Path) -> None:
    columns = {"a": [1, 1, 2], "b": [5, 6, 1], "c": ["x", "x", "y"]}
    for number, sorting in enumerate([[(0,), (1,), (2,)], [(0,), (1,)], [(0,), (1,), (2, True)]]):
        said = [pq.SortingColumn(*item) for item in sorting]
        pq.write_table(pa.table({**columns, "a": [number * 2 + a for a in columns["a"]]}), tmp_path / f"{number}.parquet", sorting_columns=said)
    manifest = foreign_manifest([tmp_path])
    assert claimed_orders(manifest, 0) == (((0, True), (1, True)),)
    # Nobody says so of these, and their ranges do not follow each other.
    assert claimed_orders(manifest, 1) == claimed_orders(manifest, 2) == ()
    pq.write_table(pa.table({**columns, "a": [7, 7, 7]}), tmp_path / "3.parquet")
    assert claimed_orders(foreign_manifest([tmp_path]), 0) == (((0, True),),)


def test_what_is_said_is_not_looked_at_where_bounds_say_otherwise(tmp_path: Path) -> None:
    assert claimed_orders(written(tmp_path, {"a": [5, 6, 1, 2]}, said=[(0, False, False)]), 0) == (((0, False),),)
    assert claimed_orders(written(tmp_path, {"a": [5, 6, 7, 8]}, {"a": [1, 2, 3, 9]}, said=[(0, False, False)]), 0) == ()


def test_where_missing_values_are_said_to_be_elsewhere_the_order_is_not_ours(tmp_path: Path) -> None:
    values = {"a": pa.array([1, 2, None]), "b": pa.array([1, 2, 3])}
    assert claimed_orders(written(tmp_path, values, group=9, said=[(0, False, False)]), 0) == ()
    assert claimed_orders(written(tmp_path, {"a": pa.array([None, 1, 2])}, group=9, said=[(0, False, True)]), 0) == (((0, True),),)
    assert claimed_orders(written(tmp_path, {"a": pa.array([2, 1, None])}, group=9, said=[(0, True, False)]), 0) == (((0, False),),)
    assert claimed_orders(written(tmp_path, {"a": pa.array([None, 2, 1])}, group=9, said=[(0, True, True)]), 0) == ()


@pytest.mark.parametrize("place", [-1, 7, 1, 2])
def test_columns_that_are_none_or_have_no_order_say_nothing(tmp_path: Path, place: int) -> None:
    columns = {"a": [3, 1], "l": [[1], [2]], "d": [{"x": 1}, {"x": 2}]}
    manifest = written(tmp_path, columns, said=[(place, False, False), (0, False, False)])
    assert [claimed_orders(manifest, column) for column in range(3)] == [(), (), ()]


def test_of_many_columns_the_first_ones_count(tmp_path: Path) -> None:
    columns = {f"c{number}": [1, 1] for number in range(40)}
    said = written(tmp_path, columns, said=[(number // 2, False, False) for number in range(40)])
    assert claimed_orders(said, 0) == (tuple((column, True) for column in range(4)),)


def test_names_with_dots_are_not_parts_of_structs(tmp_path: Path) -> None:
    manifest = written(tmp_path, {"a.b": [1, 2], "a": pa.array([{"c": 1}, {"c": 2}]), "odd\n\x1b[31m": [1, 2]}, said=[(2, False, False)])
    assert [claimed_orders(manifest, column) for column in range(3)] == [(), (), (((2, True),),)]


def test_files_of_no_rows_and_tables_of_none(tmp_path: Path) -> None:
    empty = {"a": pa.array([], pa.int64())}
    assert claimed_orders(written(tmp_path, empty, said=[(0, False, False)]), 0) == ()
    manifest = written(tmp_path, {"a": [1, 2]}, empty, {"a": [2, 3]})
    assert claimed_orders(manifest, 0) == (((0, True),),)
    assert verified_order(manifest, ((0, True),)) == VerifiedOrder(1, None)


def test_columns_that_directories_name_have_their_values(tmp_path: Path) -> None:
    for year, values in ((2001, [1, 2]), (2002, [3, 4])):
        (tmp_path / f"year={year}").mkdir()
        pq.write_table(pa.table({"a": values}), tmp_path / f"year={year}" / "f.parquet")
    manifest = foreign_manifest([tmp_path])
    assert claimed_orders(manifest, 0) == (((0, True),),)
    assert dataset_statistics(manifest)[1].ascending


@pytest.mark.parametrize(
    ("values", "facts"),
    [
        ([1, 1, 2, 2, 2, 2], (True, False, False, False, False)),
        ([3, 3, 2, 2, 1, 1], (False, True, False, False, False)),
        ([5, 5, 5, 5], (True, True, False, False, True)),
        ([1, 1, 0, 0, 2, 2], (False, False, False, False, False)),
        ([1, 1, 2], (True, False, False, False, False)),
        ([1, 2, 3, 4], (None, None, None, None, None)),
    ],
)
def test_row_groups_of_one_value_each_prove_an_order(tmp_path: Path, values: list[int], facts: tuple[bool | None, ...]) -> None:
    (found,) = written(tmp_path, {"a": values}).segments[0].columns
    assert (found.ascending, found.descending, found.strictly_ascending, found.strictly_descending, found.constant) == facts
    if facts[0] is not None:
        assert (found.edges_known, found.first, found.last) == (True, values[0], values[-1])


@pytest.mark.parametrize("values", [pa.array([1, 1, 2, None]), pa.array([1.0, 1.0, 2.0, 2.0]), pa.array(["a", "a", "b", "b"])], ids=str)
def test_row_groups_of_one_value_prove_nothing_where_others_could_hide(tmp_path: Path, values: pa.Array) -> None:
    (found,) = written(tmp_path, {"a": values}).segments[0].columns
    assert found.ascending is None and found.strictly_ascending is None


def test_rows_of_one_row_each_are_in_strict_order(tmp_path: Path) -> None:
    (found,) = written(tmp_path, {"a": [1, 2, 4]}, group=1).segments[0].columns
    assert found.ascending and found.strictly_ascending and not found.strictly_descending


VALUES = st.one_of(st.none(), st.integers(0, 3))


@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=12), st.integers(1, 5), st.tuples(st.booleans(), st.booleans()))
def test_parts_together_tell_what_all_rows_tell(tmp_path_factory: pytest.TempPathFactory, rows: Any, size: int, ups: Any) -> None:
    path = tmp_path_factory.mktemp("rows")
    for descending in (False, True):
        rows = sorted(rows, key=lambda row: [-1 if value is None else value for value in row], reverse=descending)
        columns = list(zip(*rows, strict=True))
        table = {"a": pa.array(columns[0], pa.int64()), "b": pa.array(columns[1], pa.int64())}
        manifest = written(path, table, group=3)
        ordering = ((0, ups[0]), (1, ups[1]))
        whole = verified_order(manifest, ordering)
        assert whole == VerifiedOrder.in_all(verified_order(manifest, ordering, start, stop) for start, stop in parts_of(manifest.rows, size))
        assert whole == expected(rows, ups)


def expected(rows: Sequence[tuple[Any, Any]], ups: tuple[bool, bool]) -> VerifiedOrder:
    """The same by sorting."""

    def keys(width: int) -> list[list[int]]:
        return [[(-1 if value is None else value) * (1 if up else -1) for value, up in list(zip(row, ups, strict=True))[:width]] for row in rows]

    held = max(width for width in range(3) if keys(width) == sorted(keys(width)))
    untied = [width for width in range(1, held + 1) if len(set(map(tuple, keys(width)))) == len(rows)]
    return VerifiedOrder(held, untied[0] if untied else None)
