"""Recorders of seeded faults stand where the fault's statement runs, and leave the module's own behaviour alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutants.reached import DIRECTORY, note, noted, with_recorders

MODULE = '''"""A module."""
TABLE = {"a": 1}

def sign(value):
    """Return the sign."""
    if value < 0:
        return -1
    elif value > 0:
        return TABLE["a"]
    try:
        return int(value)
    except TypeError:
        return None
'''


@pytest.mark.parametrize(
    "line, before",
    [
        (7, "return -1"),
        (8, "if value < 0:"),
        (9, 'return TABLE["a"]'),
        (11, "return int(value)"),
        (12, "try:"),
        (13, "return None"),
        (2, "if value < 0:"),
    ],
)
def test_a_recorder_stands_before_the_statement(line: int, before: str) -> None:
    lines = with_recorders(MODULE, [("fault", line, line)]).splitlines()
    (index,) = [number for number, text in enumerate(lines) if "reached" in text]
    assert lines[index + 1].strip() == before
    assert [text for number, text in enumerate(lines) if number != index] == MODULE.splitlines()


def test_what_is_noted_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DIRECTORY, str(tmp_path))
    for test in ["tests/a.py::test_one[1] (call)", "tests/a.py::test_one[2] (call)", "tests/b.py::test_two (setup)"]:
        monkeypatch.setenv("PYTEST_CURRENT_TEST", test)
        note(f"{tmp_path}-fault")
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    note(f"{tmp_path}-other")
    assert noted(tmp_path) == {f"{tmp_path}-fault": ["tests/a.py::test_one", "tests/b.py::test_two"]}
