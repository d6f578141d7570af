"""A program as users write them: every type that it states is what a type checker sees."""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np

from sframe_spark import SArray, SFrame, aggregate, load_sframe


def program() -> None:
    sf = SFrame({"a": [1, 2, 3], "b": ["x", "y", None]})
    assert_type(sf["a"], SArray)
    assert_type(sf[["a", "b"]], SFrame)
    assert_type(sf[("a", "b")], SFrame)
    assert_type(sf[int], SFrame)
    assert_type(sf[0], dict[str, Any])
    assert_type(sf[np.int64(0)], dict[str, Any])
    assert_type(sf[1:], SFrame)
    assert_type(sf[sf["a"] > 1], SFrame)
    assert_type(sf[np.array([True, False, True])], SFrame)

    sa = sf["a"]
    number: int = sa[0]
    assert_type(sa + number, SArray)
    assert_type(sa[0], Any)
    assert_type(sa[np.int64(0)], Any)
    assert_type(sa[1:], SArray)
    assert_type(sa[sa > 1], SArray)
    assert_type(sa[np.array([True, False, True])], SArray)

    assert_type(sa == 2, SArray)
    assert_type(sa != sa, SArray)
    assert_type(2 < sa, SArray)  # noqa: SIM300
    assert_type((sa > 1) & (sa < 3), SArray)
    assert_type(1 + sa * 2 - sa, SArray)
    assert_type(-sa // 2, SArray)
    assert_type(sa.any(), bool)
    assert_type(len(sa), int)
    assert_type(sa.apply(lambda number: number + 1, dtype=int), SArray)
    assert_type(sa.filter(lambda number: number > 1), SArray)
    assert_type(sa.rolling_mean(-1, 0, min_observations=1), SArray)
    assert_type(sa.value_counts(), SFrame)
    assert_type(sa.fillna(0).astype(float), SArray)
    assert_type(SArray.where(sa > 1, sa, 0), SArray)

    sf["c"] = sa * 2
    sf["d"] = 1
    del sf["d"]
    assert_type(sf.groupby("b", {"sum": aggregate.SUM("a")}), SFrame)
    assert_type(sf.join(sf, on="a", how="left"), SFrame)
    assert_type(sf.sort(["a", "b"], ascending=False).topk("a", k=1), SFrame)
    assert_type(sf.dropna("b", how="all"), SFrame)
    assert_type(sf.dropna_split(), tuple[SFrame, SFrame])
    assert_type(sf.column_names(), list[str])
    assert_type(sf.shape, tuple[int, int])
    assert_type(sf.apply(lambda row: row["a"]), SArray)
    assert_type([row["a"] for row in sf], list[Any])
    assert_type(SFrame.read_csv("rows.csv", delimiter=";", na_values=["-"], usecols=["a"], nrows=3), SFrame)
    assert_type(SFrame.read_csv_with_errors("rows.csv", skiprows=1), tuple[SFrame, dict[str, SArray]])
    assert_type(load_sframe("rows.sframe"), SFrame)
    sf.export_csv("rows.csv", delimiter="\t", quote_level=1)
