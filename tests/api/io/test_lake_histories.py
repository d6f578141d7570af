"""Random histories of Delta and Iceberg tables: every version has the rows that the libraries themselves read."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sframe_spark import SFrame
from tests.examples import part
from tests.lake_tables import rows_of_delta

DAYS = [datetime.date(1, 1, 1), datetime.date(1969, 12, 31), datetime.date(9999, 12, 31)]
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "i": (pa.int64(), [-(2**63), 2**63 - 1, 0, 1, 2]),
    "f": (pa.float64(), [float("nan"), -0.0, 0.0, float("-inf"), 5e-324]),
    "s": (pa.string(), ["", "/", "%", "=", "a b", "ä日", "%2F", "..", "'", "\\", "null", "+"]),
    "b": (pa.bool_(), [True, False]),
    "d": (pa.date32(), DAYS),
    "t": (pa.timestamp("us"), [datetime.datetime(1969, 12, 31, 23, 59, 59, 999999), datetime.datetime(2024, 2, 29, 1, 2, 3, 4)]),
    "e": (pa.decimal128(10, 2), [Decimal("0.01"), Decimal("12345678.91")]),
    "l": (pa.list_(pa.int64()), [[], [1, None], [None]]),
}
NAMES = ["a", "b", "ä b", "c=1", "%41", "path", "num_records", "1", "-", "'"]
Columns = list[tuple[str, str]]


def rows_of(dice: random.Random, columns: Columns) -> pa.Table:
    count = dice.randint(0, 6)
    cells = {name: pa.array([dice.choice([None, *VALUES[kind][1]]) for _ in range(count)], VALUES[kind][0]) for name, kind in columns}
    return pa.table(cells)


def require_same(ours: SFrame, theirs: pa.Table) -> None:
    expected = SFrame(theirs)
    assert ours.column_names() == expected.column_names() and ours.column_types() == expected.column_types()
    assert sorted(map(repr, ours)) == sorted(map(repr, expected)) and len(ours) == theirs.num_rows
    for name in ours.column_names():
        values = [value for value in expected[name] if isinstance(value, (int, str))]
        if values:
            assert sorted(map(repr, ours[ours[name] >= values[0]])) == sorted(map(repr, expected[expected[name] >= values[0]]))


@pytest.mark.parametrize("seed", part(range(9), 9))
def test_delta(seed: int, tmp_path: Path) -> None:
    import deltalake

    dice, place = random.Random(seed), str(tmp_path / "t")
    columns: Columns = [(name, dice.choice(list(VALUES))) for name in dice.sample(NAMES, 4)] + [("k", "i")]
    parts = [name for name, kind in columns if kind not in "fl"][: dice.randint(0, 2)]

    def write(mode: Any, **options: Any) -> None:
        deltalake.write_deltalake(place, rows_of(dice, columns), mode=mode, partition_by=parts or None, **options)

    def widen() -> None:
        columns.insert(0, (f"new {len(columns)}", dice.choice(list(VALUES))))
        write("append", schema_mode="merge")

    def table() -> Any:
        return deltalake.DeltaTable(place)

    write("error")
    steps: list[Callable[[], Any]] = [
        lambda: write("append"),
        lambda: write("append"),
        lambda: write("overwrite"),
        widen,
        lambda: table().delete("k > 0"),
        lambda: table().update(updates={"k": "1"}, predicate="k is null"),
        lambda: table().optimize.compact(),
        lambda: table().create_checkpoint(),
        lambda: table().optimize.z_order(["k"]),
    ]
    for _ in range(6):
        dice.choice(steps)()
    for version in range(table().version() + 1):
        require_same(SFrame.read_delta(place, version), rows_of_delta(place, version))


def changes_of(table: Any, columns: Columns, dice: random.Random) -> list[Callable[[], None]]:
    """Changes of the columns of a table of Iceberg's: one more, another name, one less, another order."""
    from pyiceberg.types import LongType

    def add() -> None:
        name = f"new {len(columns)} {dice.randint(0, 10**6)}"
        with table.update_schema() as update:
            update.add_column((name,), LongType())
        columns.append((name, "i"))

    def rename() -> None:
        place = dice.randrange(len(columns) - 1)
        name = f"other {dice.randint(0, 10**6)}"
        with table.update_schema() as update:
            update.rename_column((columns[place][0],), name)
        columns[place] = (name, columns[place][1])

    def drop() -> None:
        if len(columns) > 2:
            with table.update_schema(allow_incompatible_changes=True) as update:
                update.delete_column((columns.pop(0)[0],))

    def reorder() -> None:
        with table.update_schema() as update:
            update.move_first(("k",))
        columns.insert(0, columns.pop([name for name, _ in columns].index("k")))

    return [add, rename, drop, reorder]


@pytest.mark.filterwarnings("ignore:Delete operation did not match")
@pytest.mark.parametrize("seed", part(range(9), 9))
def test_iceberg(seed: int, tmp_path: Path) -> None:
    from pyiceberg.catalog.sql import SqlCatalog
    from pyiceberg.expressions import GreaterThan

    dice = random.Random(seed)
    columns: Columns = [(name, dice.choice(list(VALUES))) for name in dice.sample(NAMES, 4)] + [("k", "i")]
    catalog = SqlCatalog("test", uri="sqlite:///:memory:", warehouse=f"file://{tmp_path}/w")
    catalog.create_namespace("n")
    schema = rows_of(dice, columns).schema
    table = catalog.create_table("n.t", schema=schema, properties={"format-version": dice.choice("12"), "write.parquet.row-group-limit": "2"})

    add, rename, drop, reorder = changes_of(table, columns, dice)
    steps: list[Callable[[], Any]] = [
        *[lambda: table.append(rows_of(dice, columns))] * 4,
        lambda: table.overwrite(rows_of(dice, columns)),
        lambda: table.delete(GreaterThan("k", 0)),
        add,
        rename,
        drop,
    ]
    table.append(rows_of(dice, columns))
    for _ in range(8):
        dice.choice(steps)()
    reorder()
    for snapshot in [None, *[one.snapshot_id for one in table.snapshots()]]:
        require_same(SFrame.read_iceberg(table, snapshot), table.scan(snapshot_id=snapshot).to_arrow())
    catalog.engine.dispose()
