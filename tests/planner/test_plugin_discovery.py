"""Operators and laws of other packages, found through entry points."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import attrs
import pytest

from sframe_spark.errors import PlanInvariantError
from sframe_spark.planner import plugin_discovery
from sframe_spark.planner.law import law
from sframe_spark.planner.plugin_discovery import LAW_GROUP, OPERATOR_GROUP, load_operators, plugin_laws


@attrs.frozen
class Entry:
    """An entry point, as :mod:`importlib.metadata` gives it."""

    name: str
    load: Callable[[], Any]


ONE, TWO, THREE = (law(f"{name}(x) = x", stage="pushdown")(lambda node: None) for name in ("one", "two", "three"))


@pytest.fixture
def announce(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Puts entry points in the place of those that are installed."""

    def install(**groups: list[Entry]) -> None:
        named = {OPERATOR_GROUP: groups.get("operators", []), LAW_GROUP: groups.get("laws", [])}
        monkeypatch.setattr(plugin_discovery, "announced", lambda group: sorted(named[group], key=lambda entry: entry.name))
        load_operators.cache_clear()
        plugin_laws.cache_clear()

    yield install
    monkeypatch.undo()
    load_operators.cache_clear()
    plugin_laws.cache_clear()


def test_operator_modules_are_loaded_once_by_name(announce: Callable[..., None]) -> None:
    loaded: list[str] = []
    announce(operators=[Entry("z", lambda: loaded.append("z")), Entry("a", lambda: loaded.append("a"))])
    assert load_operators() == load_operators() == ("a", "z")
    assert loaded == ["a", "z"]


def test_an_entry_point_gives_one_law_or_several(announce: Callable[..., None]) -> None:
    announce(laws=[Entry("b", lambda: [TWO, THREE]), Entry("a", lambda: ONE)])
    assert plugin_laws() == (ONE, TWO, THREE)


def test_what_is_not_a_law_is_refused_by_name(announce: Callable[..., None]) -> None:
    announce(laws=[Entry("odd", lambda: [ONE, "x = x"])])
    with pytest.raises(PlanInvariantError, match=r"entry point 'odd' of sframe_spark\.laws gives 'x = x', which is not a law"):
        plugin_laws()


def test_without_plugins_there_is_nothing(announce: Callable[..., None]) -> None:
    announce()
    assert (load_operators(), plugin_laws()) == ((), ())


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Installs packages in two places, of which the first is looked at first."""
    for place in ("second", "first"):
        (tmp_path / place).mkdir()
        monkeypatch.syspath_prepend(str(tmp_path / place))

    def install(place: str, name: str, announced: str | None) -> None:
        directory = tmp_path / place / f"{name.replace('-', '_')}-1.0.dist-info"
        directory.mkdir()
        (directory / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        if announced is not None:
            (directory / "entry_points.txt").write_text(announced)

    plugin_discovery._announced.cache_clear()
    yield install
    plugin_discovery._announced.cache_clear()


def named(group: str) -> list[tuple[str, str]]:
    return [(entry.name, entry.value) for entry in plugin_discovery.announced(group) if entry.name.startswith("tried")]


def test_what_packages_announce_is_what_the_library_finds(packages: Callable[..., None]) -> None:
    packages("first", "without-any", None)
    packages("first", "of-others", "[console_scripts]\ntried = math:pi\n")
    packages("first", "one-group", "[sframe_spark.operators]\ntried z = math\ntried a = cmath\n[console_scripts]\ntried = math:pi\n")
    packages("second", "both-groups", "[sframe_spark.laws]\ntried law = math:e\n\n[sframe_spark.operators]\ntried m = json\n")
    assert named(OPERATOR_GROUP) == [("tried a", "cmath"), ("tried m", "json"), ("tried z", "math")]
    assert named(LAW_GROUP) == [("tried law", "math:e")]
    for group in (OPERATOR_GROUP, LAW_GROUP):
        assert set(plugin_discovery.announced(group)) == set(entry_points(group=group))


def test_of_two_packages_of_one_name_the_first_counts(packages: Callable[..., None]) -> None:
    packages("first", "in-use", "[sframe_spark.operators]\ntried = math\n")
    packages("second", "in-use", "[sframe_spark.operators]\ntried = cmath\n")
    packages("first", "no-longer", None)
    packages("second", "no-longer", "[sframe_spark.operators]\ntried old = cmath\n")
    assert named(OPERATOR_GROUP) == [("tried", "math")]


def test_of_two_spellings_of_one_name_the_first_counts(packages: Callable[..., None]) -> None:
    packages("first", "In.use", "[sframe_spark.operators]\ntried = math\n")
    packages("second", "in-use", "[sframe_spark.operators]\ntried = cmath\n")
    packages("first", "No_Longer", None)
    packages("second", "no-longer", "[sframe_spark.operators]\ntried old = cmath\n")
    assert named(OPERATOR_GROUP) == [("tried", "math")]


@pytest.mark.parametrize("lost", ["the file", "its name", "all of it"])
def test_packages_that_lost_their_names_announce_what_they_did(lost: str, packages: Callable[..., None], tmp_path: Path) -> None:
    for name in ("one", "two"):
        packages("first", name, f"[sframe_spark.operators]\ntried {name} = math\n")
        metadata = tmp_path / "first" / f"{name}-1.0.dist-info" / "METADATA"
        if lost == "the file":
            metadata.unlink()
        else:
            metadata.write_text("" if lost == "all of it" else "Metadata-Version: 2.1\nVersion: 1.0\n")
    assert named(OPERATOR_GROUP) == [("tried one", "math"), ("tried two", "math")]


def test_a_name_that_no_file_has_is_no_error(packages: Callable[..., None], tmp_path: Path) -> None:
    packages("first", "moved", "[sframe_spark.operators]\ntried = math\n")
    (tmp_path / "first" / "moved-1.0.dist-info").rename(tmp_path / "first" / "other-1.0.dist-info")
    assert named(OPERATOR_GROUP) == [("tried", "math")]


def test_files_of_packages_are_read_once_for_both_groups(announce: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    announce()
    monkeypatch.undo()
    asked: list[int] = []
    monkeypatch.setattr(plugin_discovery, "distributions", lambda: asked.append(1) or [])
    plugin_discovery._announced.cache_clear()
    try:
        assert (load_operators(), plugin_laws(), len(asked)) == ((), (), 1)
    finally:
        plugin_discovery._announced.cache_clear()
