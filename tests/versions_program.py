"""A little of everything, for `test_versions.py`: run with the versions of libraries that are to be tried."""

from __future__ import annotations

import datetime
import sys
import tempfile

import numpy as np
import pyarrow as pa

from sframe_spark import SFrame, aggregate, load_sframe

DAY = datetime.datetime(2024, 2, 29, tzinfo=datetime.UTC)
COLUMNS = {
    "k": [1, 2, 1],
    "v": [0.5, None, 2.0],
    "t": ["a", "b", None],
    "d": [DAY, None, DAY],
    "l": [[1, "a"], None, []],
    "m": [{"a": 1, "b": "x"}, None, {"a": 2, "b": None}],
}


def same(left: SFrame, right: SFrame) -> None:
    """Rows and types are equal."""
    assert left.column_types() == right.column_types() and repr(list(left)) == repr(list(right)), (left, right)


def main() -> None:
    """Fail where something does not work."""
    frame = SFrame(COLUMNS)
    for again in (frame.to_arrow(), pa.table(frame), frame.to_pandas(arrow=True)):
        same(SFrame(again), frame)
    with tempfile.TemporaryDirectory() as directory:
        frame.save(f"{directory}/saved")
        same(load_sframe(f"{directory}/saved"), frame)
        few = frame[["k", "v", "t"]]
        few.write_parquet(f"{directory}/parquet")
        same(SFrame.read_parquet(f"{directory}/parquet"), few)
        few.export_csv(f"{directory}/rows.csv")
        assert len(SFrame.read_csv(f"{directory}/rows.csv")) == 3
    assert np.asarray(frame[["k", "v"]]).shape == (3, 2)
    frame["w"] = frame["k"].apply(lambda number: number * 2)
    assert list(frame.groupby("k", {"s": aggregate.SUM("w")}).sort("k")["s"]) == [4, 4]
    assert frame[["k", "t"]].to_spark().count() == 3
    same(SFrame(frame[["k", "t"]].to_spark()), frame[["k", "t"]])
    sys.stdout.write("all is well\n")


if __name__ == "__main__":
    main()
