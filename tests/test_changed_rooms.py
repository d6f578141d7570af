"""Which tests `make check` runs, and that it ends in time."""

from __future__ import annotations

from pathlib import Path

from tests.changed_rooms import Budget, nearest_tests


def test_tests_mirror_the_package_and_the_nearest_ones_are_first(tmp_path: Path) -> None:
    files = [
        "test_imports.py",
        "test_config.py",
        "storage/datasets/test_manifest_publication.py",
        "storage/datasets/test_damage.py",
        "storage/test_keys.py",
    ]
    for name in files:
        (tmp_path / "tests" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tests" / name).touch()
    changed = ["sframe_spark/storage/datasets/manifest_publication.py", "sframe_spark/config.py", "docs/design.md", "sframe_spark/storage/new/x.py"]
    found = nearest_tests([*changed, "tests/storage/datasets/test_damage.py"], tmp_path)
    assert found == ["tests/test_imports.py", *(f"tests/{name}" for name in (
        "storage/datasets/test_damage.py", "storage/datasets/test_manifest_publication.py", "test_config.py", "storage/datasets", "storage",
    ))]  # fmt: skip
    assert nearest_tests(["README.md"], tmp_path) == ["tests/test_imports.py"]


def test_no_test_begins_after_the_time_is_up() -> None:
    budget = Budget(-1)
    assert budget.pytest_runtest_protocol(None) and budget.left == 1  # type: ignore[arg-type]
    assert Budget(60).pytest_runtest_protocol(None) is None  # type: ignore[arg-type]
