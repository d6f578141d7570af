"""Random programs on Spark Connect, and on a cluster of three executor processes: `pytest tests/properties -m cluster`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = 10


def last_line(kind: str) -> str:
    """What the process says at the end, which must come."""
    script = Path(__file__).with_name("other_sparks.py")
    done = subprocess.run([sys.executable, str(script), kind, "3000", str(PROGRAMS)], capture_output=True, text=True, timeout=1_500, check=False)
    assert done.returncode == 0, done.stderr[-6000:]
    return done.stdout.splitlines()[-1]


@pytest.mark.cluster
def test_programs_on_three_executors() -> None:
    assert last_line("cluster") == f"{PROGRAMS} programs, local-cluster[3,1,700] with 3 executors"


@pytest.mark.spark
def test_programs_on_spark_connect() -> None:
    assert last_line("connect") == f"{PROGRAMS} programs, Spark Connect on local[2]"
