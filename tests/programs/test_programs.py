"""Programs that people write, with what the reference gave for each: the same here, on the driver, on Spark and in ranges of rows."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import sframe_spark
from tests.plain_values import plain

HERE = Path(__file__).parent
RECORDED = HERE.parent / "data" / "programs"
# With no work on the driver their joins and groups take half a minute.
SLOW_ON_SPARK = ("recommender", "text_statistics")
NAMES = sorted(path.stem for path in RECORDED.glob("*.json"))

pytestmark = pytest.mark.spark


def differences(name: str, directory: Path) -> dict[str, Any]:
    """Results that are not those recorded: what was found, and what was expected."""
    program: ModuleType = importlib.import_module(f"tests.programs.{name}")
    expected = json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))
    found = {key: plain(value) for key, value in program.run(sframe_spark, str(directory)).items()}
    assert found.keys() == expected.keys()
    return {key: (found[key], expected[key]) for key in expected if found[key] != expected[key]}


def test_each_program_is_recorded() -> None:
    assert set(NAMES) == {path.stem for path in HERE.glob("*.py") if path.stem not in ("__init__", "test_programs")}


@pytest.mark.behaviour
@pytest.mark.parametrize("name", NAMES)
def test_program_gives_what_the_reference_gave(name: str, spark: Any, tmp_path: Path) -> None:
    assert differences(name, tmp_path) == {}


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.campaign] * (name in SLOW_ON_SPARK)) for name in NAMES])
def test_program_gives_the_same_on_spark(name: str, everything_on_spark: None, tmp_path: Path) -> None:
    assert differences(name, tmp_path) == {}
