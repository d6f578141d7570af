"""Random programs on a cluster of three executor processes: `pytest tests/properties -m cluster`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = 10


@pytest.mark.cluster
def test_programs_on_three_executors() -> None:
    script = Path(__file__).with_name("cluster_programs.py")
    done = subprocess.run([sys.executable, str(script), "3000", str(PROGRAMS)], capture_output=True, text=True, timeout=1_500, check=False)
    assert done.returncode == 0, done.stderr[-6000:]
    assert done.stdout.splitlines()[-1] == f"local-cluster[3,1,700] {PROGRAMS} programs, 3 executors"
