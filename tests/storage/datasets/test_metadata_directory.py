"""Spark reads no file below a directory named _spark_metadata and says nothing: groups of a frame saved there had no rows."""

from pathlib import Path

import pytest

from sframe_spark import SFrame
from sframe_spark.errors import StorageError


@pytest.mark.parametrize("below", ["_spark_metadata", "_spark_metadata/frame"])
def test_nothing_is_saved_where_spark_would_not_read_it(tmp_path: Path, below: str) -> None:
    with pytest.raises(StorageError, match="choose another name"):
        SFrame({"a": [1, 2]}).save(str(tmp_path / below))
    assert not list(tmp_path.iterdir())


def test_a_name_that_only_resembles_it_is_fine(tmp_path: Path) -> None:
    SFrame({"a": [1, 2]}).save(str(tmp_path / "x_spark_metadata"))
    assert (tmp_path / "x_spark_metadata").is_dir()
