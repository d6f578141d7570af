"""All cases of an engine. The reference engine's old Python reads this file too."""

from __future__ import annotations

from typing import Any

from benchmarks.members.columns import columns
from benchmarks.members.files import files
from benchmarks.members.frames import Frames
from benchmarks.members.nested import nested
from benchmarks.members.rows import rows
from benchmarks.members.samples import Case, computed


def every(engine: Any, f: Frames, scratch: str) -> dict[str, Case]:
    """By name."""
    return {**columns(engine, f), **rows(engine, f), **nested(engine, f), **files(engine, f, scratch)}


def run(case: Case) -> Any:
    """Its result with all rows computed."""
    return computed(case.action())
