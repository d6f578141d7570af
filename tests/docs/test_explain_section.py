"""The section about ``explain`` runs as it stands and prints what it says."""

from __future__ import annotations

import pytest

from tests.docs.test_pages import BLOCK, PAGES


def test_the_section_about_explain_runs(capsys: pytest.CaptureFixture[str]) -> None:
    section = (PAGES / "ordered-data.md").read_text(encoding="utf-8").split("## What runs, and why: `explain`")[1].split("\n## ")[0]
    blocks = BLOCK.findall(section)
    assert [language for language, _ in blocks] == ["python", "text"] * 3
    names: dict[str, object] = {}
    for language, text in blocks:
        if language == "python":
            exec(compile(text, "ordered-data.md", "exec"), names)
        else:
            assert text.strip() in capsys.readouterr().out
