"""Finds the packages that announce plug-ins by entry points, without importing them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from importlib.metadata import Distribution, EntryPoint, distributions

import attrs

# The modules of a package, which register what is in them; the name of the entry point is the namespace of its functions.
PLUGIN_GROUP = "sframe_spark.plugins"
# The groups that packages announced before: modules, and laws or lists of laws. They are loaded in the same way.
OPERATOR_GROUP, LAW_GROUP = "sframe_spark.operators", "sframe_spark.laws"
GROUPS = (PLUGIN_GROUP, OPERATOR_GROUP, LAW_GROUP)
# Package names that differ only in case or in these characters are equal (PEP 503).
SEPARATORS = re.compile("[-_.]+")
METADATA_FILES = ("METADATA", "PKG-INFO", "entry_points.txt")


@attrs.frozen
class PluginPackage:
    """An installed package that announces plug-ins.

    Parameters
    ----------
    distribution
        Name of the package, as pip lists it; empty if its metadata have no name.
    version
        Its version; empty if its metadata have none.
    place
        The directory or archive in which it is installed.
    entries
        Its entry points in our groups, in the order in which they are loaded.
    fault
        Why its entry points cannot be read; empty if they can.
    """

    distribution: str
    version: str
    place: str
    entries: tuple[EntryPoint, ...]
    fault: str = ""

    @property
    def key(self) -> str:
        """The name that identifies the package: its normalised name."""
        return normalised(self.distribution) or self.place

    @property
    def namespace(self) -> str:
        """The namespace of functions that no entry point in the group of plug-ins names: the package's name without what says that it is for us."""
        return re.sub("^(sframe-spark-|sframe-)(?=.)", "", normalised(self.distribution)).replace("-", "_")

    def __str__(self) -> str:
        return f"{self.distribution or f'the package without a name in {self.place}'} {self.version}".strip()


def normalised(name: str) -> str:
    """Return the form of a package's name in which equal names are spelt alike.

    Examples
    --------
    >>> normalised("Sframe_Geo") == normalised("sframe.geo") == "sframe-geo"
    True
    """
    return SEPARATORS.sub("-", name).lower()


@lru_cache(maxsize=1)
def plugin_packages() -> tuple[PluginPackage, ...]:
    """Return the installed packages that announce plug-ins, sorted by name. A file of each installed package is read, once in a process.

    Of packages of one name, such as an editable one and its checkout on the path, the first on the path counts, which Python would import.
    """
    packages: dict[str, PluginPackage | None] = {}
    for found in distributions():
        # Only files that mention a group are parsed, because parsing takes as long as reading.
        text = _entry_points_text(found)
        if any(group in text for group in GROUPS):
            name = _metadata(found, "Name")
            key = normalised(name) or text
            if key not in packages:
                packages[key] = _read(next(_with_content(name), found), name)
    return tuple(sorted((package for package in packages.values() if package is not None), key=lambda package: package.key))


def metadata_of(package: PluginPackage) -> dict[str, str]:
    """Return the texts of the files of a package's metadata, by their names."""
    found = next(_with_content(package.distribution), None)
    texts = {} if found is None else {name: _text(found, name) for name in METADATA_FILES}
    return {"METADATA" if name == "PKG-INFO" else name: text for name, text in texts.items() if text}


def _with_content(name: str) -> Iterator[Distribution]:
    """Yield the packages of a name that have metadata: what an installation that was cut off has left behind has none, and hides others."""
    for package in Distribution.discover(name=name) if name else ():
        if any(_text(package, file) for file in METADATA_FILES):
            yield package


def _read(package: Distribution, name: str) -> PluginPackage | None:
    """Return the plug-ins that a package announces; None if it announces none."""
    version, place = _metadata(package, "Version"), str(package.locate_file(""))
    try:
        entries = [entry for entry in package.entry_points if entry.group in GROUPS]
    except Exception as error:
        return PluginPackage(name, version, place, (), f"its entry_points.txt cannot be read ({type(error).__name__}: {error})")
    entries.sort(key=lambda entry: (GROUPS.index(entry.group), entry.name))
    return PluginPackage(name, version, place, tuple(entries)) if entries else None


def _metadata(package: Distribution, field: str) -> str:
    """Return a field of a package's metadata; empty if it is missing, or if the metadata are."""
    pattern = re.compile(rf"^{field}:[ \t]*(.*)$", re.MULTILINE | re.IGNORECASE)
    for file in METADATA_FILES[:2]:
        if found := pattern.search(_text(package, file).replace("\r\n", "\n").split("\n\n")[0]):
            return found[1].strip()
    return ""


def _entry_points_text(package: Distribution) -> str:
    return _text(package, "entry_points.txt")


def _text(package: Distribution, file: str) -> str:
    """Return the text of a file of a package's metadata; empty if it cannot be read."""
    try:
        return package.read_text(file) or ""
    except UnicodeDecodeError as error:
        return error.object.decode("utf-8", "replace")
    except OSError:
        return ""
