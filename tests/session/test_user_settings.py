"""What users set in their session at run time holds for our queries too, whenever it was set; what decides results does not.

`test_connect.py` tests the same of a session of Spark Connect.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.session.user_settings import answers_in, require_held, require_ours


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the program found."""
    return answers_in("classic", tmp_path_factory.mktemp("settings"))


@pytest.mark.spark
def test_settings_of_a_running_session_hold_for_our_queries(answers: dict[str, Any]) -> None:
    require_held(answers)


@pytest.mark.spark
def test_settings_that_decide_results_are_ours(answers: dict[str, Any]) -> None:
    require_ours(answers)
