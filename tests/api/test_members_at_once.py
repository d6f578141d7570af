"""Members on columns of native types do nothing row by row in Python, but where users' functions or libraries are what they are about."""

from __future__ import annotations

import pytest

import sframe_spark
from tests.api.members import ARRAY, FRAME, MEMBERS, ONE_BY_ONE, OPEN, OTHERS, calls_per_row

# Hashing, locking and logging are calls too; a row that is looked at is one at least.
FEW_CALLS = 0.3


@pytest.mark.parametrize(("place", "name"), sorted(MEMBERS.keys() - OPEN), ids=lambda part: part)
def test_members_make_no_calls_for_each_row(place: str, name: str) -> None:
    calls = calls_per_row(MEMBERS[place, name])
    if (place, name) in ONE_BY_ONE:
        assert calls > FEW_CALLS, "all rows are computed at once: leave it out of those that are not"
    else:
        assert calls < FEW_CALLS


def test_every_member_is_looked_at() -> None:
    for kind, called in (("SArray", ARRAY), ("SFrame", FRAME)):
        members = {name for name in dir(getattr(sframe_spark, kind)) if not name.startswith("_")}
        assert members == called.keys() | OTHERS[kind].keys()
        assert not called.keys() & OTHERS[kind].keys()
    assert ONE_BY_ONE.keys() | OPEN <= MEMBERS.keys()
