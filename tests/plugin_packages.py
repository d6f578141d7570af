"""Packages with plug-ins, installed for one test."""

from __future__ import annotations

import ensurepip
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

import pytest

from sframe_spark.planner import plugin_loading
from sframe_spark.planner.plugin_discovery import plugin_packages


class InstalledPackages:
    """Packages in two directories at the front of the path, of which ``first`` is looked at first. Nothing of them stays after the test."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.directory = directory
        loader = plugin_loading._LOADER
        self._before = set(sys.modules)
        for name, value in (("_outcomes", {}), ("_complete_without", None), ("_unwarned", [])):
            monkeypatch.setattr(loader, name, value)
        for place in ("second", "first"):
            (directory / place).mkdir()
            monkeypatch.syspath_prepend(str(directory / place))
        plugin_packages.cache_clear()

    def install(self, name: str, entry_points: str | None, place: str = "first", version: str = "1.0", **modules: str) -> Path:
        """Install a package with modules, given by their names, and return the directory of its metadata."""
        metadata = self.directory / place / f"{name.replace('-', '_')}-{version}.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        if entry_points is not None:
            (metadata / "entry_points.txt").write_text(dedent(entry_points))
        self.add_modules(modules, place)
        return metadata

    def add_modules(self, modules: Mapping[str, str], place: str = "first") -> None:
        """Write modules."""
        for module, text in modules.items():
            (self.directory / place / f"{module}.py").write_text(dedent(text))

    def remove(self) -> None:
        """Forget the modules that were imported, and what packages were found."""
        for module in set(sys.modules) - self._before:
            if str(self.directory) in str(getattr(sys.modules[module], "__file__", None)):
                del sys.modules[module]
        plugin_packages.cache_clear()


PLUGIN = """\
[sframe_spark.plugins]
{namespace} = {module}
"""
FUNCTION = """
import pyarrow.compute as pc
from sframe_spark.plugin import INT, define_function

def infer(types, parameters):
    return INT

def kernel(arguments, types, parameters, rows):
    "The ints with one added."
    return pc.add(arguments[0], 1)

define_function({name!r}, infer, kernel)
"""


def build_wheel(project: Path, directory: Path) -> Path:
    """Build the wheel of a pure Python project whose packages are in ``src``, as build tools do, of which none need be installed."""
    about = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    name, version = about["name"].replace("-", "_"), about["version"]
    metadata, tag = f"{name}-{version}.dist-info", "py3-none-any"
    groups = "".join(f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in names.items()) for group, names in about["entry-points"].items())
    texts = {
        f"{metadata}/METADATA": f"Metadata-Version: 2.1\nName: {about['name']}\nVersion: {version}\n",
        f"{metadata}/WHEEL": f"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: {tag}\n",
        f"{metadata}/entry_points.txt": groups,
    }
    source = project / "src"
    texts.update({str(file.relative_to(source)): file.read_text(encoding="utf-8") for file in sorted(source.rglob("*.py"))})
    wheel = directory / f"{name}-{version}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in texts.items():
            archive.writestr(path, text)
        archive.writestr(f"{metadata}/RECORD", "".join(f"{path},,\n" for path in (*texts, f"{metadata}/RECORD")))
    return wheel


def install_wheel(wheel: Path, site: Path) -> None:
    """Install a wheel into a directory by the pip that Python brings along."""
    (pip,) = (Path(ensurepip.__file__).parent / "_bundled").glob("pip-*.whl")
    command = [sys.executable, str(pip / "pip"), "install", "--quiet", "--no-index", "--no-deps", "--target", str(site), str(wheel)]
    subprocess.run(command, check=True, capture_output=True)
