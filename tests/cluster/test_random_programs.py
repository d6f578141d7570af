"""Random programs give the same rows on each set-up of a cluster as in plain Python and in this process.

`pytest -m cluster` tries few of them on three set-ups; `-m "cluster and campaign"` tries 200 on each of six.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster.random_programs import COUNT, FIRST, NONE_DIFFER, run
from tests.cluster.set_ups import SET_UPS
from tests.cluster.test_cluster import needs_namespaces

pytestmark = [pytest.mark.cluster, needs_namespaces]
FEW = 12


@pytest.mark.parametrize("name", ["shared directory", "object store", "Connect, nothing shared"])
def test_few_programs(name: str, tmp_path: Path) -> None:
    lines = list(run(name, tmp_path, FIRST + COUNT, FEW))
    assert NONE_DIFFER in lines[-1], lines


@pytest.mark.campaign
@pytest.mark.parametrize("name", SET_UPS)
def test_many_programs(name: str, tmp_path: Path) -> None:
    lines = list(run(name, tmp_path))
    assert NONE_DIFFER in lines[-1], lines
