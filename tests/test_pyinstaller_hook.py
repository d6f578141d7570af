"""A program that PyInstaller freezes gets every module and data file of the package; PyInstaller itself is replaced by what the hook calls of it."""

from __future__ import annotations

import fnmatch
import importlib
import pkgutil
import runpy
import sys
import tomllib
import types
from collections.abc import Callable
from pathlib import Path

import pytest

import sframe_spark
from sframe_spark import lazily_imported_subpackages
from sframe_spark.planner.registry import BUILTIN_MODULES

PACKAGE = Path(sframe_spark.__file__).parent
PROJECT = PACKAGE.parent


def _collect_submodules(package: str, filter: Callable[[str], bool]) -> list[str]:
    path = importlib.import_module(package).__path__
    names = (found.name for found in pkgutil.walk_packages(path, f"{package}.") if not found.name.endswith("__main__"))
    return [package, *(name for name in names if filter(name))]


def _collect_data_files(package: str, include_py_files: bool = False, includes: tuple[str, ...] = ("**",)) -> list[tuple[str, str]]:
    root = Path(importlib.import_module(package).__file__ or "").parent
    files = [path for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    named = [path for path in files if any(fnmatch.fnmatch(path.relative_to(root).as_posix(), pattern) for pattern in includes)]
    return [(str(path), str(Path(package) / path.parent.relative_to(root))) for path in named if include_py_files or path.suffix != ".py"]


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    hooks = types.ModuleType("PyInstaller.utils.hooks")
    hooks.collect_submodules, hooks.collect_data_files = _collect_submodules, _collect_data_files  # type: ignore[attr-defined]
    for name, module in {"PyInstaller": types.ModuleType("PyInstaller"), "PyInstaller.utils": types.ModuleType("PyInstaller.utils")}.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setitem(sys.modules, hooks.__name__, hooks)
    declared = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]["pyinstaller40"]["hook-dirs"]
    module, function = declared.split(":")
    (directory,) = getattr(importlib.import_module(module), function)()
    return runpy.run_path(str(Path(directory) / "hook-sframe_spark.py"))


def test_the_hook_names_every_module_that_is_imported_by_its_name(hook: dict[str, object]) -> None:
    named = set(hook["hiddenimports"])  # type: ignore[call-overload]
    names = [value for value in vars(lazily_imported_subpackages).values() if isinstance(value, str)]
    parts = {name for name in names if name.startswith("sframe_spark.") and "." in name[13:]}
    assert len(parts) > 3 and {*BUILTIN_MODULES.values(), *parts, "sframe_spark.cli.doctor"} <= named
    assert not [name for name in named if name.startswith("sframe_spark.testing")]


def test_the_hook_takes_every_file_that_is_no_module(hook: dict[str, object]) -> None:
    taken = {Path(source) for source, _ in hook["datas"]}  # type: ignore[attr-defined]
    data = {path for path in PACKAGE.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc")}
    assert data and data <= taken
    assert {path.name for path in (PACKAGE / "session" / "worker_daemon").glob("*.py")} <= {path.name for path in taken}
    assert {(Path(folder), Path(source).parent.relative_to(PROJECT)) for source, folder in hook["datas"] if PACKAGE in Path(source).parents} == {  # type: ignore[attr-defined]
        (path.parent.relative_to(PROJECT), path.parent.relative_to(PROJECT)) for path in taken if PACKAGE in path.parents
    }
