"""The queries in SQL, by their names."""

from __future__ import annotations

from pathlib import Path

TEXTS = {path.stem: path.read_text(encoding="utf-8") for path in sorted((Path(__file__).parent / "sql").glob("q*.sql"))}
