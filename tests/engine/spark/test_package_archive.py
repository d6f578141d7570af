"""What the archive that is sent to executors holds."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from sframe_spark.engine.spark import package_archive
from sframe_spark.engine.spark.package_archive import archive_bytes, write_archive
from sframe_spark.errors import StorageError


def test_the_archive_is_the_same_every_time_and_can_be_imported(tmp_path: Path) -> None:
    path = write_archive(str(tmp_path))
    assert Path(path).read_bytes() == archive_bytes() and Path(write_archive(str(tmp_path))) == Path(path)
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    assert {name.split("/")[0] for name in names} == {"sframe_spark", "attr", "attrs"}
    assert not [name for name in names if "__pycache__" in name or name.startswith(("/", "."))]
    program = f"import sys; sys.path.insert(0, {path!r}); import sframe_spark, attr; print(sframe_spark.__file__, attr.__file__)"
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [f"{path}/sframe_spark/__init__.py", f"{path}/attr/__init__.py"]


def test_a_package_that_is_no_directory_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(package_archive, "_places", lambda: (tmp_path / "a.zip" / "sframe_spark", tmp_path, tmp_path))
    with pytest.raises(StorageError, match="install it there"):
        archive_bytes()
