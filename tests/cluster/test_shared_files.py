"""CSV and JSON files of a directory that a machine does not see, though the driver was told that all do, are no other rows.

`test_one_cluster.py` reads them where all machines see them, and where the driver knows of one that does not.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster.machine import standalone_cluster
from tests.cluster.test_cluster import DRIVER, driver, needs_namespaces, require_right


@needs_namespaces
@pytest.mark.cluster
def test_files_of_a_directory_that_a_machine_which_came_later_does_not_see(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    with standalone_cluster(tmp_path, shared, [True, False]) as cluster, driver(cluster.url, shared) as one:
        require_right(one.endings(["file_programs:read_unasked"], DRIVER))
