"""Archives that Turi Create 6.4.1 has written, and some that were made to be odd or hostile, with what they hold: `tests/data/legacy`."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

DATA = Path(__file__).parents[1] / "data" / "legacy"


@pytest.fixture(scope="session")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of all of them, each with a JSON file beside it."""
    place = tmp_path_factory.mktemp("archives")
    with tarfile.open(DATA / "archives.tar.xz") as packed:
        packed.extractall(place, filter="data")
    return place
