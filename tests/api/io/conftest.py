"""Iceberg tables in a catalog of a test's own, and what is read of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sframe_spark import SFrame
from sframe_spark.errors import SFrameError, StorageError


@pytest.fixture
def catalog(tmp_path: Path) -> Any:
    from pyiceberg.catalog.sql import SqlCatalog

    found = SqlCatalog("test", uri="sqlite:///:memory:", warehouse=f"file://{tmp_path}/w")
    found.create_namespace("n")
    yield found
    found.engine.dispose()


def made(catalog: Any, *tables: Any, name: str = "t", partition: str | None = None, **properties: str) -> Any:
    first = pa.table(tables[0])
    table = catalog.create_table(f"n.{name}", schema=first.schema, properties=properties)
    if partition is not None:
        with table.update_spec() as update:
            update.add_identity(partition)
    for rows in tables:
        table.append(pa.table(rows))
    return table


def same(table: Any, snapshot_id: int | None = None) -> SFrame:
    ours, theirs = SFrame.read_iceberg(table, snapshot_id), SFrame(table.scan(snapshot_id=snapshot_id).to_arrow())
    assert ours.column_names() == theirs.column_names() and ours.column_types() == theirs.column_types()
    assert sorted(map(repr, ours)) == sorted(map(repr, theirs))
    return ours


def message(table: Any, error: type[SFrameError] = StorageError, **options: Any) -> str:
    with pytest.raises(error) as caught:
        SFrame.read_iceberg(table, **options)
    return str(caught.value)


def with_metadata(table: Any, change: Callable[[dict[str, Any]], None]) -> Path:
    """Write metadata beside that of a table with something else in it."""
    path = Path(table.metadata_location.removeprefix("file://"))
    content = json.loads(path.read_text())
    change(content)
    changed = path.with_name(f"changed-{len(list(path.parent.iterdir()))}.metadata.json")
    changed.write_text(json.dumps(content))
    return changed
