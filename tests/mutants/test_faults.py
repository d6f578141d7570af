"""The list of seeded faults follows the package: code that has changed is no longer found by its text."""

from __future__ import annotations

from tests.mutants.__main__ import unusable
from tests.mutants.faults import FAULTS

FEWEST = 64


def test_faults_can_be_seeded() -> None:
    reasons = unusable(FAULTS)
    assert len(FAULTS) - len(reasons) >= FEWEST, "seed other faults, or find these by their new text:\n" + "\n".join(reasons)


def test_every_fault_has_a_name_of_its_own() -> None:
    assert len({fault.id for fault in FAULTS}) == len(FAULTS)
