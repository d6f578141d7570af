"""Which files of datasets a test opens."""

from __future__ import annotations

import pytest

from sframe_spark.storage.filesystem.path_joining_and_escaping import join
from sframe_spark.storage.segments import reader


def watch_opened_files(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A list to which each file is added whose rows are read from now on, as often as it is opened: short ones are read as a whole."""
    opened: list[str] = []
    one, whole = reader.opened, reader.read_short
    monkeypatch.setattr(reader, "opened", lambda location, *rest, **named: opened.append(location) or one(location, *rest, **named))
    monkeypatch.setattr(reader, "read_short", lambda directory, entry: opened.append(join(directory, entry.file)) or whole(directory, entry))
    return opened
