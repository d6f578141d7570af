"""What Spark is started with."""

from __future__ import annotations

from pathlib import Path

import pytest

from sframe_spark.config import config
from sframe_spark.errors import StorageError
from sframe_spark.session.spark_start_and_settings import local_settings


def test_a_directory_that_is_none_is_told_before_spark_starts(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in ("/dev/null", str(tmp_path / "file"), str(tmp_path / "file" / "below")):
        with config.using(temporary_directory=place), pytest.raises(StorageError, match=r"set config\.temporary_directory"):
            local_settings()
    with config.using(temporary_directory=str(tmp_path / "new")):
        assert local_settings()["spark.local.dir"] == str(tmp_path / "new") and (tmp_path / "new").is_dir()
