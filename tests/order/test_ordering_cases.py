"""Every recorded ordering fact is reproduced: no false "satisfied", none missed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.order import replay_cases as order_cases

ORDERING_CASES = Path(__file__).parents[1] / "data" / "order" / "ordering_cases.json"


def test_every_ordering_case_is_decided_as_recorded() -> None:
    tally = order_cases.replay_file(ORDERING_CASES)
    assert tally.cases == tally.covered == 171
    assert tally.false == ()
    assert tally.missed == ()


@pytest.mark.parametrize("satisfied, code", [(True, 0), (False, 1)])
def test_the_exit_code_tells_a_disagreement(tmp_path: Path, capsys: pytest.CaptureFixture[str], satisfied: bool, code: int) -> None:
    case = {"id": "one", "orderings": [[["a", "asc"]]], "requirement": [["a", "asc"]], "satisfied": satisfied, "more": "is ignored"}
    path = tmp_path / "cases.json"
    path.write_text(json.dumps({"format": 1, "cases": [case]}))
    assert order_cases.main([str(path)]) == code
    assert f'1 cases, {code} false "satisfied", 0 missed' in capsys.readouterr().out


@pytest.mark.parametrize(
    "text, message",
    [
        ("{", "cases.json"),
        ("[]", "list of objects called 'cases'"),
        ('{"cases": [{"id": "q7", "requirement": [["a"]], "satisfied": true}]}', "q7"),
        ('{"cases": [{"id": "q8", "requirement": [["a", "up"]], "satisfied": true}]}', "direction 'up'"),
        ('{"cases": [{"id": "q9", "requirement": []}]}', "satisfied"),
        ('{"cases": [{"id": "q10"}]}', "q10"),
    ],
)
def test_a_malformed_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str) -> None:
    path = tmp_path / "cases.json"
    path.write_text(text)
    assert order_cases.main([str(path)]) == 2
    assert message in capsys.readouterr().err


def test_every_derivation_case_is_decided_as_recorded() -> None:
    tally = order_cases.replay_file(ORDERING_CASES.with_name("derivation_cases.json"))
    assert tally.cases == tally.covered == 33
    assert tally.false == ()
    assert tally.missed == ()
