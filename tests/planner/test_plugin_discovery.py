"""Packages that announce plug-ins are found by their entry points, whatever other packages look like."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from sframe_spark.planner import plugin_discovery
from sframe_spark.planner.plugin_discovery import GROUPS, LAW_GROUP, OPERATOR_GROUP, PLUGIN_GROUP, PluginPackage, plugin_packages
from tests.plugin_packages import InstalledPackages

OPERATORS = "[sframe_spark.operators]\n"


def named(group: str) -> list[tuple[str, str]]:
    return sorted((entry.name, entry.value) for entry in announced(group) if entry.name.startswith("tried"))


def announced(group: str) -> list:
    return [entry for package in plugin_packages() for entry in package.entries if entry.group == group]


def test_what_packages_announce_is_what_the_library_finds(installed: InstalledPackages) -> None:
    installed.install("without-any", None)
    installed.install("of-others", "[console_scripts]\ntried = math:pi\n")
    installed.install("one-group", f"{OPERATORS}tried z = math\ntried a = cmath\n[console_scripts]\ntried = math:pi\n")
    installed.install("both-groups", f"[sframe_spark.laws]\ntried law = math:e\n\n{OPERATORS}tried m = json\n", "second")
    installed.install("new-group", "[sframe_spark.plugins]\ntried = math\n", "second")
    assert named(OPERATOR_GROUP) == [("tried a", "cmath"), ("tried m", "json"), ("tried z", "math")]
    assert named(LAW_GROUP) == [("tried law", "math:e")]
    assert named(PLUGIN_GROUP) == [("tried", "math")]
    for group in GROUPS:
        assert set(announced(group)) == set(entry_points(group=group))


def test_of_two_packages_of_one_name_the_first_counts(installed: InstalledPackages) -> None:
    installed.install("in-use", f"{OPERATORS}tried = math\n")
    installed.install("in-use", f"{OPERATORS}tried = cmath\n", "second")
    installed.install("no-longer", None)
    installed.install("no-longer", f"{OPERATORS}tried old = cmath\n", "second")
    assert named(OPERATOR_GROUP) == [("tried", "math")]


def test_of_two_spellings_of_one_name_the_first_counts(installed: InstalledPackages) -> None:
    installed.install("In.use", f"{OPERATORS}tried = math\n")
    installed.install("in-use", f"{OPERATORS}tried = cmath\n", "second")
    installed.install("No_Longer", None)
    installed.install("no-longer", f"{OPERATORS}tried old = cmath\n", "second")
    assert named(OPERATOR_GROUP) == [("tried", "math")]


def test_an_empty_directory_that_an_installer_has_left_hides_nothing(installed: InstalledPackages) -> None:
    (installed.directory / "first" / "in_use-0.9.dist-info").mkdir()
    installed.install("in-use", f"{OPERATORS}tried = math\n", "second")
    assert named(OPERATOR_GROUP) == [("tried", "math")]


def test_a_checkout_beside_its_editable_installation_is_one_package(installed: InstalledPackages, monkeypatch: pytest.MonkeyPatch) -> None:
    installed.install("in-use", f"{OPERATORS}tried = math\n")
    checkout = installed.directory / "second" / "in_use.egg-info"
    checkout.mkdir()
    (checkout / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: in_use\nVersion: 1.1\n")
    (checkout / "entry_points.txt").write_text(f"{OPERATORS}tried = math\n")
    monkeypatch.syspath_prepend(str(installed.directory / "second"))
    assert named(OPERATOR_GROUP) == [("tried", "math")]
    (package,) = [package for package in plugin_packages() if package.key == "in-use"]
    assert package.version == "1.1"


def test_a_package_in_an_archive_on_the_path(installed: InstalledPackages, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = installed.directory / "zipped-2.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("zipped-2.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: zipped\nVersion: 2.0\n\nName: in the description\n")
        archive.writestr("zipped-2.0.dist-info/entry_points.txt", "[sframe_spark.plugins]\ntried = zipped\n")
    monkeypatch.syspath_prepend(str(wheel))
    (package,) = [package for package in plugin_packages() if package.key == "zipped"]
    assert (package.version, str(wheel) in package.place, named(PLUGIN_GROUP)) == ("2.0", True, [("tried", "zipped")])


@pytest.mark.parametrize("lost", ["the file", "its name", "all of it"])
def test_packages_that_lost_their_names_announce_what_they_did(lost: str, installed: InstalledPackages, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        metadata = installed.install(name, f"{OPERATORS}tried {name} = math\n") / "METADATA"
        if lost == "the file":
            metadata.unlink()
        else:
            metadata.write_text("" if lost == "all of it" else "Metadata-Version: 2.1\nVersion: 1.0\n")
    # The same directory twice on the path is one package.
    monkeypatch.syspath_prepend(str(installed.directory / "first"))
    assert named(OPERATOR_GROUP) == [("tried one", "math"), ("tried two", "math")]
    found = [package for package in plugin_packages() if not package.distribution]
    assert len(found) == 2 and all(str(package).startswith("the package without a name in /") for package in found)


def test_a_name_that_no_file_has_is_no_error(installed: InstalledPackages) -> None:
    installed.install("moved", f"{OPERATORS}tried = math\n").rename(installed.directory / "first" / "other-1.0.dist-info")
    assert named(OPERATOR_GROUP) == [("tried", "math")]


@pytest.mark.parametrize("name, content", [("mine", b"[sframe_spark.plugins]\ntried = \xff\n"), ("mine", b"[sframe_spark.plugins]\nno pair\n")])
def test_entry_points_that_cannot_be_read_are_a_fault_of_their_package(name: str, content: bytes, installed: InstalledPackages) -> None:
    (installed.install(name, "") / "entry_points.txt").write_bytes(content)
    (installed.install("of-others", "") / "entry_points.txt").write_bytes(b"[console_scripts]\nodd = \xff\n")
    installed.install("whole", f"{OPERATORS}tried = math\n")
    assert named(OPERATOR_GROUP) == [("tried", "math")]
    assert [package.key for package in plugin_packages() if "cannot be read" in package.fault] == [name]


def test_files_of_packages_are_read_once(installed: InstalledPackages, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(plugin_discovery, "distributions", lambda: asked.append(1) or [])
    assert (plugin_packages(), plugin_packages(), len(asked)) == ((), (), 1)


@pytest.mark.parametrize(
    "name, namespace",
    [("sframe-geo", "geo"), ("Sframe_Spark.text", "text"), ("geo-frames", "geo_frames"), ("sframe-", "sframe_"), ("sframe", "sframe")],
)
def test_names_of_packages_without_what_says_that_they_are_for_us(name: str, namespace: str) -> None:
    assert PluginPackage(name, "1.0", "/place", ()).namespace == namespace


LAZY = """
import importlib.metadata, sys
importlib.metadata.distributions = lambda **names: 1 / 0
import sframe_spark
from sframe_spark import SFrame, config, plugin
print("sframe_lag" in sys.modules)
"""


def test_an_import_looks_for_no_plugins() -> None:
    done = subprocess.run([sys.executable, "-c", LAZY], capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    assert (done.stdout, done.stderr) == ("False\n", "")
