"""Views in which a remote server keeps rows for a process are dropped by a later process of the same machine, once the first has ended."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from sframe_spark.session import dataframes_kept_by_spark
from sframe_spark.session.dataframes_kept_by_spark import drop_views_of_ended_processes, new_view_name


@pytest.mark.parametrize(("is_running", "is_dropped"), [(False, True), (True, False), (None, False)])
def test_only_views_of_processes_that_have_ended_are_dropped(monkeypatch: pytest.MonkeyPatch, is_running: bool | None, is_dropped: bool) -> None:
    ours, dropped = new_view_name(), list[str]()
    catalog = SimpleNamespace(
        listTables=lambda database: [SimpleNamespace(name=ours), SimpleNamespace(name="sales")],
        dropGlobalTempView=dropped.append,
    )
    session: Any = SimpleNamespace(catalog=catalog)
    monkeypatch.setattr(dataframes_kept_by_spark, "is_running", lambda process: is_running)
    drop_views_of_ended_processes(session)
    assert dropped == ([ours] if is_dropped else [])
