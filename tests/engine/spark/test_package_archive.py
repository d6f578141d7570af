"""What the archive that is sent to executors holds."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from sframe_spark.engine.spark import package_archive
from sframe_spark.engine.spark.package_archive import archive_bytes, is_compiled, plugin_archive_bytes, write_archive
from sframe_spark.errors import StorageError


def test_the_archive_is_the_same_every_time_and_can_be_imported(tmp_path: Path) -> None:
    path = write_archive(str(tmp_path), "sframe_spark", archive_bytes())
    assert Path(path).read_bytes() == archive_bytes() and Path(write_archive(str(tmp_path), "sframe_spark", archive_bytes())) == Path(path)
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
    with pytest.raises(StorageError, match="install it on them"):
        archive_bytes()


PLUGINS = """
import importlib.metadata, importlib.resources, sys
sys.path.insert(0, {path!r})
import firm.geo.shapes, one
print(importlib.metadata.version("firm-geo"), importlib.resources.files("firm.geo").joinpath("names.txt").read_text())
print(firm.geo.shapes.SIDES, one.NAME)
print([entry.value for entry in importlib.metadata.entry_points(group="sframe_spark.plugins") if entry.name == "geo"])
"""


def test_plugins_can_be_imported_from_their_archive_with_what_is_known_of_their_packages(tmp_path: Path) -> None:
    geo = tmp_path / "site" / "firm" / "geo"
    (geo / "__pycache__").mkdir(parents=True)
    for name, text in (("__init__.py", ""), ("shapes.py", "SIDES = 3"), ("names.txt", "of places"), ("__pycache__/shapes.pyc", "no code")):
        (geo / name).write_text(text)
    (tmp_path / "site" / "one.py").write_text("NAME = 'one module'")
    places = {"firm.geo": geo, "one": tmp_path / "site" / "one.py"}
    metadata = {
        "firm_geo-2.1.dist-info/METADATA": "Metadata-Version: 2.1\nName: firm-geo\nVersion: 2.1\n",
        "firm_geo-2.1.dist-info/entry_points.txt": "[sframe_spark.plugins]\ngeo = firm.geo\n",
    }
    content = plugin_archive_bytes(places, metadata)
    assert content == plugin_archive_bytes(places, metadata)
    path = write_archive(str(tmp_path), "plugins", content)
    with zipfile.ZipFile(path) as archive:
        assert not [name for name in archive.namelist() if "__pycache__" in name]
    done = subprocess.run([sys.executable, "-c", PLUGINS.format(path=path)], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["2.1 of places", "3 one module", "['firm.geo']"]


def test_compiled_packages_are_known(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "a.py").touch()
    assert not is_compiled(tmp_path) and not is_compiled(tmp_path / "inner" / "a.py")
    (tmp_path / "inner" / "fast.cpython-311-x86_64-linux-gnu.so").touch()
    (tmp_path / "inner" / "fast.abi3.so").touch()
    assert is_compiled(tmp_path)
