"""Mistakes that a type checker tells: in each line with the mark and in no other."""

from __future__ import annotations

from sframe_spark import SArray, SFrame


def program() -> tuple[SFrame, SArray]:
    sf = SFrame({"a": [1, 2, 3], "b": ["x", "y", None]})
    sf["a"].column_names()  # wrong: a column has no columns
    sf[["a"]].cumulative_sum()  # wrong: a frame is no column
    sf[0].head()  # wrong: a row is a dict
    sf[None]  # wrong: None selects nothing
    sf["a"]["b"]  # wrong: rows are not chosen by name
    sf.join(sf, how="iner")  # wrong: misspelt
    sf.dropna(how="some")  # wrong: any or all
    sf.export_csv("rows.csv", quote_level="all")  # wrong: a number
    SFrame.read_csv("rows.csv", nrows="3")  # wrong: a number
    SFrame.read_csv("rows.csv", na_values=[1])  # wrong: texts
    (sf["a"] > 1).sort("a")  # wrong: a column is sorted by its values
    frame: SFrame = sf["a"]  # wrong: a column
    column: SArray = sf[sf["a"] > 1]  # wrong: a frame
    return frame, column
