"""Each door that built-ins have is open to plug-ins, and the page has all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.testing import doors_of_plugins
from tests.testing.doors_of_plugins import DOORS, PAGE, Door, page

pytestmark = pytest.mark.usefixtures("own_registry")


@pytest.mark.parametrize("door", [door for door in DOORS if not door.needs_spark], ids=lambda door: door.title)
def test_a_door_is_open(door: Door, tmp_path: Path) -> None:
    doors_of_plugins.define()
    door.check(tmp_path)


@pytest.mark.spark
@pytest.mark.parametrize("door", [door for door in DOORS if door.needs_spark], ids=lambda door: door.title)
def test_a_door_is_open_on_spark(door: Door, tmp_path: Path, spark: Any) -> None:
    doors_of_plugins.define()
    door.check(tmp_path)


def test_the_page_has_the_doors() -> None:
    assert len(DOORS) == 18
    assert PAGE.read_text(encoding="utf-8") == page(), "python -m tests.testing.doors_of_plugins writes it"
