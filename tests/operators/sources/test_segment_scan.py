"""Spark's scans of segments give the rows of each once, wherever they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from sframe_spark import SFrame, config, load_sframe
from sframe_spark.engine.execution.materialize_count_and_read_rows import materialize
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.errors import StorageError
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource
from tests.examples import part

# Characters that stand for others in patterns, and others that a URI would escape.
NAMES = ["plain", "a*", "*", "a?b", "run [1]", "a[", "]a", "{b,c}", "a{", "a}", "back\\slash", "\\", "\\*", "a b%41#é", "a,b{"]
# One directory in the other: a query over files there has all of them to write as they are.
NESTED = "/".join(NAMES)
ROWS = 60


def saved(path: Path, segments: int = 7) -> SFrame:
    """Rows in several files."""
    frame = SFrame({"k": [row * 7 % ROWS for row in range(ROWS)], "t": range(ROWS)})
    frame["s"] = frame["t"] + 1
    with config.using(small_rows=0, default_segments=segments):
        frame.save(str(path))
    return load_sframe(str(path))


@pytest.mark.spark
@pytest.mark.parametrize("name", [NESTED, *part(NAMES, 7)], ids=lambda name: "nested" if name == NESTED else name)
def test_a_query_reads_each_of_several_files_once(everything_on_spark: None, tmp_path: Path, name: str) -> None:
    with config.using(temporary_directory=str(tmp_path / name)):
        frame = saved(tmp_path / name / "saved")
        source = frame._node.operator
        assert isinstance(source, SegmentSource) and len(source.manifest.segments) > 1
        ordered = frame.sort("k")
        # The second query reads what tasks and the first have written, in several files too.
        materialize(ordered._node, MaterializeOptions(in_memory=0, segments=5))
        joined = ordered.join(frame[["t", "s"]], on="t", how="outer")
        assert list(ordered["k"]) == list(range(ROWS)) and sorted(joined["s"]) == list(range(1, ROWS + 1))
        assert len(joined) == ROWS


@pytest.mark.spark
@pytest.mark.parametrize("name", ["run [1]", "a*", "back\\slash"])
def test_a_file_that_is_missing_is_named_as_it_is(everything_on_spark: None, tmp_path: Path, name: str) -> None:
    frame = saved(tmp_path / name / "saved")
    gone = sorted((tmp_path / name / "saved").rglob("segment-*.parquet"))[3]
    gone.unlink()
    with pytest.raises(StorageError) as told:
        list(frame.sort("k")["t"])
    assert str(told.value).startswith(f"{gone} is missing: ")
