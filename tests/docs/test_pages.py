"""The pages of the manual run as they stand, and say what is true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)


@pytest.mark.spark
@pytest.mark.parametrize("page", sorted(PAGES.glob("cookbook/*.md")), ids=lambda path: path.stem)
def test_a_page_runs_from_top_to_bottom(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    assert any(language == "python" for language, _ in blocks)
    for language, text in blocks:
        if language == "python":
            exec(compile(text, str(page), "exec"), names)
        else:
            assert text.strip() in capsys.readouterr().out
