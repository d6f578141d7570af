"""``python -m tests.changed_rooms``: the tests, without Spark, of the rooms that differ from the main branch, as many as there is time for.

The tests of ``sframe_spark/storage/datasets`` are in ``tests/storage/datasets``, and those of ``config.py`` in ``tests/test_config.py``.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE, TESTS = "sframe_spark", "tests"
SELECTION = "not spark and not cluster and not campaign"
# Quick, and whatever has changed.
ALWAYS = "tests/test_imports.py"
SECONDS = 45.0


def lines_of_git(*arguments: str) -> list[str]:
    """What git prints, or nothing where it fails, as it does without the branch that is asked for."""
    found = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return found.stdout.splitlines() if found.returncode == 0 else []


def changed_files() -> list[str]:
    """Return what differs from where this branch left the main one, whether committed or not."""
    base = lines_of_git("merge-base", "HEAD", "main") or lines_of_git("merge-base", "HEAD", "origin/main") or ["HEAD"]
    return [*lines_of_git("diff", "--name-only", base[0]), *lines_of_git("ls-files", "--others", "--exclude-standard")]


def nearest_tests(files: Iterable[str], root: Path = ROOT) -> list[str]:
    """Return the tests of some files, what is nearest to them first: changed tests, tests of their names, of their folders, of their rooms."""
    nearest, named, folders, rooms = list[Path](), list[Path](), list[Path](), list[Path]()
    for path in map(Path, files):
        if path.suffix != ".py" or path.parts[0] not in (PACKAGE, TESTS):
            continue
        if path.parts[0] == TESTS and path.name.startswith("test_"):
            nearest.append(path)
        inside = Path(TESTS, *path.parts[1:-1])
        named += [place.relative_to(root) for place in sorted((root / inside).glob(f"test_{path.stem}*.py"))]
        # The tests of all rooms are those of none.
        folders += [folder for folder in (inside, *inside.parents) if len(folder.parts) > 1 and (root / folder).is_dir()][:1]
        rooms += [inside.parents[-3]] if len(inside.parts) > 2 and (root / inside.parents[-3]).is_dir() else []
    found = [ALWAYS, *map(str, (*nearest, *named, *folders, *rooms))]
    return [path for path in dict.fromkeys(found) if (root / path).exists()]


class Budget:
    """A plug-in of pytest that begins no test after so many seconds, and says how many it left."""

    def __init__(self, seconds: float) -> None:
        self.end = time.monotonic() + seconds
        self.left = 0

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        if time.monotonic() < self.end:
            return None
        self.left += 1
        return True

    @pytest.hookimpl(wrapper=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> Iterator[None]:
        yield
        if self.left:
            terminalreporter.write_line(f"{self.left} tests of the rooms that changed were left to `make test`, as time was up")


def main() -> int:
    """Run them, and return pytest's exit code."""
    return int(pytest.main(["-q", "-p", "no:cacheprovider", "-m", SELECTION, *nearest_tests(changed_files())], [Budget(SECONDS)]))


if __name__ == "__main__":
    sys.exit(main())
