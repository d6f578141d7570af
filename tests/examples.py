"""How much of a test the normal run holds: few random examples, more where ``SFRAME_SPARK_EXAMPLES`` asks for it, and a part of its parameters."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest


def examples(few: int) -> int:
    """This many examples, or ``SFRAME_SPARK_EXAMPLES`` times as many."""
    return few * int(os.environ.get("SFRAME_SPARK_EXAMPLES", "1"))


def part(values: Iterable[Any], every: int) -> list[Any]:
    """Parameters of a test on Spark, of which the normal run takes each of so many, and ``-m campaign`` the others."""
    return [value if number % every == 0 else _in_campaign(value) for number, value in enumerate(values)]


def _in_campaign(value: Any) -> Any:
    return pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.campaign)
