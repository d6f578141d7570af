"""The page about laziness says which actions keep rows; this tries each."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SFrame, aggregate

PAGE = (Path(__file__).parents[2] / "docs" / "lazy.md").read_text(encoding="utf-8")
# By the first cell of the table's rows: what is tried. Frames have columns `n` and `m`.
ACTIONS: dict[str, list[Callable[[SFrame], Any]]] = {
    "`print`, `repr`, `head`, a slice": [str, repr, lambda sf: str(sf.head(3)), lambda sf: list(sf[2:5]), lambda sf: str(sf.topk("m", 2))],
    '`sf["a"].sum()` and other aggregates, `unique`, `summary`': [
        lambda sf: sf["m"].sum(),
        lambda sf: list(sf["m"].unique()),
        lambda sf: sf["m"].summary().max(),
        lambda sf: list(sf.groupby([], {"t": aggregate.SUM("m")})),
    ],
    "`to_pandas`, `to_arrow`, `to_numpy`": [SFrame.to_pandas, SFrame.to_arrow, SFrame.to_numpy],
    "`export_csv`, `write_parquet`, `save`": [
        lambda sf: sf.export_csv("rows.csv"),
        lambda sf: sf.write_parquet("rows.parquet"),
        lambda sf: sf.save("rows.sframe"),
    ],
    "`explain()`": [SFrame.explain],
    "`for row in sf`, `list(sf)`": [list, lambda sf: next(iter(sf))],
    "`len`, `shape`, `sf[i]`, `tail`, if the number of rows is known": [len, lambda sf: sf.shape, lambda sf: sf[3], lambda sf: str(sf.tail(2))],
    "`len`, `shape`, `sf[i]`, `tail`, if the number of rows is not known": [len, lambda sf: sf.shape, lambda sf: sf[3], lambda sf: str(sf.tail(2))],
    "`explain(analyze=True)`": [lambda sf: sf.explain(analyze=True)],
    "`materialize()`, `checkpoint(path)`": [SFrame.materialize, lambda sf: sf.checkpoint("kept.sframe")],
}


NUMBERS = itertools.count()


def told() -> dict[str, bool]:
    """By the first cell of each row of the table: whether rows are kept."""
    table = PAGE.split("## Which actions keep rows")[1].split("\n\n")[1]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()][2:]
    return {row[0]: row[2].startswith("yes") for row in rows}


def test_all_rows_of_the_table_are_tried() -> None:
    assert list(told()) == list(ACTIONS)


@pytest.mark.parametrize("rows", [10, 5000])
@pytest.mark.parametrize("has_function", [False, True], ids=["arithmetic", "function"])
@pytest.mark.parametrize("row", ACTIONS)
def test_what_an_action_keeps(row: str, has_function: bool, rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for action in ACTIONS[row]:
        sf = SFrame({"n": range(rows)})
        sf["m"] = sf["n"].apply(lambda n: n * 2) if has_function else sf["n"] * 2
        known = sf
        if "not known" in row or ("known" not in row and "len" not in row):
            sf = sf[sf["m"] % 4 == 0]
        frames = [sf] if "known" in row else [sf, known]
        for frame in frames:
            kept = action(frame)
            is_kept = (kept if isinstance(kept, SFrame) and "checkpoint" in row else frame).is_materialized()
            assert is_kept == told()[row], (row, frame.column_names())
            for path in tmp_path.iterdir():
                path.rename(tmp_path.with_name(f"{path.name}-{next(NUMBERS)}"))


def test_functions_are_called_once_for_each_row() -> None:
    assert "**once per row**" in re.sub(r"\s+", " ", PAGE)
    calls: list[int] = []

    def doubled(n: int) -> int:
        calls.append(n)
        return 2 * n

    sf = SFrame({"n": range(50)})
    sf["m"] = sf["n"].apply(doubled)
    for action in (str, len, lambda sf: sf["m"].sum(), lambda sf: sf["m"].max(), SFrame.to_pandas, lambda sf: len(sf[sf["m"] > 3]), list):
        action(sf)
    assert sorted(calls) == list(range(50))
