"""Which executors are sent this package."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest

from sframe_spark import SArray
from sframe_spark.engine.spark import executor_version_checks
from sframe_spark.engine.spark.executor_version_checks import (
    Answer,
    answers,
    check_python_again,
    check_python_once,
    require_python,
    require_same_plugins,
    versions,
)
from sframe_spark.errors import NotSharedError
from sframe_spark.plugin import node_of
from sframe_spark.session.session import Packages

GOOD = Answer("node-1", "/work/app-1/0", trouble="", content="", written="", **versions())
BARE = attrs.evolve(GOOD, package=None, missing="sframe_spark", trouble="sframe_spark cannot be imported: ModuleNotFoundError")


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch) -> Packages:
    """What is known of a cluster that nobody has asked."""
    known = Packages()
    monkeypatch.setattr(executor_version_checks, "get_packages", lambda: known)
    monkeypatch.setattr(executor_version_checks, "get_session", lambda: None)
    monkeypatch.setattr(executor_version_checks, "is_one_process", lambda session: False)
    monkeypatch.setattr(executor_version_checks, "require_python_of_tasks", lambda: None)
    return known


def let_answer(monkeypatch: pytest.MonkeyPatch, known: Packages, *waves: list[Answer]) -> list[str]:
    """Let executors answer, wave by wave; what is sent to them is returned."""
    sent: list[str] = []
    left = list(waves)

    def ship(archive: str) -> None:
        sent.append(Path(archive).name)
        known.archive = archive

    monkeypatch.setattr(executor_version_checks, "_ask", lambda file, directory: left.pop(0))
    monkeypatch.setattr(executor_version_checks, "ship", ship)
    return sent


@pytest.mark.parametrize("missing", ["sframe_spark", "attr", "attrs", "attr._make"])
def test_the_package_is_sent_once_where_only_it_is_missing(missing: str, state: Packages, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = let_answer(monkeypatch, state, [GOOD, attrs.evolve(BARE, missing=missing)], [GOOD, GOOD])
    require_python()
    require_python()
    assert len(sent) == 1 and sent[0].startswith("sframe_spark-") and (state.checked, state.trouble) == (True, "")


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (attrs.evolve(BARE, python="3.9"), r"node-1.*has Python 3\.9, where"),
        (attrs.evolve(BARE, pyarrow="1.0"), r"node-1.*has pyarrow 1\.0, where"),
        (attrs.evolve(GOOD, package="0.0.1"), r"node-1.*has sframe_spark 0\.0\.1, where"),
        (attrs.evolve(BARE, missing="numpy", trouble="sframe_spark cannot be imported: no numpy"), "no numpy, where"),
        (attrs.evolve(BARE, missing="", trouble="sframe_spark cannot be imported: SyntaxError"), "SyntaxError, where"),
    ],
)
def test_nothing_is_sent_where_versions_differ(other: Answer, told: str, state: Packages, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = let_answer(monkeypatch, state, [BARE, other], [BARE, other])
    check_python_once()
    assert sent == [] and state.checked
    with pytest.raises(NotSharedError, match=told) as raised:
        require_python()
    assert "\n" not in str(raised.value) and "install the same versions" in str(raised.value)


def test_what_was_sent_and_did_not_arrive_is_told(state: Packages, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = let_answer(monkeypatch, state, [BARE], [BARE])
    with pytest.raises(NotSharedError, match="cannot be imported"):
        require_python()
    assert len(sent) == 1


def test_executors_are_asked_again_after_failures_of_imports_only(state: Packages, monkeypatch: pytest.MonkeyPatch) -> None:
    let_answer(monkeypatch, state, [GOOD], [attrs.evolve(GOOD, pyarrow="1.0")])
    require_python()
    check_python_again("division by zero")
    with pytest.raises(NotSharedError, match=r"pyarrow 1\.0"):
        check_python_again("ModuleNotFoundError: No module named 'x'")


def test_answers_are_those_after_sending(state: Packages, monkeypatch: pytest.MonkeyPatch) -> None:
    let_answer(monkeypatch, state, [BARE], [GOOD], [GOOD])
    assert answers(None, None) == [GOOD] == answers(None, None)


def test_a_python_of_a_users_session_that_lacks_ours_is_told_with_what_to_do(state: Packages, monkeypatch: pytest.MonkeyPatch) -> None:
    let_answer(monkeypatch, state, [GOOD], [GOOD], [GOOD])
    require_python()
    check_python_again("ModuleNotFoundError: No module named 'of_the_user'")
    with pytest.raises(NotSharedError, match=r"needs pyarrow in the Python of Spark's workers.*PYSPARK_PYTHON"):
        check_python_again("ModuleNotFoundError: No module named 'pyarrow'")


OTHER_PLUGIN = attrs.evolve(GOOD, plugins={"sframe-lag": "0.0.1"})


def test_a_plug_in_of_another_version_is_refused_where_a_plan_uses_it(state: Packages, monkeypatch: pytest.MonkeyPatch) -> None:
    from sframe_spark.functions import lag

    let_answer(monkeypatch, state, [GOOD, OTHER_PLUGIN])
    column = SArray([1.0])
    uses = {"an operator": lag.lag(column), "a function": lag.fahrenheit(column)}
    require_same_plugins(node_of(column + 1))
    assert not state.checked
    for used in uses.values():
        with pytest.raises(NotSharedError, match=r"node-1.*has sframe-lag 0\.0\.1, where .* has 0\.1\.0: install the same version on every machine"):
            require_same_plugins(node_of(used))
    require_python()
    require_same_plugins(node_of(column + 1))
    assert state.checked and state.trouble == ""


def test_a_plug_in_of_the_same_version_is_not(state: Packages, monkeypatch: pytest.MonkeyPatch) -> None:
    from sframe_spark.functions import lag

    let_answer(monkeypatch, state, [attrs.evolve(GOOD, plugins={"sframe-lag": "0.1.0"}), attrs.evolve(GOOD, lacking=("sframe_lag",))])
    state.plugins = "sent"
    require_same_plugins(node_of(lag.lag(SArray([1.0]))))
