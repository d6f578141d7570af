"""Operators and laws of other packages, found through entry points."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint, EntryPoints
from typing import Any

import attrs
import pytest

from sframe_spark.errors import PlanInvariantError
from sframe_spark.planner import installed
from sframe_spark.planner.installed import LAW_GROUP, OPERATOR_GROUP, load_operators, plugin_laws
from sframe_spark.planner.law import law


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
        monkeypatch.setattr(installed, "announced", lambda group: sorted(named[group], key=lambda entry: entry.name))
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


def test_files_of_packages_are_read_once_for_both_groups(announce: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    announce()
    monkeypatch.undo()
    entries, asked = [EntryPoint("z", "math:pi", OPERATOR_GROUP), EntryPoint("a", "math:e", OPERATOR_GROUP)], []
    monkeypatch.setattr(installed, "entry_points", lambda: asked.append(1) or EntryPoints(entries))
    installed._announced.cache_clear()
    try:
        assert (load_operators(), plugin_laws(), len(asked)) == (("a", "z"), (), 1)
    finally:
        installed._announced.cache_clear()
